"""Whatever an agent answers, a run ends, and what did not land left no trace."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mak import kernel
from mak.config import Config
from mak.events import Event, TaskWidened
from mak.model import NodeId, NodeKind, Outcome, TaskState
from mak.plan import parse_plan
from mak.source import split
from mak.store import Store
from tests.conftest import git

SHOP = '''"""Prices."""

import os
from typing import Any

RATE = 2
TABLE = {"a": 1}


@property
def net(x: Any) -> Any:
    return os.path.join(x)


class Cart:
    """A cart."""

    size = 3

    def total(self):
        return net(1)

    @staticmethod
    def count(self=1):
        return 2

    limit = 4


async def pay():
    await Cart().total()


print(net("x"))


if __name__ == "__main__":
    net("y")
'''
DEFINITIONS = (NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.CLASS)
NODES = [str(node.id) for node in split(SHOP.encode(), "shop.py").nodes]

#: What models under a grammar, or in a hurry, write where code should be.
TEXTS = [
    "1234567890",
    '"1234567890"',
    "",
    " ",
    "\n\n",
    "true",
    "null",
    "pass",
    "...",
    "# ... existing code ...",
    "def net(x: Any) -> Any:\n    return x\n",
    "@property\ndef net(x: Any) -> Any:\n    return 1\n",
    "def net(x: Any) -> Any:\n    ...\n",
    "def net(\n",
    "def total(self):\n    return 10\n",
    "    def total(self):\n        return 10\n",
    "\tdef total(self):\n\t\treturn 10\n",
    "def total(self):\nreturn 10\n",
    "def total(self):\n    return 10\n\n\ndef other():\n    return 1\n",
    "class Cart:\n    pass\n",
    'class Cart(dict):\n    """A cart."""\n',
    "class Cart:\n    def total(self):\n        return 1\n",
    "RATE = 3\n",
    "RATE = net\nTABLE = {}\n",
    "limit = 5\r\n",
    "size: int = 4",
    "import os, sys\n",
    "import os\nfrom typing import Any\n",
    '"""Docs."""\nfrom __future__ import annotations\n',
    "from shop import *\n",
    "if __name__ == '__main__':\n    pass\n",
    "async def pay():\n    pass\n",
    "await pay()\n",
    "return 1\n",
    "yield\n",
    "del net\n",
    "x = (\n",
    "'''",
    "@net\n",
    "\\\n",
    "def f(): pass; g = 1\n",
    "\x00",
    "\x0c\ndef f():\n    pass\n",
    "\ufeffdef f():\n    pass\n",
    "\ud800",
    "def ünï():\n    return 'ß'\n",
    "lambda: 1\n",
    "<<<<<<< ours\nx = 1\n=======\nx = 2\n>>>>>>> theirs\n",
    '{"results": []}',
    "x" * 5000,
    "[" * 300,
]
TEXT = st.sampled_from(TEXTS) | st.text(max_size=20)
# Most are in their place, or no answer would get past its reading.
SLOTS = st.sampled_from([*["n1"] * 20, "n2", "n24", "shop.py::net", ""])
IDS = st.sampled_from(
    [*NODES, "shop.py", "shop.py::Cart#all", "shop.py::net#api", "nowhere.py", "::"]
)


def objects(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(fields)


def few(item: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.just([]) | st.just([]) | st.lists(item, max_size=2)


STATUSES = [*["edited"] * 12, "no_changes_required", "needs_locks", "failed"]
RESULT = objects(node=SLOTS, status=st.sampled_from(STATUSES), new_source=TEXT, reason=TEXT)
KINDS = st.sampled_from(["function", "method", "class", "assignment"])
REPLIES = objects(
    results=st.lists(RESULT.map(lambda result: {**result, "node": "n1"}), min_size=1, max_size=1)
    | st.lists(RESULT, max_size=3),
    new_nodes=few(objects(parent=SLOTS, after=SLOTS, kind=KINDS, source=TEXT)),
    imports=few(objects(module_of=SLOTS, statement=TEXT)),
    deletes=few(objects(node=SLOTS, reason=TEXT)),
    needs_locks=few(objects(symbol=IDS, mode=st.sampled_from(["read", "write"]), why=TEXT)),
    notes=TEXT,
)
TASKS = st.lists(
    st.tuples(
        st.sampled_from(
            [*NODES, "shop.py::Cart#all", "shop.py::net#api", "new.py", "shop.py::fresh"]
        ),
        st.lists(REPLIES, min_size=2, max_size=2),
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda task: task[0],
)


def run(
    root: Path, tasks: list[tuple[str, list[dict[str, Any]]]]
) -> tuple[Outcome, dict[str, set[NodeId]]]:
    """Have each task answered by its replies, and by nothing after them.

    Return what each was granted, too.
    """
    new = ("new.py", "shop.py::fresh")
    plan = parse_plan(
        {
            "request": "anything",
            "complete": True,
            "tasks": [
                {"id": f"t{i}", "goal": "do it", "creates" if node in new else "writes": [node]}
                for i, (node, _) in enumerate(tasks)
            ],
        }
    )
    raw = {
        f"t{i}": [{"raw": json.dumps(r)} for r in replies] for i, (_, replies) in enumerate(tasks)
    }
    script = root.with_suffix(".json")
    script.write_text(json.dumps({"tasks": raw}))
    granted = {task.id: {*task.writes, *task.creates} for task in plan.tasks}

    def emit(event: Event) -> None:
        if isinstance(event, TaskWidened):
            granted[event.task] |= {*map(NodeId.parse, event.nodes)}

    options = kernel.Options(Config(attempts=2), (f"scripted:{script}",), "builtin", emit=emit)

    async def main() -> Outcome:
        with Store.open(root) as store:
            return await kernel.run(store, plan, options)

    return anyio.run(main), granted


def around(node: NodeId) -> set[NodeId]:
    """Return what else would have to be granted for a node to change."""
    return {node.api, *node.containers}


numbers = itertools.count()


@given(tasks=TASKS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_answer_breaks_a_run_or_leaves_more_than_what_landed(make_repo, tasks):
    root = make_repo({"shop.py": SHOP}, f"repo{next(numbers)}")
    outcome, grants = run(root, tasks)
    landed = {name for name, task in outcome.tasks.items() if task.state is TaskState.DONE}
    assert all(task.state in (TaskState.DONE, TaskState.FAILED) for task in outcome.tasks.values())
    assert all(outcome.tasks[name].reason for name in outcome.tasks.keys() - landed)
    assert all({*wave.tasks} <= landed for wave in outcome.waves)
    assert git(root, "status", "--porcelain") == ""
    for path in git(root, "ls-files").split():
        compile((root / path).read_bytes(), path, "exec", dont_inherit=True)
    granted = {node for name in landed for node in grants[name]}
    before, data = split(SHOP.encode(), "shop.py"), (root / "shop.py").read_bytes()
    if not granted:
        assert data == before.data
    for node in before.nodes:
        # Headers gain imports, and what stands beside a new definition gains or loses blank lines.
        if node.kind in DEFINITIONS and granted.isdisjoint({node.id, *around(node.id)}):
            code = before.data[node.start + node.lead : node.end].rstrip()
            assert code in data, node.id
