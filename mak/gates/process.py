"""One command, from start to end: a time limit, capped output, and nobody left behind."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream

from mak.gates import supervisor

#: Bytes of output that are kept from the beginning, and from the end.
HEAD, TAIL = 16_384, 65_536
#: Seconds that output may still come after the command is over, from what left its group.
_LINGER = 1.0


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    #: Exit code; None: it was still running at its time limit.
    code: int | None
    output: str
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether the command said yes."""
        return self.code == 0


async def run(command: str, folder: Path, env: Mapping[str, str], timeout: float) -> Ran:
    """Run a shell command; its stdout and stderr are one text.

    Everything it started is killed when it ends, when its time is over and when the caller is
    cancelled or dies (outside of Linux: what stayed in its process group). Raises OSError
    when nothing can be started at all.
    """
    start = time.monotonic()
    kept = _Kept()
    code: int | None = None
    async with await anyio.open_process(
        [sys.executable, "-I", "-S", supervisor.__file__, command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=env,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(kept.read, process.stdout)
                with anyio.move_on_after(timeout):
                    code = await process.wait()
                if code is not None:
                    with anyio.move_on_after(_LINGER):
                        await kept.ended.wait()
                group.cancel_scope.cancel()
        finally:
            # The supervisor ends by this, and all else with it; killed, it could not see to that.
            with anyio.CancelScope(shield=True):
                await process.stdin.aclose()
                await process.wait()
    return Ran(code, kept.text(), time.monotonic() - start)


class _Kept:
    """The beginning and the end of a stream."""

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self._head, self._tail = bytearray(), bytearray()
        self._lost = 0

    async def read(self, stream: ByteReceiveStream) -> None:
        async for chunk in stream:
            room = HEAD - len(self._head)
            self._head += chunk[:room]
            self._tail += chunk[room:] if room > 0 else chunk
            if len(self._tail) > 2 * TAIL:
                self._lost += len(self._tail) - TAIL
                del self._tail[:-TAIL]
        self.ended.set()

    def text(self) -> str:
        cut = f"\n… {self._lost} bytes left out …\n".encode() if self._lost else b""
        return bytes(self._head + cut + self._tail).decode("utf-8", "replace")
