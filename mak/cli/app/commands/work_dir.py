"""``/work-dir``: which repository, or which folder of it, the session is about."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mak.cli.app.slash import Choice, Slash, Typed

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """Go elsewhere, for this session."""
    if typed.text:
        from mak.store import Store

        text = typed.words[0] if len(typed.words) == 1 else typed.text
        path = Path(os.path.normpath(session.said.work_dir / Path(text).expanduser()))
        if path.is_dir():
            Store.open(path, write=False).close()
        session.change(work_dir=path)
        session.watch.look()
    session.say(f"The work dir is {session.said.work_dir}")


def complete(session: Session, before: Sequence[str], begun: str) -> Iterable[Choice]:
    """Complete folders."""
    from mak.cli.app import completion

    return completion.paths(begun, session.said.work_dir, only_folders=True)


SLASH = Slash(
    "work-dir",
    "work in another repository or folder",
    run,
    "<path>",
    complete,
    instead_of=("run --work-dir",),
)
