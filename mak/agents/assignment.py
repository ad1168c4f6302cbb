"""What an agent is given and how it answers: the seam between the kernel and whoever edits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mak.model import NodeId, Reply, ReplyStatus, Task, Usage

if TYPE_CHECKING:
    from mak.source.tree import Sources


@dataclass(frozen=True, slots=True)
class Slot:
    """A granted node under the short name by which a reply refers to it."""

    #: ``n1``, ``n2``, …, in the order of the task's writes, then its creates.
    name: str
    #: What an edit of this slot names: a node, ``C#all``, or a file; never ``#api``.
    node: NodeId
    #: The node's text; empty for one to be created.
    source: str
    exists: bool
    #: Whether the task may change the signature too.
    api: bool = False
    #: The class that the node is, or lies in.
    owner: NodeId | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """One attempt at one task, with everything that the agent is shown."""

    run: str
    task: Task
    #: 1 for the first.
    attempt: int
    request: str
    decisions: tuple[str, ...]
    slots: tuple[Slot, ...]
    #: What it only sees: text, or signature where the text is too long.
    reads: tuple[tuple[NodeId, str], ...]
    #: Goals of the run's other tasks.
    peers: tuple[str, ...]
    #: Why the attempt before this one was turned down; empty on the first.
    retry: str
    #: What was turned down.
    draft: Reply | None
    #: The tree that the wave is built on.
    sources: Sources
    #: The same with what tasks of the wave have changed so far; the slots show its text.
    current: Sources
    #: Upper bound for the answer, in tokens.
    max_output: int = 32_768
    #: Imports and signatures of each file that holds a slot: path and text.
    outlines: tuple[tuple[str, str], ...] = ()
    #: For an attempt that was turned down: what is shown and others have changed, as diffs.
    meanwhile: tuple[tuple[NodeId, str], ...] = ()

    def slot(self, name: str) -> Slot | None:
        """Return the slot with this name, if there is one."""
        return next((slot for slot in self.slots if slot.name == name), None)


class Agent(Protocol):
    """Somebody who answers assignments, several at once."""

    #: The model spec that opened it, as the person wrote it.
    spec: str
    #: Whether it answers the same to the same assignment, so that asking again is no use.
    is_steady: bool

    async def answer(self, assignment: Assignment) -> Reply:
        """Return what to do, or why not; raise `NoAnswer` (an `AgentError`) for no answer."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """What a planner model answered; `status` is `EDITED` when `text` is a whole answer."""

    text: str
    status: ReplyStatus
    usage: Usage
    model: str
    #: What the endpoint said about a refusal or a filter.
    detail: str = ""


#: What the planner of one request is told every time, and what besides.
Told = Callable[[], tuple[str, str]]
#: ``await ask(system, told, schema, request)``; raises `NoAnswer`. `told` is called by planners
#: that read the repository from it; `request` is the person's own words, for those that read
#: nothing else.
Ask = Callable[[str, Told, Mapping[str, Any], str], Awaitable[Asked]]
