from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mak.cli.commands.examples import EXAMPLES, example
from mak.cli.main import main
from mak.cli.promise import check_specs
from mak.config import CONFIG_FILE, Config, parse_document, template, validate
from mak.config.endpoints import EndpointSettings
from mak.providers import Setup
from mak.providers.own import own

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def work_dir(tmp_path: Path) -> Path:
    (tmp_path / "work" / ".mak").mkdir(parents=True)
    return tmp_path / "work"


def test_show_prints_what_holds_and_where_it_is_from(work_dir: Path, capsys: Capture) -> None:
    assert main(["config", "show", "--work-dir", str(work_dir)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# built in: there is no configuration file\n")
    assert validate(Config, parse_document(out, "c.yaml"), "c.yaml") == Config()
    (work_dir / CONFIG_FILE).write_text("max_agents: 7\n")
    assert main(["config", "show", "--work-dir", str(work_dir), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["file"] == str(work_dir / CONFIG_FILE)
    assert shown["settings"]["max_agents"] == 7
    assert shown["settings"]["attempts"] == 3


def test_path_lists_the_places_and_says_which_one_holds(
    work_dir: Path, person: Path, capsys: Capture
) -> None:
    def said() -> list[str]:
        assert main(["config", "path", "--work-dir", str(work_dir)]) == 0
        return [re.sub(r"\S+  +", "", line) for line in capsys.readouterr().out.splitlines()]

    assert said() == ["not there", "not there"]
    person.mkdir(parents=True)
    (person / "config.yaml").write_text("")
    assert said() == ["not there", "holds"]
    (work_dir / CONFIG_FILE).write_text("")
    assert said() == ["holds", "not looked at: the one above holds"]
    assert main(["config", "path", "--json", "--work-dir", str(work_dir)]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "used": str(work_dir / CONFIG_FILE),
        "places": [str(work_dir / CONFIG_FILE), str(person / "config.yaml")],
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("atempts: 1\n", "config.yaml:1: unknown key 'atempts'; did you mean 'attempts'?"),
        ("models: [antropic]\n", "no provider is called 'antropic'; did you mean 'anthropic'?"),
        ("mode: local\nmodels: [anthropic]\n", "mode is local"),
        ("endpoints: {gw: {url: 3}}\n", "config.yaml:1: endpoints.gw.url: should be text"),
    ],
)
def test_check_names_what_is_wrong(work_dir: Path, capsys: Capture, text: str, says: str) -> None:
    (work_dir / CONFIG_FILE).write_text(text)
    assert main(["config", "check", "--work-dir", str(work_dir)]) == 2
    assert says in capsys.readouterr().err
    (work_dir / CONFIG_FILE).write_text("attempts: 1\n")
    assert main(["config", "check", "--work-dir", str(work_dir), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["valid"]


def test_init_writes_a_file_once(work_dir: Path, person: Path, capsys: Capture) -> None:
    for argv, path in (([], work_dir / CONFIG_FILE), (["--mine"], person / "config.yaml")):
        assert main(["config", "init", "--work-dir", str(work_dir), *argv]) == 0
        assert main(["config", "check", "--config", str(path)]) == 0
        assert main(["config", "init", "--work-dir", str(work_dir), *argv]) == 2
        assert "is there already" in capsys.readouterr().err


def test_the_file_to_start_from_says_every_default() -> None:
    text = template()
    assert parse_document(text, "c.yaml") is None
    told = re.sub(r"^#(?= *\w+:)", "", text, flags=re.MULTILINE)
    data = parse_document(told, "c.yaml")
    assert validate(Config, data, "c.yaml", told) == Config()
    assert list(data) == list(Config.model_fields)


# ------------------------------------------------------------------------------------- examples


def test_examples_are_the_files_that_there_are() -> None:
    folder = Path(__file__).parents[2] / "mak" / "cli" / "examples"
    assert {path.stem for path in folder.iterdir()} == {*EXAMPLES}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_right(name: str, work_dir: Path, capsys: Capture) -> None:
    """It reads, its models mean something, its mode is kept, and it is an example of its name."""
    assert main(["examples", name]) == 0
    text = capsys.readouterr().out
    assert text.rstrip("\n") == example(name).rstrip("\n")
    config = validate(Config, parse_document(text, f"{name}.yaml"), f"{name}.yaml", text)
    setup = Setup(own={id: own(id, each) for id, each in config.endpoints.items()}, variables={})
    planner, *agents = check_specs(config, setup)
    hosted = [spec.endpoint is not None and not spec.endpoint.local for spec in (planner, *agents)]
    match name:
        case "hybrid-cloud-planner-local-agents":
            assert hosted == [True, *[False] * len(agents)]
        case "hosted-openai-compatible" | "custom-endpoint" | "ci":
            assert all(hosted)
        case _:
            assert not any(hosted)
            assert config.mode == "local"
    (work_dir / CONFIG_FILE).write_text(text)
    for id, each in config.endpoints.items():
        add_endpoint(id, each)
    assert main(["config", "check", "--work-dir", str(work_dir)]) == 0


def add_endpoint(id: str, settings: EndpointSettings) -> None:
    assert main(["endpoint", "add", id, "--url", settings.url, "--key", settings.key]) == 0


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_command_in_an_example_is_one(
    name: str, make_repo: Callable[..., Path], capsys: Capture
) -> None:
    commands = re.findall(r"^#   mak (\w+)(?: (\w+))?", example(name), re.MULTILINE)
    for command, action in commands:
        takes_action = command in ("keys", "endpoint")
        assert main([command, *([action] if takes_action else []), "--help"]) == 0


def test_examples_are_listed(capsys: Capture) -> None:
    assert main(["examples", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == dict(EXAMPLES)
    assert main(["examples", "loca-ollama"]) == 2
    assert "did you mean 'local-ollama'?" in capsys.readouterr().err
