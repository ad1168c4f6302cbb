"""Where a person types: with completion, history and a bar below, or in plain lines."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mak.cli import person, terminal

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings, KeyBindingsBase

    from mak.cli.app.session import Session

#: The file of what was typed, in a person's folder for such things.
HISTORY = "history"
#: Lines of a plain history that are kept.
LINES = 1000

MARK = "> "


class Prompt(Protocol):
    """Asks a person at the terminal."""

    def belongs_to(self, session: Session) -> None:
        """Take what is completed and shown from a session."""

    def task(self) -> str:
        """Wait for a task or a command; raise `EOFError`, and `KeyboardInterrupt` for Ctrl+C."""

    async def line(self, about: Sequence[str], words: Sequence[str]) -> str | None:
        """Wait for a line while a run goes on; None: there is none to come, or Ctrl+C."""

    def question(self, text: str, *, words: Sequence[str] = (), hidden: bool = False) -> str:
        """Wait for an answer; empty is one, Ctrl+C and the end of input are empty."""


class Lively:
    """A prompt that completes, remembers and suggests, and has the bar below it."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._input: PromptSession[str] | None = None
        #: What is asked at a review, while it is.
        self._asking: PromptSession[str] | None = None

    def belongs_to(self, session: Session) -> None:
        """Show that session's bar."""
        self._session = session
        session.watch.changed = self._redraw

    def task(self) -> str:
        """Wait for a task or a command."""
        self._input = self._input or self._opened()
        return self._input.prompt(MARK)

    def _opened(self) -> PromptSession[str]:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.application import get_app
        from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
        from prompt_toolkit.filters import Condition

        from mak.cli.app.menu import Words

        assert self._session is not None
        return PromptSession(
            multiline=True,
            key_bindings=_keys(),
            completer=Words(self._session),
            complete_in_thread=True,
            complete_while_typing=Condition(lambda: get_app().current_buffer.text.startswith("/")),
            auto_suggest=AutoSuggestFromHistory(),
            history=_history(),
            bottom_toolbar=self._bar,
            enable_suspend=True,
            prompt_continuation=lambda width, number, wrapped: " " * width,
            tempfile_suffix=".txt",
        )

    async def line(self, about: Sequence[str], words: Sequence[str]) -> str | None:
        """Wait for a line while a run goes on."""
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter

        for text in about:
            terminal.write_note(text, "dim")
        self._asking = PromptSession(
            completer=WordCompleter(list(words)),
            complete_while_typing=False,
            bottom_toolbar=self._bar,
            key_bindings=_clearing(),
            enable_suspend=True,
        )
        try:
            with _wakeup_kept():
                return await self._asking.prompt_async(MARK, handle_sigint=False)
        except EOFError:
            return None
        except KeyboardInterrupt:
            await _stopped()
            return None
        finally:
            self._asking = None

    def question(self, text: str, *, words: Sequence[str] = (), hidden: bool = False) -> str:
        """Wait for an answer."""
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter

        asking: PromptSession[str] = PromptSession(
            completer=WordCompleter(list(words)) if words else None,
            complete_while_typing=False,
            is_password=hidden,
        )
        try:
            return asking.prompt(f"{terminal.clean(text)} ").strip()
        except (EOFError, KeyboardInterrupt):
            return ""

    def _bar(self) -> str:
        from prompt_toolkit.application import get_app

        from mak.cli.app import bar

        assert self._session is not None
        return bar.line(self._session, get_app().output.get_size().columns)

    def _redraw(self) -> None:
        """Draw the bar anew; safe from any thread."""
        for each in (self._input, self._asking):
            if each is not None and each.app.is_running:
                each.app.invalidate()


