"""Which paths may be written, and what Git has to say about them."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mak.errors import UsageError
from mak.store.entries import Entries
from mak.store.repository import Repository
from mak.store.treeops import Entry, fold

_TREE, _LINK, _SUBMODULE = 0o040000, 0o120000, 0o160000

#: Attributes with which a file in the working tree is not the blob that Git stores.
_FILTERS = ("filter", "working-tree-encoding")


class Paths:
    """Judges paths of one repository."""

    def __init__(self, repository: Repository, entries: Entries) -> None:
        self._repository = repository
        self._entries = entries
        self._opaque: dict[str, str] = {}
        self._asked_for: str | None = None
        #: The attribute files that `_opaque` was read with.
        self._attributes: frozenset[tuple[str, str]] | None = None

    # ------------------------------------------------------------------------- may be written

    def check(self, path: str, commit: str) -> str:
        """Return a path as Git writes it, or raise UsageError when MAK must not write there."""
        parts = [part for part in path.split("/") if part not in ("", ".")]
        self._check_words(path, parts)
        parts = self._from_root(path, parts, commit)
        name = "/".join(parts)
        root = self._repository.root if self._repository.is_checked_out else None
        found: Entry | None = None
        for count in range(1, len(parts) + 1):
            part = "/".join(parts[:count])
            found = self._entries.find(commit, part)
            if found is not None and found.mode == _SUBMODULE:
                raise UsageError(
                    f"{path}: {part} is a submodule", hint=f"run mak in it: --work-dir {part}"
                )
            if found is not None and found.mode == _LINK:
                raise UsageError(f"{path}: {part} is a symbolic link", hint="name what it links to")
            if found is not None and count < len(parts) and found.mode != _TREE:
                raise UsageError(f"{path}: {part} is a file, not a folder")
            if root is not None:
                self._check_on_disk(path, root, part, is_folder=count < len(parts))
        if path.endswith("/") or (found is not None and found.mode == _TREE):
            raise UsageError(f"{path}: a folder, not a file")
        if found is None:
            self._check_new(path, parts, commit)
            if root is not None and (root / name).exists():
                raise UsageError(
                    f"{path}: it is there but not committed; commit it first (git add '{name}'; "
                    "git commit), or move it away"
                )
        if root is not None:
            self._check_sparse(name, found is None)
        return name

    def _check_words(self, path: str, parts: Sequence[str]) -> None:
        if path.startswith("/"):
            raise UsageError(
                f"{path}: an absolute path",
                hint="paths are relative to the repository's top folder",
            )
        if not parts or "\0" in path:
            raise UsageError(f"{path!r}: not a path")
        if ".." in parts:
            raise UsageError(
                f"{path}: leads out of its folder with ..", hint="name the file itself"
            )
        for part in parts:
            if fold(part).rstrip(". ") == ".git" or fold(part) == "git~1":
                raise UsageError(f"{path}: inside a Git directory")
        try:
            path.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"{path!r}: a name that is not UTF-8") from error

    def _from_root(self, path: str, parts: list[str], commit: str) -> list[str]:
        """Return a path as seen from the root, also where it is given as seen from the work dir."""
        prefix, name = self._repository.prefix, "/".join(parts)
        if name.startswith(prefix):
            return parts
        if not self._entries.find(commit, name) and self._entries.find(commit, prefix + name):
            return [*prefix.split("/")[:-1], *parts]
        raise UsageError(
            f"{path}: outside the work dir {prefix}; paths begin at the repository's top folder",
            hint="use --work-dir to work on more of the repository",
        )

    def _check_on_disk(self, path: str, root: Path, part: str, *, is_folder: bool) -> None:
        try:
            mode = (root / part).lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return
        if stat.S_ISLNK(mode):
            raise UsageError(f"{path}: {part} is a symbolic link", hint="name what it links to")
        if is_folder and not stat.S_ISDIR(mode):
            raise UsageError(f"{path}: {part} is a file, not a folder")
        if not is_folder and stat.S_ISDIR(mode):
            raise UsageError(f"{path}: a folder, not a file")
        if is_folder and (root / part / ".git").exists():
            raise UsageError(
                f"{path}: {part} is a repository of its own",
                hint=f"run mak in it: --work-dir {part}",
            )

    def _check_new(self, path: str, parts: Sequence[str], commit: str) -> None:
        """Refuse a new name that a case-insensitive file system takes for one that is there."""
        if not commit:
            return
        handle = self._repository.handle
        tree = handle[self._entries.tree(commit)]
        for part in parts:
            names = [item.name or "" for item in tree]  # type: ignore[attr-defined]
            if part not in names:
                twins = [name for name in names if fold(name) == fold(part)]
                if twins:
                    raise UsageError(
                        f"{path}: {part} and {twins[0]}, which exists, differ only in case or "
                        "Unicode form",
                        hint="some file systems cannot hold both; choose another name",
                    )
                return
            tree = tree[part]  # type: ignore[index]

    def _check_sparse(self, path: str, is_new: bool) -> None:
        config = self._repository.handle.config
        if "core.sparsecheckout" not in config or not config.get_bool("core.sparsecheckout"):
            return
        # New files are in or out with what is beside them.
        beside = path.rpartition("/")[0] if is_new else path
        tags: set[str] = set()
        while not tags:
            listed = self._repository.git.run("ls-files", "-t", "-z", "--", *filter(None, [beside]))
            tags = {line[:1].decode() for line in listed.split(b"\0") if line}
            if not beside:
                break
            beside = beside.rpartition("/")[0]
        if tags == {"S"}:
            folder = path.rpartition("/")[0] or path
            raise UsageError(
                f"{path}: left out of this sparse checkout",
                hint=f"git sparse-checkout add {folder}",
            )

    # -------------------------------------------------------------------------- what Git says

    def ignored(self, paths: Sequence[str]) -> list[str]:
        """Return those of the paths that Git ignores; what is tracked never is."""
        if not self._repository.is_checked_out or not paths:
            return []
        done = self._repository.git.run(
            "check-ignore",
            "-z",
            "--stdin",
            input=b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths),
            check=False,
            env={"GIT_LITERAL_PATHSPECS": "0"},
        )
        found = {os.fsdecode(path).removeprefix("./") for path in done.split(b"\0") if path}
        return [path for path in paths if path in found]

    def opaque_reason(self, path: str, commit: str) -> str:
        """Return why a file must not be cut: it is not stored as it is read. Empty: it may."""
        if commit != self._asked_for:
            self._asked_for = commit
            files = self._entries.files(commit)
            attributes = frozenset(
                (name, oid) for name, oid in files.items() if name.endswith(".gitattributes")
            )
            if attributes != self._attributes:
                self._attributes = attributes
                self._opaque = self._read_attributes([*files], commit)
        if path not in self._opaque:
            self._opaque.update(self._read_attributes([path], commit))
        return self._opaque[path]

    def opaque_reasons(self, paths: Sequence[str], commit: str) -> dict[str, str]:
        """Return what `opaque_reason` says of these paths, asking Git once."""
        return self._read_attributes(paths, commit)

    def _read_attributes(self, paths: Sequence[str], commit: str) -> dict[str, str]:
        asked = b"".join(os.fsencode(path) + b"\0" for path in paths)
        git = self._repository.git
        if self._repository.is_checked_out:
            out = git.run("check-attr", "-z", "--stdin", *_FILTERS, input=asked)
        else:
            with tempfile.TemporaryDirectory() as folder:
                env = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
                git.run("read-tree", commit or "--empty", env=env)
                out = git.run(
                    "check-attr", "--cached", "-z", "--stdin", *_FILTERS, input=asked, env=env
                )
        reasons = dict.fromkeys(paths, "")
        fields = os.fsdecode(out).split("\0")
        for path, attribute, value in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
            if value not in ("unspecified", "unset"):
                reasons[path] = f"Git converts it ({attribute}={value})"
        return reasons
