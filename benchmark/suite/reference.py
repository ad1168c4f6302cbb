"""Answers from the reference implementations, with a set rate of each kind of mistake.

Stands in for a model: it reads what a model would read, the prompt, and finds by the ids in it
which tasks it is about. Mistakes are drawn from the seed, the task and how often it was asked.
"""

from __future__ import annotations

import json
import random
import re
import threading
from collections import Counter
from dataclasses import dataclass

from benchmark.suite.specification import ID, Edit, Fill, Project, Row, Task

_BLOCK = re.compile(
    r"^<(?P<name>slot|task|file|why) (?P<mark>\w+) ?(?P<about>[^>\n]*)>\n"
    r"(?P<text>.*?)^</\1 (?P=mark)>",
    re.MULTILINE | re.DOTALL,
)
_SIDES = re.compile(
    r"^<<<<<<< [^\n]*\n(?P<ours>.*?)(?:^\|{7}[^\n]*\n.*?)?^=======\n"
    r"(?P<theirs>.*?)^>>>>>>> [^\n]*\n",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Rates:
    """How often something goes wrong, as shares of 1."""

    #: A function gives something else; it stays so however often it is asked for.
    wrong: float = 0.03
    #: An answer cannot be read.
    malformed: float = 0.05
    #: A planner leaves a registration out of a task's targets.
    missing: float = 0.05
    #: A contended line is lost when a conflict is resolved.
    lost: float = 0.05


class Reference:
    """Whoever answers for one project; several threads may ask."""

    def __init__(self, project: Project, rates: Rates, seed: int) -> None:
        self._project = project
        self._rates = rates
        self._seed = seed
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._tasks = {task.id: task for task in project.tasks}

    def answer(self, system: str, said: str) -> str:
        """Return the text of an answer to a planner's, an agent's or a resolver's prompt."""
        blocks = list(_BLOCK.finditer(said))
        if any(block["name"] == "file" for block in blocks):
            return self._resolve(blocks)
        if any(block["name"] == "slot" for block in blocks):
            return self._work(blocks)
        return self._plan()

    def _chance(self, kind: str, what: str, rate: float) -> bool:
        return random.Random(f"{self._seed}:{kind}:{what}").random() < rate

    def _count(self, what: str) -> int:
        with self._lock:
            self._asked[what] += 1
            return self._asked[what]

    # -- planning

    def _plan(self) -> str:
        number = self._count("plan")
        if self._chance("malformed", f"plan:{number}", self._rates.malformed):
            return "Here is the plan: { tasks:"
        sources = self._project.sources
        tasks = []
        for task in self._project.tasks:
            edits = [
                edit
                for edit in task.edits
                if not isinstance(edit, Row)
                or not self._chance("missing", f"{task.id}:{edit.line}", self._rates.missing)
            ]
            nodes = dict.fromkeys(edit.node(sources) for edit in edits)
            writes = [str(node) for node in nodes if node not in task.creates]
            creates = [str(node) for node in nodes if node in task.creates]
            tasks.append(
                {
                    "id": task.id,
                    "goal": task.text,
                    "writes": writes,
                    "reads": [],
                    "creates": creates,
                    "depends_on": list(task.depends_on),
                }
            )
        return json.dumps({"decisions": [], "atomic": False, "tasks": tasks, "questions": []})

    # -- working

    def _work(self, blocks: list[re.Match[str]]) -> str:
        goal = next((b["text"] for b in blocks if b["name"] == "task"), "")
        task = next((self._tasks[id] for id in ID.findall(goal) if id in self._tasks), None)
        slots = {
            block["about"].split(" ")[0]: (block["about"], block["text"])
            for block in blocks
            if block["name"] == "slot"
        }
        number = self._count(task.id if task else goal)
        name = f"{task.id if task else goal}:{number}"
        if self._chance("malformed", name, self._rates.malformed):
            return '{"results": [{"node": "n1", "status": "edited"'
        if task is None:
            return _document(slots, dict.fromkeys(slots, ""), [])
        edits = self._edits(task)
        made, left = {}, list(edits)
        for slot, (about, text) in slots.items():
            id = about.split(" = ", 1)[1].split(", ")[0].removesuffix(" with")
            path, _, symbol = id.partition("::")
            now = text
            for edit in edits:
                own = edit.symbol if isinstance(edit, Row) else ""
                if (
                    edit.path == path
                    and own in ("", symbol)
                    and (done := edit.apply(now)) is not None
                ):
                    now = now if edit.is_in(now) else done
                    left = [other for other in left if other is not edit]
            made[slot] = "" if now == text else now
        # What is there already needs no lock.
        needs = [str(edit.node(self._project.sources)) for edit in left]
        return _document(slots, made, needs)

    def _edits(self, task: Task) -> list[Edit]:
        wrong = self._chance("wrong", task.id, self._rates.wrong)
        return [e.wrong() if wrong and isinstance(e, Fill) else e for e in task.edits]

    # -- resolving

    def _resolve(self, blocks: list[re.Match[str]]) -> str:
        block = next(block for block in blocks if block["name"] == "file")
        path, text = block["about"].strip(), block["text"]
        ours, theirs = (
            _SIDES.sub(lambda hunk, s=side: hunk[s], text) for side in ("ours", "theirs")
        )
        number = self._count(f"resolve {path}")
        if self._chance("malformed", f"resolve:{path}:{number}", self._rates.malformed):
            return "I merged the file"
        for task in self._project.tasks:
            for edit in self._edits(task):
                if edit.path != path or not edit.is_in(theirs) or edit.is_in(ours):
                    continue
                name = f"{path}:{number}:{task.id}"
                if isinstance(edit, Row) and self._chance("lost", name, self._rates.lost):
                    continue
                ours = edit.apply(ours) or ours
        return json.dumps({"text": ours})


def _document(slots: dict[str, tuple[str, str]], made: dict[str, str], needs: list[str]) -> str:
    results = []
    for slot in slots:
        status = "edited" if made[slot] else "needs_locks" if needs else "no_changes_required"
        reason = "" if made[slot] else "it needs more" if needs else "it is as it should be"
        results.append({"node": slot, "status": status, "new_source": made[slot], "reason": reason})
    locks = [{"symbol": node, "mode": "write", "why": "the task names it"} for node in needs]
    return json.dumps(
        {
            "results": results,
            "new_nodes": [],
            "imports": [],
            "deletes": [],
            "needs_locks": locks,
            "notes": "",
        }
    )
