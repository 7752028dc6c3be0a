"""A regression problem as compiled functions: the only place where the demo calls symgrad."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import sympy as sp

import symgrad as sg

from ._fit import Jacobian, Matrix, Residual, Vector
from ._problem import Problem


class Entry(Protocol):
    """What the demo reads of a compared element; see ``symgrad.verify``."""

    @property
    def place(self) -> str:
        """Which element."""

    @property
    def condition(self) -> float:
        """How much the rounding of a direct evaluation is amplified there."""


class Check(Protocol):
    """What the demo reads of the comparison by one input."""

    @property
    def name(self) -> str:
        """``"value"``, or the input."""

    @property
    def max_ulp(self) -> float:
        """The largest distance from the exact one, in units in the last place."""

    @property
    def worst(self) -> Entry | None:
        """The element with that distance."""


class Report(Protocol):
    """What the demo reads of a verification report."""

    @property
    def checks(self) -> Sequence[Check]:
        """One for the value and one for each input."""


@dataclass(frozen=True)
class Kernels:
    """Residual and Jacobian of a problem as functions of the parameters.

    Parameters
    ----------
    residual, jacobian:
        ``residual(b)`` has shape (m,), ``jacobian(b)`` shape (m, p).
    verify:
        Compares the Jacobian at given parameters with the exact one.
    """

    residual: Residual
    jacobian: Jacobian
    verify: Callable[[Vector], Report]


def compile_kernels(problem: Problem) -> Kernels:
    """Compile a problem's residual and Jacobian with symgrad."""
    model = sg.from_sympy(problem.model, problem.symbols)

    def residual(b: Vector) -> Vector:
        fitted: Vector = model(*problem.x, *b)
        return problem.target - fitted

    return Kernels(
        residual=sg.compile(residual),
        jacobian=sg.jacobian(residual),
        verify=lambda b: sg.verify(residual, b),
    )


def derivatives(problem: Problem) -> dict[sp.Symbol, sp.Expr]:
    """The model's partial derivatives with respect to its parameters."""
    parameters = problem.symbols[len(problem.predictors) :]
    return {parameter: sp.diff(problem.model, parameter) for parameter in parameters}


def lambdify_kernels(problem: Problem) -> tuple[Residual, Jacobian]:
    """Residual and Jacobian through ``sympy.lambdify``: what symgrad is timed against.

    Common subexpressions are taken out (``cse=True``), which is lambdify at its best.
    """
    symbols = problem.symbols
    model = sp.lambdify(symbols, problem.model, "numpy")
    partials = sp.lambdify(symbols, list(derivatives(problem).values()), "numpy", cse=True)
    shape = (len(problem.y), len(problem.parameters))

    def residual(b: Vector) -> Vector:
        fitted: Vector = model(*problem.x, *b)
        return problem.target - fitted

    def jacobian(b: Vector) -> Matrix:
        result = np.empty(shape)
        for k, column in enumerate(partials(*problem.x, *b)):
            result[:, k] = column  # a derivative that is constant broadcasts
        return np.negative(result, out=result)

    return residual, jacobian
