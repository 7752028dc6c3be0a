"""From NIST's way of writing a model to SymPy.

NIST writes ``y = b1*(1-exp[-b2*x])  +  e``: square brackets around the arguments of
functions, an error term at the end, and (in one problem) a transformed response,
``log[y] = ...``. The formula itself goes through :func:`symgrad.parse`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import sympy as sp

from .._parse import parse
from ..errors import ParseError

_ERROR_TERM = re.compile(r"\+\s*e\s*$")


@dataclass(frozen=True)
class Model:
    """A regression model: ``response`` (in ``y``) is fitted by ``model``.

    Parameters
    ----------
    formula:
        As written, white space aside.
    response, model:
        Both sides.
    """

    formula: str
    response: sp.Expr
    model: sp.Expr

    def evaluate_response(self, y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The left side at the observed responses."""
        symbol = sp.Symbol("y", real=True)
        if self.response == symbol:
            return y
        function = sp.lambdify([symbol], self.response, "numpy")
        return np.asarray(function(y), dtype=np.float64)


def read_model(
    text: str,
    predictors: Sequence[str],
    parameters: Sequence[str],
    definitions: Mapping[str, float],
) -> Model:
    """Read an equation in NIST's notation.

    Parameters
    ----------
    text:
        ``"response = model + e"`` on one line.
    predictors, parameters:
        The names that the model must use, all of them and no others.
    definitions:
        Constants that the file defines above the model.

    Raises
    ------
    ParseError
        It is no such equation.
    """
    formula = " ".join(text.split())
    left, _, right = formula.replace("[", "(").replace("]", ")").partition("=")
    body = _ERROR_TERM.sub("", right)
    if body == right:
        raise ParseError(f"expected '+ e', the error term, at the end of {formula!r}")
    symbols: dict[str, sp.Expr] = {
        name: sp.Symbol(name, real=True) for name in (*predictors, *parameters)
    }
    for name, value in definitions.items():
        # Roszman1 writes pi out. Where that is the same double the constant itself is meant,
        # and the symbolic derivative is readable.
        if not (name == "pi" and value == math.pi):
            symbols[name] = sp.Float(value)
    response = parse(left.strip(), symbols="y")
    model = parse(body.strip(), symbols=symbols)
    if not response.free_symbols:
        raise ParseError(f"expected the response y on the left of {formula!r}")
    names = {symbol.name for symbol in model.free_symbols}
    for name in (*predictors, *parameters):
        if name not in names:
            raise ParseError(f"{name} does not occur in {formula!r}")
    return Model(formula, response, model)
