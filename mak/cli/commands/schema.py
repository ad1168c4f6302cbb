"""``mak schema``: the JSON Schema of the documents that MAK reads."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from mak.cli import terminal
from mak.cli.command import EXIT_DONE, Command
from mak.cli.options import add_json
from mak.errors import UsageError


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "document", choices=("plan", "reply"), nargs="?", help="plan files, or agents' replies"
    )
    # A schema is JSON whether or not that is asked for.
    add_json(parser)


def run(args: Namespace) -> int:
    """Print a schema."""
    if args.document is None:
        raise UsageError("schema: which document, plan or reply?", hint="mak schema plan")
    if args.document == "plan":
        from mak.plan import plan_schema

        terminal.write_json(plan_schema())
    else:
        from mak.agents import reply_schema

        terminal.write_json(reply_schema())
    return EXIT_DONE


COMMAND = Command("schema", "print the JSON Schema of a plan file or a reply", add_arguments, run)
