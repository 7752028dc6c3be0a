"""Small arrays of fixed shape: layouts, parts, types, order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg

SHAPES = (
    (2, 2), (3, 3), (4, 4), (2, 5), (6, 6), (1, 7), (3, 2, 4), (8,), (5,),
    (12,), (16,), (8, 8), (40, 8), (40, 12), (18,), (21,), (34,), (40,), (2, 18), (3, 20), (50,),
)  # fmt: skip


def part(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Return slices of an array, forwards and backwards, some with steps."""
    found = []
    for n in shape:
        ends = sorted(rng.integers(0, n + 1, 2))
        step = int(rng.choice([1, 1, 2, -1]))
        here = slice(int(ends[0]), int(ends[1]), step)
        found.append(here if step > 0 else slice(None, None, -1))
    return tuple(found)


def steps(rng: np.random.Generator, shape: tuple[int, ...]) -> list[Callable[[list[Any]], Any]]:
    """Return random steps, each of which makes an array of ``shape`` from those before it."""
    made: list[Callable[[list[Any]], Any]] = []

    def pick() -> int:
        return -1 - int(rng.integers(4))

    for _ in range(int(rng.integers(3, 12))):
        a, b, c = pick(), pick(), pick()
        where, other = part(rng, shape), part(rng, shape)
        axis, shift = int(rng.integers(len(shape))), int(rng.integers(-2, 3))
        order = tuple(rng.permutation(len(shape)))
        number = float(np.round(rng.normal(), 2))

        def written(
            v: list[Any], a: int = a, b: int = b, where: Any = where, number: float = number
        ) -> Any:
            made = v[a].copy()
            made[where] = number * v[b][where]
            return made

        def shared(
            v: list[Any], a: int = a, b: int = b, one: Any = where, two: Any = other
        ) -> Any:  # what one writes, the next may read or write over
            made = v[a] + 0 * v[b]
            made[one] += v[b][one]
            made[two] -= made[two] * 0.5
            return made

        def turned(v: list[Any], a: int = a, order: Any = order) -> Any:
            made = np.transpose(v[a], order)
            return made if made.shape == shape else v[a][::-1]

        def joined(
            v: list[Any], a: int = a, b: int = b, axis: int = axis, shift: int = shift
        ) -> Any:
            # Of parts that are made in one order or the other. Which of zeros of both signs is the
            # largest NumPy does not say: it is made 0.
            n = shape[axis]
            cut = min(max(n // 2 + shift, 0), n)
            one, two = range(cut), range(cut, n)
            if shift % 2:
                first = np.take(v[a], one, axis) * 3
                least = np.min(first, initial=0.0)
                return np.concatenate([first, np.take(v[b], two, axis) + (least + 0.0)], axis)
            last = np.take(v[a], two, axis) * 2
            return np.concatenate(
                [np.take(v[b], one, axis) + (np.max(last, initial=0.0) + 0.0), last], axis
            )

        def padded(v: list[Any], a: int = a, axis: int = axis) -> Any:
            whole = np.concatenate([v[a], v[a]], axis=axis)
            return np.take(whole, range(1, shape[axis] + 1), axis=axis)

        made.append((
            lambda v, a=a, b=b: v[a] + v[b],
            lambda v, a=a, b=b: v[a] * v[b] - v[b],
            lambda v, a=a, b=b: v[a] / (1 + v[b] * v[b]),
            lambda v, a=a, b=b, c=c: np.where(v[a] > v[b], v[c], v[a]),
            lambda v, a=a, b=b: np.maximum(v[a], v[b]) + np.abs(v[a]),
            lambda v, a=a: np.sqrt(np.abs(v[a])) + np.floor(v[a]),
            lambda v, a=a, number=number: -v[a] + number,
            lambda v, a=a, axis=axis, shift=shift: np.roll(v[a], shift, axis),
            lambda v, a=a: v[a] + v[a][..., :1],
            lambda v, a=a: v[a] - v[a][:1],
            lambda v, a=a: v[a] * np.arange(shape[-1]),
            lambda v, a=a: v[a].astype(np.float32).astype(v[a].dtype) + (v[a] > 0),
            lambda v, a=a, b=b: np.where((v[a] > 0) & ~(v[b] > 0.5), np.sign(v[a]), v[b]),
            lambda v, a=a: np.round(v[a]).astype(np.int64) * 2 + v[a],
            written, shared, turned, padded, joined, joined,
        )[rng.integers(20)])  # fmt: skip
    return made


@pytest.mark.attack(quick=15, whole=3_000, part=300, judge="plain NumPy, bit for bit")
def test_small_arrays(attack: Any) -> None:
    """Small arrays of fixed shape: what is read and written in parts and in another order."""
    for case in attack:
        with case:
            rng = case.rng
            shape = SHAPES[rng.integers(len(SHAPES))]
            kind = np.float32 if rng.random() < 0.3 else np.float64
            program = steps(rng, shape)
            many = int(rng.integers(2))

            def function(
                x: Any, y: Any, program: Any = program, many: int = many
            ) -> tuple[Any, ...]:
                values = [x, y, x + y, x * y]
                for step in program:
                    values.append(step(values))
                return tuple(values[-1 - many :])

            given = [rng.normal(size=shape).astype(kind) for _ in range(2)]
            compiled = sg.compile(function, dynamic=False)
            for _ in range(2):
                with np.errstate(all="ignore"):
                    wanted = function(*(x.copy() for x in given))
                for found, value in zip(compiled(*given), wanted, strict=True):
                    assert found.dtype == value.dtype
                    np.testing.assert_array_equal(found, value)
                    assert found.tobytes() == np.ascontiguousarray(value).tobytes()
                given = [rng.normal(size=shape).astype(kind) for _ in range(2)]
