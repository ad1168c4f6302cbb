"""Refactorings as data: ``tests/data/refactor/<case>/``.

``request`` is what a person asks for; ``before/`` the tree; ``after/`` the files that differ then
(all others are byte-identical). ``refused`` holds lines that the refusal contains, ``remarks``
lines that are said besides. ``check.py`` runs in the tree and passes before and after.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mak.model import NodeId
from mak.source import Draft, Proposal, Sources
from mak.source.refactor import Refusal, Sites, find, parse
from mak.source.text import blob_id

DATA = Path(__file__).parents[2] / "data" / "refactor"
CASES = sorted(path.name for path in DATA.iterdir() if path.is_dir())


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def sources(files: dict[str, bytes]) -> Sources:
    blobs = {blob_id(data): data for data in files.values()}
    return Sources({path: blob_id(data) for path, data in files.items()}, blobs.__getitem__)


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def carry_out(files: dict[str, bytes], request: str) -> tuple[dict[str, bytes], list[str], str]:
    """Return the tree after every edit went through `apply`, the remarks, and a refusal."""
    intents = parse(request)
    assert isinstance(intents, tuple), f"not understood: {intents}"
    remarks: list[str] = []
    for intent in intents:
        base = sources(files)
        sites = find(base, intent)
        if isinstance(sites, Refusal):
            return files, remarks, str(sites)
        remarks += (*sites.notes, *sites.remarks)
        files = applied(base, files, sites)
    return files, remarks, ""


def applied(base: Sources, files: dict[str, bytes], sites: Sites) -> dict[str, bytes]:
    result = dict(files)
    for path in sites.paths:
        units = [unit for unit in sites.units if unit.path == path]
        granted = {*units, *(unit.node.api for unit in units if unit in sites.api)}
        draft = Draft(base)
        edits = sites.edits(base, units or [NodeId(path)])
        proposal = draft.propose(edits, frozenset((*granted, *sites.creates)))
        assert isinstance(proposal, Proposal), proposal
        changed = proposal.files[path]
        if changed is None:
            del result[path]
        else:
            result[path] = changed.data
    return result


def runs(folder: Path, files: dict[str, bytes], check: Path) -> None:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    code = "import sys; sys.path.insert(0, ''); exec(open(sys.argv[1], encoding='utf-8').read())"
    command = [sys.executable, "-IS", "-c", code, str(check)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("case", CASES)
def test_case(case: str, tmp_path: Path) -> None:
    folder = DATA / case
    before = tree(folder / "before")
    request = (folder / "request").read_text(encoding="utf-8")
    after, remarks, refusal = carry_out(before, request)
    expected = lines(folder / "refused")
    if expected:
        assert refusal, "it was not refused"
        for line in expected:
            assert line in refusal
        return
    assert not refusal
    wanted = {**before, **tree(folder / "after")}
    for path in lines(folder / "removed"):
        del wanted[path]
    assert {p: d.decode("latin-1") for p, d in after.items()} == {
        p: d.decode("latin-1") for p, d in wanted.items()
    }
    assert remarks == lines(folder / "remarks")
    for path, data in after.items():
        if data != before.get(path):
            compile(data, path, "exec")
    check = folder / "check.py"
    if check.exists():
        runs(tmp_path / "before", before, check)
        runs(tmp_path / "after", after, check)
