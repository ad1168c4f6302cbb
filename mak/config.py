"""Configuration and document files: one model, one loader, one precedence rule.

A value comes from the command line, else from the file given with ``--config``, else from
``.mak/config.yaml`` in the work directory, else from the defaults here. Files are not merged with
each other: the first one found is the configuration. Every limit of MAK has its home in `Config`.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mak.errors import UsageError

#: Where the configuration of a project lives, relative to the work directory.
CONFIG_FILE = Path(".mak", "config.yaml")

Model = TypeVar("Model", bound=BaseModel)

#: YAML and JSON know lists only; they arrive as tuples.
Specs = Annotated[tuple[str, ...], Field(strict=False, min_length=1)]


class _Section(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class Timeouts(_Section):
    """Deadlines in seconds; each covers everything below it, retries included."""

    #: One agent's answer to one task.
    task: float = Field(default=600.0, gt=0)


class Config(_Section):
    """How a project wants MAK to work."""

    #: Model specs; tasks take them in turn.
    models: Specs = ("builtin",)
    #: Model spec of the planner; None: the first of `models`.
    planner: str | None = None
    #: Agents that work at once.
    max_agents: int = Field(default=4, ge=1, le=64)
    #: Times that an agent is asked for one task.
    attempts: int = Field(default=3, ge=1, le=10)
    #: Tokens of source that the planner is shown.
    planner_tokens: int = Field(default=24_000, ge=1_000)
    #: Tokens of source that one agent is shown beside what it may write.
    context_tokens: int = Field(default=24_000, ge=1_000)
    timeouts: Timeouts = Timeouts()


def load(path: Path | None, work_dir: Path) -> Config:
    """Read the configuration: `path`, else the project's file, else the defaults.

    Raises `UsageError` that names file, line and key, and the nearest key for an unknown one.
    """
    if path is None:
        path = work_dir / CONFIG_FILE
        if not path.is_file():
            return Config()
    text = _read(path)
    data = parse_document(text, str(path))
    return validate(Config, {} if data is None else data, str(path), text)


def validate(model: type[Model], data: Any, name: str, text: str = "") -> Model:
    """Check `data`, read from the document `name`, against a pydantic model.

    With the document's `text`, errors carry the line of the key they are about.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        lines = [_describe(model, dict(item), name, text) for item in error.errors()]
        raise UsageError(f"reading {'; '.join(lines)}") from error


def _describe(model: type[BaseModel], item: dict[str, Any], name: str, text: str) -> str:
    location: tuple[str | int, ...] = item["loc"]
    line = _line_of(text, location)
    where = f"{name}:{line}" if line else name
    key = ".".join(str(part) for part in location)
    if item["type"] == "extra_forbidden":
        known = _keys_beside(model, location)
        close = difflib.get_close_matches(str(location[-1]), known, n=1)
        advice = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
        return f"{where}: unknown key {key!r}; {advice}"
    message = _MESSAGES.get(item["type"], str(item["msg"]).lower())
    return f"{where}: {key}: {message}" if key else f"{where}: {message}"


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


def _keys_beside(model: type[BaseModel], location: tuple[str | int, ...]) -> list[str]:
    """Return the keys of the (nested) model that holds the last part of `location`."""
    for part in location[:-1]:
        if isinstance(part, int):
            continue
        inner = [model.model_fields[part].annotation, *_arguments(model, part)]
        found = [t for t in inner if isinstance(t, type) and issubclass(t, BaseModel)]
        if found:
            model = found[0]
    return list(model.model_fields)


def _arguments(model: type[BaseModel], field: str) -> Iterator[Any]:
    pending: list[Any] = [model.model_fields[field].annotation]
    while pending:
        item = pending.pop()
        yield item
        pending.extend(getattr(item, "__args__", ()))


# ------------------------------------------------------------------------------------ documents


def read_document(path: Path) -> Any:
    """Read a YAML or JSON file; ``.jsonl`` gives the list of its lines' values.

    Raises `UsageError` with ``file:line`` when there is no such file or it does not parse.
    """
    return parse_document(_read(path), str(path))


