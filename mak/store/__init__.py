"""Git as the store: objects and refs, the lock table, the records of runs, the wave commits.

Bytes and hexadecimal ids go in and come out. The index and the working tree are only ever changed
by git's own plumbing, and refs are only ever created and moved.
"""

from mak.store.locks import Held, LockRow
from mak.store.store import Store
from mak.store.undo import Undone, undo
from mak.store.wave import Committed, Moved, WaveHeld, WaveWrite

__all__ = [
    "Committed",
    "Held",
    "LockRow",
    "Moved",
    "Store",
    "Undone",
    "WaveHeld",
    "WaveWrite",
    "undo",
]
