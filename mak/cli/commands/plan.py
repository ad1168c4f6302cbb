"""``mak plan``: a request as a plan file, to read, change and run later."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from mak.cli import terminal
from mak.cli.command import EXIT_DONE, EXIT_INTERRUPTED, Command
from mak.cli.options import add_json, add_models, add_work_dir, read_settings, work_dir
from mak.errors import UsageError


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--task", metavar="TEXT", required=True, help="what to do, in words")
    add_work_dir(parser)
    add_models(parser)
    parser.set_defaults(no_review=True, hooks=False)
    add_json(parser)


def run(args: Namespace) -> int:
    """Plan a request: the plan file goes to stdout, what a person should know to stderr."""
    from mak.store.repository import Repository

    # Where there is none, nothing else is worth a word.
    repository = Repository.open(work_dir(args), branch=args.branch, write=False)
    if not args.task.strip():
        raise UsageError("--task is empty", hint='mak plan --task "what to do"')
    from mak.cli import planfile
    from mak.cli.background import begin
    from mak.cli.interrupt import Interrupts
    from mak.cli.launch import options as launch
    from mak.cli.launch import planner
    from mak.cli.live import open_view
    from mak.cli.review import show
    from mak.kernel import make_plan
    from mak.plan import plan_document
    from mak.store import Store

    settings = read_settings(args)
    view = open_view()
    begin(settings, (planner(settings),), view.say)
    options = launch(settings, args, view)
    with Store(repository) as store:
        review = Interrupts(view.say).run(lambda: make_plan(store, args.task.strip(), options))
    view.close()
    if review is None:
        if args.json:
            terminal.write_failure("interrupted", "")
        return EXIT_INTERRUPTED
    show(review)
    if args.json:
        terminal.write_json(plan_document(review.plan))
    else:
        terminal.write_data(planfile.write(review.plan).rstrip("\n"))
    terminal.write_note("Next: save this as FILE, then mak run --plan FILE")
    return EXIT_DONE


COMMAND = Command("plan", "plan a request and print the plan file", add_arguments, run)
