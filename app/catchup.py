"""Deliveries that did not arrive are asked for again: at the start, and from time to time."""

from __future__ import annotations

import logging
import time
from datetime import datetime

from mak.github.api import AppApi
from mak.github.events import WEBHOOKS

_LOG = logging.getLogger("app.catchup")
#: GitHub sends again what is no older.
_DAYS = 3
#: How often one delivery is asked for; what is refused each time will be refused again.
_ATTEMPTS = 5
_MOST = 500


def catch_up(app: AppApi, now: float | None = None) -> int:
    """Have GitHub send again what never arrived; return how many deliveries that are.

    It keeps its id, so that what had arrived after all is known. Raises `GitHubError`.
    """
    oldest = (time.time() if now is None else now) - _DAYS * 86400
    # By the id that stays the same: the newest attempt, how many there were, whether one arrived.
    newest: dict[str, int] = {}
    attempts: dict[str, int] = {}
    arrived: set[str] = set()
    for one in app.deliveries():
        if datetime.fromisoformat(one["delivered_at"]).timestamp() < oldest:
            break
        actions = WEBHOOKS.get(one["event"], {})
        if one["action"] not in actions and "" not in actions:
            continue
        guid = one["guid"]
        newest.setdefault(guid, one["id"])
        attempts[guid] = attempts.get(guid, 0) + 1
        if 200 <= one["status_code"] < 300:
            arrived.add(guid)
    missed = [
        (guid, delivery)
        for guid, delivery in newest.items()
        if guid not in arrived and attempts[guid] < _ATTEMPTS
    ]
    # The oldest first: commands are worked off in the order in which they come.
    asked = missed[::-1][:_MOST]
    for guid, delivery in asked:
        app.redeliver(delivery)
        _LOG.info("asked for again", extra={"delivery": guid})
    return len(asked)
