"""A wave between the draft and Git: what it is built on, its message, and its texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from weakref import WeakKeyDictionary

from mak import workers
from mak.model import Plan
from mak.source import Draft, SourceFile, Sources, merge, python_newer, split
from mak.source.statement import Statement
from mak.store import Store

#: Characters of a subject.
WIDTH = 72
#: Where a task of a refactoring does its share.
_WHERE = re.compile(r", in \S+$")
_NODE = re.compile(r"(?<!\S)(?P<path>[\w./-]+\.py)::(?P<name>[\w.]+)")


#: The commit that was looked at last, and the view of it.
_views: WeakKeyDictionary[Store, tuple[str, Sources]] = WeakKeyDictionary()


def sources_at(
    store: Store, commit: str, written: Mapping[str, SourceFile | None] | None = None
) -> Sources:
    """Return a view of the store's repository at a commit (empty: of nothing).

    It takes over what the view before it knows of files that stayed, and `written`: files of which
    some came to be in the commit.
    """
    known = _views.get(store)
    if known is not None and known[0] == commit:
        return known[1]
    entries = store.entries(commit)
    if known is None:
        view = Sources(
            entries,
            store.read,
            store.cache,
            opaque=store.opaque_reason,
            hidden=store.hidden.why if store.hidden else None,
            newer=newer,
        )
    else:
        view = known[1].moved(entries, written or {})
    _views[store] = commit, view
    return view


def newer(data: bytes) -> Sequence[Statement]:
    """Cut Python that the running Python is too old for, where that can do no harm."""
    return workers.call(python_newer.cut, data)


def wave_message(
    run: str,
    number: int,
    plan: Plan,
    tasks: Sequence[str],
    *,
    kind: str = "wave",
    more: Sequence[tuple[str, str]] = (),
    wording: Callable[[str], str] = str,
) -> str:
    """Return a wave's commit message: subject, its tasks, and the trailers that name them.

    `more` are trailers besides MAK's own; `wording` says what a goal is called.
    """
    from mak.plan import plan_digest

    goals = {task.id: wording(" ".join(task.goal.split())) for task in plan.tasks}
    subject = _subject([goals[task] for task in tasks], plan)
    body = "\n".join(f"- {task}: {_cut(goals[task], 200)}" for task in tasks)
    trailers = {
        "MAK-Run": run,
        "MAK-Wave": str(number + 1),
        "MAK-Kind": kind,
        "MAK-Plan": plan_digest(plan),
        "MAK-Tasks": ", ".join(tasks),
    }
    lines = "\n".join(f"{name}: {value}" for name, value in (*trailers.items(), *more))
    return f"{subject}\n\n{body}\n\n{lines}\n"


def _subject(goals: Sequence[str], plan: Plan) -> str:
    """Return one line for what a wave does.

    Tasks of one refactoring share a sentence, to which each adds where (`, in shop/cart.py`); nodes
    go by their dotted names there.
    """
    sentences = list(dict.fromkeys(_WHERE.sub("", goal) for goal in goals))
    whole = plan.atomic and plan.request.strip() and len(plan.tasks) > 1
    if len(sentences) > 1 and whole and len(goals) == len(plan.tasks):
        # The tasks are parts of one change, which the request names.
        return _cut(" ".join(plan.request.split()), WIDTH)
    more = f" (+{len(sentences) - 1} more)" if len(sentences) > 1 else ""
    return _cut(_NODE.sub(_dotted, sentences[0]), WIDTH - len(more)) + more


def _dotted(node: re.Match[str]) -> str:
    path = node["path"].removeprefix("src/").removesuffix(".py").removesuffix("/__init__")
    return f"{path.replace('/', '.')}.{node['name']}"


def merger(store: Store) -> Callable[[str, bytes, bytes, bytes], bytes | None]:
    """Return what merges two versions of a file by its nodes.

    It gives None when both changed the same, and for a file that has to stay whole.
    """

    def merged(path: str, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
        if store.opaque_reason(path):
            return None
        cut = (split(text, path, newer=newer) for text in (base, ours, theirs))
        result = merge(*cut, newer=newer)
        return result.data if isinstance(result, SourceFile) else None

    return merged


def contents(
    draft: Draft, written: Mapping[str, bytes | None]
) -> tuple[dict[str, bytes | None], dict[str, list[tuple[str, bytes]]]]:
    """Return the files of a wave with what was written over them, and the nodes of those files."""
    files = {path: file.data if file else None for path, file in draft.changes.items()}
    nodes = {path: versions(file) for path, file in draft.changes.items()}
    whole = {path: [("", data)] if data is not None else [] for path, data in written.items()}
    return {**files, **written}, {**nodes, **whole}


def versions(file: SourceFile | None) -> list[tuple[str, bytes]]:
    """Return the nodes of a file as the store keeps them: symbol and bytes, in order."""
    if file is None:
        return []
    return [(node.id.symbol, file.data[node.start : node.end]) for node in file.nodes]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"
