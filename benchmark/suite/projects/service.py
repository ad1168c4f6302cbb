"""The job service: what each function does, five cases of each, workflows over several of them.

A job is a dict with id, tenant, state, priority, attempts; a tenant one with name, limit and used.
"""

from __future__ import annotations

from benchmark.suite.projects.operations import Operation


def _fn(name: str, signature: str, about: str, body: str) -> Operation:
    return Operation(name, signature, about, body, (("", ""), ("", "")))


FUNCTIONS: dict[str, tuple[Operation, ...]] = {
    "tenants": (
        _fn(
            "new_tenant",
            "name, limit",
            "Return a tenant with this name and limit, of which 0 are used.",
            "return {'name': name, 'limit': limit, 'used': 0}",
        ),
        _fn(
            "has_room",
            "tenant",
            "Return whether fewer than the limit of a tenant are used.",
            "return tenant['used'] < tenant['limit']",
        ),
        _fn(
            "with_used",
            "tenant, by",
            "Return a copy of a tenant with used changed by a number, never under 0.",
            "return {**tenant, 'used': max(0, tenant['used'] + by)}",
        ),
        _fn(
            "usage_share",
            "tenant",
            "Return the whole percent of its limit that a tenant uses, rounded down; 100 for a limit of 0.",
            "return 100 * tenant['used'] // tenant['limit'] if tenant['limit'] else 100",
        ),
    ),
    "queue": (
        _fn(
            "new_job",
            "id, tenant, priority",
            "Return a job, queued, with 0 attempts, of a tenant's name.",
            "return {'id': id, 'tenant': tenant, 'state': 'queued', 'priority': priority, 'attempts': 0}",
        ),
        _fn(
            "enqueue",
            "queue, job",
            "Return a queue (a list of jobs) with a job at its end; unchanged if its id is there.",
            "return queue if any(j['id'] == job['id'] for j in queue) else [*queue, job]",
        ),
        _fn(
            "next_job",
            "queue",
            "Return the queued job of the highest priority, the first of equal ones; None if none is queued.",
            "queued = [j for j in queue if j['state'] == 'queued']\nreturn max(queued, key=lambda j: j['priority'], default=None)",
        ),
        _fn(
            "set_state",
            "queue, id, state",
            "Return a queue with the job of an id in a state.",
            "return [{**j, 'state': state} if j['id'] == id else j for j in queue]",
        ),
    ),
    "retries": (
        _fn(
            "count_attempt",
            "job",
            "Return a copy of a job with one more attempt.",
            "return {**job, 'attempts': job['attempts'] + 1}",
        ),
        _fn(
            "may_retry",
            "job, most",
            "Return whether a job has had fewer than most attempts.",
            "return job['attempts'] < most",
        ),
        _fn(
            "delay",
            "attempts",
            "Return the seconds before a next attempt: 2 to the power of attempts, at most 60.",
            "return min(60, 2**attempts)",
        ),
        _fn(
            "after_failure",
            "job, most",
            "Return a copy of a job that failed: one more attempt, and queued while it then has fewer than most, else dead.",
            "tried = job['attempts'] + 1\nreturn {**job, 'attempts': tried, 'state': 'queued' if tried < most else 'dead'}",
        ),
    ),
    "schedule": (
        _fn(
            "due",
            "entries, now",
            "Return the ids of (time, id) entries whose time is not after now, by time, then id.",
            "return [id for time, id in sorted(entries) if time <= now]",
        ),
        _fn(
            "reschedule",
            "entries, id, time",
            "Return the entries (time, id), sorted, with the one of an id at another time; it is added if it is not there.",
            "return sorted([(t, i) for t, i in entries if i != id] + [(time, id)])",
        ),
        _fn(
            "next_run",
            "every, now",
            "Return the first multiple of every after now.",
            "return (now // every + 1) * every",
        ),
        _fn(
            "fair_order",
            "queue",
            "Return the ids of a queue such that tenants take turns, by their first job; jobs of a tenant in their order.",
            "lanes = {}\nfor job in queue:\n    lanes.setdefault(job['tenant'], []).append(job['id'])\nout = []\nwhile any(lanes.values()):\n    out += [lane.pop(0) for lane in lanes.values() if lane]\nreturn out",
        ),
    ),
    "billing": (
        _fn(
            "cost",
            "seconds, rate",
            "Return the cents of a run: each second begun costs rate cents, at least one second counts.",
            "return max(1, -(-seconds // 1)) * rate",
        ),
        _fn(
            "invoice",
            "runs",
            "Return a dict from tenant to the sum of cents of (tenant, cents) runs, by name.",
            "out = {}\nfor tenant, cents in sorted(runs):\n    out[tenant] = out.get(tenant, 0) + cents\nreturn out",
        ),
        _fn(
            "discount",
            "cents",
            "Return cents less 10 percent from 1000 on, rounded down.",
            "return cents * 9 // 10 if cents >= 1000 else cents",
        ),
        _fn(
            "over_budget",
            "invoice, budgets",
            "Return the tenants of an invoice whose cents exceed their budget (0 where there is none), sorted.",
            "return sorted(t for t, cents in invoice.items() if cents > budgets.get(t, 0))",
        ),
    ),
    "audit": (
        _fn(
            "record",
            "log, who, what",
            "Return a log with an entry (number from 1, who, what) at its end.",
            "return [*log, (len(log) + 1, who, what)]",
        ),
        _fn(
            "entries_of",
            "log, who",
            "Return what somebody did by a log, in its order.",
            "return [what for _, by, what in log if by == who]",
        ),
        _fn(
            "gaps_in",
            "log",
            "Return the numbers that are missing between 1 and the last number of a log.",
            "have = {number for number, _, _ in log}\nreturn [n for n in range(1, max(have, default=0)) if n not in have]",
        ),
        _fn(
            "summarize",
            "log",
            "Return a dict from what was done to how often, in the order of the first time.",
            "out = {}\nfor _, _, what in log:\n    out[what] = out.get(what, 0) + 1\nreturn out",
        ),
    ),
}

