"""The cache: what comes back was put, and nothing depends on it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mak.store.cache import SqliteCache
from tests.store.writers import fill_cache, started

Opened = Callable[..., SqliteCache]


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Open caches; all are closed at the end."""
    caches: list[SqliteCache] = []

    def open_cache(path: Path | None, **options: int) -> SqliteCache:
        caches.append(SqliteCache(path, **options))
        return caches[-1]

    yield open_cache
    for cache in caches:
        cache.close()


def test_values_are_shared_and_kept(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "mak/cache.sqlite"
    one = opened(path)
    one.put_many("cut", {"a": b"1", "b": b"\0" * 5000})
    one.put_many("cut", {"a": b"2"})
    one.put_many("names", {"a": b"3"})
    other = opened(path)
    assert other.get_many("cut", ["a", "b", "c"]) == {"a": b"2", "b": b"\0" * 5000}
    assert other.get_many("names", ["a", "b"]) == {"a": b"3"}
    assert other.get_many("cut", []) == {}


def test_more_keys_than_a_statement_takes(opened: Opened, tmp_path: Path) -> None:
    cache = opened(tmp_path / "c.sqlite")
    values = {f"k{i}": b"%d" % i for i in range(5000)}
    cache.put_many("cut", values)
    assert cache.get_many("cut", [*values, "none"]) == values


# I5
@pytest.mark.parametrize(
    "content", [b"not a database", b"SQLite format 3\0" + b"\xff" * 4000, b"\0" * 4096]
)
def test_a_broken_file_is_replaced(opened: Opened, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "c.sqlite"
    path.write_bytes(content)
    cache = opened(path)
    assert cache.get_many("cut", ["a"]) == {}
    cache.put_many("cut", {"a": b"1"})
    assert opened(path).get_many("cut", ["a"]) == {"a": b"1"}


def test_a_file_that_breaks_while_it_is_open_is_replaced(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    cache = opened(path)
    cache.put_many("cut", {f"k{i}": b"x" * 500 for i in range(500)})
    cache.close()
    data = bytearray(path.read_bytes())
    data[4096 : len(data)] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)
    assert cache.get_many("cut", [f"k{i}" for i in range(500)]) == {}
    cache.put_many("cut", {"a": b"1"})
    assert cache.get_many("cut", ["a"]) == {"a": b"1"}


def test_a_value_that_is_not_what_was_put_does_not_come_back(
    opened: Opened, tmp_path: Path
) -> None:
    path = tmp_path / "c.sqlite"
    cache = opened(path)
    cache.put_many("cut", {"a": b"1", "b": b"2"})
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE item SET value = ? WHERE key = 'a'", (b"9",))
    raw.close()
    assert cache.get_many("cut", ["a", "b"]) == {"b": b"2"}


def test_a_file_of_another_version_is_replaced(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE item (other)")
        raw.execute("PRAGMA user_version = 99")
    raw.close()
    cache = opened(path)
    cache.put_many("cut", {"a": b"1"})
    assert opened(path).get_many("cut", ["a"]) == {"a": b"1"}


# I5
def test_a_place_that_cannot_be_written_is_done_without(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = opened(tmp_path / "file" / "c.sqlite")
    assert cache.get_many("cut", ["a"]) == {}
    cache.put_many("cut", {"a": b"1"})
    assert cache.get_many("cut", ["a"]) == {"a": b"1"}


def test_without_a_file_it_remembers_for_itself(opened: Opened) -> None:
    cache = opened(None)
    cache.put_many("cut", {"a": b"1"})
    assert cache.get_many("cut", ["a", "b"]) == {"a": b"1"}
    assert cache.get_many("other", ["a"]) == {}


def test_it_stays_within_its_size(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    cache = opened(path, limit=2_000_000)
    for batch in range(20):
        cache.put_many("cut", {f"{batch}.{i}": b"x" * 1000 for i in range(500)})
    assert cache.get_many("cut", ["19.499"])
    assert not cache.get_many("cut", ["0.0"])
    cache.close()
    assert path.stat().st_size < 4_000_000


def test_threads_have_connections_of_their_own(opened: Opened, tmp_path: Path) -> None:
    cache = opened(tmp_path / "c.sqlite")
    cache.put_many("cut", {"a": b"1"})
    found: list[dict[str, bytes]] = []

    def look() -> None:
        found.append(cache.get_many("cut", ["a"]))
        cache.close()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [{"a": b"1"}]


def test_processes_that_fill_it_and_are_killed_do_no_harm(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    running = [started(fill_cache, path, n) for n in range(4)]
    for process in running[:2]:
        process.join(0.1)
        process.kill()
    for process in running[2:]:
        process.join()
        assert process.exitcode == 0
    cache = opened(path)
    expected = {f"{n}.{i}": b"%d" % i for n in (2, 3) for i in range(60)}
    assert cache.get_many("cut", [*expected]) == expected
