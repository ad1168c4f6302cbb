"""Who works on a run, and shows it: one at a time, until somebody else may take over."""

from __future__ import annotations

import secrets
from dataclasses import replace

from mak.github.ledger import Held
from mak.github.site import Site
from mak.github.state import LEASE, Lease


class Busy(Exception):
    """Somebody else has the run's lease."""


def take(site: Site, held: Held, nonce: str = "") -> Held:
    """Return a run with its lease: the one that is ours by its `nonce`, or a new one.

    Raises `Busy` while somebody else's lasts, `Lost` when somebody was first.
    """
    lease = held.state.lease
    if lease is not None and nonce and lease.nonce == nonce:
        return held
    if lease is not None and lease.until > site.moment and lease.owner != site.owner:
        raise Busy
    mine = Lease(site.owner, secrets.token_hex(8), site.moment + LEASE)
    return site.ledger.write(held, replace(held.state, lease=mine))


def give_back(site: Site, held: Held, nonce: str) -> Held:
    """Return a run without the lease of this nonce; raises `Lost` when somebody was first.

    Whoever found us busy has written what they heard, so that this loses, and we look again.
    """
    lease = held.state.lease
    if lease is None or not nonce or lease.nonce != nonce:
        return held
    return site.ledger.write(held, replace(held.state, lease=None))
