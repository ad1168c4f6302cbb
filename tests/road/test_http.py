"""The road over real HTTP, in both wire formats: each fault is its own outcome, and none lands."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from mak import kernel
from mak.cli.main import main
from mak.config import Config
from mak.events import Event, TaskSettled
from mak.model import RunState
from mak.providers import gate
from mak.store import Store
from tests.conftest import git
from tests.providers.conftest import KEY
from tests.providers.fake import FakeServer, Turn

SHOP = '''"""Prices."""


def net(x):
    return x


class Cart:
    """A cart."""

    def total(self):
        return 1

    def count(self):
        return 2
'''
NET = "def net(x):\n    return x + 1\n"
TOTAL = "    def total(self):\n        return 10\n"
COUNT = "    def count(self):\n        return 20\n"
CHANGES = {
    "net": ("return x\n", "return x + 1\n"),
    "total": ("return 1\n", "return 10\n"),
    "count": ("return 2\n", "return 20\n"),
}
PLAN = {
    "decisions": [],
    "atomic": False,
    "tasks": [
        {"id": "net", "goal": "net adds one", "writes": ["shop.py::net"]},
        {"id": "total", "goal": "total is 10", "writes": ["shop.py::Cart.total"]},
        {
            "id": "count",
            "goal": "count is 20",
            "writes": ["shop.py::Cart.count"],
            "depends_on": ["net"],
        },
    ],
    "questions": [],
}
PLANNER = "You plan a change to a repository"


def answer(source: str, **parts: Any) -> Turn:
    """Return an answer of the right shape for a task with one slot."""
    result = {"node": "n1", "status": "edited", "new_source": source, "reason": ""}
    empty = {"new_nodes": [], "imports": [], "deletes": [], "needs_locks": [], "notes": ""}
    return Turn(json.dumps({"results": [result], **empty, **parts}))


def status(code: int, message: str, *, after: str = "0.02") -> Turn:
    """Return an answer that is an HTTP error; `after`: when to come back."""
    body = {"error": {"type": "api_error", "message": message}}
    return Turn(status=code, body=body, headers={"retry-after": after} if after else {})


GOOD = answer(NET)
SHAPE = {"node": "n7", "status": "edited", "new_source": NET, "reason": ""}
GHOST = {"symbol": "nowhere.py::ghost", "mode": "write", "why": "I feel like it"}
STRAY = {"parent": "n1", "after": "", "kind": "function", "source": "1234567890"}
HALF = Turn('{"results": [{"node": "n1", "sta', "truncated")
PAGE = Turn(body=b"<html>Sign in</html>", content_type="text/html")
ANY = 0


@dataclass(frozen=True)
class Case:
    """What the agent of task ``net`` meets, and what becomes of the task."""

    turns: list[Turn]
    #: What a person reads about the task; empty: it lands.
    said: tuple[str, ...] = ()
    #: Times that the agent was asked, and requests that it made in all (`ANY`: by the clock).
    attempts: int = 1
    requests: int = 1
    config: str = ""


ONCE = "attempts: 1\n"
CASES = {
    "whole instead of a stream": Case([replace(GOOD, whole=True)]),
    "truncated": Case([HALF] * 6, ("cut off by its length limit", "asked 3 times"), 3, 3),
    "truncated once": Case([HALF, GOOD], attempts=2, requests=2),
    "refused": Case([Turn("", refusal="Not this.")], ("the model refused", "Not this.")),
    "malformed": Case(
        [Turn('{"results": [oops')] * 9,
        ("the answer could not be read: not JSON", "asked 3 times"),
        3,
        3,
    ),
    "prose": Case(
        [Turn("I'd rather talk about it.")] * 3, ("there is no JSON object",), 1, 1, ONCE
    ),
    "malformed once": Case([Turn('{"results": [oops'), GOOD], attempts=2, requests=2),
    "empty": Case([Turn("")] * 3, ("the answer was empty", "asked 3 times"), 3, 3),
    "early end": Case([Turn(cut=3)] * 9, ("the stream ended before the model said",), 1, 3),
    "early end once": Case([Turn(cut=3), GOOD], requests=2),
    "broken connection once": Case([Turn(cut=3, abort=True), GOOD], requests=2),
    "broken chunk once": Case([Turn(garbage=True), GOOD], requests=2),
    "429": Case([status(429, "slow down")] * 9, ("HTTP 429: slow down", "9 tries"), 1, 9),
    "429 once": Case([status(429, "slow down", after="0.3"), GOOD], requests=2),
    "529": Case([status(529, "overloaded")] * 9, ("HTTP 529: overloaded", "9 tries"), 1, 9),
    "529 once": Case([status(529, "overloaded"), GOOD], requests=2),
    "500": Case([status(500, "oh dear")] * 9, ("HTTP 500: oh dear", "9 tries"), 1, 9),
    "500 once": Case([status(500, "oh dear"), GOOD], requests=2),
    "overloaded in the stream": Case(
        [Turn(error={"type": "overloaded_error", "message": "too busy"}), GOOD], requests=2
    ),
    "a page once": Case([PAGE, GOOD], requests=2),
    "only pages": Case(
        [PAGE] * 9,
        ("no answer within 1 s; at last: answered with text/html, not with a stream",),
        requests=ANY,
        config="timeouts: {task: 1}\n",
    ),
    "digits for a function": Case([answer("1234567890")] * 3, ("asked 3 times",), 3, 3),
    "digits beside a function": Case(
        [answer(NET, new_nodes=[STRAY])] * 3, ("asked 3 times",), 3, 3
    ),
    "another slot": Case(
        [answer(NET, results=[SHAPE])] * 3, ("n7", "n1 (shop.py::net) has no entry"), 3, 3
    ),
    "a node that is not there": Case([answer(NET, needs_locks=[GHOST])] * 3, ("nowhere.py",), 3, 3),
    "nonsense once": Case([answer("1234567890"), GOOD], attempts=2, requests=2),
    "too slow": Case(
        [Turn("x" * 800, drip=0.02)],
        ("no answer within 0.5 s",),
        config="timeouts: {task: 0.5}\n",
    ),
}


@dataclass
class Site:
    """A repository, and a server that answers for its agents and their planner."""

    root: Path
    server: FakeServer
    spec: str
    capsys: pytest.CaptureFixture[str]
    document: dict[str, Any] = field(default_factory=dict)
    said: str = ""

    def run(self, *what: str, config: str = "") -> int:
        """Type ``mak run``; keep what it printed."""
        what = what or ("--task", "count up", "--models", self.spec)
        args = ["run", *what, "--no-review", "--json", "--work-dir", str(self.root)]
        if config:
            path = self.root.parent / "config.yaml"
            path.write_text(config)
            args += ["--config", str(path)]
        code = main(args)
        out, self.said = self.capsys.readouterr()
        self.document = json.loads(out) if out else {}
        return code

    def options(self, emit: Callable[[Event], None] = lambda event: None) -> kernel.Options:
        """Return what ``mak run`` would hand to the kernel."""
        return kernel.Options(Config(), (self.spec,), self.spec, emit=emit)

    def record(self) -> dict[str, Any]:
        """Return what Git holds about the run."""
        assert main(["show", "--json", "--work-dir", str(self.root)]) == 0
        shown: dict[str, Any] = json.loads(self.capsys.readouterr().out)
        return shown

    def asked(self, key: str) -> list[dict[str, Any]]:
        """Return the requests that hold a text."""
        bodies = (seen.body for seen in self.server.seen)
        return [body for body in bodies if key in json.dumps(body)]

    def holds(self, *landed: str) -> bool:
        """Whether branch and working tree hold the base with these changes and nothing else."""
        text = SHOP
        for name in landed:
            text = text.replace(*CHANGES[name])
        kept = git(self.root, "show", "HEAD:shop.py")
        return kept == text == (self.root / "shop.py").read_text() and not git(
            self.root, "status", "--porcelain"
        )


def everything(root: Path) -> bytes:
    """Return the content of every object in a repository."""
    command = ["git", "cat-file", "--batch-all-objects", "--batch", "--buffer"]
    return subprocess.run(command, cwd=root, capture_output=True, check=True).stdout


@pytest.fixture(params=["anthropic", "openai"])
def site(
    request: pytest.FixtureRequest,
    make_repo: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Site]:
    server = FakeServer()
    for name, base in (("ANTHROPIC", server.root), ("OPENAI", f"{server.root}/v1")):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
        monkeypatch.setenv(f"{name}_BASE_URL", base)
    server.scripts = {
        PLANNER: [Turn(json.dumps(PLAN))],
        "n1 = shop.py::net": [GOOD],
        "n1 = shop.py::Cart.total": [answer(TOTAL)],
        "n1 = shop.py::Cart.count": [answer(COUNT)],
    }
    found = Site(make_repo({"shop.py": SHOP}), server, f"{request.param}:model-x", capsys)
    yield found
    server.close()
    assert server.seen, "nothing was asked"
    assert all(seen.headers["authorization"] == f"Bearer {KEY}" for seen in server.seen)
    assert KEY.encode() not in everything(found.root)
    assert KEY not in found.said + json.dumps(found.document)
    assert main(["locks", "--json", "--work-dir", str(found.root)]) == 0
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize("name", CASES)
def test_a_fault_of_one_agent_is_its_own_outcome(site, name):
    case = CASES[name]
    site.server.scripts["n1 = shop.py::net"] = list(case.turns)
    code = site.run(config=case.config)
    tasks = site.document["tasks"]
    assert tasks["total"]["state"] == "done"
    assert (tasks["total"]["attempts"], len(site.asked("n1 = shop.py::Cart.total"))) == (1, 1)
    assert tasks["net"]["attempts"] == case.attempts
    assert len(site.asked("n1 = shop.py::net")) == case.requests or case.requests == ANY
    if case.said:
        assert code == 1
        assert (tasks["net"]["state"], tasks["count"]["state"]) == ("failed", "skipped")
        assert site.holds("total")
        assert site.asked("n1 = shop.py::Cart.count") == []
        lost = site.said.split("Not landed\n")[1]
        for words in case.said:
            assert words in tasks["net"]["reason"]
            # The list counts attempts in its own words.
            assert words.replace("asked 3 times", "after 3 attempts") in lost
        assert "\n" not in tasks["net"]["reason"]
    else:
        assert code == 0
        assert site.holds("net", "total", "count")
    usage = site.document["usage"]
    spent = [task["usage"] for task in tasks.values()]
    assert usage["calls"] == site.server.streams
    assert usage["calls"] == 1 + sum(each["calls"] for each in spent)
    assert usage["output"] > sum(each["output"] for each in spent) > 0
    met = case.turns[: case.requests or None]
    streams = sum(turn.status == 200 and turn.body is None for turn in met)
    assert tasks["net"]["usage"]["calls"] == streams
    assert "--recover" not in site.said


#: What every task would meet, until a person has done something about it, and what they read.
HALTS = {
    "429 for an hour": (status(429, "slow down", after="3600"), "wait 3600 s, more than 60 s"),
    "bad key": (status(401, f"{KEY} is no key", after=""), "_API_KEY"),
    "no credit": (status(402, "no credit left", after=""), "add credit"),
    "no such model": (status(404, "no model-x", after=""), "model's name"),
}


@pytest.mark.parametrize("name", HALTS)
def test_what_every_task_would_meet_holds_the_run_and_it_can_go_on(site, monkeypatch, name):
    turn, said = HALTS[name]
    site.server.scripts["n1 = shop.py::net"] = [turn, GOOD]
    site.server.scripts["n1 = shop.py::Cart.total"] = [answer(TOTAL), answer(TOTAL)]
    assert site.run() == 1
    assert site.document["state"] == "held"
    assert said in site.document["reason"] and said in site.said
    assert f"mak run --recover {site.document['run']}" in site.said
    assert site.holds()
    assert len(site.asked("n1 = shop.py::net")) == 1
    asked = len(site.asked("n1 = shop.py::Cart.total"))
    monkeypatch.setattr(gate, "_gates", {})  # the hour is over
    assert site.run("--recover") == 0
    assert site.holds("net", "total", "count")
    # What had been answered is not asked again.
    assert len(site.asked("n1 = shop.py::Cart.total")) == 1 >= asked
    assert len(site.asked(PLANNER)) == 1
    usage = site.document["usage"]
    assert usage["calls"] == site.server.streams == 4


def test_ten_agents_on_one_quota_all_land(site):
    """Thirteen requests where four are let through every half a second."""
    names = [f"f{number}" for number in range(12)]
    text = "\n\n".join(f"def {name}():\n    return 0\n" for name in names)
    (site.root / "many.py").write_text(text)
    git(site.root, "add", "-A")
    git(site.root, "commit", "-qm", "many")
    tasks = [{"id": n, "goal": f"{n} is 1", "writes": [f"many.py::{n}"]} for n in names]
    site.server.scripts = {PLANNER: [Turn(json.dumps({**PLAN, "tasks": tasks}))]} | {
        f"n1 = many.py::{name}>": [answer(f"def {name}():\n    return 1\n")] for name in names
    }
    site.server.quota = (4, 0.5)
    assert site.run(config="max_agents: 10\n") == 0, site.said
    assert site.document["usage"]["calls"] == site.server.streams == 13
    assert (site.root / "many.py").read_text() == text.replace("return 0", "return 1")


#: Tasks that depend on nothing, to be done by two models in turn: net and count by the first.
SIDE_BY_SIDE = {**PLAN, "tasks": [{**task, "depends_on": []} for task in PLAN["tasks"]]}


@pytest.mark.parametrize("name", HALTS)
def test_what_is_wrong_with_one_model_leaves_the_tasks_of_the_others_alone(site, monkeypatch, name):
    """One bad key held ten agents, nine of which had a good one."""
    turn, said = HALTS[name]
    other = "openai" if site.spec.startswith("anthropic") else "anthropic"
    site.server.scripts[PLANNER] = [Turn(json.dumps(SIDE_BY_SIDE))]
    site.server.scripts["n1 = shop.py::net"] = [turn, GOOD]
    site.server.scripts["n1 = shop.py::Cart.count"] = [answer(COUNT)]
    models = ("--models", site.spec, f"{other}:model-y", "--planner", f"{other}:model-y")
    assert site.run("--task", "count up", *models, config="max_agents: 1\n") == 1
    tasks = site.document["tasks"]
    assert {task: each["state"] for task, each in tasks.items()} == {
        "net": "pending",
        "total": "settled",
        "count": "pending",
    }
    assert site.document["state"] == "held"
    # The second task of the model is told without another request.
    assert len(site.asked("n1 = shop.py::net")) == 1
    assert site.asked("n1 = shop.py::Cart.count") == []
    for task in ("net", "count"):
        assert said in tasks[task]["reason"]
        assert f"hold     {task}: asking model-x" in site.said
    assert site.document["reason"].startswith("net, count: asking model-x at ")
    assert "1 of 3 tasks was settled, 2 not started; nothing is lost" in site.said
    assert site.holds()
    monkeypatch.setattr(gate, "_gates", {})  # the hour is over
    assert site.run("--recover") == 0
    assert site.holds("net", "total", "count")
    assert git(site.root, "log", "--format=%s").count("\n") == 2
    assert len(site.asked("n1 = shop.py::Cart.total")) == 1
    assert len(site.asked(PLANNER)) == 1


def test_a_run_that_one_model_holds_goes_on_with_another(site):
    other = "openai" if site.spec.startswith("anthropic") else "anthropic"
    site.server.scripts[PLANNER] = [Turn(json.dumps(SIDE_BY_SIDE))]
    site.server.scripts["n1 = shop.py::net"] = [HALTS["bad key"][0], GOOD]
    models = ("--models", site.spec, f"{other}:model-y", "--planner", f"{other}:model-y")
    assert site.run("--task", "count up", *models) == 1
    assert site.run("--recover", "--models", f"{other}:model-y") == 0
    assert site.holds("net", "total", "count")
    assert [body["model"] for body in site.asked("n1 = shop.py::net")] == ["model-x", "model-y"]
    assert len(site.asked("n1 = shop.py::Cart.total")) == 1


def test_each_call_has_its_own_deadline_within_that_of_the_task(site):
    site.server.scripts["n1 = shop.py::net"] = [Turn("x" * 800, drip=0.02), GOOD]
    assert site.run(config="timeouts: {attempt: 0.3}\n") == 0
    assert site.holds("net", "total", "count")
    assert len(site.asked("n1 = shop.py::net")) == 2


def plan(**parts: Any) -> Turn:
    """Return a planner's answer."""
    return Turn(json.dumps({**PLAN, **parts}))


