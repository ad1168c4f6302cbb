"""Whether the GitHub App acknowledges every webhook in time, and loses none when it is killed.

    python benchmark/webhooks.py

A thousand signed deliveries at once; then ten thousand a minute for a minute, with `kill -9` of the
server and its worker in the middle. The server is the one that ships, as a process of its own; the
worker notes what it works off. A delivery that found nobody listening is sent again under its id,
as GitHub does when the App asks for it. Latency is from opening the connection to the end of the
answer, of deliveries that were acknowledged.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import hmac
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from cryptography.hazmat.primitives import serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: E402

from app import logs  # noqa: E402
from app.queue import LEASE, Limits, Queue  # noqa: E402
from app.worker import Worker  # noqa: E402
from mak.github.events import Wake  # noqa: E402
from tests.material import fetch_npm  # noqa: E402

SECRET = "benchmark-secret-0123456789abcdef"
BURST, PER_MINUTE = 1_000, 10_000
#: Issues and people that deliveries are spread over.
REPOSITORIES, ISSUES, PEOPLE = 250, 4, 500
AIM = 0.5


@dataclass
class Delivery:
    """One webhook, and how its acknowledgement went."""

    guid: str
    request: bytes
    latency: float = 0.0
    statuses: list[int] = field(default_factory=list)

    @property
    def acknowledged(self) -> bool:
        """Say whether it was."""
        return self.statuses[-1:] == [202]


def deliveries(kind: str, count: int) -> list[Delivery]:
    """Return GitHub's own example of a comment, as many times, of several issues and people."""
    folder = fetch_npm()["@octokit/webhooks-examples"]
    events = json.loads((folder / "api.github.com/index.json").read_text())
    (comments,) = [event["examples"] for event in events if event["name"] == "issue_comment"]
    payload = next(one for one in comments if one["action"] == "created")
    payload["installation"] = {"id": 1, "node_id": "I_1"}
    made = []
    for number in range(count):
        repository, issue = number % REPOSITORIES + 1, number % (REPOSITORIES * ISSUES) + 1
        payload["repository"] |= {"id": repository, "full_name": f"octo/{repository}"}
        payload["issue"]["number"] = issue
        payload["comment"] |= {"id": number, "body": f"/mak plan number {number}"}
        payload["sender"]["id"] = number % PEOPLE + 1
        body = json.dumps(payload).encode()
        digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        guid = f"{kind}-{number}"
        head = (
            "POST /github/webhook HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            "User-Agent: GitHub-Hookshot/1\r\nContent-Type: application/json\r\n"
            f"X-GitHub-Event: issue_comment\r\nX-GitHub-Delivery: {guid}\r\n"
            f"X-Hub-Signature-256: sha256={digest}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        made.append(Delivery(guid, head.encode() + body))
    return made


# ----------------------------------------------------------------------------------------- the App


class Service:
    """Server and worker, as processes that can be killed."""

    def __init__(self, folder: Path) -> None:
        """Keep the queue, logs and what was worked off in a folder."""
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        self._environment = {
            **os.environ,
            "MAK_APP_WEBHOOK_SECRET": SECRET,
            "MAK_APP_ID": "1",
            "MAK_APP_PRIVATE_KEY": key.decode(),
            "MAK_APP_GITHUB_URL": "http://127.0.0.1:9",
            "MAK_APP_QUEUE": self.queue,
            "MAK_APP_PORT": str(self.port),
        }

    @property
    def queue(self) -> str:
        """The queue's URL."""
        return f"sqlite:///{self.folder / 'queue.db'}"

    def start(self) -> None:
        """Start both; return when requests are answered."""
        with (self.folder / "log").open("ab") as log:
            commands = (
                [sys.executable, "-m", "app.main", "web"],
                [sys.executable, __file__, "--worker", str(self.folder)],
            )
            self.processes = [
                subprocess.Popen(one, cwd=ROOT, env=self._environment, stderr=log)
                for one in commands
            ]
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.02)

    def kill(self) -> None:
        """End both as a machine that loses its memory would."""
        for process in self.processes:
            process.send_signal(signal.SIGKILL)
        for process in self.processes:
            process.wait()

    def done(self) -> list[str]:
        """Return what was worked off, as often as it was."""
        path = self.folder / "done"
        return path.read_text().split() if path.exists() else []


