"""The report of a sweep: a table per shape, what is best where, and the verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

Row = dict[str, Any]
Cell = tuple[str, int, int, bool]

#: Arms that share the work out over worktrees.
WORKTREES = ("worktrees-end", "worktrees-often", "worktrees-assigned")
#: How far over the bound a makespan may be: of the work, and of what the arm's locks allow.
OVER_BOUND, OVER_ALLOWED = 1.15, 1.05


def report(rows: Sequence[Row], folder: Path | None = None) -> str:
    """Return the report as Markdown."""
    cells: dict[Cell, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        key = (row["shape"], row["agents"], row["lines"], row["sort"])
        cells[key][row["arm"]].append(row)
    several = sorted(key for key in cells if key[1] > 1 or set(cells[key]) != {"sequential"})
    out = [
        "Means over seeds, ± one standard deviation; seconds of the run's own clock. *bound* is",
        "the makespan over max(critical path, work / agents), *allowed* the same with what the",
        "arm's own locks serialize.",
        "",
        "| shape | agents | entries | arm | makespan | bound | allowed | speed-up | use |"
        " conflicts | resolver | kept | tests | tokens |",
        "|---|---:|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for key in several:
        shape, agents, lines, sort = key
        alone = cells.get((shape, 1, lines, sort), {}).get("sequential", [])
        arms = {**cells[key], **({"sequential": alone} if alone else {})}
        for arm, found in arms.items():
            out.append(_line(shape, agents, f"{lines}{' sorted' if sort else ''}", arm, found))
    out += ["", *summary(cells), "", *verdicts(cells)]
    text = "\n".join(out)
    if folder is not None:
        (folder / "report.md").write_text(text + "\n")
    return text


def _line(shape: str, agents: int, entries: str, arm: str, rows: Sequence[Row]) -> str:
    def spread(value: Callable[[Row], float], digits: int) -> str:
        values = [value(row) for row in rows]
        around = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
        return f"{mean(values):.{digits}f}{around}"

    figures = [
        spread(lambda r: r["makespan"], 0),
        f"{mean(r['makespan'] / r['bound'] for r in rows):.2f}",
        f"{mean(r['makespan'] / r['allowed'] for r in rows):.2f}",
        f"{mean(r['speedup'] for r in rows):.2f}",
        f"{mean(r['utilisation'] for r in rows):.2f}",
        f"{mean(r['conflicts'] for r in rows):.1f}",
        f"{mean(r['resolver_calls'] for r in rows):.1f}",
        _kept(rows),
        f"{100 * mean(r['passed'] / r['tests'] for r in rows):.1f} %",
        f"{mean(r['tokens'] for r in rows) / 1000:.0f}k",
    ]
    return f"| {shape} | {agents} | {entries} | {arm} | {' | '.join(figures)} |"


def summary(cells: dict[Cell, dict[str, list[Row]]]) -> list[str]:
    """Return a line per shape: the kernel beside the worktree arm that was fastest there."""
    out = [
        "Makespans in seconds; *over* is the kernel's over max(critical path, work / agents),",
        "*kept* what survived of the registrations: in the kernel and in the worktree arm that was",
        "fastest.",
        "",
        "| shape | agents | entries | mak | over | kept | best worktrees | kept | node locks |"
        " file locks |",
        "|---|---:|---|---:|---:|---:|---|---:|---:|---:|",
    ]
    for (shape, agents, lines, sort), arms in sorted(cells.items()):
        theirs = [arm for arm in WORKTREES if arm in arms]
        if agents == 1 or "mak" not in arms or not theirs:
            continue
        best = min(theirs, key=lambda arm: _makespan(arms[arm]))
        locks = [
            f"{_makespan(arms[arm]):.0f}" if arm in arms else ""
            for arm in ("mak-node-locks", "mak-file-locks")
        ]
        figures = [
            f"{_makespan(arms['mak']):.0f}",
            f"{mean(r['makespan'] / r['bound'] for r in arms['mak']):.2f}",
            _kept(arms["mak"]),
            f"{_makespan(arms[best]):.0f} ({best.removeprefix('worktrees-')})",
            _kept(arms[best]),
            *locks,
        ]
        entries = f"{lines}{' sorted' if sort else ''}"
        out.append(f"| {shape} | {agents} | {entries} | {' | '.join(figures)} |")
    return out


def _makespan(rows: Sequence[Row]) -> float:
    return mean(row["makespan"] for row in rows)


def _kept(rows: Sequence[Row]) -> str:
    kept = mean(r["survived"] / r["registrations"] if r["registrations"] else 1.0 for r in rows)
    return f"{100 * kept:.1f} %"


def verdicts(cells: dict[Cell, dict[str, list[Row]]]) -> list[str]:
    """Return what became of the hypotheses of ``benchmark/README.md``; every cell that misses."""
    out = ["Hypotheses", ""]
    misses: dict[str, list[str]] = {f"H{n}": [] for n in range(1, 5)}
    for (shape, agents, lines, sort), arms in sorted(cells.items()):
        ours = arms.get("mak")
        if not ours or agents == 1:
            continue
        where = f"{shape}, {agents} agents, {lines} lines{', sorted' if sort else ''}"
        makespan = _makespan(ours)
        bound = mean(r["makespan"] / r["bound"] for r in ours)
        allowed = mean(r["makespan"] / r["allowed"] for r in ours)
        if agents in (4, 8) and (bound > OVER_BOUND or allowed > OVER_ALLOWED):
            miss = f"{where}: {bound:.2f} x bound, {allowed:.2f} x allowed"
            if apart := cells.get(("disjoint", agents, 1, False), {}).get("worktrees-end"):
                miss += f", {makespan / _makespan(apart):.2f} x worktrees that share no file"
            misses["H1"].append(miss)
        theirs = [_makespan(arms[a]) for a in WORKTREES if a in arms]
        if theirs and makespan > min(theirs):
            misses["H2"].append(f"{where}: {makespan:.0f} s, worktrees {min(theirs):.0f} s")
        if any(r["survived"] < r["registrations"] or not r["parses"] for r in ours):
            lost = sum(r["registrations"] - r["survived"] for r in ours)
            misses["H3"].append(f"{where}: {lost} lines lost")
        if shape != "signatures" and any(r["conflicts"] for r in ours):
            misses["H4"].append(f"{where}: {sum(r['conflicts'] for r in ours)} asked again")
    said = {
        "H1": f"with 4 and 8 agents the makespan is at most {OVER_BOUND} x the bound and "
        f"{OVER_ALLOWED} x what the locks allow",
        "H2": "it is at or below the best worktree arm on every shape",
        "H3": "no registration is lost, and every file parses",
        "H4": "where edits commute no agent is asked twice",
    }
    for name, claim in said.items():
        found = misses[name]
        out.append(f"- {name}, {claim}: {'holds' if not found else 'does not hold'}")
        out += (f"  - {miss}" for miss in found)
    return out
