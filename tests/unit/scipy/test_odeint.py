"""What ``odeint`` compiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symgrad._dispatch import Function
from symgrad.scipy import integrate


class Tank:
    flow: Any = None

    def rate(self, y: Any, t: Any, k: Any) -> Any:
        self.flow = k * y
        return [-k * y[0], k * y[0] - y[1]]


def test_nothing_is_compiled_anew_for_what_a_function_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Any] = []
    specialize = Function._specialize

    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        made.append(self)
        return specialize(self, *args, **kwargs)

    monkeypatch.setattr(Function, "_specialize", noted)
    tank, counts = Tank(), []
    for k in range(5):
        found = integrate.odeint(tank.rate, [1.0, 2.0], [0.0, 1.0], args=(1.0 + k,))
        np.testing.assert_array_equal(tank.flow, (1.0 + k) * found[-1])
        counts.append(len(made))
    assert counts[-1] == counts[1]
