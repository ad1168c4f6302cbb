"""The documented workflow, run by a real runner: what a person comments becomes commits."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mak.config import dump_yaml
from mak.github import marks
from mak.github.ledger import Ledger
from mak.github.remote import Remote
from mak.github.state import Phase, RunState
from mak.github.tokens import GivenToken
from tests.github.conftest import PERMISSIONS, github
from tests.github_action.conftest import Runner
from tests.github_runs.conftest import FILES, RENAME
from tests.github_runs.test_conversation import LOST
from tests.support.fakegithub import FakeGitHub
from tests.support.fakegithub.world import Issue, Repository, User

__all__ = ["github"]


@dataclass(eq=False)
class Shop:
    """An issue, who comments there, and the runner that GitHub starts for it."""

    hub: FakeGitHub
    repository: Repository
    alice: User
    issue: Issue
    runner: Runner
    count: int = 0

    def say(self, text: str, who: User | None = None, issue: Issue | None = None) -> dict[str, Any]:
        """Comment; return the event that GitHub starts workflows with."""
        self.hub.forward(seconds=2)
        self.repository.comment(issue or self.issue, who or self.alice, text)
        return self.hub.deliveries.made[-1].payload

    def run(
        self, payload: Mapping[str, Any], event: str = "issue_comment", job: str = "mak"
    ) -> tuple[str, dict[str, str]]:
        """Run the workflow with a token of its own; return the log and the step's outputs."""
        token = self.hub.workflow_token(self.repository, **PERMISSIONS)
        done = self.start(payload, event, job, token)
        said = done.stdout + done.stderr
        assert token not in said
        self.nowhere(token)
        assert done.returncode == 0, said
        return said, dict(re.findall(r"::set-output:: ([a-z-]+)=(.*)", said))

    def start(
        self, payload: Mapping[str, Any], event: str, job: str, token: str
    ) -> subprocess.CompletedProcess[str]:
        return self.runner.run(
            event,
            payload,
            "mak.yml",
            token,
            job,
            GITHUB_API_URL=self.hub.url,
            GITHUB_GRAPHQL_URL=f"{self.hub.url}/graphql",
            GITHUB_SERVER_URL=self.hub.url,
            GITHUB_REPOSITORY=self.repository.full_name,
        )

    def nowhere(self, token: str) -> None:
        """Assert that a token is in no object of the repository and no text that was written."""
        git = self.repository.git
        objects = git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
        assert objects
        for name in objects:
            if git("cat-file", "-t", name).strip() != "tree":
                assert token not in git("cat-file", "-p", name)
        for issue in self.repository.issues.values():
            assert not any(token in text for text in [issue.body, *map(body, issue.comments)])

    def state(self) -> RunState:
        token = GivenToken(self.hub.workflow_token(self.repository, **PERMISSIONS))
        self.count += 1
        folder = self.runner.folder / f"remote-{self.count}"
        remote = Remote(f"{self.hub.url}/{self.repository.full_name}.git", token, folder)
        held = Ledger(remote).of_issue(self.issue.number)
        assert held
        return held.state

    def written(self, kind: str, issue: Issue | None = None) -> list[str]:
        found = [(marks.read(each.body), each.body) for each in (issue or self.issue).comments]
        return [text for mark, text in found if mark and mark["kind"] == kind]


def body(remark: Any) -> str:
    return str(remark.body)


@pytest.fixture
def shop(github: FakeGitHub, runner: Runner) -> Shop:
    repository = github.repository("octo/shop", FILES)
    alice = repository.allow("alice", "write")
    issue = repository.open_issue(alice, "Better names", "The names are old.")
    return Shop(github, repository, alice, issue, runner)


def test_a_comment_becomes_a_plan_and_its_approval_a_commit(shop: Shop) -> None:
    said, outputs = shop.run(shop.say(f"/mak {RENAME}"))
    (plan,) = shop.written("plan")
    digest = outputs["plan-digest"]
    assert f"/mak approve {digest[:7]}" in plan
    assert outputs["state"] == "review" and outputs["branch"] == outputs["pr-number"] == ""
    assert outputs["run-id"] == shop.state().run
    assert f"run `{outputs['run-id']}`" in said, "the summary"
    assert shop.repository.refs("refs/heads/mak/") == {}

    said, outputs = shop.run(shop.say(f"/mak approve {digest[:7]}"))
    branch = f"mak/1-{outputs['run-id']}"
    assert outputs["state"] == "done" and outputs["branch"] == branch
    pull = shop.repository.issues[int(outputs["pr-number"])]
    assert pull.pull and pull.pull.head == branch and not pull.pull.draft
    log = shop.repository.git("log", "--format=%an <%ae>%n%B", f"main..{branch}")
    assert "github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com>" in log
    for trailer in (f"MAK-Run: {outputs['run-id']}", "Refs: #1", "Co-authored-by: alice <"):
        assert trailer in log
    assert b"def new" in (shop.repository.file(f"refs/heads/{branch}", "a.py") or b"")
    assert "T1" in said and "Took" in said, "the summary has how long tasks took"


