"""Which models there are: what endpoints said last, over a list that comes with MAK.

A list is fetched when the 1st or the 15th has passed since the last time that this worked, and not
again within hours of a failure. An endpoint that fails keeps the list it had; a model that is gone
from a new list stays, marked as retired. Nothing depends on the file: it may be deleted.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mak.providers.endpoints import PRESETS, Endpoint
from mak.providers.prices import Counts, price
from mak.providers.request import Published

#: The file, relative to where a person's caches are.
CATALOG_FILE = Path("models.json")
#: Days of a month from which on a list is fetched anew.
DAYS = (1, 15)
#: Seconds after a failure in which nobody tries again by themselves.
COOL_DOWN = 6 * 3600.0

_VERSION = 1
RETIRED = "retired"
#: How vendors date the versions of a model; without the date, the newest one is meant.
_DATED = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2})$")


@dataclass(frozen=True, slots=True)
class Listing:
    """What is known of one endpoint's models."""

    models: tuple[Published, ...] = ()
    #: Unix seconds of the last success; 0: the list comes with MAK, or there is none.
    fetched: float = 0.0
    #: Of the last failure since; 0: there was none.
    failed: float = 0.0
    reason: str = ""


class Catalog:
    """The lists of all endpoints; `path` None: only what comes with MAK."""

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._kept = self._read()

    def listing(self, endpoint: Endpoint) -> Listing:
        """Return what is known of an endpoint."""
        kept = self._kept.get(_key(endpoint))
        if kept is not None and kept.models:
            return kept
        floor = bundled().get(endpoint.id, ()) if _is_preset(endpoint) else ()
        return replace(kept or Listing(), models=floor)

    def find(self, endpoint: Endpoint, model: str) -> Published | None:
        """Return what is known of a model; None when it is not in its endpoint's list."""
        return next((each for each in self.listing(endpoint).models if each.id == model), None)

    def known(self, endpoints: Iterable[Endpoint]) -> dict[str, Collection[str]]:
        """Return the models by endpoint id, of providers at their own hosts.

        That is the list they gave, else the one that comes with MAK and what its price table knows
        besides. What a server of one's own has changes from one minute to the next, and what moves
        to another URL may take more than its vendor lists.
        """
        found: dict[str, Collection[str]] = {}
        for endpoint in endpoints:
            if endpoint.local or not _is_preset(endpoint):
                continue
            if (kept := self._kept.get(_key(endpoint), Listing())).models:
                found[endpoint.id] = Known((endpoint.model, *(m.id for m in kept.models)))
            elif floor := bundled().get(endpoint.id):
                ids = (endpoint.model, *(model.id for model in floor))
                found[endpoint.id] = Known(ids, partial(_is_priced, endpoint.priced_as))
        return found

    def published(self, endpoints: Iterable[Endpoint]) -> dict[tuple[str, str], Published]:
        """Return what endpoints have said about their models, by endpoint id and model."""
        return {
            (endpoint.id, model.id): model
            for endpoint in endpoints
            for model in self._kept.get(_key(endpoint), Listing()).models
        }

    def is_due(self, endpoint: Endpoint) -> bool:
        """Whether a list is to be fetched: a day of `DAYS` has passed, and no failure just now."""
        kept = self._kept.get(_key(endpoint), Listing())
        if self._clock() - kept.failed < COOL_DOWN:
            return False
        today = _day(self._clock())
        return kept.fetched < _start(max(_last(today, day) for day in DAYS))

    def take(self, endpoint: Endpoint, models: Iterable[Published]) -> None:
        """Note a list that was fetched, and what has gone from it since the one before."""
        found = {model.id: model for model in models}
        before = self._kept.get(_key(endpoint), Listing())
        today = _day(self._clock()).isoformat()
        gone = [
            replace(model, lifecycle=RETIRED, retires=model.retires or today)
            for model in before.models
            if model.id not in found
        ]
        listed = (*found.values(), *gone)
        self._keep(endpoint, Listing(listed, fetched=self._clock()))

    def fail(self, endpoint: Endpoint, reason: str) -> None:
        """Note that a list could not be fetched; the one there was stays."""
        before = self._kept.get(_key(endpoint), Listing())
        self._keep(endpoint, replace(before, failed=self._clock(), reason=reason))

    # ------------------------------------------------------------------------ the file

    def _keep(self, endpoint: Endpoint, listing: Listing) -> None:
        # Another process may have fetched other lists meanwhile.
        self._kept = {**self._read(), **self._kept, _key(endpoint): listing}
        if self._path is None:
            return
        data = {"version": _VERSION, "endpoints": {k: asdict(v) for k, v in self._kept.items()}}
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=".models-")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(data, file, indent=1)
                Path(name).replace(self._path)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise

    def _read(self) -> dict[str, Listing]:
        if self._path is None:
            return {}
        try:
            data = json.loads(self._path.read_text(encoding="utf-8"))
            if data["version"] != _VERSION:
                return {}
            return {key: _listing(value) for key, value in data["endpoints"].items()}
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return {}


def _listing(data: Mapping[str, Any]) -> Listing:
    models = tuple(Published(**model) for model in data["models"])
    return Listing(models, float(data["fetched"]), float(data["failed"]), str(data["reason"]))


def _key(endpoint: Endpoint) -> str:
    """Name an endpoint and where it is: under another URL there are other models."""
    parts = urlsplit(endpoint.url)
    return f"{endpoint.id} {parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _is_preset(endpoint: Endpoint) -> bool:
    preset = PRESETS.get(endpoint.id)
    return preset is not None and preset.url == endpoint.url


def _day(seconds: float) -> date:
    return datetime.fromtimestamp(seconds, UTC).date()


def _start(day: date) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def _last(today: date, day: int) -> date:
    """Return the last such day of a month that has come."""
    if today.day >= day:
        return today.replace(day=day)
    year, month = (today.year, today.month - 1) if today.month > 1 else (today.year - 1, 12)
    return date(year, month, day)


class Known(Collection[str]):
    """Names of models; what a list leaves out though its endpoint takes it is one of them too."""

    def __init__(
        self, ids: Iterable[str], takes: Callable[[str], bool] = lambda model: False
    ) -> None:
        self._takes = takes
        self._ids = tuple(dict.fromkeys(id.removeprefix("models/") for id in ids if id))
        self._all = {*self._ids, *(_DATED.sub("", id) for id in self._ids)}

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, model: object) -> bool:
        if not isinstance(model, str):
            return False
        name = model.removeprefix("models/").removesuffix("-latest")
        # A gateway's variants, and models that somebody has tuned for themselves.
        base = name.partition(":")[0] if "/" in name else name
        listed = name in self._all or base in self._all or name.startswith("ft:")
        return listed or self._takes(model)


def _is_priced(vendor: str, model: str) -> bool:
    """Whether the price table knows a model, under any of its names."""
    return price(Counts(1, 1), vendor, model) is not None


@cache
def bundled() -> Mapping[str, tuple[Published, ...]]:
    """Return the lists that come with MAK, by preset."""
    text = (files("mak.providers") / "catalog.json").read_text(encoding="utf-8")
    rows: dict[str, list[list[Any]]] = json.loads(text)["models"]
    return {
        id: tuple(Published(name, title, context or None) for name, title, context in models)
        for id, models in rows.items()
    }
