"""Figures: how the arms of a sweep scale, and what those of the suite pass and take."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import mean
from typing import Any

Row = dict[str, Any]


def lacking() -> str:
    """Say how to get matplotlib, which MAK does not depend on; empty where it is here."""
    if find_spec("matplotlib") is not None:
        return ""
    return (
        "needs matplotlib, which MAK does not depend on: "
        f"{sys.executable} -m pip install matplotlib"
    )


def draw(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Draw the makespan over its bound against the number of agents, a panel for each shape."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shapes = sorted({row["shape"] for row in rows})
    figure, axes = pyplot.subplots(
        1, len(shapes), figsize=(3 * len(shapes), 3.2), sharey=True, squeeze=False
    )
    for axis, shape in zip(axes[0], shapes, strict=True):
        lines: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for row in rows:
            if row["shape"] == shape and row["arm"] != "sequential":
                lines[row["arm"]][row["agents"]].append(row["makespan"] / row["bound"])
        for arm, points in sorted(lines.items()):
            agents = sorted(points)
            axis.plot(agents, [mean(points[n]) for n in agents], marker="o", ms=3, label=arm)
        axis.set_title(shape, fontsize=9)
        axis.set_xscale("log", base=2)
        axis.set_xlabel("agents")
        axis.axhline(1.0, color="grey", lw=0.5)
    axes[0][0].set_ylabel("makespan over its bound")
    axes[0][-1].legend(fontsize=7)
    figure.tight_layout()
    made = [folder / "scaling.svg", folder / "scaling.png"]
    for path in made:
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)
    return made


def draw_suite(rows: Sequence[Row], folder: Path, mode: str) -> list[Path]:
    """Draw share of tests passed and wall clock of every arm, a group for each project."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    projects = list(dict.fromkeys(row["project"] for row in rows))
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.4))
    values: list[Callable[[Row], float]] = [
        lambda row: 100 * row["passed"] / row["tests"],
        lambda row: row["seconds"],
    ]
    for axis, value, label in zip(axes, values, ("tests passed, %", "wall, s"), strict=True):
        for number, arm in enumerate(arms):
            found = [
                [value(r) for r in rows if (r["project"], r["arm"]) == (p, arm)] for p in projects
            ]
            heights = [mean(each) if each else 0.0 for each in found]
            places = [i + number / (len(arms) + 1) for i in range(len(projects))]
            axis.bar(places, heights, 1 / (len(arms) + 1), label=arm)
        axis.set_xticks(range(len(projects)), projects, fontsize=8)
        axis.set_ylabel(label)
    axes[1].legend(fontsize=7)
    figure.suptitle("mock: proves the harness, says nothing of models" if mode == "mock" else mode)
    figure.tight_layout()
    made = [folder / f"{mode}.svg", folder / f"{mode}.png"]
    for path in made:
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)
    return made
