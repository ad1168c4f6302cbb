"""The App as it runs: webhooks over HTTP, the queue, a worker, and people who talk to it."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from app.queue import Counts, Queue
from app.running import Running
from app.runs import Runs
from app.server import server
from app.settings import Settings, read
from app.web import application
from app.worker import Worker
from mak.config import dump_yaml
from mak.github.api import AppApi
from mak.github.site import Wishes
from mak.github.state import Phase, RunState
from mak.github.tokens import AppToken
from mak.github.transport import Transport
from tests.github.conftest import PERMISSIONS, key_pair
from tests.github_runs.conftest import FILES, Talk
from tests.support.fakegithub import FakeGitHub
from tests.support.fakegithub.world import App, Installation, User

SECRET = "a webhook secret, 0123456789abcdef"
PAGES = "a token of the pages"


@dataclass(eq=False)
class AppTalk(Talk):
    """One issue, and who says what there, in hearing of the App."""

    app: App = field(kw_only=True)
    installation: Installation = field(kw_only=True)
    settings: Settings = field(kw_only=True)
    queue: Queue = field(kw_only=True)
    copies: int = 1
    shuffle: int | None = None

    def tell(self) -> None:
        """Have the webhooks of what happened delivered."""
        self.hub.deliveries.send(self.copies, self.shuffle)

    def hear(self, text: str, who: User | None = None, *, pull: bool = False) -> Any:
        """Comment, and wait until the App has dealt with it."""
        remark = self.say(text, who, pull=pull)
        self.tell()
        self.rest()
        return remark

    def rest(self) -> None:
        """Wait until there is nothing to do."""
        self.until(lambda: self.queue.counts() == Counts(0, 0, 0))

    def until(self, what: Callable[[], Any]) -> None:
        """Wait for what the App does."""
        end = time.monotonic() + 240
        while not what():
            counts = self.queue.counts()
            assert not counts.failed and time.monotonic() < end, (
                f"it did not come to pass: {counts}"
            )
            time.sleep(0.05)

    def state(self) -> RunState:
        return self.held().state

    def settings_wishes(self) -> Wishes:
        """Return what a job of the Action wants, which is what the App does."""
        kernel = self.settings.kernel
        return Wishes(kernel.models, kernel.planner)

    def into(self, phase: Phase) -> None:
        """Wait for a phase."""

        def reached() -> bool:
            held = self.site().ledger.of_issue(self.issue.number)
            return held is not None and held.state.phase is phase

        self.until(reached)


@contextmanager
def talking(
    hub: FakeGitHub,
    folder: Path,
    script: Mapping[str, Any],
    config: Mapping[str, Any] | None = None,
) -> Iterator[AppTalk]:
    """Run the App for a repository that `alice` may write to; agents answer from a script."""
    path = folder / "script.json"
    path.write_text(json.dumps(script))
    files = {**FILES, **({".mak/config.yaml": dump_yaml(dict(config))} if config else {})}
    repository = hub.repository("octo/shop", files)
    alice = repository.allow("alice", "write")
    private, public = key_pair()
    app = hub.world.app("mak", public, **PERMISSIONS)
    hub.workflow_token(repository)
    installation = hub.world.install(app, repository)
    issue = repository.open_issue(alice, "Better names", "The names are old.")
    known = settings(hub, app, private, MAK_APP_MODELS=f"scripted:{path}")
    queue = Queue(f"sqlite:///{folder / 'queue.db'}")
    with ExitStack() as stack:
        stack.callback(queue.close)
        transport = Transport(AppToken(app.id, private), hub.url, pace=0)
        api = AppApi(stack.enter_context(transport))
        url = stack.enter_context(_served(known, queue, api))
        hub.deliveries.send_to(f"{url}/github/webhook", SECRET, app)
        stack.enter_context(_worker(known, queue, api))
        yield AppTalk(
            hub,
            repository,
            folder / "job",
            alice,
            issue,
            stack,
            app=app,
            installation=installation,
            settings=known,
            queue=queue,
        )


def settings(hub: FakeGitHub, app: App, private: str, **more: str) -> Settings:
    """Return the settings of an App that carries out runs itself."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ.get("HOME", "/"),
        "MAK_APP_WEBHOOK_SECRET": SECRET,
        "MAK_APP_ID": str(app.id),
        "MAK_APP_PRIVATE_KEY": private,
        "MAK_APP_GITHUB_URL": hub.url,
        "MAK_APP_MODE": "run",
        "MAK_APP_PAGES_TOKEN": PAGES,
        "MAK_APP_URL": "https://mak.example.org/",
        **more,
    }
    return read(environment)


@contextmanager
def _served(known: Settings, queue: Queue, api: AppApi) -> Iterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    service = application(known, queue, Runs(known, api).show, lambda: "@mak")
    serving = server(service)
    thread = threading.Thread(target=serving.run, args=([listening],), daemon=True)
    thread.start()
    while not serving.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    serving.should_exit = True
    thread.join()


@contextmanager
def _worker(known: Settings, queue: Queue, api: AppApi) -> Iterator[None]:
    stopping = threading.Event()
    work = Running(known, api, stopping, pace=0, poll=0.2)

    async def both() -> None:
        stop = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(Worker(queue, work, slots=4, grace=20).run, stop)
            while not stopping.is_set():
                await anyio.sleep(0.05)
            stop.set()

    thread = threading.Thread(target=anyio.run, args=(both,), daemon=True)
    thread.start()
    yield
    stopping.set()
    thread.join()
