"""Stencils: sums of shifted parts, whose adjoints add to neighbours in one pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg

#: A function of elements, and its derivative.
SHAPES: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (lambda u: u, np.ones_like),
    (lambda u: u * u, lambda u: 2 * u),
    (np.sin, np.cos),
]


class Stencil:
    """A random sum of squares of weighted neighbours, and its gradient written by hand.

    Some also read single elements at the ends, or every second element.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.ndim = int(rng.choice([1, 1, 1, 2, 2, 3]))
        self.step = int(rng.choice([1, 1, 1, 1, 2]))
        self.margin = [int(rng.integers(0, 5 if self.ndim == 1 else 3)) for _ in range(self.ndim)]
        if self.ndim == 1 and rng.random() < 0.1:
            self.margin = [int(rng.integers(8, 12))]  # wider than a window
        self.terms = [
            (tuple(int(rng.integers(0, m + 1)) for m in self.margin), float(rng.normal()),
             SHAPES[rng.integers(len(SHAPES))])
            for _ in range(rng.integers(1, 6))
        ]  # fmt: skip
        self.ends = bool(rng.random() < 0.3)
        self.gain = float(rng.choice([0.5, 1.0, 3.0, 100.0]))

    def parts(self, u: Any) -> list[Any]:
        """Return the slices that the terms read."""
        sizes = [n - m for n, m in zip(u.shape, self.margin, strict=True)]
        return [
            tuple(slice(s, s + n, self.step) for s, n in zip(shift, sizes, strict=True))
            for shift, _, _ in self.terms
        ]

    def residual(self, u: Any) -> Any:
        """Return the weighted sum of neighbours."""
        found = zip(self.terms, self.parts(u), strict=True)
        return sum(weight * shape(u[at]) for (_, weight, (shape, _)), at in found)

    def __call__(self, u: Any) -> Any:
        total = self.gain * np.sum(self.residual(u) ** 2)
        if self.ends:
            first, last = (0,) * self.ndim, (-1,) * self.ndim
            total = total + u[first] * u[last] ** 2
        return total

    def gradient(self, u: Any) -> Any:
        """Return the gradient, by hand."""
        cotangent = 2 * self.gain * self.residual(u)
        out = np.zeros_like(u)
        for (_, weight, (_, slope)), at in zip(self.terms, self.parts(u), strict=True):
            out[at] += weight * cotangent * slope(u[at])
        if self.ends:
            first, last = (0,) * self.ndim, (-1,) * self.ndim
            a, b = u[first], u[last]
            out[first] += b**2
            out[last] += 2 * a * b
        return out

    def sizes(self, rng: np.random.Generator) -> tuple[int, ...]:
        """Return a shape that has room for a row, often for no more, sometimes for chunks."""
        most = {1: (4, 300, 60_000, 200_000), 2: (3, 40, 500), 3: (2, 20, 60)}[self.ndim]
        most = most[: 1 + int(rng.integers(len(most)))][-1]
        return tuple(m + 1 + int(rng.integers(0, most)) for m in self.margin)


@pytest.mark.attack(quick=5, whole=2_000, part=200, judge="adjoints written by hand")
def test_stencils(attack: Any) -> None:
    """Gradients of sums of shifted parts: sizes, steps, single elements, chunks, threads, lanes."""
    for case in attack:
        with case:
            f, rng = Stencil(case.rng), case.rng
            gradient = sg.grad(f)
            for _ in range(3):  # one compilation for all sizes, but few
                dtype = np.dtype(rng.choice(["f4", "f8"], p=[0.3, 0.7]))
                u = rng.normal(size=f.sizes(rng)).astype(dtype)
                wanted = f.gradient(u.astype(float))
                limit = (1e-4 if dtype == "f4" else 1e-12) * (1 + np.abs(wanted).max())
                found = gradient(u)
                assert found.dtype == dtype
                np.testing.assert_allclose(found, wanted, rtol=0, atol=limit)
                rows = np.stack([u, u[::-1], -u]) if u.size < 5000 else u[None]
                found = sg.vmap(gradient)(rows)
                for one, row in zip(found, rows, strict=True):
                    wanted = f.gradient(row.astype(float))
                    np.testing.assert_allclose(one, wanted, rtol=0, atol=limit)


@pytest.mark.attack(quick=10, whole=300, part=50, judge="one thread, and adjoints by hand")
def test_stencils_in_threads(attack: Any) -> None:
    """Chunks add to elements that they share: the same bits by any number of threads."""
    for case in attack:
        with case:
            f, rng = Stencil(case.rng), case.rng
            u = rng.normal(size=tuple({1: 400_000, 2: 700, 3: 80}[f.ndim] for _ in f.margin))
            gradient = sg.grad(f)
            found, before = [], sg.get_num_threads()
            try:
                for count in (1, 2, 3):
                    sg.set_num_threads(count)
                    found.append(gradient(u))
            finally:
                sg.set_num_threads(before)
            wanted = f.gradient(u)
            np.testing.assert_allclose(
                found[0], wanted, rtol=0, atol=1e-12 * (1 + np.abs(wanted).max())
            )
            for other in found[1:]:
                np.testing.assert_array_equal(found[0], other)


