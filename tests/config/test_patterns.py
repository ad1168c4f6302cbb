from __future__ import annotations

import pytest

from mak.config import Generated
from mak.config.patterns import Generators, Hidden, Patterns
from mak.errors import UsageError


def test_nothing_said_hides_nothing() -> None:
    hidden = Hidden([Patterns(".makignore", [])], Patterns("files.include", ()))
    assert not hidden
    assert hidden.why("a.py") == ""


@pytest.mark.parametrize(
    ("lines", "hides", "shows"),
    [
        (["secrets/"], ["secrets/a.py", "x/secrets/b/c.py"], ["secrets.py", "a.py"]),
        (["/build"], ["build/a.py", "build"], ["x/build/a.py"]),
        (["*.gen.py", "!keep.gen.py"], ["a.gen.py", "x/b.gen.py"], ["keep.gen.py", "a.py"]),
        (["a/**/z.py"], ["a/z.py", "a/b/c/z.py"], ["z.py"]),
        (["# no", "", r"\#yes"], ["#yes"], ["# no", "a"]),
    ],
)
def test_patterns_mean_what_they_mean_in_gitignore(
    lines: list[str], hides: list[str], shows: list[str]
) -> None:
    hidden = Hidden([Patterns(".makignore", lines)])
    assert hidden
    for path in hides:
        assert hidden.why(path), path
    for path in shows:
        assert not hidden.why(path), path


def test_the_line_that_hides_is_named() -> None:
    hidden = Hidden([Patterns(".makignore", ["# ours", "x/", "*.key"])])
    assert hidden.why("a.key") == "kept from agents by .makignore:3"


def test_what_is_included_is_all_there_is() -> None:
    hidden = Hidden(included=Patterns("files.include", ("src/", "*.md")))
    assert hidden.why("src/a.py") == hidden.why("README.md") == ""
    assert hidden.why("tests/a.py") == "kept from agents: files.include does not name it"


def test_patterns_of_a_folder_are_seen_from_there() -> None:
    hidden = Hidden([Patterns("app/.makignore", ["/gen"], "app/")])
    assert hidden.why("app/gen/a.py")
    assert not hidden.why("gen/a.py")
    assert not hidden.why("app/x/gen/a.py")


def test_a_pattern_that_means_nothing_is_refused_with_its_place() -> None:
    with pytest.raises(UsageError, match=r"reading \.makignore: "):
        Hidden([Patterns(".makignore", ["!"])]).why("a")


def test_a_generated_file_has_the_first_command_that_writes_it() -> None:
    generated = [
        Generated(paths=("package-lock.json",), command="npm i --package-lock-only"),
        Generated(paths=("*_pb2.py", "!keep_pb2.py"), command="make protos"),
    ]
    generators = Generators(generated)
    assert generators
    assert generators.command("web/package-lock.json") == "npm i --package-lock-only"
    assert generators.command("keep_pb2.py") == ""
    assert generators.commands(["a_pb2.py", "b.py", "x/b_pb2.py"]) == {
        "make protos": ("a_pb2.py", "x/b_pb2.py")
    }
    assert not Generators()
