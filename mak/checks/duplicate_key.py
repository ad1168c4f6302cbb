"""The same key twice: in one table, or registered twice with the same registry.

Tables are dictionary literals. Registrations are runs of ``TABLE["key"] = …`` at module level, and
calls or decorators whose name says ``register`` with the key as first argument; with the same
registry also from different files.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mak.checks.change import tree_check
from mak.checks.view import THERE, Entry, Problem, Spot, Syntax, View
from mak.source.expressions import dotted
from mak.source.resolve import Thing

#: Keys as they stand at the beginning of a line, with its indentation, or of a table.
_KEY = re.compile(rb"""(^[ \t]*|[{,][ \t]*)("[^"\n]*"|'[^'\n]*'|\d+)[ \t]*:""", re.MULTILINE)
#: How a key ends, colon first, which is found quickly; without two there are no two keys.
_ENDS = re.compile(rb""":(?<=["'\d \t]:)""")
#: Lines that may register something at module level.
_REGISTERS = re.compile(
    rb"""^(?:@?[\w.]*register\w*\(\s*["']|[\w.]+\[["'][^\n]*\]\s*=[^=])""", re.MULTILINE | re.I
)
_SIDE = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom


def _problems(view: View, path: str) -> Iterator[Problem]:
    if not path.endswith(".py") or path not in view.sources:
        return
    data = view.data(path)
    if _may_repeat(data):
        yield from _in_tables(view, path)
    if _REGISTERS.search(data):
        yield from _in_registries(view, path)


def _may_repeat(data: bytes) -> bool:
    """Whether two keys of one table may be alike, by how the lines look."""
    if len(_ENDS.findall(data)) < 2:
        return False
    last: dict[tuple[bytes, bytes], int] = {}
    for match in _KEY.finditer(data):
        before, key = match.groups()
        known = last.get((before, key))
        last[before, key] = match.end()
        if known is None:
            continue
        between = data[known : match.start()]
        if before.strip():
            if b"\n" not in between:
                return True
        elif not _ends_block(between, len(before)):
            return True
    return False


def _ends_block(text: bytes, indent: int) -> bool:
    """Whether a line stands further left than `indent`: what began there is over."""
    return any(
        line.strip() and len(line) - len(line.lstrip()) < indent for line in text.split(b"\n")[1:]
    )


def _in_tables(view: View, path: str) -> Iterator[Problem]:
    syntax = view.syntax(path)
    for table in ast.walk(syntax.tree) if syntax is not None else ():
        if not isinstance(table, ast.Dict) or len(table.keys) < 2:
            continue
        seen: dict[tuple[type, object], tuple[ast.expr, ast.expr]] = {}
        for key, value in zip(table.keys, table.values, strict=True):
            if not isinstance(key, ast.Constant):
                continue
            what = type(key.value), key.value
            first = seen.setdefault(what, (key, value))
            if first[0] is not key and ast.dump(first[1]) != ast.dump(value):
                assert syntax is not None
                yield _problem(
                    path,
                    syntax.positions.start(key),
                    repr(key.value),
                    Spot(path, syntax.positions.start(first[0])),
                )


def _problem(path: str, start: int, key: str, first: Spot) -> Problem:
    return Problem(
        path,
        start,
        f"gives the key {key} a second value, after {THERE}; choose another key, or keep one of "
        "them",
        first,
        key,
    )


def _in_registries(view: View, path: str) -> Iterator[Problem]:
    own = entries(view, path)
    seen: dict[tuple[object, ...], Entry] = {}
    for entry in own:
        same = (entry.holder, entry.key, entry.rest, entry.run)
        first = seen.setdefault(same, entry)
        if first is not entry:
            yield _problem(path, entry.start, entry.key, Spot(path, first.start))
    for entry in own:
        holder = _holder(view, path, entry)
        if holder is None:
            continue
        for other in view.names.index.mentioning(entry.holder[-1]):
            if other == path or entry.key.encode()[1:-1] not in view.data(other):
                continue
            for theirs in entries(view, other):
                if (theirs.key, theirs.rest) == (entry.key, entry.rest) and holder == _holder(
                    view, other, theirs
                ):
                    yield _problem(path, entry.start, entry.key, Spot(other, theirs.start))
                    break


def _holder(view: View, path: str, entry: Entry) -> Thing | None:
    """Return the table or the registry of an entry, if it is one of the repository."""
    return view.names.the_dotted(path, 0, entry.holder, entry.start) if entry.holder else None


def entries(view: View, path: str) -> tuple[Entry, ...]:
    """Return what a file registers at module level."""
    if path not in view.entries:
        syntax = view.syntax(path)
        view.entries[path] = tuple(_entries(syntax)) if syntax is not None else ()
    return view.entries[path]


def _entries(syntax: Syntax) -> Iterator[Entry]:
    run = 0
    for statement in syntax.tree.body:
        match statement:
            case ast.Assign(
                targets=[ast.Subscript(value=table, slice=ast.Constant(value=str(key)))]
            ):
                holder = dotted(table)
                if holder is not None:
                    start = syntax.positions.start(statement)
                    yield Entry(holder, repr(key), start, "=", run)
            case ast.Expr(value=ast.Call() as call):
                found = _registration(syntax, call)
                if found is None:
                    run += 1
                else:
                    yield found
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                for decorator in statement.decorator_list:
                    if isinstance(decorator, ast.Call):
                        found = _registration(syntax, decorator)
                        if found is not None:
                            yield found
            case ast.Import() | ast.ImportFrom():
                pass
            case _:
                run += 1


def _registration(syntax: Syntax, call: ast.Call) -> Entry | None:
    name = dotted(call.func)
    first = call.args[0] if call.args else None
    if name is None or "register" not in name[-1].lower() or not isinstance(first, ast.Constant):
        return None
    if not isinstance(first.value, str):
        return None
    rest = [ast.dump(arg) for arg in call.args[1:] if isinstance(arg, ast.Constant)]
    rest += sorted(ast.dump(k) for k in call.keywords if isinstance(k.value, ast.Constant))
    holder = name[:-1] or name
    # Registrations do not depend on what stands between them.
    return Entry(holder, repr(first.value), syntax.positions.start(call), f"{name[-1]} {rest}", -1)


CHECK = tree_check("duplicate-key", "the same key is given a value twice", _problems)
