"""Call another function instead: every proven call of one, with the import it needs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from mak.model import AddImport
from mak.source.facts import BindingKind, Call, Facts, Import, Parameter, ParameterKind, Use
from mak.source.names import is_imported, uses_of
from mak.source.refactor import statements
from mak.source.refactor.cycles import circle
from mak.source.refactor.rename import captured
from mak.source.refactor.sites import PROVEN, Refusal, Sites, Survey
from mak.source.refactor.target import KIND, NAME, locate, spell
from mak.source.resolve import Module, Names, Variable

_REQUEST = re.compile(
    r"(?:replace|change|switch)\s+(?:all\s+|the\s+|every\s+)?(?:calls?\s+(?:of|to|for)\s+)"
    rf"{KIND}{NAME.format('old')}\s+(?:with|by|to|into)\s+"
    rf"(?:calls?\s+(?:of|to)\s+)?{KIND}{NAME.format('new')}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ReplaceCalls:
    """``replace calls of a.b.f with a.c.g``."""

    old: str
    new: str
    proven: bool = False

    forms: ClassVar[tuple[str, ...]] = ("replace calls of a.b.f with a.c.g",)

    @classmethod
    def parse(cls, text: str) -> ReplaceCalls | None:
        """Read one sentence."""
        match = _REQUEST.fullmatch(text)
        return cls(match["old"], match["new"]) if match else None

    def __str__(self) -> str:
        said = f"replace calls of {self.old} with {self.new}"
        return f"{said}{PROVEN if self.proven else ''}"

    def find(self, names: Names) -> Sites | Refusal:
        """Return the calls and imports that change."""
        old, new = locate(names, self.old), locate(names, self.new)
        for found in (old, new):
            if isinstance(found, Refusal):
                return found
        assert isinstance(old, Variable) and isinstance(new, Variable)
        for variable in (old, new):
            if variable.scope or not names.definitions(variable):
                return Refusal(
                    f"{self}: {spell(names, variable)} is not a function or class of a module"
                )
        if old == new:
            return Refusal(f"{self}: they are the same")
        sentence = str(replace(self, old=spell(names, old), new=spell(names, new)))
        return _Replacement(names, old, new, self.proven).find(sentence)


class _Replacement:
    """One function's calls, turned into another's."""

    def __init__(self, names: Names, old: Variable, new: Variable, proven: bool) -> None:
        self.names = names
        self.old, self.new = old, new
        self.survey = Survey(names, proven=proven)
        #: Starts of the uses that change, by file.
        self.done: dict[str, set[int]] = defaultdict(set)
        #: Uses by file that need the new name in the module, and what it is called there.
        self.wanted: dict[str, list[tuple[Use, int]]] = defaultdict(list)

    def find(self, sentence: str) -> Sites | Refusal:
        for path, use, position, certain in uses_of(self.names, self.old):
            if position != len(use.names) - 1:
                continue
            if use.call is None or use.call.partial:
                said = f"{self.old.name} is used there without being called, and is left as it is"
                self.survey.remark(said, path, max(use.starts))
                continue
            if self.is_own(path, use):
                continue
            if not certain:
                at = max(use.starts[position], 0)
                place = self.survey.place(path, at, use.names[position])
                self.survey.doubt("may call another function too", place)
                if self.survey.proven:
                    continue
            if not self.fits(use.call):
                what = ".".join(use.names)
                self.survey.trouble(
                    f"{self.new.name} does not take this call", path, use.call.start, what
                )
            self.call(path, use, position)
        for path, uses in self.wanted.items():
            self.file(path, uses)
        return self.survey.sites(sentence)

    def fits(self, call: Call) -> bool:
        """Whether the new function may take a call; so too where that cannot be told."""
        definitions = self.names.definitions(self.new)
        if len(definitions) != 1 or definitions[0].is_class or definitions[0].decorators:
            return True
        by_kind: dict[ParameterKind, list[Parameter]] = defaultdict(list)
        for parameter in definitions[0].parameters:
            by_kind[parameter.kind].append(parameter)
        ordered = [*by_kind[ParameterKind.POSITIONAL], *by_kind[ParameterKind.NORMAL]]
        named = {p.name for p in (*by_kind[ParameterKind.NORMAL], *by_kind[ParameterKind.KEYWORD])}
        passed = {name for name, _ in call.keywords}
        if call.positional > len(ordered) and not by_kind[ParameterKind.VARIADIC]:
            return False
        if not passed <= named and not by_kind[ParameterKind.KEYWORDS]:
            return False
        if call.star or call.double_star:
            return True
        rest = [*ordered[call.positional :], *by_kind[ParameterKind.KEYWORD]]
        return all(p.default or p.name in passed for p in rest)

    def is_own(self, path: str, use: Use) -> bool:
        """Whether a call stands in one of the two functions; those stay."""
        for variable, why in (
            (self.new, "it would call itself"),
            (self.old, "it is the function's own"),
        ):
            scopes = {item.scope for item in self.names.definitions(variable)}
            facts = self.names.facts(path)
            scope = use.scope
            while path == variable.path and facts is not None and scope:
                if scope in scopes:
                    assert use.call is not None
                    self.survey.remark(f"this call stays: {why}", path, use.call.start)
                    return True
                scope = facts.scopes[scope].parent
        return False

    def call(self, path: str, use: Use, position: int) -> None:
        """Change one call, or note that its file has to know the new name."""
        start = use.starts[position]
        self.done[path].add(start)
        if position:
            for thing in self.names.receivers(path, use, position):
                if isinstance(thing, Module):
                    found = self.names.attribute(thing.path, self.new.name)
                    if isinstance(found, Variable) and self.new in self.names.meant(found):
                        self.survey.replace(path, start, use.names[position], self.new.name)
                        return
        self.wanted[path].append((use, position))

    def file(self, path: str, uses: Sequence[tuple[Use, int]]) -> None:
        facts = self.names.facts(path)
        assert facts is not None
        name = self.known_as(path, facts)
        own = {self.variable(path, use) if position == 0 else None for use, position in uses}
        emptied = {variable for variable in own if variable and self.is_unused(facts, variable)}
        gone = [
            facts.imports[binding.detail]
            for variable in emptied
            for binding in facts.bound(variable.scope, variable.name)
        ]
        if name:
            self.drop(path, facts, gone, ())
        else:
            at_top = any(variable is None or variable not in emptied for variable in own)
            self.bring(path, facts, gone, at_top)
        for use, position in uses:
            self.rewrite(path, use, position, name or self.new.name)

    def known_as(self, path: str, facts: Facts) -> str:
        """Return how a module can write the new function already: ``g``, ``mod.g``."""
        if path == self.new.path:
            return self.new.name
        known = ""
        for entry in facts.imports:
            if entry.scope or entry.flags or entry.name == "*":
                continue
            bound = entry.asname or entry.name or entry.module
            parts = bound.split(".")
            things = self.names.dotted(path, 0, parts, entry.end)
            if any(self.names.the(thing) == self.new for thing in things):
                return bound
            if Module(self.new.path) in {self.names.the(thing) for thing in things}:
                known = f"{bound}.{self.new.name}"
        return known

    def variable(self, path: str, use: Use) -> Variable | None:
        return self.names.lookup(path, use.scope, use.names[0], max(use.starts[0], 0))

    def is_unused(self, facts: Facts, variable: Variable) -> bool:
        """Whether an imported name has no use left, here or in other modules."""
        bound = facts.bound(variable.scope, variable.name)
        if not all(binding.kind is BindingKind.FROM for binding in bound):
            return False
        path = variable.path
        for use in facts.uses(variable.name):
            is_bare = use.names[0] == variable.name and use.starts[0] not in self.done[path]
            if is_bare and self.variable(path, use) == variable:
                return False
        if variable.scope:
            return True
        if path.endswith("__init__.py") or any(
            text.value == variable.name for text in facts.exports or ()
        ):
            return False
        return not is_imported(self.names, variable)

    def bring(self, path: str, facts: Facts, gone: Sequence[Import], also_at_top: bool) -> None:
        """Import the new function, in the place of the old one where that goes."""
        survey, name = self.survey, self.new.name
        relative = any(entry.level for entry in gone) or (
            not gone and statements.is_relative(self.names, path)
        )
        text = statements.written(self.names, path, self.new.path, name, relative=relative)
        if not text:
            survey.trouble("cannot import from there", path, 0, self.new.path)
            return
        in_module = [entry for entry in gone if entry.scope == 0]
        if also_at_top or in_module:
            self.see_that_it_is_free(path, facts)
        if also_at_top and not in_module:
            survey.add(AddImport(path, text))
        self.drop(path, facts, gone, (text,))

    def see_that_it_is_free(self, path: str, facts: Facts) -> None:
        """See that the module may import the new name."""
        survey, name = self.survey, self.new.name
        for binding in facts.bound(0, name):
            survey.trouble(f"{name} is bound there already", path, binding.start, name)
        for use in facts.uses(name):
            if use.names[0] == name and captured(self.names, path, facts, use, 0):
                survey.trouble(f"{name} means something else there", path, use.starts[0], name)
        chain = circle(self.names, path, self.new.path)
        if chain:
            module = self.names.modules.name(self.new.path)
            reason = f"importing {module} there would close a circle of imports"
            survey.trouble(reason, path, 0, " → ".join(chain))

    def drop(self, path: str, facts: Facts, gone: Sequence[Import], new: Sequence[str]) -> None:
        found = {entry.start: statements.statement(facts, path, entry) for entry in gone}
        for item in found.values():
            statements.change(self.survey, item, gone, new)

    def rewrite(self, path: str, use: Use, position: int, name: str) -> None:
        """Write the new name in the place of the whole chain."""
        survey = self.survey
        start, last = use.starts[0], use.starts[position]
        if start < 0 or last < 0:
            survey.trouble("cannot be edited", path, max(last, 0), use.names[position])
            return
        parts = name.split(".")
        found = self.names.lookup(path, use.scope, parts[0], start)
        things = self.names.dotted(path, use.scope, parts, start)
        if found is not None and not any(self.new in self.names.meant(thing) for thing in things):
            survey.trouble(f"{name} is another name there", path, start, name)
            return
        size = len(use.names[position].encode(survey.codec(path)))
        survey.patch(path, start, last + size, name)
