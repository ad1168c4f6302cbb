"""Documents as whole as GitHub's: what a schema requires and nobody here reads is filled in.

GitHub's answers have dozens of required fields (a repository 80). A test's GitHub states those
that mean something; the rest gets the plainest value that its schema allows.
"""

from __future__ import annotations

from typing import Any

from tests.support.fakegithub.contract import Description

Json = Any

PLAIN: dict[str, Json] = {"boolean": False, "integer": 0, "number": 0, "string": ""}


class _Missing:
    """What stands for a field that is not given."""


MISSING = _Missing()


def fill(description: Description, schema: Json, value: Json, url: str) -> Json:
    """Return a value with every required field; `url` is the start of every address filled in."""
    if schema is None:
        return value
    schema = _chosen(description, schema, value)
    if isinstance(value, _Missing):
        return _plain(description, schema, url)
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        whole = {
            name: fill(description, properties.get(name, {}), inner, url)
            for name, inner in value.items()
        }
        for name in schema.get("required", ()):
            if name not in whole:
                inner = properties.get(name, {})
                whole[name] = fill(description, inner, MISSING, f"{url}/{name}")
        return whole
    if isinstance(value, list):
        items = schema.get("items", {})
        return [fill(description, items, inner, url) for inner in value]
    return value


def _plain(description: Description, schema: Json, url: str) -> Json:
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if schema.get("nullable") or "null" in kinds:
        return None
    if "minLength" in schema and schema.get("type") == "string":
        return "0" * schema["minLength"]
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    kind = kinds[0]
    if kind == "string":
        if schema.get("format") in ("uri", "uri-template"):
            return url
        if schema.get("format") == "date-time":
            return "2026-11-30T12:00:00Z"
        return ""
    if kind == "array":
        return []
    if kind == "object" or "properties" in schema:
        return fill(description, schema, {}, url)
    return PLAIN.get(kind or "")


def _chosen(description: Description, schema: Json, value: Json) -> Json:
    """Return one schema for one value: of alternatives, the one that fits what is given."""
    schema = description.resolve(schema)
    whole = {key: inner for key, inner in schema.items() if key not in ("allOf", "anyOf", "oneOf")}
    for part in schema.get("allOf", ()):
        whole = _together(whole, _chosen(description, part, value))
    told = schema.get("discriminator", {})
    if isinstance(value, dict) and value.get(told.get("propertyName")) in told.get("mapping", ()):
        named = told["mapping"][value[told["propertyName"]]]
        return _together(whole, _chosen(description, {"$ref": named}, value))
    options = [
        _chosen(description, option, value)
        for key in ("anyOf", "oneOf")
        for option in schema.get(key, ())
    ]
    # A list of alternatives that only says which fields are required adds to what is around it.
    if options:
        whole = _together(whole, max(options, key=lambda option: _fit(option, value)))
    return whole


def _fit(schema: Json, value: Json) -> int:
    """Say how well a schema fits: null for what is missing, an object for a dict, and so on."""
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if isinstance(value, _Missing) or value is None:
        return 2 if "null" in kinds or schema.get("nullable") else 1
    if isinstance(value, dict):
        names = schema.get("properties", {})
        return 1 + sum(name in names for name in value) if "object" in kinds or names else 0
    if isinstance(value, list):
        return int("array" in kinds)
    return int("string" in kinds if isinstance(value, str) else "object" not in kinds)


def _together(one: Json, other: Json) -> Json:
    both = {**one, **other}
    if "properties" in one and "properties" in other:
        both["properties"] = {**one["properties"], **other["properties"]}
        for name in one["properties"].keys() & other["properties"].keys():
            both["properties"][name] = {
                "allOf": [one["properties"][name], other["properties"][name]]
            }
    if "required" in one and "required" in other:
        both["required"] = [*one["required"], *other["required"]]
    return both
