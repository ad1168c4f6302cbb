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

from mak.model import NodeId
from mak.source import Sources, index
from mak.source.facts import Facts
from mak.source.graph import Graph, Has, callers, graph_of, impact, may_call
from mak.source.scan import scan
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


def make(files: dict[str, str]) -> Sources:
    blobs = {blob_id(text.encode()): text.encode() for text in files.values()}
    entries = {path: blob_id(text.encode()) for path, text in files.items()}
    return Sources(entries, blobs.__getitem__)


def test_one_changed_file_costs_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []

    def counted(data: bytes, encoding: str = "utf-8") -> Facts | None:
        read.append(data)
        return scan(data, encoding)

    monkeypatch.setattr(index, "scan", counted)
    files = {f"m{i}.py": f"import m{i - 1}\ndef f{i}(): m{i - 1}.f{i - 1}()\n" for i in range(40)}
    graph = graph_of(make(files))
    before = {path: graph.edges(path) for path in graph.paths}
    assert len(read) == len(files)
    again = graph_of(make(files))
    assert {path: again.edges(path) for path in again.paths} == before
    assert len(read) == len(files)
    changed = "import m6\ndef f7(x): m6.f6()\n"
    after = graph_of(make({**files, "m7.py": changed}))
    assert [site.fits for site in after.calls("m8.py")] == [False]
    assert [link.path for link in callers(after, NodeId("m7.py", "f7"))] == ["m8.py"]
    assert read[len(files) :] == [changed.encode()]


def test_impact_counts_the_steps() -> None:
    files = {f"s{i}.py": f"import s{i - 1}\ndef f{i}(): s{i - 1}.f{i - 1}()\n" for i in range(5)}
    files["s0.py"] = "def f0(): pass\n"
    graph = graph_of(make(files))
    assert impact(graph, NodeId("s0.py", "f0")) == {
        NodeId(f"s{i}.py", f"f{i}"): i for i in range(1, 5)
    }


def test_a_common_name_and_a_known_receiver_are_no_call_by_the_name() -> None:
    many = "".join(f"class C{i}:\n    def run(self): pass\n" for i in range(20))
    graph = graph_of(make({"a.py": many + "def use(x): x.run()\n"}))
    assert may_call(graph, NodeId("a.py", "C0.run")) == ()
    few = "class C:\n    def run(self): pass\ndef use(x, c: C):\n    x.run()\n    c.run()\n"
    found = may_call(graph_of(make({"a.py": few})), NodeId("a.py", "C.run"))
    assert [(str(one.node), one.line, one.candidates) for one in found] == [("a.py::use", 4, 1)]


def test_links_go_both_ways() -> None:
    files = {
        "pkg/__init__.py": "from .a import Base, f\n",
        "pkg/a.py": "class Base:\n    def m(self): f()\ndef f(): pass\n",
        "b.py": (
            "from pkg import Base, f\n"
            "class D(Base):\n    def m(self): super().m()\n"
            "@f\ndef g(): f\n"
        ),
    }
    graph = graph_of(make(files))
    to = {(str(link.kind), str(link.source)) for link in graph.links_to(NodeId("pkg/a.py", "f"))}
    assert to == {
        ("call", "pkg/a.py::Base.m"),
        ("re-export", "pkg/__init__.py::@header"),
        ("import", "b.py::@header"),
        ("decorate", "b.py::g"),
        ("read", "b.py::g"),
    }
    method = NodeId("pkg/a.py", "Base.m")
    to = {(str(link.kind), str(link.source)) for link in graph.links_to(method)}
    assert to == {("override", "b.py::D.m"), ("call", "b.py::D.m")}
    for path in graph.paths:
        for link in graph.links_from(NodeId(path)):
            assert link in graph.links_to(link.target), link
