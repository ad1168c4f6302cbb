from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from mak.cli.commands import demo
from mak.cli.main import main
from mak.cli.record import Record, read_record
from mak.events import ReplyRejected, TaskSettled, TaskStarted, TaskWaiting
from mak.model import NodeId, RunState, TaskState
from mak.store import Store
from tests.conftest import git


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty place whose path has a space in it, away from every repository."""
    found = tmp_path / "a demo"
    found.mkdir()
    monkeypatch.chdir(found)
    return found


def record(root: Path) -> Record:
    with Store.open(root, write=False) as store:
        return read_record(store, store.runs()[0], details=True)


def test_demo_shows_every_step_of_the_road(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--dir", str(folder / "here")]) == 0
    out, err = capsys.readouterr()
    root = folder / "here" / "shop"
    found = record(root)
    assert found.outcome is not None and found.outcome.state is RunState.DONE
    assert len(found.outcome.tasks) >= 6
    assert {task.state for task in found.outcome.tasks.values()} == {TaskState.DONE}
    assert len(found.waves) == 2

    events = [event for _, event in found.events]
    assert any(isinstance(event, TaskWaiting) for event in events)
    assert _same_file_at_once(events)
    (rejected,) = (event for event in events if isinstance(event, ReplyRejected))
    asked = [(e.task, e.attempt) for e in events if isinstance(e, TaskStarted)]
    assert (rejected.task, 2) in asked
    assert found.outcome.tasks[rejected.task].attempts == 2

    assert "Plan: 8 tasks in 2 waves" in err
    assert "is done: 8 of 8 tasks landed in 2 commits on main" in out
    assert "tests before: Ran 6 tests" in err and "tests after: Ran 6 tests" in err
    assert err.count("No LLM") == 2
    assert f"cd '{root}'" in err
    assert found.outcome.usage.input == found.outcome.usage.output == 0


def _same_file_at_once(events: list[object]) -> bool:
    """Whether two tasks worked in one file at one time."""
    working: dict[str, set[str]] = {}
    for event in events:
        if isinstance(event, TaskStarted):
            paths = {NodeId.parse(node).path for node in event.nodes}
            if any(paths & others for task, others in working.items() if task != event.task):
                return True
            working[event.task] = paths
        elif isinstance(event, TaskSettled):
            working.pop(event.task, None)
    return False


def test_sample_is_a_clean_repository_that_works_before_and_after(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--dir", str(folder)]) == 0
    root = folder / "shop"
    assert git(root, "status", "--porcelain") == ""
    assert git(root, "rev-list", "--count", "HEAD") == "3\n"
    for commit in ("main~2", "main~1", "main"):
        git(root, "checkout", "-q", "--detach", commit)
        done = subprocess.run(
            [sys.executable, "-B", "-m", "unittest", "-q"], cwd=root, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    text = "".join(path.read_text() for path in sorted(root.rglob("*.py")))
    for gone in ("pricing.total", "checkout", " RATE", "rebate(total"):
        assert gone not in text
    for here in ("order_total", "VAT_RATE", "net_price", 'currency="EUR"'):
        assert here in text
    assert (root / "shop" / "banner.py").exists()


def test_what_the_demo_tells_to_type_works(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["demo", "--dir", str(folder)]) == 0
    said = [line.strip() for line in capsys.readouterr().err.splitlines()]
    typed = [line for line in said if line.startswith(f"{demo._mak()} ")]
    commands = [shlex.split(line.removeprefix(demo._mak())) for line in typed]
    assert [command[0] for command in commands] == ["show", "undo"]
    monkeypatch.chdir(folder / "shop")
    for command in commands:
        assert main(command) == 0
    assert git(folder / "shop", "diff", "HEAD~3", "HEAD") == ""


def test_demo_inside_a_hook_of_another_repository_leaves_that_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = folder / "other"
    other.mkdir()
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    before = sorted((other / ".git").rglob("*"))
    assert main(["demo", "--dir", str(folder / "demo")]) == 0
    assert sorted((other / ".git").rglob("*")) == before


def test_demo_says_that_its_folder_stays_and_how_to_remove_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert main(["demo"]) == 0
    (made,) = folder.iterdir()
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"It stays there until you remove it: rm -rf {shlex.quote(str(made))}"
    subprocess.run(["sh", "-c", last.partition(": ")[2]], check=True)
    assert not made.exists()


def test_folder_that_is_in_use_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.txt").write_text("keep")
    assert main(["demo", "--dir", str(folder)]) == 2
    assert "is not an empty folder" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


def test_demo_names_a_mak_that_can_be_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    script = Path(sys.executable).with_name("mak")
    expected = [str(script)] if script.is_file() else [sys.executable, "-m", "mak"]
    assert shlex.split(demo._mak()) == expected
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    assert demo._mak() == "mak"
