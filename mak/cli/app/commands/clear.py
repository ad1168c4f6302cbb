"""``/clear``: an empty screen."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mak.cli import terminal
from mak.cli.app.slash import Slash, Typed

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """Clear the screen; what scrolled off it stays."""
    if terminal.is_screen():
        sys.stderr.write("\x1b[2J\x1b[H")
        sys.stderr.flush()


SLASH = Slash("clear", "clear the screen", run)
