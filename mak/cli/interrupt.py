"""Ctrl-C during a run: the first one stops it cleanly, the second one at once."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from mak.cli.command import EXIT_INTERRUPTED

T = TypeVar("T")

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Turns SIGINT and SIGTERM into the cancellation of one piece of work."""

    def __init__(
        self, said: Callable[[str], None], leaving: Callable[[], None] = lambda: None
    ) -> None:
        """`leaving` is called before the process ends on the spot."""
        self._said = said
        self._leaving = leaving
        #: Whether a signal came.
        self.happened = False

    def run(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """Run `work` in an event loop; None when it was interrupted before it had a result.

        A second signal ends the process on the spot: what is in Git by then is enough to go on.
        """
        import anyio

        async def main() -> T | None:
            loop = asyncio.get_running_loop()
            result: T | None = None
            with anyio.CancelScope() as scope:

                def stop(number: int, frame: FrameType | None) -> None:
                    if self.happened:
                        self._leaving()
                        os.write(2, b"\x1b[?25h" if os.isatty(2) else b"")
                        os.write(2, b"\nmak: stopped at once; mak run --recover goes on\n")
                        os._exit(EXIT_INTERRUPTED)
                    self.happened = True
                    # A handler may run in the middle of a write to stderr.
                    loop.call_soon_threadsafe(self._said, "stopping; once more to stop at once")
                    loop.call_soon_threadsafe(scope.cancel)

                with _waking(loop), _handling(stop):
                    result = await work()
            return result

        return anyio.run(main)


def foreground(command: Sequence[str], stdout: int) -> int:
    """Run a program in the foreground, as an editor, and return its exit code; raise OSError.

    Ctrl-C is the program's own business: it starts with the default, since a handler is not
    inherited. SIGTERM is for us: it ends the program, and then stops what would be stopped without.
    """
    former = signal.getsignal(signal.SIGTERM)
    started: list[subprocess.Popen[bytes]] = []
    asked = False

    def leave(number: int, frame: FrameType | None) -> None:
        pass

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        for each in started:
            each.terminate()
        if callable(former):
            former(number, frame)

    with (
        _handling(leave, (signal.SIGINT,)),
        _handling(end, (signal.SIGTERM,)),
        subprocess.Popen(command, stdout=stdout) as program,
    ):
        started.append(program)
        if asked:
            program.terminate()
        code = program.wait()
    if asked and former is signal.SIG_DFL:
        signal.raise_signal(signal.SIGTERM)
    return code


@contextmanager
def _waking(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Let any signal wake the loop, whichever thread of the process it is delivered to.

    Handlers run in the main thread, which a signal to another thread leaves asleep in `select`.
    """
    reader, writer = socket.socketpair()
    with reader, writer:
        reader.setblocking(False)
        writer.setblocking(False)
        loop.add_reader(reader, reader.recv, 4096)
        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(reader)


Stop = Callable[[int, FrameType | None], None]


@contextmanager
def _handling(stop: Stop, signals: tuple[signal.Signals, ...] = SIGNALS) -> Iterator[None]:
    before = [(number, signal.signal(number, stop)) for number in signals]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


async def read_line() -> str | None:
    """Wait for a line from the terminal on stdin; None at its end. Cancelling is safe.

    The terminal hands over whole lines, one per read, so nothing waits in a buffer of ours.
    """
    import anyio

    descriptor = sys.stdin.fileno()
    await anyio.wait_readable(descriptor)
    data = os.read(descriptor, 65_536)
    return data.decode(errors="replace").strip() if data else None
