"""Titles of commits and pull requests: one line of text, no Markdown, that closes nothing."""

from __future__ import annotations

from mak.github.messages.words import plain
from mak.github.state import RunState

#: What Git's own tools and GitHub's lists show of a subject.
_SUBJECT = 72
#: GitHub takes 256.
_TITLE = 200


def commit_title(said: str, wave: int, waves: int, repair: int = 0) -> str:
    """Return the subject of a wave's commit (M5); `said` is what a model wrote, in one line.

    A number above 0 in `repair` says that it is a commit of that plan of repairs, for `wave`.
    """
    what = f"repair {repair} of wave {wave}" if repair else f"wave {wave}/{waves}"
    title = f"mak: {what} — {plain(said)}"
    return title if len(title) <= _SUBJECT else f"{title[: _SUBJECT - 1].rstrip()}…"


def pull_title(state: RunState, *, wip: bool = False) -> str:
    """Return the title of the pull request; `wip` where GitHub allows no drafts."""
    first = next((line for line in state.request.splitlines() if line.strip()), "")
    title = plain(first, _TITLE) or f"MAK run {state.run}"
    return f"[WIP] {title}" if wip else title
