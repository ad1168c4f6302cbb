"""What a request names: paths, dotted names, identifiers, and plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Words that say nothing about where in a repository something is.
_STOP = frozenset(
    re.findall(
        r"\w+",
        """
    a able about add added adding after all also always an and another any are around as at be
    because been before below being but by can change changed changes changing class code could
    create def did do does doing done each ensure every everything exist existing file files fix
    fixed for from function functions get give given go has have how if implement import improve in
    instead into is it its just keep let like line lines make makes making may method methods
    module more most move must name named need needed needs never new no not now of off on once one
    only or other our out over own parameter please project put python refactor remove rename
    repository request return returns same see set should so some still such support sure take
    task test tests than that the their them then there these they thing this those to too under
    until up update use used user uses using value want was way we were what when where whether
    which while who why will with without work works would write you your
    """,
    )
)
#: How many plain words of a request are looked for; the first ones.
_MOST = 32

#: Anything with a slash, and names with an ending that files have.
_PATH = re.compile(
    r"[\w.~+-]*(?:[/\\][\w.~+-]+)+"
    r"|[\w.-]+\.(?:pyi?|md|rst|txt|toml|ya?ml|json|cfg|ini|html?|css|[jt]sx?|sql|sh|csv|lock)\b(?!\.\w|\()"
)
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)+")
_QUOTED = re.compile(r"`([^`\n]+)`|'([^'\n\s]+)'|\"([^\"\n\s]+)\"")
_CALLED = re.compile(r"([^\W\d]\w*)\(")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Mentions:
    """What to look for, each in order of first mention."""

    #: As written, with ``/``; whether they exist is not known.
    paths: tuple[str, ...]
    #: Names with their module or class: ``pkg.mod.f``, ``C.m``; those of ids without the path.
    dotted: tuple[str, ...]
    #: Names that are surely meant as code: quoted, called, dotted, with ``_`` or inner capitals.
    names: tuple[str, ...]
    #: Stems of other words, lower case.
    words: tuple[str, ...]


def mentions(request: str) -> Mentions:
    """Find what `request` names."""
    paths: dict[str, None] = {}
    dotted: dict[str, None] = {}
    names: dict[str, None] = {}
    words: dict[str, None] = {}

    def take_path(match: re.Match[str]) -> str:
        paths[match[0].replace("\\", "/").strip(".").removeprefix("/")] = None
        return " "

    rest = _PATH.sub(take_path, request)
    for match in _DOTTED.finditer(rest):
        dotted[match[0]] = None
        names.update(dict.fromkeys(match[0].split(".")))
    for match in _CALLED.finditer(rest):
        names[match[1]] = None
    for match in _QUOTED.finditer(rest):
        quoted = match[1] or match[2] or match[3]
        if len(quoted.split()) == 1:
            names.update(dict.fromkeys(_IDENTIFIER.findall(quoted)))
    for word in _IDENTIFIER.findall(rest):
        if _is_code(word):
            names[word] = None
        for part in split(word):
            if len(part) > 2 and part not in _STOP and stem(part) not in _STOP:
                words[stem(part)] = None
    paths.pop("", None)
    return Mentions(tuple(paths), tuple(dotted), tuple(names), tuple(words)[:_MOST])


def split(name: str) -> list[str]:
    """Return the words of an identifier, lower case: ``HTTPServer_1`` → http, server."""
    return [part.lower() for part in _HUMP.findall(name)]


def stem(word: str) -> str:
    """Cut the commonest English endings: *parsing*, *parsed* and *parser* meet at *pars*."""
    for ending in ("ing", "ers", "ies", "ed", "er", "es", "or", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _is_code(word: str) -> bool:
    return "_" in word.strip("_") or any(
        later.isupper() and not word.isupper() for later in word[1:]
    )
