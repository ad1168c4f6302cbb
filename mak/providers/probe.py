"""Small questions that show what an endpoint does with a model: does it answer, keep to a schema,
and read a long prompt whole.
"""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass, field, replace

import anyio

from mak.errors import MakError
from mak.model import Usage
from mak.providers import open_client
from mak.providers.access import may_cut
from mak.providers.connect import close
from mak.providers.policy import Policy
from mak.providers.prices import CHARS_PER_TOKEN
from mak.providers.request import Completion, NoAnswer, Request, Stop
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
_ROOM = 4_096
#: Seconds for one question, waits included.
PATIENCE = 60.0

_FILLER = "Nothing in this line matters; it only takes room, as the source of a repository would. "


@dataclass(frozen=True, slots=True)
class Probe:
    """What one question came to."""

    works: bool
    #: For people; what to do stands in `hint`, also where it works as far as can be told.
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
    """Send a prompt of about `tokens` tokens and see whether the server reads all of it.

    What is cut is its beginning, so that a number stands there, and another one at the end. Servers
    may also count what they never read, or nothing at all; who repeats both numbers has read both.
    """
    count = int(tokens * CHARS_PER_TOKEN) // len(_FILLER)
    first, last = (str(number) for number in random.sample(range(1000, 10_000), 2))
    prompt = (
        f"The first number is {first}.\n{_FILLER * count}\nThe last number is {last}.\n"
        "Answer with the first number and the last number, and nothing else."
    )
    try:
        client = open_client(spec, _policy(patience), setup)
        completion = await client.complete(Request("", "", prompt, max_tokens=_ROOM))
    except NoAnswer as error:
        return Probe(False, str(error), error.hint, error.usage)
    except MakError as error:
        return Probe(False, str(error), error.hint)
    return _read(completion, first, last, tokens)


def _read(completion: Completion, first: str, last: str, tokens: int) -> Probe:
    """Say what an answer and its count tell about how much of a prompt was read."""
    usage, text = completion.usage, completion.text
    size = f"a prompt of about {tokens:,} tokens"
    if first in text and last in text:
        return Probe(True, f"reads {size} from beginning to end", usage=usage)
    if last in text:
        return Probe(
            False,
            f"knows the end of {size} and not its beginning: the server cuts it",
            "give the server a larger context window, or choose a model that holds more",
            usage,
        )
    counted = "it counts nothing" if usage.estimated else f"it counts {usage.input:,}"
    return Probe(
        True,
        f"does not repeat what it was told in {size} ({counted})",
        "see that its context window is large enough: mak local, or a longer look by hand",
        usage,
    )


async def probes(
    specs: list[Spec], setup: Setup, window: int = 0, patience: float = PATIENCE
) -> dict[Spec, list[Probe]]:
    """Probe models side by side; with a long prompt of `window` tokens where it might be cut."""
    found: dict[Spec, list[Probe]] = {spec: [] for spec in specs}

    async def one(spec: Spec) -> None:
        found[spec].append(await probe(spec, setup, patience))
        endpoint = spec.endpoint
        works = found[spec][0].works
        if window and works and endpoint is not None and may_cut(endpoint, setup):
            found[spec].append(await probe_window(spec, setup, window, patience))

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
