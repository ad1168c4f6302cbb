"""``# mak: ignore[id]``: findings that the code itself says are not to be reported.

It counts for the line it ends, and for a statement when it ends the first or the last line of it;
on a line of its own, for what comes next.
"""

from __future__ import annotations

import difflib
import io
import re
import tokenize
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

_MARK = re.compile(r"#\s*mak:\s*ignore\b(?:\s*\[(?P<ids>[^\]]*)\])?")
_WORD = b"mak:"
_LAYOUT = frozenset(
    {tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
)


@dataclass(slots=True)
class Ignores:
    """What a file says is to be ignored."""

    #: Ids by the 1-based line that they are for.
    lines: dict[int, set[str]] = field(default_factory=dict)
    #: First and last line of each statement of several lines, by each of its lines.
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    #: What is wrong with the comments: the line, and one sentence.
    remarks: list[tuple[int, str]] = field(default_factory=list)

    def covers(self, check: str, line: int) -> bool:
        """Whether a finding of this check on this line is to be ignored."""
        wanted = (line, *self.spans.get(line, ()))
        return any(check in self.lines.get(number, ()) for number in wanted)


def read(data: bytes, known: Collection[str]) -> Ignores:
    """Read the comments of a file; `known` are the ids that there are."""
    found = Ignores()
    if _WORD not in data:
        return found
    for line, target, text in _comments(data, found.spans):
        match = _MARK.search(text)
        if match is None:
            continue
        ids = [id.strip() for id in (match["ids"] or "").split(",") if id.strip()]
        if not ids:
            found.remarks.append((line, "say what to ignore: `# mak: ignore[id]`"))
        for id in ids:
            if id not in known:
                found.remarks.append((line, f"mak: ignore[{id}]: {no_check(id, known)}"))
        found.lines.setdefault(target, set()).update(ids)
    return found


def no_check(id: str, known: Collection[str]) -> str:
    """Return that there is no such check, and which is near."""
    near = difflib.get_close_matches(id, list(known), n=1)
    return f"there is no check {id!r}" + (f"; did you mean {near[0]!r}?" if near else "")


def _comments(data: bytes, spans: dict[int, tuple[int, int]]) -> Iterator[tuple[int, int, str]]:
    """Yield each comment with its line and the line that it is for, filling in `spans`."""
    waiting: list[tuple[int, str]] = []
    start = end = 0
    try:
        for token in tokenize.tokenize(io.BytesIO(data).readline):
            line = token.start[0]
            if token.type == tokenize.COMMENT:
                if token.line[: token.start[1]].strip():
                    yield line, line, token.string
                else:
                    waiting.append((line, token.string))
            elif token.type == tokenize.NEWLINE:
                if start and end > start:
                    spans.update(dict.fromkeys(range(start, end + 1), (start, end)))
                start = 0
            elif token.type not in _LAYOUT:
                yield from ((at, line, text) for at, text in waiting)
                waiting.clear()
                start, end = start or line, token.end[0]
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError):
        # It does not parse; what stands on a line is still to be seen.
        for number, text in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
            yield number, number, text
