from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from mak.providers.advice import RECOMMENDED, caveats
from mak.providers.catalog import COOL_DOWN, Catalog, Known, bundled
from mak.providers.endpoints import PRESETS
from mak.providers.refresh import refresh
from mak.providers.request import Published
from mak.providers.setup import Setup
from mak.providers.spec import parse
from tests import catalog as snapshot
from tests.providers.fake import FakeServer

ANTHROPIC = PRESETS["anthropic"]
A, B, C = (Published(name, context=200_000) for name in ("a", "b", "c"))


def at(day: str) -> float:
    return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()


class Clock:
    def __init__(self, day: str) -> None:
        self.now = at(day)

    def __call__(self) -> float:
        return self.now


def test_the_list_that_comes_with_mak_is_what_its_script_writes() -> None:
    assert snapshot.TARGET.read_text() == snapshot.catalog(), "make catalog"


def test_every_default_and_every_recommended_model_comes_with_mak() -> None:
    floor = bundled()
    for preset in PRESETS.values():
        if preset.model and preset.id in floor:
            assert preset.model in {model.id for model in floor[preset.id]}, preset.id
    for each in RECOMMENDED:
        spec = parse(each.spec, Setup(variables={}))
        assert spec.rest in {model.id for model in floor[spec.name]}, each.spec


def test_without_a_file_there_is_what_comes_with_mak(tmp_path: Path) -> None:
    for catalog in (Catalog(None), Catalog(tmp_path / "models.json")):
        listing = catalog.listing(ANTHROPIC)
        assert listing.models == bundled()["anthropic"]
        assert listing.fetched == 0
        assert catalog.known(PRESETS.values()).keys() == bundled().keys()


def test_at_another_url_nothing_is_known_beforehand() -> None:
    assert Catalog(None).listing(replace(ANTHROPIC, url="https://proxy.example")).models == ()


def test_a_list_is_kept_for_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "models.json"
    clock = Clock("2026-03-04")
    Catalog(path, clock).take(ANTHROPIC, [A, B])
    again = Catalog(path, clock)
    assert again.listing(ANTHROPIC).models == (A, B)
    assert again.listing(ANTHROPIC).fetched == at("2026-03-04")
    assert again.find(ANTHROPIC, "b") == B
    assert [path.name for path in path.parent.iterdir()] == ["models.json"]


