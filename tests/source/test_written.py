"""What is put together by hand reads as `ast.unparse` has it."""

from __future__ import annotations

import argparse
import ast
import inspect
import json.decoder
import textwrap
import typing

import pytest

from mak.source.written import written

ODD = """
(1).real; 1.5.real; -1; "it's"; 'a"b'; u"x"; b"y"; f"{x}"; "a" "b"; 1e400; 2j; ...
f(*a, **k); f(x for x in y); f((yield)); f(a := 1); f(lambda: 0)(1).b[2]; not a
a = b = 1; a.b = 2; a[0] = 3; a, b = 4, 5; (a) = (b); x = yield; x = (yield)
"doc"; "\\n\\t\\x00é"; 123456789012345678901234567890; f(a, b=(c), c=d.e.f(1))
await_ = None; True; x = not y; (a.b).c; f()().d; (lambda: 0).e; [].append(1); "".join([])
"""


@pytest.mark.parametrize("module", [argparse, json.decoder, textwrap, typing, None])
def test_it_reads_as_unparse_has_it(module) -> None:  # type: ignore[no-untyped-def]
    tree = ast.parse(ODD if module is None else inspect.getsource(module))
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.expr | ast.stmt | ast.keyword)]
    assert nodes
    for node in nodes:
        assert written(node) == ast.unparse(node)
