"""Loops over index lists: terms of elements at listed places, added up or written at others."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import symgrad as sg

#: Terms of two elements and of a coefficient.
TERMS: list[Callable[[Any, Any, Any], Any]] = [
    lambda x, y, c: np.sin(x - y),
    lambda x, y, c: c * x * y,
    lambda x, y, c: c * x * y * np.sin(x),
    lambda x, y, c: x**2 * np.exp(-y) - c,
    lambda x, y, c: c / (2 + np.cos(x + y)),
    lambda x, y, c: x - y,
]

#: How lists are held, how a loop goes along them, and how what it computes is used.
HOLDERS = ["arrays", "slices", "lists", "tuples", "pairs", "rows", "columns"]
WALKS = ["by number", "zip", "enumerate", "int"]
USES = ["+=", "-=", "ends", "=", "*=", "over", "total", "totals", "squares", "grid"]


class Lists:
    """Two lists of places and one of coefficients, in a form in which users have them."""

    def __init__(self, rng: np.random.Generator, holder: str, n: int, m: int) -> None:
        self.holder, self.n, self.m = holder, n, m
        self.dtype = rng.choice(["i4", "i8", "u1"])
        self.least = -n if self.dtype != "u1" and rng.random() < 0.3 else 0
        self.c = rng.normal(size=m)
        self.set(rng)

    def drawn(self, rng: np.random.Generator) -> Any:
        """Return places, in two columns."""
        return rng.integers(self.least, self.n, (self.m, 2)).astype(self.dtype)

    def set(self, rng: np.random.Generator) -> None:
        """Put new places in the place of all objects."""
        new = self.drawn(rng)
        if self.holder == "slices":
            wide = np.repeat(new, 3, axis=0)
            self.a, self.b = wide[::3, 0], wide[1::3, 1][::-1]
        elif self.holder in ("rows", "columns"):
            self.e = new if self.holder == "rows" else np.ascontiguousarray(new.T)
        elif self.holder == "pairs":
            self.e = [tuple(row) for row in new.tolist()]
        else:
            kind = {"arrays": np.array, "lists": list, "tuples": tuple}[self.holder]
            given = new.T if self.holder == "arrays" else new.T.tolist()
            self.a, self.b = map(kind, given)

    def edit(self, rng: np.random.Generator) -> bool:
        """Change one place where it is; False where that cannot be."""
        if self.holder == "tuples" or not self.m:
            return False
        k, new = int(rng.integers(self.m)), self.drawn(rng)[0]
        if self.holder == "pairs":
            self.e[k] = tuple(new.tolist())
        elif self.holder == "rows":
            self.e[k] = new
        elif self.holder == "columns":
            self.e[:, k] = new
        else:
            self.a[k] = new[0] if self.holder != "lists" else int(new[0])
        return True

    @property
    def data(self) -> tuple[Any, ...]:
        """The lists, as arguments."""
        pairs = self.holder in ("pairs", "rows", "columns")
        return (self.e, self.c) if pairs else (self.a, self.b, self.c)

    def of(self, data: tuple[Any, ...]) -> Lists:
        """Return such lists with other data."""
        found = copy.copy(self)
        *places, found.c = data
        if len(places) == 1:
            [found.e] = places
        else:
            found.a, found.b = places
        return found

    def along(self, walk: str) -> Iterator[tuple[Any, Any, int]]:
        """Yield both places of each term, and its number."""
        held, pairs = self.holder, self.holder in ("pairs", "rows")
        if walk == "zip" and not pairs:
            a, b = self.e if held == "columns" else (self.a, self.b)
            for k, (i, j) in zip(range(self.m), zip(a, b, strict=True), strict=True):
                yield i, j, k
        elif walk in ("zip", "enumerate") and pairs:
            for k, (i, j) in enumerate(self.e):
                yield i, j, k
        elif walk == "enumerate":
            a, b = self.e if held == "columns" else (self.a, self.b)
            for k, i in enumerate(a):
                yield i, b[k], k
        else:
            for k in range(self.m):
                if held == "rows":
                    i, j = self.e[k, 0], self.e[k, 1]
                elif held == "pairs":
                    i, j = self.e[k]
                elif held == "columns":
                    i, j = self.e[0, k], self.e[1][k]
                else:
                    i, j = self.a[k], self.b[k]
                yield (int(i), int(j), k) if walk == "int" else (i, j, k)


class Program:
    """A random loop over lists."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.use, holder = str(rng.choice(USES)), str(rng.choice(HOLDERS))
        self.walk = str(rng.choice(WALKS))
        most = 60 if self.use in ("*=", "squares") else 420
        m = int(rng.choice([0, 1, 5, 40, 140, 300, most]))
        self.n = int(rng.choice([1, 2, 7, 30, 90]))
        self.terms = [TERMS[k] for k in rng.choice(len(TERMS), rng.integers(1, 3))]
        self.every = int(rng.integers(1, 4))
        self.lists = Lists(rng, holder, self.n, min(m, most))

    def __call__(self, v: Any, *data: Any) -> Any:
        n, use, lists = self.n, self.use, self.lists
        if data:
            lists = lists.of(data)
        width = 3
        r = v.copy() if use == "over" else np.zeros(n, v.dtype)
        if use == "*=":
            r = r + 1.0
        if use == "grid":
            r = np.zeros((n, width), v.dtype)
        s, t = 0.0, 0.0
        for i, j, k in lists.along(self.walk):
            f = self.terms[k % len(self.terms)](v[i], v[j], lists.c[k])
            if use in ("+=", "squares", "over"):
                r[i] += f
            elif use == "-=":
                r[i] -= f
            elif use == "ends":
                r[i] += f
                r[j] -= f
            elif use == "=":
                r[i] = f
            elif use == "*=":
                r[i] *= 1.0 + 0.1 * f
            elif use == "grid":
                r[i, k % width] += f
            else:
                s += f
                t -= f * v[j] if k % self.every == 0 else 0.0
        if use == "total":
            return s + 0.0 * v[0]
        if use == "totals":
            return np.stack([s + v[0], t + 0.0 * v[0]])
        if use == "squares":
            return sum(r[k] ** 2 for k in range(n))
        return r

    def jacobian(self, v: Any) -> Any:
        """Return the plain function's Jacobian, by complex steps."""
        step = 1e-30
        columns = []
        for k in range(len(v)):
            w = v.astype(complex)
            w[k] += 1j * step
            columns.append(np.asarray(self(w)).imag / step)
        return np.stack(columns, axis=-1)


