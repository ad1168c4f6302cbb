"""The ``mak`` command: arguments in, exit code out, and the one place that catches errors.

Exit codes: 0 everything landed; 1 something failed, was declined or is left broken; 2 usage or
configuration; 3 a bug; 130 interrupted.
"""

from __future__ import annotations

import atexit
import difflib
import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NoReturn

from mak import __version__
from mak.cli.command import EXIT_BUG, EXIT_INTERRUPTED, EXIT_USAGE, Command
from mak.cli.failure import leaves
from mak.errors import MakError, UsageError

#: Opens the app without colours, menus and lines that are redrawn.
PLAIN = "--plain"


def script() -> NoReturn:
    """Run as the console script."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="backslashreplace")
    code = main(sys.argv[1:])
    # While the streams are open: a worker that is only abandoned has its parent complain.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # What is known of a large repository need not be taken apart object by object.
    os._exit(code)


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code; every error ends here."""
    try:
        code = _run(argv)
        sys.stdout.flush()
        return code
    except SystemExit as stop:
        # argparse has shown its help.
        return int(stop.code or 0)
    except BrokenPipeError:
        # Whoever read our output is gone; nothing more can be said to them.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Exception, KeyboardInterrupt, BaseExceptionGroup) as error:  # noqa: BLE001
        return _explain(error, argv)


def _run(argv: Sequence[str]) -> int:
    if {*argv} <= {PLAIN} and _is_interactive():
        from mak.cli.app.loop import open_app

        return open_app(plain=PLAIN in argv)
    parser, options = _build_parser()
    if {*argv} <= {PLAIN}:
        parser.print_help(sys.stderr)
        return EXIT_USAGE
    command, args = _parse(argv, parser, options)
    return command.run(args)


def parse(argv: Sequence[str]) -> tuple[Command, Namespace]:
    """Return the command that a command line names, and its arguments.

    Raises `UsageError`, and `SystemExit` where help was asked for and shown.
    """
    return _parse(argv, *_build_parser())


def arguments_of(words: Sequence[str]) -> list[tuple[str, str]]:
    """Return the further words and the options that may follow these, with what they do."""
    parser, _ = _build_parser()
    for word in words:
        parser = parser.inner().get(word, parser)
    return parser.arguments()


def _parse(
    argv: Sequence[str], parser: ArgumentParser, options: Mapping[str, Sequence[str]]
) -> tuple[Command, Namespace]:
    from mak.cli.commands import COMMANDS

    _refuse_unknown(argv, options)
    args, unknown = parser.parse_known_args(argv)
    if args.command is None:
        raise UsageError(f"{PLAIN} stands alone", hint="mak --help")
    if unknown:
        raise UsageError(
            f"{args.command}: unknown argument {unknown[0]!r}", hint=f"mak {args.command} --help"
        )
    (command,) = (command for command in COMMANDS if command.name == args.command)
    return command, args


def _is_interactive() -> bool:
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)


# ------------------------------------------------------------------------------------ arguments


class _Parser(ArgumentParser):
    """Raises `UsageError` where argparse would print and exit."""

    def error(self, message: str) -> NoReturn:
        command = self.prog.removeprefix("mak").strip()
        raise UsageError(f"{command}: {message}" if command else message, hint=f"{self.prog} -h")

    def options(self) -> list[str]:
        """Return the options that may follow, those of further words included."""
        inner = self.inner().values()
        return [*self._option_string_actions, *(o for p in inner for o in p.options())]

    def inner(self) -> dict[str, _Parser]:
        """Return what reads the arguments after a further word, by that word."""
        rows = (action.choices for action in self._actions if isinstance(action.choices, dict))
        return {name: parser for row in rows for name, parser in row.items()}

    def arguments(self) -> list[tuple[str, str]]:
        """Return the further words and the long options that may follow, with what they do."""
        words = [(name, parser.description or "") for name, parser in self.inner().items()]
        return words + [
            (option, action.help or "")
            for option, action in self._option_string_actions.items()
            if option.startswith("--")
        ]


