"""``mak run``: one request, or one plan, from source to reviewed commits."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mak.cli import terminal
from mak.cli.command import Command
from mak.cli.options import add_json, add_models, add_work_dir, positive, read_settings, work_dir
from mak.errors import UsageError

if TYPE_CHECKING:
    from mak.cli.live import View
    from mak.cli.options import Settings
    from mak.cli.review import Reviewer
    from mak.events import Event
    from mak.kernel import Decision, Options, Review
    from mak.model import Outcome
    from mak.store import Store

DETAILS = """\
examples:
  mak run --task "rename function shop.pricing.total to order_total"
  mak run --task "…" --models anthropic
  mak plan --task "…" > plan.yaml; mak run --plan plan.yaml
  mak run --recover

exit codes: 0 all landed; 1 something failed or was declined; 2 usage; 3 bug; 130 interrupted
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--task", metavar="TEXT", help="what to do, in words")
    what.add_argument(
        "--plan", metavar="FILE", type=Path, help="a plan file (YAML or JSON; - is stdin)"
    )
    what.add_argument(
        "--recover",
        metavar="RUN",
        nargs="?",
        const="",
        help="go on with a run that was interrupted, killed or held (default: the last one)",
    )
    add_work_dir(parser)
    add_models(parser)
    parser.add_argument(
        "--max-agents", metavar="N", type=positive, help="agents at once (default: 4)"
    )
    parser.add_argument("--no-review", action="store_true", help="do not ask before starting")
    parser.add_argument(
        "--hooks",
        action="store_true",
        help="let the repository's pre-commit and commit-msg hooks judge each wave",
    )
    add_json(parser)


def run(args: Namespace) -> int:
    """Carry out a run."""
    recovers = args.recover is not None
    if not args.no_review and not recovers and not terminal.can_ask():
        raise UsageError(
            "the plan is to be reviewed, and there is no terminal to ask at",
            hint="pass --no-review to run without asking, or write the plan with mak plan first",
        )
    if args.task is not None and not args.task.strip():
        raise UsageError("--task is empty", hint='mak run --task "what to do"')
    from mak.cli import planfile
    from mak.cli.background import begin
    from mak.cli.live import open_view
    from mak.cli.review import Reviewer
    from mak.cli.road import carry_out
    from mak.kernel import recover
    from mak.kernel import run as start
    from mak.store import Store

    request = args.task if args.plan is None else planfile.read(args.plan)
    view = open_view()
    reviewer = Reviewer(view.paused)
    settings = read_settings(args)
    options = _options(args, settings, view, reviewer)
    named = () if isinstance(request, str) or request is None else request.tasks
    models = (*options.models, *(task.model for task in named if task.model))
    begin(settings, models if args.plan else (options.planner, *models), view.say)
    with Store.open(work_dir(args), branch=args.branch) as store:

        def work() -> Awaitable[Outcome]:
            if recovers:
                return recover(store, _recovered(store, args.recover), options)
            return start(store, request, options)

        return carry_out(store, view, work, json=args.json)


def _recovered(store: Store, text: str) -> str:
    if not text:
        return ""
    from mak.cli.runs import find_run

    return find_run(store, text)


def _telling(view: View) -> Callable[[Event], None]:
    """Return what shows events, and with the plan what a review would have shown."""
    from mak.cli import render
    from mak.events import Planned

    def emit(event: Event) -> None:
        view.emit(event)
        if isinstance(event, Planned):
            for line in render.noted(event):
                view.say(line.text)

    return emit


def _asking(reviewer: Reviewer) -> Callable[[Review], Awaitable[Decision]]:
    """Return a reviewer that says so where there is nobody to ask: a repair plan may come late."""

    async def review(found: Review) -> Decision:
        if not terminal.can_ask():
            raise UsageError(
                "a repair plan is to be reviewed, and there is no terminal to ask at",
                hint="mak run --recover at a terminal, or with --no-review",
            )
        return await reviewer(found)

    return review


def _options(args: Namespace, settings: Settings, view: View, reviewer: Reviewer) -> Options:
    from mak.kernel import Options

    config = settings.config
    # A run that is taken up again keeps its models unless it is given others.
    kept = args.recover is not None and not args.models
    return Options(
        config=config,
        setup=settings.setup,
        models=() if kept else config.models.agents,
        planner=config.planner or config.models.agents[0],
        max_agents=config.max_agents,
        review=None if args.no_review else _asking(reviewer),
        emit=_telling(view) if args.no_review else view.emit,
        hooks=args.hooks,
    )


COMMAND = Command(
    "run", "carry out a request or a plan, one commit per wave", add_arguments, run, DETAILS
)
