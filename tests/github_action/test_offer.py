"""What a pull request breaks is said on it once, with a plan that can be carried out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from action.job import Job
from action.offer import MARK, body, offer, repairs
from mak.cli import planfile
from mak.cli.reports.report import Report
from mak.github.api import Api
from mak.github.tokens import GivenToken
from mak.github.transport import Transport
from mak.model import Finding, NodeId, Place
from tests.github.conftest import Shop, github, shop
from tests.github_action.conftest import Runner
from tests.support.fakegithub import FakeGitHub
from tests.support.fakegithub.world import Issue

__all__ = ["github", "shop"]

FINDING = Finding(
    "unknown-import",
    NodeId("shop/cart.py", "@header"),
    "imports total from shop/prices.py, which does not bind it",
    line=1,
    column=25,
    related=(Place("shop/prices.py", 1, ""),),
)
REPORT = Report((FINDING,), "main", "HEAD", changed=1, ignored=0)
CLEAN = replace(REPORT, findings=())


@pytest.fixture
def pull(shop: Shop) -> Issue:
    shop.repository.push(shop.alice, {"a.py": "a = 1\n"}, "fix")
    return shop.repository.open_pull(shop.alice, "Fix", "", "fix", "main")


@pytest.fixture
def api(github: FakeGitHub, shop: Shop) -> Iterator[Api]:
    token = github.workflow_token(shop.repository, pull_requests="write")
    with Transport(GivenToken(token), github.url, pace=0) as transport:
        yield Api(transport, "octo/shop")


def test_one_comment_is_kept_current(api: Api, shop: Shop, pull: Issue) -> None:
    event = {"pull_request": {"number": pull.number}}
    offer(CLEAN, api, event, Job({}))
    assert pull.comments == []
    shop.repository.comment(pull, shop.alice, f"> quoted\n\n{MARK}")
    offer(REPORT, api, event, Job({}))
    offer(REPORT, api, event, Job({}))
    _, said = pull.comments
    assert said.user.login == "github-actions[bot]"
    assert "unknown-import" in said.body
    offer(CLEAN, api, event, Job({}))
    assert len(pull.comments) == 2
    assert "is repaired" in said.body
    assert pull.comments[0].body.startswith("> quoted")


def test_a_fork_gets_no_comment_and_no_failure(
    github: FakeGitHub, shop: Shop, pull: Issue, capsys: pytest.CaptureFixture[str]
) -> None:
    token = github.workflow_token(shop.repository, pull_requests="read")
    with Transport(GivenToken(token), github.url, pace=0) as transport:
        event = {"pull_request": {"number": pull.number}}
        offer(REPORT, Api(transport, "octo/shop"), event, Job({}))
    assert pull.comments == []
    assert "::notice title=mak check::No repair was offered" in capsys.readouterr().out


def test_the_plan_can_be_read_back() -> None:
    (block,) = re.findall(r"^```yaml\n(.*?)^```", body(REPORT), re.MULTILINE | re.DOTALL)
    (task,) = planfile.parse(block, "the comment").tasks
    assert task.writes == (FINDING.node,)
    assert FINDING.message in task.goal
    assert "shop/prices.py" in task.goal


def test_findings_of_one_node_are_one_task() -> None:
    other = replace(FINDING, line=2)
    elsewhere = replace(FINDING, node=NodeId("shop/invoice.py", "render"))
    plan = repairs((FINDING, elsewhere, other))
    assert [task.writes for task in plan.tasks] == [(FINDING.node,), (elsewhere.node,)]
    assert "line 1" in plan.tasks[0].goal and "line 2" in plan.tasks[0].goal


@pytest.mark.parametrize("count", [1, 400, 5_000])
def test_a_comment_fits_however_much_is_broken(count: int) -> None:
    findings = tuple(
        replace(FINDING, node=NodeId(f"shop/cart{n}.py", "f"), message="x" * 500)
        for n in range(count)
    )
    text = body(replace(REPORT, findings=findings))
    assert len(text) <= 60_000
    assert text.endswith(MARK)
    assert ("more; the job's summary has all" in text) == (count > 1)
    assert len(re.findall(r"^`{3,}", text, re.MULTILINE)) % 2 == 0


def test_what_the_repository_says_mentions_nobody() -> None:
    hostile = replace(FINDING, message=f"@everyone Fixes #1 {MARK} ``` <img src=x>\n``````")
    text = body(replace(REPORT, findings=(hostile,)))
    outside = re.sub(r"^(`{3,})\w*\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    for part in ("@everyone", "#1", "<img"):
        assert part not in outside
    assert outside.count(MARK) == 1


BEFORE = {
    "shop/prices.py": "def total(items):\n    return sum(items)\n",
    "shop/cart.py": "from shop.prices import total\n",
}


def test_the_documented_workflow_comments_on_a_pull_request(
    github: FakeGitHub, shop: Shop, pull: Issue, runner: Runner
) -> None:
    runner.commit(BEFORE)
    runner.commit({"shop/prices.py": "def totals(items):\n    return sum(items)\n"})
    payload: dict[str, Any] = {"number": pull.number, "pull_request": {"number": pull.number}}
    token = github.workflow_token(shop.repository, contents="read", pull_requests="write")
    done = runner.run(
        "pull_request",
        payload,
        "mak-check-and-offer.yml",
        token,
        GITHUB_API_URL=github.url,
        GITHUB_REPOSITORY="octo/shop",
    )
    assert done.returncode == 1, done.stdout
    assert token not in done.stdout + done.stderr
    assert "::set-output:: state=findings" in done.stdout
    (said,) = pull.comments
    plan = runner.folder / "repair.yaml"
    (block,) = re.findall(r"^```yaml\n(.*?)^```", said.body, re.MULTILINE | re.DOTALL)
    plan.write_text(block)
    assert planfile.read(Path(plan)).tasks[0].writes == (NodeId("shop/cart.py", "@header"),)
