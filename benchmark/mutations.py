"""Known ways to break a package, each with the files in which it must be noticed.

What is broken, and who would fail by it, is found by plain reading of syntax trees, without the
resolution that the checks use: top-level imports of a name that its file binds once, calls of it by
that name, methods of a name that the package defines once.

A kind of break is one function of a few lines; there are as many of them as make the file long.
"""

from __future__ import annotations

import ast
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Mutation:
    """One edit that breaks something."""

    #: New files by path; None: the file goes.
    files: dict[str, bytes | None]
    #: Files of which each must get a finding of one of the checks.
    where: frozenset[str]
    checks: frozenset[str]


class Module:
    """A file of a package, as a syntax tree."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self.tree = ast.parse(data)
        self.starts = [0]
        for line in data.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        #: How often each name is bound anywhere in the file, in whatever scope.
        self.bound = Counter(_bound(self.tree))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """What each part of the tree stands in."""
        return {c: n for n in ast.walk(self.tree) for c in ast.iter_child_nodes(n)}

    @cached_property
    def calls(self) -> dict[str, list[ast.Call]]:
        """Calls of plain names, by name, without ``*`` and outside of what may catch them."""
        found: dict[str, list[ast.Call]] = defaultdict(list)
        for node in ast.walk(self.tree):
            match node:
                case ast.Call(func=ast.Name(id=name)) if is_plain(node):
                    if not self.is_sheltered(node):
                        found[name].append(node)
        return found

    def is_sheltered(self, node: ast.AST, word: str = "") -> bool:
        """Whether something around a node may expect it to fail, or keep it from being run.

        With a `word`, only conditions that mention it do.
        """
        outer = self.parents.get(node)
        while outer is not None:
            if isinstance(outer, ast.Try | ast.With | ast.AsyncWith | ast.Lambda | ast.BoolOp):
                return True
            if isinstance(outer, ast.If | ast.IfExp) and word in ast.unparse(outer.test):
                return True
            if isinstance(outer, Function) and outer.decorator_list:
                return True
            outer = self.parents.get(outer)
        return False

    def at(self, line: int, column: int) -> int:
        """Return the offset of a position."""
        return self.starts[line - 1] + column

    def start(self, node: ast.AST) -> int:
        """Return where a part starts."""
        return self.at(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        """Return where a part ends."""
        return self.at(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def replaced(self, *edits: tuple[int, int, bytes]) -> bytes:
        """Return the text with stretches of it replaced."""
        data = self.data
        for start, end, text in sorted(edits, reverse=True):
            data = data[:start] + text + data[end:]
        return data

    def whole(self, node: ast.stmt) -> tuple[int, int]:
        """Return a statement's stretch, decorators and its last line's end included."""
        lines = [node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))]
        return self.starts[min(lines) - 1], self.starts[node.end_lineno or node.lineno]


def is_plain(call: ast.Call) -> bool:
    return not any(isinstance(a, ast.Starred) for a in call.args) and all(
        k.arg for k in call.keywords
    )


def _on_load(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs when a module is loaded: everything outside of functions."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            yield from _on_load(node)


def _bound(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0]
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield from node.names


class Package:
    """The modules of a package, and who imports what from whom at its top level."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.modules: dict[str, Module] = {}
        for path, data in files.items():
            if path.endswith(".py") and data.isascii() and "/test" not in path:
                try:
                    self.modules[path] = Module(path, data)
                except (SyntaxError, RecursionError):
                    continue
        self.names = {dotted_name(path): path for path in self.modules}
        #: (module, name) → the files that import it by that very name and bind it once.
        self.importers: dict[tuple[str, str], list[str]] = defaultdict(list)
        #: Module → modules that its top level imports, as far as this reading goes.
        self.imports: dict[str, set[str]] = defaultdict(set)
        #: How many functions of a name the package defines.
        self.defined: Counter[str] = Counter()
        #: Names that stand as attributes that are set, or as strings.
        self.set: set[str] = set()
        for module in self.modules.values():
            self._read(module)

    def _read(self, module: Module) -> None:
        for node in ast.walk(module.tree):
            if isinstance(node, Function):
                self.defined[node.name] += 1
            elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                self.set.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self.set.add(node.value)
        for statement in _on_load(module.tree):
            if isinstance(statement, ast.Import):
                for alias in statement.names:
                    self.imports[module.path].add(self.names.get(alias.name, ""))
            if not isinstance(statement, ast.ImportFrom):
                continue
            base = self.absolute(module.path, statement)
            path = self.names.get(base, "")
            for alias in statement.names:
                inner = self.names.get(f"{base}.{alias.name}")
                self.imports[module.path].add(inner or path)
                plain = path and not inner and not alias.asname and statement in module.tree.body
                if plain and module.bound[alias.name] == 1:
                    self.importers[path, alias.name].append(module.path)

    def absolute(self, path: str, statement: ast.ImportFrom) -> str:
        """Return the module that a ``from`` names."""
        if not statement.level:
            return statement.module or ""
        parts = dotted_name(path).split(".")
        parts = parts[: len(parts) - statement.level + path.endswith("/__init__.py")]
        return ".".join((*parts, *([statement.module] if statement.module else [])))

    def reaches(self, start: str, goal: str) -> bool:
        """Whether the imports of a module lead to another, its packages counted as imported."""
        seen = {start}
        todo = [start]
        while todo:
            for to in self.imports[todo.pop()]:
                if to and to not in seen:
                    seen.add(to)
                    todo.append(to)
        return goal in seen

    def functions(self, module: Module) -> Iterator[Function]:
        """Yield top-level functions without decorators, bound once in their file."""
        for node in module.tree.body:
            is_bare = isinstance(node, Function) and not node.decorator_list
            if is_bare and module.bound[node.name] == 1:
                yield node

    def classes(self, module: Module) -> Iterator[ast.ClassDef]:
        """Yield top-level classes, bound once in their file."""
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and module.bound[node.name] == 1:
                yield node

    def calls(self, path: str, name: str) -> dict[str, list[ast.Call]]:
        """Return the calls of an imported name, by file."""
        found = {p: self.modules[p].calls.get(name, []) for p in self.importers[path, name]}
        return {p: calls for p, calls in found.items() if calls}


