"""Attacks on universal functions: layouts, overlaps, sizes, methods, captures that change."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import symgrad as sg

box = SimpleNamespace(scale=1.5, table=np.array([0.5, -1.0, 2.0]), power=2)


def distance(p: Any, q: Any) -> Any:
    return np.sqrt(np.sum((p - q) ** 2) + 1)


def captured(x: Any) -> Any:
    return box.scale * np.sum(x**box.power) + box.table[1]


def halves(x: Any) -> Any:
    return np.sum(x.reshape(-1, 2), axis=1)[:1][0] if len(x) % 2 == 0 and len(x) else np.sum(x)


def mixed(x: Any, a: Any) -> Any:
    return a @ x, np.cumsum(a, axis=1), 3.0 * a[:, ::-1]


#: The places in a memory of 300 numbers.
PLACES = np.arange(300)

GENERAL = [
    (distance, "(n),(n)->()"),
    (lambda p, q: (p - q) / distance(p, q), "(n),(n)->(n)"),
    (captured, "(n)->()"),
    (halves, "(n)->()"),
    (mixed, "(n),(m,n)->(m),(m,n),(m,n)"),
    (lambda x, y: np.where(x > y, x, np.sin(y)), "(),()->()"),
    (lambda x: (box.scale * x, np.exp(-x * x)), "()->(),()"),
]
MADE = [sg.gufunc(f, signature) for f, signature in GENERAL]
BINARY = [lambda x, y: 0.5 * x + y, lambda x, y: np.maximum(x, y) + box.scale * 1e-3]
MADE_BINARY = [sg.gufunc(f) for f in BINARY]


def close(found: Any, expected: Any, single: bool) -> None:
    assert found.shape == expected.shape
    error = 2e-4 if single else 1e-12
    np.testing.assert_allclose(found, expected, rtol=error, atol=error)


def laid_out(rng: np.random.Generator, x: Any) -> Any:
    """Return an array with these values that lies in memory in some other way."""
    way = rng.integers(8)
    if way == 0 and x.ndim:
        wide = np.full((*x.shape[:-1], 2 * x.shape[-1]), 77, x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    if way == 1 and x.ndim:
        return np.ascontiguousarray(x[::-1])[::-1]
    if way == 2 and x.ndim:
        return np.asfortranarray(x)
    if way == 3:
        return x.astype(x.dtype.newbyteorder())
    if way == 4:
        raw = np.zeros(x.nbytes + 1, np.uint8)
        odd = raw[1:].view(x.dtype).reshape(x.shape)
        odd[...] = x
        return odd
    if way == 5 and x.ndim > 1:
        order = rng.permutation(x.ndim)
        return np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))
    return x


def dims(rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(rng.choice([0, 1, 1, 2, 3, 5, 17], rng.integers(0, 4)).tolist())


def stretched(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape that broadcasts to this one."""
    kept = [d if rng.random() < 0.7 else 1 for d in shape]
    return tuple(kept[rng.integers(0, len(shape) + 1) :] if rng.random() < 0.3 else kept)


def cores(signature: str, sizes: dict[str, int]) -> list[list[tuple[int, ...]]]:
    """Return the shapes of the arguments and of the results of one example."""
    return [
        [tuple(sizes[c] for c in part if c in sizes) for part in side.split("),(")]
        for side in signature.split("->")
    ]


