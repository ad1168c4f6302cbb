"""Git at GitHub: forward only, from where it is expected, and with a token nobody else sees."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mak.errors import GitHubError, MakBug
from mak.github.remote import Push, Pushed, Remote
from mak.github.tokens import GivenToken
from tests.conftest import git, write
from tests.github.conftest import Shop
from tests.support.fakegithub import FakeGitHub

RUN, BRANCH = "refs/mak/runs/r7f3k2", "refs/heads/mak/1-r7f3k2"
MakeRemote = Callable[..., Remote]


@pytest.fixture
def make(github: FakeGitHub, shop: Shop, tmp_path: Path) -> MakeRemote:
    """Return a function that makes a worker's remote, of a token with the permission given."""

    def remote(level: str = "write", checkout: Path | None = None) -> Remote:
        token = github.workflow_token(shop.repository, contents=level)
        made = tmp_path / f"remote-{len(list(tmp_path.glob('remote-*')))}"
        url, waits = f"{github.url}/octo/shop.git", lambda seconds: None
        return Remote(url, GivenToken(token), made, checkout, sleep=waits)

    return remote


def first(remote: Remote, text: bytes = b"{}") -> str:
    return remote.commit({"state.json": text, "plan/1.json": b"{}"}, "accepted", "", 1_700_000_000)


def test_of_two_creators_one_is_first(make: MakeRemote, shop: Shop) -> None:
    one, other = make(), make()
    mine, theirs = first(one, b"1"), first(other, b"2")
    assert one.push(RUN, mine, "") == Pushed(Push.DONE)
    assert other.push(RUN, theirs, "").how is Push.MOVED
    assert other.refs("refs/mak/") == {RUN: mine}
    other.fetch(RUN)
    assert other.read(mine, "state.json") == b"1"
    assert other.read(mine, "plan/1.json") == b"{}"
    assert other.read(mine, "plan/2.json") is None
    following = other.commit({"state.json": b"3"}, "planning", mine, 1_700_000_001)
    assert other.push(RUN, following, mine) == Pushed(Push.DONE)
    late = one.commit({"state.json": b"4"}, "planning", mine, 1_700_000_001)
    assert one.push(RUN, late, mine).how is Push.MOVED
    assert shop.repository.sha(RUN) == following


def test_the_same_state_is_the_same_commit(make: MakeRemote) -> None:
    one, other = make(), make()
    assert first(one) == first(other)
    assert one.push(RUN, first(one), "").how is Push.DONE
    assert other.push(RUN, first(other), "").how is Push.DONE, "whoever repeats it has done it"


def test_a_push_whose_answer_is_lost_is_found_done(
    make: MakeRemote, github: FakeGitHub, shop: Shop
) -> None:
    remote = make()
    github.faults.lose_answer(method="POST", path="/git-receive-pack")
    assert remote.push(RUN, first(remote), "") == Pushed(Push.DONE)
    assert github.faults.over
    github.faults.fail(502, method="POST", path="/git-receive-pack", times=4)
    following = remote.commit({"state.json": b"2"}, "planning", first(remote), 1_700_000_001)
    with pytest.raises(GitHubError, match="502"):
        remote.push(RUN, following, first(remote))
    assert shop.repository.sha(RUN) == first(remote)
    github.faults.fail(502, method="POST", path="/git-receive-pack")
    github.faults.fail(503, path="/info/refs")
    assert remote.push(RUN, following, first(remote)) == Pushed(Push.DONE)
    assert github.faults.over


def test_a_humans_commit_is_never_written_over(
    make: MakeRemote, shop: Shop, make_repo: Callable[..., Path]
) -> None:
    shop.repository.git("update-ref", BRANCH, "refs/heads/main")
    base = shop.repository.sha(BRANCH)
    checkout = make_repo({})
    git(checkout, "fetch", "-q", str(shop.repository.path), "main")
    git(checkout, "reset", "-q", "--hard", base)
    write(checkout, {"wave.py": "x = 1\n"})
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "mak: wave 1/1")
    wave = git(checkout, "rev-parse", "HEAD").strip()
    human = shop.repository.push(shop.alice, {"mine.py": "y = 2\n"}, BRANCH[11:])
    remote = make(checkout=checkout)
    assert remote.push(BRANCH, wave, base).how is Push.MOVED
    assert shop.repository.sha(BRANCH) == human
    remote.fetch(BRANCH)
    with pytest.raises(MakBug, match="does not follow"):
        remote.push(BRANCH, wave, human)
    assert shop.repository.sha(BRANCH) == human


