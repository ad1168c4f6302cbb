"""Who a wave's commit is by, and its signature when the person signs commits.

The author is the person, the committer MAK; where commits are signed the person is both, because
a signature is checked against the committer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pygit2

from mak.errors import StoreError
from mak.store.message import clean
from mak.store.repository import Repository

_KEYS = r"^(user|author)\.(name|email)$|^commit\.gpgsign$|^core\.hookspath$"
_UNFIT = re.compile(r"[\x00-\x1f\x7f<>]")


class Identity(NamedTuple):
    """A name and an address as they stand in a commit."""

    name: str
    email: str


MAK = Identity("MAK", "mak@localhost")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the person's Git configuration says about commits."""

    author: Identity
    signs: bool
    #: Where the repository's hooks are.
    hooks: Path


def settings(repository: Repository) -> Settings:
    """Read them with git, which knows of more sources than libgit2 does.

    Without a name and an address the author is MAK.
    """
    out = repository.git.run("config", "-z", "--get-regexp", _KEYS, check=False, hooks=True)
    values: dict[str, str] = {}
    for item in out.split(b"\0")[:-1]:
        key, separator, value = item.decode("utf-8", "replace").partition("\n")
        values[key] = value if separator else "true"
    name = _first("GIT_AUTHOR_NAME", values, "author.name", "user.name")
    email = _first("GIT_AUTHOR_EMAIL", values, "author.email", "user.email")
    folder = values.get("core.hookspath")
    hooks = repository.common_dir / "hooks"
    if folder:
        hooks = (repository.root or repository.git_dir) / Path(folder).expanduser()
    return Settings(
        author=Identity(name, email) if name and email else MAK,
        signs=values.get("commit.gpgsign", "").lower() in ("true", "yes", "on", "1"),
        hooks=hooks,
    )


def _first(variable: str, values: dict[str, str], *keys: str) -> str:
    for value in (os.environ.get(variable, ""), *(values.get(key, "") for key in keys)):
        fit = _UNFIT.sub("", value).strip(" .,:;\"'\\")
        if fit:
            return fit
    return ""


def commit(
    repository: Repository, given: Settings, tree: str, parents: Sequence[str], message: str
) -> str:
    """Write a commit, signed if the person's are; raise StoreError when that does not work."""
    message = clean(message)
    if given.signs:
        return _signed(repository, given.author, tree, parents, message)
    author, committer = pygit2.Signature(*given.author), pygit2.Signature(*MAK)
    handle = repository.handle
    return str(
        repository.write(
            "commit",
            lambda: handle.create_commit(None, author, committer, message, tree, list(parents)),
        )
    )


def _signed(
    repository: Repository, by: Identity, tree: str, parents: Sequence[str], message: str
) -> str:
    env = {
        "GIT_AUTHOR_NAME": by.name,
        "GIT_AUTHOR_EMAIL": by.email,
        "GIT_COMMITTER_NAME": by.name,
        "GIT_COMMITTER_EMAIL": by.email,
    }
    given = [argument for parent in parents for argument in ("-p", parent)]
    done = repository.git.attempt(
        "commit-tree", "-S", *given, "-F", "-", tree, input=message.encode(), env=env
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().replace("\n", "; ")
        raise StoreError(
            f"signing the commit: {said}",
            hint="commit.gpgsign is set: try git commit --allow-empty -S, or unset it here",
        )
    return done.stdout.decode().strip()
