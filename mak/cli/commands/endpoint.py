"""``mak endpoint``: where models can be asked besides the known providers."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mak.cli import terminal
from mak.cli.command import EXIT_DONE, EXIT_FAILED, Command, add_actions, run_action
from mak.cli.options import add_json
from mak.errors import UsageError

if TYPE_CHECKING:
    from mak.config import EndpointSettings

DETAILS = """\
examples:
  mak endpoint add work --url https://gateway.example/v1 --key WORK_API_KEY --model qwen3-coder
  mak keys set WORK_API_KEY
  mak endpoint test work
  mak run --task "…" --models work work:other-model
"""

#: Options that set a field of the same name.
_TEXTS = {
    "url": ("URL", "base URL, up to what comes before /chat/completions, /v1/messages, /api/chat"),
    "title": ("TEXT", "what to call it"),
    "model": ("MODEL", "the model for a spec that names none"),
    "key": ("NAME", "the variable that holds its key: a name, never the key"),
}
_NUMBERS = {
    "context": "tokens of prompt and answer together",
    "max_output": "tokens of an answer",
}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add_actions(parser, ACTIONS, LIST)


def run(args: Namespace) -> int:
    """Carry out an action."""
    return run_action(args, ACTIONS, LIST)


def _id(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the endpoint's id")


def _id_and_json(parser: ArgumentParser) -> None:
    _id(parser)
    add_json(parser)


def _fields(parser: ArgumentParser) -> None:
    _id(parser)
    for name, (kind, about) in _TEXTS.items():
        parser.add_argument(f"--{name}", metavar=kind, help=about)
    parser.add_argument("--wire", metavar="NAME", help="openai (default), anthropic or ollama")
    for name, about in _NUMBERS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar="N", type=int, help=about)
    parser.add_argument(
        "--header", metavar="NAME=VALUE", action="append", help="sent with every call; no secret"
    )
    parser.add_argument(
        "--price",
        metavar="[MODEL=]IN,OUT[,CACHED]",
        action="append",
        help="US dollars for a million tokens",
    )
    parser.add_argument(
        "--format", metavar="NAME", action="append", help="a way of asking for JSON that it takes"
    )
    for name, about in (
        ("envelope", "models there write code better beside JSON than in it"),
        ("local", "it is a server of your own: nothing costs, and a long prompt may be cut"),
    ):
        parser.add_argument(f"--{name}", action="store_true", default=None, help=about)


def _add_fields(parser: ArgumentParser) -> None:
    _fields(parser)
    parser.add_argument("--from", metavar="ID", dest="base", help="begin with what that one says")


# --------------------------------------------------------------------------------------- actions


def _add(args: Namespace) -> int:
    from mak.cli import person
    from mak.cli.named import endpoint_named
    from mak.providers.own import settings_of

    data: dict[str, Any] = {}
    if args.base:
        kept = person.endpoints().endpoints.get(args.base)
        base = kept or settings_of(endpoint_named(args.base, person.setup()))
        data = base.model_dump(mode="json")
    if args.id in person.endpoints().endpoints:
        raise UsageError(f"{args.id} is there already", hint=f"mak endpoint edit {args.id} …")
    settings = _changed(args, data)
    _write(args.id, settings)
    terminal.write_note(f"{args.id} is written to {person.endpoints_file()}")
    if settings.key and not person.variables().get(settings.key, "").strip():
        terminal.write_note(f"Next: mak keys set {settings.key}")
    terminal.write_note(f"Next: mak endpoint test {args.id}")
    return EXIT_DONE


def _edit(args: Namespace) -> int:
    settings = _changed(args, _kept(args.id).model_dump(mode="json"))
    _write(args.id, settings, replaces=True)
    return _show(args)


def _changed(args: Namespace, data: dict[str, Any]) -> EndpointSettings:
    """Return settings with what the options say; raise `UsageError` for what cannot be."""
    from mak.config import EndpointSettings, validate

    for name in (*_TEXTS, *_NUMBERS, "wire", "envelope", "local"):
        if (value := getattr(args, name)) is not None:
            data[name] = value
    for text in args.header or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError("--header: write NAME=VALUE")
        data["headers"] = {**data.get("headers", {}), name.strip(): value.strip()}
    for text in args.price or ():
        model, _, numbers = text.rpartition("=")
        data["prices"] = {**(data.get("prices") or {}), model or "*": _price(numbers)}
    if args.format:
        data["formats"] = args.format
    if "url" not in data:
        raise UsageError("endpoint add: --url is missing", hint="mak endpoint add -h")
    return validate(EndpointSettings, data, f"endpoint {args.id}")


def _price(text: str) -> dict[str, float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 3):
        raise UsageError(f"--price {text}: write IN,OUT or IN,OUT,CACHED, in US dollars")
    return dict(zip(("input", "output", "cached"), numbers, strict=False))


def _write(id: str, settings: EndpointSettings, *, replaces: bool = False) -> None:
    from mak.cli.person import endpoints_file
    from mak.config import changing, read_endpoints, write_endpoints
    from mak.providers.own import own

    own(id, settings)
    path = endpoints_file()
    with changing(path):
        kept = read_endpoints(path)
        if id in kept.endpoints and not replaces:
            raise UsageError(f"{id} is there already", hint=f"mak endpoint edit {id} …")
        found = {**kept.endpoints, id: settings}
        write_endpoints(path, kept.model_copy(update={"endpoints": found}))


def _list(args: Namespace) -> int:
    from mak.cli import person
    from mak.providers.access import located
    from mak.providers.refresh import has_key

    setup = person.setup()
    rows = []
    for each in setup.endpoints.values():
        key = each.key_names[0] if each.key_names else ""
        rows.append(
            {
                "id": each.id,
                "own": each.id in setup.own,
                "wire": each.wire.value,
                "url": located(each, setup).url,
                "model": each.model,
                "key": key,
                "usable": has_key(each, setup),
            }
        )
    if args.json:
        terminal.write_json(rows)
        return EXIT_DONE
    for line in terminal.fitting(terminal.columns(map(_row, rows))):
        terminal.write_data(line)
    return EXIT_DONE


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    key = f"key: {row['key']}" if row["key"] else "no key"
    missing = "" if row["usable"] else " (not set)"
    return row["id"], "own" if row["own"] else "known", row["url"], f"{key}{missing}", row["model"]


def _show(args: Namespace) -> int:
    from mak.config import dump_yaml, sparse

    settings = sparse(_settings(args.id))
    if getattr(args, "json", False):
        terminal.write_json({args.id: settings})
    else:
        terminal.write_data(dump_yaml({args.id: settings}).rstrip())
    return EXIT_DONE


def _export_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="*", help="which ones (default: all of yours)")
    add_json(parser)


def _export(args: Namespace) -> int:
    from mak.cli import person
    from mak.config import dump_yaml, sparse

    ids: Iterable[str] = args.ids or person.endpoints().endpoints
    block = {"endpoints": {id: sparse(_settings(id)) for id in ids}}
    if args.json:
        terminal.write_json(block)
    else:
        terminal.write_data(dump_yaml(block).rstrip())
    names = sorted({each["key"] for each in block["endpoints"].values() if each.get("key")})
    if names:
        terminal.write_note(f"Keys are not in it: whoever uses it sets {', '.join(names)}")
    return EXIT_DONE


def _settings(id: str) -> EndpointSettings:
    """Return the settings of an endpoint of the person's, or of a preset."""
    from mak.cli import person
    from mak.cli.named import endpoint_named
    from mak.providers.own import settings_of

    kept = person.endpoints().endpoints.get(id)
    return kept or settings_of(endpoint_named(id, person.setup()))


