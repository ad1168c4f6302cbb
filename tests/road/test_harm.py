"""How agents hurt a person's code: each ends in the right code or in a clear refusal."""

from __future__ import annotations

import sys
import types
from typing import Any
from unittest import mock

import pytest

from mak.events import ReplyRejected, TaskWidened
from mak.model import Outcome, RunState, TaskState
from tests.conftest import git, write
from tests.road.conftest import Road, edited, reply, task, unchanged

SHOP = '''"""Prices."""

import os

RATE = 2


def net(x):
    """Return the net price."""
    return x


def gross(x):
    return net(x) * RATE


class Cart:
    """A cart."""

    def total(self):
        return 1

    def count(self):
        return 2


class Box:
    def open(self):
        return True

    def shut(self):
        return False
'''
TEXT = '''"""Words."""


def shorten(text):
    return text[:3]


def slug(text):
    return text.lower()
'''
NET = 'def net(x):\n    """Return the net price."""\n    return x\n'
TOTAL = "    def total(self):\n        return 1\n"


@pytest.fixture
def road(make_road) -> Road:
    return make_road({"shop.py": SHOP, "text.py": TEXT})


def value(road: Road, expression: str) -> str:
    """Return what an expression is worth to a person who imports what landed."""
    with mock.patch.dict(sys.modules):
        for name in ("text", "shop"):
            module = sys.modules[name] = types.ModuleType(name)
            exec(compile(road.text(f"{name}.py"), name, "exec"), vars(module))
        return str(eval(expression, {name: sys.modules[name] for name in ("text", "shop")}))


def removal(node: str) -> dict[str, Any]:
    return reply(deletes=[{"node": node, "reason": "it is not used"}])


def refused(road: Road, outcome: Outcome, name: str = "a") -> str:
    """Check that nothing landed and that a person is told; return what they are told."""
    assert outcome.state is RunState.FAILED
    assert outcome.tasks[name].state is TaskState.FAILED
    assert git(road.root, "log", "--format=%s").splitlines() == ["base"]
    assert git(road.root, "status", "--porcelain") == ""
    assert outcome.tasks[name].reason
    return outcome.tasks[name].reason


def diff(road: Road) -> str:
    """Return the lines of the last commit that came and went."""
    lines = git(road.root, "show", "--format=", "-U0", "HEAD").splitlines()
    return "\n".join(x for x in lines if x[:1] in "+-" and not x.startswith(("+++", "---")))


# ------------------------------------------------------------------ what was not granted


def test_an_import_that_was_not_granted_lands_in_the_header(road):
    outcome = road.run(
        [task("a", "shop.py::net")],
        {
            "a": [
                reply(
                    edited("n1", NET.replace("return x", "return Decimal(x)")),
                    imports=[{"module_of": "n1", "statement": "from decimal import Decimal"}],
                )
            ]
        },
    )
    assert outcome.state is RunState.DONE
    assert diff(road) == "+from decimal import Decimal\n-    return x\n+    return Decimal(x)"
    assert value(road, "shop.net('1.50')") == "1.50"


def test_an_import_that_stands_in_the_text_of_a_node_lands_in_the_header(road):
    text = "from decimal import Decimal\n\n\n" + NET.replace("return x", "return Decimal(x)")
    outcome = road.run([task("a", "shop.py::net")], {"a": [reply(edited("n1", text))]})
    assert outcome.state is RunState.DONE
    assert diff(road) == "+from decimal import Decimal\n-    return x\n+    return Decimal(x)"


def test_two_agents_that_need_the_same_import_do_not_write_it_twice(road):
    needed = [{"module_of": "n1", "statement": "import math"}]
    outcome = road.run(
        [task("a", "shop.py::net"), task("b", "shop.py::Cart.total")],
        {
            "a": [reply(edited("n1", NET.replace("return x", "return math.pi")), imports=needed)],
            "b": [reply(edited("n1", TOTAL.replace("1", "math.e")), imports=needed)],
        },
    )
    assert outcome.state is RunState.DONE
    assert road.text("shop.py").count("import math") == 1
    assert value(road, "shop.Cart().total() < shop.net(0)") == "True"


