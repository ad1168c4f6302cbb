"""What there is on a GitHub: people, repositories, issues, pull requests and what hangs on them.

Nothing here speaks HTTP. Tests act as people do through `Repository`; the interfaces read and
change the same objects.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

#: From least to most; what `permission` calls the two in between, see the REST description.
ROLES = ("none", "read", "triage", "write", "maintain", "admin")

Notify = Callable[["Repository", str, str, Mapping[str, Any]], None]


@dataclass(eq=False)
class User:
    """Somebody who writes on GitHub; a bot belongs to an App."""

    id: int
    login: str
    type: str = "User"


@dataclass(eq=False)
class Remark:
    """Text that somebody wrote somewhere: a comment, a review or a comment on a line."""

    id: int
    node_id: str
    user: User
    body: str
    created_at: datetime
    updated_at: datetime
    #: The App that wrote it, if one did.
    app: App | None = None
    reactions: list[Reaction] = field(default_factory=list)
    #: Why it is hidden, or None.
    minimized: str | None = None


@dataclass(eq=False)
class Reaction:
    """One person's reaction to one comment."""

    id: int
    user: User
    content: str
    created_at: datetime


@dataclass(eq=False)
class LineRemark(Remark):
    """A comment on lines of a pull request's difference."""

    path: str = ""
    line: int | None = None
    start_line: int | None = None
    side: str = "RIGHT"
    commit: str = ""
    review: Review | None = None
    reply_to: int | None = None
    thread: Thread | None = None


@dataclass(eq=False)
class Thread:
    """Comments on one place of a pull request."""

    node_id: str
    remarks: list[LineRemark] = field(default_factory=list)
    resolved: bool = False


@dataclass(eq=False)
class Review(Remark):
    """A review of a pull request."""

    state: str = "COMMENTED"
    commit: str = ""


@dataclass(eq=False)
class Pull:
    """What makes an issue a pull request."""

    head: str
    base: str
    draft: bool
    #: The repository that `head` is in: another one for a fork.
    source: Repository
    merged: bool = False
    reviews: list[Review] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)
    reviewers: list[User] = field(default_factory=list)

    @property
    def remarks(self) -> list[LineRemark]:
        """Return the comments on lines, in the order in which they were written."""
        found = [remark for thread in self.threads for remark in thread.remarks]
        return sorted(found, key=lambda remark: remark.id)


@dataclass(eq=False)
class Issue(Remark):
    """An issue; with `pull`, a pull request."""

    number: int = 0
    title: str = ""
    open: bool = True
    closed_at: datetime | None = None
    labels: list[str] = field(default_factory=list)
    comments: list[Remark] = field(default_factory=list)
    pull: Pull | None = None
    pinned: int | None = None


@dataclass(eq=False)
class CheckRun:
    """One check of one commit."""

    id: int
    app: App
    fields: dict[str, Any]
    annotations: list[dict[str, Any]] = field(default_factory=list)


