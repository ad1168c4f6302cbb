"""Ten agents, forty calls, thirty requests a minute: who gets through, and what it takes.

``python benchmark/ratelimit.py`` starts a server on this machine that turns requests away beyond
its quota (a token bucket, as vendors have it: thirty at once, then one every two seconds;
``Retry-After`` says when the next one is there). Ten agents ask it four times each: with the
vendors' SDKs as they come, with more retries than they come with, and through MAK's gate, in both
wire formats. A lost call is a task that fails.

The clock runs ``--scale`` times as fast: quota, ``Retry-After``, the SDKs' pauses and MAK's alike,
so that what is compared stays the same. Exits with 1 if MAK loses a call.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anthropic._base_client
import anyio
import httpx2
import openai._base_client
from anthropic import AnthropicError, AsyncAnthropic
from openai import AsyncOpenAI, OpenAIError

from mak.providers import Policy, Setup, open_client
from mak.providers.connect import close
from mak.providers.endpoints import Endpoint, Wire
from mak.providers.request import NoAnswer, Request

AGENTS, CALLS, PER_MINUTE = 10, 4, 30
WIRES = (Wire.ANTHROPIC, Wire.OPENAI)
Ask = Callable[[], Awaitable[Any]]


@dataclass
class Quota:
    """A token bucket; `minute` is how long one lasts here."""

    minute: float
    left: float = PER_MINUTE
    at: float = field(default_factory=time.monotonic)
    requests: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> float:
        """Take one request; return how long to wait where there is none: 0 when it was there."""
        with self._lock:
            self.requests += 1
            now, rate = time.monotonic(), PER_MINUTE / self.minute
            self.left = min(PER_MINUTE, self.left + (now - self.at) * rate)
            self.at = now
            if self.left >= 1:
                self.left -= 1
                return 0.0
            return (1 - self.left) / rate


def handler(quota: Quota) -> type[BaseHTTPRequestHandler]:
    """Return a handler that answers both wires within a quota."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            pause = quota.take()
            if pause:
                body = {"error": {"type": "rate_limit_error", "message": "too many requests"}}
                self.reply(429, json.dumps(body), "application/json", f"{pause:.3f}")
            elif self.path.endswith("/messages"):
                self.reply(200, ANTHROPIC, "text/event-stream")
            else:
                self.reply(200, OPENAI, "text/event-stream")

        def reply(self, status: int, text: str, kind: str, pause: str = "") -> None:
            data = text.encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            if pause:
                self.send_header("retry-after", pause)
            self.end_headers()
            self.wfile.write(data)

    return Handler


def _events() -> tuple[str, str]:
    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    text: dict[str, Any] = {"type": "text", "text": ""}
    stream = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": text},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ok"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    ]
    one = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in stream)
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    delta = {"index": 0, "delta": {"content": "ok"}, "finish_reason": "stop"}
    other = f"data: {json.dumps({**chunk, 'choices': [delta]})}\n\ndata: [DONE]\n\n"
    return one, other


ANTHROPIC, OPENAI = _events()


@contextmanager
def served(minute: float) -> Iterator[tuple[Quota, str]]:
    """Yield a quota and the URL of the server that keeps it."""
    quota = Quota(minute)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(quota))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield quota, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def scaled(scale: float) -> Iterator[None]:
    """Let the SDKs' own pauses run on the same clock."""
    vendors = (anthropic._base_client, openai._base_client)
    names = ("INITIAL_RETRY_DELAY", "MAX_RETRY_DELAY")
    before = [(vendor, name, getattr(vendor, name)) for vendor in vendors for name in names]
    try:
        for vendor, name, seconds in before:
            setattr(vendor, name, seconds / scale)
        yield
    finally:
        for vendor, name, seconds in before:
            setattr(vendor, name, seconds)


# --------------------------------------------------------------------------------- who is compared


