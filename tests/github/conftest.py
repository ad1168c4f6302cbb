"""A GitHub with one repository, an App installed in it, and people."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.support.fakegithub import FakeGitHub
from tests.support.fakegithub.world import App, Installation, Repository, User

PERMISSIONS = {
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "checks": "write",
    "actions": "write",
}
FILES = {"shop.py": "def total(items):\n    return sum(items)\n", "README.md": "# Shop\n"}


@functools.cache
def key_pair() -> tuple[str, str]:
    """Return a private key and its public one, as PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()


@pytest.fixture
def github(tmp_path: Path) -> Iterator[FakeGitHub]:
    """Serve a GitHub; whatever its own descriptions forbid fails the test."""
    with FakeGitHub(tmp_path / "github") as hub:
        yield hub
    assert hub.violations == []


@dataclass(eq=False)
class Shop:
    """A repository and who works on it."""

    repository: Repository
    alice: User
    app: App
    installation: Installation
    private_key: str


@pytest.fixture
def shop(github: FakeGitHub) -> Shop:
    """Make a repository that `alice` may write to, with an App installed."""
    repository = github.repository("octo/shop", FILES)
    alice = repository.allow("alice", "write")
    private, public = key_pair()
    app = github.world.app("mak", public, **PERMISSIONS)
    return Shop(repository, alice, app, github.world.install(app, repository), private)
