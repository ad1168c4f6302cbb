"""Name resolution: scopes within a file, imports between files, and what is left unproven."""

from __future__ import annotations

import ast
import builtins
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mak.model import NodeId
from mak.source import SourceFile, Sources, split
from mak.source.facts import Facts, dump, load
from mak.source.hierarchy import doubtful, family
from mak.source.names import (
    ReferenceKind,
    callers,
    dependents,
    find,
    names_of,
    references,
)
from mak.source.scan import scan
from mak.source.text import blob_id


class Kept:
    """A cache in memory that counts what is asked of it."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], bytes] = {}
        self.put = 0

    def get_many(self, kind: str, keys: object) -> dict[str, bytes]:
        assert isinstance(keys, (list, tuple))
        return {key: self.items[kind, key] for key in keys if (kind, key) in self.items}

    def put_many(self, kind: str, items: object) -> None:
        assert isinstance(items, dict)
        self.put += len(items)
        self.items.update({(kind, key): value for key, value in items.items()})


def tree(cache: Kept | None = None, **files: str) -> Sources:
    """Make a tree; ``pkg__mod`` is ``pkg/mod.py``."""
    data = {
        f"{name.replace('__', '/')}.py".replace("/init.py", "/__init__.py"): dedent(text).encode()
        for name, text in files.items()
    }
    blobs = {blob_id(text): text for text in data.values()}
    entries = {path: blob_id(text) for path, text in data.items()}
    return Sources(entries, blobs.__getitem__, cache)


def places(sources: Sources, target: str) -> list[str]:
    """Return every reference as ``path:line kind``."""
    found = []
    for item in references(sources, target):
        line = sources.data(item.path)[: item.start].count(b"\n") + 1
        found.append(f"{item.path}:{line} {item.kind}")
    return found


def test_references_tell_calls_reads_imports_and_exports() -> None:
    sources = tree(
        a="""\
        __all__ = ["f"]
        def f(): pass
        f()
        g = [f]
        """,
        b="""\
        import a
        from a import f as h
        a.f()
        a.f
        h()
        """,
    )
    assert places(sources, "a.f") == [
        "a.py:1 export",
        "a.py:3 call",
        "a.py:4 read",
        "b.py:2 import",
        "b.py:3 call",
        "b.py:4 attribute",
        "b.py:5 call",
    ]


@pytest.mark.parametrize(
    ("how", "use"),
    [
        ("from pkg.mod import f", "f()"),
        ("from pkg.mod import f as g", "g()"),
        ("import pkg.mod", "pkg.mod.f()"),
        ("import pkg.mod as m", "m.f()"),
        ("from pkg import mod", "mod.f()"),
        ("from pkg import f", "f()"),
        ("from pkg import *", "f()"),
        ("import pkg", "pkg.f()"),
        ("import pkg", "pkg.mod.f()"),
        ("from pkg import again", "again()"),
        ("from pkg.sub import f", "f()"),
        ("from pkg.sub import up", "up.f()"),
        ("from space.inner import f", "f()"),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pkg.mod import f", "f()"),
        ("try:\n    from pkg.mod import f\nexcept ImportError:\n    f = None", "f()"),
        ("from pkg.mod import f\ng = f", "g()"),
        ("import functools\nfrom pkg.mod import f", "functools.partial(f, 1)"),
    ],
)
def test_a_use_is_found_through(how: str, use: str) -> None:
    sources = tree(
        pkg__init="from .mod import f\nfrom .mod import f as again\nfrom . import mod\n",
        pkg__mod="def f(*a): pass\n",
        pkg__sub__init="from ..mod import f\nfrom .. import mod as up\n",
        space__inner="from pkg import f\n",
        use=f"{how}\ndef caller():\n    {use}\n",
    )
    assert NodeId("use.py", "caller") in callers(sources, NodeId("pkg/mod.py", "f"))


@pytest.mark.parametrize(
    "body",
    [
        "def caller(f):\n    f()",
        "def caller(*f):\n    f()",
        "def caller():\n    f = 1\n    f()",
        "def caller():\n    for f in (): f()",
        "def caller():\n    with x as f: f()",
        "def caller():\n    try: pass\n    except E as f: f()",
        "def caller():\n    import f\n    f()",
        "def caller():\n    f()\n    def f(): pass",
        "def caller():\n    [f() for f in ()]",
        "def caller():\n    (lambda f: f())(1)",
        "def caller():\n    (f := 1)\n    f()",
        "def caller(x):\n    match x:\n        case [f]: f()",
        "def caller(x):\n    match x:\n        case {**f}: f()",
        "def caller():\n    x.f()",
        "def caller():\n    other.f()",
        "class C:\n    def f(self): pass\n    def caller(self):\n        self.f()",
        "def caller():\n    f = 1\n    def inner():\n        nonlocal f\n        f()",
        "def caller():\n    'f()'",
    ],
)
def test_a_shadowed_name_is_not_the_function(body: str) -> None:
    sources = tree(m="def f(): pass\n", use=f"from m import f\nimport other\n{body}\n", other="f=1")
    assert [r for r in references(sources, "m.f") if r.kind is not ReferenceKind.IMPORT] == []


@pytest.mark.parametrize(
    "body",
    [
        "def caller():\n    [f() for x in ()]",
        "def caller():\n    [f for f in f()]",
        "def caller(x=f()):\n    f = x",
        "class C:\n    f = f()\n    def caller(self): pass",
        "class C:\n    def f(self): pass\n    def caller(self):\n        f()",
        "def caller():\n    f()\n    def f2(): pass",
        "def caller():\n    def inner():\n        f()",
        "def caller():\n    lambda: f()",
        "def caller() -> 'f': pass",
        "def caller():\n    f'{f()}'",
        "@f\ndef caller(): pass",
    ],
)
def test_a_name_is_the_function_where_nothing_hides_it(body: str) -> None:
    sources = tree(m="def f(): pass\n", use=f"from m import f\n{body}\n")
    used = [r for r in references(sources, "m.f") if r.kind is not ReferenceKind.IMPORT]
    assert len(used) == 1


def test_two_definitions_prove_nothing() -> None:
    sources = tree(
        a="def f(): pass\n",
        use="from a import f\ndef f(): pass\nf()\n",
    )
    assert places(sources, "a.f") == ["use.py:1 import"]


def test_star_import_obeys_all_and_underscores() -> None:
    sources = tree(
        some="__all__ = ['f']\ndef f(): pass\ndef g(): pass\n",
        every="def h(): pass\ndef _i(): pass\n",
        use="from some import *\nfrom every import *\nf(); g(); h(); _i()\n",
    )
    assert places(sources, "some.f") == ["some.py:1 export", "use.py:3 call"]
    assert places(sources, "some.g") == []
    assert places(sources, "every.h") == ["use.py:3 call"]
    assert places(sources, "every._i") == []


def test_a_package_wins_over_the_submodule_of_its_name() -> None:
    sources = tree(
        pkg__init="from .run import run\n",
        pkg__run="def run(): pass\n",
        use="import pkg\npkg.run()\nfrom pkg import run\nrun()\n",
    )
    assert places(sources, "pkg.run.run")[-3:] == [
        "use.py:2 call",
        "use.py:3 import",
        "use.py:4 call",
    ]


def test_modules_of_src_layout_scripts_and_tests() -> None:
    sources = tree(
        src__pkg__init="",
        src__pkg__a="def f(): pass\n",
        tests__helper="def f(): pass\n",
        tests__test_a="import helper\nimport pkg.a\nhelper.f()\npkg.a.f()\n",
        tests__fixtures__json__init="def loads(): pass\n",
        app="import json\njson.loads()\n",
    )
    names = names_of(sources)
    assert places(sources, "pkg.a.f") == ["tests/test_a.py:4 call"]
    found = references(sources, NodeId("tests/helper.py", "f"))
    assert [r.path for r in found] == ["tests/test_a.py"]
    assert references(sources, NodeId("tests/fixtures/json/__init__.py", "loads")) == ()
    assert names.modules.name("src/pkg/a.py") == "pkg.a"


def test_methods_are_proven_by_self_class_super_annotation_and_construction() -> None:
    sources = tree(
        m="""\
        class Base:
            def go(self): pass
            def run(self): self.go()
            @classmethod
            def make(cls): cls.go(1)
        class Sub(Base):
            def run(self):
                super().go()
                self.go()
        def typed(b: Base, s: "Sub", o: "Base | None", u):
            b.go(); s.go(); o.go(); u.go()
        def made():
            x = Sub()
            x.go()
            Base().go()
            Base.go(x)
            y = Sub()
            y = 3
            y.go()
        """
    )
    lines = [int(place.split(":")[1].split()[0]) for place in places(sources, "m.Base.go")]
    assert lines == [3, 5, 8, 9, 11, 11, 11, 14, 15, 16]
    names = names_of(sources)
    method = find(names, "m.Base.go")
    assert method is not None
    doubts = doubtful(names, family(names, method))
    assert [str(doubt) for doubt in doubts] == ["m.py:11 u.go", "m.py:19 y.go"]


def test_a_method_is_doubtful_below_a_class_that_is_not_here() -> None:
    sources = tree(
        m="import lib\nclass A(lib.Base):\n    def go(self): pass\n"
        "class B(Exception):\n    def go(self): pass\n"
    )
    names = names_of(sources)
    first, second = find(names, "m.A.go"), find(names, "m.B.go")
    assert first and second
    assert [d.text for d in doubtful(names, family(names, first))] == ["class A(lib.Base)"]
    assert doubtful(names, family(names, second)) == ()


def test_callers_leave_out_imports_and_dependents_leave_out_what_goes_through_them() -> None:
    sources = tree(
        a="def f(): pass\ndef g(): f()\n",
        b="from a import f as h\ndef k(): h()\n",
    )
    node = NodeId("a.py", "f")
    assert callers(sources, node) == (NodeId("a.py", "g"), NodeId("b.py", "k"))
    assert dependents(sources, node) == (NodeId("a.py", "g"), NodeId("b.py", "@header"))


def test_a_body_node_stands_for_what_it_binds() -> None:
    sources = tree(a="def f(): pass\nLIMIT = 1\nother = 2\n", b="import a\ndef g(): a.LIMIT\n")
    assert callers(sources, NodeId("a.py", "@body:f")) == (NodeId("b.py", "g"),)


def test_an_overlay_is_resolved_by_its_own_texts() -> None:
    sources = tree(a="def f(): pass\n", b="from a import f\ndef g(): f()\n")
    changed: dict[str, SourceFile | None] = {"b.py": split(b"def g(): f()\n", "b.py")}
    assert callers(sources, NodeId("a.py", "f")) == (NodeId("b.py", "g"),)
    assert callers(sources.overlay(changed), NodeId("a.py", "f")) == ()
    assert callers(sources.overlay({"b.py": None}), NodeId("a.py", "f")) == ()


def test_only_files_that_spell_the_name_are_parsed_and_only_once() -> None:
    cache = Kept()
    files = {"a": "def rare_one(): pass\n", "b": "from a import rare_one\nrare_one()\n"}
    many = {f"m{i}": f"def f{i}(): return {i}\n" for i in range(50)}
    assert len(callers(tree(cache, **files, **many), NodeId("a.py", "rare_one"))) == 1
    parsed = [key for key in cache.items if key[0].startswith("facts")]
    assert len(parsed) == 2
    before = cache.put
    assert len(callers(tree(cache, **files, **many), NodeId("a.py", "rare_one"))) == 1
    assert cache.put == before


def test_files_that_do_not_parse_are_left_out() -> None:
    sources = tree(a="def f(): pass\n", b="from a import f\ndef (\n", c="from a import f\nf()\n")
    assert places(sources, "a.f") == ["c.py:1 import", "c.py:2 call"]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "latin-1", "cp1252"])
def test_offsets_are_those_of_the_stored_bytes(newline: bytes, codec: str) -> None:
    cookie = "" if codec.startswith("utf-8") else f"# coding: {codec}\n"
    text = f"{cookie}é = 'ü'; f(é, größe=é.f)\nx = 'ß'; f\n"
    data = text.encode(codec).replace(b"\n", newline)
    facts = scan(data, codec)
    assert facts is not None
    encoding = "utf-8" if codec == "utf-8-sig" else codec
    found = 0
    for name in ("f", "é"):
        for use in facts.uses(name):
            for spelled, start in zip(use.names, use.starts, strict=True):
                assert data[start:].startswith(spelled.encode(encoding))
                found += 1
    assert found == 7
    for binding in facts.bindings:
        assert data[binding.start :].startswith(binding.name.encode(encoding))


_NAMES = st.sampled_from(["a", "b", "f", "self", "x"])
_SIMPLE = st.one_of(
    st.builds("{} = {}".format, _NAMES, _NAMES),
    st.builds("{}.{}({}={})".format, _NAMES, _NAMES, _NAMES, _NAMES),
    st.builds("from m import {} as {}".format, _NAMES, _NAMES),
    st.builds("import {}".format, _NAMES),
    st.builds("[{0} for {0} in {1}]".format, _NAMES, _NAMES),
    st.builds("(lambda {}: {})({})".format, _NAMES, _NAMES, _NAMES),
    st.builds("({} := {})".format, _NAMES, _NAMES),
    st.builds("del {}".format, _NAMES),
)


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


_BLOCKS = st.recursive(
    st.lists(_SIMPLE, min_size=1, max_size=3),
    lambda inner: st.one_of(
        st.builds(lambda n, p, b: [f"def {n}({p}):", *_indented(b)], _NAMES, _NAMES, inner),
        st.builds(lambda n, b: [f"class {n}:", *_indented(b)], _NAMES, inner),
        st.builds(lambda n, b: [f"for {n} in {n}:", *_indented(b)], _NAMES, inner),
        st.builds(lambda a, b: [*a, *b], inner, inner),
    ),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(_BLOCKS)
def test_every_name_in_a_file_is_a_binding_or_a_use_with_its_place(lines: list[str]) -> None:
    data = "\n".join(lines).encode() + b"\n"
    facts = scan(data)
    assert facts is not None
    assert load(dump(facts)) == facts
    seen = {binding.start for binding in facts.bindings if binding.kind <= 3 or binding.kind == 7}
    for name in ("a", "b", "f", "self", "x"):
        for use in facts.uses(name):
            seen.update(start for start in use.starts if start >= 0)
    starts = [0]
    for line in data.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    for node in ast.walk(ast.parse(data)):
        if isinstance(node, ast.Name | ast.arg):
            assert starts[node.lineno - 1] + node.col_offset in seen


@settings(max_examples=150, deadline=None)
@given(_BLOCKS)
def test_scopes_agree_with_the_compiler(lines: list[str]) -> None:
    """What `lookup` calls a name of the module is what the compiler loads as a global."""
    import symtable

    source = "\n".join(lines) + "\n"
    try:
        table = symtable.symtable(source, "m.py", "exec")
    except SyntaxError:
        return
    data = source.encode()
    sources = Sources({"m.py": blob_id(data)}, {blob_id(data): data}.__getitem__)
    names, facts = names_of(sources), scan(data)
    assert facts is not None
    local: dict[tuple[str, int], list[symtable.SymbolTable]] = {}
    todo = [table]
    while todo:
        item = todo.pop()
        local.setdefault((item.get_name(), item.get_lineno()), []).append(item)
        todo.extend(item.get_children())
    for name in ("a", "b", "f", "self", "x"):
        for use in facts.uses(name):
            scope = facts.scopes[use.scope]
            if use.names[0] != name or scope.kind != 2:
                continue
            line = data[: scope.start].count(b"\n") + 1
            tables = local.get((scope.name, line), [])
            if len(tables) != 1:
                continue
            symbol = tables[0].lookup(name)
            found = names.lookup("m.py", use.scope, name, use.starts[0])
            if symbol.is_global():
                assert found is None or found.scope == 0
            else:
                assert found is not None and found.scope != 0


def _standard_library(count: int) -> list[Path]:
    folder = Path(ast.__file__).parent
    return sorted(folder.glob("*.py"))[:count]


@pytest.mark.parametrize("path", _standard_library(40), ids=lambda path: path.name)
def test_standard_library_has_no_unplaced_or_unbound_names(path: Path) -> None:
    data = path.read_bytes()
    facts = scan(data)
    assert facts is not None
    assert load(dump(facts)) == facts
    name = f"pkg/{path.name}"
    sources = Sources({name: blob_id(data)}, {blob_id(data): data}.__getitem__)
    names = names_of(sources)
    unknown = {
        spelled
        for spelled, use in _bare(facts)
        if names.lookup(name, use[0], spelled, use[1]) is None
        and not names.is_ambiguous(name, use[0], spelled, use[1])
        and not hasattr(builtins, spelled)
    }
    allowed = {"__file__", "__path__", "__class__", "__module__", "__qualname__", "WindowsError"}
    stars = bool(facts.stars) or b"globals()" in data or b"global_enum" in data
    assert stars or unknown <= allowed, unknown
    placed = [start for flat in facts.loads.values() for start in flat[1::2]]
    assert min(placed, default=0) >= 0


def _bare(facts: Facts) -> list[tuple[str, tuple[int, int]]]:
    found = []
    for name, flat in facts.loads.items():
        found += [(name, (flat[i], flat[i + 1])) for i in range(0, len(flat), 2)]
    found += [(u.names[0], (u.scope, u.starts[0])) for u in facts.chains if u.names[0]]
    return found


@pytest.mark.slow
def test_facts_cost_at_most_three_parses() -> None:
    import time

    texts = [path.read_bytes() for path in _standard_library(150)]
    begin = time.process_time()
    for text in texts:
        ast.parse(text)
    parsing = time.process_time() - begin
    begin = time.process_time()
    kept = [facts for text in texts if (facts := scan(text)) is not None]
    assert all(dump(facts) for facts in kept)
    assert time.process_time() - begin <= 3.5 * parsing
