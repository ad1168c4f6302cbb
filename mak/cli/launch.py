"""From settings to what the kernel is given: the same for every launcher of this terminal."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from mak.cli import terminal
from mak.cli.options import add_models, add_work_dir, positive
from mak.errors import UsageError

if TYPE_CHECKING:
    from mak.cli.live import View
    from mak.cli.options import Settings
    from mak.cli.review import Reviewer
    from mak.events import Event
    from mak.kernel import Decision, Options, Review


def add_launch(parser: ArgumentParser) -> None:
    """Let a command say how a run is to be carried out."""
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


def options(
    settings: Settings,
    said: Namespace,
    view: View,
    reviewer: Reviewer | None = None,
    *,
    recovers: bool = False,
) -> Options:
    """Return how a run is carried out; `said` holds what `add_launch` adds.

    Without a reviewer nobody is asked, nor with ``--no-review``.
    """
    from mak.kernel import Options

    config = settings.config
    # A run that is taken up again keeps its models unless it is given others.
    kept = recovers and not said.models
    asks = reviewer is not None and not said.no_review
    return Options(
        config=config,
        setup=settings.setup,
        models=() if kept else config.models.agents,
        planner=planner(settings),
        max_agents=config.max_agents,
        review=_asking(reviewer) if reviewer is not None and asks else None,
        emit=_telling(view) if reviewer is not None and not asks else view.emit,
        hooks=said.hooks,
    )


def planner(settings: Settings) -> str:
    """Return the model spec of who plans."""
    return settings.config.planner or settings.config.models.agents[0]


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
