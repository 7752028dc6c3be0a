"""Loops that are equal but for numbers: what is made once for all of them is right for each.

Each case is a function that calls one or two kinds of loops again and again, as a model calls a
solver for each dose: with other numbers, or the same, from results of earlier ones, from numbers,
or from one value twice; with loops and branches within.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgrad as sg
from tests.shared import PLAIN_LOOPS

#: Steps of the state ``u``, ``v``; ``?`` is a number of the call's, ``e`` the element.
STEPS = [
    "np.tanh(? * u + e), v + ? * u", "u + ? * np.sin(v), np.tanh(v - ? * e)",
    "np.sin(u) * p[1], ? * v + (1.5 + u * u) ** ?",
    "np.where(u.real > r(?), u * ?, v), np.tanh(u + v)",
    "np.where(u.real > r(?), u, 0.4) * 0.5, v * np.cos(? * u)", "v * ?, u / (? + 2.0 + v * v)",
    "L.cond(u.real > r(?), lambda a: a * ?, lambda a: np.sin(a) + ?, u), v + ?",
    "u + L.fori_loop(0, 3, lambda k, c: np.tanh(c + ?), v), u", "u + w[1] * ?, np.tanh(v + w[0])",
    "L.scan(lambda c, x: (np.tanh(c * ? + x), c), u, w)[0], np.sin(v + ?)",
]  # fmt: skip

#: Loops over such steps, and the value that they give.
LOOPS = [
    "L.scan(lambda c, e: (step(*c, e), c[0]), ({u}, {v}), {xs})",
    "L.scan(lambda c, e: (step(*c, e), c[1] * c[0]), ({u}, {v}), {xs})",
    "(L.fori_loop(0, 5, lambda k, c: step(*c, 0.1 * k), ({u}, {v})), w)",
    "(L.while_loop(lambda c: c[2] < h, lambda c: (*step(*c), c[2] + ? + d), ({u}, {v}, z))[:2], w)",
]


def picked(rng: Any, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


class Program:
    """The source of a function that calls kinds of loops."""

    def __init__(self, rng: Any) -> None:
        self.rng = rng
        lines = [
            "total = p[0] * 0.1",
            "u, v, z, d, r = p[0], p[1] * 0.5, 0.0, 0.2, np.real",
            "w = p[:3] * p[2]",
        ]
        kinds = [self.kind() for _ in range(int(rng.integers(1, 3)))]
        fixed = [f"{x:.3g}" for x in rng.uniform(0.2, 0.9, 2)]
        for k in range(int(rng.integers(2, 6))):
            lines += self.call(k, *picked(rng, kinds), fixed)
        self.source = "def f(p, L):\n" + "".join(f"    {x}\n" for x in [*lines, "return total"])

    def kind(self) -> tuple[str, str]:
        return picked(self.rng, STEPS), picked(self.rng, LOOPS)

    def call(self, k: int, step: str, loop: str, fixed: list[str]) -> list[str]:
        rng = self.rng
        starts = ["u", "v", "p[3]", "0.0 * u", "u * v", "total"]
        starts += [f"u{j}" for j in range(k)]
        u = picked(rng, starts)
        v = u if rng.random() < 0.2 else picked(rng, starts)
        xs = picked(
            rng, ["w", "p[1:4]", "q", "np.sin(w)", f"y{picked(rng, range(k))}" if k else "q"]
        )
        loop = loop.format(u=u, v=v, xs=xs)
        return [
            "q = np.linspace(0.1, 0.8, 3)",
            f"step = lambda u, v, e: ({self.numbers(step, fixed)})",
            f"h = r({self.number(fixed)})",
            f"(u{k}, v{k}), y{k} = {self.numbers(loop, fixed)}",
            f"total = total + u{k} * {self.number(fixed)} + np.sum(y{k}) * 0.1 + 0.2 * v{k}",
        ]

    def numbers(self, text: str, fixed: list[str]) -> str:
        return "".join(self.number(fixed) if c == "?" else c for c in text)

    def number(self, fixed: list[str]) -> str:
        """Return a number that other calls have, too, or one of this call, or a value."""
        rng = self.rng
        more = [f"{rng.uniform(0.2, 0.9):.3g}", "2.0", "0.0", "1.0", "0.1 * p[2]"]
        return picked(rng, [*fixed * 2, *more])


@pytest.mark.attack(quick=60, whole=6_000, part=50, judge="plain loops and complex steps")
def test_equal_loops(attack: Any) -> None:
    """Loops called again and again, with other numbers, from results of each other or from one."""
    for case in attack:
        with case, np.errstate(all="ignore"):
            rng = case.rng
            program = Program(rng)
            space: dict[str, Any] = {"np": np}
            exec(compile(program.source, f"equal_{case.number}", "exec"), space)
            f = space["f"]
            x, t = rng.uniform(0.2, 0.9, 5), rng.normal(size=5)
            want = f(x, PLAIN_LOOPS)
            slope = f(x + 1e-30j * t, PLAIN_LOOPS).imag / 1e-30
            if not (np.isfinite(slope) and abs(slope) < 1e4 and abs(want) < 1e4):
                case.tally("not finite, or large")
                continue
            with sg.backend("llvm" if case.number % 3 == 0 else "numpy"):
                try:
                    check(rng, f, x, t)
                except Exception as error:
                    raise AssertionError(f"{program.source}\nx = {x!r}\n{error}") from error


def check(rng: Any, function: Any, x: Any, t: Any) -> None:
    def f(p: Any) -> Any:
        return function(p, sg)

    def plain(p: Any) -> Any:
        return function(p, PLAIN_LOOPS)

    close = np.testing.assert_allclose
    want, slope = plain(x), plain(x + 1e-30j * t).imag / 1e-30
    value, slopes = sg.value_and_grad(f)(x)
    close(value, want, 1e-10, 1e-10)
    close(slopes @ t, slope, 1e-8, 1e-8)
    form = int(rng.integers(5))
    if form == 0:
        close(sg.compile(f)(x), want, 1e-10, 1e-10)
    elif form == 1:
        close(sg.jvp(f, (x,), (t,))[1], slope, 1e-8, 1e-8)
    elif form == 2:
        rows = np.stack([x, x[::-1], 0.9 * x])
        values, gradients = sg.vmap(sg.value_and_grad(f))(rows)
        for row, one, own in zip(rows, values, gradients, strict=True):
            close(one, plain(row), 1e-10, 1e-10)
            close(own @ t, plain(row + 1e-30j * t).imag / 1e-30, 1e-8, 1e-8)
    else:
        h = 1e-5
        near = [plain(x + s * h * t + 1e-30j * t).imag / 1e-30 for s in (-2, -1, 1, 2)]
        if np.allclose(near[3] - near[0], 2 * (near[2] - near[1]), 1e-3, 1e-7):  # no kink between
            second = (near[2] - near[1]) / (2 * h)
            found = sg.hvp(f, (x,), (t,)) @ t if form == 3 else t @ sg.hessian(f)(x) @ t
            close(found, second, 1e-4, 1e-4)
