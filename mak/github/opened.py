"""What is open at a run's pull request: threads that nobody resolved, checks that fail."""

from __future__ import annotations

from mak.errors import GitHubError
from mak.github.commands import sanitized
from mak.github.site import Site
from mak.github.state import RunState

#: How many of each a planner is told, and characters of one.
_MOST, _WIDE = 50, 500
_FAILING = frozenset({"failure", "timed_out", "action_required"})
_WRITERS = frozenset({"admin", "write"})


def threads(site: Site, state: RunState) -> list[str]:
    """Return what people who may write say of lines, a line each; without what is resolved.

    What strangers write into a public pull request steers no planner.
    """
    if state.pull is None:
        return []
    known: dict[str, bool] = {}
    found: list[str] = []
    for thread in site.api.threads(state.pull.number):
        if thread["isResolved"]:
            continue
        for each in thread["comments"]["nodes"]:
            text, _ = sanitized(each["body"])
            login = (each.get("author") or {}).get("login", "")
            if not text or text.lower().startswith("/mak") or not login:
                continue
            if login not in known:
                known[login] = _may_write(site, login)
            if known[login]:
                words = " ".join(text.split())[:_WIDE]
                found.append(f"{thread['path']}:{thread['line'] or 0}: {words}")
    return found[:_MOST]


def checks(site: Site, state: RunState) -> list[str]:
    """Return which checks of others fail at the head of the branch, a line each."""
    if not state.head:
        return []
    ours = f"{state.run}:"
    return [
        f"The check {' '.join(str(each['name']).split())[:_WIDE]} fails."
        for each in site.api.checks(state.head)
        if each.get("conclusion") in _FAILING
        if not str(each.get("external_id") or "").startswith(ours)
    ][:_MOST]


def _may_write(site: Site, login: str) -> bool:
    try:
        return site.api.permission(login)[0] in _WRITERS
    except GitHubError as error:
        site.note(f"no word on what @{login} may do: {error}")
        return False
