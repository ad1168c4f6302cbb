"""The state of a branch: who holds what, and the wave that is under way, behind one ref.

``refs/mak/state/<key>`` is a chain of commits. Each holds the whole state: as JSON in its message,
under a line for people; node versions and, when they are many, the claims in its tree. It moves by
compare-and-swap only, so whatever is decided in one step is decided on the state it changes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pygit2

from mak.errors import RepositoryRefused, StoreError
from mak.model import Mode
from mak.store import refs
from mak.store.guard import FileLock
from mak.store.message import clean
from mak.store.repository import Repository, git_errors

#: Version of what is written; what is newer is refused.
VERSION = 1

#: Claims longer than this as JSON go to a blob; the message stays readable and quick to parse.
_INLINE = 64 * 1024
_LOCKS = "locks.json"
_FILE = 0o100644

#: After so many steps the chain starts again at a commit without parents.
CHECKPOINT = 1000


@dataclass(frozen=True, slots=True)
class Claim:
    """A lock that a task of a holder has on a node."""

    holder: str
    mode: Mode
    task: str
    #: The state's fence when it was granted: its generation.
    fence: int


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that holds claims: what to call it, not whether it lives."""

    run: str
    pid: int
    host: str
    #: Unix seconds.
    since: float


@dataclass(frozen=True, slots=True)
class State:
    """Everything that processes on one branch must agree on."""

    v: int = VERSION
    #: What the last step did.
    op: str = ""
    #: Counts the steps.
    seq: int = 0
    #: Counts the steps that granted or took away claims; never goes back.
    fence: int = 0
    branch: str = ""
    #: By node id, as `NodeId` is written. Only S, X and A: intentions follow from the ids.
    locks: Mapping[str, tuple[Claim, ...]] = field(default_factory=dict)
    holders: Mapping[str, Holder] = field(default_factory=dict)
    #: The commit of the branch that the node versions belong to.
    head: str = ""
    #: Journal of the wave that is under way, as JSON.
    wave: Mapping[str, Any] | None = None
    #: `seq` of the last commit without parents.
    checkpoint: int = 0


@dataclass(frozen=True, slots=True)
class Update:
    """A step: the state after it, how to call it, and what else its commit holds."""

    state: State
    #: One line for ``git log``.
    subject: str
    #: The commit's tree: ``nodes/`` and what else there is. None keeps it.
    tree: str | None = None
    #: Commits of the branch that must stay reachable.
    parents: tuple[str, ...] = ()


Decide = Callable[[State], Update | None]


