"""Runs that nobody works on any more are found, and gone on with."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.queue import Queue
from app.running import Running
from app.scan import KIND, Scan
from app.settings import Settings
from app.worker import GivenBack
from mak.errors import MakError
from mak.github.api import AppApi
from mak.github.events import Wake
from mak.github.state import LEASE, PATIENCE, Phase
from mak.github.tokens import AppToken
from mak.github.transport import Transport
from tests.github.conftest import PERMISSIONS, github, key_pair
from tests.github_app.talking import settings
from tests.github_runs.conftest import RENAME, Talk, talk
from tests.github_runs.test_conversation import GOOD
from tests.road.test_repair import RENAMED
from tests.support.fakegithub import FakeGitHub
from tests.support.fakegithub.world import Installation

#: Whole conversations, many times over: `make test-slow` runs them.
pytestmark = pytest.mark.slow

__all__ = ["github", "talk"]
#: Longer than anybody waits.
SLOW = {**RENAMED, "delay_s": 600}


class Cut(Exception):
    """The worker died."""


class Place:
    """One installation, and workers that come and go."""

    def __init__(self, hub: FakeGitHub, talk: Talk, queue: Queue, transport: Transport) -> None:
        self.hub, self.talk, self.queue = hub, talk, queue
        self.app = AppApi(transport)
        self.later = 0.0

    installation: Installation
    settings: Settings

    def now(self) -> float:
        return time.time() + self.later

    def worker(self, cut: str = "", stopping: threading.Event | None = None) -> Running:
        def fault(name: str) -> None:
            if name == cut:
                raise Cut

        stopping = stopping or threading.Event()
        return Running(
            self.settings, self.app, stopping, pace=0, poll=0.2, now=self.now, fault=fault
        )

    def wake(self) -> Wake:
        ids = (self.installation.id, self.talk.repository.id, "octo/shop")
        return Wake(*ids, self.talk.issue.number, "issue_comment.created", "d")

    def told(self, **more: str) -> Settings:
        """Return other settings of the same App."""
        return settings(self.hub, self.installation.app, key_pair()[0], **more)

    def scan(self) -> Scan:
        return Scan(self.settings, self.app, self.queue, self.now)


@pytest.fixture
def place(github: FakeGitHub, talk: Talk, file_url: str) -> Iterator[Place]:
    private, public = key_pair()
    app = github.world.app("mak", public, **PERMISSIONS)
    github.workflow_token(talk.repository)
    queue = Queue(file_url)
    with Transport(AppToken(app.id, private), github.url, pace=0) as transport:
        made = Place(github, talk, queue, transport)
        made.installation = github.world.install(app, talk.repository)
        made.settings = settings(github, app, private)
        yield made
    queue.close()


def test_a_run_whose_worker_died_goes_on(place: Place) -> None:
    place.talk.say(f"/mak {RENAME}")
    place.worker()(place.wake())
    place.talk.say(f"/mak approve {place.talk.digest()}")
    with pytest.raises(Cut):
        place.worker("pushed")(place.wake())
    assert place.talk.held().state.phase is Phase.RUNNING
    scan = place.scan()
    assert scan() == 0, "its lease has not ended"
    place.worker()(place.wake())
    assert place.talk.held().state.phase is Phase.RUNNING
    place.later = LEASE + 1
    assert scan() == 1 and scan() == 0 and place.scan()() == 0, "it is woken once"
    (taken,) = place.queue.take("worker")
    assert (taken.wake.kind, taken.wake.number) == (KIND, place.talk.issue.number)
    place.worker()(taken.wake)
    state = place.talk.held().state
    assert state.phase is Phase.DONE and len(state.waves) == 1, state.why
    assert scan() == 0


def test_what_is_under_way_when_the_service_stops_goes_on_at_once(
    place: Place, tmp_path: Path
) -> None:
    path = tmp_path / "script.json"
    path.write_text(json.dumps({**GOOD, "tasks": {**GOOD["tasks"], "T1": [SLOW]}}))
    place.settings = place.told(MAK_APP_MODELS=f"scripted:{path}")
    place.talk.say("/mak use better names")
    place.worker()(place.wake())
    place.talk.say(f"/mak approve {place.talk.digest()}")
    stopping = threading.Event()

    def stop() -> None:
        held = place.talk.site().ledger.of_issue(place.talk.issue.number)
        while held is None or held.state.lease is None:
            held = place.talk.site().ledger.of_issue(place.talk.issue.number)
        stopping.set()

    watching = threading.Thread(target=stop)
    watching.start()
    with pytest.raises(GivenBack):
        place.worker(stopping=stopping)(place.wake())
    watching.join()
    state = place.talk.held().state
    assert state.phase is Phase.RUNNING and state.lease is None
    path.write_text(json.dumps(GOOD))
    place.worker()(place.wake())
    assert place.talk.held().state.phase is Phase.DONE


def test_what_is_known_is_not_read_again(place: Place) -> None:
    place.talk.say(f"/mak {RENAME}")
    place.worker()(place.wake())
    scan = place.scan()
    assert scan() == 0
    count = len(place.hub.seen)
    fetched = [one for one in place.hub.seen if "git-upload-pack" in one.path]
    assert scan() == 0
    assert [one for one in place.hub.seen if "git-upload-pack" in one.path] == fetched
    assert len(place.hub.seen) > count, "whether there are others is asked each time"


def test_what_nobody_decided_on_is_woken_to_expire(place: Place) -> None:
    place.talk.say(f"/mak {RENAME}")
    place.worker()(place.wake())
    place.later = PATIENCE + 60
    assert place.scan()() == 1
    (taken,) = place.queue.take("worker")
    place.worker()(taken.wake)
    assert place.talk.held().state.phase is Phase.EXPIRED


def test_what_is_suspended_or_not_served_is_left_alone(place: Place, tmp_path: Path) -> None:
    place.talk.say(f"/mak {RENAME}")
    place.worker()(place.wake())
    place.later = PATIENCE + 60
    served = place.told(MAK_APP_REPOSITORIES="acme/*")
    assert Scan(served, place.app, place.queue, place.now)() == 0
    place.installation.suspended = True
    assert place.scan()() == 0


def test_a_policy_that_cannot_be_read_is_said_where_somebody_asks(place: Place) -> None:
    place.talk.repository.push(place.talk.alice, {".github/mak.yml": "approvalz: 2\n"})
    place.talk.say(f"/mak {RENAME}")
    for _ in range(2):
        place.worker()(place.wake())
    (said,) = place.talk.written("answer")
    assert "approvals" in said and "nothing is done" in said
    assert not place.talk.repository.refs("refs/mak/")


def test_commands_of_a_repository_are_run_only_where_that_is_allowed(
    place: Place, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    config = f"checks:\n  commands:\n    - {{name: mark, command: 'touch {ran}'}}\n"
    place.talk.repository.push(place.talk.alice, {".mak/config.yaml": config})
    for allowed, rename in ((False, RENAME), (True, "rename function a.other to another")):
        place.settings = place.told(MAK_APP_COMMANDS="yes" if allowed else "no")
        place.talk.say(f"/mak {rename}")
        place.worker()(place.wake())
        place.talk.say(f"/mak approve {place.talk.digest()}")
        place.worker()(place.wake())
        assert place.talk.held().state.phase is Phase.DONE
        assert ran.exists() is allowed


def test_where_the_app_is_not_installed_any_more_nothing_is_tried_again(place: Place) -> None:
    wake = place.wake()
    place.hub.end(place.installation, place.talk.alice)
    place.worker()(wake)
    place.talk.say("/mak help")
    place.worker()(wake)
    assert place.talk.written() == []


@pytest.mark.parametrize("how", ["deleted", "transferred"])
def test_a_run_ends_with_its_issue(place: Place, how: str) -> None:
    place.talk.say(f"/mak {RENAME}")
    place.worker()(place.wake())
    run = place.talk.held().state.run
    del place.talk.repository.issues[place.talk.issue.number]
    place.worker()(replace(place.wake(), kind=f"issues.{how}"))
    held = place.talk.site().ledger.of_run(run)
    assert held and held.state.phase is Phase.CANCELLED and "not here" in held.state.why


def test_a_repository_that_was_renamed_is_found_by_its_number(place: Place) -> None:
    place.talk.say("/mak help")
    old = Wake(place.installation.id, place.talk.repository.id, "octo/old", 1, "issues.opened", "d")
    place.worker()(old)
    assert len(place.talk.written("answer")) == 1


def test_github_that_refuses_is_an_error_to_be_tried_again(place: Place) -> None:
    place.hub.faults.fail(403, method="GET", path="/repos/octo/shop")
    with pytest.raises(MakError):
        place.worker()(place.wake())
