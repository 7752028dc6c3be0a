"""Programs for plain NumPy, traced as they stand: no name of symgrad's in them.

Each case is a module of its own, written out as source: a few functions that compute numbers from
an array, written as people write them: ``np.array([...])``, ``np.zeros`` and assignment, ``math``,
``scipy.stats`` and ``scipy.linalg``, lists, loops, helpers, methods, classes, dataclasses. The
plain function judges the values, its differences the derivatives; what it reads changes between
two calls.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import symgrad as sg

HEAD = """
import dataclasses, functools, math
from math import exp, sqrt
import numpy as np
import scipy.linalg, scipy.special, scipy.stats as st
from numpy import array, zeros
from scipy.stats import norm

k = {r}
w = np.array([{r}, {r}, {r}])
prior = st.norm({r}, 2.0)

class Base:
    def __init__(self, rate):
        self.rate, self.calls = rate, 0
    def bend(self, s):
        self.calls += 1
        return np.array([math.sin(self.rate * s), s, k])

class Model(Base):
    def bend(self, s):
        return super().bend(s) * np.asarray(self.weights)
    @property
    def weights(self):
        return [1.0, math.cos(self.rate), k]
    def __call__(self, s):
        out = np.zeros_like(w)
        out[:] = self.bend(s)
        return np.sum(out)

@dataclasses.dataclass
class Pair:
    a: float
    b: float
    def turned(self):
        y = np.empty(2)
        y[0], y[1] = self.b, -math.tanh(self.a)
        return Pair(*y)

model = Model({r})

def solved(a, s):
    return float(scipy.linalg.cho_solve(scipy.linalg.cho_factor(a, lower=True), [1.0, s])[1])
