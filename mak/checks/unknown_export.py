"""An entry of ``__all__`` that its module does not bind: a star import of it would fail."""

from __future__ import annotations

from collections.abc import Iterator

from mak.checks.change import tree_check
from mak.checks.unknown_import import is_lost
from mak.checks.view import Problem, View
from mak.source.graph import Has
from mak.source.resolve import Module


def _problems(view: View, path: str) -> Iterator[Problem]:
    facts = view.facts(path)
    if facts is None or not facts.exports or not path.endswith(".py"):
        return
    for text in dict.fromkeys(facts.exports):
        known = view.graph.has(Module(path), text.value)
        if known is Has.NO or (known is Has.MAYBE and is_lost(view, path, text.value)):
            yield Problem(
                path,
                text.start,
                f"__all__ names {text.value}, which nothing in {path} binds; bind it, or take it "
                "out of __all__",
            )


CHECK = tree_check("unknown-export", "__all__ names what is not bound", _problems)
