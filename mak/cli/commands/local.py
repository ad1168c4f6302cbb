"""``mak local``: servers here, and on hosts that a person has named, with their models."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mak.cli import terminal
from mak.cli.command import EXIT_DONE, EXIT_FAILED, Command, add_actions, run_action
from mak.cli.options import add_config, add_json, read_settings

if TYPE_CHECKING:
    from mak.cli.options import Settings
    from mak.providers.local import Server

#: Tokens of a prompt beside what is shown of a repository, and of an answer.
ROOM = 8_000


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add_actions(parser, ACTIONS, FIND)


def run(args: Namespace) -> int:
    """List what runs here, or carry out an action."""
    return run_action(args, ACTIONS, FIND)


def _find_arguments(parser: ArgumentParser) -> None:
    add_config(parser)
    add_json(parser)


def _find(args: Namespace) -> int:
    settings = read_settings(args)
    if not args.json:
        usable = listed(settings)
        if usable:
            terminal.write_note(f'Next: mak run --task "…" --models {usable[0]}')
        return EXIT_DONE if usable is not None else EXIT_FAILED
    servers = _servers(settings)
    terminal.write_json([_document(server, _needed(settings)) for server in servers])
    if not servers:
        _say_none(settings)
    return EXIT_DONE if servers else EXIT_FAILED


def listed(settings: Settings) -> list[str] | None:
    """List the servers and their models; return the specs of these, None where nothing answers."""
    servers, needed = _servers(settings), _needed(settings)
    for server in servers:
        terminal.write_note(f"{_title(server)} at {server.url}", "bold")
        for model in server.models:
            size = f"{model.window:,} tokens" if model.window else "window unknown"
            terminal.write_data(f"{server.spec(model.id)}  {size}")
            if warning := server.warning(model, needed):
                terminal.write_note(f"  {warning}", "yellow")
        if not server.models:
            terminal.write_note("  it has no model yet")
    if not servers:
        _say_none(settings)
        return None
    return [server.spec(model.id) for server in servers for model in server.models]


def _say_none(settings: Settings) -> None:
    terminal.write_note(f"Nothing answers at {', '.join(_places(settings))}")
    terminal.write_note(
        "Next: start Ollama, LM Studio, vLLM or llama.cpp, or name another machine: "
        "mak local url HOST:PORT"
    )


def _servers(settings: Settings) -> Sequence[Server]:
    import anyio

    from mak.providers import local

    return anyio.run(local.find, _places(settings))


def _places(settings: Settings) -> Sequence[str]:
    from mak.providers import local

    setup = settings.setup
    moved = [url for name in ("OLLAMA_HOST",) if (url := setup.variables.get(name, ""))]
    return local.places(setup.hosts, map(_url, moved))


def _needed(settings: Settings) -> int:
    """Return the tokens that a window must hold."""
    return max(settings.config.planner_tokens, settings.config.context_tokens) + ROOM


def _url(host: str) -> str:
    from mak.providers.access import ollama_url

    return ollama_url(host)


def _title(server: Server) -> str:
    from mak.providers.endpoints import PRESETS

    preset = PRESETS.get(server.kind)
    return preset.title if preset else "A server that speaks OpenAI's API"


def _document(server: Server, needed: int) -> dict[str, Any]:
    return {
        "kind": server.kind,
        "url": server.url,
        "models": [
            {
                "spec": server.spec(model.id),
                "window": model.window or None,
                "largest": model.most or None,
                "warning": server.warning(model, needed),
            }
            for model in server.models
        ],
    }


def _url_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("host", metavar="HOST[:PORT]", nargs="?", help="where else to look")
    parser.add_argument("--forget", action="store_true", help="do not look there any more")
    add_json(parser)


def _remember(args: Namespace) -> int:
    from mak.cli.person import endpoints_file
    from mak.config import changing, read_endpoints, write_endpoints
    from mak.errors import UsageError
    from mak.providers.local import check_host

    path = endpoints_file()
    if args.host is None:
        hosts = read_endpoints(path).hosts
        if args.json:
            terminal.write_json(list(hosts))
        else:
            for host in hosts:
                terminal.write_data(host)
        return EXIT_DONE
    host = check_host(args.host)
    with changing(path):
        kept = read_endpoints(path)
        others = [each for each in kept.hosts if each != host]
        if args.forget and len(others) == len(kept.hosts):
            known = ", ".join(kept.hosts) or "none"
            raise UsageError(f"{host} is not remembered; known: {known}")
        hosts = (*others,) if args.forget else (*others, host)
        write_endpoints(path, kept.model_copy(update={"hosts": hosts}))
    if args.json:
        terminal.write_json(list(hosts))
    else:
        terminal.write_note(f"{host} is {'forgotten' if args.forget else 'remembered'} in {path}")
    return EXIT_DONE


FIND = Command("find", "list what runs here", _find_arguments, _find)
ACTIONS = (Command("url", "remember a host to look at, or list them", _url_arguments, _remember),)

COMMAND = Command(
    "local", "find model servers on this machine, and their models", add_arguments, run
)
