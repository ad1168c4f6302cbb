"""Edits and merges as data: every case of ``tests/data/edits`` and ``tests/data/merges``.

A file holds cases. ``##### name`` begins one; ``=== section`` begins a part of it, whose lines are
its text. Edits: ``before``, then ``replace NODE``, ``insert PARENT [after NODE]``, ``import``,
``delete NODE``; ``granted NODES`` (else: what is replaced or deleted); then either ``after`` with
``changed``, ``created``, ``deleted``, ``api`` where they are not empty, or ``rejected CHECK`` with
a part of the reason and ``needs NODES``. Merges: ``base``, ``ours``, ``theirs``, then ``merged`` or
``conflict NODES``. Options of a case follow its name: ``crlf``, ``cr``,
``no-eol`` (there is no final newline), ``gains-eol`` (there was none before).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mak.model import AddImport, Delete, Edit, Insert, NodeId, Replace
from mak.source import Applied, Conflict, Rejected, SourceFile, apply, merge, split

DATA = Path(__file__).parent.parent / "data"
NAME = "a.py"


@dataclass
class Case:
    name: str
    options: tuple[str, ...]
    sections: list[tuple[str, str]] = field(default_factory=list)

    def texts(self, key: str) -> list[tuple[str, str]]:
        found = []
        for head, text in self.sections:
            word, _, rest = head.partition(" ")
            if word == key:
                found.append((rest, text))
        return found

    def text(self, key: str) -> str | None:
        found = self.texts(key)
        return found[0][1] if found else None

    def ids(self, key: str) -> frozenset[NodeId] | None:
        found = self.texts(key)
        return frozenset(map(node, found[0][0].split())) if found else None

    def bytes(self, text: str, *, before: bool = False) -> bytes:
        if "no-eol" in self.options or (before and "gains-eol" in self.options):
            text = text.removesuffix("\n")
        newline = "\r\n" if "crlf" in self.options else "\r" if "cr" in self.options else "\n"
        return text.replace("\n", newline).encode()


def cases(folder: str) -> Iterator[Case]:
    for path in sorted((DATA / folder).glob("*.txt")):
        found: list[Case] = []
        for line in path.read_text("utf-8").splitlines(keepends=True):
            if line.startswith("##### "):
                name, *options = line[6:].strip().split(" | ")
                found.append(Case(f"{path.stem}: {name}", tuple(options)))
            elif line.startswith("=== "):
                found[-1].sections.append((line[4:].strip(), ""))
            elif found:
                head, text = found[-1].sections[-1]
                found[-1].sections[-1] = (head, text + line)
        yield from found


def node(symbol: str) -> NodeId:
    return NodeId(NAME) if symbol == "FILE" else NodeId.parse(f"{NAME}::{symbol}")


def edits_of(case: Case) -> Iterator[Edit]:
    for head, text in case.sections:
        word, _, rest = head.partition(" ")
        if word == "replace":
            yield Replace(node(rest), text)
        elif word == "insert":
            parent, _, after = rest.partition(" after ")
            yield Insert(node(parent), text, node(after) if after else None)
        elif word == "import":
            yield AddImport(NAME, text)
        elif word == "delete":
            yield Delete(node(rest))


def outcome(case: Case) -> Applied | Rejected:
    before = case.text("before")
    edits = list(edits_of(case))
    granted = case.ids("granted")
    if granted is None:
        granted = frozenset(e.node for e in edits if isinstance(e, Replace | Delete))
    file = split(case.bytes(before, before=True), NAME) if before is not None else None
    return apply(file, NAME, edits, granted=granted)


@pytest.mark.parametrize("case", list(cases("edits")), ids=lambda case: case.name)
def test_edit(case: Case) -> None:
    result = outcome(case)
    if rejected := case.texts("rejected"):
        assert isinstance(result, Rejected), result
        check, reason = rejected[0]
        assert result.check == check
        assert reason.strip() in result.reason
        assert "\n" not in result.reason
        assert frozenset(need.node for need in result.needs) == (case.ids("needs") or frozenset())
        return
    assert isinstance(result, Applied), result
    after = case.text("after")
    if after is None:
        assert result.file is None
    else:
        assert result.file is not None
        assert result.file.data.decode() == case.bytes(after).decode()
    assert result.changed == (case.ids("changed") or frozenset())
    assert result.created == (case.ids("created") or frozenset())
    assert result.deleted == (case.ids("deleted") or frozenset())
    assert result.api_changed == (case.ids("api") or frozenset())


@pytest.mark.parametrize("case", list(cases("merges")), ids=lambda case: case.name)
def test_merge(case: Case) -> None:
    base, ours, theirs = (
        split(case.bytes(case.text(key) or ""), NAME) for key in ("base", "ours", "theirs")
    )
    result = merge(base, ours, theirs)
    conflict = case.ids("conflict")
    if conflict is not None:
        assert isinstance(result, Conflict), result
        assert frozenset(result.nodes) == conflict
        assert result.reason
        return
    assert isinstance(result, SourceFile), result
    assert result.data.decode() == case.bytes(case.text("merged") or "").decode()
