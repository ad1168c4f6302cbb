"""Commit messages: what MAK may put into one, and the trailers by which it finds its commits."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pygit2
from pygit2.enums import SortMode

from mak.store.repository import Repository, git_errors

RUN = "MAK-Run"
WAVE = "MAK-Wave"
KIND = "MAK-Kind"
#: On the commit that takes back the waves of a run: that run.
UNDOES = "MAK-Undoes"

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")


def clean(text: str) -> str:
    """Return the message without what Git or a terminal would trip over, newline at the end."""
    text = text.replace("\r\n", "\n").encode("utf-8", "replace").decode()
    return _CONTROL.sub("", text).strip("\n") + "\n"


def with_trailers(text: str, trailers: dict[str, str]) -> str:
    """Return a message with these trailers as its last paragraph."""
    lines = "".join(f"{name}: {' '.join(value.split())}\n" for name, value in trailers.items())
    return f"{text.rstrip()}\n\n{lines}"


def trailers(repository: Repository, tip: str, base: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the commits of ``base..tip`` that have trailers, newest first, with these.

    An empty `base`, or one that is not there any more, hides nothing.
    """
    if not tip:
        return
    handle = repository.handle
    with git_errors(f"reading the history of {tip[:10]}"):
        walk = handle.walk(pygit2.Oid(hex=tip), SortMode.TOPOLOGICAL)
        if base and base in handle:
            walk.hide(pygit2.Oid(hex=base))
        for commit in walk:
            found = commit.message_trailers
            if found:
                yield str(commit.id), dict(found)