def dotted_name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


# ----------------------------------------------------------------------------- the ways to break


def is_simple(arguments: ast.arguments) -> bool:
    """Whether there are only parameters without default that a place or a name can fill."""
    odd = (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs, *arguments.defaults)
    return not any(odd) and not arguments.posonlyargs


def drop_parameter(package: Package, module: Module) -> Iterator[Mutation]:
    """Drop a parameter that callers pass."""
    for function in package.functions(module):
        args = function.args.args
        if not is_simple(function.args) or not args:
            continue
        calls = package.calls(module.path, function.name)
        where = {p for p, c in calls.items() if any(len(x.args) == len(args) for x in c)}
        if where:
            start = module.end(args[-2]) if len(args) > 1 else module.start(args[-1])
            text = module.replaced((start, module.end(args[-1]), b""))
            yield _mutation(module, text, where, "call-signature")


def rename_function(package: Package, module: Module) -> Iterator[Mutation]:
    """Rename a function that others import."""
    for function in package.functions(module):
        where = package.importers[module.path, function.name]
        if where:
            yield _mutation(module, _renamed(module, function), where, "unknown-import")


def change_init(package: Package, module: Module) -> Iterator[Mutation]:
    """Give an ``__init__`` one more required parameter."""
    for klass in package.classes(module):
        if klass.bases or klass.keywords or klass.decorator_list:
            continue
        for method in klass.body:
            if (
                isinstance(method, Function)
                and method.name == "__init__"
                and is_simple(method.args)
            ):
                where = package.calls(module.path, klass.name)
                if where and method.args.args:
                    at = module.end(method.args.args[-1])
                    text = module.replaced((at, at, b", extra_"))
                    yield _mutation(module, text, where, "call-signature")


def remove_export(package: Package, module: Module) -> Iterator[Mutation]:
    """Remove a constant that others import."""
    for node in module.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if module.bound[name] == 1:
                where = package.importers[module.path, name]
                if where:
                    text = module.replaced((*module.whole(node), b""))
                    yield _mutation(module, text, where, "unknown-import")


