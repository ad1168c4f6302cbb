from __future__ import annotations

import json
import re
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path

import pytest

import mak
from mak.cli import commands as registry
from mak.cli.command import Command
from mak.cli.commands import COMMANDS
from mak.cli.commands.schema import DOCUMENTS
from mak.cli.main import main
from mak.errors import MakError, UsageError

#: Packages that no command needs before it has work to do.
HEAVY = ("rich", "pydantic", "yaml", "libcst", "pygit2", "anyio", "asyncio", "anthropic", "openai")


Fails = Callable[[BaseException], int]


def command(error: BaseException) -> Command:
    def add_arguments(parser: ArgumentParser) -> None:
        pass

    def run(args: Namespace) -> int:
        raise error

    return Command("boom", "fail", add_arguments, run)


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch) -> Fails:
    """Make `mak boom` raise."""

    def install(error: BaseException) -> int:
        monkeypatch.setattr(registry, "COMMANDS", (command(error),))
        return main(["boom"])

    return install


def run_mak(*args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mak", *args], cwd=cwd, capture_output=True, text=True, timeout=60
    )


def test_version_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"mak {mak.__version__}\n"


def test_nothing_heavy_is_imported_before_a_command_has_work() -> None:
    code = "import sys, mak.cli.main, mak.cli.commands; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert [name for name in loaded if name.split(".")[0] in HEAVY] == []
    assert "mak.cli.commands.run" in loaded
    assert not {"mak.kernel", "mak.store", "mak.source", "mak.agents", "mak.config"} & set(loaded)
    assert len(loaded) < 165


def test_schema_is_json_also_when_asked_for_and_names_its_documents(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["schema", "plan"]) == 0
    plain = capsys.readouterr().out
    assert main(["schema", "plan", "--json"]) == 0
    assert capsys.readouterr().out == plain
    assert main(["schema"]) == 2
    assert f"which document: {', '.join(DOCUMENTS)}?" in capsys.readouterr().err


def test_no_command_shows_the_help_and_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    for each in COMMANDS:
        assert re.search(rf"^    {each.name}\s+{re.escape(each.help[:20])}", err, re.MULTILINE)