def sdk(wire: Wire, url: str, retries: int | None) -> tuple[Ask, Callable[[], Awaitable[None]]]:
    """Return one agent of its own: the vendor's SDK, with its retries or others."""
    more: dict[str, Any] = {} if retries is None else {"max_retries": retries}
    more["http_client"] = httpx2.AsyncClient(trust_env=False)
    if wire is Wire.ANTHROPIC:
        claude = AsyncAnthropic(api_key="none", base_url=url, **more)

        async def ask_claude() -> None:
            asked = [{"role": "user", "content": "x"}]
            async with claude.messages.stream(model="m", max_tokens=9, messages=asked) as stream:
                await stream.get_final_message()

        return ask_claude, claude.close
    gpt = AsyncOpenAI(api_key="none", base_url=f"{url}/v1", **more)

    async def ask_gpt() -> None:
        asked: Any = [{"role": "user", "content": "x"}]
        stream = await gpt.chat.completions.create(model="m", messages=asked, stream=True)
        async for _ in stream:
            pass

    return ask_gpt, gpt.close


def mak(wire: Wire, url: str, scale: float) -> tuple[Ask, Callable[[], Awaitable[None]]]:
    """Return one agent that asks through MAK, with its pauses on the same clock."""
    base = url if wire is Wire.ANTHROPIC else f"{url}/v1"
    here = Endpoint("here", wire, base)
    normal = Policy()
    policy = Policy(backoff=normal.backoff / scale, backoff_max=normal.backoff_max / scale)
    client = open_client("here:m", policy, Setup(own={"here": here}, variables={}))

    async def ask_mak() -> None:
        await client.complete(Request("", "", "x"))

    async def leave() -> None:
        pass

    return ask_mak, leave


STRATEGIES: dict[str, Callable[[Wire, str, float], tuple[Ask, Callable[[], Awaitable[None]]]]] = {
    "SDK as it comes": lambda wire, url, scale: sdk(wire, url, None),
    "SDK, 8 retries": lambda wire, url, scale: sdk(wire, url, 8),
    "MAK": mak,
}


@dataclass
class Result:
    """How one strategy did."""

    strategy: str
    wire: str
    done: int
    lost: int
    requests: int
    #: On the scaled clock.
    seconds: float


def measure(name: str, wire: Wire, scale: float) -> Result:
    """Let ten agents ask, four times each."""
    done = lost = 0

    async def main(url: str) -> None:
        agents = [STRATEGIES[name](wire, url, scale) for _ in range(AGENTS)]

        async def agent(ask: Ask) -> None:
            nonlocal done, lost
            for _ in range(CALLS):
                try:
                    await ask()
                    done += 1
                except (NoAnswer, AnthropicError, OpenAIError):
                    lost += 1

        try:
            async with anyio.create_task_group() as group:
                for ask, _ in agents:
                    group.start_soon(agent, ask)
        finally:
            for _, leave in agents:
                await leave()
            await close()

    with scaled(scale), served(60 / scale) as (quota, url):
        start = time.monotonic()
        anyio.run(main, url)
        took = time.monotonic() - start
    return Result(name, str(wire), done, lost, quota.requests, took * scale)


def run(scale: float) -> list[Result]:
    """Measure every strategy over both wires."""
    return [measure(name, wire, scale) for wire in WIRES for name in STRATEGIES]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--scale", type=float, default=5.0, help="how much faster the clock runs")
    scale = parser.parse_args().scale
    print(f"{AGENTS} agents, {AGENTS * CALLS} calls, {PER_MINUTE} requests a minute; ", end="")
    print(f"clock x {scale:g}: a minute lasts {60 / scale:g} s, seconds below are unscaled\n")
    print("| wire | strategy | answered | lost | requests | seconds |")
    print("|---|---|---:|---:|---:|---:|")
    results = run(scale)
    for each in results:
        print(
            f"| {each.wire} | {each.strategy} | {each.done} | {each.lost} "
            f"| {each.requests} | {each.seconds:.1f} |"
        )
    return int(any(each.lost for each in results if each.strategy == "MAK"))


if __name__ == "__main__":
    raise SystemExit(main())
