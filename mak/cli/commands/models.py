"""``mak models``: which models there are, what they hold and cost, and what to know about them."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mak.cli import terminal
from mak.cli.command import EXIT_DONE, EXIT_FAILED, Command
from mak.cli.options import add_config, add_json, read_settings

if TYPE_CHECKING:
    from mak.errors import MakError
    from mak.providers import Setup
    from mak.providers.catalog import Catalog
    from mak.providers.endpoints import Endpoint


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "names",
        metavar="ENDPOINT",
        nargs="*",
        help="providers or endpoints (default: those that there is a key for)",
    )
    parser.add_argument("--refresh", action="store_true", help="fetch the lists first")
    parser.add_argument("--all", action="store_true", help="every provider, with a key or without")
    add_config(parser)
    add_json(parser)


def run(args: Namespace) -> int:
    """List models, after fetching the lists where that is asked for."""
    from mak.cli import person
    from mak.providers.refresh import refresh

    setup = read_settings(args).setup
    endpoints = _chosen(args, setup)
    catalog = person.catalog()
    failures: dict[Endpoint, MakError] = {}
    if args.refresh:
        import anyio

        failures = anyio.run(refresh, catalog, endpoints, setup)
    rows = {each.id: list(_rows(each, catalog, setup)) for each in endpoints}
    if args.json:
        terminal.write_json(
            {
                each.id: {
                    "fetched": catalog.listing(each).fetched or None,
                    "failure": catalog.listing(each).reason,
                    "models": rows[each.id],
                }
                for each in endpoints
            }
        )
    else:
        for each in endpoints:
            _write(each, catalog, rows[each.id])
    for endpoint, error in failures.items():
        hint = f"; {error.hint}" if error.hint else ""
        terminal.write_note(f"{endpoint.id}: {error}{hint}", "yellow")
    return EXIT_FAILED if failures else EXIT_DONE


def _chosen(args: Namespace, setup: Setup) -> list[Endpoint]:
    from mak.cli.named import endpoint_named
    from mak.providers.access import located
    from mak.providers.refresh import has_key

    if args.names:
        found = [endpoint_named(name, setup) for name in args.names]
    else:
        found = [
            each
            for each in setup.endpoints.values()
            if args.all or ((each.id in setup.own or not each.local) and has_key(each, setup))
        ]
    if not found:
        terminal.write_note("No provider has a key. Next: mak keys set anthropic, for example")
        terminal.write_note("mak models --all shows what MAK knows without one")
    return [located(each, setup) for each in found]


def _rows(endpoint: Endpoint, catalog: Catalog, setup: Setup) -> Iterator[dict[str, Any]]:
    from mak.providers.access import tariff
    from mak.providers.advice import caveats, recommended
    from mak.providers.prices import Counts

    for model in catalog.listing(endpoint).models:
        costs = tariff(setup.endpoints[endpoint.id], setup, model.id)
        yield {
            "spec": f"{endpoint.id}:{model.id}",
            "title": model.title,
            "context": model.context,
            "max_output": model.max_output,
            # Per million tokens, at the price of a small call.
            "input": _per_million(costs.cost(Counts(1000, 0), model.id)),
            "output": _per_million(costs.cost(Counts(0, 1000), model.id)),
            "default": model.id == endpoint.model,
            "recommended": recommended(f"{endpoint.id}:{model.id}"),
            "caveats": list(caveats(model.id, model)),
        }


def _per_million(cost: float | None) -> float | None:
    return None if cost is None else round(cost * 1000, 4)


def _write(endpoint: Endpoint, catalog: Catalog, rows: list[dict[str, Any]]) -> None:
    listing = catalog.listing(endpoint)
    if listing.fetched:
        day = time.strftime("%Y-%m-%d", time.gmtime(listing.fetched))
        origin = f"fetched on {day}"
    else:
        kept = "comes with MAK" if rows else "no list yet"
        origin = f"{kept}; mak models --refresh {endpoint.id} fetches it"
    terminal.write_note(f"{endpoint.title or endpoint.id} ({endpoint.url}): {origin}", "bold")
    if listing.failed and listing.reason:
        terminal.write_note(f"  the last try went wrong: {listing.reason}", "yellow")
    cells = [
        (row["spec"], _tokens(row["context"]), _prices(row), "; ".join(_remarks(row)))
        for row in rows
    ]
    for line in terminal.fitting(terminal.columns(cells)):
        terminal.write_data(line)


def _tokens(count: int | None) -> str:
    return f"{count // 1000}k" if count else "-"


def _prices(row: dict[str, Any]) -> str:
    if row["input"] is None or row["output"] is None:
        return "price unknown"
    return f"${row['input']:g}/${row['output']:g}"


def _remarks(row: dict[str, Any]) -> Iterator[str]:
    if row["default"]:
        yield "default"
    if row["recommended"]:
        yield f"recommended: {row['recommended']}"
    yield from row["caveats"]


COMMAND = Command(
    "models",
    "list models, what they hold and cost, and what to know about them",
    add_arguments,
    run,
    "Columns: model spec; tokens it holds; US dollars for a million tokens in/out; remarks.",
)
