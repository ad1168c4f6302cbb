"""What is said about command lines, in the words of the app."""

from __future__ import annotations

import re
from functools import cache


def here(text: str) -> str:
    """Return a sentence about command lines as it is typed in the app."""
    pattern, typed = _known()
    return pattern.sub(lambda found: typed[found[0]], text)


@cache
def _known() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return what finds command lines, and what is typed for each."""
    from mak.cli.app.commands import SLASHES

    typed = {'mak run --task "…"': "a task, in words"}
    for slash in SLASHES:
        for line in filter(None, (slash.like, *slash.instead_of)):
            typed[f"mak {line}"] = f"/{slash.name}"
            # An option of a run alone, as errors name it.
            if line.startswith("run --") and " " not in (option := line.removeprefix("run ")):
                typed[option] = f"/{slash.name}"
    longest = sorted(map(re.escape, typed), key=len, reverse=True)
    return re.compile(rf"(?<![\w/-])(?:{'|'.join(longest)})(?![\w-])"), typed
