"""Documents that a person writes: YAML, JSON and JSON lines in, YAML out.

YAML is read with the scalars of YAML 1.2, without anchors, and no key may be given twice.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from mak.errors import UsageError


def read_document(path: Path) -> Any:
    """Read a YAML or JSON file; ``.jsonl`` gives the list of its lines' values.

    Raises `UsageError` with ``file:line`` when there is no such file or it does not parse.
    """
    return parse_document(read_text(path), str(path))


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


def read_text(path: Path) -> str:
    """Read a text file; raise `UsageError` when it is not there or not UTF-8."""
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


def line_of(text: str, location: tuple[str | int, ...]) -> int:
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
