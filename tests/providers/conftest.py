"""Every wire format against one loopback server."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from mak.providers import Client, Policy, open_client
from mak.providers.connect import close
from mak.providers.request import Completion, Request
from tests.providers.fake import FakeServer, Seen, Turn

KEY = "sk-canary-0123456789abcdef"
SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}
#: Nothing in the default suite waits for long.
QUICK = Policy(backoff=0.005, backoff_max=0.02, deadline=5, total=20, max_wait=0.5)


@dataclass
class Wire:
    """One vendor's format, and the server that speaks it."""

    name: str
    server: FakeServer
    policy: Policy = QUICK
    spec: str = ""

    def answers(self, *turns: Turn) -> Wire:
        self.server.turns.extend(turns)
        return self

    def client(self, policy: Policy | None = None) -> Client:
        return open_client(self.spec, policy or self.policy)

    def ask(
        self,
        client: Client | None = None,
        *,
        max_tokens: int = 1000,
        schema: Mapping[str, Any] = SCHEMA,
        policy: Policy | None = None,
        prompt: str = "the prompt",
    ) -> Completion:
        """Ask once, in an event loop of its own."""
        request = Request("the rules", "the shared part", prompt, schema, "answer", max_tokens)

        async def main() -> Completion:
            try:
                return await (client or self.client(policy)).complete(request)
            finally:
                await close()

        return anyio.run(main)

    @property
    def seen(self) -> list[Seen]:
        return self.server.seen

    def room(self, number: int) -> int:
        """How many tokens request `number` allowed for its answer."""
        body = self.seen[number].body
        if "options" in body:
            return int(body["options"]["num_predict"])
        return int(body.get("max_completion_tokens") or body["max_tokens"])


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer()
    yield fake
    fake.close()


@pytest.fixture
def free_port() -> int:
    """A port of this machine where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def make_wire(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Wire]:
    """Return a function that points a provider at the server."""

    def make(name: str) -> Wire:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.root)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.root}/v1")
        monkeypatch.setenv("OLLAMA_API_KEY", KEY)
        monkeypatch.setenv("OLLAMA_HOST", server.root)
        url = f"@{server.root}/v1" if name == "local" else ""
        return Wire(name, server, spec=f"{name}:model-x{url}")

    return make


@pytest.fixture(params=["anthropic", "openai"])
def sse(request: pytest.FixtureRequest, make_wire: Callable[[str], Wire]) -> Wire:
    """The wires whose streams are server-sent events, with errors and refusals of their own."""
    return make_wire(request.param)


@pytest.fixture(params=["anthropic", "openai", "ollama"])
def wire(request: pytest.FixtureRequest, make_wire: Callable[[str], Wire]) -> Wire:
    return make_wire(request.param)
