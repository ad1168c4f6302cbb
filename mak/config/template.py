"""A configuration file to start from: every setting there is, with its default, as comments."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from enum import Enum

from pydantic import BaseModel

from mak.config.settings import Config

_HEAD = """\
# How MAK works here. Every line shows a default: take the # away to change it.
# mak config check reads this file; mak examples shows ready ones.

"""


def template() -> str:
    """Return the text; without the ``#`` before its settings it says what holds anyway."""
    return _HEAD + "\n".join(_lines(Config, "")).rstrip() + "\n"


def _lines(section: type[BaseModel], indent: str) -> Iterator[str]:
    for name, field in section.model_fields.items():
        default = field.get_default(call_default_factory=True)
        about = textwrap.wrap(field.description or "", 96 - len(indent))
        yield from (f"{indent}# {line}" for line in about)
        if isinstance(default, BaseModel):
            yield f"#{indent}{name}:"
            yield from _lines(type(default), f"{indent}  ")
        else:
            value = default.value if isinstance(default, Enum) else default
            yield f"#{indent}{name}: {json.dumps(value, ensure_ascii=False)}"
        yield "" if not indent else f"{indent}#"
