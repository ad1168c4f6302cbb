"""``mak keys``: the keys that a person keeps for MAK; values go in and are never shown."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from mak.cli import terminal
from mak.cli.command import EXIT_DONE, EXIT_FAILED, Command, add_actions, run_action
from mak.cli.options import add_json
from mak.errors import UsageError

_NOT_AN_ARGUMENT = (
    "what follows the name would end up in the shell's history and in the list of processes; "
    "it was not stored"
)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add_actions(parser, ACTIONS, LIST)


def run(args: Namespace) -> int:
    """Carry out an action."""
    return run_action(args, ACTIONS, LIST)


def _name_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name",
        metavar="NAME",
        help="a variable such as ANTHROPIC_API_KEY, or a provider or endpoint such as anthropic",
    )
    parser.add_argument("rest", nargs="*", help="nothing: the key is asked for, or read from stdin")


def _set(args: Namespace) -> int:
    from mak.cli.named import nearest
    from mak.cli.person import known_names, variables_file
    from mak.config import set_variable

    name = _variable(args.name)
    if args.rest:
        raise UsageError(
            f"storing a key: {_NOT_AN_ARGUMENT}",
            hint=f"mak keys set {name}, or: … | mak keys set {name}; "
            "and take the key that was typed here out of use",
        )
    value = _ask(name)
    path = variables_file()
    replaced = set_variable(path, name, value)
    terminal.write_note(f"{name} is {'replaced' if replaced else 'stored'} in {path}")
    if name not in known_names():
        near = nearest(name, known_names())
        terminal.write_note(f"No provider or endpoint reads {name} yet{near}", "yellow")
    if name in os.environ:
        terminal.write_note(f"But {name} is exported too, and what is exported wins", "yellow")
    return EXIT_DONE


def _ask(name: str) -> str:
    """Read a value from a prompt that does not show it, or from stdin where that is no terminal."""
    if sys.stdin is not None and sys.stdin.isatty():
        from getpass import getpass

        text = getpass(f"{name} (not shown): ", stream=sys.stderr)
    else:
        text = sys.stdin.read() if sys.stdin is not None else ""
    value = text.strip()
    if not value:
        raise UsageError(f"storing {name}: nothing was given")
    if not (value.isascii() and value.isprintable() and " " not in value):
        raise UsageError(
            f"storing {name}: it holds characters that no key has",
            hint="give the key alone, without quotes, spaces or line breaks",
        )
    return value


def _variable(text: str) -> str:
    """Return the variable that a name means; never repeats what may be a key."""
    from mak.cli.person import key_names
    from mak.config import VARIABLE, looks_like_key

    if looks_like_key(text) or "=" in text:
        raise UsageError(
            f"storing a key: {_NOT_AN_ARGUMENT}",
            hint="mak keys set ANTHROPIC_API_KEY asks for it, or reads it from stdin",
        )
    known = key_names()
    if text in known:
        return known[text]
    if VARIABLE.fullmatch(text) and text == text.upper():
        return text
    raise UsageError(
        f"{text!r} is neither a variable nor a provider or endpoint with a key",
        hint=f"write one of: {', '.join(known)}; or a variable in capital letters",
    )


def _list(args: Namespace) -> int:
    from mak.cli.person import key_names, variables_file
    from mak.config import read_variables

    path = variables_file()
    kept = read_variables(path)
    wanted = dict.fromkeys([*kept, *(n for n in key_names().values() if n in os.environ)])
    found = {name: _origin(name, kept, path) for name in wanted}
    if args.json:
        terminal.write_json({"file": str(path), "keys": found})
        return EXIT_DONE
    for line in terminal.columns(list(found.items())):
        terminal.write_data(line)
    if not found:
        terminal.write_note("There is no key. Next: mak keys set anthropic, for example")
    return EXIT_DONE


def _origin(name: str, kept: dict[str, str], path: Path) -> str:
    if name not in os.environ:
        return str(path)
    empty = "" if os.environ[name].strip() else ", and empty"
    return f"exported{empty}{f'; {path} has another, which is not used' if name in kept else ''}"


def _remove(args: Namespace) -> int:
    from mak.cli.person import variables_file
    from mak.config import remove_variable

    name = _variable(args.name)
    path = variables_file()
    if not remove_variable(path, name):
        terminal.write_note(f"{name} is not in {path}")
        return EXIT_FAILED
    terminal.write_note(f"{name} is taken out of {path}")
    if name in os.environ:
        terminal.write_note(f"But {name} is exported, and still used", "yellow")
    return EXIT_DONE


LIST = Command("list", "show which keys there are and where from, never values", add_json, _list)
ACTIONS = (
    Command("set", "store a key: it is asked for, or read from stdin", _name_argument, _set),
    LIST,
    Command("remove", "take a key out of the file", _name_argument, _remove),
)

COMMAND = Command(
    "keys",
    "keep keys for model providers, readable by you alone",
    add_arguments,
    run,
    "Exported variables win over those in the file.",
)
