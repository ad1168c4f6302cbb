"""Where new symbols go: after what they need, before what needs them, beside their kin.

A scope is a row of units: a definition with its members and the run of statements after it, the run
before the first definition, the ``__main__`` block. New symbols go between units, so that no node
gets another name. Names that are used while the module or class is being executed (decorators,
bases, defaults, statements) bound the place from both sides; names used only in bodies do not,
unless a statement may call the function that uses them.

Within the bounds a newcomer goes to its kin: others of the same name; its neighbours where its kind
is sorted; those that the same decorator registers; those whose name begins with the same words;
else the last of its kind.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from mak.model import Node, NodeId, NodeKind
from mak.source.bindings import bound_names
from mak.source.file import SourceFile
from mak.source.written import written

#: Definitions of one kind whose order tells that they are sorted.
_TELLING = 4
#: A word of a name, in snake case or camel case.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W_A-Z]+|\d+")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_DEFINITIONS = (NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.CLASS)


@dataclass(slots=True)
class Unit:
    """Nodes ``[start, end)`` of a file that stay together; `run` is where its statements begin."""

    start: int
    end: int
    #: The definition, or the run when there is no definition.
    node: Node
    run: int
    binds: set[str] = field(default_factory=set)
    #: Names used when the definition is executed, and when its run is.
    now: set[str] = field(default_factory=set)
    now_in_run: set[str] = field(default_factory=set)
    later: set[str] = field(default_factory=set)
    #: What decorates the definition, without arguments.
    decorators: set[str] = field(default_factory=set)

    @property
    def is_definition(self) -> bool:
        """Whether it begins with a function or class."""
        return self.node.kind in _DEFINITIONS


@dataclass(frozen=True, slots=True)
class Newcomer:
    """What is to be placed: the names it binds, and those it uses when it is executed."""

    names: tuple[str, ...]
    needs: frozenset[str]
    #: Whether it begins, among other things, with a function or a class; None: only statements.
    defines: NodeKind | None
    #: Whether it begins with the ``__main__`` block.
    is_main: bool = False
    #: Name and role of a definition that belongs to others of the same name (``overload``, …).
    sibling: str = ""
    role: str = ""
    #: What decorates it, without arguments.
    decorators: frozenset[str] = frozenset()


def units_of(file: SourceFile, parent: NodeId) -> list[Unit]:
    """Return the units of a file, or of the class `parent`."""
    prefix = "" if parent.is_file else f"{parent.symbol}."
    units: list[Unit] = []
    for index, node in enumerate(file.nodes):
        if node.kind is NodeKind.HEADER or not node.id.symbol.startswith(prefix):
            continue
        name = node.id.symbol[len(prefix) :]
        if "." in name:
            units[-1].end = units[-1].run = index + 1
        elif name.startswith("@body:") and units and units[-1].is_definition:
            units[-1].end = index + 1
        else:
            is_run = node.kind not in _DEFINITIONS
            units.append(Unit(index, index + 1, node, index if is_run else index + 1))
    return units


def survey(
    file: SourceFile, units: Sequence[Unit], body: Iterable[ast.stmt], *, lazy: bool
) -> None:
    """Note in the units what the statements of their scope bind and use.

    `lazy`: annotations are not executed (``from __future__ import annotations``).
    """
    for statement in body:
        line = min(
            [statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))]
        )
        unit = _unit_at(file, units, line)
        if unit is None:
            continue
        now, later = uses(statement, lazy=lazy)
        if statement.lineno >= unit.node.line and not unit.decorators:
            unit.decorators |= decorators_of(statement)
        in_run = unit.run < unit.end and line >= file.nodes[unit.run].line
        (unit.now_in_run if in_run else unit.now).update(now)
        unit.later |= later
        unit.binds.update(bound_names((statement,)))


def _unit_at(file: SourceFile, units: Sequence[Unit], line: int) -> Unit | None:
    for unit in units:
        if file.nodes[unit.start].line <= line <= file.nodes[unit.end - 1].end_line:
            return unit
    return None


def decorators_of(statement: ast.stmt) -> set[str]:
    """Return what decorates a definition, without arguments."""
    found: set[str] = set()
    for decorator in getattr(statement, "decorator_list", ()):
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        found.add(written(target))
    return found


def uses(statement: ast.stmt, *, lazy: bool) -> tuple[set[str], set[str]]:
    """Return the names that a statement uses when it is executed, and those used later."""
    now: set[str] = set()
    later: set[str] = set()
    for node, deferred in _walk(statement, lazy, False):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            (later if deferred else now).add(node.id)
    return now, later


def _walk(node: ast.AST, lazy: bool, deferred: bool) -> Iterator[tuple[ast.AST, bool]]:
    todo = [(node, deferred)]
    while todo:
        item, late = todo.pop()
        yield item, late
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            todo += [(d, late) for d in (*item.decorator_list, *_defaults(item.args))]
            todo += [(part, late or lazy) for part in _annotations(item)]
            todo += [(part, True) for part in item.body]
        elif isinstance(item, ast.Lambda):
            todo += [(part, late) for part in _defaults(item.args)]
            todo.append((item.body, True))
        elif isinstance(item, ast.AnnAssign):
            todo += [(item.target, late), (item.annotation, late or lazy)]
            todo += [(item.value, late)] if item.value else []
        else:
            todo += [(child, late) for child in ast.iter_child_nodes(item)]


def _defaults(args: ast.arguments) -> list[ast.expr]:
    return [default for default in (*args.defaults, *args.kw_defaults) if default is not None]


def _annotations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    args = node.args
    every = (*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg)
    found = [arg.annotation for arg in every if arg is not None and arg.annotation is not None]
    return [*found, node.returns] if node.returns else found


# ------------------------------------------------------------------------------- deciding


@dataclass(frozen=True, slots=True)
class Spot:
    """A place: before the node of this index."""

    index: int
    #: What stands in the way of a better one; then there is no place.
    blocked: str = ""


def find_spot(
    units: Sequence[Unit], new: Newcomer, start: int, wanted: int | None, *, deep: bool
) -> Spot:
    """Return where `new` goes; `start` is the index of the first node of the scope.

    `wanted` is how many units an agent wants before it; it counts where the bounds allow it.
    `deep`: bodies see the names of the scope, as in a module and unlike in a class.
    """
    lowest, needed = _lowest(units, new)
    highest, user = _highest(units, new, deep)
    if highest < lowest:
        highest, user = _highest(units, new, False)
    if wanted is None:
        wanted = _kin(units, new)
    if lowest <= highest:
        gap = min(max(wanted, lowest), highest)
        return Spot(units[gap].start if gap < len(units) else units[-1].end if units else start)
    if user is not None and lowest == highest + 1 and user.is_definition and user.run < user.end:
        only_run_uses = not user.now & set(new.names)
        if only_run_uses:
            return Spot(user.run)
    names = ", ".join(f"`{name}`" for name in new.names)
    return Spot(
        start,
        f"{names} would have to come before `{_name(user)}`, which uses it, and after {needed}, "
        "which it needs",
    )


def _name(unit: Unit | None) -> str:
    return unit.node.id.symbol if unit is not None else ""


def _kin(units: Sequence[Unit], new: Newcomer) -> int:
    """Return the number of units before the place that its kind suggests."""
    if new.is_main:
        return len(units)
    if new.sibling:
        same = [i for i, unit in enumerate(units) if new.sibling in unit.node.names]
        if same and new.role == "overload":
            plain = [i for i in same if "[overload]" not in units[i].node.id.symbol]
            return plain[0] if plain else same[-1] + 1
        if same:
            return same[-1] + 1
    ends = [i for i, unit in enumerate(units) if unit.node.id.symbol == "@main"]
    last = ends[0] if ends else len(units)
    if new.defines is None:
        return 1 if units and not units[0].is_definition and last > 0 else 0
    defined = [i for i, unit in enumerate(units) if unit.is_definition and i < last]
    is_class = new.defines is NodeKind.CLASS
    kin = [i for i in defined if (units[i].node.kind is NodeKind.CLASS) is is_class]
    if not kin:
        return defined[-1] + 1 if defined else last
    return _among(units, kin, new)


def _among(units: Sequence[Unit], kin: Sequence[int], new: Newcomer) -> int:
    """Return the number of units before the place that a definition has among its kind."""
    name = new.names[0]
    for order in (str, str.lower):
        names = [order(units[i].node.names[0]) for i in kin]
        if len(names) >= _TELLING and names == sorted(names):
            at = bisect.bisect_right(names, order(name))
            return kin[at - 1] + 1 if at else kin[0]
    same = [i for i in kin if new.decorators and units[i].decorators == new.decorators]
    group = same or kin
    shared = [_shared(name, units[i].node.names[0]) for i in group]
    if max(shared):
        return group[max(i for i, count in enumerate(shared) if count == max(shared))] + 1
    if same:
        return same[-1] + 1
    special = [i for i in kin if _standing(units[i].node.names[0]) == "special"]
    return (special if special and _standing(name) == "special" else kin)[-1] + 1


def _shared(name: str, other: str) -> int:
    """Return how many words two names begin with together; none that is all of one, or a dunder."""
    if _standing(name) == "special" or _standing(name) != _standing(other):
        return 0
    words, others = _words(name), _words(other)
    count = 0
    while count < min(len(words), len(others)) and words[count] == others[count]:
        count += 1
    return count


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _standing(name: str) -> str:
    """Return whether a name is ``special`` to Python, ``private`` or ``public``."""
    if name.startswith("__") and name.endswith("__"):
        return "special"
    return "private" if name.startswith("_") else "public"


def _lowest(units: Sequence[Unit], new: Newcomer) -> tuple[int, str]:
    """Return how many units must come before `new`, and a name that says so."""
    lowest, needed = 0, ""
    for index, unit in enumerate(units):
        hit = sorted(unit.binds & new.needs)
        if hit:
            lowest, needed = index + 1, f"`{hit[0]}`"
    return lowest, needed


def _highest(units: Sequence[Unit], new: Newcomer, deep: bool) -> tuple[int, Unit | None]:
    """Return before which unit `new` must come, and that unit."""
    reach = set(new.names)
    grown = deep
    while grown:
        grown = False
        for unit in units:
            if unit.is_definition and unit.later & reach and not unit.binds <= reach:
                reach |= unit.binds
                grown = True
    for index, unit in enumerate(units):
        is_sibling = bool(unit.binds & set(new.names)) and new.role != "overload"
        if (unit.now | unit.now_in_run) & reach and not is_sibling:
            return index, unit
    return len(units), None
