"""Check what a pull request breaks: annotations beside its lines, all of it in the summary."""

from __future__ import annotations

import os

from action.job import Inputs, Job, event
from action.offer import offer
from mak.cli.commands.check import examine
from mak.cli.main import parse
from mak.cli.reports import FORMATS
from mak.github.api import Api
from mak.github.tokens import GivenToken
from mak.github.transport import Transport


def run(inputs: Inputs, job: Job) -> int:
    """Check the checkout; return 1 when there are findings.

    Raises `UsageError` when nothing could be checked.
    """
    excluded = [word for path in inputs.exclude for word in ("--exclude", path)]
    _, args = parse(["check", f"--base={inputs.base}", *excluded])
    report = examine(args)
    print(FORMATS["github"](report), flush=True)
    job.summarise(FORMATS["markdown"](report) + "\n")
    for remark in report.remarks:
        job.annotate("notice", remark, title="mak check")
    if inputs.offer_repair:
        url = os.environ.get("GITHUB_API_URL") or "https://api.github.com"
        with Transport(GivenToken(inputs.token), url) as transport:
            api = Api(transport, os.environ.get("GITHUB_REPOSITORY", ""))
            offer(report, api, event(os.environ), job)
    job.output(state="findings" if report.findings else "clean")
    return 1 if report.findings else 0
