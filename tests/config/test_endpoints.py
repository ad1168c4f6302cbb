from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from mak.config import Config, dump_yaml, parse_document, validate
from mak.config.endpoints import (
    Endpoints,
    EndpointSettings,
    read_endpoints,
    sparse,
    write_endpoints,
)
from mak.config.keylike import looks_like_key
from mak.errors import UsageError

GATEWAY = {
    "url": "https://gw.example/v1",
    "key": "GATEWAY_KEY",
    "model": "qwen3-coder:30b",
    "headers": {"X-Team": "tools"},
    "prices": {"*": {"input": 1.0, "output": 2.5}},
    "context": 32768,
}


def test_what_is_written_reads_back_and_is_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "mak" / "endpoints.json"
    assert read_endpoints(path) == Endpoints()
    found = validate(Endpoints, {"endpoints": {"gw": GATEWAY}, "hosts": ["box:11434"]}, "x")
    write_endpoints(path, found)
    assert read_endpoints(path) == found
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text()) == {"endpoints": {"gw": GATEWAY}, "hosts": ["box:11434"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"key": "sk-ant-api03-abc"}, "should be the name of an environment variable"),
        ({"key": "a8f3c2e19b7d4f6081234567890abcde"}, "looks like a key"),
        ({"model": "sk-proj-abcdef"}, "looks like a key"),
        ({"title": "nvapi-abcdef"}, "looks like a key"),
        ({"url": "https://gw.example/v1?k=a8f3c2e19b7d4f6081234567890abcde"}, "looks like a key"),
        ({"url": "https://me:pass@gw.example/v1"}, "no user or password is kept here"),
        ({"url": "gw.example/v1"}, "should be a URL such as"),
        ({"url": "http://[::1"}, "should be a URL such as"),
        ({"headers": {"Authorization": "x"}}, "the header Authorization is a secret"),
        ({"headers": {"X-Api-Key": "x"}}, "the header X-Api-Key is a secret"),
        ({"headers": {"X-Team": "Bearer abc"}}, "looks like a key"),
        ({"wire": "grpc"}, "wire: should be 'openai', 'anthropic' or 'ollama'"),
        ({"modle": "m"}, "unknown key 'endpoints.gw.modle'; did you mean 'model'?"),
        ({"prices": {"m": {"inptu": 1.0}}}, "did you mean 'input'?"),
    ],
)
def test_no_key_and_no_mistake_gets_in(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = tmp_path / "endpoints.json"
    text = json.dumps({"endpoints": {"gw": {**GATEWAY, **change}}}, indent=1)
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_endpoints(path)
    assert message in str(caught.value)
    assert "endpoints.json:" in str(caught.value)
    for value in ("sk-ant", "a8f3c2", "sk-proj", "nvapi-", "me:pass", "Bearer abc"):
        assert value not in str(caught.value)


def test_writing_looks_again_that_there_is_no_key(tmp_path: Path) -> None:
    smuggled = EndpointSettings.model_construct(url="https://x.example", model="sk-proj-abcdef")
    with pytest.raises(UsageError, match="looks like a key"):
        write_endpoints(tmp_path / "e.json", Endpoints.model_construct(endpoints={"x": smuggled}))
    assert not (tmp_path / "e.json").exists()


@pytest.mark.parametrize("id", ["Gw", "a:b", "", "a b", "-a", "a@b", "x" * 65])
def test_ids_fit_into_a_model_spec(tmp_path: Path, id: str) -> None:
    path = tmp_path / "endpoints.json"
    path.write_text(json.dumps({"endpoints": {id: GATEWAY}}))
    with pytest.raises(UsageError, match="an id is made of small letters"):
        read_endpoints(path)


def test_an_endpoint_stands_in_a_configuration_file_as_well() -> None:
    settings = validate(EndpointSettings, GATEWAY, "x")
    text = dump_yaml({"endpoints": {"gw": sparse(settings)}})
    assert validate(Config, parse_document(text, "c.yaml"), "c.yaml", text).endpoints == {
        "gw": settings
    }


@pytest.mark.parametrize(
    "text",
    [
        "claude-sonnet-5-5-20260101",
        "Qwen/Qwen3-Coder-30B-A3B-Instruct-GGUF",
        "hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M",
        "qwen3-coder:30b-a3b-q4_K_M",
        "accounts/fireworks/models/llama-v3p1-405b-instruct",
        "meta_llama_3_1_405b_instruct",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "https://my-resource-eastus2.openai.azure.com/openai/deployments/gpt4o2024turbo",
        "https://3fa85f64-5717-4562-b3fc-2c963f66afa6.hosts.example/v1",
        "OPENROUTER_API_KEY",
    ],
)
def test_names_do_not_look_like_keys(text: str) -> None:
    assert not looks_like_key(text)


@pytest.mark.parametrize(
    "text",
    [
        "sk-ant-api03-x",
        "sk-x",
        "AIzaSyD",
        "x=gsk_abc",
        "github_pat_11A",
        "eyJhbGciOi",
        "Bearer abc",
        "b1946ac92492d2347c6235b4d2611184.x8K2mQpL9sT4vW7z",
        "8K2mQpL9sT4vW7zR3nB5cD1fG6hJ0kY2",
    ],
)
def test_keys_of_old_and_new_formats_look_like_keys(text: str) -> None:
    assert looks_like_key(text)
