"""A run as it goes, and all that MAK says of it; ``make said`` writes tests/github/golden anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mak.github import messages
from mak.github.commands import Asked, parse
from mak.github.reduce import Facts, Rules, Stale
from mak.github.state import (
    Approval,
    Change,
    Dropped,
    Halt,
    Landed,
    Offer,
    Overlap,
    Person,
    Phase,
    Posted,
    Proposal,
    Pull,
    RunState,
    Spot,
    Trigger,
    Wanted,
)

GOLDEN = Path(__file__).parent / "golden"
PAGE = "https://github.com/o/shop"
LINKS = messages.Links(PAGE, "https://github.com", f"{PAGE}/actions/runs/9/job/3")
NONE = messages.Links()
ALICE, BOB = Person(7, "alice"), Person(8, "bob")
#: 14:03 UTC.
NOW = 1_780_322_580
REQUEST = (
    "Fix the login redirect loop\n\nAfter the login one comes back to the login (#41, @carol)."
)
OLD = Offer(1, "91ab22c" + "0" * 57, NOW - 900)
EDITED, DROPPED = Change("T3 text edited", "bob", NOW - 72), Change("T4 dropped", "bob", NOW - 70)
NEW = Offer(2, "3f9c1ab" + "0" * 57, NOW - 30, changes=(EDITED, DROPPED))
REPAIRS = Offer(3, "77c0de1" + "0" * 57, NOW, repair=1)


def task(name: str, goal: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "goal": goal, **more}


PLAN = Proposal(
    {
        "request": REQUEST,
        "tasks": [
            task(
                "T1",
                "Extract `build_redirect()` from `auth/views.py`",
                writes=["auth/views.py::login"],
            ),
            task("T2", "Add regression test", creates=["tests/test_redirect.py"]),
            task(
                "T3",
                "Use `build_redirect()` in `sso/views.py`",
                writes=["sso/views.py::callback"],
                depends_on=["T1"],
            ),
            task(
                "T5",
                "Document the new behaviour",
                writes=["docs/auth.md"],
                depends_on=["T3"],
            ),
        ],
    },
    (("T1", "T2"), ("T3",), ("T5",)),
    remarks=("T3: made to depend on T1, which creates build_redirect",),
    cost=(0.9, 1.6),
    dropped=(Dropped(task("T4", "Rename `next_url`", depends_on=["T1"]), "bob"),),
    names={"T1": "extract", "T2": "test", "T3": "sso", "T5": "docs"},
)
SPOTS = (
    Spot("R1", "sso/forms.py", 31, "still calls `login(next_url=)`; the parameter is now `target`"),
    Spot("R2", "tests/test_redirect.py", 12, "asserts the old path"),
)
REPAIR = Proposal(
    {"tasks": [task("R1", "Call `login(target=)`"), task("R2", "Assert the new path")]},
    (("R1", "R2"),),
    spots=SPOTS,
)

REVIEW = RunState(
    Phase.REVIEW,
    ALICE,
    run="r7f3k2",
    issue=42,
    trigger=Trigger(81, f"{PAGE}/issues/42#issuecomment-81", 1, NOW - 1000),
    request=REQUEST,
    wanted=Wanted(agents=4, budget=5.0),
    base="main",
    base_commit="a1b2c3d" + "0" * 33,
    offers=(OLD, NEW),
    spent=0.42,
    posted={"track": Posted(90), "plan:2": Posted(92), "repair:1": Posted(95)},
    created=NOW - 1000,
    since=NOW - 60,
)
YES = Approval(ALICE, NEW.digest, f"{PAGE}/issues/42#issuecomment-93", NOW - 20)
ONE = Landed(1, "abc1234" + "0" * 33, ("extract", "test"), "build_redirect()")
TWO = Landed(2, "def5678" + "0" * 33, ("sso",), "sso uses build_redirect()")
FIX = Landed(3, "fed4321" + "0" * 33, ("R1", "R2"), "what was left", repair=1)
LAST = Landed(4, "aaa9876" + "0" * 33, ("docs",), "the new behaviour")
RUNNING = replace(
    REVIEW,
    phase=Phase.RUNNING,
    approved=NEW.digest,
    approvals=(YES,),
    waves=(ONE,),
    pull=Pull(57, "PR_1"),
    facts={"tests": "14 tests"},
)
MENDING = replace(
    RUNNING, phase=Phase.REPAIR_REVIEW, offers=(OLD, NEW, REPAIRS), waves=(ONE, TWO), approved=""
)
DONE = replace(
    MENDING,
    phase=Phase.DONE,
    approved=REPAIRS.digest,
    waves=(ONE, TWO, FIX, LAST),
    spent=1.31,
    since=NOW - 280,
    facts={"tests": "14 tests pass"},
)
FAILED = replace(
    RUNNING,
    phase=Phase.FAILED,
    why="T3 failed twice: tests/test_redirect.py::test_loop (assert 302 == 200).",
)
CANCELLED = replace(RUNNING, phase=Phase.CANCELLED, halt=Halt("cancel", "bob"))
ASK = Facts(ALICE, "write", NOW - 60, key="c94:1", now=NOW)
OUTPUT = "\n".join(f"line {number}" for number in range(50)) + "\ntoken ghp_" + "a" * 36
SPENT = {"T1": 41.0, "T2": 130.0}


def misread() -> Asked:
    return parse("/mak status\n/mak run --agent=2 fix it")


def _repairs() -> str:
    body, comments = messages.repairs(
        MENDING, REPAIRS, REPAIR, LINKS, {("tests/test_redirect.py", 12)}, PLAN
    )
    return "\n\n".join([body, *(f"{c['path']}:{c['line']}\n{c['body']}" for c in comments)])


def _protected() -> str:
    protected = (".github/workflows/ci.yml", "uv.lock")
    proposal = replace(
        PLAN,
        protected=protected,
        overlaps=(Overlap("r9", 43, "carol", ("auth/views.py::login",)),),
        cost=(None, None),
        remarks=(),
    )
    rules = Rules(approvals=2, maintainers=True, others=True)
    return messages.plan(REVIEW, replace(NEW, protected=protected), proposal, LINKS, rules)


#: By number where the wording is agreed on, then by what it is.
SAID: dict[str, Callable[[], str]] = {
    "M1-tracking": lambda: messages.tracking(REVIEW, PLAN, LINKS, NOW),
    "M1-tracking-repairs": lambda: messages.tracking(MENDING, PLAN, LINKS, NOW),
    "M1-tracking-planning": lambda: messages.tracking(
        replace(REVIEW, phase=Phase.PLANNING, offers=()), None, NONE, NOW
    ),
    "M2-plan": lambda: messages.plan(REVIEW, NEW, PLAN, LINKS, Rules()),
    "M2-plan-protected": _protected,
    "M2-plan-only": lambda: messages.plan(replace(REVIEW, plan_only=True), NEW, PLAN, LINKS),
    "M3-stale": lambda: messages.stale(REVIEW, Stale(OLD, NEW), ASK),
    "M3-stale-unknown": lambda: messages.stale(REVIEW, Stale(None, NEW), ASK),
    "M3-stale-planning": lambda: messages.stale(REVIEW, Stale(OLD, None), ASK),
    "M4-misread": lambda: messages.misread(misread(), "c94:2"),
    "M5-commit-title": lambda: messages.commit_title("sso redirect uses build_redirect()", 2, 3),
    "M6-pull": lambda: messages.pull_body(MENDING, PLAN, LINKS, by_job=True),
    "M6-no-pull": lambda: messages.no_pull(RUNNING, LINKS),
    "M7-repairs": _repairs,
    "M8-done": lambda: messages.done(DONE, LINKS, ["alice"]),
    "M9-failed": lambda: messages.failed(FAILED, PLAN, LINKS, OUTPUT),
    "M10-cancelled": lambda: messages.cancelled(CANCELLED, PLAN, "wave 2"),
    "M10-closed": lambda: messages.cancelled(
        replace(CANCELLED, halt=Halt("cancel", ""), why="Cancelled: the issue was closed."), PLAN
    ),
    "M11-moved": lambda: messages.branch_moved(RUNNING, "carol", "9f8e7d6" + "0" * 33, LINKS),
    "M12-summary": lambda: messages.summary(RUNNING, NEW, PLAN, LINKS, NOW, SPENT),
    "expired": lambda: messages.expired(replace(REVIEW, phase=Phase.EXPIRED)),
    "status": lambda: messages.status(DONE, PLAN, LINKS, NOW, "c96:1"),
    "help": lambda: messages.help_text(),
    "help-edit": lambda: messages.help_text("edit", "c97:1"),
}


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for old in GOLDEN.glob("*.md"):
        old.unlink()
    for name, body in SAID.items():
        (GOLDEN / f"{name}.md").write_text(body() + "\n", encoding="utf-8")
