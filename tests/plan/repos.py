"""Small repositories in memory, as the real `Sources` sees them."""

from collections.abc import Mapping

from mak.source import Sources
from mak.source.text import blob_id


class Blobs:
    """Blobs by id, counting what is read."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}
        self.reads = 0

    def add(self, data: bytes) -> str:
        blob = blob_id(data)
        self.data[blob] = data
        return blob

    def read(self, blob: str) -> bytes:
        self.reads += 1
        return self.data[blob]


class MemoryCache:
    """A cache as the store has one, in memory."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], bytes] = {}

    def get_many(self, kind: str, keys) -> dict[str, bytes]:  # type: ignore[no-untyped-def]
        return {key: self.items[kind, key] for key in keys if (kind, key) in self.items}

    def put_many(self, kind: str, items: Mapping[str, bytes]) -> None:
        self.items.update({(kind, key): value for key, value in items.items()})


def sources(files: Mapping[str, str | bytes], blobs: Blobs | None = None, cache=None) -> Sources:  # type: ignore[no-untyped-def]
    blobs = blobs or Blobs()
    entries = {
        path: blobs.add(text.encode() if isinstance(text, str) else text)
        for path, text in files.items()
    }
    return Sources(entries, blobs.read, cache)


SHAPES = '''"""Shapes and what is known of them."""

import math

SCALE = 2


class Shape:
    """Something with an outline."""

    sides = 0

    def area(self) -> float:
        """Return the area."""
        raise NotImplementedError

    def name(self):
        return type(self).__name__


def load_user(path: str, *, strict: bool = False) -> Shape:
    """Read a shape from a file.

    It may be slow.
    """
    return Shape()


def total(shapes):
    return sum(s.area() for s in shapes)
'''

READER = """\
def read(path):
    return open(path).read()


def total():
    return 0
"""

TESTS = """\
from pkg import shapes


def test_area_1():
    pass


def test_area_2():
    pass
"""

REPO: dict[str, str | bytes] = {
    "README.md": "# Shapes\n",
    "logo.png": b"\x89PNG\x00\xff",
    "pkg/__init__.py": "from pkg.shapes import Shape\n",
    "pkg/shapes.py": SHAPES,
    "pkg/io/__init__.py": "",
    "pkg/io/reader.py": READER,
    "pkg/broken.py": "def oops(:\n",
    "tests/test_shapes.py": TESTS,
}
