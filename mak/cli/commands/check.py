"""``mak check``: what a person's own change breaks, before it is committed or merged."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mak.cli import terminal
from mak.cli.command import EXIT_DONE, EXIT_FAILED, Command
from mak.cli.options import add_json, add_work_dir, work_dir
from mak.cli.reports import FORMATS
from mak.errors import MakError, UsageError

if TYPE_CHECKING:
    from mak.cli.comparison import Comparison
    from mak.cli.reports.report import Report
    from mak.model import Finding
    from mak.store import Store


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        type=Path,
        help="only findings in these files and folders, or about what they define",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--worktree", action="store_true", help="the files as they are, against HEAD (the default)"
    )
    what.add_argument("--staged", action="store_true", help="what git commit would commit")
    what.add_argument(
        "--base",
        metavar="REV",
        type=_revision,
        help="what is committed here, against what REV and HEAD share; A..B and A...B as git diff",
    )
    what.add_argument("--all", action="store_true", help="everything there is, as if it were new")
    what.add_argument(
        "--pre-commit",
        action="store_true",
        help="in a hook of pre-commit: the commits that are pushed, else what is staged",
    )
    # The commit that `--all` is about; empty: what is here.
    parser.set_defaults(tip="")
    parser.add_argument("--format", choices=[*FORMATS], default="text", help="default: text")
    parser.add_argument(
        "--select", metavar="IDS", action="append", default=[], help="only these checks, by commas"
    )
    parser.add_argument(
        "--ignore", metavar="IDS", action="append", default=[], help="not these checks, by commas"
    )
    parser.add_argument(
        "--exclude",
        metavar="PATH",
        action="append",
        default=[],
        type=Path,
        help="no findings in this file or folder: test data, generated code",
    )
    parser.add_argument("--list", action="store_true", help="list the checks with their pages")
    add_work_dir(parser)
    add_json(parser)


def run(args: Namespace) -> int:
    """Check one change and tell what it breaks."""
    form = "json" if args.json else args.format
    if args.list:
        return _list(as_json=form == "json")
    report = examine(args)
    terminal.write_data(FORMATS[form](report))
    if form in ("text", "github"):
        for remark in report.remarks:
            terminal.write_note(f"note: {remark}", "yellow")
        if not report.changed and not (args.base or args.staged or args.pre_commit):
            terminal.write_note("commits are checked by mak check --base REV: origin/main, HEAD~3")
    return EXIT_FAILED if report.findings else EXIT_DONE


def examine(args: Namespace) -> Report:
    """Check the change that arguments name; raises `UsageError` when it cannot be checked."""
    folder = work_dir(args)
    wanted = _wanted(args.select, args.ignore)
    from mak.source.collector import at_once
    from mak.store import Store

    try:
        with at_once(), Store.open(folder, write=False) as store:
            if store.prefix and store.root is not None:
                with Store.open(store.root, write=False) as whole:
                    return _report(whole, args, wanted)
            return _report(store, args, wanted)
    except UsageError:
        raise
    except MakError as error:
        # That nothing could be checked must not look like a finding.
        raise UsageError(str(error), hint=error.hint) from error


def _report(store: Store, args: Namespace, wanted: Collection[str]) -> Report:
    from mak.cli.comparison import compare
    from mak.cli.introduced import introduced, without_ignored
    from mak.cli.reports.report import Report

    paths, excluded = _from_root(store, args.paths), _from_root(store, args.exclude)
    comparison = compare(store, args)
    _refuse_missing(store, paths, comparison)
    findings = [
        finding
        for finding in introduced(comparison, wanted)
        if _is_among(finding, paths) and not any(_is_below(finding.node.path, p) for p in excluded)
    ]
    left, remarks = without_ignored(findings, comparison)
    if comparison.is_partial:
        remarks.append("changes that are not committed were not looked at; mak check does that")
    return Report(
        findings=tuple(sorted(left, key=lambda f: (f.node.path, f.line, f.column, f.check))),
        base=comparison.base,
        subject=comparison.subject,
        changed=len(comparison.changed),
        ignored=len(findings) - len(left),
        root=store.root,
        remarks=(*comparison.remarks, *remarks),
    )


# --------------------------------------------------------------------------------- what is asked


def _revision(text: str) -> str:
    """Return a revision; an empty one, of a variable that is not set, must not pass for none."""
    if not text.strip():
        raise ArgumentTypeError("no revision; is a variable empty?")
    return text


def _wanted(select: Iterable[str], ignore: Iterable[str]) -> frozenset[str]:
    """Return the ids of the checks to run; raise `UsageError` for one that is not there."""
    from mak.cli.ignores import no_check
    from mak.cli.introduced import CHOICE

    known = [check.id for check in CHOICE]
    chosen, left_out = (
        {id.strip() for text in texts for id in text.split(",") if id.strip()}
        for texts in (select, ignore)
    )
    for id in sorted(chosen | left_out):
        if id not in known:
            raise UsageError(f"check: {no_check(id, known)}", hint="mak check --list")
    return frozenset(chosen or known) - left_out


def _from_root(store: Store, paths: Iterable[Path]) -> list[str]:
    """Return paths as Git has them; an empty one: the root."""
    found = []
    for path in paths:
        root = store.root or Path()
        # The folder may have been reached through a link; a file that is one is not followed.
        inner = path.parent.resolve() / path.name if path.name not in ("", "..") else path.resolve()
        if not inner.is_relative_to(root):
            raise UsageError(f"check: {path}: outside of the repository {root}")
        name = inner.relative_to(root).as_posix()
        found.append("" if name == "." else name)
    return found


def _refuse_missing(store: Store, paths: Iterable[str], comparison: Comparison) -> None:
    sides = [side for side in (comparison.before, comparison.after) if side is not None]
    known = [path for side in sides for path in side.paths]
    for path in paths:
        if not any(_is_below(name, path) for name in known) and not (
            store.root is not None and (store.root / path).exists()
        ):
            raise UsageError(f"check: {path}: no such file or folder")


def _is_among(finding: Finding, paths: Sequence[str]) -> bool:
    if not paths:
        return True
    places = [finding.node.path, *(place.path for place in finding.related)]
    return any(_is_below(place, path) for place in places for path in paths)


def _is_below(name: str, path: str) -> bool:
    return not path or name == path or name.startswith(f"{path}/")


def _list(*, as_json: bool) -> int:
    from mak.cli.introduced import CHOICE
    from mak.cli.reports.report import page

    if as_json:
        rows = [{"id": c.id, "title": c.title, "page": page(c.id)} for c in CHOICE]
        terminal.write_json(rows)
    else:
        table = [(check.id, check.title, page(check.id)) for check in CHOICE]
        terminal.write_data("\n".join(terminal.columns(table)))
    return EXIT_DONE


COMMAND = Command(
    "check",
    "find what your own change breaks, before it is committed or merged",
    add_arguments,
    run,
    details="""\
Only what the change introduces is a finding. Nothing is written but a cache below .git, and
nothing leaves the machine. Exit codes: 0 no finding, 1 findings, 2 nothing could be checked.""",
)
