"""Which Python edits of two sides may stand beside each other in one block or display.

Entries of a table, calls of one registering function, definitions and imports commute. What depends
on order does not: members of an enum, fields of a dataclass, arguments by position, statements of a
function that use what the other side binds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from mak.source.bindings import bound_names
from mak.source.items import Clash, Item, Meeting
from mak.source.written import written

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def commute(meeting: Meeting) -> None:
    """Raise `Clash` when what two sides did to a block or a display does not commute."""
    if meeting.base.context == "display":
        _elements(meeting)
    elif meeting.base.context == "call":
        _arguments(meeting)
    else:
        _statements(meeting)


# --------------------------------------------------------------------------------- elements


def _elements(meeting: Meeting) -> None:
    for item in (*meeting.added[0], *meeting.added[1]):
        origin = item.origin
        if isinstance(origin, ast.Starred) or (isinstance(origin, tuple) and origin[0] is None):
            raise Clash(f"`{_text(item)}` may hold what the other side adds{_where(meeting)}")


def _arguments(meeting: Meeting) -> None:
    if not (all(meeting.added) or all(meeting.touched)):
        # One side adds, the other changes what is there.
        added = [*meeting.added[0], *meeting.added[1]]
        others = [*meeting.touched[0], *meeting.touched[1]]
        if not added or not others:
            return
    for item in (*meeting.added[0], *meeting.added[1]):
        if not isinstance(item.origin, ast.keyword) or item.origin.arg is None:
            raise Clash(f"both sides changed the arguments{_where(meeting)}")


# --------------------------------------------------------------------------------- statements


def _statements(meeting: Meeting) -> None:
    sides = [
        [_node(item) for item in (*added, *touched)]
        for added, touched in zip(meeting.added, meeting.touched, strict=True)
    ]
    added = [_bound(items) for items in meeting.added]
    twice = sorted(added[0] & added[1])
    if twice:
        raise Clash(f"both sides bind `{twice[0]}`{_where(meeting)}, each in its own way")
    if meeting.base.context == "numbered":
        _refuse_values(meeting, "members of an enum")
    elif meeting.base.context == "fields":
        _refuse_values(meeting, "fields")
    if meeting.base.context == "function":
        _dependent(meeting, [[n for nodes in side for n in nodes] for side in sides])
    else:
        _dependent(meeting, [[n for i in items for n in _node(i)] for items in meeting.added])
    for ours, theirs in meeting.beside:
        _side_by_side(meeting, ours, theirs)


def _node(item: Item) -> Sequence[ast.stmt]:
    found: Sequence[ast.stmt] = item.origin
    return found


def _bound(items: Iterable[Item]) -> set[str]:
    return {name for item in items for name in bound_names(_node(item))}


def _refuse_values(meeting: Meeting, what: str) -> None:
    """Refuse when both sides add what is counted or called in the order in which it stands."""
    for items in meeting.added:
        if not any(not isinstance(node, _DEFINITIONS) for i in items for node in _node(i)):
            return
    raise Clash(f"both sides add {what}{_where(meeting)}, whose order matters")


def _dependent(meeting: Meeting, sides: Sequence[Sequence[ast.stmt]]) -> None:
    """Refuse what uses or binds what the other side binds."""
    bound = [_written(nodes) for nodes in sides]
    used = [_read(nodes) for nodes in sides]
    for mine, other in ((0, 1), (1, 0)):
        shared = sorted(bound[mine] & (used[other] | bound[other]))
        if shared:
            raise Clash(f"one side changes `{shared[0]}`{_where(meeting)}, which the other uses")


def _written(nodes: Iterable[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        found.update(bound_names((node,)))
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute) and not isinstance(part.ctx, ast.Load):
                found.add(written(part))
    return found


def _read(nodes: Iterable[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                found.add(part.id)
            elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load):
                found.add(written(part))
    return found


def _side_by_side(meeting: Meeting, ours: Sequence[Item], theirs: Sequence[Item]) -> None:
    """Refuse statements at one place whose order could matter."""
    context = meeting.base.context
    for item in (*ours, *theirs):
        for node in _node(item):
            if _fits(node, context):
                continue
            raise Clash(
                f"both sides add statements at one place{_where(meeting)}, whose order may "
                f"matter: `{_text(item)}`",
                final=False,
            )
    mine, others = set(_callees(ours)), set(_callees(theirs))
    for one in mine:
        for other in others:
            same_root = one.partition(".")[0] == other.partition(".")[0]
            if one != other and (same_root or context == "function"):
                raise Clash(
                    f"one side calls `{one}` and the other `{other}` at one "
                    f"place{_where(meeting)}; their order may matter",
                    final=False,
                )


def _fits(node: ast.stmt, context: str) -> bool:
    """Whether a statement may be added beside another side's."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return all(alias.name != "*" for alias in node.names)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return len(node.targets) == 1
    if context == "function":
        return False
    if isinstance(node, (*_DEFINITIONS, ast.Assign, ast.AnnAssign)):
        return True
    return isinstance(node, ast.If) and "TYPE_CHECKING" in written(node.test)


def _callees(items: Iterable[Item]) -> Iterator[str]:
    """Yield what the statements call, or the table that they put something into."""
    for item in items:
        for node in _node(item):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                yield written(node.value.func)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
                yield f"{written(node.targets[0].value)}[]"


def _text(item: Item) -> str:
    line = " ".join(item.text.decode("utf-8", "replace").split())
    return line if len(line) <= 60 else line[:57] + "…"


def _where(meeting: Meeting) -> str:
    return f" in {meeting.base.label}" if meeting.base.label else ""
