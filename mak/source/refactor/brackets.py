"""Put one more item between the parentheses of a definition or a call, in the style it has.

Works on tokens, so that comments, line breaks and trailing commas stay as they are.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

_LAYOUT = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


class _Token(NamedTuple):
    kind: int
    text: str
    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class Insertion:
    """Text to put at an offset."""

    at: int
    text: str


@dataclass(frozen=True, slots=True)
class Brackets:
    """The parentheses of a definition or call, and the tokens between them."""

    data: bytes
    #: Offset of ``(`` and of ``)``.
    open: int
    close: int
    tokens: tuple[_Token, ...]

    def append(self, item: str) -> tuple[Insertion, ...]:
        """Put an item behind all others; ahead of ``**kwargs`` in a definition, see `before`."""
        items = [token for token in self.tokens if token.kind != tokenize.COMMENT]
        if not items:
            return (Insertion(self.open + 1, item),)
        last = items[-1]
        later = (token for token in self.tokens if token.start > last.start)
        comment = next((token for token in later if self._beside(last, token)), None)
        own_line = self._first_on_line(self._last_item())
        comma = last.text == "," and last.depth == 0
        if not own_line:
            return (Insertion(last.end, f" {item}," if comma else f", {item}"),)
        indent = self._indent(self._last_item().start)
        after = comment.end if comment is not None else last.end
        new = Insertion(after, f"\n{indent}{item}{',' if comma else ''}")
        if comma:
            return (new,)
        if after == last.end:
            return (Insertion(after, f",{new.text}"),)
        return (Insertion(last.end, ","), new)

    def before(self, start: int, item: str) -> tuple[Insertion, ...]:
        """Put an item in front of the one that starts at an offset."""
        token = next(token for token in self.tokens if token.start == start)
        if self._first_on_line(token):
            return (Insertion(start, f"{item},\n{self._indent(start)}"),)
        return (Insertion(start, f"{item}, "),)

    def find(self, text: str) -> int | None:
        """Return where a token stands that is not inside further brackets."""
        return next((t.start for t in self.tokens if t.text == text and t.depth == 0), None)

    @property
    def is_generator(self) -> bool:
        """Whether the only argument is a generator without parentheses of its own."""
        return self.find("for") is not None

    def wrap(self) -> tuple[Insertion, ...]:
        """Put parentheses around everything between these."""
        items = [token for token in self.tokens if token.kind != tokenize.COMMENT]
        return (Insertion(items[0].start, "("), Insertion(items[-1].end, ")"))

    def _last_item(self) -> _Token:
        """Return the first token of the last item."""
        first = self.tokens[0]
        items = [token for token in self.tokens if token.kind != tokenize.COMMENT]
        for i, token in enumerate(items[:-1]):
            if token.text == "," and token.depth == 0:
                first = items[i + 1]
        return items[0] if first.kind == tokenize.COMMENT else first

    def _first_on_line(self, token: _Token) -> bool:
        line = max(self.data.rfind(b"\n", 0, token.start), self.data.rfind(b"\r", 0, token.start))
        return not self.data[line + 1 : token.start].strip()

    def _beside(self, token: _Token, comment: _Token) -> bool:
        between = self.data[token.end : comment.start]
        return comment.kind == tokenize.COMMENT and not set(between) & set(b"\r\n")

    def _indent(self, start: int) -> str:
        line = max(self.data.rfind(b"\n", 0, start), self.data.rfind(b"\r", 0, start)) + 1
        text = self.data[line:start]
        return text[: len(text) - len(text.lstrip())].decode("ascii", errors="replace")


def brackets(data: bytes, codec: str, start: int, close: int | None = None) -> Brackets | None:
    """Return the first parentheses after `start`; with `close`, those that end there.

    `start` lies on a token, outside of any string. None when the tokens do not say.
    """
    text = data[start:].decode(codec, errors="surrogateescape")
    stack: list[tuple[str, int, int]] = []
    seen: list[_Token] = []
    try:
        for token in _tokens(text, codec, start):
            if token.text in ("(", "[", "{") and token.kind == tokenize.OP:
                stack.append((token.text, token.start, len(seen)))
            elif token.text in (")", "]", "}") and token.kind == tokenize.OP and stack:
                opened, at, first = stack.pop()
                wanted = not stack if close is None else token.end == close
                if wanted and opened == "(":
                    depth = len(stack) + 1
                    inside = (t._replace(depth=t.depth - depth) for t in seen[first + 1 :])
                    return Brackets(data, at, token.start, tuple(inside))
            depth = len(stack) - (token.text in ("(", "[", "{"))
            seen.append(token._replace(depth=depth))
            if close is not None and token.start > close:
                return None
    except (tokenize.TokenError, SyntaxError):
        return None
    return None


def _tokens(text: str, codec: str, start: int) -> Iterator[_Token]:
    """Yield the tokens of code that starts at `start`, without layout."""
    offsets: list[int] = []
    rows: list[str] = []

    def readline() -> str:
        line = stream.readline()
        offsets.append(offsets[-1] + _size(rows[-1], codec) if rows else start)
        rows.append(line)
        return line

    stream = io.StringIO(text, newline="")
    for token in tokenize.generate_tokens(readline):
        if token.type in _LAYOUT or token.type == tokenize.ENDMARKER:
            continue
        (row, column), (end_row, end_column) = token.start, token.end
        yield _Token(
            token.type,
            token.string,
            offsets[row - 1] + _size(rows[row - 1][:column], codec),
            offsets[end_row - 1] + _size(rows[end_row - 1][:end_column], codec),
            0,
        )


def _size(text: str, codec: str) -> int:
    return len(text) if text.isascii() else len(text.encode(codec, errors="surrogateescape"))
