"""What a repository lets people have done: its policy, read and held against a plan.

A policy is read from the default branch alone, whatever branch a run is for: a pull request must
not say who may approve it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from posixpath import normpath

from mak.config import parse_document, validate
from mak.config.patterns import Patterns
from mak.config.policy import POLICY_FILE, Approver, Policy
from mak.errors import UsageError
from mak.github.reduce import Rules
from mak.github.state import Wanted
from mak.model import Plan


def read_policy(text: str) -> Policy:
    """Read the text of a policy; empty, as where there is no such file: the defaults.

    Raises `UsageError` with line and key for each thing that is wrong, with the nearest key for
    an unknown one.
    """
    data = parse_document(text, POLICY_FILE)
    policy = validate(Policy, {} if data is None else data, POLICY_FILE, text)
    for number, line in enumerate(policy.protected):
        try:
            _patterns([line]).match("x")
        except UsageError as error:
            raise UsageError(
                f"reading {POLICY_FILE}: protected[{number}]: {line!r} is no pattern"
            ) from error
    return policy


def rules(policy: Policy) -> Rules:
    """Return what a policy asks of those who decide."""
    return Rules(
        approvals=policy.approvals,
        maintainers=policy.approver is Approver.MAINTAIN,
        others=policy.require_other_approver,
        unreviewed=policy.allow_unreviewed,
    )


def protected(plan: Plan, globs: Iterable[str]) -> tuple[str, ...]:
    """Return which files of a plan take somebody's explicit word; sorted.

    `globs` are lines as in .gitignore, the last one that matches decides. Case does not count: on
    many file systems `.GitHub` is `.github`.
    """
    patterns = _patterns(globs)
    paths = {normpath(node.path) for task in plan.tasks for node in (*task.writes, *task.creates)}
    return tuple(sorted(path for path in paths if patterns.match(path.lower())))


def limited(policy: Policy, wanted: Wanted) -> Wanted:
    """Return what somebody wants of a run, as far as the policy goes along."""
    budgets = [each for each in (wanted.budget, policy.budget_usd) if each is not None]
    return replace(
        wanted,
        agents=min(wanted.agents or policy.max_agents, policy.max_agents),
        waves=min(wanted.waves or policy.max_waves, policy.max_waves),
        budget=min(budgets, default=None),
    )


def excess(policy: Policy, wanted: Wanted, plan: Plan, waves: Sequence[Sequence[str]]) -> str:
    """Say in what a plan goes beyond the policy, or what was wanted of it; empty: in nothing."""
    tasks, count = len(plan.tasks), len(waves)
    if tasks > policy.max_tasks:
        most = f"`max_tasks` in `{POLICY_FILE}` is {policy.max_tasks}"
        return f"the plan has {tasks} tasks; {most}"
    if count > policy.max_waves:
        most = f"`max_waves` in `{POLICY_FILE}` is {policy.max_waves}"
        return f"the plan has {count} waves; {most}"
    if wanted.waves is not None and count > wanted.waves:
        return f"the plan has {count} waves; `--max-waves` is {wanted.waves}"
    return ""


def _patterns(globs: Iterable[str]) -> Patterns:
    return Patterns(f"{POLICY_FILE}: protected", [line.lower() for line in globs])
