"""Handlers of errors of Python's arithmetic, in all places around it.

Each case is written out as source: functions of two numbers that divide, take powers and call
``math`` within handlers of all forms. Plain Python judges, call by call, at numbers for which
errors come and do not.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import symgrad as sg

NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.0, 4.0, 171.5, 1e3, -800.0, 1e200, 1e-300]
CALLS = [
    "sqrt", "log", "log1p", "exp", "expm1", "cosh", "acos", "atanh", "gamma", "lgamma", "sin",
    "log10", "acosh",
]  # fmt: skip
CAUGHT = [
    "except ZeroDivisionError", "except OverflowError", "except ValueError",
    "except ArithmeticError", "except Exception", "except", "except (ValueError, OverflowError)",
    "except Alias", "except Several",
]  # fmt: skip

HEAD = """
import contextlib
import math
Alias, Several = ZeroDivisionError, (ArithmeticError, ValueError)
"""


class Writer:
    """Writes functions."""

    def __init__(self, rng: Any) -> None:
        self.rng = rng
        self.helpers: list[str] = []

    def one(self, choices: list[str]) -> str:
        return choices[int(self.rng.integers(len(choices)))]

    def value(self, depth: int) -> str:
        """Return an expression that may raise."""
        if depth == 0 or self.rng.random() < 0.2:
            return self.one(["x", "y", "2.0", "(x - 1.0)", "(x + y)"])
        a, b = self.value(depth - 1), self.value(depth - 1)
        forms = [f"({a} / {b})", f"math.{self.one(CALLS)}({a})", f"({a} // {b})", f"({a} % {b})"]
        forms += [f"(abs({a}) ** {b})", f"({a} * {b})", f"math.pow({a}, 2.0)", f"({a} - {b})"]
        if self.rng.random() < 0.2:
            name = f"helper_{len(self.helpers)}"
            self.helpers.append(f"def {name}(x, y):\n    return {self.one(forms)}\n")
            return f"{name}({a}, {b})"
        return self.one(forms)

    def block(self, indent: str, depth: int) -> str:
        """Return statements that assign to ``z``."""
        more = indent + "    "
        form = int(self.rng.integers(6 if depth else 1))
        if form == 0:
            return f"{indent}z = z + {self.value(2)}\n"
        inner = self.block(more, depth - 1)
        other = f"{more}z = {self.one(['z + 7.0', '-1.5', 'x', 'z - y'])}\n"
        if form == 1:
            names = self.one(["ValueError", "ArithmeticError", "ZeroDivisionError, OverflowError"])
            return f"{indent}with contextlib.suppress({names}):\n{inner}"
        if form == 2:
            return f"{indent}for k in range(2):\n{inner}"
        text = f"{indent}try:\n{inner}{indent}{self.one(CAUGHT)}:\n{other}"
        if form == 3:
            text += f"{indent}else:\n{more}z = z * 2.0\n"
        if form == 4:
            text += f"{indent}finally:\n{more}z = z + 1.0\n"
        return text

    def text(self) -> str:
        body = self.block("        ", 2)
        outer = f"    try:\n{body}    {self.one(CAUGHT)}:\n        z = z + 3.0\n"
        function = f"def f(x, y):\n    z = 0.5 * x\n{outer}    return z + y\n"
        return HEAD + "".join(self.helpers) + function


@pytest.mark.attack(quick=6, whole=4_000, part=100, judge="plain Python, call by call")
def test_caught_arithmetic(attack: Any) -> None:
    """Handlers around ``/``, ``//``, ``%``, ``**`` and ``math``: forms, nesting, helpers, calls."""
    for case in attack:
        with case:
            text = Writer(case.rng).text()
            names: dict[str, Any] = {"__name__": "caught"}
            exec(compile(text, "<caught>", "exec"), names)
            f = names["f"]
            derived = case.rng.random() < 0.1
            g = sg.value_and_grad(f) if derived else sg.compile(f, backend="numpy")
            for _ in range(5):
                x, y = (NUMBERS[k] for k in case.rng.integers(len(NUMBERS), size=2))
                try:
                    want = f(x, y)
                except (ArithmeticError, ValueError):
                    continue  # compiled code goes on with inf or nan
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", sg.errors.EqualityWarning)
                    warnings.simplefilter("ignore", sg.errors.PathsWarning)
                    got = g(x, y)
                got = got[0] if derived else got
                np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12, err_msg=text)
