"""What comes over HTTP is measured, verified, read, and acknowledged when it is kept."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import app.server
import app.web
from app.logs import begin
from app.queue import Limits, Queue
from app.server import server
from app.settings import Settings, read
from app.web import LARGEST, application
from mak.errors import UsageError
from mak.providers import secrets
from tests.github.test_events import commented, examples, least
from tests.material import fetch_npm

SECRET, OLD = "new secret, of some length ä", "the old secret, of some length"
REPOSITORY = {"id": 77, "full_name": "octo/shop"}


def settings(**more: str) -> Settings:
    return read(
        {
            "MAK_APP_WEBHOOK_SECRET": SECRET,
            "MAK_APP_WEBHOOK_SECRET_OLD": OLD,
            "MAK_APP_ID": "5",
            "MAK_APP_PRIVATE_KEY": "-----BEGIN PRIVATE KEY-----",
            **more,
        }
    )


class Served:
    """The service on a port of its own."""

    def __init__(self, queue: Queue, settings: Settings) -> None:
        self.queue = queue
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._server = server(application(settings, queue))
        run = self._server.run
        self._thread = threading.Thread(target=run, args=([self._socket],), daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def post(self, body: bytes, **headers: str) -> httpx.Response:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        whole = {**signed(body), **given}
        return httpx.post(f"{self.url}/github/webhook", content=body, headers=whole)


def signed(body: bytes, secret: str = SECRET, event: str = "issue_comment") -> dict[str, str]:
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {
        "content-type": "application/json",
        "x-github-event": event,
        "x-github-delivery": f"d-{hashlib.sha256(body).hexdigest()[:20]}",
        "x-hub-signature-256": f"sha256={digest}",
    }


def comment(text: str = "/mak fix it", **more: Any) -> bytes:
    payload = commented(text)
    payload["repository"] |= REPOSITORY
    payload["issue"]["number"] = 3
    return json.dumps(payload | more, ensure_ascii=False).encode()


@pytest.fixture
def served(file_url: str) -> Iterator[Served]:
    queue = Queue(file_url)
    made = Served(queue, settings())
    yield made
    made.stop()
    queue.close()


def said(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["status"]


def test_a_command_is_kept_before_it_is_acknowledged(served: Served) -> None:
    body = comment("/mak größer 日本語")
    assert said(served.post(body)) == (202, "queued")
    (taken,) = served.queue.take("w")
    wake = taken.wake
    assert (wake.installation, wake.repository, wake.full_name) == (8, 77, "octo/shop")
    assert (wake.number, wake.kind) == (3, "issue_comment.created")
    assert wake.delivery == signed(body)["x-github-delivery"]


def test_a_delivery_that_comes_again_is_acknowledged_and_kept_once(served: Served) -> None:
    body = comment()
    assert [said(served.post(body))[1] for _ in range(3)] == ["queued", "duplicate", "duplicate"]
    assert served.queue.counts().waiting == 1


def test_while_a_secret_is_replaced_both_are_good(served: Served) -> None:
    for number, secret in enumerate((SECRET, OLD)):
        body = comment(number=number)
        headers = {k.replace("-", "_"): v for k, v in signed(body, secret).items()}
        assert said(served.post(body, **headers)) == (202, "queued")


@pytest.mark.parametrize(
    "signature",
    ["", "sha256=", "sha256=" + 64 * "0", "sha1=" + 40 * "0", "ä", "sha256=" + 10_000 * "f"],
)
def test_a_forgery_is_told_nothing(served: Served, signature: str) -> None:
    headers = {**signed(comment()), "x-hub-signature-256": signature}
    raw = {name.encode(): value.encode("latin-1") for name, value in headers.items()}
    answer = httpx.post(f"{served.url}/github/webhook", content=comment(), headers=raw)
    assert said(answer) == (401, "unauthorized")
    assert served.queue.counts().waiting == 0


def test_one_byte_more_is_a_forgery(served: Served) -> None:
    body = comment()
    headers = {**signed(body)}
    answer = httpx.post(f"{served.url}/github/webhook", content=body + b" ", headers=headers)
    assert said(answer) == (401, "unauthorized")
    other = {**signed(body), **signed(body, "no secret of ours at all")}
    answer = httpx.post(f"{served.url}/github/webhook", content=body, headers=other)
    assert said(answer) == (401, "unauthorized")


def test_nothing_is_read_before_it_is_verified(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr(app.web, "_event", never)
    answer = served.post(b"[" * 100_000, x_hub_signature_256="sha256=0")
    assert said(answer) == (401, "unauthorized")


def test_githubs_own_examples_are_all_acknowledged(served: Served) -> None:
    """Signed by GitHub's own library, in `test_events` also read."""
    bodies = [json.dumps(payload).encode() for _, _, payload in examples()]
    import subprocess

    script = """
    const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
    import(process.argv[1] + "/dist-node/index.js")
      .then(({ sign }) => Promise.all(cases.map((one) => sign(...one))))
      .then((found) => console.log(JSON.stringify(found)));
    """
    cases = json.dumps([[SECRET, body.decode()] for body in bodies])
    node = ["node", "-e", script, str(fetch_npm()["@octokit/webhooks-methods"])]
    done = subprocess.run(node, input=cases, capture_output=True, text=True, check=True)
    with httpx.Client() as client:
        for (name, _, _), body, signature in zip(
            examples(), bodies, json.loads(done.stdout), strict=True
        ):
            headers = {**signed(body, event=name), "x-hub-signature-256": signature}
            answer = client.post(f"{served.url}/github/webhook", content=body, headers=headers)
            assert answer.status_code == 202, (name, answer.text)


