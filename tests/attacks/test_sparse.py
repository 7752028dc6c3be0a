"""Attacks on sparse derivatives: random programs of moves, gathers, sums and products."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.trace import flatten
from symgrad.errors import SparsityWarning

Step = Callable[[Any], Any]


def steps(rng: np.random.Generator, shape: tuple[int, ...]) -> Step:
    """Return a random step for an array of this shape."""
    n = int(rng.integers(24))
    rank = len(shape)
    axis = int(rng.integers(rank)) if rank else 0
    size = shape[axis] if rank else 1
    if n == 0:
        return lambda x: np.sin(x) * x
    if n == 1:
        ends = (None, -1, 3)
        index = tuple(
            slice(int(rng.integers(-1, 3)), ends[rng.integers(3)], int(rng.integers(1, 4)))
            for _ in shape
        )
        return lambda x: x[index]
    if n == 2 and rank:
        index = rng.integers(-size, size, int(rng.integers(0, 6))) if size else np.zeros(0, int)
        return lambda x: np.take(x, index, axis=axis)
    if n == 3 and rank:
        return lambda x: np.sum(x, axis=axis)
    if n == 4 and rank:
        return lambda x: np.cumsum(x, axis=axis)
    if n == 5 and rank:
        return lambda x: np.flip(x, axis) * 2.0
    if n == 6 and rank:
        return lambda x: np.roll(x, 2, axis)
    if n == 7 and rank:
        return lambda x: np.concatenate([x, np.cos(x)[::-1]], axis=axis)
    if n == 8:
        return lambda x: x.ravel()
    if n == 9:
        count = int(np.prod(shape))
        width = next((k for k in (3, 2, 4) if count % k == 0), 1)
        return lambda x: x.reshape(-1, width) if count else x
    if n == 10:
        return lambda x: x.T
    if n == 11:
        return lambda x: np.where(x > 0.1, x * x, np.flip(x))
    if n == 12 and rank:
        return lambda x: np.stack([x, 2.0 * x], axis=axis)
    if n == 13:
        return lambda x: np.pad(x, 1) if x.ndim else x
    if n == 14 and rank:
        weights = rng.normal(size=(3, shape[-1]))
        return lambda x: x @ weights.T
    if n == 15 and rank and size > 1:
        return lambda x: np.diff(x, axis=axis)
    if n == 16 and rank:
        target = rng.integers(0, 4, shape[0])
        return lambda x: (
            np.bincount(target, x.reshape(len(target), -1).sum(axis=1), 4) if x.size else x
        )
    if n == 17 and rank and size:
        return lambda x: np.max(x, axis=axis)
    if n == 18 and rank == 1:
        return lambda x: np.outer(x, x[:2]) if x.size < 8 else x
    if n == 19 and rank == 2:
        offset = int(rng.integers(-1, 2))
        return lambda x: np.diagonal(x, offset)
    if n == 20:
        return lambda x: x - np.mean(x) if x.size else x
    if n == 21 and rank:

        def written(x: Any) -> Any:
            out = x * 1.0
            out[1:] = x[:-1] ** 2
            return out

        return written
    if n == 22 and rank and shape[0]:
        place = rng.integers(0, shape[0], 3)

        def added(x: Any) -> Any:
            out = x * 1.0
            out[place[:1]] += np.sin(x[place[1:2]])
            return out

        return added
    if n == 23:
        return lambda x: np.broadcast_to(x, (2, *x.shape)) if x.size < 30 else x
    return lambda x: np.exp(-x) + x


def program(rng: np.random.Generator, most: int) -> tuple[Step, Any]:
    """Return a program of up to five random steps, none of more elements, and its argument."""
    shape = tuple(int(k) for k in rng.choice([0, 1, 2, 3, 4, 6, 9, 17], int(rng.integers(1, 3))))
    x = rng.normal(size=shape)
    chosen: list[Step] = []
    y = x
    for _ in range(int(rng.integers(1, 6))):
        step = steps(rng, y.shape)
        y = step(y)
        if y.size > most:
            break
        chosen.append(step)

    def f(x: Any) -> Any:
        for step in chosen:
            x = step(x)
        return x + 0.0

    return f, x


@pytest.mark.attack(quick=8, whole=20_000, judge="dense Jacobians")
def test_patterns_and_values(attack: Any) -> None:
    """Sparse Jacobians of random programs have the entries of the dense ones."""
    for case in attack:
        with case:
            f, x = program(case.rng, 200)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always", SparsityWarning)
                compare(f, x, kernel=case.number % 4 == 0)
            if told:
                case.tally("partly dense")


@pytest.mark.attack(quick=5, whole=5_000, judge="dense Hessians, forward over reverse")
@pytest.mark.filterwarnings("ignore::symgrad.errors.SparsityWarning")
def test_hessians(attack: Any) -> None:
    """Sparse Hessians of sums over random programs, whose maps are read in parts."""
    for case in attack:
        with case:
            f, x = program(case.rng, 60)
            end = (np.sin, lambda y: y**3, lambda y: np.exp(-y) * y)[case.rng.integers(3)]
            before = (np.sin, lambda x: x**3, lambda x: np.exp(np.cos(x)))[case.rng.integers(3)]

            def g(x: Any, f: Step = f, end: Step = end, before: Step = before) -> Any:
                return np.sum(end(f(before(x))))

            if x.size > 40:
                continue
            with sg.backend("numpy") if case.number % 4 else contextlib.nullcontext():
                wanted = np.asarray(sg.jacobian(sg.grad(g))(x)).reshape(x.size, x.size)
                hessian = sg.hessian(g, sparse=True)
                found, pattern = hessian(x).toarray(), hessian.pattern(x).toarray()
            if np.all(np.isfinite(wanted)):
                np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)
                assert not np.any((wanted != 0) & ~pattern)


def compare(f: Step, x: Any, kernel: bool) -> None:
    """Compare the sparse derivative with the dense one."""
    with sg.backend("numpy"):
        wanted = np.asarray(sg.jacobian(f)(x))
        function = sg.jacobian(f, sparse=True)
        found, pattern = function(x), function.pattern(x)
    wanted = wanted.reshape(found.shape)
    if not np.all(np.isfinite(wanted)):
        return  # what infinities become depends on what is multiplied first
    np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-10, atol=1e-12)
    assert not np.any((wanted != 0) & ~pattern.toarray())
    with sg.backend("numpy"):
        inside = sg.compile(lambda x: (function(x).toarray(), function.values(x) + 0.0))(x)
    np.testing.assert_allclose(inside[0], wanted, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(inside[1], found.data, rtol=1e-10, atol=1e-12)
    if kernel:
        again = sg.jacobian(f, sparse=True)
        for y in (x, x[:-1], x + 1.0) if x.ndim and len(x) else (x,):
            with sg.backend("numpy"):
                try:
                    wanted = np.asarray(sg.jacobian(f)(y))
                except (ValueError, IndexError):
                    continue  # not for other sizes
            found = again(y)
            np.testing.assert_allclose(
                found.toarray(), wanted.reshape(found.shape), rtol=1e-10, atol=1e-12
            )


def kept(rng: np.random.Generator, n: int) -> Callable[[Any, Any], Any]:
    """Return a random step of a loop, of a number and a vector of this length."""
    index = rng.integers(0, max(n, 1), n)

    def written(k: Any, u: Any) -> Any:
        out = u * 1.0
        out[1:] = u[:-1] ** 2
        return out

    def counted(k: Any, u: Any) -> Any:
        out = u * 1.0
        out[(k + 1) % n] = u[k % n] * u[(k + 2) % n]
        return out

    found: list[Callable[[Any, Any], Any]] = [
        lambda k, u: np.sin(u) * u,
        lambda k, u: u + 0.3 * np.roll(u, 1),
        lambda k, u: u[index] * 1.5,
        lambda k, u: np.bincount(index, u, max(n, 1))[:n] + u,
        lambda k, u: np.where(u > 0.1, u * u, u[::-1]),
        written,
        lambda k, u: u * 0.5 + k,
        lambda k, u: sg.fori_loop(0, 2, lambda j, v: v * np.roll(v, 1) + j, u),
        lambda k, u: sg.cond(k > 0, lambda v: v * np.roll(v, 2), np.cos, u),
        lambda k, u: sg.checkpoint(lambda v: v * np.exp(-v))(u),
    ]
    if n:
        found += [
            lambda k, u: u * u[k % n],
            lambda k, u: np.concatenate([u[:1], 0.5 * u[1:] * u[:-1]]),
            counted,
            lambda k, u: sg.fori_loop(0, 2, lambda j, v: v * v[(j + k) % n], u),
        ]
    return found[rng.integers(len(found))]


def ends(rng: np.random.Generator, n: int) -> Step:
    """Return a random function of vectors of this length through which no lanes lead."""
    parts = [kept(rng, n) for _ in range(int(rng.integers(1, 3)))]
    count = int(rng.integers(0, 5))

    def body(k: Any, u: Any) -> Any:
        for part in parts:
            u = part(k, u)
        return u

    def grid(u: Any) -> Any:
        last, rows = sg.scan(
            lambda c, x: (body(1, c) + 0.1 * x, c * x), u, np.outer(np.arange(1.0, 4.0), u)
        )
        return last + rows[1] * rows[2]

    def two(u: Any) -> Any:
        a, b = sg.fori_loop(0, count, lambda k, s: (s[1] * 1.0, body(k, s[0]) + s[1]), (u, -u))
        return a * b

    def matrices(u: Any) -> Any:
        a = (u * u)[:, None, None] * np.array([[1.0, 0.2], [0.2, 1.0]])
        a = a + np.array([[3.0, 1.0], [1.0, 4.0]])
        x = np.linalg.solve(a, np.stack([u, np.sin(u)], 1)[..., None])[:, 0, 0]
        return x * np.linalg.det(a) + np.linalg.cholesky(a)[:, 1, 0] + np.linalg.eigh(a)[0][:, 1]

    found: list[Step] = [
        lambda u: sg.fori_loop(0, count, body, u),
        lambda u: sg.fori_loop(0, count, lambda k, v: body(k, v) * 0.5 + (u * u)[::-1], u),
        lambda u: sg.while_loop(
            lambda s: s[0] < count, lambda s: (s[0] + 1, body(s[0], s[1])), (0, u)
        )[1],
        lambda u: sg.scan(lambda c, x: (0.5 * c + x * x, c * x), 0.3, u)[1],
        lambda u: sg.scan(lambda c, x: (0.5 * c * x, c + x), 0.3, u, reverse=True)[1],
        grid,
        two,
        matrices,
    ]
    return found[rng.integers(len(found))]


@pytest.mark.attack(quick=3, whole=2_000, judge="dense Jacobians and Hessians")
@pytest.mark.filterwarnings("ignore::symgrad.errors.SparsityWarning")
def test_where_lanes_end(attack: Any) -> None:
    """Derivatives through random loops and batches of matrices have the dense ones' entries."""
    for case in attack:
        with case:
            rng = case.rng
            n = int(rng.choice([0, 1, 2, 3, 5, 7, 9]))
            before, after = (kept(rng, n) for _ in range(2))
            parts = [ends(rng, n) for _ in range(int(rng.integers(1, 3)))]
            beside = [kept(rng, n) for _ in range(int(rng.integers(0, 3)))]
            way = int(rng.integers(4))

            def f(
                u: Any, before: Any = before, after: Any = after, parts: Any = parts,
                beside: Any = beside, way: int = way,
            ) -> Any:  # fmt: skip
                u = lanes = before(1, u)
                for part in parts:
                    u = part(u)
                for part in beside:
                    lanes = part(0, lanes)
                if way == 0:
                    return after(2, u)
                if way == 1:
                    return after(2, u) * lanes + lanes
                if way == 2:
                    return np.concatenate([lanes * np.sum(lanes), after(2, u)[:2] * lanes[:2]])
                return np.concatenate([after(2, u + lanes)[::2], np.cumsum(lanes)])

            x = rng.uniform(0.2, 1.2, n)
            with sg.backend("numpy"):
                if case.number % 4:
                    compare(f, x, kernel=False)
                else:
                    g = lambda u: np.sum(f(u) ** 2)  # noqa: E731
                    found, wanted = sg.hessian(g, sparse=True)(x).toarray(), sg.hessian(g)(x)
                    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)


