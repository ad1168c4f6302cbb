"""Edit import statements: take a name out, put another statement beside it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mak.source.facts import Facts, Import, Text
from mak.source.refactor.sites import Survey
from mak.source.resolve import Names

_BLANK = b" \t\x0c"
#: A block for the type checker only, that what follows is the whole of.
_TYPING = re.compile(
    rb"(?:^|\n|\r)(?P<line>[ \t]*if[ \t]+(?:\w+\.)?TYPE_CHECKING[ \t]*:[ \t]*(?:\r\n|\n|\r))\Z"
)
_ELSE = re.compile(rb"\s*el(?:se|if)\b")


@dataclass(frozen=True, slots=True)
class Statement:
    """One import statement of a file, with all the names it imports."""

    path: str
    entries: tuple[Import, ...]

    @property
    def start(self) -> int:
        """Where it starts."""
        return self.entries[0].start

    @property
    def end(self) -> int:
        """Where it ends, without what follows on its line."""
        return self.entries[0].end


def statement(facts: Facts, path: str, entry: Import) -> Statement:
    """Return the statement that an entry is part of."""
    same = [other for other in facts.imports if other.start == entry.start]
    return Statement(path, tuple(sorted(same, key=lambda other: other.name_at)))


def written(names: Names, importer: str, module: str, name: str, *, relative: bool) -> str:
    """Return ``from module import name`` as `importer` may write it; empty when it cannot."""
    return _from(names, importer, module, name, "", relative)


def rewritten(names: Names, importer: str, module: str, entry: Import) -> str:
    """Return the statement that imports an entry's name from another module, in its style."""
    return _from(names, importer, module, entry.name, entry.asname, entry.level > 0)


def _from(names: Names, importer: str, module: str, name: str, asname: str, relative: bool) -> str:
    source = module_text(names, importer, module, relative=relative)
    renamed = f" as {asname}" if asname else ""
    return f"from {source} import {name}{renamed}" if source else ""


def is_relative(names: Names, path: str, otherwise: bool = False) -> bool:
    """Whether a file imports the rest of its package relatively; `otherwise` when it does not."""
    facts = names.facts(path)
    ways = [
        bool(entry.level)
        for entry in (facts.imports if facts is not None else ())
        if entry.name and _is_of_package(names, path, entry)
    ]
    return ways.count(True) > len(ways) / 2 if ways else otherwise


def _is_of_package(names: Names, path: str, entry: Import) -> bool:
    """Whether an import takes from the package that a file is in."""
    if entry.level:
        return True
    own = names.modules.name(path)
    top = own.partition(".")[0] if "." in own or path.endswith("__init__.py") else ""
    module = names.modules.imported(0, entry.module, path)
    return bool(top) and module is not None and entry.module.partition(".")[0] == top


def module_text(names: Names, importer: str, module: str, *, relative: bool) -> str:
    """Return how `importer` names a module in ``from … import``; empty when it cannot."""
    target = names.modules.name(module)
    own = names.modules.name(importer)
    if not relative or names.modules.root(importer) != names.modules.root(module):
        return target
    package = own if importer.endswith("/__init__.py") else own.rpartition(".")[0]
    common = package.split(".") if package else []
    wanted = target.split(".")
    shared = 0
    while shared < min(len(common), len(wanted)) and common[shared] == wanted[shared]:
        shared += 1
    if not shared:
        return target
    return "." * (len(common) - shared + 1) + ".".join(wanted[shared:])


def change(survey: Survey, found: Statement, gone: Collection[Import], new: Sequence[str]) -> None:
    """Take names out of a statement and put new statements in front of what is left."""
    data = survey.names.sources.data(found.path)
    kept = [entry for entry in found.entries if entry not in gone]
    if not kept:
        if new:
            survey.patch(found.path, found.start, found.end, _joined(data, found.start, new))
        else:
            _remove(survey, found, data)
        return
    if new:
        text = _joined(data, found.start, new)
        separator = f"\n{_indent(data, found.start)}" if _first(data, found.start) else "; "
        survey.patch(found.path, found.start, found.start, text + separator)
    for index, entry in enumerate(found.entries):
        if entry in gone:
            _take_out(survey, found, index)


def _joined(data: bytes, start: int, new: Sequence[str]) -> str:
    separator = f"\n{_indent(data, start)}" if _first(data, start) else "; "
    return separator.join(new)


