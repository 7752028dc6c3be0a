"""Text of traced values: shown as it is; what may depend on it is said, or refused.

Where it goes to is read off the source: to ``print``, a logger, a warning, an error, or elsewhere.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import logging
import os
import sys
import weakref
from collections.abc import Sequence
from functools import lru_cache
from types import FrameType
from typing import Any

from ...errors import CaptureWarning
from ..base.package import FOLDER
from ..base.state import now
from ..graph import Node, warn_user
from ._decisions import EnclosedError, Examples
from ._lists import Lists

#: What shows text, by the last part of its name.
SHOWING = frozenset({
    "print", "pprint", "write", "debug", "info", "warning", "warn", "error", "exception",
    "critical", "log", "set_description", "set_postfix",
})  # fmt: skip

#: How the names begin of functions that rewritten control flow makes of ways that raise; it asks
#: for them by ``name("error")``.
ERROR = "__flow_error"

#: What makes text of text.
MAKING = frozenset({"str", "repr", "format", "join"})

_PASSING = (
    ast.JoinedStr, ast.FormattedValue, ast.Constant, ast.BinOp, ast.Tuple, ast.List, ast.Dict,
    ast.Starred, ast.keyword, ast.IfExp, ast.ListComp, ast.GeneratorExp,
)  # fmt: skip

_MAKING_TEXT = ("__repr__", "__str__", "__format__")

_PACKAGES = f"{os.sep}site-packages{os.sep}"
_STANDARD = os.path.dirname(os.__file__) + os.sep

_numbers: weakref.WeakKeyDictionary[Node, int] = weakref.WeakKeyDictionary()
_count = itertools.count(1)


def number_of(node: Node) -> int:
    """Return a number that only this node has, so that texts of two are two keys."""
    if node not in _numbers:
        _numbers[node] = next(_count)
    return _numbers[node]


def example(node: Node) -> Any:
    """Return the value of the call that is traced, to be shown; None if it is not known."""
    examples: Examples | None = now().examples
    try:
        return None if examples is None else examples.value(node)
    except EnclosedError:
        return None


def say_without_number() -> None:
    """Warn of text that may be more than shown."""
    if only_shown() is False:
        lists: Lists | None = now().lists
        if lists is not None and lists.columns:  # integers by themselves have text
            lists.told = True
            return
        warn_user(
            'the text of a traced value (`f"{x}"`, `str(x)`) does not have its number in it: what '
            "depends on the text does not depend on the number. Write instead: the text outside "
            "of the function; as a key, a position",
            CaptureWarning,
        )


def only_shown() -> bool | None:
    """Tell whether text that is asked for just now is only shown; None without its source."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name != __file__ and frame.f_code.co_name not in _MAKING_TEXT:
            in_an_error = frame.f_code.co_name.startswith(ERROR)  # a way that ends in one
            if name == logging.__file__ or name.startswith(FOLDER) or in_an_error:
                return True
            if _PACKAGES in name:
                return None if _may_show(frame) else False
            if not name.startswith(_STANDARD):
                return _is_shown(_expressions(frame))
        frame = frame.f_back
    return None


def _may_show(frame: FrameType) -> bool:
    """Tell whether text that a package makes may be only shown: by itself, or by who calls it.

    A logger of a package makes text, and whoever calls the logger shows it.
    """
    if _is_shown(_expressions(frame)) is not False:
        return True
    outer = frame.f_back
    while outer is not None and not outer.f_code.co_filename.startswith(FOLDER):
        if _is_shown(_expressions(outer)):
            return True
        outer = outer.f_back
    return False


def shown_by_percent() -> bool:
    """Tell whether a number is asked for by ``"%.3f" % x``, in text that is only shown."""
    frame = sys._getframe(2)
    if frame.f_code.co_filename == logging.__file__:
        return True
    around = _expressions(frame)
    percent = (
        bool(around) and isinstance(around[0], ast.BinOp) and isinstance(around[0].op, ast.Mod)
    )
    return percent and bool(_is_shown(around))


def _expressions(frame: FrameType) -> list[ast.AST]:
    """Return what is carried out in a frame just now, from the innermost expression on."""
    place = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    text = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    if None in place or not text:
        return []
    line, last, column, end = place
    return _around(_tree(text), (line, column), (last, end))[::-1]


def _is_shown(around: Sequence[ast.AST]) -> bool | None:
    for node, outer in zip(around, [*around[1:], None], strict=False):
        if isinstance(node, ast.Assert) or isinstance(outer, ast.Raise):
            return True
        called = node.func if isinstance(node, ast.Call) else None
        name = getattr(called, "attr", getattr(called, "id", None))
        if name in SHOWING:
            return True
        if name not in MAKING and not isinstance(node, _PASSING):
            return isinstance(node, ast.Assign) and _is_shown_later(node, around)
    return None


def _is_shown_later(node: ast.Assign, around: Sequence[ast.AST]) -> bool:
    """Tell whether a name is given to text that is shown or raised, wherever the name is read."""
    function = next((x for x in around if isinstance(x, ast.FunctionDef)), None)
    if function is None or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return False
    name, shown = node.targets[0].id, set[ast.AST]()
    for x in ast.walk(function):
        called = x.func if isinstance(x, ast.Call) else None
        if isinstance(x, ast.Raise) or (
            getattr(called, "attr", getattr(called, "id", None)) in SHOWING
        ):
            shown.update(ast.walk(x))
    reads = [
        x for x in ast.walk(function)
        if isinstance(x, ast.Name) and x.id == name and isinstance(x.ctx, ast.Load)
    ]  # fmt: skip
    return bool(reads) and shown.issuperset(reads)


@lru_cache(maxsize=8)
def _tree(text: str) -> ast.AST:
    try:
        return ast.parse(text)
    except SyntaxError:  # not Python's own: a notebook's cell with a magic command
        return ast.Module([], [])


def _around(tree: ast.AST, start: Any, stop: Any) -> list[ast.AST]:
    """Return the expressions and statements around a place, outermost first."""
    found: list[ast.AST] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.expr, ast.stmt, ast.keyword)):
            first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
            if first > start or stop > last:
                continue
            found.append(node)
        waiting += ast.iter_child_nodes(node)
    return found
