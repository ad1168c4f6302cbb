"""A loopback server of fixed JSON pages: what local model servers say about themselves."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: Pages by kind of server, as the real ones answer.
OLLAMA = {
    "/api/tags": {"models": [{"name": "qwen3-coder:30b"}, {"name": "tiny:1b"}]},
    "/api/show qwen3-coder:30b": {"model_info": {"qwen3moe.context_length": 262144}},
    "/api/show tiny:1b": {"model_info": {"llama.context_length": 4096}},
    "/v1/models": {"data": [{"id": "qwen3-coder:30b", "owned_by": "library"}]},
}
LM_STUDIO = {
    "/api/v0/models": {
        "data": [
            {
                "id": "qwen3-8b",
                "type": "llm",
                "loaded_context_length": 8192,
                "max_context_length": 131072,
            },
            {"id": "embed", "type": "embeddings", "max_context_length": 2048},
        ]
    },
    "/v1/models": {"data": [{"id": "qwen3-8b", "owned_by": "organization_owner"}]},
}
LLAMA_CPP = {
    "/props": {"default_generation_settings": {"n_ctx": 4096}},
    "/v1/models": {
        "data": [{"id": "gemma.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 32768}}]
    },
}
VLLM = {
    "/v1/models": {
        "data": [{"id": "Qwen/Qwen3-Coder-30B", "owned_by": "vllm", "max_model_len": 65536}]
    }
}
PLAIN = {"/v1/models": {"data": [{"id": "m1"}]}}


@contextmanager
def serving(pages: Mapping[str, Any], *, delay: float = 0.0) -> Iterator[str]:
    """Serve pages while the block runs; yields the base URL.

    A page that is asked for with a model is found under path and model, else under the path.
    """

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._answer(self.path)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self._answer(f"{self.path} {body.get('model')}")

        def _answer(self, name: str) -> None:
            time.sleep(delay)
            found = pages.get(name)
            data = json.dumps({"error": "not found"} if found is None else found).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Clients that lose patience are part of the tests."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