class Assembling:
    """A random function that fills an array in place, part by part, as finite elements do.

    Parts are mostly added, at places that overlap; now and then they are written, scaled, read
    between, kept as views, or come from another array that is filled beside it.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.ndim = int(rng.choice([1, 1, 2]))
        self.n = [int(rng.integers(4, 9)) for _ in range(self.ndim)]
        self.start = str(rng.choice(["zeros", "zeros", "zeros", "zeros_like", "copy", "ones"]))
        self.steps = [self.step(rng) for _ in range(rng.integers(1, 9))]

    def step(self, rng: np.random.Generator) -> tuple[str, Any, float]:
        kinds = ["add"] * 6 + ["subtract"] * 3 + ["write", "scale", "number", "view", "turned",
                 "whole", "between", "element", "alias"]  # fmt: skip
        index = tuple(
            slice(a, a + int(rng.integers(0 if rng.random() < 0.1 else 1, n - a + 1)))
            if rng.random() < 0.8 else int(a)
            for n in self.n for a in [int(rng.integers(0, n))]
        )  # fmt: skip
        if rng.random() < 0.2:
            index = (slice(None, None, int(rng.choice([2, -1]))), *index[1:])
        return str(rng.choice(kinds)), index, float(rng.normal())

    def __call__(self, x: Any) -> Any:
        make = {"zeros": lambda: np.zeros(x.shape, x.dtype), "zeros_like": lambda: np.zeros_like(x),
                "copy": x.copy, "ones": lambda: np.ones_like(x)}  # fmt: skip
        F = make[self.start]()
        kept, total = F[1:], 0.0
        for k, (kind, index, weight) in enumerate(self.steps):
            t = weight * x[index] * x[index] if k % 2 else weight * x[index] + 0.5
            if kind == "add":
                F[index] += t
            elif kind == "subtract":
                F[index] -= t
            elif kind == "write":
                F[index] = t
            elif kind == "scale":
                F[index] *= 1 + t
            elif kind == "number":
                F[index] += weight
            elif kind == "view":
                part = F[index]
                part += t if np.ndim(t) else 0.0
            elif kind == "turned":
                F[index] = t + F[index]
            elif kind == "whole":
                F += weight * x
            elif kind == "between":
                F[index] += t
                total = total + np.sum(F[:2] * weight)
            elif kind == "element":
                F[(0,) * self.ndim] += weight * x[(-1,) * self.ndim]
            else:
                kept += weight * x[1:]
        return F * 1.0 + total + np.sum(kept)


@pytest.mark.attack(quick=6, whole=2_000, part=100, judge="NumPy, and complex steps")
def test_arrays_filled_in_parts(attack: Any) -> None:
    """``f[:-1] += t; f[1:] -= t`` and its like: values, and derivatives by complex steps."""
    for case in attack:
        with case, sg.backend("numpy" if case.rng.random() < 0.5 else "llvm"):
            f = Assembling(case.rng)
            compiled = sg.compile(f)
            for n in (f.n, [k + 3 for k in f.n]):
                x = case.rng.normal(size=n)
                h = 1e-30
                way = case.rng.normal(size=n)
                value, tangent = f(x), f(x + 1j * h * way).imag / h
                np.testing.assert_allclose(compiled(x), value, rtol=1e-11, atol=1e-11)
                weights = case.rng.normal(size=n)
                _, found = sg.jvp(f, (x,), (way,))
                np.testing.assert_allclose(found, tangent, rtol=1e-10, atol=1e-10)
                slope = sg.grad(lambda x, w, f=f: np.sum(w * f(x)))(x, weights)
                np.testing.assert_allclose(
                    np.sum(slope * way), np.sum(weights * tangent), rtol=1e-9, atol=1e-9
                )


class Bordered:
    """Random steps of a grid whose neighbours are read across borders of every kind."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.ndim = int(rng.choice([1, 2, 2, 2, 3]))
        self.reach = int(rng.choice([1, 1, 1, 2, 3]))
        self.rounds = [
            [(str(rng.choice(["roll", "roll", "zeros", "edge", "constant", "wrap", "reflect",
                              "joined", "ends", "plain", "transposed", "row"])),
              tuple(int(rng.integers(-self.reach, self.reach + 1)) for _ in range(self.ndim)),
              float(rng.normal()), int(rng.integers(3)))
             for _ in range(rng.integers(1, 6))]
            for _ in range(rng.integers(1, 4))
        ]  # fmt: skip
        self.kept = rng.random(len(self.rounds)) < 0.4
        self.summed = rng.random() < 0.4
        self.looped = rng.random() < 0.3

    def near(self, kind: str, u: Any, shift: tuple[int, ...]) -> Any:
        """Return the array of neighbours at a distance, as a user would write it."""
        r, axes = self.reach, range(self.ndim)
        inside = tuple(slice(r, n - r) for n in u.shape)
        moved = tuple(slice(r + s, n - r + s) for n, s in zip(u.shape, shift, strict=True))
        if kind == "roll":
            for axis, s in enumerate(shift):
                u = np.roll(u, s, axis) if s else u
            return u
        if kind == "row":
            return np.roll(u[(0,) * (self.ndim - 1)], shift[-1])
        if kind == "zeros":
            out = np.zeros_like(u)
            out[inside] = u[moved] * u[inside]
            return out
        if kind in ("edge", "constant", "wrap", "reflect"):
            padded = np.pad(u, r, mode=kind)  # type: ignore[call-overload]
            places = zip(u.shape, shift, strict=True)
            return padded[tuple(slice(r + s, n + r + s) for n, s in places)]
        if kind == "joined":
            axis = abs(shift[0]) % self.ndim
            first = tuple(slice(None, 1) if k == axis else slice(None) for k in axes)
            rest = tuple(slice(None, -1) if k == axis else slice(None) for k in axes)
            return np.concatenate([2.0 * u[first], u[rest]], axis=axis)
        if kind == "ends":
            out = u * u
            out[(0,) * self.ndim] = u[(-1,) * self.ndim]
            out[-1:] = u[:1]
            return out
        return u.T.copy().T if kind == "transposed" else u

    def step(self, terms: Any, u: Any, c: Any) -> Any:
        total = 0.1 * c
        for kind, shift, weight, form in terms:
            t = self.near(kind, u, shift)
            total = total + weight * (t * c, np.sin(t), t)[form]
        return 0.3 * total

    def __call__(self, u: Any, c: Any, loop: Callable[..., Any] = sg.fori_loop) -> Any:
        total = 0.0
        for terms, kept in zip(self.rounds, self.kept, strict=True):
            u = self.step(terms, u, c)
            if kept:
                total = total + np.sum(u * u)
        if self.looped:
            u = loop(0, 3, lambda _, u: self.step(self.rounds[0], u, c), u)
        return np.sum(u * c) + total if self.summed else u + total


