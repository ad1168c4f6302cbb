"""What a module or a class surely has, surely lacks, or may get while the program runs."""

from __future__ import annotations

from enum import StrEnum

from mak.source.facts import Context, Definition
from mak.source.graph.construct import HARMLESS
from mak.source.graph.fields import flavour_of
from mak.source.resolve import Module, Names, Variable


class Has(StrEnum):
    """Whether something has an attribute."""

    YES = "yes"
    NO = "no"
    #: It cannot be told.
    MAYBE = "maybe"


_FROM_OBJECT = frozenset((*dir(type), *dir(object), "__dict__", "__annotations__", "register"))


def has(names: Names, owner: Module | Variable, name: str) -> Has:
    """Tell whether a module (also: submodules that it could import) or a class has an attribute."""
    if isinstance(owner, Module):
        return _module_has(names, owner.path, name)
    return _class_has(names, owner, name)


def _module_has(names: Names, path: str, name: str) -> Has:
    if names.attribute(path, name) is not None or _is_submodule(names, path, name):
        return Has.YES
    if name.startswith("__") or not path.endswith(".py") or names.facts(path) is None:
        return Has.MAYBE
    if is_open(names, path) or _is_put_into_module(names, name):
        return Has.MAYBE
    if path.endswith("/__init__.py") or path == "__init__.py":
        inside = f"{path.removesuffix('__init__.py')}{name}."
        folder = f"{inside.removesuffix('.')}/"
        if any(other.startswith((inside, folder)) for other in names.sources.paths):
            return Has.MAYBE  # an extension, a folder, or a module that is made by the build
    if _brings_submodule(names, path, name, {path}):
        return Has.MAYBE
    return Has.NO


def _brings_submodule(names: Names, path: str, name: str, seen: set[str]) -> bool:
    """Whether a star import may bring a submodule of a package, which is one of its names."""
    facts = names.facts(path)
    for entry in facts.stars if facts is not None else ():
        source = names.modules.imported(entry.level, entry.module, path)
        if source is None or source in seen:
            continue
        seen.add(source)
        other = names.facts(source)
        if other is not None and other.exports is None and _is_submodule(names, source, name):
            return True
        if _brings_submodule(names, source, name, seen):
            return True
    return False


def _is_submodule(names: Names, path: str, name: str) -> bool:
    if path.rpartition("/")[2] not in ("__init__.py", "__init__.pyi"):
        return False
    found = names.modules.imported(1, name, path)
    return found is not None and not found.endswith("/")


def is_open(names: Names, path: str) -> bool:
    """Whether a module may get names, or other ones, while it runs."""
    memo = names.memo("open")
    if path not in memo:
        memo[path] = True  # while it is being looked at: modules may import each other's names
        memo[path] = _is_open(names, path)
    return bool(memo[path])


def _is_open(names: Names, path: str) -> bool:
    facts = names.facts(path)
    if facts is None or facts.bound(0, "__getattr__"):
        return True
    data = names.sources.data(path)
    for _, at in facts.dynamic:
        if not data.startswith((b"locals", b"eval"), at):
            return True
    for entry in facts.stars:
        source = names.modules.imported(entry.level, entry.module, path)
        if source is None or is_open(names, source):
            return True
    for use in facts.uses("modules"):
        if use.names[:2] == ("sys", "modules"):
            return True
    return any(
        use.names[-1] in ("global_enum", "_convert_", "simple_enum")
        for name in ("global_enum", "_convert_", "simple_enum")
        for use in facts.uses(name)
    )


def _is_put_into_module(names: Names, name: str) -> bool:
    """Whether anything may assign to an attribute of this name of a module."""
    memo = names.memo("put into modules")
    if name not in memo:
        memo[name] = any(_may_put(names, path, name) for path in names.index.mentioning(name))
    return bool(memo[name])


def _may_put(names: Names, path: str, name: str) -> bool:
    facts = names.facts(path)
    if facts is None:
        return False
    if any(text.value == name and text.dynamic for text in facts.texts):
        return b"setattr" in names.sources.data(path)
    for use in facts.uses(name):
        last = len(use.names) - 1
        if not last or use.names[last] != name or use.context is not Context.STORE:
            continue
        owners = names.receivers(path, use, last)
        if any(isinstance(owner, Module) for owner in owners):
            return True
        if not owners and use.names[0] not in ("self", "cls"):
            return True
    return False


def is_stored(names: Names, name: str) -> bool:
    """Whether anything assigns to an attribute of this name, or may by a string."""
    for path in names.index.mentioning(name):
        facts = names.facts(path)
        if facts is None:
            continue
        if any(text.value == name and text.dynamic for text in facts.texts):
            return True
        for use in facts.uses(name):
            if len(use.names) > 1 and use.names[-1] == name and use.context is Context.STORE:
                return True
    return False


def _class_has(names: Names, klass: Variable, name: str) -> Has:
    definition = names.class_of(klass)
    if definition is None:
        return Has.MAYBE
    if names.class_attribute(klass, name) is not None or name in _FROM_OBJECT:
        return Has.YES
    lineage = names.lineage(klass)
    if name.startswith("__") or any(base not in HARMLESS for base in lineage.unknown):
        return Has.MAYBE
    for owner in lineage.classes:
        inner = names.class_of(owner)
        if inner is None or _is_special(names, owner, inner):
            return Has.MAYBE
    return Has.MAYBE if is_stored(names, name) else Has.NO


def _is_special(names: Names, klass: Variable, definition: Definition) -> bool:
    """Whether a class may get attributes in ways that its body does not show."""
    facts = names.facts(klass.path)
    if facts is None or definition.keywords or flavour_of(names, klass, definition) is None:
        return True
    if any(definition.scope == scope for scope, _ in facts.dynamic):
        return True
    makers = ("__init_subclass__", "__getattr__", "__slots__")
    if any(facts.bound(definition.scope, maker) for maker in makers):
        return True
    return b"setattr(" in names.sources.data(klass.path)
