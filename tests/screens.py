"""Writes docs/screens: the app as a terminal shows it; ``make screens`` runs it.

The real app is driven on a pseudo-terminal in the sample project of ``mak demo``, and what its
screen then shows becomes a picture. What differs from one time to the next (run ids, commits,
seconds) is replaced by something that looks like it.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from pyte.screens import Char

from mak.cli.sample import create
from tests.terminal import ENTER, NEWLINE, Terminal, mak

TARGET = Path(__file__).parents[1] / "docs" / "screens"
COLUMNS = 88
#: What a run is called, a commit, and how long things take; as long as the real ones.
STAND_INS = (
    (re.compile(r"(?:(?<=run      )|(?<=Run )|(?<=show ))r[0-9a-z]{9}\b"), "r7f3k2m9x0"),
    (re.compile(r"\b[0-9a-f]{10}\b"), "4be1c07d52"),
    (re.compile(r"\b\d+(\.\d)?s\b"), "2.4s"),
)

Row = tuple[Char, ...]


class Screen(NamedTuple):
    """What was on a screen."""

    rows: tuple[Row, ...]

    @property
    def text(self) -> str:
        """What one can read, without colours."""
        return "\n".join("".join(char.data for char in row).rstrip() for row in self.rows)


# ---------------------------------------------------------------------------------- the screens


def first_start(root: Path) -> Screen:
    """Nobody has used MAK here before."""
    with opened(root, 14, new=True) as terminal:
        terminal.wait("1, 2, 3 or 4?")
        return seen(terminal)


def completion(root: Path) -> Screen:
    """A slash was typed."""
    with opened(root, 20) as terminal:
        terminal.wait("builtin · planner same")
        terminal.type("/")
        terminal.wait(
            "list commands and keys", "work in another repository", "builtin · planner same"
        )
        return seen(terminal)


def review(root: Path) -> Screen:
    """A plan waits for a person."""
    with opened(root, 42) as terminal:
        ask(terminal)
        return seen(terminal)


def live(root: Path) -> Screen:
    """Agents are at work, one waits for another, one is through."""
    tasks = [
        ("net", "shop/pricing.py::total", "leave out lines without a price"),
        ("tax", "shop/pricing.py::tax", "round half up"),
        ("rebate", "shop/pricing.py::rebate", "give the rebate from twelve pieces on"),
        ("stock", "shop/pricing.py::rebate", "say how many pieces are left"),
    ]
    plan = [{"id": id, "goal": goal, "writes": [node]} for id, node, goal in tasks]
    rounded = "def tax(amount):\n    return (amount * RATE).quantize(CENT, ROUND_HALF_UP)\n"
    done = {"node": "n1", "status": "no_changes_required", "reason": "it is rounded so already"}
    slow = {"node": "n1", "status": "edited", "new_source": rounded}
    used = {"input": 2400, "output": 310, "cost": 0.0118}
    script = {
        "plan": [{"reply": {"tasks": plan}, "usage": {**used, "input": 5200}}],
        "tasks": {
            "tax": [{"reply": {"results": [done]}, "usage": used}],
            **{
                id: [{"reply": {"results": [slow]}, "delay_s": 600}]
                for id in ("net", "rebate", "stock")
            },
        },
    }
    path = root.parent / "agents.json"
    path.write_text(json.dumps(script))
    with opened(root, 18) as terminal:
        terminal.type(f"/models scripted:{path}{ENTER}/no-review{ENTER}/clear{ENTER}")
        terminal.until(lambda: terminal.lines[0] == ">", "no clear screen")
        terminal.type(f"sharpen the prices{ENTER}")
        terminal.wait("works on", "waits: ", "1/4 tasks", "8.2k tok")
        return seen(terminal)


def ending(root: Path) -> Screen:
    """A run is through: what landed, and what changed."""
    with opened(root, 40) as terminal:
        ask(terminal)
        terminal.type(f"a{ENTER}")
        terminal.wait("/diff shows the lines", "main, clean")
        rows = seen(terminal).rows
        texts = Screen(rows).text.splitlines()
        begins = next(i for i, text in enumerate(texts) if text.startswith("review   approved"))
        return Screen(rows[begins:])


SCREENS: dict[str, Callable[[Path], Screen]] = {
    "first-start": first_start,
    "completion": completion,
    "review": review,
    "live": live,
    "ending": ending,
}


def ask(terminal: Terminal) -> None:
    """Type a task of two parts, and wait for its plan."""
    terminal.type(f"rename function shop.pricing.total to order_total{NEWLINE}")
    terminal.type(f'add parameter currency="EUR" to shop.text.money{ENTER}')
    terminal.wait("[a]pprove", "main, clean · review")


@contextmanager
def opened(root: Path, rows: int, *, new: bool = False) -> Iterator[Terminal]:
    """Open the app there, for a newcomer or for somebody who has settings, and close it."""
    home = root.parent / "home"
    (home / ("." if new else ".config/mak")).mkdir(parents=True, exist_ok=True)
    (home / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n")
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_text(".mak/\n")
    if not new:
        (root / ".mak").mkdir()
    env = {"HOME": str(home), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "LANG": "C.UTF-8"}
    terminal = mak(root, columns=COLUMNS, rows=rows, env=env)
    try:
        if not new:
            terminal.wait("/help lists commands", "main, clean")
        yield terminal
    finally:
        terminal.close()


def seen(terminal: Terminal) -> Screen:
    """Return what is on the screen, without what differs every time."""
    screen = terminal.screen
    rows = [tuple(screen.buffer[y][x] for x in range(COLUMNS)) for y in range(screen.lines)]
    return Screen(tuple(map(stood_in, compact(rows))))


def compact(rows: Sequence[Row]) -> Iterator[Row]:
    """Leave out empty rows but one, as between a prompt and the bar at the bottom."""
    for empty, group in groupby(rows, lambda row: not "".join(c.data for c in row).strip()):
        kept = [*group]
        yield from kept[:1] if empty else kept


def stood_in(row: Row) -> Row:
    """Put stand-ins into a row; it keeps its length."""
    text = "".join(char.data for char in row)
    for pattern, stand_in in STAND_INS:
        for found in pattern.finditer(text):
            begin, end = found.span()
            shown = stand_in.ljust(end - begin)
            room = begin + len(shown)
            row = (
                *row[:begin],
                *(row[begin]._replace(data=letter) for letter in shown),
                *row[room:],
            )
    return row


# ---------------------------------------------------------------------------------- the picture

#: Pixels of a character, of a row, and around all of them.
WIDE, HIGH, EDGE = 8.4, 19, 14
FONT = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"
PAPER, INK = "#1b1d23", "#d7dae0"
#: The colours of a terminal, by the names that pyte has for them.
COLOURS = {
    "black": "#3f4451",
    "red": "#e06c75",
    "green": "#98c379",
    "brown": "#e5c07b",
    "blue": "#61afef",
    "magenta": "#c678dd",
    "cyan": "#56b6c2",
    "white": "#d7dae0",
}


def colour(name: str, default: str) -> str:
    """Return a colour of the picture by what pyte calls it."""
    if name == "default":
        return default
    return COLOURS.get(name.removeprefix("bright"), f"#{name}")


def svg(screen: Screen) -> str:
    """Draw a screen."""
    wide, high = COLUMNS * WIDE + 2 * EDGE, len(screen.rows) * HIGH + 2 * EDGE
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high}" role="img">',
        f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>',
        f'<g font-family="{FONT}" font-size="14" xml:space="preserve">',
    ]
    for number, row in enumerate(screen.rows):
        lines += drawn(row, EDGE + number * HIGH)
    return "\n".join([*lines, "</g>", "</svg>", ""])


def drawn(row: Row, top: float) -> Iterator[str]:
    """Yield the elements of a row: its backgrounds, then its texts, one for each style."""
    at = 0
    for style, group in groupby(row, lambda c: (c.fg, c.bg, c.bold, c.reverse)):
        text = "".join(char.data for char in group)
        x, wide = EDGE + at * WIDE, len(text) * WIDE
        at += len(text)
        fg, bg, bold, reverse = style
        ink, paper = colour(fg, INK), colour(bg, PAPER)
        ink, paper = (paper, ink) if reverse else (ink, paper)
        if paper != PAPER:
            yield f'<rect x="{x:g}" y="{top:g}" width="{wide:g}" height="{HIGH}" fill="{paper}"/>'
        if shown := text.rstrip():
            begin = len(shown) - len(shown.lstrip())
            shown = shown.lstrip()
            x, wide = x + begin * WIDE, len(shown) * WIDE
            weight = ' font-weight="bold"' if bold else ""
            place = f'x="{x:g}" y="{top + 14:g}" textLength="{wide:g}"'
            yield f'<text {place} fill="{ink}"{weight}>{escape(shown)}</text>'


def made(name: str) -> Screen:
    """Drive the app to a screen, in a new home and a new project."""
    with tempfile.TemporaryDirectory(prefix="mak-screens-") as folder:
        return SCREENS[name](create(Path(folder)))


if __name__ == "__main__":
    TARGET.mkdir(exist_ok=True)
    for name in sys.argv[1:] or SCREENS:
        (TARGET / f"{name}.svg").write_text(svg(made(name)), encoding="utf-8")
