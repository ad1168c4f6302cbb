from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mak.config.variables import merged, read_variables, remove_variable, set_variable
from mak.errors import MakError, UsageError


@pytest.fixture
def env(tmp_path: Path) -> Path:
    return tmp_path / "mak" / ".env"


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("A=b", {"A": "b"}),
        ("  export A = b  ", {"A": "b"}),
        ("A='b # c'", {"A": "b # c"}),
        ('A="b" # mine', {"A": "b"}),
        ("A=b # mine", {"A": "b"}),
        ("A=b#c", {"A": "b#c"}),
        ("A=", {"A": ""}),
        ("A= # nothing", {"A": ""}),
        ("A=b=c\r", {"A": "b=c"}),
        ("# A=b", {}),
        ("", {}),
        ("A=1\nA=2", {"A": "2"}),
    ],
)
def test_lines_that_set_a_variable(env: Path, line: str, expected: dict[str, str]) -> None:
    put(env, line)
    assert read_variables(env) == expected


def test_no_file_sets_nothing(env: Path) -> None:
    assert read_variables(env) == {}


@pytest.mark.parametrize("line", ["sk-secret", "A='sk-secret", "2A=sk-secret"])
def test_a_line_that_cannot_be_read_is_named_and_not_shown(env: Path, line: str) -> None:
    put(env, f"# first\n{line}\n")
    with pytest.raises(UsageError, match=r"\.env:2: ") as caught:
        read_variables(env)
    assert "sk-secret" not in str(caught.value) + caught.value.hint


def test_setting_keeps_every_other_line(env: Path) -> None:
    before = "# mine\n\nexport B='2' # two\nA=old\nnot a line\nC=3"
    put(env, before)
    assert set_variable(env, "A", "new")
    assert env.read_text() == before.replace("old", "new") + "\n"
    assert not set_variable(env, "D", "4")
    assert env.read_text() == before.replace("old", "new") + "\nD=4\n"
    assert remove_variable(env, "B")
    assert not remove_variable(env, "B")
    assert env.read_text() == "# mine\n\nA=new\nnot a line\nC=3\nD=4\n"


def test_setting_leaves_one_line_about_a_name(env: Path) -> None:
    put(env, "A=1\nB=2\nA=3\nC=4\n")
    set_variable(env, "A", "5")
    assert env.read_text() == "B=2\nA=5\nC=4\n"


def test_the_file_is_its_owners_alone_whatever_it_was(env: Path) -> None:
    put(env, "A=1\n")
    env.chmod(0o644)
    set_variable(env, "B", "2")
    assert stat.S_IMODE(env.stat().st_mode) == 0o600
    assert [path.name for path in env.parent.iterdir() if path.name != ".lock"] == [".env"]


def test_folders_that_are_made_are_the_owners_alone(env: Path) -> None:
    set_variable(env, "A", "1")
    assert stat.S_IMODE(env.parent.stat().st_mode) == 0o700


def test_a_link_to_dotfiles_stays_a_link(env: Path, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles" / "mak.env"
    put(kept, "A=1\n")
    env.parent.mkdir()
    env.symlink_to(kept)
    set_variable(env, "B", "2")
    assert env.is_symlink()
    assert kept.read_text() == "A=1\nB=2\n"


def test_a_write_that_goes_wrong_leaves_the_old_file(
    env: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(env, "A=1\n")

    def broken(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(MakError, match=r"writing .*\.env: no space left on device"):
        set_variable(env, "A", "2")
    assert env.read_text() == "A=1\n"
    assert [path.name for path in env.parent.iterdir() if path.name != ".lock"] == [".env"]


def test_exported_variables_win_also_when_empty() -> None:
    assert merged({"A": "1", "B": "2", "C": "3"}, {"A": "x", "B": ""}) == {
        "A": "x",
        "B": "",
        "C": "3",
    }


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1))
def test_what_is_set_reads_back(tmp_path_factory: pytest.TempPathFactory, value: str) -> None:
    env = tmp_path_factory.mktemp("env") / ".env"
    if "'" in value and '"' in value:
        with pytest.raises(UsageError):
            set_variable(env, "A", value)
        return
    set_variable(env, "A", value)
    assert read_variables(env) == {"A": value}