def _kept(id: str) -> EndpointSettings:
    """Return the settings of an endpoint that the person has written down."""
    from mak.cli import person
    from mak.cli.named import nearest

    kept = person.endpoints().endpoints
    if id not in kept:
        near = nearest(id, kept)
        hint = f"mak endpoint add {id} --from {id} …" if id in person.setup().endpoints else ""
        raise UsageError(
            f"no endpoint of yours is called {id!r}{near}", hint=hint or "mak endpoint list"
        )
    return kept[id]


def _remove(args: Namespace) -> int:
    from mak.cli.person import endpoints_file
    from mak.config import changing, read_endpoints, write_endpoints

    _kept(args.id)
    path = endpoints_file()
    with changing(path):
        kept = read_endpoints(path)
        found = {id: each for id, each in kept.endpoints.items() if id != args.id}
        write_endpoints(path, kept.model_copy(update={"endpoints": found}))
    terminal.write_note(f"{args.id} is taken out of {path}")
    return EXIT_DONE


def _models(args: Namespace) -> int:
    import anyio

    from mak.cli import person
    from mak.cli.named import endpoint_named
    from mak.providers.advice import caveats
    from mak.providers.refresh import fetch

    setup = person.setup()
    endpoint = endpoint_named(args.id, setup)
    found = anyio.run(fetch, endpoint, setup)
    if args.json:
        terminal.write_json([f"{args.id}:{model.id}" for model in found])
        return EXIT_DONE
    rows = [(f"{args.id}:{model.id}", "; ".join(caveats(model.id, model))) for model in found]
    for line in terminal.columns(rows):
        terminal.write_data(line)
    return EXIT_DONE


