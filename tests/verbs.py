"""Writes the tables of docs/reference/github-commands.md; ``make said`` runs it."""

from __future__ import annotations

import re
from pathlib import Path

from mak.github.reduce import ALLOWED
from mak.github.state import Phase
from mak.github.verbs import VERBS, Verb

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "github-commands.md"
_TABLE = re.compile(r"\| command \| does \|.*\n(\|.*\n)+")
_FLAGS = re.compile(r"\| flag \| of \|\n(\|.*\n)+")


def commands() -> str:
    """Return the table of verbs: what each does, while a run is where, and who may say it."""
    rows = ["| command | does | while the run is | who |", "|---|---|---|---|"]
    for verb in VERBS:
        usage = ", ".join(f"`/mak {usage}`" for usage in verb.usage.split(" | "))
        rows.append(f"| {usage} | {verb.does} | {_where(verb)} | {_who(verb)} |")
    return "".join(f"{row}\n" for row in rows)


def flags() -> str:
    """Return the table of flags, with the verbs that take each."""
    taken: dict[str, list[str]] = {}
    for verb in VERBS:
        for flag in verb.flags:
            taken.setdefault(flag.shown, []).append(f"`{verb.name}`")
    rows = ["| flag | of |", "|---|---|"]
    rows += [f"| `{flag}` | {', '.join(verbs)} |" for flag, verbs in taken.items()]
    return "".join(f"{row}\n" for row in rows)


def _where(verb: Verb) -> str:
    allowed = ALLOWED[verb.name]
    if len(allowed) == len(Phase):
        return "anywhere"
    return ", ".join(phase for phase in Phase if phase in allowed)


def _who(verb: Verb) -> str:
    if verb.name == "cancel":
        return "write, or whoever asked"
    return str(verb.level)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    text = _FLAGS.sub(lambda found: flags(), _TABLE.sub(lambda found: commands(), text))
    PAGE.write_text(text, encoding="utf-8")
