"""Arrays that loops start from, which are read before, after and beside the loop, through views.

A loop may take the memory of the array that it starts from if nothing reads that array later.
Each case makes arrays of arrays, has loops start from some of them, and reads the same arrays by
views, of which some are copied for a routine: compared with the same in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from tests.shared import PLAIN_LOOPS

#: What is read of an array of three axes.
VIEWS: list[Callable[[Any], Any]] = [
    lambda a: a,
    lambda a: a.T,
    lambda a: np.moveaxis(a, 1, 0),
    lambda a: np.swapaxes(a, 0, 2)[::-1],
    lambda a: a[:, ::-1],
    lambda a: a.reshape(-1)[::2],
    lambda a: np.moveaxis(a, 0, -1).reshape(-1),
    lambda a: np.moveaxis(a, 1, 0).reshape(a.shape[1], -1),
    lambda a: np.broadcast_to(a[None], (2, *a.shape)),
    lambda a: a[0].T,
]


def _flat(a: Any) -> Any:
    return a.reshape(-1)


#: What reads it: steps of loops over elements, sums, routines.
READERS: list[Callable[[Any, Any], Any]] = [
    lambda a, w: 0.5 * a + 1.0,
    lambda a, w: np.sum(a, axis=0),
    lambda a, w: np.max(a, axis=-1),
    lambda a, w: np.sort(_flat(a)),
    lambda a, w: np.cumsum(_flat(a)),
    lambda a, w: np.fft.rfft(_flat(a)).real,
    lambda a, w: np.tensordot(a, a, axes=([0], [0])),
    lambda a, w: a.reshape(a.shape[0], -1) @ a.reshape(a.shape[0], -1).T,
    lambda a, w: np.linalg.norm(a)[None],
    lambda a, w: np.linalg.solve(w + 5.0 * np.eye(3), np.resize(_flat(a), 3)),
    lambda a, w: _flat(a)[[0, -1]],
    lambda a, w: np.concatenate([_flat(a), _flat(w)]),
]

#: Arrays from arrays of the same shape.
MAKERS: list[Callable[[Any, Any, Any], Any]] = [
    lambda a, b, w: np.sin(a) + b,
    lambda a, b, w: np.tensordot(w, a, axes=([1], [0])),
    lambda a, b, w: np.cumsum(a, axis=1) * 0.3,
    lambda a, b, w: np.moveaxis(np.tensordot(a, w, axes=([2], [0])), 2, 0).transpose(1, 2, 0),
    lambda a, b, w: np.where(a > b, a, 0.5 * b),
    lambda a, b, w: a - np.mean(b),
]

#: Steps of a loop on two arrays.
STEPS: list[Callable[[Any, Any, Any], Any]] = [
    lambda a, b, w: (np.tanh(np.tensordot(w, a, axes=([1], [0]))), b),
    lambda a, b, w: (b, a),
    lambda a, b, w: (0.9 * a + 0.1 * b, np.cos(a)),
    lambda a, b, w: (a * 0.5 - 0.1, np.tensordot(w, b, axes=([1], [0])) * 0.3),
    lambda a, b, w: (a, 0.5 * (a[::-1] + b)),
]


def program(rng: np.random.Generator) -> list[tuple[str, list[int]]]:
    """Return steps: what is done, and numbers that say by which functions and with what."""
    forms = rng.choice(["make", "loop", "rows", "read"], 9, p=[0.3, 0.15, 0.1, 0.45])
    return [(str(form), rng.integers(0, 60, 4).tolist()) for form in ("make", *forms, "read")]


def run(steps: list[tuple[str, list[int]]], ways: Any, x: Any, w: Any) -> list[Any]:
    arrays, found = [x, x[::-1] * 0.5], []
    for form, (k, i, j, n) in steps:
        a, b = arrays[i % len(arrays)], arrays[j % len(arrays)]
        if form == "make":
            arrays.append(MAKERS[k % len(MAKERS)](a, b, w))
        elif form == "read":
            found.append(READERS[k % len(READERS)](VIEWS[n % len(VIEWS)](a), w))
        else:
            step = STEPS[k % len(STEPS)]
            if form == "loop":
                a, b = ways.fori_loop(0, 1 + n % 4, lambda _, s, f=step: f(*s, w), (a, b))
            else:

                def row(s: Any, y: Any, f: Any = step, k: int = k) -> Any:
                    return f(s[0] * y, s[1], w), s[k % 2]

                (a, b), rows = ways.scan(row, (a, b), w[n % 3])
                found.append(rows[::-1])
            arrays += [a, b]
    if n % 2:  # else some of the arrays are temporary
        found.append(arrays[-1])
    return found


@pytest.mark.attack(quick=40, whole=4_000, judge="the same in NumPy, and its differences")
def test_starts_of_loops(attack: Any) -> None:
    """Arrays that loops start from, read by routines, sums and maps through views and copies."""
    for case in attack:
        with case:
            rng = case.rng
            steps = program(rng)
            x = rng.normal(size=(3, int(rng.choice([1, 2, 4, 40])), 3))
            w = rng.normal(size=(3, 3)) * 0.7
            want = run(steps, PLAIN_LOOPS, x, w)
            got = sg.compile(lambda x, w, steps=steps: run(steps, sg, x, w))(x, w)
            for a, b in zip(got, want, strict=True):
                np.testing.assert_allclose(a, b, 1e-11, 1e-11)

            def loss(x: Any, w: Any, ways: Any = sg, steps: Any = steps) -> Any:
                found = [_flat(a) for a in run(steps, ways, x, w)]
                return sum(np.sum(a * np.cos(np.arange(len(a)))) for a in found)

            slope = sg.grad(loss)(x, w)
            along = rng.normal(size=x.shape)
            # Sorted values cross: where a step is too long, a shorter one counts.
            slopes = [
                (loss(x + h * along, w, PLAIN_LOOPS) - loss(x - h * along, w, PLAIN_LOOPS))
                / (2 * h)
                for h in (1e-6, 1e-7, 1e-8)
            ]
            error = np.abs(np.array(slopes) - np.sum(slope * along)).min()
            assert error <= 2e-4 * (1 + abs(slopes[0])), slopes
