"""What there is to do: a small project, tasks that contend for its shared symbols, and an oracle.

Every task writes a function of its own; by shape, it also registers that function somewhere: in a
table of its module, in one function that all share, or in the imports and the ``__all__`` of a
package. Registrations are entries of one line or of four, appended or kept sorted; a line of a
four-line entry that is lost leaves a text that parses.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

MODULES = 12
#: How unevenly Zipf's tasks choose their module.
EXPONENT = 1.2


class Shape(StrEnum):
    """Where tasks meet."""

    UNIFORM = "uniform"
    ZIPF = "zipf"
    ONE_SYMBOL = "one-symbol"
    IMPORTS = "imports"
    DISJOINT = "disjoint"
    SIGNATURES = "signatures"


@dataclass(frozen=True)
class Entry:
    """A registration: the key it is sorted by, and its lines without indentation."""

    key: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """Where entries go: between the line that opens a block and the one that closes it."""

    path: str
    #: The symbol, as a task names it; empty: the imports of the file.
    symbol: str
    opens: str
    closes: str
    indent: str


@dataclass(frozen=True)
class Job:
    """One task: a function to write, and entries to make."""

    id: str
    path: str
    function: str
    signature: str
    #: What the function returns for 1, when it is written as it should be.
    value: int
    entries: tuple[tuple[Place, Entry], ...] = ()
    #: Import statements for files.
    imports: tuple[tuple[str, str], ...] = ()
    depends_on: tuple[str, ...] = ()
    #: A function that it calls, whose signature another task changes.
    calls: str = ""

    def body(self, *, correct: bool) -> str:
        """Return the function as an agent writes it; a wrong one parses, too."""
        value = self.value if correct else self.value + 1
        inner = f"(n + 0 * {self.calls}(n, 0))" if self.calls else "n"
        return (
            f"def {self.function}({self.signature}):\n"
            f'    """Work out {self.function}."""\n'
            f"    total = {inner} * {value}\n"
            f"    return total\n"
        )

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it edits."""
        made = (
            self.path,
            *(place.path for place, _ in self.entries),
            *(p for p, _ in self.imports),
        )
        return tuple(dict.fromkeys(made))