def wants(*writes: str) -> Turn:
    """Return a plan with one task."""
    return plan(tasks=[{"id": "t", "goal": "do it", "writes": list(writes)}])


#: What the planner meets, what a person reads (nothing: the run goes on), and requests.
PLANNER_CASES = {
    "whole instead of a stream": ([replace(plan(), whole=True)], "", 1),
    "truncated": ([HALF] * 6, "asked 3 times, no usable plan; at last: it was cut off", 3),
    "truncated once": ([HALF, plan()], "", 2),
    "refused": ([Turn("", refusal="Not this.")], "the planner will not: the model refused", 1),
    "malformed": ([Turn('{"tasks": [oops')] * 3, "at last: the answer is not JSON", 3),
    "prose once": ([Turn("With pleasure!"), plan()], "", 2),
    "empty once": ([Turn(""), plan()], "", 2),
    "early end": ([Turn(cut=3)] * 9, "the stream ended before the model said", 3),
    "early end once": ([Turn(cut=3), plan()], "", 2),
    "pages": ([PAGE] * 9, "answered with text/html, not with a stream; given up after 3 tries", 3),
    "bad JSON": ([Turn(body=b"{oops")] * 9, "the answer is not JSON; given up after 3 tries", 3),
    "429 for an hour": ([status(429, "slow down", after="3600")], "HTTP 429: slow down", 1),
    "529": ([status(529, "overloaded")] * 9, "HTTP 529: overloaded; given up after 9 tries", 9),
    "500 once": ([status(500, "oh dear"), plan()], "", 2),
    "bad key": ([status(401, "no such key", after="")], "HTTP 401: no such key", 1),
    "digits for nodes": ([wants("1234567890")] * 3, "1234567890", 3),
    "invented nodes": ([wants("nowhere.py::ghost")] * 3, "nowhere.py", 3),
    "invented once": ([wants("shop.py::Basket.weigh"), plan()], "", 2),
    "no tasks": ([plan(tasks=[])] * 3, "neither a task nor a question", 3),
}


