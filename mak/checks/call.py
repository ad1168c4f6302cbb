"""A call does not fit what it calls: arguments that are missing, too many, unknown or there twice.

Only calls whose callee is proved are judged, and not those that are meant to fail. What a class
declares as fields is judged by `mak.checks.missing_field`.
"""

from __future__ import annotations

from collections.abc import Iterator

from mak.checks.change import tree_check
from mak.checks.view import THERE, Problem, View
from mak.source.graph import CallSite
from mak.source.names import qualified_name
from mak.source.resolve import Variable
from mak.source.signature import Arguments, Parameters


def misfits(view: View, path: str) -> tuple[tuple[CallSite, Variable], ...]:
    """Return the calls of a file that surely fail, with the function that says so.

    The function is the class itself where its fields make the constructor.
    """
    if path not in view.misfits:
        view.misfits[path] = tuple(
            (site, maker)
            for site in view.graph.calls(path)
            if not site.fits and site.start >= 0 and view.graph.is_certain(site)
            for maker in [_maker(view, site)]
            if not maker.path.endswith(".pyi")  # a stub may be behind what it describes
        )
    return view.misfits[path]


def _maker(view: View, site: CallSite) -> Variable:
    """Return the method of the class that takes the arguments of a call of the class."""
    if not site.constructs:
        return site.target
    names = view.names
    found = [names.class_attribute(site.target, name) for name in ("__init__", "__new__")]
    return next((method for method in found if method is not None), site.target)


def why(site: CallSite) -> str:
    """Say in what way a call does not fit, with what to do about it."""
    if len(site.signatures) > 1:
        return "in a way that fits none of its signatures; pass what one of them takes"
    arguments, parameters = site.arguments, site.signatures[0]
    places = parameters.ordered
    if arguments.count > len(places) and not parameters.many:
        takes = f"{len(places)} positional argument{'' if len(places) == 1 else 's'}"
        return (
            f"with {arguments.count} positional arguments, and it takes {takes}; drop what is "
            + ("too much, or let it take more")
        )
    twice = parameters.positional[: _named(parameters, arguments)]
    if both := [name for name in arguments.keywords if name in twice]:
        return f"with {_list(both)} both by place and by name; pass it once"
    if not parameters.any_keyword:
        known = {*parameters.positional, *parameters.keyword_only}
        if unknown := [name for name in arguments.keywords if name not in known]:
            return (
                f"with {_list(unknown)}, which it does not take; use a parameter that is there, or "
                "add one"
            )
    missing = _missing(parameters, arguments)
    return f"without {_list(missing)}, which it requires; pass {_it(missing)}, or give it a default"


def _named(parameters: Parameters, arguments: Arguments) -> int:
    return max(0, arguments.count - len(parameters.positional_only))


def _missing(parameters: Parameters, arguments: Arguments) -> list[str]:
    given = {*parameters.ordered[: arguments.count], *arguments.keywords}
    wanted = (*parameters.ordered, *parameters.keyword_only)
    return [name for name in wanted if name not in given and name not in parameters.optional]


def _list(names: list[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _it(names: list[str]) -> str:
    return "it" if len(names) == 1 else "them"


def shown(view: View, variable: Variable) -> str:
    """Return a definition as its signature says it."""
    spot = view.definition(variable)
    node = view.sources.node(view.node(spot))
    name = qualified_name(view.names, variable)
    return node.signature if node and node.names[:1] == (variable.name,) else name


def _problems(view: View, path: str) -> Iterator[Problem]:
    for site, maker in misfits(view, path):
        if site.constructs and maker == site.target:
            continue
        name = qualified_name(view.names, maker)
        yield Problem(
            path,
            site.start,
            f"calls {name} ({THERE}) {why(site)}",
            view.definition(maker),
            shown(view, maker),
        )


CHECK = tree_check("call-signature", "a call does not fit what it calls", _problems)
