"""Plots of the study, each for light and for dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

Document = dict[str, Any]
#: Matplotlib's style sheet of each.
THEMES = {"light": "default", "dark": "dark_background"}
GRAINS = ("file", "node", "append", "signature")


def draw(documents: Sequence[Document], folder: Path) -> list[Path]:
    """Draw how waves speed up and how touches are spread; return the files."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    made = []
    for theme, style in THEMES.items():
        with pyplot.style.context(style), pyplot.rc_context({"svg.hashsalt": "mak"}):
            for name, figure in (
                ("waves", _waves(pyplot, documents)),
                ("touches", _touches(pyplot, documents)),
            ):
                path = folder / f"{name}-{theme}.svg"
                figure.savefig(path, metadata={"Date": None})
                pyplot.close(figure)
                made.append(path)
    return made


def _waves(pyplot: Any, documents: Sequence[Document]) -> Any:
    figure, axes = pyplot.subplots(
        1, len(documents), figsize=(3 * len(documents), 3.2), sharey=True, squeeze=False
    )
    for axis, document in zip(axes[0], documents, strict=True):
        for grain in GRAINS:
            waves = document["replay"]["all"][grain]["waves"]
            agents = [wave["agents"] for wave in waves]
            axis.plot(agents, [wave["speedup"] for wave in waves], marker="o", ms=3, label=grain)
        axis.plot(agents, agents, lw=0.5, color="grey")
        axis.set_title(document["repository"], fontsize=9)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log", base=2)
        axis.set_xlabel("changes at once")
    axes[0][0].set_ylabel("speed-up")
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    return figure


def _touches(pyplot: Any, documents: Sequence[Document]) -> Any:
    figure, axis = pyplot.subplots(figsize=(5, 3.6))
    for document in documents:
        histogram = document["nodes"]["all"]["histogram"]
        total = sum(count for _, count in histogram)
        at_least = [
            sum(count for other, count in histogram if other >= touches) / total
            for touches, _ in histogram
        ]
        axis.plot([t for t, _ in histogram], at_least, label=document["repository"])
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("changes that touch a node")
    axis.set_ylabel("share of nodes with at least as many")
    axis.legend(fontsize=7)
    figure.tight_layout()
    return figure