def test_an_import_that_would_rebind_a_name_is_refused(road):
    bad = reply(
        edited("n1", NET.replace("return x", "return os.sep")),
        imports=[{"module_of": "n1", "statement": "import posixpath as os"}],
    )
    outcome = road.run([task("a", "shop.py::net")], {"a": [bad] * 3})
    assert "os" in refused(road, outcome)


def test_a_helper_that_was_not_granted_lands_as_a_new_function(road):
    helper = "def half(x):\n    return x / 2\n"
    new = {"parent": "n1", "after": "", "kind": "function", "source": helper}
    outcome = road.run(
        [task("a", "shop.py::net")],
        {"a": [reply(edited("n1", NET.replace("return x", "return half(x)")), new_nodes=[new])]},
    )
    assert outcome.state is RunState.DONE
    assert value(road, "shop.net(3)") == "1.5"
    assert f"\n\n\n{helper}" in road.text("shop.py")


# I6
@pytest.mark.parametrize(
    "smuggled",
    [
        "def half(x):\n    return x / 2\n\n\n" + NET,
        NET + "\n\ndef half(x):\n    return x / 2\n",
        NET + "\n\ndef gross(x):\n    return 0\n",
        NET + "\nRATE = 3\n",
        NET + "\nclass Cart:\n    pass\n",
    ],
    ids=["before", "after", "overrides a neighbour", "rebinds a constant", "a class"],
)
def test_two_things_in_one_slot_are_refused_with_what_to_do(road, smuggled):
    outcome = road.run([task("a", "shop.py::net")], {"a": [reply(edited("n1", smuggled))] * 3})
    assert "return new symbols separately" in refused(road, outcome)


def test_a_new_function_never_shadows_one_that_exists(road):
    new = {"parent": "n1", "after": "", "kind": "function", "source": "def gross(x):\n    pass\n"}
    outcome = road.run(
        [task("a", "shop.py::net")],
        {"a": [reply(edited("n1", NET), new_nodes=[new])] * 4},
    )
    assert "`gross` already exists" in refused(road, outcome)


def test_an_agent_that_needs_a_function_of_another_file_is_granted_it(road):
    need = {"symbol": "text.py::shorten", "mode": "write", "why": "it cuts too much"}
    asks = reply(
        {"node": "n1", "status": "needs_locks", "new_source": "", "reason": "shorten is wrong"},
        needs_locks=[need],
    )
    outcome = road.run(
        [task("a", "shop.py::net"), task("b", "text.py::slug")],
        {
            "a": [
                asks,
                reply(
                    edited("shop.py::net", NET.replace("return x", "return shorten(x)")),
                    edited("text.py::shorten", "def shorten(text):\n    return text[:4]\n"),
                    imports=[{"module_of": "n1", "statement": "from text import shorten"}],
                ),
            ],
            "b": [reply(edited("n1", "def slug(text):\n    return text.upper()\n"))],
        },
    )
    assert outcome.state is RunState.DONE
    assert [event.nodes for event in road.of(TaskWidened)] == [("text.py::shorten",)]
    assert len(outcome.waves) == 1
    assert value(road, "shop.net('abcdef'), text.slug('a')") == "('abcd', 'A')"


def test_an_edit_of_a_node_that_was_not_granted_does_not_land_unseen(road):
    """The text was made without having seen the node: it is shown first, then asked again."""
    blind = reply(
        edited("n1", NET.replace("return x", "return -x")),
        edited("text.py::slug", "def slug(text):\n    return 'lost'\n"),
    )
    seen = reply(edited("n1", NET.replace("return x", "return -x")), unchanged("n2"))
    outcome = road.run([task("a", "shop.py::net")], {"a": [blind, seen]})
    assert outcome.state is RunState.DONE
    assert outcome.tasks["a"].attempts == 2
    assert value(road, "shop.net(1), text.slug('A')") == "(-1, 'a')"


