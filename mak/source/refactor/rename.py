"""Rename a module-level function, class or constant, or a method, everywhere it is meant.

A module-level name lives on in every module that imports it under that name: all these variables
are renamed together, with their uses. Where a module binds the name in other ways too (a fallback
in ``except ImportError``), the import becomes ``new as old`` and the module keeps its own name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from mak.model import Aspect, NodeId, NodeKind
from mak.source.facts import Binding, BindingKind, Facts, Import, ScopeKind, Use
from mak.source.hierarchy import Family, doubtful, family
from mak.source.hierarchy import spell as spell_use
from mak.source.refactor.mentions import remark_on_file, remark_on_tree
from mak.source.refactor.sites import PROVEN, Refusal, Sites, Survey
from mak.source.refactor.target import (
    NAME,
    NAMED_KIND,
    definition_nodes,
    locate,
    qualname,
    spell,
    stub_of,
    why_no_name,
    why_not_kind,
)
from mak.source.resolve import Instance, Module, Names, Variable

_REQUEST = re.compile(
    rf"rename\s+{NAMED_KIND}{NAME.format('target')}\s+(?:to|as|into)\s+[`'\"]?(?P<new>\w+)(?:\(\))?[`'\"]?",
    re.IGNORECASE,
)
_PLAIN = (BindingKind.FUNCTION, BindingKind.CLASS, BindingKind.ASSIGN)


@dataclass(frozen=True, slots=True)
class Rename:
    """``rename pkg.mod.f to g``."""

    target: str
    new: str
    #: What the person calls it (function, class, …); empty: nothing.
    kind: str = ""
    proven: bool = False

    forms: ClassVar[tuple[str, ...]] = ("rename pkg.mod.f to g",)

    @classmethod
    def parse(cls, text: str) -> Rename | None:
        """Read one sentence."""
        match = _REQUEST.fullmatch(text)
        return cls(match["target"], match["new"], match["kind"] or "") if match else None

    def __str__(self) -> str:
        return f"rename {self.target} to {self.new}{PROVEN if self.proven else ''}"

    def find(self, names: Names) -> Sites | Refusal:
        """Return every token that has to change."""
        home = locate(names, self.target)
        if isinstance(home, Refusal):
            return home
        if why := why_not_kind(names, home, self.kind):
            return Refusal(f"{self}: {why}")
        if why := why_no_name(self.new):
            return Refusal(f"{self}: {why}")
        if self.new == home.name:
            return Refusal(f"{self}: that is its name already")
        facts = names.facts(home.path)
        assert facts is not None
        if home.name.startswith("__") and home.name.endswith("__"):
            return Refusal(f"{self}: {home.name} has a meaning to Python")
        sentence = str(replace(self, target=spell(names, home)))
        if home.scope == 0:
            return _ModuleRename(names, home, self.new, self.proven).find(sentence)
        bound = facts.bound(home.scope, home.name)
        if facts.scopes[home.scope].kind is ScopeKind.CLASS and all(
            b.kind is BindingKind.FUNCTION for b in bound
        ):
            return _MethodRename(names, home, self.new, self.proven).find(sentence)
        return Refusal(
            f"{self}: {spell(names, home)} is neither at module level nor a method; "
            "only those can be renamed"
        )


class _ModuleRename:
    """One module-level name, in every module that has it under that name."""

    def __init__(self, names: Names, home: Variable, new: str, proven: bool) -> None:
        self.names = names
        self.home = home
        self.old, self.new = home.name, new
        self.survey = Survey(names, proven=proven)
        self.stub = stub_of(names, home)
        self._renamed: dict[Variable, bool] = {}

    def find(self, sentence: str) -> Sites | Refusal:
        for path in self.names.index.mentioning(self.old):
            facts = self.names.facts(path)
            if facts is None:
                self.survey.remark(f"{path} mentions {self.old} but does not parse; look at it")
                continue
            self.imports(path, facts)
            self.bindings(path, facts)
            for use in facts.uses(self.old):
                self.use(path, facts, use)
            self.exports(path, facts)
            remark_on_file(self.survey, path, facts, self.home, lambda start: False)
            if self.names.modules.child(path, self.new) is not None and self.renamed(
                self.names.module_variable(path, self.old)
            ):
                self.survey.trouble(f"{self.new} is a submodule of that package", path, 0, self.new)
        for path in self.names.index.mentioning(self.new):
            facts = self.names.facts(path)
            if facts is not None:
                self.clashes(path, facts)
        self.fixture()
        remark_on_tree(self.survey, self.home)
        _rename_nodes(self.survey, self.home, self.new)
        if self.stub is not None:
            _rename_nodes(self.survey, self.stub, self.new)
        return self.survey.sites(sentence)

    def renamed(self, variable: Variable | None) -> bool:
        """Whether a variable is the definition, or gets it by imports of that name only."""
        if variable is None or variable.name != self.old:
            return False
        if variable not in self._renamed:
            self._renamed[variable] = False
            self._renamed[variable] = variable in (self.home, self.stub) or self._follows(variable)
        return self._renamed[variable]

    def _follows(self, variable: Variable) -> bool:
        facts = self.names.facts(variable.path)
        if facts is None or facts.scopes[variable.scope].kind is ScopeKind.CLASS:
            return False
        bound = [
            binding
            for binding in facts.bound(variable.scope, variable.name)
            if binding.kind is not BindingKind.DELETE
        ]
        if not bound:
            return variable.scope == 0 and self.renamed(self.names.star(variable.path, self.old))
        return all(
            binding.kind is BindingKind.FROM
            and facts.imports[binding.detail].name == self.old
            and self.imported(variable.path, facts.imports[binding.detail])
            for binding in bound
        )

    def imported(self, path: str, entry: Import) -> bool:
        """Whether an import statement's name is one that is renamed."""
        thing = self.names.imported(path, entry)
        return isinstance(thing, Variable) and self.renamed(thing)

    def imports(self, path: str, facts: Facts) -> None:
        survey, old, new = self.survey, self.old, self.new
        for binding in facts.bindings:
            if binding.kind not in (BindingKind.FROM, BindingKind.IMPORT):
                continue
            entry = facts.imports[binding.detail]
            local = binding.name == old and self.renamed(Variable(path, binding.scope, old))
            if entry.name == old and self.imported(path, entry):
                keeps = binding.name == old and not local and not entry.asname
                survey.replace(path, entry.name_at, old, f"{new} as {old}" if keeps else new)
                if entry.asname == old and local:
                    survey.replace(path, entry.as_at, old, new)
            elif local and entry.asname == old:
                survey.replace(path, entry.as_at, old, new)
            elif local and entry.name == old:
                survey.replace(path, entry.name_at, old, f"{old} as {new}")
            elif local:
                survey.trouble("is also the name of a module", path, entry.start, old)

    def bindings(self, path: str, facts: Facts) -> None:
        for binding in facts.bindings:
            if binding.name != self.old or binding.kind in (
                BindingKind.FROM,
                BindingKind.IMPORT,
            ):
                continue
            if self.renamed(Variable(path, binding.scope, self.old)):
                self.survey.replace(path, binding.start, self.old, self.new)

    def use(self, path: str, facts: Facts, use: Use) -> None:
        for position, name in enumerate(use.names):
            if name != self.old:
                continue
            start = use.starts[position]
            if position:
                if self.attribute(path, use, position):
                    self.survey.replace(path, start, self.old, self.new)
                continue
            if self.names.is_ambiguous(path, use.scope, name, start):
                if self.renamed(Variable(path, 0, name)):
                    self.survey.trouble(
                        "may mean the name in the class or the one in the module",
                        path,
                        start,
                        name,
                    )
                continue
            variable = self.names.lookup(path, use.scope, name, start)
            if self.renamed(variable):
                self.survey.replace(path, start, self.old, self.new)
                self.shadowing(path, facts, use, variable)

    def attribute(self, path: str, use: Use, position: int) -> bool:
        """Whether ``module.old`` is renamed; trouble when it depends on which module it is."""
        hits = misses = 0
        for thing in self.names.receivers(path, use, position):
            found = (
                self.names.attribute(thing.path, self.old) if isinstance(thing, Module) else None
            )
            hit = isinstance(found, Variable) and self.renamed(found)
            hits, misses = hits + hit, misses + (not hit)
        if hits and misses:
            self.survey.trouble(
                "may come from another module too",
                path,
                max(use.starts),
                spell_use(use, position),
            )
        return hits > 0

    def shadowing(self, path: str, facts: Facts, use: Use, variable: Variable | None) -> None:
        """See that the new name still means the same thing at a use."""
        assert variable is not None
        taken = between(facts, use.scope, variable.scope, self.new)
        if taken is not None:
            self.survey.trouble(f"{self.new} is another name there", path, taken.start, self.new)

    def exports(self, path: str, facts: Facts) -> None:
        for text in facts.exports or ():
            if text.value == self.old and self.renamed(self.names.module_variable(path, self.old)):
                self.survey.replace(path, text.start, self.old, self.new)

    def fixture(self) -> None:
        """See that nobody asks for it by the name of a parameter, as for a fixture of pytest."""
        if not any(
            decorator[-1] == "fixture"
            for definition in self.names.definitions(self.home)
            for decorator in definition.decorators
        ):
            return
        for path in self.names.index.mentioning(self.old):
            facts = self.names.facts(path)
            for binding in facts.bindings if facts is not None else ():
                if binding.kind is BindingKind.PARAMETER and binding.name == self.old:
                    self.survey.trouble(
                        "is a fixture that parameters ask for by its name",
                        path,
                        binding.start,
                        self.old,
                    )

    def clashes(self, path: str, facts: Facts) -> None:
        """See that the new name is free in every scope that gets it."""
        new, old, survey = self.new, self.old, self.survey
        variables = [
            Variable(path, scope, old)
            for scope in facts.scopes_binding(old)
            if self.renamed(Variable(path, scope, old))
        ]
        virtual = Variable(path, 0, old)
        if not variables and self.renamed(self.names.module_variable(path, old)):
            variables = [virtual]
        for variable in variables:
            for binding in facts.bound(variable.scope, new):
                survey.trouble(f"{new} is bound there already", path, binding.start, new)
            if variable.scope == 0 and self.names.star(path, new) is not None:
                survey.trouble(
                    f"{new} comes from a star import there", path, facts.stars[0].start, new
                )
            for use in facts.uses(new):
                if use.names[0] == new and captured(self.names, path, facts, use, variable.scope):
                    survey.trouble(f"{new} means something else there", path, use.starts[0], new)


