"""Where only functions changed, they tell whether the file compiles."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mak.model import NodeKind
from mak.source import SourceFile, compiles, split, still_compiles

FUNCTIONS = (NodeKind.FUNCTION, NodeKind.METHOD)

FILE = b'''"""Doc."""

from __future__ import annotations


# about f
def f(a, b=1):
    return a


if f(1):
    global late


class C:
    global of_class
    __slots__ = ()

    # about m
    def m(self, a):
        return a

    @property
    def p(self): return 1

    class D:
        def n(self, a):
            global late
            late = a


async def g(a):
    return a
'''

#: What may stand for `return a`; most of it does not compile there, or nowhere.
BODIES = [
    "return a", "break", "continue", "yield a", "await a", "return (yield a)", "nonlocal b",
    "nonlocal __class__", "nonlocal late", "global a", "global late; late = a", "a = 1; global a",
    "super().m()", "__class__", "from __future__ import annotations",
    "from __future__ import braces",
    "from x import *", "x: int = 1; global x", "def i(): nonlocal a", "def i(): nonlocal zz",
    "[i async for i in a]", "(a := 1)", "[(a := 1) for a in a]", "[a := 1 for i in a]",
    "class E: nonlocal a", "class E: return", "__debug__ = 1", "*a", "a = *a", "f(a=1, a=2)",
    "del f()", "f() = 1", "async with a: pass", "lambda: (yield)", "try: pass\n    except: pass",
    "for i in a: continue\n    else: break", "x = {**a}", "return *a, 1", "__m = 1",
]  # fmt: skip
#: What may stand for the parameters `(… a`: of them the scope around takes part.
HEADS = [
    "a", "a, a", "a, z=(late := 1)", "a, z=(of_class := 1)", "a: (yield)", "a: (late := 1)",
    "a, z=(yield)", "a, z=[x async for x in y]", "a, __b, _C__b", "a, z=late", "a, z=of_class",
    "a, *, z=(lambda: (q := 1))", "a, __debug__", "a, z=__class__",
]  # fmt: skip


def changed(file: SourceFile, number: int, head: str, body: str) -> SourceFile:
    """Give one function of `FILE` other parameters and another body."""
    node = [node for node in file.nodes if node.kind in FUNCTIONS][number]
    text = file.text(node.id).decode()
    text = text.replace("(a", f"({head}").replace("self, a", f"self, {head}")
    code = f"\n{' ' * (len(text) - len(text.lstrip()))}".join(body.split("\n    "))
    text = text.replace("return a", code)
    return split(file.data[: node.start] + text.encode() + file.data[node.end :], file.path)


# I6
@given(st.integers(0, 4), st.sampled_from(HEADS), st.sampled_from(BODIES))
def test_file_compiles_where_what_changed_does(number: int, head: str, body: str) -> None:
    before = split(FILE, "a.py")
    assert compiles(before) is None
    after = changed(before, number, head, body)
    if not after.whole and [n.id for n in after.nodes] == [n.id for n in before.nodes]:
        assert still_compiles(before, after) == (compiles(after) is None)
    elif still_compiles(before, after):
        assert compiles(after) is None


def test_whole_file_is_asked_where_more_than_functions_changed() -> None:
    before = split(FILE, "a.py")
    assert still_compiles(before, before)
    for old, new in [
        (b"if f(1):", b"if f(2):"),
        (b"class C:", b"class C(object):"),
        (b"async def g", b"async def h"),
        (b"__slots__ = ()", b"__slots__ = []"),
        (b"from __future__ import annotations\n", b""),
        (b"async def g(a):\n    return a\n", b""),
        (FILE, b"def f(\n"),
    ]:
        assert FILE.replace(old, new) != FILE
        assert not still_compiles(before, split(FILE.replace(old, new), "a.py"))
    latin = split("# coding: latin-1\n\n\ndef f(): pass\n".encode("latin-1"), "a.py")
    assert not still_compiles(latin, latin)
    text = split(b"x\n", "a.txt")
    assert not still_compiles(text, text)


def test_edit_does_not_answer_for_what_was_broken_elsewhere() -> None:
    before = split(FILE.replace(b"    def p(self): return 1", b"    def p(self): break"), "a.py")
    assert compiles(before) is not None
    assert still_compiles(before, changed(before, 0, "a", "return 2"))
    assert not still_compiles(before, changed(before, 0, "a", "break"))


@pytest.mark.slow
def test_functions_of_the_standard_library_answer_for_their_files() -> None:
    for path in sorted(Path(ast.__file__).parent.glob("*.py")):
        before = split(path.read_bytes(), "a.py")
        functions = [node for node in before.nodes if node.kind in FUNCTIONS]
        for node in functions[:: max(1, len(functions) // 5)]:
            for body in (b"return 1, ", b"yield ", b"nonlocal self; return "):
                text = before.text(node.id).replace(b"return ", body)
                data = before.data[: node.start] + text + before.data[node.end :]
                after = split(data, "a.py")
                if [n.id for n in after.nodes] == [n.id for n in before.nodes]:
                    is_sound = compiles(after) is None
                    assert still_compiles(before, after) == is_sound, (path, node.id, body)