def test_what_an_agent_needs_and_a_person_is_editing_is_refused(road):
    write(road.root, {"text.py": TEXT.replace("[:3]", "[:9]")})
    need = {"symbol": "text.py::shorten", "mode": "write", "why": "it cuts too much"}
    asks = reply(
        {"node": "n1", "status": "needs_locks", "new_source": "", "reason": "shorten is wrong"},
        needs_locks=[need],
    )
    outcome = road.run([task("a", "shop.py::net")], {"a": [asks] * 3})
    assert outcome.state is RunState.FAILED
    assert "text.py, which has uncommitted changes" in outcome.tasks["a"].reason
    assert "[:9]" in road.text("text.py")


def test_what_an_agent_needs_and_does_not_exist_is_refused(road):
    asks = reply(
        {"node": "n1", "status": "needs_locks", "new_source": "", "reason": "elsewhere"},
        needs_locks=[{"symbol": "text.py::nothing", "mode": "write", "why": "I thought so"}],
    )
    outcome = road.run([task("a", "shop.py::net")], {"a": [asks] * 3})
    assert "text.py::nothing" in refused(road, outcome)


@pytest.mark.parametrize("where", ["../outside.py::f", "/etc/hosts", ".git/config"])
def test_what_an_agent_needs_outside_is_refused(road, where):
    (road.root.parent / "outside.py").write_text("def f():\n    pass\n")
    asks = reply(
        {"node": "n1", "status": "needs_locks", "new_source": "", "reason": "elsewhere"},
        needs_locks=[{"symbol": where, "mode": "write", "why": "to see"}],
    )
    outcome = road.run([task("a", "shop.py::net")], {"a": [asks] * 3})
    assert where.partition("::")[0] in refused(road, outcome)


@pytest.mark.parametrize("path", ["../x.py", ".git/hooks/x.py", "build/x.py", "there.py"])
def test_a_new_file_where_none_may_be_is_refused(road, path):
    write(road.root, {".git/info/exclude": "build/\nthere.py\n", "there.py": "x = 'mine'\n"})
    new = {"parent": path, "after": "", "kind": "function", "source": "def f():\n    return 1\n"}
    outcome = road.run(
        [task("a", "shop.py::net")],
        {"a": [reply(edited("n1", NET.replace("return x", "return 3")), new_nodes=[new])] * 3},
    )
    assert path in refused(road, outcome)
    assert road.text("there.py") == "x = 'mine'\n"
    assert not any((road.root / where).exists() for where in {path} - {"there.py"})


# ------------------------------------------------------------------ where new things land


@pytest.mark.parametrize("parent", ["Cart.total", "Cart"])
def test_a_new_method_lands_in_its_class(road, parent):
    new = {
        "parent": "n1",
        "after": "",
        "kind": "method",
        "source": "def empty(self):\n    return self.count() == 0\n",
    }
    outcome = road.run(
        [task("a", f"shop.py::{parent}")], {"a": [reply(unchanged("n1"), new_nodes=[new])]}
    )
    assert outcome.state is RunState.DONE
    assert value(road, "shop.Cart().empty(), hasattr(shop, 'empty')") == "(False, False)"
    assert diff(road) == "+    def empty(self):\n+        return self.count() == 0\n+"


def test_a_new_method_of_a_function_is_refused(road):
    new = {"parent": "n1", "after": "", "kind": "method", "source": "def empty(self):\n    pass\n"}
    outcome = road.run(
        [task("a", "shop.py::net")], {"a": [reply(edited("n1", NET), new_nodes=[new])] * 3}
    )
    assert "lies in no class" in refused(road, outcome)


