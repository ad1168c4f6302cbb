"""Which file a module name means, and what a file's module is called.

Nothing is imported and no configuration is read: packages are found by their ``__init__.py``, roots
are the folders that hold top-level packages. A name that could mean something outside the
repository means that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cached_property

#: Folders that are put on the path by convention.
_ROOTS = ("", "src/", "lib/", "python/")
#: Packages below such a folder are nobody's import but their own.
_PRIVATE = ("test", "fixture", "example", "vendor", "data", "template")
_STDLIB = sys.stdlib_module_names


class Modules:
    """The Python modules among the paths of a repository.

    A module is named by its file, a namespace package (a folder without ``__init__.py``) by its
    folder with a ``/`` at the end.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._files = frozenset(path for path in paths if path.endswith((".py", ".pyi")))
        self._memo: dict[tuple[str, str], str | None] = {}

    @cached_property
    def _folders(self) -> frozenset[str]:
        folders: set[str] = set()
        for path in self._files:
            folder = _folder(path)
            while folder and folder not in folders:
                folders.add(folder)
                folder = _folder(folder[:-1])
        return frozenset(folders)

    @cached_property
    def _inferred(self) -> tuple[str, ...]:
        """Return the folders that hold top-level packages, conventional ones first."""
        found: set[str] = set()
        for folder in self._folders:
            if self._is_package(folder):
                outer = _folder(folder[:-1])
                if not self._is_package(outer):
                    found.add(outer)
        rest = sorted(
            root
            for root in found.difference(_ROOTS)
            if not any(word in part for part in root.split("/") for word in _PRIVATE)
        )
        return (*_ROOTS, *rest)

    def _is_package(self, folder: str) -> bool:
        if not folder:
            return False
        return f"{folder}__init__.py" in self._files or f"{folder}__init__.pyi" in self._files

    def root(self, path: str) -> str:
        """Return the folder on the import path through which `path` is imported."""
        folder = _folder(path)
        if not self._is_package(folder):
            roots = [root for root in self._inferred if folder.startswith(root)]
            return max(roots, key=len)
        while self._is_package(folder):
            folder = _folder(folder[:-1])
        return folder

    def name(self, path: str) -> str:
        """Return the dotted name of the module in `path`, as importers write it.

        `path` need not exist yet. Empty when its folders cannot be part of a module's name.
        """
        rest = path[len(self.root(path)) :].removesuffix("/")
        for ending in ("/__init__.py", "/__init__.pyi", ".py", ".pyi"):
            if rest.endswith(ending):
                rest = rest.removesuffix(ending)
                break
        parts = rest.split("/")
        return ".".join(parts) if all(part.isidentifier() for part in parts) else ""

    def package(self, path: str) -> str:
        """Return the folder that relative imports in `path` start from."""
        return _folder(path)

    def child(self, module: str, name: str) -> str | None:
        """Return the submodule `name` of a package."""
        folder = _inside(module)
        return None if folder is None else self._at(folder, name)

    def _at(self, folder: str, name: str) -> str | None:
        for candidate in (
            f"{folder}{name}/__init__.py",
            f"{folder}{name}.py",
            f"{folder}{name}/__init__.pyi",
            f"{folder}{name}.pyi",
        ):
            if candidate in self._files:
                return candidate
        inner = f"{folder}{name}/"
        return inner if inner in self._folders else None

    def absolute(self, name: str, importer: str) -> str | None:
        """Return the module that ``import name`` means in the file `importer`."""
        key = (_folder(importer), name)
        if key not in self._memo:
            self._memo[key] = self._absolute(name, importer)
        return self._memo[key]

    def _absolute(self, name: str, importer: str) -> str | None:
        top, *rest = name.split(".")
        own = self.root(importer)
        roots = dict.fromkeys((own, _folder(importer), *self._inferred))
        if top in _STDLIB:
            roots = dict.fromkeys((own,))
        if self._is_package(_folder(importer)):
            roots.pop(_folder(importer), None)
        namespace: str | None = None
        for root in roots:
            found: str | None = self._at(root, top)
            for part in rest:
                found = self.child(found, part) if found is not None else None
            if found is None:
                continue
            if not found.endswith("/"):
                return found
            namespace = namespace or (None if top in _STDLIB else found)
        return namespace

    def relative(self, level: int, name: str, importer: str) -> str | None:
        """Return the module that ``from ..name import`` means in the file `importer`."""
        folder = _folder(importer)
        for _ in range(level - 1):
            if not folder:
                return None
            folder = _folder(folder[:-1])
        found: str | None = folder
        if self._is_package(folder):
            found = self._at(_folder(folder[:-1]), folder.rstrip("/").rpartition("/")[2])
        for part in name.split(".") if name else ():
            found = self.child(found, part) if found is not None else None
        return found

    def imported(self, level: int, name: str, importer: str) -> str | None:
        """Return the module that an import statement of `importer` names; None: not here."""
        if level:
            return self.relative(level, name, importer)
        return self.absolute(name, importer)

    def find(self, name: str) -> tuple[str, ...]:
        """Return every module that is called `name` by those who may import it."""
        top, *rest = name.split(".")
        found: dict[str, None] = {}
        for root in self._inferred:
            module: str | None = self._at(root, top)
            for part in rest:
                module = self.child(module, part) if module is not None else None
            if module is not None and not module.endswith("/"):
                found[module] = None
        return tuple(found)


def _folder(path: str) -> str:
    """Return the folder of a path with its ``/``; empty at the top."""
    head, sep, _ = path.rpartition("/")
    return head + sep


def _inside(module: str) -> str | None:
    """Return the folder of a package's submodules."""
    if module.endswith("/") or not module:
        return module
    folder, _, name = module.rpartition("/")
    if name in ("__init__.py", "__init__.pyi"):
        return f"{folder}/" if folder else ""
    return None
