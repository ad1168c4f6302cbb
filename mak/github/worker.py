"""The kernel in a process without a token: `python -m mak.github.worker`; see `mak.github.jobs`."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from io import FileIO
from pathlib import Path
from typing import Any

import anyio
from pydantic import TypeAdapter

from mak import events, kernel
from mak.config import Config, parse_document, validate
from mak.errors import MakError
from mak.github.jobs import Job
from mak.github.messages.words import plain
from mak.github.redaction import redact
from mak.kernel import Decision, Options, Review
from mak.landing import sources_at
from mak.model import NodeId, Plan
from mak.plan import parse_plan, plan_digest, plan_document
from mak.providers import Setup
from mak.providers.own import named_prices, own
from mak.providers.spec import BUILTIN
from mak.providers.spec import parse as parse_spec
from mak.source import Sources
from mak.source.names import line_of
from mak.store import Store

#: Characters of a goal in a commit's message.
_GOAL = 1_000


@dataclass(slots=True)
class _Worker:
    """One job on its way."""

    job: Job
    say: Callable[[Mapping[str, Any]], None]
    last_wave: int | None
    #: The number of the plan of repairs that comes up next.
    repair: int = 0
    #: Digests under which the kernel came up with plans that were amended, by what came of them.
    asked: set[str] = field(default_factory=set)
    store: Store | None = None

    async def carry_out(self) -> None:
        """Do the job."""
        job = self.job
        with Store.open(Path(job.folder)) as store:
            self.store = store
            options = self._options()
            match job.do:
                case "plan":
                    assert not (job.remark and job.plan is None)
                    given = parse_plan(job.plan) if job.plan is not None else None
                    words = self._asked(options)
                    asked: str | tuple[str, str, Plan] = words
                    if given is not None:
                        asked = (words, job.remark, given)
                    shown = "\n\n".join([words, *([job.remark] if job.remark else [])])
                    self._offer(await kernel.make_plan(store, asked, options), shown)
                case "ground":
                    self._offer(await kernel.make_plan(store, parse_plan(job.plan), options))
                case "run":
                    plan = parse_plan(job.plan)
                    outcome = await kernel.run(store, plan, self._reviewing(options, plan))
                    self.say({"outcome": kernel.outcome_json(outcome)})
                case "recover":
                    outcome = await kernel.recover(store, job.run, self._reviewing(options, None))
                    self.say({"outcome": kernel.outcome_json(outcome)})

    def _options(self) -> Options:
        job = self.job
        data = parse_document(job.config, ".mak/config.yaml") if job.config.strip() else None
        config = validate(Config, data or {}, ".mak/config.yaml", job.config)
        changed: dict[str, Any] = {}
        if job.models:
            changed["models"] = {**config.models.model_dump(), "agents": list(job.models)}
        if job.planner:
            changed["planner"] = job.planner
        if job.agents is not None:
            changed["max_agents"] = job.agents
        if job.budget is not None:
            limit = config.session.max_usd
            least = job.budget if limit is None else min(job.budget, limit)
            changed["session"] = {**config.session.model_dump(), "max_usd": least}
        config = validate(Config, {**config.model_dump(), **changed}, "the run")
        endpoints = config.endpoints if job.endpoints else {}
        setup = Setup(
            own={name: own(name, each) for name, each in endpoints.items()},
            prices=named_prices(config.prices),
            mode=config.mode,
        )
        return Options(
            config=config,
            setup=setup,
            models=config.models.agents,
            planner=config.planner or config.models.agents[0],
            max_agents=config.max_agents,
            emit=self._emit,
            run=job.run,
            last_wave=lambda: self.last_wave,
            trailers=job.trailers,
            # What a model wrote tells nobody and closes nothing, and says no token.
            wording=lambda goal: plain(redact(goal), _GOAL),
        )

    def _reviewing(self, options: Options, plan: Any) -> Options:
        first = [plan] if plan is not None else []

        async def review(found: Review) -> Decision:
            if first:
                # What runs is what was approved: where its base does not bear it out, nothing does.
                return Decision(approved=plan_digest(first.pop()) == plan_digest(found.plan))
            digest = plan_digest(found.plan)
            if digest in self.asked:
                self.asked.clear()
                return Decision(approved=True)
            if digest in self.job.repairs and not self.asked:
                chosen = self.job.repairs[digest]
                if chosen is None:
                    return Decision(approved=False)
                amended = parse_plan(chosen)
                if plan_digest(amended) == digest:
                    return Decision(approved=True)
                self.asked.add(plan_digest(amended))
                return Decision(approved=True, plan=amended)
            self.asked.clear()
            told = {"number": self.repair, "origin": digest, **self._proposal(found)}
            self.say({"repairs": told})
            return Decision(approved=False, later=True)

        return replace(options, review=review)

    def _emit(self, event: events.Event) -> None:
        if isinstance(event, events.RepairPlanned):
            self.repair = event.number
        self.say({"event": events.to_json(event)})

    def _asked(self, options: Options) -> str:
        """Return what the planner is asked; refactorings are read from a request alone."""
        job = self.job
        if not job.context or parse_spec(options.planner, options.setup).name == BUILTIN:
            return job.request
        return f"{job.request}\n\nThe issue that this is asked at says:\n\n{job.context}"

    def _offer(self, review: Review, asked: str = "") -> None:
        problems = list(review.problems(review.plan))
        told = {**self._proposal(review), "problems": problems, "asked": asked}
        self.say({"offer": told})

    def _proposal(self, review: Review) -> dict[str, Any]:
        """Return a plan with what people want to know of it."""
        cost = review.estimate
        return {
            "plan": plan_document(review.plan),
            "waves": [list(level) for level in review.levels],
            "remarks": list(review.remarks),
            "cost": [cost.cost_low, cost.cost_high],
            "spots": self._spots(review),
        }

    def _spots(self, review: Review) -> list[dict[str, Any]]:
        assert self.store
        sources = sources_at(self.store, self.store.tip())
        return [
            {
                "task": task.id,
                "path": owed.site.path,
                "line": self._line(sources, owed.site),
                "says": f"{owed.check}: {owed.subject}",
            }
            for task in review.plan.tasks
            for owed in task.obligations
            if owed.site is not None
        ]

    def _line(self, sources: Sources, site: NodeId) -> int:
        """Return the line on which a node begins; 0: it is a whole file, or not there."""
        if not site.symbol or site.path not in sources:
            return 0
        for node in sources.nodes(site.path):
            if node.id == site.node:
                return line_of(sources, site.path, node.start + node.lead)
        return 0


def main() -> int:
    """Do the job that stdin names; what is not an answer goes to stderr."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    writing = threading.Lock()

    def say(document: Mapping[str, Any]) -> None:
        with writing:
            answers.write(json.dumps(document).encode() + b"\n")
            answers.flush()

    # Unbuffered: a thread that waits in a buffered file would hold up the end of the process.
    told = FileIO(0, closefd=False)
    job = TypeAdapter(Job).validate_json(told.readline())
    worker = _Worker(job, say, job.last_wave)
    threading.Thread(target=_listen, args=(worker, told), daemon=True).start()
    try:
        anyio.run(_until_told, worker.carry_out)
    except MakError as error:
        say({"error": {"says": str(error), "hint": error.hint}})
        return 1
    return 0


def _listen(worker: _Worker, told: FileIO) -> None:
    """Take what is said while it works; a closed pipe means that nobody waits for it any more."""
    for line in told:
        last = json.loads(line)["last_wave"]
        worker.last_wave = last if worker.last_wave is None else min(last, worker.last_wave)
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)


async def _until_told(work: Callable[[], Awaitable[None]]) -> None:
    """Work until SIGTERM says to stop."""
    failed: list[MakError] = []
    async with anyio.create_task_group() as group:

        async def stop() -> None:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async for _ in signals:
                    group.cancel_scope.cancel()

        group.start_soon(stop)
        try:
            await work()
        except MakError as error:
            failed.append(error)
        group.cancel_scope.cancel()
    if failed:
        raise failed[0]


if __name__ == "__main__":
    sys.exit(main())