def test_a_wave_is_pushed_from_the_checkouts_objects(
    make: MakeRemote, shop: Shop, make_repo: Callable[..., Path]
) -> None:
    checkout = make_repo({"a.py": "a = 1\n"})
    wave = git(checkout, "rev-parse", "HEAD").strip()
    assert make(checkout=checkout).push(BRANCH, wave, "").how is Push.DONE
    assert shop.repository.file(BRANCH, "a.py") == b"a = 1\n"


def test_a_ref_that_is_being_written_is_not_a_ref_that_is_refused(
    make: MakeRemote, shop: Shop
) -> None:
    """Two workers created one run's record at once; the later one began another elsewhere."""
    remote = make()
    lock = shop.repository.path / f"{RUN}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    with pytest.raises(GitHubError, match=r"lock|update ref"):
        remote.push(RUN, first(remote), "")
    lock.unlink()
    assert remote.push(RUN, first(remote), "") == Pushed(Push.DONE)


def test_a_rule_against_the_ref_is_said(make: MakeRemote, shop: Shop) -> None:
    shop.repository.refuse_pushes_to("refs/mak/")
    remote = make()
    pushed = remote.push(RUN, first(remote), "")
    assert pushed.how is Push.REFUSED
    assert "refused by a rule" in pushed.said


@pytest.mark.parametrize(
    "ref",
    ["refs/heads/main", "refs/heads/mak/x", "--receive-pack=sh", "refs/mak/runs/r1 x", "HEAD", ""],
)
def test_only_our_own_refs_are_written(make: MakeRemote, ref: str) -> None:
    remote = make()
    with pytest.raises(MakBug, match="no ref of MAK's"):
        remote.push(ref, first(remote), "")


@pytest.mark.parametrize("text", ["--upload-pack=sh", "HEAD", "a" * 39, ""])
def test_only_a_commit_is_taken_for_one(make: MakeRemote, text: str) -> None:
    with pytest.raises(MakBug, match="is no commit"):
        make().push(RUN, text, "")


def test_a_token_that_may_not_push_is_said(make: MakeRemote, github: FakeGitHub) -> None:
    remote = make("read")
    assert remote.refs("refs/heads/main")
    with pytest.raises(GitHubError, match="403") as refused:
        remote.push(RUN, first(remote), "")
    assert "contents: write" in refused.value.hint
    github.forward(hours=25)
    with pytest.raises(GitHubError) as ended:
        remote.refs("refs/")
    assert "not valid" in ended.value.hint


class Renewing:
    """A token that has ended, and the one that follows it."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)

    def current(self) -> str:
        return self.tokens[0]

    def renew(self, refused: str) -> bool:
        self.tokens.pop(0)
        return True


def test_a_token_that_has_ended_is_renewed(github: FakeGitHub, shop: Shop, tmp_path: Path) -> None:
    fresh = github.workflow_token(shop.repository, contents="write")
    tokens = Renewing("ghs_ended_long_ago_really", fresh)
    remote = Remote(f"{github.url}/octo/shop.git", tokens, tmp_path / "bare")
    assert remote.push(RUN, first(remote), "").how is Push.DONE


# I18
def test_the_token_is_in_no_file_and_no_setting_of_the_checkout_counts(
    github: FakeGitHub,
    shop: Shop,
    make_repo: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checkout = make_repo({"a.py": "a = 1\n"})
    evil = "http://127.0.0.1:9/"
    git(checkout, "config", f"url.{evil}.insteadOf", github.url)
    git(checkout, "config", "http.proxy", evil)
    hook = checkout / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nenv > {tmp_path}/leaked\n")
    hook.chmod(0o755)
    write(Path(os.environ["HOME"]), {".gitconfig": f'[url "{evil}"]\ninsteadOf = {github.url}\n'})
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{evil}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", github.url)
    token = github.workflow_token(shop.repository, contents="write")
    bare = tmp_path / "bare"
    remote = Remote(f"{github.url}/octo/shop.git", GivenToken(token), bare, checkout)
    wave = git(checkout, "rev-parse", "HEAD").strip()
    assert remote.push(BRANCH, wave, "").how is Push.DONE
    remote.fetch(BRANCH)
    assert not (tmp_path / "leaked").exists()
    for folder in (bare, checkout):
        for path in folder.rglob("*"):
            assert not path.is_file() or token.encode() not in path.read_bytes(), path
