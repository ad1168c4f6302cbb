"""Arguments that several commands share, and what they mean together with the configuration."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from mak.errors import UsageError

if TYPE_CHECKING:
    from mak.config import Config


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


def add_models(parser: ArgumentParser) -> None:
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
    parser.add_argument(
        "--branch", metavar="NAME", help="the branch to commit to (default: the one checked out)"
    )
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


def work_dir(args: Namespace) -> Path:
    """Return the folder that ``--work-dir`` names; raise `UsageError` when there is none."""
    path: Path = args.work_dir
    if not path.is_dir():
        raise UsageError(f"--work-dir {path}: no such folder")
    return path


def read_config(args: Namespace) -> Config:
    """Return the configuration with what the command line says in its place."""
    from mak import config
    from mak.cli.person import config_dir

    found = config.load(args.config, work_dir(args), config_dir())
    changed: dict[str, object] = {}
    if args.models:
        changed["models"] = {**found.models.model_dump(), "agents": args.models}
    if args.planner:
        changed["planner"] = args.planner
    if getattr(args, "max_agents", None):
        changed["max_agents"] = args.max_agents
    return config.validate(config.Config, {**found.model_dump(), **changed}, "the command line")
