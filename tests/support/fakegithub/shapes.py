"""What interfaces and webhooks show of the world: the fields that mean something.

`filling` completes them to what GitHub's descriptions require.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.support.fakegithub.world import (
    App,
    CheckRun,
    Installation,
    Issue,
    LineRemark,
    Pull,
    Reaction,
    Remark,
    Repository,
    Review,
    User,
)

Document = dict[str, Any]

#: What collaborators may do, in the words of the older interface.
PERMISSIONS = {"maintain": "write", "triage": "read"}


def time(moment: datetime | None) -> str | None:
    """Return a moment as GitHub writes it: in UTC, in whole seconds."""
    return moment and moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Shapes:
    """Documents of the world's nouns, with the addresses of one server."""

    def __init__(self, url: str) -> None:
        """Take the address of the server, of both its interface and its pages."""
        self.url = url

    def user(self, user: User) -> Document:
        """Return a person or a bot."""
        return {
            "id": user.id,
            "node_id": f"U_{user.id}",
            "login": user.login,
            "type": user.type,
            "url": f"{self.url}/users/{user.login}",
            "html_url": f"{self.url}/{user.login}",
            "site_admin": False,
        }

    def app(self, app: App | None) -> Document | None:
        """Return an App."""
        if app is None:
            return None
        return {
            "id": app.id,
            "node_id": f"A_{app.id}",
            "slug": app.slug,
            "name": app.slug,
            "owner": self.user(app.bot),
            "description": None,
            "permissions": dict(app.permissions),
            "events": [],
            "html_url": f"{self.url}/apps/{app.slug}",
            "external_url": f"{self.url}/apps/{app.slug}",
        }

    def installation(self, installation: Installation) -> Document:
        """Return an installation of an App."""
        return {
            "id": installation.id,
            # One description wants the account to be a person and an enterprise at once.
            "account": {**self.user(installation.account), "name": "", "slug": ""},
            "app_id": installation.app.id,
            "app_slug": installation.app.slug,
            "target_id": installation.account.id,
            "target_type": "User",
            "repository_selection": "selected",
            "permissions": dict(installation.app.permissions),
            "events": [],
            "suspended_at": "2026-11-30T12:00:00Z" if installation.suspended else None,
            "suspended_by": None,
        }

    def repository(self, repository: Repository) -> Document:
        """Return a repository."""
        return {
            "id": repository.id,
            "node_id": f"R_{repository.id}",
            "name": repository.name,
            "full_name": repository.full_name,
            "owner": self.user(repository.owner),
            "private": False,
            "fork": repository.fork_of is not None,
            "archived": False,
            "default_branch": "main",
            "visibility": "public",
            # Optional by the description, sent in this version, and github3.py relies on it.
            "has_downloads": True,
            "url": f"{self.url}/repos/{repository.full_name}",
            "html_url": f"{self.url}/{repository.full_name}",
            "clone_url": f"{self.url}/{repository.full_name}.git",
        }

    def issue(self, repository: Repository, issue: Issue) -> Document:
        """Return an issue; of a pull request, what it is as an issue."""
        kind = "pull" if issue.pull else "issues"
        document = {
            **self._remark(issue),
            "number": issue.number,
            "title": issue.title,
            "state": "open" if issue.open else "closed",
            "state_reason": None,
            "locked": False,
            "closed_at": time(issue.closed_at),
            "closed_by": None,
            "active_lock_reason": None,
            "comments": len(issue.comments),
            "labels": [self.label(repository, name) for name in issue.labels],
            "author_association": self._association(repository, issue.user),
            "url": f"{self.url}/repos/{repository.full_name}/issues/{issue.number}",
            "html_url": f"{self.url}/{repository.full_name}/{kind}/{issue.number}",
            "assignee": None,
            "assignees": [],
            "milestone": None,
        }
        if issue.pull:
            url = f"{self.url}/repos/{repository.full_name}/pulls/{issue.number}"
            page = document["html_url"]
            links = {"diff_url": f"{page}.diff", "patch_url": f"{page}.patch"}
            document["pull_request"] = {"url": url, "html_url": page, **links}
            document["draft"] = issue.pull.draft
        return document

    def label(self, repository: Repository, name: str) -> Document:
        """Return a label."""
        url = f"{self.url}/repos/{repository.full_name}/labels/{name}"
        plain = {"description": None, "color": "ededed", "default": False}
        return {"id": len(name), "node_id": f"L_{name}", "name": name, "url": url, **plain}

    def comment(self, repository: Repository, issue: Issue, remark: Remark) -> Document:
        """Return a comment on an issue or pull request."""
        base = f"{self.url}/repos/{repository.full_name}/issues"
        page = self.issue(repository, issue)["html_url"]
        return {
            **self._remark(remark),
            "author_association": self._association(repository, remark.user),
            "url": f"{base}/comments/{remark.id}",
            "issue_url": f"{base}/{issue.number}",
            "html_url": f"{page}#issuecomment-{remark.id}",
        }

    def reaction(self, reaction: Reaction) -> Document:
        """Return a reaction."""
        return {
            "id": reaction.id,
            "node_id": f"REA_{reaction.id}",
            "user": self.user(reaction.user),
            "content": reaction.content,
            "created_at": time(reaction.created_at),
        }

    def pull(self, repository: Repository, issue: Issue) -> Document:
        """Return a pull request."""
        pull = issue.pull
        assert pull
        url = f"{self.url}/repos/{repository.full_name}/pulls/{issue.number}"
        known = self.issue(repository, issue)
        head = pull.source.sha(f"refs/heads/{pull.head}")
        labels = ("html", "issue", "comments", "review_comments", "review_comment", "commits")
        links = {name: {"href": url} for name in ("self", *labels, "statuses")}
        return {
            **{key: known[key] for key in known if key not in ("pull_request", "comments")},
            "url": url,
            "draft": pull.draft,
            "head": self._end(pull.source, pull.head, head),
            "base": self._end(repository, pull.base, repository.sha(f"refs/heads/{pull.base}")),
            "merged": pull.merged,
            "merged_at": None,
            "mergeable": True,
            "mergeable_state": "clean",
            "requested_reviewers": [self.user(user) for user in pull.reviewers],
            "requested_teams": [],
            "comments": len(issue.comments),
            "review_comments": len(pull.remarks),
            "commits": len(commits(repository, pull)),
            "_links": links,
        }

    def review(self, repository: Repository, issue: Issue, review: Review) -> Document:
        """Return a review of a pull request."""
        page = f"{self.url}/{repository.full_name}/pull/{issue.number}"
        url = f"{self.url}/repos/{repository.full_name}/pulls/{issue.number}"
        return {
            **self._remark(review),
            "state": review.state,
            "commit_id": review.commit,
            "submitted_at": time(review.created_at),
            "html_url": f"{page}#pullrequestreview-{review.id}",
            "pull_request_url": url,
            "author_association": self._association(repository, review.user),
            "_links": {"html": {"href": page}, "pull_request": {"href": url}},
        }

    def line_comment(self, repository: Repository, issue: Issue, remark: LineRemark) -> Document:
        """Return a comment on lines of a pull request."""
        base = f"{self.url}/repos/{repository.full_name}/pulls"
        page = f"{self.url}/{repository.full_name}/pull/{issue.number}#discussion_r{remark.id}"
        url = f"{base}/comments/{remark.id}"
        document = {
            **self._remark(remark),
            "pull_request_review_id": remark.review.id if remark.review else None,
            "path": remark.path,
            "line": remark.line,
            "original_line": remark.line,
            "start_line": remark.start_line,
            "side": remark.side,
            "diff_hunk": "@@",
            "commit_id": remark.commit,
            "original_commit_id": remark.commit,
            "subject_type": "line",
            "author_association": self._association(repository, remark.user),
            "url": url,
            "html_url": page,
            "pull_request_url": f"{base}/{issue.number}",
            "_links": {name: {"href": url} for name in ("self", "html", "pull_request")},
        }
        if remark.reply_to:
            document["in_reply_to_id"] = remark.reply_to
        return document

    def check(self, repository: Repository, check: CheckRun) -> Document:
        """Return a check run."""
        output = check.fields.get("output", {})
        url = f"{self.url}/repos/{repository.full_name}/check-runs/{check.id}"
        return {
            "id": check.id,
            "node_id": f"CR_{check.id}",
            "name": check.fields["name"],
            "head_sha": check.fields["head_sha"],
            "external_id": check.fields.get("external_id", ""),
            "status": check.fields.get("status", "queued"),
            "conclusion": check.fields.get("conclusion"),
            "started_at": check.fields.get("started_at"),
            "completed_at": check.fields.get("completed_at"),
            "url": url,
            "html_url": f"{self.url}/{repository.full_name}/runs/{check.id}",
            "details_url": check.fields.get("details_url", self.app(check.app)["external_url"]),
            "check_suite": {"id": check.app.id},
            "app": self.app(check.app),
            "pull_requests": [],
            "output": {
                "title": output.get("title"),
                "summary": output.get("summary"),
                "text": output.get("text"),
                "annotations_count": len(check.annotations),
                "annotations_url": f"{url}/annotations",
            },
        }

    def ref(self, repository: Repository, name: str, sha: str) -> Document:
        """Return a Git reference."""
        base = f"{self.url}/repos/{repository.full_name}/git"
        kind = {"type": "commit", "sha": sha, "url": f"{base}/commits/{sha}"}
        return {"ref": name, "node_id": f"REF_{sha}", "url": f"{base}/{name}", "object": kind}

    def _remark(self, remark: Remark) -> Document:
        counts: Document = dict.fromkeys(REACTIONS, 0)
        for reaction in remark.reactions:
            counts[reaction.content] += 1
        return {
            "id": remark.id,
            "node_id": remark.node_id,
            "user": self.user(remark.user),
            "body": remark.body,
            "created_at": time(remark.created_at),
            "updated_at": time(remark.updated_at),
            "performed_via_github_app": self.app(remark.app),
            "reactions": {"url": self.url, "total_count": len(remark.reactions), **counts},
        }

    def _end(self, repository: Repository, branch: str, sha: str) -> Document:
        return {
            "label": f"{repository.owner.login}:{branch}",
            "ref": branch,
            "sha": sha or "0" * 40,
            "user": self.user(repository.owner),
            "repo": self.repository(repository),
        }

    def _association(self, repository: Repository, user: User) -> str:
        if user is repository.owner:
            return "OWNER"
        return "COLLABORATOR" if repository.role(user) != "none" else "NONE"


REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")


def commits(repository: Repository, pull: Pull) -> list[str]:
    """Return the commits of a pull request, oldest first; none when a branch is gone."""
    head = pull.source.sha(f"refs/heads/{pull.head}")
    base = repository.sha(f"refs/heads/{pull.base}")
    if not head or not base:
        return []
    if pull.source is not repository:
        repository.git("fetch", "--quiet", str(pull.source.path), head)
    return repository.git("rev-list", "--reverse", f"{base}..{head}").split()
