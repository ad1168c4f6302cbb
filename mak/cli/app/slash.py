"""What a slash command is: one file in ``mak/cli/app/commands``, one row of its registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mak.cli.app.session import Session


class Typed(NamedTuple):
    """What stands after the name of a command."""

    #: As it was typed, without the spaces around it.
    text: str
    #: As a shell would take it apart.
    words: tuple[str, ...]


class Choice(NamedTuple):
    """A word that may come next, and what it is."""

    word: str
    about: str = ""


#: Returns what may follow these words, where this much was typed of the next one. The caller takes
#: out what does not begin so.
Complete = Callable[["Session", Sequence[str], str], Iterable[Choice]]


def nothing(session: Session, before: Sequence[str], begun: str) -> Iterable[Choice]:
    """Complete nothing."""
    return ()


@dataclass(frozen=True, slots=True)
class Slash:
    """A word after ``/``. Importing its file is cheap; `run` imports what it needs."""

    name: str
    #: One line without a full stop; says so where the command writes files.
    help: str
    #: Raises `mak.errors.MakError`.
    run: Callable[[Session, Typed], None]
    #: What follows the name, for people.
    arguments: str = ""
    complete: Complete = nothing
    #: Other names.
    aliases: tuple[str, ...] = ()
    #: The command line that does the same, after ``mak``; empty: there is none.
    like: str = ""
    #: Further command lines that are typed so here, with what follows them; of ``run --option``
    #: the option alone, too.
    instead_of: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """Name and arguments."""
        return f"/{self.name} {self.arguments}".rstrip()
