"""The nodes that tasks name, made exact: found, corrected, or created by another task first."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from posixpath import normpath

from mak.errors import UsageError
from mak.model import Aspect, NodeId, NodeKind, Task
from mak.plan.near import Nearby, respelt, undecorated
from mak.plan.untrusted import one_line
from mak.source import SourceFile, Sources

_SYMBOL = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*(\[\w+\])?(#\d+)?")
_CODE = (".py", ".pyi")


class Targets:
    """Makes ids exact, one task after the other; what is wrong is collected in `reasons`.

    First every task is declared, so that all know what will be created. `frees` says whether the
    name of an existing node may be free by the time that a task runs, because one before it, or it
    itself, may have changed the node's name.
    """

    def __init__(
        self,
        sources: Sources,
        check_path: Callable[[str], str],
        frees: Callable[[str, NodeId], bool],
    ) -> None:
        self.reasons: list[str] = []
        self.remarks: list[str] = []
        self._sources = sources
        self._check_path = check_path
        self._frees = frees
        self._nearby = Nearby(sources)
        self._paths: dict[str, str | UsageError] = {}
        self._created: dict[str, list[NodeId]] = {}
        self._creator: dict[NodeId, str] = {}
        self._needed: dict[str, dict[str, NodeId]] = {}

    # ------------------------------------------------------------------------ creating

    def declare(self, tasks: Sequence[Task]) -> None:
        """Take in what the tasks create."""
        for task in tasks:
            made = self._created.setdefault(task.id, [])
            for asked in task.creates:
                id = self._new(task.id, asked)
                if id is None or id in made:
                    continue
                made.append(id)
                owner = self._creator.setdefault(id, task.id)
                if owner != task.id:
                    self._refuse(f"{owner} and {task.id} both create {id}")
        for task_id, made in self._created.items():
            self._adopt(task_id, made)

    def _adopt(self, task_id: str, made: list[NodeId]) -> None:
        """Let the first task that puts something into a file nobody has made make it."""
        for id in tuple(made):
            if id.path in self._sources or id.file in self._creator:
                continue
            if id.path.endswith(_CODE):
                made.insert(made.index(id), id.file)
                self._creator[id.file] = task_id
                self._remark(f"{task_id}: creates the file {id.path} too")
            else:
                self._refuse(f"{task_id}: creates {id}, but there is no {id.path}")

    def created(self, task: Task) -> tuple[NodeId, ...]:
        """Return what `task` creates, after checking that it can be."""
        for id in self._created[task.id]:
            reason = self._taken(id) if id.is_file else self._misplaced(task.id, id)
            if reason:
                self._refuse(f"{task.id}: creates {id}, but {reason}")
        return tuple(self._created[task.id])

    def _new(self, task: str, asked: NodeId) -> NodeId | None:
        id = undecorated(asked)
        id = next(respelt(id), id)
        path = self._path(task, "creates", id)
        if path is None:
            return None
        id = NodeId(path, id.symbol)
        if one_line(path) != path:
            self._refuse(f"{task}: creates {asked}, but {path!r} is no name for a file")
            return None
        # What an entry of a file that is not code is called is for that file to say.
        is_name = _SYMBOL.fullmatch if path.endswith(_CODE) else _is_line
        if id.symbol and not is_name(id.symbol):
            self._refuse(f"{task}: creates {asked}, but {id.symbol!r} is no name")
            return None
        return id

    def _taken(self, id: NodeId) -> str:
        if id.path in self._sources:
            return "it is there already; to change it, write it"
        parts = id.path.split("/")
        for end in range(1, len(parts)):
            if "/".join(parts[:end]) in self._sources:
                return f"{'/'.join(parts[:end])} is a file"
        paths, inside = self._sources.paths, f"{id.path}/"
        first = bisect_left(paths, inside)
        if first < len(paths) and paths[first].startswith(inside):
            return "it is a folder"
        return ""

    def _misplaced(self, task: str, id: NodeId) -> str:
        """Return why a symbol cannot be put where it is to go; notes whom it has to wait for."""
        is_code = id.path.endswith(_CODE)
        parent, _, leaf = id.symbol.rpartition(".") if is_code else ("", "", id.symbol)
        owner = NodeId(id.path, parent)
        if id.path not in self._sources:
            self._need(task, id.file)
        elif (file := self._sources.file(id.path)).whole:
            return f"{id.path} is one node ({_why(file)}); write {id.path}"
        elif file.get(id) is not None and not self._frees(task, id):
            return "it is there already; to change it, write it"
        elif (binding := _binds(file, parent, leaf)) and not self._frees(task, binding):
            return f"{binding} binds {leaf!r} already; to change it, write that"
        elif parent and owner not in self._creator:
            node = file.get(owner)
            if node is None:
                return f"there is no class {owner}"
            if node.kind is not NodeKind.CLASS:
                return f"{owner} is no class"
        if parent:
            self._need(task, owner)
        return ""

    # ------------------------------------------------------------------------ finding

    def found(self, task: Task, verb: str, asked: Iterable[NodeId]) -> tuple[NodeId, ...]:
        """Return existing nodes, or ones that another task creates, for ids as they were given."""
        ids = (self._find(task.id, verb, undecorated(id)) for id in asked)
        return tuple(id for id in ids if id is not None)

    def needed(self, task: Task) -> dict[str, NodeId]:
        """Return the tasks that create what `task` uses, each with one such node."""
        return self._needed.get(task.id, {})

    def _find(self, task: str, verb: str, asked: NodeId) -> NodeId | None:
        path = self._path(task, verb, asked)
        if path is None:
            return None
        id = replace(asked, path=path)
        if id.path in self._sources:
            file = self._sources.file(id.path)
            if id.is_file or file.get(id.node) is not None:
                return self._fit(task, verb, id, file)
            if file.whole:
                why = f"{id.path} is one node ({_why(file)})"
                self._refuse(f"{task}: {verb} {id}, but {why}; take {id.path} instead")
                return None
        if self._will_exist(task, id):
            return id
        return self._correct(task, verb, id)

    def _will_exist(self, task: str, id: NodeId) -> bool:
        """Whether a task creates it, or what it will lie in."""
        for made in (id.node, *(c.node for c in reversed(id.containers))):
            if made in self._creator and (made != id.file or _SYMBOL.fullmatch(id.symbol or "x")):
                self._need(task, made)
                return True
        return False

    def _correct(self, task: str, verb: str, id: NodeId) -> NodeId | None:
        meant = self._nearby.meant(id)
        if len(meant) == 1:
            found = self._find_exact(task, verb, meant[0])
            if found is not None:
                self._remark(f"{task}: {verb} {id}, taken as {found}")
            return found
        for other in respelt(id):
            if self._will_exist(task, other):
                self._remark(f"{task}: {verb} {id}, taken as {other}")
                return other
        if meant:
            listed = ", ".join(map(str, meant[:3])) + (", …" if len(meant) > 3 else "")
            self._refuse(f"{task}: {verb} {id}, which may be any of: {listed}; name one")
            return None
        what = "node" if id.path in self._sources else "file"
        like = ", ".join(map(str, self._nearby.like(id)))
        hint = f"; there is {like}" if like else ""
        new = "; what is new belongs in creates" if verb == "writes" else ""
        self._refuse(f"{task}: {verb} {id}, but there is no such {what}{hint}{new}")
        return None

    def _find_exact(self, task: str, verb: str, id: NodeId) -> NodeId | None:
        path = self._path(task, verb, id)
        if path is None or path not in self._sources:
            return None
        return self._fit(task, verb, replace(id, path=path), self._sources.file(path))

    def _fit(self, task: str, verb: str, id: NodeId, file: SourceFile) -> NodeId | None:
        """Return the id with an aspect that its node has; None when it is nothing to edit."""
        if id.is_file:
            if not file.encoding:
                self._refuse(f"{task}: {verb} {id}, which is not text")
                return None
            if file.why_whole and verb == "writes":
                self._remark(f"{task}: {verb} {id} as a whole: {file.why_whole}")
            return id.node
        if id.aspect is Aspect.ALL and file.node(id.node).kind is not NodeKind.CLASS:
            self._remark(f"{task}: {verb} {id}, taken as {id.node}: it is no class")
            return id.node
        return id

    # ------------------------------------------------------------------------ both

    def _refuse(self, reason: str) -> None:
        self.reasons.append(one_line(reason))

    def _remark(self, remark: str) -> None:
        self.remarks.append(one_line(remark))

    def _need(self, task: str, id: NodeId) -> None:
        creator = self._creator.get(id, task)
        if creator != task:
            self._needed.setdefault(task, {}).setdefault(creator, id)

    def _path(self, task: str, verb: str, id: NodeId) -> str | None:
        if id.path not in self._paths:
            try:
                path = self._paths[id.path] = self._check_path(id.path)
                if path.removesuffix(f"/{normpath(id.path)}") != path:
                    self._remark(f"{task}: {verb} {id}, taken as {replace(id, path=path)}")
            except UsageError as error:
                self._paths[id.path] = error
        found = self._paths[id.path]
        if isinstance(found, UsageError):
            self._refuse(f"{task}: {verb} {id}: {found}")
            return None
        return found


def _why(file: SourceFile) -> str:
    return file.why_whole or "it has no smaller ones"


def _binds(file: SourceFile, parent: str, leaf: str) -> NodeId | None:
    """Return the node that binds a name in the module (no parent) or in a class."""
    for node in file.nodes:
        if leaf in node.names and node.id.symbol.rpartition(".")[0] == parent:
            return node.id
    return None


def _is_line(symbol: str) -> bool:
    return one_line(symbol) == symbol