"""

#: Expressions of numbers: ``@`` is one, and so is ``x[i]``.
NUMBERS = [
    "x[0]", "x[1]", "x[2]", "k", "{r}", "x[-1] * k", "(@ + @)", "(@ * @)", "(@ - {r})",
    "math.sin(@)", "exp(-abs(@))", "sqrt(1.0 + abs(@))", "math.hypot(@, {r})", "math.atan2(@, 2.0)",
    "math.log1p(@ ** 2)", "math.fsum([@, @])", "np.sum(np.array([@, @]) * array([{r}, @]))",
    "np.dot(np.array([@, 1, @]), w)", "np.linalg.norm(np.array([@, {r}]))",
    "np.max([@ * @, -1.0])", "np.asarray([@, @])[1]", "np.sum([@, @, k])", "sum([@, @])",
    "norm.logpdf(@, k, {r})", "st.norm(@, 1.5).logpdf({r})", "prior.logcdf(@)",
    "st.gamma.logpdf({r}, 1.0 + @ ** 2)", "scipy.special.logsumexp([@, @])",
    "np.linalg.solve(np.array([[3.0, np.tanh(@)], [0.5, 2.0]]), np.array([@, 1.0]))[0]",
    "solved(np.array([[3.0 + @ ** 2, 0.1], [0.1, 2.0]]), @)",
    "model(@)", "Model(@)(@)", "model.bend(@)[0]", "Pair(@, @).turned().b", "helper(@)",
    "filled([@, @, @])", "np.float64(2.0) * @", "np.trapezoid(np.array([@, @, 1.0]), dx=0.5)"
    if hasattr(np, "trapezoid") else "np.trapz(np.array([@, @, 1.0]), dx=0.5)",
    "functools.reduce(lambda a, b: a * 0.5 + b, [@, @, {r}])",
    "np.prod(np.stack([array([@, 2.0]), array([1.0, @])]))", "np.clip(@, -5.0, 5.0)",
    "np.linspace(0.0, @, 4)[2]", "np.cumsum(np.array([@, @]))[1]",
    "np.matmul(np.ones(2), np.array([@, @]))",
    "max(@, -30.0)", "(np.eye(2) * @).trace()", "np.vstack([[@, 1.0], [2.0, @]]).sum()",
]  # fmt: skip

#: Bodies of helpers that fill arrays; ``v`` is a list of three numbers.
FILLED = [
    "y = np.zeros(3)\nfor i in range(3):\n    y[i] = v[i] * (i + 1)\nreturn np.sum(y ** 2) * 0.1",
    "y = zeros((2, 2))\ny[0, :] = v[0], v[1]\ny[1, 1] += v[2]\nreturn np.sum(y @ y) * 0.1",
    "y = np.empty(4)\ny[:3] = v\ny[3] = y[0] * 0.5\nreturn float(2) * y[1:].mean()",
    "y = np.full(3, k)\ny[1:] -= np.array(v)[:2]\nreturn y.dot(w)",
    "y = w.copy()\ny[0] = v[1]\ny *= v[0]\nreturn y.sum()",
    "y = np.zeros_like(np.array(v))\ny[[0, 2]] = v[0]\nreturn np.sum(y) + v[1]",
    "y = []\nfor a in v:\n    y.append(math.cos(a))\nreturn np.sum(y)",
    "y = np.arange(3.0)\ny[::2] += v[1]\nreturn np.sum(y * np.asarray(v))",
    "y = np.array([1.0, 2.0, 3.0])\ny[0] = v[0]\nz = y\nz[1] = v[1]\nreturn np.sum(y)",
]

CHANGES = [
    "k = {r}", "w = np.array([{r}, {r}, {r}])", "w[1] = {r}", "model.rate = {r}",
    "prior = st.norm({r}, 1.5)", "model = Model({r})",
    "def helper(s):\n    return math.sin(s) * k",
    "Base.bend = lambda self, s: np.array([s, math.exp(-abs(s)), self.rate])",
]  # fmt: skip


def number(rng: Any, depth: int) -> str:
    """Return the source of a number."""
    choices = [t for t in NUMBERS if depth or "@" not in t]
    text = str(rng.choice(choices))
    while "@ @" in text or "@" in text.replace(" @ np", ""):
        place = (
            text.index("@") if " @ np" not in text else text.replace(" @ np", "#####").index("@")
        )
        text = text[:place] + number(rng, depth - 1) + text[place + 1 :]
    return filled(text, rng)


def filled(text: str, rng: Any) -> str:
    while "{r}" in text:
        text = text.replace("{r}", f"{rng.uniform(0.3, 1.7):.3f}", 1)
    return text


def program(rng: Any) -> str:
    body = "\n".join(f"    {line}" for line in str(rng.choice(FILLED)).splitlines())
    parts = [number(rng, int(rng.integers(1, 3))) for _ in range(int(rng.integers(1, 4)))]
    style = [
        "return " + " + ".join(parts),
        "y = np.zeros({n})\n    " + "\n    ".join(f"y[{i}] = {p}" for i, p in enumerate(parts))
        + "\n    return np.sum(y)",
        "y = [" + ", ".join(parts) + "]\n    return np.sum(np.array(y))",
        "s = 0.0\n    for v in (" + ", ".join(parts) + ",):\n        s += float(v)\n    return s",
    ]  # fmt: skip
    text = str(rng.choice(style)).replace("{n}", str(len(parts)))
    return (
        filled(HEAD, rng)
        + f"\ndef filled(v):\n{body}\n\ndef helper(s):\n    return {number_of_s(rng)}\n"
        + f"\ndef f(x):\n    {text}\n"
    )


def number_of_s(rng: Any) -> str:
    return str(rng.choice(["math.erf(s) + k", "np.array([s, k]).sum()", "s * norm.cdf(s)"]))


def slopes(f: Any, x: Any) -> Any:
    found = []
    for h in 1e-5 * np.eye(len(x)):
        near, far = (f(x + h) - f(x - h)) / 2e-5, (f(x + 2 * h) - f(x - 2 * h)) / 4e-5
        found.append((4 * near - far) / 3)
    return np.array(found)


@pytest.mark.attack(quick=8, whole=2_000, part=50, judge="the plain function and differences")
def test_plain_programs(attack: Any) -> None:
    """Programs in plain NumPy, ``math`` and SciPy, without ``sg.adapt``."""
    for case in attack:
        with case, np.errstate(all="ignore"):
            rng, name = case.rng, f"plain_{case.number}"
            sys.modules[name] = module = ModuleType(name)
            source = program(rng)
            try:
                exec(compile(source, name, "exec"), vars(module))
                with sg.backend("numpy"):
                    calls(rng, module)
            except Exception as error:
                raise AssertionError(f"{source[source.index('def filled') :]}\n{error}") from error
            finally:
                del sys.modules[name]


def calls(rng: Any, module: Any) -> None:
    f = module.f
    g = sg.value_and_grad(f)
    for step in range(3):
        x = rng.uniform(0.3, 1.4, size=3)
        wanted, before = f(x), module.model.calls
        value, gradient = g(x)
        assert module.model.calls - before in (0, *range(1, 40))
        assert type(module.model) is module.Model
        np.testing.assert_allclose(value, wanted, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(gradient, slopes(f, x), rtol=2e-6, atol=1e-6)
        if step < 2:
            exec(filled(str(rng.choice(CHANGES)), rng), vars(module))