def _test_arguments(parser: ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("--model", metavar="MODEL", help="which model (default: its own, or first)")
    add_json(parser)


def _test(args: Namespace) -> int:
    import anyio

    from mak.cli import person
    from mak.cli.caveats import caveats_of
    from mak.cli.named import endpoint_named
    from mak.errors import MakError
    from mak.providers import parse
    from mak.providers.probe import probes
    from mak.providers.refresh import fetch

    setup = person.setup()
    endpoint = endpoint_named(args.id, setup)
    said: list[tuple[bool, str, str]] = []
    model = args.model or endpoint.model
    try:
        found = anyio.run(fetch, endpoint, setup)
        said.append((True, f"lists {len(found)} model{'s' if len(found) != 1 else ''}", ""))
        model = model or found[0].id
    except MakError as error:
        said.append((False, str(error), error.hint))
    if model:
        spec = parse(f"{args.id}:{model}", setup)
        for caveat in caveats_of(spec, setup):
            terminal.write_note(f"{spec}: {caveat}", "yellow")
        (results,) = anyio.run(probes, [spec], setup).values()
        said.extend((each.works, f"{spec}: {each.text}", each.hint) for each in results)
    if args.json:
        terminal.write_json([{"ok": ok, "text": text, "hint": hint} for ok, text, hint in said])
    for ok, text, hint in () if args.json else said:
        terminal.write_data(f"{'ok' if ok else 'no'}  {text}{f'; {hint}' if hint else ''}")
    # A list is a convenience; what counts is whether a model answers.
    return EXIT_DONE if said[-1][0] else EXIT_FAILED


LIST = Command("list", "show all that can be asked, and which have their key", add_json, _list)
ACTIONS = (
    Command("add", "write down an endpoint", _add_fields, _add, DETAILS),
    LIST,
    Command("show", "print what is written down about one", _id_and_json, _show),
    Command("edit", "change what is written down about one", _fields, _edit),
    Command("test", "list its models and ask one of them a word", _test_arguments, _test),
    Command("models", "list the models that it has now", _id_and_json, _models),
    Command("export", "print a block for a configuration file", _export_arguments, _export),
    Command("remove", "take one out of the file", _id, _remove),
)

COMMAND = Command(
    "endpoint", "keep endpoints of your own: gateways and servers", add_arguments, run, DETAILS
)
