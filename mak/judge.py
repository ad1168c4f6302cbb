"""What becomes of a reply: accept, ask again, widen the task or fail it; decides, never acts."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from dataclasses import dataclass, replace

from mak.checks import Change, Files, Trees, protected_reason, run_checks
from mak.model import (
    Aspect,
    Delete,
    Edit,
    Finding,
    Need,
    NodeId,
    NodeKind,
    Replace,
    Reply,
    ReplyStatus,
    Task,
)
from mak.source import Draft, Proposal, Rejected, Shown, SourceFile, Sources, path_of
from mak.source.names import Reference

#: Nodes whose signature others call; the names bound by other nodes are checked, not locked.
_DEFINITIONS = (NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.CLASS)


@dataclass(frozen=True, slots=True)
class Accept:
    """Take the proposal into the draft; `proposal` is None when no change is required."""

    proposal: Proposal | None


@dataclass(frozen=True, slots=True)
class Again:
    """Turn the reply down and ask again, saying why."""

    check: str
    reason: str
    #: The node that another task changed meanwhile, where that is why.
    clash: NodeId | None = None


@dataclass(frozen=True, slots=True)
class Widen:
    """The task needs more; `show`: its agent has to see it before it can answer."""

    writes: tuple[NodeId, ...]
    reads: tuple[NodeId, ...]
    reason: str
    show: bool


@dataclass(frozen=True, slots=True)
class Fail:
    """The task ends here."""

    reason: str


#: Why a reply is turned down that touches, or needs, what is kept from agents.
HIDDEN = "hidden-path"
#: Why a reply is turned down that does not go together with what another task did meanwhile.
MERGE = "merge"

Verdict = Accept | Again | Widen | Fail

#: What refers to a definition in a tree, as far as that is proved.
References = Callable[[Sources, NodeId], Sequence[Reference]]


class Planned:
    """The nodes that tasks whose answer is not accepted yet are to write or create."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks: dict[str, tuple[NodeId, ...]] = {}
        self._counts = Counter[NodeId]()
        for task in tasks:
            self.put(task)

    @property
    def nodes(self) -> Set[NodeId]:
        """All of them; a live view."""
        return self._counts.keys()

    def put(self, task: Task) -> None:
        """Take in a task, or what it writes by now."""
        self.drop(task.id)
        self._tasks[task.id] = (*task.writes, *task.creates)
        self._counts.update(self._tasks[task.id])

    def drop(self, task: str) -> None:
        """Leave out a task: its answer is accepted or just being judged, or it failed."""
        for node in self._tasks.pop(task, ()):
            self._counts[node] -= 1
            if not self._counts[node]:
                del self._counts[node]


def judge(
    reply: Reply,
    task: Task,
    draft: Draft,
    shown: Shown,
    rank: int,
    planned: Set[NodeId],
    references: References,
) -> Verdict:
    """Decide on one reply.

    `rank` is the place of the task among those whose edits meet in the draft, `planned` holds the
    nodes that other tasks are still to write.
    """
    match reply.status:
        case ReplyStatus.EDITED:
            return _judge_edits(reply, task, draft, shown, rank, planned, references)
        case ReplyStatus.UNCHANGED:
            if reply.reason:
                return Accept(None)
            return Again("unexplained", "no change was made and no reason given; give one of them")
        case ReplyStatus.NEEDS:
            return widen(reply.needs, task, draft, reply.reason)
        case ReplyStatus.REFUSED:
            return Fail(f"the agent will not: {reply.reason or 'no reason given'}")
        case ReplyStatus.FILTERED:
            return Fail(f"the endpoint's content filter stopped the answer. {reply.reason}".strip())
        case ReplyStatus.TRUNCATED:
            return Again("truncated", "the answer was cut off by its length limit; be shorter")
        case ReplyStatus.INCOMPLETE:
            # Whoever had the stream has asked for it again.
            return Fail(reply.reason or "the answer's stream ended before the answer did")
        case ReplyStatus.EMPTY:
            return Again("empty", "the answer was empty")
        case ReplyStatus.MALFORMED:
            return Again("malformed", reply.reason or "the answer does not fit the reply schema")


