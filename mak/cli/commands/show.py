"""``mak show``: one run: its waves, its tasks, what each agent said, tokens and cost."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from mak.cli import terminal
from mak.cli.command import EXIT_DONE, Command
from mak.cli.options import add_json, add_work_dir, work_dir
from mak.errors import UsageError


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "id", metavar="RUN", nargs="?", default="", help="the run, or how it begins (default: last)"
    )
    add_work_dir(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--task", metavar="ID", help="one task with the full text of its replies")
    what.add_argument("--plan", action="store_true", help="the plan, as a file for mak run --plan")
    what.add_argument("--events", action="store_true", help="everything that happened, with times")
    add_json(parser)


def run(args: Namespace) -> int:
    """Show one run."""
    folder = work_dir(args)
    from mak.cli import story
    from mak.cli.record import read_record
    from mak.cli.runs import find_run
    from mak.store import Store

    with Store.open(folder, write=False) as store:
        record = read_record(store, find_run(store, args.id), details=True)
    if args.task is not None and args.task not in {task.id for task in record.tasks}:
        raise UsageError(
            f"run {record.run} has no task {args.task!r}", hint=f"mak show {record.run}"
        )
    if args.json:
        terminal.write_json(record.document())
    elif args.plan:
        from mak.cli import planfile

        terminal.write_data(planfile.write(record.plan).rstrip("\n"))
    else:
        if args.events:
            lines = story.events(record)
        elif args.task is not None:
            lines = story.task(record, args.task)
        else:
            lines = story.run(record)
        terminal.write_data("\n".join(terminal.clean(line) for line in lines))
    return EXIT_DONE


COMMAND = Command("show", "show what a run did and what its agents said", add_arguments, run)
