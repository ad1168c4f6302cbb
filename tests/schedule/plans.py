"""Small plans, and a strategy for random ones."""

from hypothesis import strategies as st

from mak.model import NodeId, Plan, Task


def ids(*texts: str) -> tuple[NodeId, ...]:
    return tuple(NodeId.parse(text) for text in texts)


def task(
    id: str,
    writes: str = "",
    reads: str = "",
    creates: str = "",
    after: str = "",
) -> Task:
    """A task whose fields are given as words."""
    return Task(
        id,
        f"do {id}",
        ids(*writes.split()),
        ids(*reads.split()),
        ids(*creates.split()),
        tuple(after.split()),
    )


def plan(*tasks: Task) -> Plan:
    return Plan("a request", tasks)


#: Few nodes, so that random tasks meet.
NODES = ids(
    "a.py",
    "a.py::@header",
    "a.py::f",
    "a.py::f#api",
    "a.py::C",
    "a.py::C#all",
    "a.py::C.m",
    "a.py::C.m#api",
    "b.py",
    "b.py::g",
    "b.py::g#api",
)

nodes = st.lists(st.sampled_from(NODES), max_size=3, unique=True).map(tuple)


@st.composite
def plans(draw: st.DrawFn, max_size: int = 12) -> Plan:
    """Acyclic plans whose tasks come in no particular order."""
    size = draw(st.integers(1, max_size))
    order = draw(st.permutations(range(size)))
    tasks = []
    for i in range(size):
        earlier = [f"t{order[j]}" for j in range(i)]
        tasks.append(
            Task(
                f"t{order[i]}",
                "goal",
                draw(nodes),
                draw(nodes),
                draw(nodes),
                tuple(draw(st.lists(st.sampled_from(earlier), max_size=2, unique=True)))
                if earlier
                else (),
            )
        )
    return Plan("random", tuple(draw(st.permutations(tasks))))
