"""A key, whatever its format, is sent to its endpoint and to nowhere else."""

from __future__ import annotations

import json
import logging
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mak.cli.main import main
from mak.model import RunState
from tests.providers.fake import FakeServer, Turn
from tests.providers.test_secrets import CANARIES
from tests.road.test_http import NET, PLAN, PLANNER, SHOP, TOTAL, Site, answer, everything

#: Vendors by the wire that they speak.
VENDORS = ("anthropic", "openai")
TASKS = {**PLAN, "tasks": PLAN["tasks"][:2]}


def echoes(key: str) -> dict[str, list[Turn]]:
    """Return what a server may do that repeats the key in all it says; then it answers."""
    error = {"type": "error", "error": {"type": "x", "message": f"key {key} is no good"}}
    good = answer(NET)
    return {
        "a bad key": [Turn(status=401, body=error)] * 9,
        "no credit": [Turn(status=402, body=error)] * 9,
        "a bad request": [Turn(status=400, body=error)] * 9,
        "an outage": [Turn(status=500, body=error, headers={"retry-after": "0.01"})] * 9,
        "an error in the stream": [Turn(error={"type": "x", "message": key}), good],
        "a page": [Turn(body=f"<html>{key}</html>".encode(), content_type="text/html")] * 9,
        "a refusal": [Turn("", refusal=f"Not with {key}.")] * 9,
        "no JSON": [Turn(f"Bearer {key}")] * 9,
        "code": [answer(f"def net(x):\n    return {key!r}\n", notes=key)],
        "an answer in one piece": [Turn(json.dumps({"key": key}), whole=True)] * 9,
    }


@pytest.fixture
def site(make_repo, monkeypatch, capsys) -> Iterator[Site]:
    server = FakeServer()
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.root)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.root}/v1")
    yield Site(make_repo({"shop.py": SHOP}), server, "", capsys)
    server.close()


@pytest.fixture
def processes(monkeypatch) -> list[str]:
    """The command lines of all children, and what else a list of processes may show of them."""
    called: list[str] = []
    begin = subprocess.Popen.__init__

    def noted(self, args, *more, **named):
        called.append(repr(args))
        begin(self, args, *more, **named)

    monkeypatch.setattr(subprocess.Popen, "__init__", noted)
    return called


def texts(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.read_bytes().decode("utf-8", "replace")


#: Every format with two ways of repeating it, and every way with a key of the vendor's.
CASES = [
    *((vendor, vendor, way) for vendor in VENDORS for way in echoes("")),
    *((name, "openai", way) for name in CANARIES for way in ("a bad key", "code")),
]
#: A short password may be a word: in code that an agent writes it stays what it is.
LEFT = ("no format at all", "openai", "code")


# I18
@pytest.mark.parametrize("case", [case for case in CASES if case != LEFT], ids="-".join)
def test_no_format_of_a_key_is_left_anywhere(
    site, processes, monkeypatch, caplog, tmp_path, person, case
):
    """Not in what is said, logs, files of the person's, refs, or the list of processes."""
    name, vendor, way = case
    key = CANARIES[name]
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv(f"{vendor.upper()}_API_KEY", key)
    site.server.scripts = {
        PLANNER: [Turn(json.dumps(TASKS))],
        "n1 = shop.py::net": echoes(key)[way],
        "n1 = shop.py::Cart.total": [answer(TOTAL)],
    }
    record = tmp_path / "record.jsonl"
    what = ("--task", "count up", "--models", f"{vendor}:model-x", "--record", str(record))
    site.run(*what)
    assert site.document["state"] in (RunState.DONE, RunState.FAILED, RunState.HELD)
    told = [site.said, json.dumps(site.document)]
    where = ["--work-dir", str(site.root)]
    for command in (
        ["show", *where],
        ["show", "--events", *where],
        ["show", "--json", *where],
        ["doctor", "--call", "--models", f"{vendor}:model-x", *where],
        ["models", vendor, "--refresh"],
    ):
        main(command)
        told += site.capsys.readouterr()
    assert {seen.headers["authorization"] for seen in site.server.seen} == {f"Bearer {key}"}
    files = [*texts(person.parents[1]), *texts(tmp_path)]
    objects = everything(site.root).decode("utf-8", "replace")
    assert record.exists() and processes
    for text in (*told, caplog.text, *processes, *files, objects):
        assert not [form for form in (key, json.dumps(key)[1:-1]) if form in text]
