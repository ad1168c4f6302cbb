"""Which language a file is in, and how it is cut: one class per language."""

from __future__ import annotations

from typing import Protocol

from mak.source.entries import Structured
from mak.source.file import Newer, SourceFile
from mak.source.in_json import JSON
from mak.source.in_markdown import MARKDOWN
from mak.source.in_requirements import REQUIREMENTS
from mak.source.in_toml import TOML
from mak.source.in_yaml import YAML
from mak.source.python import Python, whole
from mak.source.text import text_codec


class Language(Protocol):
    """How the files of one language become nodes."""

    @property
    def name(self) -> str:
        """What `SourceFile.language` says; part of the key of every cached cut."""

    @property
    def version(self) -> int:
        """Part of that key too: raised whenever the same bytes would give other nodes."""

    def claims(self, path: str, data: bytes) -> bool:
        """Whether this file is in the language."""

    def cut(self, path: str, data: bytes, newer: Newer | None) -> SourceFile:
        """Cut the file; never raises: what cannot be cut is one node, with the reason."""


#: Files that a package manager writes; ``*.lock`` besides.
_LOCK_FILES = frozenset(
    {
        "bun.lockb",
        "gopkg.lock",
        "go.sum",
        "npm-shrinkwrap.json",
        "package-lock.json",
        "packages.lock.json",
        "pnpm-lock.yaml",
    }
)


class LockFile:
    """A file that a package manager writes: one node, as its parts mean nothing by themselves."""

    name = "lock"
    version = 1

    def claims(self, path: str, data: bytes) -> bool:
        """Whether the file is one, by its name."""
        name = path.rpartition("/")[2].lower()
        return name in _LOCK_FILES or name.endswith(".lock")

    def cut(self, path: str, data: bytes, newer: Newer | None) -> SourceFile:
        """Return the file as one node."""
        return whole(path, data, text_codec(data), language=self.name)


class Whole:
    """Every file that nothing else claims, as one node."""

    name = "whole"
    version = 1

    def claims(self, path: str, data: bytes) -> bool:
        """Claim any file."""
        return True

    def cut(self, path: str, data: bytes, newer: Newer | None) -> SourceFile:
        """Return the file as one node."""
        return whole(path, data, text_codec(data), language=self.name)


#: In order of precedence; the last one claims what is left.
LANGUAGES: tuple[Language, ...] = (
    Python(),
    LockFile(),
    JSON,
    TOML,
    YAML,
    REQUIREMENTS,
    MARKDOWN,
    Whole(),
)
_BY_NAME = {language.name: language for language in LANGUAGES}


def has_nodes(path: str) -> bool:
    """Whether files of this name are cut, as far as their text allows."""
    return any(
        language.claims(path, b"") and not isinstance(language, LockFile)
        for language in LANGUAGES[:-1]
    )


def structured(file: SourceFile) -> Structured | None:
    """Return the language of a file that was cut into entries; None for any other file."""
    language = _BY_NAME.get(file.language)
    return language if isinstance(language, Structured) and not file.whole else None


def without_separator(file: SourceFile, text: bytes) -> bytes:
    """Return an entry's text without what separates it from the next one: nobody's change."""
    language = structured(file)
    if language is None or not language.separator:
        return text
    _, at = language.separated(text)
    return text if at < 0 else text[:at] + text[at + len(language.separator) :]


def why_invalid(file: SourceFile) -> str | None:
    """Return why the text of a file is not valid in its language, as far as one can tell."""
    language = _BY_NAME.get(file.language)
    return language.complaint(file.data) if isinstance(language, Structured) else None


def split(data: bytes, path: str = "", *, newer: Newer | None = None) -> SourceFile:
    """Cut a file into nodes that tile it byte for byte; never raises.

    Without a `path` it is taken as Python. `newer` cuts Python that the running Python is too old
    for: production code runs `mak.source.python_newer.cut` in a worker process there.
    """
    for language in LANGUAGES:
        if not path or language.claims(path, data):
            return language.cut(path, data, newer)
    raise AssertionError("the last language claims every file")
