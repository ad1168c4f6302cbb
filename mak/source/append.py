"""What only grows: recognised from the syntax of a node, so that several tasks may add to it.

Imports, ``__all__``, displays of like entries, runs of calls of one function, assignments to the
keys of one table, members of a class or file. Apart from ``__all__`` no name means anything here.
Adding to such a node commutes with other tasks' adding to it (`mak.source.weave`); whether an edit
did no more than that is for `only_adds` to say.
"""

from __future__ import annotations

import ast
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby

from mak.model import Aspect, Node, NodeId, NodeKind
from mak.source.entries import Structured
from mak.source.file import SourceFile, decode
from mak.source.items import Clash
from mak.source.language import structured
from mak.source.merge import context_of_node
from mak.source.python_ast import parse_text
from mak.source.python_rows import read
from mak.source.text import BOM, reindent
from mak.source.weave import only_grew
from mak.source.written import written

_FUNCTIONS = (NodeKind.FUNCTION, NodeKind.METHOD)
_RUNS = (NodeKind.BODY, NodeKind.CLASS_BODY)
#: Nodes whose answer stays in memory.
_KEPT = 8192

_known: OrderedDict[tuple[str, str, str], Appendable | None] = OrderedDict()


@dataclass(frozen=True, slots=True)
class Appendable:
    """What of a node only grows, as a person would call it."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return ", ".join(self.parts)


def appendable(file: SourceFile, id: NodeId) -> Appendable | None:
    """Return what of a node may grow by several tasks at once; None: nothing.

    A file and a class (``#all``) grow by new members. The answer for a node is remembered by its
    text; asking again costs a look-up.
    """
    language = structured(file)
    if file.whole or (language is None and file.language != "python"):
        return None
    if id.is_file:
        return Appendable(("entries",) if language else ("members", *_registering(file)))
    node = file.get(id.node)
    if node is None or id.aspect is Aspect.API:
        return None
    if language is not None:
        return _entries(file, language, node)
    if node.kind is NodeKind.HEADER:
        return Appendable(("imports",))
    if node.kind is NodeKind.CLASS:
        return Appendable(("members",)) if id.aspect is Aspect.ALL else None
    context = context_of_node(file, node) if node.kind is NodeKind.CLASS_BODY else ""
    key = (node.digest, node.kind, context)
    if key not in _known:
        parts = tuple(dict.fromkeys(_parts(file, node))) if context in ("", "class") else ()
        _keep(key, parts)
    return _known[key]


def only_adds(before: SourceFile, after: SourceFile, id: NodeId) -> bool:
    """Whether all that a node held is in it still, in order, and the rest is new entries.

    True too when it did not change. Of a file or class that its members are all there, unchanged.
    """
    if id.is_file or id.aspect is Aspect.ALL:
        mine, theirs = (
            {n.id: n.digest for n in (f.nodes if id.is_file else f.members(id.node))}
            for f in (before, after)
        )
        return mine.items() <= theirs.items()
    old, new = before.get(id.node), after.get(id.node)
    if old is None or new is None:
        return False
    if old.digest == new.digest:
        return True
    language = structured(before)
    try:
        if language is not None:
            return only_grew(
                *(language.row(f.text(id.node).removeprefix(BOM)) for f in (before, after))
            )
        context = context_of_node(before, old)
        rows = [
            read(
                f.text(id.node).decode(f.encoding.removesuffix("-sig") or "utf-8").encode(), context
            )
            for f in (before, after)
        ]
        return only_grew(*rows)
    except (Clash, SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _entries(file: SourceFile, language: Structured, node: Node) -> Appendable | None:
    """Return what grows in an entry of a file that is not code."""
    key = (node.digest, language.name, "")
    if key not in _known:
        parts: tuple[str, ...] = ()
        with suppress(ValueError, RecursionError):
            row = language.row(file.text(node.id).removeprefix(BOM))
            grows = len(row.items) > 1 or any(item.inner for item in row.items)
            parts = (f"entries of `{node.id.symbol}`",) if grows else ()
        _keep(key, parts)
    return _known[key]


def _keep(key: tuple[str, str, str], parts: tuple[str, ...]) -> None:
    _known[key] = Appendable(parts) if parts else None
    if len(_known) > _KEPT:
        _known.popitem(last=False)


# --------------------------------------------------------------------------------- of a node


def _parts(file: SourceFile, node: Node) -> Iterator[str]:
    try:
        body = parse_text(reindent(decode(file, node.id), "", "    ")).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    if node.kind in _RUNS:
        yield from _tables(body)
        yield from _calls(body)
    elif node.kind in _FUNCTIONS and len(body) == 1:
        yield from _in_function(body[0])


def _in_function(function: ast.stmt) -> Iterator[str]:
    """Yield what grows in a function that hardly does anything else."""
    body: Sequence[ast.stmt] = getattr(function, "body", [])
    steps = [s for s in body if not _is_docstring(s) and not isinstance(s, ast.Pass)]
    if len(steps) == 1 and isinstance(steps[0], ast.With | ast.AsyncWith):
        steps = steps[0].body
    last = steps[-1] if steps else None
    if len(steps) == 1 and isinstance(last, ast.Return) and _is_table(last.value):
        yield f"the {_kind(last.value)} it returns"
    yield from _tables(steps)
    runs = [*_runs(steps)]
    work = [s for s in steps if not isinstance(s, ast.Return | ast.Assign | ast.AnnAssign)]
    for name, size in runs:
        if 2 * size >= len(work):
            yield f"calls of `{name}`"
    if len(work) == 1 and (name := _first_entry(function, work[0])):
        yield f"calls of `{name}`"


def _first_entry(function: ast.stmt, node: ast.stmt) -> str:
    """Return what a function calls that makes one entry, by its key, in what it is given."""
    match node:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(owner)), [ast.Constant(str()), *_])) if (
            isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        ):
            given = {arg.arg for arg in (*function.args.posonlyargs, *function.args.args)}
            return _entry(node) if owner in given - {"self", "cls"} else ""
    return ""


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _tables(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the names that displays of like entries are bound to."""
    for node in body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target: ast.expr = node.targets[0]
        elif isinstance(node, ast.AnnAssign | ast.AugAssign):
            target = node.target
        else:
            continue
        if not isinstance(target, ast.Name | ast.Attribute):
            continue
        name = written(target)
        if name == "__all__" and isinstance(node.value, ast.List | ast.Tuple):
            yield "`__all__`"
        elif _is_table(node.value):
            yield f"the {_kind(node.value)} `{name}`"


def _kind(node: ast.expr | None) -> str:
    return type(node).__name__.lower()


def _is_table(node: ast.expr | None) -> bool:
    """Whether a display holds entries that are alike, so that there may be more of them."""
    if isinstance(node, ast.Dict):
        return None not in node.keys
    if isinstance(node, ast.Set):
        return not any(isinstance(e, ast.Starred) for e in node.elts)
    if not isinstance(node, ast.List | ast.Tuple):
        return False
    shapes = {_shape(element) for element in node.elts}
    return len(shapes) < 2 and "" not in shapes


def _shape(node: ast.expr) -> str:
    """Return what entries of one table have in common; empty for what is rather a value."""
    if isinstance(node, ast.Constant):
        return "text" if isinstance(node.value, str | bytes) else ""
    if isinstance(node, ast.Name | ast.Attribute):
        return "name"
    if isinstance(node, ast.Call):
        return f"call {written(node.func)}"
    if isinstance(node, ast.Tuple | ast.List):
        return f"{_kind(node)} of {len(node.elts)}"
    return "dict" if isinstance(node, ast.Dict) else ""


# --------------------------------------------------------------------------------- calls


def _calls(body: Sequence[ast.stmt]) -> Iterator[str]:
    for name, _ in _runs(body):
        yield f"calls of `{name}`"


def _runs(body: Sequence[ast.stmt]) -> Iterator[tuple[str, int]]:
    """Yield what two or more statements in a row call or fill in the same manner, and how many."""
    for name, group in groupby(body, key=_entry):
        run = [*group]
        if name and len(run) > 1 and len({ast.dump(node) for node in run}) == len(run):
            yield name, len(run)


def _entry(node: ast.stmt) -> str:
    """Return what a statement calls, or the table of which it sets a key; empty: it does more."""
    if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Subscript):
        return f"{written(target.value)}[]" if len(node.targets) == 1 else ""
    if not (isinstance(node, ast.Expr) and isinstance(call := node.value, ast.Call)):
        return ""
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    if not values or not all(map(_is_plain, values)):
        return ""
    return written(call.func)


def _is_plain(node: ast.expr) -> bool:
    """Whether an argument says what something is, rather than working it out."""
    if isinstance(node, ast.Constant | ast.Name | ast.Attribute | ast.Lambda):
        return True
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return all(map(_is_plain, node.elts))
    if isinstance(node, ast.Dict):
        return all(key is not None and _is_plain(key) for key in node.keys)
    if isinstance(node, ast.Call):
        return all(map(_is_plain, (*node.args, *(keyword.value for keyword in node.keywords))))
    return False


# --------------------------------------------------------------------------------- decorators


def _registering(file: SourceFile) -> tuple[str, ...]:
    """Return what decorators register two functions or more, each with arguments of its own."""
    if b"\n@" not in file.data:
        return ()
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    for node in file.nodes:
        if "." in node.id.symbol or node.kind not in (NodeKind.FUNCTION, NodeKind.CLASS):
            continue
        for line in decode(file, node.id).split("\n"):
            if line.startswith("@") and line.endswith(")") and line not in seen:
                seen.add(line)
                counts[line[1:].partition("(")[0]] += 1
    return tuple(f"functions with `@{name}`" for name, count in counts.items() if count > 1)
