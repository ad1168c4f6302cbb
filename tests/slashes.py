"""Writes the table of slash commands in docs/guides/app.md; ``make slashes`` runs it."""

from __future__ import annotations

import re
from pathlib import Path

from mak.cli.app.commands import SLASHES

PAGE = Path(__file__).parents[1] / "docs" / "guides" / "app.md"
_TABLE = re.compile(r"\| command \| does \|\n(\|.*\n)+")


def table() -> str:
    """Return the table, as the registry has it."""
    rows = ["| command | does |", "|---|---|"]
    for slash in SLASHES:
        names = [slash.usage, *(f"/{alias}" for alias in slash.aliases)]
        cells = ", ".join(f"`{name}`" for name in names).replace("|", "\\|")
        like = f"; takes the options of `mak {slash.like}`" if slash.like else ""
        rows.append(f"| {cells} | {slash.help}{like} |")
    return "".join(f"{row}\n" for row in rows)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_TABLE.sub(lambda found: table(), text), encoding="utf-8")
