"""What a change goes on to use is bound by something: names, imports, attributes of modules.

Names of the standard library and of other packages are not looked at, and neither is what was
missing before. Where another task is still to write in the file that would bind it, it may.
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import warnings
from collections import Counter
from collections.abc import Iterator

from mak.checks.change import Change, Check, node_bytes
from mak.model import Finding, NodeId
from mak.source import SourceFile, decode, of_file

_WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
#: Words in a file that say that names may come and go while it runs.
_OPEN = (b"import *", b"globals()", b"exec(", b"NameError")


def _findings(change: Change) -> Iterator[Finding]:
    loses = any(_loses_names(before, after) for _, before, after in change.reshaped())
    awaited: set[str] | None = None
    for path, before, after in change.files():
        if after is None or after.whole:
            continue
        if not loses and before is not None and not _gains_words(before, after):
            continue
        if awaited is None:
            awaited = {node.path for node in change.planned}
        known = {(lack.module, lack.name) for lack in change.lacking(path, change.before)}
        for lack in sorted(change.lacking(path, change.after)):
            key = lack.module, lack.name
            if key in known or lack.module in awaited or lack.node in change.planned:
                continue
            known.add(key)
            yield Finding(
                CHECK.id,
                lack.node,
                f"{lack.node} takes {lack.name} from {lack.module}, which has no {lack.name}; "
                "use what is there, or put it there first",
                provider=NodeId(lack.module, lack.name),
            )
        if before is not None and not before.whole and path not in awaited:
            yield from _names(before, after)


def _loses_names(before: SourceFile | None, after: SourceFile | None) -> bool:
    new = {name for node in after.nodes for name in node.names} if after else set()
    return any(name not in new for node in (before.nodes if before else ()) for name in node.names)


def _gains_words(before: SourceFile, after: SourceFile) -> bool:
    """Whether some word stands more often than before; otherwise nothing new can be used."""
    return bool(_words(after, but=before) - _words(before, but=after))


def _words(file: SourceFile, *, but: SourceFile) -> Counter[bytes]:
    """Count the words of the nodes that the other version does not have."""
    same = {node.digest for node in but.nodes}
    texts = (node_bytes(file, node) for node in file.nodes if node.digest not in same)
    return Counter(word for text in texts for word in _WORD.findall(text))


def _names(before: SourceFile, after: SourceFile) -> Iterator[Finding]:
    """Find names that nothing in the file binds, and that were not used like that before."""
    if any(word in after.data for word in _OPEN):
        return
    new, old = unbound(after), unbound(before)
    if not new or old is None:
        return
    gone = {name for node in before.nodes for name in node.names}
    for name in sorted(new - old - gone - {*dir(builtins)}):
        users = users_of(after, name)
        if users and name != "_" and not name.startswith("__"):
            yield Finding(
                CHECK.id,
                users[0],
                f"{users[0]} uses {name}, which nothing in {after.path} binds; import or define it",
            )


@of_file
def unbound(file: SourceFile) -> set[str] | None:
    """Return the names that are loaded from the module and bound there by nothing.

    None: the running Python cannot tell.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = symtable.symtable(decode(file, file.id), file.path, "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    bound: set[str] = set()
    loaded: set[str] = set()
    tables = [module]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if table is not module and not symbol.is_global():
                continue
            if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace():
                bound.add(symbol.get_name())
            if symbol.is_referenced():
                loaded.add(symbol.get_name())
    return loaded - bound


def users_of(file: SourceFile, name: str) -> list[NodeId]:
    """Return the nodes that load a name."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(decode(file, file.id))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    lines = {
        part.lineno
        for part in ast.walk(tree)
        if isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Load)
    }
    return [
        node.id for node in file.nodes if any(node.line <= line <= node.end_line for line in lines)
    ]


CHECK = Check("unbound-name", "a name is used that nothing binds", _findings, looks_beyond=True)
