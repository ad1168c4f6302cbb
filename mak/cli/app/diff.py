"""The full diff of a run, with the colours of each file's language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mak.cli import terminal
from mak.errors import UsageError

if TYPE_CHECKING:
    from rich.text import Text

    from mak.cli.app.session import Session
    from mak.store import Store

_INDEX = re.compile(r"index (?P<old>[0-9a-f]{40})\.\.(?P<new>[0-9a-f]{40})")
_HUNK = re.compile(r"@@ -(?P<old>\d+)(?:,(?P<olds>\d+))? \+(?P<new>\d+)(?:,(?P<news>\d+))? @@")
#: Git's name for a blob that is not there.
_NONE = "0" * 40
#: Colours that every terminal has, dark or light.
_THEME = "ansi_dark"


def show(session: Session, store: Store, run: str) -> None:
    """Write the diff of a run."""
    from mak.cli.app.ending import commits
    from mak.runlog import outcome_from_json, read_outcome
    from mak.store import differences

    data = read_outcome(store, run)
    span = commits(store, outcome_from_json(data)) if data else None
    if span is None:
        raise UsageError(f"run {run} put nothing on the branch", hint="/runs")
    patch = differences.text(store.repository, *span)
    if not terminal.wants_color():
        for line in patch.splitlines():
            terminal.write_note(line, exact=True)
        return
    console = terminal.console()
    for shown in colored(patch, store.read):
        console.print(shown)


def colored(patch: str, read: Callable[[str], bytes]) -> Iterator[Text]:
    """Yield the lines of a patch with full blob ids; `read` returns a blob.

    What is code is highlighted as a part of its whole file, so that a line in the middle of a
    string looks like one.
    """
    from rich.text import Text

    old: list[Text] = []
    new: list[Text] = []
    path = ""
    at_old = at_new = left_old = left_new = 0
    for line in map(terminal.clean, patch.splitlines()):
        sign, rest = line[:1], line[1:]
        if left_old > 0 or left_new > 0:
            if sign == "-":
                yield _line(sign, old, at_old, rest, "red")
            elif sign == "+":
                yield _line(sign, new, at_new, rest, "green")
            elif sign == " ":
                yield _line(sign, new, at_new, rest, "")
            else:
                yield Text(line, "dim")
            at_old, left_old = (at_old + 1, left_old - 1) if sign in "- " else (at_old, left_old)
            at_new, left_new = (at_new + 1, left_new - 1) if sign in "+ " else (at_new, left_new)
        elif found := _HUNK.match(line):
            at_old, at_new = int(found["old"]), int(found["new"])
            left_old, left_new = int(found["olds"] or 1), int(found["news"] or 1)
            yield Text(line, "cyan")
        else:
            if line.startswith("diff --git "):
                path = line.rpartition(" b/")[2].rstrip('"')
            elif found := _INDEX.match(line):
                old, new = (_lines(path, read, found[side]) for side in ("old", "new"))
            yield Text(line, "bold")


def _line(sign: str, lines: list[Text], number: int, text: str, style: str) -> Text:
    """Return a line of a hunk, in the colours that it has in its file."""
    from rich.text import Text

    code = lines[number - 1] if 0 < number <= len(lines) else None
    shown = code if code is not None and code.plain == text else Text(text)
    return Text.assemble((sign, style and f"bold {style} reverse"), shown)


def _lines(path: str, read: Callable[[str], bytes], blob: str) -> list[Text]:
    """Return the lines of a blob in colour; none of one that is not there."""
    from rich.syntax import Syntax

    if blob == _NONE:
        return []
    text = read(blob).decode("utf-8", "replace")
    syntax = Syntax(text, Syntax.guess_lexer(path, text), theme=_THEME, tab_size=8)
    return [*syntax.highlight(text).split("\n", allow_blank=True)]
