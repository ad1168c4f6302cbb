"""Statements of a Python file, read off libcst's concrete syntax tree.

Its grammar is newer than that of any Python that runs us. Only line numbers are taken from it,
never text: what it would write back is not byte for byte what it read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import libcst as cst
from libcst._nodes.internal import CodegenState

from mak.source.statement import MAIN_TESTS, Is, Statement, digest_api, role_of
from mak.source.text import one_line, squeeze

_NEWLINE = re.compile(r"\r\n|\n|\r")
_IMPORTS = (cst.Import, cst.ImportFrom, cst.LazyImport, cst.LazyImportFrom)
_TRIES = (cst.Try, cst.TryStar)
_Block = Sequence[cst.BaseStatement | cst.BaseSmallStatement]


def statements(data: bytes) -> tuple[Statement, ...]:
    """Return the top-level statements of `data`; raise SyntaxError when it cannot be read."""
    try:
        module = cst.parse_module(data)
        state = _Lines(module.default_indent, module.default_newline)
        module._codegen(state)
        reader = _Reader(module, state)
        if state.tokens and reader.count != len(_NEWLINE.findall("".join(state.tokens))):
            raise SyntaxError("its lines cannot be told apart")
        written = "".join(state.tokens).encode(module.encoding, "replace")
        if len(written.splitlines()) != len(data.splitlines()):
            raise SyntaxError("its lines cannot be told apart")
        return tuple(reader.block(module.body, top=True))
    except cst.ParserSyntaxError as error:
        raise SyntaxError(error.message) from error
    except (cst.CSTLogicError, TypeError, UnicodeError) as error:
        raise SyntaxError(str(error)) from error


class _Lines(CodegenState):
    """Writes the module again only to learn at which token each statement begins and ends."""

    def __init__(self, indent: str, newline: str) -> None:
        super().__init__(default_indent=indent, default_newline=newline)
        self.spans: dict[int, tuple[int, int]] = {}

    @contextmanager
    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: object = None, end_node: object = None
    ) -> Iterator[None]:
        start = len(self.tokens)
        yield
        self.spans[id(node)] = (start, len(self.tokens))


class _Reader:
    def __init__(self, module: cst.Module, state: _Lines) -> None:
        self.module = module
        self.spans = state.spans
        line, self.starts = 0, []
        for token in state.tokens:
            self.starts.append(line)
            if "\n" in token or "\r" in token:
                line += len(_NEWLINE.findall(token))
        self.starts.append(line)
        self.count = line

    def block(self, body: _Block, top: bool = False) -> Iterator[Statement]:
        """Yield the statements of a module or class body."""
        for number, node in enumerate(body):
            if isinstance(node, cst.FunctionDef | cst.ClassDef):
                yield self.definition(node)
            elif isinstance(node, cst.SimpleStatementLine):
                start, end = self.lines_of(node)
                for place, small in enumerate(node.body):
                    kind = Is.OTHER
                    if isinstance(small, _IMPORTS):
                        kind = Is.IMPORT
                    elif number == 0 and place == 0 and _is_string(small):
                        kind = Is.DOCSTRING
                    yield Statement(kind, start, end + 1, _names(small))
            else:
                start, _ = self.lines_of(node)
                kind = Is.OTHER
                if top and isinstance(node, cst.If) and self.code(node.test) in MAIN_TESTS:
                    kind = Is.MAIN
                elif _only_imports(node):
                    kind = Is.IMPORT
                yield Statement(kind, start, self.last_line(node) + 1, _names(node))

    def definition(self, node: cst.FunctionDef | cst.ClassDef) -> Statement:
        """Return a function or class as a statement."""
        first = node.decorators[0] if node.decorators else node
        line = self.lines_of(node)[0]
        start = self.lines_of(first)[0]
        end = self.last_line(node) + 1
        name = unicodedata.normalize("NFKC", node.name.value)
        decorators = tuple(self.code(d.decorator) for d in node.decorators)
        role = role_of(name, decorators)
        head = self.head(node)
        if isinstance(node, cst.FunctionDef):
            is_async = "async" if node.asynchronous is not None else ""
            api = digest_api("def", is_async, _parameters(node.params), "@", *decorators)
            return Statement(Is.FUNCTION, start, end, (name,), role, api, one_line(head))
        bases = [f"{arg.star}{self.code(arg.value)}" for arg in node.bases]
        keywords = [
            f"{arg.keyword.value if arg.keyword else '**'}={self.code(arg.value)}"
            for arg in node.keywords
        ]
        api = digest_api("class", *bases, *keywords, "@", *decorators)
        statement = Statement(Is.CLASS, start, end, (name,), role, api, one_line(head))
        statement.head = line + 1 + len(_NEWLINE.findall(head))
        if isinstance(node.body, cst.IndentedBlock):
            statement.body = tuple(self.block(node.body.body))
        return statement

    def code(self, node: cst.CSTNode) -> str:
        """Return an expression as `squeeze` writes it, without parentheses around it."""
        if getattr(node, "lpar", ()):
            own = 1 if isinstance(node, cst.Tuple | cst.GeneratorExp) else 0
            node = node.with_changes(lpar=node.lpar[:own], rpar=node.rpar[:own])  # type: ignore[attr-defined]
        return squeeze(self.module.code_for_node(node))

    def head(self, node: cst.FunctionDef | cst.ClassDef) -> str:
        """Return a definition's text from its keyword to its colon."""
        bare = node.with_changes(
            decorators=(),
            leading_lines=(),
            lines_after_decorators=(),
            body=cst.SimpleStatementSuite([cst.Pass()]),
        )
        return self.module.code_for_node(bare).rstrip().removesuffix("pass").rstrip(": \t\\\r\n")

    def lines_of(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return the 0-based first and last line of a node."""
        start, end = self.spans[id(node)]
        last = len(self.starts) - 1
        return self.starts[min(start, last)], self.starts[min(end, last)]

    def last_line(self, node: cst.CSTNode) -> int:
        """Return the 0-based line of the last token of the last statement in a node."""
        while True:
            match node:
                case cst.SimpleStatementLine() | cst.SimpleStatementSuite():
                    return self.lines_of(node)[1]
                case cst.If() | cst.For() | cst.While():
                    node = node.orelse or node.body
                case cst.Try() | cst.TryStar():
                    last = node.handlers[-1] if node.handlers else node.body
                    node = node.finalbody or node.orelse or last
                case cst.Match():
                    node = node.cases[-1]
                case cst.IndentedBlock():
                    node = node.body[-1]
                case _:
                    node = node.body  # type: ignore[attr-defined]


def _parameters(params: cst.Parameters) -> str:
    """Return parameters as `mak.source.python_ast.parameters` does."""
    parts = [_parameter(param) for param in params.posonly_params]
    if parts:
        parts.append("/")
    parts += [_parameter(param) for param in params.params]
    if isinstance(params.star_arg, cst.Param):
        parts.append(f"*{_identifier(params.star_arg.name)}")
    elif params.kwonly_params:
        parts.append("*")
    parts += [_parameter(param) for param in params.kwonly_params]
    if params.star_kwarg is not None:
        parts.append(f"**{_identifier(params.star_kwarg.name)}")
    return ",".join(parts)


def _parameter(param: cst.Param) -> str:
    return f"{_identifier(param.name)}{'' if param.default is None else '='}"


def _identifier(name: cst.Name) -> str:
    return unicodedata.normalize("NFKC", name.value)


def _is_string(node: cst.BaseSmallStatement) -> bool:
    if not isinstance(node, cst.Expr):
        return False
    value = node.value
    return isinstance(value, cst.SimpleString | cst.ConcatenatedString) and isinstance(
        value.evaluated_value, str
    )


def _only_imports(node: cst.CSTNode) -> bool:
    """Whether every leaf is an import, `pass` or an assignment to names; at least one import."""
    imports = 0
    todo = [node]
    while todo:
        leaf = todo.pop()
        match leaf:
            case cst.If():
                todo += [leaf.body, *([leaf.orelse] if leaf.orelse else [])]
            case cst.Try() | cst.TryStar():
                todo += [leaf.body, *leaf.handlers]
                todo += [part for part in (leaf.orelse, leaf.finalbody) if part]
            case cst.Else() | cst.Finally() | cst.ExceptHandler() | cst.ExceptStarHandler():
                todo.append(leaf.body)
            case cst.IndentedBlock() | cst.SimpleStatementSuite() | cst.SimpleStatementLine():
                todo += leaf.body
            case _ if isinstance(leaf, _IMPORTS):
                imports += 1
            case cst.Assign():
                if not all(isinstance(target.target, cst.Name) for target in leaf.targets):
                    return False
            case cst.Pass():
                pass
            case _:
                return False
    return imports > 0


def _names(node: cst.CSTNode) -> tuple[str, ...]:
    """Return the names that a statement binds in its own scope, in order, once each."""
    finder = _Names()
    node.visit(finder)
    return tuple(finder.found)


class _Names(cst.CSTVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, None] = {}

    def add(self, name: str) -> None:
        self.found[unicodedata.normalize("NFKC", name)] = None

    def target(self, node: cst.CSTNode) -> None:
        if isinstance(node, cst.Name):
            self.add(node.value)
        elif isinstance(node, cst.Tuple | cst.List):
            for element in node.elements:
                self.target(element.value)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self.add(node.name.value)
        return False

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        self.add(node.name.value)
        return False

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self.target(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self.target(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self.target(node.target)

    def visit_For(self, node: cst.For) -> None:
        self.target(node.target)

    def visit_WithItem(self, node: cst.WithItem) -> None:
        if node.asname is not None:
            self.target(node.asname.name)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self.target(node.target)

    def visit_TypeAlias(self, node: cst.TypeAlias) -> None:
        self.target(node.name)

    def visit_MatchAs(self, node: cst.MatchAs) -> None:
        if node.name is not None:
            self.add(node.name.value)

    def visit_MatchStar(self, node: cst.MatchStar) -> None:
        if node.name is not None:
            self.add(node.name.value)

    def visit_MatchMapping(self, node: cst.MatchMapping) -> None:
        if node.rest is not None:
            self.add(node.rest.value)

    def visit_ImportAlias(self, node: cst.ImportAlias) -> bool:
        if node.asname is not None:
            self.target(node.asname.name)
        elif isinstance(node.name, cst.Attribute):
            root: cst.BaseExpression = node.name
            while isinstance(root, cst.Attribute):
                root = root.value
            self.target(root)
        else:
            self.target(node.name)
        return False
