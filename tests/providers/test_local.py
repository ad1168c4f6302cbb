from __future__ import annotations

import time
from typing import Any

import anyio
import pytest

from mak.errors import UsageError
from mak.providers.local import LocalModel, Server, check_host, find, places
from mak.providers.setup import Setup
from mak.providers.spec import parse
from tests.pages import LLAMA_CPP, LM_STUDIO, OLLAMA, PLAIN, VLLM, serving

FIRST = {
    "ollama": (OLLAMA, "", LocalModel("qwen3-coder:30b", 262144, 262144)),
    "lmstudio": (LM_STUDIO, "/v1", LocalModel("qwen3-8b", 8192, 131072)),
    "llamacpp": (LLAMA_CPP, "/v1", LocalModel("gemma.gguf", 4096, 32768)),
    "vllm": (VLLM, "/v1", LocalModel("Qwen/Qwen3-Coder-30B", 65536)),
    "local": (PLAIN, "/v1", LocalModel("m1")),
}


@pytest.mark.parametrize("kind", FIRST)
def test_servers_are_told_apart_and_say_what_they_hold(kind: str) -> None:
    pages, path, model = FIRST[kind]
    with serving(pages) as url:
        (server,) = anyio.run(find, [url])
        assert (server.kind, server.url) == (kind, f"{url}{path}")
        assert server.models[0] == model
        spec = parse(server.spec(model.id), Setup(variables={}))
        assert spec.rest == model.id
        assert spec.endpoint is not None
        assert spec.endpoint.url == server.url


def test_an_embedding_model_is_no_model_to_ask() -> None:
    with serving(LM_STUDIO) as url:
        (server,) = anyio.run(find, [url])
        assert [model.id for model in server.models] == ["qwen3-8b"]


def test_usual_ports_need_no_url_in_the_spec() -> None:
    assert Server("ollama", "http://127.0.0.1:11434", ()).spec("a:b") == "ollama:a:b"
    assert Server("vllm", "http://127.0.0.1:8000/v1", ()).spec("a/b") == "vllm:a/b"
    assert Server("vllm", "http://box:8000/v1", ()).spec("a/b") == "local:a/b@http://box:8000/v1"
    assert Server("ollama", "http://box:1", ()).spec("a:b") == "ollama:a:b@http://box:1"


def test_what_does_not_answer_is_not_waited_for(free_port: int) -> None:
    with serving(OLLAMA) as good, serving(OLLAMA, delay=3.0) as slow, serving({}) as other:
        began = time.monotonic()
        gone = f"http://127.0.0.1:{free_port}"
        found = anyio.run(find, [slow, gone, other, good], 0.5)
        assert time.monotonic() - began < 2.5
        assert [server.url for server in found] == [good]


@pytest.mark.parametrize(
    "pages",
    [
        {"/api/tags": [], "/v1/models": "no"},
        {"/api/tags": {"models": None}, "/v1/models": {"data": {}}},
        {"/v1/models": {"data": [3, {"no": "id"}]}},
    ],
)
def test_pages_of_something_else_are_no_model_server(pages: dict[str, Any]) -> None:
    with serving(pages) as url:
        assert all(not server.models for server in anyio.run(find, [url]))


@pytest.mark.parametrize(
    ("kind", "model", "says"),
    [
        ("lmstudio", LocalModel("m", 8192, 131072), "cut; load it again with a longer context: "),
        ("lmstudio", LocalModel("m", 8192, 8192), "cut; choose a model that holds more"),
        ("llamacpp", LocalModel("m", 4096, 32768), "cut; start the server again with -c 32000"),
        ("vllm", LocalModel("m", 4096), "refuse; start the server again with --max-model-len"),
        ("ollama", LocalModel("m", 4096, 4096), "refuse; choose a model that holds more"),
        ("local", LocalModel("m", 4096), "cut; start the server again with a longer context"),
    ],
)
def test_a_window_that_is_too_small_is_a_warning_that_helps(
    kind: str, model: LocalModel, says: str
) -> None:
    assert says in Server(kind, "http://127.0.0.1:1", ()).warning(model, 32_000)
    assert Server(kind, "http://127.0.0.1:1", ()).warning(model, 4_000) == ""


def test_an_unknown_window_is_no_warning() -> None:
    assert Server("local", "http://127.0.0.1:1", ()).warning(LocalModel("m"), 32_000) == ""


def test_hosts_are_looked_at_besides_this_machine() -> None:
    here = places(())
    assert here == tuple(f"http://127.0.0.1:{port}" for port in (11434, 1234, 8080, 8000))
    assert places(["box:9"], ["http://o:1/x"]) == (*here, "http://box:9", "http://o:1")
    assert places(["box"])[4:] == tuple(f"http://box:{port}" for port in (11434, 1234, 8080, 8000))


@pytest.mark.parametrize("text", ["", "http://", "https://box:1", "me:pw@box", "box/path", "[::1"])
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no host and port"):
        check_host(text)


def test_a_host_is_kept_bare() -> None:
    assert check_host(" http://box:11434/ ") == "box:11434"
    assert check_host("[::1]:8000") == "[::1]:8000"
