"""The record of a run: what was asked, answered and decided, in documents that Git keeps.

Documents of a run: ``meta.json``, ``plan.json`` (as approved), ``repair-<n>.json`` (repair plans as
approved, with what was broken before each), ``log-<n>.jsonl`` and ``outcome.json``, which is absent
until the run has ended. The log holds what happened, in order, one JSON object a line: events by
their names (``{"t", "event", …}``), and every reply whole, with the digests of what its agent was
shown, and the tasks whose edits were in that (``{"t", "task", "attempt", "reply", "shown",
"above"}``). Lines are added to the last of its documents
until that is long enough, since what costs is the number of Git objects; what came together goes in
by one commit.

Invariant: a reply is in Git before anything judges it.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mak.agents import reply_from_json, reply_to_json
from mak.events import (
    Event,
    ReplyParked,
    ReplyRejected,
    ReplyUnused,
    Spent,
    TaskFailed,
    TaskSkipped,
    TaskWidened,
    from_json,
    to_json,
)
from mak.model import (
    Finding,
    NodeId,
    Outcome,
    Plan,
    RepairStop,
    Reply,
    RunState,
    Spend,
    TaskOutcome,
    TaskState,
    Usage,
    WaveOutcome,
)
from mak.plan import parse_plan, plan_document
from mak.providers import secrets
from mak.source import Shown
from mak.store import Store

_LOG = "log-"
_REPAIR = "repair-"
#: Bytes after which a document of the log is not added to any more.
_LONG = 16 * 1024


@dataclass(frozen=True, slots=True)
class Meta:
    """What a run was started with."""

    run: str
    request: str
    branch: str
    base: str
    models: tuple[str, ...]
    planner: str
    max_agents: int
    #: Unix seconds.
    started: float
    version: str


@dataclass(frozen=True, slots=True)
class Parked:
    """A reply in Git, with what its agent was shown."""

    reply: Reply
    shown: Shown


@dataclass(slots=True)
class RunLog:
    """Collects documents and events of one run and writes them in as few commits as it may."""

    store: Store
    run: str
    listener: Callable[[Event], None]
    _documents: dict[str, bytes] = field(default_factory=dict)
    #: Lines that no commit holds.
    _lines: list[bytes] = field(default_factory=list)
    #: Number and text of the log's last document.
    _number: int = 0
    _text: bytes = b""

    @classmethod
    def start(cls, store: Store, meta: Meta, listener: Callable[[Event], None]) -> RunLog:
        """Begin the record of a run."""
        store.start_run(meta.run, {"meta.json": _dump(dataclasses.asdict(meta))})
        return cls(store, meta.run, listener)

    @classmethod
    def resume(cls, store: Store, run: str, listener: Callable[[Event], None]) -> RunLog:
        """Go on with the record of an unfinished run."""
        return cls(store, run, listener, _number=len(store.run_documents(run, _LOG)))

    def emit(self, event: Event) -> None:
        """Show an event now and record it with the next `flush`."""
        self._note(to_json(event))
        self.listener(event)

    def keep(self, event: Event) -> None:
        """Show an event and record it at once, where nothing else comes soon to be recorded."""
        self._note(to_json(event))
        self.flush()
        self.listener(event)

    def keep_plan(self, plan: Plan) -> None:
        """Record the plan as it was approved, at once: from here on the run can be recovered."""
        self._documents["plan.json"] = _dump(plan_document(plan))
        self.flush()

    def keep_repair(self, number: int, plan: Plan, broken: Collection[str]) -> None:
        """Record repair plan `number` as it was approved, and what was broken before it."""
        document = {"plan": plan_document(plan), "broken": sorted(broken)}
        self._documents[f"{_REPAIR}{number:03}.json"] = _dump(document)
        self.flush()

    def park(self, task: str, attempt: int, parked: Parked) -> None:
        """Keep a reply with the next `flush`, which must come before the reply is judged."""
        reply = reply_to_json(parked.reply)
        shown = dict(parked.shown.digests)
        line = {"task": task, "attempt": attempt, "reply": reply, "shown": shown}
        if parked.shown.tasks:
            line["above"] = list(parked.shown.tasks)
        self._note(line)

    def finish(self, outcome: Outcome) -> None:
        """Record how the run ended."""
        self._documents["outcome.json"] = _dump(outcome_json(outcome))
        self.flush()

    def flush(self) -> None:
        """Write everything collected in one commit."""
        text = self._text + b"".join(self._lines)
        if self._lines:
            self._documents[f"{_LOG}{self._number:06}.jsonl"] = text
        if self._documents:
            self.store.record(self.run, self._documents)
            self._documents, self._lines = {}, []
            full = len(text) >= _LONG
            self._number, self._text = self._number + full, b"" if full else text

    def _note(self, fields: Mapping[str, Any]) -> None:
        self._lines.append(_dump({"t": round(time.time(), 3), **fields}) + b"\n")


def read_meta(store: Store, run: str) -> Meta | None:
    """Read what a run was started with; None when there is no such run."""
    data = store.run_document(run, "meta.json")
    if data is None:
        return None
    fields = json.loads(data)
    return Meta(**{**fields, "models": tuple(fields["models"])})


def read_plan(store: Store, run: str) -> Plan | None:
    """Read the plan that a run carries out; None while none is approved."""
    data = store.run_document(run, "plan.json")
    return None if data is None else parse_plan(json.loads(data))


def read_repairs(store: Store, run: str) -> list[tuple[Plan, frozenset[str]]]:
    """Read the repair plans of a run, in order, each with what was broken before it."""
    documents = sorted(store.run_documents(run, _REPAIR).items())
    found = [json.loads(data) for _, data in documents]
    return [(parse_plan(each["plan"]), frozenset(each["broken"])) for each in found]


def read_spent(store: Store, run: str) -> tuple[Spend, ...]:
    """Return what a run has taken so far, in order."""
    return tuple(
        Spend(event.task, event.wave, event.model, event.usage)
        for _, event in read_events(store, run)
        if isinstance(event, Spent)
    )


def read_replies(store: Store, run: str) -> dict[tuple[str, int], Parked]:
    """Read every parked reply, by task and attempt."""
    return {
        (line["task"], line["attempt"]): Parked(
            reply_from_json(line["reply"]), Shown(line["shown"], tuple(line.get("above", ())))
        )
        for line in _lines(store, run)
        if "reply" in line
    }


def read_events(store: Store, run: str) -> Iterator[tuple[float, Event]]:
    """Yield the events of a run with their times (Unix seconds), oldest first."""
    for line in _lines(store, run):
        if "event" in line:
            yield line.pop("t"), from_json(line)


def unused(
    run: str,
    parked: Collection[tuple[str, int]],
    used: Collection[tuple[str, int]],
    told: Iterable[Event],
    reason: str,
) -> Iterator[ReplyUnused]:
    """Yield the answers that are parked and not used, by task and attempt, each with the reason.

    `told` is what happened during the run; what it says nothing of is unused for `reason`.
    """
    why: dict[tuple[str, int], str] = {}
    last: dict[str, str] = {}
    asked: dict[str, int] = {}
    for event in told:
        match event:
            case ReplyParked(task, attempt):
                asked[task] = attempt
            case ReplyRejected(task, attempt, check, said):
                why[task, attempt] = f"{check}: {said}"
            case TaskWidened(task, nodes) if task in asked:
                why[task, asked[task]] = f"asked again with {', '.join(nodes)}"
            case TaskFailed(task, said):
                last[task] = said
            case TaskSkipped(task, because):
                last[task] = f"depends on {because}, which failed"
    for task, attempt in sorted({*parked} - {*used}):
        said = why.get((task, attempt)) or last.get(task) or reason
        yield ReplyUnused(task, attempt, said, f"mak show {run} --task {task}")


def _lines(store: Store, run: str) -> Iterator[dict[str, Any]]:
    for _, data in sorted(store.run_documents(run, _LOG).items()):
        yield from map(json.loads, data.splitlines())


def read_outcome(store: Store, run: str) -> dict[str, Any] | None:
    """Read how a run ended, as `outcome_json` wrote it; None while it has not."""
    data = store.run_document(run, "outcome.json")
    return None if data is None else json.loads(data)


def is_unfinished(store: Store, run: str) -> bool:
    """Whether ``--recover`` can go on with this run."""
    outcome = read_outcome(store, run)
    return outcome is None or outcome["state"] in (RunState.INTERRUPTED, RunState.HELD)


def is_recoverable(store: Store, run: str) -> bool:
    """Whether a run is unfinished and there is something to go on with: an approved plan."""
    return is_unfinished(store, run) and store.run_document(run, "plan.json") is not None


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as the document that ``--json`` prints and the run keeps."""
    return {
        "run": outcome.run,
        "state": str(outcome.state),
        "base": outcome.base,
        "head": outcome.head,
        "waves": [{"commit": w.commit, "tasks": list(w.tasks)} for w in outcome.waves],
        "tasks": {
            task: {
                "state": str(o.state),
                "attempts": o.attempts,
                "reason": o.reason,
                "usage": dataclasses.asdict(o.usage),
            }
            for task, o in outcome.tasks.items()
        },
        "findings": [
            {"check": f.check, "node": str(f.node), "line": f.line, "message": f.message}
            for f in outcome.findings
        ],
        "usage": dataclasses.asdict(outcome.usage),
        "cost": outcome.usage.cost,
        "spent": spent_json(outcome.spent),
        "reason": outcome.reason,
        "stopped": str(outcome.stopped or ""),
    }


