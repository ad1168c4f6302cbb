"""A loopback server that speaks every wire's streaming format and misbehaves as it is told."""

from __future__ import annotations

import itertools
import json
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWER = '{"ok": true}'
_prefixes = itertools.count(1)

#: The same ending in the words of each wire.
STOPS = {
    "done": ("end_turn", "stop", "stop"),
    "truncated": ("max_tokens", "length", "length"),
    "refused": ("refusal", "stop", "stop"),
    "filtered": ("refusal", "content_filter", "stop"),
    "context": ("model_context_window_exceeded", "length", "length"),
}


@dataclass
class Turn:
    """How one request is answered."""

    text: str = ANSWER
    stop: str = "done"
    refusal: str = ""
    #: Instead of a stream.
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    #: Of a stream: events before it ends early, and whether the connection breaks then.
    cut: int | None = None
    abort: bool = False
    #: Sent as an event after the first text.
    error: dict[str, Any] | None = None
    garbage: bool = False
    #: Seconds between events.
    drip: float = 0.0
    usage: bool = True
    #: Answer in one piece of JSON, though a stream is asked for.
    whole: bool = False


@dataclass
class Seen:
    """One request that arrived."""

    at: float
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the tests."""


class FakeServer:
    """Answers requests with turns, in order; when they run out, well."""

    def __init__(self, path: str | None = None) -> None:
        #: A path of its own, by default: what one test taught the process about an endpoint ends
        #: with it.
        self.path = f"/t{next(_prefixes)}" if path is None else path
        self.turns: list[Turn] = []
        #: Turns of their own for requests that hold a text, whoever else asks in between.
        self.scripts: dict[str, list[Turn]] = {}
        self.seen: list[Seen] = []
        #: What is told about models, by path: ``v1/models``, ``api/tags``, ``api/show``; or a
        #: function of the query.
        self.facts: dict[str, Any] = {}
        #: What questions about models are answered with instead; None: what is written down.
        self.refused: Turn | None = None
        #: Questions about models that were asked, with their bodies.
        self.looked: list[tuple[str, dict[str, Any]]] = []
        #: What is answered to a prompt, from its text, when there is no turn; None: `ANSWER`.
        self.reader: Callable[[str], str] | None = None
        #: Answers that were begun as streams: what a vendor would bill.
        self.streams = 0
        #: Connections that clients hold open.
        self.connections = 0
        #: Tokens of a prompt, as reported.
        self.counted = 115
        #: Whether tokens are reported at all, where there is no turn.
        self.counts = True
        #: Requests per seconds; what is beyond is turned away with the pause until the next ones.
        self.quota: tuple[int, float] | None = None
        self._lock = threading.Lock()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *args: Any) -> None:
                pass

            def setup(self) -> None:
                super().setup()
                with fake._lock:
                    fake.connections += 1

            def finish(self) -> None:
                with fake._lock:
                    fake.connections -= 1
                super().finish()

            def do_GET(self) -> None:
                self._looked({})

            def _looked(self, body: dict[str, Any]) -> None:
                """Answer questions about models; what is not written down is not there."""
                with fake._lock:
                    path = self.path.removeprefix(fake.path).lstrip("/")
                    path, _, query = path.partition("?")
                    fake.looked.append((path, body))
                    found = fake.facts.get(path)
                    found = found(query) if callable(found) else found
                turn = fake.refused or Turn(status=404, body={"error": "no such page"})
                found = None if fake.refused else found
                fake.answer(self, turn if found is None else Turn(body=found), {})

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                body = json.loads(self.rfile.read(length) or b"{}")
                if self.path.endswith("/api/show"):
                    self._looked(body)
                    return
                headers = {name.lower(): value for name, value in self.headers.items()}
                with fake._lock:
                    fake.seen.append(Seen(time.monotonic(), self.path, headers, body))
                    turn = fake.turned_away() or fake.next_turn(body)
                try:
                    fake.answer(self, turn, body)
                except OSError:
                    self.close_connection = True

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self._server.server_port}{self.path}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def turned_away(self) -> Turn | None:
        """Answer the request just seen with 429 when it is beyond the quota."""
        if self.quota is None:
            return None
        most, window = self.quota
        now = self.seen[-1].at
        started = now - now % window
        if sum(seen.at >= started for seen in self.seen) <= most:
            return None
        body = {"error": {"type": "rate_limit_error", "message": "too many requests"}}
        pause = f"{started + window - now:.3f}"
        return Turn(status=429, body=body, headers={"retry-after": pause})

    def next_turn(self, body: dict[str, Any]) -> Turn:
        """Take the turn that is meant for a request."""
        text = json.dumps(body, ensure_ascii=False)
        turns = next((turns for key, turns in self.scripts.items() if key in text), self.turns)
        turn = turns.pop(0) if turns else self._good(body)
        self.streams += turn.status == 200 and turn.body is None
        return turn

    def _good(self, body: dict[str, Any]) -> Turn:
        if self.reader is None:
            return Turn(usage=self.counts)
        said = body["messages"][-1]["content"]
        text = said if isinstance(said, str) else "".join(part["text"] for part in said)
        return Turn(self.reader(text), usage=self.counts)

    def answer(self, http: BaseHTTPRequestHandler, turn: Turn, body: dict[str, Any]) -> None:
        if turn.status != 200 or turn.body is not None:
            data = turn.body if isinstance(turn.body, bytes) else json.dumps(turn.body).encode()
            http.send_response(turn.status)
            http.send_header("content-type", turn.content_type)
            http.send_header("content-length", str(len(data)))
            for name, value in turn.headers.items():
                http.send_header(name, value)
            http.end_headers()
            http.wfile.write(data)
            return
        if turn.whole:
            self.answer(http, replace(turn, body=self._whole(http.path, turn, body)), body)
            return
        kind = "text/event-stream; charset=utf-8"
        if http.path.endswith("/messages"):
            events = self._anthropic(turn, body)
        elif http.path.endswith("/api/chat"):
            events, kind = self._ollama(turn, body), "application/x-ndjson"
        else:
            events = self._openai(turn, body)
        http.send_response(200)
        http.send_header("content-type", kind)
        http.send_header("transfer-encoding", "chunked")
        for name, value in turn.headers.items():
            http.send_header(name, value)
        http.end_headers()
        for number, event in enumerate(events):
            if turn.cut == number:
                if turn.abort:
                    http.connection.shutdown(socket.SHUT_RDWR)
                    http.close_connection = True
                    return
                break
            data = event.encode()
            http.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            http.wfile.flush()
            if turn.drip:
                time.sleep(turn.drip)
        http.wfile.write(b"0\r\n\r\n")

    def _whole(self, path: str, turn: Turn, body: dict[str, Any]) -> dict[str, Any]:
        """Return what each API answers where no stream is asked for."""
        model = body.get("model", "")
        if path.endswith("/messages"):
            usage = {"input_tokens": 10, "output_tokens": 20}
            usage |= {"cache_creation_input_tokens": 5, "cache_read_input_tokens": 100}
            return {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": model,
                "content": [{"type": "text", "text": turn.text}],
                "stop_reason": STOPS[turn.stop][0],
                **({"usage": usage} if turn.usage else {}),
            }
        message = {"role": "assistant", "content": turn.text}
        if path.endswith("/api/chat"):
            counts = {"prompt_eval_count": self.counted, "eval_count": 20}
            stop = {"done": True, "done_reason": STOPS[turn.stop][2]}
            return {"model": model, "message": message, **stop, **(counts if turn.usage else {})}
        counts = {"prompt_tokens": self.counted, "completion_tokens": 20}
        counts["total_tokens"] = sum(counts.values())
        choice = {"index": 0, "message": message, "finish_reason": STOPS[turn.stop][1]}
        whole = {"id": "c1", "object": "chat.completion", "created": 1, "model": model}
        return {**whole, "choices": [choice], **({"usage": counts} if turn.usage else {})}

    def _anthropic(self, turn: Turn, body: dict[str, Any]) -> list[str]:
        def event(kind: str, **data: Any) -> str:
            return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"

        usage = {
            "input_tokens": 10 if turn.usage else 0,
            "cache_creation_input_tokens": 5 if turn.usage else 0,
            "cache_read_input_tokens": 100 if turn.usage else 0,
            "output_tokens": 1,
        }
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", ""),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        stop, details = STOPS[turn.stop][0], None
        if turn.refusal:
            stop = "refusal"
            details = {"type": "refusal", "category": "cyber", "explanation": turn.refusal}
        block: dict[str, Any] = {"type": "text", "text": ""}
        if body.get("tools") and turn.text.startswith("{"):
            stop = "tool_use" if turn.stop == "done" else stop
            name = body["tools"][0]["name"]
            block = {"type": "tool_use", "id": "t1", "name": name, "input": {}}
        texts = [turn.text[i : i + 8] for i in range(0, len(turn.text), 8)]
        deltas = [
            {"type": "text_delta", "text": text}
            if block["type"] == "text"
            else {"type": "input_json_delta", "partial_json": text}
            for text in texts
        ]
        events = [event("message_start", message=message)]
        if texts:
            events.append(event("content_block_start", index=0, content_block=block))
            events += [event("content_block_delta", index=0, delta=delta) for delta in deltas]
            events.append(event("content_block_stop", index=0))
        end = {"stop_reason": stop, "stop_sequence": None, "stop_details": details}
        events.append(event("message_delta", delta=end, usage={"output_tokens": 20}))
        events.append(event("message_stop"))
        if turn.error:
            events[3:3] = [event("error", error=turn.error)]
        if turn.garbage:
            events[3:3] = ["event: content_block_delta\ndata: {not json\n\n"]
        return events

    def _ollama(self, turn: Turn, body: dict[str, Any]) -> list[str]:
        def line(**data: Any) -> str:
            return json.dumps({"model": body.get("model", ""), "created_at": "now", **data}) + "\n"

        def said(content: str, **more: Any) -> str:
            return line(message={"role": "assistant", "content": content}, **more)

        texts = [turn.text[i : i + 8] for i in range(0, len(turn.text), 8)]
        lines = [said(text, done=False) for text in ("", *texts)]
        end: dict[str, Any] = {"done": True, "done_reason": STOPS[turn.stop][2]}
        if turn.usage:
            end |= {"prompt_eval_count": self.counted, "eval_count": 20}
        lines.append(said("", **end))
        if turn.error:
            lines[2:2] = [line(error=turn.error["message"])]
        if turn.garbage:
            lines[2:2] = ["{not json\n"]
        return lines

    def _openai(self, turn: Turn, body: dict[str, Any]) -> list[str]:
        def event(*choices: dict[str, Any], **more: Any) -> str:
            chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1}
            chunk |= {"model": body.get("model", ""), "choices": list(choices), **more}
            return f"data: {json.dumps(chunk)}\n\n"

        def choice(stop: str | None = None, **delta: Any) -> dict[str, Any]:
            return {"index": 0, "delta": delta, "finish_reason": stop}

        events = [event(choice(role="assistant", content=""))]
        for start in range(0, len(turn.text), 8):
            events.append(event(choice(content=turn.text[start : start + 8])))
        if turn.refusal:
            events.append(event(choice(refusal=turn.refusal)))
        events.append(event(choice(STOPS[turn.stop][1])))
        if turn.usage and (body.get("stream_options") or {}).get("include_usage"):
            details = {"cached_tokens": 100, "cache_write_tokens": 5}
            usage = {
                "prompt_tokens": self.counted,
                "completion_tokens": 20,
                "total_tokens": self.counted + 20,
                "prompt_tokens_details": details,
            }
            events.append(event(usage=usage))
        events.append("data: [DONE]\n\n")
        if turn.error:
            events[2:2] = [f"data: {json.dumps({'error': turn.error})}\n\n"]
        if turn.garbage:
            events[2:2] = ["data: {not json\n\n"]
        return events