_J = "{'id': 'a', 'tenant': 't', 'state': 'queued', 'priority': 1, 'attempts': 0}"
_Q = "[{'id': 'a', 'tenant': 't', 'state': 'queued', 'priority': 1}, {'id': 'b', 'tenant': 'u', 'state': 'queued', 'priority': 5}]"

CASES: dict[str, tuple[str, str, str, str, str]] = {
    "new_tenant": (
        "new_tenant('a', 3)['limit'] == 3",
        "new_tenant('a', 3)['used'] == 0",
        "new_tenant('b', 0)['name'] == 'b'",
        "len(new_tenant('b', 1)) == 3",
        "new_tenant('a', 1) is not new_tenant('a', 1)",
    ),
    "has_room": (
        "has_room({'used': 0, 'limit': 1}) is True",
        "has_room({'used': 1, 'limit': 1}) is False",
        "has_room({'used': 2, 'limit': 1}) is False",
        "has_room({'used': 0, 'limit': 0}) is False",
        "has_room({'used': 8, 'limit': 9}) is True",
    ),
    "with_used": (
        "with_used({'used': 1}, 2) == {'used': 3}",
        "with_used({'used': 1}, -2) == {'used': 0}",
        "with_used({'used': 1, 'x': 2}, 0) == {'used': 1, 'x': 2}",
        "with_used({'used': 5}, -5)['used'] == 0",
        "(lambda t: (with_used(t, 1), t)[1])({'used': 4}) == {'used': 4}",
    ),
    "usage_share": (
        "usage_share({'used': 1, 'limit': 3}) == 33",
        "usage_share({'used': 0, 'limit': 3}) == 0",
        "usage_share({'used': 3, 'limit': 3}) == 100",
        "usage_share({'used': 0, 'limit': 0}) == 100",
        "usage_share({'used': 3, 'limit': 2}) == 150",
    ),
    "new_job": (
        "new_job('x', 't', 2)['id'] == 'x'",
        "new_job('x', 't', 2)['state'] == 'queued'",
        "new_job('x', 't', 2)['attempts'] == 0",
        "new_job('x', 't', 2)['priority'] == 2",
        "new_job('x', 't', 2)['tenant'] == 't'",
    ),
    "enqueue": (
        "enqueue([], {'id': 1}) == [{'id': 1}]",
        "enqueue([{'id': 1}], {'id': 1, 'n': 2}) == [{'id': 1}]",
        "enqueue([{'id': 1}], {'id': 2})[-1] == {'id': 2}",
        "len(enqueue([{'id': 1}], {'id': 2})) == 2",
        "(lambda q: (enqueue(q, {'id': 9}), q)[1])([]) == []",
    ),
    "next_job": (
        f"next_job({_Q})['id'] == 'b'",
        "next_job([]) is None",
        "next_job([{'state': 'done', 'priority': 1}]) is None",
        f"next_job({_Q}[:1])['id'] == 'a'",
        f"next_job([*{_Q}, {{'id': 'c', 'state': 'queued', 'priority': 5}}])['id'] == 'b'",
    ),
    "set_state": (
        f"set_state({_Q}, 'a', 'done')[0]['state'] == 'done'",
        f"set_state({_Q}, 'a', 'done')[1]['state'] == 'queued'",
        f"set_state({_Q}, 'z', 'done') == {_Q}",
        "set_state([], 'a', 'x') == []",
        f"len(set_state({_Q}, 'b', 'x')) == 2",
    ),
    "count_attempt": (
        "count_attempt({'attempts': 0})['attempts'] == 1",
        "count_attempt({'attempts': 4})['attempts'] == 5",
        "count_attempt({'attempts': 0, 'id': 7})['id'] == 7",
        "(lambda j: (count_attempt(j), j)[1])({'attempts': 0}) == {'attempts': 0}",
        f"count_attempt({_J})['state'] == 'queued'",
    ),
    "may_retry": (
        "may_retry({'attempts': 0}, 1) is True",
        "may_retry({'attempts': 1}, 1) is False",
        "may_retry({'attempts': 2}, 3) is True",
        "may_retry({'attempts': 5}, 3) is False",
        "may_retry({'attempts': 0}, 0) is False",
    ),
    "delay": (
        "delay(0) == 1",
        "delay(1) == 2",
        "delay(5) == 32",
        "delay(6) == 60",
        "delay(9) == 60",
    ),
    "after_failure": (
        f"after_failure({_J}, 3)['state'] == 'queued'",
        f"after_failure({_J}, 1)['state'] == 'dead'",
        f"after_failure({_J}, 3)['attempts'] == 1",
        "after_failure({'attempts': 2, 'state': 'x'}, 3)['state'] == 'dead'",
        f"after_failure({_J}, 3)['id'] == 'a'",
    ),
    "due": (
        "due([(5, 'b'), (1, 'a')], 5) == ['a', 'b']",
        "due([(5, 'b')], 4) == []",
        "due([], 4) == []",
        "due([(1, 'b'), (1, 'a')], 1) == ['a', 'b']",
        "due([(1, 'a'), (9, 'z')], 2) == ['a']",
    ),
    "reschedule": (
        "reschedule([(1, 'a')], 'a', 4) == [(4, 'a')]",
        "reschedule([], 'a', 4) == [(4, 'a')]",
        "reschedule([(1, 'a'), (2, 'b')], 'a', 3) == [(2, 'b'), (3, 'a')]",
        "reschedule([(5, 'b')], 'a', 1) == [(1, 'a'), (5, 'b')]",
        "len(reschedule([(1, 'a'), (2, 'a')], 'a', 3)) == 1",
    ),
    "next_run": (
        "next_run(5, 7) == 10",
        "next_run(5, 10) == 15",
        "next_run(1, 0) == 1",
        "next_run(60, 59) == 60",
        "next_run(60, 60) == 120",
    ),
    "fair_order": (
        f"fair_order({_Q}) == ['a', 'b']",
        "fair_order([]) == []",
        "fair_order([{'tenant': 't', 'id': 1}, {'tenant': 't', 'id': 2}, {'tenant': 'u', 'id': 3}]) == [1, 3, 2]",
        "fair_order([{'tenant': 't', 'id': 1}]) == [1]",
        "fair_order([{'tenant': 'b', 'id': 1}, {'tenant': 'a', 'id': 2}, {'tenant': 'b', 'id': 3}, {'tenant': 'a', 'id': 4}]) == [1, 2, 3, 4]",
    ),
    "cost": (
        "cost(0, 3) == 3",
        "cost(1, 3) == 3",
        "cost(1.5, 3) == 6",
        "cost(10, 2) == 20",
        "cost(0.1, 5) == 5",
    ),
    "invoice": (
        "invoice([('b', 1), ('a', 2), ('b', 3)]) == {'a': 2, 'b': 4}",
        "invoice([]) == {}",
        "list(invoice([('b', 1), ('a', 2)])) == ['a', 'b']",
        "invoice([('a', 0)]) == {'a': 0}",
        "invoice([('a', 5)])['a'] == 5",
    ),
    "discount": (
        "discount(1000) == 900",
        "discount(999) == 999",
        "discount(1005) == 904",
        "discount(0) == 0",
        "discount(2000) == 1800",
    ),
    "over_budget": (
        "over_budget({'a': 5}, {'a': 4}) == ['a']",
        "over_budget({'a': 5}, {'a': 5}) == []",
        "over_budget({'a': 5}, {}) == ['a']",
        "over_budget({'b': 2, 'a': 2}, {}) == ['a', 'b']",
        "over_budget({}, {'a': 1}) == []",
    ),
    "record": (
        "record([], 'ada', 'x') == [(1, 'ada', 'x')]",
        "record([(1, 'a', 'b')], 'c', 'd')[-1] == (2, 'c', 'd')",
        "len(record([(1, 'a', 'b')], 'c', 'd')) == 2",
        "(lambda log: (record(log, 'a', 'b'), log)[1])([]) == []",
        "record([], '', '')[0][0] == 1",
    ),
    "entries_of": (
        "entries_of([(1, 'a', 'x'), (2, 'b', 'y')], 'a') == ['x']",
        "entries_of([], 'a') == []",
        "entries_of([(1, 'b', 'x')], 'a') == []",
        "entries_of([(1, 'a', 'x'), (2, 'a', 'w')], 'a') == ['x', 'w']",
        "entries_of([(1, 'a', 'x'), (2, 'a', 'x')], 'a') == ['x', 'x']",
    ),
    "gaps_in": (
        "gaps_in([(1, '', ''), (4, '', '')]) == [2, 3]",
        "gaps_in([]) == []",
        "gaps_in([(1, '', '')]) == []",
        "gaps_in([(2, '', '')]) == [1]",
        "gaps_in([(3, '', ''), (1, '', '')]) == [2]",
    ),
    "summarize": (
        "summarize([(1, 'a', 'x'), (2, 'b', 'x')]) == {'x': 2}",
        "summarize([]) == {}",
        "list(summarize([(1, 'a', 'y'), (2, 'a', 'x')])) == ['y', 'x']",
        "summarize([(1, 'a', 'x')])['x'] == 1",
        "sum(summarize([(1, 'a', 'x'), (2, 'a', 'y')]).values()) == 2",
    ),
}


