"""`mak nodes --verify` on files that nobody wrote for it."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

import pytest

from mak.cli.main import main

NASTY = Path(__file__).parents[1] / "data" / "nasty"
LIBRARY = Path(sysconfig.get_path("stdlib"))
PACKAGES = Path(sysconfig.get_path("purelib"))


def verified(capsys: pytest.CaptureFixture[str], *paths: Path) -> tuple[int, int]:
    """Verify all files below some folders; return how many files and nodes there were."""
    code = main(["nodes", "--verify", *map(str, paths)])
    out, err = capsys.readouterr()
    told = re.fullmatch(r"(\d+) files, (\d+) nodes, (\d+) mismatches\n", out)
    assert told and told[3] == "0" and code == 0, err
    return int(told[1]), int(told[2])


# I2
def test_nothing_is_lost_of_nasty_files_and_of_some_of_the_library(capsys):
    files, nodes = verified(capsys, NASTY)
    assert files == sum(path.is_file() for path in NASTY.rglob("*")) >= 60
    assert nodes > 2 * files
    files, nodes = verified(capsys, LIBRARY / "asyncio", LIBRARY / "email")
    assert files >= 60
    assert nodes > 1_500


# I2
@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_nothing_is_lost_of_the_whole_library_and_of_all_packages(capsys):
    files, nodes = verified(capsys, LIBRARY, PACKAGES)
    assert files > 5000
    assert nodes > 100_000
