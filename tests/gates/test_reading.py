"""What is read out of commands' output, and which parts of a change are found to fail."""

from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mak.gates import halve
from mak.gates.reading import MOST, cut, failures, paths, subject, tidy

PYTEST = """\
..F.E                                                                    [100%]
=================================== FAILURES ===================================
FAILED tests/test_a.py::test_one[x] - assert 1 == 2
ERROR tests/test_b.py - ImportError: no
1 failed, 3 passed, 1 error in 0.12s
"""
MYPY = "pkg/a.py:12: error: Name 'x' is not defined  [name-defined]\nFound 1 error in 1 file\n"
RUFF = "pkg/a.py:3:8: F401 [*] `os` imported but unused\nFound 1 error.\n"
UNITTEST = "FAIL: test_x (tests.test_a.T)\n-----\nAssertionError\nFAILED (failures=1)\n"


@pytest.mark.parametrize(
    ("output", "found"),
    [
        (PYTEST, {"tests/test_a.py::test_one[x]", "tests/test_b.py"}),
        (MYPY, {"pkg/a.py: error: Name 'x' is not defined  [name-defined]"}),
        (RUFF, {"pkg/a.py: F401 [*] `os` imported but unused"}),
        (UNITTEST, {"test_x (tests.test_a.T)"}),
        ("make: *** [all] Error 2\n", set()),
    ],
)
def test_failures_are_told_apart(output: str, found: set[str]) -> None:
    assert {*failures(output)} == found


def test_a_complaint_is_the_same_when_lines_move() -> None:
    assert failures(MYPY) == failures(MYPY.replace(":12:", ":99:"))


def test_failures_name_their_files() -> None:
    assert {*paths(failures(PYTEST + MYPY))} == {"tests/test_a.py", "tests/test_b.py"}
    assert {*paths(failures(MYPY))} == {"pkg/a.py"}
    assert "tests/test_a.py" in {*paths(failures(UNITTEST))}


def test_the_subject_is_the_same_whenever_the_same_fails() -> None:
    assert subject("1 failed in 0.1s", []) == subject("1 failed in 7.25s", [])
    assert subject(PYTEST, failures(PYTEST)) == "tests/test_a.py::test_one[x], tests/test_b.py"
    assert subject("", []) == "it says nothing"


def test_output_is_tidied_and_cut() -> None:
    assert tidy("\x1b[31mred\x1b[0m /tmp/x/pkg/a.py\r\n", "/tmp/x") == "red pkg/a.py\n"
    long = cut("begin" + "x" * 3 * MOST + "end")
    assert long.startswith("begin") and long.endswith("end") and "left out" in long
    assert len(long) < MOST + 100


def halved(count: int, passes) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    asked = 0

    async def ask(parts: tuple[int, ...]) -> bool:
        nonlocal asked
        asked += 1
        return passes({*parts})

    kept, left_out = anyio.run(halve, range(count), ask)
    return kept, left_out, asked


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1)))))
def test_exactly_the_parts_that_fail_are_left_out(case: tuple[int, set[int]]) -> None:
    count, bad = case
    bad = bad or {0}
    kept, left_out, asked = halved(count, lambda parts: not parts & bad)
    assert {*left_out} == bad
    assert [*kept] == [part for part in range(count) if part not in bad]
    assert asked <= 2 * len(bad) * (count.bit_length() + 1)


def test_of_two_that_fail_only_together_the_second_is_left_out() -> None:
    kept, left_out, _ = halved(6, lambda parts: not {1, 4} <= parts)
    assert (kept, left_out) == ((0, 1, 2, 3, 5), (4,))


def test_one_part_is_not_asked_about() -> None:
    assert halved(1, lambda parts: False) == ((), (0,), 0)
