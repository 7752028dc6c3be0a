"""Random ``while_loop``s under ``vmap``, against a Python loop over the examples.

Each example ends at a step of its own: some never begin, some have nan in their condition. What
is carried are numbers and small arrays of all kinds, exchanged, passed on, or computed from what
all share and what each has of its own; loops stand in loops, in scans and in branches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgrad as sg

#: As many examples as run side by side, and numbers around it.
SIZES = [0, 1, 2, 31, 32, 33, 70]


class Case:
    """A function of one example, with arrays that have an axis of examples, and shared ones."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = np.random.default_rng([23, seed])
        self.size = SIZES[seed % len(SIZES)]
        self.kinds = [str(rng.choice(["f8", "f8", "f4", "i8", "?", "c16"])) for _ in range(3)]
        self.shapes = [tuple(rng.choice([2, 3, 20], rng.integers(0, 3))) for _ in range(3)]
        self.shape_of = int(rng.integers(0, 6))
        self.most = int(rng.choice([0, 1, 9]))
        self.inner = int(rng.integers(0, 6))
        self.axis = int(rng.integers(0, 2))
        self.turn = [int(k) for k in rng.integers(0, 8, 3)]

    def arguments(self) -> tuple[np.ndarray, ...]:
        """Return a limit and a start for each example, their rows, and what all share."""
        rng, n = self.rng, self.size
        limits = rng.uniform(-1, 6, n)
        limits[rng.random(n) < 0.1] = np.nan
        rows = rng.uniform(0.5, 2, (n, 4)) if self.axis == 0 else rng.uniform(0.5, 2, (4, n))
        return limits, rng.uniform(0, 1, n), rows, rng.uniform(-1, 1, 4)

    def one(self, limit: Any, start: Any, row: Any, shared: Any) -> Any:
        """Return what a loop ends with, of one example."""
        first = [self.begin(k, start) for k in range(3)]

        def goes_on(state: Any) -> Any:
            t, count, _ = state
            return (t < limit) & (count < self.most)

        def step(state: Any) -> Any:
            t, count, (a, b, c) = state
            new = [self.changed(k, x, t, count, row, shared) for k, x in enumerate((a, b, c))]
            if (
                self.turn[0] == 7
                and self.kinds[0] == self.kinds[1]
                and self.shapes[0] == self.shapes[1]
            ):
                new[:2] = new[1::-1]
            return t + 0.1 + 0.3 * row[0], count + 1, tuple(new)

        def loop() -> Any:
            return sg.while_loop(goes_on, step, (start, 0, tuple(first)))

        if self.shape_of == 1:  # one after the other
            t, count, values = loop()
            again = sg.while_loop(lambda s: s < limit + 1, lambda s: s + row[1], t)
            return again, count, values
        if self.shape_of == 2:  # within a scan
            return sg.scan(lambda s, x: (s + loop()[0] * x, loop()[1]), 0.0 * start, row)
        if self.shape_of == 3:  # in a branch
            return sg.cond(start > 0.5, loop, lambda: (start, 0, tuple(first)))
        return loop()

    def begin(self, k: int, start: Any) -> Any:
        value = np.full(self.shapes[k], 0.5 + k) + start if self.shapes[k] else start + k
        kind = self.kinds[k]
        if kind == "?":
            return value > 1
        if kind == "c16":
            return value * (1 + 0.5j)
        return (3 * value).astype(kind) if kind == "i8" else value.astype(kind)

    def changed(self, k: int, x: Any, t: Any, count: Any, row: Any, shared: Any) -> Any:
        kind, way = self.kinds[k], self.turn[k]
        if way == 0:
            return x
        if kind == "?":
            return ~x if way % 2 else x & (t < 2)
        if kind == "i8":
            return (x * 3 + count) % 101
        if way == 1 and kind == "f8":
            return x * 0.5 + sg.fori_loop(0, 2 + self.inner, lambda i, s: s + t * i, row[2])
        if way == 2 and kind == "f8":
            return x * 0.5 + sg.while_loop(lambda s: s > 0.2, lambda s: s * 0.5, row[3])
        if way == 3 and self.shapes[k]:
            return np.flip(x, 0) * 0.5
        if way == 4 and kind == "f8":
            return x * 0.5 + shared[count % 4] - row[count % 4]
        if way == 5 and kind == "f8":
            return np.where(x > 1, x - t, x + np.sqrt(np.abs(shared[1])))
        if way == 6 and self.shapes[k] and kind == "f8":
            return x - 0.1 * np.sum(x) + 0.01 * np.max(x, axis=0)
        return (x * 0.75 + x.dtype.type(0.25)).astype(x.dtype)


def leaves(tree: Any) -> list[Any]:
    """Return the arrays of nested tuples."""
    return [x for t in tree for x in leaves(t)] if isinstance(tree, tuple) else [tree]


def agree(found: Any, expected: Any, what: str) -> None:
    """Compare results of all examples with those of each, which may differ by rounding."""
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), what
        single = a.dtype == np.float32
        np.testing.assert_allclose(a, b, rtol=3e-5 if single else 1e-11,
                                   atol=1e-6 if single else 1e-12, err_msg=what)  # fmt: skip


def check(seed: int) -> None:
    """Compare one case, and changed data in a second call."""
    case = Case(seed)
    data = case.arguments()
    axes = (0, 0, case.axis, None)
    batched = sg.compile(sg.vmap(case.one, in_axes=axes))
    alone = sg.compile(case.one)
    for _ in range(2):
        limits, starts, rows, shared = data
        found = batched(*data)
        lines = rows if case.axis == 0 else rows.T
        each = [leaves(alone(limits[k], starts[k], np.ascontiguousarray(lines[k]), shared))
                for k in range(case.size)]  # fmt: skip
        if each:
            columns = tuple(np.stack(column) for column in zip(*each, strict=True))
            agree(tuple(leaves(found)), columns,
                  f"case {seed}")  # fmt: skip
        else:
            assert all(x.shape[:1] == (0,) for x in leaves(found))
        shared += 0.25
        data = (np.minimum(limits, 2), starts[::-1].copy(), rows, shared)


@pytest.mark.parametrize("seed", range(12))
def test_random_loops_of_examples(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(12, 72, 20))
def test_many_random_loops_of_examples(first: int) -> None:
    for seed in range(first, first + 20):
        check(seed)
