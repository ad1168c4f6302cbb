"""What MAK says is worded as people were told, and says what there is."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from mak.github import marks, messages
from mak.github.commands import parse
from mak.github.reduce import Facts, Refuse, Rules, Stale, reduce
from mak.github.state import (
    REVIEWS,
    Halt,
    Landed,
    Offer,
    Phase,
    Posted,
    Todo,
)
from mak.github.verbs import VERBS
from tests.github import said
from tests.github.rendered import does_nothing
from tests.github.said import (
    CANCELLED,
    DONE,
    FAILED,
    GOLDEN,
    LINKS,
    MENDING,
    NEW,
    NOW,
    PLAN,
    REPAIRS,
    REVIEW,
    RUNNING,
    SAID,
)

# ------------------------------------------------------------------------- as people were told


@pytest.mark.parametrize("name", SAID)
def test_what_is_said(name: str) -> None:
    text = (GOLDEN / f"{name}.md").read_text(encoding="utf-8")
    assert SAID[name]() + "\n" == text, "make said writes it anew"


def test_every_message_that_is_agreed_on_is_shown() -> None:
    assert {f"M{number}" for number in range(1, 13)} <= {name.split("-")[0] for name in SAID}
    assert {path.stem for path in GOLDEN.glob("*.md")} == {*SAID}


@pytest.mark.parametrize(
    "name", [name for name in SAID if name not in ("M5-commit-title", "M7-repairs")]
)
def test_a_body_ends_with_its_mark(name: str) -> None:
    body = SAID[name]()
    mark = marks.read(body)
    assert mark
    assert mark.get("run", "r7f3k2") == "r7f3k2"
    does_nothing(body)


def test_help_names_every_verb_and_flag() -> None:
    every = messages.help_text()
    for verb in VERBS:
        assert f"`/mak {verb.usage.split(' | ')[0]}`" in every
        more = messages.help_text(verb.name.upper())
        assert verb.does in more
        assert all(flag.shown in more for flag in verb.flags)
    assert messages.help_text("nonsense") == every


#: Every body that says what may be typed, and where the run stands then.
TYPED = {
    "plan": (REVIEW, lambda state: messages.plan(state, NEW, PLAN, LINKS)),
    "stale": (REVIEW, lambda state: messages.stale(state, Stale(said.OLD, NEW), said.ASK)),
    "repairs": (MENDING, lambda state: messages.repairs(state, REPAIRS, said.REPAIR, LINKS)[0]),
    "failed": (FAILED, lambda state: messages.failed(state, PLAN, LINKS)),
    "unplanned": (
        replace(FAILED, approved="", approvals=(), offers=(), pull=None, waves=()),
        lambda state: messages.failed(state, None, LINKS),
    ),
    "cancelled": (CANCELLED, lambda state: messages.cancelled(state, PLAN)),
    "unapproved": (
        replace(CANCELLED, approved=""),
        lambda state: messages.cancelled(state, PLAN),
    ),
    "moved": (
        replace(RUNNING, phase=Phase.PAUSED),
        lambda state: messages.branch_moved(state, "carol", "9f8e7d6"),
    ),
    "expired": (replace(REVIEW, phase=Phase.EXPIRED), messages.expired),
    **{
        f"{phase} {approved[:3]}": (
            replace(MENDING, phase=phase, approved=approved),
            lambda state: messages.tracking(state, PLAN, LINKS, NOW),
        )
        for phase in Phase
        for approved in ("", REPAIRS.digest)
        # What waits for a decision is not approved.
        if not (approved and phase in REVIEWS)
    },
}


@pytest.mark.parametrize("case", TYPED)
def test_what_is_offered_to_type_is_read_and_does_something(case: str) -> None:
    state, body = TYPED[case]
    shown = tuple(replace(offer, shown=1) for offer in state.offers)
    facts = Facts(said.BOB, "admin", NOW, key="c1:1", now=NOW)
    offered = re.findall(r"(?:`|^)(/mak [^`\n]+)", body(state), re.MULTILINE)
    assert bool(offered) == (case != "unapproved")
    for typed in offered:
        asked = parse(typed.replace("…", "a text"))
        assert asked.problem is None, typed
        _, effect = reduce(replace(state, offers=shown), asked.commands[0], facts, Rules())
        assert not isinstance(effect, (Refuse, Stale)), (typed, effect)


# ------------------------------------------------------------------------- what is where


def test_where_there_are_no_addresses_there_are_no_links() -> None:
    for body in (
        messages.tracking(DONE, PLAN, said.NONE, NOW),
        messages.plan(REVIEW, NEW, PLAN, said.NONE),
        messages.done(DONE, said.NONE),
        messages.failed(FAILED, PLAN, said.NONE),
    ):
        assert "](" not in body.replace(f"]({said.PAGE}", "")
        assert "/pull/" not in body


def test_a_digest_is_as_long_as_it_has_to_be() -> None:
    twin = Offer(3, NEW.digest[:20] + "f" * 44)
    state = replace(REVIEW, offers=(said.OLD, NEW, twin))
    assert f"/mak approve {twin.digest[:21]}\n" in messages.plan(state, twin, PLAN, LINKS)


def test_a_wave_that_landed_in_part_is_left_to_its_repairs() -> None:
    part = replace(MENDING, waves=(replace(said.ONE, tasks=("extract",)),))
    rows = messages.tracking(part, PLAN, LINKS, NOW)
    assert "| ⚠️ | Wave 1 | T1 T2 · [`abc1234`]" in rows
    mended = replace(part, phase=Phase.RUNNING, approved=REPAIRS.digest)
    rows = messages.tracking(mended, PLAN, LINKS, NOW)
    assert "| ⏳ | **Repair 1** |" in rows
    assert "| ▫️ | Wave 2 |" in rows
    assert messages.next_wave(mended, PLAN) == "repair 1"
    twice = (replace(said.FIX, tasks=("R1",)), replace(said.FIX, commit="e" * 40, tasks=("R2",)))
    rows = messages.tracking(replace(mended, waves=(*part.waves, *twice)), PLAN, LINKS, NOW)
    assert rows.count("Repair 1") == 1
    assert "| ✅ | Repair 1 | R1 R2 · [`fed4321`]" in rows
    assert "| ⏳ | **Wave 2** |" in rows


def test_a_wave_without_a_commit_of_a_run_that_is_done_is_over() -> None:
    state = replace(DONE, waves=(said.ONE,))
    rows = messages.tracking(state, PLAN, LINKS, NOW)
    assert "| – | Wave 2 | T3 · nothing committed |" in rows
    assert messages.next_wave(state, PLAN) == ""


def test_what_was_asked_of_a_run_on_its_way_is_shown() -> None:
    state = replace(
        RUNNING, halt=Halt("pause", "bob"), last_wave=2, attempt=2, tokens=12_300, skipped=(1,)
    )
    shown = messages.tracking(state, PLAN, LINKS, NOW)
    for said_so in (
        "Pauses after the wave that runs, as @&#8203;bob asked.",
        "Runs up to wave 2",
        "attempt 2",
        "12,300 tokens",
        "repairs of plan 1",
    ):
        assert said_so in shown


def test_a_plan_that_is_being_changed_is_not_one_to_review() -> None:
    drop = Todo(parse("/mak drop R1").commands[0], said.BOB, "c1:1", NOW)
    state = replace(MENDING, phase=Phase.PLANNING, todo=(drop,))
    shown = messages.tracking(state, PLAN, LINKS, NOW)
    assert "| ⏳ | Repair plan 1 | is being changed |" in shown
    again = replace(drop, command=parse("/mak replan").commands[0])
    shown = messages.tracking(replace(state, todo=(again,)), PLAN, LINKS, NOW)
    assert "| ⏳ | Plan rev 2 | is being changed |" in shown
    stale = messages.stale(replace(state, todo=(drop,)), Stale(NEW, None), said.ASK)
    assert "a new plan is being made (`drop` by @bob)" in stale


def test_what_landed_of_an_earlier_plan_is_still_shown() -> None:
    earlier = Landed(1, "c" * 40, ("gone",))
    state = replace(RUNNING, waves=(earlier, replace(said.ONE, number=2)))
    rows = messages.tracking(state, PLAN, LINKS, NOW)
    assert "| ✅ | Wave 1 of an earlier plan | gone · [`ccccccc`]" in rows
    assert "| ✅ | Wave 1 | T1 T2" in rows


def test_only_lines_in_the_diff_get_comments() -> None:
    body, comments = messages.repairs(MENDING, REPAIRS, said.REPAIR, LINKS, set(), PLAN)
    assert comments == []
    assert "inline below" not in body
    every = {(spot.path, spot.line) for spot in said.SPOTS}
    body, comments = messages.repairs(MENDING, REPAIRS, said.REPAIR, LINKS, every, PLAN)
    assert {(each["path"], each["line"]) for each in comments} == every
    assert "not in this diff" not in body


def test_what_is_protected_takes_its_own_word_everywhere() -> None:
    offer = replace(NEW, protected=("uv.lock",))
    state = replace(REVIEW, offers=(said.OLD, offer))
    word = "/mak approve 3f9c1ab --allow-protected`"
    assert word in messages.stale(state, Stale(said.OLD, offer), said.ASK)
    assert word in messages.repairs(state, offer, said.REPAIR, LINKS)[0]
    assert "from a maintainer" in messages.tracking(state, PLAN, LINKS, NOW)
    shown = messages.plan(state, offer, PLAN, LINKS)
    assert "1 approval from a maintainer" in shown
    assert "`uv.lock`" in shown


def test_what_was_taken_back_is_not_said_to_stay() -> None:
    state = replace(CANCELLED, halt=Halt("cancel", "bob", revert=True))
    body = messages.cancelled(state, PLAN, "wave 2")
    assert "taken back" in body
    assert "stays" not in body
    assert "resume" not in body


def test_an_answer_is_known_by_the_command_that_it_is_for() -> None:
    first, second = messages.answer("Yes.", "c81:1", "r1"), messages.answer("Yes.", "c81:2", "r1")
    assert marks.read(first) != marks.read(second)
    assert marks.read(first) == marks.read(messages.answer("No.", "c81:1", "r1"))


def test_a_run_that_failed_twice_says_so_twice() -> None:
    again = replace(FAILED, since=FAILED.since + 90)
    assert marks.read(messages.failed(FAILED, PLAN, LINKS)) != marks.read(
        messages.failed(again, PLAN, LINKS)
    )


def test_what_is_posted_elsewhere_is_linked() -> None:
    state = replace(REVIEW, posted={"plan:2": Posted(0)})
    assert "open plan" not in messages.tracking(state, PLAN, LINKS, NOW)
