"""What the dependency graph of Django costs: cold, warm, and after one changed file.

``python benchmark/graph.py`` makes a repository of Django's source and finds every edge of every
file in a process of its own: with nothing known (cold), and with what the first one kept (warm).
Then one file is edited, and what starts in it, and ends in what changed, is found anew in a process
that knows the rest. Beside it, on the same files, pyflakes, if this Python has it, or the command
that ``--pyflakes`` gives. Figures are seconds, the lowest of ``--repeat``.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmark.spent import Spent, lowest, run
from mak.cli.comparison import present
from mak.source import Sources, split
from mak.source.graph import graph_of
from mak.store import Store
from tests.material import make_repository

#: A file in the middle of things: what is edited.
EDITED = "django/utils/text.py"


def whole(root: Path) -> tuple[int, int]:
    """Find every edge of a repository; return the numbers of files and edges."""
    with Store.open(root, write=False) as store:
        graph = graph_of(present(store))
        return len(graph.paths), sum(1 for _ in graph.every_edge())


def after_an_edit(before: Sources, number: int) -> Spent:
    """Edit one file, then find what starts in it and what ends in the nodes that changed."""
    text = before.data(EDITED).decode()
    edited = text.replace("def slugify(value", f"def slug_{number}(x): pass\n\n\ndef slugify(text")
    file = split(edited.encode(), EDITED)
    cpu, wall = time.process_time(), time.perf_counter()
    graph = graph_of(before.overlay({EDITED: file}))
    graph.edges(EDITED)
    old = {node.id: node.digest for node in before.nodes(EDITED)}
    for node in file.nodes:
        if old.get(node.id) != node.digest:
            graph.links_to(node.id)
    return Spent(time.process_time() - cpu, time.perf_counter() - wall)


def measure(repeat: int, pyflakes: Sequence[str]) -> Iterator[tuple[str, Spent]]:
    """Yield each row: what was done and what it took."""
    with tempfile.TemporaryDirectory(prefix="mak-benchmark-") as folder:
        root = Path(folder, "django")
        make_repository(root)
        child = (sys.executable, __file__, "--whole", str(root))
        cache = root / ".git" / "mak"
        yield "every edge, cold", lowest(repeat, lambda: run(child, fresh=cache))
        yield "every edge, warm", lowest(repeat, lambda: run(child))
        with Store.open(root, write=False) as store:
            known = present(store)
            list(graph_of(known).every_edge())
            after_an_edit(known, 0)
            edits = iter(range(1, repeat + 6))
            yield "one edited file", lowest(repeat + 4, lambda: after_an_edit(known, next(edits)))
        tool = (*pyflakes, str(root / "django"))
        if subprocess.run((*pyflakes, "--version"), capture_output=True).returncode == 0:
            yield "pyflakes", lowest(repeat, lambda: run(tool))


def main() -> None:
    """Print the table and the aims."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--whole", type=Path, metavar="REPOSITORY", help="find its edges, no more")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--pyflakes", default=f"{shlex.quote(sys.executable)} -m pyflakes")
    options = parser.parse_args()
    if options.whole:
        print(*whole(options.whole))
        return
    print("django, seconds\n\n| | CPU | wall |\n|---|---:|---:|")
    rows = {}
    for name, spent in measure(options.repeat, shlex.split(options.pyflakes)):
        rows[name] = spent
        print(f"| {name} | {spent.cpu:.3f} | {spent.wall:.3f} |", flush=True)
    print()
    aims = [("one edited file, CPU ms", rows["one edited file"].cpu * 1000, 50.0)]
    if "pyflakes" in rows:
        aims.append(
            ("cold beside pyflakes", rows["every edge, cold"].cpu / rows["pyflakes"].cpu, 2)
        )
    for what, value, limit in aims:
        print(f"- {'met' if value <= limit else 'missed'}: {what}: {value:.2f}, aim {limit:g}")


if __name__ == "__main__":
    main()
