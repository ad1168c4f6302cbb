"""A history with known answers; the mapping of ranges to nodes; the figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mak.cli.main import main
from mak.errors import UsageError
from mak.model import NodeId
from mak.source import split
from mak.study import (
    Change,
    FileDiff,
    Footprint,
    Grain,
    Hunk,
    meetings,
    read_history,
    rounds,
    touches,
    worth,
)
from mak.study.contention import Replayed, footprints, hot_nodes, in_flight, replay
from mak.study.history import Blobs, open_git, read_patch
from mak.study.statistics import gini, tail_exponent, wilson
from tests.study.histories import MODULE, Author, contended

# ------------------------------------------------------------------------------------ a history


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Author:
    return contended(tmp_path_factory.mktemp("study") / "repo")


@pytest.fixture(scope="module")
def prints(made: Author) -> list[Footprint]:
    git = open_git(made.root)
    return footprints(read_history(git).changes, Blobs(git))


def test_landed_changes_are_read_with_where_they_began(made: Author) -> None:
    history = read_history(open_git(made.root))
    assert [c.author.partition("@")[0] for c in history.changes] == [
        "alpha",
        "beta",
        "two",
        "zero",
        "wide",
        "inner",
    ]
    assert [(c.landed, c.began) for c in history.changes] == [
        (1, 0),
        (2, 0),
        (3, 2),
        (4, 2),
        (5, 4),
        (6, 4),
    ]
    assert [c.form for c in history.changes] == [*["merge"] * 3, "squash", "merge", "merge"]


def test_the_last_changes_are_those_that_are_read(made: Author) -> None:
    history = read_history(open_git(made.root), limit=2)
    assert [c.landed for c in history.changes] == [5, 6]


def test_nodes_are_touched_and_nothing_else(prints: list[Footprint]) -> None:
    assert [sorted(n.symbol for n in one.nodes) for one in prints] == [
        ["alpha"],
        ["beta"],
        ["@body"],
        ["@body"],
        ["gamma"],
        ["gamma"],
    ]
    assert [all(one.nodes.values()) for one in prints] == [False, False, True, True, False, False]
    assert [len(one.api) for one in prints] == [0, 0, 0, 0, 1, 0]


def test_pairs_meet_where_the_history_was_made_to(prints: list[Footprint]) -> None:
    pairs = list(in_flight(prints))
    assert [(a.change.landed, b.change.landed) for a, b in pairs] == [(1, 2), (3, 4), (5, 6)]
    found = meetings(pairs)
    assert {str(grain): found.met[grain] for grain in Grain} == {
        "file": 3,
        "node": 2,
        "append": 1,
        "signature": 1,
    }


def test_finer_locks_take_fewer_rounds(prints: list[Footprint]) -> None:
    assert [rounds(prints, grain) for grain in Grain] == [6, 2, 2, 2]
    assert [rounds(prints[:4], g) for g in (Grain.FILE, Grain.NODE, Grain.APPEND)] == [4, 2, 1]
    two = replay(prints, 2, Grain.APPEND)
    assert two is not None and (two.windows, two.rounds) == (3, pytest.approx(4 / 3))
    assert replay(prints, 8, Grain.FILE) is None


def test_hot_nodes_say_how_often_they_only_grow(prints: list[Footprint]) -> None:
    hot = {one.node.symbol: (one.changes, one.adds) for one in hot_nodes(prints)}
    assert hot == {"@body": (2, 2), "gamma": (2, 0), "alpha": (1, 0), "beta": (1, 0)}


def test_a_page_says_what_the_history_shows(
    made: Author, capsys: pytest.CaptureFixture[str]
) -> None:
    before = made.git("for-each-ref")
    assert main(["study", "--work-dir", str(made.root)]) == 0
    page = capsys.readouterr().out
    assert "of 3 pairs that were under way at once" in page
    assert "66.7 %   meet in one node" in page
    assert "mod.py::gamma" in page
    assert len(page.splitlines()) < 40
    assert main(["study", "--work-dir", str(made.root), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["changes"], document["pairs"]) == (6, 3)
    assert made.git("for-each-ref") == before


def test_a_history_too_short_is_refused_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = Author(tmp_path / "one")
    assert main(["study", "--work-dir", str(one.root)]) == 2
    assert "too short a history" in capsys.readouterr().err
    with pytest.raises(UsageError, match="reading the history of"):
        open_git(tmp_path)


# ------------------------------------------------------------------------------------ patches


def test_text_that_looks_like_a_patch_is_text() -> None:
    patch = (
        "diff --git a/x.py b/x.py\nindex 1111..2222 100644\n--- a/x.py\n+++ b/x.py\n"
        "@@ -1 +1,2 @@\n---- a/other.py\n+++++ b/other.py\n+diff --git a/y b/y\n"
        "diff --git a/new name.txt b/new name.txt\nnew file mode 100644\nindex 0000..3333\n"
        'diff --git "a/t\\tab" "b/t\\tab"\ndeleted file mode 100644\nindex 4444..0000\n'
        "diff --git a/a.py b/b.py\nsimilarity index 100%\nrename from a.py\nrename to b.py\n"
    )
    assert list(read_patch(patch)) == [
        FileDiff("x.py", "x.py", "1111", "2222", (Hunk(1, 1, 1, 2),)),
        FileDiff("", "new name.txt", "", "3333", ()),
        FileDiff("t\tab", "", "4444", "", ()),
        FileDiff("a.py", "b.py", "", "", ()),
    ]


def test_a_function_that_moves_down_is_not_touched() -> None:
    after = MODULE.replace("def beta", "def added(x):\n    return x\n\n\ndef beta")
    diff = FileDiff("m.py", "m.py", "1", "2", (Hunk(9, 0, 10, 4),))
    found = touches(diff, split(MODULE.encode(), "m.py"), split(after.encode(), "m.py"))
    assert [(t.node.symbol, t.api, t.adds) for t in found] == [("added", True, True)]


@given(st.sets(st.sampled_from(["alpha", "beta", "gamma"])))
def test_whatever_functions_change_are_those_that_are_named(chosen: set[str]) -> None:
    lines = MODULE.splitlines()
    hunks = []
    for number, line in enumerate(lines):
        name = line.removeprefix("def ").partition("(")[0]
        if line.startswith("def ") and name in chosen:
            lines[number + 1] = "    return None"
            hunks.append(Hunk(number + 2, 1, number + 2, 1))
    before, after = (split(t.encode(), "m.py") for t in (MODULE, "\n".join(lines) + "\n"))
    found = touches(FileDiff("m.py", "m.py", "1", "2", tuple(hunks)), before, after)
    assert {touch.node.symbol for touch in found} == chosen


# ------------------------------------------------------------------------------------ figures


def test_intervals_are_those_of_the_textbook() -> None:
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


def test_gini_is_nothing_among_equals() -> None:
    assert gini([3, 3, 3]) == pytest.approx(0)
    assert gini([0, 0, 0, 8]) == pytest.approx(0.75)
    assert gini([]) == 0.0


def test_the_exponent_of_a_power_law_is_found_again() -> None:
    counts = [k for k in range(2, 400) for _ in range(round(100_000 * k**-2.5))]
    found = tail_exponent(counts, least=6)
    assert found is not None and abs(found - 2.5) < 0.15
    assert tail_exponent([2] * 9) is None


def test_agents_are_worth_it_while_each_does_half_of_the_work_of_one() -> None:
    def replayed(agents: int, rounds: float) -> Replayed:
        return Replayed(agents, Grain.NODE, 1, rounds, 0.0, (0.0, 1.0))

    assert worth([replayed(2, 1.0), replayed(4, 1.0), replayed(8, 1.5)]) == 4
    assert worth([replayed(2, 1.5)]) == 1


def test_a_change_of_nothing_meets_nobody() -> None:
    change = Change("c", "p", "a", "s", 1, -1, "", "commit", ())
    empty = Footprint(change, frozenset(), {}, frozenset())
    other = Footprint(change, frozenset({"a"}), {NodeId("a", "f"): False}, frozenset())
    assert not any(empty.meets(other, grain) for grain in Grain)