def test_two_processes_keep_each_others_lists(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    first, second = Catalog(path), Catalog(path)
    first.take(ANTHROPIC, [A])
    second.take(PRESETS["openai"], [B])
    assert Catalog(path).listing(ANTHROPIC).models == (A,)
    assert Catalog(path).listing(PRESETS["openai"]).models == (B,)


def test_a_model_that_is_gone_stays_and_is_marked(tmp_path: Path) -> None:
    clock = Clock("2026-03-04")
    catalog = Catalog(tmp_path / "models.json", clock)
    catalog.take(ANTHROPIC, [A, B])
    clock.now = at("2026-03-20")
    catalog.take(ANTHROPIC, [B, C])
    b, c, a = Catalog(tmp_path / "models.json").listing(ANTHROPIC).models
    assert (b, c) == (B, C)
    assert (a.id, a.lifecycle, a.retires) == ("a", "retired", "2026-03-20")
    assert caveats("a", a) == ("retired on 2026-03-20",)
    clock.now = at("2026-04-20")
    catalog.take(ANTHROPIC, [A, B])
    assert {model.id: model.lifecycle for model in catalog.listing(ANTHROPIC).models} == {
        "a": "",
        "b": "",
        "c": "retired",
    }


def test_a_failure_keeps_the_list(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "models.json", Clock("2026-03-04"))
    catalog.take(ANTHROPIC, [A])
    catalog.fail(ANTHROPIC, "503")
    listing = Catalog(tmp_path / "models.json").listing(ANTHROPIC)
    assert (listing.models, listing.reason) == ((A,), "503")
    fresh = Catalog(None)
    fresh.fail(ANTHROPIC, "503")
    assert fresh.listing(ANTHROPIC).models == bundled()["anthropic"]


@pytest.mark.parametrize(
    ("last", "today", "due"),
    [
        ("", "2026-03-04", True),
        ("2026-03-01", "2026-03-01T23:59", False),
        ("2026-03-01", "2026-03-14T23:59", False),
        ("2026-03-01", "2026-03-15", True),
        ("2026-03-15", "2026-03-31", False),
        ("2026-03-15", "2026-04-01", True),
        ("2026-03-14", "2026-03-16", True),
        ("2026-02-20", "2026-03-05", True),
        ("2025-12-15T10:00", "2026-01-01", True),
        ("2025-12-15T10:00", "2025-12-31", False),
        ("2026-01-02", "2026-01-10", False),
        ("2025-12-31", "2026-01-10", True),
        ("2024-01-01", "2026-01-10", True),
    ],
)
def test_a_list_is_due_when_the_1st_or_15th_has_passed(last: str, today: str, due: bool) -> None:
    clock = Clock(last or today)
    catalog = Catalog(None, clock)
    if last:
        catalog.take(ANTHROPIC, [A])
    clock.now = at(today)
    assert catalog.is_due(ANTHROPIC) is due


def test_a_failure_is_followed_by_a_pause_and_then_caught_up() -> None:
    clock = Clock("2026-03-20")
    catalog = Catalog(None, clock)
    assert catalog.is_due(ANTHROPIC)
    catalog.fail(ANTHROPIC, "503")
    assert not catalog.is_due(ANTHROPIC)
    clock.now += COOL_DOWN + 1
    assert catalog.is_due(ANTHROPIC)
    catalog.take(ANTHROPIC, [A])
    assert not catalog.is_due(ANTHROPIC)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 9}', '{"version": 1, "endpoints": 3}']
)
def test_a_broken_file_counts_as_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "models.json"
    path.write_text(text)
    catalog = Catalog(path)
    assert catalog.listing(ANTHROPIC).models == bundled()["anthropic"]
    catalog.take(ANTHROPIC, [A])
    assert json.loads(path.read_text())["version"] == 1


def test_a_file_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    catalog = Catalog(tmp_path / "file" / "models.json")
    catalog.take(ANTHROPIC, [A])
    assert catalog.listing(ANTHROPIC).models == (A,)


# ------------------------------------------------------------------------------------- fetching


def setup_for(server: FakeServer) -> Setup:
    return Setup(
        variables={
            "ANTHROPIC_API_KEY": "sk-canary-0123456789abcdef",
            "ANTHROPIC_BASE_URL": server.root,
            "OPENAI_API_KEY": "sk-canary-0123456789abcdef",
            "OPENAI_BASE_URL": f"{server.root}/v1",
        }
    )


def test_lists_are_fetched_side_by_side_and_what_fails_changes_nothing(
    server: FakeServer,
) -> None:
    server.facts["v1/models"] = {"data": [{"id": "m2", "object": "model"}, {"id": "m1"}]}
    catalog = Catalog(None)
    catalog.take(PRESETS["groq"], [A])
    setup = setup_for(server)
    endpoints = [PRESETS["openai"], PRESETS["groq"]]
    failures = anyio.run(refresh, catalog, endpoints, setup)
    assert [model.id for model in catalog.listing(PRESETS["openai"]).models] == ["m1", "m2"]
    assert list(failures) == [PRESETS["groq"]]
    assert "GROQ_API_KEY is not set" in str(failures[PRESETS["groq"]])
    assert catalog.listing(PRESETS["groq"]).models == (A,)


