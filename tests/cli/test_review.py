from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import anyio
import pytest

from mak import kernel
from mak.cli import planfile, render
from mak.cli.editing import ERROR, Rejected, edit
from mak.cli.review import Reviewer, drop, head, keep
from mak.errors import UsageError
from mak.kernel import Review
from mak.model import NodeId, Plan, Task
from mak.plan import Estimate
from mak.schedule import Forecast, forecast, levels, locks_for

F, G = NodeId("a.py", "f"), NodeId("a.py", "g")
PLAN = Plan(
    "tidy up",
    (
        Task("one", "change f\nso that it\n  returns", (F,), reads=(G,)),
        Task("two", "change g", (G.api,), depends_on=("one",), model="builtin"),
        Task("three", "use g", (), creates=(NodeId("a.py", "h"),), depends_on=("two",)),
        Task("four", "change the rest: really", (NodeId("b.py"),)),
    ),
    ("names stay: as they are",),
)

Editor = Callable[..., Callable[[], list[str]]]


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Editor:
    """Return a function that makes EDITOR a program that writes these texts, one each time.

    None leaves the file alone. What it returns gives the texts that the program found.
    """

    def install(*texts: str | None, code: int = 0) -> Callable[[], list[str]]:
        (tmp_path / "texts.json").write_text(json.dumps(texts))
        program = tmp_path / "my editor.py"
        program.write_text(
            textwrap.dedent(f"""
            import json, pathlib, sys
            folder = pathlib.Path({str(tmp_path)!r})
            seen = sorted(folder.glob("seen-*"))
            path = pathlib.Path(sys.argv[-1])
            (folder / f"seen-{{len(seen)}}").write_text(path.read_text())
            text = json.loads((folder / "texts.json").read_text())[len(seen)]
            if text is not None:
                path.write_text(text)
            sys.exit({code})
            """)
        )
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setenv("EDITOR", f"'{sys.executable}' '{program}' --wait")
        return lambda: [path.read_text() for path in sorted(tmp_path.glob("seen-*"))]

    return install


def decided(*lines: str) -> kernel.Decision:
    """Answer a review line by line."""
    left = iter(lines)
    cost = Estimate(0, 0, 0.0, 0.0)
    review = Review(PLAN, levels(PLAN), (), (), cost, frozenset(), forecast(PLAN, capacity=2))

    async def ask(review: Review) -> str | None:
        return next(left)

    return anyio.run(partial(Reviewer(nullcontext, ask), review))


def test_plan_file_reads_back_and_leaves_out_what_is_empty() -> None:
    text = planfile.write(PLAN)
    assert planfile.parse(text, "plan.yaml") == PLAN
    assert "creates: []" not in text and "model: ''" not in text
    assert "goal: |" in text


def test_plan_file_is_read_from_stdin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(planfile.write(PLAN))
    assert planfile.read(path) == PLAN
    with path.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert planfile.read(Path("-")) == PLAN


def test_wrong_plan_file_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="wrties"):
        planfile.parse("tasks:\n  - {id: a, goal: b, wrties: []}\n", "plan.yaml")


def test_dropping_a_task_drops_what_depends_on_it(capsys: pytest.CaptureFixture[str]) -> None:
    left = drop(PLAN, ["two"])
    assert left is not None
    assert [task.id for task in left.tasks] == ["one", "four"]
    assert "dropped too, for what they depend on: three" in capsys.readouterr().err


def test_unknown_task_is_not_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    assert drop(PLAN, ["one", "onee"]) is None
    assert "the plan has no task onee" in capsys.readouterr().err


def test_text_of_a_node_is_cut_at_both_sides() -> None:
    lines = list(head("\n" + "\tx = 1\n" * 20 + "y" * 500))
    assert lines[0] == "    x = 1" and lines[-1] == "… 9 more lines"
    (long,) = head("y" * 500)
    assert len(long) < 100 and long.endswith("…")
    assert list(head("")) == []


