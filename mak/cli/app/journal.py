"""What went wrong in the app: a line for the person, and the traceback in a file."""

from __future__ import annotations

import os
import time
import traceback
from pathlib import Path

from mak import __version__
from mak.cli import person
from mak.cli.app.wording import here
from mak.cli.failure import leaves
from mak.errors import MakError
from mak.providers.secrets import redact

#: The file in a person's folder for such things.
LOG = "app.log"
#: Bytes after which it is begun anew; the one before is kept.
LONG = 1_000_000


def told(error: BaseException) -> str:
    """Write an error down; return one line about it."""
    path = _write(error)
    found = list(leaves(error))
    expected = [leaf for leaf in found if isinstance(leaf, MakError)]
    if len(expected) < len(found):
        strange = next(leaf for leaf in found if not isinstance(leaf, MakError))
        what = f"this is a bug in MAK: {type(strange).__name__}: {strange}"
        where = f"; please report it with {path}" if path else ""
        return redact(" ".join(f"{what}{where}".split()))
    hint = f"; try: {here(expected[0].hint)}" if expected[0].hint else ""
    return redact(" ".join(f"{here(str(expected[0]))}{hint}".split()))


def _write(error: BaseException) -> Path | None:
    """Add the traceback to the log; None: there is no place for it."""
    path = person.state_dir() / LOG
    when = time.strftime("%Y-%m-%d %H:%M:%S")
    text = "".join(traceback.format_exception(error))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > LONG:
            path.replace(path.with_suffix(".old.log"))
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(f"--- {when}, MAK {__version__}\n{redact(text)}\n")
    except OSError:
        return None
    return path
