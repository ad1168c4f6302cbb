"""The node mapper against a walk of the syntax tree that shares no code with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mak.source import SourceFile
from mak.study.contention import cut, file_touches
from mak.study.history import Blobs, Change, FileDiff
from mak.study.mapping import covered

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
#: Definitions named that the mapper missed.
_SHOWN = 10


@dataclass
class Agreement:
    """What the two came to."""

    #: Changed Python files looked at.
    files: int = 0
    #: Changed lines, and how many of them lie in a node.
    lines: int = 0
    covered: int = 0
    #: Functions and methods whose code the tree says is another, and how many the mapper names.
    definitions: int = 0
    recalled: int = 0
    #: Functions and methods that the mapper names, and how many the tree says are another.
    named: int = 0
    confirmed: int = 0
    missed: list[str] = field(default_factory=list)

    @property
    def coverage(self) -> float:
        """The share of changed lines that lie in a node."""
        return self.covered / self.lines if self.lines else 1.0

    @property
    def recall(self) -> float:
        """The share of changed definitions that the mapper names."""
        return self.recalled / self.definitions if self.definitions else 1.0


def validate(changes: Sequence[Change], blobs: Blobs) -> Agreement:
    """Compare the mapper with the trees of every Python file that the changes edit in place."""
    found = Agreement()
    cuts: dict[tuple[str, str], SourceFile] = {}
    for change in changes:
        for diff in change.files:
            if diff.old_path == diff.new_path and diff.old_path.endswith(".py") and diff.hunks:
                _compare(found, change, diff, blobs, cuts)
        cuts.clear()
    return found


def _compare(
    found: Agreement,
    change: Change,
    diff: FileDiff,
    blobs: Blobs,
    cuts: dict[tuple[str, str], SourceFile],
) -> None:
    texts = [blobs.read(diff.old_blob), blobs.read(diff.new_blob)]
    try:
        old, new = (dict(_walk(ast.parse(text or b""), "")) for text in texts)
    except (SyntaxError, ValueError):
        return
    found.files += 1
    for path, blob, is_old in (
        (diff.old_path, diff.old_blob, True),
        (diff.new_path, diff.new_blob, False),
    ):
        file = cut(path, blob, blobs, cuts)
        found.lines += sum(h.old_count if is_old else h.new_count for h in diff.hunks)
        found.covered += covered(diff.hunks, file, old=is_old)
    changed = {name for name in {*old, *new} if old.get(name) != new.get(name)}
    everything = {touch.node.symbol for touch in file_touches(diff, blobs, cuts)}
    # Two of one name are told apart by the kernel (`f#2`, `x[setter]`), not by the walk.
    names = {symbol.partition("#")[0].partition("[")[0] for symbol in everything}
    found.definitions += len(changed)
    missed = sorted(changed - names)
    found.recalled += len(changed) - len(missed)
    room = _SHOWN - len(found.missed)
    found.missed += [f"{change.commit[:10]} {diff.path}::{name}" for name in missed[:room]]
    known = {*old, *new}
    mine = names & known
    found.named += len(mine)
    found.confirmed += len(mine & changed)


def _walk(body: ast.AST, scope: str) -> Iterator[tuple[str, str]]:
    """Yield functions and methods, not those inside functions, with their code in one form."""
    collected: dict[str, list[str]] = {}
    for node in ast.iter_child_nodes(body):
        if isinstance(node, ast.ClassDef):
            yield from _walk(node, f"{scope}{node.name}.")
        elif isinstance(node, _DEFINITIONS):
            collected.setdefault(f"{scope}{node.name}", []).append(ast.dump(node))
    for name, codes in collected.items():
        yield name, "\n".join(codes)