class _MethodRename:
    """One method, with all that override it; only when every receiver is proven."""

    def __init__(self, names: Names, home: Variable, new: str, proven: bool) -> None:
        self.names = names
        self.home = home
        self.old, self.new = home.name, new
        self.survey = Survey(names, proven=proven)

    def find(self, sentence: str) -> Sites | Refusal:
        group = family(self.names, self.home)
        if self.home not in group.members:
            return Refusal(f"{sentence}: it is in a class that is bound in several ways")
        self.survey.doubt(
            "these places may mean it or something else", *doubtful(self.names, group)
        )
        self.clashes(group)
        stubs = [stub_of(self.names, member) for member in group.members]
        members = frozenset((*group.members, *filter(None, stubs)))
        for path in self.names.index.mentioning(self.old):
            facts = self.names.facts(path)
            if facts is None:
                self.survey.remark(f"{path} mentions {self.old} but does not parse; look at it")
                continue
            self.tokens(path, facts, members)
            for text in facts.texts:
                if text.value == self.old and text.dynamic:
                    said = f"the string {self.old!r} is left as it is"
                    self.survey.remark(said, path, text.start)
        for member in group.members:
            _rename_nodes(self.survey, member, self.new)
            remark_on_tree(self.survey, member)
        for stub in filter(None, stubs):
            _rename_nodes(self.survey, stub, self.new)
        if len(group.members) > 1:
            others = ", ".join(spell(self.names, m) for m in group.members if m != self.home)
            self.survey.note(f"renamed with it, since they override one another: {others}")
        return self.survey.sites(sentence)

    def tokens(self, path: str, facts: Facts, members: frozenset[Variable]) -> None:
        for scope in facts.scopes_binding(self.old):
            if Variable(path, scope, self.old) in members:
                for binding in facts.bound(scope, self.old):
                    if binding.kind in _PLAIN:
                        self.survey.replace(path, binding.start, self.old, self.new)
                    else:
                        self.survey.trouble(
                            "is bound there by an import", path, binding.start, self.old
                        )
        for use in facts.uses(self.old):
            for position, name in enumerate(use.names):
                if name == self.old and any(
                    thing in members for thing in self.names.use(path, use, position)
                ):
                    self.survey.replace(path, use.starts[position], self.old, self.new)

    def clashes(self, group: Family) -> None:
        for klass in group.classes:
            taken = self.names.class_attribute(klass, self.new)
            facts = self.names.facts(taken.path) if taken is not None else None
            if taken is not None and facts is not None:
                start = facts.bound(taken.scope, self.new)[0].start
                self.survey.trouble(
                    f"{self.new} is an attribute already", taken.path, start, self.new
                )
        for path in self.names.index.mentioning(self.new):
            facts = self.names.facts(path)
            for use in facts.uses(self.new) if facts is not None else ():
                for position, name in enumerate(use.names):
                    if position and name == self.new:
                        self.attribute(path, use, position, group)

    def attribute(self, path: str, use: Use, position: int, group: Family) -> None:
        """See that no instance has an attribute of the new name."""
        for thing in self.names.receivers(path, use, position):
            klass = thing.klass if isinstance(thing, Instance) else thing
            if isinstance(klass, Variable) and klass in group.classes:
                self.survey.trouble(
                    f"{self.new} is an attribute already",
                    path,
                    max(use.starts),
                    spell_use(use, position),
                )


