"""``mak log``: the runs that Git remembers, newest first."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from mak.cli import terminal
from mak.cli.command import EXIT_DONE, Command
from mak.cli.options import add_json, add_work_dir, positive, work_dir

#: Runs that are listed unless more are asked for.
LIMIT = 20
#: Characters of a request in the list.
WIDTH = 60


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add_work_dir(parser)
    parser.add_argument(
        "-n",
        "--limit",
        metavar="N",
        type=positive,
        default=LIMIT,
        help=f"list at most N runs (default: {LIMIT})",
    )
    add_json(parser)


def run(args: Namespace) -> int:
    """List runs."""
    folder = work_dir(args)
    from mak.cli.record import read_record
    from mak.cli.runs import undoings
    from mak.runlog import read_meta
    from mak.store import Store

    with Store.open(folder, write=False) as store:
        runs = store.runs()
        listed = runs[: args.limit]
        oldest = read_meta(store, listed[-1]) if listed else None
        # A run is taken back after it began.
        undone = undoings(store, oldest.base) if oldest else {}
        records = [read_record(store, run, undone=undone) for run in listed]
    if args.json:
        terminal.write_json([record.summary() for record in records])
        return EXIT_DONE
    if not records:
        terminal.write_note("no run is recorded in this repository")
        return EXIT_DONE
    head = ("RUN", "STARTED", "STATE", "TASKS", "COST", "REQUEST")
    rows = terminal.columns([head, *(record.row(WIDTH) for record in records)])
    terminal.write_data("\n".join(rows))
    if refused := next((record for record in records if record.is_refused), None):
        terminal.write_note(f"Why one was refused: mak show {refused.run}")
    if len(runs) > len(records):
        terminal.write_note(f"{len(runs) - len(records)} older runs: mak log -n {len(runs)}")
    return EXIT_DONE


COMMAND = Command("log", "list the runs of this repository", add_arguments, run)
