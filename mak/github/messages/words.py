"""Words of others in Markdown of ours: they ping, link, close, show and hide nothing.

Logins and numbers come from GitHub, addresses from its configuration; whatever else people or
models wrote goes through `inert`, `prose`, `code`, `quote` or `fence`, or, where there is no
Markdown, `plain`. All of them take out what nobody can see, and secrets: before they escape, since
a token that is escaped is not known as one any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mak.github import marks
from mak.github.redaction import redact
from mak.github.state import Offer, RunState
from mak.plan.untrusted import clean

#: GitHub takes 65,536 characters of a comment, a review and a pull request.
LONGEST = 60_000
#: Breaks what GitHub would make a mention, a reference or a link of; nobody sees it.
_BREAK = "&#8203;"
_MARKUP = re.compile(r"([\\`*_\[\]!~|>])")
#: What makes one, up to where it is broken: GitHub looks for some in the source, entities and all,
#: so that `www.` has to be broken itself.
_LINKS = re.compile(r"(@|#|GH-|:(?=//)|www(?=\.))", re.IGNORECASE)
#: What makes a heading, a list, a rule or a table of a line that begins with it.
_LEAD = re.compile(r"^(?:([-+=:])|(\d{1,9})(?=[.)]|$))")
#: How programs colour what they say.
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_SPAN = re.compile(r"`([^`\n]+)`")
#: Those of people, and of people whom a company manages; Apps have brackets besides.
_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62})", re.ASCII)


def _seen(text: str) -> str:
    return redact(clean(text, comments=False).text)


def _cut(line: str, most: int) -> str:
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _line(text: str, most: int) -> str:
    return _cut(" ".join(_seen(text).split()), most)


def _led(line: str) -> str:
    return _LEAD.sub(lambda m: f"\\{m[1]}" if m[1] else f"{_BREAK}{m[2]}", line)


def _escaped(line: str) -> str:
    text = _MARKUP.sub(r"\\\1", line.replace("&", "&amp;").replace("<", "&lt;"))
    # A dollar sign would begin a formula, also behind a backslash.
    return _LINKS.sub(lambda match: match[1] + _BREAK, text).replace("$", "&#36;")


def inert(text: str, most: int = 2_000) -> str:
    """Return a text as one line of words: without markup, mentions, references and links.

    At most `most` characters of it, a line that is cut ends in `…`.
    """
    return _led(_escaped(_line(text, most)))


def bold(name: str) -> str:
    """Return an id in bold; an empty one would be a line across the page."""
    return f"**{inert(name, 64) or '?'}**"


def prose(text: str, most: int = 2_000) -> str:
    """Return a text as `inert` does, but with what stands in single backquotes as code."""
    line = _line(text, most)
    shown, position = [], 0
    for span in _SPAN.finditer(line):
        shown += [_escaped(line[position : span.start()]), span[0]]
        position = span.end()
    return _led("".join([*shown, _escaped(line[position:])]))


def code(text: str, most: int = 500) -> str:
    """Return a text as code in a line."""
    line = _line(text, most)
    if not line:
        return ""
    ticks = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    blank = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{ticks}{blank}{line}{blank}{ticks}"


def fence(text: str, kind: str = "") -> str:
    """Return lines as a block of code that nothing in them can end."""
    lines = _seen(_COLOURS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))).strip("\n")
    ticks = "`" * max(3, max((len(run) for run in re.findall("`+", lines)), default=0) + 1)
    return f"{ticks}{kind}\n{lines}\n{ticks}"


def quote(text: str, most: int = 4_000) -> str:
    """Return a text as a quote, line by line."""
    shown = _cut(_seen(text.replace("\r\n", "\n").replace("\r", "\n")).strip(), most)
    return "\n".join(f"> {inert(line, most)}".rstrip() for line in shown.split("\n"))


def details(title: str, inside: str) -> str:
    """Return something that is folded until it is wanted; the title is ours."""
    return f"<details><summary>{title}</summary>\n\n{inside}\n\n</details>"


def plain(text: str, most: int = 200) -> str:
    """Return a text as one line without Markdown, for titles: it closes and mentions nothing."""
    line = " ".join(_seen(text).split())
    return _cut(_LINKS.sub(lambda match: f"{match[1]} ", line), most)


def mention(login: str) -> str:
    """Return somebody's name, so that they are told."""
    return f"@{login}" if _LOGIN.fullmatch(login) else inert(f"@{login}", 100)


def name(login: str) -> str:
    """Return somebody's name, so that they are not told."""
    return inert(f"@{login}", 100)


def some(items: Iterable[str], most: int, glue: str = ", ") -> str:
    """Return the first of many, and how many more there are."""
    every = list(items)
    left = len(every) - most
    return glue.join(every[:most]) + (f"{glue}and {left} more" if left > 0 else "")


def counted(number: int, one: str, many: str = "") -> str:
    """Return how many there are of something."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def money(amount: float) -> str:
    """Return US dollars as one says them of an estimate."""
    if amount >= 0.1 or amount == 0:
        return f"{amount:.1f}" if amount < 100 else f"{amount:.0f}"
    return f"{amount:.2f}" if amount >= 0.01 else "less than 0.01"


def lasted(seconds: float) -> str:
    """Return a length of time, in the unit that fits."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(int(seconds), 0)} s"


def short(state: RunState, digest: str) -> str:
    """Return as much of a digest as tells it from those of the run's other offers."""
    others = {offer.digest for offer in state.offers} - {digest}
    length = 7
    while any(other.startswith(digest[:length]) for other in others) and length < len(digest):
        length += 1
    return digest[:length]


def approve(state: RunState, offer: Offer) -> str:
    """Return what somebody types to run an offer and nothing else."""
    word = " --allow-protected" if offer.protected else ""
    return f"/mak approve {short(state, offer.digest)}{word}"


def whole(state: RunState, rev: int) -> str:
    """Say where all of a plan is that is too long to be shown."""
    return f"full plan: `plan/{rev}.json` in `refs/mak/runs/{state.run}`"


def ended(lines: Sequence[str], **ids: str | int) -> str:
    """Return a whole body: its lines, and the mark that it ends with."""
    text = "\n".join(lines).rstrip("\n")
    return f"{text}\n{marks.write(**ids)}"
