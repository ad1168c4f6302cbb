"""What the terminal does with keys that are pressed while no prompt reads them."""

from __future__ import annotations

import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

#: Indexes into what `termios.tcgetattr` returns.
_INPUT, _LOCAL = 0, 3


class Keyboard:
    """The terminal on stdin, which may be told to keep keys for the next prompt."""

    def __init__(self) -> None:
        self._as_it_was: list[Any] | None = None
        #: As it is to be now; None: somebody else says.
        self._quiet: list[Any] | None = None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Show no key and change none: Enter stays what it is. Ctrl+C still interrupts."""
        try:
            self._as_it_was = before = termios.tcgetattr(sys.stdin)
        except (termios.error, OSError, ValueError):
            yield
            return
        self._quiet = quiet = [*before]
        quiet[_INPUT] &= ~termios.ICRNL
        quiet[_LOCAL] &= ~(termios.ECHO | termios.ICANON)
        _set(quiet)
        handler = signal.signal(signal.SIGCONT, self._again)
        try:
            yield
        finally:
            signal.signal(signal.SIGCONT, handler)
            self.give_back()

    def _again(self, number: int, frame: FrameType | None) -> None:
        """Come back from the shell, which has set the terminal as it likes it."""
        if self._quiet is not None:
            _set(self._quiet)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Let a program read lines in between, as an editor or a question for a key does."""
        before, quiet = self._as_it_was, self._quiet
        if before is None or quiet is None:
            yield
            return
        self._quiet = None
        _set(before)
        try:
            yield
        finally:
            self._quiet = quiet
            _set(quiet)

    def give_back(self) -> None:
        """Leave the terminal as it was found."""
        before, self._as_it_was, self._quiet = self._as_it_was, None, None
        if before is not None:
            _set(before)


def _set(attributes: list[Any]) -> None:
    # What was typed before stays to be read.
    with suppress(termios.error, OSError):
        termios.tcsetattr(sys.stdin, termios.TCSANOW, attributes)
