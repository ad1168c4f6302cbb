"""What a parser tells about the statements of a Python file, whichever parser it was.

`mak.source.python` reads them off `ast`, `mak.source.python_newer` off libcst; both give the same
statements for the same file, so that node ids do not depend on the Python that cuts it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from mak.source.text import squeeze


class Is(StrEnum):
    """What a statement is to the tiling."""

    FUNCTION = "def"
    CLASS = "class"
    #: An import, or an `if` or `try` whose leaves are imports, `pass` and plain assignments.
    IMPORT = "import"
    DOCSTRING = "docstring"
    #: ``if __name__ == "__main__":`` at the top level.
    MAIN = "main"
    OTHER = "other"


@dataclass(slots=True)
class Statement:
    """One statement, in 0-based lines ``[start, end)`` with its decorators."""

    kind: Is
    start: int
    end: int
    #: Names that it binds in its scope, also inside conditional blocks; no duplicates.
    names: tuple[str, ...] = ()
    #: What decorators make of a definition: ``overload``, ``setter``, …; else empty.
    role: str = ""
    #: Digest of what callers see of a definition.
    api: str = ""
    #: The definition's first line or lines as one line, without the colon.
    signature: str = ""
    #: Statements of a class whose body is a block of its own lines; else empty.
    body: tuple[Statement, ...] = ()
    #: Of a class: its last line that holds a part of the header other than the colon.
    head: int = 0

    @property
    def is_definition(self) -> bool:
        """Whether it is a function or a class."""
        return self.kind is Is.FUNCTION or self.kind is Is.CLASS


def role_of(name: str, decorators: tuple[str, ...]) -> str:
    """Return what tells this definition from others of the same name.

    `decorators` as `squeeze` writes them.
    """
    for decorator in decorators:
        target = decorator.partition("(")[0]
        owner, _, last = target.rpartition(".")
        if last == "overload":
            return "overload"
        if owner and last in ("setter", "getter", "deleter"):
            return last
        if owner and last == "register" and name in ("_", "__", owner.rpartition(".")[2]):
            return "register"
    return ""


def digest_api(*parts: str) -> str:
    """Digest what callers see, so that it can be compared."""
    return hashlib.sha1("\n".join(parts).encode(), usedforsecurity=False).hexdigest()[:16]


MAIN_TESTS = frozenset(
    squeeze(test)
    for test in (
        "__name__ == '__main__'",
        '__name__ == "__main__"',
        "'__main__' == __name__",
        '"__main__" == __name__',
    )
)
