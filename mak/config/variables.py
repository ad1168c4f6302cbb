"""A person's ``.env``: variables, mostly keys, that hold where the environment sets none.

Lines are ``NAME=value``, with ``export`` before it if one likes; a value may stand in quotes. Every
line that is not about the variable being changed stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from mak.config.documents import read_text
from mak.config.private import changing, write_private
from mak.errors import UsageError

#: Where a person's variables live, relative to their folder for MAK.
VARIABLES_FILE = Path(".env")

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LINE = re.compile(rf"\s*(?:export\s+)?(?P<name>{NAME.pattern})\s*=\s*(?P<value>.*?)\s*")
_COMMENT = re.compile(r"\s+#.*$")


def read_variables(path: Path) -> dict[str, str]:
    """Return what a ``.env`` sets; nothing when there is no such file.

    Raises `UsageError` that names the line, never its text, for one that sets nothing.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(_lines(path), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise UsageError(
                f"reading {path}:{number}: not a line NAME=value",
                hint=f"put a # before it, or correct it: {path}",
            )
        found[match["name"]] = _value(match["value"], f"{path}:{number}")
    return found


def merged(variables: Mapping[str, str], exported: Mapping[str, str]) -> dict[str, str]:
    """Return both; what is exported wins, also where it is empty."""
    return {**variables, **exported}


def set_variable(path: Path, name: str, value: str) -> bool:
    """Set a variable in a ``.env``; return whether it was there before."""
    with changing(path):
        lines = _lines(path)
        # The last line about a name is the one that holds.
        places = [number for number, line in enumerate(lines) if _is_about(line, name)]
        lines = [line for n, line in enumerate(lines) if n not in places[:-1]]
        wanted = f"{name}={_quoted(value)}"
        if places:
            lines[places[-1] - len(places) + 1] = wanted
        else:
            lines.append(wanted)
        write_private(path, _text(lines))
        return bool(places)


def remove_variable(path: Path, name: str) -> bool:
    """Take a variable out of a ``.env``; return whether it was there."""
    with changing(path):
        lines = _lines(path)
        kept = [line for line in lines if not _is_about(line, name)]
        if len(kept) != len(lines):
            write_private(path, _text(kept))
        return len(kept) != len(lines)


def _lines(path: Path) -> list[str]:
    if not path.exists():
        return []
    lines = read_text(path).split("\n")
    return lines if lines[-1] else lines[:-1]


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _is_about(line: str, name: str) -> bool:
    match = _LINE.fullmatch(line)
    return match is not None and match["name"] == name


def _value(text: str, where: str) -> str:
    quote = text[:1]
    if quote not in ("'", '"'):
        return _COMMENT.sub("", f" {text}").strip()
    end = text.find(quote, 1)
    if end < 0 or _COMMENT.sub("", text[end + 1 :]).strip():
        raise UsageError(f"reading {where}: the value does not end with its {quote}")
    return text[1:end]


def _quoted(value: str) -> str:
    """Return a value as it is read back; keys need no quotes."""
    if re.fullmatch(r"[^\s'\"#]+", value):
        return value
    for quote in ("'", '"'):
        if quote not in value and "\n" not in value:
            return f"{quote}{value}{quote}"
    raise UsageError("setting a variable: the value holds a line break, or both kinds of quotes")
