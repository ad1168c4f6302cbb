"""What a name means: through scopes, imports, re-exports, star imports, classes.

`Names` answers for one tree. It never guesses: what could mean something else means nothing here.
The one thing it takes on trust is that names bound by an import mean what the import says, in both
branches of a ``try`` or an ``if``.

This file is longer than most: what a variable means, what is a member of it, what it is an instance
of and what a class derives from ask each other, and share what is known of one tree.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mak.source.expressions import SUPER
from mak.source.facts import (
    Binding,
    BindingKind,
    Definition,
    Facts,
    Flag,
    Hint,
    Import,
    ScopeKind,
    Use,
)
from mak.source.index import Index
from mak.source.tree import Sources


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the repository, by path; a namespace package by its folder with ``/``."""

    path: str


class Variable(NamedTuple):
    """A name in a scope of a file: of the module (0), a class or a function.

    A tuple, unlike the other things, because it is looked up more often than all of them.
    """

    path: str
    scope: int
    name: str


@dataclass(frozen=True, slots=True)
class Instance:
    """A value known to be an instance of a class, or of a class derived from it."""

    klass: Variable


@dataclass(frozen=True, slots=True)
class Derived:
    """A value known to be a class, or a class derived from it: ``cls``."""

    klass: Variable


@dataclass(frozen=True, slots=True)
class After:
    """``super()`` in a method of a class."""

    klass: Variable


@dataclass(frozen=True, slots=True)
class Outside:
    """Something that is not in this repository."""

    name: str


Thing = Module | Variable | Instance | Derived | After | Outside

_IMPORTS = (BindingKind.IMPORT, BindingKind.FROM)
#: Scopes in which a name means what it means by what stands above it.
_IN_ORDER = (ScopeKind.CLASS, ScopeKind.TYPE)
_DEFINITIONS = (BindingKind.FUNCTION, BindingKind.CLASS)
_CONDITIONAL, _LOOP, _NONE = int(Flag.CONDITIONAL), int(Flag.LOOP), int(Flag.NONE)
#: Methods whose first parameter is the class without a decorator that says so.
_OF_CLASS = ("__new__", "__init_subclass__", "__class_getitem__")


@dataclass(frozen=True, slots=True)
class Lineage:
    """A class and what it derives from, in method resolution order."""

    classes: tuple[Variable, ...]
    #: Bases that are not in the repository or not known, by the name they are given.
    unknown: tuple[str, ...]
    #: What the class derives from directly, in order; None: not known.
    bases: tuple[Variable | Outside | None, ...] = ()


