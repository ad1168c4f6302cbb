"""Tasks in the app: planned, reviewed, carried out before a person's eyes, and summed up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from mak.cli import terminal
from mak.cli.app import bar
from mak.model import Outcome, Usage

if TYPE_CHECKING:
    from mak.cli.app.session import Session
    from mak.cli.live import View
    from mak.cli.review import Reviewer
    from mak.kernel import Options, Review
    from mak.store import Store


def carry_out(session: Session, request: str) -> None:
    """Plan a request, have the plan reviewed, and carry it out."""
    from mak.kernel import run

    _work(session, lambda store, options: run(store, request, options))


def recover(session: Session, text: str) -> None:
    """Go on with a run that was cut off; `text` is how its name begins, empty: the newest."""
    from mak.cli.runs import find_run
    from mak.kernel import recover

    def again(store: Store, options: Options) -> Awaitable[Outcome]:
        return recover(store, find_run(store, text) if text else "", options)

    _work(session, again, recovers=True)


def plan(session: Session, request: str) -> None:
    """Plan a request and show the plan."""
    from mak.cli import review, road
    from mak.cli.background import begin
    from mak.cli.launch import options, planner
    from mak.kernel import make_plan
    from mak.store import Store

    settings = session.settings()
    view = _view(session)
    found: Review | None = None
    begin(settings, [planner(settings)], view.say)
    try:
        with Store.open(session.said.work_dir, write=False) as store:
            made = options(settings, session.said, view)
            give_back = session.keyboard.give_back
            found = road.walk(view, lambda: make_plan(store, request, made), give_back)
    finally:
        _count(session, view.progress.usage)
    if found is None:
        session.was_stopped = True
        session.say("Stopped")
        return
    review.show(found)
    session.say("Nothing was changed. To carry it out, type the task without /plan")


def _work(
    session: Session,
    start: Callable[[Store, Options], Awaitable[Outcome]],
    *,
    recovers: bool = False,
) -> None:
    from mak.cli import road
    from mak.cli.background import begin
    from mak.cli.launch import options, planner
    from mak.store import Store

    settings = session.settings()
    view = _view(session)
    reviewer = _reviewer(session, view)
    outcome: Outcome | None = None
    with Store.open(session.said.work_dir, branch=session.said.branch) as store:
        made = options(settings, session.said, view, reviewer, recovers=recovers)
        begin(settings, [planner(settings), *made.models], view.say)
        try:
            outcome = road.walk(view, lambda: start(store, made), session.keyboard.give_back)
        finally:
            _count(session, view.progress.usage)
            session.last_run = view.progress.run or session.last_run
        _tell(session, store, view, outcome)
    session.watch.poke()


def _tell(session: Session, store: Store, view: View, outcome: Outcome | None) -> None:
    from mak.cli import render
    from mak.cli.app import ending
    from mak.cli.app.wording import here
    from mak.model import RunState
    from mak.runlog import read_plan

    session.was_stopped = outcome is None or outcome.state is RunState.INTERRUPTED
    if outcome is None:
        run, approved = view.progress.run, view.progress.approved
        session.say(f"Run {run} was stopped".replace("  ", " "), "bold")
        session.say(f"Next: /recover {run}" if approved else "Nothing was changed")
        return
    plan = read_plan(store, outcome.run)
    decisions = plan.decisions if plan else ()
    for line in render.outcome(outcome, view.progress, store.branch, decisions):
        session.say(here(line.text), line.style)
    for line in ending.summary(store, outcome):
        session.say(line.text, line.style)


def _count(session: Session, usage: Usage) -> None:
    session.usage, session.under_way = session.usage + usage, Usage()


def _view(session: Session) -> View:
    """Return a view that shows the bar of the session below its rows."""
    from mak.cli.live import Lines, Screen

    if not terminal.is_screen():
        return Lines()

    def below(width: int, usage: Usage) -> str:
        session.under_way = usage
        return bar.line(session, width)

    return Screen(below=below)


def _reviewer(session: Session, view: View) -> Reviewer:
    from mak.cli.review import Reviewer, choices, words

    async def ask(review: Review) -> str | None:
        session.under_way = view.progress.usage
        terminal.write_note("")
        return await session.prompt.line(choices(review).splitlines(), words(review))

    return Reviewer(view.paused, ask, session.keyboard.lent)
