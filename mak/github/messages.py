"""What MAK says in an issue, word by word; what others wrote in it pings, links and closes nothing.

Logins come from GitHub; whatever else people or models wrote goes through `inert`.
"""

from __future__ import annotations

import re

from mak.github.state import Offer

#: Breaks what GitHub would make a mention, a reference or a link of; nobody sees it.
_BREAK = "&#8203;"
_MARKUP = re.compile(r"([\\`*_\[\]!~|>])")
_LINKS = re.compile(r"(@|#|://|www\.|GH-)", re.IGNORECASE)


def inert(text: str) -> str:
    """Return a text as one line of words: without markup, mentions, references and links."""
    line = " ".join(text.split())
    escaped = _MARKUP.sub(r"\\\1", line.replace("&", "&amp;").replace("<", "&lt;"))
    return _LINKS.sub(lambda match: match[1] + _BREAK, escaped)


def stale(login: str, approved: Offer | None, current: Offer) -> str:
    """Say that what was approved is not what there is."""
    meant = f"rev {approved.rev} (`{_short(approved)}`)" if approved else "a plan that is not known"
    return (
        f"@{login} the plan changed after your comment was written: you approved {meant}, the"
        f" current one is rev {current.rev} (`{_short(current)}`).\n"
        f"Nothing was started. To run rev {current.rev}: `/mak approve {_short(current)}`"
    )


def misread(line: int, says: str, count: int, instead: tuple[str, ...]) -> str:
    """Say why nothing of a comment was done, and what could be typed instead."""
    none = "It was not run." if count == 1 else f"None of the {count} commands in it was run."
    lines = [f"I could not read line {line}: {inert(says)}. {none}"]
    return "\n".join([*lines, *(f"- {inert(reading)}" for reading in instead)])


def branch_moved(login: str, head: str, branch: str) -> str:
    """Say that somebody pushed to the branch of a run, and what can be done."""
    return (
        f"@{login} pushed {head[:7]} to `{branch}`. I never overwrite human commits."
        " `/mak resume` = continue on top · `/mak resume --rebase` = replay remaining waves on it"
        " · `/mak cancel`."
    )


def _short(offer: Offer) -> str:
    return offer.digest[:7]
