"""Text from outside on its way into a prompt: stripped of what a reader cannot see, and fenced.

A request may be an issue that a stranger wrote, a repository may hold anything. Neither may say
something to a model that the person at review does not see, nor end the block it stands in.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

#: Bidirectional controls: they show text in another order than it has.
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
#: No width, no glyph: zero-width spaces and joiners, soft hyphens, tags, variation selectors above
#: 15 and 16 (those choose between text and emoji).
_INVISIBLE = "\u00ad\u180e\u200b-\u200d\u2060-\u2064\ufeff\ufff9-\ufffb\U000e0000-\U000e01ef"
#: C0 and C1 controls but white space, among them the escape of terminals; and halves of characters.
_CONTROL = "\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff"

_HIDDEN = re.compile(
    f"(?P<bidi>[{_BIDI}]+)|(?P<invisible>[{_INVISIBLE}]+)|(?P<control>[{_CONTROL}]+)"
)
#: A comment does not count inside a code span of one line. One that is never closed hides the rest
#: of the text when it begins a line (CommonMark, HTML blocks of type 2).
_COMMENT = re.compile(
    r"(?P<code>(?<!`)(`+)(?!`)[^\n]*?(?<!`)\2(?!`))"
    r"|(?P<comment><!--(?:-?>|.*?-->))"
    r"|(?P<open>^[ ]{0,3}<!--.*\Z)",
    re.DOTALL | re.MULTILINE,
)

_WORDS = {
    "bidi": ("bidirectional control character", "bidirectional control characters"),
    "invisible": ("invisible character", "invisible characters"),
    "control": ("control character", "control characters"),
    "comment": ("HTML comment", "HTML comments"),
}


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A text as a reader sees it."""

    text: str
    #: What was taken out, in words; empty when nothing was.
    removed: str = ""


def clean(text: str, *, comments: bool = True) -> Cleaned:
    """Take out what a reader cannot see, and HTML comments unless told to keep them."""
    counts: dict[str, int] = {}

    def drop_hidden(match: re.Match[str]) -> str:
        kind = match.lastgroup or ""
        counts[kind] = counts.get(kind, 0) + len(match[0])
        return ""

    def drop_comment(match: re.Match[str]) -> str:
        if match["code"] is not None:
            return match[0]
        counts["comment"] = counts.get("comment", 0) + 1
        return ""

    if not text.isascii() or not text.isprintable():
        text = _HIDDEN.sub(drop_hidden, text)
    if comments and "<!--" in text:
        text = _COMMENT.sub(drop_comment, text)
    parts = [
        f"{counts[kind]} {singular if counts[kind] == 1 else plural}"
        for kind, (singular, plural) in _WORDS.items()
        if kind in counts
    ]
    return Cleaned(text, ", ".join(parts))


def one_line(text: str) -> str:
    """Return the text for a message: on one line, without what a reader cannot see."""
    return " ".join(clean(text, comments=False).text.split())


@dataclass(frozen=True, slots=True)
class Fence:
    """Tags around text that is data; their mark depends on all of that text.

    Whoever writes one part of it cannot know the mark, and what looks like a tag is defused.
    Equal texts give equal marks, so that prompts are reproducible and cached.
    """

    mark: str

    @classmethod
    def around(cls, *texts: str) -> Fence:
        """Choose the mark for these texts."""
        digest = hashlib.sha256(b"mak plan")
        for text in texts:
            data = text.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(data) + data)
        return cls(digest.hexdigest()[:16])

    def block(self, kind: str, text: str) -> str:
        """Return `text` between tags."""
        inside = _TAG.sub(r"<\1\\untrusted", text)
        return (
            f'<untrusted id="{self.mark}" kind="{kind}">\n{inside}\n</untrusted id="{self.mark}">'
        )


_TAG = re.compile(r"<(\s*/?\s*)untrusted", re.IGNORECASE)
