"""Lines, newlines, codecs and indentation of source text, as bytes and as `str`.

A line ends at ``\\n``, ``\\r\\n`` or a lone ``\\r``, as for CPython's tokenizer. `bytes.splitlines`
does exactly that; `str.splitlines` also splits at form feeds, ``\\x85`` and U+2028 and is not
used.
"""

from __future__ import annotations

import difflib
import hashlib
import re

BOM = b"\xef\xbb\xbf"

#: A string literal (group 1), a comment (group 2) or a run of white space, at any place in code.
_LEXEME = re.compile(
    r"""
    ((?<![A-Za-z0-9_])[A-Za-z]{0,2}(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''
        |"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
    |(\#[^\n]*)
    |\s+
    """,
    re.VERBOSE | re.DOTALL,
)
_ASCII = b"\n" + bytes(range(32, 127))
_UNICODE_CODECS = frozenset({"utf-8", "utf-8-sig", "ascii"})


def blob_id(data: bytes) -> str:
    """Return the id that Git (SHA-1 format) gives a blob of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def newline_of(data: bytes) -> str:
    """Return the newline that most lines end with; ``\\n`` when there is none."""
    carriages = data.count(b"\r")
    if not carriages:
        return "\n"
    pairs = data.count(b"\r\n")
    counts = {"\n": data.count(b"\n") - pairs, "\r\n": pairs, "\r": carriages - pairs}
    return max(counts, key=lambda newline: counts[newline])


def python_codec(data: bytes) -> str:
    """Return the codec of Python source: PEP 263 cookie, BOM or UTF-8.

    ``utf-8-sig`` when there is a BOM. Raises SyntaxError when it cannot be told or is unknown.
    """
    head = data[:2000].splitlines(keepends=True)[:2]
    if not any(b"coding" in line for line in head):
        return "utf-8-sig" if data.startswith(BOM) else "utf-8"
    import tokenize

    lines = iter(head)
    return tokenize.detect_encoding(lambda: next(lines, b""))[0]


def text_codec(data: bytes) -> str:
    """Return the codec of a file that is not Python: UTF-8 with or without BOM, or ``""``."""
    if b"\0" in data:
        return ""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return "utf-8-sig" if data.startswith(BOM) else "utf-8"


def utf8_lines(data: bytes, lines: list[bytes], codec: str) -> list[bytes] | None:
    """Return the lines in UTF-8 without BOM, one for each of `lines`.

    None when the codec does not keep line ends and ASCII as they are (UTF-7 and the like). Raises
    UnicodeDecodeError, and LookupError for what is no text codec.
    """
    if codec in _UNICODE_CODECS:
        if not data.isascii():
            data.decode("utf-8")
        if data.startswith(BOM):
            return [lines[0][len(BOM) :], *lines[1:]]
        return lines
    decoded = data.decode(codec).encode("utf-8").splitlines(keepends=True)
    return decoded if _keeps_ascii(codec) and len(decoded) == len(lines) else None


def _keeps_ascii(codec: str) -> bool:
    """Whether what is ASCII stands for itself, both ways: so that code can be told in the bytes."""
    try:
        return (
            _ASCII.decode(codec).encode("ascii") == _ASCII == _ASCII.decode("ascii").encode(codec)
        )
    except UnicodeError:
        return False


def to_str(data: bytes, codec: str) -> str:
    """Decode for reading: newlines become ``\\n``, a BOM is dropped, bad bytes are replaced."""
    text = data.decode("utf-8" if codec in ("", "utf-8-sig") else codec, errors="replace")
    return unix(text.removeprefix("\ufeff"))


def unix(text: str) -> str:
    """Return the text with every newline as ``\\n``."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def to_bytes(text: str, codec: str, newline: str) -> bytes:
    """Encode ``\\n`` text in a file's codec and newline style. Raises UnicodeEncodeError."""
    styled = text if newline == "\n" else text.replace("\n", newline)
    return styled.encode("utf-8" if codec == "utf-8-sig" else codec)


def keep_newlines(new: bytes, old: bytes) -> bytes:
    """Give the lines of `new` that are also in `old` the line ends they have there.

    Matters only where `old` mixes styles; every other line keeps its own end.
    """
    pairs = old.count(b"\r\n")
    styles = (pairs, old.count(b"\n") - pairs, old.count(b"\r") - pairs)
    if sum(map(bool, styles)) < 2:
        return new
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(
        None, [_bare(line) for line in before], [_bare(line) for line in after], autojunk=False
    )
    for i, j, size in matcher.get_matching_blocks():
        for k in range(size):
            if before[i + k] != _bare(before[i + k]) and after[j + k] != _bare(after[j + k]):
                after[j + k] = before[i + k]
    return b"".join(after)