def test_a_new_decorator_stands_before_its_first_use(road):
    decorator = "def traced(f):\n    return lambda *args: [f(*args)]\n"
    new = {"parent": "n1", "after": "", "kind": "function", "source": decorator}
    outcome = road.run(
        [task("a", "shop.py::net")],
        {"a": [reply(edited("n1", "@traced\n" + NET), new_nodes=[new])]},
    )
    assert outcome.state is RunState.DONE
    assert value(road, "shop.net(3)") == "[3]"


def test_a_new_base_class_stands_before_its_first_use(road):
    base = {
        "parent": "n1",
        "after": "n1",
        "kind": "class",
        "source": "class Holder:\n    def held(self):\n        return self.count()\n",
    }
    outcome = road.run(
        [task("a", "shop.py::Cart")],
        {"a": [reply(edited("n1", 'class Cart(Holder):\n    """A cart."""\n'), new_nodes=[base])]},
    )
    assert outcome.state is RunState.DONE
    assert value(road, "shop.Cart().held(), shop.Cart().total()") == "(2, 1)"


def test_a_new_constant_stands_before_the_default_that_uses_it(road):
    new = {"parent": "n1", "after": "", "kind": "assignment", "source": "ZERO = 0\n"}
    outcome = road.run(
        [task("a", "shop.py::net")],
        {"a": [reply(edited("n1", NET.replace("(x)", "(x=ZERO)")), new_nodes=[new])]},
    )
    assert outcome.state is RunState.DONE
    assert value(road, "shop.net()") == "0"


# ------------------------------------------------------------------ texts that do not fit


def test_a_reply_that_renames_the_function_never_leaves_its_callers_behind(road):
    renamed = reply(edited("n1", NET.replace("net(", "netto(")))
    outcome = road.run([task("a", "shop.py::net")], {"a": [renamed] * 6})
    assert "gross" in refused(road, outcome) or "net" in refused(road, outcome)


def test_a_reply_that_renames_the_function_lands_with_its_callers(road):
    renamed = edited("shop.py::net", NET.replace("net(", "netto("))
    callers = edited("shop.py::gross", "def gross(x):\n    return netto(x) * RATE\n")
    attempts = [reply(renamed), reply(renamed), reply(renamed, callers), reply(renamed, callers)]
    outcome = road.run([task("a", "shop.py::net")], {"a": attempts})
    assert outcome.state is RunState.DONE
    assert value(road, "shop.gross(2), shop.netto(2), hasattr(shop, 'net')") == "(4, 2, False)"


def test_text_at_column_0_lands_inside_its_class(road):
    flat = "def total(self):\n    if self:\n        return 10\n    return 0\n"
    outcome = road.run([task("a", "shop.py::Cart.total")], {"a": [reply(edited("n1", flat))]})
    assert outcome.state is RunState.DONE
    assert diff(road) == (
        "-        return 1\n+        if self:\n+            return 10\n+        return 0"
    )


def test_text_that_is_indented_too_much_lands_at_the_top_level(road):
    text = "        def net(x):\n            return 7\n"
    outcome = road.run([task("a", "shop.py::net")], {"a": [reply(edited("n1", text))]})
    assert outcome.state is RunState.DONE
    assert value(road, "shop.net(1)") == "7"


def test_text_at_column_0_keeps_a_string_over_several_lines_as_it_is(road):
    flat = 'def total(self):\n    return """a\nb\n  c"""\n'
    outcome = road.run([task("a", "shop.py::Cart.total")], {"a": [reply(edited("n1", flat))]})
    assert outcome.state is RunState.DONE
    assert value(road, "shop.Cart().total()") == "a\nb\n  c"


