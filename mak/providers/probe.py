"""Small questions that show what an endpoint does with a model: does it answer, keep to a schema,
and read a long prompt whole.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace

import anyio

from mak.errors import MakError
from mak.model import Usage
from mak.providers import open_client
from mak.providers.connect import close
from mak.providers.policy import Policy
from mak.providers.prices import CHARS_PER_TOKEN
from mak.providers.request import NoAnswer, Request, Stop
from mak.providers.setup import Setup
from mak.providers.spec import Spec

_WORD = "ready"
_SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string", "enum": [_WORD]}},
    "required": ["word"],
    "additionalProperties": False,
}
#: Tokens of an answer; models that think first need some for that.
_ROOM = 2_048
#: Seconds for one question, waits included.
PATIENCE = 60.0

_FILLER = "Nothing in this line matters; it only takes room, as the source of a repository would. "


@dataclass(frozen=True, slots=True)
class Probe:
    """What one question came to."""

    works: bool
    #: For people; what to do stands in `hint`.
    text: str
    hint: str = ""
    usage: Usage = field(default_factory=Usage)


async def probe(spec: Spec, setup: Setup, patience: float = PATIENCE) -> Probe:
    """Ask for one word in a schema, once; what is learned about formats is kept."""
    began = time.monotonic()
    try:
        client = open_client(spec, _policy(patience), setup)
        request = Request(
            "You are asked whether you are there.",
            "",
            f'Answer with the word "{_WORD}".',
            _SCHEMA,
            "probe",
            _ROOM,
        )
        completion = await client.complete(request)
    except NoAnswer as error:
        return Probe(False, str(error), error.hint, error.usage)
    except MakError as error:
        return Probe(False, str(error), error.hint)
    took = f"{time.monotonic() - began:.1f} s"
    if completion.stop is not Stop.DONE:
        detail = f" ({completion.detail})" if completion.detail else ""
        return Probe(
            False,
            f"it stopped: {completion.stop}{detail}",
            "choose another model",
            completion.usage,
        )
    if not _fits(completion.text):
        client.shapeless(completion.rung)
        return Probe(
            False,
            f"its answer does not fit the schema that was asked for ({completion.rung})",
            "choose a model that follows instructions better, or set envelope on its endpoint",
            completion.usage,
        )
    client.shaped(completion.rung)
    client.ladder.works(completion.rung)
    return Probe(True, f"answers in {took}, format {completion.rung}", usage=completion.usage)


async def probe_window(spec: Spec, setup: Setup, tokens: int, patience: float = PATIENCE) -> Probe:
    """Send a prompt of about `tokens` tokens and see whether the server reads all of it."""
    count = int(tokens * CHARS_PER_TOKEN) // len(_FILLER)
    prompt = f'{_FILLER * count}\nAnswer with the word "{_WORD}".'
    try:
        client = open_client(spec, _policy(patience), setup)
        completion = await client.complete(Request("", "", prompt, max_tokens=_ROOM))
    except NoAnswer as error:
        return Probe(False, str(error), error.hint, error.usage)
    except MakError as error:
        return Probe(False, str(error), error.hint)
    usage = completion.usage
    if usage.estimated:
        return Probe(True, f"took {tokens:,} tokens; it does not say how many it read", usage=usage)
    return Probe(True, f"read all of a prompt of {usage.input:,} tokens", usage=usage)


async def probes(
    specs: list[Spec], setup: Setup, window: int = 0, patience: float = PATIENCE
) -> dict[str, list[Probe]]:
    """Probe models side by side, servers of one's own with a long prompt of `window` tokens too."""
    found: dict[str, list[Probe]] = {spec.label: [] for spec in specs}

    async def one(spec: Spec) -> None:
        found[spec.label].append(await probe(spec, setup, patience))
        endpoint = spec.endpoint
        if window and found[spec.label][0].works and endpoint is not None and endpoint.local:
            found[spec.label].append(await probe_window(spec, setup, window, patience))

    try:
        async with anyio.create_task_group() as group:
            for spec in specs:
                group.start_soon(one, spec)
    finally:
        with anyio.CancelScope(shield=True):
            await close()
    return found


def _policy(patience: float) -> Policy:
    return replace(Policy(), total=patience, deadline=patience, retries=1)


def _fits(text: str) -> bool:
    try:
        # Where nothing enforces the format, models like to say something around it.
        data = json.loads(text[text.find("{") : text.rfind("}") + 1], strict=False)
        return bool(data == {"word": _WORD})
    except ValueError:
        return False
