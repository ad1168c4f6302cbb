"""Move a function or class to another module: with the imports it needs, to all who import it."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from typing import ClassVar

from mak.model import AddImport, Insert, NodeId, Replace
from mak.source.facts import BindingKind, Context, Facts, Flag, Import, Use
from mak.source.names import is_imported
from mak.source.refactor import statements
from mak.source.refactor.cycles import loads, route
from mak.source.refactor.mentions import remark_on_file, remark_on_stub, remark_on_tree
from mak.source.refactor.relocate import Luggage, imports_for, pack, text_of
from mak.source.refactor.rename import captured
from mak.source.refactor.sites import PROVEN, Refusal, Sites, Survey
from mak.source.refactor.target import NAME, NAMED_KIND, locate, spell, why_not_kind
from mak.source.resolve import Module, Names, Variable

_REQUEST = re.compile(
    rf"move\s+{NAMED_KIND}{NAME.format('target')}\s+(?:in)?to\s+(?:the\s+)?(?:module\s+|file\s+)?"
    r"[`'\"]?(?P<to>[\w./\\-]+)[`'\"]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Move:
    """``move pkg.a.Foo to pkg.b``."""

    target: str
    to: str
    #: What the person calls it (function, class, …); empty: nothing.
    kind: str = ""
    proven: bool = False

    forms: ClassVar[tuple[str, ...]] = ("move pkg.a.Foo to pkg.b",)

    @classmethod
    def parse(cls, text: str) -> Move | None:
        """Read one sentence."""
        match = _REQUEST.fullmatch(text)
        return cls(match["target"], match["to"], match["kind"] or "") if match else None

    def __str__(self) -> str:
        return f"move {self.target} to {self.to}"

    def find(self, names: Names) -> Sites | Refusal:
        """Return what leaves, what arrives, and every importer that changes."""
        home = locate(names, self.target)
        if isinstance(home, Refusal):
            return home
        if why := why_not_kind(names, home, self.kind):
            return Refusal(f"{self}: {why}")
        if self.proven:
            return Refusal(f"{self}: a move takes all uses along; leave out{PROVEN}")
        if home.scope:
            return Refusal(f"{self}: {spell(names, home)} is not at the top level of a module")
        to = _destination(names, home, self.to)
        if isinstance(to, Refusal):
            return Refusal(f"{self}: {to.reason}", to.places)
        if to == home.path:
            return Refusal(f"{self}: it is there already")
        if to in names.sources and names.facts(to) is None:
            return Refusal(f"{self}: {to} does not parse")
        sentence = str(replace(self, target=spell(names, home), to=to))
        return _Relocation(names, home, to).find(sentence)


def _destination(names: Names, home: Variable, text: str) -> str | Refusal:
    """Return the path of the module that is meant, which may not exist yet."""
    if text.endswith(".py") or "/" in text:
        folder = text.rpartition("/")[0]
        known = text in names.sources or not folder or _has_files(names, f"{folder}/")
        if not text.endswith(".py"):
            return Refusal(f"{text} is not a Python file")
        return text if known else Refusal(f"there is no folder {folder}")
    found = names.modules.find(text)
    if len(found) == 1:
        return found[0]
    if found:
        return Refusal(f"{text} may be any of these", found)
    outer, _, last = text.rpartition(".")
    if not outer:
        return f"{names.modules.root(home.path)}{last}.py"
    packages = [path for path in names.modules.find(outer) if path.endswith("/__init__.py")]
    if len(packages) == 1:
        return f"{packages[0].removesuffix('__init__.py')}{last}.py"
    return Refusal(f"there is no package {outer} to put a module {last} into")


def _has_files(names: Names, folder: str) -> bool:
    return any(path.startswith(folder) for path in names.index.paths)


class _Relocation:
    """One definition on its way from a module to another."""

    def __init__(self, names: Names, home: Variable, to: str) -> None:
        self.names = names
        self.home, self.to = home, to
        self.name = home.name
        self.survey = Survey(names)
        #: Whether the module that it leaves goes on using it.
        self.missed = False
        #: Modules that are to import it from where it moves to.
        self.importers: set[str] = set()

    def find(self, sentence: str) -> Sites | Refusal:
        luggage = pack(self.survey, self.home, self.to)
        if isinstance(luggage, str):
            return Refusal(f"{sentence}: {luggage}")
        self.leave(luggage)
        for path in self.names.index.mentioning(self.name):
            facts = self.names.facts(path)
            if facts is None:
                self.survey.remark(f"{path} mentions {self.name} but does not parse; look at it")
                continue
            if path != self.home.path:
                self.importer(path, facts)
            own = luggage.holds if path == self.home.path else _nowhere
            remark_on_file(self.survey, path, facts, self.home, own)
        self.arrive(luggage)
        remark_on_tree(self.survey, self.home, luggage.holds)
        remark_on_stub(self.survey, self.home)
        return self.survey.sites(sentence)

    # ----------------------------------------------------------------- where it leaves

    def leave(self, luggage: Luggage) -> None:
        survey, path = self.survey, self.home.path
        facts = self.names.facts(path)
        assert facts is not None
        survey.deletes.extend(luggage.units)
        survey.renamed.extend(unit.node for unit in luggage.units)
        survey.api.update(luggage.units)
        for use in facts.uses(self.name):
            if use.names[0] != self.name or luggage.holds(use.starts[0]):
                continue
            if self.names.is_ambiguous(path, use.scope, self.name, use.starts[0]):
                survey.trouble(
                    "may mean the name in the class or the one in the module",
                    path,
                    use.starts[0],
                    self.name,
                )
            if self.names.lookup(path, use.scope, self.name, use.starts[0]) == self.home:
                self.missed = True
        if self.missed:
            self.importers.add(path)
            self.comes_back(luggage)
            relative = statements.is_relative(self.names, path)
            text = statements.written(self.names, path, self.to, self.name, relative=relative)
            survey.add(AddImport(path, text))
            if luggage.needs:
                name, start = next(iter(luggage.needs.items()))
                survey.trouble(
                    "each module would import the other: it uses the rest of its module, which "
                    "uses it",
                    path,
                    start,
                    name,
                )
        self.unused_imports(facts, luggage)
        self.export(facts)

    def unused_imports(self, facts: Facts, luggage: Luggage) -> None:
        """Take out the imports that only the definition used."""
        path = self.home.path
        data = self.names.sources.data(path)
        gone: list[Import] = []
        for name, entry in {**luggage.imports, **luggage.there}.items():
            variable = Variable(path, 0, name)
            line = data[entry.start : data.find(b"\n", entry.end) + 1 or None]
            if path.endswith("__init__.py") or b"noqa" in line or entry.module == "__future__":
                continue
            if any(text.value == name for text in facts.exports or ()):
                continue
            if any(
                use.names[0] == name
                and not luggage.holds(use.starts[0])
                and self.names.lookup(path, use.scope, name, use.starts[0]) == variable
                for use in facts.uses(name)
            ):
                continue
            if not is_imported(self.names, variable):
                gone += [facts.imports[b.detail] for b in facts.bound(0, name)]
        for start in sorted({entry.start for entry in gone}):
            entry = next(entry for entry in gone if entry.start == start)
            found = statements.statement(facts, path, entry)
            statements.change(self.survey, found, gone, ())

    def export(self, facts: Facts) -> None:
        """Take the name out of ``__all__``, and into that of the other module if it has one."""
        path, survey = self.home.path, self.survey
        exports = facts.exports or ()
        spans = [(text.start - 1, text.start + len(text.value.encode()) + 1) for text in exports]
        for index, text in enumerate(exports):
            if text.value != self.name:
                continue
            if text.start < 0:
                survey.trouble("cannot be taken out of __all__", path, 0, self.name)
                continue
            statements.take_out(survey, path, spans, index)
            there = self.names.facts(self.to)
            known = there.exports if there is not None else None
            if known and known[-1].start >= 0 and self.name not in {t.value for t in known}:
                statements.put_in(survey, self.to, known[-1], self.name)

    # ----------------------------------------------------------------- where it arrives

    def arrive(self, luggage: Luggage) -> None:
        names, survey, to = self.names, self.survey, self.to
        text = text_of(names, self.home, to, luggage)
        wanted = imports_for(names, self.home, to, luggage)
        facts = names.facts(to)
        future = self.future(facts, text)
        self.circles(luggage)
        typed = {name for name, entry in luggage.imports.items() if entry.flags & Flag.TYPING}
        if facts is None:
            plain = [statement for name, statement in wanted.items() if name not in typed]
            guarded = [
                f"    {line}"
                for line in _joined([wanted[name] for name in wanted if name in typed])
            ]
            if guarded:
                plain.insert(0, "from typing import TYPE_CHECKING")
                guarded = ["", "if TYPE_CHECKING:", *guarded]
            lines = [*future, *_joined(plain), *guarded]
            head = "".join(f"{line}\n" for line in lines)
            survey.add(Replace(NodeId(to), f"{head}\n\n{text}" if head else text))
            survey.creates.append(NodeId(to))
            return
        for binding in facts.bound(0, self.name):
            entry = facts.imports[binding.detail] if binding.kind is BindingKind.FROM else None
            if entry is None or names.imported(to, entry) != self.home:
                survey.trouble(f"{self.name} is bound there already", to, binding.start, self.name)
        self.free(facts, self.name)
        for statement in future:
            survey.add(AddImport(to, statement))
        for name, statement in wanted.items():
            if self.has(facts, name):
                continue
            for binding in facts.bound(0, name):
                survey.trouble(f"{name} means something else there", to, binding.start, name)
            self.free(facts, name)
            if name in typed:
                self.guarded(facts, name, statement)
            else:
                survey.add(AddImport(to, statement))
        survey.add(Insert(NodeId(to), text))
        if not facts.bound(0, self.name):
            survey.creates.extend(NodeId(to, unit.symbol) for unit in luggage.units)

    def guarded(self, facts: Facts, name: str, statement: str) -> None:
        """Put an import that only type checkers run beside another one of that kind."""
        known = [e for e in facts.imports if e.flags & Flag.TYPING and e.scope == 0]
        if known:
            found = statements.statement(facts, self.to, known[0])
            statements.change(self.survey, found, (), [statement])
        elif statement.split()[1].partition(".")[0] in sys.stdlib_module_names:
            self.survey.add(AddImport(self.to, statement))
        else:
            said = "is imported for type checkers only; begin an if TYPE_CHECKING: block there"
            self.survey.trouble(said, self.to, 0, name)

    def free(self, facts: Facts, name: str) -> None:
        """See that nothing in the module that it moves to means another thing by a name."""
        for use in facts.uses(name):
            if use.names[0] == name and captured(self.names, self.to, facts, use, 0):
                self.survey.trouble(
                    f"{name} means something else there", self.to, use.starts[0], name
                )

    def has(self, facts: Facts, name: str) -> bool:
        """Whether a name means the same in both modules."""
        mine, theirs = Variable(self.home.path, 0, name), Variable(self.to, 0, name)
        return bool(facts.bound(0, name)) and (
            self.names.the(mine) == self.names.the(theirs) is not None
        )

    def future(self, facts: Facts | None, text: str) -> list[str]:
        """Return the ``__future__`` imports that it needs there."""
        own = self.names.facts(self.home.path)
        assert own is not None
        known = {entry.name for entry in (facts.imports if facts is not None else ())}
        wanted = [
            entry.name
            for entry in own.imports
            if entry.module == "__future__" and entry.name not in known
        ]
        if facts is not None:
            wanted = [name for name in wanted if name == "annotations" and _is_annotated(text)]
            if wanted:
                self.survey.note(f"{self.to} gets: from __future__ import annotations")
        return [f"from __future__ import {name}" for name in wanted]

    def circles(self, luggage: Luggage) -> None:
        """See that none of the imports that come along closes a circle."""
        names = self.names
        needed: set[str] = {self.home.path} if luggage.needs else set()
        for entry in luggage.imports.values():
            thing = names.imported(self.home.path, entry)
            if entry.flags & Flag.TYPING:
                continue
            if isinstance(thing, (Module, Variable)):
                needed.add(thing.path)
        needed.update(variable.path for variable in luggage.starred.values())
        gone = frozenset(((self.to, self.home.path),) if self.leaves_behind(luggage) else ())
        known = set(loads(names, self.to))
        for module in sorted(needed - known - {self.to}):
            added = frozenset((path, self.to) for path in self.importers)
            chain = route(names, module, self.to, without=gone, added=added)
            if chain:
                self.survey.trouble(
                    "it would import a module that imports this one",
                    self.to,
                    0,
                    " → ".join(chain),
                )

    def leaves_behind(self, luggage: Luggage) -> bool:
        """Whether the other module imported nothing from the first one but the definition."""
        facts = self.names.facts(self.to)
        if luggage.needs or facts is None:
            return False
        return all(
            self.names.imported(self.to, entry) == self.home
            for entry in facts.imports
            if self.names.modules.imported(entry.level, entry.module, self.to) == self.home.path
        )

    # --------------------------------------------------------------------- who imports it

    def importer(self, path: str, facts: Facts) -> None:
        gone = [
            entry
            for entry in facts.imports
            if entry.name == self.name and self.names.imported(path, entry) == self.home
        ]
        for start in sorted({entry.start for entry in gone}):
            own = [entry for entry in gone if entry.start == start]
            new = [] if path == self.to else [self.statement(path, entry) for entry in own]
            for entry in own:
                if path == self.to and entry.asname not in ("", self.name):
                    self.survey.trouble("imports it under another name", path, start, entry.asname)
            found = statements.statement(facts, path, own[0])
            statements.change(self.survey, found, own, [text for text in new if text])
        if any(entry.scope == 0 for entry in gone):
            self.circle(path)
        star = self.names.star(path, self.name) == self.home and not facts.bound(0, self.name)
        bare = False
        for use in facts.uses(self.name):
            for position, name in enumerate(use.names):
                if name != self.name:
                    continue
                if position:
                    bare = self.attribute(path, facts, use, position) or bare
                elif star:
                    found_at = self.names.lookup(path, use.scope, name, use.starts[0])
                    bare = bare or found_at == Variable(path, 0, name)
        if star and not bare:
            bare = is_imported(self.names, Variable(path, 0, self.name))
        if bare and path != self.to:
            self.bring(path, facts, star)

    def statement(self, path: str, entry: Import) -> str:
        text = statements.rewritten(self.names, path, self.to, entry)
        if not text:
            self.survey.trouble("cannot import from there", path, entry.start, self.to)
        return text

    def bring(self, path: str, facts: Facts, star: bool) -> None:
        """Import the name where it came with its module or by a star import."""
        names, survey = self.names, self.survey
        bound = facts.bound(0, self.name)
        if bound and self.home in names.meant(Variable(path, 0, self.name)):
            return
        for binding in bound:
            survey.trouble(f"{self.name} is bound there already", path, binding.start, self.name)
        if not star:
            for use in facts.uses(self.name):
                if use.names[0] == self.name and captured(names, path, facts, use, 0):
                    survey.trouble(
                        f"{self.name} means something else there",
                        path,
                        use.starts[0],
                        self.name,
                    )
        self.circle(path)
        relative = statements.is_relative(names, path)
        survey.add(
            AddImport(path, statements.written(names, path, self.to, self.name, relative=relative))
        )

    def comes_back(self, luggage: Luggage) -> None:
        """See that the module that it leaves may import it: nothing there imports that already."""
        path, to = self.home.path, self.to
        if luggage.needs or to in set(loads(self.names, path)):
            return
        gone = frozenset(((to, path),) if self.leaves_behind(luggage) else ())
        if chain := self.way_back(path, gone):
            said = "it goes on using it, and would import a module that imports it"
            self.survey.trouble(said, path, 0, " → ".join(chain))

    def way_back(self, path: str, gone: frozenset[tuple[str, str]]) -> list[str]:
        """Return how importing the other module, and the packages it is in, leads to a module."""
        folders = self.to.split("/")[:-1]
        around = ["/".join((*folders[:n], "__init__.py")) for n in range(1, len(folders) + 1)]
        packages = [
            package
            for package in around
            if package in self.names.sources
            and not path.startswith(package.removesuffix("__init__.py"))
        ]
        ways = (route(self.names, start, path, without=gone) for start in (self.to, *packages))
        return next(filter(None, ways), [])

    def circle(self, path: str) -> None:
        """See that importing from the other module closes no circle that was not there."""
        names, old, new = self.names, self.home.path, self.to
        self.importers.add(path)
        if path in (old, new) or new in set(loads(names, path)):
            return
        chain = self.way_back(path, frozenset(((new, old),)))
        if chain and not route(names, old, path):
            self.survey.trouble(
                f"importing {names.modules.name(new)} there would close a circle of imports",
                path,
                0,
                " → ".join(chain),
            )

    def attribute(self, path: str, facts: Facts, use: Use, position: int) -> bool:
        """Rewrite ``module.name``; return whether the bare name is to be imported for it."""
        names, survey = self.names, self.survey
        hits = [
            thing
            for thing in names.receivers(path, use, position)
            if isinstance(thing, Module) and names.attribute(thing.path, self.name) == self.home
        ]
        if not hits:
            return False
        start, end = use.starts[0], use.starts[position]
        if start < 0 or end < 0:
            survey.trouble("cannot be edited", path, max(start, 0), self.name)
            return False
        stop = end + len(self.name.encode(survey.codec(path)))
        module = names.modules.name(self.to)
        if self.is_dotted(path, facts, use, position) and module:
            top = module.partition(".")[0]
            found = names.lookup(path, use.scope, top, start)
            if found is None or not found.scope:
                survey.patch(path, start, stop, f"{module}.{self.name}")
                survey.add(AddImport(path, f"import {module}"))
                self.circle(path)
                return False
        if position == len(use.names) - 1 and use.context is not Context.LOAD:
            survey.trouble("is set from outside", path, start, ".".join(use.names))
        found = names.lookup(path, use.scope, self.name, start)
        if found is not None and found.scope:
            survey.trouble(f"{self.name} is another name there", path, start, self.name)
        survey.patch(path, start, stop, self.name)
        return True

    def is_dotted(self, path: str, facts: Facts, use: Use, position: int) -> bool:
        """Whether a use spells the whole name of the module, as ``import a.b`` allows."""
        if path == self.to:
            return False
        spelled = ".".join(use.names[:position])
        return any(
            not entry.name and not entry.asname and entry.module == spelled
            for entry in facts.imports
        )


def _nowhere(offset: int) -> bool:
    return False


def _joined(imports: list[str]) -> list[str]:
    """Write imports from one module as one statement, in the order of the first of each."""
    found: dict[str, list[str]] = {}
    for text in imports:
        source, _, name = text.partition(" import ")
        found.setdefault(source, []).extend([name] if name else [])
    return [
        f"{source} import {', '.join(items)}" if items else source
        for source, items in found.items()
    ]


def _is_annotated(text: str) -> bool:
    return "->" in text or re.search(r"\w\s*:\s*[\w\"'\[]", text) is not None
