"""Released packages as trees of files: what the checks are measured on.

They come from the package index by ``pip download``, at the versions given here, into a folder; the
standard library is that of the running Python.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

from mak.source import Sources
from mak.source.text import blob_id

#: Distribution and version, in the order in which they are measured.
PACKAGES = {
    "django": "5.2.19",
    "sympy": "1.14.0",
    "sqlalchemy": "2.1.9",
    "pandas": "3.1.1",
    "twisted": "26.10.0",
    "mypy": "2.4.1",
}
#: What the time is compared with, besides what development needs anyway.
TOOLS = {"pyflakes": "4.1.0"}
STDLIB = "stdlib"
_CODE = (".py", ".pyi")


def wheel(name: str, folder: Path) -> Path:
    """Return the wheel of a package, downloaded if it is not there.

    Raises `CalledProcessError` when pip cannot.
    """
    version = {**PACKAGES, **TOOLS}[name]
    found = [*folder.glob(f"{name}-{version}-*.whl")]
    if not found:
        folder.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        pip += ["--disable-pip-version-check", "--only-binary", ":all:", "--dest", str(folder)]
        subprocess.run([*pip, f"{name}=={version}"], check=True, stderr=subprocess.DEVNULL)
        found = [*folder.glob(f"{name}-{version}-*.whl")]
    return found[0]


def files_of(name: str, folder: Path) -> dict[str, bytes]:
    """Return the files of a package by path; of what is no Python, the name alone counts."""
    return dict(_stdlib() if name == STDLIB else _unpacked(wheel(name, folder)))


def _unpacked(path: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if not name.endswith("/") and ".dist-info/" not in name:
                yield name, archive.read(name) if name.endswith(_CODE) else b""


def _stdlib() -> Iterator[tuple[str, bytes]]:
    root = Path(sysconfig.get_path("stdlib"))
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if not name.startswith("site-packages/") and path.is_file():
            yield name, path.read_bytes() if path.suffix in _CODE else b""


def sources_of(files: dict[str, bytes]) -> Sources:
    """Return files as a tree."""
    entries = {path: blob_id(data) for path, data in files.items()}
    blobs = {entries[path]: data for path, data in files.items()}
    return Sources(entries, blobs.__getitem__)
