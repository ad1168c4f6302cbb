from __future__ import annotations

import ast
import dataclasses
import itertools
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from mak.source.signature import Arguments, Parameters, parameters_of

NAMES = "abcd"
#: Enough to tell any two of the signatures below apart: more positional arguments than any takes,
#: and a keyword that none of them names.
CALLS = [
    (count, keywords)
    for count in range(len(NAMES) + 2)
    for size in range(len(NAMES) + 2)
    for keywords in itertools.combinations(NAMES + "z", size)
]


@st.composite
def headers(draw: st.DrawFn) -> str:
    """Parameter lists that compile, of every kind of parameter."""
    names = draw(st.permutations(NAMES))[: draw(st.integers(0, len(NAMES)))]
    cuts = sorted(draw(st.tuples(*[st.integers(0, len(names))] * 2)))
    first_default = draw(st.integers(0, cuts[1]))
    parts = []
    for i, name in enumerate(names[: cuts[1]]):
        parts.append(f"{name}=0" if i >= first_default else name)
        if i + 1 == cuts[0]:
            parts.append("/")
    many = draw(st.booleans())
    keyword_only = names[cuts[1] :]
    if many:
        parts.append("*args")
    elif keyword_only:
        parts.append("*")
    parts += [f"{name}=0" if draw(st.booleans()) else name for name in keyword_only]
    if draw(st.booleans()):
        parts.append("**kwargs")
    return ", ".join(parts)


def read(header: str) -> Parameters:
    function = ast.parse(f"def f({header}): pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    return parameters_of(function.args)


def bind(header: str, count: int, keywords: tuple[str, ...]) -> dict[str, object] | None:
    """What Python itself makes of the call: which parameter got which argument.

    `inspect.Signature.bind` is no judge: up to Python 3.12 it refuses ``f(a=1)`` for
    ``def f(a=0, /, **kwargs)``.
    """
    namespace: dict[str, Callable[..., dict[str, object]]] = {}
    exec(f"def f({header}): return locals()", namespace)
    try:
        return namespace["f"](*(f"#{i}" for i in range(count)), **{name: name for name in keywords})
    except TypeError:
        return None


@given(headers())
def test_a_call_fits_exactly_when_python_binds_it(header: str) -> None:
    parameters = read(header)
    for count, keywords in CALLS:
        assert parameters.accepts(count, keywords) == (bind(header, count, keywords) is not None)


@given(headers(), headers())
def test_accepts_all_exactly_when_no_call_is_lost(old: str, new: str) -> None:
    before, after = read(old), read(new)
    lost = [c for c in CALLS if before.accepts(*c) and not after.accepts(*c)]
    assert after.accepts_all(before) == (not lost)


@given(headers(), headers())
def test_a_replacement_never_moves_an_argument_to_another_parameter(old: str, new: str) -> None:
    if not read(new).replaces(read(old)):
        return
    for count, keywords in CALLS:
        before = bind(old, count, keywords)
        if before is None:
            continue
        after = bind(new, count, keywords)
        assert after is not None
        for name in {*NAMES} & {*before} & {*after}:
            assert before[name] in (0, after[name])


@given(headers(), headers(), st.sampled_from(CALLS))
def test_a_call_that_keeps_its_meaning_reaches_the_same_parameters(
    old: str, new: str, call: tuple[int, tuple[str, ...]]
) -> None:
    before = bind(old, *call)
    if before is None or not read(new).keeps(Arguments(*call), read(old)):
        return
    after = bind(new, *call)
    assert after is not None
    for name in {*NAMES} & {*before} & {*after}:
        assert before[name] in (0, after[name])


@given(headers(), headers(), st.sampled_from(CALLS), st.booleans(), st.booleans())
def test_no_call_loses_its_meaning_to_a_replacement(
    old: str, new: str, call: tuple[int, tuple[str, ...]], many: bool, more: bool
) -> None:
    if read(new).replaces(read(old)):
        assert read(new).keeps(Arguments(*call, many, more), read(old))


def test_arguments_that_are_not_known_are_taken_for_what_the_old_signature_took() -> None:
    spread = Arguments(more_keywords=True)
    assert read("a=0, new=0, b=0").keeps(spread, read("a=0, b=0"))
    assert read("a=0").keeps(spread, read("a=0, b=0"))
    assert not read("a, new, b=0").keeps(spread, read("a, b=0"))
    assert read("a, new, b=0").keeps(Arguments(1, ("new",), more_keywords=True), read("a, **kw"))
    assert read("a, b, c=0").keeps(Arguments(more_positional=True), read("a, b"))
    assert not read("a, b, c").keeps(Arguments(more_positional=True), read("a, b"))
    assert not read("b, a").keeps(Arguments(1, more_positional=True), read("a, b"))


@given(headers())
def test_every_signature_replaces_itself(header: str) -> None:
    assert read(header).replaces(read(header))


@given(headers())
def test_a_new_optional_keyword_only_parameter_replaces(header: str) -> None:
    before = read(header)
    after = dataclasses.replace(
        before,
        keyword_only=(*before.keyword_only, "new"),
        optional=before.optional | {"new"},
    )
    assert after.replaces(before)


def test_swapped_parameters_do_not_replace() -> None:
    assert not read("b, a").replaces(read("a, b"))
    assert not read("b, a, /").replaces(read("a, b, /"))


def test_a_default_in_the_middle_does_not_replace() -> None:
    assert read("a, new=0, b=0").accepts_all(read("a, b=0"))
    assert not read("a, new=0, b=0").replaces(read("a, b=0"))


def test_a_positional_only_parameter_may_change_its_name() -> None:
    assert read("value, /").replaces(read("v, /"))
    assert not read("value").replaces(read("v"))


def test_a_parameter_that_eats_from_star_args_does_not_replace() -> None:
    assert not read("a, b=0, *args").replaces(read("a, *args"))
