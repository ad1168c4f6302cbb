"""``mak study``: how contended a repository is, by its history; how many agents are worth it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mak.cli import terminal
from mak.cli.command import EXIT_DONE, Command
from mak.cli.options import add_json, add_work_dir, work_dir
from mak.errors import UsageError

if TYPE_CHECKING:
    from mak.study import Footprint

#: Nodes that are named.
_HOTTEST = 10
#: Changes below which nothing can be said.
_LEAST = 2


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--changes", type=int, default=300, metavar="N", help="look at the last N (default: 300)"
    )
    add_work_dir(parser)
    add_json(parser)


def run(args: Namespace) -> int:
    """Study the history of the checked-out branch; nothing is written."""
    from mak.store import Store
    from mak.study import read_history
    from mak.study.contention import footprints
    from mak.study.history import Blobs

    if args.changes < _LEAST:
        raise UsageError(f"mak study: --changes {args.changes}: at least {_LEAST} are needed")
    with Store.open(work_dir(args), write=False) as store:
        git = store.repository.git
        history = read_history(git, limit=args.changes)
        if len(history.changes) < _LEAST:
            raise UsageError(
                "mak study: the branch has too short a history to say anything",
                hint="in a shallow clone, git fetch --unshallow gets the rest",
            )
        document = _document(footprints(history.changes, Blobs(git)))
    if args.json:
        terminal.write_json(document)
    else:
        terminal.write_data("\n".join(terminal.fitting(list(_lines(document)))))
    return EXIT_DONE


def _document(prints: Sequence[Footprint]) -> dict[str, Any]:
    from mak.study import Grain, meetings, worth
    from mak.study.contention import AGENTS, hot_nodes, in_flight, replay
    from mak.study.statistics import gini

    met = meetings(in_flight(prints))
    hot = hot_nodes(prints)
    replays = {
        grain: [found for agents in AGENTS if (found := replay(prints, agents, grain))]
        for grain in (Grain.FILE, Grain.NODE, Grain.APPEND)
    }
    return {
        "changes": len(prints),
        "authors": len({one.change.author for one in prints}),
        "pairs": met.pairs,
        "meet": {str(grain): list(met.rate(grain)) for grain in Grain},
        "speedup": {
            str(grain): {str(one.agents): round(one.speedup, 2) for one in found}
            for grain, found in replays.items()
        },
        "worth": {str(grain): worth(found) for grain, found in replays.items()},
        "gini": round(gini([one.changes for one in hot]), 3),
        "hottest": [
            {"node": str(one.node), "changes": one.changes, "adds": one.adds}
            for one in hot[:_HOTTEST]
        ],
    }


#: How a page calls what changes take turns on.
_SAID = {
    "file": "in one file",
    "node": "in one node",
    "append": "in one node, not only adding to it",
    "signature": "where one changes a signature",
}
_LOCKS = {"file": "on files", "node": "on nodes", "append": "as MAK's"}


def _lines(document: dict[str, Any]) -> Iterator[str]:
    changes, authors = document["changes"], document["authors"]
    yield f"{changes} changes that landed, by {authors} author{'s' * (authors != 1)}"
    yield ""
    if document["pairs"]:
        yield f"of {document['pairs']} pairs that were under way at once, by different authors:"
        rows = []
        for grain, said in _SAID.items():
            rate, low, high = (f"{100 * value:.1f}" for value in document["meet"][grain])
            rows.append((f"{rate} %", f"meet {said}", f"({low} to {high})"))
        yield from terminal.columns(rows, indent="  ")
    else:
        yield "when changes began is not known here: the history has no merge commits, and no heads"
        yield "of pull requests (git fetch origin '+refs/pull/*/head:refs/pull/*/head')"
    yield ""
    yield "so many times as fast as one agent, with locks"
    counts = list(document["speedup"]["file"])
    table = [("agents", *counts)]
    for grain, said in _LOCKS.items():
        found = document["speedup"][grain]
        table.append((said, *(f"{found[count]:.1f}" for count in counts)))
    yield from terminal.columns(table, indent="  ")
    best = document["worth"]["append"]
    files = document["worth"]["file"]
    yield f"worth it: {best} agent{'s' * (best != 1)}; with locks on files {files}"
    yield ""
    yield "hottest nodes: changes, and how many of them only add"
    rows = [(str(hot["changes"]), str(hot["adds"]), hot["node"]) for hot in document["hottest"]]
    yield from terminal.columns(rows, indent="  ")


COMMAND = Command(
    "study",
    "tell from its history how contended a repository is, and how many agents are worth it",
    add_arguments,
    run,
    details="Changes are those of the branch's first-parent line. Nothing is written or sent.",
)
