"""The interpreter's own library and the installed packages, file by file."""

from __future__ import annotations

import ast
import gc
import sysconfig
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from mak.model import NodeKind
from mak.source import join, split

pytestmark = pytest.mark.slow

FOLDERS = sorted({sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")})
DEFINITIONS = (NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.CLASS)


def sources() -> Iterator[tuple[Path, bytes]]:
    for folder in FOLDERS:
        for path in sorted(Path(folder).rglob("*.py")):
            if path.is_file():
                yield path, path.read_bytes()


def parse(data: bytes | str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(data)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def alone(code: str) -> list[ast.stmt] | None:
    """Parse the code of one node by itself, at whatever column it stands."""
    if not code.startswith((" ", "\t", "\x0c")):
        tree = parse(code)
        return tree.body if tree else None
    tree = parse(f"if 1:\n{code}")
    return tree.body[0].body if tree else None  # type: ignore[attr-defined]


# I2
@pytest.mark.timeout(3000)
def test_every_file_is_exact_and_every_node_is_one_thing() -> None:
    files = nodes = 0
    wrong: list[str] = []
    for path, data in sources():
        file = split(data, path.name)
        files += 1
        nodes += len(file.nodes)
        if join(file) != data or file.is_flawed:
            wrong.append(f"{path}: joined it is not what it was")
        if file.whole:
            if file.why_whole.startswith("does not parse") and parse(data) is not None:
                wrong.append(f"{path}: {file.why_whole}")
            continue
        for node in file.nodes:
            code = file.data[node.start + node.lead : node.end].decode(
                "utf-8" if file.encoding == "utf-8-sig" else file.encoding
            )
            code = code.replace("\r\n", "\n").replace("\r", "\n")
            body = alone(code)
            if body is None and node.kind is NodeKind.CLASS:
                body = alone(f"{code}{' ' * 100}pass\n")
            if node.kind in DEFINITIONS:
                right = body is not None and len(body) == 1
                if not right or body[0].name != node.names[0]:  # type: ignore[index,attr-defined]
                    wrong.append(f"{path}: {node.id.symbol} is not one definition")
            elif body is None:
                wrong.append(f"{path}: {node.id.symbol} does not parse alone")
    assert not wrong, "\n".join(wrong[:20])
    assert files > 1000
    assert nodes > 20 * files / 2


@pytest.mark.timeout(600)
def test_cutting_costs_little_more_than_parsing() -> None:
    files = [(path.name, data) for _, (path, data) in zip(range(600), sources(), strict=False)]
    files = [(name, data) for name, data in files if parse(data) is not None]

    def parsing() -> None:
        for _, data in files:
            ast.parse(data)

    def cutting() -> None:
        for name, data in files:
            split(data, name)

    def seconds(work: object) -> float:
        gc.collect()
        start = time.process_time()
        work()  # type: ignore[operator]
        return time.process_time() - start

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ratio = min(seconds(cutting) for _ in range(3)) / min(seconds(parsing) for _ in range(3))
    assert ratio < 2, f"cutting took {ratio:.2f} times as long as parsing"
