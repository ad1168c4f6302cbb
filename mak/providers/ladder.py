"""Which way of asking for JSON an endpoint supports, and what is learned while asking it.

What it publishes counts first, else a saved probe, else its profile; where nothing is known every
way is tried, strictest first. An endpoint that refuses a format, or ignores it, is asked one rung
lower from then on, by every caller, until the lesson is too old.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mak.providers.endpoints import Endpoint
from mak.providers.learned import Learned
from mak.providers.request import Encoding, Published, Rung

#: Answers in a row on one rung that were not of the shape, before it counts as ignored.
IGNORED_AFTER = 2
#: More than any model answers.
_ENDLESS = 1_000_000

#: Rungs on which the endpoint itself holds the answer to the schema.
_HELD = frozenset({Rung.JSON_SCHEMA, Rung.TOOL, Rung.JSON_OBJECT_SCHEMA})


def known_rungs(
    rungs: Sequence[Rung], endpoint: Endpoint | None, published: Published | None
) -> tuple[tuple[Rung, ...], bool]:
    """Return what endpoint or profile say, strictest first, and whether the endpoint said it."""
    if endpoint is not None and endpoint.encoding is Encoding.ENVELOPE:
        return (Rung.PROMPT,), True
    if published is not None and published.schema is not None:
        if published.schema:
            return tuple(rungs), True
        return tuple(rung for rung in rungs if rung not in _HELD), True
    profile = endpoint.rungs if endpoint is not None else ()
    return tuple(rung for rung in rungs if rung in profile) or tuple(rungs), False


class Ladder:
    """The rungs of one model at one endpoint, strictest first; the last one always stays."""

    def __init__(
        self,
        rungs: Sequence[Rung],
        *,
        is_published: bool = False,
        learned: Learned | None = None,
        about: tuple[str, str] = ("", ""),
    ) -> None:
        self._rungs = tuple(rungs)
        self._is_published = is_published
        self._learned = learned or Learned()
        self._about = about
        self._shapeless: dict[Rung, int] = {}

    @property
    def rungs(self) -> tuple[Rung, ...]:
        """The rungs that are not known to fail."""
        lessons = self._learned.about(*self._about)
        refused = {rung for rung, at in lessons.refused.items() if self._learned.holds(at)}
        left = tuple(rung for rung in self._rungs if rung not in refused) or self._rungs[-1:]
        works = [rung for rung in left if self._learned.holds(lessons.works.get(rung, 0.0))]
        if works and not self._is_published:
            return left[left.index(works[0]) :]
        return left

    @property
    def rung(self) -> Rung:
        """The strictest rung that is not known to fail."""
        return self.rungs[0]

    @property
    def room(self) -> int:
        """Tokens that the endpoint is known to accept at most for an answer."""
        known = self._learned.about(*self._about).room
        return known[0] if known and self._learned.holds(known[1]) else _ENDLESS

    @room.setter
    def room(self, tokens: int) -> None:
        self._learned.about(*self._about).room = (tokens, self._learned.clock())
        self._learned.keep()

    def unsupported(self, rung: Rung) -> bool:
        """Note that the endpoint refuses `rung`; return whether there is another one."""
        rungs = self.rungs
        if rung in rungs and len(rungs) > 1:
            lessons = self._learned.about(*self._about)
            lessons.refused[rung] = self._learned.clock()
            lessons.works.pop(rung, None)
            self._learned.keep()
        return self.rung is not rung

    def works(self, rung: Rung) -> None:
        """Note that a probe on `rung` got an answer of the shape it asked for."""
        lessons = self._learned.about(*self._about)
        lessons.works[rung] = self._learned.clock()
        lessons.refused.pop(rung, None)
        self._learned.keep()

    def shapeless(self, rung: Rung) -> None:
        """Note that an answer on `rung` was not of the shape that was asked for."""
        self._shapeless[rung] = self._shapeless.get(rung, 0) + 1
        if self._shapeless[rung] >= IGNORED_AFTER:
            self.unsupported(rung)

    def shaped(self, rung: Rung) -> None:
        """Note that an answer on `rung` was of the shape that was asked for."""
        self._shapeless.pop(rung, None)


_ladders: dict[tuple[str, str, Learned, tuple[Rung, ...]], Ladder] = {}


def ladder(
    endpoint: str,
    model: str,
    rungs: Sequence[Rung],
    learned: Learned,
    *,
    profile: Endpoint | None = None,
    published: Published | None = None,
) -> Ladder:
    """Return what this process shares about a model at an endpoint."""
    known, is_published = known_rungs(rungs, profile, published)
    made = Ladder(known, is_published=is_published, learned=learned, about=(endpoint, model))
    return _ladders.setdefault((endpoint, model, learned, known), made)


def strict(schema: Any) -> Any:
    """Return a copy of `schema` as strict modes want it: all required, nothing else allowed."""
    if isinstance(schema, Mapping):
        copy = {key: strict(value) for key, value in schema.items()}
        if copy.get("type") == "object" and isinstance(copy.get("properties"), dict):
            copy["required"] = list(copy["properties"])
            copy["additionalProperties"] = False
        return copy
    return [strict(item) for item in schema] if isinstance(schema, list | tuple) else schema
