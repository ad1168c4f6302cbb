"""What a comment asks of MAK: commands, read from its Markdown, all of them or none.

Only lines of top-level paragraphs count: what stands in code, quotes, lists, headings or HTML
comments is talk about commands. Nothing is guessed: what can be read in two ways is answered with
both. Values are data; nothing here hands them to a shell.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from mak.config.policy import MOST_TASKS
from mak.github.verbs import VERBS, Text, Verb, verb_of

MOST_COMMANDS = 5
_INVISIBLE = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
#: What CommonMark replaces, and halves of characters: no UTF-8, so no document, could hold them.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_ID = re.compile(r"([TRW])(\d{1,4})(?:\.\.([TRW])(\d{1,4}))?", re.ASCII | re.IGNORECASE)
_DIGEST = re.compile(r"[0-9a-f]{7,64}")
_TOKEN = re.compile(r'(?:[^\s"]|"(?:[^"\\]|\\.)*")+')
_TRAILING_FLAG = re.compile(r"(?:^|\s)--([a-z-]+)=(\S+)\s*$")


@dataclass(frozen=True, slots=True)
class Command:
    """One command, as its line says; `text` and `payload` are whatever somebody wrote."""

    verb: str
    #: 1-based, in the comment.
    line: int
    #: `T3`, `R1`, `W2`; ranges are written out.
    ids: tuple[str, ...] = ()
    #: A digest, `all`, or a verb to be helped with.
    word: str = ""
    #: In the order in which they were given; one without a value has the empty string.
    flags: tuple[tuple[str, str], ...] = ()
    text: str = ""

    def flag(self, name: str) -> str | None:
        """Return a flag's value, or None when it was not given."""
        return dict(self.flags).get(name)


