"""Two versions of a file, made from the same base, in one file again, node by node.

Per node the side that changed it wins. A node that both sides changed is merged by what is in it:
imports as a set, everything else by its statements and elements (`mak.source.weave`). Blank lines
around a node are nobody's change. The order of nodes is merged three ways too; new ones at one
place stand in the order of the sides. What comes out is cut again and compared with what went in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from mak.model import Node, NodeId, NodeKind
from mak.source.edit import compiles
from mak.source.entries_edit import seal
from mak.source.entries_merge import merge_entries
from mak.source.file import Conflict, Newer, SourceFile, decode
from mak.source.header import add_imports
from mak.source.imports import Name, imported
from mak.source.items import Clash
from mak.source.language import split, structured, why_invalid, without_separator
from mak.source.ledger import discrepancy
from mak.source.python_merge import context_of_shell, merge_python
from mak.source.recut import united
from mak.source.text import BOM, is_blank

#: Entries whose order tells that they are sorted.
_TELLING = 3
_RUNS = (NodeKind.BODY, NodeKind.CLASS_BODY)


def merge(
    base: SourceFile, ours: SourceFile, theirs: SourceFile, *, newer: Newer | None = None
) -> SourceFile | Conflict:
    """Merge two versions of `base`; a `Conflict` names the nodes that both sides changed."""
    if ours.data == theirs.data or theirs.data == base.data:
        return ours
    if ours.data == base.data:
        return theirs
    if any(file.whole for file in (base, ours, theirs)):
        return Conflict((base.id,), "both sides changed the file, which is one node")
    if len({(file.encoding, file.newline) for file in (base, ours, theirs)}) > 1:
        return Conflict((base.id,), "one side changed the file's coding or line ends")
    apart = united(base, ours, theirs)
    return apart if apart is not None else _Merge(base, ours, theirs, newer).result()


def merge_edits(
    base: SourceFile, sides: Sequence[SourceFile], *, newer: Newer | None = None
) -> SourceFile | Conflict:
    """Merge any number of versions of `base`; what they add at one place stands in their order."""
    merged = base
    for side in sides:
        result = merge(base, merged, side, newer=newer)
        if isinstance(result, Conflict):
            return result
        merged = result
    return merged


def context_of_node(file: SourceFile, node: Node) -> str:
    """Return what the statements of a node stand in, as `merge_python` calls it."""
    scope = _scope(node.id)
    if not scope:
        return "module"
    shell = NodeId(file.path, scope)
    return "class" if file.get(shell) is None else context_of_shell(file.text(shell))


class _Merge:
    def __init__(
        self, base: SourceFile, ours: SourceFile, theirs: SourceFile, newer: Newer | None
    ) -> None:
        self.base, self.ours, self.theirs = base, ours, theirs
        self.newer = newer
        self.language = structured(base)
        known = {node.id: node for node in base.nodes}
        self.sides = [known, *(_by_id(file, known) for file in (ours, theirs))]
        #: Why nodes cannot be merged; empty: because both sides changed them.
        self.conflicts: dict[NodeId, str] = {}

    def result(self) -> SourceFile | Conflict:
        texts = self._texts()
        self._find_moved_runs(texts)
        self._find_rivals()
        if self.conflicts:
            return self._conflict()
        order = self._order(texts)
        if isinstance(order, Conflict):
            return order
        self._space_added(order, texts)
        parts = [texts[id] for id in order]
        if self.language is not None:
            parts = seal(self.language, parts, [not id.symbol.startswith("@") for id in order])
        newline = self.base.newline.encode()
        for index, part in enumerate(parts[:-1]):
            if part.removeprefix(BOM) and not part.endswith((b"\n", b"\r")):
                parts[index] = part + newline
        merged = split(b"".join(parts), self.base.path, newer=self.newer)
        return self._flaw(merged, order, parts) or self._strayed(merged) or merged

    def _conflict(self) -> Conflict:
        plain = [id.symbol for id, reason in self.conflicts.items() if not reason]
        reasons = [f"{id.symbol}: {reason}" for id, reason in self.conflicts.items() if reason]
        if plain:
            reasons.insert(0, f"both sides changed {', '.join(plain)}")
        return Conflict(tuple(self.conflicts), "; ".join(reasons))

    # ------------------------------------------------------------------------ texts

    def _texts(self) -> dict[NodeId, bytes]:
        """Return the text of every node of the result; note conflicts."""
        texts: dict[NodeId, bytes] = {}
        for id in dict.fromkeys(id for side in self.sides for id in side):
            chosen = self._choose(id)
            if chosen is not None:
                texts[id] = chosen
        return texts

    def _choose(self, id: NodeId) -> bytes | None:
        base, ours, theirs = (
            file.data[node.start : node.end] if (node := side.get(id)) else None
            for file, side in zip((self.base, self.ours, self.theirs), self.sides, strict=True)
        )
        if ours == theirs or theirs == base:
            return ours
        if ours == base:
            return theirs
        if self.language is not None and self.language.separator:
            # What separates entries is nobody's change.
            whole = ours, theirs
            base, ours, theirs = (
                None if text is None else without_separator(self.base, text)
                for text in (base, ours, theirs)
            )
            if ours == theirs or theirs == base:
                return whole[0]
            if ours == base:
                return whole[1]
        if ours is None or theirs is None:
            left = theirs if ours is None else ours
            if base is not None and left is not None and _trim(left) == _trim(base):
                return None
        elif base is None and _trim(ours) == _trim(theirs):
            return ours
        else:
            return self._both(id, base or b"", ours, theirs)
        self.conflicts[id] = ""
        return ours

    def _both(self, id: NodeId, base: bytes, ours: bytes, theirs: bytes) -> bytes:
        """Return the text of a node that both sides have, and made something else of."""
        parts = [
            _merge_part(*part) for part in zip(*map(_parts, (base, ours, theirs)), strict=True)
        ]
        blank, core, end = parts
        if core is None or not base:
            core = self._core(id, base, ours, theirs)
        if core is None:
            return ours
        ours_blank, _, ours_end = _parts(ours)
        return (ours_blank if blank is None else blank) + core + (ours_end if end is None else end)

    def _core(self, id: NodeId, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
        """Merge what is in a node; note why it cannot be done."""
        node = self.sides[1][id]
        self.conflicts[id] = ""
        is_open = self.language.merges_new if self.language else node.kind in _RUNS
        if not base and not is_open and id.symbol != "@header":
            return None
        if id.symbol == "@header" and (core := self._header()) is not None:
            del self.conflicts[id]
            return core
        try:
            core = self._woven(node, *(_parts(text)[1] for text in (base, ours, theirs)))
        except Clash as clash:
            self.conflicts[id] = str(clash)
            return None
        del self.conflicts[id]
        return core

    def _woven(self, node: Node, *cores: bytes) -> bytes:
        codec = self.base.encoding.removesuffix("-sig")
        if self.language is not None:
            return merge_entries(self.language, *cores)
        mark = BOM if cores[1].startswith(BOM) else b""
        texts = [core.removeprefix(BOM).decode(codec).encode() for core in cores]
        is_class = node.kind is NodeKind.CLASS and len(self.ours.members(node.id)) > 1
        merged = merge_python(texts[0], texts[1], texts[2], self._context(node), is_class=is_class)
        return mark + merged.decode().encode(codec)

    def _context(self, node: Node) -> str:
        found = {context_of_node(file, node) for file in (self.base, self.ours, self.theirs)}
        return next((context for context in ("numbered", "fields") if context in found), min(found))

    def _find_rivals(self) -> None:
        """Refuse one new name that the two sides bind in different nodes."""
        known = {(_scope(id), name) for id, node in self.sides[0].items() for name in node.names}
        bound: list[dict[tuple[str, str], set[NodeId]]] = []
        for side in self.sides[1:]:
            names: dict[tuple[str, str], set[NodeId]] = {}
            for id, node in side.items():
                for name in node.names:
                    if (_scope(id), name) not in known:
                        names.setdefault((_scope(id), name), set()).add(id)
            bound.append(names)
        for key in bound[0].keys() & bound[1].keys():
            one, two = bound[0][key], bound[1][key]
            if one != two and not one & two:
                where = f"{min(one).symbol} and {min(two).symbol}"
                self.conflicts[min(one)] = f"both sides bind `{key[1]}`, in {where}"

    def _header(self) -> bytes | None:
        """Return the header with the imports of both sides, when one side only added imports."""
        sides = ((self.ours, self.theirs), (self.theirs, self.ours))
        found = [(kept, self._only_adds(adding)) for kept, adding in sides]
        if any(name.target == "*" for _, names in found for name in names or ()):
            return None  # it may bind what the other side does
        for kept, names in found:
            if names is not None:
                data = add_imports(kept, names)
                return _parts(data)[1] if isinstance(data, bytes) else None
        return None

    def _only_adds(self, file: SourceFile) -> list[Name] | None:
        """Return the imports that a side added, if it did nothing else to the header."""
        before, after = (imported(f.data[: f.nodes[0].end]) for f in (self.base, file))
        if before is None or after is None or before.rest != after.rest:
            return None
        if not set(before.names) <= set(after.names):
            return None
        return [name for name in after.names if name not in before.names]

    def _find_moved_runs(self, texts: Mapping[NodeId, bytes]) -> None:
        """Refuse a run of statements that both sides gave another name: it would be there twice.

        A run is named after the definition before it, so that an insertion can rename it.
        """
        base, ours, theirs = self.sides
        for id, node in base.items():
            if node.kind not in _RUNS or id in ours or id in theirs:
                continue
            text = _trim(self.base.data[node.start : node.end])
            copies = [
                other
                for other in texts
                if other not in base
                and _trim(texts[other]) == text
                and (other in ours) != (other in theirs)
            ]
            if len(copies) > 1:
                self.conflicts[id] = ""

    # ------------------------------------------------------------------------ order

    def _order(self, texts: Mapping[NodeId, bytes]) -> list[NodeId] | Conflict:
        base, ours, theirs = ([id for id in side if id in texts] for side in self.sides)
        common = set(base) & set(ours) & set(theirs)
        ranks = [[id for id in side if id in common] for side in (base, ours, theirs)]
        if ranks[1] != ranks[0] and ranks[2] != ranks[0] and ranks[1] != ranks[2]:
            moved = tuple(a for a, b in zip(ranks[1], ranks[2], strict=True) if a != b)
            return Conflict(moved, "both sides moved nodes")
        ours_leads = ranks[1] != ranks[0] or ranks[2] == ranks[0]
        lead, other = (ours, theirs) if ours_leads else (theirs, ours)
        is_sorted = self.language is not None and _is_sorted(base)
        order = list(lead)
        known = set(lead)
        for index, id in enumerate(other):
            if id in known:
                continue
            at = next((order.index(o) + 1 for o in reversed(other[:index]) if o in known), 0)
            while at < len(order) and (
                not _may_precede(id, order[at])
                or (
                    self._is_added(order[at], other)
                    and _may_follow(id, order[at])
                    and (order[at].symbol < id.symbol if is_sorted else ours_leads)
                )
            ):
                at += 1
            order.insert(at, id)
            known.add(id)
        return order

    def _is_added(self, id: NodeId, other: Sequence[NodeId]) -> bool:
        return id not in self.sides[0] and id not in other

    def _space_added(self, order: Sequence[NodeId], texts: dict[NodeId, bytes]) -> None:
        """Put blank lines between what stood apart where one side put it, and does not here."""
        if self.language is not None:
            return
        full = [id for id in order if texts[id].removeprefix(BOM)]
        if full and full[0] != order[0] and not self._was_first(full[0], texts):
            texts[full[0]] = texts[full[0]][len(_parts(texts[full[0]])[0]) :]
        for id in full[:-1]:
            # The blank lines at the end of a file stand behind what is last in it.
            if id not in self.sides[0] and (end := _parts(texts[id])[2]):
                texts[id] = texts[id].removesuffix(end)
                if not _parts(texts[full[-1]])[2]:
                    texts[full[-1]] += end
        for previous, id in pairwise(full):
            node = self.sides[1].get(previous) or self.sides[2].get(previous)
            if node is not None and not {previous, id} & self.sides[0].keys():
                # So do comments at the end of a file or class, which each side has behind its own.
                end = texts[previous][len(texts[previous]) - node.tail :]
                if end.strip() and texts[id].endswith(end):
                    texts[previous] = texts[previous].removesuffix(end)
            is_inside = id.symbol.rpartition(".")[0] == previous.symbol
            if is_inside and id in self.sides[0] and not self._was_first(id, texts):
                # Each side took out a part of what stood between a class line and this.
                if texts[previous].rstrip().endswith(b":"):
                    texts[id] = texts[id][len(_parts(texts[id])[0]) :]
                continue
            depth = id.symbol.count(".")
            if previous.symbol.count(".") != depth or _parts(texts[id])[0]:
                continue
            was = self.sides[0].get(id)
            if was is None:
                is_apart = previous.symbol != "@header" or not self._had(previous)
                lines = self.base.newline.encode() * (1 if depth else 2) if is_apart else b""
            else:
                is_apart = previous not in self.sides[0]
                lines = _parts(self.base.data[was.start : was.end])[0] if is_apart else b""
            texts[id] = lines + texts[id]

    def _was_first(self, id: NodeId, texts: Mapping[NodeId, bytes]) -> bool:
        """Whether the blank lines before a node belong there though it comes first in its scope.

        They do when a side has it there, or put them there.
        """
        if id not in self.sides[0]:
            return False
        firsts = [self._first(side, id) for side in self.sides]
        was, first = (self.sides[0][each] for each in (id, firsts[0]))
        data = self.base.data
        return (
            id in firsts
            or bool(_parts(data[first.start : first.end])[0])
            or _parts(texts[id])[0] != _parts(data[was.start : was.end])[0]
        )

    def _first(self, side: Mapping[NodeId, Node], like: NodeId) -> NodeId:
        """Return what comes first in the scope of a node of the base."""
        scope = like.symbol.rpartition(".")[0]
        return next(
            (
                id
                for id, node in side.items()
                if id.symbol.rpartition(".")[0] == scope
                and id.symbol != "@header"
                and node.end > node.start
            ),
            like,
        )

    def _had(self, id: NodeId) -> bool:
        """Whether the base has a node, and something in it."""
        node = self.sides[0].get(id)
        return node is not None and node.end > node.start

    # ------------------------------------------------------------------------ checks

    def _strayed(self, merged: SourceFile) -> Conflict | None:
        """Refuse what is lost or doubled where the sides changed different runs of statements."""
        kinds = (*_RUNS, NodeKind.HEADER)
        for scope in sorted({_scope(id) for side in self.sides for id in side}):
            full = [
                {
                    id: node.digest
                    for id, node in side.items()
                    if node.kind in kinds and _scope(id) == scope and node.end > node.start
                }
                for side in self.sides
            ]
            mine, theirs = ({id for id, _ in full[0].items() ^ side.items()} for side in full[1:])
            if not mine or not theirs or len(mine | theirs) == 1:
                continue
            files = (self.base, self.ours, self.theirs, merged)
            try:
                flaw = discrepancy(*(_statements(file, scope) for file in files))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                flaw = None if merged.newer else "it does not parse by itself"
            if flaw is not None:
                where = min(mine | theirs)
                return Conflict((where,), f"with the statements of both sides {flaw}")
        return None

    def _flaw(
        self, merged: SourceFile, order: Sequence[NodeId], parts: Sequence[bytes]
    ) -> Conflict | None:
        ids = tuple(node.id for node in merged.nodes)
        texts = [merged.data[node.start : node.end] for node in merged.nodes]
        if [*map(_unanchored, ids)] != [*map(_unanchored, order)] or texts != list(parts):
            wrong = tuple(id for id in order if id not in ids) or (self.base.id,)
            return Conflict(wrong, "the edits of both sides do not fit together")
        why = compiles if self.language is None else why_invalid
        reason = why(merged)
        if reason is not None and why(self.ours) is None and why(self.theirs) is None:
            return Conflict((self.base.id,), f"with the edits of both sides: {reason}")
        return None


def _by_id(file: SourceFile, known: Mapping[NodeId, Node]) -> dict[NodeId, Node]:
    """Return the nodes of a side by the ids that the base has for them.

    A run of statements is named after the definition before it, so that a new definition renames
    it: it is the run of the last definition before it that the base knows.
    """
    found = {node.id: node for node in file.nodes}
    named: dict[NodeId, Node] = {}
    last: dict[str, str] = {}
    for node in file.nodes:
        scope, leaf = _scope(node.id), node.id.symbol.rpartition(".")[2]
        id = node.id
        if node.kind in _RUNS and leaf.startswith("@body") and id not in known:
            anchor = last.get(scope, "")
            prefix = f"{scope}." if scope else ""
            was = NodeId(id.path, f"{prefix}@body:{anchor}" if anchor else f"{prefix}@body")
            if was in known and was not in found and was not in named:
                id = was
        elif node.names and node.kind not in _RUNS and id in known:
            last[scope] = node.names[0] if node.kind is not NodeKind.HEADER else ""
        named[id] = node
    return named


def _unanchored(id: NodeId) -> str:
    """Return a symbol without the definition after which a run of statements is named."""
    head, mark, _ = id.symbol.partition("@body:")
    return f"{head}@body" if mark else id.symbol


def _is_sorted(ids: Sequence[NodeId]) -> bool:
    """Whether entries are sorted, and are enough to tell."""
    symbols = [id.symbol for id in ids if not id.symbol.startswith("@")]
    return len(symbols) >= _TELLING and symbols == sorted(symbols)


def _statements(file: SourceFile, scope: str) -> str:
    """Return the text of a file or class without its definitions."""
    kinds = (*_RUNS, NodeKind.HEADER)
    return "".join(
        decode(file, node.id)
        for node in file.nodes
        if node.kind in kinds and _scope(node.id) == scope
    )


def _scope(id: NodeId) -> str:
    return id.symbol.rpartition(".")[0]


def _may_precede(id: NodeId, other: NodeId) -> bool:
    """Whether `id` may stand before `other` without cutting off what `other` lies in."""
    scope = _scope(other)
    return not scope or f"{_scope(id)}.".startswith(f"{scope}.")


def _may_follow(id: NodeId, other: NodeId) -> bool:
    """Whether `id` may stand after `other` and still be in the class it belongs to."""
    scope = _scope(id)
    return not scope or other.symbol.startswith(f"{scope}.")


def _trim(text: bytes) -> bytes:
    return text.strip(b" \t\r\n\x0c")


def _parts(text: bytes) -> tuple[bytes, bytes, bytes]:
    """Part a node into the blank lines before it, itself, and the blank lines after it."""
    lines = text.splitlines(keepends=True)
    first, last = 0, len(lines)
    while first < last and is_blank(lines[first]):
        first += 1
    while first < last and is_blank(lines[last - 1]):
        last -= 1
    return b"".join(lines[:first]), b"".join(lines[first:last]), b"".join(lines[last:])


def _merge_part(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Merge three ways; None: both sides changed it. The last newline is nobody's change."""
    bare = [part.rstrip(b"\r\n") for part in (base, ours, theirs)]
    if not any(bare):
        bare = [base, ours, theirs]
    if bare[1] == bare[2] or bare[2] == bare[0]:
        return ours
    return theirs if bare[1] == bare[0] else None
