"""What a command works on: a formula, or a function in a file, and its example arguments.

A formula is read by :func:`symgrad.parse`, an argument by the reader below: both accept what
is on their lists and never execute text. A file that is named on the command line is Python
code of the user's, and is imported, as ``python file.py`` would do.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

from .._api._transforms import value_and_grad
from .._core.base.state import within
from .._core.graph import Where, raised_at
from .._core.trace import argument_names
from .._dispatch import Function
from .._parse import parse
from .._sympy._from_sympy import from_sympy
from ..errors import ArgumentError, ParseError, SymgradError

HELP = """\
TARGET is a function in a file (model.py:energy), in a module (package.models:energy), or a
formula ("x*sin(x)"). ARGUMENT is a number (2.0), a list ("[1.5, 2]"), or an array by its shape:
zeros(3), ones(2, 3), eye(3), arange(5), rand(4, 3), randn(4, 3). Real numbers need a point:
2.0 is a variable, 2 a size."""

#: Largest array that may be asked for by its shape.
LARGEST = 10_000_000


@dataclass(frozen=True)
class Target:
    """A function with the names of its parameters; ``formula`` where it was given as one."""

    function: Callable[..., Any]
    formula: sp.Expr | None = None
    symbols: tuple[sp.Symbol, ...] = ()


def add_target(command: argparse.ArgumentParser, optional: bool = False) -> None:
    """Add the arguments ``TARGET --args ARGUMENT ...`` to a command."""
    number = "?" if optional else None
    command.add_argument(
        "target", metavar="TARGET", nargs=number, help="file.py:function, or a formula"
    )
    command.add_argument(
        "--args", metavar="ARGUMENT", nargs="+", default=[], help="example arguments"
    )


def add_wrt(command: argparse.ArgumentParser, default: str = "all real") -> None:
    """Add the choice of arguments to differentiate by."""
    command.add_argument("--wrt", metavar="NAME", nargs="+", help=f"by what; default: {default}")


#: Orders of derivatives; beyond, formulas are too long to be read.
ORDERS = range(1, 10)


def add_forms(command: argparse.ArgumentParser, **more: str) -> None:
    """Add the order of derivatives, and the forms in which they are printed."""
    command.add_argument(
        "--order", type=int, default=1, choices=ORDERS, metavar="N", help="1 to 9; default: 1"
    )
    form = command.add_mutually_exclusive_group()
    forms = {"latex": "formulas as LaTeX", "pretty": "formulas as pictures of Unicode characters",
             "program": "the derivatives in NumPy", "c": "the same in C99", **more}  # fmt: skip
    for name, text in forms.items():
        form.add_argument(f"--{name}", action="store_true", help=text)


def load(text: str) -> Target:
    """Return the function that the command line names.

    Raises
    ------
    ArgumentError
        If there is no such file or function.
    ParseError
        If it is a formula with a mistake.
    """
    place, colon, name = text.rpartition(":")
    if not colon and text.endswith(".py"):
        raise ArgumentError(f"which function of {text}? Write {text}:function")
    if not colon:
        return formula(text)
    if not name.isidentifier():
        raise ArgumentError(f"{name!r} is no name of a function: write file.py:function")
    module = _file(Path(place)) if place.endswith(".py") else _module(place)
    function = getattr(module, name, None)
    if not callable(function):
        near = [
            n for n, v in vars(module).items()
            if callable(v) and not n.startswith("_") and v.__module__ == module.__name__
        ]  # fmt: skip
        raise ArgumentError(f"{place} has no function {name!r}; it has {', '.join(near) or 'none'}")
    return Target(_guarded(function))


def names_a_file(text: str) -> bool:
    """Tell whether a text is meant as ``file.py:function``, not as a formula."""
    return re.fullmatch(r"[\w./\\-]*\.py(:\w*)?", text.strip()) is not None


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Report what the user's function raises as a mistake of its line, not of symgrad's."""

    @functools.wraps(function)
    def guarded(*values: Any, **named: Any) -> Any:
        try:
            return function(*values, **named)
        except SymgradError:
            raise
        except (Exception, SystemExit) as error:
            place = raised_at(error)
            found = ArgumentError(f"{_name(function)} raised {type(error).__name__}: {error}")
            if place is not None:
                found.args, found.where = (f"{found} [{place}]",), str(place)
            raise found from error

    return guarded


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", "the function")


