"""Rename a parameter: in its function, and wherever it is passed by keyword."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from mak.source.facts import BindingKind, Call, Definition, Facts
from mak.source.hierarchy import Doubt, doubtful_uses, is_annotatable, spell
from mak.source.names import line_of, node_at
from mak.source.refactor.add_parameter import has_keywords
from mak.source.refactor.handed import BY_KEYWORD, Handed
from mak.source.refactor.mentions import remark_on_parameter
from mak.source.refactor.rename import between, captured
from mak.source.refactor.signature import Signature, Site, signature
from mak.source.refactor.sites import PROVEN, Refusal, Sites, Survey
from mak.source.refactor.target import KIND, NAME, locate, why_no_name
from mak.source.refactor.target import spell as spell_target
from mak.source.resolve import Names, Variable

_NAMED = r"[`'\"]?(?P<{}>\w+)[`'\"]?"
_WORD = r"rename\s+(?:the\s+)?(?:keyword\s+)?(?:parameter|argument|param|arg|keyword)s?\s+"
_TARGET = KIND + NAME.format("target")
_REQUESTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_WORD}{_NAMED.format('old')}\s+(?:of|in|from)\s+{_TARGET}\s+(?:to|as|into)\s+"
        rf"{_NAMED.format('new')}",
        rf"{_WORD}{_NAMED.format('old')}\s+(?:to|as|into)\s+{_NAMED.format('new')}\s+"
        rf"(?:of|in|for)\s+{_TARGET}",
    )
)
_DOUBT = "these places may pass it by keyword"
#: What pytest calls, passing parameters by their names.
_COLLECTED = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|tests|conftest)\.py$")


@dataclass(frozen=True, slots=True)
class RenameParameter:
    """``rename parameter a of pkg.mod.f to b``."""

    target: str
    old: str
    new: str
    proven: bool = False

    forms: ClassVar[tuple[str, ...]] = ("rename parameter a of pkg.mod.f to b",)

    @classmethod
    def parse(cls, text: str) -> RenameParameter | None:
        """Read one sentence."""
        for pattern in _REQUESTS:
            match = pattern.fullmatch(text)
            if match:
                return cls(match["target"], match["old"], match["new"])
        return None

    def __str__(self) -> str:
        said = f"rename parameter {self.old} of {self.target} to {self.new}"
        return f"{said}{PROVEN if self.proven else ''}"

    def find(self, names: Names) -> Sites | Refusal:
        """Return every token that has to change."""
        target = locate(names, self.target)
        if isinstance(target, Refusal):
            return target
        if why := why_no_name(self.new):
            return Refusal(f"{self}: {why}")
        found = signature(names, target)
        if isinstance(found, Refusal):
            return Refusal(f"{self}: {found.reason}")
        sentence = str(replace(self, target=spell_target(names, target)))
        return _ParameterRename(names, found, self).find(sentence)


class _ParameterRename:
    """One parameter of a function and of all that override it."""

    def __init__(self, names: Names, function: Signature, intent: RenameParameter) -> None:
        self.names = names
        self.function = function
        self.old, self.new = intent.old, intent.new
        self.survey = Survey(names, proven=intent.proven)

    def find(self, sentence: str) -> Sites | Refusal:
        kinds = [
            (path, facts, definition, parameter.kind)
            for path, facts, definition in self.function.definitions()
            for parameter in definition.parameters
            if parameter.name == self.old
        ]
        if not kinds:
            known = dict.fromkeys(
                parameter.name
                for _, _, definition in self.function.definitions()
                for parameter in definition.parameters
            )
            return Refusal(f"{sentence}: it has no parameter {self.old}", tuple(known))
        for path, facts, definition, _ in kinds:
            self.definition(path, facts, definition)
        if any(kind in BY_KEYWORD for *_, kind in kinds):
            for path, facts, definition in self.function.definitions():
                self.collected(path, facts, definition)
            for site in self.function.sites():
                self.site(site)
            self.survey.doubt(_DOUBT, *self.doubts())
        return self.survey.sites(sentence)

    def definition(self, path: str, facts: Facts, definition: Definition) -> None:
        survey, variable = self.survey, Variable(path, definition.scope, self.old)
        for parameter in definition.parameters:
            if parameter.name == self.old:
                survey.api.add(node_at(self.names.sources, path, parameter.start))
        for binding in facts.bound(definition.scope, self.old):
            if binding.kind in (BindingKind.IMPORT, BindingKind.FROM):
                survey.trouble("is bound by an import too", path, binding.start, self.old)
            else:
                survey.replace(path, binding.start, self.old, self.new)
        for use in facts.uses(self.old):
            if use.names[0] != self.old:
                continue
            start = use.starts[0]
            if self.names.lookup(path, use.scope, self.old, start) == variable:
                survey.replace(path, start, self.old, self.new)
                taken = between(facts, use.scope, definition.scope, self.new)
                if taken is not None:
                    survey.trouble(f"{self.new} is another name there", path, taken.start, self.new)
        for binding in facts.bound(definition.scope, self.new):
            survey.trouble(f"{self.new} is bound there already", path, binding.start, self.new)
        for use in facts.uses(self.new):
            if use.names[0] == self.new and captured(
                self.names, path, facts, use, definition.scope
            ):
                survey.trouble(
                    f"{self.new} means something else there", path, use.starts[0], self.new
                )
        remark_on_parameter(survey, path, facts, definition, self.old)
        for scope, start in facts.dynamic:
            if self._within(facts, scope, definition.scope):
                said = "names are looked up at run time there; look at it"
                survey.remark(said, path, start)

    def _within(self, facts: Facts, scope: int, outer: int) -> bool:
        while scope and scope != outer:
            scope = facts.scopes[scope].parent
        return scope == outer

    def collected(self, path: str, facts: Facts, definition: Definition) -> None:
        """See that it is no test, whose parameters name fixtures, and takes all by name."""
        first = facts.scopes[definition.scope].start
        if _COLLECTED.search(path) and definition.name.startswith("test"):
            self.survey.doubt(_DOUBT, self.survey.place(path, first, f"pytest, {definition.name}"))
        names = [parameter.name for parameter in definition.parameters]
        if self.old not in names and has_keywords(definition):
            rest = f"**{definition.parameters[-1].name}"
            self.survey.trouble(f"takes {self.old} in there", path, first, rest)

    def doubts(self) -> Iterator[Doubt]:
        """Yield the places that may pass it by keyword, to this function or to another one."""
        names, family = self.names, self.function.family
        handed = Handed(names, self.function.targets, self.old, self._is_given)
        for path, facts, definition in self.function.definitions():
            yield from handed.decorated(path, facts, definition)
        for site in self.function.sites():
            yield from handed.doubts(site.path, site.use, site.position)
        if family is None:
            return
        for path, use, position in doubtful_uses(names, family):
            call = use.call if position == len(use.names) - 1 else None
            if call is None or call.partial:
                yield from handed.doubts(path, use, position)
                continue
            for name, at in call.keywords:
                if name == self.old:
                    line = line_of(names.sources, path, at)
                    known = is_annotatable(names, path, use, position)
                    yield Doubt(path, line, f"{spell(use, position)}({name}=…)", known)
            if call.double_star and not self._is_given(call):
                line = line_of(names.sources, path, call.start)
                known = is_annotatable(names, path, use, position)
                yield Doubt(path, line, f"{spell(use, position)}(**…)", known)

    def site(self, site: Site) -> None:
        call, survey = site.use.call, self.survey
        if call is None or site.position != len(site.use.names) - 1:
            return
        text = spell(site.use, site.position)
        for name, at in call.keywords:
            if name != self.old:
                continue
            if not site.certain:
                place = survey.place(site.path, at, f"{text}({self.old}=…)")
                survey.doubt("may call another function too", place)
            if site.certain or not survey.proven:
                survey.replace(site.path, at, self.old, self.new)
        if call.double_star and not self._is_given(call):
            said = f"passes **keywords that may hold {self.old}"
            survey.doubt(said, survey.place(site.path, call.start, f"{text}(**…)"))

    def _is_given(self, call: Call) -> bool:
        """Whether a call passes it for itself, so that a mapping cannot hold it too."""
        if any(name == self.old for name, _ in call.keywords):
            return True
        return not call.star and all(
            self.old in [p.name for p in definition.parameters[: call.positional]]
            for _, _, definition in self.function.definitions()
        )