def _bare(line: bytes) -> bytes:
    return line.rstrip(b"\r\n")


def is_blank(line: bytes) -> bool:
    """Whether the line holds nothing but white space."""
    return not line.strip()


def is_trivia(line: bytes) -> bool:
    """Whether the line is blank or a comment (when it does not lie inside a string)."""
    code = line.lstrip()
    return not code or code[0] == 0x23


def width(line: bytes) -> int:
    """Return the column of the first non-blank character as Python's tokenizer counts it."""
    column = 0
    for byte in line:
        if byte == 0x20:
            column += 1
        elif byte == 0x09:
            column = (column // 8 + 1) * 8
        elif byte == 0x0C:
            column = 0
        else:
            break
    return column


def indent_of(line: bytes) -> bytes:
    """Return the white space at the start of the line."""
    return line[: len(line) - len(line.lstrip(b" \t\x0c"))]


def squeeze(code: str) -> str:
    """Return code without comments and without white space outside strings.

    Two spellings of one expression that differ only in layout give the same text.
    """
    if code.isidentifier():
        return code
    return _LEXEME.sub(lambda m: m[1] or "", code).replace(",)", ")")


def one_line(code: str) -> str:
    """Return code on one line, without comments; what stood on one line keeps its spaces."""

    def flatten(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]
        return "" if match[2] else "\n" if "\n" in match[0] else match[0]

    text = _LEXEME.sub(flatten, unix(code).replace("\\\n", "\n"))
    text = re.sub(r",?\s*\n\s*([)\]}])", r"\1", text)
    text = re.sub(r"([(\[{])\s*\n\s*", r"\1", text)
    return re.sub(r"\s*\n\s*", " ", text).strip()


def reindent(text: str, indent: str, unit: str) -> str:
    """Move a block of ``\\n`` code so that its first code line is indented by `indent`.

    Lines inside multi-line strings stay as they are. Where the block indents with spaces and the
    file (`unit`) with tabs, or the other way round, its own steps are translated too.
    """
    lines = text.split("\n")
    first = next((line for line in lines if line.strip() and line.lstrip()[0] != "#"), "")
    have = first[: len(first) - len(first.lstrip(" \t\x0c"))]
    if have == indent and "\t" not in text and "\t" not in unit:
        return text
    inside = _string_lines(text)
    step = _step(lines, inside, have)
    translate = bool(step) and bool(unit) and ("\t" in step) != ("\t" in unit)
    if have == indent and not translate:
        return text
    moved = []
    for number, line in enumerate(lines):
        if number in inside or not line.strip():
            moved.append(line)
            continue
        rest = line.removeprefix(have) if line.startswith(have) else line.lstrip(" \t")
        if translate:
            count = 0
            while rest.startswith(step):
                rest, count = rest[len(step) :], count + 1
            rest = unit * count + rest
        moved.append(indent + rest)
    return "\n".join(moved)


def _string_lines(text: str) -> set[int]:
    """Return the 0-based numbers of the lines that begin inside a string."""
    inside: set[int] = set()
    for match in _LEXEME.finditer(text):
        if match[1] and "\n" in match[1]:
            line = text.count("\n", 0, match.start(1))
            inside.update(range(line + 1, line + 1 + match[1].count("\n")))
    return inside


def step_of(text: str) -> str:
    """Return one step of indentation as a block of ``\n`` code has it; empty when it has none."""
    lines = text.split("\n")
    first = next((line for line in lines if line.strip() and line.lstrip()[0] != "#"), "")
    have = first[: len(first) - len(first.lstrip(" \t\x0c"))]
    return _step(lines, _string_lines(text), have)


def _step(lines: list[str], inside: set[int], have: str) -> str:
    """Return the shallowest indentation below `have` that the block uses."""
    steps = []
    for number, line in enumerate(lines):
        if number not in inside and line.strip() and line.startswith(have):
            rest = line[len(have) :]
            if space := rest[: len(rest) - len(rest.lstrip(" \t"))]:
                steps.append(space)
    return min(steps, key=len, default="")
