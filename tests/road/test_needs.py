"""Write sets that grow, and what was read and changed meanwhile."""

from __future__ import annotations

import pytest

from mak.events import ReplyParked, ReplyRejected, TaskWidened
from mak.model import RunState
from mak.runlog import read_replies
from mak.store import Store
from tests.road.conftest import Road, edited, reply, task, unchanged

SHOP = """from text import shorten


def net(x):
    return x


def label(x):
    return shorten(str(x))
"""
TEXT = """def shorten(text):
    return text[:3]


def slug(text):
    return text.lower()


def plain(text):
    return text
"""
LABEL = "def label(x):\n    return shorten(str(x))\n"
NEEDED = {"node": "n1", "status": "needs_locks", "new_source": "", "reason": "it cuts too much"}


@pytest.fixture
def road(make_road):
    return make_road({"shop.py": SHOP, "text.py": TEXT})


def needs(symbol: str) -> dict:
    """Return the answer of an agent that cannot go on without a node."""
    return reply(NEEDED, needs_locks=[{"symbol": symbol, "mode": "write", "why": "it cuts"}])


def later(attempt: dict, seconds: float = 0.4) -> dict:
    """Let an agent take its time."""
    return {**attempt, "delay_s": seconds}


def test_what_another_task_holds_is_queued_for_and_seen_as_it_left_it(road: Road) -> None:
    outcome = road.run(
        [task("holder", "text.py::shorten"), task("asker", "shop.py::label")],
        {
            "holder": [
                later(reply(edited("n1", "def shorten(text):\n    return text[:4]\n"))),
            ],
            "asker": [
                needs("text.py::shorten"),
                # what the holder wrote is in the text that this one extends
                reply(
                    edited("n1", LABEL.replace("str(x)", "f'{x}'")),
                    edited("n2", "def shorten(text):\n    return text[:4].strip()\n"),
                ),
            ],
        },
    )
    assert outcome.state is RunState.DONE
    assert [(e.task, e.nodes, e.queued) for e in road.of(TaskWidened)] == [
        ("asker", ("text.py::shorten",), True)
    ]
    assert road.of(ReplyRejected) == []
    assert len(outcome.waves) == 1
    assert "return text[:4].strip()" in road.text("text.py")
    assert outcome.tasks["asker"].attempts == 2


def test_a_queued_task_holds_nothing_meanwhile(road: Road) -> None:
    """Another task takes what the waiting one gave up, and is settled before it."""
    order: list[str] = []
    road.watchers.append(lambda e: order.append(e.task) if type(e).__name__ == "TaskSettled" else 0)
    outcome = road.run(
        [
            task("holder", "text.py::shorten"),
            task("asker", "shop.py::label"),
            task("third", "shop.py::label"),
        ],
        {
            "holder": [later(reply(edited("n1", "def shorten(text):\n    return text[:4]\n")), 1)],
            "asker": [
                needs("text.py::shorten"),
                reply(
                    edited("n1", LABEL.replace("str(x)", "repr(x)").replace("label", "label")),
                    unchanged("n2"),
                ),
            ],
            "third": [reply(edited("n1", LABEL.replace("str(x)", "format(x)")))],
        },
    )
    assert outcome.state is RunState.DONE
    assert order.index("third") < order.index("holder") < order.index("asker")
    assert "repr(x)" in road.text("shop.py")


def test_who_still_needs_more_after_two_grants_ends_with_everything_kept(road: Road) -> None:
    asked = [needs("text.py::shorten"), needs("text.py::slug"), needs("text.py::plain")]
    outcome = road.run([task("a", "shop.py::label")], {"a": asked})
    assert outcome.state is RunState.FAILED
    assert [e.nodes for e in road.of(TaskWidened)] == [("text.py::shorten",), ("text.py::slug",)]
    assert "it still needs text.py::plain" in outcome.tasks["a"].reason
    assert [e.attempt for e in road.of(ReplyParked)] == [1, 2, 3]
    with Store.open(road.root) as store:
        kept = read_replies(store, outcome.run)
    assert [str(kept["a", n].reply.needs[0].node) for n in (1, 2, 3)] == [
        "text.py::shorten",
        "text.py::slug",
        "text.py::plain",
    ]


def test_a_body_that_was_read_may_change(road: Road) -> None:
    outcome = road.run(
        [
            task("body", "text.py::shorten"),
            task("user", "shop.py::label", reads=["text.py::shorten#api"]),
        ],
        {
            "body": [reply(edited("n1", "def shorten(text):\n    return text[:9]\n"))],
            "user": [later(reply(edited("n1", LABEL.replace("str(x)", "repr(x)"))))],
        },
    )
    assert outcome.state is RunState.DONE
    assert outcome.tasks["user"].attempts == 1
    assert len(outcome.waves) == 1


def test_an_interface_that_changed_under_an_edit_is_asked_about_with_the_draft(make_road):
    """The reader was at work while a task, widened to it, let the parameters change places."""
    road = make_road(
        {
            "shop.py": SHOP,
            "cut.py": "def cut(text, size):\n    return text[:size]\n",
            "use.py": "from cut import cut\n\n\ndef use():\n    return 1\n",
        }
    )
    swapped = "def cut(size, text):\n    return text[:size]\n"
    use = "def use():\n    return cut({})\n"
    outcome = road.run(
        [task("swap", "shop.py::net"), task("use", "use.py::use")],
        {
            "swap": [
                needs("cut.py::cut"),
                reply(unchanged("n1"), edited("n2", swapped)),
            ],
            "use": [
                later(reply(edited("n1", use.format("'abc', 2"))), 1),
                reply(edited("n1", use.format("2, 'abc'"))),
            ],
        },
    )
    rejected = road.of(ReplyRejected)
    assert outcome.state is RunState.DONE
    assert [(e.task, e.check) for e in rejected] == [("use", "stale-read")]
    assert "`def cut(text, size)`" in rejected[0].reason
    assert "meanwhile it is `def cut(size, text)`" in rejected[0].reason
    assert "cut(2, 'abc')" in road.text("use.py")
