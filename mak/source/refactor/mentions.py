"""Places that name a definition without being code that names it: said, and left as they are.

What the name does at run time there (a string for `getattr`, an entry point) is told place by
place; comments, docstrings and documents are counted, with the files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from mak.source.facts import Definition, Facts
from mak.source.names import candidates, qualified_name
from mak.source.refactor.sites import Survey
from mak.source.refactor.target import stub_of
from mak.source.resolve import Variable

#: Files that may name an entry point or a setting by its dotted path.
_SETTINGS = (".cfg", ".ini", ".json", ".toml", ".yaml", ".yml")
_ENTRIES = ("pyproject.toml", "setup.cfg")
_DOCUMENTS = (".adoc", ".html", ".ipynb", ".md", ".rst", ".txt")
_CODE = (".py", ".pyi")
_LARGEST = 200_000
#: Files that are named before they are only counted.
_SHOWN = 5

Skip = Callable[[int], bool]


def remark_on_file(survey: Survey, path: str, facts: Facts, target: Variable, skip: Skip) -> None:
    """Remark on strings that look `target` up, or name it by its dotted path."""
    for text in facts.texts:
        looked_up = text.dynamic and text.value == target.name
        if (looked_up or _names_it(survey, text.value, target)) and not skip(text.start):
            survey.remark(f"the string {text.value!r} is left as it is", path, text.start)


def remark_on_tree(survey: Survey, target: Variable, skip: Skip = lambda start: False) -> None:
    """Remark on settings that name `target`, and on how often comments and documents do.

    `skip` says which bytes of its own file do not count.
    """
    names = survey.names
    qualname = qualified_name(names, target)
    module = names.modules.name(target.path)
    found: dict[str, int] = {}
    dotted = re.compile(_dotted(module, qualname)) if module else None
    for path in names.sources.visible:
        if path.endswith(_SETTINGS) and dotted is not None:
            _remark_on_settings(survey, path, dotted)
        elif path.endswith(_DOCUMENTS):
            number = len(_in_document(survey, path, qualname))
            if number:
                found[path] = number
    for path in names.index.mentioning(target.name):
        number = sum(1 for _ in _in_code(survey, path, target, dotted, skip))
        if number:
            found[path] = number
    if found:
        survey.remark(f"{_counted(target.name, found)} left as {_are(sum(found.values()))}")


def remark_on_stub(survey: Survey, target: Variable) -> None:
    """Remark on the stub beside a module that declares a definition too."""
    stub = stub_of(survey.names, target)
    facts = survey.names.facts(stub.path) if stub is not None else None
    if stub is not None and facts is not None:
        start = facts.bound(stub.scope, stub.name)[0].start
        survey.remark("declares it too and is left as it is", stub.path, start)


def remark_on_parameter(
    survey: Survey, path: str, facts: Facts, definition: Definition, name: str
) -> None:
    """Remark on comments and strings of a function that name a parameter."""
    scope = facts.scopes[definition.scope]
    data, spelled = survey.names.sources.data(path), re.escape(name.encode(survey.codec(path)))
    ways = (
        rb":(?:param|keyword|arg|type)\b[^:\r\n]*?\b(?P<name>" + spelled + rb"):",
        rb"`(?P<name>" + spelled + rb")\b",
        rb"^[ \t]*\*{0,2}(?P<name>" + spelled + rb")[ \t]*(?:\([^)\r\n]*\))?[ \t]*:",
        *((rb"\b(?P<name>" + spelled + rb")\b",) if "_" in name.strip("_") else ()),
    )
    wanted = {match.start("name") for way in ways for match in re.finditer(way, data, re.M)}
    words = [
        start
        for start in _words(survey, path, facts, name)
        if start in wanted and scope.start <= start < scope.end
    ]
    if words:
        said = f"{_number(len(words))} of {name} in comments and strings of {definition.name}"
        survey.remark(f"{said} left as {_are(len(words))}", path, words[0])


def _remark_on_settings(survey: Survey, path: str, dotted: re.Pattern[bytes]) -> None:
    data = _data(survey, path)
    for match in dotted.finditer(data):
        text = match[0].decode(errors="replace")
        is_entry = b":" in match[0] and path.rpartition("/")[2] in _ENTRIES
        what = f"the entry point {text}" if is_entry else text
        survey.remark(f"{what} is left as it is", path, match.start())


def _in_document(survey: Survey, path: str, qualname: str) -> list[int]:
    """Return where a document names a definition."""
    data = _data(survey, path)
    return sorted(_named(data, qualname)) if qualname.encode() in data else []


def _named(data: bytes, qualname: str) -> set[int]:
    """Return where a text names something: as code, or by a name that is no word of a language."""
    whole = re.escape(qualname.encode())
    ways = [
        rb"`(?P<name>" + whole + rb")\b",
        rb"(?<![\w.])(?P<name>" + whole + rb")\(",
        rb"\w[.:](?P<name>" + whole + rb")\b",
        rb"^[ \t]*(?:>>>|\.\.\.) [^\r\n]*?\b(?P<name>" + whole + rb")\b",
        rb"#\s*type:[^\r\n]*?\b(?P<name>" + whole + rb")\b",
    ]
    if re.search(r"[A-Z.]|\w_", qualname):
        ways.append(rb"(?<![\w.])(?P<name>" + whole + rb")\b")
    last = len(qualname.rpartition(".")[2].encode())
    return {
        match.end("name") - last for way in ways for match in re.finditer(way, data, re.MULTILINE)
    }


def _in_code(
    survey: Survey, path: str, target: Variable, dotted: re.Pattern[bytes] | None, skip: Skip
) -> Iterator[int]:
    """Yield where comments and strings of a Python file name a definition."""
    names, facts = survey.names, survey.names.facts(path)
    if facts is None:
        return
    known = path == target.path
    if not known and not target.scope:
        variable = names.module_variable(path, target.name)
        known = variable is not None and target in names.meant(variable)
    data, size = names.sources.data(path), len(target.name.encode(survey.codec(path)))
    if known:
        wanted = _named(data, target.name)
    else:
        wanted = {match.end() - size for match in dotted.finditer(data)} if dotted else set()
    for start in _words(survey, path, facts, target.name):
        if start in wanted and not (path == target.path and skip(start)):
            yield start


def _words(survey: Survey, path: str, facts: Facts, name: str) -> Iterator[int]:
    """Yield where a file spells a name outside of its code."""
    data = survey.names.sources.data(path)
    spelled = re.escape(name.encode(survey.codec(path)))
    word = re.compile(rb"(?<![\w\x80-\xff])" + spelled + rb"(?![\w\x80-\xff])")
    code = {
        start
        for use in facts.uses(name)
        for start, part in zip(use.starts, use.names, strict=True)
        if part == name
    }
    code |= {binding.start for binding in facts.bindings if binding.name == name}
    code |= {text.start for text in facts.exports or ()}
    for use in facts.chains:
        if use.call is not None:
            code |= {at for keyword, at in use.call.keywords if keyword == name}
    spans = [(entry.start, entry.end) for entry in facts.imports]
    # Strings that name something are told one by one.
    spans += [(text.start, text.start + len(text.value.encode()) + 4) for text in facts.texts]
    for match in word.finditer(data):
        at = match.start()
        if at not in code and not any(start <= at < end for start, end in spans):
            yield at


def _dotted(module: str, qualname: str) -> bytes:
    name = re.escape(module) + r"[.:]" + re.escape(qualname)
    return rb"(?<![\w.])" + name.encode() + rb"\b"


def _data(survey: Survey, path: str) -> bytes:
    data = survey.names.sources.data(path)
    return data if len(data) <= _LARGEST else b""


def _counted(name: str, found: dict[str, int]) -> str:
    """Say how often which files mention a name."""
    files = [f"{path} ({count})" for path, count in sorted(found.items())]
    shown = ", ".join(files[:_SHOWN])
    if len(files) > _SHOWN:
        shown += f" and {len(files) - _SHOWN} more files"
    what = _number(sum(found.values()))
    return f"{what} of {name} in comments, strings and documents ({shown})"


def _number(mentions: int) -> str:
    return f"{mentions} mentions" if mentions > 1 else "a mention"


def _are(number: int) -> str:
    return "they are" if number > 1 else "it is"


def _names_it(survey: Survey, text: str, target: Variable) -> bool:
    """Whether a dotted string names a definition: ``pkg.mod.f`` or ``pkg.mod:f``."""
    dotted = text.replace(":", ".")
    if not dotted.endswith(f".{target.name}"):
        return False
    names = survey.names
    return any(target in names.meant(found) for found in candidates(names, dotted))
