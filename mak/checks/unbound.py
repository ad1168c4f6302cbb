"""A name is used that nothing binds: no scope around it, no import, no builtin.

Names that may come and go while the program runs are left alone, and so are those that only stand
in strings.
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import warnings
from collections.abc import Iterator

from mak.checks.change import Change, Check, tree_check
from mak.checks.view import Problem, Syntax, View
from mak.model import Finding, NodeId
from mak.source import SourceFile, decode, of_file
from mak.source.facts import Facts, Guard, ScopeKind
from mak.source.graph.members import is_open

#: Words in a file that say that names may come and go while it runs.
_OPEN = re.compile(rb"exec\(|NameError|import builtins|builtins\.__dict__|gettext\.install")
#: With what type checkers know as builtins: it stands in annotations that nobody evaluates.
_BUILTINS = frozenset((*dir(builtins), "WindowsError", "ellipsis", "reveal_locals", "reveal_type"))


def _problems(view: View, path: str) -> Iterator[Problem]:
    facts = view.facts(path)
    if facts is None or not path.endswith(".py"):
        return
    suspects = [
        (name, start)
        for name in _used(facts)
        if not (facts.bound(0, name) or name in _BUILTINS or name.startswith("__") or name == "_")
        if view.names.modules.child(path, name) is None
        for start in _unbound_uses(view, path, facts, name)
        if not facts.is_guarded(start, Guard.NAME)
    ]
    if not suspects or _OPEN.search(view.data(path)):
        return
    if is_open(view.names, path):
        return
    syntax = view.syntax(path)
    for name, start in suspects:
        used = syntax.spelled(start, name) if syntax is not None else None
        if syntax is None or not isinstance(used, ast.Name) or not isinstance(used.ctx, ast.Load):
            continue
        if not (_is_annotation(syntax, used) and _is_member(facts, name)):
            yield Problem(
                path, start, f"uses {name}, which nothing in {path} binds; import or define it"
            )


def _is_annotation(syntax: Syntax, name: ast.Name) -> bool:
    """Whether a name stands in an annotation, which may be read after all of its class is there."""
    return any(
        getattr(outer, field, None) is inner
        for outer, inner in syntax.above(name)
        for field in ("annotation", "returns")
    )


def _is_member(facts: Facts, name: str) -> bool:
    return any(facts.scopes[s].kind is ScopeKind.CLASS for s in facts.scopes_binding(name))


def _used(facts: Facts) -> set[str]:
    return {*facts.loads, *(use.names[0] for use in facts.chains)} - {""}


def _unbound_uses(view: View, path: str, facts: Facts, name: str) -> Iterator[int]:
    for scope, start in facts.free(name):
        names = view.names
        if names.lookup(path, scope, name, start) is None and not names.is_ambiguous(
            path, scope, name, start
        ):
            yield start


_RULE = tree_check("unbound-name", "a name is used that nothing binds", _problems)


def _findings(change: Change) -> Iterator[Finding]:
    """Find what is unbound, but for what the change took away: `lost-symbol` names that."""
    gone = {
        (path, name)
        for path, before, _ in change.files()
        for node in (before.nodes if before else ())
        for name in node.names
    }
    awaited = {node.path for node in change.planned}
    coming = {node.symbol for node in change.planned}
    for finding in _RULE.findings(change):
        name = finding.message.partition(" uses ")[2].partition(",")[0]
        path = finding.node.path
        if (path, name) in gone or path in awaited or (name in coming and _takes_all(change, path)):
            continue
        yield finding


def _takes_all(change: Change, path: str) -> bool:
    """Whether a file imports whatever some module has, where a task to come may put a name."""
    file = change.after.get(path)
    return file is not None and b"import *" in file.data


@of_file
def unbound(file: SourceFile) -> set[str] | None:
    """Return the names that are loaded from the module and bound there by nothing.

    None: the running Python cannot tell.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = symtable.symtable(decode(file, file.id), file.path, "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    bound: set[str] = set()
    loaded: set[str] = set()
    tables = [module]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if table is not module and not symbol.is_global():
                continue
            if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace():
                bound.add(symbol.get_name())
            if symbol.is_referenced():
                loaded.add(symbol.get_name())
    return loaded - bound


def users_of(file: SourceFile, name: str) -> list[NodeId]:
    """Return the nodes that load a name."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(decode(file, file.id))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    lines = {
        part.lineno
        for part in ast.walk(tree)
        if isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Load)
    }
    return [
        node.id for node in file.nodes if any(node.line <= line <= node.end_line for line in lines)
    ]


CHECK = Check(_RULE.id, _RULE.title, _findings, looks_beyond=True, for_people=True, rule=_problems)
