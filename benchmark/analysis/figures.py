"""Figures of a sweep: how the arms scale on each shape, as SVG and PNG."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

Row = dict[str, Any]


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