@pytest.mark.parametrize("name", PLANNER_CASES)
def test_a_fault_of_the_planner_ends_before_anything_is_edited(site, name):
    turns, said, requests = PLANNER_CASES[name]
    site.server.scripts[PLANNER] = list(turns)
    code = site.run()
    assert len(site.asked(PLANNER)) == requests
    outcome = site.record()["outcome"]
    assert outcome["usage"]["calls"] == site.server.streams
    if said:
        assert code == 1
        assert said in site.said and "mak: " in site.said
        assert (outcome["state"], outcome["waves"]) == ("failed", [])
        assert said in outcome["reason"]
        assert site.holds()
        assert git(site.root, "log", "--format=%s") == "base\n"
        assert len(site.server.seen) == requests
    else:
        assert code == 0
        assert site.holds("net", "total", "count")


def test_a_planner_is_told_which_node_it_invented(site):
    site.server.scripts[PLANNER] = [wants("shop.py::Basket.weigh"), plan()]
    assert site.run() == 0
    _, again = site.asked(PLANNER)
    assert "shop.py::Basket.weigh" in json.dumps(again)


async def hung_up(server: FakeServer) -> None:
    """Wait until no client holds a connection to the server."""
    with anyio.fail_after(5):
        while server.connections:
            await anyio.sleep(0.01)


