"""A planner's answer: its schema, and what it says or why it cannot be read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mak.model import Plan, ReplyStatus, Usage
from mak.plan.document import to_task


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back from one call to a planner."""

    text: str
    #: `EDITED` when `text` is a whole answer.
    status: ReplyStatus
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    #: What the endpoint said about an answer that is none.
    detail: str = ""


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class TaskReply(_Part):
    """One agent's share of the request."""

    id: str = Field(description="Short and unique: t1, t2, ...")
    goal: str = Field(
        description="What to do and why, complete: the agent sees this, the request and its nodes."
    )
    writes: list[str] = Field(default=[], description="Ids of nodes to change.")
    reads: list[str] = Field(default=[], description="Ids of nodes to see.")
    creates: list[str] = Field(default=[], description="Ids of files and symbols to be made.")
    depends_on: list[str] = Field(default=[], description="Ids of tasks it builds on.")


class PlanReply(_Part):
    """A planner's whole answer."""

    decisions: list[str] = Field(
        default=[], description="Names, signatures and conventions that every task keeps to."
    )
    atomic: bool = Field(
        default=False, description="Whether the change is worthless unless every task lands."
    )
    tasks: list[TaskReply] = Field(description="Empty when there is nothing to do.")
    questions: list[str] = Field(
        default=[], description="What must be known before planning, or why there is no task."
    )
    #: Said only by planners that see the whole repository; models are not asked.
    complete: bool = False

    def plan(self, request: str) -> Plan:
        """Return the plan it proposes."""
        return Plan(
            request,
            tuple(map(to_task, self.tasks)),
            tuple(text.strip() for text in self.decisions if text.strip()),
            self.atomic,
            self.complete,
        )


@cache
def _schema() -> dict[str, Any]:
    schema = PlanReply.model_json_schema()
    del schema["properties"]["complete"]
    for part in (schema, *schema["$defs"].values()):
        part["required"] = list(part["properties"])
        for property_ in part["properties"].values():
            property_.pop("default", None)
    return schema


def plan_reply_schema() -> dict[str, Any]:
    """Return the JSON schema that a planner's answer is held to.

    Every field is required, none may be null and no object has free keys: what the strict modes of
    all vendors share. Reading is more lenient: an absent list is an empty one.
    """
    return dict(_schema())


def read_reply(answer: Answer) -> PlanReply | str:
    """Return what a planner said, or in one line why that cannot be told."""
    data = _object(answer.text)
    if isinstance(data, str):
        return data
    try:
        return PlanReply.model_validate(data)
    except ValidationError as error:
        wrong = [
            f"{'.'.join(map(str, item['loc']))}: {str(item['msg']).lower()}"
            for item in error.errors()
        ]
        more = f" (and {len(wrong) - 5} more)" if len(wrong) > 5 else ""
        return f"the answer does not fit the schema: {'; '.join(wrong[:5])}{more}"


def _encodable(data: dict[str, Any]) -> dict[str, Any] | str:
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "the answer holds half a character (a lone surrogate)"
    return data


_BEGINS = re.compile(r"^[ \t]*\{", re.MULTILINE)


def _object(text: str) -> dict[str, Any] | str:
    """Find the JSON object in an answer, which may stand in prose or in a code fence."""
    starts = [match.end() - 1 for match in _BEGINS.finditer(text)]
    if "{" in text and text.index("{") not in starts:
        starts.insert(0, text.index("{"))
    decoder = json.JSONDecoder(strict=False)
    reason = ""
    for start in starts[:5]:
        try:
            data, _ = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            reason = reason or f"the answer is not JSON: {error.msg} at character {error.pos}"
        except RecursionError:
            return "the answer is not JSON that can be read: nested too deeply"
        else:
            if "tasks" in data:
                return _encodable(dict(data))
            reason = reason or "the answer does not fit the schema: tasks is missing"
    return reason or "the answer holds no JSON object"
