"""What MAK says is worded as people were told, fits, and what others wrote in it does nothing."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mak.github import marks, messages
from mak.github.commands import parse
from mak.github.messages import words
from mak.github.reduce import ALLOWED, Rules, Stale
from mak.github.state import (
    Change,
    Dropped,
    Halt,
    Landed,
    Offer,
    Overlap,
    Phase,
    Posted,
    Proposal,
    Spot,
    Todo,
)
from mak.github.verbs import VERBS
from mak.plan.untrusted import clean
from tests.github import said
from tests.github.said import (
    CANCELLED,
    DONE,
    FAILED,
    GOLDEN,
    LINKS,
    MENDING,
    NEW,
    NOW,
    PLAN,
    REPAIRS,
    REVIEW,
    RUNNING,
    SAID,
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


def render(body: str) -> str:
    """Return the HTML of a body, as GitHub renders it as far as matters here."""
    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(body))


def does_nothing(body: str) -> None:
    """Fail if others' words in a body do anything; ours mention people whom the state names."""
    shown = render(body)
    for tag in re.findall(r"<(/?[a-zA-Z][^ >]*|!--)", shown):
        assert tag.strip("/") in TAGS, (tag, body)
    assert shown.count("<details>") == shown.count("</details>")
    assert shown.count("<!--") == len(re.findall("<!-- mak:", shown))
    for url in re.findall(r'(?:href|src)="([^"]*)"', shown):
        assert url.startswith("https://github.com/o/shop"), url
    spoken = html.unescape(re.sub(r"<code.*?</code>|<!--.*?-->|<[^>]*>", "", shown, flags=re.S))
    allowed = re.sub(r"@(?:alice|bob|carol)\b|(?:PR|Closes) #\d+", "", spoken)
    assert not re.search(r"@\w|#\d|://\w|www\.\w|GH-\d", allowed, re.IGNORECASE), allowed
    assert "ghp_a" not in html.unescape(shown)
    body.encode()


#: Of what is rendered; anything else came in with somebody's words.
TAGS = {
    *("h3", "p", "em", "strong", "a", "code", "pre", "table", "thead", "tbody", "tr", "th", "td"),
    *("ul", "li", "s", "sub", "br", "details", "summary", "blockquote", "!--"),
}


# ------------------------------------------------------------------------- as people were told


@pytest.mark.parametrize("name", SAID)
def test_what_is_said(name: str) -> None:
    text = (GOLDEN / f"{name}.md").read_text(encoding="utf-8")
    assert SAID[name]() + "\n" == text, "make said writes it anew"


def test_every_message_that_is_agreed_on_is_shown() -> None:
    assert {f"M{number}" for number in range(1, 13)} <= {name.split("-")[0] for name in SAID}
    assert {path.stem for path in GOLDEN.glob("*.md")} == {*SAID}


@pytest.mark.parametrize(
    "name", [name for name in SAID if name not in ("M5-commit-title", "M7-repairs")]
)
def test_a_body_ends_with_its_mark(name: str) -> None:
    body = SAID[name]()
    mark = marks.read(body)
    assert mark
    assert mark.get("run", "r7f3k2") == "r7f3k2"
    does_nothing(body)


def test_help_names_every_verb_and_flag() -> None:
    every = messages.help_text()
    for verb in VERBS:
        assert f"`/mak {verb.usage.split(' | ')[0]}`" in every
        more = messages.help_text(verb.name.upper())
        assert verb.does in more
        assert all(flag.shown in more for flag in verb.flags)
    assert messages.help_text("nonsense") == every


@pytest.mark.parametrize(
    ("phase", "body"),
    [
        (Phase.REVIEW, SAID["M2-plan"]),
        (Phase.REVIEW, SAID["M2-plan-only"]),
        (Phase.REVIEW, SAID["M3-stale"]),
        (Phase.REPAIR_REVIEW, SAID["M7-repairs"]),
        (Phase.FAILED, SAID["M9-failed"]),
        (Phase.CANCELLED, SAID["M10-cancelled"]),
        (Phase.PAUSED, SAID["M11-moved"]),
        (Phase.EXPIRED, SAID["expired"]),
        *(
            (p, lambda p=p: messages.tracking(replace(MENDING, phase=p), None, LINKS, 0))
            for p in Phase
        ),
    ],
)
def test_what_is_offered_to_type_is_read_and_does_something(phase: Phase, body: Any) -> None:
    for typed in re.findall(r"(?:`|^)(/mak [^`\n]+)", body(), re.MULTILINE):
        asked = parse(typed.replace("…", "a text"))
        assert asked.problem is None, typed
        verb = asked.commands[0].verb
        beginning = phase is Phase.REVIEW and verb == "run"
        later = phase is Phase.REPAIR_REVIEW and verb == "replan"
        assert phase in ALLOWED[verb] or beginning or later, (phase, typed)


# ------------------------------------------------------------------------- what others wrote


@given(st.lists(PIECES | WORDS).map("".join))
def test_a_text_of_others_is_words_only(text: str) -> None:
    shown = MarkdownIt("commonmark").renderInline("Task " + words.inert(text))
    assert "<" not in shown
    # GitHub's renderer looks for these in the source, before it knows what an entity is.
    assert not re.search(r"www\.|://", words.inert(text), re.IGNORECASE)
    there = html.unescape(shown)
    assert not re.search(r"@\w|#\d|://\w|www\.\w|GH-\d", there, re.IGNORECASE)
    seen = words.redact(clean(text, comments=False).text)
    assert there.replace("\u200b", "").split() == ["Task", *seen.split()]


@given(HOSTILE)
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


# ------------------------------------------------------------------------- what is where


