"""Ops that move elements: broadcast, reshape, transpose, diagonals. All are linear."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from ...errors import ShapeError
from ..base.broadcast import show
from ..base.size_text import spell
from ..base.sizes import (
    Dimension,
    Shape,
    agree,
    as_dim,
    as_expr,
    as_size,
    dim_expand,
    dim_product,
    evaluate_dim,
    same,
)
from ..op import INTEGER, ORDER, SHAPE, SIZE, ArrayOp, Assemble, Code, Linear, View, Words, define

# ---------------------------------------------------------------- broadcast


def _broadcast_element(index: Any, x: Any, shape: Shape) -> Any:
    lead = len(shape) - len(x.shape)
    return x[tuple(0 if d == 1 else i for i, d in zip(index[lead:], x.shape, strict=True))]


def _broadcast_batch(size: Any, _: Any, x: Any, shape: Shape) -> Any:
    ones = (1,) * (len(shape) - (x.ndim - 1))
    return BROADCAST(RESHAPE(x, shape=(size, *ones, *x.shape[1:])), shape=(size, *shape))


def by_rows(x: Any) -> Any:
    """Return an array, or a copy of it, that lies in C order.

    NumPy adds, and computes some functions, with other last bits where an array lies otherwise.
    """
    return x if not isinstance(x, np.ndarray) or x.flags.c_contiguous else np.ascontiguousarray(x)


def unbroadcast(ct: Any, shape: tuple[Any, ...]) -> Any:
    """Sum a cotangent over the axes along which its operand was broadcast."""
    lead = ct.ndim - len(shape)
    summed = tuple(range(lead)) + tuple(
        k + lead for k, d in enumerate(shape) if d is not ct.shape[k + lead] and is_single(d)
        and not is_single(ct.shape[k + lead])
    )  # fmt: skip
    if summed:
        ct = np.sum(by_rows(ct), axis=summed)
    return RESHAPE(ct, shape=shape) if len(summed) > lead else ct


def is_single(size: Dimension) -> bool:
    """Tell whether an axis has one element by its very shape, and so repeats."""
    return isinstance(size, int) and size == 1


def _broadcast_fits(node: Any) -> str | None:
    have, want = node.operands[0].shape, node.params["shape"]
    lead = len(want) - len(have)
    fit = lead >= 0 and all(
        (isinstance(d, int) and d == 1) or same(d, n)
        for d, n in zip(have, want[lead:], strict=True)
    )
    return None if fit else f"{show(have)} is not broadcast to {show(want)}"


BROADCAST: ArrayOp = define(
    View("Broadcast", evaluate=lambda x, shape: np.broadcast_to(x, shape),
        params={"shape": SHAPE}, shape=lambda x, shape: shape, element=_broadcast_element,
        rule=Linear(lambda ct, x, shape: (unbroadcast(ct, x.shape),)), batch=_broadcast_batch,
        fits=_broadcast_fits),
    Code(source=lambda x, shape: f"np.broadcast_to({x}, {spell(shape)})"),
    Words("repeat along new and length-one axes"),
)  # fmt: skip

# ---------------------------------------------------------------- reshape


def _groups(old: Shape, new: Shape) -> list[tuple[list[int], list[int]]]:
    """Split the axes into the smallest runs whose sizes multiply to the same number."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        left, right = [i] if i < len(old) else [], [j] if j < len(new) else []
        i, j = i + len(left), j + len(right)
        while not _equal([old[k] for k in left], [new[k] for k in right]):
            behind = j >= len(new) or (i < len(old) and _shorter(old, left, new, right))
            if behind and i < len(old):
                left.append(i)
                i += 1
            elif j < len(new):
                right.append(j)
                j += 1
            else:
                return [(list(range(len(old))), list(range(len(new))))]
        groups.append((left, right))
    return groups


def _equal(a: list[Dimension], b: list[Dimension]) -> bool:
    return bool(dim_expand(dim_product(tuple(a))) == dim_expand(dim_product(tuple(b))))


def _shorter(old: Shape, left: list[int], new: Shape, right: list[int]) -> bool:
    a = dim_product(tuple(old[k] for k in left))
    b = dim_product(tuple(new[k] for k in right))
    sizes = {
        s: s.hint
        for s in (
            *as_expr(a).free_symbols,
            *as_expr(b).free_symbols,
        )
    }
    return evaluate_dim(a, sizes) < evaluate_dim(b, sizes)


def _reshape_element(index: Any, x: Any, shape: Shape) -> Any:
    out: list[Any] = [0] * len(x.shape)
    for left, right in _groups(x.shape, shape):
        linear: Any = 0
        for k in right:
            linear = linear * shape[k] + index[k]
        big = [k for k in left if x.shape[k] != 1]
        for k in reversed(big[1:]):
            out[k] = sp.Mod(linear, x.shape[k])
            linear = sp.floor(as_expr(linear) / x.shape[k])
        if big:
            out[big[0]] = linear
    return x[tuple(out)]


def _reshape_shape(x: Shape, shape: Shape) -> Shape:
    # By guard where only the hints can tell: a vector of n = 6 elements is (2, 3) for n = 6.
    if not same(dim_product(x), dim_product(shape)):
        raise ShapeError(f"cannot reshape array of shape {show(x)} into shape {show(shape)}")
    return shape


