"""The documented workflow, run by a real runner from an event to annotations and outputs."""

from __future__ import annotations

import pytest

from tests.github_action.conftest import TOKEN, Runner

BEFORE = {
    "shop/prices.py": "def total(items):\n    return sum(items)\n",
    "shop/cart.py": "from shop.prices import total\n",
    "tests/data/old.py": "from shop.prices import total\n",
}
AFTER = {"shop/prices.py": "def totals(items):\n    return sum(items)\n"}
#: A checkout holds whatever a pull request says.
HOSTILE = {"json.py": "raise SystemExit('shadowed')\n", "mak.py": "raise SystemExit('shadowed')\n"}


def test_a_pull_request_is_checked(runner: Runner) -> None:
    runner.commit({**BEFORE, **HOSTILE})
    runner.commit(AFTER)
    done = runner.run("pull_request", {"number": 1, "pull_request": {}}, "mak-check.yml")
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert "::error file=shop/cart.py,line=1,col=25,title=unknown-import" in said
    assert "tests/data/old.py" not in said
    assert "::set-output:: state=findings" in said
    assert "Summary - ### mak check" in said
    assert "shadowed" not in said
    assert TOKEN not in said


@pytest.mark.slow
def test_a_pull_request_that_breaks_nothing_passes(runner: Runner) -> None:
    runner.commit(BEFORE)
    runner.commit({"shop/prices.py": "def total(items):\n    return sum(items, 0)\n"})
    done = runner.run("pull_request", {"number": 1, "pull_request": {}}, "mak-check.yml")
    assert done.returncode == 0, done.stdout
    assert "::set-output:: state=clean" in done.stdout


@pytest.mark.slow
def test_that_nothing_could_be_checked_is_no_finding(runner: Runner) -> None:
    done = runner.run("pull_request", {"number": 1, "pull_request": {}}, "mak-check.yml")
    assert done.returncode == 1
    assert "::error title=MAK::" in done.stdout
    assert "state=findings" not in done.stdout
