"""Write many objects at once: loose when few, as one pack when many.

A loose object costs a file and, made durable, a flush of the disk; `git index-pack` writes and
flushes a thousand objects at the price of a few.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Collection, Mapping, Sequence
from functools import partial

from pygit2.enums import ObjectType

from mak.store.objects import Raw
from mak.store.repository import Repository

#: From this many new objects on, one pack is cheaper than loose objects.
PACK_FROM = 48

#: Bytes of an object up to which a small window does; setting up a large one takes longer.
_SMALL = 1 << 13

#: What an object is, as packs number it.
_TYPES = {b"tree": ObjectType.TREE, b"blob": ObjectType.BLOB}


def put_objects(
    repository: Repository, objects: Mapping[str, Raw], known: Collection[str] = ()
) -> None:
    """Write blobs and trees, given by their ids, that are not in the repository yet.

    `known` are some that are. Of many others it is not asked whether they are there: that costs
    more than to have a few of them twice.
    """
    missing = [raw for id, raw in objects.items() if id not in known]
    if len(missing) < PACK_FROM:
        handle = repository.handle
        missing = [raw for id, raw in objects.items() if id not in known and id not in handle]
        for raw in missing:
            write = partial(handle.write, _TYPES[raw.kind], raw.data)
            repository.write(raw.kind.decode(), write)
        return
    repository.before_write("pack")
    repository.git.run("index-pack", "--stdin", input=_pack(missing))


def _deflated(data: bytes) -> bytes:
    """Compress an object, as Git reads it."""
    if len(data) > _SMALL:
        return zlib.compress(data, 1)
    deflate = zlib.compressobj(1, zlib.DEFLATED, _SMALL.bit_length() - 1, 5)
    return deflate.compress(data) + deflate.flush()


def _pack(objects: Sequence[Raw]) -> bytes:
    out = bytearray(b"PACK" + (2).to_bytes(4, "big") + len(objects).to_bytes(4, "big"))
    for raw in objects:
        size = len(raw.data)
        byte = (_TYPES[raw.kind] << 4) | (size & 15)
        size >>= 4
        while size:
            out.append(byte | 0x80)
            byte = size & 0x7F
            size >>= 7
        out.append(byte)
        out += _deflated(raw.data)
    out += hashlib.sha1(out, usedforsecurity=False).digest()
    return bytes(out)