def _retried(most: int) -> str:
    """Return a workflow: a job fails until it is dead."""
    return (
        f"job, waits = new_job('j', 't', 1), []\nwhile job['state'] == 'queued':\n"
        f"    waits.append(delay(job['attempts']))\n    job = after_failure(job, {most})\n"
        f"assert job['attempts'] == {most} and not may_retry(job, {most})\n"
        f"assert waits == {[min(60, 2**n) for n in range(most)]}"
    )


def _drained(count: int) -> str:
    """Return a workflow: jobs are done by priority."""
    return (
        f"queue, done = [], []\nfor n in range({count}):\n"
        "    queue = enqueue(queue, new_job(n, 't', n * 7 % 5))\n"
        "while (job := next_job(queue)) is not None:\n"
        "    done.append(job['id'])\n    queue = set_state(queue, job['id'], 'done')\n"
        f"assert done == {sorted(range(count), key=lambda n: -(n * 7 % 5))}"
    )


def _limited(limit: int) -> str:
    """Return a workflow: a tenant takes jobs while it has room."""
    return (
        f"tenant, queue = new_tenant('t', {limit}), []\n"
        "while has_room(tenant):\n    id = len(queue)\n"
        "    queue = enqueue(queue, new_job(id, tenant['name'], 1))\n"
        "    tenant = with_used(tenant, 1)\n"
        f"assert len(queue) == {limit} and usage_share(tenant) == 100\n"
        f"assert fair_order(queue) == list(range({limit}))"
    )