@pytest.mark.parametrize("facts", [{}, {"v1/models": {"data": []}}, {"v1/models": "hello"}])
def test_a_list_that_is_none_is_a_failure_and_holds_no_key(
    server: FakeServer, facts: dict[str, object]
) -> None:
    server.facts.update(facts)
    catalog = Catalog(None)
    failures = anyio.run(refresh, catalog, [PRESETS["openai"]], setup_for(server))
    assert list(failures) == [PRESETS["openai"]]
    assert "sk-canary" not in str(failures[PRESETS["openai"]])
    assert catalog.listing(PRESETS["openai"]).models == bundled()["openai"]


# ---------------------------------------------------------------------------------- what is known


def test_a_list_that_was_fetched_says_which_models_there_are() -> None:
    catalog = Catalog(None)
    catalog.take(ANTHROPIC, [Published("claude-x-1-20260101")])
    catalog.take(PRESETS["ollama"], [A])
    known = catalog.known(PRESETS.values())
    assert list(known["anthropic"]) == ["claude-sonnet-5-5", "claude-x-1-20260101"]
    assert "claude-opus-5-5" not in known["anthropic"], "the list that comes with MAK is a floor"
    assert "ollama" not in known, "what a server of one's own has changes"
    proxy = replace(ANTHROPIC, url="https://proxy.example")
    catalog.take(proxy, [A])
    assert catalog.known([proxy]) == {}, "a gateway may take more than it lists"
    assert catalog.published([ANTHROPIC]) == {
        ("anthropic", "claude-x-1-20260101"): Published("claude-x-1-20260101")
    }


def test_where_nothing_was_fetched_the_list_that_comes_with_mak_is_the_floor() -> None:
    known = Catalog(None).known(PRESETS.values())
    assert {*known} == {*bundled()}
    for id, models in known.items():
        assert PRESETS[id].model in models
        assert all(each.id in models for each in bundled()[id])
    for each in RECOMMENDED:
        id, _, model = each.spec.partition(":")
        assert model in known[id]
    # Under the names that vendors give them, too, which the list spells another way.
    assert "claude-sonnet-4-20250514" in known["anthropic"]
    assert "gpt-4o-2024-08-06" in known["openai"]
    assert "qwen/qwen3-coder:free" in known["openrouter"]
    assert "claude-sonet-5-5" not in known["anthropic"]
    assert "gpt-9" not in known["openai"]


@pytest.mark.parametrize(
    ("model", "is_known"),
    [
        ("claude-x-1-20260101", True),
        ("claude-x-1", True),
        ("claude-x-1-latest", True),
        ("gemini-y", True),
        ("models/gemini-y", True),
        ("vendor/z", True),
        ("vendor/z:nitro", True),
        ("ft:gpt:mine:abc", True),
        ("claude-x-2", False),
        ("vendor/y", False),
        ("gemini-y:free", False),
    ],
)
def test_names_that_lists_leave_out_are_known_too(model: str, is_known: bool) -> None:
    known = Known(["claude-x-1-20260101", "models/gemini-y", "vendor/z"])
    assert (model in known) is is_known
    assert "gemini-y" in list(known)


# -------------------------------------------------------------------------------------- caveats


@pytest.mark.parametrize(
    "model", ["claude-fable-5", "claude-fable-5-20260203", "anthropic/claude-fable-5"]
)
def test_a_caveat_goes_with_a_model_whoever_serves_it(model: str) -> None:
    (text,) = caveats(model)
    assert "30-day retention" in text
    assert "refusal, which counts as a failed task" in text


def test_a_caveat_is_for_its_model_only() -> None:
    assert caveats("claude-fable-5-1") == caveats("claude-sonnet-5-5") == ()


def test_facts_give_caveats_too() -> None:
    going = Published("m", retires="2026-05-01")
    assert caveats("m", going) == ("will be retired on 2026-05-01",)
    assert caveats("m", Published("m", lifecycle="deprecated")) == ("deprecated",)
    assert "4,096 tokens only" in caveats("m", Published("m", context=4096))[0]
