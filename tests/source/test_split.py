"""Cutting is exact on every input, and gives the nodes it should."""

from __future__ import annotations

import ast
import json
import textwrap
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mak.errors import MakError
from mak.model import NodeId, NodeKind
from mak.source import SourceFile, decode, join, python_newer, split
from mak.source.statement import Statement
from mak.source.text import blob_id

DATA = Path(__file__).parent.parent / "data"
NASTY = sorted(p for p in (DATA / "nasty").iterdir() if not p.name.startswith("."))
EXPECTED = json.loads((DATA / "nasty.json").read_text("utf-8"))


def check(file: SourceFile, data: bytes) -> None:
    """Everything that every cut of anything promises."""
    assert join(file) == data
    assert file.data == data
    assert not file.is_flawed
    end, line = 0, 1
    for node in file.nodes:
        assert node.start == end
        assert node.line == line or file.nodes[0].end == 3  # only a BOM
        assert 0 <= node.lead <= node.end - node.start - node.tail
        assert node.digest == blob_id(data[node.start : node.end])
        assert NodeId.parse(str(node.id)) == node.id
        assert file.node(node.id) is node
        end, line = node.end, node.end_line + 1
    assert end == len(data)
    assert len({node.id for node in file.nodes}) == len(file.nodes)
    if not file.whole:
        assert file.nodes[0].kind is (NodeKind.HEADER if file.is_code else NodeKind.TEXT)


def symbols(text: str) -> list[str]:
    return [node.id.symbol for node in split(text.encode()).nodes]


@pytest.mark.parametrize("path", NASTY, ids=lambda path: path.name)
def test_nasty_file_is_cut_as_listed(path: Path) -> None:
    data = path.read_bytes()
    file = split(data, path.name, newer=python_newer.cut)
    check(file, data)
    expected = EXPECTED[path.name]
    assert file.language == expected["language"]
    assert file.newline == expected["newline"]
    assert file.encoding == expected["encoding"]
    assert file.why_whole.partition(":")[0] == expected.get("why_whole", "")
    found = [] if file.whole else [node.id.symbol for node in file.nodes]
    assert found == expected.get("nodes", [])


@pytest.mark.parametrize("path", NASTY, ids=lambda path: path.name)
def test_nasty_file_is_exact_without_a_parser_for_newer_syntax(path: Path) -> None:
    data = path.read_bytes()
    check(split(data, path.name), data)


def test_every_nasty_file_is_listed() -> None:
    assert {path.name for path in NASTY} == set(EXPECTED)
    assert len(NASTY) >= 40


