"""A certified regression problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import sympy as sp

Vector: TypeAlias = npt.NDArray[np.float64]
DIFFICULTIES = ("Lower", "Average", "Higher")


@dataclass(frozen=True, eq=False)
class Problem:
    """One certified regression problem.

    Parameters
    ----------
    name, difficulty, model_class, description, reference:
        The header's words; ``difficulty`` is ``"Lower"``, ``"Average"`` or ``"Higher"``.
    formula:
        The model as the file writes it, on one line.
    response, model:
        Both sides of it: an expression in ``y`` (``log(y)`` for Nelson) and one in the
        predictors and parameters.
    predictors, parameters:
        Names, in the file's order.
    start1, start2:
        NIST's two starting points: far, and near.
    certified, deviations:
        The certified parameters and their standard deviations.
    rss, dof:
        Certified residual sum of squares, and its degrees of freedom.
    x, y:
        The observations: one array for each predictor, and the response as observed.
    target:
        ``response`` at the observations, which is what ``model`` is fitted to.
    """

    name: str
    difficulty: str
    model_class: str
    description: str
    reference: str
    formula: str
    response: sp.Expr
    model: sp.Expr
    predictors: tuple[str, ...]
    parameters: tuple[str, ...]
    start1: Vector
    start2: Vector
    certified: Vector
    deviations: Vector
    rss: float
    dof: int
    x: tuple[Vector, ...]
    y: Vector
    target: Vector

    @property
    def symbols(self) -> tuple[sp.Symbol, ...]:
        """The model's symbols: predictors, then parameters."""
        return tuple(sp.Symbol(name, real=True) for name in (*self.predictors, *self.parameters))
