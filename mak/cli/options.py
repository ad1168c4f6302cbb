"""Arguments that several commands share, and what they mean together with the configuration."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mak.errors import UsageError

if TYPE_CHECKING:
    from mak.config import Config
    from mak.providers import Setup


def add_work_dir(parser: ArgumentParser) -> None:
    """Let a command say which repository it is about."""
    parser.add_argument(
        "--work-dir",
        metavar="DIR",
        type=Path,
        default=Path(),
        help="the repository, or a folder in it to stay below (default: here)",
    )


def add_json(parser: ArgumentParser) -> None:
    """Let a command answer for programs."""
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")


def add_specs(parser: ArgumentParser) -> None:
    """Let a command say who plans, who works and under which configuration."""
    parser.add_argument(
        "--models",
        metavar="SPEC",
        nargs="+",
        action="extend",
        help="who does the tasks, in turn: builtin, anthropic[:MODEL], openai:MODEL, "
        "ollama:MODEL, ENDPOINT:MODEL, local:MODEL@URL, scripted:FILE, replay:FILE "
        "(default: builtin)",
    )
    parser.add_argument(
        "--planner", metavar="SPEC", help="who plans (default: the first of --models)"
    )
    parser.add_argument("--mode", choices=("cloud", "local", "hybrid"), help="where models may run")
    _add_config(parser)


def add_models(parser: ArgumentParser) -> None:
    """Let a command ask models: who they are, on which branch, and what they may spend."""
    add_specs(parser)
    parser.add_argument(
        "--branch", metavar="NAME", help="the branch to commit to (default: the one checked out)"
    )
    parser.add_argument(
        "--max-usd",
        metavar="N",
        type=dollars,
        help="US dollars that the run may spend (default: session.max_usd)",
    )
    parser.add_argument(
        "--max-tokens",
        metavar="N",
        type=positive,
        help="tokens that the run may take, in and out (default: session.max_total_tokens)",
    )
    parser.add_argument(
        "--record",
        metavar="FILE",
        type=Path,
        help="add what models answer to FILE, for the model spec replay:FILE",
    )


def add_config(parser: ArgumentParser) -> None:
    """Let a command say which configuration it is about."""
    add_work_dir(parser)
    _add_config(parser)


def _add_config(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="configuration (default: see mak config path)"
    )


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return number


def dollars(text: str) -> float:
    """Read an amount above 0."""
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0 < amount < float("inf"):
        raise ArgumentTypeError(f"{text!r} is not an amount above 0")
    return amount


def work_dir(args: Namespace) -> Path:
    """Return the folder that ``--work-dir`` names; raise `UsageError` when there is none."""
    path: Path = args.work_dir
    if not path.is_dir():
        raise UsageError(f"--work-dir {path}: no such folder")
    return path


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for one command, from the command line down to the built-in values."""

    config: Config
    setup: Setup
    #: None: there is no file.
    file: Path | None


def read_settings(args: Namespace, *, check: bool = True) -> Settings:
    """Return the settings with what the command line says in its place.

    Raises `UsageError` for what cannot be read, and, with `check`, for models that there are not
    or that the mode does not allow.
    """
    from mak import config
    from mak.cli import person
    from mak.cli.promise import check_specs

    found = config.discover(args.config, work_dir(args), person.config_dir())
    changed: dict[str, object] = {}
    if models := getattr(args, "models", None):
        changed["models"] = {**found.config.models.model_dump(), "agents": models}
    for name in ("planner", "max_agents", "mode"):
        if (value := getattr(args, name, None)) is not None:
            changed[name] = value
    spending = {"max_usd": "max_usd", "max_total_tokens": "max_tokens"}
    given = {name: getattr(args, option, None) for name, option in spending.items()}
    if limits := {name: value for name, value in given.items() if value is not None}:
        changed["session"] = {**found.config.session.model_dump(), **limits}
    data = {**found.config.model_dump(), **changed}
    settled = config.validate(config.Config, data)
    agents = () if models else found.config.models.agents
    planner = () if "planner" in changed else (found.config.planner or "",)
    setup = replace(
        person.setup(found, (*agents, *planner)),
        mode=settled.mode,
        record=getattr(args, "record", None),
    )
    if check and hasattr(args, "models"):
        check_specs(settled, setup)
    return Settings(settled, setup, found.path)
