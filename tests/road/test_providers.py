"""`mak run` over real HTTP with every kind of provider, planner and agents on different ones."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mak.cli.main import main
from mak.providers.endpoints import PRESETS
from tests.conftest import git
from tests.providers.fake import FakeServer, Turn
from tests.providers.test_secrets import CANARIES
from tests.road.test_http import (
    COUNT,
    NET,
    PLAN,
    PLANNER,
    SHOP,
    TOTAL,
    Site,
    answer,
    everything,
)

#: An endpoint of a person's own, as a configuration file describes it.
OWN = """\
endpoints:
  my-gateway:
    url: {root}/v1
    key: GATEWAY_KEY
    headers: {{X-Team: blue}}
    prices: {{"*": {{input: 1, output: 2}}}}
"""
KEYS = list(CANARIES.values())


def key_of(number: int) -> str:
    """Return a key, in one of the formats that there are."""
    return f"{KEYS[number % (len(KEYS) - 1)]}{number:02}"


#: Model specs by kind; `{root}` is the server.
SPECS = {
    **{name: f"{name}:org/model-x:tag" for name in PRESETS},
    "own": "my-gateway:model-x",
    "local": "local:model-x@{root}/v1",
    "ollama elsewhere": "ollama:qwen3:4b@{root}",
}
NAMES = list(SPECS)
#: Which variable holds the key of each kind, and how its path ends.
VARIABLES = {
    **{name: preset.key_names[-1] for name, preset in PRESETS.items()},
    "own": "GATEWAY_KEY",
    "local": "MAK_API_KEY",
    "ollama elsewhere": "MAK_API_KEY",
}


@pytest.fixture
def site(make_repo, monkeypatch, capsys) -> Iterator[Site]:
    server = FakeServer()
    for preset in PRESETS.values():
        base = server.root if preset.wire in ("anthropic", "ollama") else f"{server.root}/v1"
        monkeypatch.setenv(preset.url_name, base)
    for number, variable in enumerate(sorted({*VARIABLES.values()})):
        monkeypatch.setenv(variable, key_of(number))
    server.scripts = {
        PLANNER: [Turn(json.dumps(PLAN))],
        "n1 = shop.py::net": [answer(NET)],
        "n1 = shop.py::Cart.total": [answer(TOTAL)],
        "n1 = shop.py::Cart.count": [answer(COUNT)],
    }
    found = Site(make_repo({"shop.py": SHOP}), server, "", capsys)
    yield found
    server.close()
    seen = everything(found.root) + (found.said + json.dumps(found.document)).encode()
    assert not any(key.encode() in seen for key in KEYS)


def sent(site: Site, spec: str) -> set[str]:
    """Return the keys that came with the requests of a kind: planner's or agents'."""
    return {
        seen.headers["authorization"].removeprefix("Bearer ")
        for seen in site.server.seen
        if (PLANNER in json.dumps(seen.body)) == (spec == "planner")
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_run_lands_with_every_provider_and_another_one_as_planner(site, name):
    planner = NAMES[(NAMES.index(name) + 1) % len(NAMES)]
    root = site.server.root
    specs = [SPECS[each].format(root=root) for each in (planner, name)]
    what = ("--task", "count up", "--planner", specs[0], "--models", specs[1])
    assert site.run(*what, config=OWN.format(root=root)) == 0, site.said
    assert site.holds("net", "total", "count")
    assert len(site.server.seen) == 4
    # Each was sent its own key, and no other.
    assert sent(site, "planner") == {os.environ[VARIABLES[planner]]}
    assert sent(site, "agents") == {os.environ[VARIABLES[name]]}
    spent = site.document["spent"]
    assert set(spent["by_task"]) == {"", "net", "total", "count"}
    assert set(spent["by_wave"]) == {"0", "1", "2"}
    assert len({each["model"] for each in spent["questions"]}) in (1, 2)
    assert site.document["usage"]["calls"] == 4 == len(spent["questions"])
    parts = [sum(each["input"] for each in spent[f"by_{by}"].values()) for by in ("task", "wave")]
    assert parts == [site.document["usage"]["input"]] * 2 == [460, 460]
    wires = {(PRESETS[each].wire if each in PRESETS else "") for each in (name, planner)}
    if wires <= {"anthropic", "openai"}:
        assert spent["cache_hit_rate"] == pytest.approx(100 / 115, abs=1e-3)


def test_several_models_take_turns_and_a_task_may_name_its_own(site):
    pinned = json.loads(json.dumps(PLAN))
    pinned["request"] = "count up"
    for each in pinned["tasks"]:
        each.setdefault("depends_on", [])
    pinned["tasks"][2]["model"] = "groq:model-z"
    path = site.root.parent / "plan.json"
    path.write_text(json.dumps({key: pinned[key] for key in ("request", "tasks")}))
    assert site.run("--plan", str(path), "--models", "openai:model-x", "gemini:model-y") == 0
    models = {
        json.dumps(seen.body)
        .split("n1 = shop.py::")[1]
        .split("\\n")[0]
        .split(">")[0]
        .split(",")[0]: (seen.body["model"])
        for seen in site.server.seen
    }
    assert models == {"net": "model-x", "Cart.total": "model-y", "Cart.count": "model-z"}


@pytest.mark.parametrize(
    ("model", "more", "said"),
    [
        ("groq:model-z", (), "GROQ_API_KEY is not set"),
        ("openai:model-z", ("--max-usd", "1"), "the price of model-z is not known"),
        ("ollama:model-z", ("--mode", "cloud"), "mode is cloud"),
        ("scripted:no-such-file", (), "no-such-file"),
    ],
)
def test_a_task_whose_model_cannot_be_asked_is_refused_before_anything_begins(
    site, monkeypatch, model, more, said
):
    """The run had been approved, and was left unfinished."""
    monkeypatch.delenv("GROQ_API_KEY")
    tasks = [
        {"id": each["id"], "goal": each["goal"], "writes": each["writes"]} for each in PLAN["tasks"]
    ]
    tasks[2]["model"] = model
    path = site.root.parent / "plan.json"
    path.write_text(json.dumps({"request": "count up", "tasks": tasks}))
    assert site.run("--plan", str(path), "--models", "builtin", *more) == 2
    assert said in site.said and "hint: " in site.said
    assert site.server.seen == []
    assert "--recover" not in site.said
    assert site.record()["outcome"]["state"] == "failed"


def test_without_a_planner_the_first_model_plans(site):
    assert site.run("--task", "count up", "--models", "mistral:model-p", "groq:model-x") == 0
    [planning] = site.asked(PLANNER)
    assert planning["model"] == "model-p"


def test_builtin_and_scripted_need_no_endpoint(site, tmp_path):
    request = "rename function shop.net to net_price"
    assert site.run("--task", request, "--models", "builtin") == 0
    assert "def net_price" in (site.root / "shop.py").read_text()
    script = tmp_path / "script.json"
    result = {"node": "n1", "status": "edited", "new_source": TOTAL, "reason": ""}
    parts = {"new_nodes": [], "imports": [], "deletes": [], "needs_locks": [], "notes": ""}
    plan = {**PLAN, "tasks": [PLAN["tasks"][1]]}
    script.write_text(
        json.dumps(
            {
                "plan": [{"reply": plan}],
                "tasks": {"total": [{"reply": {"results": [result], **parts}}]},
            }
        )
    )
    spec = f"scripted:{script}"
    assert site.run("--task", "total is 10", "--planner", spec, "--models", spec) == 0
    assert "return 10" in (site.root / "shop.py").read_text()
    assert site.server.seen == []


def test_a_recorded_run_is_carried_out_again_without_a_model(site, tmp_path):
    record = tmp_path / "run.jsonl"
    what = ("--task", "count up", "--planner", "anthropic:model-p", "--models", "openai:model-x")
    assert site.run(*what, "--record", str(record)) == 0, site.said
    first = git(site.root, "rev-parse", "HEAD^{tree}")
    usage = site.document["usage"]
    git(site.root, "reset", "-q", "--hard", "HEAD~2")
    spec = f"replay:{record}"
    asked = len(site.server.seen)
    assert site.run("--task", "count up", "--planner", spec, "--models", spec) == 0, site.said
    assert git(site.root, "rev-parse", "HEAD^{tree}") == first
    assert len(site.server.seen) == asked
    assert site.document["usage"]["input"] == usage["input"]
    assert not any(key in record.read_text() for key in KEYS)
    # Another request was not recorded.
    assert site.run("--task", "count down", "--planner", spec, "--models", spec) == 1
    assert "the recording has no answer to this question" in site.said
    assert "hint: replay it with the same request" in site.said


def test_a_spent_budget_holds_the_run_and_more_of_it_goes_on(site):
    site.server.counted = 6_000
    what = ("--task", "count up", "--models", "openai:model-x")
    assert site.run(*what, "--max-tokens", "20000", config="max_agents: 1\n") == 1
    assert site.document["state"] == "held"
    assert "session.max_total_tokens, 20,000" in site.document["reason"]
    assert len(site.server.seen) == 2
    assert site.run("--recover", "--max-tokens", "500000") == 0
    assert site.holds("net", "total", "count")
    assert len(site.server.seen) == 4
    assert site.document["usage"]["calls"] == 4


def test_money_is_only_limited_where_prices_are_known(site):
    what = ("--task", "count up", "--models", "openai:model-x", "--max-usd", "0.05")
    assert site.run(*what) == 2
    assert "the price of model-x is not known" in site.said
    prices = 'prices: {"openai:model-x": {input: 100, output: 100}}\n'
    assert site.run(*what, config=prices) == 1
    assert "session.max_usd, $0.05" in site.said
    assert site.server.seen == []


def test_a_limit_in_dollars_is_refused_where_the_cost_so_far_is_not_known(site, tmp_path):
    """The run, or the replay of it, was held at its first call."""
    record = tmp_path / "run.jsonl"
    site.server.scripts["n1 = shop.py::net"] = [Turn(status=401, body={"error": {}}), answer(NET)]
    what = ("--task", "count up", "--models", "openai:model-x", "--record", str(record))
    assert site.run(*what) == 1
    asked = len(site.server.seen)
    prices = 'prices: {"openai:model-x": {input: 1, output: 1}}\n'
    assert site.run("--recover", "--max-usd", "5", config=prices) == 2
    assert "what the run has cost so far is not known" in site.said
    replayed = ("--task", "count up", "--models", f"replay:{record}", "--max-usd", "5")
    assert site.run(*replayed) == 2
    assert "what its answers have cost is not known" in site.said
    assert len(site.server.seen) == asked
    assert site.run("--recover", config=prices) == 0


def test_what_a_run_spent_is_told_by_model_and_wave(site, capsys):
    what = ("--task", "count up", "--planner", "anthropic:model-p", "--models", "openai:model-x")
    assert site.run(*what) == 0
    assert "Used: 460 tokens in, 80 out, 4 calls" in site.said
    for line in ("model-x: 345 tokens in", "planning: 115 tokens in", "wave 1: 230 tokens in"):
        assert f"\n  {line}" in site.said
    assert "\n  tokens by task: count 135, net 135, total 135\n" in site.said
    assert main(["show", "--work-dir", str(site.root)]) == 0
    told = capsys.readouterr().out
    assert "         tokens by task: count 135, net 135, total 135\n" in told
    assert "used     460 tokens in, 80 out, 4 calls, cost unknown, 87% of the input" in told
    assert "model-p: 115 tokens in" in told and "model-x: 345 tokens in" in told
    assert "planning: 115 tokens in" in told and "wave 1: 230 tokens in" in told
    assert site.record()["spent"] == site.document["spent"]


def test_no_key_is_on_the_command_line_of_a_child(site, monkeypatch):
    """Whoever lists processes sees what they were called with."""
    called: list[str] = []
    begin = subprocess.Popen.__init__

    def noted(self, args, *more, **named):
        called.append(repr(args))
        begin(self, args, *more, **named)

    monkeypatch.setattr(subprocess.Popen, "__init__", noted)
    assert site.run("--task", "count up", "--models", "openai:model-x") == 0
    assert called and not any(key in each for each in called for key in KEYS)


# I18
def test_a_server_that_answers_with_the_key_does_not_get_it_into_git(site):
    """An echo of the request's headers, as an answer, and the person's own words with it."""
    key = os.environ["OPENAI_API_KEY"]
    site.server.scripts["n1 = shop.py::net"] = [
        answer(f'def net(x):\n    return "{key}"\n', notes=key),
    ]
    task = f"count up with {key}"
    assert site.run("--task", task, "--models", "openai:model-x") == 0
    assert 'return "[redacted]"' in (site.root / "shop.py").read_text()
    assert b"[redacted]" in everything(site.root)


def test_a_bug_report_holds_no_key(site, monkeypatch, capsys):
    key = os.environ["OPENAI_API_KEY"]

    async def broken(*args: object) -> None:
        raise RuntimeError(f"unexpected {key}")

    monkeypatch.setattr("mak.kernel.open_planner", lambda *args: broken)
    where = ("--no-review", "--work-dir", str(site.root))
    assert main(["run", "--task", "x", "--models", "openai:m", *where]) == 3
    said = capsys.readouterr().err
    report = Path(said.rsplit(" ", 1)[1].strip())
    assert key not in said + report.read_text() and "[redacted]" in report.read_text()
    report.unlink()


def test_a_plan_that_may_go_over_a_limit_says_so_before_it_is_approved(site):
    what = ("--task", "count up", "--models", "openai:model-x", "--max-tokens", "19000")
    site.run(*what)
    assert "over session.max_total_tokens, 19,000: the run would stop there" in site.said
