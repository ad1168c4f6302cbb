"""Webhooks: their payloads, signed deliveries, and what becomes of them on the way.

Nothing is sent by itself: a test sends what happened since, once or several times, in the order in
which it happened or in another one, or loses it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import random
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import httpx

from tests.support.fakegithub import contract
from tests.support.fakegithub.filling import fill
from tests.support.fakegithub.shapes import Shapes, time
from tests.support.fakegithub.world import App, Installation, Repository, World


@dataclass(eq=False)
class Delivery:
    """One webhook, and each time it was sent."""

    id: int
    guid: str
    event: str
    action: str | None
    payload: dict[str, Any]
    installation: Installation | None
    repository: Repository | None
    at: datetime
    #: The statuses it was answered with; 0 when nobody answered.
    statuses: list[int] = field(default_factory=list)

    @property
    def raw(self) -> bytes:
        """The bytes that are sent and signed."""
        return json.dumps(self.payload, separators=(",", ":"), ensure_ascii=False).encode()

    def shape(self) -> dict[str, Any]:
        """Return it as the App's list of deliveries shows it."""
        status = self.statuses[-1] if self.statuses else 0
        return {
            "id": self.id,
            "guid": self.guid,
            "delivered_at": time(self.at),
            "redelivery": len(self.statuses) > 1,
            "duration": 0.1,
            "status": "OK" if 200 <= status < 300 else "failed",
            "status_code": status,
            "event": self.event,
            "action": self.action,
            "installation_id": self.installation.id if self.installation else None,
            "repository_id": self.repository.id if self.repository else None,
            "throttled_at": None,
        }


class Deliveries:
    """What there is to tell, and to whom."""

    def __init__(self, world: World, shapes: Shapes, report: Callable[[str], None]) -> None:
        """Tell of a world; `report` is told of a payload that GitHub would not send."""
        self._world, self._shapes, self._report = world, shapes, report
        self.made: list[Delivery] = []
        self._waiting: list[Delivery] = []
        self.url, self.secret, self.app = "", "", None

    url: str
    secret: str
    app: App | None

    def send_to(self, url: str, secret: str, app: App) -> None:
        """Send an App's webhooks to an address."""
        self.url, self.secret, self.app = url, secret, app

    def note(
        self, repository: Repository | None, event: str, action: str, what: Mapping[str, Any]
    ) -> None:
        """Make the webhook of something that happened."""
        payload = self._payload(repository, event, action, what)
        installation = next(
            (one for one in self._world.installations.values() if repository in one.repositories),
            None,
        )
        if installation:
            payload["installation"] = {"id": installation.id, "node_id": f"I_{installation.id}"}
        schema = contract.webhook_schema(event, action)
        whole = fill(contract.hooks(), schema, payload, self._shapes.url)
        delivery = Delivery(
            self._world.next_id(),
            str(uuid.uuid4()),
            event,
            action,
            whole,
            installation,
            repository,
            self._world.now(),
        )
        for error in contract.wrong_webhook(event, action, self.headers(delivery), whole):
            self._report(f"webhook {event}.{action}: {error}")
        self.made.append(delivery)
        self._waiting.append(delivery)

    def headers(self, delivery: Delivery) -> dict[str, str]:
        """Return the headers of a delivery, with its signature."""
        signature = hmac.new(self.secret.encode(), delivery.raw, hashlib.sha256).hexdigest()
        return {
            "Accept": "*/*",
            "Content-Type": "application/json",
            "User-Agent": "GitHub-Hookshot/044aadd",
            "X-GitHub-Delivery": delivery.guid,
            "X-GitHub-Event": delivery.event,
            "X-GitHub-Hook-ID": "1",
            "X-GitHub-Hook-Installation-Target-ID": str(self.app.id if self.app else 1),
            "X-GitHub-Hook-Installation-Target-Type": "integration",
            "X-Hub-Signature-256": f"sha256={signature}",
        }

    def send(self, copies: int = 1, shuffle: int | None = None) -> list[Delivery]:
        """Send what waits, each so many times; with a number to shuffle by, in another order."""
        waiting, self._waiting = self._waiting, []
        all_of_them = [delivery for delivery in waiting for _ in range(copies)]
        if shuffle is not None:
            random.Random(shuffle).shuffle(all_of_them)
        for delivery in all_of_them:
            self.again(delivery)
        return waiting

    def lose(self) -> list[Delivery]:
        """Let what waits never arrive."""
        waiting, self._waiting = self._waiting, []
        for delivery in waiting:
            delivery.statuses.append(0)
        return waiting

    def again(self, delivery: Delivery) -> None:
        """Send one delivery, which keeps its id."""
        try:
            answer = httpx.post(self.url, content=delivery.raw, headers=self.headers(delivery))
        except httpx.HTTPError:
            delivery.statuses.append(0)
        else:
            delivery.statuses.append(answer.status_code)

    def _payload(
        self, repository: Repository | None, event: str, action: str, what: Mapping[str, Any]
    ) -> dict[str, Any]:
        shapes = self._shapes
        payload: dict[str, Any] = {"action": action, "sender": shapes.user(what["sender"])}
        if repository is None:
            return {**payload, **what.get("document", {})}
        payload["repository"] = shapes.repository(repository)
        issue = what.get("issue")
        if event in ("issues", "issue_comment"):
            payload["issue"] = shapes.issue(repository, issue)
        elif issue:
            payload["pull_request"] = shapes.pull(repository, issue)
            payload["number"] = issue.number
        if event == "issue_comment":
            payload["comment"] = shapes.comment(repository, issue, what["comment"])
        if event == "pull_request_review_comment":
            payload["comment"] = shapes.line_comment(repository, issue, what["comment"])
        if event == "pull_request_review":
            review = shapes.review(repository, issue, what["review"])
            payload["review"] = {**review, "state": review["state"].lower()}
        if event == "check_run":
            payload["check_run"] = shapes.check(repository, what["check"])
        for name in ("changes", "before", "after", "requested_action"):
            if name in what:
                payload[name] = what[name]
        return payload
