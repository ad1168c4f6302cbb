"""``mak doctor``: whether everything is there that a run here would need, and what to do."""

from __future__ import annotations

import platform
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mak import __version__
from mak.cli import terminal
from mak.cli.command import EXIT_DONE, EXIT_FAILED, Command
from mak.cli.options import add_json, add_specs, add_work_dir, read_settings, work_dir
from mak.errors import UsageError

if TYPE_CHECKING:
    from mak.cli.health import Line

DETAILS = """\
Nothing is asked of a model without --call, which sends one small question to each that is set, and
a long one too to whatever is no vendor's own host, to see whether it reads all of it.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add_work_dir(parser)
    add_specs(parser)
    parser.add_argument("--call", action="store_true", help="ask each model that is set a word")
    parser.add_argument(
        "--offline", action="store_true", help="ask no endpoint for its models either"
    )
    parser.add_argument(
        "--patience", metavar="S", type=float, default=10.0, help="seconds for an endpoint's list"
    )
    add_json(parser)


def run(args: Namespace) -> int:
    """Look at everything and say how it is."""
    from mak.cli.health import State

    lines: list[Line] = []
    for line in _look(args):
        lines.append(line)
        if not args.json:
            hint = f"; {line.hint}" if line.hint else ""
            terminal.write_data(
                terminal.clean(f"{line.state:<4}  {line.about:<10}  {line.text}{hint}")
            )
    if args.json:
        terminal.write_json(
            [
                {"state": each.state, "about": each.about, "text": each.text, "hint": each.hint}
                for each in lines
            ]
        )
    failures = sum(line.state is State.FAIL for line in lines)
    if failures:
        terminal.write_note(f"{failures} of {len(lines)} are not as they have to be", "bold")
    return EXIT_FAILED if failures else EXIT_DONE


def _look(args: Namespace) -> Iterator[Line]:
    from mak.cli import health
    from mak.cli.commands.local import ROOM
    from mak.cli.health import Line, State

    python = platform.python_version()
    yield Line(State.OK, "mak", f"{__version__}, Python {python}, {platform.system()}")
    try:
        settings = read_settings(args, check=False)
    except UsageError as error:
        yield health.failed("config", error, "correct it; mak config check reads it again")
        yield from health.repository(work_dir(args), None)
        return
    yield from health.repository(work_dir(args), settings)
    yield Line(State.OK, "config", str(settings.file or "built in: there is no file"))
    yield from health.keys(settings)
    specs, wrong = health.specs(settings)
    yield from wrong
    if args.offline:
        yield from health.models(specs, settings)
        return
    yield from health.reach(specs, settings, args.patience)
    yield from health.lists(settings)
    asked = [spec for spec in specs if spec.endpoint is not None]
    if args.call and asked:
        import anyio

        from mak.providers.probe import probes

        config = settings.config
        window = max(config.planner_tokens, config.context_tokens) + ROOM
        yield from health.calls(anyio.run(probes, asked, settings.setup, window))


COMMAND = Command("doctor", "check that a run would find all it needs", add_arguments, run, DETAILS)
