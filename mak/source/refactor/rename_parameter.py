"""Rename a parameter: in its function, and wherever it is passed by keyword."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from mak.source.facts import BindingKind, Call, Definition, Facts, ParameterKind
from mak.source.hierarchy import Doubt, doubtful_uses, spell
from mak.source.names import line_of, node_at
from mak.source.refactor.escapes import escapes
from mak.source.refactor.mentions import remark_on_stub
from mak.source.refactor.rename import between, captured
from mak.source.refactor.signature import Signature, Site, signature
from mak.source.refactor.sites import Refusal, Sites, Survey
from mak.source.refactor.target import KIND, NAME, locate, why_no_name
from mak.source.refactor.target import spell as spell_target
from mak.source.resolve import Names, Variable

_NAMED = r"[`'\"]?(?P<{}>\w+)[`'\"]?"
_WORD = r"rename\s+(?:the\s+)?(?:parameter|argument|param|arg|keyword)\s+"
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
#: Places where a function is handed on that are named.
_SHOWN = 3
_BY_KEYWORD = (ParameterKind.NORMAL, ParameterKind.KEYWORD)
#: Decorators that leave a function's parameters as they are.
_TRANSPARENT = frozenset(
    (
        "abstractmethod",
        "asynccontextmanager",
        "cache",
        "cached_property",
        "classmethod",
        "contextmanager",
        "final",
        "lru_cache",
        "overload",
        "override",
        "property",
        "staticmethod",
    )
)


@dataclass(frozen=True, slots=True)
class RenameParameter:
    """``rename parameter a of pkg.mod.f to b``."""

    target: str
    old: str
    new: str

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
        return f"rename parameter {self.old} of {self.target} to {self.new}"

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
        return _ParameterRename(names, found, self.old, self.new).find(sentence)


class _ParameterRename:
    """One parameter of a function and of all that override it."""

    def __init__(self, names: Names, function: Signature, old: str, new: str) -> None:
        self.names = names
        self.function = function
        self.old, self.new = old, new
        self.survey = Survey(names)

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
        if any(kind in _BY_KEYWORD for *_, kind in kinds):
            sites = tuple(self.function.sites())
            handed = escapes(self.names, sites, self.old)
            doubts = dict.fromkeys((*self.keyword_doubts(), *handed.doubts))
            if doubts:
                given = _list(handed.handed)
                why = f"it is handed on as a value ({given}), and " if handed.doubts else ""
                said = f"{sentence}: {why}these places may pass it by keyword"
                return Refusal(said, tuple(doubts), receivers=not handed.doubts)
            if handed.handed:
                self.survey.remark(
                    f"the function is handed on as a value ({_list(handed.handed)}); "
                    f"see to it that nobody calls it there with {self.old}= or **"
                )
            for site in sites:
                self.site(site)
        return self.survey.sites(sentence)

    def definition(self, path: str, facts: Facts, definition: Definition) -> None:
        survey, variable = self.survey, Variable(path, definition.scope, self.old)
        remark_on_stub(survey, path, definition.name)
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
        for scope, start in facts.dynamic:
            if self._within(facts, scope, definition.scope):
                said = "names are looked up at run time there; look at it"
                survey.remark(said, path, start)
        for decorator in definition.decorators:
            if decorator[-1] not in _TRANSPARENT and decorator[-1] not in ("setter", "getter"):
                said = f"{'.'.join(decorator)} decorates it and may look at parameter names"
                survey.remark(said, path, facts.scopes[definition.scope].start)

    def _within(self, facts: Facts, scope: int, outer: int) -> bool:
        while scope and scope != outer:
            scope = facts.scopes[scope].parent
        return scope == outer

    def keyword_doubts(self) -> Iterator[Doubt]:
        """Yield the calls that pass it by keyword to what may be this method."""
        if self.function.family is None:
            return
        for path, use, position in doubtful_uses(self.names, self.function.family):
            call = use.call if position == len(use.names) - 1 else None
            for name, at in call.keywords if call is not None else ():
                if name == self.old:
                    line = line_of(self.names.sources, path, at)
                    yield Doubt(path, line, f"{spell(use, position)}({name}=…)")

    def site(self, site: Site) -> None:
        call = site.use.call
        if call is None or site.position != len(site.use.names) - 1:
            return
        for name, at in call.keywords:
            if name != self.old:
                continue
            if not site.certain:
                self.survey.trouble("may call another function too", site.path, at, f"{self.old}=")
            self.survey.replace(site.path, at, self.old, self.new)
        if call.double_star and not self._is_given(call):
            said = f"passes **keywords that may hold {self.old}"
            text = f"{spell(site.use, site.position)}(**…)"
            self.survey.trouble(said, site.path, call.start, text)

    def _is_given(self, call: Call) -> bool:
        """Whether a call passes it for itself, so that a mapping cannot hold it too."""
        if any(name == self.old for name, _ in call.keywords):
            return True
        return not call.star and all(
            self.old in [p.name for p in definition.parameters[: call.positional]]
            for _, _, definition in self.function.definitions()
        )


def _list(places: Sequence[Doubt]) -> str:
    shown = "; ".join(map(str, places[:_SHOWN]))
    return f"{shown} and {len(places) - _SHOWN} more" if len(places) > _SHOWN else shown