# ---------------------------------------------------------------- nested arguments, any sizes


def fitting(a: Any, b: Any) -> tuple[Any, Any]:
    """Return two arrays of one shape, made of the first elements where they have others."""
    if a.shape == b.shape or 0 in (a.ndim, b.ndim):
        return a, b
    n = min(a.size, b.size)
    return a.ravel()[:n], b.ravel()[:n]


def overwritten(a: Any, b: Any, i: Any) -> Any:
    out = a.ravel() * 1.0
    if out.size:
        out[i % out.size] = np.sum(b)
        np.add.at(out, (i * 3) % out.size, np.sin(out[:1]) * out[-1:])
        out[1::2] = out[: len(out[1::2])] ** 2
    return out


def looked_up(a: Any, b: Any, i: Any) -> Any:
    flat = a.ravel()
    return flat[-1 - i % flat.size] * flat[i % flat.size] if flat.size else a


def stencil(a: Any, b: Any, i: Any) -> Any:
    u = np.pad(a.reshape(-1, 2) if a.size % 2 == 0 else a.reshape(-1, 1), 1)
    return u[2:, 1:-1] + u[:-2, 1:-1] - u[1:-1, 2:] * u[1:-1, 1:-1] + np.roll(u, 1, 0)[1:-1, 1:-1]


