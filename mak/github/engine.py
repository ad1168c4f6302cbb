"""A run on GitHub, from what people say to commits: look, decide, do, and look again.

`reconcile` may be called by anything, at any time, by several at once: it reads what was said and
where the run stands, and does what is to be done next. Whoever has the run's lease does what takes
long. All that is on GitHub is found before it is made, so that what was cut off is gone on with.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mak.config import OnOverlap
from mak.errors import GitHubError, MakError
from mak.github import amend, leases, messages, opened, queueing, reverting
from mak.github.hearing import HALTS, hear
from mak.github.jobs import Job, Process
from mak.github.ledger import Held, Lost
from mak.github.overlap import overlaps, touched
from mak.github.policy import excess, limited, protected
from mak.github.redaction import redact
from mak.github.reduce import change, closed, expired, moved, offered
from mak.github.remote import Push
from mak.github.showing import show
from mak.github.site import Site, Stopped
from mak.github.state import (
    ACTIVE,
    LEASE,
    Answer,
    Change,
    Landed,
    Offer,
    Overlap,
    Phase,
    Proposal,
    RunState,
    Spot,
    Todo,
    dump,
)
from mak.model import Plan
from mak.plan import parse_plan, plan_digest, plan_document
from mak.schedule import levels
from mak.store import Store

#: Commands that a planner is asked for; the others change the plan that there is.
_PLANNED = frozenset({"run", "plan", "replan", "repair"})
#: Seconds after a change of its phase for which a run's end is looked at by those who wait.
_RECENT = 60
#: What may go on where it was.
_UNFINISHED = frozenset({"held", "interrupted"})


def reconcile(site: Site, issue: int, *, halts: bool = False) -> RunState | None:
    """Bring an issue's run to where it waits for somebody; return it, or None without one.

    With `halts` only what stops a run is heard, and nothing is done but that. Raises `Stopped`
    where the site wants what is under way to be left.
    """
    state, worked = _reconcile(site, issue, halts=halts)
    if state is not None and not halts:
        # Whoever waits is looked after once a run has got somewhere, not at every word.
        there = queueing.wakes(site, state) if worked or _is_new(site, state) else []
        for other in there:
            _reconcile(site, other)
    return state


def _reconcile(site: Site, issue: int, *, halts: bool = False) -> tuple[RunState | None, bool]:
    """Return the run, and whether anything was carried out that takes long."""
    worked = False
    while True:
        held: Held | None = None
        try:
            held = hear(site, issue, only=HALTS if halts else None)
            if held is None:
                return None, worked
            held = _write(site, held, _as_of_now(site, held.state))
            if held.state.phase is Phase.RUNNING and not halts:
                held = _write(site, held, queueing.queued(site, held))
            if held.state.waves or held.state.phase is Phase.RUNNING:
                site.publishing()
            held = show(site, held)
            if halts or not _is_work(held.state):
                nonce = held.state.lease.nonce if held.state.lease else ""
                mine = bool(held.state.lease and held.state.lease.owner == site.owner)
                return leases.give_back(site, held, nonce if mine else "").state, worked
            working = leases.take(site, held)
            worked = True
            _Work(site, working).carry_out()
        except Lost:
            site.note(f"issue {issue}: somebody else was first, reading again")
        except leases.Busy:
            assert held
            site.note(f"run {held.state.run}: somebody else works on it")
            return held.state, worked


def _is_new(site: Site, state: RunState) -> bool:
    return site.moment - state.since < _RECENT


def _is_work(state: RunState) -> bool:
    """Tell whether there is something to do that takes long, and nothing it waits for."""
    if state.phase is Phase.RUNNING:
        return not state.waits
    return state.phase is Phase.PLANNING or state.takes_back


def _as_of_now(site: Site, state: RunState) -> RunState:
    """Return a run with what nobody said: that its place is closed, or that time is over."""
    if state.phase not in ACTIVE:
        return state
    if how := site.api.ended(state.issue):
        return closed(state, f"the issue was {how}", site.moment)
    if state.pull and (how := site.api.ended(state.pull.number)):
        return closed(state, f"the pull request was {how}", site.moment)
    return expired(state, site.moment)


def _write(site: Site, held: Held, state: RunState) -> Held:
    return held if state == held.state else site.ledger.write(held, state)


@dataclass
class _Work:
    """Whoever holds the lease of a run, at what is to be done next."""

    site: Site
    held: Held
    #: The checkout, while there is one.
    folder: Path | None = None
    #: What the kernel has said of repairs, until they are offered.
    repairs: Mapping[str, Any] | None = None
    offer: Mapping[str, Any] | None = None
    outcome: Mapping[str, Any] | None = None
    error: str = ""
    #: Of what it has cost since it was written down.
    cost: float = 0.0
    tokens: int = 0
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def state(self) -> RunState:
        return self.held.state

    def carry_out(self) -> None:
        """Plan, or run, until somebody has to decide or there is nothing left to do."""
        before = self.site.folder / f"run-{secrets.token_hex(6)}"
        try:
            self.folder = before / "checkout"
            if self.state.phase is Phase.PLANNING:
                self._plan()
            elif self.state.takes_back:
                self._take_back()
            else:
                self._run()
        except (Lost, Stopped):
            raise
        except MakError as error:
            hint = f" ({error.hint})" if error.hint else ""
            self._fail(f"{error}{hint}")
        finally:
            shutil.rmtree(before, ignore_errors=True)

    # ------------------------------------------------------------------------------ planning

    def _plan(self) -> None:
        state = self.state
        todo = state.todo
        if not todo:
            self._to_review()
        elif _is_planned(todo[0]):
            self._ask_planner(todo[0])
        else:
            self._amend()

    def _ask_planner(self, todo: Todo) -> None:
        state, command = self.state, todo.command
        last = self._last_plan() if command.verb not in ("run", "plan") else None
        request, remark = state.request, ""
        match command.verb:
            case "repair":
                remark = self._what_is_open(command.text)
            case "replan":
                again = "Plan this again; the last plan was not what is wanted."
                remark = command.text or again
            case "add":
                after = command.flag("after")
                remark = f"{command.text}{f' (after {after})' if after else ''}"
        given = plan_document(last) if last is not None and remark else None
        self._check_out()
        self._ask(
            self._job(
                "plan",
                request=request,
                context=state.context,
                remark=remark if given else "",
                plan=given,
            )
        )
        if self.offer is None:
            self._put_back(todo, self.error or "the planner was stopped")
            return
        plan, names = amend.renamed(parse_plan(self.offer["plan"]), "T", last, self._said())
        attempt = self._next_attempt()
        changes = () if command.verb in ("run", "plan") else (change(todo, "planned again"),)

        def over(state: RunState) -> RunState:
            return replace(_without(state, [todo]), attempt=attempt)

        self._propose(plan, self.offer, names, changes, (), over)

    def _next_attempt(self) -> int:
        """A run whose plan is new begins another record where the last one was begun."""
        begun = "meta.json" in self.site.ledger.kernel(self.held)
        return self.state.attempt + (1 if begun else 0)

    def _amend(self) -> None:
        """Carry out all changes that wait, up to the next question to the planner."""
        state = self.state
        assert state.offer
        proposal = self.site.ledger.proposal(self.held, state.offer.rev)
        plan, dropped = parse_plan(proposal.plan), proposal.dropped
        taken = self._said()
        changes: list[Change] = []
        answers: list[Answer] = []
        done: list[Todo] = []
        told: Mapping[str, Any] | None = None
        self._check_out()
        files = self.site.remote.blobs(state.head or state.base_commit)
        for todo in state.todo:
            if _is_planned(todo):
                break
            done.append(todo)
            try:
                after, gone, what = amend.amend(
                    plan, dropped, todo.command, todo.person.login, files=files, taken=taken
                )
            except amend.Refused as refused:
                answers.append(self._answer(todo, refused.says))
                continue
            if state.offer.repair:
                told = {"remarks": proposal.remarks, "cost": proposal.cost}
            else:
                self.offer, self.error = None, ""
                self._ask(self._job("ground", plan=plan_document(after)))
                if self.state.phase is not Phase.PLANNING:
                    return
                if self.offer is None:
                    says = f"the plan cannot be changed so: {messages.inert(self.error)}"
                    answers.append(self._answer(todo, says))
                    continue
                told = self.offer
                same = {task.id: task.id for task in after.tasks}
                found = parse_plan(told["plan"])
                # What grounding added has an id that only the kernel gave it.
                after, _ = amend.renamed(found, "T", None, taken, same)
            plan, dropped = after, gone
            changes.append(change(todo, what))

        def over(state: RunState) -> RunState:
            return replace(_without(state, done), answers=(*state.answers, *answers))

        if told is None:
            self._write(over)
            self._to_review()
            return
        tasks = {task.id for task in plan.tasks}
        spots = tuple(spot for spot in proposal.spots if spot.task in tasks)
        told = {**told, "asked": proposal.asked}
        self._propose(plan, told, proposal.names, tuple(changes), dropped, over, spots)

    def _answer(self, todo: Todo, says: str) -> Answer:
        """Return an answer to a command, where it was given."""
        state = self.state
        number = state.pull.number if state.pull and _is_of_repairs(state) else state.issue
        body = messages.answer(f"@{todo.person.login} {says}", todo.key, state.run)
        return Answer(todo.key, number, body)

    def _propose(
        self,
        plan: Plan,
        told: Mapping[str, Any],
        names: Mapping[str, str],
        changes: tuple[Change, ...],
        dropped: tuple[Any, ...],
        over: Callable[[RunState], RunState],
        spots: tuple[Spot, ...] = (),
    ) -> None:
        """Offer a plan: from now on it is this one that may be approved.

        `over` makes the commands that it comes of done ones, in the same write: whoever dies before
        it finds them still to do.
        """
        state, policy = self.state, self.site.policy
        if too_much := excess(policy, state.wanted, plan, _levels(plan)):
            self._refuse(too_much, over)
            return
        shared = self._overlaps(plan)
        if shared and policy.on_overlap is OnOverlap.REFUSE:
            named = ", ".join(f"run `{each.run}` of #{each.issue}" for each in shared)
            self._refuse(
                f"it writes what {named} is to write too, and `on_overlap` is `refuse`", over
            )
            return
        guarded = protected(plan, policy.protected)
        last = state.offer if _is_of_repairs(state) and plan.tasks[0].id[0] == "R" else None
        repair, origin = (last.repair, last.origin) if last else (0, "")
        rev = len(state.offers) + 1
        proposal = Proposal(
            plan=plan_document(plan),
            waves=_levels(plan),
            remarks=tuple(told["remarks"]),
            cost=(told["cost"][0], told["cost"][1]),
            protected=guarded,
            overlaps=shared,
            dropped=dropped,
            spots=spots,
            asked=str(told.get("asked", "")),
            names=names,
        )
        offer = Offer(rev, plan_digest(plan), 0, repair, changes, guarded, origin)
        phase = Phase.REPAIR_REVIEW if repair else Phase.REVIEW
        # Nobody's word for a run is one for what steers CI, builds or who has to review.
        at_once = state.wanted.unreviewed and not guarded and not repair
        self._put(offer, phase, {f"plan/{rev}.json": dump(proposal)}, over, at_once=at_once)

    def _refuse(self, why: str, over: Callable[[RunState], RunState]) -> None:
        """Have no new plan, since it goes beyond what the repository lets people do."""
        if not self.state.offers:
            self._fail(why)
            return
        answer = Answer(
            f"p{self.site.moment}",
            self.state.issue,
            messages.answer(
                f"{messages.inert(why)}. The plan is as it was.",
                f"p{self.site.moment}",
                self.state.run,
            ),
        )
        self._write(lambda state: replace(over(state), answers=(*over(state).answers, answer)))
        self._to_review()

    def _overlaps(self, plan: Plan) -> tuple[Overlap, ...]:
        """Return which open runs of the same base are to write the same nodes."""
        ledger = self.site.ledger
        others = [
            (held.state, ledger.proposal(held, offer.rev))
            for held in ledger.runs()
            if held.state.run != self.state.run
            and held.state.base == self.state.base
            and held.state.phase in ACTIVE
            # The plan and the repairs that count now; those that they took the place of do not.
            for offer in {bool(offer.repair): offer for offer in held.state.offers}.values()
        ]
        return overlaps(touched(plan), others)

    def _put_back(self, todo: Todo, why: str) -> None:
        """Go back to what there was before a question that came to nothing."""
        if self.state.phase is not Phase.PLANNING:
            return
        if not self.state.offers:
            self._fail(f"planning: {why}")
            return
        answer = self._answer(todo, f"{messages.inert(why)}. The plan is as it was.")
        self._write(
            lambda state: replace(_without(state, [todo]), answers=(*state.answers, answer))
        )
        self._to_review()

    def _to_review(self) -> None:
        if self.state.offer is None:
            self._fail("there is no plan")
        elif not self.state.todo:
            phase = Phase.REPAIR_REVIEW if self.state.offer.repair else Phase.REVIEW
            self._into(phase, "", {})

    def _last_plan(self) -> Plan | None:
        plans = [offer for offer in self.state.offers if not offer.repair]
        if not plans:
            return None
        return parse_plan(self.site.ledger.proposal(self.held, plans[-1].rev).plan)

    def _said(self) -> frozenset[str]:
        """Return the ids that tasks of the run's plans ever had where people see them."""
        found: set[str] = set()
        for offer in self.state.offers:
            if not offer.repair:
                proposal = self.site.ledger.proposal(self.held, offer.rev)
                found.update(task.id for task in parse_plan(proposal.plan).tasks)
                found.update(str(each.task["id"]) for each in proposal.dropped)
        return frozenset(found)

    def _what_is_open(self, guidance: str) -> str:
        """Return what is not resolved and which checks fail, for a planner."""
        found = opened.threads(self.site, self.state) + opened.checks(self.site, self.state)
        return "\n".join([*([guidance] if guidance else []), *found]) or (
            "Put right what the checks find."
        )

    # ------------------------------------------------------------------------------- running

    def _run(self) -> None:
        head = self._head()
        if head is None:
            return
        # A wave that was cut off between branch and record is in the record by now.
        state = self.state
        kept = self.site.ledger.kernel(self.held)
        offers = [offer for offer in state.offers if not offer.repair]
        plan = parse_plan(self.site.ledger.proposal(self.held, offers[-1].rev).plan)
        left = _remaining(plan, self._done())
        state = self.state
        begun = _record_of(kept) == state.record
        goes_on = begun and (state.over != state.record or _unfinished(kept))
        if state.afresh and left.tasks:
            goes_on = False
        self._check_out(head)
        if goes_on:
            if not _unfinished(kept):
                # It ended, and whoever saw to it was cut off before they took note of that.
                del kept["outcome.json"]
            self._restore(kept)
            job = self._job("recover", repairs=self._decided())
        else:
            again = 1 if begun else 0

            def afresh(state: RunState) -> RunState:
                attempt, waves = state.attempt + again, len(state.waves)
                return replace(state, attempt=attempt, begun_after=waves, afresh=False)

            self._write(afresh)
            job = self._job("run", plan=plan_document(left))
        self._ask(job)
        self._finish()

    def _done(self) -> set[str]:
        """Return the ids, for people, of tasks that are on the branch, or a repair of them is."""
        state = self.state
        done = {task for wave in state.waves for task in wave.tasks}
        for offer in state.offers:
            if offer.repair:
                repairs = parse_plan(self.site.ledger.proposal(self.held, offer.rev).plan)
                done |= {task.repairs for task in repairs.tasks if task.id in done and task.repairs}
        return done

    def _head(self) -> str | None:
        """Return the commit to work on; None: somebody has to decide first."""
        state = self.state
        ref = f"refs/heads/{state.branch}"
        now = self.site.remote.refs(ref).get(ref, "")
        if not now:
            if state.waves:
                self._fail(f"the branch `{state.branch}` is gone")
                return None
            return state.base_commit
        self.site.remote.fetch(ref)
        if state.committing and now == state.committing.commit:
            wave = state.committing
            self._write(lambda state: _with(state, wave))
        elif state.head and now != state.head:
            self._moved(now)
            return None
        return now

    def _moved(self, now: str) -> None:
        """Somebody pushed: it is taken up only when a person says so."""
        self.site.remote.fetch(f"refs/heads/{self.state.branch}")
        name, _ = self.site.remote.author(now)

        def change(state: RunState) -> RunState:
            paused = moved(self._spending(state), name, now, self.site.moment)
            facts = {**state.facts, "pushed by": name}
            return replace(paused, head=now, lease=None, facts=facts)

        self._write(change)

    def _decided(self) -> dict[str, Mapping[str, Any] | None]:
        """Return what is done about repairs, by the digest that the kernel knows them by."""
        state = self.state
        found: dict[str, Mapping[str, Any] | None] = {}
        for offer in state.offers:
            if not offer.repair:
                continue
            if offer.repair in state.skipped:
                found[offer.origin] = None
            elif any(each.digest == offer.digest for each in state.approvals):
                proposal = self.site.ledger.proposal(self.held, offer.rev)
                plan = amend.original(parse_plan(proposal.plan), proposal.names)
                found[offer.origin] = plan_document(plan)
        return found

    def _landed(self, event: Mapping[str, Any]) -> bool:
        """Publish a wave; False: the run stops here."""
        assert self.folder
        state = self.state
        names = self._shown()
        wave = Landed(
            number=len(state.waves) + 1,
            commit=str(event["commit"]),
            tasks=tuple(names.get(task, task) for task in event["tasks"]),
            subject=str(event["subject"]),
            repair=self._repaired(event["tasks"]),
        )
        self.site.remote.take(self.folder, wave.commit)
        self._write(lambda state: replace(self._spending(state), committing=wave), self._record())
        if self.state.phase is not Phase.RUNNING:
            # Somebody stopped it meanwhile, and this wave is not there for anybody to see.
            self._write(lambda state: replace(state, committing=None))
            return False
        self.site.fault("committing")
        pushed = self.site.remote.push(f"refs/heads/{state.branch}", wave.commit, state.head)
        self.site.fault("pushed")
        if pushed.how is Push.MOVED:
            ref = f"refs/heads/{state.branch}"
            self._moved(self.site.remote.refs(ref).get(ref, state.head))
            return False
        if pushed.how is Push.REFUSED:
            self._fail(f"GitHub does not take the branch: {pushed.said}")
            return False
        self._write(lambda state: _with(state, wave))
        self.site.fault("committed")
        self._show()
        return True

    def _shown(self) -> dict[str, str]:
        """Return how tasks are called for people, by what the kernel calls them."""
        found: dict[str, str] = {}
        for offer in self.state.offers:
            names = self.site.ledger.proposal(self.held, offer.rev).names if offer.repair else {}
            found.update({kernel: shown for shown, kernel in names.items()})
        return found

    def _repaired(self, tasks: Sequence[str]) -> int:
        """Return which plan of repairs a wave is of, by the kernel's ids of its tasks; 0: none."""
        for offer in reversed(self.state.offers):
            if offer.repair:
                proposal = self.site.ledger.proposal(self.held, offer.rev)
                known = amend.with_added(parse_plan(proposal.plan), proposal.names)
                if not {*tasks}.isdisjoint(known.values()):
                    return offer.repair
        return 0

    def _take_back(self) -> None:
        """Take back what is committed, as whoever cancelled the run asked."""
        assert self.folder
        state = self.state
        ref = f"refs/heads/{state.branch}"
        now = self.site.remote.refs(ref).get(ref, "")
        if not now:
            done = reverting.Reverted(state.head, (), state.waves)
        else:
            self.site.remote.fetch(ref)
            self._check_out(now)
            done = reverting.take_back(self.folder, state, now)
            self.site.remote.take(self.folder, done.head)
            pushed = self.site.remote.push(ref, done.head, now)
            if pushed.how is Push.MOVED:
                raise Lost
            if pushed.how is Push.REFUSED:
                done = reverting.Reverted(now, (), state.waves, pushed.said)

        def over(state: RunState) -> RunState:
            gone = {wave.commit for wave in done.gone}
            kept = tuple(wave for wave in state.waves if wave.commit not in gone)
            said = reverting.said(done)
            return replace(
                state, head=done.head, waves=kept, reverted=said, afresh=True, lease=None
            )

        self._write(over)

    def _finish(self) -> None:
        """Say how it ended; what the kernel keeps is kept at GitHub."""
        documents = self._record()
        if self.state.phase is not Phase.RUNNING:
            self._write(lambda state: replace(self._spending(state), lease=None), documents)
            return
        if self.outcome is None:
            self._fail(self.error or "the kernel's process ended before it had an outcome")
            return
        how, reason = self.outcome["state"], str(self.outcome.get("reason", ""))
        if how == "done" or (self.state.skipped and "repairs were declined" in reason):
            self._into(Phase.DONE, f"Left as it is: {reason}" if how != "done" else "", documents)
        elif how == "held" and self.repairs is not None:
            self._offer_repairs(documents)
        elif how == "held" and reason.startswith("paused"):
            self._into(Phase.PAUSED, reason, documents)
        else:
            self._into(Phase.FAILED, reason or f"it is {how}", documents)

    def _into(self, phase: Phase, why: str, documents: Mapping[str, bytes]) -> None:
        """Leave the run in another phase, unless somebody ended it meanwhile."""

        def change(state: RunState) -> RunState:
            facts = {**state.facts, **self.facts}
            over = state.record if self.outcome is not None else state.over
            state = replace(self._spending(state), lease=None, facts=facts, over=over)
            if state.phase not in (Phase.RUNNING, Phase.PLANNING):
                return state
            return replace(state, halt=None).into(phase, self.site.moment, why)

        self._write(change, documents)

    def _offer_repairs(self, documents: Mapping[str, bytes]) -> None:
        told = self.repairs
        assert told is not None
        plan, names = amend.renamed(parse_plan(told["plan"]), "R", None)
        shown = {kernel: name for name, kernel in names.items()}
        number, rev = int(told["number"]), len(self.state.offers) + 1
        spots = tuple(
            Spot(shown.get(each["task"], each["task"]), each["path"], each["line"], each["says"])
            for each in told["spots"]
        )
        guarded = protected(plan, self.site.policy.protected)
        proposal = Proposal(
            plan=plan_document(plan),
            waves=_levels(plan),
            remarks=tuple(told["remarks"]),
            cost=(told["cost"][0], told["cost"][1]),
            protected=guarded,
            spots=spots,
            names=names,
        )
        digest = plan_digest(plan)
        offer = Offer(rev, digest, 0, number, protected=guarded, origin=str(told["origin"]))
        files = {**documents, f"plan/{rev}.json": dump(proposal)}
        self._put(offer, Phase.REPAIR_REVIEW, files)

    def _put(
        self,
        offer: Offer,
        phase: Phase,
        files: Mapping[str, bytes],
        over: Callable[[RunState], RunState] = lambda state: state,
        *,
        at_once: bool = False,
    ) -> None:
        """Have an offer in the record, and wait for somebody unless there is more to do.

        With `at_once` it needs nobody's yes.
        """

        def change(state: RunState) -> RunState:
            state = replace(over(self._spending(state)), lease=None)
            if state.phase not in (Phase.RUNNING, Phase.PLANNING):
                return state
            if state.todo:
                return offered(state, offer, Phase.PLANNING, self.site.moment)
            there = offered(state, offer, phase, self.site.moment)
            if not at_once:
                return there
            return replace(there, approved=offer.digest).into(Phase.RUNNING, self.site.moment)

        self._write(change, files)
        self.site.fault("offered")

    def _fail(self, why: str) -> None:
        self._write(lambda state: replace(state, todo=(), committing=None))
        self._into(Phase.FAILED, why, self._record())

    # ------------------------------------------------------------------------- the checkout

    def _check_out(self, commit: str = "") -> None:
        assert self.folder
        state = self.state
        if not commit:
            commit = state.head or state.base_commit
            ref = f"refs/heads/{state.branch}" if state.head else f"refs/heads/{state.base}"
            self.site.remote.fetch(ref)
        elif not state.head:
            self.site.remote.fetch(f"refs/heads/{state.base}")
        self.site.remote.check_out(self.folder, state.branch, commit, self.site.who)

    def _restore(self, kept: Mapping[str, bytes]) -> None:
        assert self.folder
        with Store.open(self.folder) as store:
            store.start_run(self.state.record, kept)

    def _record(self) -> dict[str, bytes]:
        """Return what the kernel keeps of the run."""
        if self.folder is None or not self.folder.is_dir():
            return {}
        with Store.open(self.folder, write=False) as store:
            kept = store.run_documents(self.state.record, "")
        # Whoever reads the repository reads it, and models may have said what they were shown.
        return {path: redact(data.decode()).encode() for path, data in kept.items()}

    # --------------------------------------------------------------------------- the kernel

    def _job(self, do: Any, **more: Any) -> Job:
        wishes, state = self.site.wishes, self.state
        wanted = limited(self.site.policy, state.wanted)
        budgets = [each for each in (wanted.budget, wishes.budget) if each is not None]
        if (daily := self.site.policy.daily_usd_per_user) is not None:
            who = state.requester.id
            budgets.append(daily - queueing.spent_today(self.site, who, but=state.run))
        budget = None
        if budgets:
            # A record that is gone on with knows itself what was spent in it.
            spent = state.spent if do != "recover" else 0.0
            budget = max(min(budgets) - spent, 0.0001)
        agents = [each for each in (wanted.agents, wishes.agents) if each is not None]
        return Job(
            do=do,
            folder=str(self.folder),
            run=state.record,
            last_wave=self._as_counted(state.last_wave),
            models=wishes.models or self.site.policy.models or (),
            planner=wishes.planner or self.site.policy.planner or "",
            agents=min(agents) if agents else None,
            budget=budget,
            trailers=self._trailers(),
            config=wishes.config,
            endpoints=wishes.endpoints,
            **more,
        )

    def _as_counted(self, wave: int | None) -> int | None:
        """Return a wave by the kernel's count, which begins anew with each record."""
        return None if wave is None else max(wave - self.state.begun_after, 0)

    def _trailers(self) -> tuple[tuple[str, str], ...]:
        who = self.state.requester
        address = f"{who.id}+{who.login}@users.noreply.github.com"
        by = ("Co-authored-by", f"{who.login} <{address}>")
        return (("Refs", f"#{self.state.issue}"), by)

    def _ask(self, job: Job) -> None:
        """Have the kernel do something, and see to what people say meanwhile."""
        process = Process(job, self.site.environment)
        self.site.note(f"run {job.run}: asked to {job.do}")
        looked = self.site.now()
        why = ""
        try:
            while not process.is_over and not (why := self.site.stopped()):
                said = process.next(min(self.site.poll, 1.0))
                if said is not None and not self._take(said, process):
                    return
                if self.site.now() - looked >= self.site.poll:
                    looked = self.site.now()
                    if not self._look(process):
                        return
        finally:
            process.stop()
            self._rest(process)
        if why:
            self._leave()
            raise Stopped(why)
        if self.outcome is None and self.offer is None and not self.error:
            self.error = process.tail.rpartition("\n")[2] or "the kernel ended without a word"

    def _leave(self) -> None:
        """Keep what there is, for whoever goes on at once."""
        try:
            given_back = self._record()
            self._write(lambda state: replace(self._spending(state), lease=None), given_back)
        except MakError as error:
            self.site.note(f"run {self.state.run}: left until its lease ends: {error}")

    def _take(self, said: Mapping[str, Any], process: Process) -> bool:
        """Take in what the kernel says; False: it is to stop."""
        match said:
            case {"event": event}:
                return self._event(event)
            case {"offer": offer}:
                self.offer = _clean(offer)
            case {"repairs": repairs}:
                self.repairs = _clean(repairs)
            case {"outcome": outcome}:
                self.outcome = outcome
            case {"error": error}:
                hint = f" ({error['hint']})" if error["hint"] else ""
                self.error = f"{error['says']}{hint}"
        del process
        return True

    def _event(self, event: Mapping[str, Any]) -> bool:
        self.site.see(event)
        match event["event"]:
            case "Spent":
                self.cost += event["usage"]["cost"] or 0.0
                self.tokens += event["usage"]["input"] + event["usage"]["output"]
            case "WaveCommitted":
                return self._landed(event)
            case "GateRan":
                self.facts[f"gate {event['gate']}"] = str(event["verdict"])
        return True

    def _rest(self, process: Process) -> None:
        """Take in what it said while it was being stopped, waves excepted."""
        while (said := process.next(0.01)) is not None:
            if "event" not in said:
                self._take(said, process)

    def _look(self, process: Process) -> bool:
        """See what people say, and stay the one who works; False: not any more."""
        state = self.state
        try:
            held = hear(self.site, state.issue)
            if held is None or held.state.run != state.run:
                return False
            mine, theirs = state.lease, held.state.lease
            if mine is None or theirs is None or theirs.nonce != mine.nonce:
                raise Lost
            self.held = held
            self._write(lambda state: _as_of_now(self.site, state))
            self._show()
            state = self.state
            if state.phase not in (Phase.PLANNING, Phase.RUNNING):
                return False
            if mine.until - self.site.moment < LEASE * 2 / 3:
                until = replace(mine, until=self.site.moment + LEASE)
                self._write(lambda state: replace(self._spending(state), lease=until))
        except GitHubError as error:
            self.site.note(f"run {state.run}: not looked at: {error}")
            if state.lease and state.lease.until <= self.site.moment:
                # Another may be at work by now; nothing that costs goes on unseen.
                raise Lost from error
            return True
        if state.halt and state.halt.how == "pause":
            process.go_as_far_as(len(state.waves) - state.begun_after + 1)
        return True

    def _spending(self, state: RunState) -> RunState:
        """Return the state with what was spent since."""
        cost, tokens = self.cost, self.tokens
        self.cost, self.tokens = 0.0, 0
        return replace(state, spent=round(state.spent + cost, 6), tokens=state.tokens + tokens)

    def _write(
        self,
        change: Callable[[RunState], RunState],
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        """Change the state, also where somebody has said something meanwhile.

        Raises `Lost` when somebody else works on the run.
        """
        while True:
            try:
                if (state := change(self.state)) != self.state or files:
                    self.held = self.site.ledger.write(self.held, state, files)
            except Lost:
                self._again()
            else:
                return

    def _again(self) -> None:
        """Read the state again; what is changed here is changed there on top of it."""
        held = self.site.ledger.of_run(self.state.run)
        mine = self.state.lease
        if held is None:
            raise Lost
        theirs = held.state.lease
        if mine and (theirs is None or theirs.nonce != mine.nonce):
            raise Lost
        self.held = held

    def _show(self) -> None:
        """Show where the run stands; what cannot be shown now is shown at the next look."""
        lease = self.state.lease
        try:
            self.held = show(self.site, self.held, lease.nonce if lease else "")
        except Lost:
            self._again()
        except GitHubError as error:
            self.site.note(f"run {self.state.run}: not shown: {error}")
            self._again()


def _clean(told: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the kernel says of a plan without tokens: it is about to be read by others."""
    found: Mapping[str, Any] = json.loads(redact(json.dumps(told)))
    return found


def _levels(plan: Plan) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(level) for level in levels(plan))


def _is_planned(todo: Todo) -> bool:
    """Whether a planner has to be asked: also for a task of which no file is known."""
    verb = todo.command.verb
    return verb in _PLANNED or (verb == "add" and todo.command.flag("files") is None)


def _is_of_repairs(state: RunState) -> bool:
    return bool(state.offer and state.offer.repair)


def _with(state: RunState, wave: Landed) -> RunState:
    """Return the run with a wave that is on the branch."""
    return replace(state, committing=None, head=wave.commit, waves=(*state.waves, wave))


def _without(state: RunState, done: Sequence[Todo]) -> RunState:
    """Return the run without what has been done."""
    return replace(state, todo=tuple(todo for todo in state.todo if todo not in done))


def _record_of(kept: Mapping[str, bytes]) -> str:
    """Return the id of the kernel's record that has a plan; empty: there is none to go on with."""
    if "plan.json" not in kept or "meta.json" not in kept:
        return ""
    return str(json.loads(kept["meta.json"])["run"])


def _unfinished(kept: Mapping[str, bytes]) -> bool:
    if "outcome.json" not in kept:
        return True
    return json.loads(kept["outcome.json"])["state"] in _UNFINISHED


def _remaining(plan: Plan, landed: set[str]) -> Plan:
    """Return what of a plan is still to be done."""
    tasks = [
        replace(task, depends_on=tuple(name for name in task.depends_on if name not in landed))
        for task in plan.tasks
        if task.id not in landed
    ]
    return replace(plan, tasks=tuple(tasks))