def widen(needs: Iterable[Need], task: Task, draft: Draft, why: str) -> Widen | Again:
    """Turn needs into what the task lacks; `Again` when it lacks nothing or names nothing."""
    unknown = [str(need.node) for need in needs if not _exists(draft, need.node)]
    if unknown:
        return Again("needs", f"asked for nodes that do not exist: {', '.join(unknown)}")
    held = (*task.writes, *task.creates)
    lacking = [n for n in needs if n.node not in held and not _covered(n.node, held)]
    writes = tuple(dict.fromkeys(n.node for n in lacking if n.write))
    reads = tuple(
        dict.fromkeys(n.node for n in lacking if not n.write and n.node not in task.reads)
    )
    if not writes and not reads:
        return Again("needs", "everything that was asked for is already granted; use it")
    named = {node.path for node in (*task.writes, *task.creates)}
    barred = sorted(
        {node.path for node in writes if node.path not in named and protected_reason(node.path)}
    )
    if barred:
        return Again(
            "protected-path",
            f"{', '.join(barred)} may only be changed by a plan that names "
            f"{'it' if len(barred) == 1 else 'them'}; do without. {why}".rstrip(),
        )
    if hidden := _hidden(draft, (node.path for node in (*writes, *reads))):
        return Again(HIDDEN, f"{hidden}; do without. {why}".rstrip())
    known = {node.node for node in task.writes}
    show = bool(reads) or any(node.node not in known for node in writes)
    return Widen(writes, reads, why, show)


def digest(sources: Sources, node: NodeId) -> str:
    """Return the digest of a slot's text in a tree; empty when it does not exist."""
    if node.path not in sources:
        return ""
    try:
        text = sources.file(node.path).text(node)
    except KeyError:
        return ""
    return hashlib.sha1(text, usedforsecurity=False).hexdigest()


def stale(draft: Draft, shown: Shown, edits: Iterable[Edit]) -> list[NodeId]:
    """Return the edited nodes whose text is not what the agent was shown, where no more is known.

    An edit whose view is known is merged with what came since. A class may be given with its
    members, so they count as edited with it.
    """
    if shown.view is not None:
        return []
    edited = {edit.node for edit in edits if isinstance(edit, Replace | Delete)}
    known = {NodeId.parse(name): seen for name, seen in shown.digests.items()}
    return [
        node
        for node, seen in known.items()
        if (node in edited or any(c in edited or c.node in edited for c in node.containers[1:]))
        and digest(draft.sources, node) != seen
    ]


def touches(edits: Iterable[Edit], node: NodeId) -> bool:
    """Whether some of the edits give a node its text, by itself or with what encloses it."""
    edited = {edit.node for edit in edits if isinstance(edit, Replace | Delete)}
    return node in edited or not edited.isdisjoint(node.containers)


def check_wave(draft: Draft, planned: Set[NodeId], references: References) -> tuple[Finding, ...]:
    """Return what the checks say about a whole wave, against its base."""
    after = dict(draft.changes)
    trees = _Trees(draft.base, after, references, draft.checked)
    return run_checks(
        Change(
            before={path: draft.before(path) for path in draft.changes},
            after=after,
            task=None,
            edits=(),
            created=frozenset(),
            deleted=frozenset(),
            planned=planned,
            references=trees.references,
            trees=trees.both,
            checked=frozenset(draft.checked),
        )
    )


def check_between(
    before: Sources, now: Sources, paths: Sequence[str], references: References
) -> tuple[Finding, ...]:
    """Return what the checks that look beyond a file say of what changed in these files.

    The others have seen every step between.
    """
    was, after = ({p: s.file(p) if p in s else None for p in paths} for s in (before, now))
    trees = _Trees(before, after, references)
    return run_checks(
        Change(
            before=was,
            after=after,
            references=trees.references,
            trees=trees.both,
            checked=frozenset(paths),
        )
    )


