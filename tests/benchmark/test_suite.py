"""The real-model suite from end to end, with servers on this machine in place of the vendors."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmark.analysis.suite import report
from benchmark.run_benchmark import main
from benchmark.suite.projects import PROJECTS
from benchmark.suite.reference import Rates, Reference
from benchmark.suite.wire import read_prompt, served

ROOT = Path(__file__).parents[2]
RUN = ROOT / "benchmark/run_benchmark.py"
FLAWLESS = Rates(0.0, 0.0, 0.0, 0.0)


def rows_of(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def real(folder: Path, url: str, *words: str) -> list[dict[str, object]]:
    """Run the real mode with the vendors' addresses moved to this machine."""
    env = {
        **os.environ,
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": url,
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"{url}/v1",
    }
    models = ["--models", "anthropic:claude-opus-5", "openai:gpt-5.2"]
    prices = ["--price", "anthropic:claude-opus-5=5,25,0.5", "openai:gpt-5.2=1,10"]
    command = [sys.executable, str(RUN), "--mode", "real", *models, *prices]
    command += ["--results", str(folder)]
    done = subprocess.run([*command, *words], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return rows_of(folder / "real.jsonl")


def test_every_arm_finishes_what_is_answered_without_a_mistake(tmp_path: Path) -> None:
    project = PROJECTS["jobs"]()
    with served(Reference(project, FLAWLESS, 1).answer) as url:
        rows = real(tmp_path, url, "--project", "jobs")
    assert [row["arm"] for row in rows] == ["mak", "mak-oracle-plan", "worktrees", "sequential"]
    for row in rows:
        assert (row["passed"], row["tests"], row["lost"], row["failed"]) == (150, 150, 0, [])
        assert row["retries"] == row["escalations"] == 0
        # Of both vendors' answers, with what they say is cached.
        assert all(isinstance(row[n], int) and row[n] for n in ("input", "output", "cached"))
        assert isinstance(row["cost"], float) and row["cost"] > 0
        assert isinstance(row["seconds"], float) and row["seconds"] > 0
    assert [row["missing"] for row in rows] == [0, None, None, None]
    assert rows[0]["planner_input"] and not rows[1]["planner_input"]
    assert rows[2]["conflicts"] and rows[2]["resolver_calls"]


def test_mistakes_show_in_the_metrics_and_stay_where_they_are(tmp_path: Path) -> None:
    project = PROJECTS["jobs"]()
    rates = Rates(wrong=0.2, malformed=0.2, missing=0.5, lost=1.0)
    with served(Reference(project, rates, 3).answer) as url:
        rows = real(tmp_path, url, "--project", "jobs")
    by_arm = {str(row["arm"]): row for row in rows}
    for row in rows:
        assert row["retries"] and 0 < int(str(row["passed"])) < 150
    # A planner that leaves targets out makes its agents ask for them.
    assert by_arm["mak"]["missing"] and by_arm["mak"]["escalations"]
    assert by_arm["mak-oracle-plan"]["escalations"] == 0
    # A resolver that loses lines loses them where there is something to resolve, only.
    assert by_arm["worktrees"]["lost"]
    assert by_arm["sequential"]["lost"] == by_arm["mak"]["lost"] == 0


def test_a_suite_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    words = [sys.executable, str(RUN), "--mode", "mock", "--results", str(tmp_path)]
    words += ["--project", "callers", "--arm", "sequential", "mak-oracle-plan", "--repeat", "3"]
    file = tmp_path / "mock.jsonl"
    child = subprocess.Popen([*words, "--latency", "0.05"], stderr=subprocess.PIPE)
    while child.poll() is None and not (file.exists() and file.read_text().count("\n")):
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    before = file.read_text()
    assert 0 < before.count("\n") < 6
    file.write_text(before + '{"mode": "mock", "cut')
    assert subprocess.run([*words, "--latency", "0"], capture_output=True).returncode == 0
    assert file.read_text().startswith(before)
    keys = [(row["arm"], row["repeat"]) for row in rows_of(file)]
    assert len(keys) == 6 == len({*keys})


def test_a_command_line_works_in_worktrees_and_says_what_it_spent(tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text(
        "import json, sys\nfrom pathlib import Path\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from benchmark.suite.projects import PROJECTS\n"
        "id = sys.argv[1].split(':')[0]\n"
        "task = next(t for t in PROJECTS['callers']().tasks if t.id == id)\n"
        "files = {p: Path(p).read_text() for p in task.paths}\n"
        "for path, text in task.carry_out(files).items():\n    Path(path).write_text(text)\n"
        "usage = {'input_tokens': 5, 'cache_read_input_tokens': 2, 'output_tokens': 3}\n"
        "print(json.dumps({'usage': usage, 'total_cost_usd': 0.5}))\n"
    )
    words = ["--mode", "mock", "--project", "callers", "--arm", "cli-worktrees"]
    words += [
        "--results",
        str(tmp_path),
        "--cli",
        f"{shlex.join([sys.executable, str(script)])} {{prompt}}",
    ]
    assert main(words) == 0
    (row,) = rows_of(tmp_path / "mock.jsonl")
    assert (row["passed"], row["tests"], row["failed"]) == (84, 84, [])
    assert (row["input"], row["cached"], row["output"], row["calls"]) == (84, 24, 36, 12)


def test_what_was_not_run_is_said_and_not_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--mode", "mock", "--project", "jobs", "--arm", "cli-worktrees"]
    assert main([*words, "--results", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "Not run: there is no result here." in out
    assert "| jobs | cli-worktrees | not run: none of claude, codex is installed" in out
    assert not (tmp_path / "mock.jsonl").exists()
    assert main(["--mode", "real", "--render-only", "--results", str(tmp_path)]) == 0
    assert "Not run" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--mode", "real"], "needs --models"),
        (["--mode", "mock", "--models", "anthropic"], "a mock answers from the references"),
        (["--mode", "real", "--models", "anthropic:claude-opus-5"], "ANTHROPIC_API_KEY"),
    ],
)
def test_a_run_that_cannot_be_is_refused_before_anything_is_asked(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*words, "--results", str(tmp_path)])
    assert caught.value.code == 2
    assert said in capsys.readouterr().err


def test_a_report_gives_mean_spread_and_every_run() -> None:
    base = {
        **dict.fromkeys(("conflicts", "resolver_calls", "lost", "escalations", "retries"), 0),
        **{"project": "jobs", "arm": "mak", "agents": 3, "models": ["m"], "date": "2024-01-01"},
        **{"tests": 150, "tasks": 24, "input": 1000, "output": 500, "cached": 0, "calls": 9},
        **{"cost": 0.5, "registrations": 8, "missing": 1, "failed": [], "reason": ""},
    }
    rows = [
        {**base, "repeat": n, "passed": passed, "seconds": seconds}
        for n, passed, seconds in ((1, 150, 10.0), (2, 146, 14.0))
    ]
    text = report(rows, "real")
    assert "| jobs | mak | 3 | 2 | 148.0 ± 2.8 of 150 | 12.0 ± 2.8 |" in text
    assert text.count("- jobs, mak, run ") == 2
    assert "Mock" not in text and "**Mock.**" in report(rows, "mock")


def test_a_conflict_is_resolved_from_both_sides() -> None:
    project = PROJECTS["jobs"]()
    one, two = [task for task in project.tasks if task.rows][:2]
    path = one.rows[0].path
    row = [t.rows[0] for t in (one, two)]
    text = project.files[path].replace(
        "}\n",
        f"<<<<<<< ours\n    {row[0].line}\n=======\n    {row[1].line}\n>>>>>>> theirs\n}}\n",
    )
    prompt = f"<file abc {path}>\n{text}</file abc>"
    said = json.loads(Reference(project, FLAWLESS, 1).answer("", prompt))["text"]
    assert all(each.is_in(said) for each in row) and "<<<" not in said
    lost = Rates(0.0, 0.0, 0.0, 1.0)
    said = json.loads(Reference(project, lost, 1).answer("", prompt))["text"]
    assert row[0].is_in(said) and not row[1].is_in(said)


def test_prompts_are_read_in_both_formats() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    asked = [{"role": "user", "content": parts}]
    assert read_prompt({"system": parts, "messages": asked}) == ("a\nb", "a\nb")
    both = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    assert read_prompt({"messages": both}) == ("s", "u")
