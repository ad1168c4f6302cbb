"""One session of the app: what holds in it, what it has spent, and where it is said."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from mak.cli import terminal
from mak.cli.app.keyboard import Keyboard
from mak.cli.app.watch import Watch
from mak.cli.app.wording import here
from mak.cli.command import EXIT_DONE, EXIT_INTERRUPTED
from mak.errors import MakError
from mak.model import Usage

if TYPE_CHECKING:
    from mak.cli.app.prompt import Prompt
    from mak.cli.app.slash import Slash
    from mak.cli.options import Settings


class Session:
    """What the commands of the app act on."""

    def __init__(self, prompt: Prompt) -> None:
        from mak.cli.launch import add_launch

        parser = ArgumentParser(add_help=False)
        add_launch(parser)
        #: What was chosen here, as if it had been said to ``mak run``.
        self.said = parser.parse_args([])
        self.said.work_dir = Path.cwd()
        self.prompt = prompt
        #: What its runs and plans have taken so far.
        self.usage = Usage()
        #: What the run under way has taken; empty when there is none.
        self.under_way = Usage()
        #: The run that was carried out last; empty: none was.
        self.last_run = ""
        #: Whether Ctrl+C has just stopped something: once more leaves.
        self.was_stopped = False
        #: Whether the app is to end.
        self.is_over = False
        self.exit_code = EXIT_DONE
        self.watch = Watch(self)
        self.keyboard = Keyboard()

    # ------------------------------------------------------------------------------ settings

    def settings(self) -> Settings:
        """Return the settings that hold; raise `UsageError` as `read_settings`."""
        from mak.cli.options import read_settings

        return read_settings(self.said)

    def change(self, **changed: object) -> Settings:
        """Let settings hold for the rest of the session.

        Raises `UsageError`, and leaves everything as it was, for what cannot be.
        """
        before = vars(self.said).copy()
        self.said.__dict__.update(changed)
        try:
            found = self.settings()
        except MakError:
            self.said.__dict__.update(before)
            raise
        self.watch.poke()
        return found

    @property
    def spent(self) -> Usage:
        """What this session has taken, the run under way included."""
        return self.usage + self.under_way

    def stop(self, text: str) -> None:
        """Take note of Ctrl+C: the first one is told about, the second one in a row leaves."""
        if self.was_stopped:
            self.is_over, self.exit_code = True, EXIT_INTERRUPTED
        else:
            self.was_stopped = True
            self.say(text)

    # -------------------------------------------------------------------------------- output

    def say(self, text: str, style: str = "") -> None:
        """Write a line."""
        terminal.write_note(text, style)

    # ------------------------------------------------------------------- the command line's

    def mak(self, *argv: str) -> int:
        """Carry out a command of the command line, in this session's work dir."""
        from mak.cli.main import parse

        command, args = parse(argv)
        self._settle(args, argv)
        asks = argv[:2] == ("keys", "set")
        lent = self.keyboard.lent() if asks else nullcontext()
        with lent, terminal.speaking(reword=here):
            code = command.run(args)
        self.watch.poke()
        return code

    def _settle(self, args: Namespace, argv: Sequence[str]) -> None:
        """Let what holds here hold for a command that was not told otherwise."""
        for name in ("work_dir", "config", "models", "planner", "mode"):
            option = f"--{name.replace('_', '-')}"
            if hasattr(args, name) and not any(word.split("=")[0] == option for word in argv):
                setattr(args, name, getattr(self.said, name))


def find(name: str) -> Slash | None:
    """Return a command by its name or another name of it."""
    from mak.cli.app.commands import SLASHES

    return next((each for each in SLASHES if name in (each.name, *each.aliases)), None)