def add_field(package: Package, module: Module) -> Iterator[Mutation]:
    """Give a dataclass, a named tuple or an attrs class a field that is required."""
    makers = {"dataclass", "dataclasses.dataclass", "attr.define", "attrs.define", "attr.frozen"}
    for klass in package.classes(module):
        decorators = {ast.unparse(d).partition("(")[0] for d in klass.decorator_list}
        is_tuple = [ast.unparse(b) for b in klass.bases] in (["NamedTuple"], ["typing.NamedTuple"])
        is_made = bool(decorators) and decorators <= makers and not klass.bases
        if not (is_made or (is_tuple and not decorators)):
            continue
        if any(
            isinstance(part, Function) and part.name in ("__init__", "__new__")
            for part in klass.body
        ):
            continue
        fields = [part for part in klass.body if isinstance(part, ast.AnnAssign)]
        where = {*package.calls(module.path, klass.name)}
        if module.calls.get(klass.name):
            where.add(module.path)
        if fields and where:
            at = module.starts[fields[0].lineno - 1]
            line = b" " * fields[0].col_offset + b"extra_: int\n"
            yield _mutation(module, module.replaced((at, at, line)), where, "missing-field")


def reorder(package: Package, module: Module) -> Iterator[Mutation]:
    """Let two parameters change places that callers fill by place."""
    for function in package.functions(module):
        args = function.args.args
        if (
            len(args) < 2
            or len(args) - len(function.args.defaults) < 2
            or function.args.posonlyargs
        ):
            continue
        calls = package.calls(module.path, function.name)
        where = {p for p, c in calls.items() if any(len(x.args) >= 2 for x in c)}
        if where:
            one, two = ((module.start(a), module.end(a)) for a in args[:2])
            text = module.replaced(
                (*one, module.data[slice(*two)]), (*two, module.data[slice(*one)])
            )
            yield _mutation(module, text, where, "interface")


def own_methods(
    package: Package, module: Module
) -> Iterator[tuple[ast.ClassDef, Function, list[ast.Call]]]:
    """Yield methods of a name that the package defines once, with calls through ``self``."""
    for klass in package.classes(module):
        if (
            klass.keywords
            or klass.decorator_list
            or [b for b in klass.bases if ast.unparse(b) != "object"]
        ):
            continue
        calls: dict[str, list[ast.Call]] = defaultdict(list)
        for node in ast.walk(klass):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=attr)):
                    if is_plain(node) and not module.is_sheltered(node):
                        calls[attr].append(node)
        for method in klass.body:
            if not isinstance(method, Function) or method.decorator_list:
                continue
            is_alone = package.defined[method.name] == 1 and method.name not in package.set
            if is_alone and calls[method.name] and not method.name.startswith("__"):
                yield klass, method, calls[method.name]


def make_static(package: Package, module: Module) -> Iterator[Mutation]:
    """Make a method static that is called through ``self``."""
    for _, method, calls in own_methods(package, module):
        count = len(method.args.args) - 1
        if is_simple(method.args) and any(len(c.args) == count and not c.keywords for c in calls):
            at = module.starts[method.lineno - 1]
            line = b" " * method.col_offset + b"@staticmethod\n"
            yield _mutation(
                module, module.replaced((at, at, line)), {module.path}, "call-signature"
            )


def rename_method(package: Package, module: Module) -> Iterator[Mutation]:
    """Rename a method that is called through ``self`` in a class that is made somewhere."""
    for klass, method, _ in own_methods(package, module):
        if package.calls(module.path, klass.name) or module.calls.get(klass.name):
            yield _mutation(
                module, _renamed(module, method), {module.path}, "unknown-attribute", "interface"
            )


def delete_reexport(package: Package, module: Module) -> Iterator[Mutation]:
    """Take a name out of a package's ``__init__`` that others import from there."""
    if not module.path.endswith("/__init__.py") or b"__getattr__" in module.data:
        return
    for node in module.tree.body:
        if not isinstance(node, ast.ImportFrom) or node.names[0].name == "*":
            continue
        for alias in node.names:
            name = alias.asname or alias.name
            where = package.importers[module.path, name]
            if where and module.bound[name] == 1 and len(node.names) > 1:
                kept = ast.ImportFrom(
                    node.module, [a for a in node.names if a is not alias], node.level
                )
                text = ast.unparse(kept).encode()
                yield _mutation(
                    module,
                    module.replaced((module.start(node), module.end(node), text)),
                    where,
                    "unknown-import",
                )


