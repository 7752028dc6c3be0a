"""Calls that make, arrange and index arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.samples.making import Sample, Samples, join, numbers, on, on_all

# ---------------------------------------------------------------- shapes

SHAPES = ((), (3,), (2, 3), (2, 1, 4))


#: Of arrays that are given at least so many axes.
ANY_RANK = join(on(SHAPES), on_all([((), (2,)), ((2, 3), (3,))]))


def _filled(*value: float) -> Samples:
    return join(on(SHAPES, value, dtypes=("f8", "f4", "i4")), on([(2, 3)], (*value, "f4")))


ROWS: dict[str, Samples] = {
    "reshape": join(
        on([(6,)], ((2, 3),), ((-1, 2),), (-1,), ((3, 2), "F"), ((3, 1, -1), "F")),
        on([(2, 3)], ((3, 2),), ((-1,),), ((3, -1), "F"), ((1, 2, 3),), dtypes=("f8", "i4")),
        on([(4, 3)], ((2, -1, 3),), ((12,), "F"), {"shape": (3, 4)}),
        on([()], ((1, 1),), (-1,)),
        on([(0, 3)], ((3, 0),), ((5, 0, 2),)),
    ),
    "ravel": on(SHAPES, (), ("F",)),
    "expand_dims": on(SHAPES, (0,), (-1,), ((0, -1),)),
    "squeeze": join(
        on([(1, 3, 1), (1, 1), (3,), ()]),
        on([(1, 3, 1)], (0,), (-1,), ((0, 2),)),
    ),
    "transpose": join(
        on([(), (3,), (2, 3), (2, 3, 4)]),
        on([(2, 3, 4)], ((1, 0, 2),), ((-1, 0, 1),), ((2, 0, 1),)),
    ),
    "matrix_transpose": on([(2, 3), (2, 3, 4), (1, 2)]),
    "swapaxes": on([(2, 3), (2, 3, 4)], (0, 1), (-1, 0), (1, 1)),
    "moveaxis": on([(2, 3, 4)], (0, -1), (-1, 0), ((0, 1), (-1, -2)), ((2, 0), (0, 1)), (1, 1)),
    "rollaxis": on([(2, 3, 4)], (2,), (0, 3), (-1, 1), (1,)),
    "broadcast_to": join(
        on([(3,), (1, 3), (2, 1), ()], ((2, 3),), ((4, 2, 3),)),
        on([(3,)], ((3,),), ((0, 3),), dtypes=("f4", "?")),
        on([()], (4,), ((),)),
    ),
    "broadcast_arrays": on_all(
        [((3,), (2, 1), ()), ((2, 3), (2, 3)), ((4, 1, 3), (2, 1)), ((2,),)]
    ),
    "meshgrid": on_all(
        [((3,), (2,)), ((2,), (3,), (4,))], {}, {"indexing": "ij"}, {"sparse": True}
    ),
    "copy": on(SHAPES, dtypes=("f8", "i4")),
    "astype": on([(2, 3)], ("f4",), ("f8",), ("i8",)),
    "shape": on(SHAPES),
    "ndim": on(SHAPES),
    "size": join(on(SHAPES), on([(2, 3)], (0,), (-1,))),
    **dict.fromkeys(("atleast_1d", "atleast_2d", "atleast_3d"), ANY_RANK),
    "zeros_like": _filled(),
    "ones_like": _filled(),
    "full_like": _filled(2.5),
}

# ---------------------------------------------------------------- parts

#: How arrays go on beyond their ends.
MODES = ("edge", "reflect", "symmetric", "wrap")
STATISTICS = ("maximum", "mean", "median", "minimum")

TRIANGLES = join(
    on([(3, 3), (2, 4), (2, 3, 3), (3,)], (), (1,), (-1,)), on([(2, 2)], dtypes=("f4",))
)


ROWS |= {
    "concatenate": join(
        on_all([((3,), (2,)), ((2, 3), (4, 3)), ((2, 3),)], (), {"axis": 0}, listed=True),
        on_all([((2, 3), (2, 1), (2, 4))], (1,), {"axis": -1}, listed=True),
        on_all([((2, 3), (4,)), ((0,), (3,))], {"axis": None}, listed=True),
        on_all([((2, 3), (4, 3))], {"dtype": "f4"}, listed=True),
        lambda rng: iter([(([rng.normal(size=2), np.arange(3), np.float32([1, 2])],), {})]),
    ),
    "stack": join(
        on_all([((), ()), ((3,), (3,)), ((2, 3),) * 3, ((4,),)], (), (-1,), listed=True),
        on_all([((2, 3),) * 3], {"axis": 1}, {"axis": 2}, listed=True),
        on_all([((2, 3),) * 2], (), dtypes=("f4", "?"), listed=True),
    ),
    "hstack": on_all(
        [((), ()), ((3,), (2,)), ((2, 3), (2, 1)), ((2, 1, 3), (2, 2, 3))], listed=True
    ),
    "vstack": on_all([((), ()), ((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (1, 1, 3))], listed=True),
    "dstack": on_all([((), ()), ((3,), (3,)), ((2, 3), (2, 3))], listed=True),
    "column_stack": on_all([((), ()), ((3,), (3,)), ((2, 3), (2,))], listed=True),
    "block": lambda rng: iter(
        [
            (([rng.normal(size=2), rng.normal(size=3)],), {}),
            (([[rng.normal(size=(2, 2)), rng.normal(size=(2, 1))], [np.ones((1, 2)), 5.0]],), {}),
            (([[rng.normal(size=3)], [rng.normal(size=3)]],), {}),
            ((rng.normal(size=3),), {}),
        ]
    ),
    "append": join(
        on_all([((3,), (2,)), ((2, 3), (2,)), ((), ())]),
        on_all([((2, 3), (1, 3))], {"axis": 0}),
        on_all([((2, 3), (2, 2))], {"axis": -1}),
    ),
    "array_split": on([(6,), (7, 3)], (3,), ([2, 5],), dtypes=("f8", "f4")),
    "split": join(
        on([(6,), (6, 3)], (3,), ([2, 5],), ([4, 2, 9],), ([-2],)),
        on([(2, 6)], (2, 1), ([1], -1)),
    ),
    "hsplit": on([(6,), (2, 6)], (3,), ([1, 4],)),
    "vsplit": on([(6, 2)], (3,), ([1, 4],)),
    "dsplit": on([(2, 1, 6)], (3,), ([1, 4],)),
    "unstack": on([(3,), (2, 3)], (), {"axis": -1}),
    "tile": on([(), (3,), (2, 3)], (2,), ((2, 1),), ((2, 1, 3),), (0,)),
    "repeat": join(
        on([(), (3,), (2, 3)], (2,), (0,), dtypes=("f8", "f4")),
        on([(2, 3)], (2, 0), (3, -1), ([2, 0, 3], 1), ([4, 1], 0), ([2], 1)),
        on([(3,)], ([1, 0, 2],)),
    ),
    "pad": join(
        on([(3,), (2, 3)], (1,), ((2, 0),), ((1, 2), "constant"), ((0, 0),)),
        on([(2, 3)], (((1, 2), (0, 1)),), {"pad_width": 1, "constant_values": 2.0}),
        on([(2, 3)], {"pad_width": ((1, 0), (2, 1)), "constant_values": ((1, 2), (3, 4))}),
        on([(4,), (3, 4)], *((w, m) for w in (2, (1, 0)) for m in MODES), dtypes=("f8", "f4")),
        on([(2, 3)], *((7, m) for m in MODES)),
        on([(4,), (3, 4)], *((w, m) for w in (2, (1, 0)) for m in STATISTICS), dtypes=("f8", "f4")),
        on(
            [(3, 4)],
            *(
                {"pad_width": ((1, 2), (0, 3)), "mode": m, "stat_length": ((1, 2), (3, 9))}
                for m in STATISTICS
            ),
        ),
        on(
            [(4,), (3, 4), (1, 2)], (2, "linear_ramp"), ((1, 0), "linear_ramp"), dtypes=("f8", "f4")
        ),
        on([(2, 3)], {"pad_width": 2, "mode": "linear_ramp", "end_values": ((1, -2), (0.5, 3))}),
    ),
    "flip": join(on([(3,), (2, 3)], (), (0,), (-1,)), on([(2, 3, 4)], ((0, 2),), dtypes=("f4",))),
    "flipud": on([(3,), (2, 3)]),
    "fliplr": on([(2, 3), (2, 3, 2)]),
    "rot90": on([(2, 3), (2, 3, 2)], (), (2,), (-1,), (4,), (1, (1, 0))),
    "roll": join(
        on([(5,), (2, 3)], (1,), (-2,), (0,), (7,), (-13,)),
        on([(2, 3)], (1, 0), (-1, -1), (5, 1), ((1, 2), (0, 1)), (1, (0, 1)), ((1, 1), (1, 1))),
        on([(0,), (1, 3)], (1,)),
    ),
    "diagonal": join(
        on([(3, 3), (2, 4), (4, 2)], (), (1,), (-1,), (9,), (0, 1, 0)),
        on([(2, 3, 3)], (), (0, 1, 2), {"axis1": -1, "axis2": 0, "offset": 1}),
    ),
    "trace": join(
        on([(3, 3), (2, 4)], (), (1,), {"offset": -1}, dtypes=("f8", "f4", "i4")),
        on([(2, 3, 3)], (), (0, 1, 2)),
    ),
    "linalg.diagonal": on([(2, 3, 3), (2, 4)], (), {"offset": 1}),
    "linalg.trace": on([(2, 3, 3), (2, 4)], (), {"offset": 1}),
    "diag": on([(3,), (3, 3), (2, 4)], (), (1,), (-2,)),
    "diagflat": on([(), (3,), (2, 2)], (), (1,), (-2,)),
    "tril": TRIANGLES,
    "triu": TRIANGLES,
}

# ---------------------------------------------------------------- elements


def _along_axis(rng: np.random.Generator) -> Any:
    for shape, index_shape, axis in (
        ((4,), (2,), 0), ((3, 4), (3, 2), 1), ((3, 4), (1, 4), 0), ((3, 4), (3, 1), -1),
        ((2, 3, 2), (2, 2, 2), 1), ((3, 4), (5,), None),
    ):  # fmt: skip
        yield (numbers(rng, shape), rng.integers(-2, 2, index_shape), axis), {}


def _choices(rng: np.random.Generator) -> Iterator[Sample]:
    x, y = numbers(rng, (2, 3)), numbers(rng, (3,))
    yield ([x < 0, x > 0.5], [x, y]), {}
    yield ([x < 0, y > 0], [x * 2, 1.0], -1.0), {}
    yield ([y.astype("f4") < 0], [y.astype("f4")], 0), {}


def _pieces(rng: np.random.Generator) -> Iterator[Sample]:
    x = numbers(rng, 6)
    yield (x, [x < 0, x > 0.5], [lambda v: -v, lambda v: v * v]), {}
    yield (x, [x < 0], [np.sin, 3.0]), {}
    yield (x, [x < 0, x < -1], [1.0, 2.0, 0.0]), {}


def _slices(rng: np.random.Generator) -> Iterator[Sample]:
    x = numbers(rng, (3, 4))
    for axis in (0, 1):
        yield (lambda v: v[0] * v[-1], axis, x), {}
        yield (lambda v: v[::-1] * 2.0, axis, x), {}


def _reductions(rng: np.random.Generator) -> Iterator[Sample]:
    yield (np.sum, numbers(rng, (2, 3, 2)), [0, 2]), {}


def _chosen(rng: np.random.Generator) -> Iterator[Sample]:
    yield (rng.integers(0, 3, 4), list(numbers(rng, (3, 4)))), {}
    yield (rng.integers(0, 2, (2, 3)), [numbers(rng, 3), 5.0]), {}


def _equations(rng: np.random.Generator) -> Iterator[Sample]:
    a = rng.standard_normal((2, 3, 6)) + 3 * np.eye(6).reshape(2, 3, 6)
    yield (a, rng.standard_normal((2, 3))), {}
    yield (np.moveaxis(a, 2, 0), rng.standard_normal((2, 3)), (0,)), {}


ROWS |= {
    "take": join(
        on([(4,), (2, 3)], (1,), ([0, -1, 1],), ([[0, 1], [1, 0]],)),
        on([(2, 3)], (1, 0), (-1, 1), ([0, 1, 1], 0), ([[2, 0]], -1), ([], 1), dtypes=("f8", "f4")),
        lambda rng: iter([((numbers(rng, (3, 4)), np.array([[2, 0], [-1, 1]])), {"axis": 1})]),
    ),
    "take_along_axis": _along_axis,
    "delete": join(
        on([(4,), (2, 3)], (1,), (-1,), ([0, 2],), (slice(0, 2),)),
        on([(2, 3)], (1, 1), ([0, -1], 1), (0, 0)),
    ),
    "insert": lambda rng: iter(
        [
            ((numbers(rng, 4), 1, 5.0), {}),
            ((numbers(rng, (2, 3)), -1, numbers(rng, 2)), {}),
            ((numbers(rng, 4), [3, 0], numbers(rng, 2)), {}),
            ((numbers(rng, 4), slice(0, 4, 2), numbers(rng, 2)), {}),
            ((numbers(rng, 4, "f4"), [2], numbers(rng, 3)), {"axis": 0}),
            ((numbers(rng, (2, 3)), 1, numbers(rng, 2)), {"axis": 1}),
            ((numbers(rng, (2, 3)), [0, 3], numbers(rng, (2, 2))), {"axis": -1}),
        ]
    ),
    "clip": join(
        on([(), (5,), (2, 3)], (-0.5, 0.5), (None, 0.0), (0.0, None), {"min": -0.5, "max": 0.7}),
        on([(5,)], (-1, 2), dtypes=("f4", "i4")),
        on_all([((2, 3), (3,), ()), ((3,), (2, 3), (2, 1))]),
    ),
    "select": _choices,
    "piecewise": _pieces,
    "apply_along_axis": _slices,
    "apply_over_axes": _reductions,
    "choose": _chosen,
    "tensorsolve": _equations,
    "tensorinv": lambda rng: iter(
        [
            ((rng.standard_normal((2, 3, 6)) + 3 * np.eye(6).reshape(2, 3, 6),), {}),
            ((rng.standard_normal((4, 2, 2)) + 3 * np.eye(4).reshape(4, 2, 2),), {"ind": 1}),
        ]
    ),
    "resize": lambda rng: iter([((numbers(rng, (2, 3)), (2, 2)), {}), ((numbers(rng, 3), 7), {})]),
}

# ---------------------------------------------------------------- facts


def _twins(rng: np.random.Generator) -> Iterator[Sample]:
    x = numbers(rng, (2, 3))
    yield (x, x + 0.0), {}
    yield (x, x + 1e-3), {}
    yield (x, x[0]), {}


_WITH_NAN = join(
    on([(5,), (2, 3)], {}, {"axis": -1}),
    lambda rng: iter([((np.array([np.nan, 2.0, -1.0, np.nan]),), {})]),
)
_ANY = on([(), (3,)], dtypes=("f8", "i4"))


ROWS |= {
    "allclose": _twins,
    "array_equal": _twins,
    "array_equiv": _twins,
    "iscomplexobj": _ANY,
    "isrealobj": _ANY,
    "diag_indices_from": on([(3, 3)]),
    "tril_indices_from": on([(3, 3), (2, 3)], {}, {"k": 1}),
    "triu_indices_from": on([(3, 3), (2, 3)], {}, {"k": 1}),
    "ix": lambda rng: iter([((rng.integers(0, 2, 3), rng.integers(0, 2, 2)), {})]),
    "ravel_multi_index": lambda rng: iter(
        [(((rng.integers(0, 3, 4), rng.integers(0, 4, 4)), (3, 4)), {})]
    ),
    "unravel_index": lambda rng: iter([((rng.integers(0, 12, 4), (3, 4)), {})]),
    "isreal": _ANY,
    "iscomplex": _ANY,
    "nanargmax": _WITH_NAN,
    "nanargmin": _WITH_NAN,
}
