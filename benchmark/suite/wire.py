"""A server on this machine that speaks the vendors' wire formats, and whose answers come from here.

Anthropic Messages and OpenAI Chat Completions, streamed; whoever writes the answers sees the
prompt as text. Tokens are told as four characters each, a repeated beginning of a prompt as cached.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: From system prompt and prompt to the text of an answer.
Answer = Callable[[str, str], str]
_CHARS = 4


def anthropic(model: str, text: str, tokens: tuple[int, int, int]) -> str:
    """Return a stream of Anthropic Messages."""
    fresh, cached, out = tokens
    usage = {"input_tokens": fresh, "cache_read_input_tokens": cached, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": model, "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    block = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": text}
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": out}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)


def openai(model: str, text: str, tokens: tuple[int, int, int]) -> str:
    """Return a stream of OpenAI Chat Completions."""
    fresh, cached, out = tokens
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": model}
    said = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}
    stop: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": "stop"}
    usage: dict[str, Any] = {"prompt_tokens": fresh + cached, "completion_tokens": out}
    usage |= {"total_tokens": fresh + cached + out}
    usage |= {"prompt_tokens_details": {"cached_tokens": cached}}
    chunks = [
        {**chunk, "choices": [said]},
        {**chunk, "choices": [stop]},
        {**chunk, "choices": [], "usage": usage},
    ]
    return "".join(f"data: {json.dumps(each)}\n\n" for each in chunks) + "data: [DONE]\n\n"


def read_prompt(body: dict[str, Any]) -> tuple[str, str]:
    """Return the system prompt and everything else that a request says."""
    messages = list(body.get("messages", ()))
    system = [_text(body.get("system", ""))]
    said = []
    for message in messages:
        part = _text(message.get("content", ""))
        (system if message.get("role") in ("system", "developer") else said).append(part)
    return "\n".join(filter(None, system)), "\n".join(said)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))


class _Cache:
    """What prompts have begun with, as an endpoint keeps it."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def tokens(self, system: str, said: str, answer: str) -> tuple[int, int, int]:
        """Return fresh, cached and written tokens."""
        with self._lock:
            known = system in self._seen
            self._seen.add(system)
        cached = len(system) // _CHARS if known else 0
        return (len(system) + len(said)) // _CHARS - cached, cached, len(answer) // _CHARS + 1


@contextmanager
def served(answer: Answer, *, latency: float = 0.0) -> Iterator[str]:
    """Yield the base URL of a server that answers; each answer takes `latency` seconds at least."""
    cache = _Cache()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            """Know of no page."""
            self._send(404, b"{}", "application/json")

        def do_POST(self) -> None:
            """Answer one question."""
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
            system, said = read_prompt(body)
            text = answer(system, said)
            time.sleep(latency)
            form = anthropic if self.path.endswith("/messages") else openai
            stream = form(body.get("model", ""), text, cache.tokens(system, said, text))
            self._send(200, stream.encode(), "text/event-stream")

        def _send(self, status: int, data: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
