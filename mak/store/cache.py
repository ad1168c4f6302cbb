"""What was computed from blobs, in an SQLite file beside the objects: lost at no cost.

Invariant: nothing depends on it. A file that cannot be read is replaced, one that cannot be written
is done without, and a value that comes back is the value that was put.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

#: Bytes of values that are kept; beyond, what was not asked for longest goes first.
LIMIT = 512 * 1024 * 1024

#: Part of the schema: a file with another number is replaced.
_VERSION = 1

_SCHEMA = f"""
PRAGMA user_version = {_VERSION};
CREATE TABLE item (
    kind TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, sum INTEGER NOT NULL,
    day INTEGER NOT NULL, PRIMARY KEY (kind, key)
);
CREATE INDEX item_day ON item (day);
"""

#: Variables in one statement; SQLite before 3.32 allows 999.
_BATCH = 900
#: Seconds to wait for another process; after that we do without.
_WAIT = 2.0


class SqliteCache:
    """A cache by kind and key that processes share. Without a path it is in memory."""

    def __init__(self, path: Path | None, *, limit: int = LIMIT) -> None:
        self._path = path
        self._limit = limit
        self._local = threading.local()
        self._memory: dict[tuple[str, str], bytes] | None = {} if path is None else None

    def get_many(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Return what is known for these keys."""
        if self._memory is not None:
            return {k: self._memory[kind, k] for k in keys if (kind, k) in self._memory}
        return self._tried(lambda connection: _get(connection, kind, keys), {})

    def put_many(self, kind: str, items: Mapping[str, bytes]) -> None:
        """Remember values; what was there is replaced."""
        if self._memory is not None:
            self._memory.update({(kind, key): value for key, value in items.items()})
        elif items:
            self._tried(lambda connection: _put(connection, kind, items, self._limit), None)

    def close(self) -> None:
        """Close this thread's connection."""
        owner, connection = getattr(self._local, "open", (0, None))
        self._local.open = (0, None)
        if connection is not None and owner == os.getpid():
            with suppress(sqlite3.Error):
                connection.close()

    def _tried(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        for attempt in range(2):
            try:
                return work(self._connection())
            except sqlite3.OperationalError as error:
                # Busy, full or read-only: the next call may have more luck.
                if "no such table" not in str(error) and "disk I/O" not in str(error):
                    return otherwise
                self._replace()
            except sqlite3.DatabaseError:
                self._replace()
            except OSError:
                break
            if attempt:
                break
        self._memory = {}
        return otherwise

    def _connection(self) -> sqlite3.Connection:
        owner, connection = getattr(self._local, "open", (0, None))
        if connection is None or owner != os.getpid():
            assert self._path is not None
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = _connect(self._path)
            self._local.open = os.getpid(), connection
        return connection

    def _replace(self) -> None:
        """Forget the file; the next connection makes a new one."""
        self.close()
        assert self._path is not None
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_WAIT, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, _VERSION):
            raise sqlite3.DatabaseError(f"cache version {version}")
        if version == 0:
            connection.executescript(f"BEGIN IMMEDIATE;{_SCHEMA}COMMIT;")
    except sqlite3.OperationalError as error:
        # Another process made the table between our look and our lock.
        if "already exists" not in str(error):
            connection.close()
            raise
        connection.rollback()
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def _get(connection: sqlite3.Connection, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    today = _today()
    old = []
    for start in range(0, len(keys), _BATCH):
        batch = keys[start : start + _BATCH]
        marks = ",".join("?" * len(batch))
        rows = connection.execute(
            f"SELECT key, value, sum, day FROM item WHERE kind = ? AND key IN ({marks})",
            (kind, *batch),
        )
        for key, value, checksum, day in rows:
            if zlib.crc32(value) == checksum:
                found[key] = value
                if day != today:
                    old.append((today, kind, key))
    if old:
        with suppress(sqlite3.OperationalError):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("UPDATE item SET day = ? WHERE kind = ? AND key = ?", old)
            connection.execute("COMMIT")
    return found


def _put(connection: sqlite3.Connection, kind: str, items: Mapping[str, bytes], limit: int) -> None:
    today = _today()
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.executemany(
            "INSERT OR REPLACE INTO item VALUES (?, ?, ?, ?, ?)",
            [(kind, key, value, zlib.crc32(value), today) for key, value in items.items()],
        )
        _shrink(connection, limit)
        connection.execute("COMMIT")
    except sqlite3.Error:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _shrink(connection: sqlite3.Connection, limit: int) -> None:
    """Remove the values that were not asked for longest when the file is over the limit."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    while (pages - free) * size > limit:
        removed = connection.execute(
            "DELETE FROM item WHERE rowid IN (SELECT rowid FROM item ORDER BY day, rowid LIMIT 500)"
        ).rowcount
        if not removed:
            return
        free = connection.execute("PRAGMA freelist_count").fetchone()[0]


def _today() -> int:
    return int(time.time() // 86400)
