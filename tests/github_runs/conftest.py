"""A GitHub on which people talk to MAK, and MAK as it is started there."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mak.config import dump_yaml
from mak.github import marks
from mak.github.api import Api
from mak.github.engine import reconcile
from mak.github.ledger import Held, Ledger
from mak.github.messages import Links
from mak.github.reading import Reader
from mak.github.remote import Pushed, Remote
from mak.github.site import Site, Wishes
from mak.github.state import RunState
from mak.github.tokens import GivenToken
from mak.github.transport import Clock, Transport
from tests.github.conftest import PERMISSIONS, github
from tests.support.fakegithub import FakeGitHub
from tests.support.fakegithub.world import Issue, Repository, User

__all__ = ["github"]

A = "def old():\n    return 1\n\n\ndef other():\n    return 2\n"
B = "import a\n\n\ndef use():\n    return a.old()\n"
FILES = {"a.py": A, "b.py": B, "README.md": "# Shop\n"}
RENAME = "rename function a.old to new"
ACTIONS_BOT = ("github-actions[bot]", "41898282+github-actions[bot]@users.noreply.github.com")


class Died(BaseException):
    """The worker is gone, as if killed: nothing that MAK catches."""


Boundary = Callable[[str], None]


class _Watched(Transport):
    """A transport that tells of each write before it is sent and after it is answered."""

    boundary: Boundary

    def write(self, method: str, path: str, body: Any = None, *, repeatable: bool = False) -> Any:
        place = re.sub(r"/[0-9a-f]+(?=/|$)", "/N", path.partition("/shop")[2])
        mark = marks.read(str(body.get("body") or "")) if isinstance(body, dict) else None
        what = f"{method} {place} {mark['kind'] if mark else ''}".rstrip()
        self.boundary(f"before {what}")
        made = super().write(method, path, body, repeatable=repeatable)
        self.boundary(f"after {what}")
        return made

    def graphql(self, query: str, *, writes: bool = True, **variables: Any) -> dict[str, Any]:
        what = f"GraphQL {query.split('{')[1].split('(')[0].strip()}"
        if writes:
            self.boundary(f"before {what}")
        data = super().graphql(query, writes=writes, **variables)
        if writes:
            self.boundary(f"after {what}")
        return data


class _WatchedRemote(Remote):
    """A remote that tells of each push before and after it."""

    boundary: Boundary

    def push(self, ref: str, commit: str, expected: str) -> Pushed:
        kind = "/".join(ref.split("/")[1:3])
        data = self.read(commit, "state.json")
        phase = json.loads(data)["phase"] if data else ""
        what = f"push {kind} {phase}{'' if expected else ' anew'}".rstrip()
        self.boundary(f"before {what}")
        pushed = super().push(ref, commit, expected)
        self.boundary(f"after {what}")
        return pushed


@dataclass(eq=False)
class Talk:
    """One issue, and who says what there."""

    hub: FakeGitHub
    repository: Repository
    folder: Path
    alice: User
    issue: Issue
    stack: ExitStack
    wishes: Wishes = field(default_factory=Wishes)
    changes: dict[str, Any] = field(default_factory=dict)
    count: int = 0
    #: Told of every write to GitHub, before and after it.
    boundary: Boundary = lambda name: None
    #: What MAK told its log.
    notes: list[str] = field(default_factory=list)
    #: Seconds that were waited for GitHub, none of them really.
    slept: float = 0.0

    def say(self, text: str, who: User | None = None, *, pull: bool = False) -> Any:
        """Comment, a second after what was there before."""
        self.hub.forward(seconds=2)
        where = self.pull if pull else self.issue
        return self.repository.comment(where, who or self.alice, text)

    def site(self, owner: str = "job", **changes: Any) -> Site:
        """Return the repository as a new job or worker has it: nothing is there from before."""
        self.count += 1
        folder = self.folder / f"job-{self.count}"
        token = GivenToken(self.hub.workflow_token(self.repository, **PERMISSIONS))
        clock = Clock(sleep=self._sleep)
        transport = _Watched(token, self.hub.url, pace=0, clock=clock)
        transport.boundary = lambda each: self.boundary(each)
        self.stack.enter_context(transport)
        name = self.repository.full_name
        reader = Reader(transport, name)
        self.stack.callback(reader.close)
        url = f"{self.hub.url}/{name}.git"
        remote = _WatchedRemote(url, token, folder / "remote", sleep=self._sleep)
        remote.boundary = lambda each: self.boundary(each)
        bots = {user.id for user in self.hub.world.users.values() if user.login.endswith("[bot]")}
        kept = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
        given = {
            "mine": frozenset(bots),
            "who": ACTIONS_BOT,
            "environment": kept,
            "wishes": self.wishes,
            "owner": owner,
            "links": Links(f"{self.hub.url}/{name}", self.hub.url),
            "by_job": True,
            "poll": 0.2,
            "note": self.notes.append,
            "now": lambda: self.hub.now().timestamp(),
            **self.changes,
            **changes,
        }
        return Site(
            Api(transport, name), reader, remote, Ledger(remote), folder=folder / "work", **given
        )

    def _sleep(self, seconds: float) -> None:
        self.slept += seconds

    def wake(self, **changes: Any) -> RunState | None:
        """Have MAK look, as an event does."""
        return reconcile(self.site(**changes), self.issue.number)

    def held(self) -> Held:
        found = self.site().ledger.of_issue(self.issue.number)
        assert found
        return found

    @property
    def pull(self) -> Issue:
        """The one pull request that there is."""
        (found,) = [each for each in self.repository.issues.values() if each.pull]
        return found

    def written(self, kind: str = "", issue: Issue | None = None) -> list[str]:
        """Return what MAK wrote in the issue, all of it or of one kind."""
        found = []
        for remark in (issue or self.issue).comments:
            mark = marks.read(remark.body)
            if mark and kind in ("", mark["kind"]):
                found.append(remark.body)
        return found

    def digest(self) -> str:
        offer = self.held().state.offer
        assert offer
        return offer.digest[:7]

    def branch(self, path: str) -> str:
        """Return a file on the run's branch."""
        data = self.repository.file(f"refs/heads/{self.held().state.branch}", path)
        return "" if data is None else data.decode()


@pytest.fixture
def talk(github: FakeGitHub, tmp_path: Path) -> Iterator[Talk]:
    """Return an issue of a repository that `alice` may write to."""
    repository = github.repository("octo/shop", FILES)
    alice = repository.allow("alice", "write")
    issue = repository.open_issue(alice, "Better names", "The names are old.")
    with ExitStack() as stack:
        yield Talk(github, repository, tmp_path / "mak", alice, issue, stack)


Scripted = Callable[..., Wishes]


@pytest.fixture
def scripted(tmp_path: Path) -> Scripted:
    """Return what makes wishes for agents and a planner that answer from a script."""

    def make(script: Mapping[str, Any], config: Mapping[str, Any] | None = None) -> Wishes:
        path = tmp_path / "script.json"
        path.write_text(json.dumps(script))
        spec = f"scripted:{path}"
        return Wishes((spec,), spec, config=dump_yaml(dict(config or {})))

    return make