class Names:
    """Name resolution over one tree; cheap to make, everything is looked up when asked."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.index = Index(sources)
        self.modules = self.index.modules
        self._meant: dict[Variable, frozenset[Thing]] = {}
        self._lineages: dict[Variable, Lineage] = {}
        self._classes: dict[Variable, Definition | None] = {}
        #: Variables whose value is being looked for.
        self._asked: set[Variable] = set()
        self._memos: dict[str, dict[object, object]] = {}
        self._facts: dict[str, Facts | None] = {}
        self._spelled: dict[tuple[str, int, tuple[str, ...]], list[Thing]] = {}
        self._values_of: dict[Thing, tuple[Thing, ...]] = {}

    def facts(self, path: str) -> Facts | None:
        """Return the facts of a file, if it parses."""
        if path not in self._facts:
            self._facts[path] = self.index.facts(path)
        return self._facts[path]

    def memo(self, kind: str) -> dict[object, object]:
        """Return where those who ask about this tree keep what they found out."""
        return self._memos.setdefault(kind, {})

    # --------------------------------------------------------------------------- in a file

    def lookup(self, path: str, scope: int, name: str, at: int) -> Variable | None:
        """Return the variable that `name` means in `scope` at the offset `at`.

        None: nothing in the file binds it (a builtin, perhaps), or it cannot be told, see
        `is_ambiguous`.
        """
        facts = self.facts(path)
        if facts is None:
            return None
        found = self._scope_of(facts, scope, name, at)
        if found:
            return Variable(path, found, name)
        if found is None:
            return None
        return self.module_variable(path, name)

    def is_ambiguous(self, path: str, scope: int, name: str, at: int) -> bool:
        """Whether it depends on the run which variable `name` means there."""
        facts = self.facts(path)
        return facts is not None and self._scope_of(facts, scope, name, at) is None

    def _scope_of(self, facts: Facts, scope: int, name: str, at: int) -> int | None:
        """Return the scope that `name` belongs to, 0 also when it is unbound; None: cannot tell."""
        see_class = True
        while scope:
            here = facts.scopes[scope]
            if name in here.globals:
                return 0
            if name not in here.nonlocals and (here.kind is not ScopeKind.CLASS or see_class):
                bound = facts.bound(scope, name)
                if bound and here.kind is ScopeKind.CLASS:
                    return _in_class_body(bound, scope, at)
                if bound:
                    return scope
            see_class = here.kind is ScopeKind.TYPE
            scope = here.parent
        return 0

    def module_variable(self, path: str, name: str) -> Variable | None:
        """Return the variable `name` of a module, also when a star import brings it."""
        facts = self.facts(path)
        if facts is None:
            return None
        if facts.bound(0, name) or self.star(path, name) is not None:
            return Variable(path, 0, name)
        return None

    def star(self, path: str, name: str) -> Variable | None:
        """Return the variable of another module that a star import of this one brings."""
        facts = self.facts(path)
        if facts is None or name.startswith("__"):
            return None
        for entry in facts.stars:
            source = self.modules.imported(entry.level, entry.module, path)
            if source is None or source == path:
                continue
            other = self.facts(source)
            if other is None or not _exports(other, name):
                continue
            found = self._guarded_star(source, name)
            if found is not None:
                return found
        return None

    def _guarded_star(
        self, source: str, name: str, seen: frozenset[str] = frozenset()
    ) -> Variable | None:
        facts = self.facts(source)
        if facts is None or source in seen:
            return None
        if facts.bound(0, name):
            return Variable(source, 0, name)
        for entry in facts.stars:
            inner = self.modules.imported(entry.level, entry.module, source)
            other = self.facts(inner) if inner is not None else None
            if inner is None or other is None or not _exports(other, name):
                continue
            if self._guarded_star(inner, name, seen | {source}) is not None:
                return Variable(source, 0, name)
        return None

    # ---------------------------------------------------------------------- across files

    def attribute(self, module: str, name: str) -> Thing | None:
        """Return what ``module.name`` is, before following imports inside the module."""
        if not module.endswith("/"):
            found = self.module_variable(module, name)
            if found is not None:
                return found
        child = self.modules.child(module, name)
        return Module(child) if child is not None else None

    def imported(self, path: str, entry: Import) -> Thing | None:
        """Return what one name of an import statement is; None: it cannot be told."""
        module = self.modules.imported(entry.level, entry.module, path)
        if not entry.name:
            if entry.asname:
                return Module(module) if module is not None else Outside(entry.module)
            top = entry.module.partition(".")[0]
            found = self.modules.absolute(top, path)
            return Module(found) if found is not None else Outside(top)
        if module is None:
            return None if entry.level else Outside(f"{entry.module}.{entry.name}")
        if module == path:
            child = self.modules.child(module, entry.name)
            return Module(child) if child is not None else None
        return self.attribute(module, entry.name)

    def link(self, path: str, binding: Binding) -> Thing | None:
        """Return what an import binding stands for, one step on."""
        facts = self.facts(path)
        assert facts is not None
        return self.imported(path, facts.imports[binding.detail])

    def meant(self, thing: Thing) -> frozenset[Thing]:
        """Return what a variable may stand for, through imports and plain aliases.

        Holds the variable itself when it is bound by anything but an import. Empty: cannot tell.
        """
        if not isinstance(thing, Variable):
            return frozenset((thing,))
        if thing not in self._meant:
            self._meant[thing] = frozenset()
            self._meant[thing] = frozenset(self._follow(thing))
        return self._meant[thing]

    def _follow(self, variable: Variable) -> Iterator[Thing]:
        facts = self.facts(variable.path)
        if facts is None:
            return
        bound = facts.bound(variable.scope, variable.name)
        if not bound:
            source = self.star(variable.path, variable.name) if variable.scope == 0 else None
            if source is not None:
                yield from self.meant(source)
            return
        own = [
            binding
            for binding in bound
            if binding.kind not in _IMPORTS and not is_placeholder(binding)
        ]
        imports = [binding for binding in bound if binding.kind in _IMPORTS]
        if own and imports and any(not b.flags & _CONDITIONAL for b in bound):
            yield variable
            return
        if own or not imports:
            yield variable
            yield from self._alias(variable, bound)
        for binding in imports:
            target = self.link(variable.path, binding)
            if target is not None:
                yield from self.meant(target)

    def _alias(self, variable: Variable, bound: Sequence[Binding]) -> Iterator[Thing]:
        if len(bound) != 1 or bound[0].hint is not Hint.ALIAS:
            return
        binding = bound[0]
        if binding.flags & (_CONDITIONAL | _LOOP):
            return
        for thing in self.dotted(variable.path, variable.scope, binding.hinted, binding.start):
            yield from self.meant(thing)

    def the(self, thing: Thing | None) -> Thing | None:
        """Return the only thing that a variable stands for, a definition before its aliases."""
        if thing is None:
            return None
        meant = self.meant(thing)
        while len(meant) > 1:
            alias = next((one for one in meant if self._is_alias(one, meant)), None)
            if alias is None:
                return None
            meant -= {alias}
        return next(iter(meant), None)

    def _is_alias(self, thing: Thing, meant: frozenset[Thing]) -> bool:
        """Whether a variable is nothing but another name for the rest."""
        if not isinstance(thing, Variable) or self.meant(thing) != meant:
            return False
        facts = self.facts(thing.path)
        bound = facts.bound(thing.scope, thing.name) if facts is not None else ()
        return len(bound) == 1 and bound[0].hint is Hint.ALIAS

    def dotted(self, path: str, scope: int, names: Sequence[str], at: int) -> list[Thing]:
        """Return what ``a.b.c`` means in a scope; empty when it cannot be told."""
        if not names:
            return []
        facts = self.facts(path)
        if self._asked or facts is None or facts.scopes[scope].kind in _IN_ORDER:
            return self._dotted(path, scope, names, at)
        key = path, scope, tuple(names)
        if key not in self._spelled:
            self._spelled[key] = self._dotted(path, scope, names, at)
        return self._spelled[key]

    def _dotted(self, path: str, scope: int, names: Sequence[str], at: int) -> list[Thing]:
        variable = self.lookup(path, scope, names[0], at)
        if variable is None:
            known = hasattr(builtins, names[0]) and not self.is_ambiguous(path, scope, names[0], at)
            start: list[Thing] = [Outside(f"builtins.{names[0]}")] if known else []
        else:
            start = [variable]
        return self.members(start, names[1:])

    def members(self, things: list[Thing], names: Sequence[str]) -> list[Thing]:
        """Follow attributes from what something may be."""
        for name in names:
            found: dict[Thing, None] = {}
            for thing in things:
                for meant in self._values(thing):
                    inner = self.member(meant, name)
                    if inner is not None:
                        found[inner] = None
            things = list(found)
        return things

    def _values(self, thing: Thing) -> tuple[Thing, ...]:
        known = self._values_of.get(thing)
        if known is not None:
            return known
        found = tuple(
            (self.instance(meant) if isinstance(meant, Variable) else None) or meant
            for meant in self.meant(thing)
        )
        if not self._asked:  # else what is being looked for may be missing from it
            self._values_of[thing] = found
        return found

    def member(self, thing: Thing, name: str) -> Thing | None:
        """Return the attribute `name` of a thing that is not an import any more."""
        match thing:
            case Module(path):
                return self.attribute(path, name)
            case Outside(outer):
                return Outside(f"{outer}.{name}")
            case Variable():
                return self.class_attribute(thing, name)
            case Instance(klass) | Derived(klass):
                return self.class_attribute(klass, name)
            case After(klass):
                return self.class_attribute(klass, name, after=True)

    def decorator(self, path: str, definition: Definition, name: Sequence[str]) -> Thing | None:
        """Return what a decorator of a definition is."""
        at = definition.decorators_at[0] if definition.decorators_at else 0
        return self.the_dotted(path, definition.holder, name, at)

    # --------------------------------------------------------------------------- classes

    def definitions(self, variable: Variable) -> list[Definition]:
        """Return the functions and classes that a variable is defined as, in order."""
        facts = self.facts(variable.path)
        if facts is None:
            return []
        return [
            facts.definitions[binding.detail]
            for binding in facts.bound(variable.scope, variable.name)
            if binding.kind in _DEFINITIONS
        ]

    def class_of(self, thing: Thing) -> Definition | None:
        """Return the class that a variable is, if it is nothing else."""
        if not isinstance(thing, Variable):
            return None
        if thing not in self._classes:
            facts = self.facts(thing.path)
            bound = facts.bound(thing.scope, thing.name) if facts is not None else ()
            is_class = len(bound) == 1 and bound[0].kind is BindingKind.CLASS
            self._classes[thing] = (
                facts.definitions[bound[0].detail] if facts is not None and is_class else None
            )
        return self._classes[thing]

    def enclosing_class(self, path: str, scope: int) -> Variable | None:
        """Return the class whose method `scope` is in, looking outwards through functions."""
        facts = self.facts(path)
        while facts is not None and scope:
            here = facts.scopes[scope]
            if here.kind is ScopeKind.CLASS:
                definition = facts.definition_of(scope)
                assert definition is not None
                return Variable(path, definition.holder, definition.name)
            scope = here.parent
        return None

    def lineage(self, klass: Variable) -> Lineage:
        """Return the class and its bases in method resolution order."""
        if klass not in self._lineages:
            self._lineages[klass] = Lineage((klass,), ("itself",))
            self._lineages[klass] = self._linearise(klass)
        return self._lineages[klass]

    def _linearise(self, klass: Variable) -> Lineage:
        definition = self.class_of(klass)
        if definition is None:
            return Lineage((klass,), (klass.name,))
        unknown: dict[str, None] = {}
        lines: list[list[Variable]] = []
        direct: list[Variable] = []
        bases: list[Variable | Outside | None] = []
        facts = self.facts(klass.path)
        assert facts is not None
        at = facts.scopes[definition.scope].start
        outer = facts.scopes[definition.scope].parent
        for names in definition.bases:
            text = ".".join(names)
            found = {
                meant
                for thing in self.dotted(klass.path, outer, names, at)
                for meant in self.meant(thing)
            }
            base = next(iter(found)) if len(found) == 1 else None
            bases.append(base if isinstance(base, Variable | Outside) else None)
            if isinstance(base, Outside):
                unknown[base.name] = None
            elif isinstance(base, Variable) and self.class_of(base) and base != klass:
                inherited = self.lineage(base)
                unknown.update(dict.fromkeys(inherited.unknown))
                lines.append(list(inherited.classes))
                direct.append(base)
            else:
                bases[-1] = None
                unknown[text] = None
        return Lineage((klass, *_merge([*lines, direct])), tuple(unknown), tuple(bases))

    def class_attribute(
        self, klass: Variable, name: str, *, after: bool = False
    ) -> Variable | None:
        """Return the attribute of a class, as the first class of its lineage binds it."""
        definition = self.class_of(klass)
        if definition is None:
            return None
        for owner in self.lineage(klass).classes[1 if after else 0 :]:
            inner = self.class_of(owner)
            facts = self.facts(owner.path)
            if inner is not None and facts is not None and facts.bound(inner.scope, name):
                return Variable(owner.path, inner.scope, name)
        return None

    def instance(self, variable: Variable) -> Instance | Derived | None:
        """Return the class whose instance a variable holds, or that it is, whenever it is known.

        None also for one that is made from itself: ``x = x.copy()``.
        """
        if variable in self._asked:
            return None
        self._asked.add(variable)
        try:
            return self._instance(variable)
        finally:
            self._asked.discard(variable)

    def _instance(self, variable: Variable) -> Instance | Derived | None:
        facts = self.facts(variable.path)
        if facts is None:
            return None
        bound = facts.bound(variable.scope, variable.name)
        own = self._self_of(facts, variable, bound)
        if own is not None:
            return own
        klass: Thing | None = None
        declared = any(binding.hint is Hint.ANNOTATED for binding in bound)
        for binding in bound:
            if binding.hint not in (Hint.CONSTRUCTED, Hint.ANNOTATED):
                if declared or is_placeholder(binding):
                    continue
                return None
            scope = variable.scope
            if binding.kind is BindingKind.PARAMETER:
                scope = facts.scopes[scope].parent
            found = {
                meant
                for thing in self.dotted(variable.path, scope, binding.hinted, binding.start)
                for meant in self.meant(thing)
            }
            if len(found) != 1 or (klass is not None and klass not in found):
                return None
            klass = next(iter(found))
        made = self.instance_of(klass)
        in_class = facts.scopes[variable.scope].kind is ScopeKind.CLASS
        if made is not None and in_class and self.class_attribute(made.klass, "__get__"):
            return None  # a descriptor: who asks for it gets something else
        return made

    def instance_of(self, thing: Thing | None) -> Instance | None:
        """Return what a call of a class makes; None: it is no class."""
        if not isinstance(thing, Variable):
            return None
        if self.class_of(thing) is not None:
            return Instance(thing)
        value = self.instance(thing)
        return Instance(value.klass) if isinstance(value, Derived) else None

    def _self_of(
        self, facts: Facts, variable: Variable, bound: Sequence[Binding]
    ) -> Instance | Derived | None:
        """Return the class for ``self`` or ``cls``: a method's first parameter, never rebound."""
        if len(bound) != 1 or bound[0].kind is not BindingKind.PARAMETER:
            return None
        function = facts.definition_of(variable.scope)
        if function is None or not function.parameters:
            return None
        holder = facts.scopes[function.holder]
        if holder.kind is not ScopeKind.CLASS or ("staticmethod",) in function.decorators:
            return None
        if function.parameters[0].name != variable.name or function.parameters[0].kind > 1:
            return None
        definition = facts.definition_of(function.holder)
        assert definition is not None
        klass = Variable(variable.path, definition.holder, definition.name)
        if function.name in _OF_CLASS or ("classmethod",) in function.decorators:
            return Derived(klass)
        return Instance(klass)

    # ------------------------------------------------------------------------------ uses

    def use(self, path: str, use: Use, position: int) -> list[Thing]:
        """Return what the name at `position` of a use's chain may be, one step before imports.

        Empty when it cannot be told.
        """
        names = use.names
        if names[0]:
            return self.dotted(path, use.scope, names[: position + 1], max(use.starts[0], 0))
        root = self._root(path, use)
        return self.members([root], names[1 : position + 1]) if root is not None else []

    def receivers(self, path: str, use: Use, position: int) -> frozenset[Thing]:
        """Return what the attribute at `position` of a use may be taken from; empty: unknown."""
        if position == 1 and not use.names[0]:
            root = self._root(path, use)
            return frozenset((root,)) if root is not None else frozenset()
        things = self.use(path, use, position - 1)
        return frozenset(value for thing in things for value in self._values(thing))

    def _root(self, path: str, use: Use) -> Thing | None:
        """Return what a chain hangs on when that is a call: ``super()`` or ``C()``."""
        if not use.base:
            return None
        at = max((start for start in use.starts if start >= 0), default=0)
        if use.base[0] == SUPER:
            after = self.the_dotted(path, use.scope, use.base[1:], at)
            return After(after) if isinstance(after, Variable) and self.class_of(after) else None
        if use.base == ("super",) and self.lookup(path, use.scope, "super", at) is None:
            klass = self.enclosing_class(path, use.scope)
            return After(klass) if klass is not None else None
        only = self.the_dotted(path, use.scope, use.base, at)
        return self.instance_of(only) or (only if isinstance(only, Outside) else None)

    def the_dotted(self, path: str, scope: int, names: Sequence[str], at: int) -> Thing | None:
        """Return the only thing that ``a.b.c`` means in a scope, through imports."""
        found = {
            meant for thing in self.dotted(path, scope, names, at) for meant in self.meant(thing)
        }
        return next(iter(found)) if len(found) == 1 else None

    def spellings(self, target: Variable) -> dict[str, list[str]]:
        """Return every name under which a definition may be reached, with the files to look in."""
        found: dict[str, list[str]] = {}
        todo = [target.name]
        while todo:
            name = todo.pop()
            if name in found:
                continue
            paths = self.index.mentioning(name)
            found[name] = paths
            self.index.load(paths)
            for path in paths:
                todo.extend(self._renamings(path, name, target))
        return found

    def _renamings(self, path: str, name: str, target: Variable) -> Iterator[str]:
        """Yield the other names that a file gives to `target`, known to it as `name`."""
        facts = self.facts(path)
        if facts is None:
            return
        for entry in facts.imports_of(name):
            if entry.asname not in ("", name):
                thing = self.imported(path, entry)
                if thing is not None and target in self.meant(thing):
                    yield entry.asname
        for binding in facts.aliases_of(name):
            if binding.name != name:
                variable = Variable(path, binding.scope, binding.name)
                if target in self.meant(variable):
                    yield binding.name


