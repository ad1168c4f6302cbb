"""The nouns that travel between the rooms: frozen, without behaviour that needs the outside."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

# --------------------------------------------------------------------------------------- nodes


class _Word(StrEnum):
    """Members that hash as the strings they are: node ids and locks are hashed all the time."""

    __hash__ = str.__hash__


class NodeKind(_Word):
    """What a node is. A file that cannot be cut is one `FILE` node."""

    FILE = "file"
    HEADER = "header"
    BODY = "body"
    FUNCTION = "function"
    CLASS = "class"
    CLASS_BODY = "class_body"
    METHOD = "method"
    #: A key, a table, a section or a line of a file that is not code.
    ENTRY = "entry"
    #: What stands before or after the entries of such a file.
    TEXT = "text"


class Aspect(_Word):
    """Which side of a node a lock is about."""

    #: The node's own text.
    TEXT = ""
    #: Its signature: what callers rely on.
    API = "api"
    #: A class with everything in it.
    ALL = "all"


_ASPECT = re.compile(r"^(?P<symbol>.*)#(?P<aspect>api|all)$", re.DOTALL)


@dataclass(frozen=True, slots=True, order=True)
class NodeId:
    """The name of a lockable piece of a file; stable while other pieces move.

    Written ``path`` for a whole file and ``path::symbol`` for a piece of it. A symbol is a
    qualified name, ``[role]`` when the decorators give one (``overload``, ``setter``, …), and
    ``#n`` for the n-th definition (n ≥ 2) that is still equal. Pieces that define nothing are
    ``@header``, ``@body`` and ``@body:f`` (the run of statements after ``f``), in a class
    ``C.@body`` and ``C.@body:m``; ``@main`` is the ``if __name__ == "__main__":`` block.
    ``#api`` names a signature and ``#all`` a class with its members. In a file that is not code a
    symbol is a key, a table, a heading or a requirement, and ``@top`` and ``@end`` are the rest.
    """

    #: Relative to the repository's root, with ``/``.
    path: str
    #: Empty for the whole file.
    symbol: str = ""
    aspect: Aspect = Aspect.TEXT

    @classmethod
    def parse(cls, text: str) -> NodeId:
        """Read an id as `str` writes it. A path that holds ``::`` is written ``path::``."""
        path, sep, symbol = text.rpartition("::")
        if not sep:
            return cls(text)
        match = _ASPECT.match(symbol)
        if match:
            return cls(path, match["symbol"], Aspect(match["aspect"]))
        return cls(path, symbol)

    def __str__(self) -> str:
        if not self.symbol:
            return f"{self.path}::" if "::" in self.path else self.path
        suffix = f"#{self.aspect}" if self.aspect else ""
        return f"{self.path}::{self.symbol}{suffix}"

    @property
    def file(self) -> NodeId:
        """The file that holds this node."""
        return NodeId(self.path)

    @property
    def api(self) -> NodeId:
        """The signature of this node, as something to lock."""
        return NodeId(self.path, self.symbol, Aspect.API)

    @property
    def node(self) -> NodeId:
        """The node itself, without an aspect."""
        return self if self.aspect is Aspect.TEXT else NodeId(self.path, self.symbol)

    @property
    def is_file(self) -> bool:
        """Whether this names a whole file."""
        return not self.symbol

    @property
    def containers(self) -> tuple[NodeId, ...]:
        """What encloses this node, outermost first: its file, then its classes.

        The text and the signature of class ``C`` lie inside ``C#all``.
        """
        if self.is_file:
            return ()
        if self.aspect is Aspect.TEXT and "." not in self.symbol:
            all_of = NodeId(self.path, self.symbol, Aspect.ALL)
            return (self.file,) if self.symbol.startswith("@") else (self.file, all_of)
        parts = self.symbol.split(".")
        leaf = self.aspect is Aspect.ALL or parts[-1].startswith("@")
        inner = parts[:-1] if leaf else parts
        return (
            self.file,
            *(NodeId(self.path, ".".join(inner[: i + 1]), Aspect.ALL) for i in range(len(inner))),
        )


@dataclass(frozen=True, slots=True)
class Node:
    """One piece of a file: the bytes ``[start, end)`` of it."""

    id: NodeId
    kind: NodeKind
    #: Byte offsets into the file; the nodes of a file tile it without gaps, in order.
    start: int
    end: int
    #: Length in bytes of the blank lines and comments before the code, part of ``[start, end)``.
    lead: int
    #: 1-based line of `start`, and the last line.
    line: int
    end_line: int
    #: Names bound at the scope that holds the node, also those in conditional blocks inside it.
    names: tuple[str, ...] = ()
    #: Digest of what callers rely on (signature, decorators, bases, bound names); never the body.
    api: str = ""
    #: The signature as text, for outlines: ``def f(a, b=1) -> int``, ``class C(Base)``, ….
    signature: str = ""
    #: Git blob id of the node's bytes.
    digest: str = ""
    #: Length in bytes of the blank lines and comments after the code, where no node follows it in
    #: its file or class; part of ``[start, end)``.
    tail: int = 0


# --------------------------------------------------------------------------------------- locks


class Mode(_Word):
    """Multi-granularity lock modes (Gray 1975); `A` lets holders append side by side."""

    IS = "IS"
    IX = "IX"
    S = "S"
    X = "X"
    A = "A"


class Locking(StrEnum):
    """How finely a run locks what its tasks write."""

    #: Nodes; what only grows is appended to side by side.
    APPEND = "append"
    #: Nodes, each for one task at a time.
    NODE = "node"
    #: Files, each for one task at a time.
    FILE = "file"


@dataclass(frozen=True, slots=True, order=True)
class Lock:
    """A mode on a node, an aspect of it, or a file."""

    node: NodeId
    mode: Mode

    def __str__(self) -> str:
        return f"{self.mode} {self.node}"


# --------------------------------------------------------------------------------------- plans


@dataclass(frozen=True, slots=True)
class Obligation:
    """What must not be found any more when a repair is committed; nobody may weaken it."""

    #: Id of the check, or ``gate:NAME``.
    check: str
    #: What was found, in one line.
    subject: str
    #: Where: whatever the check finds there counts as the same. None: wherever it finds anything.
    site: NodeId | None = None
    #: What the edit in question added; it has to be there afterwards.
    keeps: tuple[NodeId, ...] = ()
    #: Whether that edit is on the branch. If not, a repair that changes nothing would drop it.
    landed: bool = True
    #: What the check or the command said, cut to size; shown to agents as data.
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """One agent's share of a request."""

    id: str
    goal: str
    #: Nodes (``#api``: with their signature; a file: all of it) that the task may rewrite.
    writes: tuple[NodeId, ...] = ()
    #: Nodes it only needs to see.
    reads: tuple[NodeId, ...] = ()
    #: Files and symbols that do not exist yet.
    creates: tuple[NodeId, ...] = ()
    depends_on: tuple[str, ...] = ()
    #: Model spec that answers this task; empty: round-robin over the run's models.
    model: str = ""
    #: What the kernel checks before it commits this task, if it is a repair.
    obligations: tuple[Obligation, ...] = ()
    #: The task of an earlier plan of the run whose share this one does again; empty: none.
    repairs: str = ""
    #: Why MAK added the task to a plan; empty: whoever planned gave it.
    added: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A request as a DAG of tasks."""

    request: str
    tasks: tuple[Task, ...]
    #: Names, signatures and conventions that every agent is told.
    decisions: tuple[str, ...] = ()
    #: Whether one failed task fails all that have not landed, as in a refactoring.
    atomic: bool = False
    #: Whether callers that a declared signature change would break are in it, as far and in such
    #: order as is wanted: MAK adds no task for them and moves none.
    complete: bool = False
    #: What tasks were to write that a person took out at review: no other task gets it instead.
    dropped: tuple[NodeId, ...] = ()

    def task(self, task_id: str) -> Task:
        """Return the task with this id; raise KeyError."""
        for task in self.tasks:
            if task.id == task_id:
                return task
        raise KeyError(task_id)


# --------------------------------------------------------------------------------------- replies


@dataclass(frozen=True, slots=True)
class Replace:
    """New text for a node; for a whole file, of the file (which may not exist yet)."""

    node: NodeId
    source: str


@dataclass(frozen=True, slots=True)
class Insert:
    """New symbols: in the file or class `parent`, after `after` or beside their kin."""

    parent: NodeId
    source: str
    after: NodeId | None = None


@dataclass(frozen=True, slots=True)
class AddImport:
    """An import statement for the header of `path`; nothing when it is already there."""

    path: str
    statement: str


@dataclass(frozen=True, slots=True)
class Delete:
    """A node, a class with its members (``#all``), or a whole file to remove."""

    node: NodeId


Edit = Replace | Insert | AddImport | Delete


@dataclass(frozen=True, slots=True)
class Need:
    """A node that an agent was not granted, and why it asks."""

    node: NodeId
    write: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and money of one or more calls; `input` includes what came from a cache."""

    input: int = 0
    output: int = 0
    cached: int = 0
    calls: int = 0
    #: US dollars; None: no price is known.
    cost: float | None = 0.0
    #: Whether any figure is our estimate because the endpoint reported none.
    estimated: bool = False

    @property
    def cache_hit_rate(self) -> float:
        """The share of the input that came from a cache."""
        return round(self.cached / self.input, 4) if self.input else 0.0

    def __add__(self, other: Usage) -> Usage:
        known = self.cost is not None and other.cost is not None
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cached + other.cached,
            self.calls + other.calls,
            (self.cost or 0.0) + (other.cost or 0.0) if known else None,
            self.estimated or other.estimated,
        )


class ReplyStatus(StrEnum):
    """How an agent's turn ended."""

    EDITED = "edited"
    #: "No change required", asserted with a reason.
    UNCHANGED = "unchanged"
    #: It needs nodes that it was not granted.
    NEEDS = "needs"
    #: It will not or cannot, and says why.
    REFUSED = "refused"
    TRUNCATED = "truncated"
    #: The stream ended before the model said it was done.
    INCOMPLETE = "incomplete"
    EMPTY = "empty"
    MALFORMED = "malformed"
    #: The endpoint's content filter stopped it.
    FILTERED = "filtered"


@dataclass(frozen=True, slots=True)
class Reply:
    """What an agent answered, whole: stored before anything judges it."""

    status: ReplyStatus
    edits: tuple[Edit, ...] = ()
    needs: tuple[Need, ...] = ()
    reason: str = ""
    notes: str = ""
    usage: Usage = Usage()
    model: str = ""
    #: The text as it came, for the record; empty for agents that answer with nouns.
    raw: str = ""


# --------------------------------------------------------------------------------------- verdicts


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file that something is said about."""

    path: str
    line: int
    #: What stands there: ``f(a, b=1)``, ``class C``.
    text: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check saw."""

    #: Stable id of the check, as in ``mak/checks``.
    check: str
    node: NodeId
    #: One sentence: what is wrong, then what to do.
    message: str
    line: int = 0
    #: What the task would have to be granted for the finding to go away.
    needs: tuple[Need, ...] = ()
    #: The symbol that is missing, where it would have to be.
    provider: NodeId | None = None
    #: 1-based, in characters; 0: the line as a whole.
    column: int = 0
    #: The definitions that it disagrees with, most telling first.
    related: tuple[Place, ...] = ()
    #: The edited node that brought it about, where `node` itself was not edited.
    blame: NodeId | None = None


class TaskState(_Word):
    """Where a task stands."""

    PENDING = "pending"
    RUNNING = "running"
    #: Its edit is accepted and waits for the wave's commit.
    SETTLED = "settled"
    #: Committed, or accepted as needing no change.
    DONE = "done"
    FAILED = "failed"
    #: A task it depends on failed.
    SKIPPED = "skipped"


class RunState(StrEnum):
    """Where a run stands, and how it ended."""

    PLANNING = "planning"
    RUNNING = "running"
    DONE = "done"
    #: Some tasks failed; what landed stays.
    FAILED = "failed"
    #: A wave waits for a person: what it wants to write was edited meanwhile. Everything is kept.
    HELD = "held"
    #: A person said no at review.
    DECLINED = "declined"
    INTERRUPTED = "interrupted"


class RepairStop(StrEnum):
    """Why the repairs of a run stopped although something is left broken."""

    #: What was broken before a repair plan is what is broken after it.
    STALLED = "stalled"
    #: What was broken before an earlier repair plan is broken again.
    OSCILLATING = "oscillating"
    #: `repair.max_waves` are used up.
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """How one task ended."""

    state: TaskState
    attempts: int = 0
    reason: str = ""
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class WaveOutcome:
    """One commit: the tasks it holds, in plan order."""

    commit: str
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Spend:
    """What one question to an agent or planner took, answered or not."""

    #: Empty: planning.
    task: str
    #: Of the task, from 1; 0: planning.
    wave: int
    #: As the endpoint calls it, else the model spec.
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    run: str
    state: RunState
    #: Commit ids; empty where there is none (unborn branch).
    base: str
    head: str
    waves: tuple[WaveOutcome, ...] = ()
    tasks: Mapping[str, TaskOutcome] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    usage: Usage = Usage()
    #: Why it stopped short, in one line; empty when everything landed.
    reason: str = ""
    #: Why repairs stopped while `findings` are left; None: they did not have to.
    stopped: RepairStop | None = None
    #: What adds up to `usage`, in the order in which it was spent.
    spent: tuple[Spend, ...] = ()


# ------------------------------------------------------------------------------------- branches

#: How the branch of a worktree with a detached HEAD begins; its name would be nobody's.
DETACHED = "detached:"
#: How a planner's decision begins that leaves something to a person.
LEFT = "left to a person: "


def is_branch(ref: str) -> bool:
    """Whether a branch is one, and not a detached HEAD."""
    return not ref.startswith(DETACHED)


def branch_name(ref: str) -> str:
    """Return a branch as people write it."""
    return ref.removeprefix("refs/heads/") if is_branch(ref) else "a detached HEAD"
