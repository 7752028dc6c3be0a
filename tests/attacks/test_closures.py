"""Closures beside loops and branches: when a variable is read, and by which run of a block.

Each case is a function written out as source: variables that loops and branches assign, closures
(``lambda``, ``def``, generators, methods) that are made before, in and after them, kept by a name,
in a list, a dictionary or an object, and called there or later. Rewritten control flow gives blocks
variables of their own, which no closure may see. Plain Python judges.
"""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import SymgradError

HEAD = """
class Box:
    pass
def apply(f, y):
    return f(y)
def wrapped(f):
    return lambda y: 0.9 * f(y)
def newton(f, u):
    for _ in range(2):
        u = u - 0.1 * f(u)
    return u
"""


class Source:
    """Writes one function of numbers ``x`` and ``a``."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.functions = ["g0"]
        self.counters: list[str] = []
        self.left = 9

    def pick(self, *choices: str) -> str:
        return choices[int(self.rng.integers(len(choices)))]

    def variable(self) -> str:
        return self.pick("k", "m", "s", *self.counters)

    def number(self) -> str:
        return f"{self.rng.uniform(0.3, 1.6):.2f}"

    def value(self) -> str:
        v = self.variable()
        return self.pick(
            f"{v}*0.9 + x*0.1", f"x + {self.number()}*{v}", f"0.5*{v} + a", f"{v} + 0.25",
            f"{self.call()}*0.5", f"{self.call()} + 0.1*{v}",
        )  # fmt: skip

    def call(self) -> str:
        f, v = self.pick(*self.functions), self.variable()
        return self.pick(
            f"{f}({v})", f"{f}(x)", f"apply({f}, {v})", f"held[-1]({v})", f"box.f({v})",
            f"table['f']({v})", "sum([h(x) for h in held])", f"newton({f}, {v})",
            f"sum({v}*j for j in range(3))", f"max(map(lambda j: j*{v}, (1, 2)))",
            f"(lambda y: y + {v})(x)",
        )  # fmt: skip

    def closure(self) -> str:
        v, w = self.variable(), self.variable()
        plain = self.pick(f"lambda y: 0.5*y + {v}", f"lambda y: y*0.1 + {v}*0.3 + {w}*0.2")
        return self.pick(plain, plain, f"wrapped({plain})")

    def statement(self, depth: int) -> None:
        self.left -= 1
        pad, kind = "    " * depth, int(self.rng.integers(10))
        if kind < 3:
            self.lines.append(f"{pad}{self.pick('k', 'm', 's')} = {self.value()}")
        elif kind == 3:
            self.lines.append(f"{pad}s = s + 0.3*{self.call()}")
        elif kind == 4:
            name = self.pick("g0", "g1")
            self.lines.append(f"{pad}{name} = {self.closure()}")
        elif kind == 5:
            name, v = self.pick("g0", "g1"), self.variable()
            self.lines += [f"{pad}def {name}(y):", f"{pad}    return 0.4*y + 0.5*{v}"]
        elif kind == 6:
            f = self.pick(self.closure(), *self.functions)
            self.lines.append(pad + self.pick(
                f"held = [*held, {f}]", f"held.append({f})", f"box.f = {f}",
                f"table = {{**table, 'f': {f}}}", f"table['f'] = {f}",
            ))  # fmt: skip
        elif depth > 3 or self.left < 2:
            self.lines.append(f"{pad}m = {self.value()}")
        elif kind < 9:
            name = f"i{len(self.counters)}"
            self.lines.append(f"{pad}for {name} in range({int(self.rng.integers(9, 12))}):")
            self.counters.append(name)
            self.block(depth + 1)
            self.counters.pop()
            self.lines.append(f"{pad}    s = s*0.8")
        else:
            self.lines.append(f"{pad}if {self.variable()} > {self.number()}:")
            self.block(depth + 1)
            if self.rng.integers(2):
                if depth == 1 and self.rng.integers(3) == 0:
                    self.lines.append(f"{pad}    return s + m + {self.call()}")
                self.lines.append(f"{pad}else:")
                self.block(depth + 1)

    def block(self, depth: int) -> None:
        for _ in range(int(self.rng.integers(1, 4))):
            self.statement(depth)

    def text(self) -> str:
        self.lines = [
            "def f(x, a):", "    k = x", "    m = a", "    s = 0.1",
            "    g0 = g1 = lambda y: y + 0.1*k", "    held = [lambda y: y - 0.2*m]",
            "    box = Box()", "    box.f = lambda y: y*0.5 + k",
            "    table = {'f': lambda y: y + s}",
        ]  # fmt: skip
        self.functions = ["g0", "g1"]
        while self.left > 0:
            self.statement(1)
        self.lines.append(f"    return s + m + k + {self.call()}")
        return HEAD + "\n".join(self.lines) + "\n"


def made(source: str, name: str) -> Callable[..., Any]:
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": "attacked"}
    exec(compile(source, name, "exec"), scope)
    found: Callable[..., Any] = scope["f"]
    return found


@pytest.mark.attack(quick=10, whole=4_000, part=50, judge="plain Python")
def test_closures(attack: Any) -> None:
    """Closures made before, in and after loops and branches, called there or later."""
    for case in attack:
        with case, np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source = Source(case.rng).text()
            f = made(source, f"<closures {case.number}>")
            x, a = case.rng.uniform(0.2, 1.8, 3), case.rng.uniform(-1, 1, 3)
            try:
                want = np.array([f(*pair) for pair in zip(x.tolist(), a.tolist(), strict=True)])
            except UnboundLocalError:
                case.tally("unbound")
                continue
            if not np.isfinite(want).all() or np.abs(want).max() > 1e9:
                case.tally("not finite, or large")
                continue
            refused = 0
            with sg.backend("numpy"):
                for run in (
                    lambda f=f, x=x, a=a: sg.vmap(f)(x, a),
                    lambda f=f, x=x, a=a: [
                        sg.compile(f, control_flow=True)(*pair)
                        for pair in zip(x.tolist(), a.tolist(), strict=True)
                    ],
                ):
                    try:
                        got = run()
                    except SymgradError:
                        refused += 1
                        continue
                    np.testing.assert_allclose(
                        np.asarray(got, float), want, rtol=1e-9, err_msg=source
                    )
            if refused:
                case.tally("refused")
