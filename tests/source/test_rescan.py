"""Facts of a file where functions changed are those that reading all of it gives."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mak.source import split
from mak.source.file import FUNCTIONS
from mak.source.rescan import rescan
from mak.source.scan import scan
from tests.source.test_compiled import BODIES, HEADS, changed

FILE = b'''"""Doc."""

from __future__ import annotations

import os as system, a.b

__all__ = ["f", "g"]
LATE = [x for x in range(3)]


@deco(key=[y for y in LATE], a=LATE.b)
# about f
def f(a, b=1):
    return a


def long(a: "C", *args: int, key=lambda z: z, **more: system.Path) -> C | None:
    import re
    from a.b import c as d
    class In:
        x: int = field(default=1)
        def m(self): return self.x.y(1, *args, k=2)
    try:
        with suppress(NameError) as s:
            late = getattr(a, "n")
    except (TypeError, ValueError) as e:
        global gone
        gone = e
    def deep():
        nonlocal late
        late, [q, *r] = {}, [w := 1, "a.b"]
        del late
    match a:
        case C(x=1, y=[u, *v]) | {"k": t, **rest}: pass
    for i in globals()["f"]: i.k = 1
    return deep


class C(Base, metaclass=M.eta):
    x: Any = f(1)

    # about m
    def m(self, a):
        return a

    @property
    def p(self): return 1

    class D:
        def n(self, a):
            return super().n(a)[0].z


@pytest.mark.skip
async def g(a):
    return a


if LATE:
    try:
        late = C.m
    except AttributeError:
        pass
__all__ += ["late"]
'''
STATEMENTS = [
    "import q.r as s", "from . import t", "x = y.z(1, k=a)", "def i(b=[c for c in a]): return b.c",
    "class K(C): z = 1", "global f, new; new = a", "self.a.b = lambda v: v + a", "'a.b.c'",
    "with raises(TypeError): f(1)", "if hasattr(a, 'x'): a.x()", "exec(a)", "a[globals()['n']]",
    "try: a.b\nexcept: pass", "for a in b: a.c()", "return C(1)", "x: 'C.D' = None",
    "del a.b", "@f(1)\ndef j(): pass", "cast('C', a).m(partial(f, 1, k=2))", "é = a.é",
]  # fmt: skip


# I6
@given(st.integers(0, 5), st.sampled_from(HEADS), st.sampled_from(BODIES))
def test_function_says_in_its_file_what_it_says_by_itself(n: int, head: str, body: str) -> None:
    before = split(FILE, "a.py")
    after = changed(before, n, head, body)
    known = scan(FILE)
    assert known is not None
    found = rescan(known, before, after)
    if found is not None:
        assert found == scan(after.data)


def rewritten(text: str, statements: list[str], newline: str) -> str:
    """Give a function another body."""
    line = text.index("def ")
    head = text[: text.index(newline, line) + len(newline)]
    if "return" in head:
        return text
    outer = head[head.rindex(newline, 0, line) + len(newline) if newline in head[:line] else 0 :]
    indent = " " * (4 + len(outer) - len(outer.lstrip(" ")))
    lines = "\n".join(statements or ["pass"]).split("\n")
    return head + "".join(f"{indent}{line}{newline}" for line in lines)


# I6
@given(
    st.dictionaries(st.integers(0, 5), st.lists(st.sampled_from(STATEMENTS), max_size=4)),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
)
def test_several_functions_with_other_statements(
    edits: dict[int, list[str]], newline: str, mark: bytes
) -> None:
    before = split(mark + FILE.replace(b"\n", newline.encode()), "a.py")
    nodes = [node for node in before.nodes if node.kind in FUNCTIONS]
    data = before.data
    for number in sorted(edits, reverse=True):
        node = nodes[number]
        text = rewritten(before.text(node.id).decode(), edits[number], newline)
        data = data[: node.start] + text.encode() + data[node.end :]
    after = split(data, "a.py")
    known = scan(before.data)
    assert known is not None
    found = rescan(known, before, after)
    if found is not None:
        assert found == scan(data)


def test_most_changes_of_functions_need_no_other_look() -> None:
    before = split(FILE, "a.py")
    known = scan(FILE)
    assert known is not None
    assert rescan(known, before, before) == known
    for node in before.nodes:
        if node.kind in FUNCTIONS:
            text = before.text(node.id).replace(b"return ", b"return a.b(k=2), [i for i in a], ")
            data = before.data[: node.start] + text + before.data[node.end :]
            found = rescan(known, before, split(data, "a.py"))
            assert found == scan(data) != known, node.id
    assert rescan(known, before, split(FILE.replace(b"x: Any", b"y: Any"), "a.py")) is None


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_functions_of_the_standard_library(step: int) -> None:
    looks = again = 0
    for path in sorted(Path(ast.__file__).parent.glob("*.py"))[::step]:
        before = split(path.read_bytes(), "a.py")
        known = scan(before.data)
        functions = [node for node in before.nodes if node.kind in FUNCTIONS]
        if known is None or before.encoding != "utf-8":
            continue
        for node in functions[:: max(1, len(functions) // 4)]:
            text = before.text(node.id).replace(b"return ", b"return _q.r(k=1), [i for i in s], ")
            data = before.data[: node.start] + text + before.data[node.end :]
            after = split(data, "a.py")
            if after.whole:
                continue
            found = rescan(known, before, after)
            looks, again = looks + 1, again + (found is None)
            if found is not None:
                assert found == scan(data), (path, node.id)
    assert looks > 40 and again < looks / 20
