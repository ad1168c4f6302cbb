"""What `mak doctor` looks at: each look gives lines that say what is so and what to do."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from mak.errors import AgentError, AgentErrorKind, MakError, UsageError

if TYPE_CHECKING:
    from mak.cli.options import Settings
    from mak.providers import Spec
    from mak.providers.endpoints import Endpoint
    from mak.providers.probe import Probe
    from mak.store import Store


#: What an endpoint says of itself and its key; for the rest there is a command that looks closer.
_SAID = frozenset({AgentErrorKind.AUTH, AgentErrorKind.BILLING})


class State(StrEnum):
    """How one thing is."""

    OK = "ok"
    #: Works, but not as well as it could.
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was looked at."""

    state: State
    about: str
    text: str
    #: What to do; empty: nothing.
    hint: str = ""


def failed(about: str, error: MakError, hint: str = "") -> Line:
    """Return the line for something that could not be looked at, or is not as it has to be.

    `hint` is what to do where the error itself does not say it.
    """
    return Line(State.FAIL, about, str(error), error.hint or hint)


def repository(work_dir: Path, settings: Settings | None) -> Iterator[Line]:
    """Look at the repository: its kind, whether it can be written, whose commits they will be."""
    from mak.store import Store

    try:
        store = Store.open(work_dir)
    except MakError as error:
        yield failed("repository", error)
        return
    with store:
        yield Line(State.OK, "repository", f"{_kind(store)}, on {store.branch}")
        if left := store.cut_off():
            hint = "mak run --recover ends it, or any other run; leave lock and files as they are"
            yield Line(State.WARN, "unfinished", left, hint)
        author = store.author()
        if author is None:
            yield Line(
                State.WARN,
                "identity",
                "Git knows no name and address, so that commits are by MAK alone",
                'git config --global user.name "…"; git config --global user.email "…"',
            )
        else:
            yield Line(State.OK, "identity", author)
        if settings is not None:
            yield from _hidden(store, settings)


def _kind(store: Store) -> str:
    root = store.root
    if root is None:
        return "a bare repository"
    linked = (root / ".git").is_file()
    partial = ", a partial clone" if store.repository.is_partial else ""
    below = f", below {store.prefix}" if store.prefix else ""
    return f"{'a linked worktree' if linked else 'a repository'} at {root}{partial}{below}"


def _hidden(store: Store, settings: Settings) -> Iterator[Line]:
    try:
        store.hide(settings.config.files)
        paths = store.entries(store.tip())
        count = sum(bool(store.hidden.why(path)) for path in paths) if store.hidden else 0
    except MakError as error:
        yield failed("files", error, "correct .makignore, or files in the configuration")
        return
    if store.hidden:
        yield Line(State.OK, "files", f"{count} of {len(paths)} are kept from agents")
        if count == len(paths):
            yield Line(State.WARN, "files", "agents may see none", "look at .makignore and files")


def keys(settings: Settings) -> Iterator[Line]:
    """Name the keys that are there, never a value."""
    from mak.cli import person

    names = dict.fromkeys(
        name for each in settings.setup.endpoints.values() for name in each.key_names
    )
    there = [name for name in names if settings.setup.variables.get(name, "").strip()]
    path = person.variables_file()
    if path.exists() and path.stat().st_mode & 0o077:
        yield Line(State.WARN, "keys", f"others can read {path}", f"chmod 600 {path}")
    if there:
        origins = (f"{name} ({'exported' if name in os.environ else 'kept'})" for name in there)
        yield Line(State.OK, "keys", ", ".join(origins))
    else:
        yield Line(
            State.OK, "keys", "none: the built-in agent needs none", "mak keys set anthropic"
        )


def lists(settings: Settings) -> Iterator[Line]:
    """Say how old the lists of models are."""
    from mak.cli import person
    from mak.providers.access import located
    from mak.providers.refresh import has_key

    catalog = person.catalog()
    every = [located(each, settings.setup) for each in settings.setup.endpoints.values()]
    due = [
        each.id
        for each in every
        if not each.local and each.key_needed and has_key(each, settings.setup)
        if catalog.is_due(each)
    ]
    if due:
        yield Line(
            State.WARN, "models", f"the lists of {', '.join(due)} are old", "mak models --refresh"
        )


def specs(settings: Settings) -> tuple[list[Spec], list[Line]]:
    """Return the models that are set, each once, and what is wrong with others."""
    from mak.cli.promise import check_specs
    from mak.providers import parse

    found: dict[str, Spec] = {}
    lines = []
    config = settings.config
    for text in dict.fromkeys((config.planner or config.models.agents[0], *config.models.agents)):
        try:
            found[text] = parse(text, settings.setup)
        except UsageError as error:
            lines.append(failed("model", error))
    if not lines:
        try:
            check_specs(config, settings.setup)
        except UsageError as error:
            lines.append(failed("mode", error))
    return list(found.values()), lines


def reach(specs: Sequence[Spec], settings: Settings, patience: float) -> Iterator[Line]:
    """Ask the endpoint of every model for its list, and compare."""
    import anyio

    from mak.cli import person
    from mak.providers.access import access, located
    from mak.providers.connect import shown
    from mak.providers.refresh import refresh

    catalog = person.catalog()
    wanted = dict.fromkeys(spec.endpoint for spec in specs if spec.endpoint is not None)
    ready = []
    for endpoint in wanted:
        try:
            access(endpoint, settings.setup)
            ready.append(located(endpoint, settings.setup))
        except UsageError as error:
            yield failed("endpoint", error)
    failures: Mapping[Endpoint, MakError] = (
        anyio.run(refresh, catalog, ready, settings.setup, patience) if ready else {}
    )
    ids = Counter(endpoint.id for endpoint in ready)
    for endpoint in ready:
        name = endpoint.id if ids[endpoint.id] == 1 else f"{endpoint.id} at {shown(endpoint.url)}"
        if endpoint in failures:
            met = failures[endpoint]
            known = isinstance(met, AgentError) and met.kind in _SAID
            test = "mak local" if endpoint.local else f"mak endpoint test {endpoint.id}"
            yield Line(State.FAIL, "endpoint", f"{name}: {met}", met.hint if known else test)
        else:
            count = len(catalog.listing(endpoint).models)
            many = f"{count} model{'s' if count != 1 else ''}"
            yield Line(State.OK, "endpoint", f"{name} answers, with {many}")
    yield from models(specs, settings)


def models(specs: Sequence[Spec], settings: Settings) -> Iterator[Line]:
    """Say what is set, and what is to be known about it."""
    from mak.cli.caveats import caveats_of

    for spec in specs:
        if spec.endpoint is None:
            yield Line(State.OK, "model", str(spec))
            continue
        known = caveats_of(spec, settings.setup)
        for caveat in known:
            others = f"other models: mak models {spec.endpoint.id}"
            yield Line(State.WARN, "model", f"{spec}: {caveat}", others)
        if not known:
            yield Line(State.OK, "model", str(spec))


def calls(probes: Mapping[Spec, Sequence[Probe]]) -> Iterator[Line]:
    """Say what small questions came to."""
    for spec, results in probes.items():
        for each in results:
            doubt = State.WARN if each.hint else State.OK
            state = doubt if each.works else State.FAIL
            yield Line(state, "call", f"{spec.label}: {each.text}", each.hint)
