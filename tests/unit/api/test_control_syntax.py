"""The source of a function, by its code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import symgrad as sg
from symgrad._syntax._statements import code_of

Array = np.ndarray[Any, Any]


def test_code_is_found_by_its_name() -> None:
    """Defaults are code before the function's, and annotations in Python 3.14."""

    def clipped(x: Array, top: float = 2.0, by: Callable[[Any], Any] = lambda t: 2 * t) -> Any:
        if x[0] > top:
            return by(x[0])
        return x[1]

    f = sg.compile(clipped, control_flow=True)
    assert f(np.array([3.0, 1.0])) == 6.0
    assert f(np.array([1.0, 5.0])) == 5.0
    whole = compile("def f(x):\n    return x", "file", "exec")
    annotations = compile("def __annotate__(format):\n    return {}", "file", "exec")
    of_3_14 = whole.replace(co_consts=(*annotations.co_consts, *whole.co_consts))
    assert code_of(of_3_14, "f").co_varnames == ("x",)