def _in_class_body(bound: Iterable[Binding], scope: int, at: int) -> int | None:
    """Tell whether code of a class body at `at` sees a name of that body (else the module's)."""
    later = True
    for binding in bound:
        if binding.since <= at and not binding.flags & _CONDITIONAL:
            return scope
        if binding.since <= at or binding.flags & _LOOP:
            later = False
    return 0 if later else None


def _exports(facts: Facts, name: str) -> bool:
    """Whether ``from module import *`` brings `name`, if the module has it."""
    if facts.exports is None:
        return not name.startswith("_")
    return facts.exports_open or any(entry.value == name for entry in facts.exports)


def is_placeholder(binding: Binding) -> bool:
    """Whether a binding only stands in when an import is not there: ``except …: f = None``."""
    if binding.kind is BindingKind.DELETE:
        return True
    return bool(binding.flags & _NONE and binding.flags & _CONDITIONAL)


def _merge(lines: list[list[Variable]]) -> Iterator[Variable]:
    """Merge lineages as Python does (C3); where that is impossible, in the order given."""
    lines = [line for line in lines if line]
    while lines:
        head = next(
            (line[0] for line in lines if not any(line[0] in other[1:] for other in lines)),
            lines[0][0],
        )
        yield head
        lines = [[item for item in line if item != head] for line in lines]
        lines = [line for line in lines if line]