@dataclass(frozen=True, slots=True)
class Problem:
    """Why nothing of a comment is done, and what could be typed instead."""

    line: int
    says: str
    #: Copyable.
    instead: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a comment asks for."""

    commands: tuple[Command, ...] = ()
    #: With a problem there are no commands.
    problem: Problem | None = None
    #: How many commands there were, readable or not.
    count: int = 0
    #: Invisible characters that were taken out of the text of a task.
    removed: int = 0
    #: Whether a line looks like a command but is in a quote or a list: it is owed a sign.
    unheard: bool = False


class _Misread(Exception):
    """A line cannot be read; carries the problem."""

    def __init__(self, says: str, *instead: str) -> None:
        super().__init__(says)
        self.says, self.instead = says, instead


@dataclass(slots=True)
class _Line:
    """A line that is a command, and where it stands."""

    number: int
    rest: str
    #: The fenced block that follows directly, or None.
    payload: str | None = None
    #: All below it, as it is written.
    below: str = field(default="")


def parse(body: str, alias: str = "") -> Asked:
    """Read a comment; `alias` is another word for `/mak`, such as `@name-of-the-app`."""
    source = _NO_TEXT.sub("\ufffd", body.replace("\r\n", "\n").replace("\r", "\n"))
    raw = source.split("\n")
    lead = _lead(alias)
    tokens = _markdown().parse(source)
    lines = list(_lines(tokens, raw, lead))
    if not lines:
        return Asked(unheard=_is_unheard(tokens, raw, lead))
    if len(lines) > MOST_COMMANDS:
        says = f"there are {len(lines)} commands; one comment may have {MOST_COMMANDS}"
        return Asked(problem=Problem(lines[MOST_COMMANDS].number, says), count=len(lines))
    commands, removed = [], 0
    for line in lines:
        try:
            command, less = _read(line, alone=len(lines) == 1)
        except _Misread as misread:
            problem = Problem(line.number, misread.says, misread.instead)
            return Asked(problem=problem, count=len(lines))
        commands.append(command)
        removed += less
    return Asked(tuple(commands), count=len(lines), removed=removed)


def sanitized(text: str) -> tuple[str, int]:
    """Return a text as people see it, without HTML comments and invisible characters.

    Also returns how many of the latter there were.
    """
    visible = re.sub(r"<!--.*?(?:-->|\Z)", "", text, flags=re.DOTALL)
    clean, removed = _INVISIBLE.subn("", _NO_TEXT.sub("\ufffd", visible))
    return clean.strip(), removed


# ------------------------------------------------------------------------------ which lines count


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark")


def _lead(alias: str) -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name in ("/mak", alias) if name)
    return re.compile(rf"(?:{names})(?:[ \t]+(.*))?", re.IGNORECASE | re.DOTALL)


def _lines(tokens: Sequence[Token], raw: list[str], lead: re.Pattern[str]) -> Iterator[_Line]:
    top = [token for token in tokens if token.level == 0 and token.map and token.nesting >= 0]
    for index, token in enumerate(top):
        setext = token.type == "heading_open" and token.markup in ("=", "-")
        if token.type != "paragraph_open" and not setext:
            continue
        assert token.map
        start, end = token.map
        end -= setext
        hidden = _hidden(raw[start:end])
        for number in range(start, end):
            match = lead.fullmatch(raw[number].rstrip())
            if not match or hidden[number - start]:
                continue
            line = _Line(number + 1, match[1] or "", below="\n".join(raw[number + 1 :]))
            following = top[index + 1] if index + 1 < len(top) else None
            if number == end - 1 and not setext and following and following.type == "fence":
                line.payload = following.content
            yield line


def _hidden(lines: list[str]) -> list[bool]:
    """Say for each line of a paragraph whether it begins inside of code or an HTML comment."""
    text = "\n".join(lines)
    runs = [(match.start(), match.end()) for match in re.finditer("`+", text)]
    # Where runs of each length begin: what closes one is the next of its length.
    begins: dict[int, list[int]] = {}
    for begin, end in runs:
        begins.setdefault(end - begin, []).append(begin)
    ends = dict(runs)
    inside = []
    position = 0
    while match := re.compile(r"`+|<!--|\\.?", re.DOTALL).search(text, position):
        begin, position = match.span()
        if match[0][0] == "`":
            alike = begins.get(position - begin, [])
            following = bisect_left(alike, position)
            if following < len(alike):
                position = ends[alike[following]]
                inside.append((begin, position))
        elif match[0] == "<!--":
            found = text.find("-->", position)
            if found >= 0:
                position = found + 3
                inside.append((begin, position))
    starts = [0]
    for line in lines[:-1]:
        starts.append(starts[-1] + len(line) + 1)
    return [any(begin < start < end for begin, end in inside) for start in starts]


def _is_unheard(tokens: Sequence[Token], raw: list[str], lead: re.Pattern[str]) -> bool:
    return any(
        lead.fullmatch(raw[number].rstrip())
        for token in tokens
        if token.level == 0 and token.map and token.type.endswith(("quote_open", "list_open"))
        for number in range(*token.map)
    )


# ------------------------------------------------------------------------------ what a line says


def _read(line: _Line, *, alone: bool) -> tuple[Command, int]:
    found = _INVISIBLE.search(line.rest)
    if found:
        name = unicodedata.name(found[0], "a control character")
        raise _Misread(f"it holds an invisible character, U+{ord(found[0]):04X} ({name})")
    rest = re.sub(r"<!--.*?(?:-->|\Z)", "", line.rest, flags=re.DOTALL).strip()
    if not rest:
        return Command("help", line.number), 0
    first, _, after = rest.partition(" ")
    word, colon, _ = first.partition(":")
    if rest.startswith("--") and (len(rest) == 2 or rest[2].isspace()):
        return _task("run", line, (), rest[2:], alone)
    verb = verb_of(word)
    if verb is None or (colon and verb.text in (Text.NONE, Text.TASK)):
        close = difflib.get_close_matches(word.lower(), [known.name for known in VERBS], n=1)
        if verb is None and close and _looks_like_arguments(after):
            raise _Misread(f"there is no command {word}", f"/mak {close[0]}", f"/mak -- {rest}")
        return _task("run", line, (), rest, alone)
    if verb.text is Text.TASK:
        flags, text = _leading_flags(verb, after)
        return _task(verb.name, line, flags, text, alone)
    return _verb(verb, line, rest[len(word) :] if colon else after, rest)


def _looks_like_arguments(text: str) -> bool:
    words = text.split()
    return all(_ID.fullmatch(w) or _DIGEST.fullmatch(w) or w.startswith("--") for w in words)


def _task(
    verb: str, line: _Line, flags: tuple[tuple[str, str], ...], text: str, alone: bool
) -> tuple[Command, int]:
    whole = f"{text}\n{line.below}" if alone else text
    clean, removed = sanitized(whole)
    if not clean:
        raise _Misread("it names no task", f"/mak {verb} what is to be done")
    return Command(verb, line.number, flags=flags, text=clean), removed


def _verb(verb: Verb, line: _Line, after: str, rest: str) -> tuple[Command, int]:
    head, text = _split(after)
    flags: list[tuple[str, str]] = []
    if text is not None:
        text, flags = _trailing_flags(verb, text)
    words, more = _words_and_flags(verb, head)
    flags = _once([*more, *flags])
    ids, word = _arguments(verb, words, rest)
    if text is not None and verb.text is Text.NONE:
        raise _Misread(f"{verb.name} takes no text", f"/mak {verb.usage}", f"/mak -- {rest}")
    if not text and verb.payload and line.payload is not None:
        text = line.payload
    clean, removed = sanitized(text or "")
    if verb.text is Text.NEEDED and not clean:
        raise _Misread(f"{verb.name} needs a text", f"/mak {verb.usage}")
    if verb.name == "edit" and not clean and not flags:
        raise _Misread("edit says nothing to change", f"/mak edit {ids[0]}: new text")
    return Command(verb.name, line.number, ids, word, tuple(flags), clean), removed


def _split(after: str) -> tuple[str, str | None]:
    """Part arguments from the text behind the first colon that ends a word outside of quotes."""
    position = 0
    while position < len(after):
        match = _TOKEN.match(after, position)
        if match is None:
            if after[position] == '"':
                raise _Misread("a quote is not closed")
            position += 1
            continue
        if match[0].endswith(":"):
            return after[: match.end() - 1], after[match.end() :].strip()
        position = match.end()
    return after, None


def _words_and_flags(verb: Verb, head: str) -> tuple[list[str], list[tuple[str, str]]]:
    tokens = _TOKEN.findall(head)
    words, flags = [], []
    while tokens:
        token = tokens.pop(0)
        if not token.startswith("--"):
            words.append(_unquoted(token))
            continue
        name, equals, value = token[2:].partition("=")
        flag = verb.flag(name.lower())
        if flag is None:
            raise _unknown(verb, name)
        if flag.fits and not equals:
            if not tokens or tokens[0].startswith("--"):
                raise _Misread(f"--{flag.name} needs a value", flag.shown)
            value = tokens.pop(0)
        flags.append(_valued(verb, flag.name, _unquoted(value) if flag.fits or equals else ""))
    return words, flags


def _leading_flags(verb: Verb, text: str) -> tuple[tuple[tuple[str, str], ...], str]:
    """Take the flags before a task; one inside of it is a mistake, and is not guessed at."""
    flags: list[tuple[str, str]] = []
    text = text.strip()
    while text.startswith("--"):
        match = _TOKEN.match(text)
        if match is None or match[0] == "--":
            text = text[2:]
            break
        name, equals, _ = match[0][2:].partition("=")
        flag = verb.flag(name.lower())
        if flag is None:
            raise _unknown(verb, name)
        taken = match.end()
        if flag.fits and not equals:
            value = _TOKEN.match(text, taken + len(text[taken:]) - len(text[taken:].lstrip()))
            taken = value.end() if value else taken
        flags += _words_and_flags(verb, text[:taken])[1]
        text = text[taken:].strip()
    known = "|".join(re.escape(flag.name) for flag in verb.flags)
    late = re.search(rf"(?:^|\s)--({known})(?=[\s=]|$)", text, re.IGNORECASE)
    if late:
        raise _Misread(
            f"--{late[1]} has to stand before the task", f"/mak {verb.name} --{late[1]}…"
        )
    return tuple(_once(flags)), text


def _trailing_flags(verb: Verb, text: str) -> tuple[str, list[tuple[str, str]]]:
    flags: list[tuple[str, str]] = []
    while match := _TRAILING_FLAG.search(text):
        if verb.flag(match[1]) is None:
            break
        flags.insert(0, _valued(verb, match[1], _unquoted(match[2])))
        text = text[: match.start()]
    return text.strip(), flags


def _valued(verb: Verb, name: str, value: str) -> tuple[str, str]:
    flag = verb.flag(name)
    assert flag
    if flag.fits is None and value:
        raise _Misread(f"--{name} takes no value", flag.shown)
    if flag.fits and not flag.fits(value):
        raise _Misread(f"--{name} cannot be {value!r}", flag.shown)
    return name, value


def _once(flags: list[tuple[str, str]]) -> list[tuple[str, str]]:
    names = [name for name, _ in flags]
    for name in names:
        if names.count(name) > 1:
            raise _Misread(f"--{name} is there twice")
    return flags


def _arguments(verb: Verb, words: list[str], rest: str) -> tuple[tuple[str, ...], str]:
    readings = (f"/mak {verb.usage}", f"/mak -- {rest}")
    if not verb.most and words:
        raise _Misread(f"{verb.name} takes no {words[0]!r}", *readings)
    ids: list[str] = []
    word = ""
    for given in words:
        if match := _ID.fullmatch(given):
            ids += _written_out(verb, match, readings)
        elif not word and _is_word(verb, given):
            word = given.lower()
        else:
            raise _Misread(f"{verb.name} does not know {given!r}", *readings)
    count = len(dict.fromkeys(ids))
    if (word and ids) or count + bool(word) > verb.most or (not word and count < verb.fewest):
        raise _Misread(f"{verb.name} cannot be read with these", *readings)
    return tuple(dict.fromkeys(ids)), word


def _written_out(verb: Verb, match: re.Match[str], readings: tuple[str, ...]) -> list[str]:
    letter, first = match[1].upper(), int(match[2])
    last = int(match[4]) if match[4] else first
    if (
        letter not in verb.ids
        or (match[3] and match[3].upper() != letter)
        or not (first <= last < first + MOST_TASKS)
    ):
        raise _Misread(f"{verb.name} does not take {match[0]}", *readings)
    return [f"{letter}{number}" for number in range(first, last + 1)]


def _is_word(verb: Verb, given: str) -> bool:
    word = given.lower()
    return any(
        {
            "digest": bool(_DIGEST.fullmatch(word)),
            "verb": verb_of(word) is not None,
        }.get(kind, word == kind)
        for kind in verb.words
    )


def _unquoted(token: str) -> str:
    return re.sub(r'"((?:[^"\\]|\\.)*)"', lambda match: re.sub(r"\\(.)", r"\1", match[1]), token)


def _unknown(verb: Verb, name: str) -> _Misread:
    known = [flag.name for flag in verb.flags]
    close = difflib.get_close_matches(name.lower(), known, n=1)
    meant = f" (did you mean --{close[0]}?)" if close else ""
    return _Misread(f"unknown flag --{name}{meant}", *(flag.shown for flag in verb.flags))
