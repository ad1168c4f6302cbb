"""A real workflow runner, offline, on documented workflows."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import git, write
from tests.material import fetch_for_action

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs/guides/github-action.md"
#: What the documented workflows name in place of a release.
ACTION = "mak-kernel/mak@" + "0" * 40

#: Of the new form; whoever prints it has failed.
TOKEN = f"ghs_77_{'a1-B_' * 8}.{'c2_D-' * 40}.{'e3F-_' * 12}"


def workflows() -> dict[str, str]:
    """Return the workflows of the guide by their file names."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    named = {re.match(r"# \.github/workflows/(\S+)\n", block): block for block in blocks}
    return {match[1]: block for match, block in named.items() if match}


class Runner:
    """A checkout with the documented workflows, and act to run them on events."""

    def __init__(self, folder: Path) -> None:
        """Work in a folder; the Action is a copy, as GitHub would have fetched it."""
        self.folder = folder
        self.checkout = folder / "checkout"
        self.action = folder / "action"
        self.temp = folder / "temp"
        for name in ("action", "mak"):
            skip = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, self.action / name, ignore=skip)
        shutil.copy(ROOT / "action.yml", self.action)
        for name in ("home", "temp"):
            (folder / name).mkdir()
        self.checkout.mkdir()
        git(self.checkout, "init", "-q", "-b", "main")
        self.commit({f".github/workflows/{name}": text for name, text in workflows().items()})

    def commit(self, files: Mapping[str, str]) -> None:
        """Commit files in the checkout."""
        write(self.checkout, files)
        git(self.checkout, "add", "-A")
        git(self.checkout, "commit", "-q", "-m", "work")

    def run(
        self,
        event: str,
        payload: Mapping[str, Any],
        workflow: str,
        token: str = TOKEN,
        job: str = "",
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:
        """Run a workflow on an event; what it is given besides is in its environment."""
        told = self.folder / "event.json"
        told.write_text(json.dumps(payload))
        act = [str(ROOT / ".venv/bin/act"), event, "--platform", "ubuntu-latest=-self-hosted"]
        act += ["--workflows", f".github/workflows/{workflow}", "--eventpath", str(told)]
        act += ["--no-cache-server", "--local-repository", f"{ACTION}={self.action}"]
        act += ["--secret", f"GITHUB_TOKEN={token}", *(("--job", job) if job else ())]
        # What is set up for one job serves the next one, which saves most of its time.
        environment = {"RUNNER_TEMP": str(self.temp), **environment}
        act += [word for pair in environment.items() for word in ("--env", "=".join(pair))]
        inherited = {
            "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}",
            "HOME": str(self.folder / "home"),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": fetch_for_action().as_uri(),
        }
        return subprocess.run(act, cwd=self.checkout, env=inherited, capture_output=True, text=True)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path / "runner")
