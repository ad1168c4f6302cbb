"""The Git settings of a copy: those of the person, and nothing that leads back to them.

Commands may set what they like, for the repository and for the account: it is the copy's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mak.store.repository import Repository

#: The person's settings, but for those about where and how files are checked out.
_CONFIG = """[include]
\tpath = {config}
[core]
\trepositoryFormatVersion = {version}
\tbare = false
\tworktree = {root}
\tsparseCheckout = false
\tfsmonitor = false
\tuntrackedCache = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[lfs]
\tstorage = {lfs}
{partial}"""


def of_copy(repository: Repository, root: Path) -> str:
    """Return the configuration of a copy of a repository whose files are in `root`."""
    theirs = repository.common_dir
    partial = repository.git.run("config", "--local", "extensions.partialClone", check=False)
    return _CONFIG.format(
        config=_quoted(str(theirs / "config")),
        root=_quoted(str(root)),
        lfs=_quoted(str(theirs / "lfs")),
        version=1 if partial else 0,
        partial=f"[extensions]\n\tpartialClone = {partial.decode()}" if partial else "",
    )


def of_account(repository: Repository) -> str:
    """Return what the person has set for all repositories, with what that includes, as a file."""
    listed = repository.git.run("config", "--global", "--includes", "--list", "-z", check=False)
    return "".join(_lines(listed.decode("utf-8", "surrogateescape")))


def _lines(listed: str) -> Iterator[str]:
    for item in listed.split("\0")[:-1]:
        key, is_set, value = item.partition("\n")
        section, _, rest = key.partition(".")
        inner, _, name = rest.rpartition(".")
        if section.lower() in ("include", "includeif"):
            continue  # what they name is in the list
        yield f"[{section} {_quoted(inner)}]\n" if inner else f"[{section}]\n"
        yield f"\t{name} = {_quoted(value)}\n" if is_set else f"\t{name}\n"


def _quoted(text: str) -> str:
    """Return a text as a value in a configuration file."""
    for found, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(found, written)
    return f'"{text}"'
