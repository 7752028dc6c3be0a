"""Control flow as Python writes it, of one example, in batches: `if`, loops left early, errors.

Each case is a function written out as source, of two numbers. Plain Python of each example by
itself judges; where it raises, the batch has nan.
"""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import symgrad as sg

NUMBERS = ["x", "a", "y", "z", "0.5", "2.0", "(x * a)", "(y - x)", "np.sin(x)", "np.exp(-y * y)",
           "abs(y)", "(z + 1)", "helper(y)", "max(x, z)", "(x if y > z else a)"]  # fmt: skip
TESTS = ["x > {}", "y < {}", "abs(z) > {}", "x > {} and y < 1.5", "not z < {}", "-1 < y < {}",
         "x < {} or a > 0.3", "checked(y) > {}", "x > {} and checked(z) > 0",
         "y < {} or checked(y - 2) < 0"]  # fmt: skip
ERRORS = ["raise ValueError('x')", "assert x > 0.2, 'x'", "raise OverflowError"]

HEAD = """
import numpy as np

def helper(s):
    if s > 1:
        return np.log(s)
    elif s > 0:
        return s - 1
    return 0.3 * s

def checked(s):
    if s < -3:
        raise ValueError("s")
    return s * 0.7

def f(x, a):
    y, z = x, a
"""


