"""Places that name a definition without being code that names it: said, and left as they are."""

from __future__ import annotations

import re
from collections.abc import Callable

from mak.source.facts import Facts
from mak.source.names import candidates
from mak.source.refactor.sites import Survey
from mak.source.resolve import Variable

#: Files that may name an entry point or a setting by its dotted path.
_SETTINGS = (".cfg", ".ini", ".json", ".toml", ".yaml", ".yml")
_LARGEST = 200_000


def remark_on_file(
    survey: Survey, path: str, facts: Facts, target: Variable, skip: Callable[[int], bool]
) -> None:
    """Remark on strings, and the first doctest and type comment, that name `target`."""
    for text in facts.texts:
        looked_up = text.dynamic and text.value == target.name
        if (looked_up or _names_it(survey, text.value, target)) and not skip(text.start):
            survey.remark(f"the string {text.value!r} is left as it is", path, text.start)
    name = re.escape(target.name.encode(survey.codec(path)))
    data = survey.names.sources.data(path)
    variable = survey.names.module_variable(path, target.name)
    if variable is None or target not in survey.names.meant(variable):
        return
    for kind, pattern in (
        ("type comment", rb"#\s*type:[^\r\n]*?\b" + name + rb"\b"),
        ("doctest", rb"^[ \t]*(?:>>>|\.\.\.) [^\r\n]*?\b" + name + rb"\b"),
    ):
        found = (match.start() for match in re.finditer(pattern, data, re.MULTILINE))
        start = next((offset for offset in found if not skip(offset)), None)
        if start is not None:
            said = f"a {kind} mentions {target.name}; comments and strings are kept"
            survey.remark(said, path, start)


def remark_on_tree(survey: Survey, target: Variable) -> None:
    """Remark on settings and stubs that name `target`."""
    names = survey.names
    remark_on_stub(survey, target.path, target.name)
    module = names.modules.name(target.path)
    if not module:
        return
    dotted = re.escape(module) + r"[.:]" + re.escape(target.name)
    pattern = re.compile(rb"(?<![\w.])" + dotted.encode() + rb"\b")
    for path in names.sources.paths:
        if path.endswith(_SETTINGS):
            data = names.sources.data(path)
            match = pattern.search(data) if len(data) <= _LARGEST else None
            if match:
                said = f"{match[0].decode()} is left as it is"
                survey.remark(said, path, match.start())


def remark_on_stub(survey: Survey, path: str, name: str) -> None:
    """Remark on the stub beside a file that declares a function, class or method too."""
    names, stub = survey.names, f"{path}i"
    if path.endswith(".py") and stub in names.sources:
        facts = names.facts(stub)
        scopes = facts.scopes_binding(name) if facts is not None else []
        if facts is not None and scopes:
            start = facts.bound(scopes[0], name)[0].start
            survey.remark("declares it too and is left as it is", stub, start)


def _names_it(survey: Survey, text: str, target: Variable) -> bool:
    """Whether a dotted string names a definition: ``pkg.mod.f`` or ``pkg.mod:f``."""
    dotted = text.replace(":", ".")
    if not dotted.endswith(f".{target.name}"):
        return False
    names = survey.names
    return any(target in names.meant(found) for found in candidates(names, dotted))
