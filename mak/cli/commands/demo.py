"""``mak demo``: the whole road on a sample project, without any LLM."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from mak.cli import terminal
from mak.cli.command import EXIT_FAILED, Command
from mak.errors import UsageError

#: One more than can start at once, so that what waits waits for a lock.
AGENTS = 6
NO_LLM = "No LLM takes part: the built-in agent refactors, and what two tasks answer is scripted."


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--dir",
        metavar="DIR",
        type=Path,
        help="where to put the sample project (default: a new temporary folder)",
    )


def run(args: Namespace) -> int:
    """Create the sample, run the plan that comes with it, and say where to look."""
    import shlex

    from mak.cli import sample
    from mak.cli.live import Lines
    from mak.cli.review import show
    from mak.cli.road import carry_out
    from mak.config import Config
    from mak.kernel import Decision, Options, Review
    from mak.kernel import run as start
    from mak.store import Store

    folder = _folder(args.dir)
    root = sample.create(folder)
    plan = sample.read_plan(folder)
    terminal.write_note(f"A sample project in {root}", "bold")
    terminal.write_note(NO_LLM, "bold")
    _say_tests("before", sample.run_tests(root))
    view = Lines()

    async def review(shown: Review) -> Decision:
        show(shown)
        terminal.write_note("")
        return Decision(approved=True)

    options = Options(
        config=Config(),
        models=("builtin",),
        planner="builtin",
        max_agents=AGENTS,
        review=review,
        emit=view.emit,
    )
    with Store.open(root) as store:
        code = carry_out(store, view, lambda: start(store, plan, options))
    passed = _say_tests("after", sample.run_tests(root))
    where, mak = shlex.quote(str(root)), _mak()
    terminal.write_note(NO_LLM.replace("takes", "took"), "bold")
    terminal.write_note("Look around:", "bold")
    for command in (
        f"cd {where}",
        "git log --stat",
        f"{mak} show {view.progress.run}",
        f"{mak} undo {view.progress.run}",
    ):
        terminal.write_note(f"  {command}")
    terminal.write_note(f"It stays there until you remove it: rm -rf {shlex.quote(str(folder))}")
    return code if passed else code or EXIT_FAILED


def _mak() -> str:
    """Return what starts MAK from any folder."""
    import shlex
    import shutil
    import sys

    if shutil.which("mak"):
        return "mak"
    script = Path(sys.executable).with_name("mak")
    if script.is_file():
        return shlex.quote(str(script))
    return f"{shlex.quote(sys.executable)} -m mak"


def _folder(given: Path | None) -> Path:
    if given is None:
        import tempfile

        return Path(tempfile.mkdtemp(prefix="mak-demo-"))
    if given.exists() and (not given.is_dir() or any(given.iterdir())):
        raise UsageError(f"--dir {given}: exists and is not an empty folder")
    given.mkdir(parents=True, exist_ok=True)
    return given.absolute()


def _say_tests(when: str, result: tuple[bool, str]) -> bool:
    passed, said = result
    terminal.write_note(f"The sample's tests {when}: {said}", "green" if passed else "bold red")
    return passed


COMMAND = Command(
    "demo", "run the whole road on a sample project, without any LLM", add_arguments, run
)
