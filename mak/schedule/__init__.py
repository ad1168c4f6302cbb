"""Who runs next: locks, levels and a pure state machine over a plan."""

from mak.schedule.forecast import Forecast, forecast
from mak.schedule.levels import levels
from mak.schedule.locks import Conflict, Locker, LockTable, exclude, locks_for, with_intentions
from mak.schedule.modes import compatible
from mak.schedule.scheduler import PATIENCE, Scheduler, Wave

__all__ = [
    "PATIENCE",
    "Conflict",
    "Forecast",
    "LockTable",
    "Locker",
    "Scheduler",
    "Wave",
    "compatible",
    "exclude",
    "forecast",
    "levels",
    "locks_for",
    "with_intentions",
]