def test_dropping_everything_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert drop(PLAN, ["one", "four"]) is None
    assert "type q to abort" in capsys.readouterr().err


def test_keeping_a_task_keeps_what_it_builds_on(capsys: pytest.CaptureFixture[str]) -> None:
    left = keep(PLAN, ["three"])
    assert left is not None
    assert [task.id for task in left.tasks] == ["one", "two", "three"]
    assert "kept too, for it builds on them: two" in capsys.readouterr().err
    assert keep(PLAN, ["onee"]) is None


def test_edited_plan_comes_back(editor: Editor) -> None:
    changed = planfile.write(PLAN).replace("change g", "change g twice")
    editor(changed)
    plan = edit(PLAN)
    assert isinstance(plan, Plan)
    assert plan.task("two").goal == "change g twice"


@pytest.mark.parametrize("text", [None, "", "# nothing\n\n", planfile.write(PLAN)])
def test_plan_that_is_left_alone_or_emptied_stays(editor: Editor, text: str | None) -> None:
    seen = editor(text, None)
    assert edit(PLAN) is None
    assert seen()[0].startswith("# The plan of this run.")


def test_mistake_is_said_and_kept_and_edited_again_when_asked(editor: Editor) -> None:
    """The editor came back at once, again and again, with nothing but a comment to say why."""
    good = planfile.write(PLAN).replace("change g", "change g twice")
    seen = editor("tasks: [", "tasks: []\nrequets: x\n", good)
    first = edit(PLAN)
    assert isinstance(first, Rejected) and len(seen()) == 1
    second = edit(PLAN, draft=first.path)
    assert isinstance(second, Rejected) and second.path == first.path
    assert "requets" in second.reasons[0]
    third = edit(PLAN, draft=second.path)
    assert isinstance(third, Plan) and third.task("two").goal == "change g twice"
    _, text, last = seen()
    assert text.startswith(ERROR) and text.endswith("tasks: [")
    assert "requets" in last.splitlines()[0]
    assert last.count(ERROR) == 1
    assert not first.path.exists()


def test_draft_that_is_left_as_it_is_stays_and_emptied_it_goes(editor: Editor) -> None:
    editor("tasks: [", None, "")
    first = edit(PLAN)
    assert isinstance(first, Rejected)
    assert edit(PLAN, draft=first.path) == first
    assert edit(PLAN, draft=first.path) is None and not first.path.exists()


def test_a_broken_edit_is_answered_at_the_prompt(
    editor: Editor, capfd: pytest.CaptureFixture[str]
) -> None:
    good = planfile.write(PLAN).replace("change g", "change g twice")
    seen = editor("tasks: [", good)
    decision = decided("e", "a", "?", "e")
    assert decision.plan is not None and decision.plan.task("two").goal == "change g twice"
    assert len(seen()) == 2
    told = capfd.readouterr().err
    assert "[e]dit again  [b]ack to the plan as it was" in told
    assert "your edit is no plan yet" in told and "mak run --plan " in told


def test_a_broken_edit_is_given_up_at_the_prompt(
    editor: Editor, capfd: pytest.CaptureFixture[str]
) -> None:
    editor("tasks: [")
    decision = decided("e", "b", "help", "a")
    assert decision == kernel.Decision(approved=True)
    told = capfd.readouterr().err
    assert not Path(told.partition("mak run --plan ")[2].split()[0]).exists()
    assert "[a]pprove  [e]dit" in told.partition("the plan is as it was")[2]


