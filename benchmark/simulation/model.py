"""How agents are modelled: latency, tokens, mistakes, and the resolving of conflicts.

Everything is drawn from the task's id and the number of the attempt, so that every arm meets the
same agents: the same task takes as long in each of them, and goes wrong in each of them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """The parameters, as a sweep's configuration gives them."""

    seed: int
    #: Seconds: the median of the log-normal latency of a task and its spread (of the logarithm).
    latency: float = 20.0
    spread: float = 0.5
    #: The same for resolving one conflicted file.
    resolving: float = 15.0
    #: How often an agent writes code that is wrong, and parses.
    wrong: float = 0.05
    #: How often a line that two sides contend for is lost when a conflict is resolved.
    loss: float = 0.05
    #: Tokens of a prompt beside its text, and bytes to a token.
    rules: int = 1_200
    bytes_per_token: float = 4.0

    def seconds(self, task: str, attempt: int = 1) -> float:
        """Return how long an agent takes for one attempt at a task."""
        return self._chance(task, attempt).lognormvariate(0.0, self.spread) * self.latency

    def correct(self, task: str) -> bool:
        """Whether the agent gets this task right."""
        return random.Random(f"{self.seed}:{task}:right").random() >= self.wrong

    def resolving_seconds(self, what: str) -> float:
        """Return how long the resolving of one conflicted file takes."""
        chance = random.Random(f"{self.seed}:{what}:resolve")
        return chance.lognormvariate(0.0, self.spread) * self.resolving

    def keeps(self, what: str, line: int) -> bool:
        """Whether a contended line survives the resolving of a conflict."""
        return random.Random(f"{self.seed}:{what}:{line}:keep").random() >= self.loss

    def tokens(self, shown: int, written: int) -> int:
        """Return the tokens of a call that shows and writes so many bytes."""
        return round(self.rules + (shown + written) / self.bytes_per_token)

    def _chance(self, task: str, attempt: int) -> random.Random:
        return random.Random(f"{self.seed}:{task}:{attempt}")
