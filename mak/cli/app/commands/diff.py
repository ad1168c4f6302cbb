"""``/diff``: what a run changed, line by line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mak.cli.app.slash import Choice, Slash, Typed

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """Show the diff of a run; without a name, of the last one."""
    from mak.cli.app.diff import show
    from mak.cli.runs import find_run
    from mak.store import Store

    with Store.open(session.said.work_dir, write=False) as store:
        show(session, store, find_run(store, typed.text or session.last_run))


def complete(session: Session, before: Sequence[str], begun: str) -> Iterable[Choice]:
    """Complete runs."""
    from mak.cli.app import completion

    return () if before else completion.runs(session)


SLASH = Slash("diff", "show the full diff of a run, in colours", run, "[run]", complete)
