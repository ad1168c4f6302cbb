"""``mak config``: which settings hold, where they come from, and whether they are right."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from mak.cli import terminal
from mak.cli.command import EXIT_DONE, Command, add_actions, run_action
from mak.cli.options import add_config, add_json, add_work_dir, read_settings, work_dir
from mak.errors import UsageError


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add_actions(parser, ACTIONS, SHOW)


def run(args: Namespace) -> int:
    """Carry out an action."""
    return run_action(args, ACTIONS, SHOW)


def _where(parser: ArgumentParser) -> None:
    add_config(parser)
    # `mak config check` looks at the models too.
    parser.set_defaults(models=None)
    add_json(parser)


def _show(args: Namespace) -> int:
    from mak.cli.person import config_dir
    from mak.config import discover, dump_yaml

    found = discover(args.config, work_dir(args), config_dir())
    settings = found.config.model_dump(mode="json")
    origin = str(found.path) if found.path else "built in: there is no configuration file"
    if args.json:
        terminal.write_json({"file": found.path and str(found.path), "settings": settings})
    else:
        terminal.write_data(f"# {origin}\n{dump_yaml(settings).rstrip()}")
        if found.path is None:
            terminal.write_note("Next: mak config init writes a file to change them in")
    return EXIT_DONE


def _path(args: Namespace) -> int:
    from mak.cli.person import config_dir
    from mak.config import places

    every = (args.config,) if args.config else places(work_dir(args), config_dir())
    used = next((path for path in every if path.is_file()), None)
    if args.json:
        terminal.write_json({"used": used and str(used), "places": [str(path) for path in every]})
        return EXIT_DONE
    rows = [(str(path), _state(path, used)) for path in every]
    for line in terminal.columns(rows):
        terminal.write_data(line)
    if used is None:
        terminal.write_note("The built-in settings hold. Next: mak config init")
    return EXIT_DONE


def _state(path: Path, used: Path | None) -> str:
    if path == used:
        return "holds"
    return "not looked at: the one above holds" if path.is_file() else "not there"


def _check(args: Namespace) -> int:
    from mak.cli.caveats import said

    settings = read_settings(args)
    config = settings.config
    specs = (config.planner or config.models.agents[0], *config.models.agents)
    remarks = list(said(specs, settings.setup))
    name = str(settings.file) if settings.file else "the built-in settings"
    if args.json:
        terminal.write_json(
            {"file": settings.file and str(settings.file), "valid": True, "remarks": remarks}
        )
    else:
        for remark in remarks:
            terminal.write_note(remark, "yellow")
        terminal.write_note(f"{name}: all right")
    return EXIT_DONE


def _init_arguments(parser: ArgumentParser) -> None:
    add_work_dir(parser)
    parser.add_argument(
        "--mine",
        action="store_true",
        help="the file for all of your projects, instead of this project's",
    )


def _init(args: Namespace) -> int:
    from mak.cli.person import config_dir
    from mak.config import places, template

    path = places(work_dir(args), config_dir())[1 if args.mine else 0]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(template())
    except FileExistsError:
        raise UsageError(f"{path} is there already", hint="mak config show") from None
    except OSError as error:
        raise UsageError(f"writing {path}: {(error.strerror or str(error)).lower()}") from error
    terminal.write_note(f"Wrote {path}: every setting with its default, as comments")
    terminal.write_note("Next: mak examples shows ready ones; mak config check reads it back")
    return EXIT_DONE


SHOW = Command("show", "print the settings that hold, and their file", _where, _show)
ACTIONS = (
    SHOW,
    Command("path", "print where settings are looked for, first choice first", _where, _path),
    Command("check", "read the settings and the model specs in them", _where, _check),
    Command("init", "write a file to start from", _init_arguments, _init),
)

COMMAND = Command("config", "see, check and begin a configuration", add_arguments, run)
