"""Taking back what a run committed: one commit for each wave, the newest first.

The branch says itself which waves are taken back, by the trailers of the commits that did it; so
whoever was cut off in the middle goes on where the branch is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mak.github.state import Landed, RunState
from mak.store.git import Git


@dataclass(frozen=True, slots=True)
class Reverted:
    """What became of waves that were to be taken back."""

    #: The newest commit then.
    head: str
    gone: tuple[Landed, ...]
    #: What later commits changed again, so that a person has to decide; newest first.
    kept: tuple[Landed, ...] = ()
    #: Why none could be; GitHub's words.
    refused: str = ""


def take_back(folder: Path, state: RunState, head: str) -> Reverted:
    """Revert a run's waves in a checkout whose branch is at `head`; the same again is the same.

    A wave that does not revert cleanly stays, and so do those before it that it rests on.
    """
    git = Git(folder / ".git", folder)
    before = _taken_back(git, state, head)
    gone: list[Landed] = []
    kept: list[Landed] = []
    stamp = f"{state.since} +0000"
    dates = {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
    for wave in reversed(state.waves):
        if wave.commit in before:
            gone.append(wave)
            continue
        done = git.attempt("revert", "--no-commit", "--no-gpg-sign", wave.commit)
        if done.returncode:
            git.run("reset", "--quiet", "--hard", "HEAD")
            git.attempt("revert", "--quit")
            kept.append(wave)
            continue
        args = ("commit", "--quiet", "--no-verify", "--no-gpg-sign", "--allow-empty", "--file=-")
        git.run(*args, input=_message(state, wave).encode(), env=dates)
        gone.append(wave)
    tip = git.run("rev-parse", "HEAD").decode().strip()
    return Reverted(tip, tuple(gone), tuple(kept))


def said(done: Reverted) -> str:
    """Return what became of them, as sentences for people."""
    if done.refused:
        return "Nothing is taken back: GitHub does not take the branch."
    lines = []
    if done.gone:
        lines.append(f"Taken back, one commit each: {_listed(done.gone)}.")
    if done.kept:
        lines.append(f"Not taken back, since it does not revert cleanly: {_listed(done.kept)}.")
    return " ".join(lines)


def _message(state: RunState, wave: Landed) -> str:
    tasks = f"\nMAK-Tasks: {', '.join(wave.tasks)}" if wave.tasks else ""
    return (
        f"mak: take back wave {wave.number}\n\n"
        f"This reverts commit {wave.commit}.\n\n"
        f"MAK-Run: {state.run}\nMAK-Kind: revert\nMAK-Wave: {wave.number}{tasks}\n"
        f"MAK-Reverts: {wave.commit}\nRefs: #{state.issue}\n"
    )


def _taken_back(git: Git, state: RunState, head: str) -> frozenset[str]:
    log = git.run(
        "log",
        "--format=%(trailers:key=MAK-Run,valueonly,separator=%x2C) "
        "%(trailers:key=MAK-Reverts,valueonly,separator=%x2C)",
        f"{state.base_commit}..{head}",
    )
    pairs = (line.split() for line in log.decode().splitlines())
    return frozenset(pair[1] for pair in pairs if len(pair) == 2 and pair[0] == state.run)


def _listed(waves: tuple[Landed, ...]) -> str:
    return ", ".join(f"wave {wave.number} ({wave.commit[:7]})" for wave in waves)
