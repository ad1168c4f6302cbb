"""The project's commands on one tree after the other, each result known once.

Commands that write files (`files.generated`) are asked first: what they write is part of the tree
that the others judge. One that ends with an error is a gate that fails.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

from mak import events
from mak.config import Checks, Gate, Generated, When
from mak.errors import StoreError
from mak.gates.environment import Places, environment, is_key
from mak.gates.process import Ran, run
from mak.gates.reading import cut, failures, subject, tidy
from mak.providers.setup import Setup
from mak.store import Store
from mak.store.scratch import Scratch


@dataclass(frozen=True, slots=True)
class Red:
    """A gate that fails on a tree, and did not fail like that on the one it is compared with."""

    gate: str
    #: What fails, in one line.
    subject: str
    #: Tests or complaints that are new, as far as they can be told.
    new: frozenset[str]
    #: What the command wrote, cut to size.
    output: str

    @property
    def check(self) -> str:
        """Its id among checks."""
        return f"gate:{self.gate}"


class Narrowed(Protocol):
    """Says what to run before all of a command; empty: nothing."""

    def __call__(self, command: str) -> str:
        """Return a shorter command."""


class Gates:
    """Runs a project's commands in a copy of the tree that is made when it is first needed."""

    def __init__(
        self,
        store: Store,
        checks: Checks,
        emit: Callable[[events.Event], None],
        setup: Setup | None = None,
        generated: Sequence[Generated] = (),
    ) -> None:
        self._store = store
        self._checks = checks
        self._emit = emit
        self._setup = setup or Setup()
        self._stack = ExitStack()
        self._copy: Scratch | None = None
        self._known: dict[tuple[str, str], Ran] = {}
        #: Commands that write files, by what they are called as gates.
        self._writers = {f"files.generated[{n}]": each for n, each in enumerate(generated)}
        self._gates = (
            *(_writer(name, each) for name, each in self._writers.items()),
            *checks.commands,
        )
        #: The trees that commands made of trees.
        self._wrote: dict[tuple[str, str], str] = {}
        self._ends: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._gates)

    def names(self, when: When) -> tuple[str, ...]:
        """Return the gates of one kind; those that write files are asked about every wave."""
        return tuple(gate.name for gate in self._gates if gate.when is when)

    def written(self, tree: str) -> str:
        """Return a tree that was judged, with what was written in it."""
        return self._ends.get(tree, tree)

    def close(self) -> None:
        """Remove the copy."""
        self._copy = None
        self._stack.close()

    async def judge(
        self,
        tree: str,
        against: Callable[[str], str],
        names: Collection[str],
        *,
        tasks: Sequence[str] = (),
        narrowed: Narrowed = lambda command: "",
        confirm: bool = False,
    ) -> tuple[Red, ...]:
        """Return the gates among `names` that fail on a tree and not on the one before it.

        `against` gives, for a gate, the tree to compare with. With `confirm` a failure only counts
        when it comes twice; without it the first gate that fails is the only one in the answer.
        """
        found: list[Red] = []
        given = tree
        for gate in self._gates:
            if gate.name not in names:
                continue
            first = "" if gate.name in self._writers else narrowed(gate.command)
            red = None
            if first and (gate.name, tree) not in self._known:
                red = await self._red(gate, first, tree, against(gate.name), tasks, confirm)
            if red is None:
                base = against(gate.name)
                red = await self._red(gate, gate.command, tree, base, tasks, confirm)
            if red is not None:
                found.append(red)
                if not confirm:
                    break
            elif gate.name in self._writers:
                tree = self._ends[given] = self._wrote.get((gate.name, tree), tree)
        return tuple(found)

    async def _red(
        self, gate: Gate, command: str, tree: str, base: str, tasks: Sequence[str], confirm: bool
    ) -> Red | None:
        ran = await self._run(gate, command, tree, tasks)
        if ran.passed or tree == base or (command != gate.command and ran.code == _NO_TESTS):
            return None
        before = await self._run(gate, command, base, ())
        new = failures(ran.output)
        if not before.passed:
            known = failures(before.output) if before.code is not None else None
            new = new - known if known else Counter()
            if not new:
                self._tell(gate, tree, ran, "fails without the change, too", tasks, told=True)
                return None
        if confirm and ran.code is not None:
            self._known.pop((command, tree), None)
            if (await self._run(gate, command, tree, tasks)).passed:
                self._tell(gate, tree, ran, "failed once of two times", tasks, told=True)
                return None
        return Red(gate.name, subject(ran.output, new), frozenset(new), cut(ran.output))

    async def _run(self, gate: Gate, command: str, tree: str, tasks: Sequence[str]) -> Ran:
        key = command, tree
        if key not in self._known:
            copy = self._copied()
            folder = copy.show(tree)
            theirs = self._store.root
            places = Places(
                theirs,
                theirs / self._store.prefix if theirs else None,
                copy.root,
                folder,
                self._checks.links,
            )
            env = environment(os.environ, places, extra=self._checks.env, secrets=self._secrets())
            self._emit(events.GateStarted(gate.name, tuple(tasks)))
            try:
                ran = await run(command, folder, {**env, **copy.environment}, gate.timeout)
            except OSError as error:
                raise StoreError(f"running {gate.name} ({command}): {error}") from error
            output = tidy(ran.output, str(copy.root))
            if ran.code is None:
                output += f"\nstill running after {gate.timeout:g} s, and stopped"
            ran = self._known[key] = Ran(ran.code, output, ran.seconds)
            verdict = "passed" if ran.passed else _ended(ran)
            if ran.passed and gate.name in self._writers:
                verdict = self._take_in(gate, tree, copy)
            if command != gate.command:
                verdict += ", on the tests that the change reaches"
            self._tell(gate, tree, ran, verdict, tasks)
        return self._known[key]

    def _take_in(self, gate: Gate, tree: str, copy: Scratch) -> str:
        """Keep the tree with what a command wrote in its files; return what that is, in words."""
        generators = self._store.generators
        after = copy.written(
            lambda path: bool(generators and generators.command(path) == gate.command)
        )
        self._wrote[gate.name, tree] = after
        paths = sorted(self._store.difference(tree, after))
        return f"wrote {', '.join(paths)}" if paths else "passed, with nothing to write"

    def _tell(
        self,
        gate: Gate,
        tree: str,
        ran: Ran,
        verdict: str,
        tasks: Iterable[str],
        *,
        told: bool = False,
    ) -> None:
        output = "" if ran.passed or told else cut(ran.output)
        passed = ran.passed or told
        self._emit(
            events.GateRan(
                gate.name, tree, passed, verdict, round(ran.seconds, 2), tuple(tasks), output
            )
        )

    def _secrets(self) -> set[str]:
        """Return the values of all keys, also of those that come from a file."""
        variables = self._setup.variables
        names = {name for each in self._setup.endpoints.values() for name in each.key_names}
        return {
            value
            for name, value in variables.items()
            if name in names or is_key(name) or name not in os.environ
        }

    def _copied(self) -> Scratch:
        if self._copy is None:
            self._copy = self._stack.enter_context(self._store.scratch(self._checks.links))
        return self._copy


def _writer(name: str, generated: Generated) -> Gate:
    """Return a command that writes files as a gate; a project's own gates cannot have its name."""
    return Gate.model_construct(
        name=name, command=generated.command, timeout=generated.timeout, when=When.WAVE
    )


#: Exit code of pytest that found no test.
_NO_TESTS = 5


def _ended(ran: Ran) -> str:
    return "ran out of time" if ran.code is None else f"failed (exit {ran.code})"
