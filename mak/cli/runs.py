"""Runs as their records in Git tell them, for the commands that look back."""

from __future__ import annotations

import difflib
import time
from typing import TYPE_CHECKING

from mak.errors import UsageError
from mak.model import Outcome, RunState, branch_name

if TYPE_CHECKING:
    from mak.store import Store

#: Trailers of commits: the run whose wave it is, and the run that it takes back.
RUN, UNDOES = "MAK-Run", "MAK-Undoes"
#: How a run is called that has no outcome in its record.
UNFINISHED = "unfinished"
#: How one is called that failed before it had a plan to carry out.
REFUSED = "refused"


def find_run(store: Store, text: str) -> str:
    """Return the run that `text` names, whole or by its beginning; empty: the newest.

    Raises `UsageError` that names the nearest run.
    """
    runs = store.runs()
    if not runs:
        raise UsageError("no run is recorded in this repository", hint='mak run --task "…"')
    if not text:
        return runs[0]
    found = [run for run in runs if run == text] or [run for run in runs if run.startswith(text)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{len(found)} runs begin with {text!r}: {', '.join(found[:5])}")
    near = difflib.get_close_matches(text, runs, n=1)
    advice = f"; did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"no run {text!r}{advice}", hint="mak log")


def last_landed(store: Store) -> str:
    """Return the newest run that has commits on the branch; raise `UsageError`: none has."""
    from mak.runlog import read_meta, read_outcome

    runs, tip = store.runs(), store.tip()
    for run in runs:
        outcome, meta = read_outcome(store, run), read_meta(store, run)
        if meta is None or (outcome is not None and not outcome["waves"]):
            continue
        if any(found.get(RUN) == run for _, found in store.trailers(tip, meta.base)):
            return run
    find_run(store, "")
    where = branch_name(store.branch)
    raise UsageError(f"no run has a commit on {where}", hint="mak log")


def undoings(store: Store, base: str) -> dict[str, str]:
    """Return the runs that were taken back on the branch since `base`, with the commits."""
    since = store.trailers(store.tip(), base)
    return {found[UNDOES]: commit for commit, found in reversed(since) if UNDOES in found}


def when(started: float) -> str:
    """Return a time (Unix seconds) in the person's time zone."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(started))


def state_of(outcome: Outcome | None) -> str:
    """Return how a run ended, or that it did not."""
    return str(outcome.state) if outcome else UNFINISHED


def next_command(run: str, state: RunState | None) -> str:
    """Return what a person is likely to type after a run."""
    match state:
        case RunState.DONE:
            return f"mak show {run}"
        case None | RunState.INTERRUPTED | RunState.HELD:
            return f"mak run --recover {run}"
        case RunState.DECLINED:
            return "mak plan --task …, edit the plan, mak run --plan FILE"
        case _:
            return f"mak show {run}"
