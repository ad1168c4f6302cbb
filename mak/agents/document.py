"""The reply as it travels: one JSON object, one schema for every agent and every task.

Nodes are called by slot (``n1`` … ``n24``), so that the schema is the same bytes in every call —
endpoints cache its grammar and the prompt before it — and so that no id can be invented. Every
field is required, none may be null: ``""`` and ``[]`` mean none. That subset is what strict modes
of all vendors share.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
)

#: Nodes that one reply can speak about.
MAX_SLOTS = 24
SLOT_NAMES = tuple(f"n{i}" for i in range(1, MAX_SLOTS + 1))


def _known(name: str, info: ValidationInfo) -> str:
    """Let ids through where `free` says so: scripts may write them instead of slots."""
    free = bool(info.context and info.context.get("free"))
    if not free and name not in SLOT_NAMES:
        raise ValueError(f"{name!r} is not a slot (n1 to n{MAX_SLOTS})")
    return name


def _known_or_empty(name: str, info: ValidationInfo) -> str:
    return _known(name, info) if name else name


SlotName = Annotated[
    str,
    AfterValidator(_known),
    WithJsonSchema({"type": "string", "enum": list(SLOT_NAMES)}),
]
SlotOrNone = Annotated[
    str,
    AfterValidator(_known_or_empty),
    WithJsonSchema({"type": "string", "enum": ["", *SLOT_NAMES]}),
]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class Result(_Part):
    """What became of one slot."""

    node: SlotName
    status: Literal["edited", "no_changes_required", "needs_locks", "failed"]
    new_source: str = Field(description="The whole new text of the node when edited, else empty.")
    reason: str = Field(description="Why, for every status but edited.")


class NewNode(_Part):
    """A function, class or name that no slot stands for."""

    parent: SlotName = Field(description="A slot in the same file; for a method, in its class.")
    after: SlotOrNone = Field(description="The slot to come right after, or empty.")
    kind: Literal["function", "method", "class", "assignment"]
    source: str


class Import(_Part):
    """An import statement for the file that holds a slot."""

    module_of: SlotName
    statement: str


class Removal(_Part):
    """A node to delete."""

    node: SlotName
    reason: str


class NeedsLock(_Part):
    """A node that has to be seen or changed and is not granted."""

    symbol: str = Field(description="Its id, written path::name.")
    mode: Literal["read", "write"]
    why: str


class ReplyDocument(_Part):
    """An agent's whole answer to one task."""

    results: list[Result] = Field(description="One entry for every slot.")
    new_nodes: list[NewNode]
    imports: list[Import]
    deletes: list[Removal]
    needs_locks: list[NeedsLock]
    notes: str = Field(description="One or two sentences for the person who reviews this.")


@cache
def _schema() -> dict[str, Any]:
    return ReplyDocument.model_json_schema()


def reply_schema() -> dict[str, Any]:
    """Return the JSON schema of a reply; the same for every agent."""
    return dict(_schema())


#: What an absent field means; strict endpoints never leave one out, weak models do.
_ABSENT: dict[str, dict[str, Any]] = {
    "results": {"new_source": "", "reason": ""},
    "new_nodes": {"after": ""},
    "imports": {},
    "deletes": {"reason": ""},
    "needs_locks": {"why": ""},
}


def complete(data: dict[str, Any]) -> dict[str, Any]:
    """Fill in the fields whose absence can only mean "none"; ``results`` is not one of them."""
    filled: dict[str, Any] = {"notes": "", **data}
    for name, absent in _ABSENT.items():
        if name != "results":
            filled.setdefault(name, [])
        if isinstance(filled.get(name), list):
            filled[name] = [
                {**absent, **item} if isinstance(item, dict) else item for item in filled[name]
            ]
    return filled
