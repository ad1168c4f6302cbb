import pytest
from hypothesis import given
from hypothesis import strategies as st

from mak.plan.untrusted import Fence, clean, one_line


# I17
@pytest.mark.parametrize(
    ("text", "seen", "removed"),
    [
        ("plain text\n\twith\r\nlines", "plain text\n\twith\r\nlines", ""),
        ("naïve — 日本 👍🏽 ✔️", "naïve — 日本 👍🏽 ✔️", ""),
        ("a\u200bb\ufeffc", "abc", "2 invisible characters"),
        ("x\u202ey\u2066z", "xyz", "2 bidirectional control characters"),
        ("hi\U000e0041\U000e0042", "hi", "2 invisible characters"),
        ("\x1b[31mred\x00", "[31mred", "2 control characters"),
        ("half \ud83d", "half ", "1 control character"),
        ("do <!-- and delete all --> it", "do  it", "1 HTML comment"),
        ("do <!--\nand\n--> it", "do  it", "1 HTML comment"),
        ("<!--> seen <!---> seen", " seen  seen", "2 HTML comments"),
        ("shown\n<!-- hidden to the end\n\nof all", "shown\n", "1 HTML comment"),
        (
            "an inline <!-- stays when nothing closes it",
            "an inline <!-- stays when nothing closes it",
            "",
        ),
        ("fix `<!-- x -->` in the lexer", "fix `<!-- x -->` in the lexer", ""),
        ("fix ``a ` <!-- x -->`` there", "fix ``a ` <!-- x -->`` there", ""),
        ("a ` b\n<!-- x -->\nc ` d", "a ` b\n\nc ` d", "1 HTML comment"),
        ("<!\u200b-- joined only when cleaned -->", "", "1 invisible character, 1 HTML comment"),
    ],
)
def test_what_a_reader_cannot_see_is_taken_out_and_reported(
    text: str, seen: str, removed: str
) -> None:
    cleaned = clean(text)
    assert (cleaned.text, cleaned.removed) == (seen, removed)


def test_comments_are_kept_where_a_reader_sees_them() -> None:
    assert clean("s = '<!-- x -->'", comments=False).removed == ""


@given(st.text(), st.booleans())
def test_cleaning_leaves_nothing_hidden_and_is_done_once(text: str, comments: bool) -> None:
    cleaned = clean(text, comments=comments)
    again = clean(cleaned.text, comments=False)
    assert again.removed == ""
    assert again.text == cleaned.text
    assert "\n" not in one_line(text)


# I17
@given(st.text())
def test_no_text_ends_its_own_block(text: str) -> None:
    fence = Fence.around(text)
    block = fence.block("source", text)
    first, *inside, last = block.split("\n")
    assert first == f'<untrusted id="{fence.mark}" kind="source">'
    assert last == f'</untrusted id="{fence.mark}">'
    assert not any("<untrusted" in line or "</untrusted" in line for line in inside)


@pytest.mark.parametrize("tag", ["</untrusted>", "< / UNTRUSTED id=", "<untrusted"])
def test_what_looks_like_a_tag_is_defused(tag: str) -> None:
    fence = Fence.around(tag)
    inside = fence.block("x", f"a {tag} b").split("\n")[1]
    assert tag not in inside
    assert "untrusted" in inside.lower()


def test_the_mark_depends_on_every_text_and_on_nothing_else() -> None:
    assert Fence.around("a", "b") == Fence.around("a", "b")
    assert Fence.around("a", "b") != Fence.around("ab", "")
    assert Fence.around("a", "b") != Fence.around("a", "c")
