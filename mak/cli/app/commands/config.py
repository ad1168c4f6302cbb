"""``/config``: which settings hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mak.cli.app.slash import Choice, Slash, Typed

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """Show the configuration, or take a file for this session."""
    if typed.text:
        text = typed.words[0] if len(typed.words) == 1 else typed.text
        path = session.said.work_dir / Path(text).expanduser()
        session.change(config=path)
        session.say(f"{path} holds; what was chosen here stays before it")
        return
    session.mak("config", "show")


def complete(session: Session, before: Sequence[str], begun: str) -> Iterable[Choice]:
    """Complete paths."""
    from mak.cli.app import completion

    return completion.paths(begun, session.said.work_dir)


SLASH = Slash(
    "config",
    "show the configuration, or take another file",
    run,
    "[path]",
    complete,
    instead_of=("config show", "run --config"),
)
