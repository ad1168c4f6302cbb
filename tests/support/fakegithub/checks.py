"""Checks of commits."""

from __future__ import annotations

from typing import Any

from tests.support.fakegithub.calls import (
    REPO,
    Answer,
    Call,
    Refused,
    route,
)
from tests.support.fakegithub.shapes import time
from tests.support.fakegithub.world import (
    CheckRun,
)


@route("POST", f"{REPO}/check-runs", "checks:write")
def create_check(call: Call) -> Answer:
    """Report on a commit."""
    app = call.grant.app
    if app is None:
        raise Refused(403, "You must authenticate via a GitHub App.")
    check = CheckRun(call.world.next_id(), app, {"started_at": time(call.world.now())})
    call.repository.checks[check.id] = check
    return 201, _report(call, check)


@route("PATCH", f"{REPO}/check-runs/{{check_run_id}}", "checks:write")
def update_check(call: Call) -> Answer:
    """Report more: annotations are added to those that are there."""
    check = call.repository.checks.get(int(call.arguments["check_run_id"]))
    if check is None or check.app is not call.grant.app:
        raise Refused(403, "Invalid app_id `1` - check run can only be modified by its creator.")
    return 200, _report(call, check)


@route("GET", f"{REPO}/commits/{{ref}}/check-runs", "checks:read")
def list_checks(call: Call) -> Answer:
    """Return the checks of a commit."""
    sha = call.repository.sha(f"refs/heads/{call.arguments['ref']}") or call.arguments["ref"]
    name = call.query.get("check_name")
    found = [
        call.shapes.check(call.repository, check)
        for check in call.repository.checks.values()
        if check.fields["head_sha"] == sha and name in (None, check.fields["name"])
    ]
    return 200, {"total_count": len(found), "check_runs": found}


def _report(call: Call, check: CheckRun) -> Any:
    fields = dict(call.body)
    output = dict(fields.get("output", {}))
    check.annotations += output.pop("annotations", [])
    if output:
        fields["output"] = {**check.fields.get("output", {}), **output}
    check.fields.update(fields)
    if "conclusion" in fields:
        check.fields["status"] = "completed"
        check.fields.setdefault("completed_at", time(call.world.now()))
    return call.shapes.check(call.repository, check)
