"""A terminal that a test types into and reads: a pseudo-terminal with a model of its screen."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pyte

ROOT = Path(__file__).parents[1]
#: Seconds to wait for something to be shown, on a machine that does much else.
PATIENCE = float(os.environ.get("MAK_TEST_PATIENCE", "120"))

ENTER, NEWLINE, TAB, CTRL_C, CTRL_D, CTRL_Z, UP, RIGHT = (
    "\r",
    "\n",
    "\t",
    "\x03",
    "\x04",
    "\x1a",
    "\x1b[A",
    "\x1b[C",
)


class _Screen(pyte.HistoryScreen):
    """A screen that answers what programs ask a terminal, and keeps all that scrolls off."""

    answer: Callable[[str], None]

    def write_process_input(self, data: str) -> None:
        self.answer(data)


class Terminal:
    """Runs a program on a terminal."""

    def __init__(
        self,
        argv: list[str],
        cwd: Path,
        *,
        columns: int = 100,
        rows: int = 40,
        env: Mapping[str, str] | None = None,
        encoding: str = "utf-8",
    ) -> None:
        self.screen = _Screen(columns, rows, history=5000, ratio=0.5)
        self.screen.answer = self._answer
        self._stream = pyte.Stream(self.screen)
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self.raw = b""
        self._ours, theirs = pty.openpty()
        self._set_size(columns, rows)
        self.process = subprocess.Popen(
            argv,
            cwd=cwd,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={
                **os.environ,
                "TERM": "xterm-256color",
                "LANG": "C.UTF-8",
                "LC_ALL": "",
                "LC_CTYPE": "",
                "PYTHONPATH": str(ROOT),
                "PYTHONDONTWRITEBYTECODE": "1",
                # The window says how large it is, not what runs the tests.
                "COLUMNS": "",
                "LINES": "",
                # As in xterm, what no longer fits is cut and not broken.
                "XTERM_VERSION": "pyte",
                **(env or {}),
            },
            preexec_fn=_own_terminal,
        )
        os.close(theirs)

    # -------------------------------------------------------------------------------- typing

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._ours, text.encode(self._encoding))

    def paste(self, text: str) -> None:
        """Paste, as terminals do where a program asked to be told (bracketed paste)."""
        self.type(f"\x1b[200~{text}\x1b[201~")

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the window."""
        self.screen.resize(rows, columns)
        self._set_size(columns, rows)

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _answer(self, data: str) -> None:
        os.write(self._ours, data.encode())

    # ------------------------------------------------------------------------------- reading

    @property
    def lines(self) -> list[str]:
        """What is on the screen."""
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self) -> str:
        """All that was shown and is not overwritten, also what has scrolled off the screen."""
        above = [
            "".join(row[x].data for x in range(self.screen.columns)).rstrip()
            for row in self.screen.history.top
        ]
        return "\n".join([*above, *self.lines]).rstrip()

    def wait(self, *texts: str, gone: str = "", after: str = "") -> str:
        """Wait until all of these are shown, below `after`, and `gone` is not; return the text."""

        def is_there() -> bool:
            _, found, shown = self.text.rpartition(after) if after else ("", "x", self.text)
            return (
                bool(found)
                and all(text in shown for text in texts)
                and not (gone and gone in shown)
            )

        self.until(is_there, f"no {' / '.join(texts) or gone!r}")
        return self.text

    def until(self, is_so: Callable[[], bool], what: str) -> None:
        """Read what is shown until something is so."""
        end = time.monotonic() + PATIENCE
        while not is_so():
            if not self._read(end):
                raise AssertionError(f"{what} on the screen:\n{self.text}")

    def _read(self, end: float) -> bool:
        left = end - time.monotonic()
        if left <= 0 or not select.select([self._ours], [], [], left)[0]:
            return False
        try:
            data = os.read(self._ours, 65_536)
        except OSError:
            return False
        self.raw += data
        self._stream.feed(self._decoder.decode(data))
        return bool(data)

    # ----------------------------------------------------------------------------- the end

    def ended(self) -> int:
        """Wait for the program to end; return its exit code."""
        end = time.monotonic() + PATIENCE
        while self._read(end):
            pass
        return self.process.wait(timeout=PATIENCE)

    def close(self) -> None:
        """End the program, if it has not ended."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=PATIENCE)
        os.close(self._ours)


def mak(cwd: Path, *args: str, **how: object) -> Terminal:
    """Open MAK on a terminal."""
    return Terminal([sys.executable, "-m", "mak", *args], cwd, **how)  # type: ignore[arg-type]


def _own_terminal() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
