"""What Git does to files between the store and a working tree: filters, encodings, line ends.

Answers are kept: for a moment, not for longer than attributes may stay as they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import pygit2

from mak.store.repository import Repository

#: Attributes that make a text in the working tree another one than in the store.
_NAMES = ("filter", "working-tree-encoding", "ident", "eol", "text", "crlf")
_OFF = ("unspecified", "unset")
_WORDS = {None: "unspecified", False: "unset", True: "set"}
#: From this many paths on git is asked: it looks into each folder once, libgit2 once per question.
_MANY = 16

#: How Git's configuration says yes.
_TRUE = ("true", "yes", "on", "1", "")


class Filters:
    """What becomes of the files of one working tree, by path."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._known: dict[str, dict[str, str]] = {}

    def learn(self, paths: Iterable[str]) -> None:
        """Ask for the attributes of all these paths at once."""
        unknown = [path for path in paths if path not in self._known]
        if len(unknown) < _MANY:
            try:
                self._known.update({path: self._ask(path) for path in unknown})
                return
            except (pygit2.GitError, OSError, KeyError, UnicodeError):
                pass  # an index that libgit2 cannot read
        asked = b"".join(os.fsencode(path) + b"\0" for path in unknown)
        out = self._repository.git.run("check-attr", "-z", "--stdin", *_NAMES, input=asked)
        fields = os.fsdecode(out).split("\0")
        for path, name, value in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
            self._known.setdefault(path, {})[name] = value

    def are_git_s(self, path: str) -> bool:
        """Whether only git itself can tell: libgit2 runs no driver and knows no encodings."""
        found = self._of(path)
        return found["filter"] not in _OFF or found["working-tree-encoding"] not in _OFF

    def keep(self, path: str, data: bytes) -> bool:
        """Whether a file that holds these bytes is stored as it is."""
        if self.are_git_s(path) or self._of(path)["ident"] not in _OFF:
            return False
        return b"\r" not in data  # all that is left are line ends

    def plain(self, paths: Sequence[str]) -> set[str]:
        """Return those of the paths to which a checkout writes a blob as it is."""
        self.learn(paths)
        config = self._repository.handle.config
        crlf = "core.autocrlf" in config and config["core.autocrlf"] in _TRUE
        text = os.linesep == "\n" and not (
            crlf or ("core.eol" in config and config["core.eol"] == "crlf")
        )
        return {path for path in paths if self._is_plain(path, crlf=crlf, text=text)}

    def _is_plain(self, path: str, *, crlf: bool, text: bool) -> bool:
        """Whether it is; `crlf`: not where nothing is said of it, `text`: also where it is text."""
        found = self._of(path)
        if self.are_git_s(path) or found["ident"] not in _OFF:
            return False
        if found["eol"] not in (*_OFF, "lf"):
            return False
        if found["text"] == found["crlf"] == "unspecified":
            return not crlf
        return found["text"] == "unset" or text

    def _of(self, path: str) -> dict[str, str]:
        if path not in self._known:
            self.learn([path])
        return self._known[path]

    def _ask(self, path: str) -> dict[str, str]:
        answers = {name: self._repository.handle.get_attr(path, name) for name in _NAMES}
        return {
            name: value if isinstance(value, str) else _WORDS[value]
            for name, value in answers.items()
        }
