"""The pairwise contraction: all of dot, matmul, tensordot, inner and einsum reduce to it.

Each axis of the operands and of the result has a letter; letters missing from the result
are summed over, as in ``np.einsum``. Derivatives and batching only rename letters.
"""

from __future__ import annotations

import string
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from ...errors import ShapeError
from ..base.broadcast import show
from ..base.sizes import Shape, same
from ..op import LETTERS, ArrayOp, Code, Contract, Products, Words, define
from .movement import by_rows
from .operands import alike


def _shape(a_shape: Shape, b_shape: Shape, a: str, b: str, out: str) -> Shape:
    sizes: dict[str, Any] = {}
    for letters, shape in ((a, a_shape), (b, b_shape)):
        for letter, size in zip(letters, shape, strict=True):
            if letter in sizes and not same(sizes[letter], size):
                raise ShapeError(
                    f"the summed sizes differ: {show(a_shape)} and {show(b_shape)} "
                    f"as {a},{b}->{out}"
                )
            sizes.setdefault(letter, size)
    return tuple(sizes[letter] for letter in out)


def _element(index: Any, x: Any, y: Any, a: str, b: str, out: str) -> Any:
    places: dict[str, Any] = dict(zip(out, index, strict=True))
    limits = []
    for letters, operand in ((a, x), (b, y)):
        for letter, size in zip(letters, operand.shape, strict=True):
            if letter not in places:
                k = sp.Dummy("k", integer=True, nonnegative=True)
                places[letter] = k
                limits.append((k, 0, size - 1))
    product = x[tuple(places[s] for s in a)] * y[tuple(places[s] for s in b)]
    return sp.Sum(product, *limits) if limits else product


def _jvp(t: Any, z: Any, x: Any, y: Any, a: str, b: str, out: str) -> Any:
    terms = []
    if t[0] is not None:
        terms.append(CONTRACT(t[0], y, a=a, b=b, out=out))
    if t[1] is not None:
        terms.append(CONTRACT(x, t[1], a=a, b=b, out=out))
    return sum(terms[1:], start=terms[0])


def _reached(mask: Any, letters: str, out: str, operand: Any) -> Any:
    """Where an operand meets an element of the result that is in the mask."""
    met = np.any(mask, axis=tuple(k for k, s in enumerate(out) if s not in letters))
    shared = [s for s in out if s in letters]
    ordered = np.transpose(met, [shared.index(s) for s in letters if s in shared])
    aligned = tuple(
        size if s in shared else 1 for s, size in zip(letters, operand.shape, strict=True)
    )
    return np.broadcast_to(np.reshape(ordered, aligned), operand.shape)


def _batch(_: Any, batched: Any, x: Any, y: Any, a: str, b: str, out: str) -> Any:
    new = next(s for s in string.ascii_letters if s not in a + b)
    left, right = (new + s if flag else s for s, flag in zip((a, b), batched, strict=True))
    return CONTRACT(x, y, a=left, b=right, out=new + out)


@lru_cache(maxsize=1024)
def matrix_product(a: str, b: str, out: str) -> bool | None:
    """Tell whether a contraction is a product of two matrices or vectors.

    Returns
    -------
    bool or None
        Whether the operands change places, so that the result lies in C order; None if it is
        no such product.
    """
    if len(set(a)) < len(a) or len(set(b)) < len(b) or len(set(a) & set(b)) != 1:
        return None
    rows, columns, summed = set(a) - set(b), set(b) - set(a), set(a) & set(b)
    if len(rows) > 1 or len(columns) > 1 or rows | columns != set(out) or summed & set(out):
        return None
    return len(out) == 2 and out[0] in columns


def contracted(x: Any, y: Any, a: str, b: str, out: str) -> Any:
    """Return the contraction of two arrays.

    Its bits depend on the numbers, and on whether a matrix lies by rows or by columns; not on
    strides.
    """
    x, y = np.asarray(x), np.asarray(y)
    if a + b == out and len(set(out)) == len(out) and x.dtype == y.dtype:
        # All products, and no sums: einsum multiplies, too, and takes 25 us to find that out.
        return np.multiply(by_rows(x).reshape(x.shape + (1,) * y.ndim), by_rows(y))
    axes = _product_axes(a, b, out)
    if axes is None or x.dtype != y.dtype or x.dtype.kind != "f":
        return np.einsum(f"{a},{b}->{out}", by_rows(x), by_rows(y), optimize=True)
    swapped, first, second = axes
    if x.shape[first] != y.shape[second]:  # one of them is 1, and repeated
        return np.einsum(f"{a},{b}->{out}", x, y)
    x, y = _by_rows_or_columns(x), _by_rows_or_columns(y)
    if swapped:
        x, y, first, second = y, x, second, first
    left = x[None] if x.ndim == 1 else x if first == 1 else x.T
    right = y[:, None] if y.ndim == 1 else y if second == 0 else y.T
    found = np.matmul(left, right)
    if x.ndim == 2 and y.ndim == 2:
        return found
    return found.reshape(found.shape[:1] if x.ndim == 2 else found.shape[1:] if y.ndim == 2 else ())


@lru_cache(maxsize=1024)
def _product_axes(a: str, b: str, out: str) -> tuple[bool, int, int] | None:
    """Return what :func:`matrix_product` tells, and the axis of each that is summed over."""
    swapped = matrix_product(a, b, out)
    if swapped is None:
        return None
    (summed,) = set(a) & set(b)
    return swapped, a.index(summed), b.index(summed)


def _by_rows_or_columns(x: Any) -> Any:
    return x if x.flags.f_contiguous else by_rows(x)


def _fits(node: Any) -> str | None:
    a, b, out = (node.params[k] for k in ("a", "b", "out"))
    if len(set(out)) < len(out) or not set(out) <= {*a, *b}:
        return f"{a},{b}->{out} says nothing of its result's axes"
    if len(node.operands) != 2:
        return "it takes two operands"
    return alike(node.operands, node.operands[0].dtype)


CONTRACT: ArrayOp = define(
    Contract("Contract",
        evaluate=lambda x, y, a, b, out: np.einsum(f"{a},{b}->{out}", x, y, optimize=True),
        in_order=contracted, params={"a": LETTERS, "b": LETTERS, "out": LETTERS},
        types=lambda x, y, **_: np.result_type(x, y), shape=_shape, element=_element,
        rule=Products(lambda ct, z, x, y, a, b, out: (
            CONTRACT(ct, y, a=out, b=b, out=a),
            CONTRACT(ct, x, a=out, b=a, out=b),
        ), _jvp),
        support=lambda mask, x, y, a, b, out: (
            _reached(mask, a, out, x),
            _reached(mask, b, out, y),
        ),
        batch=_batch, fits=_fits),
    Code(source=lambda x, y, a, b, out: f'np.einsum("{a},{b}->{out}", {x}, {y}, optimize=True)'),
    Words("sum of products over named axes (pairwise einsum)"),
)  # fmt: skip
