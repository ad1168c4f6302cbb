"""Run the GitHub App: `python -m app.main` serves webhooks and works them off.

`web` and `worker` do one of the two, to have several workers on one queue. SIGTERM ends either:
requests are answered, and what is in hand is finished or given back.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import anyio
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette

from app import logs
from app.alias import Alias
from app.catchup import catch_up
from app.dispatch import Dispatch
from app.queue import Queue
from app.running import Running
from app.runs import Runs
from app.scan import Scan
from app.server import server
from app.settings import Mode, Settings, read
from app.web import application
from app.worker import Work, Worker
from mak.errors import GitHubError, MakError
from mak.github.api import AppApi
from mak.github.tokens import AppToken
from mak.github.transport import Transport

_LOG = logging.getLogger("app.main")
_CATCH_UP = 3600.0
#: As long as whoever works on a run may be silent.
_SCAN = 600.0
#: Whoever listens has to be listening before GitHub sends anything again.
_SETTLED = 2.0
_RESTART = 2.0
#: prctl(2): whether others of the same user may look into the process.
_PR_SET_DUMPABLE = 4


def _dispatch(settings: Settings, app: AppApi, stopping: threading.Event) -> Work:
    return Dispatch(app, settings.workflow, settings.github_url)


#: How a wake is worked off in each mode; the event is set when the service stops.
WORK: Mapping[Mode, Callable[[Settings, AppApi, threading.Event], Work]] = {
    Mode.DISPATCH: _dispatch,
    Mode.RUN: Running,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until told to stop; return the exit code: 2 for what is missing in the environment."""
    parser = argparse.ArgumentParser(prog="python -m app.main", description=__doc__)
    parser.add_argument("part", nargs="?", choices=("all", "web", "worker"), default="all")
    part = parser.parse_args(arguments).part
    logs.begin()
    if sys.platform == "linux":
        # The environment that it was started with stays readable in /proc otherwise.
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0)
    given = dict(os.environ)
    try:
        settings = read(os.environ)
        token = AppToken(settings.app_id, settings.private_key)
        app = AppApi(Transport(token, settings.github_url))
        queue = Queue(settings.queue, settings.limits)
        with app.transport:
            if part == "worker":
                stopping = threading.Event()
                work = WORK[settings.mode](settings, app, stopping)
                anyio.run(_work, settings, queue, work, stopping)
            else:
                _serve(settings, queue, app, given if part == "all" else None)
        queue.close()
    except MakError as error:
        _LOG.critical("%s", error, extra={"hint": error.hint} if error.hint else {})
        return error.exit_code
    return 0


# ---------------------------------------------------------------------------------------- webhooks


def _serve(
    settings: Settings, queue: Queue, app: AppApi, environment: Mapping[str, str] | None
) -> None:
    """Serve, with a worker beside it when there is an environment to start it with."""
    alias = Alias(settings, app)
    service = application(settings, queue, Runs(settings, app).show, alias)
    inner = service.router.lifespan_context

    @asynccontextmanager
    async def lifespan(starlette: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(inner(starlette))
            if environment is not None:
                await stack.enter_async_context(_background(_keep_worker(environment, settings)))
            if settings.mode is Mode.RUN:
                await stack.enter_async_context(_background(alias.find_out()))
                scanning = _keep_scanning(Scan(settings, app, queue))
                await stack.enter_async_context(_background(scanning))
            await stack.enter_async_context(_background(_keep_catching_up(app)))
            yield

    service.router.lifespan_context = lifespan
    # The server sends itself the signal once more when it has stopped; that is no error.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    grace = int(settings.grace)
    server(service, host=settings.host, port=settings.port, timeout_graceful_shutdown=grace).run()


@asynccontextmanager
async def _background(running: Coroutine[None, None, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(running)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _keep_catching_up(app: AppApi) -> None:
    await asyncio.sleep(_SETTLED)
    while True:
        try:
            count = await anyio.to_thread.run_sync(catch_up, app, abandon_on_cancel=True)
            _LOG.info("caught up", extra={"asked_for": count})
        except GitHubError as error:
            _LOG.error("catching up: %s", error)
        await asyncio.sleep(_CATCH_UP)


async def _keep_scanning(scan: Callable[[], int]) -> None:
    while True:
        try:
            count = await anyio.to_thread.run_sync(scan, abandon_on_cancel=True)
            _LOG.info("looked for runs to go on with", extra={"found": count})
        except (MakError, SQLAlchemyError) as error:
            _LOG.error("looking for runs to go on with: %s", error)
        await asyncio.sleep(_SCAN)


async def _keep_worker(environment: Mapping[str, str], settings: Settings) -> None:
    """Have a worker beside the server, and another one when it dies."""
    command = [sys.executable, "-m", "app.main", "worker"]
    while True:
        process = subprocess.Popen(command, env={**environment, "MAK_APP_PARENT": str(os.getpid())})
        try:
            status = await anyio.to_thread.run_sync(process.wait, abandon_on_cancel=True)
            _LOG.error("the worker died", extra={"status": status})
        finally:
            if process.returncode is None:
                process.terminate()
                try:
                    process.wait(settings.grace + 5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        await asyncio.sleep(_RESTART)


# ------------------------------------------------------------------------------------------ worker


async def _work(settings: Settings, queue: Queue, work: Work, stopping: threading.Event) -> None:
    stop = anyio.Event()
    parent = os.environ.pop("MAK_APP_PARENT", "")

    async def on_signal() -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                stopping.set()
                stop.set()

    async def on_orphaned() -> None:
        while not parent or os.getppid() == int(parent):
            await anyio.sleep(1)
        stopping.set()
        stop.set()

    async with anyio.create_task_group() as group:
        group.start_soon(on_signal)
        group.start_soon(on_orphaned)
        await Worker(queue, work, slots=settings.slots, grace=settings.grace).run(stop)
        group.cancel_scope.cancel()


if __name__ == "__main__":
    # Threads with work that was given back do not hold the end up.
    status = main()
    logging.shutdown()
    os._exit(status)
