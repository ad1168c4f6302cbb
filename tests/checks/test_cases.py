"""Every file of `tests/data/checks` is a change and the findings it must lead to; often none.

``before`` and ``after`` map paths to texts (a path that is only in one of them appears or goes),
``beside`` those of files that stay as they are, ``seen`` of some as they were shown to the agent;
``findings`` lists ``check node``. What is not given follows from the texts: the task may write what
changed, what is new was declared as new, what is gone was declared as deleted.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from mak.checks import CHECKS, Change, Trees, run_checks
from mak.config import read_document
from mak.model import AddImport, Delete, Edit, Insert, NodeId, Replace, Task
from mak.source import SourceFile, Sources, split
from mak.source.names import references

DATA = Path(__file__).parents[1] / "data" / "checks"
CASES = sorted(DATA.rglob("*.yaml"))


def ids(values: list[str]) -> frozenset[NodeId]:
    return frozenset(map(NodeId.parse, values))


def nodes(files: dict[str, SourceFile | None]) -> dict[NodeId, str]:
    return {n.id: n.digest for file in files.values() if file for n in file.nodes}


def cut_all(texts: dict[str, str]) -> dict[str, SourceFile | None]:
    return {path: split(text.encode(), path) for path, text in texts.items()}


def change_of(case: dict[str, Any]) -> Change:
    paths = {*case["before"], *case["after"]}

    def cut(side: str) -> dict[str, SourceFile | None]:
        texts = case[side]
        return {p: split(texts[p].encode(), p) if p in texts else None for p in paths}

    before, after = cut("before"), cut("after")
    old, new = nodes(before), nodes(after)
    changed = {id for id in {*old} & {*new} if old[id] != new[id]}
    created = {*new} - {*old}
    deleted = {*old} - {*new}
    if "created" in case:
        created = {*ids(case["created"])}
    if "deleted" in case:
        deleted = {*ids(case["deleted"])}
    writes = ids(case["writes"]) if "writes" in case else frozenset(changed | deleted)
    edits: list[Edit] = [Delete(node) for node in sorted(deleted)]
    edits += [AddImport(path, "") for path in case.get("imports", ())]
    edits += [Replace(NodeId.parse(node), "") for node in case.get("replaces", ())]
    edits += [Insert(NodeId.parse(parent), "") for parent in case.get("inserts", ())]
    texts = {**case.get("beside", {}), **case["before"]}
    blobs = {hashlib.sha1(text.encode()).hexdigest(): text.encode() for text in texts.values()}
    entries = {p: hashlib.sha1(text.encode()).hexdigest() for p, text in texts.items()}
    sources = Sources(entries, blobs.__getitem__)

    return Change(
        before=before,
        after=after,
        task=Task(
            "t",
            case.get("goal", ""),
            tuple(sorted(writes)),
            creates=tuple(ids(case.get("creates", []))),
        ),
        edits=tuple(edits),
        created=frozenset(created),
        deleted=frozenset(deleted),
        planned=ids(case.get("planned", [])),
        references=lambda node, files: references(sources.overlay(files), node),
        trees=Trees(sources, sources.overlay(after), paths),
        seen=sources.overlay(cut_all(case["seen"])) if "seen" in case else None,
        moved=lambda: case.get("seen", ()),
    )


# I16
@pytest.mark.parametrize("path", CASES, ids=lambda p: str(p.relative_to(DATA).with_suffix("")))
def test_change_has_exactly_these_findings(path: Path) -> None:
    case = read_document(path)
    found = run_checks(change_of(case))
    assert [f"{f.check} {f.node}" for f in found] == case.get("findings", []), found
    needs = [str(need.node) for finding in found for need in finding.needs]
    assert needs == case.get("needs", [])


def test_every_check_has_a_case_that_trips_it() -> None:
    tripped = {f.split()[0] for path in CASES for f in read_document(path).get("findings", [])}
    assert tripped == {check.id for check in CHECKS}


def test_there_are_many_changes_that_no_check_may_find_fault_with() -> None:
    assert sum("findings" not in read_document(path) for path in CASES) >= 30


def test_every_case_changes_something() -> None:
    for path in CASES:
        case = read_document(path)
        assert case["before"] != case["after"], path
