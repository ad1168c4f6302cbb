"""The app from its first line to its last: what is typed, carried out; what goes wrong, said."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from mak import __version__
from mak.cli import terminal
from mak.cli.app.session import Session, find
from mak.cli.app.slash import Typed
from mak.errors import UsageError

if TYPE_CHECKING:
    from mak.cli.app.prompt import Prompt


def open_app(*, plain: bool = False) -> int:
    """Take tasks and commands until the person leaves; return the exit code."""
    from mak.cli.app.prompt import Lively, Plain

    plain = plain or not terminal.is_screen()
    prompt: Prompt = Plain() if plain else Lively()
    session = Session(prompt)
    prompt.belongs_to(session)
    kept = nullcontext() if plain else session.keyboard.kept()
    with terminal.speaking(plain=plain, folds=not plain), kept:
        return _open(session)


def _open(session: Session) -> int:
    session.say(f"MAK {__version__}. Type what is to be done; /help lists commands")
    attempt(session, partial(_set_up, session))
    session.watch.start()
    while not session.is_over:
        try:
            text = session.prompt.task().strip()
        except EOFError:
            break
        except KeyboardInterrupt:
            session.stop("Ctrl+C once more leaves, and so does Ctrl+D")
            continue
        session.was_stopped = False
        if text:
            attempt(session, partial(carry_out, session, text))
    return session.exit_code


def carry_out(session: Session, text: str) -> None:
    """Carry out what was typed: a command, or a task."""
    if not text.startswith("/"):
        from mak.cli.app.work import carry_out

        carry_out(session, text)
        return
    name, _, rest = text[1:].partition(" ")
    slash = find(name)
    if slash is None:
        raise UsageError(f"there is no command /{name}{_near(name)}", hint="/help")
    slash.run(session, Typed(rest.strip(), _words(rest)))


def attempt(session: Session, act: Callable[[], None]) -> None:
    """Carry something out; whatever goes wrong is one line, with the traceback in the log."""
    try:
        act()
    except SystemExit:
        pass  # argparse has shown a help
    except KeyboardInterrupt:
        session.stop("Stopped; Ctrl+C once more leaves")
    except BrokenPipeError:
        raise
    except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001
        from mak.cli.app import journal

        session.say(journal.told(error), "red")


def _near(name: str) -> str:
    from mak.cli.app.commands import SLASHES
    from mak.cli.named import nearest

    return nearest(f"/{name}", [f"/{each.name}" for each in SLASHES])


def _words(text: str) -> tuple[str, ...]:
    """Take an argument line apart; an apostrophe in a task is no quote."""
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return tuple(text.split())


def _set_up(session: Session) -> None:
    from mak.cli.app import setup

    if setup.is_due(session):
        setup.begin(session)