@pytest.mark.parametrize(
    "text",
    [
        "def net(x):\n    # ... existing code ...\n",
        "def net(x):\n    ...\n",
        "```python\ndef net(x):\n    return 2\n```\n",
        "def net(x):\n<<<<<<< ours\n    return 2\n=======\n    return 3\n>>>>>>> theirs\n",
        "net = lambda x: x\n",
        "Here is the new function:\n\n" + NET,
        "return 3\n",
        "async def net(x):\n    return x\n",
    ],
    ids=["elided", "gutted", "fenced", "markers", "no function", "prose", "body", "async"],
)
def test_text_that_is_no_new_function_is_never_committed(road, text):
    outcome = road.run([task("a", "shop.py::net")], {"a": [reply(edited("n1", text))] * 6})
    if outcome.state is RunState.DONE:
        assert value(road, "shop.gross(2)") == "4"
        assert "`" not in diff(road)
    else:
        refused(road, outcome)


def test_a_new_base_of_a_class_without_a_docstring_keeps_its_members(road):
    outcome = road.run(
        [task("a", "shop.py::Box")], {"a": [reply(edited("n1", "class Box(Cart):\n"))]}
    )
    assert outcome.state is RunState.DONE
    assert diff(road) == "-class Box:\n+class Box(Cart):"
    assert value(road, "shop.Box().open(), shop.Box().total()") == "(True, 1)"


@pytest.mark.parametrize("filler", ["    pass\n", "    ...\n", "    # as before\n"])
def test_a_class_shell_with_a_placeholder_keeps_its_members(road, filler):
    text = f"class Box(Cart):\n{filler}"
    outcome = road.run([task("a", "shop.py::Box")], {"a": [reply(edited("n1", text))] * 3})
    assert value(road, "shop.Box().open(), shop.Box().shut()") == "(True, False)"
    if outcome.state is not RunState.DONE:
        refused(road, outcome)


def test_a_reply_that_writes_a_whole_class_keeps_what_other_agents_did_in_it(road):
    """It holds the class as its agent saw it, which is not how it is when the reply comes."""
    whole = SHOP[SHOP.index("class Cart") : SHOP.index("\n\nclass Box")]
    outcome = road.run(
        [task("a", "shop.py::Cart.count"), task("b", "shop.py::Cart")],
        {
            "a": [reply(edited("n1", "    def count(self):\n        return 20\n"))],
            "b": [reply(edited("n1", whole.replace("A cart.", "A big cart.")))] * 3,
        },
    )
    assert "        return 20\n" in road.text("shop.py") or outcome.state is RunState.FAILED
    assert value(road, "shop.Cart().total()") == "1"


# ------------------------------------------------------------------ callers in the plan


SLOW = "async def net(x):\n    return x\n"
TWICE = "def net(x, y):\n    return x * y\n"
NETTO = NET.replace("net(", "netto(")
GROSS = "def gross(x):\n    return net(x) * RATE\n"


def works(road: Road, outcome: Outcome) -> None:
    """Check that whatever landed still computes; a run that says it is done has done it all."""
    assert value(road, "shop.gross(3) > 0") == "True"
    if outcome.state is not RunState.DONE:
        assert outcome.state is RunState.FAILED
        assert any(found.reason for found in outcome.tasks.values())


@pytest.mark.parametrize("text", [SLOW, TWICE, NETTO], ids=["async", "parameter", "renamed"])
def test_a_caller_that_was_granted_and_left_as_it_is_is_noticed(road, text):
    broken = reply(edited("shop.py::net", text), unchanged("shop.py::gross"))
    outcome = road.run([task("a", "shop.py::net#api", "shop.py::gross")], {"a": [broken] * 4})
    assert "gross" in refused(road, outcome)
    works(road, outcome)


@pytest.mark.parametrize("late", ["a", "b"])
@pytest.mark.parametrize("text", [SLOW, TWICE, NETTO], ids=["async", "parameter", "renamed"])
def test_a_caller_that_another_task_leaves_as_it_is_is_noticed(road, text, late):
    broken = reply(edited("shop.py::net", text))
    script = {"a": [broken] * 6, "b": [reply(unchanged("n1"))] * 6}
    script[late][0] = {**script[late][0], "delay_s": 0.1}
    tasks = [task("a", "shop.py::net#api"), task("b", "shop.py::gross")]
    works(road, road.run(tasks, script))