def change_override(package: Package, module: Module) -> Iterator[Mutation]:
    """Drop a parameter of a method that overrides one with the same parameters."""
    own = {klass.name: klass for klass in package.classes(module)}
    for klass in own.values():
        if len(klass.bases) != 1 or not isinstance(klass.bases[0], ast.Name) or klass.keywords:
            continue
        base = own.get(klass.bases[0].id)
        if base is None or base.bases or base.keywords:
            continue
        theirs = {m.name: m for m in base.body if isinstance(m, Function)}
        for method in klass.body:
            if not isinstance(method, Function) or method.decorator_list or method.name[:2] == "__":
                continue
            other = theirs.get(method.name)
            if other is None or other.decorator_list or not is_simple(method.args):
                continue
            args = method.args.args
            if not is_simple(other.args) or len(args) < 2 or len(other.args.args) != len(args):
                continue
            text = module.replaced((module.end(args[-2]), module.end(args[-1]), b""))
            yield _mutation(module, text, {module.path}, "override")


def close_circle(package: Package, module: Module) -> Iterator[Mutation]:
    """Take a definition from a module at the top of one that it imports before that definition."""
    for to in sorted(package.imports[module.path] - {""}):
        if to == module.path or to.endswith("__init__.py") or module.path.endswith("__init__.py"):
            continue
        if package.reaches(to, module.path):
            continue
        name = _defined_after(package, module, to)
        if name:
            other = package.modules[to]
            line = f"from {dotted_name(module.path)} import {name}\n".encode()
            yield _mutation(other, line + other.data, {to}, "import-cycle")


def _defined_after(package: Package, module: Module, to: str) -> str:
    """Return a definition that follows the import of a module, at the top level of both."""
    is_there = False
    for node in module.tree.body:
        if isinstance(node, ast.ImportFrom) and not node.level:
            is_there = is_there or f"{node.module}" == dotted_name(to)
        is_whole = isinstance(node, ast.FunctionDef | ast.ClassDef)
        if is_there and is_whole and module.bound[node.name] == 1:
            return node.name
    return ""


def shadow(package: Package, module: Module) -> Iterator[Mutation]:
    """Define a function's name anew at the end of its file, if nothing used it on loading."""
    top = (node for node in module.tree.body if not isinstance(node, Function | ast.ClassDef))
    served = {part.id for node in top for part in ast.walk(node) if isinstance(part, ast.Name)}
    for function in package.functions(module):
        if function.name in served:
            continue
        line = f"\n\ndef {function.name}(*args, **kwargs):\n    return None\n".encode()
        yield _mutation(
            module, module.data.rstrip() + b"\n" + line, {module.path}, "duplicate-symbol"
        )


def drop_entry(package: Package, module: Module) -> Iterator[Mutation]:
    """Drop an entry of a table that is looked up by its key."""
    for node in module.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as table):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Dict() as table):
                pass
            case _:
                continue
        if module.bound[name] != 1 or len(table.keys) < 2 or not _only_read(package, module, name):
            continue
        asked: dict[str, set[str]] = defaultdict(set)
        for path in (module.path, *package.importers[module.path, name]):
            user = package.modules[path]
            for part in ast.walk(user.tree):
                match part:
                    case ast.Subscript(value=ast.Name(id=used), slice=ast.Constant(value=str(key))):
                        if used == name and not user.is_sheltered(part, name):
                            asked[key].add(path)
        for place, key in enumerate(table.keys):
            if isinstance(key, ast.Constant) and key.value in asked:
                last = place == len(table.keys) - 1
                begin = module.end(table.values[place - 1]) if last else module.start(key)
                following = table.keys[place + 1] if not last else None
                stop = module.start(following) if following else module.end(table.values[place])
                text = module.replaced((begin, stop, b""))
                yield _mutation(module, text, asked[key.value], "unknown-key")


def _only_read(package: Package, module: Module, name: str) -> bool:
    """Whether every use of the name in the package only looks something up."""
    for user in package.modules.values():
        if name.encode() not in user.data:
            continue
        for part in ast.walk(user.tree):
            if isinstance(part, ast.Attribute) and part.attr == name:
                return False
            if isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Load):
                outer = user.parents.get(part)
                if isinstance(outer, ast.Subscript) and isinstance(outer.ctx, ast.Load):
                    continue
                if isinstance(outer, ast.Attribute) and outer.attr in ("get", "items", "keys"):
                    continue
                if not isinstance(outer, ast.Compare | ast.For | ast.comprehension):
                    return False
    return True


