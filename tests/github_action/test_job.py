"""What the Action says is no command unless it is meant as one, and its token stays with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from action.job import SUMMARY, Job, for_kernel, take_inputs
from mak.errors import UsageError
from tests.github_action.conftest import ROOT, TOKEN


def job(folder: Path) -> Job:
    return Job(
        {"GITHUB_OUTPUT": str(folder / "output"), "GITHUB_STEP_SUMMARY": str(folder / "summary")}
    )


def test_an_output_cannot_begin_another(tmp_path: Path) -> None:
    job(tmp_path).output(run_id="r1\nEOF\nstate=done\nstate<<EOF\nx", state="review")
    lines = (tmp_path / "output").read_text().splitlines()
    found = {}
    while lines:
        name, end = lines.pop(0).split("<<")
        at = lines.index(end)
        found[name], lines = "\n".join(lines[:at]), lines[at + 1 :]
    assert found == {"run-id": "r1\nEOF\nstate=done\nstate<<EOF\nx", "state": "review"}


def test_an_annotation_is_one_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = "50% of\n::set-output name=x::y"
    job(tmp_path).annotate("error", said, file="a,b:c\n.py", title="MAK")
    assert capsys.readouterr().out == (
        "::error file=a%2Cb%3Ac%0A.py,title=MAK::50%25 of%0A::set-output name=x::y\n"
    )


def test_foreign_text_is_no_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with job(tmp_path).quoting():
        print("::add-path::/tmp/evil")
    first, inner, *_, last = capsys.readouterr().out.splitlines()
    end = first.removeprefix("::stop-commands::")
    assert (len(end), inner, last) == (32, "::add-path::/tmp/evil", f"::{end}::")


def test_the_summary_stays_below_what_github_drops(tmp_path: Path) -> None:
    one = job(tmp_path)
    for _ in range(3):
        one.summarise("ä" * 300_000)
    text = (tmp_path / "summary").read_bytes()
    assert SUMMARY - 10 < len(text) <= SUMMARY
    assert text.decode().endswith("GitHub shows no more here.\n")


# I18
def test_no_output_or_summary_holds_a_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = job(tmp_path)
    one.output(state=f"it is {TOKEN}")
    one.summarise(f"it is {TOKEN}")
    one.annotate("error", f"it is {TOKEN}", title=TOKEN)
    written = (tmp_path / "output").read_text() + (tmp_path / "summary").read_text()
    assert "a1-B_" not in written + capsys.readouterr().out


# I18
def test_later_processes_have_neither_the_token_nor_the_files_of_the_step() -> None:
    environment = {
        "PATH": "/bin",
        "MAK_ACTION_GITHUB_TOKEN": TOKEN,
        "MAK_ACTION_COMMAND": "check",
        "GITHUB_TOKEN": "x",
        "ACTIONS_RUNTIME_TOKEN": "x",
        "GITHUB_ENV": "/tmp/x",
        "GITHUB_OUTPUT": "/tmp/x",
    }
    assert take_inputs(environment).token == TOKEN
    assert environment == {"PATH": "/bin"}


# I18
@pytest.mark.skipif(sys.platform != "linux", reason="what a process was started with: /proc")
def test_the_token_is_not_in_what_the_process_was_started_with(tmp_path: Path) -> None:
    code = (
        "import os, pathlib\n"
        "from action.job import hide_token, take_inputs\n"
        "hide_token(os.environ)\n"
        "inputs = take_inputs(os.environ)\n"
        "print(pathlib.Path('/proc/self/environ').read_bytes().decode(), inputs.token[:7])\n"
    )
    # The Action begins anew as `python -I -m action`; what stands for that Python finds this one.
    package = tmp_path / "action"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "job.py").write_text((ROOT / "action/job.py").read_text())
    (package / "__main__.py").write_text(code)
    start = (
        f"import runpy, sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; "
        "runpy.run_module('action', run_name='__main__')"
    )
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c \"$START\"\n")
    python.chmod(0o755)
    code = f"import sys; sys.executable = {str(python)!r}; {start}"
    environment = {
        **os.environ,
        "MAK_ACTION_GITHUB_TOKEN": TOKEN,
        "OTHER": f"x{TOKEN}",
        "START": start,
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith(TOKEN[:7])
    assert "a1-B_" not in done.stdout


def test_a_command_that_is_not_there_is_said(tmp_path: Path) -> None:
    environment = {**os.environ, "MAK_ACTION_COMMAND": "chekc", "PYTHONPATH": str(ROOT)}
    run = [sys.executable, "-m", "action"]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert (
        "::error title=MAK::input command: 'chekc' is none of check, comment, stop" in done.stdout
    )


def test_an_old_python_is_told_what_to_do() -> None:
    code = (
        "import runpy, sys; sys.version_info = (3, 10, 4); sys.argv = ['install.py']; "
        f"runpy.run_path({str(ROOT / 'action/install.py')!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "Python 3.10.4 is too old" in done.stdout


# I18
def test_the_kernel_has_the_models_keys_and_nothing_to_reach_github_with() -> None:
    environment = {
        "PATH": "/bin",
        "ANTHROPIC_API_KEY": "k",
        "GITHUB_REPOSITORY": "octo/shop",
        "GITHUB_TOKEN": "x",
        "GITHUB_STEP_SUMMARY": "/tmp/x",
        "ACTIONS_RESULTS_URL": "https://results",
        "INPUT_GITHUB-TOKEN": "x",
        "MAK_ACTION_PIPE": "3",
        "MINE": f"Bearer {TOKEN}",
    }
    assert sorted(for_kernel(environment, TOKEN)) == [
        "ANTHROPIC_API_KEY",
        "GITHUB_REPOSITORY",
        "PATH",
    ]


def test_inputs_are_read_as_they_are_meant() -> None:
    given = {
        "MODELS": "anthropic:a\n\n openai:b \n",
        "AGENTS": "3",
        "BUDGET": "2.50",
        "ACCOUNTS": "7\n8",
    }
    inputs = take_inputs({f"MAK_ACTION_{name}": text for name, text in given.items()})
    assert inputs.models == ("anthropic:a", "openai:b")
    assert (inputs.agents, inputs.budget, inputs.accounts) == (3, 2.5, (7, 8))
    assert take_inputs({}).budget is take_inputs({}).agents is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("agents", "0"),
        ("agents", "-1"),
        ("agents", "many"),
        ("budget", "nan"),
        ("budget", "1e9"),
        ("budget", "0"),
        ("accounts", "7 8"),
        ("accounts", "²"),
    ],
)
def test_an_input_that_cannot_be_used_is_named(name: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"input {name}: "):
        take_inputs({f"MAK_ACTION_{name.upper()}": text})