def _billed(seconds: int) -> str:
    """Return a workflow: runs are billed, and who is over budget is recorded."""
    total = 2 * seconds * 100
    after = total * 9 // 10 if total >= 1000 else total
    return (
        f"runs = [('b', cost({seconds}, 100)), ('a', cost(1, 5)), ('b', cost({seconds}, 100))]\n"
        "bill = {t: discount(c) for t, c in invoice(runs).items()}\n"
        f"assert bill == {{'a': 5, 'b': {after}}}\nlog = []\n"
        "for t in over_budget(bill, {'a': 5}):\n    log = record(log, t, 'over')\n"
        "assert entries_of(log, 'b') == ['over'] and summarize(log) == {'over': 1}"
    )


def _timed(every: int) -> str:
    """Return a workflow: what is due runs, and is put off."""
    return (
        f"entries, now = [(0, 'x'), ({every}, 'y')], 0\n"
        f"for id in due(entries, now):\n"
        f"    entries = reschedule(entries, id, next_run({every}, now))\n"
        f"assert entries == [({every}, 'x'), ({every}, 'y')]\n"
        f"assert due(entries, {every}) == ['x', 'y']"
    )


def _audited(count: int) -> str:
    """Return a workflow: every attempt is in the log, without a gap."""
    return (
        f"log, job = [], new_job('j', 't', 1)\nfor _ in range({count}):\n"
        "    job = count_attempt(job)\n    log = record(log, job['tenant'], 'try')\n"
        f"assert job['attempts'] == {count} and gaps_in(log) == []\n"
        f"assert summarize(log) == {{'try': {count}}}"
    )


WORKFLOWS: tuple[str, ...] = tuple(
    flow(size)
    for flow in (_retried, _drained, _limited, _billed, _timed, _audited)
    for size in (1, 3, 5, 7, 8)
)
