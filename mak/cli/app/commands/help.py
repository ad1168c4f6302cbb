"""``/help``: what can be typed here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mak.cli import terminal
from mak.cli.app.slash import Choice, Slash, Typed
from mak.errors import UsageError

if TYPE_CHECKING:
    from mak.cli.app.session import Session

#: Where lines are redrawn, and where they are not.
KEYS = (
    ("Enter", "run what was typed"),
    ("Ctrl+J", "a new line"),
    ("Tab", "complete a command, an option, a model, a path, a run or a task"),
    ("Right", "take the suggestion from the history; Up, Down and Ctrl+R search it"),
    ("Ctrl+C", "empty the line, or stop the run; once more leaves"),
    ("Ctrl+Z", "go back to the shell; fg returns"),
    ("Ctrl+D", "leave"),
)
PLAIN_KEYS = (
    ("Enter", "run what was typed; a text of several lines can be pasted"),
    ("Tab", "complete; twice lists what there is"),
    ("Up", "what was typed before; Ctrl+R searches it"),
    ("Ctrl+C", "drop the line, or stop the run; once more leaves"),
    ("Ctrl+D", "leave"),
)


def run(session: Session, typed: Typed) -> None:
    """List the commands, or tell about one."""
    from mak.cli.app.commands import SLASHES
    from mak.cli.app.session import find

    if typed.words:
        name = typed.words[0].removeprefix("/")
        slash = find(name)
        if slash is None:
            raise UsageError(f"there is no command /{name}", hint="/help")
        session.say(f"{slash.usage}  {slash.help}")
        if slash.aliases:
            session.say(f"  also {', '.join(f'/{alias}' for alias in slash.aliases)}")
        if slash.like:
            session.say(f"  takes the options of mak {slash.like}: /{slash.name} --help")
        return
    session.say("Type what is to be done, or a command:", "bold")
    for line in terminal.columns([(each.usage, each.help) for each in SLASHES], indent="  "):
        session.say(line)
    session.say("Keys", "bold")
    for line in terminal.columns(KEYS if terminal.is_screen() else PLAIN_KEYS, indent="  "):
        session.say(line)


def complete(session: Session, before: Sequence[str], begun: str) -> Iterable[Choice]:
    """Complete the name of a command."""
    from mak.cli.app.commands import SLASHES

    return () if before else [Choice(each.name, each.help) for each in SLASHES]


SLASH = Slash("help", "list commands and keys", run, "[command]", complete)
