"""The dependency graph: what is proved, and what must not be claimed.

Stories stand in `tests/data/graph`: files, then what holds for their lines.

    edge b.py:2 call a.py::f     the line has this edge
    none b.py:2                  nothing on the line refers to anything of the repository
    fits b.py:2                  a call whose arguments are judged, and fit
    misfit b.py:2                one whose arguments certainly do not fit
    open b.py:2                  there is a call, and it is not judged
    lacks b.py:2 f               a name is taken from a module or class that surely lacks it
    maybe b.py:2 f               it may have it, for all that can be told
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from mak.source import Sources
from mak.source.graph import Graph, Has, graph_of
from mak.source.text import blob_id

STORIES = Path(__file__).parent.parent / "data" / "graph"


def stories() -> Iterator[object]:
    for path in sorted(STORIES.glob("*.txt")):
        for part in re.split(r"^== ", path.read_text(), flags=re.MULTILINE)[1:]:
            title, _, body = part.partition("\n")
            yield pytest.param(body, id=f"{path.stem}: {title}")


def read(story: str) -> tuple[Sources, list[str]]:
    """Return the tree and the claims of a story."""
    *files, claims = re.split(r"^-- ?", story, flags=re.MULTILINE)[1:]
    data = {}
    for file in files:
        path, _, text = file.partition("\n")
        data[path.strip()] = dedent(text).encode()
    blobs = {blob_id(text): text for text in data.values()}
    entries = {path: blob_id(text) for path, text in data.items()}
    lines = [line.strip() for line in claims.splitlines() if line.strip()]
    return Sources(entries, blobs.__getitem__), lines


@pytest.mark.parametrize("story", [*stories()])
def test_story(story: str) -> None:
    sources, claims = read(story)
    graph = graph_of(sources)
    assert claims
    for claim in claims:
        word, place, *rest = claim.split()
        path, _, line = place.rpartition(":")
        assert holds(graph, word, path, int(line), rest), f"{claim}\nbut: {seen(graph, path, line)}"


def holds(graph: Graph, word: str, path: str, line: int, rest: list[str]) -> bool:
    if word == "edge":
        return (rest[0], rest[1]) in edges(graph, path, line)
    if word == "none":
        return not edges(graph, path, line)
    if word in ("lacks", "maybe"):
        wanted = Has.NO if word == "lacks" else Has.MAYBE
        return taken(graph, path, line).get(rest[0]) is wanted
    sites = [site for site in graph.calls(path) if graph.line(path, site.start) == line]
    if word == "open":
        judged = [s for s in sites if s.signatures and (s.fits or graph.is_certain(s))]
        return bool(sites) and not judged
    if word == "misfit":
        return any(not site.fits and graph.is_certain(site) for site in sites)
    assert word == "fits"
    return any(site.signatures and site.fits for site in sites)


def edges(graph: Graph, path: str, line: int) -> list[tuple[str, str]]:
    return [
        (str(edge.kind), str(target))
        for edge in graph.edges(path)
        if graph.line(path, edge.start) == line
        for target in graph.nodes_of(edge.target)
    ]


def taken(graph: Graph, path: str, line: int) -> dict[str, Has]:
    found = {a.name: a.has for a in graph.attributes(path) if graph.line(path, a.start) == line}
    for item in graph.imports(path):
        if graph.line(path, item.entry.start) == line:
            found[item.entry.name] = item.has
    return found


def seen(graph: Graph, path: str, line: str) -> object:
    calls = [s for s in graph.calls(path) if graph.line(path, s.start) == int(line)]
    return edges(graph, path, int(line)), calls, taken(graph, path, int(line))
