"""What stands beside the record of an op: how it is computed, what proves it, what is said.

A record says what an op *is*; that decides how programs are transformed. A facet serves one reader
(code generation, verification, the docs) and is asked for by the record: ``Code.of(op).lower``.
How a map op or a routine becomes machine code is one of the lowerings below.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from ._kinds import Op


@dataclass(frozen=True)
class Instr:
    """One LLVM instruction, by class of element type: float, signed, unsigned, boolean."""

    f: str | None = None
    i: str | None = None
    u: str | None = None
    b: str | None = None


@dataclass(frozen=True)
class Intrinsic:
    """An LLVM floating-point intrinsic such as ``llvm.fabs``, overloaded on the type."""

    name: str


@dataclass(frozen=True)
class Libm:
    """A function of the C mathematics library; SIMD variants are used where they exist."""

    name: str


@dataclass(frozen=True)
class Cython:
    """A function of ``scipy.special.cython_special``, called by its address (float64).

    Of a function with several ``results``, which it writes to memory, the op is one ``part``.
    """

    name: str
    part: int = 0
    results: int = 1


@dataclass(frozen=True)
class Composed:
    """Lowered as a NumPy formula in other ops; in loops by the SIMD function of a name.

    The functions are those of ``symgrad._core.lowering._simd``. ``small`` is that of
    :class:`Written`.
    """

    formula: Callable[..., Any]
    simd: str = ""
    small: Callable[..., Any] | None = None


@dataclass(frozen=True)
class Emit:
    """Lowered by a function that writes LLVM IR for one element.

    Parameters
    ----------
    function:
        ``function(builder, dtype, *values) -> value``, of a :class:`Builder`.
    """

    function: Callable[..., str]


@dataclass(frozen=True)
class Written:
    """Lowered by a function that writes LLVM IR for one vector or matrix of a batch.

    ``write(call, **params)`` is given what ``symgrad._core.lowering._routines.Call`` is: pointers
    to the operands and the result in memory, and their sizes. ``core``, or ``core(**params)``,
    says how many of the last axes of each operand, and of the result, belong to one call; the
    axes before them are the batch, the same for all. None: one call for everything. With
    ``pairs`` elements are complex numbers, pairs of reals along the last axis, and the routines
    are those for them. ``small`` is the op as a NumPy formula in elements of its operands, for
    matrices so small that they are straight code. ``raises`` says that the routine reports a
    failure as a Python error, which is lost in a thread that Python does not know.
    """

    write: Callable[..., None]
    core: tuple[int, ...] | Callable[..., tuple[int, ...]] | None
    pairs: bool = False
    small: Callable[..., Any] | None = None
    raises: bool = False


@dataclass(frozen=True)
class Exact:
    """A routine in multiple precision; see ``symgrad._core.ops.multiple_precision``.

    Parameters
    ----------
    compute:
        ``compute(context, read, like, **params)``: the elements of one call's result.
    reads:
        The operands that the result is a function of.
    core:
        How many of the last axes of the first operand belong to one call.
    symmetric:
        Whether the first operand stands for a symmetric matrix.
    vectors:
        ``vectors(shape, **params)``: the ranges of the result's elements, of a call for an operand
        of this shape, that are orthonormal vectors: their errors are relative to length 1.
    """

    compute: Callable[..., list[Any]]
    reads: tuple[int, ...] = (0,)
    core: int = 2
    symmetric: bool = False
    vectors: Callable[..., tuple[range, ...]] | None = None


Lowering = Instr | Intrinsic | Libm | Cython | Composed | Emit | Written


class Facet:
    """Knowledge of an op beside its record; it lives as long as the op."""

    @classmethod
    def of(cls, op: Op) -> Self:
        """Return what is known of an op; the defaults if that is nothing."""
        found: Self | None = op.beside.get(cls)
        if found is None:
            found = op.beside[cls] = cls()
        return found

    def put(self, op: Op) -> None:
        """Let this be what is known of ``op``."""
        op.beside[type(self)] = self


@dataclass(frozen=True)
class Code(Facet):
    """How an op is computed.

    Parameters
    ----------
    lower:
        In machine code. Of maps: Instr, Intrinsic, Libm, Cython, Composed or Emit. Of routines:
        Written or Composed. The other kinds are lowered by what their records say.
    portable:
        For maps that SciPy computes: the op as a NumPy formula in ops of the C library, for C.
    by_number:
        For maps whose last operand often is a number: ``by_number(*operands, number, element)``, a
        NumPy formula for that number, or None where there is none. ``element``: whether it is for
        elements of arrays, of which fewer digits are promised than of numbers.
    source:
        In NumPy: ``source(*operands, **params) -> str``, one expression. An operand formats as its
        name (or as a number) and has ``shape`` and ``dtype``. Not needed by maps whose
        ``evaluate`` is a function of NumPy or SciPy: they are spelled by its name.
    helpers:
        Functions, plain NumPy, that the source calls; a program's source contains them.
    """

    lower: Lowering | None = None
    portable: Callable[..., Any] | None = None
    by_number: Callable[..., Any] | None = None
    source: Callable[..., str] | None = None
    helpers: tuple[Callable[..., Any], ...] = ()


@dataclass(frozen=True)
class Evidence(Facet):
    """Samples and exact values that an op is tested and certified against.

    Parameters
    ----------
    samples:
        For maps: ``(low, high)``, or one pair for each operand, for tests and plots.
    ulp:
        Largest error of the lowered float64 result in units in the last place.
    exact_form:
        False if the SymPy form differs from the NumPy function at isolated points.
    precise:
        For maps that SymPy has no form of: how the result is computed in multiple precision,
        ``precise(context, guess, *operands, **params)``; see
        ``symgrad.special.multiple_precision``.
    exact:
        For routines: the same, of whole vectors and matrices.
    """

    samples: tuple[Any, ...] = ()
    ulp: float = 4.0
    exact_form: bool = True
    precise: Callable[..., Any] | None = None
    exact: Exact | None = None

    def over(self, arity: int) -> Evidence:
        """Return the same with a pair of ``samples`` for each of ``arity`` operands."""
        pairs = self.samples if isinstance(self.samples[0], tuple) else (self.samples,) * arity
        return dataclasses.replace(self, samples=pairs)


@dataclass(frozen=True)
class Recurrence(Facet):
    """How an op acts on power series, where that does not follow from its rule.

    A series is a list of coefficients, of which None is zero.

    Parameters
    ----------
    coefficient:
        ``coefficient(k, y, *xs, **params)``: coefficient ``k`` of the result, from those before
        it and from the series of the operands.
    formula:
        ``formula(moving, *operands, **params)``: the op in others, whose series is its own; None
        where there is none. ``moving`` says which operands have a series; numbers are given as
        such.
    """

    coefficient: Callable[..., Any] | None = None
    formula: Callable[..., Any] | None = None


@dataclass(frozen=True)
class Limit(Facet):
    """Of a first derivative, 0 where its last operand, a length r, is 0: what it is near there.

    Parameters
    ----------
    form:
        Of a cotangent ``ct*f``: ``form(*operands, slope, rest, still)``, of which further
        derivatives are. ``slope`` is the derivative of the first operand by r where r is 0, None:
        zero; ``rest(size, r)``: the condition that it is; ``still``: whether it may be for good.
    undefined:
        Of the factor ``u = x/r`` of a tangent, with operands ``u, x, size, r``, of which ``size``
        is 0 where all parts are: ``undefined(*operands, still)``, which is ``u`` with derivatives
        of nan, for what is made of it and has no second derivative.
    again:
        Of the condition that a length is 0 in a limit, with operands ``size, r`` and, for a limit
        that is differentiated once, its slope as a function of r: ``again(size, r)``, the
        condition for one derivative more.
    times:
        Of such a condition, how often the limit was differentiated: 1, 2, or 3, and then no
        derivative is known; 0: it is no condition.
    """

    form: Callable[..., Any] | None = None
    undefined: Callable[..., Any] | None = None
    again: Callable[..., Any] | None = None
    times: int = 0

    @property
    def of_lengths(self) -> bool:
        """Whether the op is a first derivative of a length, or a factor of one."""
        return self.form is not None or self.undefined is not None


@dataclass(frozen=True)
class Ties(Facet):
    """Of a decomposition: whether values in a result are equal, and have no derivatives alone.

    Parameters
    ----------
    found:
        ``found(y, *operands, **params)``, of plain arrays; None: there are no such values.
    """

    found: Callable[..., bool] | None = None


@dataclass(frozen=True)
class Zeros(Facet):
    """Where the result of a map can differ from zero, where its operands can.

    Parameters
    ----------
    where:
        ``where(*masks)``: booleans, as those of the operands, of which None is everywhere; an
        operand that is no real number is given itself, or None where its value does not count.
        None: nothing is known.
    """

    where: Callable[..., Any] | None = None


@dataclass(frozen=True)
class Words(Facet):
    """The documentation of an op.

    Parameters
    ----------
    doc:
        One line for the op table.
    convention:
        The value chosen where the derivative does not exist.
    reading:
        For routines: the element formula in terms of ``Inverse(a[p, q], i, j, (p, 0, n - 1),
        (q, 0, n - 1))``, ``Det`` and ``LogAbsDet``, which can be differentiated and read, but
        not computed with. For maps without ``sympy``: the form to read, in terms of functions
        that SymPy does not know.
    """

    doc: str = ""
    convention: str | None = None
    reading: Callable[..., Any] | None = None