class Plain:
    """A prompt of plain lines: nothing is redrawn, nothing pops up."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._is_set_up = False
        self._remember: Callable[[str], None] = lambda line: None

    def belongs_to(self, session: Session) -> None:
        """Complete what that session knows; nothing of it is shown beside what is typed."""
        self._session = session

    def task(self) -> str:
        """Wait for a task or a command."""
        if not self._is_set_up:
            self._is_set_up = True
            self._read_line_by_line()
        line = input(MARK)
        self._remember(line)
        return line

    def _read_line_by_line(self) -> None:
        """Give lines a history and completion where Python has readline."""
        try:
            import readline
        except ImportError:
            return
        from mak.cli.app.completion import choices

        path = _history_file(f"{HISTORY}-plain")
        with suppress(OSError):
            readline.read_history_file(path)
        readline.set_history_length(LINES)
        readline.set_auto_history(False)
        self._remember = partial(_write_history, path)

        def complete(begun: str, state: int) -> str | None:
            assert self._session is not None
            before = readline.get_line_buffer()[: readline.get_endidx()]
            found = [choice.word for choice in choices(self._session, before)[1]]
            return found[state] if state < len(found) else None

        readline.set_completer_delims(" ")
        readline.set_completer(complete)
        readline.parse_and_bind("tab: complete")

    async def line(self, about: Sequence[str], words: Sequence[str]) -> str | None:
        """Wait for a line while a run goes on."""
        from mak.cli.interrupt import read_line

        for text in about:
            terminal.write_note(text)
        sys.stderr.write(MARK)
        sys.stderr.flush()
        return await read_line()

    def question(self, text: str, *, words: Sequence[str] = (), hidden: bool = False) -> str:
        """Wait for an answer."""
        try:
            if hidden:
                from getpass import getpass

                return getpass(f"{terminal.clean(text)} ", stream=sys.stderr).strip()
            return input(f"{terminal.clean(text)} ").strip()
        except (EOFError, KeyboardInterrupt):
            terminal.write_note("")
            return ""


def _keys() -> KeyBindingsBase:
    """Return what Enter, Ctrl+J, Tab and Ctrl+C do."""
    from prompt_toolkit.completion import CompleteEvent, get_common_complete_suffix
    from prompt_toolkit.filters import is_searching
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent, merge_key_bindings

    keys = KeyBindings()

    # While the history is searched, Enter takes what was found and Ctrl+C ends the search.
    @keys.add("enter", filter=~is_searching)
    def run(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("c-j", filter=~is_searching)
    def newline(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("tab", filter=~is_searching)
    def complete(event: KeyPressEvent) -> None:
        # A list that is being made beside the typing must not swallow the key.
        buffer = event.current_buffer
        asked = CompleteEvent(completion_requested=True)
        found = list(buffer.completer.get_completions(buffer.document, asked))
        if len(found) == 1:
            buffer.apply_completion(found[0])
        elif buffer.complete_state:
            buffer.complete_next()
        else:
            buffer.insert_text(get_common_complete_suffix(buffer.document, found))
            buffer.start_completion()

    return merge_key_bindings([keys, _clearing()])


def _clearing() -> KeyBindings:
    """Return what Ctrl+C does: it empties the line, and interrupts where there is nothing in it."""
    from prompt_toolkit.filters import is_searching
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    keys = KeyBindings()

    @keys.add("c-c", filter=~is_searching)
    def clear(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt)

    return keys


def _history() -> History:
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    path = _history_file(HISTORY)
    try:
        path.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()

    class Kept(FileHistory):
        def store_string(self, string: str) -> None:
            if not _is_secret(string):
                super().store_string(string)

    return Kept(path)


def _is_secret(line: str) -> bool:
    """Whether a line holds what may be a key, which no history should keep."""
    from mak.config import looks_like_key

    return any(map(looks_like_key, line.split()))


def _history_file(name: str) -> Path:
    folder = person.state_dir()
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / name


def _write_history(path: Path, line: str) -> None:
    import readline

    if not line.strip() or _is_secret(line):
        return
    readline.add_history(line)
    with suppress(OSError):
        readline.write_history_file(path)


@contextmanager
def _wakeup_kept() -> Iterator[None]:
    """Let asyncio's signal handlers come and go without the file that wakes the loop for ours."""
    before = signal.set_wakeup_fd(-1)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before, warn_on_full_buffer=False)


async def _stopped() -> None:
    """Stop the run, as Ctrl+C does where no prompt takes it for a key."""
    from anyio import sleep_forever

    signal.raise_signal(signal.SIGINT)
    await sleep_forever()
