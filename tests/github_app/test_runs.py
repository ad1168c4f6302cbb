"""The page of a run, as whoever has its token sees it, and nobody else."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import html5lib
import pytest
from starlette.testclient import TestClient

from app.page import POLICY, render
from app.queue import Queue
from app.runs import Runs
from app.web import application
from mak.github.api import AppApi
from mak.github.commands import Command
from mak.github.state import (
    Approval,
    Landed,
    Offer,
    Person,
    Phase,
    Proposal,
    Pull,
    RunState,
    Todo,
    dump,
)
from mak.github.tokens import AppToken
from mak.github.transport import Transport
from tests.github.conftest import Shop, github, shop
from tests.github_app.test_web import settings
from tests.support.fakegithub import FakeGitHub

__all__ = ["github", "shop"]
TOKEN = "a token of the pages"
ALICE = Person(5, "alice")
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)> 日本語"
TASKS = [
    {"id": "T1", "goal": "compute exactly", "writes": ["shop.py::total"]},
    {"id": "T2", "goal": HOSTILE, "writes": [HOSTILE]},
]
PROPOSAL = Proposal(
    plan={"request": "x", "tasks": TASKS},
    waves=(("T1",), ("T2",)),
    cost=(0.5, 1.25),
    remarks=(HOSTILE,),
)
STATE = RunState(
    phase=Phase.RUNNING,
    requester=ALICE,
    run="r7",
    issue=3,
    request="make totals exact",
    base="main",
    offers=(Offer(1, "a" * 64), Offer(2, "b" * 64)),
    approved="b" * 64,
    approvals=(Approval(ALICE, "b" * 64, "javascript:alert(1)", 1_790_000_000),),
    waves=(Landed(1, "c" * 40, ("T1",), "shop: compute exactly"),),
    spent=0.75,
    tokens=12345,
    pull=Pull(4, "PR_4"),
    todo=(Todo(Command("edit", 1), ALICE, "c1:1", 1),),
)


def text_of(page: str) -> list[str]:
    """Return the texts of a page that a strict parser of HTML5 has no objection to."""
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    body = parser.parse(page).find("body")
    return [text.strip() for text in body.itertext() if text.strip()]


def test_a_page_says_what_is_planned_done_and_spent() -> None:
    said = text_of(render(STATE, {2: PROPOSAL}, "octo/shop", "https://github.com"))
    for part in ("running", "#3", "draft #4", "$0.75, 12,345 tokens", "make totals exact"):
        assert part in said
    rows = re.findall(r"<tr><td>(\d+)</td><td>(T\d)</td>.*?<td>(\w+)</td></tr>", _plan())
    assert rows == [("1", "T1", "committed"), ("2", "T2", "open")]
    assert any("revision 2" in part for part in said)
    assert any("$0.50 to $1.25" in part for part in said)


def _plan() -> str:
    return render(STATE, {2: PROPOSAL}, "octo/shop", "https://github.com")


def test_nothing_in_a_document_is_more_than_text() -> None:
    everywhere = replace(
        STATE,
        why=HOSTILE,
        request=HOSTILE,
        base=HOSTILE,
        requester=Person(1, HOSTILE),
        facts={HOSTILE: HOSTILE},
        waves=(Landed(1, f"javascript:{HOSTILE}", (HOSTILE,), HOSTILE),),
    )
    page = render(everywhere, {2: PROPOSAL}, "octo/shop", "https://github.com")
    assert HOSTILE in text_of(page)
    tree = html5lib.parse(page, namespaceHTMLElements=False)
    names = {element.tag for element in tree.iter() if isinstance(element.tag, str)}
    assert not names & {"script", "img", "iframe", "form", "input", "object"}
    for element in tree.iter():
        assert not any(name.startswith("on") for name in element.attrib)
        if "href" in element.attrib:
            assert element.attrib["href"].startswith("https://github.com/octo/shop/")


def test_only_the_page_of_an_open_run_comes_again_by_itself() -> None:
    over = replace(STATE, phase=Phase.DONE)
    pages = [render(state, {}, "octo/shop", "https://github.com") for state in (STATE, over)]
    assert ["http-equiv" in page for page in pages] == [True, False]


# --------------------------------------------------------------------------------------- the route


@pytest.fixture
def client(github: FakeGitHub, shop: Shop, file_url: str) -> Iterator[TestClient]:
    repository = shop.repository
    documents = {"state.json": dump(STATE).decode(), "plan/2.json": dump(PROPOSAL).decode()}
    commit = repository.push(shop.alice, documents, "documents")
    repository.git("update-ref", "refs/mak/runs/r7", commit)
    queue = Queue(file_url)
    known = settings(
        MAK_APP_PAGES_TOKEN=TOKEN, MAK_APP_GITHUB_URL=github.url, MAK_APP_REPOSITORIES="octo/*"
    )
    with Transport(AppToken(shop.app.id, shop.private_key), github.url, pace=0) as transport:
        runs = Runs(known, AppApi(transport))
        with TestClient(application(known, queue, runs.show)) as made:
            yield made
    queue.close()


def test_the_page_is_read_from_the_runs_document(
    client: TestClient, github: FakeGitHub, shop: Shop
) -> None:
    answer = client.get("/runs/octo/shop/r7", auth=("anybody", TOKEN))
    assert answer.status_code == 200
    assert "compute exactly" in " ".join(text_of(answer.text))
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["cache-control"] == "no-store"
    minted = [one.body for one in github.seen if one.path.endswith("/access_tokens")]
    assert minted == [{"repositories": ["shop"], "permissions": {"contents": "read"}}]
    count = len(github.seen)
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert client.get("/runs/octo/shop/r7", headers=bearer).text == answer.text
    assert len(github.seen) == count, "an open page does not ask GitHub each time"


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Basic",
        "Basic ä",
        "Basic !!!",
        "Bearer",
        "Bearer wrong",
        f"Token {TOKEN}",
        f"Basic {base64.b64encode(TOKEN.encode()).decode()}",
        f"Basic {base64.b64encode(b'x:wrong').decode()}",
    ],
)
def test_whoever_has_no_token_sees_nothing(
    client: TestClient, github: FakeGitHub, authorization: str
) -> None:
    for run in ("r7", "r8"):
        headers = {b"authorization": authorization.encode("latin-1")} if authorization else {}
        answer = client.get(f"/runs/octo/shop/{run}", headers=headers)
        assert answer.status_code == 401
        assert "Basic" in answer.headers["www-authenticate"]
    assert github.seen == []


@pytest.mark.parametrize(
    "place",
    ["octo/shop/r8", "octo/none/r7", "acme/shop/r7", "octo/shop/main", "octo/../r7", "octo/a b/r7"],
)
def test_what_is_not_there_or_not_ours_is_not_found(client: TestClient, place: str) -> None:
    assert client.get(f"/runs/{place}", auth=("x", TOKEN)).status_code == 404


def test_without_a_token_in_the_settings_there_are_no_pages(shop: Shop, file_url: str) -> None:
    queue = Queue(file_url)
    known = settings()
    runs = Runs(known, AppApi(Transport(AppToken(1, shop.private_key))))
    with TestClient(application(known, queue, runs.show)) as client:
        for auth in (None, ("x", ""), ("x", "x")):
            assert client.get("/runs/octo/shop/r7", auth=auth).status_code == 404
    queue.close()


def test_an_unreadable_document_is_no_crash(
    client: TestClient, github: FakeGitHub, shop: Shop
) -> None:
    commit = shop.repository.push(shop.alice, {"state.json": "{}"}, "broken")
    shop.repository.git("update-ref", "refs/mak/runs/r9", commit)
    assert client.get("/runs/octo/shop/r9", auth=("x", TOKEN)).status_code == 502


# ----------------------------------------------------------------------------------- a real browser

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_a_browser_shows_it_and_runs_nothing(tmp_path: Path) -> None:
    assert BROWSER
    page = tmp_path / "run.html"
    policy = f'<meta http-equiv="content-security-policy" content="{POLICY}">'
    # That is ignored in an element, and a file has no headers.
    policy = policy.replace("; frame-ancestors 'none'", "")
    page.write_text(_plan().replace('<meta charset="utf-8">', f'<meta charset="utf-8">{policy}'))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    done = subprocess.run(
        [BROWSER, *options, profile, "--virtual-time-budget=3000", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert "compute exactly" in done.stdout, done.stderr
    assert "<script" not in done.stdout
    assert "onerror=alert" not in re.sub(r">[^<]*<", "><", done.stdout)
