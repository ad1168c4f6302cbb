"""A sweep runs in several processes, goes on where it was stopped and reports what it has."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

SWEEP = Path(__file__).parents[2] / "benchmark/sweep.py"
CONFIG = {
    "seeds": [1, 2],
    "tasks": 6,
    "agents": [2],
    "shapes": ["one-symbol"],
    "arms": ["mak", "worktrees-end", "sequential"],
    "entries": [{"lines": 1, "sort": False}],
    "model": {"latency": 20.0, "spread": 0.5, "resolving": 15.0, "wrong": 0.0, "loss": 0.05},
}


def sweep(folder: Path, *words: str) -> str:
    config = folder / "tiny.yaml"
    config.write_text(yaml.safe_dump(CONFIG))
    command = [sys.executable, SWEEP, "--config", config, "--results", folder, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_a_sweep_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    whole = sweep(tmp_path, "--jobs", "2")
    rows = tmp_path / "tiny" / "mak.jsonl"
    first, second = rows.read_text().splitlines(keepends=True)
    kept = tmp_path / "tiny" / "sequential.jsonl"
    before = kept.read_text()
    rows.write_text(first + second[: len(second) // 2])
    assert "| one-symbol | 2 | 1 | mak |" in sweep(tmp_path)
    assert rows.read_text().startswith(first)
    assert len(rows.read_text().splitlines()) == 2
    assert kept.read_text() == before
    assert "H3, no registration is lost, and every file parses: holds" in whole
    assert sweep(tmp_path, "--render-only").startswith("Means over seeds")


def test_part_of_a_sweep_is_carried_out_and_shown(tmp_path: Path) -> None:
    part = sweep(tmp_path, "--only", "arm=mak,sequential", "seed=2")
    assert "| one-symbol | 2 | 1 | mak |" in part
    assert "worktrees" not in part.partition("Makespans")[0]
    assert len((tmp_path / "tiny" / "mak.jsonl").read_text().splitlines()) == 1
    assert not (tmp_path / "tiny" / "worktrees-end.jsonl").exists()
    with pytest.raises(subprocess.CalledProcessError) as caught:
        sweep(tmp_path, "--only", "speed=2")
    assert "speed=2: a cell has arm, shape, agents" in caught.value.stderr


@pytest.mark.skipif(find_spec("matplotlib") is not None, reason="matplotlib is here")
def test_figures_without_matplotlib_are_refused_before_any_cell_is_run(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        sweep(tmp_path, "--figures")
    assert caught.value.returncode == 2
    assert "-m pip install matplotlib" in caught.value.stderr
    assert not (tmp_path / "tiny").exists()
