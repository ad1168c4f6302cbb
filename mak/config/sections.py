"""What every section of a document is made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

#: YAML and JSON know lists only; they arrive as tuples.
Texts = Annotated[tuple[str, ...], Field(strict=False)]
Specs = Annotated[tuple[str, ...], Field(strict=False, min_length=1)]


class Section(BaseModel):
    """What every section is: exact about types, frozen, without unknown keys."""

    model_config = ConfigDict(
        strict=True, frozen=True, extra="forbid", use_attribute_docstrings=True
    )
