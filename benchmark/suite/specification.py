"""What a project is made of: files with stubs, tasks with their reference edits, tests.

Stubs, references, prompts and tests come from one specification, so that they cannot drift. An
edit is said once and applied to a whole file as well as to the text of the node that it changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from benchmark.simulation.workload import Entry, Place, add_entry, write_function
from mak.model import NodeId
from mak.source import Sources
from mak.source.text import blob_id

#: How tasks are named, so that a text that speaks of one can be told.
ID = re.compile(r"\b[a-z]+-\d{3}\b")


@dataclass(frozen=True)
class Fill:
    """A function of a file's top level gets another text."""

    path: str
    function: str
    text: str
    #: Whether its signature is another one.
    api: bool = False

    def apply(self, text: str) -> str | None:
        """Return a text with the edit made; None where it has no place."""
        try:
            return write_function(text, self.function, self.text)
        except ValueError:
            return None

    def is_in(self, text: str) -> bool:
        """Whether the edit is made in a text."""
        return f"\n{self.text}" in f"\n{text}"

    def node(self, sources: Sources) -> NodeId:
        """Return the node that it changes."""
        node = NodeId(self.path, self.function)
        return node.api if self.api else node

    def wrong(self) -> Fill:
        """Return the edit of an agent that got it wrong: it parses, and gives something else."""
        return Fill(self.path, self.function, self.text.replace("return ", "return not ", 1))


@dataclass(frozen=True)
class Row:
    """A registration: lines in a place that others share."""

    place: Place
    line: str
    #: The symbol that the row is, in a file whose rows are nodes of their own; else empty.
    symbol: str = ""

    @property
    def path(self) -> str:
        """The file that it is made in."""
        return self.place.path

    def apply(self, text: str) -> str | None:
        """Return a text with the row made; None where it has no place."""
        if self.symbol and not text:
            return f"{self.line}\n"
        if not any(line.startswith(self.place.opens) for line in text.splitlines()):
            return None
        return add_entry(text, self.place, Entry("", (self.line,)))

    def is_in(self, text: str) -> bool:
        """Whether the row is there, once."""
        return f"\n{text}".count(f"\n{self.place.indent}{self.line}\n") == 1

    def node(self, sources: Sources) -> NodeId:
        """Return the node that holds the place; raise ValueError. A row of its own is its node."""
        if self.symbol:
            return NodeId(self.path, self.symbol)
        for node in sources.file(self.path).nodes:
            if self.place.symbol in node.names or node.id.symbol == self.place.symbol:
                return node.id
        raise ValueError(f"{self.path} has no {self.place.symbol}")


Edit = Fill | Row


@dataclass(frozen=True)
class Case:
    """One test: statements that raise when something is wrong."""

    name: str
    code: str


@dataclass(frozen=True)
class Task:
    """One thing to do, as a person would ask for it."""

    id: str
    #: What to do, complete; names the files.
    goal: str
    edits: tuple[Edit, ...]
    depends_on: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The goal with its id before it."""
        return f"{self.id}: {self.goal}"

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it edits."""
        return tuple(dict.fromkeys(edit.path for edit in self.edits))

    @property
    def rows(self) -> tuple[Row, ...]:
        """Its registrations."""
        return tuple(edit for edit in self.edits if isinstance(edit, Row))

    def targets(self, sources: Sources) -> tuple[NodeId, ...]:
        """Return the nodes that it changes, once each."""
        made = set(self.creates)
        nodes = dict.fromkeys(edit.node(sources) for edit in self.edits)
        return tuple(node for node in nodes if node not in made)

    @property
    def creates(self) -> tuple[NodeId, ...]:
        """The nodes that it makes."""
        return tuple(NodeId(row.path, row.symbol) for row in self.rows if row.symbol)

    def carry_out(self, files: Mapping[str, str]) -> dict[str, str]:
        """Return the files that it changes, as the reference leaves them; raise ValueError."""
        made = {path: files[path] for path in self.paths}
        for edit in self.edits:
            text = edit.apply(made[edit.path])
            if text is None:
                raise ValueError(f"{self.id}: {edit.path} has no place for its edit")
            made[edit.path] = text
        return made


@dataclass(frozen=True)
class Project:
    """A generated project."""

    name: str
    about: str
    #: Path to text, stubs to be filled in it.
    files: Mapping[str, str]
    tasks: tuple[Task, ...]
    tests: tuple[Case, ...]

    @property
    def request(self) -> str:
        """What the person asks for, everything at once."""
        tasks = "\n".join(f"- {task.text}" for task in self.tasks)
        return (
            f"{self.about} Do all of the following. Make one task of each item, and begin its goal "
            f"with the id of the item.\n\n{tasks}\n"
        )

    @cached_property
    def sources(self) -> Sources:
        """The files as MAK sees them."""
        return sources_of(self.files)

    def finished(self) -> dict[str, str]:
        """Return the files with every task carried out by its reference."""
        files = dict(self.files)
        for task in self.tasks:
            files |= task.carry_out(files)
        return files

    def rows(self) -> Iterator[Row]:
        """Yield every registration."""
        for task in self.tasks:
            yield from task.rows


def sources_of(files: Mapping[str, str]) -> Sources:
    """Return files as a tree."""
    blobs = {blob_id(text.encode()): text.encode() for text in files.values()}
    entries = {path: blob_id(text.encode()) for path, text in files.items()}
    return Sources(entries, blobs.__getitem__)


def stub(name: str, signature: str, about: str) -> str:
    """Return a function that is to be written."""
    return f'def {name}({signature}):\n    """{about}"""\n    raise NotImplementedError\n'


def written(name: str, signature: str, about: str, body: str) -> str:
    """Return a function with its body, given without indentation."""
    lines = "".join(f"    {line}\n" if line else "\n" for line in body.split("\n"))
    return f'def {name}({signature}):\n    """{about}"""\n{lines}'


def module(about: str, *parts: str) -> str:
    """Return a file of functions and tables, two blank lines between them."""
    return "\n\n\n".join((f'"""{about}"""', *(part.rstrip("\n") for part in parts))) + "\n"


__all__ = [
    "ID",
    "Case",
    "Edit",
    "Fill",
    "Place",
    "Project",
    "Row",
    "Task",
    "module",
    "sources_of",
    "stub",
    "written",
]