@dataclass(frozen=True)
class Workload:
    """A project and its jobs."""

    shape: Shape
    files: dict[str, str]
    jobs: tuple[Job, ...]
    sort: bool

    # -- what an edit does to a text, in every arm

    def write_function(self, text: str, job: Job, *, correct: bool) -> str:
        """Return a text with the function written."""
        return write_function(text, job.function, job.body(correct=correct))

    def add_entry(self, text: str, place: Place, entry: Entry) -> str:
        """Return a text (of a file, or of the symbol alone) with an entry made."""
        return add_entry(text, place, entry, sort=self.sort)

    def add_import(self, text: str, statement: str) -> str:
        """Return a text with an import after the last one, or in its sorted place."""
        lines = text.splitlines(keepends=True)
        imports = [i for i, line in enumerate(lines) if line.startswith("from shop")]
        at = imports[-1] + 1
        if self.sort:
            at = next((i for i in imports if lines[i] > f"{statement}\n"), at)
        return "".join((*lines[:at], f"{statement}\n", *lines[at:]))

    def edit(self, files: dict[str, str], job: Job, *, correct: bool) -> dict[str, str]:
        """Return the files that a job changes, as it leaves them."""
        made = {path: files[path] for path in job.paths}
        made[job.path] = self.write_function(made[job.path], job, correct=correct)
        for place, entry in job.entries:
            made[place.path] = self.add_entry(made[place.path], place, entry)
        for path, statement in job.imports:
            made[path] = self.add_import(made[path], statement)
        return made

    def unite(self, path: str, ours: str, theirs: str) -> str:
        """Return the text of a file with what either side did in it."""
        for job in self.jobs:
            for place, entry in job.entries:
                block = "".join(f"{place.indent}{line}\n" for line in entry.lines)
                if place.path == path and block in theirs and block not in ours:
                    ours = self.add_entry(ours, place, entry)
            for where, statement in job.imports:
                line = f"{statement}\n"
                if where == path and line in theirs and line not in ours:
                    ours = self.add_import(ours, statement)
            for correct in (True, False):
                body = job.body(correct=correct)
                if job.path == path and body in theirs and body not in ours:
                    ours = self.write_function(ours, job, correct=correct)
        return ours

    # -- what became of it

    @property
    def registrations(self) -> int:
        """How many lines of entries and imports the jobs make."""
        return sum(
            sum(len(entry.lines) for _, entry in job.entries) + len(job.imports)
            for job in self.jobs
        )

    def survived(self, files: dict[str, str]) -> int:
        """Return how many of those lines are in the result, each once and in its place."""
        count = 0
        for job in self.jobs:
            for place, entry in job.entries:
                block = f"\n{''.join(f'{place.indent}{line}{chr(10)}' for line in entry.lines)}"
                count += len(entry.lines) if files[place.path].count(block) == 1 else 0
            for path, statement in job.imports:
                count += _imported(files[path]).count(statement) == 1
        return count

    def passed(self, files: dict[str, str]) -> int:
        """Return how many jobs pass their test: the function gives what it should."""
        spaces: dict[str, dict[str, object]] = {}
        for path in {job.path for job in self.jobs}:
            try:
                space: dict[str, object] = {}
                exec(compile(files[path], path, "exec"), space)
            except (SyntaxError, NameError, TypeError, KeyError):
                space = {}
            spaces[path] = space
        count = 0
        for job in self.jobs:
            function = spaces[job.path].get(job.function)
            try:
                args = (1, 0) if "," in job.signature else (1,)
                count += callable(function) and function(*args) == job.value
            except (NameError, TypeError):
                continue
        return count

    def parses(self, files: dict[str, str]) -> bool:
        """Whether every file is Python."""
        try:
            for path, text in files.items():
                ast.parse(text, path)
        except SyntaxError:
            return False
        return True


def write_function(text: str, name: str, body: str) -> str:
    """Return a text with the body of a function of its top level; raise ValueError."""
    pattern = re.compile(rf"^def {name}\(.*?(?=^\S|\Z)(?<=\n)", re.MULTILINE | re.DOTALL)
    found = pattern.search(text)
    if found is None:
        raise ValueError(f"there is no function {name}")
    gap = re.search(r"\n*\Z", found[0])
    blank = "\n" * (len(gap[0]) - 1 if gap else 0)
    return text[: found.start()] + body + blank + text[found.end() :]


def add_entry(text: str, place: Place, entry: Entry, *, sort: bool = False) -> str:
    """Return a text (of a file, or of the symbol alone) with an entry made in a place."""
    lines = text.splitlines(keepends=True)
    start = next(i for i, line in enumerate(lines) if line.startswith(place.opens)) + 1
    closing = (i for i in range(start, len(lines)) if lines[i].startswith(place.closes))
    end = next(closing, len(lines))
    at = end
    if sort:
        first = next(i for i, line in enumerate(entry.lines) if _key(line))
        for i in range(start, end):
            key = _key(lines[i])
            if key and key > entry.key:
                at = i - first
                break
    made = [f"{place.indent}{line}\n" for line in entry.lines]
    return "".join((*lines[:at], *made, *lines[at:]))


def _imported(text: str) -> list[str]:
    """Return what a file imports, a name a statement, however the statements are grouped."""
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return text.splitlines()
    return [
        f"from {node.module} import {name.name}"
        for node in body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    ]


def _key(line: str) -> str:
    found = re.search(r'"(job\d+)"', line)
    return found[1] if found else ""


