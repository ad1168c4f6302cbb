"""Progress while a run goes on: redrawn on a terminal, plain lines anywhere else."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mak.cli import terminal
from mak.cli.lines import bare, count, line, money, seconds, short, spec, tokens
from mak.cli.progress import Progress, Row
from mak.events import (
    Event,
    GateStarted,
    PlanAsked,
    Planned,
    ReplyParked,
    ReplyUnused,
    RunFinished,
    Spent,
    TaskStarted,
    TaskWaiting,
    WaveCommitted,
    WaveHeld,
)
from mak.model import TaskState, Usage

if TYPE_CHECKING:
    from rich.console import Console, OverflowMethod, RenderableType
    from rich.live import Live

#: Events that the screen shows in its rows, so that they need no line of their own.
ROW_EVENTS = (TaskStarted, TaskWaiting, ReplyParked, GateStarted)
#: Events that what is written after the run tells better.
UNSAID = (ReplyUnused, RunFinished, Spent)
#: Redraws per second.
RATE = 8
#: Rows of tasks on the screen at most.
ROWS = 16
#: Characters of agent, task, model, time, tokens and phase at most, on a wide and a narrow screen.
COLUMNS, FEWER = (2, 16, 18, 6, 6, None), (2, 12, 10, 6, 6, None)
#: Columns from which on a screen is wide, and has room for models at all.
WIDE, MODELS = 100, 70


_FOLDERS = re.compile(r"\S+/(?=[^/\s]+$)")


class Lines:
    """Writes a line to stderr for every event."""

    def __init__(self) -> None:
        self.progress = Progress()

    def emit(self, event: Event) -> None:
        """Show one event."""
        self.progress.update(event, time.monotonic())
        if not isinstance(event, UNSAID):
            said = line(event)
            terminal.write_note(str(said), said.style)

    def say(self, text: str) -> None:
        """Show a line that is no event."""
        terminal.write_note(text)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the screen to a question."""
        yield

    def close(self) -> None:
        """End the view; it may be called again."""


