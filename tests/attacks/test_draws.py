"""Programs that draw random numbers: values, derivatives, and how far each generator has gone.

A program is a text: draws of several generators with known and traced parameters, in Python's loops
and branches, in loops of the program and in batches. The judge is the same text under plain NumPy,
with Python's loops for :func:`symgrad.vmap` and :func:`symgrad.fori_loop`, from the same seeds;
derivatives are compared with its differences, each value from the same seeds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import symgrad as sg

# Programs draw from NumPy's shared generator, too.
# ruff: noqa: NPY002

#: Draws of one number, and of as many as ``n``, of NumPy's generators. ``g`` is the generator,
#: ``p`` and ``q`` are parameters, which may be traced; the second is positive.
SCALARS = (
    "g.normal(p, q)", "g.normal()", "g.uniform(p, p + q)", "g.exponential(q)",
    "g.lognormal(0.1 * p, 0.1 * q)", "g.laplace(p, q)", "g.logistic(p, q)", "g.gumbel(p, q)",
    "g.rayleigh(q)", "g.weibull(1.0 + q)", "g.standard_normal()", "g.standard_exponential()",
    "g.gamma(2.0, q)", "g.poisson(2.0)", "g.beta(2.0, 3.0)", "g.triangular(-1.0, p * 0.0, q)",
)  # fmt: skip
VECTORS = (
    "g.normal(p, q, n)", "g.normal(v, q)", "g.standard_normal(n)", "g.uniform(size=n)",
    "g.uniform(0.0, 1.0 + v**2)", "g.exponential(1.0 + v**2)", "g.normal(scale=q, size=(2, n))[1]",
    "g.permutation(v)", "v[g.permutation(n)]", "g.choice(v, n)", "g.binomial(3, 0.5, n)",
    "v[g.choice(n, n)]", "g.gumbel(v, q, n)", "g.laplace(v, q, size=n)", "g.standard_cauchy(n) / 9",
)  # fmt: skip
#: Of Python's generators.
NUMBERS = (
    "g.random()", "g.gauss(p, q)", "g.uniform(p, p + q)", "g.expovariate(q)", "g.gauss(0.0, 1.0)",
    "g.normalvariate(p, q)", "g.lognormvariate(0.1 * p, 0.1 * q)", "g.randint(1, 3)",
    "g.betavariate(2.0, 3.0)",
)  # fmt: skip

GENERATORS = ("rng", "old", "np.random", "argument", "held.rng")
PYTHONS = ("random", "python")


class Plain:
    """symgrad's names as Python's loops."""

    @staticmethod
    def vmap(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda xs: np.array([f(x) for x in xs])

    @staticmethod
    def fori_loop(lower: int, upper: int, body: Callable[..., Any], value: Any) -> Any:
        for k in range(lower, upper):
            value = body(k, value)
        return value


class Writer:
    """Writes a program."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.scalars, self.vectors = ["x[0]", "0.5"], ["x"]

    def pick(self, items: Any) -> str:
        return str(items[int(self.rng.integers(len(items)))])

    def scalar(self, own: str = "") -> str:
        """Return a draw of one number; ``own``: what its parameters are of, if not others."""
        p = own or self.pick(self.scalars)
        python = self.rng.random() < 0.25
        text = self.pick(NUMBERS if python else SCALARS)
        given = self.parameters(p, PYTHONS if python else GENERATORS)
        return self.filled(text, given)

    def parameters(self, p: str, generators: tuple[str, ...]) -> dict[str, str]:
        positive = self.pick(("1.5", f"(0.5 + ({p})**2)"))
        return {"g": self.pick(generators), "p": self.pick(("0.3", f"({p})")), "q": positive}

    def vector(self) -> str:
        given = self.parameters(self.pick(self.scalars), GENERATORS)
        given["v"] = self.pick(self.vectors)
        return self.filled(self.pick(VECTORS), given)

    @staticmethod
    def filled(text: str, given: dict[str, str]) -> str:
        words = "".join(c if c.isalnum() or c == "_" else f" {c} " for c in text).split(" ")
        return "".join(given.get(w, w) for w in words).replace(" ", "")

    def statement(self, k: int) -> list[str]:
        kind = int(self.rng.integers(9))
        if kind == 0:
            lines = [f"s{k} = np.tanh({self.pick(self.scalars)} * {self.scalar()})"]
            self.scalars.append(f"s{k}")
            return lines
        lines = self.array(kind, self.pick(self.vectors), f"v{k}")
        self.vectors.append(f"v{k}")
        return lines

    def array(self, kind: int, v: str, new: str) -> list[str]:
        """Return a statement that makes an array of another."""
        if kind == 1:
            return [f"{new} = {v}", f"for j in range({self.rng.integers(1, 4)}):",
                    f"    {new} = {new} + 0.1 * np.sin({new}) * {self.scalar()}"]  # fmt: skip
        if kind == 2:
            return [f"if {self.pick(('rng', 'np.random', 'random', 'python'))}.random() < 0.5:",
                    f"    {new} = {v} * {self.scalar()}", "else:",
                    f"    {new} = {v} + {self.vector()}"]  # fmt: skip
        if kind == 3:
            step = f"c + 0.1 * np.cos(c) * {self.scalar('c[0]')}"
            if self.rng.random() < 0.5:
                step = f"{step} - 0.01 * {self.scalar()}"
            count = self.pick(("2", "n", "5"))
            return [f"{new} = sg.fori_loop(0, {count}, lambda j, c: {step}, {v} * 1.0)"]
        if kind == 4:
            return [f"{new} = sg.vmap(lambda t: t * {self.scalar('t')})({v})"]
        return [f"{new} = np.tanh({v} * {self.vector()})"]

    def program(self) -> str:
        lines = ["n = len(x)"]
        for k in range(int(self.rng.integers(1, 6))):
            lines += self.statement(k)
        lines.append(f"return np.sum({self.vectors[-1]}**2) + {' + '.join(self.scalars[-2:])}")
        return "def f(x, argument):\n" + "".join(f"    {line}\n" for line in lines)


