"""Wakes that wait to be worked off, in a database that survives whatever happens to processes.

SQLite by default; PostgreSQL, by its URL, for several workers on several machines. A delivery is
kept once, however often it comes. Wakes of one issue are worked off one after the other, in the
order in which they came; each at least once: what a dead worker had in hand is due again when its
lease ends.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from mak.errors import UsageError
from mak.github.events import Press, Wake
from mak.github.redaction import redact
from mak.providers import secrets

DAY = 86400.0
#: GitHub can send a delivery again for three days; it is known for longer than that.
_REMEMBERED = 4 * DAY
#: How long what could not be worked off is kept for whoever looks for it.
_KEPT = 30 * DAY
#: A lease is renewed three times before it ends.
LEASE = 60.0
#: After so many attempts a wake is put aside: it may be what kills the workers.
ATTEMPTS = 5
#: Seconds before the next attempt, doubled each time.
_BACKOFF = 5.0
#: How many of those that are due are looked at for some that limits allow.
_LOOKED_AT = 64

_METADATA = sa.MetaData()
_DELIVERIES = sa.Table(
    "deliveries",
    _METADATA,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("at", sa.Float, nullable=False, index=True),
)
_WAKES = sa.Table(
    "wakes",
    _METADATA,
    # SQLite numbers rows itself only where the type is INTEGER.
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("delivery", sa.String(64), nullable=False),
    sa.Column("installation", sa.BigInteger, nullable=False),
    sa.Column("repository", sa.BigInteger, nullable=False),
    sa.Column("full_name", sa.String(300), nullable=False),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("kind", sa.String(100), nullable=False),
    sa.Column("press", sa.JSON(none_as_null=True), nullable=True),
    # Who caused it.
    sa.Column("person", sa.BigInteger, nullable=False, index=True),
    sa.Column("came", sa.Float, nullable=False),
    # Nobody takes it before: its lease, or the wait before another attempt.
    sa.Column("due", sa.Float, nullable=False),
    sa.Column("owner", sa.String(64), nullable=True),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("failed", sa.Boolean, nullable=False),
    sa.Column("error", sa.Text, nullable=False),
    sa.Index("wakes_by_place", "repository", "number", "id"),
)
_WAKE = [_WAKES.c[name] for name in Wake.__dataclass_fields__]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much there may be of what."""

    #: Wakes that wait or are worked off.
    all: int = 100_000
    of_repository: int = 5_000
    of_person: int = 1_000
    #: Worked off at the same time.
    running_of_repository: int = 4
    running_of_person: int = 4


@dataclass(frozen=True, slots=True)
class Arrival:
    """One delivery."""

    delivery: str
    #: The number of whoever caused it.
    person: int
    wakes: tuple[Wake, ...]