def rename_keyword(package: Package, module: Module) -> Iterator[Mutation]:
    """Rename a parameter that callers pass by name."""
    for function in package.functions(module):
        if function.args.kwarg:
            continue
        calls = package.calls(module.path, function.name)
        for arg in (*function.args.args, *function.args.kwonlyargs):
            where = {
                p for p, c in calls.items() if any(k.arg == arg.arg for x in c for k in x.keywords)
            }
            if where:
                at = module.start(arg)
                text = module.replaced((at, at + len(arg.arg), b"renamed_"))
                yield _mutation(module, text, where, "call-signature")


def drop_exported(package: Package, module: Module) -> Iterator[Mutation]:
    """Remove a function that ``__all__`` lists."""
    listed: set[str] = set()
    for node in module.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List() | ast.Tuple()):
                listed |= {e.value for e in node.value.elts if isinstance(e, ast.Constant)}
    for function in package.functions(module) if listed else ():
        if function.name in listed:
            text = module.replaced((*module.whole(function), b""))
            yield _mutation(module, text, {module.path}, "unknown-export")


def drop_import(package: Package, module: Module) -> Iterator[Mutation]:
    """Remove an import that functions of the file use."""
    for node in module.tree.body:
        match node:
            case ast.Import(names=[ast.alias(name=name, asname=None)]) if "." not in name:
                pass
            case _:
                continue
        used = [
            part
            for part in ast.walk(module.tree)
            if isinstance(part, ast.Name) and part.id == name and not module.is_sheltered(part)
        ]
        if used and module.bound[name] == 1 and b"import *" not in module.data:
            text = module.replaced((*module.whole(node), b""))
            yield _mutation(module, text, {module.path}, "unbound-name")


def move_module(package: Package, module: Module) -> Iterator[Mutation]:
    """Move a module that others import from to another name."""
    if module.path.endswith("__init__.py"):
        return
    where = {p for (path, _), ps in package.importers.items() if path == module.path for p in ps}
    if where:
        to = module.path.removesuffix(".py") + "_moved.py"
        yield Mutation(
            {module.path: None, to: module.data}, frozenset(where), frozenset({"unknown-import"})
        )


def _mutation(module: Module, text: bytes, where: object, *checks: str) -> Mutation:
    assert isinstance(where, set | dict | list)
    return Mutation({module.path: text}, frozenset(where), frozenset(checks))


def _renamed(module: Module, function: Function) -> bytes:
    start = module.data.index(b"def", module.start(function)) + 3
    start = module.data.index(function.name.encode(), start)
    return module.replaced((start, start + len(function.name), b"renamed_anew"))


KINDS: dict[str, Callable[[Package, Module], Iterator[Mutation]]] = {
    "drop a parameter that callers pass": drop_parameter,
    "rename a parameter that callers name": rename_keyword,
    "reorder positional parameters": reorder,
    "rename a function": rename_function,
    "rename a method": rename_method,
    "change an __init__": change_init,
    "make a method static": make_static,
    "add a required field": add_field,
    "change an override": change_override,
    "remove an export": remove_export,
    "delete a re-export": delete_reexport,
    "remove what __all__ lists": drop_exported,
    "remove an import that is used": drop_import,
    "move a module": move_module,
    "introduce an import cycle": close_circle,
    "shadow a name": shadow,
    "drop a registry entry": drop_entry,
}


def mutations(package: Package, kind: str, count: int, seed: int) -> list[Mutation]:
    """Return up to `count` ways to break a package in one kind of way, from all over it.

    One of each module first; where that does not make `count`, another one of each, and so on.
    """
    make = KINDS[kind]
    paths = sorted(package.modules)
    random.Random(f"{seed} {kind}").shuffle(paths)
    found: list[Mutation] = []
    left = [iter(make(package, package.modules[path])) for path in paths]
    while left and len(found) < count:
        rest = []
        for more in left:
            one = next(more, None)
            if one is not None:
                found.append(one)
                rest.append(more)
            if len(found) == count:
                break
        left = rest
    return found
