"""``mak run``: one request, or one plan, from source to reviewed commits."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING

from mak.cli import terminal
from mak.cli.command import Command
from mak.cli.launch import add_launch
from mak.cli.options import add_json, read_settings, work_dir
from mak.errors import UsageError

if TYPE_CHECKING:
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
    add_launch(parser)
    add_json(parser)


def run(args: Namespace) -> int:
    """Carry out a run."""
    from mak.store.repository import Repository

    # Where there is none, nothing else is worth a word; where there is one, nothing is written yet.
    Repository.open(work_dir(args), branch=args.branch, write=False)
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
    from mak.cli.launch import options as launch
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
    options = launch(settings, args, view, reviewer, recovers=recovers)
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


COMMAND = Command(
    "run", "carry out a request or a plan, one commit per wave", add_arguments, run, DETAILS
)
