"""Endpoints: where calls go, in which wire format, with whose key; presets are data.

An endpoint holds no secret, only the names of the environment variables that do. A vendor's key
goes to the vendor's own host, or where an endpoint that names its variable sends it on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from mak.providers.request import Encoding, Rung


class Wire(StrEnum):
    """What is spoken at an endpoint."""

    #: Anthropic Messages.
    ANTHROPIC = "anthropic"
    #: OpenAI Chat Completions.
    OPENAI = "openai"
    #: Ollama's own ``/api/chat``.
    OLLAMA = "ollama"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens; `cached` None: as `input`."""

    input: float
    output: float
    cached: float | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where models can be asked. Its id works wherever a provider's name does."""

    #: As in a model spec; no ``:`` in it.
    id: str
    wire: Wire
    #: Base URL.
    url: str
    title: str = ""
    #: For a spec that names no model; empty: it has to.
    model: str = ""
    #: Environment variables that may hold the key, the first one set wins; empty: no key is sent.
    key_names: tuple[str, ...] = ()
    #: Whether nothing can be asked without one.
    key_needed: bool = False
    #: Environment variable that moves the base URL, the key with it; empty: none does.
    url_name: str = ""
    #: Sent with every call; never a secret.
    headers: tuple[tuple[str, str], ...] = ()
    #: Ways of asking for JSON that it is known to take, strictest first; empty: all of the wire's.
    rungs: tuple[Rung, ...] = ()
    #: How answers are written where no format is enforced.
    encoding: Encoding = Encoding.JSON
    #: Provider of the price table whose prices hold here; empty: nobody's.
    priced_as: str = ""
    #: Prices by model, before those of the table; the model ``*`` stands for all.
    prices: tuple[tuple[str, Price], ...] = ()
    #: Tokens of prompt and answer together; 0: what the server says, else not known.
    context: int = 0
    #: Tokens of an answer; 0: not known.
    max_output: int = 0
    #: A server of one's own.
    local: bool = False
    #: Whether nobody is paid for a call, as far as no price says otherwise.
    free: bool = False

    def price(self, model: str) -> Price | None:
        """Return the price that is configured for a model."""
        known = dict(self.prices)
        return known.get(model, known.get("*"))


#: Key for servers that a spec names by URL; vendors' keys never go there.
OWN_KEY_NAME = "MAK_API_KEY"

_SCHEMA_ONLY = (Rung.JSON_SCHEMA, Rung.PROMPT)
_OBJECT_ONLY = (Rung.JSON_OBJECT, Rung.PROMPT)


def _hosted(
    name: str,
    title: str,
    url: str,
    model: str,
    *key_names: str,
    rungs: tuple[Rung, ...] = (),
    priced_as: str = "",
    headers: tuple[tuple[str, str], ...] = (),
) -> Endpoint:
    return Endpoint(
        name,
        Wire.OPENAI,
        url,
        title,
        model,
        key_names,
        key_needed=True,
        url_name=f"{key_names[0].removesuffix('_API_KEY')}_BASE_URL",
        rungs=rungs,
        priced_as=priced_as or name,
        headers=headers,
    )


def _own(
    name: str, title: str, url: str, wire: Wire = Wire.OPENAI, *, rungs: tuple[Rung, ...] = ()
) -> Endpoint:
    variable = name.upper().replace("-", "_")
    return Endpoint(
        name,
        wire,
        url,
        title,
        key_names=(f"{variable}_API_KEY",),
        url_name="OLLAMA_HOST" if wire is Wire.OLLAMA else f"{variable}_BASE_URL",
        rungs=rungs,
        local=True,
        free=True,
    )


#: By id.
PRESETS: Mapping[str, Endpoint] = {
    each.id: each
    for each in (
        Endpoint(
            "anthropic",
            Wire.ANTHROPIC,
            "https://api.anthropic.com",
            "Anthropic",
            "claude-sonnet-5-5",
            ("ANTHROPIC_API_KEY",),
            key_needed=True,
            url_name="ANTHROPIC_BASE_URL",
            priced_as="anthropic",
        ),
        _hosted("openai", "OpenAI", "https://api.openai.com/v1", "gpt-6.1-sol", "OPENAI_API_KEY"),
        _hosted(
            "gemini",
            "Google Gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "gemini-3.8-flash",
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            rungs=(Rung.JSON_SCHEMA, Rung.JSON_OBJECT, Rung.PROMPT),
            priced_as="google",
        ),
        _hosted(
            "openrouter",
            "OpenRouter",
            "https://openrouter.ai/api/v1",
            "anthropic/claude-sonnet-5.5",
            "OPENROUTER_API_KEY",
            rungs=(Rung.JSON_SCHEMA, Rung.JSON_OBJECT, Rung.PROMPT),
            headers=(("X-Title", "MAK"),),
        ),
        _hosted(
            "nvidia",
            "NVIDIA Build",
            "https://integrate.api.nvidia.com/v1",
            "",
            "NVIDIA_API_KEY",
        ),
        _hosted(
            "deepseek",
            "DeepSeek",
            "https://api.deepseek.com",
            "deepseek-v4-pro",
            "DEEPSEEK_API_KEY",
            rungs=_OBJECT_ONLY,
        ),
        _hosted(
            "zai",
            "Z.ai",
            "https://api.z.ai/api/paas/v4",
            "GLM-5.3",
            "ZAI_API_KEY",
            rungs=_OBJECT_ONLY,
        ),
        _hosted(
            "mistral",
            "Mistral",
            "https://api.mistral.ai/v1",
            "mistral-medium-latest",
            "MISTRAL_API_KEY",
            rungs=(Rung.JSON_SCHEMA, Rung.JSON_OBJECT, Rung.PROMPT),
        ),
        _hosted(
            "groq",
            "Groq",
            "https://api.groq.com/openai/v1",
            "openai/gpt-oss-120b",
            "GROQ_API_KEY",
            rungs=(Rung.JSON_SCHEMA, Rung.JSON_OBJECT, Rung.PROMPT),
        ),
        _own("ollama", "Ollama", "http://127.0.0.1:11434", Wire.OLLAMA),
        _own("vllm", "vLLM", "http://127.0.0.1:8000/v1"),
        _own("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", rungs=_SCHEMA_ONLY),
        _own("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1"),
    )
}
