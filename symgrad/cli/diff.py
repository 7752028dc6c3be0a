"""``symgrad diff``: the derivatives of a formula."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np

from .._api._export_c import export_c
from .._api._matrices import jacobian
from .._api._transforms import grad, value_and_grad
from .._core.base.platform import has
from .._dispatch import backend
from .._symbolic import (
    LATE,
    Formula,
    Patience,
    Variable,
    beside,
    derivative_of,
    equation_of,
    latex,
    left_text,
    simplified,
    text,
)
from ..errors import ArgumentError, UnsupportedError
from . import _target
from ._output import Output

SAYS = "print the derivatives of a formula, simplified"

EXAMPLES = """examples:
  symgrad diff "sin(x)*exp(-y**2)"                by x and by y
  symgrad diff "a*x**2 + b*x" --wrt x             by x alone
  symgrad diff "exp(-x**2/2)" --order 2           second derivatives
  symgrad diff "sin(x)/x" --latex
  symgrad diff "sin(x)/x" --program               NumPy code of value and gradient
  symgrad diff "sin(x)/x" --c > slope.c           C code of value and gradient
  symgrad diff "x**2*y" --at x=1.5 y=2            numbers, too"""

#: The last line where simplifying was given up.
LATER = f"({LATE})"


def add(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("formula", metavar="FORMULA", help='such as "sin(x)*exp(-y**2)"')
    _target.add_wrt(command, "all names")
    _target.add_forms(command)
    command.add_argument("--at", metavar="NAME=NUMBER", nargs="+", help="also give numbers there")
    command.add_argument(
        "--memory", type=float, default=2.0, metavar="GB", help="at most so much; default: 2"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if not options.memory > 0:
        raise ArgumentError(f"--memory {options.memory:g}: a number of GB above 0")
    with limited_memory(options.memory):
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    if _target.names_a_file(options.formula):
        raise ArgumentError(
            "diff takes a formula; for a function in a file write "
            f"`symgrad show {options.formula}`, with its arguments after --args"
        )
    target, output = _target.formula(options.formula), Output()
    chosen = _chosen(options.wrt, target)
    point = _point(options.at, target)
    if options.program or options.c:
        _code(options, target, chosen, output)
        return 0
    patience = Patience.of_a_reader()
    for part in patience.required(lambda: _written(options, target, chosen, patience)):
        if isinstance(part, str):
            output.text(part, "yellow" if part == LATER else "")
        else:
            output.equations(part)
    if point:
        _numbers(target, chosen, options.order, point, output)
    return 0


def _chosen(names: list[str] | None, target: _target.Target) -> list[int]:
    """Return the positions of the names to differentiate by."""
    known = [s.name for s in target.symbols]
    for name in names or ():
        if name not in known:
            raise ArgumentError(
                f"--wrt {name}: the formula has no such name; it has {', '.join(known)}"
            )
    return [known.index(name) for name in dict.fromkeys(names or known)]


def _point(texts: list[str] | None, target: _target.Target) -> list[float]:
    """Return a number for each name of the formula, in their order."""
    if not texts:
        return []
    values: dict[str, float] = {}
    for entry in texts:
        name, _, number = entry.partition("=")  # without a sign there is no number
        try:
            values[name.strip()] = float(number)
        except ValueError:
            raise ArgumentError(f"--at {entry}: write NAME=NUMBER, such as x=1.5") from None
    known = [s.name for s in target.symbols]
    if set(values) != set(known):
        raise ArgumentError(f"--at needs a number for each of {', '.join(known)}")
    return [values[name] for name in known]


def _written(
    options: argparse.Namespace, target: _target.Target, chosen: list[int], patience: Patience
) -> list[str | list[tuple[str, str]]]:
    """Return what to print: lines, and equations to be aligned."""
    found = _simplified(target, chosen, options.order, patience)
    if options.latex:
        return [f"f = {latex(target.formula)}", found.latex()]
    left = f"f({', '.join(s.name for s in target.symbols)})"
    if options.pretty:
        return [beside(left, target.formula) + "\n\n" + found.pretty()]
    late = [LATER] if found.gave_up else []
    return [[(left, text(target.formula))], "", found.rows(), *late]


def _simplified(
    target: _target.Target, chosen: list[int], order: int, patience: Patience
) -> Formula:
    paths = list(combinations_with_replacement(chosen, order))
    slopes: dict[tuple[int, ...], Any] = {(): target.formula}
    short = []
    for path in patience.among(paths):
        for n, k in enumerate(path, 1):
            if path[:n] not in slopes:
                slopes[path[:n]] = derivative_of(slopes[path[: n - 1]], target.symbols[k])
        short.append(simplified(slopes[path], patience))
    shapes, naming = {s.name: () for s in target.symbols}, patience.for_names()
    equations = [
        equation_of(
            Variable("f"), [Variable(target.symbols[k].name) for k in path], e, shapes, naming
        )
        for path, e in naming.among(list(zip(paths, short, strict=True)))
    ]
    return Formula(tuple(equations), patience.gave_up or naming.gave_up)


def _code(
    options: argparse.Namespace, target: _target.Target, chosen: list[int], output: Output
) -> None:
    argnums = tuple(chosen) if len(chosen) > 1 else chosen[0]
    f = target.function
    made: Any = value_and_grad(f, argnums)
    if options.order > 1:
        made = grad(f, argnums)
        for _ in range(options.order - 1):
            made = jacobian(made, argnums)
    point = [1.0] * len(target.symbols)
    names = {1: "value_and_gradient", 2: "hessian"}
    name = names.get(options.order, f"derivative_{options.order}")
    if options.c:
        output.code(export_c(made, *point, name=name), "c")
    else:
        output.code(made.program(*point).source(name), "python")


def _numbers(
    target: _target.Target, chosen: list[int], order: int, point: list[float], output: Output
) -> None:
    place = ", ".join(f"{s.name}={v:g}" for s, v in zip(target.symbols, point, strict=True))
    rows = []
    with backend("numpy"), np.errstate(all="ignore"):
        value = target.function(*map(np.float64, point))  # 1/0 is an error of Python's numbers
        rows.append(("f", f"{float(value):.16g}"))
        for path in combinations_with_replacement(chosen, order):
            slope: Any = target.function
            for k in path:
                slope = grad(slope, k)
            variables = [Variable(target.symbols[k].name) for k in path]
            rows.append((left_text(Variable("f"), variables), f"{float(slope(*point)):.16g}"))
    output.text(f"\nat {place}")
    output.equations(rows)


# ---------------------------------------------------------------- memory


with contextlib.suppress(ImportError):  # not on every system
    import resource


@contextlib.contextmanager
def limited_memory(most: float) -> Iterator[None]:
    """Refuse in the block what takes more memory than ``most`` GB beside what is taken.

    Formulas have bounds of their own; this one is for what these do not foresee. It is the
    system's, of the process's address space, and holds on Linux.

    Raises
    ------
    UnsupportedError
        If the memory does not suffice.
    """
    statm = Path("/proc/self/statm")
    if not statm.exists() or not has("limits"):
        yield
        return
    taken = int(statm.read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    room = taken + int(min(most, 2.0**20) * 2**30)
    known = [n for n in (soft, hard, room) if n != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(known), hard))
    try:
        yield
    except MemoryError:
        # Not with the error as its cause, whose frames hold the memory.
        refused = True
    else:
        refused = False
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    if refused:
        raise UnsupportedError(
            f"the formula takes more than {most:g} GB of memory (--memory) to differentiate"
        )
