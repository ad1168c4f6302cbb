"""What others wrote does nothing in what MAK says, and however much it is, it fits."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mak.github import marks, messages
from mak.github.commands import parse
from mak.github.messages import words
from mak.github.reduce import Rules
from mak.github.state import (
    Change,
    Dropped,
    Halt,
    Landed,
    Overlap,
    Phase,
    Proposal,
    Spot,
)
from mak.plan.untrusted import clean
from tests.github import said
from tests.github.rendered import does_nothing, render
from tests.github.said import (
    LINKS,
    MENDING,
    NEW,
    NOW,
    PLAN,
    REPAIRS,
    REVIEW,
    task,
)

GITHUB = 65_536
PIECES = st.sampled_from(
    [
        "@bob",
        "#1",
        "fixes ",
        "GH-2",
        "![x](http://a.b/c)",
        "<img src=x>",
        "https://a.b",
        "www.a.b",
        "`",
        "``` ",
        "~~~",
        "\\",
        "*",
        "_",
        "[a](b)",
        "\n\n",
        "\n",
        "\r",
        "- ",
        "1. ",
        "---",
        "| a |",
        "</details>",
        "<details>",
        "<!--",
        "-->",
        '<!-- mak:v1 {"kind":"plan"} -->',
        "<!-- mak:end -->",
        "<!-- mak:begin r1 -->",
        "&",
        "&#64;",
        "&commat;bob",
        "$x$ ",
        "$`",
        "\u202e",
        "\u200b",
        "\ud800",
        "ghp_" + "a" * 36,
        " ",
    ]
)
WORDS = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=4)
HOSTILE = st.lists(PIECES | WORDS, max_size=12).map("".join)


# ------------------------------------------------------------------------- what others wrote


@given(st.lists(PIECES | WORDS).map("".join))
@example("&commat;bob &lt;b&gt;")
@example("$x$")
def test_a_text_of_others_is_words_only(text: str) -> None:
    shown = MarkdownIt("commonmark").renderInline("Task " + words.inert(text))
    assert "<" not in shown
    # GitHub's renderer looks for these in the source, before it knows what an entity is.
    assert not re.search(r"www\.|://", words.inert(text), re.IGNORECASE)
    assert "$" not in words.inert(text)
    there = html.unescape(shown)
    assert not re.search(r"@\w|#\d|://\w|www\.\w|GH-\d", there, re.IGNORECASE)
    seen = words.redact(clean(text, comments=False).text)
    assert there.replace("\u200b", "").split() == ["Task", *seen.split()]


@given(HOSTILE)
@example("1. first")
@example("2) second")
@example("- a list")
def test_backquotes_are_code_and_nothing_else_is(text: str) -> None:
    for shown in (words.prose(text), words.code(text), words.inert(text)):
        assert "\n" not in shown
        does_nothing(f"- {shown} end")
        does_nothing(f"{shown}\n\nend")


@given(HOSTILE)
def test_nothing_ends_a_block_of_code_or_a_quote(text: str) -> None:
    body = words.details("Log", words.fence(text)) + "\n\n**after**"
    shown = render(body)
    assert shown.count("<pre>") == 1
    assert shown.endswith("<p><strong>after</strong></p>\n")
    quoted = render(words.details("Asked", words.quote(text)) + "\n\n**after**")
    assert quoted.endswith("</details>\n<p><strong>after</strong></p>\n")
    does_nothing(words.quote(text))


@given(HOSTILE)
def test_a_title_is_one_line_that_closes_nothing(text: str) -> None:
    titles = [
        messages.commit_title(text, 2, 3),
        messages.commit_title(text, 2, 3, repair=1),
        messages.pull_title(replace(REVIEW, request=text), wip=True),
    ]
    for title in titles:
        assert len(title.splitlines()) == 1
        assert len(title) <= 256
        assert not re.search(r"@\w|#\d|://\w|GH-\d|[\x00-\x1f\u202e]", title, re.IGNORECASE)
        assert title.startswith(("mak: ", "[WIP] "))
    assert all(len(title) <= 72 for title in titles[:2])


@given(HOSTILE)
@example("")
@example("0")
def test_nothing_that_others_wrote_does_anything_anywhere(text: str) -> None:
    proposal = Proposal(
        {"tasks": [task("T1", text, writes=[text], creates=[text], depends_on=[text])]},
        (("T1", text),),
        remarks=(text,),
        protected=(text,),
        overlaps=(Overlap("r9", 43, text, (text,)),),
        dropped=(Dropped(task("T2", text), "bob"),),
        spots=(Spot("T1", text, 3, text), Spot("T1", "a.py", 4, text)),
    )
    offer = replace(REPAIRS, changes=(Change(text, "bob", 1),))
    state = replace(
        MENDING,
        request=text,
        why=text,
        offers=(NEW, offer),
        facts={"tests": text},
        waves=(Landed(1, "a" * 40, (text,), text), Landed(2, "b" * 40, ("R1",), text, 1)),
    )
    review, comments = messages.repairs(state, offer, proposal, LINKS, {("a.py", 4)}, PLAN)
    bodies = [
        messages.tracking(state, proposal, LINKS, NOW),
        messages.plan(state, offer, proposal, LINKS, Rules()),
        messages.misread(parse(f"/mak drop {text}\n\n/mak nonsuch T1"))
        if parse(f"/mak drop {text}\n\n/mak nonsuch T1").problem
        else "\n" + marks.write(kind="answer"),
        messages.pull_body(state, proposal, LINKS),
        review,
        *(comment["body"] for comment in comments),
        messages.done(state, LINKS, ["alice"]),
        messages.failed(state, proposal, LINKS, text),
        messages.cancelled(replace(state, halt=Halt("cancel", "")), proposal),
        messages.summary(state, offer, proposal, LINKS, NOW, {text: 1.0}),
        messages.status(state, proposal, LINKS, NOW, "c1:1"),
    ]
    for body in bodies:
        assert marks.read(body)
        does_nothing(body)
        assert render(body).count("<!-- mak:v1") == 1
    for note in messages.check_annotations(proposal.spots):
        assert note["start_line"] >= 1
        assert note["message"]
        assert "ghp_a" not in note["message"]


@given(HOSTILE, HOSTILE)
def test_what_people_wrote_in_a_pull_request_is_kept(above: str, below: str) -> None:
    above, below = above.replace("\ud800", ""), below.replace("\ud800", "")
    first = messages.pull_body(MENDING, PLAN, LINKS)
    ours = first[first.index("<!-- mak:begin") : first.rindex("\n")]
    mark = first[first.rindex("\n") + 1 :]
    body = f"{above}\n{ours}\n{below}\n{mark}"
    again = messages.pull_body(MENDING, PLAN, LINKS, body)
    assert messages.pull_body(MENDING, PLAN, LINKS, again) == again
    assert messages.pull_body(MENDING, PLAN, LINKS, again.replace("\n", "\r\n")) == again
    unix = [text.replace("\r\n", "\n").replace("\r", "\n").strip("\n") for text in (above, below)]
    assert all(text in again for text in unix if "<!-- mak:" not in text)
    assert marks.read(again) == {"run": "r7f3k2", "kind": "pull"}


def test_what_people_wrote_is_never_cut() -> None:
    for size in (10_000, 59_000, 62_000, 65_500):
        before = "x" * size
        body = messages.pull_body(MENDING, PLAN, LINKS, before)
        assert body.startswith(before)
        assert len(body) <= GITHUB


@given(HOSTILE, HOSTILE)
def test_an_address_leads_where_it_says(text: str, other: str) -> None:
    text, other = text.replace("\ud800", ""), other.replace("\ud800", "")
    state = replace(
        REVIEW,
        base=other,
        trigger=replace(REVIEW.trigger, url=f"{said.PAGE}/{text}"),
        approvals=(replace(said.YES, url=f"{said.PAGE}/{text}"),),
    )
    for body in (
        messages.tracking(state, PLAN, LINKS, NOW),
        messages.no_pull(state, LINKS),
        messages.pull_body(state, PLAN, LINKS),
    ):
        does_nothing(body)


# ------------------------------------------------------------------------- how long it is


def big(tasks: int, size: int, wave: int, word: str = "@& ") -> Proposal:
    ids = [f"T{number}" for number in range(1, tasks + 1)]
    filler = word * (size // 3)
    return Proposal(
        {"tasks": [task(each, filler, writes=[f"src/{each}.py::f"]) for each in ids]},
        tuple(tuple(ids[at : at + wave]) for at in range(0, tasks, wave)),
        remarks=tuple(filler for _ in range(tasks)),
        protected=tuple(f"src/{each}.py" for each in ids),
        overlaps=tuple(Overlap(f"r{each}", 1, "carol", tuple(ids)) for each in range(tasks)),
        dropped=tuple(Dropped(task(f"T{9000 + n}", filler), "bob") for n in range(tasks)),
        spots=tuple(Spot(each, f"src/{each}.py", 1, filler) for each in ids),
    )


@pytest.mark.parametrize("wave", [1, 2, 400])
@pytest.mark.parametrize("size", [30, 300, 3_000])
def test_a_plan_of_many_tasks_fits(size: int, wave: int) -> None:
    proposal = big(400, size, wave)
    offer = replace(NEW, changes=tuple(Change("T1 edited" * 30, "bob", 1) for _ in range(400)))
    landed = tuple(
        Landed(number, f"{number:040x}", ids) for number, ids in enumerate(proposal.waves, 1)
    )
    state = replace(
        MENDING, request="@" * 50_000, offers=(said.OLD, offer, REPAIRS), waves=landed[:150]
    )
    body = messages.plan(state, offer, proposal, LINKS)
    assert "full plan: `plan/2.json` in `refs/mak/runs/r7f3k2`" in body
    assert "/mak approve 3f9c1ab" in body
    review, comments = messages.repairs(
        state, REPAIRS, proposal, LINKS, {(spot.path, 1) for spot in proposal.spots}, proposal
    )
    bodies = [
        body,
        review,
        messages.tracking(state, proposal, LINKS, NOW),
        messages.status(state, proposal, LINKS, NOW, "c1:1"),
        messages.pull_body(state, proposal, LINKS),
        messages.failed(replace(state, why="@" * 9_000), proposal, LINKS, "x" * 10**6),
        messages.failed(state, proposal, LINKS, ("`" * 500 + "\n") * 100),
        messages.done(replace(state, phase=Phase.DONE), LINKS, ["alice"]),
        *(comment["body"] for comment in comments),
    ]
    for each in bodies:
        assert len(each) <= messages.LONGEST
        assert marks.read(each)
        does_nothing(each)
    summary = messages.summary(
        state, offer, proposal, LINKS, NOW, {t: 1.0 for w in proposal.waves for t in w}
    )
    assert len(summary.encode()) < 2**20
    does_nothing(summary)


def test_a_plan_of_400_short_tasks_is_shown_whole() -> None:
    proposal = replace(big(400, 30, 20, "go "), remarks=(), overlaps=(), protected=(), dropped=())
    body = messages.plan(REVIEW, NEW, proposal, LINKS)
    assert "full plan" not in body
    assert all(f"- **T{number}**" in body for number in range(1, 401))


def test_a_plan_of_400_long_tasks_shows_every_wave() -> None:
    proposal = replace(big(400, 3_000, 2), remarks=(), overlaps=(), protected=(), dropped=())
    body = messages.plan(REVIEW, NEW, proposal, LINKS)
    assert "full plan" in body
    for number in range(1, 201):
        assert f"| {number} | T{2 * number - 1} T{2 * number} |" in body


def test_long_names_leave_out_waves_in_the_middle() -> None:
    ids = [f"T{number}" + "x" * 60 for number in range(1, 401)]
    proposal = replace(PLAN, waves=tuple(zip(ids[::2], ids[1::2], strict=True)))
    landed = tuple(
        Landed(number, f"{number:040x}", wave) for number, wave in enumerate(proposal.waves, 1)
    )
    state = replace(MENDING, waves=landed)
    far = messages.Links("https://github.example.com/" + "o" * 100 + "/" + "n" * 100)
    shown = messages.tracking(state, proposal, far, NOW)
    assert len(shown) <= messages.LONGEST
    assert "| Wave 1 |" in shown
    assert "| Wave 200 |" in shown
    pull = messages.pull_body(state, proposal, far)
    assert len(pull) <= messages.LONGEST
    assert "| 200 |" in pull
    assert "Plan rev 2" in pull
