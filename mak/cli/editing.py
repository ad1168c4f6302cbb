"""A plan in the person's own editor: opened once, and looked at when it is closed."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mak.cli import terminal
from mak.cli.interrupt import foreground
from mak.errors import UsageError
from mak.model import Plan

HEADER = """\
# The plan of this run. Save and close to have it checked and shown again;
# leave it as it is, or empty it, to go back without a change.
# writes: nodes to rewrite (#api: with their signature); reads: nodes to look at;
# creates: new files and symbols; depends_on: tasks whose wave comes first.
# The format: mak schema plan
"""
#: Where to put what is wrong with a plan, above the header.
ERROR = "# WRONG: "


@dataclass(frozen=True, slots=True)
class Rejected:
    """A text that is no plan which can be carried out; it is kept, with the reasons in it."""

    path: Path
    reasons: tuple[str, ...]


def edit(
    plan: Plan,
    problems: Callable[[Plan], tuple[str, ...]] = lambda plan: (),
    draft: Path | None = None,
) -> Plan | Rejected | None:
    """Let the person edit a plan as YAML, or go on with a draft that was rejected.

    None: the plan is as it was. A file is left only of what is rejected.
    """
    from mak.cli import planfile

    path = draft or _new_file(HEADER + planfile.write(plan))
    before = path.read_text(encoding="utf-8", errors="replace")
    ended_well = _run_editor(path)
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    says_nothing = all(not line.strip() or line.startswith("#") for line in text.splitlines())
    if says_nothing or (draft is None and (text == before or not ended_well)):
        path.unlink(missing_ok=True)
        return None
    lines = text.splitlines(keepends=True)
    body = "".join(line for line in lines if not line.startswith(ERROR))
    try:
        edited = planfile.parse(body, path.name)
        reasons = problems(edited)
    except UsageError as error:
        reasons = tuple(str(error).splitlines())
    if reasons:
        told = "".join(f"{ERROR}{line}\n" for line in reasons)
        path.write_text(told + body, encoding="utf-8")
        return Rejected(path, reasons)
    path.unlink()
    return None if edited == plan else edited


def _new_file(text: str) -> Path:
    descriptor, name = tempfile.mkstemp(prefix="mak-plan-", suffix=".yaml")
    os.close(descriptor)
    path = Path(name)
    path.write_text(text, encoding="utf-8")
    return path


def _run_editor(path: Path) -> bool:
    """Open the person's editor on the terminal; whether it ended well."""
    command = _editor()
    if not command:
        terminal.write_note("no editor found: set EDITOR", "red")
        return False
    try:
        # stdout may be a pipe that wants data.
        code = foreground([*command, str(path)], sys.stderr.fileno())
    except OSError as error:
        terminal.write_note(f"starting {command[0]}: {(error.strerror or '').lower()}", "red")
        return False
    if code:
        terminal.write_note(f"{command[0]} ended with {code}", "red")
    return code == 0


def _editor() -> list[str]:
    for name in ("VISUAL", "EDITOR"):
        if os.environ.get(name, "").strip():
            return shlex.split(os.environ[name])
    for program in ("sensible-editor", "nano", "vi"):
        if shutil.which(program):
            return [program]
    return []