@pytest.mark.parametrize("late", ["a", "b"])
@pytest.mark.parametrize("text", [TWICE, NETTO], ids=["parameter", "renamed"])
def test_a_caller_that_another_task_edits_but_does_not_adapt_is_noticed(road, text, late):
    broken = reply(edited("shop.py::net", text))
    other = reply(edited("n1", GROSS.replace("RATE", "(RATE + 1)")))
    script = {"a": [broken] * 6, "b": [other] * 6}
    script[late][0] = {**script[late][0], "delay_s": 0.1}
    tasks = [task("a", "shop.py::net#api"), task("b", "shop.py::gross")]
    works(road, road.run(tasks, script))


@pytest.mark.parametrize("late", ["a", "b"])
def test_a_caller_that_another_task_adapts_lands_with_what_it_calls(road, late):
    script = {
        "a": [reply(edited("n1", TWICE))],
        "b": [reply(edited("n1", GROSS.replace("net(x)", "net(x, 5)")))],
    }
    script[late][0] = {**script[late][0], "delay_s": 0.1}
    outcome = road.run([task("a", "shop.py::net#api"), task("b", "shop.py::gross")], script)
    assert outcome.state is RunState.DONE
    assert value(road, "shop.gross(3)") == "30"


def test_a_failed_wave_check_is_not_the_fault_of_other_tasks_in_the_file(road):
    broken = reply(edited("shop.py::net", TWICE))
    outcome = road.run(
        [
            task("a", "shop.py::net#api"),
            task("b", "shop.py::gross"),
            task("c", "shop.py::Cart.total"),
        ],
        {
            "a": [broken] * 6,
            "b": [{**reply(unchanged("n1")), "delay_s": 0.1}],
            "c": [reply(edited("n1", TOTAL.replace("1", "10")))],
        },
    )
    works(road, outcome)
    assert outcome.tasks["c"].state is TaskState.DONE
    assert value(road, "shop.Cart().total()") == "10"


# ------------------------------------------------------------------ what was deleted


def test_a_deleted_function_stays_deleted_when_others_touch_the_file(road):
    outcome = road.run(
        [
            task("a", "shop.py::gross"),
            task("b", "shop.py::net"),
            task("c", "shop.py::Cart.total", depends_on=["a"]),
        ],
        {
            "a": [removal("n1")],
            "b": [
                {**reply(edited("n1", NET.replace("return x", "return -x"))), "delay_s": 0.05},
            ],
            "c": [reply(edited("n1", TOTAL.replace("1", "10")))],
        },
    )
    assert outcome.state is RunState.DONE
    assert "def gross" not in road.text("shop.py")
    assert value(road, "shop.net(1), shop.Cart().total()") == "(-1, 10)"
    again = road.run([task("d", "shop.py::net")], {"d": [reply(edited("n1", NET))]})
    assert again.state is RunState.DONE
    assert "def gross" not in git(road.root, "show", "HEAD:shop.py")


def test_a_function_that_others_call_is_not_deleted_under_them(road):
    outcome = road.run([task("a", "shop.py::net")], {"a": [removal("n1")] * 4})
    assert "gross" in refused(road, outcome)


def test_a_class_is_only_deleted_with_its_members_when_that_was_granted(road):
    outcome = road.run([task("a", "shop.py::Box")], {"a": [removal("n1")] * 4})
    if outcome.state is RunState.DONE:
        assert "Box" not in road.text("shop.py") and "def open" not in road.text("shop.py")
    else:
        assert "#all" in refused(road, outcome)


def test_a_function_left_out_of_a_whole_file_is_not_lost(road):
    short = TEXT.replace("\n\ndef slug(text):\n    return text.lower()\n", "")
    outcome = road.run([task("a", "text.py")], {"a": [reply(edited("n1", short))] * 3})
    assert "slug" in refused(road, outcome)
    assert [event.check for event in road.of(ReplyRejected)] == ["lost-symbol"] * 3
