"""``/plan``: a plan and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mak.cli.app.slash import Slash, Typed
from mak.errors import UsageError

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """Plan a task and show the plan."""
    from mak.cli.app.work import plan

    if not typed.text:
        raise UsageError("/plan: say what is to be done", hint="/plan rename function a.f to g")
    plan(session, typed.text)


SLASH = Slash("plan", "plan a task without carrying it out", run, "<task>")
