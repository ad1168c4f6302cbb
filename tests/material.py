"""Real packages from the package index, as material: Django, and what it needs to be imported.

``python tests/material.py`` downloads what is missing of ``tests/material.txt`` into ``.material``;
``python tests/material.py FOLDER`` also makes a Git repository of Django's source in FOLDER.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PINS = Path(__file__).with_name("material.txt")
FOLDER = Path(__file__).parent.parent / ".material"
#: Two thirds of Django's files are message catalogues; they only take time.
LEFT_OUT = "/LC_MESSAGES/"


def fetch() -> dict[str, Path]:
    """Return the wheels by package name; download those that are not there, whole and unchanged.

    Raises `CalledProcessError` when pip cannot.
    """
    pins = re.findall(r"^(\w+)==(\S+) --hash=sha256:(\w+)$", PINS.read_text(), re.MULTILINE)
    wheels = {name: FOLDER / f"{name}-{version}-py3-none-any.whl" for name, version, _ in pins}
    hashes = {name: digest for name, _, digest in pins}
    if any(_digest(wheel) != hashes[name] for name, wheel in wheels.items()):
        FOLDER.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            pip += ["--disable-pip-version-check", "--only-binary", ":all:", "--require-hashes"]
            subprocess.run([*pip, "--dest", folder, "--requirement", str(PINS)], check=True)
            for wheel in wheels.values():
                # Several test processes may do this at once.
                Path(folder, wheel.name).replace(wheel)
    return wheels


def make_repository(root: Path) -> None:
    """Make a Git repository of Django's source, with one commit, in a folder that is not there."""
    root.mkdir(parents=True)
    with zipfile.ZipFile(fetch()["django"]) as wheel:
        names = (name for name in wheel.namelist() if name.startswith("django/"))
        wheel.extractall(root, [name for name in names if LEFT_OUT not in name])
    names = [f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
    env = {**os.environ, **dict.fromkeys(names, "Ada")}
    for args in (["init", "-b", "main"], ["add", "-A"], ["commit", "-m", "Django, as released"]):
        subprocess.run(
            ["git", "-c", "commit.gpgsign=false", *args],
            cwd=root,
            env=env,
            check=True,
            capture_output=True,
        )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


if __name__ == "__main__":
    for found in fetch().values():
        print(found)
    for folder in sys.argv[1:]:
        make_repository(Path(folder))
