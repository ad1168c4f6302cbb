"""What each event that starts the job comes to, without a runner around it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from action import comment
from action.job import Inputs, Job
from mak.errors import UsageError
from mak.github import marks
from mak.github.transport import Transport
from tests.github.conftest import PERMISSIONS, github
from tests.github_runs.conftest import FILES, RENAME
from tests.support.fakegithub import FakeGitHub
from tests.support.fakegithub.world import Issue, Repository

__all__ = ["github"]

Start = Callable[..., int]


@pytest.fixture
def repository(github: FakeGitHub) -> Repository:
    made = github.repository("octo/shop", FILES)
    made.allow("alice", "write")
    return made


@pytest.fixture
def start(
    github: FakeGitHub, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Start:
    """Return what runs a job on an event."""
    told = tmp_path / "event.json"
    monkeypatch.setattr(Transport.__init__, "__kwdefaults__", {"pace": 0, "clock": None})
    for name, value in {
        "GITHUB_REPOSITORY": repository.full_name,
        "GITHUB_SERVER_URL": github.url,
        "GITHUB_API_URL": github.url,
        "GITHUB_GRAPHQL_URL": f"{github.url}/graphql",
        "GITHUB_EVENT_PATH": str(told),
        "RUNNER_TEMP": str(tmp_path),
    }.items():
        monkeypatch.setenv(name, value)

    def run(event: str, payload: Mapping[str, Any], **inputs: Any) -> int:
        told.write_text(json.dumps(payload))
        monkeypatch.setenv("GITHUB_EVENT_NAME", event)
        token = github.workflow_token(repository, **PERMISSIONS)
        return comment.run(Inputs("comment", token, **inputs), Job({}))

    return run


def issue(repository: Repository, says: str = "") -> Issue:
    alice = repository.world.user("alice")
    made = repository.open_issue(alice, "Better names", "")
    if says:
        repository.comment(made, alice, says)
    return made


def kinds(issue: Issue) -> list[str]:
    """Return of which kinds MAK's texts in an issue are, sorted."""
    found = (marks.read(each.body) for each in issue.comments)
    return sorted(mark["kind"] for mark in found if mark)


def newest(github: FakeGitHub) -> dict[str, Any]:
    return github.deliveries.made[-1].payload


def test_what_holds_is_read_from_the_default_branch_and_a_mistake_is_said(
    github: FakeGitHub, repository: Repository, start: Start
) -> None:
    alice = repository.world.user("alice")
    repository.push(alice, {".github/mak.yml": "aprovals: 2\n"})
    asked = issue(repository, f"/mak {RENAME}")
    said = newest(github)
    for _ in range(2):
        with pytest.raises(UsageError, match="aprovals"):
            start("issue_comment", said)
    (answer,) = [each.body for each in asked.comments if marks.read(each.body)]
    assert "@alice nothing is done" in answer and "approvals" in answer
    assert repository.refs("refs/mak/") == {}


def test_a_configuration_that_is_not_there_is_a_mistake(
    github: FakeGitHub, repository: Repository, start: Start
) -> None:
    issue(repository, f"/mak {RENAME}")
    with pytest.raises(UsageError, match=r"there is no conf/mak\.yaml on main"):
        start("issue_comment", newest(github), config="conf/mak.yaml")


def test_a_command_at_a_pull_request_that_is_no_runs_is_answered(
    github: FakeGitHub, repository: Repository, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    alice = repository.world.user("alice")
    repository.push(alice, {"x.py": "x = 1\n"}, "fix")
    pull = repository.open_pull(alice, "Fix", "", "fix", "main")
    repository.comment(pull, alice, "/mak tidy up")
    assert start("issue_comment", newest(github)) == 0
    assert kinds(pull) == ["answer"] and repository.refs("refs/mak/") == {}
    assert "Nothing to do" in capsys.readouterr().out


def test_the_schedule_looks_at_every_run_that_has_not_ended(
    github: FakeGitHub, repository: Repository, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start("schedule", {"schedule": "23 4 * * *"}) == 0
    first, second = issue(repository, f"/mak {RENAME}"), issue(repository)
    assert start("issue_comment", github.deliveries.made[-2].payload) == 0
    assert kinds(first) == ["plan", "track"]
    repository.comment(first, repository.world.user("alice"), "/mak cancel")
    repository.comment(second, repository.world.user("alice"), "/mak help")
    assert start("schedule", {"schedule": "23 4 * * *"}) == 0
    assert kinds(first) == ["cancelled", "plan", "track"] and kinds(second) == []
    assert capsys.readouterr().out.count("Nothing to do") == 1


def test_what_mak_pushed_itself_is_nothing_to_do(
    github: FakeGitHub, repository: Repository, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    alice = repository.world.user("alice")
    repository.push(alice, {"x.py": "x = 1\n"}, "mak/1-r1")
    repository.open_pull(alice, "Fix", "", "mak/1-r1", "main")
    repository.push(alice, {"x.py": "x = 2\n"}, "mak/1-r1")
    pushed = newest(github)
    assert pushed["action"] == "synchronize"
    assert start("pull_request", pushed, accounts=(alice.id,)) == 0
    assert "Nothing to do: it says nothing to MAK." in capsys.readouterr().out


@pytest.mark.parametrize("number", ["0", "1"])
def test_who_starts_the_workflow_says_where_to_look(
    github: FakeGitHub, repository: Repository, start: Start, number: str
) -> None:
    asked = issue(repository, f"/mak {RENAME}")
    comment = newest(github)
    payload = {name: comment[name] for name in ("repository", "sender")}
    # A form that somebody left empty gives empty texts.
    inputs = {"number": number, "kind": "", "delivery": ""}
    assert start("workflow_dispatch", {**payload, "inputs": inputs}) == 0
    assert kinds(asked) == (["plan", "track"] if number == "1" else [])


def test_a_run_that_fails_here_fails_the_job_once(
    github: FakeGitHub, repository: Repository, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = issue(repository, "/mak make everything nice")
    assert start("issue_comment", newest(github)) == 1
    assert kinds(asked) == ["failed", "track"]
    assert "::error title=MAK r" in capsys.readouterr().out
    time.sleep(1.1)  # the job's clock is a real one, of whole seconds
    repository.comment(asked, repository.world.user("alice"), "/mak status")
    assert start("issue_comment", newest(github)) == 0
    assert kinds(asked) == ["answer", "failed", "track"]