@pytest.mark.parametrize("path", NASTY, ids=lambda path: path.name)
def test_every_node_parses_alone(path: Path) -> None:
    file = split(path.read_bytes(), path.name)
    if file.whole or file.language != "python":
        return
    for node in file.nodes:
        code = file.data[node.start + node.lead : node.end].decode(
            file.encoding.replace("-sig", "")
        )
        if path.name in ("mixed_newlines.py", "cr_only.py"):
            code = code.replace("\r\n", "\n").replace("\r", "\n")
        if node.kind is NodeKind.CLASS and code.rstrip().endswith(":"):
            code = f"{code.rstrip()} pass\n"
        nested = code.startswith((" ", "\t"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(f"if 1:\n{code}" if nested else code)
        body = tree.body[0].body if nested and tree.body else tree.body
        if node.kind in (NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.CLASS):
            assert len(body) == 1
            assert body[0].name in node.names


# I2
@given(st.binary(max_size=400))
def test_random_bytes_are_exact(data: bytes) -> None:
    check(split(data, "x.py"), data)
    check(split(data, "x.bin"), data)


LINES = [
    "import os",
    "from a import (b,\n    c)",
    "x = 1",
    "x = 1; y = 2",
    "x = '''\ndef no():\n# no\n'''",
    "x = 1 + \\\n    2",
    "# comment",
    "    # deep comment",
    "",
    "   ",
    "\x0c",
    "def f(): pass",
    "def f(a, b=1):\n    return a\n    # end",
    "async def g(*, k): return 1",
    "@deco\n# between\n@(\n    other\n)\ndef h():\n    pass",
    "class A: pass",
    "class A:\n    '''doc'''",
    "class A(B):\n    x = 1\n\n    def m(self): pass\n    # in A",
    "class A:\n\n    # m\n    @property\n    def m(s): ...\n    @m.setter\n    def m(s, v): ...\n",
    "class A:\n    class B:\n        def m(self): pass\n        y = 1\n    z = 2",
    "if x:\n    def c(): pass\nelse:\n    import d",
    "if __name__ == '__main__':\n    f()",
    "try:\n    import a\nexcept E:\n    a = None",
    '"""docstring"""',
    "é = 'ü\x85'",
]


@st.composite
def programs(draw: st.DrawFn) -> bytes:
    parts = draw(st.lists(st.sampled_from(LINES), max_size=12))
    text = "\n".join(parts) + draw(st.sampled_from(["", "\n", "\n\n\n", "\n# end"]))
    newline = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    mark = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"]))
    return mark + text.replace("\n", newline).encode()


# I2
@given(programs())
def test_random_programs_are_exact(data: bytes) -> None:
    file = split(data, "x.py")
    check(file, data)
    assert not file.whole


@given(programs())
def test_both_parsers_give_the_same_nodes(data: bytes) -> None:
    from mak.source.python import Python, flaw_of
    from mak.source.text import newline_of, python_codec, utf8_lines
    from mak.source.tiling import tile

    try:
        statements = python_newer.cut(data)
    except SyntaxError:
        return  # some layouts only the running Python's parser knows
    lines = data.splitlines(keepends=True)
    utf8 = utf8_lines(data, lines, python_codec(data))
    assert utf8 is not None
    nodes = tile("x.py", data, lines, utf8, statements)
    assert nodes == split(data, "x.py").nodes
    assert flaw_of(SourceFile("x.py", data, Python.name, nodes, newline_of(data))) is None


# I3
@given(programs(), st.integers(0, 10_000))
def test_ids_do_not_depend_on_position(data: bytes, seed: int) -> None:
    file = split(data, "x.py")
    shift = b"# shifted\n\n" if not data.startswith(b"\xef") else b""
    moved = split(shift + data, "x.py")
    before = [n.id for n in file.nodes if n.kind is not NodeKind.HEADER]
    assert [n.id for n in moved.nodes if n.kind is not NodeKind.HEADER] == before


def test_empty_file_has_an_empty_header() -> None:
    (node,) = split(b"").nodes
    assert (node.kind, node.start, node.end) == (NodeKind.HEADER, 0, 0)


def test_licence_and_shebang_belong_to_the_file_not_to_its_first_function() -> None:
    file = split(b"#!/usr/bin/env python\n# Licence.\n\n# about f\ndef f(): pass\n", "a.py")
    assert decode(file, NodeId("a.py", "@header")) == "#!/usr/bin/env python\n# Licence.\n"
    assert file.node(NodeId("a.py", "f")).lead == len(b"\n# about f\n")


def test_run_of_statements_is_named_after_the_definition_before_it() -> None:
    assert symbols("x = 1\ndef f(): pass\ny = 1\nclass A:\n    z = 1\nw = 2\n") == [
        "@header",
        "@body",
        "f",
        "@body:f",
        "A",
        "A.@body",
        "@body:A",
    ]


def test_roles_tell_definitions_of_one_name_apart() -> None:
    text = "class A:\n    @property\n    def x(self): ...\n    @x.setter\n    def x(self, v): ...\n"
    assert symbols(text) == ["@header", "A", "A.x", "A.x[setter]"]
    text = "@app.register\ndef f(): ...\n@f.register\ndef _(x): ...\n@f.register\ndef _(y): ...\n"
    assert symbols(text) == ["@header", "f", "_[register]", "_[register]#2"]


def test_members_of_a_second_class_of_one_name_lie_in_it() -> None:
    assert symbols("class A:\n    def m(self): ...\nclass A:\n    def m(self): ...\n") == [
        "@header",
        "A",
        "A.m",
        "A#2",
        "A#2.m",
    ]


def test_names_in_conditional_blocks_are_bound_by_their_run() -> None:
    file = split(b"import a.b\nif a:\n    def f(): pass\nfor i in a:\n    with a as j: k = 1\n")
    assert file.nodes[0].names == ("a",)
    assert file.nodes[1].names == ("f", "i", "j", "k")


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("def f(a, b=1) -> int:\n    pass\n", "def f(a, b=1) -> int"),
        ("def f(a): return {1: 2}\n", "def f(a)"),
        (
            "async def f(\n    a,  # why\n    b='#:',\n):  # so\n    pass\n",
            "async def f(a, b='#:')",
        ),
        ("class A(B, metaclass=M):\n    x = 1\n", "class A(B, metaclass=M)"),
        ("class A: pass\n", "class A"),
        ("@deco\ndef f(x=lambda y: y): return 1\n", "def f(x=lambda y: y)"),
        ("def f(a: 'x:y'):\n    '''doc: more'''\n", "def f(a: 'x:y')"),
    ],
)
def test_signature_is_one_line(text: str, signature: str) -> None:
    assert split(text.encode()).nodes[1].signature == signature


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("def f(a): pass", "def f(a: int) -> str:\n    '''doc'''\n    return a", True),
        ("def f(a, b=1): pass", "def f(\n    a,\n    b=2,\n): pass", True),
        ("def f(a): pass", "def f(b): pass", False),
        ("def f(a): pass", "def f(a=1): pass", False),
        ("def f(a): pass", "def f(a, /): pass", False),
        ("def f(a): pass", "def f(*, a): pass", False),
        ("def f(a): pass", "async def f(a): pass", False),
        ("def f(a): pass", "@cache\ndef f(a): pass", False),
        ("@d(1, 2)\ndef f(a): pass", "@d(\n  1,  # one\n  2,\n)\ndef f(a): pass", True),
        ("class A(B): pass", "class A(C): pass", False),
        ("class A(B):\n    x = 1", "class A(B):\n    '''doc'''\n    x = 1", True),
        ("class A(B): pass", "class A(B, m=1): pass", False),
    ],
)
def test_api_digest_is_of_what_callers_see(one: str, other: str, same: bool) -> None:
    first, second = (split(text.encode()).nodes[1].api for text in (one, other))
    assert (first == second) is same