def test_editor_that_fails_changes_nothing(
    editor: Editor, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    editor(planfile.write(drop(PLAN, ["four"]) or PLAN), code=1)
    assert edit(PLAN) is None
    monkeypatch.setenv("EDITOR", "/no/such/editor")
    assert edit(PLAN) is None
    assert "starting /no/such/editor: no such file or directory" in capfd.readouterr().err


def test_temporary_file_is_gone_afterwards(
    editor: Editor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    editor(None)
    edit(PLAN)
    assert list(folder.iterdir()) == []


#: Shows the plan until it is decided on, like the kernel: a changed plan is shown again.
DRIVER = """
import json, sys
from contextlib import nullcontext
from mak import kernel
from mak.cli import planfile, render
from mak.cli.interrupt import Interrupts
from mak.cli.review import Reviewer
from mak.kernel import Review
from mak.plan import Estimate
from mak.schedule import forecast, levels

async def main():
    plan = planfile.parse(sys.argv[1], "plan.yaml")
    reviewer = Reviewer(nullcontext)
    while True:
        cost = Estimate(1000, 5000, 0.01, 0.05)
        took = forecast(plan, capacity=4)
        review = Review(plan, levels(plan), ("a remark",), (), cost, frozenset(), took,
                        planned="planned" in sys.argv)
        decision = await reviewer(review)
        if decision.remark:
            return [decision.approved, decision.remark]
        if decision.plan is None or not decision.approved:
            return [decision.approved, [task.id for task in plan.tasks]]
        plan = decision.plan

print(json.dumps(Interrupts(lambda text: None).run(main)))
"""


def reviewed(keys: Sequence[str], *how: str) -> tuple[object, str]:
    """Type at a review on a terminal; return the decision, and what was shown."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, planfile.write(PLAN), *how],
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"},
        preexec_fn=_own_terminal,
    ) as process:
        os.close(theirs)
        shown = ""
        for key in keys:
            mark = len(shown)
            while "\n> " not in shown[mark:]:
                shown += _read(ours, shown)
            os.write(ours, key.encode())
        assert process.stdout is not None
        decision = json.loads(process.stdout.read())
        assert process.wait(timeout=60) == 0
    os.close(ours)
    return decision, shown.replace("\r\n", "\n")


def _read(terminal: int, shown: str) -> str:
    try:
        return os.read(terminal, 65_536).decode()
    except OSError:
        pytest.fail(f"the review ended early: {shown}")


def _own_terminal() -> None:
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_review_shows_tasks_by_wave_with_targets_remarks_and_cost() -> None:
    decision, shown = reviewed(["a\n"])
    assert decision == [True, ["one", "two", "three", "four"]]
    assert "Plan: 4 tasks in 3 waves" in shown
    first, second = shown.split("Wave 1")[1].split("Wave 2")
    assert "one  change f …" in first and "four" in first and "two" not in first
    assert "writes   a.py::f" in first and "reads    a.py::g" in first
    assert "writes   a.py::g#api" in second and "after    one" in second
    assert "model    builtin" in second
    assert "a remark" in shown
    assert "decided: names stay: as they are" in shown
    assert "1.0k to 5.0k tokens, $0.0100 to $0.0500" in shown


@pytest.mark.parametrize("agents", [1, 4])
def test_review_says_what_several_agents_are_worth(agents: int) -> None:
    tasks = tuple(Task(f"t{n}", "work", (NodeId("a.py", f"f{n}"), F)) for n in range(4))
    plan = Plan("r", tasks)
    cost = Estimate(0, 0, 0.0, 0.0)
    hot = ((F, 4),)
    apart = Review(plan, levels(plan), (), hot, cost, frozenset(), forecast(plan, capacity=agents))
    lines = [line.text for line in render.plan(apart)]
    assert f"  {F}  4 tasks, which take turns" in lines
    assert "Forecast: 4 rounds of agents, 1.0 x as fast as one agent" in lines
    assert "  its tasks hardly run side by side; one agent would do" in lines
    took = forecast(plan, capacity=agents, locks=partial(locks_for, appends={F}))
    beside = Review(plan, levels(plan), (), hot, cost, frozenset({F}), took)
    lines = [line.text for line in render.plan(beside)]
    assert f"  {F}  4 tasks, which append side by side" in lines
    assert f"Forecast: {4 // agents} round{'' if agents == 4 else 's'} of agents, " in " ".join(
        lines
    )
    assert ("  its tasks hardly run side by side; one agent would do" in lines) is (agents == 1)


def test_many_tasks_that_do_one_thing_are_a_line_for_each_file() -> None:
    """A renaming with fifty callers filled two screens."""
    tasks = [Task("t1", "rename a.py::f to g, in a.py", (F.api,), creates=(NodeId("a.py", "g"),))]
    for number in range(2, 50):
        path = f"m{(number + 1) // 2}.py"
        nodes = tuple(NodeId(path, f"u{number}_{i}") for i in range(8))
        tasks.append(Task(f"t{number}", f"rename a.py::f to g, in {path}", nodes))
    tasks.append(Task("t50", "something else", (G,)))
    plan = Plan("r", tuple(tasks))
    took = forecast(plan, capacity=4)
    cost = Estimate(0, 0, 0.0, 0.0)
    review = Review(plan, levels(plan), (), (), cost, frozenset(), took)
    lines = [line.text for line in render.plan(review)]
    assert "  rename a.py::f to g: 49 tasks, 385 nodes in 26 files" in lines
    assert "      t1        a.py::f#api, g" in lines
    assert "      t3, t4    m2.py::u3_0, u3_1, u3_2, u3_3 and 12 more" in lines
    assert "  t50  something else" in lines
    assert len(lines) < 40


def test_a_task_that_mak_added_says_so() -> None:
    task = Task("t1-f", "adapt f", (F,), depends_on=("t1",), added="relies on g, which changes")
    plan = Plan("r", (Task("t1", "change g", (G.api,)), task))
    cost, took = Estimate(0, 0, 0.0, 0.0), Forecast(2, 2, 2, 1, 2)
    review = Review(plan, levels(plan), (), (), cost, frozenset(), took)
    assert "      added    by MAK: it relies on g, which changes" in [
        line.text for line in render.plan(review)
    ]


def test_review_drops_tasks_and_shows_what_is_left() -> None:
    decision, shown = reviewed(["d two, four\n", "approve\n"])
    assert decision == [True, ["one"]]
    before, after = shown.split("Plan: 1 task in 1 wave")
    assert "  decided: names stay" in before
    assert "  decided before tasks were dropped: names stay" in after


def test_review_keeps_the_tasks_that_are_named() -> None:
    assert reviewed(["k four\n", "a\n"])[0] == [True, ["four"]]


def test_remark_goes_to_the_planner_as_it_was_typed() -> None:
    decision, shown = reviewed(["r\n", "r  leave f alone, please\n"], "planned")
    assert decision == [True, "leave f alone, please"]
    assert "say what the planner should do otherwise" in shown


def test_remark_is_not_offered_where_nobody_planned() -> None:
    decision, shown = reviewed(["r do it again\n", "q\n"])
    assert decision == [False, ["one", "two", "three", "four"]]
    assert "[r]emark" not in shown and "unknown command 'r'" in shown


def test_review_shows_a_whole_goal_and_explains_itself() -> None:
    decision, shown = reviewed(["s one\n", "what?\n", "q\n"])
    assert decision == [False, ["one", "two", "three", "four"]]
    assert "one: change f\nso that it\n  returns" in shown
    assert "unknown command 'what?'" in shown and shown.count("[a]pprove") >= 3


@pytest.mark.parametrize(
    ("key", "result"), [("\x04", [False, ["one", "two", "three", "four"]]), ("\x03", None)]
)
def test_end_of_input_declines_and_ctrl_c_interrupts(key: str, result: object) -> None:
    assert reviewed([key])[0] == result


def test_review_opens_the_editor_on_the_terminal(editor: Editor) -> None:
    editor(planfile.write(drop(PLAN, ["four"]) or PLAN))
    decision, _ = reviewed(["e\n", "a\n"])
    assert decision == [True, ["one", "two", "three"]]