def by_python(start: int, stop: int, turn: Callable[[int, Any], Any], u: Any) -> Any:
    """Run a loop as Python does."""
    for k in range(start, stop):
        u = turn(k, u)
    return u


def test_parts_of_small_arrays_are_put_together_in_any_order() -> None:
    """LLVM 22's way to do that fails where they are vectors: none of these may be."""
    f = Bordered(np.random.default_rng(0))
    f.ndim, f.reach, f.kept, f.summed, f.looped = 2, 1, np.array([False, False]), True, False
    f.rounds = [
        [("wrap", (-1, 1), 1.07, 0), ("ends", (-1, 0), 0.04, 2)],
        [("edge", (0, -1), 1.23, 1), ("ends", (0, 1), -0.46, 2), ("plain", (0, 0), 2.22, 2),
         ("constant", (0, 1), -0.51, 1)],
    ]  # fmt: skip
    gradient, rng = sg.grad(f, (0, 1)), np.random.default_rng(1)
    for shape in ((3, 4), (4, 5), (5, 6), (6, 7)):
        u, c, du, dc = rng.normal(size=(4, *shape))
        slopes = gradient(u, c)
        tangent = f(u + 1e-30j * du, c + 1e-30j * dc, by_python).imag / 1e-30
        found = np.sum(slopes[0] * du) + np.sum(slopes[1] * dc)
        np.testing.assert_allclose(found, tangent, rtol=1e-10, atol=1e-12)


@pytest.mark.attack(quick=2, whole=2_000, part=100, judge="NumPy, and complex steps")
def test_borders(attack: Any) -> None:
    """Neighbours across borders: rolled, padded, joined, zeros outside; sizes from the least on."""
    for case in attack:
        with case:
            f, rng = Bordered(case.rng), case.rng
            compiled = sg.compile(f)
            gradient = sg.grad(lambda u, c, w, f=f: np.sum(w * f(u, c)), (0, 1))
            for more in rng.permutation([0, 1, 2, int(rng.integers(3, 9)), 40])[:3]:
                n = tuple(2 * f.reach + 1 + int(more) + k for k in range(f.ndim))
                u, c, du, dc = rng.normal(size=(4, *n))
                value, h = f(u, c, by_python), 1e-30
                tangent = f(u + 1j * h * du, c + 1j * h * dc, by_python).imag / h
                limits = {"rtol": 1e-10, "atol": 1e-10 * (1 + np.abs(tangent).max())}
                np.testing.assert_allclose(compiled(u, c), value, rtol=1e-11, atol=1e-11)
                w = rng.normal(size=np.shape(value))
                slopes = gradient(u, c, w)
                found = np.sum(slopes[0] * du) + np.sum(slopes[1] * dc)
                np.testing.assert_allclose(found, np.sum(w * tangent), **limits)
