"""No token leaves, whatever it looks like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mak.github.redaction import redact
from mak.providers import secrets

OLD = [f"{kind}_{'a1B2' * 9}" for kind in ("ghp", "gho", "ghu", "ghs", "ghr")]
NEW = f"ghs_12345_{'x-Y_9' * 7}.{'a0-B_' * 64}.{'q_Z-3' * 17}"
FINE = "github_pat_" + "a1B2_" * 16
SIGNED = f"eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxIn0.{'x' * 43}"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\ndef==\n-----END RSA PRIVATE KEY-----"


# I18
@pytest.mark.parametrize("token", [*OLD, NEW, FINE, SIGNED, PEM, PEM[:50]], ids=lambda t: t[:12])
@pytest.mark.parametrize(
    "around", ["{}", "Bearer {}", "https://x:{}@h/r.git", '"{}"', "({}).", "a={}\n"]
)
def test_a_token_is_known_by_its_form(token: str, around: str) -> None:
    text = redact(around.format(token))
    assert text.startswith(around.partition("{}")[0] + "[redacted]")
    assert token[20:] not in text


@given(st.text("abcXYZ019-_.", min_size=20, max_size=600))
def test_no_end_of_a_token_is_left(rest: str) -> None:
    assert redact(f"ghs_{rest} and more") == "[redacted] and more"


def test_a_token_without_a_form_is_known_by_its_value() -> None:
    secrets.keep("whatever-a-server-calls-a-token-7")
    assert redact("use whatever-a-server-calls-a-token-7!") == "use [redacted]!"


@pytest.mark.parametrize(
    "text", ["ghs_short", "the ghp_ prefix", "eyJ.eyJ.", "tough_problem_of_mine_here_abc"]
)
def test_words_stay(text: str) -> None:
    assert redact(text) == text