@pytest.mark.parametrize("name", [each.name for each in COMMANDS])
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert f"usage: mak {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message", "hint"),
    [
        (["rnu"], "no command 'rnu'; did you mean 'run'?", "mak --help"),
        (["--vers"], "unknown option '--vers'; did you mean '--version'?", "mak --help"),
        (
            ["run", "--tsk", "x"],
            "run: unknown option '--tsk'; did you mean '--task'?",
            "mak run --help",
        ),
        (["log", "extra"], "log: unknown argument 'extra'", "mak log --help"),
        (["log", "-n", "0"], "'0' is not a whole number of at least 1", "mak log -h"),
        (["schema", "plans"], "invalid choice: 'plans'", "mak schema -h"),
        (["run"], "run: one of the arguments --task --plan --recover is required", "mak run -h"),
        (["run", "--task", "x", "--plan", "y"], "not allowed with argument", "mak run -h"),
    ],
)
def test_wrong_arguments_end_in_one_line_and_a_hint(
    argv: list[str], message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    first, second = err.splitlines()
    assert first.startswith("mak: ") and message in first
    assert second == f"hint: {hint}"


# I20
def test_expected_errors_are_one_line_a_hint_and_their_exit_code(
    fails: Fails, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fails(MakError("opening /x: no repository", hint="git init")) == 1
    assert capsys.readouterr().err == "mak: opening /x: no repository\nhint: git init\n"
    assert fails(UsageError("--models is empty")) == 2
    assert capsys.readouterr().err == "mak: --models is empty\n"


def test_errors_out_of_a_task_group_are_the_errors_in_it(
    fails: Fails, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = BaseExceptionGroup("inner", [UsageError("first"), MakError("second")])
    assert fails(BaseExceptionGroup("outer", [inner])) == 2
    assert capsys.readouterr().err == "mak: first\n"


def test_text_of_errors_cannot_steer_the_terminal(
    fails: Fails, capsys: pytest.CaptureFixture[str]
) -> None:
    fails(MakError("agent said \x1b[2Jhello\u202e"))
    assert capsys.readouterr().err == "mak: agent said \\x1b[2Jhello\\u202e\n"


def test_interruption_ends_with_130(fails: Fails, capsys: pytest.CaptureFixture[str]) -> None:
    assert fails(KeyboardInterrupt()) == 130
    assert fails(BaseExceptionGroup("group", [KeyboardInterrupt(), MakError("x")])) == 130


def test_bug_leaves_a_report_with_the_traceback(
    fails: Fails, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fails(ZeroDivisionError("division by zero")) == 3
    said, hint = capsys.readouterr().err.splitlines()
    assert said == "mak: this is a bug in MAK: ZeroDivisionError: division by zero"
    report = Path(hint.rpartition(" ")[2])
    try:
        text = report.read_text()
        assert "Traceback" in text and "argv: ['boom']" in text and mak.__version__ in text
        assert report.stat().st_mode & 0o077 == 0
    finally:
        report.unlink()


def test_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"module_{number}.py").write_text("def function():\n    pass\n" * 20)
    done = subprocess.run(
        f"'{sys.executable}' -m mak nodes '{tmp_path}' | head -n 1",
        shell=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


def test_module_and_console_script_are_the_same() -> None:
    done = run_mak("--version")
    assert (done.returncode, done.stdout) == (0, f"mak {mak.__version__}\n")


@pytest.mark.parametrize("what", [["--task", "rename function a.b to c"], ["--plan", "gone.yaml"]])
def test_run_without_a_terminal_asks_for_no_review_and_touches_nothing(
    what: list[str], make_repo: Callable[..., Path]
) -> None:
    root = make_repo({"a.py": "def b():\n    pass\n"})
    before = sorted(path for path in root.rglob("*"))
    done = run_mak("run", *what, cwd=root)
    assert done.returncode == 2
    assert "there is no terminal to ask at" in done.stderr
    assert "hint: pass --no-review" in done.stderr
    assert sorted(path for path in root.rglob("*")) == before


@pytest.mark.parametrize(
    "what",
    [
        ["run", "--task", "x"],
        ["run", "--task", " ", "--models", "nobody"],
        ["run", "--plan", "gone.yaml", "--no-review"],
        ["run", "--recover"],
        ["plan", "--task", "x", "--models", "nobody", "--max-usd", "1"],
        ["log"],
        ["show"],
        ["undo"],
        ["check"],
        ["locks"],
        ["graph", "a.b"],
    ],
    ids=" ".join,
)
def test_outside_of_a_repository_that_is_the_first_thing_said(
    what: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing terminal, or a model's name, was complained about first."""
    assert main([*what, "--work-dir", str(tmp_path)]) == 2
    first, second, *more = capsys.readouterr().err.splitlines()
    assert first == f"mak: opening {tmp_path}: not in a Git repository"
    assert second.startswith("hint: git init")
    assert more == []


@pytest.mark.parametrize(
    ("command", "action"), [("config", "show"), ("keys", "list"), ("endpoint", "list")]
)
def test_a_command_without_its_action_shows_what_there_is(
    command: str, action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command]) == 0
    bare = capsys.readouterr()
    assert bare.out or "Next: " in bare.err
    assert main([command, action]) == 0
    assert capsys.readouterr() == bare
    assert main([command, "--json"]) == 0
    json.loads(capsys.readouterr().out)
    assert main([command, "--help"]) == 0
    assert "(default)" in capsys.readouterr().out


def test_work_dir_that_is_not_there_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    assert main(["log", "--work-dir", str(gone)]) == 2
    assert capsys.readouterr().err == f"mak: --work-dir {gone}: no such folder\n"


def test_nodes_verify_counts_and_json_lists(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("[core]\n")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "a.py").write_bytes(b"import os\r\n\r\ndef f(x, y=1):\r\n\treturn x\r\n")
    (tmp_path / "pkg" / "broken.py").write_bytes(b"def f(:\n")
    (tmp_path / "notes.txt").write_bytes(b"\xff\x00")
    (tmp_path / "link.py").symlink_to(tmp_path / "pkg" / "a.py")

    assert main(["nodes", "--verify", str(tmp_path)]) == 0
    assert re.fullmatch(r"3 files, [4-9] nodes, 0 mismatches\n", capsys.readouterr().out)

    assert main(["nodes", "--json", str(tmp_path)]) == 0
    cut, whole = json.loads(capsys.readouterr().out)
    assert cut["path"] == "pkg/a.py"
    ids = [node["id"] for node in cut["nodes"]]
    assert ids == ["pkg/a.py::@header", "pkg/a.py::f"]
    assert cut["nodes"][1]["signature"] == "def f(x, y=1)"
    assert cut["nodes"][0]["end"] == cut["nodes"][1]["start"]
    assert [node["id"] for node in whole["nodes"]] == ["pkg/broken.py"]
    assert whole["why_whole"]

    assert main(["nodes", str(tmp_path / "pkg" / "a.py")]) == 0
    assert "pkg/a.py::f" in capsys.readouterr().out


def test_nodes_of_nothing_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["nodes", str(tmp_path / "gone.py")]) == 2
    assert "no such file or folder" in capsys.readouterr().err
