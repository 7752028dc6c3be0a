"""Functions given by tables of polynomials: one for each interval of equal width.

``fitted`` is the formula in NumPy; in kernels and in C it is one step, that finds the interval and
reads its coefficients from a constant array.

A table is where it begins, the width of its intervals, and for each a row: the value in the middle,
what is left of it beyond a double, and the coefficients of the powers of the distance from the
middle. The file ``tables.txt`` says them in hexadecimal, exactly; ``docs/build_fits.py`` writes it
and says what each table is.

Source: J.-M. Muller, Elementary Functions, 3rd edition, 2016, chapters 3 and 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any

import numpy as np
import sympy as sp

from .._core.op import (
    Builder,
    Code,
    Composed,
    Emit,
    Evidence,
    Map,
    NoRule,
    Op,
    Partials,
    Real,
    Words,
    define,
    define_step,
)
from .records import result_of

Table = tuple[float, float, tuple[tuple[float, ...], ...]]


def _read(text: str) -> Iterator[tuple[str, Table]]:
    for block in text.split("\n\n")[1:]:  # the first says how to read the others
        head, *rows = block.splitlines()
        name, low, width, _ = head.split()
        numbers = tuple([tuple(map(float.fromhex, row.split())) for row in rows])
        yield name, (float(low), float(width), numbers)


TABLES: dict[str, Table] = dict(
    _read(resources.files(__package__).joinpath("tables.txt").read_text("ascii"))
)
#: The tables' names, by which programs know them.
NAMES = {id(table): name for name, table in TABLES.items()}


def __getattr__(name: str) -> Table:
    """Return a table by its name: ``from .tables import KEI_MIDDLE``."""
    try:
        return TABLES[name]
    except KeyError:
        raise AttributeError(f"there is no table {name}") from None


# ---------------------------------------------------------------- evaluating a table


def fitted(x: Any, table: Any) -> Any:
    """The function of a table; outside of its intervals, the value at their ends.

    In the distance s from an interval's middle: what is largest comes last, and what its double
    does not hold comes before it.
    """
    low, width, rows = table
    x = np.minimum(np.maximum(x, low), low + width * len(rows))
    piece = np.minimum(np.floor((x - low) * (1 / width)), len(rows) - 1.0)
    row = np.array(rows).T[:, np.where(piece == piece, piece, 0.0).astype(np.int64)]
    s = x - (low + (piece + 0.5) * width)
    square = s * s
    even, odd = row[-1], row[-2]
    for c in row[-3:1:-1]:
        even, odd = odd, c + square * even
    return row[0] + (row[1] + s * (odd + s * even))


def _emit(e: Builder, dtype: Any, x: str, table: str) -> str:
    low, width, rows = TABLES[table]
    terms = len(rows[0])

    def number(value: float) -> str:
        return e.const(value, np.float64)

    def real(word: str, a: str, b: str) -> str:
        return e.op(word, "double", a, b)

    def bounded(x: str, bound: float, word: str) -> str:
        beyond = e.op(f"fcmp {word}", "double", x, number(bound))
        return e.select(beyond, "double", number(bound), x)

    x = bounded(bounded(x, low, "olt"), low + width * len(rows), "ogt")
    place = real("fmul", real("fsub", x, number(low)), number(1 / width))
    e.module.declare("llvm.fptosi.sat.i64.f64", "i64", ["double"])
    place = bounded(place, len(rows) - 0.5, "ogt")
    piece = e.call("i64", "@llvm.fptosi.sat.i64.f64", [f"double {place}"])
    first = e.op("mul", "i64", piece, terms)
    numbers = tuple([c for row in rows for c in row])

    def entry(k: int) -> str:
        return e.entry(numbers, e.op("add", "i64", first, k) if k else first)

    steps = real("fmul", e.cast("sitofp", "i64", piece, "double"), number(width))
    s = real("fsub", x, real("fadd", steps, number(low + 0.5 * width)))
    square = real("fmul", s, s)
    even, odd = entry(terms - 1), entry(terms - 2)
    for k in range(terms - 3, 1, -1):
        even, odd = odd, real("fadd", entry(k), real("fmul", square, even))
    rest = real("fmul", s, real("fadd", odd, real("fmul", s, even)))
    return real("fadd", entry(0), real("fadd", entry(1), rest))


FITTED = define_step(
    Map("Fitted", evaluate=fitted, domain=(Real,), rule=NoRule("a step of other ops in kernels"),
        types=lambda x, table: ((np.dtype(float),), np.dtype(float))),
    Code(Emit(_emit)),
)  # fmt: skip


def step(x: Any, table: Table) -> Any:
    """``fitted`` of a traced operand."""
    return FITTED(x, table=NAMES[id(table)])


def by_tables(formula: Callable[..., Any], ufunc: np.ufunc | None = None) -> Callable[..., Any]:
    """Return an op's evaluation by the ``formula(x, fit, **params)`` that computes a function.

    ``fit`` is what computes tables: :func:`fitted` or :func:`step`. The element types are those of
    ``ufunc``, if there is one.
    """

    def evaluate(x: Any, **params: Any) -> Any:
        x = np.asarray(x)
        result = np.result_type(x, 0.0) if ufunc is None else result_of(ufunc, x)
        with np.errstate(all="ignore"):
            found = formula(x.astype(np.float64), fitted, **params)
        return np.asarray(found).astype(result)[()]

    return evaluate


def table_code(formula: Callable[..., Any], *helpers: Callable[..., Any]) -> Code:
    """Return how an op is computed by such a formula; ``helpers`` are what it calls."""
    name = formula.__name__

    def source(x: Any, **params: Any) -> str:
        single = x.dtype != np.float64
        wide = f"{x}.astype(np.float64)" if single else str(x)
        code = f"{name}({', '.join([wide, 'fitted', *map(str, params.values())])})"
        return f"{code}.astype(np.{x.dtype.name})" if single else code

    lower = Composed(lambda x, **params: formula(x.astype(np.float64), step, **params))
    return Code(lower, source=source, helpers=(*helpers, formula, fitted))


def tabulated(
    name: str, formula: Callable[..., Any], domain: tuple[sp.Set, ...],
    form: Callable[..., Any] | None, partials: Callable[..., Any], *facets: Evidence | Words,
    functions: tuple[Any, ...] = (), helpers: tuple[Callable[..., Any], ...] = (), **fields: Any,
) -> Op:  # fmt: skip
    """Define an op by such a formula; the first of ``functions`` says the element types."""
    return define(
        Map(name, functions=functions, evaluate=by_tables(formula, *functions[:1]), domain=domain,
            sympy=form, rule=Partials(partials), **fields),
        table_code(formula, *helpers),
        *facets,
    )  # fmt: skip
