"""The words that may follow `/mak`, what each takes, and who may say it: the only list of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from mak.config.policy import MOST_AGENTS, MOST_TASKS, MOST_WAVES

_BRANCH = re.compile(r"(?!.*(?:\.\.|//|@\{|\.lock$|/$|\.$))[A-Za-z0-9][\w./-]{0,199}", re.ASCII)
_FILE = re.compile(r"(?!/)(?!.*[\\:])[^\x00-\x1f]{1,1000}")

#: What macOS leaves out of a name before it looks for the file.
_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")


class Level(StrEnum):
    """What somebody must be allowed to do in the repository."""

    READ = "read"
    WRITE = "write"


class Text(StrEnum):
    """What follows a colon, or the words of a task."""

    NONE = "none"
    OPTIONAL = "optional"
    NEEDED = "needed"
    #: All the rest of the line, and of the comment where it is the only command.
    TASK = "task"


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: how it is shown, and what makes a value one of its."""

    name: str
    shown: str
    #: None: it takes no value.
    fits: Callable[[str], bool] | None


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb: its arguments, flags and text."""

    name: str
    usage: str
    does: str
    #: The letters of the ids that it takes (T a task, R a repair, W a wave), and how many.
    ids: str = ""
    fewest: int = 0
    most: int = 0
    #: Words that may stand in place of ids; a digest is `digest`, a verb `verb`.
    words: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    text: Text = Text.NONE
    #: Whether a fenced block below may stand for the text.
    payload: bool = False
    level: Level = Level.WRITE

    def flag(self, name: str) -> Flag | None:
        """Return a flag by its name."""
        return next((flag for flag in self.flags if flag.name == name), None)


def _number(most: int) -> Callable[[str], bool]:
    return lambda text: text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= most


def _money(text: str) -> bool:
    return bool(re.fullmatch(r"\d{1,6}(?:\.\d{1,4})?", text, re.ASCII)) and float(text) > 0


def is_inside(path: str) -> bool:
    """Whether a path stays inside of a repository, and out of Git's own data.

    `.git` is also `.git.` and `git~1` on Windows, and `.g` + U+200C + `it` on macOS; Git refuses
    the same (`core.protectNTFS`, `core.protectHFS`).
    """
    parts = {_IGNORED.sub("", part).casefold().rstrip(" .") for part in path.split("/")}
    return bool(_FILE.fullmatch(path)) and parts.isdisjoint(("", ".git", "git~1"))


def _files(text: str) -> bool:
    return all(map(is_inside, text.split(",")))


def _tasks(text: str) -> bool:
    return all(re.fullmatch(r"[TR]\d{1,4}", word, re.ASCII | re.I) for word in text.split(","))


def _first_waves(text: str) -> bool:
    match = re.fullmatch(r"1(?:\.\.(\d{1,3}))?", text, re.ASCII)
    return bool(match) and 1 <= int(match[1] or 1) <= MOST_WAVES if match else False


_RUN = (
    Flag("base", "--base=BRANCH", lambda text: bool(_BRANCH.fullmatch(text))),
    Flag("agents", "--agents=N", _number(MOST_AGENTS)),
    Flag("max-waves", "--max-waves=N", _number(MOST_WAVES)),
    Flag("budget", "--budget=USD", _money),
    Flag("yes", "--yes", None),
)
_FILES = Flag("files", "--files=a.py,b.py", _files)
_AFTER = Flag("after", "--after=T1,T2", _tasks)

VERBS: tuple[Verb, ...] = (
    Verb(
        "run", "run TASK", "plan a task, and carry it out once approved", flags=_RUN, text=Text.TASK
    ),
    Verb("plan", "plan TASK", "plan a task, and never carry it out", flags=_RUN, text=Text.TASK),
    Verb(
        "approve",
        "approve [DIGEST]",
        "run exactly the plan with this digest",
        most=1,
        words=("digest",),
        flags=(
            Flag("waves", "--waves=1..K", _first_waves),
            Flag("allow-protected", "--allow-protected", None),
        ),
    ),
    Verb(
        "edit",
        "edit T3: TEXT",
        "change what a task says, its files, or when it comes",
        ids="TR",
        fewest=1,
        most=1,
        flags=(
            _FILES,
            _AFTER,
            Flag("wave", "--wave=N", _number(MOST_WAVES)),
        ),
        text=Text.OPTIONAL,
        payload=True,
    ),
    Verb(
        "drop",
        "drop T3 T5",
        "leave tasks out",
        ids="TR",
        fewest=1,
        most=MOST_TASKS,
        flags=(Flag("cascade", "--cascade", None),),
    ),
    Verb("keep", "keep T3", "take tasks in again", ids="TR", fewest=1, most=MOST_TASKS),
    Verb("add", "add: TEXT", "add a task", flags=(_FILES, _AFTER), text=Text.NEEDED, payload=True),
    Verb("replan", "replan[: TEXT]", "plan again, with a remark", text=Text.OPTIONAL),
    Verb("repair", "repair[: TEXT]", "plan repairs of what is open", text=Text.OPTIONAL),
    Verb(
        "skip",
        "skip R2 | skip all",
        "leave the code without a repair",
        ids="R",
        fewest=1,
        most=MOST_TASKS,
        words=("all",),
    ),
    Verb("retry", "retry [W2]", "go on from the last good wave", ids="W", most=1),
    Verb("pause", "pause", "stop after the wave that runs"),
    Verb("resume", "resume", "go on", flags=(Flag("rebase", "--rebase", None),)),
    Verb(
        "cancel",
        "cancel",
        "stop; what is committed stays",
        flags=(Flag("revert", "--revert", None),),
    ),
    Verb("status", "status", "say where the run stands", level=Level.READ),
    Verb("help", "help [VERB]", "say what there is", most=1, words=("verb",), level=Level.READ),
)

_BY_NAME = {verb.name: verb for verb in VERBS}


def verb_of(word: str) -> Verb | None:
    """Return the verb that a word is, in any case."""
    return _BY_NAME.get(word.lower())