def test_a_run_gives_up_its_connections(site):
    async def main() -> int:
        with Store.open(site.root) as store:
            await kernel.run(store, "count up", site.options())
        await hung_up(site.server)
        return len(site.server.seen)

    assert anyio.run(main) == 4
    assert site.holds("net", "total", "count")


def test_an_interrupted_run_hangs_up_and_goes_on_without_asking_twice(site):
    site.server.scripts["n1 = shop.py::net"] = [Turn("x" * 4000, drip=0.02), GOOD]

    async def cut_off() -> RunState:
        settled = anyio.Event()

        def emit(event: Event) -> None:
            if isinstance(event, TaskSettled):
                settled.set()

        async def stop(scope: anyio.CancelScope) -> None:
            await settled.wait()
            while not site.asked("n1 = shop.py::net"):
                await anyio.sleep(0.01)
            scope.cancel()

        with Store.open(site.root) as store:
            async with anyio.create_task_group() as group:
                with anyio.CancelScope() as scope:
                    group.start_soon(stop, scope)
                    outcome = await kernel.run(store, "count up", site.options(emit))
        await hung_up(site.server)
        return outcome.state

    assert anyio.run(cut_off) is RunState.INTERRUPTED
    assert site.holds()
    assert site.run("--recover") == 0
    assert site.holds("net", "total", "count")
    assert len(site.asked(PLANNER)) == len(site.asked("n1 = shop.py::Cart.total")) == 1
    assert site.document["usage"]["calls"] == 4
