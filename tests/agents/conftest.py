"""Assignments over a small real tree."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mak.agents import Assignment, context
from mak.model import NodeId, Task
from mak.source.tree import Sources

SHOP = '''"""Prices."""

import math

RATE = 2


def net(x):
    # Round up.
    return math.ceil(x)


class Cart:
    """A cart."""

    size = 1

    def total(self):
        return net(1)

    def count(self):
        return 2


def last():
    pass
'''


def tree(files: Mapping[str, str | bytes]) -> Sources:
    """Return files as sources, without a repository."""
    data = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    blobs = {hashlib.sha1(content).hexdigest(): content for content in data.values()}
    return Sources(
        {path: hashlib.sha1(content).hexdigest() for path, content in data.items()},
        blobs.__getitem__,
    )


def task(
    *writes: str,
    reads: tuple[str, ...] = (),
    creates: tuple[str, ...] = (),
    depends_on: tuple[str, ...] = (),
) -> Task:
    """Return a task by the ids as they are written."""
    ids = [tuple(map(NodeId.parse, group)) for group in (writes, reads, creates)]
    return Task("t1", "make it better", *ids, depends_on)


@pytest.fixture
def assign() -> Callable[..., Assignment]:
    """Return a function that makes an assignment over `SHOP`."""

    def make(
        *writes: str,
        reads: tuple[str, ...] = (),
        creates: tuple[str, ...] = (),
        files: Mapping[str, str | bytes] | None = None,
        **more: Any,
    ) -> Assignment:
        sources = tree(files or {"shop.py": SHOP})
        wanted = task(*writes, reads=reads, creates=creates)
        seen = context(wanted, sources)
        values: dict[str, Any] = {
            "run": "r1",
            "task": wanted,
            "attempt": 1,
            "request": "make all of it better",
            "decisions": (),
            "slots": seen.slots,
            "reads": seen.reads,
            "peers": (),
            "retry": "",
            "draft": None,
            "sources": sources,
            "current": sources,
            "outlines": seen.outlines,
        }
        return Assignment(**{**values, **more})

    return make
