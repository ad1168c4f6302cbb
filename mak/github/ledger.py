"""The records of runs at GitHub: read, and written by compare-and-swap, each a chain of commits.

`refs/mak/runs/<run>` holds `state.json`, the plans as they were offered (`plan/<rev>.json`) and
what the kernel keeps of the run, so that another machine can go on. `refs/mak/issues/<n>` says
which run an issue has. A run is there before its issue names it: of two that begin at once, one is
named, the other is superseded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mak.errors import GitHubError
from mak.github.remote import Push, Remote
from mak.github.state import ACTIVE, Phase, Proposal, RunState, dump, load

_STATE = "state.json"
#: Where records are, first choice first: some repositories take branches only.
PLACES = ("refs/mak/", "refs/heads/mak/state/")
#: What of a record is GitHub's share; all else is the kernel's, which it begins with `_META`.
_OURS = ("plan/",)
_META = "meta.json"


class Lost(Exception):
    """Somebody else has written since; read again."""


@dataclass(frozen=True, slots=True)
class Held:
    """A run, and the commit of its record that it was read from."""

    commit: str
    state: RunState


class Ledger:
    """The records of one repository."""

    def __init__(self, remote: Remote) -> None:
        """Keep them where Git is."""
        self._remote = remote

    def of_issue(self, issue: int) -> Held | None:
        """Return the newest run of an issue."""
        name = f"issues/{issue}"
        for place in PLACES:
            if commit := self._fetched(f"{place}{name}"):
                return self.of_run(self._state(commit).run)
        return None

    def of_run(self, run: str) -> Held | None:
        """Return a run."""
        for place in PLACES:
            if commit := self._fetched(f"{place}runs/{run}"):
                return Held(commit, self._state(commit))
        return None

    def head(self, run: str) -> str:
        """Return the newest commit of a run's record, without reading it; empty: there is none."""
        for place in PLACES:
            ref = f"{place}runs/{run}"
            if commit := self._remote.refs(ref).get(ref):
                return commit
        return ""

    def runs(self) -> list[Held]:
        """Return all runs."""
        found: dict[str, Held] = {}
        for place in reversed(PLACES):
            refs = self._remote.refs(f"{place}runs/")
            if refs:
                self._remote.fetch(*refs)
            held = (Held(commit, self._state(commit)) for commit in refs.values())
            found.update({each.state.run: each for each in held})
        return list(found.values())

    def begin(self, state: RunState) -> Held:
        """Begin the record of a run, or find it begun; name it at its issue.

        Raises `Lost` when the issue has another run that is under way.
        """
        before = self.of_issue(state.issue)
        held = self.of_run(state.run)
        if before and before.state.run == state.run:
            return before
        if before and before.state.phase in ACTIVE:
            raise Lost
        parent = before.commit if before else ""
        if held is None:
            commit = self._commit(state, {}, parent, onto="")
            if not self._push(f"runs/{state.run}", commit, ""):
                raise Lost
            held = Held(commit, state)
        named = self._named(state.issue)
        if not self._push(f"issues/{state.issue}", held.commit, named):
            superseded = replace(held.state.into(Phase.SUPERSEDED, state.since), lease=None)
            self.write(held, superseded)
            raise Lost
        return held

    def write(self, held: Held, state: RunState, files: Mapping[str, bytes] | None = None) -> Held:
        """Write a run's state after `held`, and other documents of its record.

        The kernel's documents are all of them or none: they take the place of those before.

        Raises `Lost` when somebody else was first.
        """
        commit = self._commit(state, files or {}, held.commit, onto=held.commit)
        if not self._push(f"runs/{state.run}", commit, held.commit):
            raise Lost
        return Held(commit, state)

    def proposal(self, held: Held, rev: int) -> Proposal:
        """Return a plan as it was offered; raises `GitHubError` when it is not there."""
        data = self._remote.read(held.commit, f"plan/{rev}.json")
        if data is None:
            raise GitHubError(f"reading run {held.state.run}: it has no plan {rev}")
        return load(Proposal, data)

    def kernel(self, held: Held) -> dict[str, bytes]:
        """Return what the kernel keeps of a run, by the path of each document."""
        kept = self._kernels(held.commit)
        return {path: self._remote.read(held.commit, path) or b"" for path in kept}

    def _kernels(self, commit: str) -> list[str]:
        paths = self._remote.blobs(commit)
        return [path for path in paths if path != _STATE and not path.startswith(_OURS)]

    # ------------------------------------------------------------------------------------ Git

    def _fetched(self, ref: str) -> str:
        if commit := self._remote.refs(ref).get(ref):
            self._remote.fetch(ref)
            return commit
        return ""

    def _named(self, issue: int) -> str:
        for place in PLACES:
            ref = f"{place}issues/{issue}"
            if commit := self._remote.refs(ref).get(ref):
                self._remote.fetch(ref)
                return commit
        return ""

    def _state(self, commit: str) -> RunState:
        data = self._remote.read(commit, _STATE)
        if data is None:
            raise GitHubError(f"reading a run: {commit[:7]} holds no {_STATE}")
        return load(RunState, data)

    def _commit(
        self, state: RunState, files: Mapping[str, bytes], parent: str, *, onto: str
    ) -> str:
        text = f"mak: {state.run} is {state.phase}\n"
        documents = {**files, _STATE: dump(state)}
        gone = self._kernels(onto) if onto and _META in files else ()
        return self._remote.commit(documents, text, parent, state.since, onto=onto, gone=gone)

    def _push(self, name: str, commit: str, expected: str) -> bool:
        """Move a ref; False: somebody was first. Raises `GitHubError` where none is taken."""
        said = ""
        for place in PLACES:
            ref = f"{place}{name}"
            if expected and place is PLACES[0] and not self._remote.refs(ref).get(ref):
                continue
            pushed = self._remote.push(ref, commit, expected)
            if pushed.how is not Push.REFUSED:
                return pushed.how is Push.DONE
            said = pushed.said
        raise GitHubError(
            f"recording run: GitHub takes no ref of MAK's: {said}",
            hint="allow pushes to refs/mak/* or to branches mak/state/*",
        )
