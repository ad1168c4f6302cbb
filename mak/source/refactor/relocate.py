"""A definition on its way to another module: its text there, and what it needs to be imported."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from mak.model import Aspect, NodeId, NodeKind
from mak.source.facts import BindingKind, Facts, Flag, Import
from mak.source.names import node_at
from mak.source.refactor import statements
from mak.source.refactor.sites import Survey
from mak.source.resolve import Module, Names, Variable
from mak.source.text import to_str

_SOURCE = re.compile(rb"from(?P<gap>\s*)(?P<source>[.\s]*\.[\w.]*)")
_PLACES = ("__file__", "__name__", "__package__", "__path__", "__spec__")
_IMPORTS = (BindingKind.IMPORT, BindingKind.FROM)


@dataclass(slots=True)
class Luggage:
    """What goes along with a definition."""

    #: Nodes that leave the module, as units of an edit.
    units: tuple[NodeId, ...]
    #: Byte ranges that they hold.
    spans: tuple[tuple[int, int], ...]
    #: Names that the definition takes from imports of its module, with the entry.
    imports: dict[str, Import] = field(default_factory=dict)
    #: Names that it takes from imports of the module that it moves to.
    there: dict[str, Import] = field(default_factory=dict)
    #: Names that a star import brings, with where they come from.
    starred: dict[str, Variable] = field(default_factory=dict)
    #: Names of its module that it goes on using.
    needs: dict[str, int] = field(default_factory=dict)

    def holds(self, offset: int) -> bool:
        """Whether a byte of the module is part of what moves."""
        return any(start <= offset < end for start, end in self.spans)


def pack(survey: Survey, home: Variable, target: str) -> Luggage | str:
    """Work out what `home` needs in the module `target`; a string says why it cannot move."""
    names = survey.names
    facts = names.facts(home.path)
    assert facts is not None
    units: dict[NodeId, tuple[int, int]] = {}
    file = names.sources.file(home.path)
    for binding in facts.bound(0, home.name):
        node = names.sources.node(node_at(names.sources, home.path, binding.start))
        if node is None or binding.kind not in (BindingKind.FUNCTION, BindingKind.CLASS):
            return "it is not a function or class with a definition of its own"
        if node.kind is NodeKind.CLASS:
            unit = NodeId(home.path, node.id.symbol, Aspect.ALL)
            units[unit] = (node.start, file.members(node.id)[-1].end)
        elif node.kind is NodeKind.FUNCTION:
            units[node.id] = (node.start, node.end)
        else:
            return "it is defined conditionally"
    luggage = Luggage(tuple(units), tuple(units.values()))
    for name, scope, start in _roots(facts):
        if luggage.holds(start):
            _take_along(survey, facts, home, target, luggage, name, scope, start)
    for inner in facts.scopes:
        if inner.globals and luggage.holds(inner.start):
            for name in inner.globals:
                survey.trouble("sets a global of its module", home.path, inner.start, name)
    return luggage


def _roots(facts: Facts) -> Iterator[tuple[str, int, int]]:
    """Yield the first name of every use, with scope and place."""
    for name, flat in facts.loads.items():
        for i in range(0, len(flat), 2):
            yield name, flat[i], flat[i + 1]
    for use in facts.chains:
        if use.names[0]:
            yield use.names[0], use.scope, use.starts[0]


def _take_along(
    survey: Survey,
    facts: Facts,
    home: Variable,
    target: str,
    luggage: Luggage,
    name: str,
    scope: int,
    start: int,
) -> None:
    """Note what one name that is used in the definition needs."""
    names, path = survey.names, home.path
    if names.is_ambiguous(path, scope, name, start):
        survey.trouble("may mean the name in the class or the one in the module", path, start, name)
        return
    variable = names.lookup(path, scope, name, start)
    if variable is None:
        if name in _PLACES:
            survey.remark(f"{name} means another module there", path, start)
        return
    if variable.scope or variable == home:
        return
    bound = facts.bound(0, name)
    if not bound:
        source = names.star(path, name)
        if source is not None:
            luggage.starred[name] = source
        return
    plain = all(b.kind in _IMPORTS and not b.flags & Flag.TRY for b in bound)
    if plain and len({facts.imports[b.detail][1:5] for b in bound}) == 1:
        entry = facts.imports[bound[0].detail]
        thing = names.imported(path, entry)
        if thing == Module(target):
            survey.trouble("is the module that it moves to", path, start, name)
        elif thing == Variable(target, 0, name):
            luggage.there[name] = entry
        else:
            luggage.imports[name] = entry
        return
    luggage.needs.setdefault(name, start)


def text_of(names: Names, home: Variable, target: str, luggage: Luggage) -> str:
    """Return the definition as it stands in the other module."""
    file = names.sources.file(home.path)
    facts = names.facts(home.path)
    assert facts is not None
    parts: list[str] = []
    for start, end in luggage.spans:
        data, at = b"", start
        for entry in facts.imports:
            if start <= entry.start < end and entry.level and entry.start >= at:
                match = _SOURCE.match(file.data, entry.start)
                module = names.modules.imported(entry.level, entry.module, home.path)
                if match is None or module is None:
                    continue
                source = statements.module_text(names, target, module, relative=True)
                data += file.data[at : match.start("source")] + source.encode() + b" "
                at = match.end("source")
                at += len(file.data[at:end]) - len(file.data[at:end].lstrip(b" \t"))
        parts.append(to_str(data + file.data[at:end], file.encoding).strip("\n") + "\n")
    return "\n\n".join(parts)


def imports_for(names: Names, home: Variable, target: str, luggage: Luggage) -> dict[str, str]:
    """Return, by name, the import statements that the definition needs in the other module."""
    found: dict[str, str] = {}
    own = statements.is_relative(names, home.path)
    relative = statements.is_relative(names, target, otherwise=own)
    taken = sorted(luggage.imports.items(), key=lambda item: (item[1].start, item[1].name_at))
    for name, entry in taken:
        if not entry.name:
            renamed = f" as {entry.asname}" if entry.asname else ""
            found[name] = f"import {entry.module}{renamed}"
            continue
        source = entry.module
        module = names.modules.imported(entry.level, entry.module, home.path)
        if entry.level and module is None:
            source = f"{'.' * entry.level}{entry.module}"
        elif module is not None and (entry.level or relative):
            source = statements.module_text(names, target, module, relative=relative)
            source = source or statements.module_text(names, target, module, relative=True)
        renamed = f" as {entry.asname}" if entry.asname else ""
        found[name] = f"from {source} import {entry.name}{renamed}"
    for name, variable in luggage.starred.items():
        source = statements.module_text(names, target, variable.path, relative=relative)
        found[name] = f"from {source} import {name}"
    for name in luggage.needs:
        source = statements.module_text(names, target, home.path, relative=relative)
        found[name] = f"from {source} import {name}"
    return found
