"""From the text of an answer to a `Reply`, or to errors that the one who answered can act on."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from mak.agents import envelope
from mak.agents.assignment import Slot
from mak.agents.document import ReplyDocument, complete, reply_schema
from mak.agents.needs import find
from mak.model import (
    AddImport,
    Aspect,
    Delete,
    Edit,
    Insert,
    Need,
    NodeId,
    Replace,
    Reply,
    ReplyStatus,
    Usage,
)

if TYPE_CHECKING:
    from mak.source.tree import Sources

__all__ = ["Malformed", "ReplyDocument", "parse", "read", "reply_schema", "to_reply"]

#: Errors shown at once; a model that is told forty fixes none.
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Malformed:
    """Why an answer cannot be used, one line each."""

    errors: tuple[str, ...]
    #: Whether it was not even JSON of the right shape.
    shapeless: bool = False

    def __str__(self) -> str:
        more = len(self.errors) - _SHOWN
        lines = [*self.errors[:_SHOWN], *([f"and {more} more"] if more > 0 else [])]
        return "; ".join(lines)


# ------------------------------------------------------------------------------------- text → JSON


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"the key {key!r} is given twice in one object")
        result[key] = value
    return result


#: Raw control characters inside strings are let through: grammar-bound local models emit them.
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_object)
#: Where prose may end and JSON begin.
_CANDIDATES = 32


def find_json(text: str) -> Any:
    """Return the JSON object of an answer, past a code fence or prose around it.

    Raises ValueError that says where it stops being JSON.
    """
    text = text.strip().removeprefix("\ufeff")
    first: ValueError | None = None
    other: Any = None
    for match in islice(re.finditer(r"\{", text), _CANDIDATES):
        try:
            value, _ = _DECODER.raw_decode(text, match.start())
        except RecursionError:
            raise ValueError("the JSON is nested too deeply") from None
        except ValueError as error:
            first = first or error
            continue
        if "results" in value:
            return value
        # A part of an object that is broken is not the answer.
        other = other or (value if first is None else None)
    if other is not None:
        return other
    if isinstance(first, json.JSONDecodeError):
        around = text[max(0, first.pos - 30) : first.pos + 10]
        raise ValueError(
            f"not JSON: {first.msg} at line {first.lineno} column {first.colno}, near {around!r}"
        )
    raise ValueError(f"not JSON: {first}" if first else "there is no JSON object in the answer")


# -------------------------------------------------------------------------------- JSON → document


def parse(text: str) -> ReplyDocument | Malformed:
    """Read the text of an answer."""
    sources = envelope.blocks(text)
    try:
        data = find_json(envelope.header(text) if sources else text)
    except ValueError as error:
        return Malformed((str(error),), shapeless=True)
    return validate(envelope.fill(data, sources) if sources else data)


def validate(data: Any, *, free: bool = False) -> ReplyDocument | Malformed:
    """Check JSON data against the schema; `free` lets node ids stand for slots."""
    if not isinstance(data, dict):
        return Malformed(("the answer is not a JSON object",), shapeless=True)
    try:
        return ReplyDocument.model_validate(complete(data), context={"free": free})
    except ValidationError as error:
        errors = (
            f"{_place(item['loc'])}: {item['msg'].removeprefix('Value error, ')}"
            for item in error.errors(include_url=False)
        )
        return Malformed(tuple(errors), shapeless=True)


def _place(location: Sequence[str | int]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.removeprefix(".") or "the answer"


# ------------------------------------------------------------------------------- document → reply


def read(
    text: str,
    slots: Sequence[Slot],
    sources: Sources | None = None,
    *,
    usage: Usage | None = None,
    model: str = "",
) -> Reply | Malformed:
    """Read the text of an answer to a task with these slots."""
    document = parse(text)
    if isinstance(document, Malformed):
        return document
    return to_reply(document, slots, sources, usage=usage, model=model, raw=text)


def to_reply(
    document: ReplyDocument,
    slots: Sequence[Slot],
    sources: Sources | None = None,
    *,
    usage: Usage | None = None,
    model: str = "",
    raw: str = "",
    free: bool = False,
) -> Reply | Malformed:
    """Turn a document into edits of nodes.

    Every slot has to be accounted for, once; what it needs has to be in `sources`, if they are
    given. With `free`, ids may stand for slots, also ids that
    were not granted, and slots may be left out.
    """
    reading = _Reading({slot.name: slot for slot in slots}, sources, free)
    reading.results(document)
    reading.additions(document)
    reading.finish(document)
    if reading.errors:
        return Malformed(tuple(reading.errors))
    return Reply(
        reading.status(document),
        tuple(reading.edits),
        tuple(reading.needs),
        " ".join(reading.reasons),
        document.notes,
        usage or Usage(),
        model,
        raw,
    )


class _Reading:
    """One document on its way to a reply; collects every error, not only the first."""

    def __init__(self, slots: dict[str, Slot], sources: Sources | None, free: bool) -> None:
        self.slots = slots
        self.sources = sources
        self.free = free
        self.edits: list[Edit] = []
        self.needs: list[Need] = []
        self.reasons: list[str] = []
        self.errors: list[str] = []
        #: Slots or ids that have a result or are deleted.
        self.seen: dict[str, str] = {}

    def slot(self, name: str, place: str) -> Slot | None:
        """Find what `name` stands for, or note that there is no such slot."""
        if name in self.slots:
            return self.slots[name]
        if self.free:
            node = NodeId.parse(name)
            for slot in self.slots.values():
                if node in (slot.node, slot.node.api):
                    return slot
            return Slot(name, node.node if node.aspect is Aspect.API else node, "", exists=True)
        known = ", ".join(self.slots) or "none"
        self.errors.append(f"{place}: {name} is not a slot of this task ({known})")
        return None

    def once(self, slot: Slot, place: str) -> None:
        """Note that `slot` is accounted for; twice is an error."""
        if slot.name in self.seen:
            self.errors.append(f"{place}: {slot.name} already has {self.seen[slot.name]}")
        self.seen[slot.name] = place

    def results(self, document: ReplyDocument) -> None:
        for i, removal in enumerate(document.deletes):
            place = f"deletes[{i}]"
            slot = self.slot(removal.node, place)
            if slot is None:
                continue
            self.once(slot, place)
            if not slot.exists:
                self.errors.append(f"{place}: {slot.name} does not exist, so it cannot be deleted")
            self.edits.append(Delete(slot.node))
        for i, result in enumerate(document.results):
            place = f"results[{i}]"
            slot = self.slot(result.node, place)
            if slot is None:
                continue
            deleted = self.seen.get(slot.name, "").startswith("deletes")
            if deleted and result.status != "edited":
                continue
            self.once(slot, place)
            match result.status:
                case "edited":
                    self.edited(slot, result.new_source, place)
                case "no_changes_required":
                    self.unchanged(slot, result.new_source, result.reason, place)
                case "needs_locks":
                    if not document.needs_locks:
                        self.errors.append(
                            f"{place}: {slot.name} needs locks, but needs_locks names none"
                        )
                    self.reasons.append(result.reason)
                case "failed":
                    if not result.reason.strip():
                        self.errors.append(f"{place}: {slot.name} failed without a reason")
                    self.reasons.append(result.reason)

    def edited(self, slot: Slot, source: str, place: str) -> None:
        if not source.strip() and not slot.node.is_file:
            self.errors.append(
                f"{place}: {slot.name} is edited, but new_source is empty; "
                "to remove a node name it in deletes"
            )
        self.check_text(source, f"{place}.new_source")
        if slot.exists or slot.node.is_file:
            self.edits.append(Replace(slot.node, source))
        else:
            self.edits.append(Insert(scope(slot.node), source))

    def unchanged(self, slot: Slot, source: str, reason: str, place: str) -> None:
        if source.strip() and source.strip() != slot.source.strip():
            self.errors.append(
                f"{place}: {slot.name} says no_changes_required, but new_source differs; use edited"
            )
        if not reason.strip():
            self.errors.append(f"{place}: {slot.name} needs no change, but gives no reason")
        self.reasons.append(reason)

    def additions(self, document: ReplyDocument) -> None:
        for i, new in enumerate(document.new_nodes):
            place = f"new_nodes[{i}]"
            parent = self.slot(new.parent, f"{place}.parent")
            after = self.slot(new.after, f"{place}.after") if new.after else None
            if parent is None:
                continue
            home = self.home(new.parent, parent, new.kind, place)
            if not new.source.strip():
                self.errors.append(f"{place}: source is empty")
            self.check_text(new.source, f"{place}.source")
            if after and after.node.path != home.path:
                self.errors.append(f"{place}: {after.name} is not in {home.path}")
            beside = after.node.node if after and scope(after.node) == home else None
            self.edits.append(Insert(home, new.source, beside))
        for i, added in enumerate(document.imports):
            slot = self.slot(added.module_of, f"imports[{i}].module_of")
            statement = added.statement.strip()
            self.check_text(statement, f"imports[{i}].statement")
            if not statement.startswith(("import ", "from ")):
                self.errors.append(f"imports[{i}]: {statement!r} is not an import statement")
            if slot:
                self.edits.append(AddImport(slot.node.path, statement))

    def home(self, parent: str, slot: Slot, kind: str, place: str) -> NodeId:
        """Return the file or class that a new node goes into."""
        if parent not in self.slots:
            return NodeId.parse(parent).node
        if kind != "method":
            return slot.node.file
        if slot.owner is None:
            self.errors.append(
                f"{place}: {slot.name} lies in no class, so a method cannot go there"
            )
        return slot.owner or slot.node.file

    def check_text(self, text: str, place: str) -> None:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            self.errors.append(f"{place}: holds half of a surrogate pair at {error.start}")

    def finish(self, document: ReplyDocument) -> None:
        for i, need in enumerate(document.needs_locks):
            named = NodeId.parse(need.symbol.strip()) if need.symbol.strip() else "it is empty"
            found = find(need.symbol, self.sources) if self.sources else named
            if isinstance(found, str):
                self.errors.append(f"needs_locks[{i}].symbol: {found}")
            else:
                self.needs.append(Need(found, need.mode == "write", need.why))
        if self.free:
            return
        for slot in self.slots.values():
            if slot.name not in self.seen:
                self.errors.append(f"results: {slot.name} ({slot.node}) has no entry")
        if self.needs or any(result.status == "failed" for result in document.results):
            return
        for result in document.results:
            missing = self.slots.get(result.node)
            if missing and not missing.exists and result.status == "no_changes_required":
                self.errors.append(
                    f"results: {missing.name} ({missing.node}) does not exist yet; write it"
                )

    def status(self, document: ReplyDocument) -> ReplyStatus:
        if any(result.status == "failed" for result in document.results):
            return ReplyStatus.REFUSED
        if self.needs:
            return ReplyStatus.NEEDS
        return ReplyStatus.EDITED if self.edits else ReplyStatus.UNCHANGED


def scope(node: NodeId) -> NodeId:
    """Return what holds a node: its class, else its file."""
    return NodeId(node.path, node.symbol.rpartition(".")[0])
