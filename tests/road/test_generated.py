"""Files that a command of the project writes: written again once a wave, never merged."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import pytest

from mak.cli.main import main
from mak.config import Checks, Config, Files, Gate, Generated, Repair
from mak.events import GateRan, WaveHeld
from mak.model import RunState, TaskState
from tests.conftest import git, write
from tests.road.conftest import edited, reply, task

#: Lists the functions of every module, and what it is not asked for besides.
WRITER = """
import ast, pathlib, sys
names = []
for path in sorted(pathlib.Path().glob("*.py")):
    tree = ast.parse(path.read_text())
    names += [f"{path.stem}.{n.name}" for n in tree.body if isinstance(n, ast.FunctionDef)]
if any(name.endswith("bad") for name in names):
    sys.exit("bad: no such name may be listed")
pathlib.Path("names.lock").write_text("".join(name + "\\n" for name in names))
pathlib.Path("junk.txt").write_text("junk")
"""
COMMAND = f"{shlex.quote(sys.executable)} tools/list.py"
STUBS = "\n\n".join(f"def {name}():\n    pass\n" for name in ("one", "two"))
FILES = {
    "a.py": STUBS,
    "names.lock": "a.one\na.two\n",
    "tools/list.py": WRITER,
}


def config(*gates: Gate, paths: tuple[str, ...] = ("*.lock", "gone_pb2.py")) -> Config:
    return Config(
        files=Files(generated=(Generated(paths=paths, command=COMMAND),)),
        checks=Checks(commands=gates),
        repair=Repair(max_waves=0),
    )


def new(name: str) -> dict[str, Any]:
    return {
        "parent": "n1",
        "after": "n1",
        "kind": "function",
        "source": f"def {name}():\n    return 1\n",
    }


def adds(name: str) -> dict[str, Any]:
    return reply(edited("n1", "def one():\n    return 1\n"), new_nodes=[new(name)])


def test_what_a_command_writes_is_in_the_commit_of_the_wave_and_written_once(make_road) -> None:
    road = make_road(FILES)
    outcome = road.run(
        [task("x", "a.py::one"), task("y", "a.py::two")],
        {
            "x": [reply(edited("n1", "def one():\n    return 1\n"), new_nodes=[new("three")])],
            "y": [reply(edited("n1", "def two():\n    return 2\n"), new_nodes=[new("four")])],
        },
        config=config(),
    )
    assert outcome.state is RunState.DONE, outcome.reason
    assert sorted(road.text("names.lock").split()) == ["a.four", "a.one", "a.three", "a.two"]
    assert git(road.root, "show", "--format=", "--name-only", "HEAD").split() == [
        "a.py",
        "names.lock",
    ]
    assert git(road.root, "status", "--porcelain") == ""
    (ran,) = road.of(GateRan)
    assert (ran.gate, ran.passed, ran.verdict) == (
        "files.generated[0]",
        True,
        "wrote names.lock",
    )


def test_the_projects_commands_see_what_was_written(make_road) -> None:
    road = make_road(FILES)
    gate = Gate(name="listed", command="grep -q three names.lock")
    outcome = road.run([task("x", "a.py::one")], {"x": [adds("three")]}, config=config(gate))
    assert outcome.state is RunState.DONE, outcome.reason
    assert [(run.gate, run.passed) for run in road.of(GateRan)] == [
        ("files.generated[0]", True),
        ("listed", True),
    ]


def test_what_an_agent_writes_in_a_generated_file_is_written_again(make_road) -> None:
    road = make_road(FILES)
    outcome = road.run(
        [task("x", "names.lock"), task("y", "a.py::one")],
        {"x": [reply(edited("n1", "by hand\n"))], "y": [adds("three")]},
        config=config(),
    )
    assert outcome.state is RunState.DONE, outcome.reason
    assert sorted(road.text("names.lock").split()) == ["a.one", "a.three", "a.two"]


def test_a_command_that_fails_with_an_edit_leaves_that_edit_out(make_road) -> None:
    road = make_road({**FILES, "b.py": "def other():\n    pass\n"})
    outcome = road.run(
        [task("x", "a.py::one"), task("y", "b.py::other")],
        {
            "x": [adds("bad")],
            "y": [reply(edited("n1", "def other():\n    return 2\n"))],
        },
        config=config(),
    )
    assert outcome.state is RunState.FAILED
    assert {name: end.state for name, end in outcome.tasks.items()} == {
        "x": TaskState.FAILED,
        "y": TaskState.DONE,
    }
    assert "files.generated[0]" in outcome.tasks["x"].reason
    assert "no such name" in outcome.tasks["x"].reason
    assert "b.other" in road.text("names.lock") and "bad" not in road.text("a.py")


def test_a_command_that_fails_anyway_is_in_nobodys_way(make_road) -> None:
    road = make_road({**FILES, "tools/list.py": "raise SystemExit('bad: always')"})
    outcome = road.run([task("x", "a.py::one")], {"x": [adds("three")]}, config=config())
    assert outcome.state is RunState.DONE, outcome.reason
    assert road.text("names.lock") == FILES["names.lock"]
    assert "fails without the change, too" in [run.verdict for run in road.of(GateRan)]


@pytest.mark.parametrize("theirs", ["mine\n", "a.one\na.two\nmine\n"])
def test_a_persons_own_version_of_a_generated_file_is_never_merged_or_lost(
    make_road, theirs
) -> None:
    road = make_road(FILES)
    write(road.root, {"names.lock": theirs})
    outcome = road.run([task("x", "a.py::one")], {"x": [adds("three")]}, config=config())
    assert outcome.state is RunState.HELD
    (held,) = road.of(WaveHeld)
    assert held.paths == ("names.lock",)
    assert road.text("names.lock") == theirs
    git(road.root, "checkout", "names.lock")
    assert road.recover(config=config()).state is RunState.DONE
    assert "a.three" in road.text("names.lock")


def test_code_that_a_command_writes_is_not_merged_by_its_nodes(make_road) -> None:
    """A person's edit of another function of a generated module would merge by nodes."""
    road = make_road(
        {
            "a.py": STUBS,
            "out_pb2.py": "def f():\n    return 0\n\n\ndef g():\n    return 0\n",
            "tools/list.py": "open('out_pb2.py', 'w').write("
            "'def f():\\n    return 1\\n\\n\\ndef g():\\n    return 0\\n')",
        }
    )
    mine = "def f():\n    return 0\n\n\ndef g():\n    return 7\n"
    write(road.root, {"out_pb2.py": mine})
    outcome = road.run(
        [task("x", "a.py::one")], {"x": [adds("three")]}, config=config(paths=("*_pb2.py",))
    )
    assert outcome.state is RunState.HELD, outcome.reason
    assert road.text("out_pb2.py") == mine


