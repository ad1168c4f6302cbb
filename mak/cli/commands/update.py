"""``mak update``: get the newest MAK, where it can be told how this one came here."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace

from mak.cli import terminal
from mak.cli.command import EXIT_DONE, EXIT_FAILED, Command
from mak.cli.options import add_json


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--check", action="store_true", help="only say what there is")
    add_json(parser)


def run(args: Namespace) -> int:
    """Update an installation that uv made; say how to update any other."""
    from mak.cli import installed

    here = installed.look()
    newest = installed.newest(here)
    command = installed.command(here, newest)
    if args.json:
        terminal.write_json(
            {
                "version": here.version,
                "commit": here.commit or None,
                "installed_by": here.by.value,
                "newest": newest.name or None,
                "up_to_date": newest.is_in(here),
                "command": command,
            }
        )
    terminal.write_note(f"This is {here}")
    if newest.is_in(here):
        terminal.write_note(f"It is the newest: {newest.name}")
        return EXIT_DONE
    if newest.name:
        terminal.write_note(f"The newest is {newest.name}")
    if here.by is not installed.By.UV:
        terminal.write_note(f"To update it: {shlex.join(command)}")
        return EXIT_DONE
    if args.check:
        terminal.write_note(f"Next: mak update, which runs: {shlex.join(command)}")
        return EXIT_DONE
    return EXIT_DONE if installed.carry_out(command) else EXIT_FAILED


COMMAND = Command("update", "get the newest release, or say how", add_arguments, run)
