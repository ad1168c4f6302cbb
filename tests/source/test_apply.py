"""An edit changes what it was meant for and nothing else, whatever the file is like."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mak.model import AddImport, Delete, Insert, Node, NodeId, NodeKind, Replace
from mak.source import (
    Applied,
    Rejected,
    SourceFile,
    apply,
    compiles,
    decode,
    join,
    python_newer,
    split,
)

DATA = Path(__file__).parent.parent / "data"
NASTY = sorted(p for p in (DATA / "nasty").iterdir() if not p.name.startswith("."))
DEFINITIONS = (NodeKind.FUNCTION, NodeKind.METHOD)

UNITS = [
    "def {name}(a):\n    return a\n",
    "# about it\ndef {name}(): return 1\n",
    "@deco\nasync def {name}(\n    a, b=1\n):\n    '''doc\n\n# no '''\n    return 1\n    # end\n",
    "class {name}:\n    '''doc'''\n\n    x = 1\n\n    def m(self):\n        return 1\n    # end\n",
    "class {name}(B):\n\tdef m(self):\n\t\treturn '''\n x'''\n\n\tclass In:\n\t\ty = 1\n",
    "class {name}: pass\n",
    "{name} = 1\n",
    "{name} = [\n    1,\n]; other_{name} = 2\n",
    "if deco:\n    def {name}(): pass\nelse:\n    {name} = None\n",
]
GAPS = ["", "\n", "\n\n", "\n# section\n\n", "\x0c\n", "   \n"]


@st.composite
def files(draw: st.DrawFn) -> SourceFile:
    """A file of distinct symbols, in any newline style, that compiles."""
    head = draw(st.sampled_from(["", "import os\n", '"""doc"""\n', "# licence\n\nimport os, re\n"]))
    units = draw(st.lists(st.sampled_from(UNITS), min_size=1, max_size=6))
    text = head
    for number, unit in enumerate(units):
        text += draw(st.sampled_from(GAPS)) + unit.format(name=f"s{number}")
    text += draw(st.sampled_from(["", "\n\n", "\n# the end\n"]))
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    newline = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    mark = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    file = split(mark + text.replace("\n", newline).encode(), "a.py")
    assume(compiles(file) is None)
    return file


def with_function(file: SourceFile) -> SourceFile:
    """Return the file with a function in front, so that there is one."""
    newline = file.newline.encode()
    header = file.nodes[0]
    code = b"def first(x): return x".join((newline, newline))
    return split(file.data[: header.end] + code + file.data[header.end :], "a.py")


def texts(file: SourceFile) -> dict[NodeId, bytes]:
    return {node.id: file.text(node.id) for node in file.nodes}


def core(file: SourceFile, node: Node) -> bytes:
    return file.data[node.start : node.end - node.tail].strip()


def longer(text: str) -> str:
    """Return a definition with one more statement or comment at its end."""
    code = text.rstrip()
    return code + ("  # more" if "\n" not in code.strip() or "#" in code[-10:] else "; 2")


@given(files())
def test_repeating_a_node_changes_no_byte(file: SourceFile) -> None:
    for node in file.nodes:
        if node.start == node.end:
            continue
        text = decode(file, node.id)
        for source in (text, text.strip("\n"), text.strip()):
            if not source.strip():
                continue
            edit = Replace(node.id, source)
            result = apply(file, "a.py", [edit], granted=frozenset({node.id}))
            assert isinstance(result, Applied), (node.id, result)
            assert result.file is not None
            assert result.file.data == file.data
            assert not result.changed


# I6
@given(files(), st.data())
def test_an_edit_leaves_every_other_byte(file: SourceFile, data: st.DataObject) -> None:
    file = with_function(file)
    node = data.draw(st.sampled_from([n for n in file.nodes if n.kind in DEFINITIONS]))
    source = longer(decode(file, node.id))
    result = apply(file, "a.py", [Replace(node.id, source)], granted=frozenset({node.id}))
    assert isinstance(result, Applied), result
    assert result.file is not None
    before, after = texts(file), texts(result.file)
    assert list(before) == list(after)
    assert {id for id in before if before[id] != after[id]} == {node.id}
    assert result.changed == {node.id}
    assert not result.api_changed
    assert join(result.file) == result.file.data


@given(files(), st.data())
def test_an_insertion_leaves_every_other_text(file: SourceFile, data: st.DataObject) -> None:
    parents = [NodeId("a.py"), *(n.id for n in file.nodes if n.kind is NodeKind.CLASS)]
    parent = data.draw(st.sampled_from(parents))
    after = data.draw(st.sampled_from([None, *(node.id for node in file.nodes)]))
    text = "def brand_new(self=1):\n    return '''\nas it is'''\n"
    result = apply(file, "a.py", [Insert(parent, text, after)], granted=frozenset())
    assert isinstance(result, Applied), result
    assert result.file is not None
    symbol = "brand_new" if parent.is_file else f"{parent.symbol}.brand_new"
    assert NodeId("a.py", symbol) in result.created
    assert b"as it is" in result.file.text(NodeId("a.py", symbol))
    opened = file.get(parent)
    for node in file.nodes:
        now = result.file.get(node.id)
        if now is None or opened is node:
            assert node.kind in (NodeKind.BODY, NodeKind.CLASS_BODY, NodeKind.CLASS)
            continue
        assert core(result.file, now) == core(file, node)


@given(files(), st.data())
def test_a_deletion_leaves_every_other_text(file: SourceFile, data: st.DataObject) -> None:
    file = with_function(file)
    node = data.draw(st.sampled_from([n for n in file.nodes if n.kind in DEFINITIONS]))
    result = apply(file, "a.py", [Delete(node.id)], granted=frozenset({node.id}))
    assert isinstance(result, Applied), result
    assert result.file is not None
    assert node.id in result.deleted
    for other in file.nodes:
        now = result.file.get(other.id)
        if other is not node and other.kind in (*DEFINITIONS, NodeKind.CLASS):
            assert now is not None
            assert core(result.file, now) == core(file, other)


@given(files())
def test_imports_change_the_header_only(file: SourceFile) -> None:
    edits = [AddImport("a.py", "import zoo"), AddImport("a.py", "from zoo import cage as c")]
    result = apply(file, "a.py", edits, granted=frozenset())
    assert isinstance(result, Applied), result
    assert result.file is not None
    assert set(result.file.nodes[0].names) == {*file.nodes[0].names, "zoo", "c"}
    assert result.changed == {NodeId("a.py", "@header")}
    for before, after in zip(file.nodes[1:], result.file.nodes[1:], strict=True):
        assert before.id == after.id
        assert core(file, before) == core(result.file, after)
    again = apply(result.file, "a.py", edits, granted=frozenset())
    assert isinstance(again, Applied)
    assert again.file is not None
    assert again.file.data == result.file.data


@given(files(), st.text(max_size=60), st.data())
def test_any_text_is_applied_to_its_node_or_rejected(
    file: SourceFile, text: str, data: st.DataObject
) -> None:
    node = data.draw(st.sampled_from([n for n in file.nodes if n.end > n.start]))
    pasted = data.draw(st.sampled_from([text, decode(file, node.id) + text, text + "def s0(): 1"]))
    result = apply(file, "a.py", [Replace(node.id, pasted)], granted=frozenset({node.id}))
    if isinstance(result, Rejected):
        assert result.reason
        assert "\n" not in result.reason
        return
    assert result.file is not None
    assert compiles(result.file) is None
    for other in file.nodes:
        if other.id != node.id and other.end > other.start:
            now = result.file.get(other.id)
            assert now is not None
            header = NodeId("a.py", "@header")
            assert other.id == header or core(result.file, now) == core(file, other)


@pytest.mark.parametrize("path", NASTY, ids=lambda path: path.name)
def test_repeating_any_node_of_a_nasty_file_changes_no_byte(path: Path) -> None:
    file = split(path.read_bytes(), path.name, newer=python_newer.cut)
    for node in file.nodes:
        source = decode(file, node.id)
        if not source.strip() or not file.encoding:
            continue
        granted = frozenset({node.id})
        edit = Replace(node.id, source)
        result = apply(file, path.name, [edit], granted=granted, newer=python_newer.cut)
        if file.whole and file.language == "python" and file.why_whole:
            assert isinstance(result, Rejected)
            continue
        assert isinstance(result, Applied), result
        assert result.file is not None
        assert result.file.data == file.data


def test_latin1_file_is_edited_in_its_coding() -> None:
    data = "# coding: latin-1\nx = 'é'\n\n\ndef f():\n    return 'ü'\n".encode("latin-1")
    file, f = split(data, "a.py"), NodeId("a.py", "f")
    result = apply(file, "a.py", [Replace(f, "def f():\n    return 'ö'\n")], granted=frozenset({f}))
    assert isinstance(result, Applied)
    assert result.file is not None
    assert result.file.data == data.replace(b"\xfc", b"\xf6")
    wrong = apply(file, "a.py", [Replace(f, "def f():\n    return '→'\n")], granted=frozenset({f}))
    assert isinstance(wrong, Rejected)
    assert wrong.check == "encoding"
    assert "'→'" in wrong.reason


def test_mixed_newlines_stay_on_lines_that_do_not_change() -> None:
    data = b"def f():\r\n    a = 1\n    b = 2\r\n    return a\n"
    file, f = split(data, "a.py"), NodeId("a.py", "f")
    text = "def f():\n    a = 1\n    b = 3\n    return a\n"
    result = apply(file, "a.py", [Replace(f, text)], granted=frozenset({f}))
    assert isinstance(result, Applied)
    assert result.file is not None
    assert result.file.data.splitlines(keepends=True)[:2] == data.splitlines(keepends=True)[:2]
    assert result.file.data.endswith(b"    return a\n")


def test_syntax_newer_than_this_python_is_edited_when_its_parser_is_given() -> None:
    data = (
        b"type X[T] = list[T]\n\n\ndef f[T](x: T) -> T:\n    return x\n\n\n"
        b"class A[T](B):\n    y = 1\n"
    )
    file = split(data, "a.py", newer=python_newer.cut)
    f, a = NodeId("a.py", "f"), NodeId("a.py", "A")
    edits = [
        Replace(f, "def f[T](x: T) -> T:\n    return x or f(x)\n"),
        Replace(a, "class A[T](C):\n    pass\n"),
        Insert(a, "def m[U](self, u: U): return u\n"),
        Insert(NodeId("a.py"), "def g(): return 1\n"),
    ]
    result = apply(file, "a.py", edits, granted=frozenset({f, a}), newer=python_newer.cut)
    assert isinstance(result, Applied), result
    assert result.file is not None
    assert result.file.data == (
        b"type X[T] = list[T]\n\n\ndef f[T](x: T) -> T:\n    return x or f(x)\n\n\n"
        b"def g(): return 1\n\n\n"
        b"class A[T](C):\n    y = 1\n\n    def m[U](self, u: U): return u\n"
    )
    assert result.changed == {f, a}
    assert result.api_changed == {a}


def test_text_that_is_not_python_keeps_its_line_ends_and_mark() -> None:
    data = b"\xef\xbb\xbf# Notes\r\n\r\n- one\r\n"
    id = NodeId("notes.txt")
    file = split(data, id.path)
    edit = Replace(id, "# Notes\n\n- one\n- two\n")
    result = apply(file, id.path, [edit], granted=frozenset({id}))
    assert isinstance(result, Applied)
    assert result.file is not None
    assert result.file.data == data + b"- two\r\n"
    assert result.changed == {id}


def test_bytes_that_are_no_text_are_not_edited() -> None:
    id = NodeId("data.bin")
    file = split(b"\x00\xff", id.path)
    result = apply(file, id.path, [Replace(id, "text")], granted=frozenset({id}))
    assert isinstance(result, Rejected)
    assert result.check == "encoding"


def test_file_that_did_not_compile_before_may_stay_so_elsewhere() -> None:
    data = b"def f():\n    return 1\n\n\nreturn 2\n"
    file, f = split(data, "a.py"), NodeId("a.py", "f")
    result = apply(file, "a.py", [Replace(f, "def f():\n    return 3\n")], granted=frozenset({f}))
    assert isinstance(result, Applied)
    body = NodeId("a.py", "f")
    worse = Replace(body, "def f(a, a):\n    return 3\n")
    assert isinstance(apply(file, "a.py", [worse], granted=frozenset({f})), Rejected)


# I6
def test_nothing_is_applied_when_one_edit_is_rejected() -> None:
    file = split(b"def f(): pass\n\n\ndef g(): pass\n", "a.py")
    f, g = NodeId("a.py", "f"), NodeId("a.py", "g")
    edits = [Replace(f, "def f(): return 1\n"), Replace(g, "def g(: return 1\n")]
    assert isinstance(apply(file, "a.py", edits, granted=frozenset({f, g})), Rejected)


def test_grant_of_an_enclosing_class_covers_its_members() -> None:
    file = split(b"class A:\n    def f(self):\n        return 1\n", "a.py")
    f = NodeId("a.py", "A.f")
    edit = Replace(f, "def g(self):\n    return 2\n")
    result = apply(file, "a.py", [edit], granted=frozenset({NodeId.parse("a.py::A#all")}))
    assert isinstance(result, Applied)
    assert result.created == {NodeId("a.py", "A.g")}
