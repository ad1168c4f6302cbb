"""Which configuration holds: the first file found; files are not merged with each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mak.config.documents import parse_document, read_text
from mak.config.settings import Config
from mak.config.validation import validate

#: Where the configuration of a project lives, relative to the work directory.
CONFIG_FILE = Path(".mak", "config.yaml")
#: Where a person's own lives, relative to their folder for MAK.
PERSON_FILE = Path("config.yaml")


@dataclass(frozen=True, slots=True)
class Found:
    """A configuration and where it comes from."""

    config: Config
    #: None: the defaults.
    path: Path | None = None
    #: Whether the project brought it along: it may come from anybody who can write there.
    by_project: bool = False


def places(work_dir: Path, person_dir: Path | None) -> tuple[Path, ...]:
    """Return the files that may hold the configuration, first choice first."""
    own = () if person_dir is None else (person_dir / PERSON_FILE,)
    return (work_dir / CONFIG_FILE, *own)


def discover(path: Path | None, work_dir: Path, person_dir: Path | None = None) -> Found:
    """Read the configuration: `path`, else the project's file, else the person's, else defaults.

    `person_dir` is the folder where a person keeps what holds for all projects. Raises `UsageError`
    that names file, line and key, and the nearest key for an unknown one.
    """
    if path is None:
        path = next((place for place in places(work_dir, person_dir) if place.is_file()), None)
        if path is None:
            return Found(Config())
    return Found(read(path), path, path == work_dir / CONFIG_FILE)


def load(path: Path | None, work_dir: Path, person_dir: Path | None = None) -> Config:
    """Return the configuration that `discover` finds."""
    return discover(path, work_dir, person_dir).config


def read(path: Path) -> Config:
    """Read one configuration file."""
    text = read_text(path)
    data = parse_document(text, str(path))
    return validate(Config, {} if data is None else data, str(path), text)
