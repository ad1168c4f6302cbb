"""Commit messages: what MAK may put into one, and the trailers by which it finds its commits."""

from __future__ import annotations

import re
from collections.abc import Mapping

RUN = "MAK-Run"
KIND = "MAK-Kind"
#: On the commit that takes back the waves of a run: that run.
UNDOES = "MAK-Undoes"

_OURS = re.compile(r"^MAK-\w+: .*\n?", re.MULTILINE)
_TRAILER = re.compile(r"[A-Za-z0-9-]+: .*")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")


def clean(text: str) -> str:
    """Return the message without what Git or a terminal would trip over, newline at the end."""
    text = text.replace("\r\n", "\n").encode("utf-8", "replace").decode()
    return _CONTROL.sub("", text).strip("\n") + "\n"


def with_trailers(text: str, trailers: Mapping[str, str]) -> str:
    """Return a message with these trailers as its last paragraph."""
    lines = "".join(f"{name}: {' '.join(value.split())}\n" for name, value in trailers.items())
    return f"{text.rstrip()}\n\n{lines}"


def with_trailers_of(text: str, original: str) -> str:
    """Return a message that was made of another one, with the MAK trailers of that one.

    Without them the commit could not be told for what it is.
    """
    kept = re.sub(r"\n{3,}", "\n\n", _OURS.sub("", text)).rstrip()
    is_block = all(_TRAILER.fullmatch(line) for line in kept.rpartition("\n\n")[2].split("\n"))
    between = "\n" if is_block and "\n\n" in kept else "\n\n"
    return kept + between + "".join(_OURS.findall(original))