def summed(a: Any, b: Any, i: Any) -> Any:
    n = min(a.size, len(i))
    return (
        np.bincount(i[:n] % 5, a.ravel()[:n], 5) + np.sum(a[..., None], axis=-1).ravel()[:1].sum()
    )


#: Each takes two arrays of any shape and an index array, and serves all sizes.
SIZELESS: list[Callable[[Any, Any, Any], Any]] = [
    lambda a, b, i: np.sin(a) * 1.5,
    lambda a, b, i: a * a - 0.3,
    lambda a, b, i: np.multiply(*fitting(a, b)),
    lambda a, b, i: np.divide(*fitting(a, 1.5 + np.cos(b))),
    lambda a, b, i: np.where(np.greater(*fitting(a, b)), *fitting(np.sin(a), b * b)),
    lambda a, b, i: np.concatenate([a.ravel(), b.ravel()[::-1]]),
    lambda a, b, i: np.outer(a.ravel()[:4], b.ravel()[:3]),
    lambda a, b, i: np.cumsum(a, axis=-1) if a.ndim else a,
    lambda a, b, i: a[..., ::-2] if a.ndim else a,
    lambda a, b, i: np.sum(a, axis=0) * np.cos(np.sum(b)) if a.ndim else a,
    lambda a, b, i: a - np.mean(a) if a.size else a,
    lambda a, b, i: np.stack([a, 2.0 * a], axis=-1).swapaxes(0, -1),
    lambda a, b, i: np.repeat(a.ravel()[1:], 2),
    lambda a, b, i: np.einsum("i,ij->j", a.ravel()[:3], np.outer(a.ravel()[:3], b.ravel()[:4])),
    lambda a, b, i: np.array([0.5] * a.size) * a.ravel(),
    lambda a, b, i: np.maximum(a, 0.6),
    overwritten,
    looked_up,
    stencil,
    summed,
]