def test_where_there_are_no_addresses_there_are_no_links() -> None:
    for body in (
        messages.tracking(DONE, PLAN, said.NONE, NOW),
        messages.plan(REVIEW, NEW, PLAN, said.NONE),
        messages.done(DONE, said.NONE),
        messages.failed(FAILED, PLAN, said.NONE),
    ):
        assert "](" not in body.replace(f"]({said.PAGE}", "")
        assert "/pull/" not in body


def test_a_digest_is_as_long_as_it_has_to_be() -> None:
    twin = Offer(3, NEW.digest[:20] + "f" * 44)
    state = replace(REVIEW, offers=(said.OLD, NEW, twin))
    assert f"/mak approve {twin.digest[:21]}\n" in messages.plan(state, twin, PLAN, LINKS)


def test_a_wave_that_landed_in_part_is_left_to_its_repairs() -> None:
    part = replace(MENDING, waves=(replace(said.ONE, tasks=("extract",)),))
    rows = messages.tracking(part, PLAN, LINKS, NOW)
    assert "| ⚠️ | Wave 1 | T1 T2 · [`abc1234`]" in rows
    mended = replace(part, phase=Phase.RUNNING, approved=REPAIRS.digest)
    rows = messages.tracking(mended, PLAN, LINKS, NOW)
    assert "| ⏳ | **Repair 1** |" in rows
    assert "| ▫️ | Wave 2 |" in rows
    assert messages.next_wave(mended, PLAN) == "repair 1"
    twice = (replace(said.FIX, tasks=("R1",)), replace(said.FIX, commit="e" * 40, tasks=("R2",)))
    rows = messages.tracking(replace(mended, waves=(*part.waves, *twice)), PLAN, LINKS, NOW)
    assert rows.count("Repair 1") == 1
    assert "| ✅ | Repair 1 | R1 R2 · [`fed4321`]" in rows
    assert "| ⏳ | **Wave 2** |" in rows


def test_a_wave_without_a_commit_of_a_run_that_is_done_is_over() -> None:
    state = replace(DONE, waves=(said.ONE,))
    rows = messages.tracking(state, PLAN, LINKS, NOW)
    assert "| – | Wave 2 | T3 · nothing committed |" in rows
    assert messages.next_wave(state, PLAN) == ""


def test_what_was_asked_of_a_run_on_its_way_is_shown() -> None:
    state = replace(
        RUNNING, halt=Halt("pause", "bob"), last_wave=2, attempt=2, tokens=12_300, skipped=(1,)
    )
    shown = messages.tracking(state, PLAN, LINKS, NOW)
    for said_so in (
        "Pauses after the wave that runs, as @&#8203;bob asked.",
        "Runs up to wave 2",
        "attempt 2",
        "12,300 tokens",
        "repairs of plan 1",
    ):
        assert said_so in shown


def test_a_plan_that_is_being_changed_is_not_one_to_review() -> None:
    drop = Todo(parse("/mak drop R1").commands[0], said.BOB, "c1:1", NOW)
    state = replace(MENDING, phase=Phase.PLANNING, todo=(drop,))
    shown = messages.tracking(state, PLAN, LINKS, NOW)
    assert "| ⏳ | Repair plan 1 | is being changed |" in shown
    again = replace(drop, command=parse("/mak replan").commands[0])
    shown = messages.tracking(replace(state, todo=(again,)), PLAN, LINKS, NOW)
    assert "| ⏳ | Plan rev 2 | is being changed |" in shown
    stale = messages.stale(replace(state, todo=(drop,)), Stale(NEW, None), said.ASK)
    assert "a new plan is being made (`drop` by @bob)" in stale


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


def test_what_landed_of_an_earlier_plan_is_still_shown() -> None:
    earlier = Landed(1, "c" * 40, ("gone",))
    state = replace(RUNNING, waves=(earlier, replace(said.ONE, number=2)))
    rows = messages.tracking(state, PLAN, LINKS, NOW)
    assert "| ✅ | Wave 1 of an earlier plan | gone · [`ccccccc`]" in rows
    assert "| ✅ | Wave 1 | T1 T2" in rows


def test_only_lines_in_the_diff_get_comments() -> None:
    body, comments = messages.repairs(MENDING, REPAIRS, said.REPAIR, LINKS, set(), PLAN)
    assert comments == []
    assert "inline below" not in body
    every = {(spot.path, spot.line) for spot in said.SPOTS}
    body, comments = messages.repairs(MENDING, REPAIRS, said.REPAIR, LINKS, every, PLAN)
    assert {(each["path"], each["line"]) for each in comments} == every
    assert "not in this diff" not in body


def test_what_was_taken_back_is_not_said_to_stay() -> None:
    state = replace(CANCELLED, halt=Halt("cancel", "bob", revert=True))
    body = messages.cancelled(state, PLAN, "wave 2")
    assert "taken back" in body
    assert "stays" not in body
    assert "resume" not in body


def test_an_answer_is_known_by_the_command_that_it_is_for() -> None:
    first, second = messages.answer("Yes.", "c81:1", "r1"), messages.answer("Yes.", "c81:2", "r1")
    assert marks.read(first) != marks.read(second)
    assert marks.read(first) == marks.read(messages.answer("No.", "c81:1", "r1"))


def test_a_run_that_failed_twice_says_so_twice() -> None:
    again = replace(FAILED, since=FAILED.since + 90)
    assert marks.read(messages.failed(FAILED, PLAN, LINKS)) != marks.read(
        messages.failed(again, PLAN, LINKS)
    )


def test_what_is_posted_elsewhere_is_linked() -> None:
    state = replace(REVIEW, posted={"plan:2": Posted(0)})
    assert "open plan" not in messages.tracking(state, PLAN, LINKS, NOW)
