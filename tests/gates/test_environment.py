"""What commands are given: the project's environment, the copy's modules, and no key."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mak.gates.environment import Places, environment, is_key
from mak.providers.endpoints import PRESETS
from tests.conftest import write


@pytest.fixture
def places(tmp_path: Path) -> Places:
    theirs, copy = tmp_path / "theirs", tmp_path / "copy"
    write(theirs, {"pkg/a.py": "", ".venv/pyvenv.cfg": "", "lib/b.py": ""})
    write(copy, {"pkg/a.py": "", "src/c.py": "", "lib/b.py": ""})
    return Places(theirs.resolve(), theirs.resolve(), copy.resolve(), copy.resolve(), [".venv"])


def test_no_key_gets_through_under_any_name(places: Places) -> None:
    names = [name for preset in PRESETS.values() for name in preset.key_names]
    variables = {name: f"sk-secret-{n}" for n, name in enumerate(names)}
    variables |= {
        "MAK_API_KEY": "own-secret-key",
        "WEIRD_API_KEY": "weird-secret",
        "HOME": "/home/x",
        "LANG": "has sk-secret-0 inside",
        "DATABASE_URL": "postgres://from-the-keys-file@db",
        "COLOUR": "red",
    }
    extra = [*variables]
    given = environment(variables, places, extra=extra, secrets=["from-the-keys-file"])
    assert given["HOME"] == "/home/x" and given["COLOUR"] == "red"
    for secret in ("sk-secret", "own-secret", "weird-secret", "from-the-keys-file"):
        assert not any(secret in value for value in given.values()), secret
    assert "LANG" not in given and "DATABASE_URL" not in given


def test_only_what_is_listed_is_given(places: Places) -> None:
    variables = {"PATH": "/bin", "LC_ALL": "C", "SOMETHING": "else", "GIT_DIR": "/x"}
    given = environment(variables, places)
    assert {*given} == {"PATH", "LC_ALL", "PYTHONPATH", "VIRTUAL_ENV"}
    assert "SOMETHING" in environment(variables, places, extra=["SOMETHING"])


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("ANTHROPIC_API_KEY", True),
        ("GEMINI_API_KEY", True),
        ("FOO_APIKEY", True),
        ("HF_ACCESS_TOKEN", True),
        ("ANTHROPIC_AUTH_TOKEN", True),
        ("KEYBOARD", False),
        ("PYTHONPATH", False),
        ("DJANGO_SETTINGS_MODULE", False),
    ],
)
def test_names_that_look_like_keys(name: str, verdict: bool) -> None:
    assert is_key(name) is verdict


def test_tools_come_from_the_persons_environment_and_modules_from_the_copy(places: Places) -> None:
    assert places.theirs is not None
    site = places.theirs / ".venv/lib/python3.11/site-packages"
    write(site, {"__editable__.pth": f"{places.theirs}/lib\n/elsewhere\nimport nothing\n"})
    mine = f"{places.theirs}/pkg{os.pathsep}/usr/share/x"
    given = environment({"PATH": "/bin", "PYTHONPATH": mine}, places)
    assert given["PATH"].split(os.pathsep) == [f"{places.theirs}/.venv/bin", "/bin"]
    assert given["VIRTUAL_ENV"] == f"{places.theirs}/.venv"
    copy = str(places.copy)
    assert given["PYTHONPATH"].split(os.pathsep) == [
        f"{copy}/src",
        copy,
        f"{copy}/lib",
        f"{copy}/pkg",
        "/usr/share/x",
    ]
