"""Every command in every state: what runs was approved, by its digest, by somebody who may."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mak.github.commands import Command
from mak.github.reduce import ALLOWED, offered, reduce
from mak.github.state import Facts, Offer, Phase, Plan, Refuse, RunState, Stale, Start, Stop
from mak.github.verbs import VERBS

OLD, NEW = Offer(1, "a" * 64, 100), Offer(2, "b" * 64, 200)
REVIEW = RunState(Phase.REVIEW, 7, (OLD, NEW))
BOB = Facts(8, "write", 300)


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("verb", [verb.name for verb in VERBS])
def test_a_command_is_heard_or_refused_with_a_reason(verb: str, phase: Phase) -> None:
    state = replace(REVIEW, phase=phase)
    after, (effect,) = reduce(state, Command(verb, 1), BOB)
    if phase not in ALLOWED[verb]:
        assert after == state
        assert effect == Refuse(f"`{verb}` does nothing while the run is {phase}.")
    if after.phase is Phase.RUNNING and phase is not Phase.RUNNING:
        assert verb == "approve"
        assert effect == Start(NEW.digest, Command(verb, 1))
        assert after.approved == NEW.digest


@pytest.mark.parametrize("permission", ["read", "none", "triage", ""])
@pytest.mark.parametrize("verb", [verb.name for verb in VERBS])
def test_who_may_not_write_changes_nothing(verb: str, permission: str) -> None:
    after, (effect,) = reduce(REVIEW, Command(verb, 1), Facts(8, permission, 300))
    assert after == REVIEW
    told = permission == "read" and verb in ("status", "help")
    assert (effect == Refuse()) is not told


def test_who_asked_may_cancel() -> None:
    cancel = Command("cancel", 1)
    after, effects = reduce(REVIEW, cancel, Facts(7, "none", 300))
    assert after.phase is Phase.CANCELLED
    assert effects == (Stop(cancel),)


@pytest.mark.parametrize(
    ("word", "written", "meant"),
    [
        ("aaaaaaa", 300, OLD),
        ("ccccccc", 300, None),
        ("", 199, OLD),
        ("", 200, OLD),
        ("", 100, None),
    ],
)
def test_what_was_approved_is_not_what_there_is(
    word: str, written: int, meant: Offer | None
) -> None:
    facts = replace(BOB, written=written)
    assert reduce(REVIEW, Command("approve", 1, word=word), facts) == (REVIEW, (Stale(meant, NEW),))


@pytest.mark.parametrize(("word", "written"), [("bbbbbbb", 1), ("", 201)])
def test_what_there_is_runs(word: str, written: int) -> None:
    approve = Command("approve", 1, word=word)
    after, effects = reduce(REVIEW, approve, replace(BOB, written=written))
    assert (after.phase, after.approved) == (Phase.RUNNING, NEW.digest)
    assert effects == (Start(NEW.digest, approve),)


def test_an_edit_a_second_before_an_approval_keeps_it_from_running() -> None:
    edit = Command("edit", 1, ids=("T1",), text="other")
    state, effects = reduce(REVIEW, edit, replace(BOB, written=300))
    assert effects == (Plan(edit),)
    approve, facts = Command("approve", 1), replace(BOB, written=301)
    assert reduce(state, approve, facts) == (state, (Stale(NEW, None),))
    third = Offer(3, "c" * 64, 312)
    state = offered(state, third, Phase.REVIEW)
    assert reduce(state, approve, facts) == (state, (Stale(NEW, third),))


def test_a_plan_that_was_asked_for_alone_never_runs() -> None:
    state, _ = reduce(replace(REVIEW, phase=Phase.DONE), Command("plan", 1, text="x"), BOB)
    state = offered(state, NEW, Phase.REVIEW)
    after, (effect,) = reduce(state, Command("approve", 1), BOB)
    assert after == state
    assert isinstance(effect, Refuse)


@pytest.mark.parametrize("verb", ["resume", "retry"])
def test_a_run_goes_on_with_what_was_approved(verb: str) -> None:
    paused, _ = reduce(
        replace(REVIEW, phase=Phase.RUNNING, approved=NEW.digest), Command("pause", 1), BOB
    )
    assert paused.phase is Phase.PAUSED
    after, effects = reduce(paused, Command(verb, 1), BOB)
    assert after.phase is Phase.RUNNING
    assert effects == (Start(NEW.digest, Command(verb, 1)),)