@dataclass(eq=False)
class App:
    """A GitHub App."""

    id: int
    slug: str
    bot: User
    public_key: str = ""
    permissions: dict[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class Installation:
    """An App in a person's or an organisation's repositories."""

    id: int
    app: App
    account: User
    repositories: list[Repository] = field(default_factory=list)
    suspended: bool = False


class World:
    """Ids, people and the clock: what repositories share."""

    def __init__(self, folder: Path, now: Callable[[], datetime], notify: Notify) -> None:
        """Keep repositories in a folder; `notify` is told of what webhooks tell."""
        self.folder, self.now, self.notify = folder, now, notify
        self.users: dict[str, User] = {}
        self.repositories: dict[str, Repository] = {}
        self.apps: dict[int, App] = {}
        self.installations: dict[int, Installation] = {}
        self._ids = iter(range(1001, 10**9))

    def next_id(self) -> int:
        """Return an id that nothing else has; later ones are larger."""
        return next(self._ids)

    def user(self, login: str, type: str = "User") -> User:
        """Return a user, made when there is none."""
        if login not in self.users:
            # This one has the same number everywhere.
            number = 41898282 if login == "github-actions[bot]" else self.next_id()
            self.users[login] = User(number, login, type)
        return self.users[login]

    def app(self, slug: str, public_key: str = "", **permissions: str) -> App:
        """Make an App, with the permissions its installations have."""
        bot = self.user(f"{slug}[bot]", "Bot")
        app = App(self.next_id(), slug, bot, public_key, dict(permissions))
        self.apps[app.id] = app
        return app

    def install(self, app: App, *repositories: Repository) -> Installation:
        """Install an App in repositories of one owner."""
        made = Installation(self.next_id(), app, repositories[0].owner, list(repositories))
        self.installations[made.id] = made
        return made


class Repository:
    """A repository: a bare one on disk, and the talk around it."""

    def __init__(self, world: World, full_name: str, files: Mapping[str, str]) -> None:
        """Make one with a commit of the files given on `main`."""
        owner, self.name = full_name.split("/")
        self.world = world
        self.id = world.next_id()
        self.owner = world.user(owner)
        self.full_name = full_name
        self.path = world.folder / f"{full_name}.git"
        self.roles: dict[str, str] = {owner: "admin"}
        self.issues: dict[int, Issue] = {}
        self.checks: dict[int, CheckRun] = {}
        self.dispatches: list[dict[str, Any]] = []
        #: The setting that lets `GITHUB_TOKEN` open pull requests, and whether drafts exist.
        self.actions_may_create_pulls = True
        self.allows_drafts = True
        self.fork_of: Repository | None = None
        self.path.mkdir(parents=True)
        self.git("init", "--quiet", "--bare", "--initial-branch=main")
        self.git("config", "http.receivepack", "true")
        self.push(self.owner, files, message="base")
        world.repositories[full_name] = self

    # ------------------------------------------------------------------------- what people do

    def allow(self, login: str, role: str) -> User:
        """Give a person a role; return them."""
        assert role in ROLES
        self.roles[login] = role
        return self.world.user(login)

    def role(self, user: User) -> str:
        """Return what a person may do here."""
        return self.roles.get(user.login, "none")

    def open_issue(self, user: User, title: str, body: str = "", app: App | None = None) -> Issue:
        """Open an issue."""
        issue = Issue(*self._remark(user, body), app=app, number=self._number(), title=title)
        self.issues[issue.number] = issue
        self.tell("issues", "opened", issue=issue, sender=user)
        return issue

    def comment(self, issue: Issue, user: User, body: str, app: App | None = None) -> Remark:
        """Comment on an issue or pull request."""
        remark = Remark(*self._remark(user, body), app=app)
        issue.comments.append(remark)
        self.tell("issue_comment", "created", issue=issue, comment=remark, sender=user)
        return remark

    def edit(self, issue: Issue, remark: Remark, user: User, body: str) -> None:
        """Change what a comment says."""
        before, remark.body, remark.updated_at = remark.body, body, self.world.now()
        changes = {"body": {"from": before}}
        told = {"issue": issue, "comment": remark, "sender": user, "changes": changes}
        self.tell("issue_comment", "edited", **told)

    def delete(self, issue: Issue, remark: Remark, user: User) -> None:
        """Take a comment away."""
        issue.comments.remove(remark)
        self.tell("issue_comment", "deleted", issue=issue, comment=remark, sender=user)

    def set_open(self, issue: Issue, user: User, is_open: bool) -> None:
        """Close an issue or pull request, or open it again."""
        issue.open, issue.updated_at = is_open, self.world.now()
        issue.closed_at = None if is_open else issue.updated_at
        event = "pull_request" if issue.pull else "issues"
        self.tell(event, "reopened" if is_open else "closed", issue=issue, sender=user)

    def open_pull(
        self, user: User, title: str, body: str, head: str, base: str, *, draft: bool = False
    ) -> Issue:
        """Open a pull request of a branch here, or of `owner:branch` in a fork."""
        owner, _, branch = head.rpartition(":")
        source = next((r for r in self.forks() if r.owner.login == owner), self)
        issue = Issue(*self._remark(user, body), number=self._number(), title=title)
        issue.pull = Pull(branch, base, draft, source)
        self.issues[issue.number] = issue
        self.tell("pull_request", "opened", issue=issue, sender=user)
        return issue

    def review(
        self, issue: Issue, user: User, body: str, state: str, comments: list[dict[str, Any]]
    ) -> Review:
        """Review a pull request; `comments` have `path`, `body` and `line`."""
        assert issue.pull
        head = issue.pull.source.sha(f"refs/heads/{issue.pull.head}")
        review = Review(*self._remark(user, body), state=state, commit=head)
        issue.pull.reviews.append(review)
        for comment in comments:
            self.line_comment(issue, user, review=review, **comment)
        self.tell("pull_request_review", "submitted", issue=issue, review=review, sender=user)
        return review

    def line_comment(
        self,
        issue: Issue,
        user: User,
        body: str,
        path: str = "",
        reply_to: LineRemark | None = None,
        review: Review | None = None,
        **place: Any,
    ) -> LineRemark:
        """Comment on a line, or answer such a comment."""
        assert issue.pull
        if review is None:
            head = issue.pull.source.sha(f"refs/heads/{issue.pull.head}")
            review = Review(*self._remark(user, ""), commit=head)
            issue.pull.reviews.append(review)
        remark = LineRemark(*self._remark(user, body), path=path, review=review)
        remark.line, remark.commit = place.get("line"), review.commit
        remark.side, remark.start_line = place.get("side", "RIGHT"), place.get("start_line")
        if reply_to:
            remark.reply_to, remark.path, remark.line = reply_to.id, reply_to.path, reply_to.line
            remark.thread = reply_to.thread
        else:
            remark.thread = Thread(self._node("PRRT"))
            issue.pull.threads.append(remark.thread)
        assert remark.thread
        remark.thread.remarks.append(remark)
        told = {"issue": issue, "comment": remark, "sender": user}
        self.tell("pull_request_review_comment", "created", **told)
        return remark

    def press(self, check: CheckRun, user: User, identifier: str) -> None:
        """Press a button of a check run."""
        told = {"check": check, "requested_action": {"identifier": identifier}, "sender": user}
        self.tell("check_run", "requested_action", **told)

    def fork(self, owner: str) -> Repository:
        """Fork it."""
        made = Repository(self.world, f"{owner}/{self.name}", {})
        made.fork_of = self
        made.git("fetch", "--quiet", str(self.path), "+refs/heads/*:refs/heads/*")
        return made

    def forks(self) -> Iterator[Repository]:
        """Yield the forks of it."""
        return (r for r in self.world.repositories.values() if r.fork_of is self)

    def push(
        self, user: User, files: Mapping[str, str], branch: str = "main", message: str = "work"
    ) -> str:
        """Commit files on a branch, as a person who pushes from elsewhere; return the commit."""
        ref = f"refs/heads/{branch}"
        before = self.sha(ref)
        parent = before or self.sha("refs/heads/main")
        index = {"GIT_INDEX_FILE": str(self.path / f"index-{self.world.next_id()}")}
        if parent:
            self.git("read-tree", parent, env=index)
        for name, text in files.items():
            blob = self.git("hash-object", "-w", "--stdin", text=text)
            self.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}", env=index)
        tree = self.git("write-tree", env=index)
        Path(index["GIT_INDEX_FILE"]).unlink(missing_ok=True)
        commit = self.git(
            *("commit-tree", tree, "-m", message, *(["-p", parent] if parent else [])),
            env={"GIT_AUTHOR_NAME": user.login, "GIT_COMMITTER_NAME": user.login},
        )
        self.git("update-ref", ref, commit)
        self.pushed({ref: before}, user)
        return commit

    # ----------------------------------------------------------------------------- what follows

    def refs(self, prefix: str = "") -> dict[str, str]:
        """Return refs by name."""
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        pairs = (line.split(" ") for line in lines)
        return {name: sha for name, sha in pairs if name.startswith(prefix)}

    def sha(self, ref: str) -> str:
        """Return what a ref points at, or the empty string."""
        return self.refs().get(ref, "")

    def pushed(self, before: Mapping[str, str], user: User) -> None:
        """Tell of branches that moved: `before` says where the ones of interest were."""
        for ref, old in before.items():
            new = self.sha(ref)
            if new == old:
                continue
            for home in (self, *([self.fork_of] if self.fork_of else [])):
                for issue in home.issues.values():
                    pull = issue.pull
                    if (
                        pull
                        and issue.open
                        and (pull.source, f"refs/heads/{pull.head}")
                        == (
                            self,
                            ref,
                        )
                    ):
                        told = {"issue": issue, "sender": user, "before": old, "after": new}
                        home.tell("pull_request", "synchronize", **told)

    def refuse_pushes_to(self, prefix: str) -> None:
        """Refuse refs that begin so, as a rule of an organisation would."""
        hook = self.path / "hooks" / "update"
        hook.parent.mkdir(exist_ok=True)
        lines = [
            "#!/bin/sh",
            f'case "$1" in {prefix}*) echo "refused by a rule" >&2; exit 1;; esac',
        ]
        hook.write_text("\n".join([*lines, ""]))
        hook.chmod(0o755)

    def tell(self, event: str, action: str, **what: Any) -> None:
        """Tell whoever listens what happened."""
        self.world.notify(self, event, action, what)

    def file(self, ref: str, path: str) -> bytes | None:
        """Return a file of a commit, or None where there is none."""
        show = ["git", "cat-file", "blob", f"{ref}:{path}"]
        done = subprocess.run(show, cwd=self.path, capture_output=True)
        return done.stdout if done.returncode == 0 else None

    def git(self, *args: str, text: str | None = None, env: Mapping[str, str] | None = None) -> str:
        """Run git in the repository and return what it printed."""
        identity = ("user.name=GitHub", "user.email=noreply@example.org")
        options = [part for setting in identity for part in ("-c", setting)]
        done = subprocess.run(
            ["git", *options, *args],
            cwd=self.path,
            input=text,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"git {' '.join(args)}: {done.stderr}")
        return done.stdout.strip()

    def _number(self) -> int:
        return len(self.issues) + 1

    def _node(self, kind: str) -> str:
        return f"{kind}_{self.world.next_id()}"

    def _remark(self, user: User, body: str) -> tuple[int, str, User, str, datetime, datetime]:
        identifier = self.world.next_id()
        now = self.world.now()
        return identifier, f"N_{identifier}", user, body, now, now
