"""Element formulas of Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

from symgrad._core.op import registry
from symgrad._core.ops.fourier import OTHER_WAY

RECORDS = ("Fourier", "RealFourier", "RealSignal")


@pytest.mark.parametrize("norm", OTHER_WAY)
@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.quick(2)
def test_element_formulas(name: str, norm: str) -> None:
    """The formula of one element gives the transform's numbers."""
    op = registry.ops[name]
    rng = np.random.default_rng(4)
    shape: tuple[int, ...] = {"Fourier": (1, 5, 2, 2), "RealFourier": (1, 4)}.get(name, (1, 3, 2))
    x = rng.standard_normal(shape)
    if name == "RealSignal":
        x[:, [0, -1], 1] = 0.0
    options = {"Fourier": [{"inverse": False}, {"inverse": True}], "RealSignal": [{"n": 4}]}

    class Operand:
        shape = x.shape

        def __getitem__(self, index: Any) -> Any:
            return sp.Function("x")(*index)

    def number(*index: Any) -> Any:
        return sp.Float(x[tuple(map(int, index))], 17)

    for params in options.get(name, [{}]):
        wanted = op.evaluate(x, norm=norm, **params)
        for place in np.ndindex(*wanted.shape):
            form = op.element(tuple(map(sp.Integer, place)), Operand(), norm=norm, **params)
            value = form.doit().replace(sp.Function("x"), number)
            assert float(value) == pytest.approx(wanted[place], abs=1e-13)
