"""What a repository asks of those who decide is read exactly, and its page says the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from pydantic_core import PydanticUndefined

from mak.checks import protected as kept
from mak.config.policy import PROTECTED, Approver, OnOverlap, Policy, policy_schema
from mak.errors import UsageError
from mak.github.policy import excess, limited, protected, read_policy, rules
from mak.github.reduce import Rules
from mak.github.state import Wanted
from mak.model import NodeId, Plan, Task
from mak.source import language

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "github-policy.md").read_text()


def plan(*writes: str, creates: tuple[str, ...] = ()) -> Plan:
    task = Task("T1", "x", tuple(map(NodeId.parse, writes)), (), tuple(map(NodeId.parse, creates)))
    return Plan("x", (task,))


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}"])
def test_without_a_policy_the_defaults_hold(text: str) -> None:
    assert read_policy(text) == Policy()
    assert rules(Policy()) == Rules()


def test_a_policy_is_what_those_who_decide_are_held_to() -> None:
    policy = read_policy(
        "approvals: 2\napprover: maintain\nrequire_other_approver: true\n"
        "allow_unreviewed: true\non_overlap: wait\nbudget_usd: 5\napps: [12345]\n"
        "models: [anthropic:claude-sonnet-5]\n"
    )
    assert rules(policy) == Rules(approvals=2, maintainers=True, others=True, unreviewed=True)
    assert (policy.approver, policy.on_overlap) == (Approver.MAINTAIN, OnOverlap.WAIT)
    assert (policy.budget_usd, policy.apps) == (5.0, (12345,))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("aprovals: 2", ".github/mak.yml:1: unknown key 'aprovals'; did you mean 'approvals'?"),
        ("approvals: 1\nbudget: 3", ".github/mak.yml:2: unknown key 'budget'; did you mean"),
        ("approvals: 0", ".github/mak.yml:1: approvals: should be greater than or equal to 1"),
        ('approvals: "2"', "approvals: should be a whole number"),
        ("approver: admin", "approver: should be 'write' or 'maintain'"),
        ("on_overlap: merge", "on_overlap: should be 'warn', 'wait' or 'refuse'"),
        ("protected: infra/**", "protected: should be a list"),
        ("apps:\n  - evil[bot]", ".github/mak.yml:2: apps.0: should be a whole number"),
        ("apps: [true]", "apps.0: should be a whole number"),
        ("budget_usd: -1", "budget_usd: should be greater than 0"),
        ("max_tasks: 401", "max_tasks: should be less than or equal to 400"),
        ("models: [sk-ant-api03-" + "a" * 60 + "]", "no key, user or password may stand"),
        ("protected: ['infra/**', '!']", "is no pattern"),
        ("approvals: 1\napprovals: 2", "the key 'approvals' is given twice"),
        ("[1]", "should be a mapping of keys to values"),
    ],
)
def test_what_is_wrong_is_named_by_its_key(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        read_policy(text)


@pytest.mark.parametrize(
    "path",
    [
        ".github/workflows/ci.yml",
        ".GitHub/Workflows/ci.yml",
        "docs/../.github/x",
        ".github/CODEOWNERS",
        "docs/CODEOWNERS",
        "codeowners",
        "action.yml",
        "tools/action.yaml",
        ".pre-commit-config.yaml",
        ".mak/config.yaml",
        ".gitattributes",
        "sub/.gitattributes",
        ".gitmodules",
        "uv.lock",
        "web/package-lock.json",
        "web/pnpm-lock.yaml",
        "Cargo.lock",
        "go.sum",
    ],
)
def test_files_that_decide_what_runs_are_protected(path: str) -> None:
    found = (path if ".." not in path else ".github/x",)
    assert protected(plan(path), Policy().protected) == found
    assert protected(plan(f"{path}::x"), Policy().protected) == found
    assert protected(plan("a.py", creates=(path,)), Policy().protected) == found


def test_what_mak_knows_as_locked_or_as_rules_is_protected() -> None:
    """Two lists say what is not to be written in passing, and what takes a maintainer's word."""
    code = ("code that every", "build")
    kinds = {**kept._NAMES, **kept._SUFFIXES, **kept._FOLDERS}
    made = {name: f"x{name}" for name in kept._SUFFIXES} | {n: f"{n}/x" for n in kept._FOLDERS}
    names = [
        made.get(name, name)
        for name, what in kinds.items()
        # Git lets nobody write its own folder.
        if not what.startswith(code) and name != ".git"
    ]
    names += [*language._LOCK_FILES, "pylock.toml", "pylock.dev.toml", "conda-lock.yml"]
    for name in names:
        for path in (name, f"sub/{name}"):
            if name != ".github/x" or path == name:
                assert protected(plan(path), Policy().protected) == (path,)


