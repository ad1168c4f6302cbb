"""A key is looked up that a table provably does not have.

Tables are dictionaries that a module spells out and that nothing in the repository changes or hands
on: everybody who names one looks keys up, walks through it or asks what is in it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mak.checks.change import tree_check
from mak.checks.view import THERE, Problem, View
from mak.source.facts import BindingKind, Context, Guard, Use
from mak.source.graph.members import is_open
from mak.source.resolve import Variable

#: A bracket first, which the scanner finds quickly; then what stands before it.
_LOOKUP = re.compile(rb"""\[(?<=\w\[)(?:"[^"\n]*"|'[^'\n]*')\]""")
_NAMED = re.compile(rb"[^\W\d]\w*\Z")
#: Bytes before a bracket in which its name is looked for; no name is longer.
_LONGEST = 250
#: Methods of a dictionary that leave it as it is and hand out nothing that changes it.
_READING = frozenset({"get", "items", "keys", "values", "copy"})
#: Functions that only look at what they are given.
_LOOKING = frozenset(
    {"len", "list", "sorted", "set", "frozenset", "tuple", "dict", "any", "all", "print"}
)


def _problems(view: View, path: str) -> Iterator[Problem]:
    facts = view.facts(path)
    if facts is None:
        return
    for name in sorted(_asked(view.data(path))):
        for use in facts.uses(name):
            if use.names[-1] != name or use.context is not Context.LOAD or use.call is not None:
                continue
            first = use.names[0]
            if not facts.bound(0, first) and not facts.stars:
                continue  # what it is taken from is no module's
            table = _table(view, path, use)
            keys = _keys(view, table) if table is not None else None
            if table is None or keys is None:
                continue
            found = _looked_up(view, path, use)
            if found is None or found.value in keys or facts.is_guarded(use.starts[-1], Guard.ALL):
                continue
            if _expects(view, path, use, str(found.value)):
                continue
            yield Problem(
                path,
                use.starts[-1],
                f"looks up {found.value!r} in {name} ({THERE}), which has no such key; use one "
                "that is there, or add it there first",
                view.definition(table),
                name,
            )


def _asked(data: bytes) -> set[str]:
    """Return the names that stand before a string in brackets."""
    found = set()
    for match in _LOOKUP.finditer(data):
        before = _NAMED.search(data[max(0, match.start() - _LONGEST) : match.start()])
        if before is not None:
            found.add(before[0].decode())
    return found


def _table(view: View, path: str, use: Use) -> Variable | None:
    things = view.names.use(path, use, len(use.names) - 1)
    meant = {m for thing in things for m in view.names.meant(thing)}
    only = next(iter(meant)) if len(meant) == 1 else None
    return only if isinstance(only, Variable) and only.scope == 0 else None


def _looked_up(view: View, path: str, use: Use) -> ast.Constant | None:
    """Return the string that a table is asked for at the place of a use."""
    parent = _parent(view, path, use)
    if not isinstance(parent, ast.Subscript) or not isinstance(parent.ctx, ast.Load):
        return None
    key = parent.slice
    return key if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def _asks(test: ast.expr, use: Use, key: str) -> bool:
    """Whether a condition is about a table, or about one of its keys."""
    return any(
        (isinstance(part, ast.Name) and part.id == use.names[-1])
        or (isinstance(part, ast.Attribute) and part.attr == use.names[-1])
        or (isinstance(part, ast.Constant) and part.value == key)
        for part in ast.walk(test)
    )


def _expects(view: View, path: str, use: Use, key: str) -> bool:
    """Whether the code around a lookup says that the key may be missing."""
    syntax, node = view.syntax(path), _node(view, path, use)
    for outer, inner in syntax.above(node) if syntax is not None and node is not None else ():
        if isinstance(outer, ast.BoolOp):
            return True
        if isinstance(outer, ast.If | ast.IfExp | ast.While) and _asks(outer.test, use, key):
            return True
        if isinstance(outer, ast.Try) and outer.handlers and inner in outer.body:
            return True
        if isinstance(outer, ast.With | ast.AsyncWith):
            return True
    return False


def _keys(view: View, table: Variable) -> frozenset[str] | None:
    """Return the keys of a table; None: they are not known, or may become others."""
    if table not in view.tables:
        view.tables[table] = None
        view.tables[table] = _read_keys(view, table)
    return view.tables[table]


def _read_keys(view: View, table: Variable) -> frozenset[str] | None:
    facts = view.facts(table.path)
    bound = facts.bound(0, table.name) if facts is not None else ()
    if len(bound) != 1 or bound[0].kind is not BindingKind.ASSIGN or bound[0].flags:
        return None
    syntax = view.syntax(table.path)
    literal = None
    for statement in syntax.tree.body if syntax is not None else ():
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as value):
                literal = value if name == table.name else literal
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Dict() as value):
                literal = value if name == table.name else literal
    if literal is None or is_open(view.names, table.path):
        return None
    keys = [key.value for key in literal.keys if isinstance(key, ast.Constant)]
    if len(keys) != len(literal.keys) or not all(isinstance(key, str) for key in keys):
        return None
    if not all(_only_looks(view, path, use, table) for path, use in _uses(view, table)):
        return None
    return frozenset(str(key) for key in keys)


def _uses(view: View, table: Variable) -> Iterator[tuple[str, Use]]:
    for name, paths in view.names.spellings(table).items():
        for path in paths:
            facts = view.facts(path)
            for use in facts.uses(name) if facts is not None else ():
                yield path, use


def _only_looks(view: View, path: str, use: Use, table: Variable) -> bool:
    """Whether a use of the table's name, if it may be the table, leaves it as it is."""
    names = view.names
    for position, name in enumerate(use.names):
        things = names.use(path, use, position)
        if not any(table in names.meant(thing) for thing in things):
            if position and name == table.name and not things:
                return False
            continue
        if position < len(use.names) - 1:
            return use.names[position + 1] in _READING
        if use.context is not Context.LOAD:
            return False
        return _is_look(view, path, use)
    return True


def _is_look(view: View, path: str, use: Use) -> bool:
    node, parent = _node(view, path, use), _parent(view, path, use)
    match parent:
        case ast.Subscript(ctx=ast.Load()):
            return parent.value is node
        case ast.Compare() | ast.For() | ast.AsyncFor() | ast.comprehension():
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in _LOOKING
        case _:
            return False


def _node(view: View, path: str, use: Use) -> ast.expr | None:
    """Return the expression that a use spells."""
    syntax = view.syntax(path)
    return syntax.spelled(use.starts[-1], use.names[-1]) if syntax is not None else None


def _parent(view: View, path: str, use: Use) -> ast.AST | None:
    syntax, node = view.syntax(path), _node(view, path, use)
    if syntax is None or node is None:
        return None
    return next((outer for outer, _ in syntax.above(node)), None)


CHECK = tree_check("unknown-key", "a key is looked up that its table does not have", _problems)
