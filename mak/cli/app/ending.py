"""What a run has changed: nodes by what became of them, then files with their lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mak.cli.lines import count
from mak.cli.render import Styled
from mak.model import Node, NodeId, NodeKind, Outcome

if TYPE_CHECKING:
    from mak.store import Store

#: Nodes of a kind, and files, that are listed one by one.
SHOWN = 12
#: Signs that show how many lines of a file changed, at most.
SIGNS = 20

_NAMED = (NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.CLASS)


@dataclass(frozen=True, slots=True)
class Changes:
    """What is different between two commits, by node."""

    added: tuple[NodeId, ...] = ()
    #: The text is not the same, the signature is.
    changed: tuple[NodeId, ...] = ()
    removed: tuple[NodeId, ...] = ()
    #: With the signature as it was, and as it is.
    signatures: tuple[tuple[NodeId, str, str], ...] = ()
    #: Imports, statements, whole files, parts of files that are not code.
    others: tuple[NodeId, ...] = ()


def changes(store: Store, base: str, head: str) -> Changes:
    """Compare two commits."""
    from mak.landing import sources_at

    before, after = store.entries(base) if base else {}, store.entries(head)
    differ = sorted(p for p in {*before, *after} if before.get(p) != after.get(p))
    tree = sources_at(store, base)
    old = {node.id: node for p in differ if p in before for node in tree.nodes(p)}
    tree = sources_at(store, head)
    new = {node.id: node for p in differ if p in after for node in tree.nodes(p)}
    both = [(old[id], node) for id, node in new.items() if id in old and _differ(old[id], node)]
    named = [(was, node) for was, node in both if node.kind in _NAMED]
    return Changes(
        tuple(id for id, node in new.items() if id not in old and node.kind in _NAMED),
        tuple(node.id for was, node in named if was.api == node.api),
        tuple(id for id, node in old.items() if id not in new and node.kind in _NAMED),
        tuple((n.id, was.signature, n.signature) for was, n in named if was.api != n.api),
        tuple(
            id
            for id, node in {**old, **new}.items()
            if node.kind not in _NAMED and (id not in old or id not in new)
        )
        + tuple(node.id for _, node in both if node.kind not in _NAMED),
    )


def _differ(one: Node, other: Node) -> bool:
    return one.digest != other.digest


def summary(store: Store, outcome: Outcome) -> Iterator[Styled]:
    """Tell what a run put on the branch."""
    span = commits(store, outcome)
    if span is None:
        return
    found = changes(store, *span)
    yield Styled("What changed", "bold")
    yield from _listed("added", found.added, "green")
    yield from _listed("removed", found.removed, "red")
    for id, was, now in found.signatures[:SHOWN]:
        yield Styled(f"  {'signature':<9} {id}", "yellow")
        if was != now:
            yield Styled(f"  {'':<9}   {was}")
            yield Styled(f"  {'':<9}   {now}")
    yield from _more(found.signatures)
    yield from _listed("changed", found.changed, "")
    if found.others:
        files = len({id.path for id in found.others})
        what = count(len(found.others), "other piece")
        yield Styled(f"  {'besides':<9} {what} in {count(files, 'file')}: imports, statements")
    yield from _files(store, *span)


def commits(store: Store, outcome: Outcome) -> tuple[str, str] | None:
    """Return the commits before and after a run's waves; None: it has none."""
    if not outcome.waves:
        return None
    from mak.store import differences

    first, last = outcome.waves[0].commit, outcome.waves[-1].commit
    return differences.parent(store.repository, first), last


def _listed(what: str, nodes: Sequence[NodeId], style: str) -> Iterator[Styled]:
    for id in nodes[:SHOWN]:
        yield Styled(f"  {what:<9} {id}", style)
    yield from _more(nodes)


def _more(rows: Sequence[object]) -> Iterator[Styled]:
    if len(rows) > SHOWN:
        yield Styled(f"  {'':<9} and {len(rows) - SHOWN} more")


def _files(store: Store, base: str, head: str) -> Iterator[Styled]:
    from mak.cli import terminal
    from mak.store import differences

    found = differences.lines(store.repository, base, head)
    most = max((row.added + row.removed for row in found), default=0)
    scale = min(1.0, SIGNS / most) if most else 1.0
    drawn = terminal.is_screen()  # a screen reader would spell the signs
    rows = [
        (path, f"+{made}", f"-{gone}", "+" * _up(made * scale) + "-" * _up(gone * scale))
        if drawn
        else (path, f"+{made}", f"-{gone}")
        for path, made, gone in found
    ]
    for line in terminal.columns(rows[:SHOWN], indent="  "):
        yield Styled(line)
    yield from _more(rows)
    made, gone = sum(row.added for row in found), sum(row.removed for row in found)
    yield Styled(f"  {count(len(found), 'file')}, +{made} -{gone}; /diff shows the lines", "bold")


def _up(number: float) -> int:
    """Round up, so that what is there has a sign."""
    return -int(-number // 1)