def _remove(survey: Survey, found: Statement, data: bytes) -> None:
    """Remove a whole statement, with its line when it is alone on it."""
    start, end = found.start, found.end
    line, after = _line_start(data, start), _line_end(data, end)
    rest = data[end:after].strip()
    if not _first(data, start) or (rest and not rest.startswith(b"#")):
        match = re.compile(rb"\s*;[ \t]*").match(data, end)
        survey.patch(found.path, start, match.end() if match else end, "" if match else "pass")
        return
    if _is_only(survey, found):
        head = _TYPING.search(data[:line])
        if head is None or _ELSE.match(data, _next_line(data, after)):
            survey.patch(found.path, start, end, "pass")
            return
        line = head.start("line")
    survey.patch(found.path, line, _next_line(data, after), "")


def _is_only(survey: Survey, found: Statement) -> bool:
    """Whether a block would be empty without the statement."""
    data = survey.names.sources.data(found.path)
    indent = _indent(data, found.start)
    if not indent:
        return False
    before = [line for line in _lines(data[: _line_start(data, found.start)]) if _is_code(line)]
    after = [line for line in _lines(data[_line_end(data, found.end) :]) if _is_code(line)]
    opened = bool(before) and len(_lead(before[-1])) < len(indent.encode())
    closed = not after or len(_lead(after[0])) < len(indent.encode())
    return opened and closed


def _take_out(survey: Survey, found: Statement, index: int) -> None:
    codec = survey.codec(found.path)
    take_out(survey, found.path, [_span(entry, codec) for entry in found.entries], index)


def take_out(survey: Survey, path: str, spans: Sequence[tuple[int, int]], index: int) -> None:
    """Take one item out of several that are set apart by commas."""
    data = survey.names.sources.data(path)
    begin, end = spans[index]
    line, after = _line_start(data, begin), _line_end(data, end)
    rest = data[end:after].lstrip(_BLANK)
    alone = not data[line:begin].strip() and (
        not rest or rest.startswith(b"#") or re.match(rb",\s*(?:#|$)", rest) is not None
    )
    if alone:
        survey.patch(path, line, _next_line(data, after), "")
    elif index + 1 < len(spans):
        survey.patch(path, begin, spans[index + 1][0], "")
    elif index:
        survey.patch(path, spans[index - 1][1], end, "")
    else:
        comma = re.compile(rb"\s*,").match(data, end)
        survey.patch(path, begin, comma.end() if comma else end, "")


def put_in(survey: Survey, path: str, last: Text, value: str) -> None:
    """Put a string behind the last one of a list, quoted and set apart as that is."""
    data = survey.names.sources.data(path)
    begin = last.start - 1
    end = last.start + len(last.value.encode(survey.codec(path))) + 1
    quote = data[begin : begin + 1].decode("ascii")
    if data[_line_start(data, begin) : begin].strip():
        separator = ", "
    else:
        separator = f",\n{_indent(data, begin)}"
    survey.patch(path, end, end, f"{separator}{quote}{value}{quote}")


def _span(entry: Import, codec: str) -> tuple[int, int]:
    if entry.asname:
        return entry.name_at, entry.as_at + len(entry.asname.encode(codec))
    return entry.name_at, entry.name_at + len((entry.name or entry.module).encode(codec))


def _lines(data: bytes) -> list[bytes]:
    return data.splitlines()


def _is_code(line: bytes) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith(b"#")


def _lead(line: bytes) -> bytes:
    return line[: len(line) - len(line.lstrip(_BLANK))]


def _line_start(data: bytes, at: int) -> int:
    return max(data.rfind(b"\n", 0, at), data.rfind(b"\r", 0, at)) + 1


def _line_end(data: bytes, at: int) -> int:
    found = [i for i in (data.find(b"\n", at), data.find(b"\r", at)) if i >= 0]
    return min(found) if found else len(data)


def _next_line(data: bytes, end: int) -> int:
    return end + (2 if data[end : end + 2] == b"\r\n" else 1) if end < len(data) else end


def _first(data: bytes, start: int) -> bool:
    """Whether nothing stands before `start` on its line."""
    return not data[_line_start(data, start) : start].strip()


def _indent(data: bytes, start: int) -> str:
    return _lead(data[_line_start(data, start) : start]).decode("ascii", errors="replace")
