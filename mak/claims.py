"""A run's claims on nodes against other processes: taken all or nothing, given up when done."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mak import events
from mak.model import TaskState
from mak.runlog import RunLog
from mak.schedule import Scheduler
from mak.store import Store


class Claims:
    """What the tasks of one plan hold in the branch's state."""

    def __init__(self, store: Store, log: RunLog, scheduler: Scheduler) -> None:
        self._store = store
        self._log = log
        self._scheduler = scheduler
        self._told: set[tuple[str, str, str]] = set()
        #: Tasks that hold claims for nothing: they failed, or changed nothing.
        self._done: list[str] = []
        self._held = False

    def take(self, tasks: Sequence[str]) -> Collection[str]:
        """Claim the locks of started tasks; set aside, and return, who is refused."""
        claims = {task: self._scheduler.locks(task) for task in tasks}
        refused = self._store.acquire(claims, done=self._done)
        self._done.clear()
        for task, held in refused.items():
            self._scheduler.external(task)
            self.tell_waiting(task, str(held.node), held.holder)
        self._held = self._held or len(refused) < len(tasks)
        return refused.keys()

    def drop(self, *tasks: str) -> None:
        """Note tasks that are done without a commit; their claims go with the next step."""
        self._done += tasks

    def settle(self) -> None:
        """Give up the claims of tasks that are done without a commit."""
        if self._done:
            self._store.release(self._done)
            self._done.clear()

    def let_go(self) -> None:
        """Give up all claims once nothing goes on here but waiting for another process.

        So that no two runs wait for each other. What is settled may become stale by that; then it
        is asked again.
        """
        if self._held and TaskState.RUNNING not in self._scheduler.states.values():
            self.release()

    def release(self) -> None:
        """Give up all claims."""
        self._store.release(tuple(self._scheduler.states))
        self._held = False

    def tell_waiting(self, task: str, node: str, holder: str) -> None:
        """Say once that a task waits for a node, and for whom."""
        if (task, node, holder) not in self._told:
            self._told.add((task, node, holder))
            self._log.emit(events.TaskWaiting(task, node, holder))
