"""``mak locks``: who holds what on this branch."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from mak.cli import terminal
from mak.cli.command import EXIT_DONE, Command
from mak.cli.options import add_json, add_work_dir, work_dir


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add_work_dir(parser)
    parser.add_argument("--branch", metavar="NAME", help="the branch (default: the one here)")
    add_json(parser)


def run(args: Namespace) -> int:
    """Print the lock table."""
    folder = work_dir(args)
    from mak.store import Store

    with Store.open(folder, branch=args.branch, write=False) as store:
        rows = store.locks()
    if args.json:
        terminal.write_json(
            [
                {
                    "node": row.node,
                    "mode": row.mode,
                    "run": row.run,
                    "task": row.task,
                    "holder": row.holder,
                    "alive": row.alive,
                }
                for row in rows
            ]
        )
        return EXIT_DONE
    if not rows:
        terminal.write_note("no locks are held")
        return EXIT_DONE
    table = [("MODE", "NODE", "TASK", "HELD BY")]
    table += [
        (str(row.mode), str(row.node), row.task, row.holder + ("" if row.alive else " (dead)"))
        for row in rows
    ]
    terminal.write_data("\n".join(terminal.columns(table)))
    return EXIT_DONE


COMMAND = Command(
    "locks",
    "list the locks that are held on a branch",
    add_arguments,
    run,
    details="Locks of a dead holder are given up by the next run on the branch.",
)
