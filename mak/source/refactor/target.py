"""What a person means by a name: the definition, or what else they may have meant."""

from __future__ import annotations

import difflib
import keyword
import re
import unicodedata
from collections.abc import Iterator, Sequence

from mak.model import NodeId
from mak.source.facts import BindingKind, ScopeKind
from mak.source.names import candidates, node_at, qualified
from mak.source.refactor.sites import Refusal
from mak.source.resolve import Names, Outside, Variable

#: A name as it may be written in a request: ``pkg.mod.f``, ``pkg/mod.py::C.m``, ``f``.
NAME = r"[`'\"]?(?P<{}>[\w./\\-]+(?:::[\w.]+)?)(?:\(\))?[`'\"]?"
_KINDS = r"(?:module-level\s+)?({}function|class|constant|variable|method|symbol)s?\s+"
#: What people call what they name, where it is not relied upon.
KIND = rf"(?:the\s+)?(?:{_KINDS.format('?:')})?"
#: The same, kept as ``kind``: it has to be that.
NAMED_KIND = rf"(?:the\s+)?(?:{_KINDS.format('?P<kind>')})?"
_TRIMMED = re.compile(r"\s+")
_BINDINGS = (BindingKind.FUNCTION, BindingKind.CLASS, BindingKind.ASSIGN)
#: Candidates that a refusal lists.
_LISTED = 8


def locate(names: Names, text: str) -> Variable | Refusal:
    """Find the definition that `text` names; a refusal lists candidates."""
    if "::" in text:
        return _by_node(names, NodeId.parse(text))
    found: dict[Variable, None] = {}
    outside = ""
    for variable in candidates(names, text):
        meant = names.the(variable)
        if isinstance(meant, Variable):
            found[meant] = None
        elif isinstance(meant, Outside):
            outside = meant.name
    if not found and outside:
        return Refusal(f"{text} is {outside}, which is not defined in this repository")
    if not found:
        found = dict.fromkeys(_by_tail(names, text))
    declared = [stub_of(names, variable) for variable in found]
    found = {variable: None for variable in found if variable not in declared}
    if len(found) == 1:
        return next(iter(found))
    if found:
        return Refusal(f"{text} may be any of these; write one of them", _spelled(names, found))
    near = _near(names, text)
    return Refusal(f"there is no {text} in this repository{_meant(near)}")


def why_not_kind(names: Names, variable: Variable, kind: str) -> str:
    """Return what a definition is instead of what a person calls it; empty: it is that."""
    facts = names.facts(variable.path)
    bound = facts.bound(variable.scope, variable.name) if facts is not None else ()
    in_class = facts is not None and facts.scopes[variable.scope].kind is ScopeKind.CLASS
    what = {
        BindingKind.FUNCTION: "method" if in_class else "function",
        BindingKind.CLASS: "class",
        BindingKind.ASSIGN: "variable",
    }
    known = [what[binding.kind] for binding in bound if binding.kind in what]
    asked = {"constant": "variable", "method": "function"}.get(kind.lower(), kind.lower())
    fits = {"variable": {"variable"}, "class": {"class"}, "function": {"function", "method"}}
    if not known or asked not in fits or not fits[asked].isdisjoint(known):
        return ""
    return f"{spell(names, variable)} is a {known[0]}, not a {kind.lower()}"


def spell(names: Names, variable: Variable) -> str:
    """Return a definition as ``path::qualname``."""
    return str(NodeId(variable.path, qualname(names, variable)))


def qualname(names: Names, variable: Variable) -> str:
    """Return the qualified name of a variable in its file."""
    parts = [variable.name]
    facts = names.facts(variable.path)
    scope = variable.scope
    while facts is not None and scope:
        if facts.scopes[scope].name:
            parts.append(facts.scopes[scope].name)
        scope = facts.scopes[scope].parent
    return ".".join(reversed(parts))


def stub_of(names: Names, variable: Variable) -> Variable | None:
    """Return what declares a definition in the stub beside its module."""
    if not variable.path.endswith(".py"):
        return None
    return qualified(names, f"{variable.path}i", qualname(names, variable).split("."))


