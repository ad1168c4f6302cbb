"""Add a parameter with a default to a function; pass a value for it from its callers if asked."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from mak.source.facts import Definition, Facts, ParameterKind
from mak.source.hierarchy import spell as spell_use
from mak.source.names import node_at
from mak.source.refactor.brackets import Insertion, brackets
from mak.source.refactor.rename import captured
from mak.source.refactor.signature import Signature, Site, signature
from mak.source.refactor.sites import PROVEN, Refusal, Sites, Survey
from mak.source.refactor.target import KIND, NAME, locate, spell, why_no_name
from mak.source.resolve import Names

_REQUEST = re.compile(
    r"add\s+(?:an?\s+)?(?:new\s+)?(?:optional\s+)?(?:keyword(?:-only)?\s+)?"
    r"(?:parameter|argument|param|arg|keyword)\s+(?:called\s+|named\s+)?(?P<declared>.+?)\s+to\s+"
    rf"{KIND}{NAME.format('target')}"
    r"(?:,?\s+(?:and\s+)?pass(?:ing)?\s+(?:(?P<passed>\w+)\s*=\s*)?(?P<value>.+?)"
    r"(?:\s+(?:from|in|at|by)\s+(?:all\s+|every\s+)?(?:of\s+)?(?:its\s+|the\s+)?"
    r"call(?:er|ers|s| sites|ing functions)?)?)?",
    re.IGNORECASE,
)
_DEFAULT = re.compile(
    r"[`'\"]?(?P<name>\w+)\s*(?::\s*(?P<type>[^=]+?))?\s*"
    r"(?:=|\s+with\s+(?:the\s+)?default\s+(?:value\s+)?|\s+defaulting\s+to\s+)\s*(?P<value>.+?)[`]?",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class AddParameter:
    """``add parameter timeout=30 to pkg.mod.f``."""

    target: str
    name: str
    #: Annotation and default as they are written; the annotation may be empty.
    annotation: str
    default: str
    #: The expression that callers pass; empty: none.
    value: str = ""
    proven: bool = False

    forms: ClassVar[tuple[str, ...]] = (
        "add parameter timeout=30 to pkg.mod.f [and pass timeout=cfg.t from callers]",
    )

    @classmethod
    def parse(cls, text: str) -> AddParameter | None:
        """Read one sentence."""
        match = _REQUEST.fullmatch(text)
        if not match:
            return None
        declared = _DEFAULT.fullmatch(match["declared"].strip("`"))
        if not declared:
            name, _, annotation = match["declared"].strip("`").partition(":")
            if not name.strip().isidentifier():
                return None
            return cls(match["target"], name.strip(), annotation.strip(), "")
        if match["passed"] and match["passed"] != declared["name"]:
            return None
        value = (match["value"] or "").strip("`")
        annotation = (declared["type"] or "").strip()
        return cls(match["target"], declared["name"], annotation, declared["value"], value)

    def __str__(self) -> str:
        sentence = f"add parameter {self.declaration} to {self.target}"
        if self.value:
            sentence += f" and pass {self.name}={self.value} from callers"
        return f"{sentence}{PROVEN if self.proven else ''}"

    @property
    def declaration(self) -> str:
        """The parameter as it is written in the signature."""
        if self.annotation:
            return f"{self.name}: {self.annotation} = {self.default}"
        return f"{self.name}={self.default}"

    def find(self, names: Names) -> Sites | Refusal:
        """Return the definitions and the calls that change."""
        target = locate(names, self.target)
        if isinstance(target, Refusal):
            return target
        if not self.default:
            return Refusal(
                f"add parameter {self.name} to {self.target}: it needs a default, "
                f"so that other callers go on working; write {self.name}=VALUE"
            )
        if why := why_no_name(self.name):
            return Refusal(f"{self}: {why}")
        for text in filter(None, (self.annotation, self.default, self.value)):
            if not _is_expression(text):
                return Refusal(f"{self}: {text!r} is not a Python expression")
        found = signature(names, target)
        if isinstance(found, Refusal):
            return Refusal(f"{self}: {found.reason}")
        return _Addition(names, found, replace(self, target=spell(names, target))).find()


class _Addition:
    """One new parameter."""

    def __init__(self, names: Names, function: Signature, intent: AddParameter) -> None:
        self.names = names
        self.function = function
        self.intent = intent
        self.survey = Survey(names, proven=intent.proven)

    def find(self) -> Sites | Refusal:
        definitions = list(self.function.definitions())
        for path, facts, definition in definitions:
            self.definition(path, facts, definition)
        if len(self.function.members) > 1:
            spelled = ", ".join(spell(self.names, member) for member in self.function.members)
            self.survey.note(f"added to all that override one another: {spelled}")
        if any(has_keywords(definition) for _, _, definition in definitions):
            for site in self.function.sites():
                self.swallowed(site)
        if self.intent.value:
            own = {(path, definition.scope) for path, _, definition in definitions}
            for site in self.function.sites():
                self.call(site, own)
            for doubt in self.function.doubts():
                self.survey.remark(f"{doubt} may call it too and is left as it is")
        return self.survey.sites(str(self.intent))

    # ------------------------------------------------------------------- the definitions

    def definition(self, path: str, facts: Facts, definition: Definition) -> None:
        survey, name = self.survey, self.intent.name
        scope = facts.scopes[definition.scope]
        if any(parameter.name == name for parameter in definition.parameters):
            survey.trouble(f"it has a parameter {name} already", path, scope.start, name)
            return
        for binding in facts.bound(definition.scope, name):
            survey.trouble(f"{name} is bound there already", path, binding.start, name)
        for use in facts.uses(name):
            if use.names[0] == name and captured(self.names, path, facts, use, definition.scope):
                survey.trouble(f"{name} means something else there", path, use.starts[0], name)
        for text in filter(None, (self.intent.annotation, self.intent.default)):
            for unknown in self.unknown(text, path, definition.holder, scope.start):
                survey.trouble(f"{unknown} is not known there", path, scope.start, unknown)
        data = self.names.sources.data(path)
        start = data.find(definition.name.encode(survey.codec(path)), scope.start)
        found = brackets(data, survey.codec(path), start)
        if found is None:
            survey.trouble("has a signature that cannot be read", path, scope.start, name)
            return
        item = self.intent.declaration
        last = definition.parameters[-1] if definition.parameters else None
        stars = found.find("**")
        if last is not None and last.kind is ParameterKind.KEYWORDS and stars is not None:
            self.insert(path, found.before(stars, item))
        else:
            self.insert(path, found.append(item))
        survey.api.add(node_at(self.names.sources, path, start))

    # ------------------------------------------------------------------------- the calls

    def swallowed(self, site: Site) -> None:
        """See that no call passes the name already, into ``**kwargs``, which would lose it."""
        call, survey = site.use.call, self.survey
        if call is None or site.position != len(site.use.names) - 1:
            return
        if any(name == self.intent.name for name, _ in call.keywords):
            survey.trouble(
                f"passes {self.intent.name} already, which goes into **keywords",
                site.path,
                call.start,
                f"{spell_use(site.use, site.position)}({self.intent.name}=…)",
            )
        elif call.double_star:
            text = f"{spell_use(site.use, site.position)}(**…)"
            place = survey.place(site.path, call.start, text)
            survey.doubt(f"passes keywords on that may hold {self.intent.name} already", place)

    def call(self, site: Site, own: set[tuple[str, int]]) -> None:
        call = site.use.call
        if site.position != len(site.use.names) - 1:
            return
        if call is None:
            if not self.function.is_constructor:
                said = "is used there without being called; who calls it does not pass it"
                text = spell_use(site.use, site.position)
                self.survey.remark(f"{text} {said}", site.path, max(site.use.starts))
            return
        survey, path, start = self.survey, site.path, call.start
        if any(name == self.intent.name for name, _ in call.keywords):
            return
        if not site.certain:
            survey.remark("may call another function too and is left as it is", path, start)
            return
        if call.double_star:
            survey.remark("passes **keywords and is left as it is", path, start)
            return
        value = self.intent.value
        facts = self.names.facts(path)
        assert facts is not None
        if any((path, scope) in own for scope in _enclosing(facts, site.use.scope)):
            value = self.intent.name
        else:
            for unknown in self.unknown(value, path, site.use.scope, start):
                survey.trouble(f"{unknown} is not known there", path, start, unknown)
        data = self.names.sources.data(path)
        found = brackets(data, survey.codec(path), start, call.end)
        if found is None:
            survey.trouble("is a call that cannot be read", path, start, self.intent.name)
            return
        item = f"{self.intent.name}={value}"
        if found.is_generator:
            first, last = found.wrap()
            self.insert(path, (first, Insertion(last.at, f"{last.text}, {item}")))
        else:
            self.insert(path, found.append(item))

    def insert(self, path: str, insertions: Iterable[Insertion]) -> None:
        for insertion in insertions:
            self.survey.patch(path, insertion.at, insertion.at, insertion.text)

    def unknown(self, text: str, path: str, scope: int, at: int) -> Iterator[str]:
        """Yield the names in an expression that nothing binds at a place."""
        tree = ast.parse(text, mode="eval")
        inner = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and _stores(n)}
        inner |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id not in inner:
                bound = self.names.lookup(path, scope, node.id, at)
                if bound is None and not hasattr(builtins, node.id):
                    yield node.id


def has_keywords(definition: Definition) -> bool:
    """Whether a function takes any keyword."""
    return any(p.kind is ParameterKind.KEYWORDS for p in definition.parameters)


def _stores(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _enclosing(facts: Facts, scope: int) -> Iterator[int]:
    while scope:
        yield scope
        scope = facts.scopes[scope].parent


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
