"""The job's repository, as MAK works on it: whom it speaks as, and what holds there."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from action.job import Inputs, for_kernel
from mak.config import CONFIG_FILE, POLICY_FILE, Policy
from mak.errors import UsageError
from mak.github.api import Api
from mak.github.ledger import Ledger
from mak.github.messages import Links
from mak.github.policy import read_policy
from mak.github.reading import Reader
from mak.github.remote import Remote
from mak.github.site import Site, Wishes
from mak.github.tokens import GivenToken
from mak.github.transport import Transport

#: The account that a job's own token speaks as, at github.com.
JOBS_ACCOUNT = 41898282
_WHO = ("github-actions[bot]", f"{JOBS_ACCOUNT}+github-actions[bot]@users.noreply.github.com")


@contextmanager
def site(
    inputs: Inputs,
    environment: Mapping[str, str],
    note: Callable[[str], None],
    see: Callable[[Mapping[str, Any]], None],
) -> Iterator[tuple[Site, UsageError | None]]:
    """Give the job's repository, with a folder that is gone afterwards; and what is wrong with it.

    Policy and configuration are those of the default branch, whatever the event is about. Where
    one of them is wrong, the site has neither and serves to say so. Raises `UsageError` for a job
    that cannot be used, `GitHubError` where something cannot be read.
    """
    name = environment.get("GITHUB_REPOSITORY", "")
    if name.count("/") != 1:
        raise UsageError("GITHUB_REPOSITORY names no repository", hint="MAK runs in a job")
    server = environment.get("GITHUB_SERVER_URL", "").rstrip("/") or "https://github.com"
    token = GivenToken(inputs.token)
    with ExitStack() as stack:
        scratch = environment.get("RUNNER_TEMP") or None
        made = tempfile.TemporaryDirectory(
            prefix="mak-run-", dir=scratch, ignore_cleanup_errors=True
        )
        folder = Path(stack.enter_context(made))
        transport = stack.enter_context(
            Transport(
                token,
                environment.get("GITHUB_API_URL", "") or "https://api.github.com",
                environment.get("GITHUB_GRAPHQL_URL", ""),
            )
        )
        api, reader = Api(transport, name), Reader(transport, name)
        stack.callback(reader.close)
        branch = str(reader.repository()["default_branch"])
        remote = Remote(f"{server}/{name}.git", token, folder / "remote")
        (folder / "work").mkdir()
        policy, wishes, wrong = Policy(), Wishes(), None
        try:
            policy = read_policy(_text(api, POLICY_FILE, branch))
            wishes = _wishes(inputs, api, branch)
        except UsageError as error:
            wrong = error
        place = Site(
            api=api,
            reader=reader,
            remote=remote,
            ledger=Ledger(remote),
            mine=frozenset({JOBS_ACCOUNT, *inputs.accounts}),
            who=_WHO,
            folder=folder / "work",
            environment=for_kernel(environment, inputs.token),
            policy=policy,
            links=Links(f"{server}/{name}", server, _log(environment, f"{server}/{name}")),
            # What somebody else pushes than the job's own account starts workflows.
            by_job=not inputs.accounts,
            wishes=wishes,
            alias=inputs.alias,
            # A job that is started again goes on at once with what it was cut off at.
            owner=f"job {environment.get('GITHUB_RUN_ID', '')}",
            note=note,
            see=see,
        )
        yield place, wrong


def _wishes(inputs: Inputs, api: Api, branch: str) -> Wishes:
    path = inputs.config or CONFIG_FILE.as_posix()
    config = _text(api, path, branch)
    if inputs.config and not config:
        raise UsageError(f"input config: there is no {path} on {branch}")
    return Wishes(inputs.models, inputs.planner, inputs.agents, inputs.budget, config)


def _text(api: Api, path: str, branch: str) -> str:
    """Return a file of a branch; empty where there is none."""
    try:
        return (api.content(path, branch) or b"").decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"reading {path} of {branch}: it is not UTF-8") from error


def _log(environment: Mapping[str, str], repository: str) -> str:
    run, attempt = (environment.get(f"GITHUB_RUN_{name}", "") for name in ("ID", "ATTEMPT"))
    if not run:
        return ""
    return f"{repository}/actions/runs/{run}" + (f"/attempts/{attempt}" if attempt else "")
