"""What a command finds: the project's environment and modules, and no key.

A command runs in a copy of the tree. ``PATH`` begins with the virtual environment beside the
person's files, to which the copy has a link. ``PYTHONPATH`` begins with the copy's own folders:
``src`` and the work directory, and whatever an editable install of that environment points to among
the person's files, so that what is imported is the copy.

Variables are given by an allow-list and by name (``checks.env``), but no provider's key, and none
whose value holds a key that is known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mak.providers.endpoints import OWN_KEY_NAME, PRESETS

#: What commands need to find their tools, their home and the person's language.
ALLOWED = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TMP", "TEMP"),
        *("LANG", "LANGUAGE", "TZ", "NO_COLOR", "CI", "SOURCE_DATE_EPOCH"),
        *("PYTHONPATH", "PYTHONHASHSEED", "VIRTUAL_ENV", "DJANGO_SETTINGS_MODULE"),
        *("CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "PYENV_VERSION", "NVM_DIR"),
        *("XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR"),
    }
)
_KEY_NAME = re.compile(r"(?:^|_)API_?(?:KEY|TOKEN)S?(?:$|_)|_(?:AUTH|ACCESS)_TOKEN$", re.IGNORECASE)
_KEY_NAMES = {OWN_KEY_NAME, *(name for preset in PRESETS.values() for name in preset.key_names)}
#: Shorter values are no secrets.
_SHORTEST = 8


@dataclass(frozen=True, slots=True)
class Places:
    """Where the person's files are, and their copy."""

    #: The top of the person's worktree and the work directory in it; None: a bare repository.
    theirs: Path | None
    their_work_dir: Path | None
    copy: Path
    work_dir: Path
    #: Names in the work directory that the copy has links to.
    links: Sequence[str] = ()


def environment(
    variables: Mapping[str, str],
    places: Places,
    *,
    extra: Collection[str] = (),
    secrets: Collection[str] = (),
) -> dict[str, str]:
    """Return the environment of a command; `secrets` are values that must not be in it."""
    hidden = {value for name, value in variables.items() if is_key(name)} | {*secrets}
    hidden = {value for value in hidden if len(value) >= _SHORTEST}
    given = {
        name: value
        for name, value in variables.items()
        if (name in ALLOWED or name.startswith("LC_") or name in extra)
        and not is_key(name)
        and not any(secret in value for secret in hidden)
    }
    venvs = [*_venvs(places)]
    active = Path(given["VIRTUAL_ENV"]) if "VIRTUAL_ENV" in given else None
    paths = [str(venv / "bin") for venv in venvs]
    given["PATH"] = os.pathsep.join([*paths, given.get("PATH", os.defpath)])
    if venvs:
        given["VIRTUAL_ENV"] = str(venvs[0])
    modules = [*_modules(places, [*venvs, *([active] if active else [])])]
    for text in given.get("PYTHONPATH", "").split(os.pathsep):
        if text:
            modules.append(str(_mirrored(Path(text), places) or text))
    given["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(modules))
    return given


def is_key(name: str) -> bool:
    """Whether a variable of this name is a provider's key, or looks like one."""
    return name in _KEY_NAMES or _KEY_NAME.search(name) is not None


def _venvs(places: Places) -> Iterator[Path]:
    for name in places.links:
        if places.their_work_dir is not None:
            folder = places.their_work_dir / name
            if (folder / "pyvenv.cfg").is_file():
                yield folder


def _modules(places: Places, venvs: Sequence[Path]) -> Iterator[str]:
    """Yield the folders of the copy from which modules are to be imported."""
    source = places.work_dir / "src"
    if source.is_dir():
        yield str(source)
    yield str(places.work_dir)
    for venv in venvs:
        for file in sorted(venv.glob("lib/python*/site-packages/*.pth")):
            for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
                if line.startswith("/") and (found := _mirrored(Path(line.strip()), places)):
                    yield str(found)


def _mirrored(path: Path, places: Places) -> Path | None:
    """Return the folder of the copy that stands for one among the person's files."""
    if places.theirs is None or not path.is_absolute():
        return None
    resolved = path.resolve()
    if not resolved.is_relative_to(places.theirs):
        return None
    found = places.copy / resolved.relative_to(places.theirs)
    return found if found.is_dir() and not found.is_symlink() else None
