"""Definitions of functions: their source as a syntax tree, and code from trees again."""

from __future__ import annotations

import ast
import contextlib
import inspect
import textwrap
from collections.abc import Callable
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
