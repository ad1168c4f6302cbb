"""``/apikey``: the keys that a person keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mak.cli.app.slash import Choice, Slash, Typed
from mak.errors import UsageError

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """Ask for a key and keep it, or list which there are."""
    if len([word for word in typed.words if not word.startswith("-")]) > 1:
        raise UsageError(
            "/apikey NAME asks for the key, and does not show it; what stands behind the name "
            "was not stored",
            hint=f"/apikey {typed.words[0]}, and take the key that stands here out of use",
        )
    if typed.words:
        session.mak("keys", "set", *typed.words)
    else:
        session.mak("keys", "list")


def complete(session: Session, before: Sequence[str], begun: str) -> Iterable[Choice]:
    """Complete providers and endpoints that take a key."""
    from mak.cli import person

    return () if before else [Choice(id, name) for id, name in person.key_names().items()]


SLASH = Slash(
    "apikey",
    "keep a key: it is asked for, not shown, and written to your file of keys",
    run,
    "[provider]",
    complete,
    like="keys set",
)
