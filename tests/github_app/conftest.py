"""Queues on each database that the App can have."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from app.queue import Arrival
from mak.github.events import Wake


class Clock:
    """A time that a test moves on."""

    def __init__(self) -> None:
        self.time = 1_000_000.0

    def __call__(self) -> float:
        return self.time


def wake(delivery: str, number: int = 1, repository: int = 1) -> Wake:
    full_name = f"octo/{repository}"
    return Wake(9, repository, full_name, number, "issue_comment.created", delivery)


def arrival(delivery: str, number: int = 1, repository: int = 1, person: int = 5) -> Arrival:
    return Arrival(delivery, person, (wake(delivery, number, repository),))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'queue.db'}"


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Run a PostgreSQL of its own; return the URL of its server."""
    found = [str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))]
    found = found or [shutil.which("initdb") or ""]
    if not found[-1]:
        pytest.skip("no PostgreSQL is installed")
    programs = Path(found[-1]).parent
    # It does not run as root, and nobody else reaches the folders of pytest.
    folder = Path(tempfile.mkdtemp(prefix="mak-postgres-"))
    user: dict[str, str] = {}
    if os.geteuid() == 0:
        user = {"user": "nobody"}
        shutil.chown(folder, "nobody")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = folder / "data"
    initialize = [programs / "initdb", "-D", data, "-A", "trust", "-U", "mak", "--no-sync"]
    subprocess.run(initialize, check=True, capture_output=True, cwd=folder, **user)
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
    control = [programs / "pg_ctl", "-D", data, "-w", "-s"]
    start = [*control, "-l", folder / "log", "-o", options, "start"]
    subprocess.run(start, check=True, cwd=folder, stdout=subprocess.DEVNULL, **user)
    yield f"postgresql://mak@127.0.0.1:{port}"
    subprocess.run([*control, "-m", "fast", "stop"], check=True, cwd=folder, **user)
    shutil.rmtree(folder)


@pytest.fixture
def server_url(postgres: str) -> str:
    """Return the URL of an empty database in PostgreSQL."""
    name = f"q{secrets.token_hex(8)}"
    with psycopg.connect(f"{postgres}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{postgres}/{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """Return the URL of an empty database, of each kind in turn."""
    named = "file_url" if request.param == "sqlite" else "server_url"
    found: str = request.getfixturevalue(named)
    return found
