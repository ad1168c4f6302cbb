"""The service as processes, between GitHub and a repository's own workflow."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.catchup import catch_up
from app.dispatch import Dispatch
from mak.errors import GitHubError
from mak.github.api import AppApi
from mak.github.events import Wake
from mak.github.tokens import AppToken
from mak.github.transport import Transport
from tests.github.conftest import Shop, github, shop
from tests.support.fakegithub import FakeGitHub
from tests.support.fakegithub.hooks import Delivery

__all__ = ["github", "shop"]
ROOT = Path(__file__).parents[2]
SECRET = "a webhook secret, 0123456789abcdef"


def wait(until: Callable[[], Any]) -> None:
    """Wait for what another process does."""
    end = time.monotonic() + 60
    while not until():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.05)


class Service:
    """`python -m app.main`, to be killed and begun again."""

    def __init__(self, folder: Path, github: FakeGitHub, shop: Shop) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "log"
        key = folder / "key.pem"
        key.write_text(shop.private_key)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "MAK_APP_WEBHOOK_SECRET": SECRET,
            "MAK_APP_ID": str(shop.app.id),
            "MAK_APP_PRIVATE_KEY_FILE": str(key),
            "MAK_APP_GITHUB_URL": github.url,
            "MAK_APP_QUEUE": f"sqlite:///{folder / 'queue.db'}",
            "MAK_APP_PORT": str(self.port),
        }
        github.deliveries.send_to(f"{self.url}/github/webhook", SECRET, shop.app)
        self.log.touch()
        self.process: subprocess.Popen[bytes] | None = None
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str, **more: str) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app.main", *arguments],
                cwd=ROOT,
                env={**self.environment, **more},
                stderr=log,
                start_new_session=True,
            )
        self.started.append(self.process)
        if arguments != ("worker",):
            wait(lambda: self.status("/readyz") == 200)

    def status(self, path: str) -> int:
        try:
            return httpx.get(f"{self.url}{path}").status_code
        except httpx.HTTPError:
            return 0

    def kill(self) -> None:
        """Kill it and its worker, as the kernel does when memory runs out."""
        assert self.process
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        assert self.process
        self.process.terminate()
        return self.process.wait(60)

    def said(self, message: str) -> list[dict[str, Any]]:
        lines = map(json.loads, self.log.read_text().splitlines())
        return [line for line in lines if line["message"] == message]


@pytest.fixture
def service(tmp_path: Path, github: FakeGitHub, shop: Shop) -> Iterator[Service]:
    made = Service(tmp_path, github, shop)
    yield made
    for process in made.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert SECRET not in made.log.read_text()


def test_from_a_comment_to_the_repositorys_workflow(
    github: FakeGitHub, shop: Shop, service: Service
) -> None:
    service.start()
    issue = shop.repository.open_issue(shop.alice, "Broken")
    shop.repository.comment(issue, shop.alice, "Me too")
    shop.repository.comment(issue, shop.alice, "/mak fix it")
    *_, told = github.deliveries.send(copies=10, shuffle=3)
    wait(lambda: shop.repository.dispatches)
    assert service.stop() == 0
    inputs = {
        "number": str(issue.number),
        "kind": "issue_comment.created",
        "delivery": told.guid,
    }
    assert shop.repository.dispatches == [{"workflow": "mak.yml", "ref": "main", "inputs": inputs}]
    outcomes = Counter(line["outcome"] for line in service.said("webhook"))
    assert outcomes == {"ignored": 20, "queued": 1, "duplicate": 9}
    minted = [one for one in github.seen if one.path.endswith("/access_tokens")]
    assert [one.body for one in minted] == [
        {"repository_ids": [shop.repository.id], "permissions": {"actions": "write"}}
    ]


def test_what_was_acknowledged_is_done_after_all_processes_were_killed(
    github: FakeGitHub, shop: Shop, service: Service
) -> None:
    service.start("web")
    issues = [shop.repository.open_issue(shop.alice, f"{n}", "/mak fix it") for n in range(5)]
    sent = github.deliveries.send()
    assert [one.statuses for one in sent] == [[202]] * 5
    service.kill()
    service.start()
    wait(lambda: len(shop.repository.dispatches) == 5)
    service.stop()
    numbers = {one["inputs"]["number"] for one in shop.repository.dispatches}
    assert numbers == {str(issue.number) for issue in issues}


def test_workers_share_a_queue_in_postgresql(
    github: FakeGitHub, shop: Shop, service: Service, server_url: str
) -> None:
    service.start("web", MAK_APP_QUEUE=server_url)
    issues = [shop.repository.open_issue(shop.alice, f"{n}") for n in range(3)]
    for number in range(4):
        for issue in issues:
            shop.repository.comment(issue, shop.alice, f"/mak plan {number}")
    told = [one.guid for one in github.deliveries.send() if one.event == "issue_comment"]
    web = service.process
    workers = []
    for _ in range(2):
        service.start("worker", MAK_APP_QUEUE=server_url, MAK_APP_SLOTS="2")
        workers.append(service.process)
    wait(lambda: len(shop.repository.dispatches) == len(told))
    for process in (*workers, web):
        assert process
        process.terminate()
        assert process.wait(60) == 0
    inputs = [one["inputs"] for one in shop.repository.dispatches]
    assert sorted(one["delivery"] for one in inputs) == sorted(told)
    for issue in issues:
        mine = [one["delivery"] for one in inputs if one["number"] == str(issue.number)]
        assert mine == [guid for guid in told if guid in mine]
    assert len(service.said("worker begins")) == 2


def test_what_did_not_arrive_is_asked_for_at_the_start(
    github: FakeGitHub, shop: Shop, service: Service
) -> None:
    issue = shop.repository.open_issue(shop.alice, "Broken")
    shop.repository.comment(issue, shop.alice, "/mak fix it")
    github.deliveries.send()
    assert {one.statuses[0] for one in github.deliveries.made} == {0}
    service.start()
    wait(lambda: shop.repository.dispatches)
    service.stop()
    assert [one.statuses for one in github.deliveries.made] == [[0, 202]] * 2
    assert len(shop.repository.dispatches) == 1


def test_another_worker_is_begun_when_one_dies(
    github: FakeGitHub, shop: Shop, service: Service
) -> None:
    service.start()
    wait(lambda: service.said("worker begins"))
    (first,) = service.said("worker begins")
    os.kill(int(first["worker"].rsplit("-", 2)[1]), signal.SIGKILL)
    wait(lambda: len(service.said("worker begins")) == 2)
    shop.repository.open_issue(shop.alice, "Broken", "/mak fix it")
    github.deliveries.send()
    wait(lambda: shop.repository.dispatches)
    assert service.stop() == 0
    assert len(service.said("worker ends")) == 1


def test_a_worker_ends_when_what_began_it_was_killed(service: Service) -> None:
    service.start()
    wait(lambda: service.said("worker begins"))
    assert service.process
    service.process.kill()
    service.process.wait()
    wait(lambda: service.said("worker ends"))


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() == 0, reason="root's are root's in any case"
)
def test_its_environment_is_not_for_others(service: Service) -> None:
    service.start("web")
    assert service.process
    owner = Path(f"/proc/{service.process.pid}/environ").stat().st_uid
    assert owner == 0, "it is not its user's own, but root's"


def test_without_secrets_it_does_not_start(service: Service) -> None:
    for missing in ("MAK_APP_WEBHOOK_SECRET", "MAK_APP_ID", "MAK_APP_PRIVATE_KEY_FILE"):
        environment = {**service.environment, missing: ""}
        done = subprocess.run(
            [sys.executable, "-m", "app.main"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        said = json.loads(line)
        assert missing.removesuffix("_FILE") in said["message"]
        assert "guides" in said["hint"]


# ---------------------------------------------------------------------------------------- in detail


@pytest.fixture
def app_api(github: FakeGitHub, shop: Shop) -> Iterator[AppApi]:
    with Transport(AppToken(shop.app.id, shop.private_key), github.url, pace=0) as transport:
        yield AppApi(transport)


def test_a_name_that_is_another_repositorys_by_now_is_not_acted_on(
    github: FakeGitHub, shop: Shop, app_api: AppApi
) -> None:
    other = github.repository("octo/other", {"a.py": ""})
    shop.installation.repositories += (other,)
    wake = Wake(shop.installation.id, shop.repository.id, "octo/other", 1, "issues.opened", "d")
    with pytest.raises(GitHubError):
        Dispatch(app_api, "mak.yml", github.url)(wake)
    assert other.dispatches == []


def test_one_token_is_good_for_many_wakes_of_its_repository(
    github: FakeGitHub, shop: Shop, app_api: AppApi
) -> None:
    dispatch = Dispatch(app_api, "mak.yml", github.url)
    for number in (1, 2):
        ids = (shop.installation.id, shop.repository.id)
        dispatch(Wake(*ids, "octo/shop", number, "issues.opened", "d"))
    assert [one["inputs"]["number"] for one in shop.repository.dispatches] == ["1", "2"]
    assert len([one for one in github.seen if one.path.endswith("/access_tokens")]) == 1


def test_catching_up_asks_for_what_is_recent_wanted_and_never_arrived(
    github: FakeGitHub, shop: Shop, app_api: AppApi
) -> None:
    def lose(*statuses: int) -> Delivery:
        shop.repository.open_issue(shop.alice, "Broken")
        (delivery,) = github.deliveries.lose()
        delivery.statuses[:] = statuses
        return delivery

    old, lost, refused, arrived = lose(0), lose(0), lose(503), lose(202)
    old.at -= timedelta(days=3, minutes=1)
    unwanted = lose(0)
    unwanted.event, unwanted.action = "star", "created"
    assert catch_up(app_api) == 2
    asked = [one.path.split("/")[-2] for one in github.seen if one.path.endswith("/attempts")]
    assert asked == [str(lost.id), str(refused.id)], "the oldest first"
    assert arrived.statuses == [202]


def test_what_is_refused_each_time_is_not_asked_for_for_ever(
    github: FakeGitHub, shop: Shop, app_api: AppApi
) -> None:
    shop.repository.open_issue(shop.alice, "Broken")
    (delivery,) = github.deliveries.lose()
    # GitHub lists each attempt, all with the id of the first.
    for _ in range(3):
        github.deliveries.made.append(replace(delivery, id=github.world.next_id()))
    assert catch_up(app_api) == 1
    github.deliveries.made.append(replace(delivery, id=github.world.next_id()))
    assert catch_up(app_api) == 0