RESHAPE: ArrayOp = define(
    View("Reshape", evaluate=lambda x, shape: np.reshape(x, shape), params={"shape": SHAPE},
        shape=_reshape_shape, element=_reshape_element,
        rule=Linear(lambda ct, x, shape: (RESHAPE(ct, shape=x.shape),)),
        batch=lambda size, _, x, shape: RESHAPE(x, shape=(size, *shape)), alias=True),
    Code(source=lambda x, shape: f"np.reshape({x}, {spell(shape)})"),
    Words("the same elements in C order under another shape"),
)  # fmt: skip

# ---------------------------------------------------------------- transpose


def inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the inverse permutation."""
    return tuple(int(k) for k in np.argsort(axes))


TRANSPOSE: ArrayOp = define(
    View("Transpose", evaluate=lambda x, axes: np.transpose(x, axes), params={"axes": ORDER},
        shape=lambda x, axes: tuple(x[k] for k in axes),
        element=lambda i, x, axes: x[tuple(i[k] for k in inverse(axes))],
        rule=Linear(lambda ct, x, axes: (TRANSPOSE(ct, axes=inverse(axes)),)),
        batch=lambda size, _, x, axes: TRANSPOSE(x, axes=(0, *(k + 1 for k in axes)))),
    Code(source=lambda x, axes: f"np.transpose({x}, {axes})"),
    Words("permute the axes"),
)  # fmt: skip


# ---------------------------------------------------------------- diagonals


Region = tuple[tuple[Any, int, Any], ...]


def _corner(offset: int) -> tuple[int, int]:
    return max(-offset, 0), max(offset, 0)


def _diagonal_element(index: Any, x: Any, offset: int, size: Any) -> Any:
    row, column = _corner(offset)
    *lead, k = index
    return x[(*lead, k + row, k + column)]


def _embed_place(k: int, index: Any, _: Any, offset: int, shape: Shape) -> tuple[Any, ...]:
    row, column = _corner(offset)
    return (*index[:-1], index[-1] + row, index[-1] + column)


def embedded(x: Any, offset: int, shape: Shape) -> Any:
    """Zeros with ``x`` on a diagonal of the last two axes."""
    out = np.zeros(shape, x.dtype)
    row, column = max(-offset, 0), max(offset, 0)
    k = np.arange(x.shape[-1])
    out[..., k + row, k + column] = x
    return out


def _embed_element(index: Any, x: Any, offset: int, shape: Shape) -> Any:
    row, column = _corner(offset)
    *lead, i, j = index
    k = i - row
    inside = sp.And(sp.Eq(k, j - column), k >= 0, k < x.shape[-1])
    return sp.Piecewise((x[(*lead, k)], inside), (0, True))


def _diagonal_length(shape: Shape, offset: int) -> Any:
    """Return the length of a diagonal of the last two axes."""
    row, column = _corner(offset)
    down, along = as_size(shape[-2]) - row, as_size(shape[-1]) - column
    shorter = min(down, along)
    return as_dim(shorter) if shorter >= 0 else 0


def _diagonal_fits(node: Any) -> str | None:
    shape, offset, size = node.operands[0].shape, node.params["offset"], node.params["size"]
    if len(shape) > 1 and same(size, _diagonal_length(shape, offset)):
        return None
    return f"an array of shape {show(shape)} has no diagonal {offset} of {size} elements"


def _embed_fits(node: Any) -> str | None:
    have, want, offset = node.operands[0].shape, node.params["shape"], node.params["offset"]
    row, column = _corner(offset)
    if (
        len(want) > 1
        and agree(have[:-1], want[:-2])
        and have
        and (
            have[-1] == 0  # a diagonal outside of the array
            or (
                as_size(have[-1]) + row <= as_size(want[-2])
                and as_size(have[-1]) + column <= as_size(want[-1])
            )
        )
    ):
        return None
    return f"{show(have)} is no diagonal {offset} of an array of shape {show(want)}"


DIAGONAL: ArrayOp = define(
    View("Diagonal", evaluate=lambda x, offset, size: np.diagonal(x, offset, -2, -1),
        params={"offset": INTEGER, "size": SIZE}, shape=lambda x, offset, size: (*x[:-2], size),
        element=_diagonal_element,
        rule=Linear(lambda ct, x, offset, size: (DIAG_EMBED(ct, offset=offset, shape=x.shape),)),
        support=lambda mask, x, offset, size: (DIAG_EMBED(mask, offset=offset, shape=x.shape),),
        batch=lambda n, _, x, offset, size: DIAGONAL(x, offset=offset, size=size),
        fits=_diagonal_fits),
    Code(source=lambda x, offset, size: f"np.diagonal({x}, {offset}, -2, -1)"),
    Words("a diagonal of the last two axes"),
)  # fmt: skip

DIAG_EMBED: ArrayOp = define(
    Assemble("DiagEmbed", evaluate=embedded, params={"offset": INTEGER, "shape": SHAPE},
        shape=lambda x, offset, shape: shape, element=_embed_element, place=_embed_place,
        rule=Linear(lambda ct, x, offset, shape: (DIAGONAL(ct, offset=offset, size=x.shape[-1]),)),
        batch=lambda n, _, x, offset, shape: DIAG_EMBED(x, offset=offset, shape=(n, *shape)),
        fits=_embed_fits),
    Code(source=lambda x, offset, shape: f"embedded({x}, {offset}, {spell(shape)})",
        helpers=(embedded,)),
    Words("put the last axis on a diagonal of a zero matrix"),
)  # fmt: skip