@pytest.mark.attack(quick=15, whole=2_000, part=25, judge="plain Python and complex steps")
def test_index_lists(attack: Any) -> None:
    """Values, dense and sparse Jacobians of loops over index lists, which then change."""
    for case in attack:
        with case:
            _attacked(case, passed=False)


@pytest.mark.filterwarnings("ignore::symgrad.errors.SparsityWarning")  # of speed alone
@pytest.mark.attack(quick=5, whole=2_000, part=25, judge="plain Python and complex steps")
def test_index_lists_as_arguments(attack: Any) -> None:
    """The same of lists that are arguments: arrays, lists, tuples, pairs, others in each call."""
    for case in attack:
        with case:
            _attacked(case, passed=True)


def _attacked(case: Any, passed: bool) -> None:
    rng = case.rng
    f = Program(rng)
    v = rng.uniform(0.5, 1.5, f.n)
    value, dense = sg.compile(f), sg.jacobian(f)
    sparse = sg.jacobian(lambda x, *data: np.ravel(f(x, *data)), sparse=True)
    for turn in range(3):
        wanted, matrix = np.asarray(f(v)), f.jacobian(v)
        scale = 1e-11 * (1 + np.abs(matrix).max(initial=0) + np.abs(wanted).max(initial=0))
        data = f.lists.data if passed else ()
        np.testing.assert_allclose(value(v, *data), wanted, rtol=0, atol=scale)
        if rng.random() < 0.4:
            np.testing.assert_allclose(dense(v, *data), matrix, rtol=0, atol=scale)
        found = sparse(v, *data)
        flat = matrix.reshape(wanted.size, f.n)
        np.testing.assert_allclose(found.toarray(), flat, rtol=0, atol=scale)
        # Of many terms of a small matrix, blocks become one with all of its entries. Which writes
        # at places that are arguments are the last is not known.
        known = f.use != "squares" and not (passed and f.use in ("=", "*="))
        if known and found.nnz < flat.size:
            assert not np.any(stored(found) > flat_pattern(f))
        v = rng.uniform(0.5, 1.5, f.n)
        if turn == 1 or not f.lists.edit(rng):
            f.lists.set(rng)
    case.tally(f.use)


def stored(matrix: Any) -> Any:
    """Return where a sparse matrix has entries, zeros among them."""
    found = np.zeros(matrix.shape)
    coo = matrix.tocoo()
    found[coo.row, coo.col] = 1.0
    return found


def flat_pattern(f: Program) -> Any:
    """Return which entries there may be: of each term, its places."""
    n = f.n
    rows: dict[str, int] = {"total": 1, "totals": 2, "grid": 3 * n}
    found = np.zeros((rows.get(f.use, n), n))
    if f.use == "over":
        found += np.eye(n)
    if f.use == "total" or f.use == "totals":
        found[:, 0] = 1.0
    for i, j, k in f.lists.along(f.walk):
        i, j = int(i) % n, int(j) % n
        if f.use in ("total", "totals"):
            found[:, [i, j]] = 1.0
        elif f.use == "grid":
            found[3 * i + k % 3, [i, j]] = 1.0
        else:
            if f.use == "=":
                found[i] = 0.0
            found[i, [i, j]] = 1.0
            if f.use == "ends":
                found[j, [i, j]] = 1.0
    return found
