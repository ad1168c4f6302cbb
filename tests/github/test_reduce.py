"""Every command in every state: what runs was approved, by its digest, by somebody who may."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mak.errors import GitHubError
from mak.github.commands import Command, parse
from mak.github.reduce import (
    ALLOWED,
    Begin,
    Done,
    Facts,
    Refuse,
    Rules,
    Stale,
    closed,
    expired,
    moved,
    offered,
    shown,
)
from mak.github.reduce import reduce as reduced
from mak.github.state import (
    ACTIVE,
    PATIENCE,
    Offer,
    Person,
    Phase,
    Proposal,
    RunState,
    dump,
    load,
)
from mak.github.verbs import VERBS

OLD, NEW = Offer(1, "a" * 64, 100), Offer(2, "b" * 64, 200)
ALICE = Person(7, "alice")
REVIEW = RunState(Phase.REVIEW, ALICE, run="r7f3k2", issue=42, offers=(OLD, NEW))
BOB = Facts(Person(8, "bob"), "write", 300, key="c81:1", now=305)


def reduce(state, command, facts, rules=None):
    """Reduce as a repository without rules of its own does."""
    return reduced(state, command, facts, rules or Rules())


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("verb", [verb.name for verb in VERBS])
def test_a_command_is_heard_or_refused_with_a_reason(verb: str, phase: Phase) -> None:
    state = replace(REVIEW, phase=phase)
    after, effect = reduce(state, Command(verb, 1, word="all" if verb == "skip" else ""), BOB)
    if phase not in ALLOWED[verb]:
        assert after == state
        assert effect == Refuse(f"`{verb}` does nothing while the run is {phase}.")
    if after.phase is Phase.RUNNING and phase is not Phase.RUNNING:
        assert verb in ("approve", "skip")
        assert effect == Done()
        assert after.approved == (NEW.digest if verb == "approve" else "")
    assert load(RunState, dump(after)) == after


@pytest.mark.parametrize("permission", ["read", "none", "triage", ""])
@pytest.mark.parametrize("verb", [verb.name for verb in VERBS])
def test_who_may_not_write_changes_nothing(verb: str, permission: str) -> None:
    after, effect = reduce(REVIEW, Command(verb, 1), replace(BOB, permission=permission))
    assert after == REVIEW
    told = permission == "read" and verb in ("status", "help")
    assert (effect == Refuse()) is not told


def test_who_asked_may_cancel() -> None:
    facts = replace(BOB, actor=ALICE, permission="none")
    after, effect = reduce(REVIEW, Command("cancel", 1), facts)
    assert after.phase is Phase.CANCELLED and effect == Done()
    assert after.why == "Cancelled by @alice while the run was review."


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
    assert reduce(REVIEW, Command("approve", 1, word=word), facts) == (REVIEW, Stale(meant, NEW))


@pytest.mark.parametrize(("word", "written"), [("bbbbbbb", 1), ("", 201)])
def test_what_there_is_runs(word: str, written: int) -> None:
    approve = Command("approve", 1, word=word)
    after, effect = reduce(REVIEW, approve, replace(BOB, written=written))
    assert (after.phase, after.approved, effect) == (Phase.RUNNING, NEW.digest, Done())


def test_an_offer_that_is_not_shown_yet_is_not_meant_by_who_names_none() -> None:
    state = replace(REVIEW, offers=(OLD, replace(NEW, shown=0)))
    assert reduce(state, Command("approve", 1), BOB)[1] == Stale(OLD, state.offers[-1])
    after, _ = reduce(shown(state, 290), Command("approve", 1), BOB)
    assert after.approved == NEW.digest


def test_an_edit_a_second_before_an_approval_keeps_it_from_running() -> None:
    edit = Command("edit", 1, ids=("T1",), text="other")
    state, effect = reduce(REVIEW, edit, replace(BOB, written=300))
    assert effect == Done() and state.phase is Phase.PLANNING
    assert [todo.command for todo in state.todo] == [edit]
    approve, facts = Command("approve", 1), replace(BOB, written=301)
    assert reduce(state, approve, facts) == (state, Stale(NEW, None))
    third = Offer(3, "c" * 64, 312)
    state = offered(state, third, Phase.REVIEW, 312)
    assert reduce(state, approve, facts) == (state, Stale(NEW, third))


def test_a_plan_that_was_asked_for_alone_never_runs() -> None:
    state = replace(REVIEW, plan_only=True)
    after, effect = reduce(state, Command("approve", 1), BOB)
    assert after == state
    assert isinstance(effect, Refuse)


@pytest.mark.parametrize("phase", sorted(set(Phase) - ACTIVE))
def test_after_the_end_a_new_run_may_be_asked_for(phase: Phase) -> None:
    command = Command("run", 1, text="again")
    state = replace(REVIEW, phase=phase)
    assert reduce(state, command, BOB) == (state, Begin(command))


def test_a_pause_waits_for_the_wave_and_resuming_takes_it_back() -> None:
    running = replace(REVIEW, phase=Phase.RUNNING, approved=NEW.digest)
    halted, _ = reduce(running, Command("pause", 1), BOB)
    assert halted.phase is Phase.RUNNING and halted.halt and halted.halt.how == "pause"
    paused = halted.into(Phase.PAUSED, 310)
    for verb in ("resume", "retry"):
        after, effect = reduce(paused, Command(verb, 1), BOB)
        assert (after.phase, after.halt, effect) == (Phase.RUNNING, None, Done())
        assert after.approved == NEW.digest


def test_as_many_approve_as_the_repository_asks_for() -> None:
    rules = Rules(approvals=2)
    approve = Command("approve", 1, word="bbbbbbb")
    once, effect = reduce(REVIEW, approve, BOB, rules)
    assert once.phase is Phase.REVIEW
    assert effect == Done("Approved by @bob; 1 more approval is needed.")
    same, _ = reduce(once, approve, BOB, rules)
    assert same.phase is Phase.REVIEW and len(same.approvals) == 1
    both, _ = reduce(once, approve, replace(BOB, actor=Person(9, "carol")), rules)
    assert both.phase is Phase.RUNNING
    edited, _ = reduce(once, Command("edit", 1, ids=("T1",), text="x"), BOB, rules)
    assert edited.approvals == ()


def test_maintainers_and_others_decide_where_a_repository_wants_it() -> None:
    approve = Command("approve", 1, word="bbbbbbb")
    assert isinstance(reduce(REVIEW, approve, BOB, Rules(maintainers=True))[1], Refuse)
    keeper = replace(BOB, role="maintain")
    assert reduce(REVIEW, approve, keeper, Rules(maintainers=True))[0].phase is Phase.RUNNING
    asker = replace(BOB, actor=ALICE)
    assert isinstance(reduce(REVIEW, approve, asker, Rules(others=True))[1], Refuse)


PROTECTED = replace(NEW, protected=(".github/workflows/ci.yml", "uv.lock"))
ALLOW = (("allow-protected", ""),)


@pytest.mark.parametrize("role", ["", "write", "maintain", "admin"])
@pytest.mark.parametrize("flags", [(), ALLOW])
@pytest.mark.parametrize("phase", [Phase.REVIEW, Phase.REPAIR_REVIEW])
def test_protected_files_take_a_maintainer_s_explicit_word(
    phase: Phase, flags: tuple[tuple[str, str], ...], role: str
) -> None:
    state = replace(REVIEW, phase=phase, offers=(OLD, PROTECTED))
    approve = Command("approve", 1, flags=flags)
    after, effect = reduce(state, approve, replace(BOB, role=role))
    if flags and role in ("maintain", "admin"):
        assert (after.phase, after.approved, effect) == (Phase.RUNNING, NEW.digest, Done())
        return
    assert after == state and isinstance(effect, Refuse)
    assert "`.github/workflows/ci.yml`, `uv.lock`" in effect.says
    told = "`/mak approve bbbbbbb --allow-protected`" in effect.says
    assert told is (role in ("maintain", "admin"))


def test_a_refusal_names_some_of_many_protected_files_and_none_as_markup() -> None:
    files = ("a`@all`.lock", *(f"{n}.lock" for n in range(20)))
    state = replace(REVIEW, offers=(replace(NEW, protected=files),))
    effect = reduce(state, Command("approve", 1), BOB)[1]
    assert isinstance(effect, Refuse)
    assert "`a'@all'.lock`, `0.lock`" in effect.says and "and 13 more" in effect.says


def test_the_flag_for_protected_files_is_read_and_does_no_harm_without_any() -> None:
    asked = parse("/mak approve bbbbbbb --allow-protected")
    assert asked.commands == (Command("approve", 1, word="bbbbbbb", flags=ALLOW),)
    after, _ = reduce(REVIEW, asked.commands[0], BOB)
    assert after.approved == NEW.digest
    assert parse("/mak approve --allow-protected=yes").problem is not None


@pytest.mark.parametrize(
    ("rules", "role", "begins"),
    [(Rules(), "admin", False), (Rules(unreviewed=True), "write", False)]
    + [(Rules(unreviewed=True), role, True) for role in ("maintain", "admin")],
)
def test_no_review_takes_a_maintainer_and_a_setting(rules: Rules, role: str, begins: bool) -> None:
    command = Command("run", 1, text="x", flags=(("yes", ""),))
    state = replace(REVIEW, phase=Phase.DONE)
    _, effect = reduce(state, command, replace(BOB, role=role), rules)
    assert isinstance(effect, Begin) is begins


def test_only_some_waves_are_approved() -> None:
    approve = Command("approve", 1, word="bbbbbbb", flags=(("waves", "1..2"),))
    assert reduce(REVIEW, approve, BOB)[0].last_wave == 2


def test_repairs_are_done_without() -> None:
    offer = replace(NEW, repair=1)
    state = replace(REVIEW, phase=Phase.REPAIR_REVIEW, offers=(OLD, offer))
    after, _ = reduce(state, Command("skip", 1, word="all"), BOB)
    assert (after.phase, after.skipped) == (Phase.RUNNING, (1,))
    some, _ = reduce(state, Command("skip", 1, ids=("R1",)), BOB)
    assert some.phase is Phase.PLANNING and some.skipped == ()


def test_a_button_skips_no_other_repairs_than_those_it_was_shown_with() -> None:
    state = replace(REVIEW, phase=Phase.REPAIR_REVIEW, offers=(OLD, replace(NEW, repair=1)))
    skip = Command("skip", 1, word="all")
    after, effect = reduce(state, skip, replace(BOB, offer=OLD.digest))
    assert after == state and isinstance(effect, Refuse)
    after, _ = reduce(state, skip, replace(BOB, offer=NEW.digest))
    assert after.skipped == (1,)


@pytest.mark.parametrize("phase", Phase)
def test_what_is_closed_is_cancelled(phase: Phase) -> None:
    state = replace(REVIEW, phase=phase)
    after = closed(state, "the issue was closed", 400)
    if phase in ACTIVE:
        assert after.phase is Phase.CANCELLED and "the issue was closed" in after.why
    else:
        assert after == state


@pytest.mark.parametrize("phase", Phase)
def test_what_waits_for_a_person_does_not_wait_for_ever(phase: Phase) -> None:
    state = REVIEW.into(phase, 1000)
    assert expired(state, 1000 + PATIENCE - 1) == state
    waits = phase in (Phase.REVIEW, Phase.REPAIR_REVIEW, Phase.PAUSED)
    after = expired(state, 1000 + PATIENCE)
    assert after.phase is (Phase.EXPIRED if waits else phase)


def test_a_push_of_somebody_pauses() -> None:
    state = replace(REVIEW, phase=Phase.RUNNING)
    after = moved(state, "carol", "9f8e7d6" + "0" * 33, 400)
    assert after.phase is Phase.PAUSED
    assert after.why == "@carol pushed 9f8e7d6 to `mak/42-r7f3k2`."


def test_documents_read_back_and_nothing_else_does() -> None:
    proposal = Proposal({"tasks": []}, (("T1",),), names={"T1": "t"})
    assert load(Proposal, dump(proposal)) == proposal
    for data in (b"", b"{}", b"[]", b'{"phase": "flying"}', b"\xff"):
        with pytest.raises(GitHubError):
            load(RunState, data)