class Put(StrEnum):
    """What became of a delivery. The last two are kept nowhere: it has to come again."""

    QUEUED = "queued"
    DUPLICATE = "duplicate"
    LIMITED = "limited"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Taken:
    """A wake in a worker's hands until its lease ends."""

    id: int
    wake: Wake
    #: Which attempt this is, from 1.
    attempt: int
    owner: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How many wakes there are."""

    waiting: int
    running: int
    failed: int


class Queue:
    """The queue; every method is one transaction, and safe to call from any thread."""

    def __init__(
        self, url: str, limits: Limits | None = None, now: Callable[[], float] = time.time
    ) -> None:
        """Open it, and make what is missing of it.

        Raises `UsageError` for a URL that is none, or a database that cannot be reached.
        """
        self._limits, self._now = limits or Limits(), now
        place = _place(url)
        doing = f"opening the queue {place.render_as_string()}"
        try:
            # A shared database of SQLite has one writer at a time; it waits for its turn.
            options = {"timeout": 30.0} if place.get_backend_name() == "sqlite" else {}
            self._engine = sa.create_engine(place, connect_args=options, pool_pre_ping=True)
            if place.get_backend_name() == "sqlite":
                sa.event.listen(self._engine, "connect", _prepare_sqlite)
                sa.event.listen(self._engine, "begin", _begin_sqlite)
            _METADATA.create_all(self._engine)
        except ImportError as error:
            hint = "install psycopg: pip install 'psycopg[binary]'"
            raise UsageError(f"{doing}: {error}", hint=hint) from error
        except SQLAlchemyError as error:
            reason = redact(str(getattr(error, "orig", None) or error))
            hint = "MAK_APP_QUEUE is sqlite:////folder/file or postgresql://user@host/database"
            raise UsageError(f"{doing}: {reason}", hint=hint) from error

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    # -------------------------------------------------------------------------------- bringing

    def put(self, arrivals: Sequence[Arrival]) -> list[Put]:
        """Keep deliveries, all in one transaction; say of each what became of it."""
        now = self._now()
        with self._engine.begin() as connection:
            known = set(
                connection.scalars(
                    sa.select(_DELIVERIES.c.id).where(
                        _DELIVERIES.c.id.in_({one.delivery for one in arrivals})
                    )
                )
            )
            room = _Room(connection, self._limits, arrivals)
            made: list[Put] = []
            new: dict[str, Arrival] = {}
            for one in arrivals:
                if one.delivery in known or one.delivery in new:
                    made.append(Put.DUPLICATE)
                    continue
                made.append(room.take(one))
                if made[-1] is Put.QUEUED:
                    new[one.delivery] = one
            ours = self._keep(connection, [{"id": name, "at": now} for name in new])
            rows = [
                _row(wake, one.person, now)
                for name, one in new.items()
                if name in ours
                for wake in one.wakes
            ]
            if rows:
                connection.execute(_WAKES.insert(), rows)
        # Another process may have been faster.
        return [
            Put.DUPLICATE if put is Put.QUEUED and one.delivery not in ours else put
            for one, put in zip(arrivals, made, strict=True)
        ]

    def _keep(self, connection: sa.Connection, rows: list[dict[str, object]]) -> set[str]:
        if not rows:
            return set()
        dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
        insert = dialect.insert(_DELIVERIES).on_conflict_do_nothing()
        return set(connection.scalars(insert.returning(_DELIVERIES.c.id), rows))

    # -------------------------------------------------------------------------------- working

    def take(self, owner: str, most: int = 1) -> list[Taken]:
        """Take what is due, the oldest of each place, up to a number and within limits."""
        now = self._now()
        with self._engine.connect().execution_options(reads=True) as connection:
            running = connection.execute(
                sa.select(_WAKES.c.repository, _WAKES.c.person).where(
                    _WAKES.c.owner.is_not(None), _WAKES.c.due > now, ~_WAKES.c.failed
                )
            ).all()
            repositories = Counter(row.repository for row in running)
            people = Counter(row.person for row in running)
            due = connection.execute(
                _due(now)
                .where(_WAKES.c.repository.not_in(self._busy(repositories)))
                .where(_WAKES.c.person.not_in(self._busy(people, of_people=True)))
            ).all()
        if not due:
            return []
        taken: list[Taken] = []
        with self._engine.begin() as connection:
            for row in due:
                if len(taken) == most:
                    break
                if (
                    repositories[row.repository] >= self._limits.running_of_repository
                    or people[row.person] >= self._limits.running_of_person
                ):
                    continue
                if row.attempts >= ATTEMPTS:
                    error = row.error or "its workers died"
                    self._change(connection, row, failed=True, owner=None, error=error)
                    continue
                claim = {"owner": owner, "due": now + LEASE, "attempts": row.attempts + 1}
                if not self._change(connection, row, **claim):
                    continue
                repositories[row.repository] += 1
                people[row.person] += 1
                told = {column.name: row._mapping[column] for column in _WAKE}
                press = Press(**told["press"]) if told["press"] else None
                wake = Wake(**{**told, "press": press})
                taken.append(Taken(row.id, wake, row.attempts + 1, owner))
        return taken

    def _busy(self, running: Counter[int], *, of_people: bool = False) -> list[int]:
        limits = self._limits
        most = limits.running_of_person if of_people else limits.running_of_repository
        return [one for one, count in running.items() if count >= most]

    def _change(
        self, connection: sa.Connection, row: sa.Row[tuple[object, ...]], **values: object
    ) -> bool:
        """Change a wake unless somebody else has."""
        same = (_WAKES.c.id == row.id) & (_WAKES.c.due == row.due) & ~_WAKES.c.failed
        return connection.execute(_WAKES.update().where(same).values(values)).rowcount == 1

    def renew(self, owner: str) -> int:
        """Make the leases of a worker longer; return how many it has."""
        mine = (_WAKES.c.owner == owner) & ~_WAKES.c.failed
        with self._engine.begin() as connection:
            due = self._now() + LEASE
            return connection.execute(_WAKES.update().where(mine).values(due=due)).rowcount

    def done(self, taken: Taken) -> bool:
        """Forget what was worked off; False when the lease had ended and another one has it."""
        with self._engine.begin() as connection:
            return connection.execute(_WAKES.delete().where(_held(taken))).rowcount == 1

    def again(self, taken: Taken, error: str) -> bool:
        """Have it worked off once more, later; False when that was the last attempt."""
        last = taken.attempt >= ATTEMPTS
        due = self._now() + _BACKOFF * 2 ** (taken.attempt - 1)
        values = {"owner": None, "failed": last, "due": due, "error": redact(error)[:2000]}
        with self._engine.begin() as connection:
            connection.execute(_WAKES.update().where(_held(taken)).values(values))
        return not last

    def release(self, owner: str) -> int:
        """Give back at once what a worker has in hand; that attempt does not count."""
        values = {"owner": None, "due": self._now(), "attempts": _WAKES.c.attempts - 1}
        with self._engine.begin() as connection:
            mine = _WAKES.update().where(_WAKES.c.owner == owner, ~_WAKES.c.failed)
            return connection.execute(mine.values(values)).rowcount

    # -------------------------------------------------------------------------------- looking

    def counts(self) -> Counts:
        """Return how many wakes there are."""
        now = self._now()
        running = _WAKES.c.owner.is_not(None) & (_WAKES.c.due > now) & ~_WAKES.c.failed
        with self._engine.connect().execution_options(reads=True) as connection:
            row = connection.execute(
                sa.select(
                    sa.func.count(),
                    sa.func.count().filter(running),
                    sa.func.count().filter(_WAKES.c.failed),
                ).select_from(_WAKES)
            ).one()
        return Counts(row[0] - row[1] - row[2], row[1], row[2])

    def prune(self) -> None:
        """Forget deliveries that GitHub cannot send again, and failures that nobody looked for."""
        now = self._now()
        with self._engine.begin() as connection:
            connection.execute(_DELIVERIES.delete().where(_DELIVERIES.c.at < now - _REMEMBERED))
            old = _WAKES.c.failed & (_WAKES.c.came < now - _KEPT)
            connection.execute(_WAKES.delete().where(old))


class _Room:
    """What limits leave, counted once for a batch."""

    def __init__(
        self, connection: sa.Connection, limits: Limits, arrivals: Iterable[Arrival]
    ) -> None:
        wakes = [wake for one in arrivals for wake in one.wakes]
        open_ = sa.select(sa.func.count()).select_from(_WAKES).where(~_WAKES.c.failed)
        self._limits = limits
        self._all = connection.scalar(open_) or 0

        def counted(column: sa.Column[int], ids: set[int]) -> Counter[int]:
            query = sa.select(column, sa.func.count()).where(column.in_(ids), ~_WAKES.c.failed)
            return Counter({row[0]: row[1] for row in connection.execute(query.group_by(column))})

        self._repositories = counted(_WAKES.c.repository, {wake.repository for wake in wakes})
        self._people = counted(_WAKES.c.person, {one.person for one in arrivals})

    def take(self, one: Arrival) -> Put:
        count = len(one.wakes)
        if self._all + count > self._limits.all:
            return Put.FULL
        mine = Counter(wake.repository for wake in one.wakes)
        most = self._limits.of_repository
        if self._people[one.person] + count > self._limits.of_person or any(
            self._repositories[repository] + more > most for repository, more in mine.items()
        ):
            return Put.LIMITED
        self._all += count
        self._people[one.person] += count
        self._repositories.update(mine)
        return Put.QUEUED


def _due(now: float) -> sa.Select[Any]:
    """Select those that are due and have none before them at their place, the oldest first."""
    before = _WAKES.alias("before")
    earlier = sa.exists().where(
        before.c.repository == _WAKES.c.repository,
        before.c.number == _WAKES.c.number,
        before.c.id < _WAKES.c.id,
        ~before.c.failed,
    )
    due = sa.select(_WAKES).where(~_WAKES.c.failed, _WAKES.c.due <= now, ~earlier)
    return due.order_by(_WAKES.c.id).limit(_LOOKED_AT)


def _row(wake: Wake, person: int, now: float) -> dict[str, object]:
    fresh = {"owner": None, "attempts": 0, "failed": False, "error": ""}
    return {**asdict(wake), "person": person, "came": now, "due": now, **fresh}


def _held(taken: Taken) -> sa.ColumnElement[bool]:
    mine = (_WAKES.c.id == taken.id) & (_WAKES.c.owner == taken.owner)
    return mine & (_WAKES.c.attempts == taken.attempt)


def _place(text: str) -> URL:
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise UsageError("opening the queue: MAK_APP_QUEUE is no URL") from error
    secrets.keep(str(url.password or ""))
    if url.drivername in ("postgres", "postgresql"):
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise UsageError(
            f"opening the queue: {url.drivername} is neither sqlite nor postgresql",
            hint="SQLite for one machine, PostgreSQL for several",
        )
    return url


def _prepare_sqlite(connection: Any, _: object) -> None:
    # Transactions are begun below, not by the driver; a commit is on the disk when it returns.
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _begin_sqlite(connection: sa.Connection) -> None:
    # Who reads first and then writes could find that somebody wrote in between.
    reads = connection.get_execution_options().get("reads")
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