class Written:
    """Writes a function at random."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.lines, self.names = rng, [HEAD.rstrip("\n")], 0

    def one(self, texts: list[str]) -> str:
        return texts[self.rng.integers(len(texts))]

    def test(self) -> str:
        return self.one(TESTS).format(round(float(self.rng.uniform(-0.5, 1.5)), 2))

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def value(self) -> str:
        return f"{self.one(NUMBERS)} {self.one(['+', '-', '*'])} {self.one(NUMBERS)}"

    def assign(self, depth: int) -> None:
        name = self.one(["y", "z"])
        self.put(depth, f"{name} = np.tanh({self.value()})" if self.rng.random() < 0.7 else (
            f"{name} {self.one(['+=', '-=', '*='])} 0.5"))  # fmt: skip

    def block(self, depth: int, budget: int, loop: bool) -> None:
        for _ in range(int(self.rng.integers(1, 4))):
            self.statement(depth, budget, loop)

    def statement(self, depth: int, budget: int, loop: bool) -> None:
        kind = self.rng.random()
        if budget == 0 or kind < 0.35:
            self.assign(depth)
        elif kind < 0.6:
            self.put(depth, f"if {self.test()}:")
            self.block(depth + 1, budget - 1, loop)
            if self.rng.random() < 0.4:
                self.put(depth, f"elif {self.test()}:")
                self.block(depth + 1, budget - 1, loop)
            if self.rng.random() < 0.5:
                self.put(depth, "else:")
                self.block(depth + 1, budget - 1, loop)
        elif kind < 0.75:
            self.put(depth, f"if {self.test()}:")
            self.assign(depth + 1)
            self.put(depth + 1, self.leave(loop))
        elif loop or depth > 1:
            self.assign(depth)
        else:
            self.loop(depth, budget)

    def leave(self, loop: bool) -> str:
        ways = [f"return {self.value()}", self.one(ERRORS)]
        return self.one([*ways, "break", "continue", "break"] if loop else ways)

    def loop(self, depth: int, budget: int) -> None:
        self.names += 1
        i = f"i{self.names}"
        if self.rng.random() < 0.6:
            self.put(depth, f"for {i} in range({self.one(['3', '12', '1, 9', '20'])}):")
            self.put(depth + 1, f"z = 0.9 * z + 0.1 * {i}")
        else:
            self.put(depth, f"{i} = 0")
            self.put(depth, f"while {i} < 15 and ({self.test()}):")
            self.put(depth + 1, f"{i} += 1")
        self.block(depth + 1, budget - 1, True)
        if self.rng.random() < 0.2:
            self.put(depth, "else:")
            self.assign(depth + 1)

    def source(self) -> str:
        self.block(1, 2, False)
        self.loop(1, 2)
        self.put(1, "return y + z" if self.rng.random() < 0.8 else "raise RuntimeError('end')")
        return "\n".join(self.lines) + "\n"


def made(source: str, name: str) -> Any:
    """Return the function of a source that can be looked up."""
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    scope: dict[str, Any] = {}
    exec(compile(source, name, "exec"), scope)
    return scope["f"]


RAISED = (ValueError, AssertionError, OverflowError, RuntimeError)


def alone(f: Any, x: float, a: float) -> Any:
    try:
        return f(x, a)
    except RAISED:
        return np.nan


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.filterwarnings("ignore::symgrad.errors.PathsWarning")
@pytest.mark.attack(quick=6, whole=2_000, part=50, judge="plain Python of each example")
def test_batched_control(attack: Any) -> None:
    """`if`, `elif`, loops with `break`, `continue`, `return` and `else`, errors, in helpers too."""
    for case in attack:
        with case:
            source = Written(case.rng).source()
            f = made(source, f"<batched {case.number}>")
            x, a = case.rng.uniform(0, 2, 7), case.rng.uniform(-1, 1, 7)
            want = np.array([alone(f, *pair) for pair in zip(x, a, strict=True)])
            try:
                found = sg.vmap(f)(x, a)
            except sg.errors.SymgradError as error:
                text = str(error)
                if "Write instead" not in text and "give it one before" not in text:
                    raise
                case.tally("refused")
                continue
            except RAISED:  # a way on which it always raises, which some examples take
                assert np.isnan(want).any()
                case.tally("raised")
                continue
            np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12, err_msg=source)
            h = 1e-6
            pairs = [(alone(f, u - h, v), alone(f, u, v), alone(f, u + h, v))
                     for u, v in zip(x, a, strict=True)]  # fmt: skip
            smooth = [np.isfinite(p).all() and abs(p[0] - 2 * p[1] + p[2]) < 1e-9 for p in pairs]
            slopes = np.array([(p[2] - p[0]) / (2 * h) for p in pairs])
            got = sg.vmap(sg.grad(f))(x, a)
            np.testing.assert_allclose(
                got[smooth], slopes[smooth], rtol=1e-4, atol=1e-6, err_msg=source
            )


class Slope:
    """A number with its derivative, for plain Python: the chain rule along its own path."""

    def __init__(self, value: float, slope: float = 0.0) -> None:
        self.value, self.slope = np.float64(value), np.float64(slope)

    def of(self, value: Any, *parts: Any) -> Slope:
        """Return what has slopes by the numbers in pairs."""
        moving = [(x, by) for x, by in parts if isinstance(x, Slope)]
        return Slope(value, sum((x.slope * by for x, by in moving), np.float64(0)))

    def __add__(self, y: Any) -> Slope:
        return self.of(self.value + bare(y), (self, 1), (y, 1))

    def __sub__(self, y: Any) -> Slope:
        return self.of(self.value - bare(y), (self, 1), (y, -1))

    def __rsub__(self, y: Any) -> Slope:
        return self.of(y - self.value, (self, -1))

    def __mul__(self, y: Any) -> Slope:
        return self.of(self.value * bare(y), (self, bare(y)), (y, self.value))

    def __truediv__(self, y: Any) -> Slope:
        found = self.value / bare(y)
        return self.of(found, (self, 1 / bare(y)), (y, -found / bare(y)))

    def __rtruediv__(self, y: Any) -> Slope:
        return self.of(y / self.value, (self, -y / self.value / self.value))

    def __neg__(self) -> Slope:
        return self.of(-self.value, (self, -1))

    def __abs__(self) -> Slope:
        return self.of(abs(self.value), (self, np.sign(self.value)))

    def __lt__(self, y: Any) -> Any:
        return self.value < bare(y)

    def __gt__(self, y: Any) -> Any:
        return self.value > bare(y)

    def sin(self) -> Slope:
        return self.of(np.sin(self.value), (self, np.cos(self.value)))

    def exp(self) -> Slope:
        return self.of(np.exp(self.value), (self, np.exp(self.value)))

    def tanh(self) -> Slope:
        return self.of(np.tanh(self.value), (self, 1 - np.tanh(self.value) ** 2))

    def log(self) -> Slope:
        return self.of(np.log(self.value), (self, 1 / self.value))

    def sqrt(self) -> Slope:
        return self.of(np.sqrt(self.value), (self, 0.5 / np.sqrt(self.value)))

    __radd__, __rmul__ = __add__, __mul__


def bare(x: Any) -> Any:
    return x.value if isinstance(x, Slope) else x


EDGES = [*NUMBERS, "np.sqrt(y)", "np.sqrt(abs(z))", "np.log(y)", "z / y", "1 / (y - x)",
         "np.sqrt(max(x, 0.0))", "w", "w", "v", "v"]  # fmt: skip


class Edged(Written):
    """Writes functions whose slopes are infinite or undefined on sides that are not taken."""

    def value(self) -> str:
        return f"{self.one(EDGES)} {self.one(['+', '-', '*'])} {self.one(EDGES)}"

    def leave(self, loop: bool) -> str:
        return f"return {self.value()}"

    def loop(self, depth: int, budget: int) -> None:
        self.block(depth, budget, False)

    def source(self) -> str:
        for name in "wv":
            self.put(1, f"{name} = {self.one(EDGES[-10:-4])}")
        return super().source()


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.filterwarnings("ignore::symgrad.errors.PathsWarning")
@pytest.mark.attack(quick=6, whole=2_000, part=50, judge="the chain rule, along Python's way")
def test_edges_of_control(attack: Any) -> None:
    """Slopes that are infinite or undefined on sides that an example does not take."""
    for case in attack:
        with case, np.errstate(all="ignore"):
            source = Edged(case.rng).source()
            f = made(source, f"<edges {case.number}>")
            x = case.rng.choice([0.0, 1.0, 0.5, 1.3, 2.0], 9)
            a = case.rng.choice([0.0, 1.0, -1.0, 0.5, 0.3], 9)
            try:
                want = [f(Slope(u, 1.0), v) for u, v in zip(x, a, strict=True)]
            except RAISED:
                case.tally("raised")
                continue
            want = [y if isinstance(y, Slope) else Slope(y) for y in want]
            try:
                got = sg.vmap(sg.grad(f))(x, a)
            except sg.errors.SymgradError:
                case.tally("refused")
                continue
            except RAISED:
                case.tally("raised")
                continue
            finite = np.array([np.isfinite((y.value, y.slope)).all() for y in want])
            slopes = np.array([y.slope for y in want])
            np.testing.assert_allclose(
                got[finite], slopes[finite], rtol=1e-9, atol=1e-12, err_msg=source
            )
