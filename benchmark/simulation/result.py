"""What one arm came to in one cell, and what no result may claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmark.simulation.workload import Workload

#: How far rounding and the noise of the machine may take a figure beyond its bound.
TOLERANCE = 1.001


@dataclass
class Result:
    """Measures of one run; seconds are those of its clock."""

    makespan: float = 0.0
    #: What agents took, per call: task (or file, for resolving) and seconds.
    calls: list[tuple[str, float]] = field(default_factory=list)
    #: The longest chain of dependencies, in the seconds of the same samples.
    critical: float = 0.0
    #: The least that the arm's own locks allow; 0 where it has none.
    allowed: float = 0.0
    conflicts: int = 0
    resolver_calls: int = 0
    tokens: int = 0
    commits: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    hottest: list[tuple[str, int]] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)

    def row(self, workload: Workload, agents: int) -> dict[str, object]:
        """Return the figures as a line of the results."""
        work = sum(seconds for _, seconds in self.calls)
        own = sum(s for name, s in self.calls if name.startswith("t"))
        bound = max(self.critical, own / agents)
        return {
            "makespan": self.makespan,
            "work": work,
            "bound": bound,
            "allowed": max(bound, self.allowed),
            "speedup": own / self.makespan,
            "utilisation": work / (agents * self.makespan),
            "conflicts": self.conflicts,
            "resolver_calls": self.resolver_calls,
            "tokens": self.tokens,
            "registrations": workload.registrations,
            "survived": workload.survived(self.files),
            "tests": len(workload.jobs),
            "passed": workload.passed(self.files),
            "parses": workload.parses(self.files),
            "commit_p50": percentile(self.commits, 0.5),
            "commit_p95": percentile(self.commits, 0.95),
            "wait_p50": percentile(self.waits, 0.5),
            "wait_p95": percentile(self.waits, 0.95),
            "hottest": self.hottest,
        }


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile by the nearest rank; 0 of nothing."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def violations(row: dict[str, object], agents: int) -> list[str]:
    """Return what of a row cannot be: the harness is wrong, not the arm good."""

    def figure(name: str) -> float:
        value = row[name]
        assert isinstance(value, int | float)
        return float(value)

    found = []
    if figure("makespan") * TOLERANCE < figure("bound"):
        found.append(f"makespan {figure('makespan'):.1f} is under its bound {figure('bound'):.1f}")
    if figure("utilisation") > TOLERANCE:
        found.append(f"utilisation {figure('utilisation'):.3f} is over 1")
    if figure("speedup") > agents * TOLERANCE:
        found.append(f"speed-up {figure('speedup'):.2f} is over {agents} agents")
    if figure("survived") > figure("registrations"):
        found.append("more registrations survived than were made")
    return found