def test_undo_takes_back_what_was_written_too(make_road) -> None:
    from mak import kernel
    from mak.store import Store

    road = make_road(FILES)
    outcome = road.run([task("x", "a.py::one")], {"x": [adds("three")]}, config=config())
    with Store.open(road.root) as store:
        kernel.undo(store, outcome.run, config())
    assert {path: road.text(path) for path in FILES} == FILES


def test_undo_does_not_merge_what_a_command_writes(make_road, capsys) -> None:
    """The command did not read the configuration, and took the run out of a generated module."""
    road = make_road(
        {
            "a.py": STUBS,
            "out_pb2.py": "def f():\n    return 0\n\n\ndef g():\n    return 0\n",
            "tools/list.py": "open('out_pb2.py', 'w').write("
            "'def f():\\n    return 1\\n\\n\\ndef g():\\n    return 0\\n')",
        }
    )
    settings = config(paths=("*_pb2.py",))
    outcome = road.run([task("x", "a.py::one")], {"x": [adds("three")]}, config=settings)
    assert "return 1" in road.text("out_pb2.py"), outcome.reason
    since = "def f():\n    return 1\n\n\ndef g():\n    return 7\n"
    file = road.root / ".mak/config.yaml"
    write(road.root, {"out_pb2.py": since, ".mak/config.yaml": settings.model_dump_json()})
    git(road.root, "commit", "-qam", "since")
    assert main(["undo", "--work-dir", str(road.root)]) == 1
    assert "out_pb2.py" in capsys.readouterr().err
    assert road.text("out_pb2.py") == since
    # Where nobody says that it is generated, it is code like any other.
    file.unlink()
    assert main(["undo", "--work-dir", str(road.root)]) == 0
    assert road.text("out_pb2.py") == since.replace("return 1", "return 0")
