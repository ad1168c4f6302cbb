"""The list of what may come next, below the line that is being typed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from mak.cli.app.completion import choices

if TYPE_CHECKING:
    from mak.cli.app.session import Session


class Words(Completer):
    """Completes slash commands and what is known of their arguments."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Yield what may stand where the cursor is."""
        begun, found = choices(self._session, document.text_before_cursor)
        for choice in found:
            yield Completion(choice.word, -len(begun), choice.word, choice.about)