def test_warnings_of_the_analysed_code_stay_inside() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not split(b"x = '\\d'\nif x is 1: pass\n").whole


# I4
def test_broken_file_says_why_it_is_whole() -> None:
    file = split(b"def f(:\n", "a.py")
    assert [node.kind for node in file.nodes] == [NodeKind.FILE]
    assert file.id == file.nodes[0].id == NodeId("a.py")
    assert file.why_whole.startswith("does not parse: ")
    assert file.why_whole.endswith("(line 1)")


# I4
def test_parser_for_newer_syntax_that_dies_leaves_the_file_whole() -> None:
    def dies(data: bytes) -> tuple[Statement, ...]:
        raise MakError("worker died")

    file = split(b"type X[T] = = 1\n", "a.py", newer=dies)
    assert file.whole
    assert "no answer" in file.why_whole


@pytest.mark.parametrize(
    "data",
    [
        b"x = " + b"(" * 500 + b")" * 500,
        b"x = f(1\n" + b"# " + b"x" * 500_000,
        b"x = = " + b"a.b + " * 2000 + b"1\n",
        b"if = 1: pass\n" + b"elif x: pass\n" * 500,
        b"x = = 1 # \0\n",
    ],
)
def test_parser_for_newer_syntax_is_spared_what_could_kill_it(data: bytes) -> None:
    def asked(data: bytes) -> tuple[Statement, ...]:
        raise AssertionError("it was asked")

    assert split(data, "a.py", newer=asked).whole
    with pytest.raises(SyntaxError):
        python_newer.cut(data)


def test_text_of_a_class_with_its_members() -> None:
    text = textwrap.dedent(
        """\
        x = 1


        class A:
            y = 1

            def m(self):
                return 1


        class AB:
            pass
        """
    )
    file = split(text.encode(), "a.py")
    whole = file.text(NodeId.parse("a.py::A#all")).decode()
    assert whole == "\n\nclass A:\n    y = 1\n\n    def m(self):\n        return 1\n"
    assert file.text(NodeId("a.py")) == text.encode()
    with pytest.raises(KeyError):
        file.text(NodeId("a.py", "B"))


def test_ids_do_not_depend_on_how_deep_the_caller_is() -> None:
    data = b"if a == 0: x = 1\n" + b"elif a: y = 1\n" * 600 + b"\n\ndef f(): pass\n"

    def deep(depth: int) -> SourceFile:
        return deep(depth - 1) if depth else split(data, "a.py")

    assert [node.id.symbol for node in deep(300).nodes] == ["@header", "@body", "f"]
    assert split(data, "a.py").nodes[1].names == ("x", "y")
