"""``mak examples``: configurations that are ready to use."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from importlib.resources import files

from mak.cli import terminal
from mak.cli.command import EXIT_DONE, Command
from mak.cli.named import nearest
from mak.cli.options import add_json
from mak.errors import UsageError

#: By name; each is a file of this name beside the commands.
EXAMPLES: Mapping[str, str] = {
    "local-ollama": "planner and agents on Ollama, on this machine",
    "local-openai-compatible": "vLLM, LM Studio, llama.cpp or the like, on this machine",
    "hosted-openai-compatible": "OpenRouter, or another hosted provider",
    "custom-endpoint": "a gateway of your own",
    "hybrid-cloud-planner-local-agents": "a hosted model plans, local ones edit",
    "fully-local-offline": "nothing leaves this machine",
    "ci": "a job without a person",
}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="which one (default: list them)")
    add_json(parser)


def run(args: Namespace) -> int:
    """Print an example, or list them."""
    if args.name is None:
        if args.json:
            terminal.write_json(dict(EXAMPLES))
        else:
            for line in terminal.columns(EXAMPLES.items()):
                terminal.write_data(line)
            terminal.write_note("Next: mak examples NAME > .mak/config.yaml")
        return EXIT_DONE
    text = example(args.name)
    if args.json:
        from mak.config import parse_document

        terminal.write_json(parse_document(text, f"{args.name}.yaml"))
    else:
        terminal.write_data(text.rstrip("\n"))
    return EXIT_DONE


def example(name: str) -> str:
    """Return the text of an example; raise `UsageError` with the nearest name."""
    if name not in EXAMPLES:
        raise UsageError(
            f"no example is called {name!r}{nearest(name, EXAMPLES)}", hint="mak examples"
        )
    return (files("mak.cli") / "examples" / f"{name}.yaml").read_text(encoding="utf-8")


COMMAND = Command("examples", "print configurations that are ready to use", add_arguments, run)