def work(folder: Path) -> None:
    """Work off what is in the queue: note its delivery."""
    logs.begin()
    queue = Queue(f"sqlite:///{folder / 'queue.db'}", Limits())
    file = (folder / "done").open("a")

    async def note(wake: Wake) -> None:
        print(wake.delivery, file=file, flush=True)

    async def run() -> None:
        await Worker(queue, note, slots=16).run(anyio.Event())

    anyio.run(run)


# ---------------------------------------------------------------------------------------- GitHub


async def send(delivery: Delivery, port: int) -> None:
    """Send a delivery once, and note its answer: 0 for none."""
    began = time.perf_counter()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(delivery.request)
            answer = await reader.read()
        finally:
            writer.close()
        status = int(answer.split(b" ", 2)[1])
    except (OSError, IndexError):
        status = 0
    delivery.latency = time.perf_counter() - began
    delivery.statuses.append(status)


async def burst(batch: Sequence[Delivery], port: int) -> None:
    """Send all at once."""
    await asyncio.gather(*(send(one, port) for one in batch))


async def steady(batch: Sequence[Delivery], service: Service, seconds: float) -> float:
    """Send at an even rate, whatever becomes of them; kill and restart halfway. Return the gap."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    tasks = []
    restart: asyncio.Future[float] | None = None
    for index, one in enumerate(batch):
        await asyncio.sleep(began + index * seconds / len(batch) - loop.time())
        if index == len(batch) // 2:
            restart = loop.run_in_executor(None, _restart, service)
        tasks.append(asyncio.create_task(send(one, service.port)))
    await asyncio.gather(*tasks)
    assert restart
    return await restart


def _restart(service: Service) -> float:
    began = time.perf_counter()
    service.kill()
    service.start()
    return time.perf_counter() - began


async def again(batch: Sequence[Delivery], port: int) -> int:
    """Send what was not acknowledged again, under its id; return how many those were."""
    missed = [one for one in batch if not one.acknowledged]
    for one in missed:
        await send(one, port)
    return len(missed)


def percentile(batch: Sequence[Delivery], share: float) -> float:
    """Return the latency, in seconds, that a share of the acknowledged stayed within."""
    latencies = sorted(one.latency for one in batch if one.acknowledged)
    return latencies[min(len(latencies) - 1, int(share * len(latencies)))]


def report(name: str, batch: Sequence[Delivery], missed: int) -> bool:
    """Print what became of a batch; say whether it is as it should be."""
    acknowledged = sum(one.acknowledged for one in batch)
    worst = percentile(batch, 0.99)
    figures = "   ".join(
        f"p{round(100 * share)} {1000 * percentile(batch, share):.0f} ms"
        for share in (0.5, 0.95, 0.99)
    )
    longest = 1000 * max(one.latency for one in batch if one.acknowledged)
    print(f"{name}: {acknowledged} of {len(batch)} acknowledged, {missed} of them when sent again")
    print(f"  {figures}   longest {longest:.0f} ms")
    return acknowledged == len(batch) and worst < AIM


def main() -> int:
    """Run it; return 1 when an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the even rate lasts")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(arguments.worker)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return _run(Service(Path(folder)), arguments.seconds)


def _run(service: Service, seconds: float) -> int:
    first = deliveries("burst", BURST)
    second = deliveries("steady", round(PER_MINUTE * seconds / 60))
    print(f"a delivery has {len(first[0].request)} bytes")
    service.start()
    try:
        asyncio.run(burst(first, service.port))
        missed = asyncio.run(again(first, service.port))
        met = [report(f"{len(first)} at once", first, missed)]
        gap = asyncio.run(steady(second, service, seconds))
        before = sum(one.acknowledged for one in second)
        missed = asyncio.run(again(second, service.port))
        met += [report(f"{len(second)} in {seconds:.0f} s", second, missed)]
        print(f"  killed halfway, answering again after {gap:.1f} s; {before} acknowledged at once")
        wanted = {one.guid for one in (*first, *second)}
        # What the killed worker had in hand is due when its lease ends.
        end = time.monotonic() + 3 * LEASE
        while wanted - set(service.done()) and time.monotonic() < end:
            time.sleep(0.5)
        done = service.done()
        lost = len(wanted - set(done))
        twice = len(done) - len(set(done))
        print(f"worked off: {len(set(done))} of {len(wanted)}, {lost} lost, {twice} twice")
    finally:
        service.kill()
    met.append(not lost)
    outcome = "met" if all(met) else "MISSED"
    print(f"p99 under {1000 * AIM:.0f} ms, all acknowledged, none lost: {outcome}")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
