"""The contention study on a small history with known answers."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmark.contention_study.__main__ import main
from benchmark.contention_study.probe import broken
from benchmark.contention_study.validate import validate
from benchmark.contention_study.verdicts import (
    Bucket,
    judge,
    mak_refuses,
    quarantine,
    really_merges,
)
from mak.study import read_history
from mak.study.contention import Footprint, footprints, in_flight
from mak.study.history import Blobs, open_git
from tests.study.histories import Author, contended


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Author:
    return contended(tmp_path_factory.mktemp("study") / "repo")


def pairs_of(root: Path) -> list[tuple[Footprint, Footprint]]:
    git = open_git(root)
    return list(in_flight(footprints(read_history(git).changes, Blobs(git))))


def test_pairs_are_merged_on_one_base_and_git_merge_says_the_same(made: Author) -> None:
    before = sorted(made.root.glob(".git/objects/??/*"))
    with quarantine(open_git(made.root)) as git:
        verdicts = [judge(git, one, other) for one, other in pairs_of(made.root)]
        assert [v.bucket for v in verdicts] == [Bucket.CLEAN, Bucket.CLEAN, Bucket.CHANGE]
        assert [v.mak_clean for v in verdicts] == [True, True, None]
        merged = [v for v in verdicts if v.base]
        said = [(v.bucket is Bucket.CLEAN) == clean for v, clean in really_merges(git, merged)]
        assert said == [True, True]
    assert sorted(made.root.glob(".git/objects/??/*")) == before


def test_two_rows_at_one_place_conflict_for_git_and_not_for_mak(tmp_path: Path) -> None:
    made = Author(tmp_path / "repo")
    one, other = '    "one": 1,\n', '    "one": 1,\n    "two": 2,\n'
    made.branch("two", "main", t=(one, other))
    made.land("two")
    made.branch("four", "main~1", t=(one, other.replace("two", "four")))
    made.git("merge", "-q", "--no-commit", "--no-ff", "-X", "ours", "four")
    text = made.git("show", "main:mod.py") + "\n"
    made.write("mod.py", text.replace("TABLE = {\n", 'TABLE = {\n    "four": 2,\n'))
    made.git("commit", "-qam", "Merge four")
    with quarantine(open_git(made.root)) as git:
        ((first, second),) = pairs_of(made.root)
        assert judge(git, first, second).bucket is Bucket.CLEAN
        ours, theirs = (made.git("rev-parse", name) for name in ("two", "four"))
        assert git.merged(ours, theirs)[1] == ("mod.py",)
        assert mak_refuses(git, made.git("merge-base", "two", "four"), ours, theirs) == {}


def test_what_stands_on_a_change_that_landed_between_is_counted_apart(tmp_path: Path) -> None:
    made = Author(tmp_path / "repo")
    made.branch("first", "main", a=("    return a\n", "    return a + 1\n"))
    made.branch("between", "main", b=("    return b\n", "    return b + 1\n"))
    made.land("first")
    made.land("between")
    made.branch("second", "main", b=("    return b + 1\n", "    return b + 2\n"))
    made.land("second")
    git = open_git(made.root)
    first, _, second = footprints(read_history(git).changes, Blobs(git))
    with quarantine(open_git(made.root)) as git:
        assert judge(git, first, second).bucket is Bucket.MAINLINE


def test_a_verdict_that_git_does_not_give_is_no_verdict(made: Author) -> None:
    one, other = pairs_of(made.root)[0]
    with quarantine(open_git(made.root)) as git:
        git.folder.rmdir()
        git.folder.write_text("in the way")
        assert judge(git, one, other).bucket is Bucket.INFRASTRUCTURE
        git.folder.unlink()
        git.folder.mkdir()


def test_a_clean_merge_that_breaks_a_call_is_found(tmp_path: Path) -> None:
    made = Author(tmp_path / "repo")
    made.branch("narrow", "main", a=("def alpha(a):", "def alpha(a, b):"), c=("alpha(c)", "c"))
    made.branch("user", "main", b=("    return b\n", "    return alpha(b)\n"))
    made.land("narrow")
    made.land("user")
    ((one, other),) = pairs_of(made.root)
    with quarantine(open_git(made.root)) as git:
        verdict = judge(git, one, other)
        assert verdict.bucket is Bucket.CLEAN
        (line,) = broken(git, verdict)
    assert line.startswith("call-signature mod.py::beta")


def test_the_mapper_and_a_walk_of_the_tree_name_the_same(made: Author) -> None:
    git = open_git(made.root)
    found = validate(read_history(git).changes, Blobs(git))
    assert (found.files, found.definitions, found.recalled, found.missed) == (6, 4, 4, [])
    assert found.coverage == 1.0 and found.lines == 10


def test_a_study_is_written_and_rendered(
    made: Author, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["--results", str(tmp_path), "run", "--repo", str(made.root)]
    assert main(run) == 0
    first = capsys.readouterr().out
    document = json.loads((tmp_path / "repo.json").read_text())
    assert document["in_flight"]["all"]["pairs"] == 3
    assert document["git_merge"] == {"pairs": 2, "agree": 2, "differing": []}
    assert "| repo | all | 6 | 3 | 100.00 (43.85 to 100.00) | 66.67" in first
    assert "example.org" not in (tmp_path / "repo.json").read_text()
    (tmp_path / "tables.md").unlink()
    assert main(["--results", str(tmp_path), "render"]) == 0
    assert capsys.readouterr().out == first == (tmp_path / "tables.md").read_text()
    assert "| repo | `" in (tmp_path / "datasheet.md").read_text()


def test_an_address_is_refused_for_nothing_is_downloaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--results", str(tmp_path), "run", "--repo", "https://example.org/a.git"])
    assert caught.value.code == 2
    assert "downloads nothing: clone it first" in capsys.readouterr().err


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not here")
def test_plots_are_drawn_light_and_dark(made: Author, tmp_path: Path) -> None:
    assert main(["--results", str(tmp_path), "run", "--repo", str(made.root), "--plots"]) == 0
    names = sorted(path.name for path in tmp_path.glob("*.svg"))
    assert names == ["touches-dark.svg", "touches-light.svg", "waves-dark.svg", "waves-light.svg"]
