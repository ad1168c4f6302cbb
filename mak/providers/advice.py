"""What is said about models beyond what their endpoints publish: one table, kept by hand.

Facts (what there is, how much it holds, when it goes) are fetched and stand in the catalog. Here is
what no endpoint says: which models are worth trying first, and what to know before choosing one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mak.providers.request import Published

#: A window below this leaves no room for a task beside what an agent is shown.
SMALL = 16_000


@dataclass(frozen=True, slots=True)
class Recommended:
    """A model to begin with."""

    spec: str
    why: str


#: By what a person has; the first one of an endpoint is named first.
RECOMMENDED: tuple[Recommended, ...] = (
    Recommended("anthropic:claude-sonnet-5-5", "plans and edits"),
    Recommended("anthropic:claude-opus-5-5", "hard plans: --planner, with cheaper agents"),
    Recommended("anthropic:claude-haiku-5-5", "many small tasks, cheaply"),
    Recommended("openai:gpt-6.1-sol", "plans and edits"),
    Recommended("gemini:gemini-3.8-flash", "many small tasks, cheaply"),
    Recommended("openrouter:anthropic/claude-sonnet-5.5", "one key for many vendors"),
    Recommended("deepseek:deepseek-v4-pro", "plans and edits, cheaply"),
    Recommended("zai:GLM-5.3", "plans and edits, cheaply"),
    Recommended("groq:openai/gpt-oss-120b", "fast agents; plans are better made elsewhere"),
)

#: Pattern of a model's name, whoever serves it, and what to know before choosing it.
_CAVEATS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"claude-fable-5(-\d{8})?"),
        "needs an organisation with 30-day retention; may stop with refusal, which counts as a "
        "failed task",
    ),
    (
        re.compile(r".*:batch"),
        "answers in a batch, hours later, while a run waits for every answer",
    ),
    (
        re.compile(r".*:free"),
        "a free variant: few calls a day are allowed, and all agents share them",
    ),
)


def recommended(spec: str) -> str:
    """Return why a model is worth trying first; empty: nobody says so."""
    return next((each.why for each in RECOMMENDED if each.spec == spec), "")


def caveats(model: str, published: Published | None = None) -> tuple[str, ...]:
    """Return what to know before a model is chosen: from the table, and from its endpoint."""
    name = model.rpartition("/")[2]
    found = [text for pattern, text in _CAVEATS if pattern.fullmatch(name)]
    if published is not None:
        if published.lifecycle == "retired":
            found.append(f"retired{_on(published.retires)}")
        elif published.retires:
            found.append(f"will be retired{_on(published.retires)}")
        elif published.lifecycle == "deprecated":
            found.append("deprecated")
        if published.context and published.context < SMALL:
            found.append(f"holds {published.context:,} tokens only; larger tasks will not fit")
    return tuple(found)


def _on(day: str) -> str:
    return f" on {day}" if day else ""
