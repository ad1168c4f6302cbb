"""What a planner sees of a repository: its tree, outlines of files, and source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

from mak.model import Node, NodeId, NodeKind
from mak.plan.untrusted import clean
from mak.source import SourceFile, Sources, decode

_DOCSTRING = re.compile(
    r'^[ \t]*[rRuU]?("""|\'\'\'|"|\')[ \t]*(?:\\?\n[ \t]*)?([^\n]*)', re.MULTILINE
)
_OPENS = re.compile(r":[ \t]*(?:#[^\n]*)?\n(?=\s*[rRuU]?[\"'])")
#: Longest signature and docstring line that an outline shows, in characters.
_SIGNATURE = 160
_SUMMARY = 100


def outline(file: SourceFile, *, room: int, wanted: Collection[NodeId] = ()) -> str:
    """Return one line per node: its id, signature, and the first line of its docstring.

    In the order of the file. When that is more than `room` characters, nodes in `wanted` come
    first, then definitions from the top; a last line says how many are left out.
    """
    lines = {node.id: _line(file, node) for node in file.nodes}
    size = sum(len(line) + 1 for line in lines.values())
    left_out = 0
    if size > room:
        first = [node.id for node in file.nodes if node.id in wanted]
        rest = [node.id for node in file.nodes if node.id not in wanted and _defines(node)]
        kept: set[NodeId] = set()
        used = 0
        for id in (*first, *rest):
            used += len(lines[id]) + 1
            if used > room and kept:
                break
            kept.add(id)
        left_out = len(lines) - len(kept)
        lines = {id: line for id, line in lines.items() if id in kept}
    text = "\n".join(lines.values())
    return f"{text}\n({left_out} more in {file.path})" if left_out else text


def _defines(node: Node) -> bool:
    return node.kind in (NodeKind.FUNCTION, NodeKind.CLASS, NodeKind.METHOD)


def _line(file: SourceFile, node: Node) -> str:
    if file.whole:
        why = file.why_whole or "no smaller nodes"
        return _shown(f"{node.id}  (whole file only: {why}; {len(file.data)} bytes)", 300)
    line = str(node.id)
    if _defines(node):
        line += f"  {_shown(node.signature, _SIGNATURE)}"
        if summary := summary_of(file, node):
            line += f"  # {summary}"
    elif node.kind is NodeKind.ENTRY:
        line += f"  {_shown(node.signature, _SIGNATURE)}"
    elif node.names:
        line += f"  {_shown(', '.join(node.names), _SIGNATURE)}"
    return _shown(line, 600)


def summary_of(file: SourceFile, node: Node) -> str:
    """Return the first line of a definition's docstring; empty when it has none."""
    start = node.start + node.lead
    head = file.data[start : min(node.end, start + 2_000)]
    if b'"' not in head and b"'" not in head:
        return ""
    text = head.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    for opening in _OPENS.finditer(text):
        match = _DOCSTRING.match(text, opening.end())
        if match:
            return _shown(match[2].partition(match[1])[0].strip(), _SUMMARY)
    return ""


def _shown(text: str, width: int) -> str:
    text = " ".join(clean(text, comments=False).text.split(" ")).replace("\n", " ")
    return text if len(text) <= width else f"{text[: width - 1]}…"


def source(file: SourceFile, id: NodeId) -> tuple[str, str]:
    """Return the text of a node as it is shown, and what was taken out of it."""
    cleaned = clean(decode(file, id), comments=file.language != "python")
    return cleaned.text.strip("\n"), cleaned.removed


def tree(sources: Sources, *, room: int) -> str:
    """Return the folders with the number of their files, as deep as `room` characters allow.

    Files are named where all of them fit, else only those at the top.
    """
    paths = [_shown(path, 400) for path in sources.visible]
    if sum(map(len, paths)) + len(paths) <= room:
        return "\n".join(paths)
    deepest = max(path.count("/") for path in paths)
    shallow, deep, best = 1, max(deepest, 1), ""
    while shallow <= deep:
        depth = (shallow + deep) // 2
        text = "\n".join(_folders(paths, depth))
        if len(text) <= room:
            best, shallow = text, depth + 1
        else:
            deep = depth - 1
    return best or _cut_lines(_folders(paths, 1), room)


def _folders(paths: Sequence[str], depth: int) -> list[str]:
    """Return one line per folder at most `depth` deep, with all that lies below it."""
    counts: dict[str, Counter[str]] = {}
    lines = []
    for path in paths:
        parts = path.split("/")[:-1][:depth]
        if not parts:
            lines.append(path)
            continue
        kind = PurePosixPath(path).suffix or "other"
        counts.setdefault("/".join(parts), Counter())[kind] += 1
    for folder, kinds in counts.items():
        shown = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items(), key=_most)[:3])
        total = sum(kinds.values())
        lines.append(f"{folder}/  {total} file{'s' if total != 1 else ''} ({shown})")
    return sorted(lines)


def _most(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def _cut_lines(lines: Sequence[str], room: int) -> str:
    kept, used = [], 0
    for line in lines:
        used += len(line) + 1
        if used > room:
            break
        kept.append(line)
    return "\n".join((*kept, f"({len(lines) - len(kept)} more)"))
