"""Every command there is; help reads this list."""

from __future__ import annotations

from mak.cli.command import Command
from mak.cli.commands import (
    check,
    config,
    demo,
    doctor,
    endpoint,
    examples,
    graph,
    keys,
    local,
    locks,
    log,
    models,
    nodes,
    plan,
    run,
    schema,
    show,
    study,
    undo,
    update,
)

COMMANDS: tuple[Command, ...] = (
    run.COMMAND,
    plan.COMMAND,
    log.COMMAND,
    show.COMMAND,
    undo.COMMAND,
    locks.COMMAND,
    check.COMMAND,
    graph.COMMAND,
    nodes.COMMAND,
    study.COMMAND,
    config.COMMAND,
    keys.COMMAND,
    endpoint.COMMAND,
    models.COMMAND,
    local.COMMAND,
    doctor.COMMAND,
    examples.COMMAND,
    schema.COMMAND,
    demo.COMMAND,
    update.COMMAND,
)