def spent_json(spent: Sequence[Spend]) -> dict[str, Any]:
    """Return what was spent: each question, and sums by model, wave (0: planning) and task."""
    return {
        "questions": [dataclasses.asdict(spend) for spend in spent],
        **{
            f"by_{name}": {
                key: {**dataclasses.asdict(usage), "cache_hit_rate": usage.cache_hit_rate}
                for key, usage in spent_by(spent, name).items()
            }
            for name in ("model", "wave", "task")
        },
        "cache_hit_rate": sum((spend.usage for spend in spent), Usage()).cache_hit_rate,
    }


def spent_by(spent: Sequence[Spend], name: Literal["model", "wave", "task"]) -> dict[str, Usage]:
    """Return what was spent by one part of `Spend`, in the order of the first question."""
    sums: dict[str, Usage] = {}
    for spend in spent:
        key = str(getattr(spend, name))
        sums[key] = sums.get(key, Usage()) + spend.usage
    return sums


def outcome_from_json(data: Mapping[str, Any]) -> Outcome:
    """Read what `outcome_json` wrote."""
    return Outcome(
        run=data["run"],
        state=RunState(data["state"]),
        base=data["base"],
        head=data["head"],
        waves=tuple(WaveOutcome(w["commit"], tuple(w["tasks"])) for w in data["waves"]),
        tasks={
            task: TaskOutcome(
                TaskState(o["state"]), o["attempts"], o["reason"], Usage(**o["usage"])
            )
            for task, o in data["tasks"].items()
        },
        findings=tuple(
            Finding(f["check"], NodeId.parse(f["node"]), f["message"], f["line"])
            for f in data["findings"]
        ),
        usage=Usage(**data["usage"]),
        reason=data["reason"],
        spent=tuple(
            Spend(s["task"], s["wave"], s["model"], Usage(**s["usage"]))
            for s in data.get("spent", {}).get("questions", ())
        ),
        stopped=RepairStop(data["stopped"]) if data.get("stopped") else None,
    )


def _dump(data: Mapping[str, Any]) -> bytes:
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    # Whatever a server, a person or a model has put there: no key gets into a ref.
    return secrets.redact_content(text).encode()