def slopes(f: Step, x: Any) -> Any:
    """Return the derivative of a vector by a vector, by differences of fourth order."""

    def along(j: int) -> Any:
        step = 1e-4 * (np.arange(x.size) == j)
        near, far = f(x + step) - f(x - step), f(x + 2 * step) - f(x - 2 * step)
        return (8 * near - far) / 12e-4

    none = np.zeros((f(x).size, 0))
    return np.concatenate([none, *(along(j)[:, None] for j in range(x.size))], axis=1)


@pytest.mark.attack(quick=3, whole=4_000, judge="differences of NumPy's values")
@pytest.mark.filterwarnings("ignore::symgrad.errors.SparsityWarning")
def test_nested_derivatives(attack: Any) -> None:
    """Blocks of nested arguments, for all sizes, index data and captures, and the Hessian's."""
    for case in attack:
        with case:
            rng = case.rng
            chosen = [
                (SIZELESS[rng.integers(len(SIZELESS))], *rng.integers(0, k + 3, 2))
                for k in range(int(rng.integers(1, 6)))
            ]
            held = {"i": rng.integers(0, 40, 3), "scale": rng.uniform(0.5, 1.5)}

            def f(x: Any, i: Any, chosen: Any = chosen, held: Any = held) -> Any:
                pool = [x["a"], *x["b"]]
                for k, (step, a, b) in enumerate(chosen):
                    made = step(pool[a], pool[b], held["i"] if k % 2 else i)
                    pool.append(made if made.size < 60 else made.ravel()[:50:2])
                return {"last": pool[-1] * held["scale"], "early": (pool[len(pool) // 2] + 0.0,)}

            def total(x: Any, i: Any, f: Any = f) -> Any:
                y = f(x, i)
                return np.sum(np.sin(y["last"])) + np.sum(y["early"][0] ** 2)

            form, second = str(rng.choice(["csr", "csc", "coo"])), bool(case.number % 2)
            if second:
                function = sg.hessian(total, sparse=True, format=form, triangle="lower")
            else:
                function = sg.jacobian(f, sparse=True, format=form)
            whole = sg.grad(total) if second else f
            shapes = [rng.integers(0, 5, rng.integers(0, 3)) for _ in range(3)]
            with sg.backend("llvm" if case.number % 8 == 0 else "numpy"):
                for _ in range(3):
                    parts = [rng.uniform(0.2, 1.3, shape) for shape in shapes]
                    i = rng.integers(0, 40, int(rng.integers(0, 6)))
                    ends = np.cumsum([0, *(part.size for part in parts)])

                    def nested(v: Any, parts: Any = parts, ends: Any = ends) -> Any:
                        a, *b = (
                            np.reshape(v[k:m], np.shape(part))
                            for part, k, m in zip(parts, ends, ends[1:], strict=False)
                        )
                        return {"a": a, "b": tuple(b)}

                    def flat(v: Any, i: Any = i, nested: Any = nested, whole: Any = whole) -> Any:
                        leaves = flatten(whole(nested(v), i))[0]
                        return np.concatenate([np.zeros(0), *map(np.ravel, leaves)])

                    v = np.concatenate([np.zeros(0), *map(np.ravel, parts)])
                    blocks = flatten(function(nested(v), i))[0]
                    width = len(parts)
                    rows = [blocks[k : k + width] for k in range(0, len(blocks), width)]
                    found = np.concatenate([np.hstack([m.toarray() for m in r]) for r in rows])
                    wanted = slopes(flat, v)
                    wanted = np.tril(wanted) if second else wanted
                    near = 1e-6 * max(1.0, np.abs(wanted).max(initial=0.0))
                    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=near)
                    held["i"][:1] += 7
                    held["scale"] += 0.25
                    shapes = [np.maximum(0, s + rng.integers(-1, 2, len(s))) for s in shapes]