def definition_nodes(names: Names, variable: Variable) -> tuple[NodeId, ...]:
    """Return the nodes in which a variable is defined as a function or class."""
    facts = names.facts(variable.path)
    bound = facts.bound(variable.scope, variable.name) if facts is not None else ()
    return tuple(
        dict.fromkeys(
            node_at(names.sources, variable.path, binding.start)
            for binding in bound
            if binding.kind in (BindingKind.FUNCTION, BindingKind.CLASS)
        )
    )


def why_no_name(name: str) -> str:
    """Return why `name` cannot be a new name; empty when it can."""
    if not name.isidentifier():
        return f"{name!r} is not a Python name"
    if keyword.iskeyword(name):
        return f"{name!r} is a keyword"
    if name.startswith("__") and name.endswith("__"):
        return f"{name!r} has a meaning to Python"
    if name.startswith("__"):
        return f"{name!r} means something else inside classes"
    if unicodedata.normalize("NFKC", name) != name:
        return f"{name!r} is another name to Python; write it in its normal form"
    return ""


def _by_node(names: Names, node: NodeId) -> Variable | Refusal:
    if node.path not in names.sources:
        near = difflib.get_close_matches(node.path, names.index.paths, _LISTED)
        return Refusal(f"there is no file {node.path}{_meant(near)}")
    facts = names.facts(node.path)
    if facts is None:
        return Refusal(f"{node.path} does not parse, so nothing in it can be renamed or moved")
    variable = qualified(names, node.path, node.symbol.split("."))
    if variable is None:
        known = dict.fromkeys(
            qualname(names, Variable(node.path, binding.scope, binding.name))
            for binding in facts.bindings
            if binding.kind in _BINDINGS and _is_reachable(names, node.path, binding.scope)
        )
        near = difflib.get_close_matches(node.symbol, list(known), _LISTED, 0.5)
        return Refusal(f"{node.path} defines no {node.symbol}{_meant(near)}")
    return variable


def _meant(near: Sequence[str]) -> str:
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _is_reachable(names: Names, path: str, scope: int) -> bool:
    """Whether a scope is a module's or a class's that is reached without calling anything."""
    facts = names.facts(path)
    while facts is not None and scope:
        if facts.scopes[scope].kind is not ScopeKind.CLASS:
            return False
        scope = facts.scopes[scope].parent
    return facts is not None


def _by_tail(names: Names, text: str) -> Iterator[Variable]:
    """Yield the definitions whose dotted name ends with `text`."""
    *_, last = text.split(".")
    for path in names.index.mentioning(last):
        facts = names.facts(path)
        if facts is None:
            continue
        for scope in facts.scopes_binding(last):
            if not _is_reachable(names, path, scope):
                continue
            if not any(b.kind in _BINDINGS for b in facts.bound(scope, last)):
                continue
            variable = Variable(path, scope, last)
            full = f".{names.modules.name(path)}.{qualname(names, variable)}"
            if full.endswith(f".{text}"):
                yield variable


def _spelled(names: Names, found: dict[Variable, None]) -> tuple[str, ...]:
    texts = sorted(spell(names, variable) for variable in found)
    more = len(texts) - _LISTED
    return (*texts[:_LISTED], *([f"and {more} more"] if more > 0 else []))


def _near(names: Names, text: str) -> tuple[str, ...]:
    """Return definitions that may have been meant: same last name, or a name like it."""
    outer, _, last = text.rpartition(".")
    same = dict.fromkeys(_by_tail(names, last)) if outer else {}
    if same:
        return _spelled(names, same)
    for module in names.modules.find(outer) if outer else ():
        facts = names.facts(module)
        bindings = facts.bindings if facts is not None else ()
        known = dict.fromkeys(b.name for b in bindings if not b.scope and b.kind in _BINDINGS)
        near = difflib.get_close_matches(last, list(known), _LISTED)
        if near:
            return tuple(str(NodeId(module, name)) for name in near)
    return ()