class _Trees:
    """A tree and what becomes of it with other files, one tree for all questions about it."""

    def __init__(
        self,
        base: Sources,
        files: Files,
        references: References,
        settled: Set[str] = frozenset(),
    ) -> None:
        self._references = references
        self._base = base
        self._known: list[tuple[Files, Sources]] = [({}, base), (files, base.overlay(files))]
        self.both = Trees(base, self._known[1][1], files, settled)

    def references(self, node: NodeId, files: Files) -> Sequence[Reference]:
        """Answer for `Change.references`."""
        return self._references(self._tree(files), node)

    def _tree(self, files: Files) -> Sources:
        for known, tree in self._known:
            if known is files or not (files or known):
                return tree
        self._known.append((files, self._base.overlay(files)))
        return self._known[-1][1]


def _judge_edits(
    reply: Reply,
    task: Task,
    draft: Draft,
    shown: Shown,
    rank: int,
    planned: Set[NodeId],
    references: References,
) -> Verdict:
    changed_meanwhile = stale(draft, shown, reply.edits)
    if changed_meanwhile:
        names = ", ".join(map(str, changed_meanwhile))
        return Again("stale", f"{names} changed after it was shown; here it is as it is now")
    if hidden := _hidden(draft, map(path_of, reply.edits)):
        return Again(HIDDEN, hidden)
    granted = frozenset((*task.writes, *task.creates))
    proposal = draft.propose(reply.edits, granted, view=shown.view, rank=rank)
    if isinstance(proposal, Rejected):
        if proposal.needs:
            verdict = widen(proposal.needs, task, draft, proposal.reason)
            if isinstance(verdict, Widen):
                return replace(verdict, show=True)
        clash = proposal.node if proposal.check == MERGE else None
        return Again(proposal.check, proposal.reason, clash)
    if not proposal.files:
        return Again("no-edit", "the reply says 'edited' but edits nothing")
    signatures = tuple(
        node.api
        for node in sorted(proposal.api_changed)
        if node.api not in granted and _is_definition(draft, node) and not _covered(node, granted)
    )
    if signatures:
        return Widen(signatures, (), "it changes a signature", show=False)
    after = dict(proposal.files)
    trees = _Trees(draft.sources, after, references)
    findings = run_checks(
        Change(
            before={path: draft.file(path) for path in proposal.files},
            after=after,
            task=task,
            edits=reply.edits,
            created=proposal.created,
            deleted=proposal.deleted,
            planned=planned,
            references=trees.references,
            trees=trees.both,
            seen=shown.known,
            moved=lambda: _moved(draft, shown),
        )
    )
    if not findings:
        return Accept(proposal)
    message = "; ".join(finding.message for finding in findings)
    needs = [need for finding in findings for need in finding.needs]
    if needs and all(finding.needs for finding in findings):
        wider = widen(needs, task, draft, message)
        if isinstance(wider, Widen) or wider.check == HIDDEN:
            return wider
    return Again(findings[0].check, message)


def _moved(draft: Draft, shown: Shown) -> list[str]:
    """Return the files that other tasks changed since an agent was shown the tree."""
    seen = shown.known
    if seen is None:
        return []
    return [
        path
        for path, file in draft.changes.items()
        if file is not None and (path not in seen or seen.data(path) != file.data)
    ]


def _hidden(draft: Draft, paths: Iterable[str]) -> str:
    """Return which of the paths are kept from agents and by what; empty: none is."""
    why = {path: draft.base.why_hidden(path) for path in paths}
    return "; ".join(f"{path} is {why[path]}" for path in sorted(why) if why[path])


def _is_definition(draft: Draft, node: NodeId) -> bool:
    file = draft.file(node.path)
    found = file.get(node.node) if file is not None else None
    return found is not None and found.kind in _DEFINITIONS


def _covered(node: NodeId, granted: Collection[NodeId]) -> bool:
    """Whether a grant of an enclosing file or class holds the node's signature too."""
    return any(container in granted for container in node.containers)


def _exists(draft: Draft, node: NodeId) -> bool:
    file: SourceFile | None = draft.file(node.path)
    if file is None:
        return False
    if node.is_file:
        return True
    name = replace(node, aspect=Aspect.TEXT)
    return file.get(name) is not None
