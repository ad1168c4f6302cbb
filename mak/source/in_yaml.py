"""YAML: the keys of the outermost mapping are the nodes; it is only cut and spliced."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mak.source.entries import Entry, Structured
from mak.source.items import Row
from mak.source.spans import Span, bracketed, line_start, lined

if TYPE_CHECKING:
    import yaml

_SUFFIXES = (".yaml", ".yml")
#: Levels below which a reader gives up.
_DEEPEST = 60


class _Reader:
    def __init__(self, data: bytes) -> None:
        import yaml

        self.data = data
        self.text = data.decode("utf-8")
        lines = data.splitlines(keepends=True)
        if len(lines) != len(self.text.splitlines()):
            raise ValueError("has line ends that only YAML knows")
        self.starts: list[int] = [0]
        for line in lines:
            self.starts.append(self.starts[-1] + len(line))
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            found = list(yaml.compose_all(self.text, Loader=loader))
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            where = f" (line {mark.line + 1})" if mark else ""
            raise ValueError(f"is not YAML: {error.problem or error.context}{where}") from error
        except yaml.YAMLError as error:
            raise ValueError(f"is not YAML: {' '.join(str(error).split())}") from error
        self.roots: list[yaml.Node] = [root for root in found if root is not None]
        #: A repeated node stands where it was first written, so that its places say nothing.
        self.repeats = b"*" in data and any(
            isinstance(event, yaml.AliasEvent) for event in yaml.parse(self.text, Loader=loader)
        )

    def at(self, mark: Any) -> int:
        """Return the offset of a place that the parser reports by line and column."""
        number, column = int(mark.line), int(mark.column)
        start = self.starts[number]
        if self.data.isascii():
            return start + column
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.data)
        line = self.data[start:end].decode("utf-8")
        return start + len(line[:column].encode())

    def line(self, offset: int) -> int:
        """Return the 0-based line that holds an offset."""
        return bisect_right(self.starts, offset) - 1

    def end(self, node: yaml.Node, depth: int = 0) -> int:
        """Return where the last character of a node is."""
        if depth > _DEEPEST:
            raise ValueError("is nested too deeply")
        if getattr(node, "flow_style", None) is False and node.value:
            last = node.value[-1]
            if isinstance(last, tuple):
                return max(self.end(last[0], depth + 1), self.end(last[1], depth + 1))
            return self.end(last, depth + 1)
        end = self.at(node.end_mark)
        start = self.at(node.start_mark)
        return start + len(self.data[start:end].rstrip()) if end > start else start

    def row(self, node: yaml.Node, label: str, depth: int = 0) -> Row | None:
        """Return the items of a mapping or a sequence; None where they share lines."""
        import yaml

        if not isinstance(node, yaml.MappingNode | yaml.SequenceNode) or depth > _DEEPEST:
            return None
        if node.flow_style:
            return self.flow(node, label)
        spans: list[Span] = []
        for item in node.value:
            pair = item if isinstance(item, tuple) else (None, item)
            span = self.span(pair, label, depth)
            if span is None:
                return None
            spans.append(span)
        row = lined(self.data, line_start(self.data, spans[0].start), spans[-1].end, spans)
        first = row.items[0]
        begin = first.line
        row.start = first.start = begin
        row.label = label
        row.orders = (lambda item: item.name or item.text,)
        return row

    def span(self, pair: tuple[yaml.Node | None, yaml.Node], label: str, depth: int) -> Span | None:
        key, value = pair
        if key is not None:
            start = self.at(key.start_mark)
            name = str(key.value)
            colon = self.data.find(b":", self.end(key)) + 1
            end = max(self.end(value), colon) if value.value else colon
            end = max(end, self.at(value.end_mark) if not _is_block(value) else 0, colon)
            end = start + len(self.data[start:end].rstrip())
        else:
            start = self.data.rfind(b"-", 0, self.at(value.start_mark) + 1)
            name = _item_name(value)
            end = max(self.end(value), start + 1)
        lead = self.data[line_start(self.data, start) : start]
        if lead.strip() or self.starts[value.start_mark.line] > end > self.starts[-1]:
            return None
        below = value.start_mark.line > (key or value).start_mark.line
        is_flow = bool(getattr(value, "flow_style", False))
        inner = None
        if key is not None and (below or is_flow):
            inner = self.row(value, f"`{name}`", depth + 1)
        rows = (inner,) if inner is not None else ()
        return Span(start, end, -1, name, f"the key `{name}`" if key else "", rows)

    def flow(self, node: yaml.Node, label: str) -> Row:
        """Return what stands in ``[…]`` or ``{…}``."""
        start, end = self.at(node.start_mark) + 1, self.at(node.end_mark) - 1
        spans: list[Span] = []
        for item in node.value:
            pair = item if isinstance(item, tuple) else (None, item)
            first = pair[0] or pair[1]
            begin, stop = self.at(first.start_mark), self.at(pair[1].end_mark)
            behind = stop + len(self.data[stop:end]) - len(self.data[stop:end].lstrip())
            comma = behind if self.data[behind : behind + 1] == b"," else -1
            name = str(pair[0].value) if pair[0] is not None else ""
            spans.append(Span(begin, stop, comma, name, f"the key `{name}`" if name else "", ()))
        row = bracketed(self.data, start, end, spans)
        row.label = label
        row.may_wrap = True
        return row


def _is_block(node: yaml.Node) -> bool:
    return getattr(node, "flow_style", None) is False


def _item_name(node: Any) -> str:
    """Return an item of a sequence by its first key, as people tell such items apart."""
    if isinstance(node.value, list) and node.value and isinstance(node.value[0], tuple):
        key, value = node.value[0]
        if isinstance(value.value, str):
            return f"{key.value}: {value.value}"
    return ""


def _read(data: bytes) -> Sequence[Entry]:
    import yaml

    reader = _Reader(data)
    if len(reader.roots) != 1 or not isinstance(reader.roots[0], yaml.MappingNode):
        return ()
    root = reader.roots[0]
    if root.flow_style or not root.value or any(k.start_mark.column for k, _ in root.value):
        return ()
    entries: list[Entry] = []
    for key, value in root.value:
        span = reader.span((key, value), "", 0)
        if span is None or not isinstance(key, yaml.ScalarNode):
            return ()
        first, last = key.start_mark.line, reader.line(span.end - 1) + 1
        if entries and first < entries[-1].end:
            return ()
        entries.append(Entry(str(key.value), first, last))
    return [*_stretched(entries, data.splitlines())] if reader.repeats else entries


def _stretched(entries: Sequence[Entry], lines: Sequence[bytes]) -> Iterator[Entry]:
    """Yield entries up to the last line before the next that is neither blank nor a comment."""
    for number, entry in enumerate(entries):
        last = entries[number + 1].start if number + 1 < len(entries) else len(lines)
        while last > entry.end and lines[last - 1].strip()[:1] in (b"", b"#"):
            last -= 1
        yield Entry(entry.name, entry.start, last)


def _row(data: bytes) -> Row:
    reader = _Reader(data)
    if reader.repeats:
        raise ValueError("repeats a node")
    if not reader.roots:
        return lined(data, 0, len(data), ())
    row = reader.row(reader.roots[0], "") if len(reader.roots) == 1 else None
    if row is None or not row.comma == b"":
        raise ValueError("has no items with lines of their own")
    row.start, row.end = 0, len(data)
    row.items[0].start = 0
    return row


def _load(data: bytes) -> Any:
    reader = _Reader(data)
    return [_plain(root) for root in reader.roots]


def _plain(node: Any) -> Any:
    """Return a node as plain data, its scalars as they are written."""
    if isinstance(node.value, list):
        if node.value and isinstance(node.value[0], tuple):
            found: dict[str, Any] = {}
            for key, value in node.value:
                name = str(_plain(key))
                if name in found and name != "<<":
                    raise ValueError(f"has the key {name!r} twice")
                found[name] = _plain(value)
            return found
        return [_plain(item) for item in node.value]
    return node.value


def _matches(path: str) -> bool:
    return path.endswith(_SUFFIXES)


YAML = Structured("yaml", 1, _matches, _read, _row, _load)
