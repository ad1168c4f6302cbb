"""``mak undo``: take back a run with a new commit."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from mak.cli import terminal
from mak.cli.command import EXIT_DONE, Command
from mak.cli.options import add_config, add_json, read_settings, work_dir


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "id",
        metavar="RUN",
        nargs="?",
        default="",
        help="the run, or how it begins (default: the last one with commits on the branch)",
    )
    add_config(parser)
    parser.add_argument("--branch", metavar="NAME", help="the branch (default: the one here)")
    add_json(parser)


def run(args: Namespace) -> int:
    """Undo one run."""
    folder = work_dir(args)
    config = read_settings(args, check=False).config
    from mak.cli.lines import count
    from mak.cli.runs import find_run, last_landed
    from mak.kernel import undo
    from mak.model import branch_name
    from mak.store import Store

    with Store.open(folder, branch=args.branch) as store:
        run_id = find_run(store, args.id) if args.id else last_landed(store)
        undone = undo(store, run_id, config)
        branch = branch_name(store.branch)
    if args.json:
        terminal.write_json(
            {
                "run": run_id,
                "commit": undone.commit,
                "undone": list(undone.waves),
                "paths": list(undone.paths),
            }
        )
        return EXIT_DONE
    commits = count(len(undone.waves), "commit")
    files = count(len(undone.paths), "file")
    terminal.write_data(
        f"Took back {commits} of {run_id} in {files}, with {undone.commit[:10]} on {branch}"
    )
    return EXIT_DONE


COMMAND = Command(
    "undo",
    "undo a run with a new commit",
    add_arguments,
    run,
    details="History is never rewritten, and edits made since are never overwritten:\n"
    "what cannot be undone is refused and named.",
)
