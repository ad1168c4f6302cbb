"""What may come next on the line that is being typed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mak.cli.app.session import find
from mak.cli.app.slash import Choice
from mak.errors import MakError

if TYPE_CHECKING:
    from mak.cli.app.session import Session

#: Runs that are offered, and characters of what is said about each.
RUNS, WIDTH = 30, 60


def choices(session: Session, line: str) -> tuple[str, list[Choice]]:
    """Return the word that a line ends in, and the words that it may become."""
    if not line.startswith("/") or "\n" in line:
        return "", []
    name, space, rest = line[1:].partition(" ")
    if not space:
        from mak.cli.app.commands import SLASHES

        every = [Choice(f"/{each.name}", each.help) for each in SLASHES]
        begins = [choice for choice in every if choice.word.startswith(line)]
        holds = [choice for choice in every if name in choice.word and choice not in begins]
        return line, [*begins, *holds]
    slash = find(name)
    if slash is None:
        return "", []
    *before, begun = rest.split(" ")
    before = [word for word in before if word]
    try:
        found = [*slash.complete(session, before, begun), *_arguments(slash.like, before, begun)]
    except MakError:
        return begun, []
    return begun, [each for each in found if each.word.startswith(begun) and each.word != begun]


def _arguments(like: str, before: Sequence[str], begun: str) -> Iterator[Choice]:
    """Yield further words and options of the command of the command line that does the same."""
    if like:
        from mak.cli.main import arguments_of

        for word, about in arguments_of([*shlex.split(like), *before]):
            if word.startswith("-") == begun.startswith("-"):
                yield Choice(word, about)


def paths(begun: str, root: Path, *, only_folders: bool = False) -> Iterator[Choice]:
    """Yield the files and folders below `root` that a path may become."""
    head, slash, _ = begun.rpartition("/")
    folder = root / Path(f"{head}{slash}").expanduser()
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        hidden = entry.name.startswith(".") and not begun.rpartition("/")[2].startswith(".")
        if not hidden and (entry.is_dir() or not only_folders):
            yield Choice(f"{head}{slash}{entry.name}{'/' if entry.is_dir() else ''}")


def runs(session: Session) -> Iterator[Choice]:
    """Yield the runs that the repository remembers, newest first."""
    from mak.runlog import read_meta
    from mak.store import Store

    with Store.open(session.said.work_dir, write=False) as store:
        for run in store.runs()[:RUNS]:
            meta = read_meta(store, run)
            yield Choice(run, " ".join(meta.request.split())[:WIDTH] if meta else "")


def tasks(session: Session, run: str = "") -> Iterator[Choice]:
    """Yield the tasks of a run; empty: the newest."""
    from mak.cli.record import read_record
    from mak.cli.runs import find_run
    from mak.store import Store

    with Store.open(session.said.work_dir, write=False) as store:
        for task in read_record(store, find_run(store, run), details=True).tasks:
            yield Choice(task.id, " ".join(task.goal.split())[:WIDTH])


def models(session: Session) -> Iterator[Choice]:
    """Yield model specs: the built-in agent, endpoints that can be asked, and their models."""
    from mak.cli import person
    from mak.providers.access import located
    from mak.providers.refresh import has_key

    yield Choice("builtin", "refactorings, no model, no key")
    setup = session.settings().setup
    catalog = person.catalog()
    for each in setup.endpoints.values():
        if has_key(each, setup) and (each.id in setup.own or not each.local):
            yield Choice(each.id, each.title)
            for model in catalog.listing(located(each, setup)).models:
                yield Choice(f"{each.id}:{model.id}", model.title)


def endpoints(session: Session) -> Iterator[Choice]:
    """Yield the ids of all endpoints."""
    for each in session.settings().setup.endpoints.values():
        yield Choice(each.id, each.title or each.url)
