"""What MAK says on GitHub, word by word: made from a run's state, without asking anybody anything.

Each function returns a whole body that ends with its mark, of at most 60,000 characters.
"""

from __future__ import annotations

from mak.github.messages.answers import answer, help_text, misread, stale, status
from mak.github.messages.ends import branch_moved, cancelled, done, expired, failed
from mak.github.messages.links import Links
from mak.github.messages.plan import plan
from mak.github.messages.progress import summary, tracking
from mak.github.messages.pull import no_pull, pull_body
from mak.github.messages.repair import check_annotations, repairs
from mak.github.messages.steps import next_wave
from mak.github.messages.titles import commit_title, pull_title
from mak.github.messages.words import LONGEST, inert

__all__ = [
    "LONGEST",
    "Links",
    "answer",
    "branch_moved",
    "cancelled",
    "check_annotations",
    "commit_title",
    "done",
    "expired",
    "failed",
    "help_text",
    "inert",
    "misread",
    "next_wave",
    "no_pull",
    "plan",
    "pull_body",
    "pull_title",
    "repairs",
    "stale",
    "status",
    "summary",
    "tracking",
]
