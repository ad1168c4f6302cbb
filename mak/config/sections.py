"""What every section of a document is made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from mak.config.keylike import looks_like_key, without_user
from mak.config.validation import OURS

#: YAML and JSON know lists only; they arrive as tuples.
Texts = Annotated[tuple[str, ...], Field(strict=False)]


def _no_secret(spec: str) -> str:
    if without_user(spec) != spec or looks_like_key(spec):
        why = "no key, user or password may stand in a model spec; name its variable: mak endpoint"
        raise PydanticCustomError(OURS, "{why}", {"why": why})
    return spec


SpecText = Annotated[str, AfterValidator(_no_secret)]
Specs = Annotated[tuple[SpecText, ...], Field(strict=False, min_length=1)]


class Section(BaseModel):
    """What every section is: exact about types, frozen, without unknown keys."""

    model_config = ConfigDict(
        strict=True, frozen=True, extra="forbid", use_attribute_docstrings=True
    )