# --------------------------------------------------------------------------------- shared parts


def _rename_nodes(survey: Survey, variable: Variable, new: str) -> None:
    """Note which nodes get another id."""
    names = survey.names
    outer = qualname(names, variable).rpartition(".")[0]
    symbol = f"{outer}.{new}" if outer else new
    for node in definition_nodes(names, variable):
        found = names.sources.node(node)
        if found is None or found.kind not in (
            NodeKind.FUNCTION,
            NodeKind.METHOD,
            NodeKind.CLASS,
        ):
            continue
        if found.kind is NodeKind.CLASS:
            survey.api.add(NodeId(node.path, node.symbol, Aspect.ALL))
        else:
            survey.api.add(node)
        suffix = node.symbol.removeprefix(qualname(names, variable))
        survey.creates.append(NodeId(node.path, symbol + suffix))
        survey.renamed.append(node)


def _chain(facts: Facts, scope: int) -> list[int]:
    """Return a scope and what encloses it, the module last."""
    chain = [scope]
    while scope:
        scope = facts.scopes[scope].parent
        chain.append(scope)
    return chain


def between(facts: Facts, inner: int, outer: int, name: str) -> Binding | None:
    """Return what binds `name` in a scope that code in `inner` sees before `outer`."""
    first = True
    for scope in _chain(facts, inner):
        if scope == outer:
            return None
        here = facts.scopes[scope]
        if name in here.globals or name in here.nonlocals:
            continue
        bound: Sequence[Binding] = facts.bound(scope, name)
        if bound and (here.kind is not ScopeKind.CLASS or first):
            return bound[0]
        first = here.kind is ScopeKind.TYPE
    return None


def captured(names: Names, path: str, facts: Facts, use: Use, scope: int) -> bool:
    """Whether a use would mean its name in `scope` if that were bound there.

    It means something further out, or a builtin, as it is.
    """
    chain = _chain(facts, use.scope)
    if scope not in chain:
        return False
    found = names.lookup(path, use.scope, use.names[0], max(use.starts[0], 0))
    return found is None or found.scope not in chain[: chain.index(scope) + 1]