class StateRef:
    """Reads and moves the state ref of the repository's branch."""

    def __init__(self, repository: Repository, lock: FileLock) -> None:
        self._repository = repository
        #: The store's lock: queues our own processes, and lets its owner remove a stale ``.lock``.
        self._lock = lock
        self.name = f"refs/mak/state/{repository.key}"
        #: Where the chain before the last checkpoint stays.
        self._log = f"refs/mak/log/{repository.key}"
        self.stale_after = refs.STALE_AFTER
        self._seen: tuple[str, State, str] | None = None
        #: Claims as JSON by node, for those that are the same objects as before.
        self._json: dict[str, tuple[tuple[Claim, ...], str]] = {}

    def read(self) -> tuple[str | None, State]:
        """Return the commit of the state (None: none yet) and the state."""
        with git_errors(f"reading {self.name}"):
            commit = self._repository.ref(self.name)
            return commit or None, self._load(commit)[0]

    def tree(self) -> str:
        """Return the tree of the state's commit; empty when there is none."""
        with git_errors(f"reading {self.name}"):
            return self._load(self._repository.ref(self.name))[1]

    def cas(self, decide: Decide, timeout: float = 30.0) -> State:
        """Replace the state by what `decide` makes of it; return the state as it is then.

        `decide` sees the current state while nobody else can change it, may be called again, and
        returns None to leave it. It must be quick and must not move the state itself. Blobs and
        trees are best written before.
        """
        with git_errors(f"moving {self.name}"), self._lock.held(timeout):
            with refs.locked(
                self._repository, self.name, timeout=timeout, stale_after=self.stale_after
            ) as ref:
                old, tree = self._load(ref.target)
                update = decide(old)
                if update is None:
                    return old
                state = _next(update.state, old, self._repository.branch)
                tree, locks = self._tree(update.tree or tree, self._locks(state))
                message = _encode(state, update.subject, locks)
                parents = self._parents(ref.target, state, tree, update.parents)
                now = time.time()
                commit = self._repository.put_commit(tree, parents, message, now)
                ref.move(commit)
            if not self._repository.is_stored(commit):
                # A prune that had begun before took it; nobody but us knows its content.
                self._repository.put_commit(tree, parents, message, now)
            self._seen = commit, state, tree
            return state

    def _parents(
        self, previous: str, state: State, tree: str, others: tuple[str, ...]
    ) -> list[str]:
        """Return the parents of a step: the step before, always first, and the branch's commits."""
        if previous and state.checkpoint == state.seq:
            with refs.locked(self._repository, self._log, stale_after=self.stale_after) as log:
                log.move(previous)
            return list(others)
        if others and not previous:
            begin = State(branch=state.branch)
            message = _encode(begin, "begin", "{}")
            previous = self._repository.put_commit(tree, [], message, time.time())
        return [previous, *others] if previous else []

    def _tree(self, tree: str, locks: str) -> tuple[str, str | None]:
        """Return the tree for these claims, and the claims for the message if they go there."""
        handle = self._repository.handle
        inline = len(locks) <= _INLINE
        builder = handle.TreeBuilder(tree) if tree else handle.TreeBuilder()
        complete = builder.get("v") is not None
        if complete and inline and builder.get(_LOCKS) is None:
            return tree, locks
        if not complete:
            builder.insert("v", self._repository.put(b"%d\n" % VERSION), _FILE)
        if not inline:
            builder.insert(_LOCKS, self._repository.put(locks.encode()), _FILE)
        elif builder.get(_LOCKS) is not None:
            builder.remove(_LOCKS)
        return str(self._repository.write("tree", builder.write)), locks if inline else None

    def _locks(self, state: State) -> str:
        """Return the claims as JSON; most of them are those of the step before."""
        known, self._json = self._json, {}
        for node, claims in state.locks.items():
            found = known.get(node)
            if found is None or found[0] is not claims:
                rows = [{"h": c.holder, "m": c.mode, "t": c.task, "f": c.fence} for c in claims]
                found = claims, f"{_dump(node)}:{_dump(rows)}"
            self._json[node] = found
        return "{" + ",".join(text for _, text in self._json.values()) + "}"

    def _load(self, commit: str) -> tuple[State, str]:
        """Return the state that a commit (empty: none) holds, and its tree."""
        if not commit:
            return State(branch=self._repository.branch), ""
        if self._seen is None or self._seen[0] != commit:
            try:
                found = self._repository.handle[commit]
                assert isinstance(found, pygit2.Commit)
                tree = str(found.tree_id)
                self._seen = commit, _decode(found), tree
            except (LookupError, ValueError, TypeError, AttributeError) as error:
                raise StoreError(
                    f"reading {self.name}: {commit} cannot be read: {error}",
                    hint=f"git update-ref -d {self.name} forgets the claims and nothing else",
                ) from error
        return self._seen[1], self._seen[2]


def _next(new: State, old: State, branch: str) -> State:
    seq = old.seq + 1
    is_due = seq - old.checkpoint >= CHECKPOINT and new.wave is None and old.wave is None
    return replace(
        new,
        v=VERSION,
        seq=seq,
        fence=max(new.fence, old.fence),
        branch=branch,
        checkpoint=seq if is_due else old.checkpoint,
    )


# ------------------------------------------------------------------------------------- as JSON


def _encode(state: State, subject: str, locks: str | None) -> str:
    """Return the message of a state's commit: a line for people and ASCII JSON."""
    line = " ".join(clean(subject).split())[:200]
    document = {
        "v": state.v,
        "op": state.op,
        "seq": state.seq,
        "fence": state.fence,
        "branch": state.branch,
        "holders": {
            name: {"run": h.run, "pid": h.pid, "host": h.host, "since": h.since}
            for name, h in state.holders.items()
        },
        "head": state.head,
        "wave": state.wave,
        "checkpoint": state.checkpoint,
    }
    text = _dump(document)
    if locks is not None:
        text = f'{text[:-1]},"locks":{locks}}}'
    return f"{line or 'step'}\n\n{text}\n"


def _decode(commit: pygit2.Commit) -> State:
    document = json.loads(commit.message.split("\n\n", 1)[1])
    if document["v"] > VERSION:
        raise RepositoryRefused(
            f"reading the state of {document['branch']}: a newer mak wrote it",
            hint="upgrade mak: pip install -U mak-kernel",
        )
    if "locks" in document:
        locks = document["locks"]
    else:
        blob = commit.tree[_LOCKS]
        assert isinstance(blob, pygit2.Blob)
        locks = json.loads(blob.data)
    return State(
        v=document["v"],
        op=document["op"],
        seq=document["seq"],
        fence=document["fence"],
        branch=document["branch"],
        locks={
            node: tuple(Claim(c["h"], Mode(c["m"]), c["t"], c["f"]) for c in claims)
            for node, claims in locks.items()
        },
        holders={name: Holder(**h) for name, h in document["holders"].items()},
        head=document["head"],
        wave=document["wave"],
        checkpoint=document["checkpoint"],
    )


def _dump(document: object) -> str:
    return json.dumps(document, ensure_ascii=True, separators=(",", ":"))
