"""Bytes ⇄ nodes, without loss: cutting files, editing nodes, merging two edits.

`split` cuts a file into nodes that tile it byte for byte and `join` puts them together again; a
file that cannot be cut is one node. `Sources` is a whole tree of such files. `apply` puts an
agent's edits into one file and proves that nothing else changed; `merge` joins two versions of it.

Nothing here does I/O or knows of Git.
"""

from mak.source.append import Appendable, appendable, only_adds
from mak.source.compiled import complaint, still_compiles
from mak.source.draft import Draft, Proposal, Shown, View, path_of
from mak.source.edit import apply, compiles
from mak.source.file import (
    Applied,
    Conflict,
    Newer,
    Rejected,
    SourceFile,
    decode,
    join,
    of_file,
    unlike,
)
from mak.source.language import LANGUAGES, Language, has_nodes, split, without_separator
from mak.source.merge import merge, merge_edits
from mak.source.tree import Cache, Sources

__all__ = [
    "LANGUAGES",
    "Appendable",
    "Applied",
    "Cache",
    "Conflict",
    "Draft",
    "Language",
    "Newer",
    "Proposal",
    "Rejected",
    "Shown",
    "SourceFile",
    "Sources",
    "View",
    "appendable",
    "apply",
    "compiles",
    "complaint",
    "decode",
    "has_nodes",
    "join",
    "merge",
    "merge_edits",
    "of_file",
    "only_adds",
    "path_of",
    "split",
    "still_compiles",
    "unlike",
    "without_separator",
]
