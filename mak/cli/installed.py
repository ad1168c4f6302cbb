"""How this MAK came here, what is newer where it came from, and what fetches that.

The record of an installation (``direct_url.json``, PEP 610) says where it came from, and uv leaves
a receipt in the environments that it makes for tools.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import metadata
from pathlib import Path

from mak import __version__
from mak.errors import MakError

PACKAGE = "mak-kernel"
#: Seconds for a look at the repository.
PATIENCE = 20
#: A release; what comes before one (``v1.0.0rc1``) is none.
_RELEASE = re.compile(r"refs/tags/(?P<tag>v?(?P<version>\d+(?:\.\d+)*))(?P<peeled>\^\{\})?")


class By(Enum):
    """What installed it."""

    UV = "uv tool"
    CHECKOUT = "a checkout"
    PIP = "pip"


@dataclass(frozen=True, slots=True)
class Installed:
    """One installation."""

    by: By
    version: str = __version__
    #: The repository that it was installed from; empty: from a package index.
    url: str = ""
    #: The folder of a checkout.
    folder: str = ""
    commit: str = ""

    def __str__(self) -> str:
        commit = f" ({self.commit[:10]})" if self.commit else ""
        if self.by is By.CHECKOUT:
            return f"MAK {self.version}, from the checkout in {self.folder}"
        return f"MAK {self.version}{commit}, installed by {self.by.value}"


@dataclass(frozen=True, slots=True)
class Newest:
    """What is newest; empty where nobody can be asked."""

    #: A tag, or ``main``.
    name: str = ""
    commit: str = ""

    def is_in(self, here: Installed) -> bool:
        """Whether it is what is installed."""
        return bool(self.commit) and self.commit == here.commit


def look(prefix: Path | None = None) -> Installed:
    """Return how the running MAK was installed; `prefix` is the environment's folder."""
    prefix = Path(sys.prefix) if prefix is None else prefix
    text = metadata.distribution(PACKAGE).read_text("direct_url.json")
    record = json.loads(text) if text else {}
    url = str(record.get("url", ""))
    if record.get("dir_info", {}).get("editable"):
        return Installed(By.CHECKOUT, folder=url.removeprefix("file://"))
    by = By.UV if (prefix / "uv-receipt.toml").is_file() else By.PIP
    is_git = record.get("vcs_info", {}).get("vcs") == "git"
    commit = record["vcs_info"].get("commit_id", "") if is_git else ""
    return Installed(by, url=url if is_git else "", commit=commit)


def newest(here: Installed) -> Newest:
    """Return the newest release of the repository, else the tip of main; nothing without one."""
    if not here.url:
        return Newest()
    rows = [line.split("\t", 1) for line in _remote_refs(here.url)]
    refs = {name: commit for commit, name in rows}
    releases: dict[tuple[int, ...], tuple[str, str]] = {}
    for name, commit in refs.items():
        if match := _RELEASE.fullmatch(name):
            version = tuple(map(int, match["version"].split(".")))
            # An annotated tag is listed twice; the peeled one names the commit.
            if match["peeled"] or version not in releases:
                releases[version] = match["tag"], commit
    if releases:
        return Newest(*releases[max(releases)])
    return Newest("main", refs.get("refs/heads/main", ""))


def _remote_refs(url: str) -> list[str]:
    command = ["git", "ls-remote", "--", url, "refs/heads/main", "refs/tags/*"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise MakError("looking for updates: git is not there", hint="install git") from None
    except subprocess.TimeoutExpired:
        raise MakError(f"looking for updates at {url}: no answer in {PATIENCE} s") from None
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or ["git ls-remote went wrong"]
        raise MakError(f"looking for updates at {url}: {reason[0]}")
    return done.stdout.splitlines()


def command(here: Installed, newest: Newest) -> list[str]:
    """Return what updates this installation."""
    source = f"{PACKAGE} @ git+{here.url}@{newest.name}" if here.url else PACKAGE
    match here.by:
        case By.CHECKOUT:
            return ["git", "-C", here.folder, "pull"]
        case By.UV if here.url:
            return ["uv", "tool", "install", "--force", source]
        case By.UV:
            return ["uv", "tool", "upgrade", PACKAGE]
        case By.PIP:
            return [sys.executable, "-m", "pip", "install", "--upgrade", source]


def carry_out(command: Sequence[str]) -> bool:
    """Run the update in front of the person; return whether it worked."""
    try:
        return subprocess.run(command).returncode == 0
    except FileNotFoundError:
        raise MakError(
            f"updating: {command[0]} is not on the path", hint=f"run: {shlex.join(command)}"
        ) from None
