"""Renaming there and back changes nothing, and on the way it changes names only."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from mak.model import NodeId
from mak.source import Draft, Proposal, Sources
from mak.source.names import names_of
from mak.source.refactor import Refusal, find, read
from mak.source.resolve import Variable
from mak.source.text import blob_id

_NAMES = st.sampled_from(["f", "g", "h"])
_LINES = st.one_of(
    st.builds("{} = {}".format, _NAMES, _NAMES),
    st.builds("{}({}={})".format, _NAMES, _NAMES, _NAMES),
    st.builds("from a import {}".format, _NAMES),
    st.builds("from a import {} as {}".format, _NAMES, _NAMES),
    st.just("import a"),
    st.builds("a.{}.{}".format, _NAMES, _NAMES),
    st.builds("[{0} for {0} in {1}]".format, _NAMES, _NAMES),
    st.builds("(lambda {}: {})".format, _NAMES, _NAMES),
    st.builds("x = f'{{{}}} {}'".format, _NAMES, _NAMES),
    st.builds("del {}".format, _NAMES),
)


def _inside(head: str, body: list[str]) -> list[str]:
    return [head, *(f"    {line}" for line in body)]


_BLOCKS = st.recursive(
    st.lists(_LINES, min_size=1, max_size=4),
    lambda inner: st.one_of(
        st.builds(lambda n, p, b: _inside(f"def {n}({p}, q={n}):", b), _NAMES, _NAMES, inner),
        st.builds(lambda n, b: _inside(f"class {n}:", b), _NAMES, inner),
        st.builds(lambda n, b: _inside(f"if {n}:", b), _NAMES, inner),
        st.builds(lambda n, b: _inside("def k():", [f"global {n}", *b]), _NAMES, inner),
        st.builds(lambda a, b: [*a, *b], inner, inner),
    ),
    max_leaves=6,
)


def _sources(files: dict[str, bytes]) -> Sources:
    blobs = {blob_id(data): data for data in files.values()}
    return Sources({path: blob_id(data) for path, data in files.items()}, blobs.__getitem__)


def _renamed(files: dict[str, bytes], request: str) -> dict[str, bytes] | None:
    base = _sources(files)
    intent = read(request)
    assert intent is not None
    sites = find(base, intent)
    if isinstance(sites, Refusal):
        return None
    draft = Draft(base)
    granted = frozenset((*sites.units, *(unit.node.api for unit in sites.api), *sites.creates))
    proposal = draft.propose(sites.edits(base, sites.units), granted)
    assert isinstance(proposal, Proposal), proposal
    return {**files, **{path: file.data for path, file in proposal.files.items() if file}}


class _Back(ast.NodeTransformer):
    """Give every name that was changed its old spelling."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name, value in ast.iter_fields(node):
            if value == "fresh":
                setattr(node, name, "f")
            elif isinstance(value, list):
                setattr(node, name, ["f" if item == "fresh" else item for item in value])
        if isinstance(node, ast.alias) and node.asname == node.name:
            node.asname = None
        return super().generic_visit(node)


def _tree(data: bytes) -> str:
    return ast.dump(_Back().visit(ast.parse(data)))


@given(_BLOCKS, _BLOCKS)
def test_a_rename_changes_one_name_and_can_be_undone(one: list[str], two: list[str]) -> None:
    files = {"a.py": "\n".join(["def f(): pass", *one, ""]).encode()}
    files["b.py"] = "\n".join([*two, ""]).encode()
    for data in files.values():
        try:
            compile(data, "x.py", "exec")
        except SyntaxError:
            return
    there = _renamed(files, "rename a.py::f to fresh")
    if there is None:
        return
    for path, data in there.items():
        assert _tree(data) == _tree(files[path])
    names = names_of(_sources(there))
    assert names.module_variable("a.py", "f") is None
    assert names.module_variable("a.py", "fresh") == Variable("a.py", 0, "fresh")
    back = _renamed(there, "rename a.py::fresh to f")
    # A class that binds the old name too makes the way back look unsafe.
    for path, data in (back or files).items():
        assert data.replace(b"f as f", b"f") == files[path].replace(b"f as f", b"f")


@given(_BLOCKS)
def test_renaming_touches_only_the_nodes_that_it_names(lines: list[str]) -> None:
    data = "\n".join(["def f(): pass", *lines, "", "def rest(): pass", ""]).encode()
    files = {"a.py": data, "c.py": b"def alone(f):\n    return f\n"}
    try:
        compile(data, "x.py", "exec")
    except SyntaxError:
        return
    base = _sources(files)
    intent = read("rename a.py::f to fresh")
    assert intent is not None
    sites = find(base, intent)
    if isinstance(sites, Refusal):
        return
    units = {unit.node for unit in sites.units}
    assert NodeId("c.py", "alone") not in units
    for unit, patches in sites.patches.items():
        for patch in patches:
            old = base.data(patch.path)[patch.start : patch.end]
            assert (old, patch.text) in (
                (b"f", "fresh"),
                (b"f", "fresh as f"),
                (b"f", "f as fresh"),
            )
            assert unit.path == patch.path
