"""The report of the real-model suite: a table, and every run's row below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean, stdev
from typing import Any

Row = dict[str, Any]

_MOCK = (
    "**Mock.** Answers come from the reference implementations, with mistakes drawn at set rates.",
    "The table proves that the harness works from end to end; it says nothing of any model, and",
    "nothing of which arm is better with one.",
)
_HEADS = (
    *("project", "arm", "agents", "runs", "tests", "wall, s", "in k", "out k", "cached k", "cost"),
    *("conflicts", "resolver", "lost", "missing", "escalations", "retries/task", "failed"),
)
_REAL = ("Models as they answered, on the days that are named; wall clock, nothing modelled.",)


def report(rows: Sequence[Row], mode: str) -> str:
    """Return the report as Markdown; what was not run is said to be so."""
    out = [*(_MOCK if mode == "mock" else _REAL), ""]
    ran = [row for row in rows if "not_run" not in row]
    if not ran:
        out.append("Not run: there is no result here.")
    else:
        out += [
            f"Models: {', '.join(sorted({m for row in ran for m in row['models']}))}; dates: "
            f"{', '.join(sorted({row['date'] for row in ran}))}.",
            "Means over runs, ± one standard deviation. *lost*: registrations that are not there",
            "once; *conflicts*: merges that conflicted, in MAK answers that did not go together;",
            "*missing*: targets that the planner left out.",
            "",
            _line(_HEADS),
            "|---|---|" + "---:|" * 15,
        ]
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in ran:
        groups.setdefault((row["project"], row["arm"], row["agents"]), []).append(row)
    out += [_group(*key, found) for key, found in groups.items()]
    for row in rows:
        if "not_run" in row:
            out.append(
                f"| {row['project']} | {row['arm']} | not run: {row['not_run']} |{' |' * 14}"
            )
    if ran:
        out += ["", "Every run:", ""]
        out += [_every(row) for row in ran]
    return "\n".join(out) + "\n"


def _group(project: str, arm: str, agents: int, rows: Sequence[Row]) -> str:
    def spread(value: Callable[[Row], float], digits: int = 1) -> str:
        values = [value(row) for row in rows]
        around = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
        return f"{mean(values):.{digits}f}{around}"

    priced = all(row["cost"] is not None for row in rows)
    planned = all(row["missing"] is not None for row in rows)
    return _line(
        [
            project,
            arm,
            str(agents),
            str(len(rows)),
            f"{spread(lambda r: r['passed'])} of {rows[0]['tests']}",
            spread(lambda r: r["seconds"]),
            spread(lambda r: r["input"] / 1000),
            spread(lambda r: r["output"] / 1000),
            spread(lambda r: r["cached"] / 1000),
            spread(lambda r: r["cost"], 3) if priced else "",
            spread(lambda r: r["conflicts"]),
            spread(lambda r: r["resolver_calls"]),
            f"{spread(lambda r: r['lost'])} of {rows[0]['registrations']}",
            spread(lambda r: r["missing"]) if planned else "",
            spread(lambda r: r["escalations"]),
            spread(lambda r: r["retries"] / r["tasks"], 2),
            spread(lambda r: len(r["failed"])),
        ]
    )


def _every(row: Row) -> str:
    reason = f"; {row['reason']}" if row["reason"] else ""
    return (
        f"- {row['project']}, {row['arm']}, run {row['repeat']}: {row['passed']} of {row['tests']} "
        f"tests, {row['seconds']:.1f} s, {row['calls']} calls, {row['input']} in, {row['output']} "
        f"out, {row['cached']} cached, {row['lost']} lost{reason}"
    )


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