def test_what_is_larger_than_github_sends_is_refused_unread(served: Served) -> None:
    for length in (LARGEST + 1, 10**18):
        with socket.create_connection(("127.0.0.1", served.port)) as client:
            client.settimeout(20)
            head = f"POST /github/webhook HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
            client.sendall(head.encode())
            assert client.recv(100).startswith(b"HTTP/1.1 413")
    sent = 0

    def chunks() -> Iterator[bytes]:
        nonlocal sent
        while True:
            sent += 1 << 16
            yield b" " * (1 << 16)

    headers = signed(b"")
    try:
        answer = httpx.post(f"{served.url}/github/webhook", content=chunks(), headers=headers)
        assert answer.status_code == 413
    except httpx.WriteError:
        # It was closed while there was more to send.
        pass
    assert sent < 4 * LARGEST


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 200_000, "not JSON"),
        (b'{"a":' * 200_000, "not JSON"),
        (b'{"a": ' + b"9" * 100_000 + b"}", "not JSON"),
        (b"[]", "not an object"),
        (b'{"action": "created"}', "not what GitHub describes"),
    ],
    ids=range(7),
)
def test_what_is_verified_and_broken_is_refused(served: Served, body: bytes, says: str) -> None:
    assert said(served.post(body)) == (400, says)
    assert said(served.post(comment())) == (202, "queued")


def test_compressed_bodies_and_forms_are_not_taken(served: Served) -> None:
    assert said(served.post(comment(), content_encoding="gzip")) == (415, "unsupported")
    form = "application/x-www-form-urlencoded"
    status, says = said(served.post(comment(), content_type=form))
    assert (status, "application/json" in says) == (415, True)
    assert said(served.post(comment(), x_github_delivery="a b")) == (400, "not a delivery")


def test_what_means_nothing_is_acknowledged_and_not_kept(served: Served) -> None:
    talk, edited = comment("thanks"), comment(action="edited")
    for body in (talk, edited):
        assert said(served.post(body)) == (202, "ignored")
    assert said(served.post(comment(), x_github_event="star")) == (202, "ignored")
    ping = json.dumps(least("ping", "")).encode()
    headers = {k.replace("-", "_"): v for k, v in signed(ping, event="ping").items()}
    assert said(served.post(ping, **headers)) == (202, "pong")
    # A webhook of a repository's own has no installation, and nobody to act as.
    payload = json.loads(comment())
    del payload["installation"]
    assert said(served.post(json.dumps(payload).encode())) == (202, "ignored")
    assert served.queue.counts().waiting == 0


def test_only_repositories_that_it_is_for_are_served(file_url: str) -> None:
    queue = Queue(file_url)
    served = Served(queue, settings(MAK_APP_REPOSITORIES="octo/*, Acme/Tool"))
    for name, outcome in (
        ("octo/shop", "queued"),
        ("ACME/tool", "queued"),
        ("octopus/shop", "ignored"),
    ):
        repository = {**json.loads(comment())["repository"], "full_name": name}
        assert said(served.post(comment(repository=repository))) == (202, outcome)
    served.stop()
    queue.close()


def test_a_full_queue_and_a_flooder_are_told_to_come_again(file_url: str) -> None:
    queue = Queue(file_url, Limits(all=2, of_person=1))
    served = Served(queue, settings())
    assert said(served.post(comment())) == (202, "queued")
    answer = served.post(comment("/mak more"))
    assert said(answer) == (429, "limited")
    assert int(answer.headers["retry-after"]) > 0
    other = json.loads(comment("/mak other"))
    for person in (100, 101):
        other["sender"]["id"] = person
        answer = served.post(json.dumps(other).encode())
    assert said(answer) == (503, "full")
    served.stop()
    queue.close()


def test_a_queue_that_is_gone_means_come_again_and_not_ready(served: Served, file_url: str) -> None:
    assert httpx.get(f"{served.url}/readyz").json() == {
        "status": "ok",
        "waiting": 0,
        "running": 0,
        "failed": 0,
    }
    served.queue.close()
    path = Path(file_url.removeprefix("sqlite:///"))
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        (path.parent / name).unlink(missing_ok=True)
    path.mkdir()
    assert said(served.post(comment())) == (503, "full")
    assert said(httpx.get(f"{served.url}/readyz")) == (503, "no queue")
    assert said(httpx.get(f"{served.url}/healthz")) == (200, "ok")


# ------------------------------------------------------------------------------------ slow clients


