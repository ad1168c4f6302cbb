"""Plans as documents: what a plan file holds, and what is wrong with one that cannot be read."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from mak.errors import UsageError
from mak.model import NodeId, Obligation, Plan, Task

#: Task ids name documents of the run and stand in commit trailers, separated by commas.
_TASK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def bad_task_id(text: str) -> str:
    """Return why `text` cannot be a task's id; empty when it can."""
    if _TASK_ID.fullmatch(text):
        return ""
    return (
        f"{text!r} is no task id: use up to 64 letters, digits, '.', '_' and '-', "
        "beginning with a letter or digit"
    )


def _task_id(text: str) -> str:
    if reason := bad_task_id(text):
        raise ValueError(reason)
    return text


def _node_id(text: str) -> str:
    if not text.strip() or text != text.strip() or _CONTROL.search(text):
        raise ValueError(f"{text!r} is no node id: write path/to/file.py::name")
    return text


def _whole(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("holds half a character (a lone surrogate)") from error
    return text


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("should not be empty")
    return text


_Text = Annotated[str, AfterValidator(_whole)]
_Id = Annotated[str, AfterValidator(_task_id)]
_Node = Annotated[_Text, AfterValidator(_node_id)]
_Filled = Annotated[_Text, AfterValidator(_filled)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class ObligationDocument(_Part):
    """What must not be found any more when a repair is committed."""

    check: _Filled = Field(description="Id of the check, or gate:NAME.")
    subject: _Text = Field(default="", description="What was found, in one line.")
    site: _Node | None = Field(
        default=None, description="Where; null: wherever the check finds anything."
    )
    keeps: list[_Node] = Field(default=[], description="What has to be there afterwards.")
    landed: bool = Field(default=True, description="Whether the edit in question is committed.")
    evidence: _Text = Field(default="", description="What the check or the command said.")


class TaskDocument(_Part):
    """One agent's share of the request."""

    id: _Id = Field(description="Unique in the plan; letters, digits, '.', '_' and '-'.")
    goal: _Filled = Field(description="What to do, in words that stand without the other tasks.")
    writes: list[_Node] = Field(
        default=[],
        description=(
            "What it may change: path::name for a definition, path::name#api when its signature "
            "changes too, path::Class#all for a class with its members, path for a whole file."
        ),
    )
    reads: list[_Node] = Field(default=[], description="What it only needs to see.")
    creates: list[_Node] = Field(
        default=[], description="Files and definitions that do not exist yet."
    )
    depends_on: list[_Id] = Field(default=[], description="Ids of tasks whose result it builds on.")
    model: _Text = Field(
        default="", description="Model spec that answers it; empty: the run's models in turn."
    )
    obligations: list[ObligationDocument] = Field(
        default=[], description="MAK writes these into repairs, and lets nobody take them out."
    )
    repairs: _Text = Field(default="", description="The task that a repair does again.")
    added: _Text = Field(default="", description="Why MAK added the task; empty: it did not.")


class PlanFile(_Part):
    """A plan: tasks for several agents, carried out side by side where they do not meet."""

    request: _Text = Field(default="", description="What the person asked for, in their words.")
    decisions: list[_Text] = Field(
        default=[], description="Names, signatures and conventions that every task keeps to."
    )
    atomic: bool = Field(
        default=False, description="Whether one failed task fails all that have not landed."
    )
    complete: bool = Field(
        default=False,
        description=(
            "Whether callers of what changes its signature (#api) are in the plan as far as that "
            "is wanted; else MAK adds tasks for them, after the change."
        ),
    )
    dropped: list[_Node] = Field(
        default=[], description="What no task may be given, since its tasks were taken out."
    )
    tasks: list[TaskDocument] = Field(description="In the order in which they should be preferred.")


def parse_plan(data: Any) -> Plan:
    """Read a plan from the data of a YAML or JSON document.

    Raises `UsageError` that names task and key for each thing that is wrong, with the nearest key
    for an unknown one. Whether the plan fits the repository is for `ground` to say.
    """
    if data is None:
        raise UsageError("reading the plan: the document is empty", hint="mak schema plan")
    try:
        found = PlanFile.model_validate(data)
    except ValidationError as error:
        reasons = "; ".join(_reason(dict(item), data) for item in error.errors())
        raise UsageError(f"reading the plan: {reasons}", hint="mak schema plan") from error
    return Plan(
        found.request,
        tuple(to_task(task, task.model) for task in found.tasks),
        tuple(found.decisions),
        found.atomic,
        found.complete,
        tuple(map(NodeId.parse, found.dropped)),
    )


def plan_document(plan: Plan) -> dict[str, Any]:
    """Return a plan as the data of a document that `parse_plan` reads back."""
    return {
        "request": plan.request,
        "decisions": list(plan.decisions),
        "atomic": plan.atomic,
        **({"complete": True} if plan.complete else {}),
        **({"dropped": list(map(str, plan.dropped))} if plan.dropped else {}),
        "tasks": [
            {
                "id": task.id,
                "goal": task.goal,
                "writes": list(map(str, task.writes)),
                "reads": list(map(str, task.reads)),
                "creates": list(map(str, task.creates)),
                "depends_on": list(task.depends_on),
                "model": task.model,
                **_repair(task),
            }
            for task in plan.tasks
        ],
    }


def _repair(task: Task) -> dict[str, Any]:
    """Return what only the document of a repair, or of a task that MAK added, holds."""
    found: dict[str, Any] = {"repairs": task.repairs} if task.repairs else {}
    if task.added:
        found["added"] = task.added
    if task.obligations:
        found["obligations"] = [
            {
                "check": each.check,
                "subject": each.subject,
                "site": None if each.site is None else str(each.site),
                "keeps": list(map(str, each.keeps)),
                "landed": each.landed,
                "evidence": each.evidence,
            }
            for each in task.obligations
        ]
    return found


def plan_schema() -> dict[str, Any]:
    """Return the JSON Schema of a plan file."""
    schema = PlanFile.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def plan_digest(plan: Plan) -> str:
    """Return what tells this plan from every other: the SHA-256 of its canonical JSON, in hex."""
    text = json.dumps(plan_document(plan), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def to_task(task: Any, model: str = "") -> Task:
    """Return the noun for a `TaskDocument` or the like of it in a planner's reply."""
    return Task(
        task.id,
        task.goal,
        tuple(map(NodeId.parse, task.writes)),
        tuple(map(NodeId.parse, task.reads)),
        tuple(map(NodeId.parse, task.creates)),
        tuple(task.depends_on),
        model,
        tuple(map(_obligation, getattr(task, "obligations", ()))),
        getattr(task, "repairs", ""),
        getattr(task, "added", ""),
    )


def _obligation(found: ObligationDocument) -> Obligation:
    return Obligation(
        found.check,
        found.subject,
        None if found.site is None else NodeId.parse(found.site),
        tuple(map(NodeId.parse, found.keeps)),
        found.landed,
        found.evidence,
    )


#: Pydantic speaks of Python's types; a document has lists, mappings and text.
_MESSAGES = {
    "list_type": "should be a list",
    "model_type": "should be a mapping of keys to values",
    "string_type": "should be text",
    "bool_type": "should be true or false",
    "missing": "is missing",
}


def _reason(item: dict[str, Any], data: Any) -> str:
    """Put one of pydantic's errors in the words of the document: task, key, what is wrong."""
    place: list[str | int] = list(item["loc"])
    where = ""
    model: type[BaseModel] = PlanFile
    if place[:1] == ["tasks"] and len(place) > 1:
        where, model = f"{_task_name(data, int(place[1]))}: ", TaskDocument
        place = place[2:]
    key = "".join(f"[{part}]" if isinstance(part, int) else str(part) for part in place)
    if item["type"] == "extra_forbidden":
        known = list(model.model_fields)
        close = difflib.get_close_matches(key.lower(), known, n=1)
        advice = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
        return f"{where}unknown key {key!r}; {advice}"
    message = _MESSAGES.get(item["type"]) or str(item["msg"]).removeprefix("Value error, ")
    return f"{where}{key} {message}" if key else f"{where}{message}"


def _task_name(data: Any, index: int) -> str:
    task = data["tasks"][index]
    name = task.get("id") if isinstance(task, Mapping) else None
    return f"task {name}" if isinstance(name, str) and name else f"task number {index + 1}"
