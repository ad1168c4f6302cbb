"""``/local``: servers of models on this machine, and on hosts that a person has named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mak.cli.app.slash import Choice, Slash, Typed

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """List what runs, or remember a host."""
    session.mak("local", *typed.words)


def complete(session: Session, before: Sequence[str], begun: str) -> Iterable[Choice]:
    """Complete the one further word."""
    return ()


SLASH = Slash(
    "local",
    "find model servers here; url remembers another host and writes your endpoints file",
    run,
    "[url host:port]",
    complete,
    like="local",
)