def test_headers_and_bodies_that_trickle_are_cut_off(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app.server, "HEADER_SECONDS", 0.2)
    monkeypatch.setattr(app.web, "BODY_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", served.port)) as silent:
        silent.settimeout(20)
        assert silent.recv(100) == b""
    with socket.create_connection(("127.0.0.1", served.port)) as slow:
        slow.settimeout(20)
        slow.sendall(b"POST /github/webhook HTTP/1.1\r\nHost: x\r\nX-A: ")
        assert slow.recv(100) == b""
    with socket.create_connection(("127.0.0.1", served.port)) as slow:
        slow.settimeout(20)
        slow.sendall(b"POST /github/webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
        assert slow.recv(100).startswith(b"HTTP/1.1 408")
    # A connection that is kept for another request is one that waits for headers, too.
    with socket.create_connection(("127.0.0.1", served.port)) as kept:
        kept.settimeout(20)
        kept.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert kept.recv(4096).startswith(b"HTTP/1.1 200")
        kept.sendall(b"GET /heal")
        left = b"".join(iter(lambda: kept.recv(4096), b""))
        assert b"HTTP/1.1 200" not in left


def test_headers_without_end_are_cut_off(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port)) as client:
        client.settimeout(20)
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        with pytest.raises(OSError):
            for number in range(100_000):
                client.sendall(b"X-%d: %s\r\n" % (number, b"a" * 1000))
            raise AssertionError("it took all of them")


def test_bodies_of_strangers_cannot_fill_the_memory(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app.web, "_HELD", 1 << 20)
    with socket.create_connection(("127.0.0.1", served.port)) as first:
        first.sendall(b"POST /github/webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 999999\r\n\r\n")
        first.sendall(b" " * 999_990)
        statuses = set()
        for _ in range(100):
            body = b" " * 500_000
            statuses.add(served.post(body, x_hub_signature_256="").status_code)
            if 503 in statuses:
                break
        assert 503 in statuses
    monkeypatch.setattr(app.web, "_HELD", 1 << 28)
    assert said(served.post(comment())) == (202, "queued")


# ---------------------------------------------------------------------------------- settings, logs


def test_it_says_all_that_is_missing_at_once() -> None:
    with pytest.raises(UsageError, match=r"WEBHOOK_SECRET, MAK_APP_ID, MAK_APP_PRIVATE_KEY are"):
        read({})
    with pytest.raises(UsageError, match="MAK_APP_WEBHOOK_SECRET is missing"):
        read({"MAK_APP_ID": "1", "MAK_APP_PRIVATE_KEY": "x", "MAK_APP_WEBHOOK_SECRET": " "})
    with pytest.raises(UsageError, match="fewer than 16"):
        settings(MAK_APP_WEBHOOK_SECRET="short")
    for name, value, says in (
        ("PORT", "x", "is no number"),
        ("SLOTS", "0", "less than 1"),
        ("MODE", "both", "run or dispatch"),
        ("PAGES_TOKEN", "short", "fewer than 16"),
    ):
        with pytest.raises(UsageError, match=says):
            settings(**{f"MAK_APP_{name}": value})


def test_secrets_are_read_from_files_and_leave_the_environment(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a secret in a file\n")
    environment = {
        "MAK_APP_ID": "5",
        "MAK_APP_PRIVATE_KEY": "a key in the environment",
        "MAK_APP_WEBHOOK_SECRET_FILE": str(tmp_path / "secret"),
        "PATH": "/bin",
    }
    found = read(environment)
    assert found.webhook_secrets == ("a secret in a file",)
    assert "key" not in " ".join(environment.values())
    assert "secret in" not in repr(found)
    with pytest.raises(UsageError, match="MAK_APP_WEBHOOK_SECRET_FILE"):
        read({**environment, "MAK_APP_WEBHOOK_SECRET_FILE": str(tmp_path / "none")})


def test_logs_are_json_without_secrets(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", root.handlers)
    level = root.level
    canary = 'canary "quoted" 0123456789'
    secrets.keep(canary)
    with (tmp_path / "log").open("w") as stream:
        begin(stream)
        served.post(comment())
        served.post(comment(), x_hub_signature_256="sha256=0")
        served.post(b"{" + canary.encode())
        try:
            raise ValueError(f"with {canary}\nand a line")
        except ValueError:
            logging.getLogger("any").exception("it broke: %s", SECRET, extra={"what": canary})
        root.handlers[0].flush()
    root.setLevel(level)
    text = (tmp_path / "log").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    webhooks = [line for line in lines if line["message"] == "webhook"]
    assert [(line["status"], line["outcome"]) for line in webhooks] == [
        (202, "queued"),
        (401, "unauthorized"),
        (400, "not JSON"),
    ]
    assert (webhooks[0]["repository"], webhooks[0]["number"]) == (77, 3)
    assert webhooks[0]["event"] == "issue_comment"
    assert "traceback" in lines[-1]
    for secret in (SECRET, canary, canary.replace('"', '\\"')):
        assert secret not in text
