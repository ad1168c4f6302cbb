"""No definition appears twice in a scope that did not hold it twice.

Definitions that are meant to be there several times say so by a decorator: overloads, the parts of
a property, registrations with a dispatcher. Those in branches are not nodes of their own.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator

from mak.checks.change import Change, Check, Definition, definitions, is_cut
from mak.checks.tree import Function, dotted, function, parse
from mak.model import Finding, Node, NodeKind
from mak.source import SourceFile, decode, of_file

#: Decorators that change what a definition is, without keeping the one before it.
_TRANSPARENT = frozenset(
    {
        "abstractmethod",
        "asynccontextmanager",
        "cache",
        "cached_property",
        "classmethod",
        "contextmanager",
        "dataclass",
        "final",
        "lru_cache",
        "override",
        "property",
        "staticmethod",
        "wraps",
    }
)


def _findings(change: Change) -> Iterator[Finding]:
    for path, before, after in change.reshaped():
        if after is None or not after.is_code:
            continue
        known = before if is_cut(before) else None
        old = _groups(known) if known else {}
        for key, group in _groups(after).items():
            if len(group) > max(1, len(old.get(key, ()))) and not (
                _dispatched(after, group) or _serves_first(after, group)
            ):
                first, last = group[0].node, group[-1].node
                yield Finding(
                    CHECK.id,
                    last.id,
                    f"{group[-1].name} is defined twice in {_place(path, key)} "
                    f"(lines {_code_line(after, first)} and {_code_line(after, last)}); "
                    "edit the definition that is there, or choose another name",
                    _code_line(after, last),
                )
        yield from _hidden_imports(path, known, after)


@of_file
def _groups(file: SourceFile) -> dict[tuple[str, int, str], list[Definition]]:
    """Return the definitions that would replace each other, by scope and name."""
    groups: dict[tuple[str, int, str], list[Definition]] = defaultdict(list)
    for definition in definitions(file):
        if not definition.role and definition.name != "_":
            groups[(*definition.scope, definition.name)].append(definition)
    return groups


def _dispatched(file: SourceFile, group: list[Definition]) -> bool:
    """Whether a decorator may keep each of these definitions: all share it, or one names them."""
    decorators = []
    for definition in group:
        tree = function(file, definition.node)
        names = {dotted(d) for d in tree.decorator_list} if tree else set()
        if any(name.startswith(f"{definition.name}.") for name in names):
            return True
        decorators.append({n for n in names if n and n.rpartition(".")[2] not in _TRANSPARENT})
    return bool(set.intersection(*decorators))


def _hidden_imports(path: str, before: SourceFile | None, after: SourceFile) -> Iterator[Finding]:
    old = _hides(before) if before else Counter[str]()
    for name, count in _hides(after).items():
        if count > old[name]:
            node = next(d.node for d in definitions(after) if d.name == name and not d.scope[0])
            if _is_used_before(after, node, name) or _is_handed_on(after, node):
                continue  # what was imported has done its service, or the definition goes to others
            yield Finding(
                CHECK.id,
                node.id,
                f"{name} is both imported and defined in {path}; the definition hides the import: "
                "choose another name for one of them",
                _code_line(after, node),
            )


def _serves_first(file: SourceFile, group: list[Definition]) -> bool:
    """Whether module-level code uses a definition before another takes its name."""
    first, last = group[0], group[-1].node
    below = first.node.end_line
    return not first.scope[0] and _is_used_before(file, last, first.name, below)


def _is_handed_on(file: SourceFile, node: Node) -> bool:
    """Whether a decorator may do something with a definition beside giving it its name."""
    tree = function(file, node)
    names = {dotted(d).rpartition(".")[2] for d in tree.decorator_list} if tree else set()
    return not names <= _TRANSPARENT


def _is_used_before(file: SourceFile, node: Node, name: str, below: int = 0) -> bool:
    """Whether code that runs before a definition is there, or while it is made, loads its name.

    Only code `below` a line counts.
    """
    todo: list[ast.AST] = [*(parse(decode(file, file.id)) or ())]
    own = (p for p in todo if isinstance(p, ast.stmt) and node.line <= p.lineno <= node.end_line)
    last = max((p.end_lineno or 0 for p in own), default=node.end_line)
    while todo:
        part = todo.pop()
        if isinstance(part, ast.Name) and part.id == name and part.lineno > below:
            return True
        if isinstance(part, ast.stmt) and part.lineno > last:
            continue
        if isinstance(part, Function):
            todo += [*part.decorator_list, *part.args.defaults]
        elif not isinstance(part, ast.Lambda):
            todo += ast.iter_child_nodes(part)
    return False


@of_file
def _hides(file: SourceFile) -> Counter[str]:
    """Count the module-level definitions whose name an unconditional import binds too."""
    header = file.nodes[0]
    defined = {d.name for d in definitions(file) if not d.scope[0]} & {*header.names}
    if header.kind is not NodeKind.HEADER or not defined:
        return Counter()
    imported: set[str] = set()
    for statement in parse(decode(file, header.id)) or ():
        if isinstance(statement, ast.Import | ast.ImportFrom):
            imported.update(a.asname or a.name.partition(".")[0] for a in statement.names)
    return Counter(defined & imported)


def _place(path: str, key: tuple[str, int, str]) -> str:
    return f"class {key[0]} of {path}" if key[0] else path


def _code_line(file: SourceFile, node: Node) -> int:
    """Return the line on which the node's code begins."""
    lead = file.data[node.start : node.start + node.lead]
    return node.line + len(lead.splitlines())


CHECK = Check("duplicate-symbol", "a symbol is defined twice", _findings, for_people=True)
