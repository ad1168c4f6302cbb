"""Whether a wave may be committed: its checks as a whole, what its tasks owe, and the gates.

What stands in the way is put right here: whoever is to blame is asked again or left out, and the
draft is built anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache

from mak.assembly import assemble, of_finding, units
from mak.board import Board
from mak.config import When
from mak.gates import Red, halve
from mak.gating import found_since, judged, left_red, named, owes
from mak.judge import (
    check_wave,
)
from mak.model import (
    Obligation,
    RunState,
    TaskState,
)
from mak.run import Stop
from mak.source import Draft
from mak.source.names import references

_UNDER_WAY = (TaskState.PENDING, TaskState.RUNNING, TaskState.SETTLED)


class Admission(Board):
    """The board with the judges of a whole wave."""

    async def _admitted(self) -> bool:
        """Whether the wave may be committed as it is; False: some of its tasks are not in it."""
        return self._passes() and self._discharged() and await self._gated()

    # ------------------------------------------------------------------------ checks

    def _passes(self) -> bool:
        """Check the whole wave; whoever a finding blames is asked again, the rest is built anew."""
        findings = check_wave(self.draft, self.planned.nodes, references)
        if not findings:
            return True
        blamed = {
            task: finding for finding in findings for task in of_finding(finding, self.settled)
        }
        if not blamed:
            self.run.findings.extend(findings)
            raise Stop(RunState.FAILED, findings[0].message)
        for task, finding in blamed.items():
            if task not in self.settled:
                continue  # asked again, with what it builds on
            self._again(task, self.settled.pop(task).reply, finding.check, finding.message)
            if self.scheduler.states[task] is TaskState.FAILED:
                self.run.findings.append(finding)
        self._rebuild()
        return False

    # ------------------------------------------------------------------------ repairs

    def _discharged(self) -> bool:
        """Check that nothing holds any more that tasks of the wave owe; else ask them again."""
        wrong = {}
        found_here = cache(lambda: found_since(self.run, self.draft.sources, self.draft.changes))
        for task in self._repairs():
            entry = self.settled.get(task)
            if found := owes(self.run, self.draft, self.turns[task].owes, entry, found_here):
                wrong[task] = found
        for task, (obligation, subject) in wrong.items():
            self._turn_down(task, [(obligation.check, subject, "")], obligation)
        if wrong:
            self._rebuild()
        return not wrong

    def _repairs(self) -> Iterator[str]:
        answered = (*self.settled, *self.unchanged)
        wave = self.scheduler.wave()
        tasks = wave.tasks if wave else ()
        return (t for t in answered if t in tasks and self.turns[t].owes)

    def _turn_down(
        self, task_id: str, told: Sequence[tuple[str, str, str]], obligation: Obligation | None
    ) -> None:
        """Ask a task again that does not do what it owes; out of attempts, leave it out.

        One that owes nothing of the kind is left out at once. `told`: check, what it found,
        evidence.
        """
        turn = self.turns[task_id]
        entry = self.settled.pop(task_id, None)
        if entry is None and task_id not in self.unchanged:
            return  # asked again, or skipped, with what it builds on
        reply = entry.reply if entry else self.unchanged.pop(task_id)
        is_last = turn.rejected + 1 >= self.config.attempts
        check = told[0][0]
        if (turn.task.obligations or obligation) and not is_last:
            reasons = "\n".join(
                f"{s if c == check else f'{c}: {s}'}\n{e}".rstrip() for c, s, e in told
            )
            self._again(task_id, reply, check, reasons)
            return
        self._leave(task_id, told, obligation)
        tried = f" (asked {turn.rejected + 1} times)" if turn.rejected else ""
        self._fail(task_id, f"{told[0][0]}: {told[0][1]}{tried}")

    # ------------------------------------------------------------------------ gates

    async def _gated(self) -> bool:
        """Let the project's commands judge the wave; False: what fails was left out or put off."""
        owed = self._owed_by_repairs()
        names = {*self.run.gates.names(When.WAVE), *owed}
        if not names or not self.draft.changes:
            return True
        reds = await self._judged(self.draft, names, owed, self.settled, confirm=True)
        if self.store.tip() != self.tip:
            return False
        if on_branch := [red for red in reds if red.gate in owed]:
            # It fails without the wave, too: whoever has to put it right has not.
            for task in {task for red in on_branch for task in owed[red.gate]}:
                told = [(r.check, r.subject, r.output) for r in on_branch if task in owed[r.gate]]
                self._turn_down(task, told, None)
            self._rebuild()
            return False
        reds = tuple(red for red in reds if not self._is_awaited(red))
        if not reds:
            return True
        if self.plan.atomic:
            now = self.draft.base
            self.run.findings += (left_red(self.run, red, now).finding() for red in reds)
            raise Stop(RunState.FAILED, f"{reds[0].check}: {reds[0].subject}")
        groups = units(self.draft.base, self.settled, self.planned.nodes, references)
        blamed: dict[tuple[tuple[str, ...], ...], tuple[Red, ...]] = {}

        async def passes(parts: tuple[tuple[str, ...], ...]) -> bool:
            chosen = {task: self.settled[task] for task in self.settled if _in(task, parts)}
            draft, misfits = assemble(self.draft.base, chosen)
            if misfits or check_wave(draft, self.planned.nodes, references):
                return False
            found = await self._judged(draft, names, owed, chosen, confirm=False)
            blamed[parts[-1:]] = found
            return not found

        _, left_out = await halve(groups, passes)
        for group in left_out:
            told = [(red.check, red.subject, red.output) for red in blamed.get((group,)) or reds]
            for task in group:
                self._turn_down(task, told, None)
        self._rebuild()
        return False

    def _owed_by_repairs(self) -> dict[str, list[str]]:
        """Return the gates that fail on the branch, and the repairs of the wave that owe them."""
        found: dict[str, list[str]] = {}
        for task in self._repairs():
            for each in self.turns[task].task.obligations:
                is_gate, gate = each.check.startswith("gate:"), each.check.removeprefix("gate:")
                if is_gate and each.landed and gate in self.run.owed:
                    found.setdefault(gate, []).append(task)
        return found

    async def _judged(
        self,
        draft: Draft,
        names: Collection[str],
        owed: Collection[str],
        settled: Collection[str],
        *,
        confirm: bool,
    ) -> tuple[Red, ...]:
        tasks = tuple(settled)
        self.desk.is_unattended = True
        try:
            return await judged(self.run, draft, self.tip, names, tasks, owed, confirm=confirm)
        finally:
            self.desk.is_unattended = False

    def _is_awaited(self, red: Red) -> bool:
        """Whether a task to come is to write in a file that fails; then it has a chance to."""
        files = named(self.run, red)
        wave = self.scheduler.wave()
        coming = [
            task.id
            for task in self.plan.tasks
            if self.scheduler.states[task.id] in _UNDER_WAY
            and task.id not in (wave.tasks if wave else ())
            and any(node.path in files for node in (*task.writes, *task.creates))
        ]
        if not coming:
            return False
        self.run.owed.setdefault(red.gate, self.store.prospective(self.tip, {}))
        self.run.remark(
            f"{red.check} fails, and {', '.join(coming)} is still to come: {red.subject}"
        )
        return True


def _in(task: str, parts: Sequence[Sequence[str]]) -> bool:
    return any(task in part for part in parts)
