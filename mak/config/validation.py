"""Checking what a document says against a pydantic model, in words about the document."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from mak.config.documents import line_of
from mak.config.keylike import looks_like_key
from mak.errors import UsageError

Model = TypeVar("Model", bound=BaseModel)

#: Type of the errors that our own validators raise, whose text is for people already.
OURS = "mak"
#: Pydantic speaks of Python's types; a document has lists, mappings and text.
_MESSAGES = {
    "tuple_type": "should be a list",
    "list_type": "should be a list",
    "model_type": "should be a mapping of keys to values",
    "dict_type": "should be a mapping of keys to values",
    "string_type": "should be text",
    "int_type": "should be a whole number",
    "float_type": "should be a number",
    "bool_type": "should be true or false",
    "missing": "is missing",
    "too_short": "should not be empty",
}


def validate(model: type[Model], data: Any, name: str = "", text: str = "") -> Model:
    """Check `data`, read from the document `name`, against a pydantic model.

    No `name`: it was typed, and the error is about nothing but the key.

    With the document's `text`, errors carry the line of the key they are about. Raises `UsageError`
    with all that is wrong, and the nearest key for an unknown one.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        lines = [_describe(model, dict(item), name, text) for item in error.errors()]
        raise UsageError(f"{'reading ' if name else ''}{'; '.join(lines)}") from error


def _describe(model: type[BaseModel], item: dict[str, Any], name: str, document: str) -> str:
    location: tuple[str | int, ...] = tuple(part for part in item["loc"] if part != "[key]")
    line = line_of(document, location)
    where = f"{name}:{line}: " if line else f"{name}: " if name else ""
    key = ".".join("…" if looks_like_key(str(part)) else str(part) for part in location)
    if item["type"] == "extra_forbidden":
        known = _keys_beside(model, location)
        close = difflib.get_close_matches(str(location[-1]), known, n=1)
        advice = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
        return f"{where}unknown key {key!r}; {advice}"
    text = str(item["msg"])
    plain = text.lower().removeprefix("input ")
    message = text if item["type"] == OURS else _MESSAGES.get(item["type"], plain)
    return f"{where}{key}: {message}" if key else f"{where}{message}"


def _keys_beside(model: type[BaseModel], location: tuple[str | int, ...]) -> list[str]:
    """Return the keys of the (nested) model that holds the last part of `location`."""
    for part in location[:-1]:
        # What is no field is a place in a list, or a name that the document's author gave.
        field = model.model_fields.get(str(part))
        found = [t for t in _types(field.annotation) if issubclass(t, BaseModel)] if field else []
        model = found[0] if found else model
    return list(model.model_fields)


def _types(annotation: Any) -> Iterator[type[Any]]:
    """Return the classes that an annotation is made of, outside in."""
    pending = [annotation]
    while pending:
        item = pending.pop(0)
        if isinstance(item, type):
            yield item
        pending.extend(getattr(item, "__args__", ()))
