"""What goes wrong on the way to GitHub and back, switched on by a test.

What GitHub refuses by itself (a body that is too long, a line outside the difference, a token that
has expired or may not) needs no switch: see `rest`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SECONDARY = "You have exceeded a secondary rate limit. Please wait before you try again."


@dataclass
class Fault:
    """An answer in place of the right one."""

    status: int
    message: str
    headers: dict[str, str] = field(default_factory=dict)
    #: The method and the end of the path that it befalls; the empty string: any.
    method: str = ""
    path: str = ""
    times: int = 1
    #: Whether what was asked for is done all the same, and only the answer is lost.
    done: bool = False


class Faults:
    """The faults to come; each befalls the next requests that it fits."""

    def __init__(self) -> None:
        """Begin without any."""
        self._waiting: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """Let a fault befall the next request that it fits."""
        self._waiting.append(fault)

    def next(self, method: str, path: str) -> Fault | None:
        """Take the fault that befalls a request."""
        for fault in self._waiting:
            if fault.method in ("", method) and path.endswith(fault.path):
                fault.times -= 1
                if not fault.times:
                    self._waiting.remove(fault)
                return fault
        return None

    @property
    def over(self) -> bool:
        """Whether every fault has befallen something."""
        return not self._waiting

    def slow_down(self, seconds: int, **where: Any) -> None:
        """Answer 429 with a time to wait."""
        headers = {"retry-after": str(seconds)}
        self.add(Fault(429, SECONDARY, headers, **where))

    def secondary_limit(self, **where: Any) -> None:
        """Answer 403 for writing too much, without a time to wait."""
        self.add(Fault(403, SECONDARY, **where))

    def used_up(self, reset: int, **where: Any) -> None:
        """Answer 403 as the hour's requests are used up until `reset`, in seconds since 1970."""
        headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(reset)}
        self.add(Fault(403, "API rate limit exceeded", headers, **where))

    def lose_answer(self, **where: Any) -> None:
        """Do what is asked, and cut the connection before the answer is whole."""
        self.add(Fault(200, "", done=True, **where))

    def fail(self, status: int, **where: Any) -> None:
        """Answer with an error of the server."""
        self.add(Fault(status, "Server Error", **where))
