"""Scripts answer as they are written, attempt by attempt, and never more than that."""

from __future__ import annotations

import json
from dataclasses import replace

import anyio
import pytest

from mak.agents import NoAnswer, open_agents, open_planner
from mak.errors import AgentErrorKind, UsageError
from mak.model import NodeId, Replace, ReplyStatus, Usage
from tests.agents.conftest import tree

SCRIPT = """
plan:
  - error: {kind: overloaded, message: busy, status: 529, retry_after: 2}
  - status: truncated
    raw: '{"tasks": ['
  - usage: {input: 7, output: 3}
    reply:
      tasks: [{id: t1, goal: g}]
tasks:
  t1:
    - delay_s: 0.05
      usage: {input: 100, output: 20, cached: 50, cost: 0.25}
      reply:
        results:
          - node: shop.py::net
            status: edited
            new_source: |
              def net(x):
                  return x
    - raw: '{"results": [oops'
    - reply: {results: [{node: n1, status: finished}]}
    - status: filtered
    - error: {kind: auth}
      usage: {input: 9}
"""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "script.yaml"
    path.write_text(SCRIPT)
    return f"scripted:{path}"


@pytest.fixture
def answer(spec, assign):
    [agent] = open_agents([spec])

    def ask(attempt: int):
        return anyio.run(agent.answer, assign("shop.py::net", attempt=attempt))

    return ask


def test_an_attempt_is_answered_by_its_number_also_after_a_restart(answer):
    got = answer(1)
    assert got.status is ReplyStatus.EDITED
    assert got.edits == (Replace(NodeId("shop.py", "net"), "def net(x):\n    return x\n"),)
    assert got.usage == Usage(100, 20, 50, calls=1, cost=0.25)
    assert answer(1) == got


def test_raw_text_is_read_as_if_a_model_had_written_it(answer):
    got = answer(2)
    assert got.status is ReplyStatus.MALFORMED
    assert "not JSON" in got.reason
    assert got.raw == '{"results": [oops'


def test_a_reply_of_another_shape_is_malformed_and_kept(answer):
    got = answer(3)
    assert got.status is ReplyStatus.MALFORMED
    assert "results[0].status" in got.reason
    assert "finished" in got.raw


def test_a_turn_may_end_without_an_answer(answer):
    assert answer(4).status is ReplyStatus.FILTERED


def test_errors_carry_what_the_script_says(answer, spec):
    with pytest.raises(NoAnswer) as caught:
        answer(5)
    assert caught.value.kind is AgentErrorKind.AUTH
    assert caught.value.usage.input == 9


def test_a_script_that_ran_out_says_so_instead_of_repeating_itself(answer, spec):
    with pytest.raises(NoAnswer) as caught:
        answer(6)
    assert "the script has 5 attempts, this is attempt 6" in str(caught.value)


def test_a_task_without_a_script_is_no_answer(spec, assign):
    [agent] = open_agents([spec])
    made = assign("shop.py::net")
    with pytest.raises(NoAnswer, match="about task t9: the script has 0 attempts"):
        anyio.run(agent.answer, replace(made, task=replace(made.task, id="t9")))


def test_a_delay_can_be_cancelled(spec, assign):
    [agent] = open_agents([spec])

    async def main() -> bool:
        with anyio.move_on_after(0.01) as scope:
            await agent.answer(assign("shop.py::net"))
        return scope.cancelled_caught

    assert anyio.run(main)


def test_the_planner_plays_its_attempts_in_order(spec):
    ask = open_planner(spec, tree({}))

    async def main():
        with pytest.raises(NoAnswer) as caught:
            await ask("", str, {}, "")
        error = caught.value
        assert (error.kind, error.status, error.retry_after) == ("overloaded", 529, 2)
        second = await ask("", str, {}, "")
        assert second.status is ReplyStatus.TRUNCATED and second.detail
        third = await ask("", str, {}, "")
        assert third.status is ReplyStatus.EDITED
        assert json.loads(third.text) == {"tasks": [{"id": "t1", "goal": "g"}]}
        assert third.usage.output == 3
        with pytest.raises(NoAnswer, match="3 attempts, this is attempt 4"):
            await ask("", str, {}, "")

    anyio.run(main)


def test_lines_of_json_are_a_script_too(tmp_path, assign):
    path = tmp_path / "script.jsonl"
    result = {"node": "n1", "status": "no_changes_required", "reason": "fine"}
    lines = [
        {"task": "t1", "reply": {"results": [result]}},
        {"plan": True, "raw": "{}"},
        {"task": "t1", "status": "empty"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    [agent] = open_agents([f"scripted:{path}"])
    got = [anyio.run(agent.answer, assign("shop.py::net", attempt=i)).status for i in (1, 2)]
    assert got == [ReplyStatus.UNCHANGED, ReplyStatus.EMPTY]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tasks: {t1: [{reply: {}, raw: x}]}", "exactly one of"),
        ("tasks: {t1: [{}]}", "exactly one of"),
        ("tasks: {t1: [{error: {kind: boom}}]}", "tasks.t1.0.error.kind"),
        ("task: {}", "task: Extra inputs"),
        ("tasks: {t1: [{delay_s: -1, raw: x}]}", "tasks.t1.0.delay_s"),
        ("[1]", "value 1 is not an object"),
        ("[{raw: x}]", "value 1 has neither"),
    ],
)
def test_a_wrong_script_is_refused_with_its_place(tmp_path, text, said):
    path = tmp_path / "script.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        open_agents([f"scripted:{path}"])
    assert said in str(caught.value) and str(path) in str(caught.value)


def test_a_missing_script_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        open_agents([f"scripted:{tmp_path}/none.yaml"])