class World:
    """The generators of a program."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.old, self.python = np.random.RandomState(0), random.Random(0)
        self.held = SimpleNamespace(rng=np.random.default_rng(0))
        self.argument = np.random.default_rng(0)

    def seed(self, number: int) -> None:
        for k, generator in enumerate((self.rng, self.held.rng, self.argument)):
            fresh = np.random.default_rng([number, k])
            generator.bit_generator.state = fresh.bit_generator.state
        self.old.seed(number)
        self.python.seed(number)
        np.random.seed(number)
        random.seed(number)

    def after(self) -> list[float]:
        return [self.rng.random(), self.held.rng.random(), self.argument.random(),
                self.old.random_sample(), self.python.random(), np.random.random(),
                random.random()]  # fmt: skip


@pytest.mark.attack(quick=10, whole=2_000, part=20, judge="plain NumPy from the same seeds")
def test_programs_that_draw(attack: Any) -> None:
    """Random programs that draw from seven generators, in loops, branches and batches."""
    states = np.random.get_state(), random.getstate()
    world = World()
    for case in attack:
        with case:
            rng = case.rng
            text = Writer(rng).program()
            names = {"np": np, "random": random, **vars(world)}
            plain: dict[str, Any] = {**names, "sg": Plain}
            traced: dict[str, Any] = {**names, "sg": sg}
            exec(text, plain)
            exec(text, traced)
            f, length = plain["f"], int(rng.integers(2, 6))
            options = {"rounding": "numpy"} if rng.random() < 0.2 else {}
            value, both = sg.compile(traced["f"], **options), sg.value_and_grad(traced["f"])
            for number in range(3):
                x = rng.uniform(0.2, 1.2, length if number < 2 else length + 1)
                world.seed(number)
                expected = [f(x, world.argument), f(x, world.argument)]
                after = world.after()
                world.seed(number)
                found = [value(x, world.argument), both(x, world.argument)[0]]
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=text)
                assert world.after() == after, text
                world.seed(number)
                slope = both(x, world.argument)[1] @ (direction := rng.uniform(-1, 1, len(x)))
                rows = [_at(world, number, f, x + t * direction) for t in STEPS]
                wanted, doubt = _slope(rows)
                assert abs(slope - wanted) <= 1e-5 * (1 + abs(wanted)) + 10 * doubt, text
    np.random.set_state(states[0])
    random.setstate(states[1])


#: Where values are taken for differences.
STEPS = (-2e-4, -1e-4, 1e-4, 2e-4)


def _at(world: World, number: int, f: Callable[..., Any], x: Any) -> float:
    world.seed(number)
    return float(f(x, world.argument))


def _slope(rows: list[float]) -> tuple[float, float]:
    """Return a derivative by differences of the fourth order, and how far the second is off."""
    a, b, c, d = rows
    fine = (8 * (c - b) - (d - a)) / 12e-4
    return fine, abs(fine - (c - b) / 2e-4)
