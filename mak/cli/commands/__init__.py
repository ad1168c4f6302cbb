"""Every command there is; help reads this list."""

from __future__ import annotations

from mak.cli.command import Command
from mak.cli.commands import check, demo, graph, locks, log, nodes, plan, run, schema, show, undo

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
    schema.COMMAND,
    demo.COMMAND,
)
