"""How patient a caller is: deadlines, retries, waits and answer sizes, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits of one question; seconds and tokens."""

    #: The question as a whole: calls, retries and waits.
    total: float = 600.0
    #: One call, from the first byte sent to the last byte read.
    deadline: float = 300.0
    #: Silence on a connection.
    idle: float = 120.0
    connect: float = 10.0
    #: Calls after the first for errors that may pass; rungs that are not supported do not count.
    retries: int = 8
    #: The same where nothing answers at the address: a wrong one does not come right by waiting.
    retries_unreachable: int = 2
    #: The same where what came is of no API: a page of a proxy, or JSON that is none.
    retries_malformed: int = 2
    #: First pause between retries; doubles up to `backoff_max`. The endpoint's wish comes first.
    backoff: float = 0.5
    backoff_max: float = 20.0
    #: Longest pause that an endpoint may ask for before the question is given up.
    max_wait: float = 60.0
    #: Calls that may be under way at one (endpoint, model) at once.
    concurrency: int = 16
    #: Longest that others wait for the first call with a prompt to begin its answer.
    first: float = 10.0
    #: Longest that a server of one's own is asked what its model can hold.
    look: float = 5.0
    #: Tokens of an answer, whatever is asked for.
    max_output: int = 64_000
    #: Calls after the first when a stream ends before the model said it was done.
    reconnects: int = 2
