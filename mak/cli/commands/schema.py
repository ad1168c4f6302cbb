"""``mak schema``: the JSON Schema of the documents that MAK reads and writes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from mak.cli import terminal
from mak.cli.command import EXIT_DONE, Command
from mak.cli.options import add_json
from mak.errors import UsageError

DOCUMENTS = ("plan", "reply", "config", "findings", "policy")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "document",
        choices=DOCUMENTS,
        nargs="?",
        help="plan files, agents' replies, config.yaml, findings of mak check, .github/mak.yml",
    )
    # A schema is JSON whether or not that is asked for.
    add_json(parser)


def run(args: Namespace) -> int:
    """Print a schema."""
    if args.document is None:
        raise UsageError(f"schema: which document: {', '.join(DOCUMENTS)}?", hint="mak schema plan")
    terminal.write_json(_schema(args.document))
    return EXIT_DONE


def _schema(document: str) -> dict[str, Any]:
    match document:
        case "plan":
            from mak.plan import plan_schema

            return plan_schema()
        case "config":
            from mak.config import config_schema

            return config_schema()
        case "policy":
            from mak.config import policy_schema

            return policy_schema()
        case "findings":
            from mak.cli.reports.document import schema

            return schema()
        case _:
            from mak.agents import reply_schema

            return reply_schema()


COMMAND = Command(
    "schema", "print the JSON Schema of a document that MAK reads or writes", add_arguments, run
)