def somewhere(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Return the places in a memory of an array of this shape, at any strides."""
    strides = rng.choice([-7, -3, -2, -1, 0, 1, 1, 2, 3, 5, 7], len(shape)).tolist()
    extents = [s * (d - 1) for s, d in zip(strides, shape, strict=True)]
    first = int(rng.integers(30)) - sum(min(0, e) for e in extents)
    return as_strided(PLACES[first:], shape, [8 * s for s in strides])


def change(rng: np.random.Generator) -> None:
    """Change what the functions read."""
    way = rng.integers(5)
    if way == 0:
        box.scale = float(rng.normal())
    elif way == 1:
        box.table[1] = rng.normal()
    elif way == 2:
        box.table = rng.normal(size=3)
    elif way == 3:
        box.power = int(rng.integers(1, 4))


@pytest.mark.attack(quick=20, whole=20_000, judge="np.vectorize of the plain function")
def test_universal_functions(attack: Any) -> None:
    """Universal functions: sizes, layouts, broadcasting, targets, and captures that change"""
    for case in attack:
        with case:
            rng = case.rng
            change(rng)
            k = rng.integers(len(GENERAL))
            f, signature = GENERAL[k]
            sizes = dict(
                zip("nm", rng.choice([1, 2, 3, 4, 8, 9, 16, 17, 30], 2).tolist(), strict=True)
            )
            inputs, outputs = cores(signature, sizes)
            loop = dims(rng)
            single = rng.random() < 0.3
            kind = np.float32 if single else rng.choice([np.float64, np.int32])
            given = [
                laid_out(rng, (3 * rng.normal(size=(*stretched(rng, loop), *core))).astype(kind))
                for core in inputs
            ]
            plain = np.vectorize(f, signature=signature, otypes="d" * len(outputs))
            copies = [np.array(x, dtype=np.float64) for x in given]
            expected = plain(*copies)
            expected = expected if isinstance(expected, tuple) else (expected,)
            out = [
                laid_out(rng, np.zeros(x.shape, np.float32 if single else np.float64))
                if rng.random() < 0.5 else None
                for x in expected
            ]  # fmt: skip
            found = MADE[k](*given, out=tuple(out))
            found = found if isinstance(found, tuple) else (found,)
            for x, target, right in zip(found, out, expected, strict=True):
                assert target is None or x is target
                close(np.asarray(x), np.asarray(right), single)


@pytest.mark.attack(quick=20, whole=20_000, judge="np.vectorize of the plain function, on copies")
def test_overlaps_of_universal_functions(attack: Any) -> None:
    """Universal functions of arguments and targets that lie anywhere in one memory"""
    for case in attack:
        with case:
            rng = case.rng
            k = rng.integers(len(GENERAL))
            f, signature = GENERAL[k]
            sizes = dict(zip("nm", rng.integers(1, 6, 2).tolist(), strict=True))
            inputs, outputs = cores(signature, sizes)
            loop = (int(rng.integers(1, 7)),)
            for _ in range(100):  # until no place is written twice
                targets = [somewhere(rng, (*loop, *core)) for core in outputs]
                written = np.concatenate([x.ravel() for x in targets])
                if len(np.unique(written)) == len(written):
                    break
            else:
                case.tally("no room")
                continue
            memory = rng.normal(size=PLACES.size)
            given = [
                alike(somewhere(rng, (*stretched(rng, loop), *core)), memory) for core in inputs
            ]
            plain = np.vectorize(f, signature=signature, otypes="d" * len(outputs))
            expected = plain(*(x.copy() for x in given))
            expected = expected if isinstance(expected, tuple) else (expected,)
            out = tuple(alike(x, memory) for x in targets)
            whole = memory.copy()
            for places, x in zip(targets, expected, strict=True):
                whole[places] = x
            MADE[k](*given, out=out)
            close(memory, whole, False)


def alike(places: Any, memory: Any) -> Any:
    """Return the array that lies at these places of a memory."""
    return as_strided(memory[places.flat[0] :], places.shape, places.strides)


@pytest.mark.attack(quick=20, whole=20_000, judge="the same loops in Python")
def test_reductions_of_universal_functions(attack: Any) -> None:
    """Universal functions of two numbers: ``reduce`` and related methods, targets over arguments"""
    for case in attack:
        with case:
            rng = case.rng
            change(rng)
            k = rng.integers(len(BINARY))
            f, u = BINARY[k], MADE_BINARY[k]
            judge = np.frompyfunc(f, 2, 1)
            x = laid_out(rng, rng.normal(size=(*dims(rng), rng.integers(1, 40))))
            axis = int(rng.integers(x.ndim))
            way = rng.integers(6)
            plain = np.array(x, dtype=float)
            if way == 0 and x.shape[axis]:
                found = u.reduce(x, axis)
                expected = judge.reduce(plain.astype(object), axis)
            elif way == 1:
                found = u.accumulate(x, axis)
                expected = judge.accumulate(plain.astype(object), axis)
            elif way == 2:
                few, other = x.ravel()[:30], x[..., :2][:3]
                found = u.outer(few, other)
                expected = judge.outer(few.astype(float), other.astype(float))
            elif way == 3:
                places = rng.integers(0, x.shape[-1], rng.integers(1, 6))
                found = u.reduceat(x, places, -1)
                expected = judge.reduceat(plain.astype(object), places, -1)
            else:  # the target is an argument, whole or shifted
                whole = np.array(x, dtype=float, order=str(rng.choice(["C", "F"])))
                shift = int(rng.integers(-2, 3)) if way == 5 else 0
                n = whole.shape[-1] - abs(shift)
                a = whole[..., max(shift, 0) : max(shift, 0) + n]
                out = whole[..., max(-shift, 0) : max(-shift, 0) + n]
                expected = judge(a.copy(), 0.5)
                found = (
                    u(a, 0.5, out=out)
                    if rng.random() < 0.5
                    else u(a, np.full(a.shape, 0.5), out=out)
                )
                assert found is out
            close(np.asarray(found), np.asarray(expected, float), False)