def make(shape: Shape, tasks: int, seed: int, *, lines: int = 1, sort: bool = False) -> Workload:
    """Make a project with `tasks` jobs; entries have `lines` lines (1 or 4)."""
    chance = random.Random(f"{shape}:{seed}:workload")
    homes = [f"shop/part{i:02}.py" for i in range(MODULES)]
    by_module: dict[str, list[str]] = {path: [] for path in homes}
    jobs: list[Job] = []
    for number in range(tasks):
        name = f"job{number:04}"
        path = homes[number % MODULES]
        by_module[path].append(name)
        places, imports, depends, calls, signature = _meet(shape, number, name, path, homes, chance)
        entries = tuple((place, _entry(place, name, lines)) for place in places)
        jobs.append(
            Job(
                id=f"t{number:04}",
                path=path,
                function=name,
                signature=signature,
                value=chance.randint(2, 999),
                entries=entries,
                imports=imports,
                depends_on=depends,
                calls=calls,
            )
        )
    files = {path: _module(names) for path, names in by_module.items()}
    files["shop/__init__.py"] = (
        '"""A shop."""\n\nfrom shop import registry\n\n__all__ = [\n    "registry",\n]\n'
    )
    files["shop/registry.py"] = (
        '"""Who does what."""\n\n\ndef register_all(registry):\n'
        '    """Register everything."""\n    registry.add("first", None)\n    return registry\n'
    )
    return Workload(shape, dict(sorted(files.items())), tuple(jobs), sort)


def _meet(
    shape: Shape, number: int, name: str, path: str, homes: Sequence[str], chance: random.Random
) -> tuple[list[Place], tuple[tuple[str, str], ...], tuple[str, ...], str, str]:
    """Return where a job registers, what it imports, waits for and calls, and its signature."""
    match shape:
        case Shape.UNIFORM:
            return [_table(chance.choice(homes))], (), (), "", "n"
        case Shape.ZIPF:
            weights = [1 / (rank + 1) ** EXPONENT for rank in range(len(homes))]
            return [_table(chance.choices(homes, weights)[0])], (), (), "", "n"
        case Shape.ONE_SYMBOL:
            shared = Place(
                "shop/registry.py", "register_all", "    registry.add(", "    return", "    "
            )
            return [shared], (), (), "", "n"
        case Shape.IMPORTS:
            module = path.removeprefix("shop/").removesuffix(".py")
            names = Place("shop/__init__.py", "__all__", "__all__ = [", "]", "    ")
            return (
                [names],
                (("shop/__init__.py", f"from shop.{module} import {name}"),),
                (),
                "",
                "n",
            )
        case Shape.DISJOINT:
            return [], (), (), "", "n"
        case Shape.SIGNATURES:
            # One in six gives its function a second parameter; the next job of its module that
            # calls it comes after it.
            if number // MODULES % 3 == 0:
                return [_table(path)], (), (), "", "n, extra"
            if number // MODULES % 3 == 1:
                earlier = number - MODULES
                return [_table(path)], (), (f"t{earlier:04}",), f"job{earlier:04}", "n"
            return [_table(path)], (), (), "", "n"


def _table(path: str) -> Place:
    return Place(path, "HANDLERS", "HANDLERS = {", "}", "    ")


def _entry(place: Place, name: str, lines: int) -> Entry:
    if place.symbol == "__all__":
        return Entry(name, (f'"{name}",',))
    if place.symbol == "register_all":
        if lines == 1:
            return Entry(name, (f'registry.add("{name}", None)',))
        return Entry(name, ("registry.add(", f'    "{name}",', "    None,", ")"))
    if lines == 1:
        return Entry(name, (f'"{name}": "{name}",',))
    return Entry(name, (f'"{name}": {{', f'    "call": "{name}",', '    "retries": 3,', "},"))


def _module(names: Sequence[str]) -> str:
    stubs = "".join(
        f'\n\ndef {name}(n):\n    """To be written."""\n    raise NotImplementedError\n'
        for name in names
    )
    return '"""A part of the shop."""\n\nHANDLERS = {\n    "first": "first",\n}\n' + stubs
