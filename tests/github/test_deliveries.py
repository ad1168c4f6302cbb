"""Webhooks as GitHub sends them: signed, several times, out of order, or never."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.github.conftest import Shop
from tests.material import fetch_npm
from tests.support.fakegithub import FakeGitHub
from tests.support.fakegithub.world import CheckRun

SECRET = "it's a secret, ä"


class Receiver:
    """Takes deliveries and keeps them; answers with a status that a test chooses."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.status = 202
        receiver = self

        class Taker(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.got.append(({k.lower(): v for k, v in self.headers.items()}, body))
                self.send_response(receiver.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Taker)
        self.url = f"http://127.0.0.1:{self.server.server_port}/github/webhook"


@pytest.fixture
def receiver(github: FakeGitHub, shop: Shop) -> Iterator[Receiver]:
    made = Receiver()
    github.deliveries.send_to(made.url, SECRET, shop.app)
    thread = threading.Thread(target=made.server.serve_forever, args=(0.05,))
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


VERIFY = """
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
import(process.argv[1] + "/dist-node/index.js")
  .then(({ verify }) => Promise.all(cases.map((one) => verify(...one))))
  .then((found) => console.log(JSON.stringify(found)));
"""


def verified(cases: list[tuple[str, str, str]]) -> list[bool]:
    """Ask GitHub's own library whether signatures are right."""
    node = ["node", "-e", VERIFY, str(fetch_npm()["@octokit/webhooks-methods"])]
    done = subprocess.run(node, input=json.dumps(cases), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: list[bool] = json.loads(done.stdout)
    return found


def test_deliveries_are_signed_as_githubs_library_wants(
    github: FakeGitHub, shop: Shop, receiver: Receiver
) -> None:
    issue = shop.repository.open_issue(shop.alice, "Größe", "日本語 🎉")
    shop.repository.comment(issue, shop.alice, "/mak fix")
    github.deliveries.send()
    cases = [
        (SECRET, body.decode(), headers["x-hub-signature-256"]) for headers, body in receiver.got
    ]
    others = [(f"{SECRET}x", cases[0][1], cases[0][2]), (SECRET, cases[0][1] + " ", cases[0][2])]
    assert verified(cases + others) == [True, True, False, False]


def test_deliveries_come_twice_and_in_another_order(
    github: FakeGitHub, shop: Shop, receiver: Receiver
) -> None:
    issue = shop.repository.open_issue(shop.alice, "Broken")
    for number in range(5):
        shop.repository.comment(issue, shop.alice, f"/mak {number}")
    sent = github.deliveries.send(copies=2, shuffle=7)
    ids = [headers["x-github-delivery"] for headers, _ in receiver.got]
    assert sorted(ids) == sorted(2 * [delivery.guid for delivery in sent])
    assert ids != [delivery.guid for delivery in sent for _ in range(2)]
    assert github.deliveries.send() == [], "what was sent is not sent again"


def test_what_is_lost_or_refused_can_be_sent_again_under_its_id(
    github: FakeGitHub, shop: Shop, receiver: Receiver
) -> None:
    issue = shop.repository.open_issue(shop.alice, "Broken")
    (lost,) = github.deliveries.lose()
    assert receiver.got == []
    receiver.status = 503
    shop.repository.comment(issue, shop.alice, "/mak fix")
    (refused,) = github.deliveries.send()
    receiver.status = 202
    for delivery in (lost, refused):
        github.deliveries.again(delivery)
    assert [lost.statuses, refused.statuses] == [[0, 202], [503, 202]]
    ids = [headers["x-github-delivery"] for headers, _ in receiver.got]
    assert ids == [refused.guid, lost.guid, refused.guid]
    assert refused.shape()["redelivery"] is True


def test_the_installation_and_a_button_are_told(
    github: FakeGitHub, shop: Shop, receiver: Receiver
) -> None:
    sha = shop.repository.sha("refs/heads/main")
    fields = {"name": "MAK / repair", "head_sha": sha, "started_at": "2026-11-30T12:00:00Z"}
    check = CheckRun(github.world.next_id(), shop.app, fields)
    shop.repository.checks[check.id] = check
    shop.repository.press(check, shop.alice, "approve")
    github.deliveries.note(None, "installation", "created", {"sender": shop.alice})
    github.deliveries.send()
    events = [headers["x-github-event"] for headers, _ in receiver.got]
    button = json.loads(receiver.got[0][1])
    assert events == ["check_run", "installation"]
    assert button["requested_action"] == {"identifier": "approve"}
    assert button["installation"]["id"] == shop.installation.id
