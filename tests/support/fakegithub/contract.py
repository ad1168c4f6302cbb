"""What GitHub publishes about its own interfaces, as a judge of requests, answers and webhooks.

Schemas hardly ever forbid what they do not name, and GitHub ignores it; a misspelt field is a
mistake all the same, so in a request it is one here.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import graphql
from jsonschema.protocols import Validator
from openapi_schema_validator import OAS30Validator, OAS31Validator
from referencing import Registry, Resource, Specification

from tests.material import fetch_npm

REST, HOOKS = "urn:github:rest", "urn:github:webhooks"
#: The versions of the REST interface; which one a request means has to be said.
VERSIONS = ("2022-11-28", "2026-03-10")

Json = Any


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path, as described."""

    method: str
    template: str
    #: What stands for the parameters of the path, unquoted.
    arguments: Mapping[str, str]
    described: Mapping[str, Json]


@functools.cache
def load(package: str, name: str) -> Json:
    """Return a document of a pinned package."""
    return json.loads(Path(fetch_npm()[package], name).read_text())


class Description:
    """An OpenAPI document: its references, and validators of places in it."""

    def __init__(self, uri: str, document: Json, validator: type[Validator]) -> None:
        """Take a document that calls itself `uri`."""
        self.uri, self.document = uri, document
        self._validator = validator
        resource = Resource(contents=document, specification=Specification.OPAQUE)
        self._registry: Registry[Json] = Registry().with_resource(uri, resource)
        self._validators: dict[str, Validator] = {}

    def resolve(self, schema: Json) -> Json:
        """Return what a schema stands for, references followed."""
        while isinstance(schema, dict) and "$ref" in schema:
            place = self.document
            for key in schema["$ref"].removeprefix("#/").split("/"):
                place = place[key.replace("~1", "/").replace("~0", "~")]
            schema = place
        return schema

    def errors(self, pointer: str, value: Json) -> Iterator[str]:
        """Yield what is wrong with a value by the schema at a place."""
        if pointer not in self._validators:
            schema = {"$ref": f"{self.uri}#{pointer}"}
            self._validators[pointer] = self._validator(schema, registry=self._registry)
        for error in self._validators[pointer].iter_errors(value):
            # A validator asks for null among the alternatives, too; GitHub's documents do not.
            if error.instance is None and error.schema.get("nullable"):
                continue
            message = error.message
            if len(message) > 300:
                message = f"{message[:150]} … {message[-150:]}"
            yield f"{error.json_path}: {message}"


@functools.cache
def rest() -> Description:
    """Return the description of REST."""
    document = load("@octokit/openapi", "generated/api.github.com.json")
    return Description(REST, document, OAS30Validator)


@functools.cache
def hooks() -> Description:
    """Return the description of webhooks."""
    document = load("@octokit/openapi-webhooks", "generated/api.github.com.json")
    return Description(HOOKS, document, OAS31Validator)


@functools.cache
def graphql_schema() -> graphql.GraphQLSchema:
    """Return the schema of GraphQL."""
    text = Path(fetch_npm()["@octokit/graphql-schema"], "schema.graphql").read_text()
    return graphql.build_schema(text, assume_valid_sdl=True)


@functools.cache
def _paths() -> list[tuple[re.Pattern[str], str]]:
    """Return the patterns of all paths, the most literal ones first."""
    found = []
    for template, methods in rest().document["paths"].items():
        pattern = ""
        for text, name in re.findall(r"([^{]*)(?:\{([^}]+)\})?", template):
            several = any(
                parameter["name"] == name and parameter.get("x-multi-segment")
                for operation in methods.values()
                for parameter in map(rest().resolve, operation.get("parameters", ()))
            )
            key = name.replace("-", "_")
            pattern += re.escape(text) + (f"(?P<{key}>{'.+' if several else '[^/]+'})" * bool(name))
        found.append((re.compile(pattern), template))
    return sorted(found, key=lambda pair: (pair[1].count("{"), -len(pair[1])))


def find(method: str, path: str) -> Operation | None:
    """Return the operation that a request means, or None when GitHub describes none."""
    for pattern, template in _paths():
        match = pattern.fullmatch(path)
        described = match and rest().document["paths"][template].get(method.lower())
        if match and described:
            arguments = {name: unquote(text) for name, text in match.groupdict().items()}
            return Operation(method.upper(), template, arguments, described)
    return None


