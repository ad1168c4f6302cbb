"""What the tasks of a plan lock, by what the nodes are that they write.

Two tasks that write one node exclude each other, unless the node only grows (its syntax says so,
never the plan): then both append to it, from the same text, and the merge of their edits finds
what does not go together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial

from mak.model import Aspect, Lock, Locking, Mode, NodeId, Task
from mak.schedule import Locker, locks_for, with_intentions
from mak.source import Sources, appendable


def locker(tasks: Iterable[Task], sources: Sources, locking: Locking = Locking.APPEND) -> Locker:
    """Return what says what a task locks, beside the other `tasks` on these sources."""
    if locking is Locking.FILE:
        return _files
    if locking is Locking.NODE:
        return locks_for
    return partial(locks_for, appends=_appends(tasks, sources))


def _appends(tasks: Iterable[Task], sources: Sources) -> frozenset[NodeId]:
    """Return the nodes that several tasks write and that only grow."""
    wanted = Counter(
        node
        for task in tasks
        for node in dict.fromkeys(task.writes)
        if node.aspect is Aspect.TEXT and not node.is_file
    )
    return frozenset(
        node
        for node, count in wanted.items()
        if count > 1
        and node.path in sources
        and appendable(sources.file(node.path), node) is not None
    )


def _files(task: Task) -> tuple[Lock, ...]:
    """Return locks on whole files, for comparison."""
    written = {node.file for node in (*task.writes, *task.creates)}
    read = {node.file for node in task.reads} - written
    return with_intentions([*(Lock(n, Mode.X) for n in written), *(Lock(n, Mode.S) for n in read)])
