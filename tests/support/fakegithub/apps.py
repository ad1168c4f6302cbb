"""Apps, where they are installed, their tokens, and the deliveries of their webhooks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
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
    Installation,
    Repository,
)


@route("GET", "/app", "app")
def get_app(call: Call) -> Answer:
    """Return the App that asks."""
    return 200, call.shapes.app(call.grant.app)


@route("GET", "/app/installations", "app")
def list_installations(call: Call) -> Answer:
    """Return where the App is installed."""
    found = [one for one in call.world.installations.values() if one.app is call.grant.app]
    return 200, [call.shapes.installation(one) for one in found]


@route("GET", f"{REPO}/installation", "app")
def get_installation(call: Call) -> Answer:
    """Return the installation in a repository."""
    for one in call.world.installations.values():
        if one.app is call.grant.app and call.repository in one.repositories:
            return 200, call.shapes.installation(one)
    raise Refused(404, "Not Found")


@route("POST", "/app/installations/{installation_id}/access_tokens", "app")
def create_token(call: Call) -> Answer:
    """Mint a token, of some repositories and permissions only where that is asked for."""
    found = call.world.installations.get(int(call.arguments["installation_id"]))
    if found is None or found.app is not call.grant.app:
        raise Refused(404, "Not Found")
    if found.suspended:
        raise Refused(403, "This installation has been suspended")
    body = call.body or {}
    permissions = body.get("permissions", found.app.permissions)
    for name, level in permissions.items():
        have = found.app.permissions.get(name, "none")
        if have not in (level, "write", "admin"):
            message = "The permissions requested are not granted to this installation."
            raise Refused(422, message)
    grant = call.mint(found, permissions, _reach(found, body))
    repositories = [call.shapes.repository(one) for one in grant.repositories or ()]
    shown = {"token": grant.token, "expires_at": time(grant.expires)}
    narrowed = {"permissions": dict(permissions), "repositories": repositories}
    return 201, {**shown, **narrowed, "repository_selection": "selected"}


def _reach(installation: Installation, body: Mapping[str, Any]) -> tuple[Repository, ...]:
    ids, names = body.get("repository_ids"), body.get("repositories")
    found = tuple(
        one
        for one in installation.repositories
        if (ids is None or one.id in ids) and (names is None or one.name in names)
    )
    if len(found) < len(ids or names or ()):
        raise Refused(422, "There is at least one repository that does not exist.")
    return found


@route("GET", "/installation/repositories", "token")
def list_repositories(call: Call) -> Answer:
    """Return the repositories that a token of an installation reaches."""
    if call.grant.app is None or call.grant.repositories is None:
        raise Refused(403, "Resource not accessible by integration")
    found = [call.shapes.repository(one) for one in call.grant.repositories]
    return 200, {"total_count": len(found), "repositories": found}


@route("GET", "/users/{username}", "token")
def get_user(call: Call) -> Answer:
    """Return a person or a bot."""
    found = call.world.users.get(call.arguments["username"])
    if found is None:
        raise Refused(404, "Not Found")
    profile = dict.fromkeys(("name", "company", "blog", "location", "email"), None)
    return 200, {**call.shapes.user(found), **profile, "user_view_type": "public"}


@route("DELETE", "/installation/token", "token")
def revoke(call: Call) -> Answer:
    """Give a token back."""
    call.grant.expires = call.world.now() - timedelta(seconds=1)
    return 204, None


@route("GET", "/app/hook/deliveries", "app")
def list_deliveries(call: Call) -> Answer:
    """Return deliveries of webhooks, newest first."""
    return 200, [delivery.shape() for delivery in reversed(call.deliveries.made)]


@route("POST", "/app/hook/deliveries/{delivery_id}/attempts", "app")
def redeliver(call: Call) -> Answer:
    """Send a webhook again, with the id it had."""
    for delivery in call.deliveries.made:
        if delivery.id == int(call.arguments["delivery_id"]):
            call.deliveries.again(delivery)
            return 202, {}
    raise Refused(422, "Validation Failed", "no such delivery")
