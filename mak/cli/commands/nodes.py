"""``mak nodes``: the pieces that files are cut into."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mak.cli import terminal
from mak.cli.command import EXIT_DONE, EXIT_FAILED, Command
from mak.cli.options import add_json
from mak.errors import UsageError

if TYPE_CHECKING:
    from mak.source import SourceFile

#: Folders that hold Git's files, not a project's.
SKIPPED = (".git",)
#: Files from which on all cores verify, and how many each takes at once.
MANY = 200
CHUNK = 25


class Verdict(NamedTuple):
    """What cutting one file came to; `wrong` is empty when nothing was lost."""

    path: str
    nodes: int
    wrong: str = ""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", type=Path, help="files, or folders with all below"
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="cut and join every file and compare; exit 1 unless all are equal",
    )
    add_json(parser)


def run(args: Namespace) -> int:
    """List or verify nodes."""
    for path in args.paths:
        if not path.exists():
            raise UsageError(f"mak nodes: {path}: no such file or folder")
    if args.verify:
        return _verify(args.paths, json=args.json)
    from mak.landing import newer
    from mak.source import has_nodes, split

    files = (
        split(_read(path), _id_path(path), newer=newer)
        for path in walk(args.paths)
        if has_nodes(path.name) or path in args.paths
    )
    if args.json:
        terminal.write_json([_document(file) for file in files])
    else:
        for file in files:
            rows = terminal.columns(_rows(file))
            terminal.write_data("\n".join(terminal.fitting(rows)))
    return EXIT_DONE


def walk(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield every regular file below `paths`, sorted; links are not followed."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if name not in SKIPPED)
            for name in sorted(names):
                found = Path(folder, name)
                if found.is_file() and not found.is_symlink():
                    yield found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"mak nodes: reading {path}: {reason}") from error


def _id_path(path: Path) -> str:
    """Return the path as node ids have it: below the root of its repository, if it is in one."""
    whole = path.absolute()
    for folder in whole.parents:
        if (folder / ".git").exists():
            return whole.relative_to(folder).as_posix()
    return path.as_posix()


def _rows(file: SourceFile) -> list[tuple[str, ...]]:
    why = f"whole: {file.why_whole}" if file.why_whole else ""
    return [
        (str(node.id), str(node.kind), f"{node.line}-{node.end_line}", node.signature or why)
        for node in file.nodes
    ]


def _document(file: SourceFile) -> dict[str, Any]:
    return {
        "path": file.path,
        "language": file.language,
        "why_whole": file.why_whole,
        "nodes": [
            {
                "id": str(node.id),
                "kind": str(node.kind),
                "start": node.start,
                "end": node.end,
                "lead": node.lead,
                "line": node.line,
                "end_line": node.end_line,
                "names": list(node.names),
                "signature": node.signature,
                "api": node.api,
                "digest": node.digest,
            }
            for node in file.nodes
        ],
    }


# --------------------------------------------------------------------------------- verification


def verify(path: str) -> Verdict:
    """Cut a file and check that its nodes tile it: joined equal, in order, each id once."""
    from mak.landing import newer
    from mak.source import join, split

    data = _read(Path(path))
    file = split(data, path, newer=newer)
    ends = [0, *(node.end for node in file.nodes)]
    if join(file) != data or file.is_flawed:
        return Verdict(path, len(file.nodes), "joined it is not what it was")
    if [node.start for node in file.nodes] != ends[:-1] or ends[-1] != len(data):
        return Verdict(path, len(file.nodes), "its nodes leave a gap or overlap")
    if len({node.id for node in file.nodes}) != len(file.nodes):
        return Verdict(path, len(file.nodes), "two of its nodes have one id")
    return Verdict(path, len(file.nodes))


def _verify(paths: Iterable[Path], *, json: bool) -> int:
    verdicts = list(_verdicts([str(path) for path in walk(paths)]))
    wrong = [verdict for verdict in verdicts if verdict.wrong]
    nodes = sum(verdict.nodes for verdict in verdicts)
    for verdict in wrong:
        terminal.write_note(f"{verdict.path}: {verdict.wrong}", "red")
    if json:
        mismatches = [{"path": verdict.path, "reason": verdict.wrong} for verdict in wrong]
        terminal.write_json({"files": len(verdicts), "nodes": nodes, "mismatches": mismatches})
    else:
        terminal.write_data(f"{len(verdicts)} files, {nodes} nodes, {len(wrong)} mismatches")
    return EXIT_FAILED if wrong else EXIT_DONE


def _verdicts(paths: list[str]) -> Iterator[Verdict]:
    if len(paths) < MANY:
        yield from map(verify, paths)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor() as pool:
        yield from pool.map(verify, paths, chunksize=CHUNK)


COMMAND = Command(
    "nodes",
    "list the nodes of files, or verify that cutting loses nothing",
    add_arguments,
    run,
    details="--verify prints: FILES files, NODES nodes, N mismatches",
)