def parse_document(text: str, name: str) -> Any:
    """Read the text of a document; `name` tells errors, and ``.jsonl`` from the rest.

    JSON is tried first where the text begins like it. Keys given twice are errors, not the last
    one wins. YAML is read with the scalars of YAML 1.2: ``no``, ``12:30`` and dates are text.
    """
    try:
        if name.endswith((".jsonl", ".ndjson")):
            return [
                _json(line, name, first=number)
                for number, line in enumerate(text.splitlines(), 1)
                if line.strip()
            ]
        if name.endswith(".json"):
            return _json(text, name)
        if text.lstrip()[:1] in ("{", "["):
            try:
                return _json(text, name)
            except UsageError:
                # Flow style YAML begins like JSON too.
                return _yaml(text, name)
        return _yaml(text, name)
    except RecursionError as error:
        raise UsageError(f"reading {name}: nested too deeply") from error


def dump_yaml(data: Any) -> str:
    """Write JSON-like data as YAML that a person can edit and `parse_document` reads back."""
    return yaml.dump(
        data,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=96,
        default_flow_style=False,
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"reading {path}: not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"reading {path}: {reason}") from error


def _json(text: str, name: str, first: int = 1) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        line = first + error.lineno - 1
        raise UsageError(f"reading {name}:{line}: {error.msg} (column {error.colno})") from error
    except _TwiceError as error:
        line = first + text.count("\n", 0, _second(text, error.key))
        raise UsageError(f"reading {name}:{line}: the key {error.key!r} is given twice") from error


class _TwiceError(ValueError):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise _TwiceError(key)
        result[key] = value
    return result


def _second(text: str, key: str) -> int:
    """Return the offset of the last place where `key` is written as a key."""
    places = [m.start() for m in re.finditer(re.escape(json.dumps(key)) + r"\s*:", text)]
    return places[-1] if places else 0


# ----------------------------------------------------------------------------------------- YAML

if TYPE_CHECKING:
    _FastLoader = yaml.SafeLoader
else:
    _FastLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_FastLoader):
    """YAML 1.2 scalars, no key twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    problem = f"the key {key.value!r} is given twice"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                seen.add(key.value)
        result: dict[Any, Any] = super().construct_mapping(node, deep)
        return result


class _Dumper(yaml.SafeDumper):
    """Block style, long text as blocks, and no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        return super().increase_indent(flow, False)


_SCALARS: tuple[tuple[str, str, str], ...] = (
    ("tag:yaml.org,2002:bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("tag:yaml.org,2002:null", r"~|null|Null|NULL|", "~nN"),
    ("tag:yaml.org,2002:int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    (
        "tag:yaml.org,2002:float",
        r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?",
        "-+0123456789.",
    ),
)
for _class in (_Loader, _Dumper):
    _class.yaml_implicit_resolvers = {}
    for _tag, _pattern, _first in _SCALARS:
        _class.add_implicit_resolver(
            _tag, re.compile(f"^(?:{_pattern})$"), [*_first, ""] if "null" in _tag else [*_first]
        )


def _text(dumper: yaml.SafeDumper, data: str) -> yaml.ScalarNode:
    if re.search(r"[\r\x85\u2028\u2029\ufeff]", data):
        # Line breaks to YAML, so that only escapes keep them.
        style: str | None = '"'
    else:
        style = "|" if "\n" in data else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _text)


def _float(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
    return float(str(loader.construct_scalar(node)))


_Loader.add_constructor("tag:yaml.org,2002:float", _float)


def _yaml(text: str, name: str) -> Any:
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=_Loader)):
            raise UsageError(f"reading {name}: anchors and aliases are not supported")
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise UsageError(f"reading {name}{line}: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"reading {name}: {' '.join(str(error).split())}") from error


def _line_of(text: str, location: tuple[str | int, ...]) -> int:
    """Return the 1-based line of the key or item at `location`; 0 when it is not there."""
    if not text:
        return 0
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError:
        return 0
    line = 0
    for part in location:
        match node:
            case yaml.MappingNode():
                found = [pair for pair in node.value if pair[0].value == part]
                if not found:
                    return line
                line, node = found[0][0].start_mark.line + 1, found[0][1]
            case yaml.SequenceNode() if isinstance(part, int) and part < len(node.value):
                node = node.value[part]
                line = node.start_mark.line + 1
            case _:
                return line
    return line
