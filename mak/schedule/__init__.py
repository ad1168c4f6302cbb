"""Who runs next: locks, levels and a pure state machine over a plan."""

from mak.schedule.levels import levels
from mak.schedule.locks import Conflict, LockTable, locks_for, with_intentions
from mak.schedule.modes import compatible
from mak.schedule.scheduler import Scheduler, Wave

__all__ = [
    "Conflict",
    "LockTable",
    "Scheduler",
    "Wave",
    "compatible",
    "levels",
    "locks_for",
    "with_intentions",
]
