"""Formulas in Python's own numbers: what it makes of truth values, whole numbers and floats.

Truth values are whole numbers, whole numbers have no end and divide to floats: Python's rules,
which differ from NumPy's. Each case is a function of two floats, a whole number and a truth value.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import symgrad as sg

REALS = ("x", "y", "0.5", "2.0", "-1.5", "x * y", "x - y")
WHOLES = ("n", "2", "-3", "n + 1", "len(a)", "7 - n")
TRUTHS = ("x > 1", "y <= x", "n == 2", "t", "1 < x < 3", "x == y", "not t", "n > 1")


class Writer:
    """Writes an expression of a kind, as text."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def one(self, of: tuple[str, ...]) -> str:
        return str(self.rng.choice(of))

    def real(self, depth: int) -> str:
        r, t, w = self.real, self.truth, self.whole
        if depth == 0:
            return self.one(REALS)
        d = depth - 1
        forms = (
            lambda: f"({r(d)} {self.one(('+', '-', '*'))} {r(d)})",
            lambda: f"({r(d)} * ({t(d)}))",
            lambda: f"(({t(d)}) + {r(d)})",
            lambda: f"({w(d)} * {r(d)})",
            lambda: f"({r(d)} if {t(d)} else {r(d)})",
            lambda: f"({w(d)} / 4)",
            lambda: f"max({r(d)}, {r(d)})",
            lambda: f"abs({r(d)})",
            lambda: f"[{r(d)}, {r(d)}][{t(d)}]",
            lambda: f"sum([{r(d)}, {t(d)}, {w(d)}])",
            lambda: f"(({t(d)}) and {r(d)})",
            lambda: f"(({t(d)}) or {r(d)})",
            lambda: f"(2.0 ** ({t(d)}) * {r(d)})",
            lambda: f"float({w(d)})",
            lambda: f"({r(d)} % 1.7)",
            lambda: f"{{True: {r(d)}, False: {r(d)}}}[{t(d)}]",
        )
        return str(forms[self.rng.integers(len(forms))]())

    def whole(self, depth: int) -> str:
        r, t, w = self.real, self.truth, self.whole
        if depth == 0:
            return self.one(WHOLES)
        d = depth - 1
        forms = (
            lambda: f"({w(d)} {self.one(('+', '-', '*'))} {w(d)})",
            lambda: f"(({t(d)}) {self.one(('+', '-', '*'))} ({t(d)}))",
            lambda: f"(({t(d)}) {self.one(('+', '-', '*', '//', '%', '<<'))} 2)",
            lambda: f"(-({t(d)}))",
            lambda: f"(~({t(d)}))",
            lambda: f"(+({t(d)}))",
            lambda: f"sum([{t(d)}, {t(d)}, {t(d)}])",
            lambda: f"int({r(d)})",
            lambda: f"int({t(d)})",
            lambda: f"({w(d)} {self.one(('//', '%'))} 3)",
            lambda: f"({w(d)} if {t(d)} else {w(d)})",
            lambda: f"({w(d)} {self.one(('&', '|', '^'))} 5)",
            lambda: f"abs({w(d)})",
            lambda: f"(({t(d)}) ** 2)",
            lambda: f"round({r(d)})",
            lambda: f"divmod({w(d)}, 3)[{t(d)}]",
            lambda: f"(3, 4, 5)[{t(d)}]",
        )
        return str(forms[self.rng.integers(len(forms))]())

    def truth(self, depth: int) -> str:
        r, t, w = self.real, self.truth, self.whole
        if depth == 0:
            return self.one(TRUTHS)
        d = depth - 1
        forms = (
            lambda: f"{r(d)} {self.one(('<', '<=', '>', '>='))} {r(d)}",
            lambda: f"{w(d)} {self.one(('<', '==', '!=', '>='))} {w(d)}",
            lambda: f"(({t(d)}) {self.one(('and', 'or', '&', '|', '^', '==', '!='))} ({t(d)}))",
            lambda: f"(not ({t(d)}))",
            lambda: f"(({t(d)}) is True)",
            lambda: f"(({t(d)}) is not False)",
            lambda: f"isinstance({t(d)}, bool)",
            lambda: f"bool({w(d)})",
            lambda: f"any([{t(d)}, {t(d)}])",
            lambda: f"(({t(d)}) in (True,))",
        )
        return str(forms[self.rng.integers(len(forms))]())

    def source(self) -> str:
        """Return a function."""
        depth = int(self.rng.integers(1, 4))
        if self.rng.integers(3):
            return f"def f(x, y, n, t):\n    return 1.0 * x + {self.real(depth)}"
        cases = "\n".join(
            f"        case {case}: return x * {self.real(1)}"
            for case in self.rng.permutation(["True", "False", "1", "0", "bool()", "2"])[:3]
        )
        subject = self.truth(depth - 1) if self.rng.integers(2) else self.whole(depth - 1)
        return f"def f(x, y, n, t):\n    match {subject}:\n{cases}\n    return 7.0 * x"


@pytest.mark.filterwarnings("ignore::symgrad.errors.PathsWarning")
@pytest.mark.attack(quick=60, whole=5_000, judge="plain Python, and its differences")
def test_python_numbers(attack: Any) -> None:
    """Formulas of Python's floats, integers and booleans: operators, match, lists."""
    for case in attack:
        with case, sg.backend("numpy"), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            source = Writer(case.rng).source()
            names: Any = {"a": [1.0, 2.0, 3.0]}
            exec(source, names)
            f, g = names["f"], sg.value_and_grad(names["f"])
            for _ in range(3):
                x, y = (float(v) for v in case.rng.choice([0.3, 0.5, 1.5, 2.2, -1.2], 2))
                n, t = int(case.rng.integers(-2, 5)), bool(case.rng.integers(2))
                said = f"{source}\nx, y, n, t = {x}, {y}, {n}, {t}"
                try:
                    want, near = f(x, y, n, t), [f(x + h, y, n, t) for h in (1e-6, -1e-6)]
                except (ValueError, ZeroDivisionError, OverflowError, IndexError, TypeError):
                    case.tally("raised")
                    break
                with warnings.catch_warnings():
                    if x == y:  # where `x == y` singles out the point
                        warnings.simplefilter("ignore", sg.errors.EqualityWarning)
                    value, slope = g(x, y, n, t)
                np.testing.assert_allclose(value, want, 1e-12, err_msg=said)
                if x != y and abs(near[0] - 2 * want + near[1]) < 1e-7:
                    np.testing.assert_allclose(
                        slope, (near[0] - near[1]) / 2e-6, 1e-5, 1e-5, err_msg=said
                    )
