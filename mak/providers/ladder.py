"""Which way of asking for JSON an endpoint supports, learned while asking it.

An endpoint that refuses a format, or ignores it, is asked one rung lower from then on. What was
learned holds for every caller in this process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mak.providers.request import Rung

#: Answers in a row on one rung that were not of the shape, before it counts as ignored.
IGNORED_AFTER = 2


class Ladder:
    """The rungs of one model at one endpoint, strictest first; the last one always stays."""

    def __init__(self, rungs: Sequence[Rung]) -> None:
        self._rungs = list(rungs)
        self._shapeless: dict[Rung, int] = {}
        #: Tokens that the endpoint is known to accept at most for an answer.
        self.room: int = 1_000_000

    @property
    def rung(self) -> Rung:
        """The strictest rung that is not known to fail."""
        return self._rungs[0]

    def unsupported(self, rung: Rung) -> bool:
        """Note that the endpoint refuses `rung`; return whether there is another one."""
        if rung in self._rungs and len(self._rungs) > 1:
            self._rungs.remove(rung)
        return self.rung is not rung

    def shapeless(self, rung: Rung) -> None:
        """Note that an answer on `rung` was not of the shape that was asked for."""
        self._shapeless[rung] = self._shapeless.get(rung, 0) + 1
        if self._shapeless[rung] >= IGNORED_AFTER:
            self.unsupported(rung)

    def shaped(self, rung: Rung) -> None:
        """Note that an answer on `rung` was of the shape that was asked for."""
        self._shapeless.pop(rung, None)


_ladders: dict[tuple[str, str], Ladder] = {}


def ladder(endpoint: str, model: str, rungs: Sequence[Rung]) -> Ladder:
    """Return what this process knows about a model at an endpoint."""
    return _ladders.setdefault((endpoint, model), Ladder(rungs))


def strict(schema: Any) -> Any:
    """Return a copy of `schema` as strict modes want it: all required, nothing else allowed."""
    if isinstance(schema, Mapping):
        copy = {key: strict(value) for key, value in schema.items()}
        if copy.get("type") == "object" and isinstance(copy.get("properties"), dict):
            copy["required"] = list(copy["properties"])
            copy["additionalProperties"] = False
        return copy
    return [strict(item) for item in schema] if isinstance(schema, list | tuple) else schema
