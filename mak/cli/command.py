"""What a command is: one file in ``mak/cli/commands``, one row of its registry."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: Everything that was asked for has happened.
EXIT_DONE = 0
#: Something failed, was declined or is left broken.
EXIT_FAILED = 1
#: The command line, the configuration or a plan file is wrong.
EXIT_USAGE = 2
EXIT_BUG = 3
EXIT_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Command:
    """A word after ``mak``. Importing its file is cheap; `run` imports what it needs."""

    name: str
    #: One line without a full stop, for the list of commands.
    help: str
    add_arguments: Callable[[ArgumentParser], None]
    #: Returns the exit code; raises `mak.errors.MakError`.
    run: Callable[[Namespace], int]
    #: More lines for the command's own help.
    details: str = ""


def add_actions(
    parser: ArgumentParser, actions: Sequence[Command], default: Command | None = None
) -> None:
    """Let a command take a further word, with arguments of its own; `default` is for none."""
    if default is not None:
        default.add_arguments(parser)
    rows = parser.add_subparsers(
        dest="action", metavar="ACTION", title="actions", required=default is None
    )
    for action in actions:
        row = rows.add_parser(
            action.name,
            help=f"{action.help} (default)" if action is default else action.help,
            description=f"{action.help[:1].upper()}{action.help[1:]}.",
            epilog=action.details or None,
            formatter_class=RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        action.add_arguments(row)


def run_action(args: Namespace, actions: Sequence[Command], default: Command | None = None) -> int:
    """Carry out the further word of a command."""
    named = (action for action in actions if action.name == args.action)
    action = next(named, default)
    assert action is not None
    return action.run(args)
