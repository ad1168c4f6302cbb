"""Material from the package indexes: Django and what it imports, GitHub's own descriptions.

``python tests/material.py`` downloads what is missing of ``tests/material.txt`` (with pip) and
``tests/material.npm.txt`` (with npm) into ``.material``; ``python tests/material.py FOLDER`` also
makes a Git repository of Django's source in FOLDER.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

PINS = Path(__file__).with_name("material.txt")
NPM_PINS = Path(__file__).with_name("material.npm.txt")
ACTION_PINS = Path(__file__).parent.parent / "action" / "requirements.txt"
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


def fetch_npm() -> dict[str, Path]:
    """Return folders with the pinned files of npm packages, by package name; download what lacks.

    Only those files are kept: one of the packages holds 385 MB. A folder is there whole or not at
    all, and its name holds the integrity, so a new pin is a new folder.

    Raises `CalledProcessError` when npm cannot, and `SystemExit` with a hint when there is none.
    """
    folders = {}
    pins = re.findall(r"^(\S+)@(\S+) (sha512-\S+) (.+)$", NPM_PINS.read_text(), re.MULTILINE)
    for name, version, integrity, files in pins:
        wanted = hashlib.sha256(f"{integrity} {files}".encode()).hexdigest()[:12]
        folder = FOLDER / f"{name.replace('/', '-').lstrip('@')}-{version}-{wanted}"
        if not folder.exists():
            _unpack(f"{name}@{version}", integrity, files.split(), folder)
        folders[name] = folder
    return folders


def fetch_for_action() -> Path:
    """Return a folder with all that the GitHub Action installs, so that tests can do so offline.

    Raises `CalledProcessError` when pip cannot.
    """
    tag = f"{sys.implementation.cache_tag}-{_digest(ACTION_PINS)[:12]}"
    folder = FOLDER / f"action-{tag}"
    if not folder.exists():
        FOLDER.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            pip += ["--disable-pip-version-check", "--only-binary", ":all:", "--require-hashes"]
            out = Path(scratch, "out")
            subprocess.run([*pip, "--dest", str(out), "-r", str(ACTION_PINS)], check=True)
            _keep(out, folder)
    return folder


def _keep(made: Path, folder: Path) -> None:
    """Give a folder its name, unless another test process was first."""
    try:
        made.rename(folder)
    except OSError:
        if not folder.exists():
            raise


def _unpack(package: str, integrity: str, files: list[str], folder: Path) -> None:
    if not shutil.which("npm"):
        raise SystemExit(
            f"fetching {package}: no npm on PATH\n"
            "hint: install one (Debian, Ubuntu: apt-get install npm)"
        )
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
        npm = ["npm", "pack", "--silent", "--pack-destination", scratch, package]
        subprocess.run(npm, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(scratch).glob("*.tgz")
        digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if integrity != f"sha512-{digest}":
            raise SystemExit(f"fetching {package}: its integrity is sha512-{digest}, not as pinned")
        out = Path(scratch, "out")
        with tarfile.open(archive) as tar:
            for name in files:
                member = tar.extractfile(f"package/{name}")
                assert member is not None, f"{package} has no {name}"
                path = out / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(member.read())
        _keep(out, folder)


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
    for found in (*fetch().values(), *fetch_npm().values(), fetch_for_action()):
        print(found)
    for folder in sys.argv[1:]:
        make_repository(Path(folder))
