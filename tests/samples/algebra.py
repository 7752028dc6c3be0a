"""Calls of products and linear algebra."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.samples.making import Sample, Samples, join, numbers, on, on_all

# ---------------------------------------------------------------- products


def _examples(rng: np.random.Generator) -> Iterator[Sample]:
    for text, *shapes in (
        ("ij->ji", (2, 3)), ("ij", (2, 3)), ("ji", (2, 3)), ("ii", (3, 3)), ("ii->i", (3, 3)),
        ("ij->", (2, 3)), ("ij->j", (2, 3)), ("iji->j", (2, 3, 2)), ("iii->i", (2, 2, 2)),
        ("i,i", (3,), (3,)), ("i,j", (3,), (2,)), ("i,i->i", (3,), (3,)),
        ("i,ij->ij", (2,), (2, 3)),
        ("ij,jk", (2, 3), (3, 4)), ("ij,jk->ki", (2, 3), (3, 4)),
        ("bij,bjk->bik", (2, 3, 4), (2, 4, 2)),
        ("ij,ij->", (2, 3), (2, 3)), ("ij,k->i", (2, 3), (4,)), ("...j,j", (2, 3, 4), (4,)),
        ("...ij,...jk->...ik", (2, 3, 4), (4, 2)), ("ij...,jk...->ik...", (2, 3, 2), (3, 4, 2)),
        ("...i->i...", (2, 3, 4)), ("ij,ij->ij", (1, 3), (2, 3)), ("ij,jk->ik", (2, 1), (3, 2)),
        ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)), ("i,ij,j", (2,), (2, 3), (3,)),
        ("a,b,c,d->", (2,), (3,), (2,), (3,)), ("ab,bc,cd,de,ef,fa", *((2, 2),) * 6),
        ("ii,ij,jk->k", (2, 2), (2, 3), (3, 2)), (",i->i", (), (3,)), (",", (), ()),
    ):  # fmt: skip
        yield (text, *(numbers(rng, s) for s in shapes)), {}
    yield (numbers(rng, (2, 3)), [0, 1], numbers(rng, (3, 2)), [1, 2], [2, 0]), {}
    yield (numbers(rng, (2, 3)), [..., 0], numbers(rng, 3), [0]), {}
    yield ("ij,jk", numbers(rng, (2, 3), "f4"), numbers(rng, (3, 2), "f4")), {}
    yield ("ij->j", numbers(rng, (2, 3), "i4")), {"optimize": True}


ROWS: dict[str, Samples] = {
    "matmul": join(
        on_all(
            [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4))], dtypes=("f8", "f4")
        ),
        on_all(
            [((2, 3, 4), (4, 2)), ((3, 4), (2, 4, 2)), ((5, 2, 3), (5, 3, 2)), ((2, 3, 4), (4,))]
        ),
        on_all(
            [((5, 1, 2, 3), (2, 3, 2)), ((3,), (2, 3, 4)), ((1, 2, 3), (1, 3, 2)), ((2, 1), (1, 2))]
        ),
        on_all([((2, 0), (0, 3)), ((0, 3), (3, 2))]),
        on_all([((2, 3), (3, 2))], dtypes=("i4",)),
    ),
    "vecdot": on_all([((3,), (3,)), ((2, 3), (3,)), ((4, 1, 3), (2, 3))]),
    "matrix_power": on([(3, 3), (2, 2, 2)], (0,), (1,), (2,), (3,), (7,)),
    "dot": join(
        on_all([((), (3,)), ((2, 3), ()), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2))]),
        on_all([((2, 3), (3, 4)), ((2, 3, 4), (4,)), ((2, 3), (4, 3, 2)), ((2, 2, 3), (2, 3, 2))]),
        on_all([((3,), (3,))], dtypes=("f4", "i4")),
    ),
    "vdot": on_all([((3,), (3,)), ((2, 3), (2, 3)), ((), ()), ((2, 3), (6,))]),
    "inner": on_all(
        [((3,), (3,)), ((2, 3), (3,)), ((2, 3), (4, 3)), ((), (3,)), ((2, 1, 3), (2, 3))]
    ),
    "tensordot": join(
        on_all([((2, 3, 4), (3, 4, 2))], {}, {"axes": 2}),
        on_all([((2, 3), (3, 4))], *({"axes": v} for v in (1, 0, [1, 0], (1, 0), ([1], [0])))),
        on_all([((2, 3, 4), (4, 3, 2))], {"axes": ([1, 2], [1, 0])}, {"axes": (1, 1)}),
        on_all([((2, 3, 4), (4, 3, 2))], {"axes": ([0, -1], [-1, 0])}),
    ),
    "outer": on_all([((3,), (2,)), ((2, 2), (3,)), ((), (2,))]),
    "linalg.outer": on_all([((3,), (2,))]),
    "kron": on_all(
        [((2,), (3,)), ((2, 3), (3, 2)), ((2,), (2, 3)), ((2, 1, 2), (2,)), ((), (2, 2))]
    ),
    "cross": join(
        on_all([((3,), (3,)), ((2, 3), (3,)), ((2, 3), (2, 3))]),
        on_all([((3, 2), (3, 2))], {"axis": 0}, {"axisa": 0, "axisb": 0, "axisc": 1}),
    ),
    "linalg.cross": on_all([((3,), (3,)), ((2, 3), (2, 3))]),
    "einsum": _examples,
    "multi_dot": lambda rng: iter(
        [
            (([numbers(rng, s) for s in shapes],), {})
            for shapes in (
                [(2, 3), (3, 4)],
                [(2, 3), (3, 4), (4, 2)],
                [(3,), (3, 4), (4, 2), (2,)],
                [(3,), (3, 2), (2, 3)],
                [(2, 3), (3, 5), (5, 1), (1, 2), (2, 2), (2, 3), (3,)],
            )
        ]
    ),
    "matvec": on_all([((2, 3), (3,)), ((4, 2, 3), (3,)), ((2, 3), (4, 3))]),
    "vecmat": on_all([((3,), (3, 2)), ((4, 3), (3, 2)), ((3,), (4, 3, 2))]),
}

# ---------------------------------------------------------------- matrices


def _regular(rng: np.random.Generator, *shape: int) -> Any:
    n = min(shape[-2:])
    return rng.standard_normal(shape) + 3 * np.eye(*shape[-2:]) * np.arange(1, n + 1).max()


def _positive(rng: np.random.Generator, *shape: int) -> Any:
    x = rng.standard_normal(shape)
    return x @ np.swapaxes(x, -1, -2) + np.diag(np.arange(1.0, shape[-1] + 1))


def _squares(rng: np.random.Generator) -> Iterator[Sample]:
    for shape in ((1, 1), (2, 2), (4, 4), (3, 2, 2)):
        yield (_regular(rng, *shape),), {}
    yield (_regular(rng, 3, 3).astype("f4"),), {}


def definite(rng: np.random.Generator) -> Iterator[Sample]:
    for shape in ((1, 1), (3, 3), (2, 4, 4)):
        yield (_positive(rng, *shape),), {}


def _systems(rng: np.random.Generator) -> Iterator[Sample]:
    for a, b in (((3, 3), (3,)), ((3, 3), (3, 2)), ((4, 3, 3), (4, 3, 2)), ((3, 3), (4, 3, 2)),
                 ((2, 3, 3), (3, 1))):  # fmt: skip
        yield (_regular(rng, *a), rng.standard_normal(b)), {}


def _scipy_systems(rng: np.random.Generator) -> Iterator[Sample]:
    a, b = _positive(rng, 3, 3), rng.standard_normal((3, 2))
    yield (a, b), {}
    yield (a, b[:, 0]), {"assume_a": "pos"}
    yield (_regular(rng, 3, 3), b), {"transposed": True}


def _bands(rng: np.random.Generator) -> Iterator[Sample]:
    for n, lower, upper, sides in ((5, 1, 1, ()), (6, 2, 1, (3,)), (1, 0, 0, ()), (3, 0, 2, (2,))):
        ab = rng.standard_normal((lower + upper + 1, n))
        ab[upper] += 4.0
        yield ((lower, upper), ab, rng.standard_normal((n, *sides))), {}


def _definite_bands(rng: np.random.Generator) -> Iterator[Sample]:
    for lower in (False, True):
        ab = rng.standard_normal((3, 5))
        ab[0 if lower else -1] += 8.0
        yield (ab, rng.standard_normal(5)), {"lower": lower}


def _tall(rng: np.random.Generator) -> Iterator[Sample]:
    for shape in ((3, 3), (4, 2), (2, 4), (2, 4, 3)):
        yield (rng.standard_normal(shape),), {}
    yield (rng.standard_normal((3, 2)), "r"), {}
    yield (rng.standard_normal((4, 2)), "complete"), {}


def _rectangles(*calls: dict[str, Any]) -> Samples:
    def samples(rng: np.random.Generator) -> Iterator[Sample]:
        for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2)):
            for call in calls:
                yield (rng.standard_normal(shape),), call

    return samples


def _fits(rng: np.random.Generator) -> Iterator[Sample]:
    for shape, b in (((4, 2), (4,)), ((4, 2), (4, 3)), ((3, 3), (3,)), ((2, 4), (2, 2))):
        yield (rng.standard_normal(shape), rng.standard_normal(b)), {}


def _turning(rng: np.random.Generator) -> Iterator[Sample]:
    """Yield real matrices with complex eigenvalues, far from each other."""
    for shape in ((2, 2), (4, 4), (2, 3, 3)):
        n = shape[-1]
        turn = np.diag(np.full(n - 1, 3.0), 1) - np.diag(np.full(n - 1, 3.0), -1)
        yield (turn + np.diag(np.arange(n)) + 0.3 * rng.standard_normal(shape),), {}


ROWS |= {
    "solve": _systems,
    "scipy.linalg.solve": _scipy_systems,
    "solve_triangular": lambda rng: iter(
        [
            ((np.triu(_regular(rng, 3, 3)), rng.standard_normal(3)), {}),
            ((np.triu(_regular(rng, 3, 3)), rng.standard_normal((3, 2))), {"trans": 1}),
            ((_regular(rng, 3, 3), rng.standard_normal((3, 2))), {"lower": True}),
            (
                (_regular(rng, 3, 3), rng.standard_normal(3)),
                {"lower": True, "trans": "T", "unit_diagonal": True},
            ),
        ]
    ),
    "solve_banded": _bands,
    "solveh_banded": _definite_bands,
    "inv": _squares,
    "det": _squares,
    "scipy.linalg.det": definite,
    "slogdet": _squares,
    "cholesky": definite,
    "scipy.linalg.cholesky": definite,
    "qr": _tall,
    "scipy.linalg.qr": lambda rng: iter(
        [
            ((rng.standard_normal((4, 2)),), {"mode": "economic"}),
            ((rng.standard_normal((3, 3)),), {}),
            ((rng.standard_normal((3, 2)),), {}),
        ]
    ),
    "svd": _rectangles({"full_matrices": False}, {"compute_uv": False}),
    "svdvals": _rectangles({}),
    "cond": _rectangles({}, {"p": 2}, {"p": -2}),
    "matrix_rank": _rectangles({}),
    "pinv": _rectangles({}, {"rcond": 1e-8}),
    "lstsq": _fits,
    "scipy.linalg.pinv": _rectangles({}),
    "scipy.linalg.svd": _rectangles({"full_matrices": False}, {"compute_uv": False}),
    "eig": _turning,
    "eigvals": _turning,
    "scipy.linalg.eig": lambda rng: ((args, {"right": False}) for args, _ in _turning(rng)),
    "scipy.linalg.eigvals": _turning,
    "roots": lambda rng: iter(
        [((np.array([2.0, -1.0, 3.0, 1.0]),), {}), ((np.array([1.0, 0.5, 4.0]),), {})]
    ),
    "eigh": definite,
    "eigvalsh": definite,
    "scipy.linalg.eigh": lambda rng: iter(
        [
            ((_positive(rng, 3, 3),), {"eigvals_only": True}),
            ((_positive(rng, 3, 3), _positive(rng, 3, 3)), {"eigvals_only": True}),
            ((_positive(rng, 3, 3), _positive(rng, 3, 3)), {"lower": False, "eigvals_only": True}),
        ]
    ),
    "scipy.linalg.eigvalsh": definite,
    "expm": lambda rng: iter(
        [
            ((0.3 * rng.standard_normal((3, 3)),), {}),
            ((9 * rng.standard_normal((2, 2)),), {}),
            ((rng.standard_normal((2, 3, 3)),), {}),
        ]
    ),
    "norm": join(
        on([(), (4,), (2, 3), (2, 3, 4)], {}, {"keepdims": True}),
        on(
            [(4,), (3, 4)],
            *({"ord": p, "axis": -1} for p in (1, 2, 3, 2.5, np.inf, -np.inf, 0, -1)),
        ),
        on([(3, 4)], *({"ord": p} for p in ("fro", 1, -1, np.inf, -np.inf, 2, -2, "nuc"))),
        on([(2, 3, 4)], {"ord": 2, "axis": (2, 0), "keepdims": True}),
        on([(2, 3, 4)], {"axis": (0, 2)}, {"ord": "fro", "axis": (2, 1), "keepdims": True}),
        on([(2, 3, 4)], {"ord": 1, "axis": (2, 0)}, {"ord": np.inf, "axis": (-1, 0)}),
        on([(3,)], {}, {"ord": 1}, dtypes=("f4", "i4")),
    ),
    "vector_norm": join(
        on([(4,), (2, 3)], {}, {"ord": 1}, {"ord": 3, "keepdims": True}, {"axis": -1}),
        on([(2, 3, 4)], {"axis": (0, 2), "ord": np.inf}),
    ),
    "matrix_norm": on([(3, 4), (2, 3, 4)], {}, {"ord": 1, "keepdims": True}, {"ord": -np.inf}),
}
