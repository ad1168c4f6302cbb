"""Repositories, what people may do there, their refs, and runs of their workflows."""

from __future__ import annotations

import base64

from tests.support.fakegithub.calls import (
    REPO,
    Answer,
    Call,
    Refused,
    route,
)
from tests.support.fakegithub.hunks import changed_files
from tests.support.fakegithub.shapes import PERMISSIONS


@route("GET", REPO, "metadata:read")
def get_repository(call: Call) -> Answer:
    """Return a repository."""
    return 200, call.shapes.repository(call.repository)


@route("GET", f"{REPO}/collaborators/{{username}}/permission", "metadata:read")
def get_permission(call: Call) -> Answer:
    """Return what a person may do."""
    user = call.world.users.get(call.arguments["username"])
    if user is None:
        raise Refused(404, "Not Found")
    role = call.repository.role(user)
    permission = PERMISSIONS.get(role, role)
    shown = {**call.shapes.user(user), "role_name": role}
    return 200, {"permission": permission, "role_name": role, "user": shown}


@route("GET", f"{REPO}/contents/{{path}}", "contents:read")
def get_content(call: Call) -> Answer:
    """Return a file of a commit."""
    path, ref = call.arguments["path"], call.query.get("ref", "main")
    text = call.repository.file(ref, path)
    if text is None:
        raise Refused(404, "Not Found")
    sha = call.repository.git("rev-parse", f"{ref}:{path}")
    url = f"{call.shapes.url}{REPO}/contents/{path}"
    name = path.rpartition("/")[2]
    links = {"git": url, "html": url, "self": url}
    plain = {"type": "file", "encoding": "base64", "size": len(text), "name": name, "path": path}
    content = base64.b64encode(text).decode()
    return 200, {**plain, "content": content, "sha": sha, "url": url, "_links": links}


@route("GET", f"{REPO}/compare/{{basehead}}", "contents:read")
def compare(call: Call) -> Answer:
    """Return how two commits differ."""
    base, _, head = call.arguments["basehead"].partition("...")
    repository = call.repository
    try:
        ahead = repository.git("rev-list", "--count", f"{base}..{head}")
        behind = repository.git("rev-list", "--count", f"{head}..{base}")
    except RuntimeError:
        raise Refused(404, "Not Found") from None
    counts = {"ahead_by": int(ahead), "behind_by": int(behind), "total_commits": int(ahead)}
    status = {(False, False): "identical", (True, False): "ahead", (False, True): "behind"}
    how = status.get((ahead != "0", behind != "0"), "diverged")
    return 200, {**counts, "status": how, "files": changed_files(repository, f"{base}...{head}")}


@route("GET", f"{REPO}/git/ref/{{ref}}", "contents:read")
def get_ref(call: Call) -> Answer:
    """Return a reference."""
    name = f"refs/{call.arguments['ref']}"
    sha = call.repository.sha(name)
    if not sha:
        raise Refused(404, "Not Found")
    return 200, call.shapes.ref(call.repository, name, sha)


@route("GET", f"{REPO}/git/matching-refs/{{ref}}", "contents:read")
def matching_refs(call: Call) -> Answer:
    """Return the references that begin so."""
    found = call.repository.refs(f"refs/{call.arguments['ref']}").items()
    return 200, [call.shapes.ref(call.repository, name, sha) for name, sha in found]


@route("POST", f"{REPO}/git/refs", "contents:write")
def create_ref(call: Call) -> Answer:
    """Make a reference that is not there."""
    name, sha = call.body["ref"], call.body["sha"]
    if call.repository.sha(name):
        raise Refused(422, "Reference already exists")
    _move(call, name, sha, "0" * 40)
    return 201, call.shapes.ref(call.repository, name, sha)


@route("PATCH", f"{REPO}/git/refs/{{ref}}", "contents:write")
def update_ref(call: Call) -> Answer:
    """Move a reference: forward, unless it is forced."""
    name, sha = f"refs/{call.arguments['ref']}", call.body["sha"]
    old = call.repository.sha(name)
    if not old:
        raise Refused(422, "Reference does not exist")
    if not call.body.get("force"):
        try:
            call.repository.git("merge-base", "--is-ancestor", old, sha)
        except RuntimeError:
            raise Refused(422, "Update is not a fast forward") from None
    _move(call, name, sha, old)
    return 200, call.shapes.ref(call.repository, name, sha)


@route("DELETE", f"{REPO}/git/refs/{{ref}}", "contents:write")
def delete_ref(call: Call) -> Answer:
    """Take a reference away."""
    name = f"refs/{call.arguments['ref']}"
    if not call.repository.sha(name):
        raise Refused(422, "Reference does not exist")
    call.repository.git("update-ref", "-d", name)
    return 204, None


def _move(call: Call, name: str, sha: str, old: str) -> None:
    try:
        call.repository.git("update-ref", name, sha, old)
    except RuntimeError:
        raise Refused(422, "Object does not exist") from None
    call.repository.pushed({name: old.strip("0")}, call.user)


@route("POST", f"{REPO}/dispatches", "contents:write")
def dispatch(call: Call) -> Answer:
    """Start workflows that listen to `repository_dispatch`."""
    call.repository.dispatches.append(dict(call.body))
    return 204, None


@route("POST", f"{REPO}/actions/workflows/{{workflow_id}}/dispatches", "actions:write")
def dispatch_workflow(call: Call) -> Answer:
    """Start one workflow."""
    if len(call.body.get("inputs", {})) > 25:
        raise Refused(422, "you may only define up to 25 `inputs` for a `workflow_dispatch` event")
    named = {"workflow": call.arguments["workflow_id"]}
    call.repository.dispatches.append({**call.body, **named})
    if call.body.get("return_run_details"):
        identifier = call.world.next_id()
        url = f"{call.shapes.url}{REPO}/actions/runs/{identifier}"
        return 200, {"workflow_run_id": identifier, "run_url": url, "html_url": url}
    return 204, None
