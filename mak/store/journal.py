"""The journal of a wave: what recovery needs to finish it, or to take it back, after a crash.

It lives in the state ref from just before the index and the working tree are touched until the
branch and the record agree again. What no commit of the branch holds (the new node tree, a person's
text and what it was merged to) hangs in the state's tree meanwhile, so that no garbage collection
takes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pygit2
from pygit2.enums import FileMode

from mak.errors import StoreError
from mak.store import locks
from mak.store.repository import Repository
from mak.store.state import State, StateRef, Update
from mak.store.treeops import TREE, Entry

#: Where the state's tree keeps the node versions.
NODES = "nodes"
_WAVE = "wave"


@dataclass(frozen=True, slots=True)
class Touched:
    """One file of a wave."""

    path: str
    #: In the parent and in the commit.
    base: Entry | None
    new: Entry | None
    #: In the working tree before and after the wave. A person's text is in neither commit; where
    #: it is, `after` holds both changes. Equal: the file stays as it is.
    before: Entry | None
    after: Entry | None

    @property
    def follows(self) -> bool:
        """Whether the file is as committed, before and after: a checkout like any other."""
        return self.before == self.base and self.after == self.new

    @property
    def loose(self) -> set[str]:
        """The texts that are in neither commit."""
        committed = {entry.oid for entry in (self.base, self.new) if entry}
        return {entry.oid for entry in (self.before, self.after) if entry} - committed

    def mode(self, entry: Entry) -> int:
        """Return what the exec bit must become for the file to be as `entry` says; 0: as it is."""
        if self.before is None or self.after is None or self.before.mode != self.after.mode:
            return entry.mode
        return 0


@dataclass(frozen=True, slots=True)
class Journal:
    """A wave that may be half done."""

    run: str
    #: What to call it in sentences.
    title: str
    branch: str
    #: Commit ids: the parent (empty: unborn) and the wave's.
    base: str
    commit: str
    #: Git directory of the working tree that the wave was committed from.
    git_dir: str
    #: Top folder of the working tree that follows the branch; empty: only the branch moves.
    root: str
    #: Tree of node versions once the wave is on the branch; empty: none.
    nodes: str
    tasks: tuple[str, ...]
    files: tuple[Touched, ...]

    @property
    def tag(self) -> str:
        """What the temporary neighbours of the wave's files have in their names."""
        return self.commit[:10]

    def to_json(self) -> dict[str, Any]:
        """Return the journal as the state keeps it."""
        return {
            "run": self.run,
            "title": self.title,
            "branch": self.branch,
            "base": self.base,
            "commit": self.commit,
            "git_dir": self.git_dir,
            "root": self.root,
            "nodes": self.nodes,
            "tasks": list(self.tasks),
            "files": [
                [f.path, *(list(e) if e else None for e in (f.base, f.new, f.before, f.after))]
                for f in self.files
            ],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Journal:
        """Read what `to_json` wrote."""
        files = tuple(
            Touched(path, *(Entry(*e) if e else None for e in entries))
            for path, *entries in data["files"]
        )
        fields = {**data, "tasks": tuple(data["tasks"])}
        return cls(**{**fields, "files": files})

    def __str__(self) -> str:
        return self.title


# ------------------------------------------------------------------------------ in the state


def begin(states: StateRef, repository: Repository, journal: Journal, holder: str) -> bool:
    """Write the journal: from here on recovery ends the wave. False: another one is under way.

    Raises StoreError when the locks of the wave's tasks, held by `holder`, were taken away.
    """

    def decide(state: State) -> Update | None:
        if state.wave is not None:
            return None
        if holder and journal.tasks and holder not in state.holders:
            raise StoreError(f"committing {journal}: its locks were taken away meanwhile")
        kept = repository.handle.TreeBuilder()
        if journal.nodes:
            kept.insert(NODES, pygit2.Oid(hex=journal.nodes), FileMode.TREE)
        for text in {oid for file in journal.files for oid in file.loose}:
            kept.insert(text, pygit2.Oid(hex=text), FileMode.BLOB)
        wave = Entry(str(repository.write("tree", kept.write)), TREE)
        return Update(
            replace(state, op="wave-begin", wave=journal.to_json()),
            f"begin {journal}",
            tree=_changed(repository, states.tree(), {_WAVE: wave}),
            parents=tuple(filter(None, (journal.base, journal.commit))),
        )

    return (states.cas(decide).wave or {}).get("commit") == journal.commit


def finish(states: StateRef, repository: Repository, journal: Journal) -> None:
    """Record that the wave is on the branch: node versions, head, and its locks given up."""

    def decide(state: State) -> Update | None:
        if (state.wave or {}).get("commit") != journal.commit:
            return None  # whoever found us dead, or slow, has done it
        nodes = Entry(journal.nodes, TREE) if journal.nodes else None
        after = _released(state, journal)
        return Update(
            replace(after, op="wave", wave=None, head=journal.commit),
            f"{journal} is {journal.commit[:10]}",
            tree=_changed(repository, states.tree(), {NODES: nodes, _WAVE: None}),
        )

    states.cas(decide)


def abandon(states: StateRef, repository: Repository, journal: Journal, why: str) -> None:
    """Record that the wave is not on the branch; its locks stay."""

    def decide(state: State) -> Update | None:
        if (state.wave or {}).get("commit") != journal.commit:
            return None
        return Update(
            replace(state, op="wave-abandon", wave=None),
            f"{journal} taken back: {why}",
            tree=_changed(repository, states.tree(), {_WAVE: None}),
        )

    states.cas(decide)


def _released(state: State, journal: Journal) -> State:
    """Give up what the wave's tasks hold."""
    for name, holder in state.holders.items():
        if holder.run == journal.run:
            state = locks.release(state, name, journal.tasks)
    return state


def _changed(repository: Repository, tree: str, entries: dict[str, Entry | None]) -> str:
    builder = repository.handle.TreeBuilder(tree) if tree else repository.handle.TreeBuilder()
    for name, value in entries.items():
        if value is not None:
            builder.insert(name, pygit2.Oid(hex=value.oid), FileMode(value.mode))
        elif builder.get(name) is not None:
            builder.remove(name)
    return str(repository.write("tree", builder.write))
