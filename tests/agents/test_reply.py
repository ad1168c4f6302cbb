"""What an answer may look like, and what it is turned into or turned down for."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mak.agents import reply_schema
from mak.agents.document import SLOT_NAMES, ReplyDocument
from mak.agents.needs import find
from mak.agents.reply import Malformed, find_json, parse, read, scope, to_reply, validate
from mak.model import (
    AddImport,
    Delete,
    Insert,
    Need,
    NodeId,
    Replace,
    Reply,
    ReplyStatus,
)
from tests.agents.conftest import SHOP, tree

EMPTY: dict[str, Any] = {
    "results": [],
    "new_nodes": [],
    "imports": [],
    "deletes": [],
    "needs_locks": [],
    "notes": "",
}


def result(node: str, status: str = "edited", source: str = "", reason: str = "") -> dict[str, str]:
    return {"node": node, "status": status, "new_source": source, "reason": reason}


def answer(*results: dict[str, str], **parts: Any) -> str:
    return json.dumps({**EMPTY, "results": list(results), **parts})


NET = result("n1", source="def net(x):\n    return 1\n")


# ---------------------------------------------------------------------------------- the schema


def test_the_schema_is_the_same_bytes_every_time_and_holds_the_slots():
    first, second = json.dumps(reply_schema()), json.dumps(reply_schema())
    assert first == second
    assert f'"enum": {json.dumps(list(SLOT_NAMES))}' in first


def objects(schema: Any):
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from objects(value)
    if isinstance(schema, list):
        for value in schema:
            yield from objects(value)


def test_the_schema_stays_in_the_subset_that_strict_modes_share():
    found = list(objects(reply_schema()))
    assert len(found) == 6
    for part in found:
        assert part["required"] == list(part["properties"])
        assert part["additionalProperties"] is False
    text = json.dumps(reply_schema())
    for absent in ('"null"', "anyOf", "maxLength", "pattern", "default", "minItems"):
        assert absent not in text


def test_both_sdks_take_the_schema_as_it_is():
    from anthropic import transform_schema

    from mak.providers.ladder import strict

    def bare(schema: Any) -> Any:
        if isinstance(schema, dict):
            # Anthropic's drops the type beside an enum.
            left_out = {"title", "description"} | ({"type"} if "enum" in schema else set())
            return {k: bare(v) for k, v in schema.items() if k not in left_out}
        return [bare(item) for item in schema] if isinstance(schema, list) else schema

    assert bare(transform_schema(reply_schema())) == bare(reply_schema())
    assert strict(reply_schema()) == reply_schema()


# ------------------------------------------------------------------------------------ the text

WHOLE = answer(result("n1", source="def f():\n    return '```'\n"))


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        f"\ufeff  {WHOLE}\n",
        f"```json\n{WHOLE}\n```",
        f"```\n{WHOLE}\n```\nHope it helps.",
        f"Sure {{like this}} — here:\n\n{WHOLE}\n\nDone.",
        # Grammar-bound local models write control characters raw.
        WHOLE.replace("\\n", "\n"),
    ],
)
def test_json_is_found_past_fences_prose_and_raw_control_characters(text):
    document = parse(text)
    assert isinstance(document, ReplyDocument)
    assert document.results[0].new_source == "def f():\n    return '```'\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no JSON object"),
        ("I cannot do that.", "no JSON object"),
        ("[1, 2]", "no JSON object"),
        ('{"results": [oops', "not JSON: Expecting value at line 1 column 14, near"),
        (WHOLE[:-20], "not JSON: "),
        ('{"results": [], "results": []}', "'results' is given twice"),
        ('{"a":' * 50_000, "nested too deeply"),
        ('{"results": ' + "9" * 5000 + "}", "not JSON"),
    ],
)
def test_what_is_no_json_is_said_with_its_place(text, said):
    got = parse(text)
    assert isinstance(got, Malformed) and got.shapeless
    assert said in str(got)
    assert len(str(got)) < 400


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"results": "x"}, "results: Input should be a valid list"),
        ({"results": [result("n25")]}, "results[0].node: 'n25' is not a slot (n1 to n24)"),
        ({"results": [result("shop.py::net")]}, "is not a slot"),
        ({"results": [result("n1", "done")]}, "results[0].status: Input should be 'edited',"),
        ({"results": [{"node": "n1"}]}, "results[0].status: Field required"),
        ({"more": 1}, "more: Extra inputs are not permitted"),
        ({"notes": None}, "notes: Input should be a valid string"),
        ({"imports": [{"module_of": "n1"}]}, "imports[0].statement: Field required"),
        (
            {"new_nodes": [{"parent": "n1", "kind": "module", "source": "x"}]},
            "new_nodes[0].kind: Input should be",
        ),
    ],
)
def test_what_has_another_shape_is_said_with_its_place(change, said):
    got = validate({**EMPTY, **change})
    assert isinstance(got, Malformed) and got.shapeless
    assert said in str(got)


def test_fields_whose_absence_can_only_mean_none_may_be_absent():
    got = validate({"results": [{"node": "n1", "status": "failed", "reason": "no"}]})
    assert isinstance(got, ReplyDocument)
    assert isinstance(validate({"notes": ""}), Malformed)


def test_only_so_many_errors_are_shown():
    got = validate({**EMPTY, "results": [result("n99")] * 40})
    assert str(got).endswith("and 32 more")


@given(st.text())
def test_reading_any_text_ends_in_a_document_or_in_errors(text):
    got = parse(text)
    assert isinstance(got, ReplyDocument) or got.errors


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(SLOT_NAMES),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*EMPTY, "node", "status", "new_source", "reason", "source"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(values)
def test_any_json_is_read_as_what_the_schema_says(data):
    """Whatever the schema accepts is read; what is read, filled up, is what the schema accepts."""
    got = validate(data)
    accepted = jsonschema.Draft202012Validator(reply_schema()).is_valid(data)
    if accepted:
        assert isinstance(got, ReplyDocument)
    if isinstance(got, ReplyDocument):
        jsonschema.validate(got.model_dump(), reply_schema())


# ----------------------------------------------------------------------------------- the needs

TREE = tree(
    {
        "shop.py": SHOP,
        "src/pkg/__init__.py": "",
        "src/pkg/mod.py": "def f(): 1\n",
        "a/same.py": "x = 1\n",
        "b/same.py": "x = 1\n",
    }
)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("shop.py::net", "shop.py::net"),
        (" `shop.py::Cart.total` ", "shop.py::Cart.total"),
        ("shop.py::Cart#all", "shop.py::Cart#all"),
        ("shop.py::net#api", "shop.py::net#api"),
        ("shop.py", "shop.py"),
        ("pkg.mod.f", "src/pkg/mod.py::f"),
        ("pkg.mod", "src/pkg/mod.py"),
        ("pkg", "src/pkg/__init__.py"),
        ("shop.Cart.total", "shop.py::Cart.total"),
        ("src/pkg/new.py", "src/pkg/new.py"),
    ],
)
def test_a_need_is_found_by_id_or_as_python_names_it(text, node):
    assert str(find(text, TREE)) == node


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("shop.py::nett", "shop.py has no nett; did you mean net?"),
        ("shp.py::net", "there is no file shp.py; did you mean shop.py?"),
        ("same.x", "there is no file same.x"),
        ("pkg.mod.g", "there is no file pkg.mod.g"),
        ("the function that adds", "there is no file"),
    ],
)
def test_a_need_for_what_is_not_there_is_said(text, said):
    found = find(text, TREE)
    assert isinstance(found, str) and said in found


def test_a_reply_that_needs_what_is_not_there_is_turned_down(assign):
    a = assign("shop.py::net")
    need = {"symbol": "shop.py::nett", "mode": "read", "why": ""}
    got = read(answer(NET, needs_locks=[need]), a.slots, a.sources)
    assert isinstance(got, Malformed)
    assert "needs_locks[0].symbol: shop.py has no nett; did you mean net?" in str(got)


# ----------------------------------------------------------------------------------- the reply


def good(text: str, assignment) -> Reply:
    got = read(text, assignment.slots)
    assert isinstance(got, Reply), got
    return got


def bad(text: str, assignment) -> str:
    got = read(text, assignment.slots)
    assert isinstance(got, Malformed) and not got.shapeless, got
    return str(got)


def test_edits_name_nodes_and_files(assign):
    a = assign("shop.py::net", "shop.py::Cart#all", creates=("new.py", "shop.py::Cart.fresh"))
    b = assign("shop.py::net", creates=("new.py", "shop.py::Cart.fresh", "shop.py::g"))
    whole = answer(*(result(f"n{i}", source=f"text {i}\n") for i in (1, 2, 3)))
    assert good(whole, a).edits == (
        Replace(NodeId("shop.py", "net"), "text 1\n"),
        Replace(NodeId.parse("shop.py::Cart#all"), "text 2\n"),
        Replace(NodeId("new.py"), "text 3\n"),
    )
    whole = answer(*(result(f"n{i}", source=f"text {i}\n") for i in (1, 2, 3, 4)))
    assert good(whole, b).edits == (
        Replace(NodeId("shop.py", "net"), "text 1\n"),
        Replace(NodeId("new.py"), "text 2\n"),
        Insert(NodeId("shop.py", "Cart"), "text 3\n"),
        Insert(NodeId("shop.py"), "text 4\n"),
    )


def test_additions_go_to_the_file_or_the_class_of_their_slot(assign):
    a = assign("shop.py::Cart.total", "shop.py::net")
    text = answer(
        result("n1", source="    def total(self):\n        pass\n"),
        result("n2", "no_changes_required", reason="it is fine"),
        new_nodes=[
            {"parent": "n1", "after": "n1", "kind": "method", "source": "def m(self):\n    pass\n"},
            {"parent": "n1", "after": "n2", "kind": "function", "source": "def g():\n    pass\n"},
            {"parent": "n1", "after": "n1", "kind": "class", "source": "class D:\n    pass\n"},
        ],
        imports=[{"module_of": "n1", "statement": " import os\n"}],
    )
    got = good(text, a)
    assert got.status is ReplyStatus.EDITED
    assert got.edits[1:] == (
        Insert(
            NodeId("shop.py", "Cart"), "def m(self):\n    pass\n", NodeId("shop.py", "Cart.total")
        ),
        Insert(NodeId("shop.py"), "def g():\n    pass\n", NodeId("shop.py", "net")),
        Insert(NodeId("shop.py"), "class D:\n    pass\n"),
        AddImport("shop.py", "import os"),
    )


def test_a_deleted_slot_needs_no_result(assign):
    a = assign("shop.py::net", "shop.py::last")
    text = answer(result("n2", source="def last(): ...\n"), deletes=[{"node": "n1", "reason": ""}])
    assert good(text, a).edits == (
        Delete(NodeId("shop.py", "net")),
        Replace(NodeId("shop.py", "last"), "def last(): ...\n"),
    )


def test_no_change_is_asserted_with_its_reason(assign):
    got = good(answer(result("n1", "no_changes_required", reason="done before")), assign("shop.py"))
    assert (got.status, got.reason, got.edits) == (ReplyStatus.UNCHANGED, "done before", ())


def test_needs_keep_the_edits_that_came_with_them(assign):
    a = assign("shop.py::net", "shop.py::last")
    text = answer(
        result("n1", source="def net(x): return 1\n"),
        result("n2", "needs_locks", reason="callers"),
        needs_locks=[{"symbol": "shop.py::Cart.total", "mode": "write", "why": "it calls net"}],
    )
    got = good(text, a)
    assert got.status is ReplyStatus.NEEDS
    assert got.needs == (Need(NodeId("shop.py", "Cart.total"), True, "it calls net"),)
    assert len(got.edits) == 1


def test_a_failure_is_a_refusal_with_its_reason(assign):
    got = good(answer(result("n1", "failed", reason="it makes no sense")), assign("shop.py::net"))
    assert (got.status, got.reason) == (ReplyStatus.REFUSED, "it makes no sense")


def test_an_empty_new_file_is_an_edit(assign):
    got = good(answer(result("n1")), assign(creates=("pkg/__init__.py",)))
    assert got.edits == (Replace(NodeId("pkg/__init__.py"), ""),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (answer(), "results: n1 (shop.py::net) has no entry"),
        (answer(NET, result("n7", source="x")), "results[1]: n7 is not a slot of this task (n1)"),
        (answer(NET, NET), "results[1]: n1 already has results[0]"),
        (answer(result("n1")), "n1 is edited, but new_source is empty; to remove a node name it"),
        (answer(result("n1", "no_changes_required")), "n1 needs no change, but gives no reason"),
        (
            answer(result("n1", "no_changes_required", "other", "ok")),
            "n1 says no_changes_required, but new_source differs",
        ),
        (answer(result("n1", "failed")), "n1 failed without a reason"),
        (answer(result("n1", "needs_locks")), "n1 needs locks, but needs_locks names none"),
        (answer(NET, deletes=[{"node": "n1", "reason": ""}]), "n1 already has deletes[0]"),
        (
            answer(NET, imports=[{"module_of": "n1", "statement": "os.system('x')"}]),
            "imports[0]: \"os.system('x')\" is not an import statement",
        ),
        (
            answer(
                NET,
                new_nodes=[{"parent": "n1", "after": "", "kind": "method", "source": "def m(): 1"}],
            ),
            "new_nodes[0]: n1 lies in no class",
        ),
        (
            answer(
                NET, new_nodes=[{"parent": "n1", "after": "", "kind": "function", "source": " "}]
            ),
            "new_nodes[0]: source is empty",
        ),
        (
            answer(NET, needs_locks=[{"symbol": " ", "mode": "read", "why": ""}]),
            "needs_locks[0].symbol: it is empty",
        ),
        (answer(result("n1", source="x = '\ud800'")), "holds half of a surrogate pair at 5"),
    ],
)
def test_what_makes_no_sense_is_turned_down_in_one_line(assign, text, said):
    got = bad(text, assign("shop.py::net"))
    assert said in got and "\n" not in got


def test_what_does_not_exist_can_neither_be_right_nor_be_deleted(assign):
    a = assign(creates=("shop.py::fresh",))
    assert "n1 (shop.py::fresh) does not exist yet; write it" in bad(
        answer(result("n1", "no_changes_required", reason="fine")), a
    )
    assert "n1 does not exist" in bad(answer(deletes=[{"node": "n1", "reason": ""}]), a)


def test_a_neighbour_in_another_file_is_turned_down(assign):
    a = assign(
        "shop.py::net", "b.py::f", files={"shop.py": "def net(): 1\n", "b.py": "def f(): 1\n"}
    )
    new = {"parent": "n1", "after": "n2", "kind": "function", "source": "def g(): 1\n"}
    text = answer(NET, result("n2", "no_changes_required", reason="ok"), new_nodes=[new])
    assert "new_nodes[0]: n2 is not in shop.py" in bad(text, a)


def test_scripts_may_write_ids_for_slots_and_name_nodes_that_were_not_granted(assign):
    document = validate(
        {
            "results": [
                result("shop.py::net", source="def net(x): 1\n"),
                result("shop.py::last", source="def last(): 1\n"),
            ],
            "new_nodes": [
                {"parent": "shop.py::Cart", "kind": "method", "source": "def m(self): 1\n"},
                {
                    "parent": "shop.py",
                    "after": "shop.py::net",
                    "kind": "function",
                    "source": "def g(): 1\n",
                },
            ],
            "deletes": [{"node": "shop.py::Cart#all"}],
        },
        free=True,
    )
    assert isinstance(document, ReplyDocument)
    got = to_reply(document, assign("shop.py::net#api").slots, free=True)
    assert isinstance(got, Reply)
    assert got.edits == (
        Delete(NodeId.parse("shop.py::Cart#all")),
        Replace(NodeId("shop.py", "net"), "def net(x): 1\n"),
        Replace(NodeId("shop.py", "last"), "def last(): 1\n"),
        Insert(NodeId("shop.py", "Cart"), "def m(self): 1\n"),
        Insert(NodeId("shop.py"), "def g(): 1\n", NodeId("shop.py", "net")),
    )


def test_the_scope_of_a_node_is_its_class_or_its_file():
    for node, home in {
        "a.py::f": "a.py",
        "a.py::C": "a.py",
        "a.py::C#all": "a.py",
        "a.py::C.m[setter]": "a.py::C",
        "a.py::C.D.m": "a.py::C.D",
        "a.py::C.@body:m": "a.py::C",
        "a.py::@header": "a.py",
        "a.py": "a.py",
    }.items():
        assert str(scope(NodeId.parse(node))) == home


def test_an_object_inside_a_broken_one_is_not_the_answer():
    assert find_json('{like this} {"results": []}') == {"results": []}
    assert find_json('[1] then {"a": 1} and {"b": 1}') == {"a": 1}
    with pytest.raises(ValueError, match="not JSON"):
        find_json('{"outer": {"a": 1}, ')