@pytest.mark.slow
def test_what_is_no_word_to_mak_starts_nothing(shop: Shop) -> None:
    bot = shop.hub.world.user("helper[bot]", "Bot")
    for payload in (shop.say("Nice."), shop.say(f"/mak {RENAME}", bot)):
        said, outputs = shop.run(payload)
        assert "Set up MAK" not in said and outputs == {}
    assert shop.repository.refs("refs/mak/") == {}


@pytest.mark.slow
def test_a_stranger_gets_a_sign_and_no_run(shop: Shop) -> None:
    mallory = shop.hub.world.user("mallory")
    said, outputs = shop.run(shop.say(f"/mak {RENAME}", mallory))
    assert "Nothing to do: there is no run." in said
    assert outputs == dict.fromkeys(("run-id", "state", "pr-number", "branch", "plan-digest"), "")
    (comment,) = shop.issue.comments
    assert [each.content for each in comment.reactions] == ["confused"]
    assert shop.repository.refs("refs/mak/") == {}


@pytest.mark.slow
def test_the_job_beside_hears_what_stops_a_run_and_nothing_else(shop: Shop) -> None:
    shop.run(shop.say(f"/mak {RENAME}"))
    approval = shop.say("/mak approve")
    said, _ = shop.run(approval, job="stop")
    assert "Set up MAK" not in said
    _, outputs = shop.run(shop.say("/mak cancel"), job="stop")
    assert outputs["state"] == "cancelled" and shop.state().phase is Phase.CANCELLED
    assert shop.repository.refs("refs/heads/mak/") == {}
    (told,) = shop.written("cancelled")
    assert "@alice" in told


#: Writes what it was started with beside the repository, as a command of the project may.
SPY = "env > {0}/env; cat /proc/*/environ > {0}/others 2>/dev/null; true"
CONFIG = {"attempts": 1, "checks": {"commands": [{"name": "spy", "command": SPY}]}}


@pytest.mark.slow
def test_repairs_are_shown_beside_their_lines_and_no_command_sees_the_token(
    shop: Shop, tmp_path: Path
) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(LOST))
    spec = f"scripted:{script}"
    config = json.loads(json.dumps(CONFIG).replace("{0}", str(tmp_path)))
    files = {
        ".github/mak.yml": dump_yaml({"models": [spec], "planner": spec}),
        ".mak/config.yaml": dump_yaml(config),
    }
    shop.repository.push(shop.alice, files)
    shop.run(shop.say("/mak use better names"))
    said, outputs = shop.run(shop.say("/mak approve"))
    assert outputs["state"] == "repair-review" and outputs["branch"]
    assert "::error file=b.py,line=4,title=MAK R1::" in said
    seen = (tmp_path / "env").read_text() + (tmp_path / "others").read_text(errors="replace")
    assert "PATH=" in seen
    tokens = [grant for grant in shop.hub.tokens if grant.startswith("ghs_")]
    assert len(tokens) == 2 and not any(token in seen for token in tokens)
    assert not re.search(
        "^(GITHUB_(ENV|OUTPUT|PATH|STATE|STEP_SUMMARY|TOKEN)|ACTIONS_)", seen, re.M
    )

    # The App starts the same workflow, by the number of the pull request.
    shop.hub.forward(seconds=2)
    pull = shop.repository.issues[int(outputs["pr-number"])]
    shop.say("/mak skip all", issue=pull)
    inputs = {"number": str(pull.number), "kind": "issue_comment.created", "delivery": "d-1"}
    comment = shop.hub.deliveries.made[-1].payload
    payload = {name: comment[name] for name in ("repository", "sender")}
    _, outputs = shop.run({**payload, "inputs": inputs}, "workflow_dispatch")
    assert outputs["state"] == "done" and int(outputs["pr-number"]) == pull.number
