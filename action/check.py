"""Check what a pull request breaks: annotations beside its lines, all of it in the summary."""

from __future__ import annotations

from action.job import Inputs, Job
from mak.cli.commands.check import examine
from mak.cli.main import parse
from mak.cli.reports import FORMATS


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
    job.output(state="findings" if report.findings else "clean")
    return 1 if report.findings else 0
