"""What the terminal does with keys that are pressed while no prompt reads them."""

from __future__ import annotations

import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

#: Indexes into what `termios.tcgetattr` returns.
_INPUT, _LOCAL = 0, 3


class Keyboard:
    """The terminal on stdin, which may be told to keep keys for the next prompt."""

    def __init__(self) -> None:
        self._as_it_was: list[Any] | None = None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Show no key and change none: Enter stays what it is. Ctrl+C still interrupts."""
        try:
            self._as_it_was = before = termios.tcgetattr(sys.stdin)
        except (termios.error, OSError, ValueError):
            yield
            return
        quiet = [*before]
        quiet[_INPUT] &= ~termios.ICRNL
        quiet[_LOCAL] &= ~(termios.ECHO | termios.ICANON)
        _set(quiet)
        try:
            yield
        finally:
            self.give_back()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Let a program read lines in between, as an editor or a question for a key does."""
        before = self._as_it_was
        if before is None:
            yield
            return
        quiet = termios.tcgetattr(sys.stdin)
        _set(before)
        try:
            yield
        finally:
            _set(quiet)

    def give_back(self) -> None:
        """Leave the terminal as it was found."""
        before, self._as_it_was = self._as_it_was, None
        if before is not None:
            _set(before)


def _set(attributes: list[Any]) -> None:
    # What was typed before stays to be read.
    with suppress(termios.error, OSError):
        termios.tcsetattr(sys.stdin, termios.TCSANOW, attributes)