def test_other_files_are_not_and_what_is_only_read_is_not() -> None:
    nodes = tuple(map(NodeId, ("github/x.py", "locks.py", "a/mak.py", "transaction.yml", "block")))
    reads = (NodeId(".github/workflows/ci.yml"),)
    assert protected(Plan("x", (Task("T1", "x", nodes, reads),)), Policy().protected) == ()


def test_a_policy_adds_to_what_is_protected_and_takes_out_only_what_it_names() -> None:
    policy = read_policy("protected: ['infra/**', '!uv.lock', '!.github/dependabot.yml']")
    changed = plan("infra/a.tf", "uv.lock", "poetry.lock", ".github/mak.yml", "a.py")
    assert protected(changed, policy.protected) == (".github/mak.yml", "infra/a.tf", "poetry.lock")
    assert protected(plan(".github/dependabot.yml"), policy.protected) == ()
    assert Policy.model_validate(policy.model_dump()) == policy


@pytest.mark.parametrize(
    ("policy", "wanted", "most"),
    [
        (Policy(), Wanted(), (4, 20, None)),
        (Policy(), Wanted(agents=9, waves=2, budget=3.0), (4, 2, 3.0)),
        (Policy(max_agents=8, budget_usd=5.0), Wanted(agents=6), (6, 20, 5.0)),
        (Policy(budget_usd=5.0), Wanted(budget=1.5), (4, 20, 1.5)),
        (Policy(budget_usd=5.0), Wanted(budget=50.0), (4, 20, 5.0)),
    ],
)
def test_nobody_gets_more_than_the_policy_allows(
    policy: Policy, wanted: Wanted, most: tuple[int, int, float | None]
) -> None:
    found = limited(policy, wanted)
    assert (found.agents, found.waves, found.budget) == most


def test_a_plan_that_is_too_large_is_told_by_the_key() -> None:
    policy = Policy(max_tasks=1, max_waves=1)
    one, two = plan("a.py"), Plan("x", (Task("T1", "x"), Task("T2", "x")))
    assert excess(policy, Wanted(), one, [("T1",)]) == ""
    assert "has 2 tasks; `max_tasks`" in excess(policy, Wanted(), two, [("T1", "T2")])
    asked = excess(Policy(), Wanted(waves=1), one, [("T1",), ("T2",)])
    assert asked == "the plan has 2 waves; `--max-waves` is 1"
    assert excess(Policy(), Wanted(waves=2), one, [("T1",), ("T2",)]) == ""
    assert "has 2 waves; `max_waves`" in excess(policy, Wanted(), one, [("T1",), ("T2",)])


def test_the_schema_accepts_what_is_read() -> None:
    Draft202012Validator.check_schema(policy_schema())
    validator = Draft202012Validator(policy_schema())
    example = yaml.safe_load(_example())
    assert validator.is_valid(example) and not validator.is_valid({**example, "aprovals": 1})


def _example() -> str:
    found = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


def test_the_example_of_the_page_can_be_read() -> None:
    policy = read_policy(_example())
    assert policy != Policy()


def test_page_and_model_say_the_same() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*) \|$", PAGE, re.MULTILINE)
    expected = []
    for name, each in Policy.model_fields.items():
        assert each.default is not PydanticUndefined
        default = "those below" if name == "protected" else _written(each.default)
        expected.append((name, default, each.description))
    assert rows == expected
    listed = re.search(r"```gitignore\n(.*?)```", PAGE, re.DOTALL)
    assert listed and tuple(listed[1].split()) == PROTECTED


def _written(value: object) -> str:
    match value:
        case None:
            return "unset"
        case bool():
            return f"`{str(value).lower()}`"
        case ():
            return "none"
        case _:
            return f"`{value}`"