def wrong_request(
    operation: Operation, query: Mapping[str, str], headers: Mapping[str, str], body: Json
) -> Iterator[str]:
    """Yield what is wrong with a request; `body` is None where there is none."""
    for name in ("user-agent", "accept"):
        if not headers.get(name):
            yield f"no {name} header"
    if headers.get("x-github-api-version") not in VERSIONS:
        yield f"x-github-api-version is {headers.get('x-github-api-version')}"
    pointer = _pointer("paths", operation.template, operation.method.lower())
    given = {"path": dict(operation.arguments), "query": dict(query)}
    for index, parameter in enumerate(operation.described.get("parameters", ())):
        place = parameter.get("$ref", f"#{pointer}/parameters/{index}").removeprefix("#")
        parameter = rest().resolve(parameter)
        text = given.get(parameter["in"], {}).pop(parameter["name"], None)
        if text is not None:
            value = _read(rest().resolve(parameter["schema"]), text)
            yield from rest().errors(f"{place}/schema", value)
        elif parameter.get("required") and parameter["in"] in given:
            yield f"{parameter['in']} parameter {parameter['name']} is missing"
    yield from (f"query parameter {name} is unknown" for name in given["query"])
    described = operation.described.get("requestBody")
    if described is None:
        if body is not None:
            yield "it has a body, and the operation takes none"
    elif body is None:
        if described.get("required"):
            yield "its body is missing"
    else:
        schema = f"{pointer}/requestBody/content/{_token('application/json')}/schema"
        yield from rest().errors(schema, body)
        yield from _unknown(described["content"]["application/json"]["schema"], body, "$")


def wrong_response(operation: Operation, status: int, body: Json) -> Iterator[str]:
    """Yield what is wrong with an answer; errors that any operation may give need a message."""
    responses = operation.described["responses"]
    if str(status) not in responses:
        if status < 400:
            yield f"status {status} is not among {', '.join(responses)}"
        else:
            yield from rest().errors("/components/schemas/basic-error", body)
        return
    content = rest().resolve(responses[str(status)]).get("content")
    if not content:
        if body is not None:
            yield f"status {status} has no body"
        return
    named = responses[str(status)].get("$ref", "").removeprefix("#")
    pointer = _pointer("paths", operation.template, operation.method.lower())
    place = named or f"{pointer}/responses/{status}"
    yield from rest().errors(f"{place}/content/{_token('application/json')}/schema", body)


def response_schema(operation: Operation, status: int) -> Json:
    """Return the schema of an answer's body, or None where it has none."""
    response = rest().resolve(operation.described["responses"].get(str(status), {}))
    return response.get("content", {}).get("application/json", {}).get("schema")


def webhook_schema(event: str, action: str | None) -> Json:
    """Return the schema of a webhook's payload; `KeyError` for one that GitHub does not send."""
    webhook = hooks().document["webhooks"][_webhook(event, action)]
    return webhook["post"]["requestBody"]["content"]["application/json"]["schema"]


def wrong_webhook(
    event: str, action: str | None, headers: Mapping[str, str], payload: Json
) -> Iterator[str]:
    """Yield what is wrong with a webhook."""
    name = _webhook(event, action)
    given = {key.lower() for key in headers}
    for parameter in hooks().document["webhooks"][name]["post"]["parameters"]:
        if parameter.get("required") and parameter["name"].lower() not in given:
            yield f"no {parameter['name']} header"
    place = f"/webhooks/{name}/post/requestBody/content/{_token('application/json')}/schema"
    yield from hooks().errors(place, payload)


def wrong_query(text: str) -> list[str]:
    """Return what is wrong with a GraphQL document."""
    try:
        document = graphql.parse(text)
    except graphql.GraphQLSyntaxError as error:
        return [error.message]
    return [error.message for error in graphql.validate(graphql_schema(), document)]


def _unknown(schema: Json, value: Json, place: str) -> Iterator[str]:
    """Yield the fields of a value that no branch of its schema names."""
    branches = list(_branches(schema))
    if isinstance(value, dict):
        named: dict[str, Json] = {}
        for branch in branches:
            if branch.get("additionalProperties") or not branch.get("properties", True):
                return
            named |= branch.get("properties", {})
        for key, inner in value.items():
            if key not in named and named:
                yield f"{place}.{key}: unknown field"
            elif named:
                yield from _unknown(named[key], inner, f"{place}.{key}")
    elif isinstance(value, list):
        items = [branch["items"] for branch in branches if "items" in branch]
        for index, inner in enumerate(value):
            if items:
                yield from _unknown({"anyOf": items}, inner, f"{place}[{index}]")


def _branches(schema: Json) -> Iterator[Json]:
    schema = rest().resolve(schema)
    yield schema
    for key in ("oneOf", "anyOf", "allOf"):
        for branch in schema.get(key, ()):
            yield from _branches(branch)


def _read(schema: Json, text: str) -> Json:
    """Read a parameter as its schema wants it: everything in a URL is text."""
    if schema.get("type") in ("integer", "number", "boolean"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _webhook(event: str, action: str | None) -> str:
    return "-".join([event.replace("_", "-"), *([action.replace("_", "-")] if action else [])])


def _pointer(*keys: str) -> str:
    return "".join(f"/{_token(key)}" for key in keys)


def _token(key: str) -> str:
    """Escape a key for a JSON pointer in a URI's fragment."""
    return key.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D")
