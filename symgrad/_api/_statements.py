"""Functions as syntax trees: their source, code from trees again, and what statements do.

A block of Python's statements assigns, writes to arrays, is left early.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import textwrap
from collections.abc import Callable, Iterable, Sequence
from types import CodeType, FunctionType
from typing import Any

#: The attribute of a function that has its source.
SOURCE = "__symgrad_source__"


def definition_of(function: FunctionType) -> ast.FunctionDef | None:
    """Return the tree of a function's definition, with the lines of its file; None without any."""
    code = function.__code__
    try:
        if code.co_name == "<lambda>":
            return _lambda_of(code, ast.parse("".join(inspect.findsource(function)[0])))
        text, first = _source_of(function)
        tree = ast.parse(textwrap.dedent(text))
    except (OSError, TypeError, SyntaxError):
        return None
    found = tree.body[0] if tree.body else None
    if not isinstance(found, ast.FunctionDef) or found.name != code.co_name:
        return None  # the lines may hold a lambda, too
    ast.increment_lineno(tree, first - 1)
    return found


def _lambda_of(code: CodeType, file: ast.Module) -> ast.FunctionDef | None:
    """Return the lambda whose code it is, as a ``def``: the least that holds all its places."""
    places = [p for p in code.co_positions() if None not in p and p[2:] != (0, 0)]
    if not places:  # of Python run with -X no_debug_ranges
        return None
    first = min((line, column) for line, _, column, _ in places)
    last = max((line, column) for _, line, _, column in places)
    around = [
        node for node in ast.walk(file)
        if isinstance(node, ast.Lambda)
        and (node.body.lineno, node.body.col_offset) <= first
        and last <= (node.body.end_lineno, node.body.end_col_offset)
    ]  # fmt: skip
    if not around:
        return None
    node = max(around, key=lambda n: (n.body.lineno, n.body.col_offset))
    result = located(ast.Return(node.body), node.body)
    return ast.copy_location(ast.FunctionDef("lambda_", node.args, [result], []), node)


def _source_of(function: Callable[..., Any]) -> tuple[str, int]:
    """Return a function's source and its first line.

    The function keeps it: where a notebook's is sent to another process by value, with its
    attributes, there is no file.
    """
    known: tuple[str, int] | None = getattr(function, SOURCE, None)
    if known is None:
        lines, first = inspect.getsourcelines(function)
        known = "".join(lines), first
        with contextlib.suppress(AttributeError, TypeError):  # it is no function of Python's
            setattr(function, SOURCE, known)
    return known


def strip(definition: ast.FunctionDef) -> None:
    """Drop what is evaluated where a function is defined; Python may make functions of it."""
    definition.decorator_list, definition.returns = [], None
    definition.type_params = []  # type: ignore[attr-defined]  # since Python 3.12
    for parameter in ast.walk(definition.args):
        if isinstance(parameter, ast.arg):
            parameter.annotation = None


def code_of(code: CodeType, name: str) -> CodeType:
    """Return the code of the function ``name`` that other code defines.

    There may be others before it: defaults have lambdas, and in Python 3.14 the annotations
    are a function.
    """
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)


def located(node: Any, like: ast.AST) -> Any:
    """Put a node on the line where ``like`` begins: Python takes a call's line from its end."""
    ast.copy_location(node, like)
    if hasattr(node, "lineno"):
        node.end_lineno, node.end_col_offset = node.lineno, node.col_offset
    return node


_EXITS = (ast.Return, ast.Break, ast.Continue)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def walk(nodes: Iterable[ast.AST], into_loops: bool = True) -> Iterable[ast.AST]:
    """Yield all nodes of statements, not those of functions within."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, _SCOPES) or (not into_loops and isinstance(node, (ast.For, ast.While))):
            continue
        stack.extend(ast.iter_child_nodes(node))


def _array_written(element: ast.Subscript) -> set[str]:
    """Return the name of the array whose element it is, if it is assigned to."""
    base: ast.expr = element
    while isinstance(base, ast.Subscript):
        base = base.value
    if not isinstance(element.ctx, ast.Store) or not isinstance(base, ast.Name):
        return set()
    return {base.id}


def assigned(statements: Sequence[ast.stmt]) -> list[str]:
    """Return the variables that statements assign to, in order of their names."""
    found = set()
    for node in walk(statements):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Subscript):
            # An array that is assigned to changes, though its name stays.
            found |= _array_written(node)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
    return sorted(name for name in found if not name.startswith("__flow"))


def writes_by_names(statements: Sequence[ast.stmt]) -> bool:
    """Tell whether a block assigns to elements of something that it gives a name itself."""
    bound = set()
    changed = {
        n.id for call in effects(statements) for n in ast.walk(call) if isinstance(n, ast.Name)
    }
    for node in walk(statements):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            changed.add(node.target.id)
        elif isinstance(node, ast.Assign):
            parts = [p for t in node.targets for p in ast.walk(t)]
            bound |= {p.id for p in parts if isinstance(p, ast.Name)
                      and isinstance(p.ctx, ast.Store)}  # fmt: skip
        if isinstance(node, ast.Subscript):
            changed |= _array_written(node)
    return bool(bound & changed)


def writes(statements: Sequence[ast.stmt]) -> bool:
    """Tell whether a block assigns to elements, itself or by a call."""
    return bool(effects(statements)) or any(
        isinstance(n, ast.AugAssign)
        or (isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store))
        for n in walk(statements)
    )


def leaves(statements: Sequence[ast.stmt]) -> bool:
    """Tell whether a block may be left early."""
    return any(isinstance(n, _EXITS) for n in walk(statements))


def exits_by_return(statements: Sequence[ast.stmt]) -> bool:
    """Tell whether a block is left early, by nothing but ``return``, and not out of a loop."""
    nodes = list(walk(statements))
    exits = [n for n in nodes if isinstance(n, _EXITS)]
    loops = any(leaves(n.body) for n in nodes if isinstance(n, (ast.For, ast.While)))
    return bool(exits) and all(isinstance(n, ast.Return) for n in exits) and not loops


def effects(statements: Sequence[ast.stmt]) -> list[ast.Call]:
    """Return the calls that are statements of their own."""
    alone = (n.value for n in walk(statements) if isinstance(n, ast.Expr))
    return [call for call in alone if isinstance(call, ast.Call)]


def plain(statements: Sequence[ast.stmt]) -> bool:
    """Tell whether a block does nothing but assign and call."""
    return not any(
        isinstance(n, (*_EXITS, ast.Global, ast.Nonlocal, ast.Delete, ast.Try, ast.With))
        or (isinstance(n, ast.Expr) and isinstance(n.value, (ast.Yield, ast.Await)))
        for n in walk(statements)
    )


def returns(statements: Sequence[ast.stmt]) -> bool:
    """Tell whether a block always ends by ``return`` or ``raise``."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return returns(last.body) and returns(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise))


def raises(statements: Sequence[ast.stmt]) -> bool:
    """Tell whether a block always ends by ``raise``."""
    return returns(statements) and not leaves(statements)


def counts(s: ast.For) -> bool:
    """Tell whether a loop is ``for i in range(...)``."""
    return (
        isinstance(s.target, ast.Name)
        and isinstance(s.iter, ast.Call)
        and isinstance(s.iter.func, ast.Name)
        and s.iter.func.id == "range"
        and not s.iter.keywords
        and not any(isinstance(a, ast.Starred) for a in s.iter.args)
    )