def _build_parser() -> tuple[_Parser, dict[str, list[str]]]:
    """Return the parser of all commands, and the options that each of them knows."""
    from mak.cli.commands import COMMANDS

    parser = _Parser(
        prog="mak",
        description="Several coding agents edit one Python repository at once, on one branch. "
        "Without a command, at a terminal, an app that takes tasks and commands opens.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"mak {__version__}")
    parser.add_argument(
        PLAIN, action="store_true", help="the app in plain lines, as screen readers like them"
    )
    rows = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    options = {"": parser.options()}
    for command in COMMANDS:
        row = rows.add_parser(
            command.name,
            help=command.help,
            description=f"{command.help[:1].upper()}{command.help[1:]}.",
            epilog=command.details or None,
            formatter_class=RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.add_arguments(row)
        options[command.name] = row.options()
    return parser, options


def _refuse_unknown(argv: Sequence[str], options: Mapping[str, Sequence[str]]) -> None:
    """Name the nearest command or option, before argparse misses something else for its lack."""
    command = argv[0] if argv and not argv[0].startswith("-") else ""
    if command not in options:
        near = _nearest(command, [name for name in options if name])
        raise UsageError(f"no command {command!r}{near}", hint="mak --help")
    known = options[command]
    for word in argv:
        name = word.partition("=")[0]
        if word == "--":
            return
        if word.startswith("--") and name not in known:
            where = f"{command}: " if command else ""
            hint = f"mak {command} --help" if command else "mak --help"
            raise UsageError(f"{where}unknown option {name!r}{_nearest(name, known)}", hint=hint)


def _nearest(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


# --------------------------------------------------------------------------------------- errors


def _explain(error: BaseException, argv: Sequence[str]) -> int:
    """Tell the person what happened and return the exit code."""
    found = list(leaves(error))
    expected = [leaf for leaf in found if isinstance(leaf, MakError)]
    if any(isinstance(leaf, KeyboardInterrupt) for leaf in found):
        _say("mak: interrupted")
        _answer(argv, "interrupted", "")
        return EXIT_INTERRUPTED
    if len(expected) == len(found):
        _say(f"mak: {expected[0]}")
        if expected[0].hint:
            _say(f"hint: {expected[0].hint}")
        _answer(argv, str(expected[0]), expected[0].hint)
        return expected[0].exit_code
    what = f"this is a bug in MAK: {type(found[0]).__name__}: {found[0]}"
    hint = f"please report it with {_write_report(error, argv)}"
    _say(f"mak: {what}")
    _say(f"hint: {hint}")
    _answer(argv, what, hint)
    return EXIT_BUG


def _answer(argv: Sequence[str], error: str, hint: str) -> None:
    """Give a program that asked for JSON its one document."""
    if "--json" in argv or "--format=json" in argv or ("--format", "json") in pairwise(argv):
        from mak.cli.terminal import write_failure

        write_failure(_redacted(error), _redacted(hint))


def _say(text: str) -> None:
    from mak.cli.terminal import write_note

    write_note(_redacted(text))


def _redacted(text: str) -> str:
    """Return a text without keys; where none was read there is none to take out."""
    secrets = sys.modules.get("mak.providers.secrets")
    return str(secrets.redact(text)) if secrets else text


def _write_report(error: BaseException, argv: Sequence[str]) -> str:
    """Write the traceback to a new file below the system's temporary directory."""
    import platform
    import tempfile
    import traceback

    lines = [
        f"mak {__version__}, Python {platform.python_version()}, {platform.platform()}\n",
        f"argv: {list(argv)!r}\n\n",
        *traceback.format_exception(error),
    ]
    with tempfile.NamedTemporaryFile(
        "w", prefix="mak-bug-", suffix=".log", delete=False, encoding="utf-8", errors="replace"
    ) as file:
        file.writelines(map(_redacted, lines))
    return file.name
