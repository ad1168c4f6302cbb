"""What people and the App say to each other, from webhooks to a pull request that is ready."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from mak.github.state import Phase
from tests.github.conftest import github
from tests.github_app.talking import PAGES, AppTalk, talking
from tests.github_runs.test_conversation import GOOD, LOST, TWO
from tests.road.test_repair import RENAMED, uses
from tests.support.fakegithub import FakeGitHub
from tests.support.fakegithub.world import CheckRun

#: Whole conversations, many times over: `make test-slow` runs them.
pytestmark = pytest.mark.slow

__all__ = ["github"]
ONE_ATTEMPT = {"attempts": 1}
#: The first task takes longer than anybody waits; the next time it is done at once.
SLOW = {"plan": [TWO], "tasks": {"T1": [{**RENAMED, "delay_s": 60}], "T2": [uses("new")]}}


@pytest.fixture
def talk(github: FakeGitHub, tmp_path: Path) -> Iterator[AppTalk]:
    with talking(github, tmp_path, GOOD) as made:
        yield made


@pytest.fixture
def broken(github: FakeGitHub, tmp_path: Path) -> Iterator[AppTalk]:
    """Have a run whose second task is lost, so that what uses the first is left broken."""
    with talking(github, tmp_path, LOST, ONE_ATTEMPT) as made:
        yield made


@pytest.fixture
def slow(github: FakeGitHub, tmp_path: Path) -> Iterator[AppTalk]:
    with talking(github, tmp_path, SLOW) as made:
        yield made


def page(talk: AppTalk) -> str:
    place = talk.hub.deliveries.url.removesuffix("/github/webhook")
    answer = httpx.get(f"{place}/runs/octo/shop/{talk.state().run}", auth=("me", PAGES))
    assert answer.status_code == 200
    return answer.text


def test_plan_edit_approve_waves_repair_and_done(broken: AppTalk) -> None:
    talk = broken
    talk.hear("@mak use better names")
    assert talk.state().phase is Phase.REVIEW
    first = talk.digest()
    talk.hear("/mak edit T2: use the new name, everywhere")
    assert "everywhere" in talk.written("plan")[-1]
    talk.hear(f"/mak approve {first}")
    assert talk.state().phase is Phase.REVIEW and len(talk.written("answer")) == 1
    talk.hear(f"/mak approve {talk.digest()}")
    assert talk.state().phase is Phase.REPAIR_REVIEW, talk.state().why
    (review,) = talk.pull.pull.reviews
    assert "R1" in review.body and review.user is talk.app.bot
    shown = page(talk)
    for part in ("repair-review", "rename old to new", "committed", "Repairs 1", "Cost"):
        assert part in shown
    talk.hear(f"/mak approve {talk.digest()}", pull=True)
    state = talk.state()
    assert state.phase is Phase.DONE, state.why
    assert [wave.repair for wave in state.waves] == [0, 1] and not talk.pull.pull.draft
    assert "a.new()" in talk.branch("b.py") and "done" in page(talk)
    (track,) = talk.written("track")
    assert f"https://mak.example.org/runs/octo/shop/{state.run}" in track
    author = talk.repository.git("log", "-1", "--format=%an %ae", f"refs/heads/{state.branch}")
    assert author == f"mak[bot] {talk.app.bot.id}+mak[bot]@users.noreply.github.com"


def test_tokens_are_of_one_repository_and_grow_with_what_is_published(talk: AppTalk) -> None:
    talk.hear("/mak use better names")

    def minted() -> list[Any]:
        found = [one.body for one in talk.hub.seen if one.path.endswith("/access_tokens")]
        assert all(one["repository_ids"] == [talk.repository.id] for one in found)
        return [one["permissions"] for one in found]

    assert not any("checks" in one for one in minted())
    assert all(one == {"contents": "write"} for one in minted() if one["contents"] == "write")
    talk.hear(f"/mak approve {talk.digest()}")
    assert any("checks" in one for one in minted())


def begun(talk: AppTalk) -> None:
    """Have a run under way."""
    talk.hear("/mak use better names")
    talk.say(f"/mak approve {talk.digest()}")
    talk.tell()
    talk.into(Phase.RUNNING)
    talk.until(lambda: talk.state().lease)


def test_a_run_is_cancelled_while_it_is_under_way(slow: AppTalk) -> None:
    begun(slow)
    slow.say("/mak cancel")
    slow.tell()
    slow.into(Phase.CANCELLED)
    slow.rest()
    (said,) = slow.written("cancelled")
    assert "@alice" in said and not slow.repository.refs("refs/heads/mak/")


def test_a_run_is_paused_while_it_is_under_way(github: FakeGitHub, tmp_path: Path) -> None:
    script = {**SLOW, "tasks": {**SLOW["tasks"], "T1": [{**RENAMED, "delay_s": 4}]}}
    with talking(github, tmp_path, script) as talk:
        begun(talk)
        talk.say("/mak pause")
        talk.tell()
        talk.into(Phase.PAUSED)
        talk.rest()
        assert len(talk.state().waves) == 1
        talk.hear("/mak resume")
        assert talk.state().phase is Phase.DONE and len(talk.state().waves) == 2


def test_a_person_pushes_and_nothing_is_overwritten(talk: AppTalk) -> None:
    talk.hear("/mak use better names")
    talk.hear(f"/mak approve {talk.digest()} --waves=1")
    state = talk.state()
    theirs = talk.repository.push(talk.alice, {"README.md": "# Theirs\n"}, state.branch)
    talk.tell()
    talk.hear("/mak resume")
    assert talk.state().phase is Phase.PAUSED
    (moved,) = talk.written("moved")
    assert theirs[:7] in moved
    talk.hear("/mak resume")
    assert talk.state().phase is Phase.DONE and talk.branch("README.md") == "# Theirs\n"


@pytest.mark.parametrize("what", ["issue", "pull"])
def test_what_is_closed_is_cancelled(talk: AppTalk, what: str) -> None:
    talk.hear("/mak use better names")
    if what == "pull":
        talk.hear(f"/mak approve {talk.digest()} --waves=1")
    talk.repository.set_open(talk.issue if what == "issue" else talk.pull, talk.alice, False)
    talk.tell()
    talk.rest()
    assert talk.state().phase is Phase.CANCELLED
    (said,) = talk.written("cancelled")
    assert "closed" in said


def repair(talk: AppTalk) -> CheckRun:
    """Have repairs to decide on; return the newest check that shows them."""
    talk.hear("/mak use better names")
    talk.hear(f"/mak approve {talk.digest()}")
    return check(talk)


def check(talk: AppTalk) -> CheckRun:
    found = [one for one in talk.repository.checks.values() if one.fields["name"] == "MAK / repair"]
    return found[-1]


def press(talk: AppTalk, button: CheckRun, who: Any, what: str) -> None:
    talk.hub.forward(seconds=2)
    talk.repository.press(button, who, what)
    talk.tell()
    talk.rest()


def test_a_button_is_a_command_of_whoever_presses_it(broken: AppTalk) -> None:
    button = repair(broken)
    assert [one["identifier"] for one in button.fields["actions"]] == ["approve", "skip", "cancel"]
    for what in ("approve", "skip", "cancel"):
        press(broken, button, broken.hub.world.user("mallory"), what)
        assert broken.state().phase is Phase.REPAIR_REVIEW
    press(broken, button, broken.alice, "approve")
    assert broken.state().phase is Phase.DONE, broken.state().why
    assert button.fields["conclusion"] == "neutral" and not button.fields["actions"]


def test_a_button_counts_for_what_it_was_shown_with(broken: AppTalk) -> None:
    button = repair(broken)
    broken.hear("/mak edit R1: use the new name, and nothing else", pull=True)
    assert broken.state().phase is Phase.REPAIR_REVIEW
    press(broken, button, broken.alice, "approve")
    press(broken, button, broken.alice, "skip")
    assert broken.state().phase is Phase.REPAIR_REVIEW
    assert len(broken.written("answer", broken.pull)) == 2
    press(broken, check(broken), broken.alice, "skip")
    assert broken.state().phase is Phase.DONE and "a.old()" in broken.branch("b.py")


def test_a_button_cancels(broken: AppTalk) -> None:
    button = repair(broken)
    press(broken, button, broken.alice, "cancel")
    assert broken.state().phase is Phase.CANCELLED


@pytest.mark.parametrize("action", ["deleted", "suspend"])
def test_work_ends_where_the_app_is_taken_away(slow: AppTalk, action: str) -> None:
    begun(slow)
    slow.hub.end(slow.installation, slow.alice, action)
    slow.tell()
    slow.rest()
    assert not slow.repository.refs("refs/heads/mak/")


def test_a_repository_that_is_taken_out_has_its_runs_cancelled(talk: AppTalk) -> None:
    talk.hear("/mak use better names")
    shape = {"id": talk.repository.id, "full_name": "octo/shop", "name": "shop"}
    more = {"node_id": "R_1", "private": False}
    document = {
        "installation": talk.hub.shapes.installation(talk.installation),
        "repositories_added": [],
        "repositories_removed": [{**shape, **more}],
        "repository_selection": "selected",
        "requester": None,
    }
    what = {"sender": talk.alice, "document": document}
    talk.hub.deliveries.note(None, "installation_repositories", "removed", what)
    talk.tell()
    talk.rest()
    assert talk.state().phase is Phase.CANCELLED and len(talk.written("cancelled")) == 1


def test_app_and_action_side_by_side_and_each_delivery_ten_times(talk: AppTalk) -> None:
    talk.copies, talk.shuffle = 10, 7
    with ThreadPoolExecutor(3) as pool:

        def both() -> None:
            """Have jobs of the Action look while the App does."""
            jobs = [pool.submit(talk.wake, owner=f"job {n}", poll=0.2) for n in range(3)]
            talk.tell()
            for job in jobs:
                job.result()
            talk.rest()

        talk.wishes = talk.settings_wishes()
        talk.say("/mak use better names")
        both()
        talk.say("/mak edit T2: use the new name, everywhere")
        talk.say("/mak status")
        both()
        talk.say(f"/mak approve {talk.digest()}")
        both()
    # Whoever was not first has left it to whoever was.
    talk.into(Phase.DONE)
    talk.rest()
    state = talk.state()
    assert len(state.offers) == 2 and len(talk.written("plan")) == 2
    assert len(talk.repository.refs("refs/heads/mak/")) == 1
    assert len([one for one in talk.repository.issues.values() if one.pull]) == 1
    for kind in ("track", "done", "answer"):
        assert len(talk.written(kind)) == 1, kind
    assert len(talk.repository.refs("refs/mak/runs/")) == 1
