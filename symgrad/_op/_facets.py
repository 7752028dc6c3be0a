"""What stands beside the record of an op: how it is computed, what proves it, what is said of it.

A record says what an op *is*; that decides how programs are transformed. A facet serves one reader
(code generation, verification, the docs) and is asked for by the record: ``Code.of(op).lower``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from ._kinds import Op
from ._lowering import Exact, Lowering


class Facet:
    """What is known of an op beside its record; it lives as long as the op."""

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
    source:
        In NumPy: ``source(*operands, **params) -> str``, one expression. An operand formats as its
        name (or as a number) and has ``shape`` and ``dtype``. Not needed by maps whose
        ``evaluate`` is a function of NumPy or SciPy: they are spelled by its name.
    helpers:
        Functions, plain NumPy, that the source calls; a program's source contains them.
    """

    lower: Lowering | None = None
    portable: Callable[..., Any] | None = None
    source: Callable[..., str] | None = None
    helpers: tuple[Callable[..., Any], ...] = ()


@dataclass(frozen=True)
class Evidence(Facet):
    """What an op is tested and certified against.

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
        ``precise(context, guess, *operands, **params)``; see ``symgrad.special.precisely``.
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
class Words(Facet):
    """What is said of an op.

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
