"""A class is made without a field that it requires, or with one that it does not have.

The fields of dataclasses, named tuples, attrs classes and pydantic models are their constructor.
"""

from __future__ import annotations

from collections.abc import Iterator

from mak.checks.call import misfits, shown, why
from mak.checks.change import tree_check
from mak.checks.view import THERE, Problem, View
from mak.source.names import qualified_name


def _problems(view: View, path: str) -> Iterator[Problem]:
    for site, maker in misfits(view, path):
        if site.constructs and maker == site.target:
            yield Problem(
                path,
                site.start,
                f"makes {qualified_name(view.names, maker)} ({THERE}) {why(site)}",
                view.definition(maker),
                shown(view, maker),
            )


CHECK = tree_check("missing-field", "a class is made without a field it requires", _problems)
