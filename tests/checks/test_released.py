"""Released code is right: what the checks say of it, as if every line were new, has to be true."""

from __future__ import annotations

import zipfile

import pytest

from mak.checks import check_trees
from mak.source import Sources
from mak.source.graph import graph_of
from mak.source.text import blob_id
from tests.material import fetch


def tree(*folders: str) -> Sources:
    files: dict[str, bytes] = {}
    for wheel in fetch().values():
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".py") and name.startswith(folders):
                    files[name] = archive.read(name)
    entries = {path: blob_id(data) for path, data in files.items()}
    blobs = {entries[path]: data for path, data in files.items()}
    return Sources(entries, blobs.__getitem__)


def found(sources: Sources) -> set[str]:
    return {f"{f.node.path} {f.check}" for f in check_trees(None, sources)}


def test_nothing_is_found_in_released_packages_but_circles() -> None:
    sources = tree("asgiref/", "sqlparse/", "django/utils/", "django/forms/", "django/db/")
    assert len(sources.paths) > 150
    assert {text for text in found(sources) if not text.endswith("import-cycle")} == set()


@pytest.mark.slow
def test_nothing_is_found_in_all_of_django_but_circles() -> None:
    sources = tree("django/")
    graph = graph_of(sources)
    assert sum(bool(s.signatures) for p in graph.paths for s in graph.calls(p)) > 10_000
    assert {text for text in found(sources) if not text.endswith("import-cycle")} == set()
