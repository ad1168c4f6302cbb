"""What the pages about models say is so: specs mean something, scripts run, numbers are ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mak.cli.main import main
from mak.config import Config, EndpointSettings
from mak.plan.propose import ASKS
from mak.providers import Policy, Setup, parse
from mak.providers.endpoints import PRESETS
from mak.providers.own import own
from mak.providers.spec import RESERVED, forms
from tests.conftest import git

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "model-specs.md").read_text()
SETUP = Setup(
    own={"work": own("work", EndpointSettings(url="https://gw.example/v1", model="m"))},
    variables={},
)
#: First cells of the table of specs.
SPECS = re.findall(r"^\| `([^`]+)` \| .+ \|$", PAGE.split("The providers, with")[0], re.MULTILINE)


@pytest.mark.parametrize("text", SPECS)
def test_every_spec_of_the_page_means_something(text: str) -> None:
    spec = parse(text, SETUP)
    assert spec.name == text.partition(":")[0]


def test_every_form_of_a_spec_is_on_the_page() -> None:
    named = {text.partition(":")[0] for text in SPECS} | {*re.findall(r"`(\w+)`", PAGE)}
    for form in forms(SETUP):
        assert re.split(r"[\[:]", form)[0] in named
    assert {*RESERVED, *PRESETS} <= named


def test_keys_and_default_models_are_those_of_the_providers() -> None:
    for preset in PRESETS.values():
        if preset.key_needed:
            keys = " or ".join(f"`{name}`" for name in preset.key_names)
            model = f"`{preset.model}`" if preset.model else "none: name one"
            assert f"| `{preset.id}` | {keys} | {model} |" in PAGE
        else:
            assert not preset.model


def test_the_script_of_the_page_is_carried_out(
    make_repo: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (script,) = re.findall(r"```yaml\n(.+?)```", PAGE, re.DOTALL)
    root = make_repo({"shop.py": "def net(prices):\n    return sum(prices)\n"})
    path = root.parent / "answers.yaml"
    path.write_text(script)
    where = ["--no-review", "--work-dir", str(root)]
    assert main(["run", "--task", "add the tax", "--models", f"scripted:{path}", *where]) == 0
    out, err = capsys.readouterr()
    assert "reject   net (attempt 1): malformed" in err
    assert "1 of 1 task" in out and "$0.01" in out
    assert "sum(prices) * 1.2" in git(root, "show", "HEAD:shop.py")
    path.write_text("plan: 7\n")
    assert main(["plan", "--task", "x", "--models", f"scripted:{path}", *where[1:]]) == 2
    assert "docs/reference/model-specs.md" in capsys.readouterr().err


def test_how_often_a_model_is_asked_is_what_the_guide_says() -> None:
    guide = (ROOT / "docs" / "guides" / "models.md").read_text()
    rows = re.findall(r"^\| (?:a )?(\S+)[^|]* \| (\d+)[^|]*\|$", guide, re.MULTILINE)
    policy = Policy()
    assert {begins: int(calls) for begins, calls in rows} == {
        "busy,": policy.retries + 1,
        "nothing": policy.retries_unreachable + 1,
        "page": policy.retries_malformed + 1,
        "stream": policy.reconnects + 1,
        "refusal,": 1,
    }
    assert "until it has given three" in guide
    assert (Config().attempts, ASKS) == (3, 3)
