"""A `Reply` as JSON-ready data, for parking it in the run log before anything judges it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from mak.errors import MakBug
from mak.model import (
    AddImport,
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


def reply_to_json(reply: Reply) -> dict[str, Any]:
    """Return `reply` whole, as data that `json.dumps` takes."""
    return {
        "status": reply.status.value,
        "edits": [_edit_to_json(edit) for edit in reply.edits],
        "needs": [{**asdict(need), "node": str(need.node)} for need in reply.needs],
        "reason": reply.reason,
        "notes": reply.notes,
        "usage": asdict(reply.usage),
        "model": reply.model,
        "raw": reply.raw,
    }


def reply_from_json(data: dict[str, Any]) -> Reply:
    """Read what `reply_to_json` wrote."""
    return Reply(
        status=ReplyStatus(data["status"]),
        edits=tuple(_edit_from_json(edit) for edit in data["edits"]),
        needs=tuple(
            Need(NodeId.parse(need["node"]), need["write"], need["why"]) for need in data["needs"]
        ),
        reason=data["reason"],
        notes=data["notes"],
        usage=Usage(**data["usage"]),
        model=data["model"],
        raw=data["raw"],
    )


def _edit_to_json(edit: Edit) -> dict[str, Any]:
    match edit:
        case Replace(node, source):
            return {"edit": "replace", "node": str(node), "source": source}
        case Insert(parent, source, after):
            return {
                "edit": "insert",
                "parent": str(parent),
                "source": source,
                "after": str(after) if after else "",
            }
        case AddImport(path, statement):
            return {"edit": "import", "path": path, "statement": statement}
        case Delete(node):
            return {"edit": "delete", "node": str(node)}


def _edit_from_json(data: dict[str, Any]) -> Edit:
    match data["edit"]:
        case "replace":
            return Replace(NodeId.parse(data["node"]), data["source"])
        case "insert":
            after = NodeId.parse(data["after"]) if data["after"] else None
            return Insert(NodeId.parse(data["parent"]), data["source"], after)
        case "import":
            return AddImport(data["path"], data["statement"])
        case "delete":
            return Delete(NodeId.parse(data["node"]))
    raise MakBug(f"reading a parked reply: unknown edit in {data!r}")
