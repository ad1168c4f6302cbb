"""How contended a repository is: its history as changes, the nodes they touch, where they meet.

`history` reads landed changes with Git, `mapping` says which nodes a change touches, `contention`
counts where changes meet and replays them in waves, `statistics` says how sure that is. Only
`history` does I/O; nothing is downloaded and nothing is written.
"""

from mak.study.contention import Footprint, Grain, Meetings, footprint, meetings, rounds, worth
from mak.study.history import Blobs, Change, FileDiff, History, Hunk, read_history
from mak.study.mapping import Touch, touches

__all__ = [
    "Blobs",
    "Change",
    "FileDiff",
    "Footprint",
    "Grain",
    "History",
    "Hunk",
    "Meetings",
    "Touch",
    "footprint",
    "meetings",
    "read_history",
    "rounds",
    "touches",
    "worth",
]