def matched(function: Callable[..., Any], values: list[Any]) -> list[str]:
    """Return the names of the parameters that example arguments are for.

    Raises
    ------
    ArgumentError
        If the function takes others, or more, or fewer.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # written in C
        return argument_names(function, values, {})
    try:
        signature.bind(*values)
    except TypeError as error:
        wanted = ", ".join(signature.parameters)
        raise ArgumentError(
            f"{_name(function)}({wanted}) cannot be called with {len(values)} arguments: {error}; "
            "write one ARGUMENT for each after --args"
        ) from None
    return argument_names(function, values, {})


def chosen(wrt: list[str] | None, names: list[str], values: list[Any]) -> list[int]:
    """Return the arguments to differentiate by: those named, or all real ones."""
    for name in wrt or ():
        if name not in names:
            raise ArgumentError(f"--wrt {name}: the arguments are {', '.join(names) or 'none'}")
    if wrt:
        return [names.index(name) for name in wrt]
    return [k for k, x in enumerate(values) if not isinstance(x, int)]


def some(wrt: list[int]) -> list[int]:
    """Return the arguments to differentiate by; an error if there are none."""
    if not wrt:
        raise ArgumentError("there is no real argument to differentiate by: write 2.0, not 2")
    return wrt


def value_and_gradient(function: Callable[..., Any], wrt: list[int]) -> Function:
    """Return a function of the value and the gradient by some arguments."""
    return value_and_grad(function, tuple(wrt) if len(some(wrt)) > 1 else wrt[0])


def formula(text: str) -> Target:
    """Return a formula as a function of its names, in alphabetical order."""
    expression = parse(text)
    symbols = tuple(sorted(expression.free_symbols, key=lambda s: s.name))
    if not symbols:
        raise ArgumentError(f"the formula {text!r} has no names to differentiate by")
    made = from_sympy(expression, list(symbols))

    @functools.wraps(made)
    def function(*values: Any) -> Any:
        with within(where=Where("formula", 1, "formula")):
            return made(*values)

    return Target(function, expression, symbols)


def _file(path: Path) -> Any:
    if not path.is_file():
        raise ArgumentError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.resolve()))  # for its own imports
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever the user's file raises
        raise ArgumentError(
            f"{path} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    finally:
        sys.path.pop(0)
    return module


def _module(name: str) -> Any:
    if not all(part.isidentifier() for part in name.split(".")):
        raise ArgumentError(f"{name!r} is neither a file (model.py) nor a module (package.models)")
    sys.path.insert(0, "")  # the current folder, if there still is one
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ArgumentError(f"the module {name} cannot be imported: {error}") from None
    except (Exception, SystemExit) as error:  # whatever the user's module raises
        raise ArgumentError(
            f"the module {name} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    finally:
        sys.path.pop(0)


# ---------------------------------------------------------------- arguments

_GENERATOR_SEED = 0


def arguments(texts: list[str]) -> list[Any]:
    """Return the values of example arguments; random ones are the same every time."""
    rng = np.random.default_rng(_GENERATOR_SEED)
    return [_Argument(text, rng).value() for text in texts]


class _Argument:
    """Reads one argument through a whitelist on Python's syntax tree."""

    def __init__(self, text: str, rng: np.random.Generator) -> None:
        self.text = text
        self.makers: dict[str, Callable[..., Any]] = {
            "zeros": lambda *shape: np.zeros(shape),
            "ones": lambda *shape: np.ones(shape),
            "eye": lambda n: np.eye(n),
            "arange": lambda n: np.arange(float(n)),
            "rand": lambda *shape: rng.random(shape),
            "randn": lambda *shape: rng.standard_normal(shape),
        }

    def refuse(self, why: str, column: int = 0) -> ParseError:
        return ParseError(why, text=self.text, position=column)

    def value(self) -> Any:
        if len(self.text) > 100_000:
            raise ParseError("an argument of more than 100000 characters")
        try:
            tree = ast.parse(self.text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            column = (getattr(error, "offset", None) or 1) - 1
            raise self.refuse("not an argument: " + HELP.split("ARGUMENT is ")[1], column) from None
        return self.made(tree)

    def made(self, tree: ast.expr) -> Any:
        if isinstance(tree, ast.List | ast.Tuple):
            found = self.numbers(tree, 0)
            try:
                return np.array(found, float)
            except ValueError:
                raise self.refuse("the rows of this list have different lengths") from None
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
            make = self.makers.get(tree.func.id)
            if make is None:
                known = ", ".join(self.makers)
                raise self.refuse(f"unknown array {tree.func.id!r}: {known}", tree.col_offset)
            return self.array(make, tree)
        return self.number(tree)

    def array(self, make: Callable[..., Any], tree: ast.Call) -> Any:
        shape = [self.number(a) for a in tree.args]
        if tree.keywords or not shape or any(type(n) is not int or n < 0 for n in shape):
            raise self.refuse("an array is given by whole numbers: ones(2, 3)", tree.col_offset)
        if np.prod([float(n) for n in shape]) > LARGEST:
            raise self.refuse(f"more than {LARGEST} elements", tree.col_offset)
        try:
            return make(*shape)
        except TypeError:
            raise self.refuse("it takes one number", tree.col_offset) from None

    def numbers(self, tree: ast.expr, depth: int) -> Any:
        if isinstance(tree, ast.List | ast.Tuple):
            if depth == 8:
                raise self.refuse("nested too deeply", tree.col_offset)
            return [self.numbers(e, depth + 1) for e in tree.elts]
        return float(self.number(tree))

    def number(self, tree: ast.expr) -> float | int:
        sign = 1
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            sign, tree = -1, tree.operand
        value = tree.value if isinstance(tree, ast.Constant) else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            return sign * value
        raise self.refuse("only numbers, lists and array shapes are arguments", tree.col_offset)
