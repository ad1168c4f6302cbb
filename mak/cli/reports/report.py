"""What ``mak check`` has to tell, before it is given a format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mak import REPOSITORY
from mak.cli.terminal import clean

if TYPE_CHECKING:
    from pathlib import Path

    from mak.model import Finding

#: Where the page of a check is.
_PAGE = f"{REPOSITORY}/blob/main/docs/checks/{{}}.md"

#: How the base is called when there is none.
NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of one comparison, by file and line."""

    findings: tuple[Finding, ...]
    #: How the two sides are called.
    base: str
    subject: str
    #: How many files differ, and how many findings comments took away.
    changed: int
    ignored: int
    #: The top folder of the repository; None: it is bare.
    root: Path | None = None
    remarks: tuple[str, ...] = ()


def one_line(text: str) -> str:
    """Return text as one clean line; of what breaks lines, a name of a file perhaps, escapes."""
    return clean(text).replace("\n", "\\n").replace("\t", "\\t")


def page(check: str) -> str:
    """Return the address of a check's page."""
    return _PAGE.format(check)


def title(check: str) -> str:
    """Return in one line what a check finds."""
    from mak.cli.introduced import CHOICE

    return next((known.title for known in CHOICE if known.id == check), check)