class Screen:
    """Keeps the tasks that work or wait at the bottom of the terminal, under their lines."""

    def __init__(
        self,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        below: Callable[[int, Usage], str] | None = None,
    ) -> None:
        """`below` returns one more line by the width and what the run has taken."""
        self.progress = Progress()
        self._below = below
        self._clock = clock
        self._console = console or terminal.console()
        self._live: Live | None = None
        #: Columns of each line that was drawn last, and of the screen it was drawn on.
        self._drawn: tuple[int, ...] = ()
        self._width = 0

    def emit(self, event: Event) -> None:
        """Show one event."""
        self.progress.update(event, self._clock())
        with terminal.surviving():
            self._show(event)

    def _show(self, event: Event) -> None:
        if isinstance(event, (TaskStarted, TaskWaiting, PlanAsked)) or self.progress.preparing:
            self._open()
        if not isinstance(event, (*UNSAID, *ROW_EVENTS)):
            said = line(event)
            self._console.print(terminal.worded(str(said)), style=said.style)
        if isinstance(event, RunFinished | WaveHeld | Planned):
            self.close()
        elif self._live and isinstance(event, WaveCommitted):
            self._live.refresh()

    def say(self, text: str) -> None:
        """Show a line that is no event, above the rows."""
        with terminal.surviving():
            self._console.print(terminal.worded(text))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the screen to a question."""
        self.close()
        yield

    def close(self) -> None:
        """Take the rows off the screen; the lines stay. It may be called again."""
        if self._live:
            live, self._live = self._live, None
            with terminal.surviving():
                live.stop()

    def _open(self) -> None:
        if self._live is None:
            from rich.live import Live

            self._drawn = ()
            self._live = Live(
                console=self._console,
                get_renderable=self._fitted,
                refresh_per_second=RATE,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()

    def _fitted(self) -> RenderableType:
        """Return what `render` does, after a screen that has become narrower was put right."""
        width = self._console.width
        if width < self._width and terminal.breaks_anew():
            self._take_back(width)
        found = self.render()
        lines = self._console.render_lines(found, pad=False)
        self._drawn = tuple(sum(segment.cell_length for segment in line) for line in lines)
        self._width = width
        return found

    def _take_back(self, width: int) -> None:
        """Clear the rows that are there: the terminal has broken them into more than were drawn.

        The cursor is left where rich, which knows the rows as drawn, looks for the last of them.
        """
        from rich.control import Control
        from rich.segment import ControlType

        there = sum(max(1, -(-columns // width)) for columns in self._drawn)
        up: list[tuple[ControlType, int] | tuple[ControlType]] = [
            (ControlType.ERASE_IN_LINE, 2),
            (ControlType.CURSOR_UP, 1),
        ]
        self._console.control(
            Control(
                ControlType.CARRIAGE_RETURN,
                *up * (there - 1),
                (ControlType.ERASE_IN_LINE, 2),
                *[(ControlType.CURSOR_DOWN, 1)] * (len(self._drawn) - 1),
            )
        )

    def render(self) -> RenderableType:
        """Return the rows and the line that sums up."""
        from rich.console import Group
        from rich.spinner import Spinner
        from rich.table import Table
        from rich.text import Text

        now = self._clock()
        overflow: OverflowMethod = "ellipsis" if terminal.clean("…") == "…" else "crop"
        table = Table.grid(padding=(0, 2, 0, 0))
        width = self._console.width
        wide = width >= WIDE
        for widest in COLUMNS if wide else FEWER:
            table.add_column(no_wrap=True, overflow=overflow, max_width=widest)
        rows = sorted(self.progress.active.values(), key=_working_first)
        shown = rows[: max(1, min(ROWS, self._console.height - 5))]
        for row in shown:
            cells = _cells(row, now, width)
            table.add_row(*map(terminal.clean, cells), style=_style(row))
        if len(rows) > len(shown):
            table.add_row("", terminal.clean(f"… {len(rows) - len(shown)} more"))
        parts: list[RenderableType] = [table] if rows else []
        if self.progress.preparing:
            took = seconds(now - self.progress.since)
            said = Text(terminal.clean(f"{self.progress.preparing}  {took}"), no_wrap=True)
            parts.append(Spinner("dots" if terminal.clean("⠋") == "⠋" else "line", said))
        if self.progress.total or not self.progress.preparing:
            parts.append(Text(terminal.clean(self._summary()), "bold", no_wrap=True))
        if self._below is not None:
            line = self._below(self._console.width, self.progress.usage)
            # No wider than it must be: a line that fills the row is broken when the window shrinks.
            parts.append(Text(f"{line} ", "reverse", no_wrap=True))
        return Group(*parts)

    def _summary(self) -> str:
        done = self.progress.count(TaskState.SETTLED, TaskState.DONE)
        lost = self.progress.count(TaskState.FAILED, TaskState.SKIPPED)
        usage = self.progress.usage
        parts = [
            f"{done}/{self.progress.total} tasks",
            f"{lost} not done" if lost else "",
            f"{count(len(self.progress.subjects), 'commit')} of {self.progress.waves}",
            tokens(usage),
            money(usage.cost) if usage.input or usage.output else "",
        ]
        return " · ".join(part for part in parts if part)


View = Lines | Screen


def open_view() -> View:
    """Return the view that fits stderr."""
    return Screen() if terminal.is_screen() else Lines()


def _working_first(row: Row) -> bool:
    return row.state is not TaskState.RUNNING


def _style(row: Row) -> str:
    return "cyan" if row.state is TaskState.RUNNING else "dim"


def _cells(row: Row, now: float, width: int) -> tuple[str, ...]:
    """Return agent, task, model, time, tokens and phase with node of a row.

    Where there is little room, endpoints of models and folders of nodes are left out, then models.
    """
    wide = width >= WIDE
    again = f", attempt {row.attempt}" if row.attempt > 1 else ""
    used = row.usage.input + row.usage.output
    return (
        f"{row.agent or ''}",
        row.task,
        spec(row.model) if wide else bare(row.model) if width >= MODELS else "",
        seconds(now - row.since),
        f"{'~' if row.usage.estimated else ''}{short(used)}" if used else "",
        f"{row.phase} {row.node if wide else _FOLDERS.sub('', row.node)}{again}",
    )
