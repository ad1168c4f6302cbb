"""The constructor that fields of a class stand for: dataclasses, named tuples, attrs, pydantic.

The rules are those of `dataclasses` (Python 3.11), `typing.NamedTuple`, attrs 25 and pydantic 2.
Anything that the source does not spell out (aliases, options that are no literals, generators of
names) makes the constructor unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from mak.source.facts import Definition, Facts, Field
from mak.source.resolve import Names, Outside, Variable
from mak.source.signature import Parameters


class Flavour(Enum):
    """Who makes the constructor of a class."""

    PLAIN = auto()
    DATACLASS = auto()
    ATTRS = auto()
    #: ``attr.s``: only what is ``attr.ib()`` is a field, and an own ``__init__`` is replaced.
    ATTRS_OLD = auto()
    NAMED_TUPLE = auto()
    PYDANTIC = auto()


_FLAVOURS = {
    "dataclasses.dataclass": Flavour.DATACLASS,
    "pydantic.dataclasses.dataclass": Flavour.DATACLASS,
    **dict.fromkeys(
        ("attr.define", "attr.frozen", "attr.mutable", "attrs.define", "attrs.frozen"),
        Flavour.ATTRS,
    ),
    "attrs.mutable": Flavour.ATTRS,
    **dict.fromkeys(("attr.s", "attr.attrs", "attr.dataclass"), Flavour.ATTRS_OLD),
}
#: Class decorators that leave the constructor alone.
_KEEPING = frozenset(
    (
        "enum.unique",
        "functools.total_ordering",
        "typing.final",
        "typing.runtime_checkable",
        "typing_extensions.final",
        "typing_extensions.runtime_checkable",
        "warnings.deprecated",
        "typing_extensions.deprecated",
    )
)
_BASES = {
    "typing.NamedTuple": Flavour.NAMED_TUPLE,
    "typing_extensions.NamedTuple": Flavour.NAMED_TUPLE,
    "pydantic.BaseModel": Flavour.PYDANTIC,
    "pydantic.main.BaseModel": Flavour.PYDANTIC,
}
_FIELD_CALLS = {
    Flavour.DATACLASS: ("dataclasses.field",),
    Flavour.ATTRS: ("attr.ib", "attr.attrib", "attr.field", "attrs.field"),
    Flavour.ATTRS_OLD: ("attr.ib", "attr.attrib", "attr.field", "attrs.field"),
    Flavour.PYDANTIC: ("pydantic.Field", "pydantic.fields.Field"),
}
#: Decorators of methods by which a pydantic model takes other input than its fields say.
_REWRITING = ("model_validator", "root_validator")
_GENERIC = ("abc.ABC", "builtins.object", "typing.Generic", "typing_extensions.Generic")


@dataclass(slots=True)
class _Entry:
    name: str
    default: bool
    keyword: bool
    #: Whether the constructor takes it.
    taken: bool


class _Unknown(Exception):
    """What a class is made with is not known."""


def flavour_of(names: Names, klass: Variable, definition: Definition) -> Flavour | None:
    """Return who makes the constructor; None: a decorator is not known."""
    flavour = Flavour.PLAIN
    for name in definition.decorators:
        thing = names.decorator(klass.path, definition, name)
        if not isinstance(thing, Outside):
            return None
        if thing.name in _FLAVOURS:
            flavour = _FLAVOURS[thing.name]
        elif thing.name not in _KEEPING:
            return None
    if flavour is not Flavour.PLAIN:
        return flavour
    for base in names.lineage(klass).bases:
        if isinstance(base, Outside) and base.name in _BASES:
            return _BASES[base.name]
        if isinstance(base, Variable) and _inherits_model(names, base):
            return Flavour.PYDANTIC
    return flavour


def _inherits_model(names: Names, klass: Variable) -> bool:
    return any(_BASES.get(base) is Flavour.PYDANTIC for base in names.lineage(klass).unknown)


def declared(names: Names, klass: Variable, owner: Variable) -> Parameters | None:
    """Return the parameters that the fields of `owner` and of its bases stand for.

    `klass` is the class that is called: what stands before `owner` in its lineage has no say. None:
    not known.
    """
    definition = names.class_of(owner)
    flavour = flavour_of(names, owner, definition) if definition is not None else None
    lineage = names.lineage(owner)
    if flavour is None or any(not _is_known(base, flavour) for base in lineage.unknown):
        return None
    if not {*names.lineage(klass).unknown} <= {*lineage.unknown, *_GENERIC}:
        return None
    entries: dict[str, _Entry] = {}
    try:
        for one in reversed(lineage.classes):
            inner = names.class_of(one)
            assert inner is not None
            kind = flavour_of(names, one, inner)
            if kind is Flavour.PLAIN:
                continue
            if kind is not flavour and {kind, flavour} != {Flavour.ATTRS, Flavour.ATTRS_OLD}:
                return None
            entries |= {entry.name: entry for entry in _entries(names, one, inner, flavour)}
    except _Unknown:
        return None
    return _parameters([entry for entry in entries.values() if entry.taken], flavour)


def _is_known(base: str, flavour: Flavour) -> bool:
    return base in _GENERIC or _BASES.get(base) is flavour


def _parameters(entries: list[_Entry], flavour: Flavour) -> Parameters:
    is_model = flavour is Flavour.PYDANTIC
    return Parameters(
        positional=tuple(e.name for e in entries if not (e.keyword or is_model)),
        keyword_only=tuple(e.name for e in entries if e.keyword or is_model),
        optional=frozenset(e.name for e in entries if e.default),
        any_keyword=is_model,
    )


def _entries(
    names: Names, klass: Variable, definition: Definition, flavour: Flavour
) -> Iterator[_Entry]:
    facts = names.facts(klass.path)
    assert facts is not None
    options = _class_options(names, klass, definition)
    if options.get("init", True) is not True or "these" in options or "**" in options:
        raise _Unknown
    keyword = options.get("kw_only", False)
    if not isinstance(keyword, bool):
        raise _Unknown
    if flavour is Flavour.PYDANTIC:
        _refuse_rewriting(facts, definition)
    fields = [*facts.fields_of(definition.scope)]
    defaulted = _defaulted(facts, definition)
    wants_annotation = _wants_annotation(names, klass, flavour, fields, options)
    for field in fields:
        calls = _is_field_call(names, klass, field, flavour)
        if _outer(field) == "KW_ONLY":
            keyword = True
            continue
        if not (field.annotation if wants_annotation else calls):
            continue
        if _outer(field) == "ClassVar" or (
            flavour is Flavour.PYDANTIC and field.name.startswith(("_", "model_config"))
        ):
            continue
        yield _entry(field, calls, flavour, keyword, field.name in defaulted)


def _entry(field: Field, calls: bool, flavour: Flavour, keyword: bool, defaulted: bool) -> _Entry:
    given = dict(field.options) if calls else {}
    if "**" in given or "alias" in given or "validation_alias" in given:
        raise _Unknown
    own = given.get("kw_only", keyword)
    taken = given.get("init", True)
    if not isinstance(own, bool) or not isinstance(taken, bool):
        raise _Unknown
    default = field.value is not None
    if calls:
        names = ("default", "default_factory", "factory")
        default = defaulted or any(name in given for name in names) or field.positional > 0
    if flavour is Flavour.PYDANTIC:
        default = default or field.optional
    is_attrs = flavour in (Flavour.ATTRS, Flavour.ATTRS_OLD)
    name = field.name.lstrip("_") if is_attrs else field.name
    return _Entry(name, default, own, taken)


def _class_options(
    names: Names, klass: Variable, definition: Definition
) -> dict[str, bool | str | None]:
    found: dict[str, bool | str | None] = {}
    for name, options in zip(definition.decorators, definition.options, strict=True):
        thing = names.decorator(klass.path, definition, name)
        if isinstance(thing, Outside) and thing.name in _FLAVOURS and options:
            found.update(options)
        if thing == Outside("attr.dataclass"):
            found.setdefault("auto_attribs", True)
    return found


def _wants_annotation(
    names: Names,
    klass: Variable,
    flavour: Flavour,
    fields: list[Field],
    options: dict[str, bool | str | None],
) -> bool:
    if flavour not in (Flavour.ATTRS, Flavour.ATTRS_OLD):
        return True
    automatic = options.get("auto_attribs", None if flavour is Flavour.ATTRS else False)
    if isinstance(automatic, bool):
        return automatic
    if automatic is not None:
        raise _Unknown
    bare = [f for f in fields if not f.annotation]
    return not any(_is_field_call(names, klass, field, flavour) for field in bare)


def _is_field_call(names: Names, klass: Variable, field: Field, flavour: Flavour) -> bool:
    if field.value is None or flavour not in _FIELD_CALLS or field.value == ("?",):
        return False
    thing = names.the_dotted(klass.path, field.scope, field.value, field.start)
    if isinstance(thing, Outside):
        return thing.name in _FIELD_CALLS[flavour]
    if names.instance_of(thing) is not None:
        return False
    raise _Unknown  # a function of the repository may make a field


def _outer(field: Field) -> str:
    return field.annotation[-1] if field.annotation else ""


def _defaulted(facts: Facts, definition: Definition) -> set[str]:
    """Return the fields that a method decorated with ``@x.default`` gives a default."""
    return {
        name[0]
        for inner in facts.definitions
        if inner.holder == definition.scope
        for name in inner.decorators
        if len(name) == 2 and name[1] == "default"
    }


def _refuse_rewriting(facts: Facts, definition: Definition) -> None:
    """Raise when a model changes what it takes: aliases of its configuration, validators before."""
    if facts.bound(definition.scope, "Config") or facts.bound(definition.scope, "model_config"):
        raise _Unknown
    for inner in facts.definitions:
        if inner.holder == definition.scope and any(
            name[-1] in _REWRITING for name in inner.decorators
        ):
            raise _Unknown
