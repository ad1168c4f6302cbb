"""What to know about a model, shown wherever it is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mak.providers import Setup, Spec


def caveats_of(spec: Spec, setup: Setup) -> tuple[str, ...]:
    """Return what to know before the model of a spec is chosen."""
    from mak.cli import person
    from mak.providers.access import located
    from mak.providers.advice import caveats

    if spec.endpoint is None:
        return ()
    known = person.catalog().find(located(spec.endpoint, setup), spec.rest)
    return caveats(spec.rest, known)


def said(specs: Iterable[str], setup: Setup) -> Iterator[str]:
    """Yield a line for each thing to know about models that are about to be used."""
    from mak.providers import parse

    for text in dict.fromkeys(specs):
        spec = parse(text, setup)
        for caveat in caveats_of(spec, setup):
            yield f"{spec.label}: {caveat}"
