"""The table of merges beside ``git merge-file``: at least thirty cases, none worse."""

from __future__ import annotations

import pytest

from benchmark import merges


def test_no_case_is_worse_than_with_git(capsys: pytest.CaptureFixture[str]) -> None:
    assert merges.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    count, better = int(lines[-1].split()[0]), int(lines[-1].split()[5].rstrip(","))
    assert count >= 30
    assert better >= 20
    [mak] = [line for line in lines if line.startswith("mak ")]
    assert mak.split() == ["mak", str(count), "right"]
