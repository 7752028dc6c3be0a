"""Gather and scatter: ops that read elements at computed places, and add them there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp

from ...errors import IndexingError
from ..base.size_text import spell
from ..base.sizes import Shape, agree, as_dim, same
from ..base.state import now
from ..graph import Constant, Iota
from ..op import AXES, PLACE, SHAPE, ArrayOp, Code, Gather, Linear, Scatter, Words, define
from .contract import CONTRACT
from .movement import BROADCAST, RESHAPE
from .np_common import iota, lift
from .operands import indexed


def front(x: Any, axes: tuple[int, ...]) -> Any:
    """Return ``x`` with these axes first."""
    return np.moveaxis(x, axes, range(len(axes)))


def counted(indices: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return indices that count from the front; NumPy would wrap negative ones again."""
    if any(np.any(np.asarray(i) < 0) for i in indices):
        raise IndexingError("a computed index is out of bounds for its axis")
    return indices


def _gather(x: Any, *indices: Any, axes: tuple[int, ...], at: int) -> Any:
    taken = front(x, axes)[counted(indices)]
    rank = np.ndim(indices[0])
    return np.moveaxis(taken, range(rank), range(at, at + rank))


def _gather_shape(x: Shape, *indices: Shape, axes: tuple[int, ...], at: int) -> Shape:
    rest = tuple(d for k, d in enumerate(x) if k not in axes)
    return (*rest[:at], *indices[0], *rest[at:])


def _split(index: Any, indices: Any, at: int) -> tuple[tuple[Any, ...], list[Any]]:
    rank = len(indices[0].shape)
    inner = tuple(index[at : at + rank])
    return inner, [*index[:at], *index[at + rank :]]


def _gather_element(index: Any, x: Any, *indices: Any, axes: tuple[int, ...], at: int) -> Any:
    inner, rest = _split(index, indices, at)
    computed = {a: i[inner] for a, i in zip(axes, indices, strict=True)}
    others = iter(rest)
    return x[tuple(computed[k] if k in computed else next(others) for k in range(len(x.shape)))]


def index_parts(indices: Any, axes: tuple[int, ...], at: int) -> tuple[str, tuple[int, ...], Any]:
    """Return the text of an index, and where NumPy puts its axes and where they belong."""
    entries = [":"] * (max(axes) + 1)
    for axis, index in zip(axes, indices, strict=True):
        entries[axis] = str(index)
    rank = len(indices[0].shape)
    adjacent = axes == tuple(range(axes[0], axes[0] + len(axes)))
    first = axes[0] if adjacent else 0
    return ", ".join(entries), tuple(range(first, first + rank)), tuple(range(at, at + rank))


def _gather_source(x: Any, *indices: Any, axes: tuple[int, ...], at: int) -> str:
    index, have, want = index_parts(indices, axes, at)
    return f"{x}[{index}]" if have == want else f"np.moveaxis({x}[{index}], {have}, {want})"


def scattered(values: Any, index: Any, shape: Shape) -> Any:
    """Zeros with values added at an index, in which places may repeat."""
    out = np.zeros(shape, values.dtype)
    np.add.at(out, index, values)
    return out


def _scatter_source(v: Any, *indices: Any, axes: tuple[int, ...], at: int, shape: Shape) -> str:
    index, have, want = index_parts(indices, axes, at)
    values = v if have == want else f"np.moveaxis({v}, {want}, {have})"
    return f"scattered({values}, np.s_[{index}], {spell(shape)})"


def _scatter(v: Any, *indices: Any, axes: tuple[int, ...], at: int, shape: Shape) -> Any:
    out = np.zeros(shape, v.dtype)
    rank = np.ndim(indices[0])
    moved = np.moveaxis(v, range(at, at + rank), range(rank))
    np.add.at(front(out, axes), counted(indices), moved)
    return out


def scatter_place(
    _: int, index: Any, operands: Sequence[Any], axes: tuple[int, ...], at: int, shape: Shape
) -> tuple[Any, ...]:
    """Return where a scatter reads an element of its result from: its facet ``place``."""
    indices = operands[1:]
    inner, rest = _split(index, indices, at)
    computed = {a: i[inner] for a, i in zip(axes, indices, strict=True)}
    others = iter(rest)
    return tuple(computed[k] if k in computed else next(others) for k in range(len(shape)))


def _scatter_element(
    index: Any, v: Any, *indices: Any, axes: tuple[int, ...], at: int, shape: Shape
) -> Any:
    ks = [sp.Dummy("k", integer=True, nonnegative=True) for _ in indices[0].shape]
    rest = [i for k, i in enumerate(index) if k not in axes]
    hit = sp.And(*(sp.Eq(index[a], i[tuple(ks)]) for a, i in zip(axes, indices, strict=True)))
    value = v[(*rest[:at], *ks, *rest[at:])]
    limits = [(k, 0, n - 1) for k, n in zip(ks, indices[0].shape, strict=True)]
    term = sp.Piecewise((value, hit), (0, True))
    return sp.Sum(term, *limits) if limits else term


def lifted_indices(size: Any, batched: Any, operand: Any, indices: Any) -> tuple[Any, ...]:
    """Give all indices a leading batch axis, and add the batch position as an index."""
    lifted = [i if b else BROADCAST(i, shape=(size, *i.shape))
              for i, b in zip(indices, batched[1:], strict=True)]  # fmt: skip
    shape = lifted[0].shape
    column = RESHAPE(iota(size, operand, *lifted), shape=(size, *(1,) * (len(shape) - 1)))
    return BROADCAST(lift(column, operand, *lifted), shape=shape), lifted


def _gather_batch(size: Any, batched: Any, x: Any, *indices: Any, axes: Any, at: int) -> Any:
    shifted = tuple(a + 1 for a in axes)
    if not any(batched[1:]):
        return GATHER(x, *indices, axes=shifted, at=at + 1)
    if batched[0]:
        lane, lifted = lifted_indices(size, batched, x, indices)
        out = GATHER(x, lane, *lifted, axes=(0, *shifted), at=at)
    else:
        _, lifted = lifted_indices(size, batched, x, indices)
        out = GATHER(x, *lifted, axes=axes, at=at)
    return np.moveaxis(out, at, 0)


def _scatter_batch(size: Any, batched: Any, v: Any, *indices: Any, axes: Any, at: int,
                   shape: Any) -> Any:  # fmt: skip
    shifted = tuple(a + 1 for a in axes)
    if not batched[0]:
        v = BROADCAST(v, shape=(size, *v.shape))
    if not any(batched[1:]):
        return SCATTER(v, *indices, axes=shifted, at=at + 1, shape=(size, *shape))
    lane, lifted = lifted_indices(size, batched, v, indices)
    v = np.moveaxis(v, 0, at)
    return SCATTER(v, lane, *lifted, axes=(0, *shifted), at=at, shape=(size, *shape))


def _gather_fits(node: Any) -> str | None:
    x, *indices = node.operands
    return indexed(node, None, x.shape, indices)


def _scatter_fits(node: Any) -> str | None:
    v, *indices = node.operands
    return indexed(node, v, node.params["shape"], indices)


def _convolved(ct: Any, index: Any, shape: Shape) -> Any:
    """Return what a scatter of products ``g[i]*w[k]`` to the places ``i + k`` is, else None.

    These are the cotangents of the elements of windows of which each is summed with weights. The
    scatter is a convolution, which needs no table of all products.
    """
    product, place = getattr(ct, "node", None), getattr(index, "node", None)
    if product is None or place is None or now().promised:
        return None
    a, b, out = (product.params.get(k) for k in ("a", "b", "out"))
    if product.op is not CONTRACT or len(out) != 2 or out != a + b or not place.op.means(np.add):
        return None
    first, second = place.operands
    if not any(_counts(i, 0) and _counts(k, 1) for i, k in ((first, second), (second, first))):
        return None
    if not agree(place.shape, product.shape):
        return None
    g, w = map(type(ct), product.operands)
    full = as_dim(g.shape[0] + w.shape[0] - 1)
    return np.convolve(g, w) if len(shape) == 1 and same(full, as_dim(shape[0])) else None


def _counts(node: Any, axis: int) -> bool:
    """Tell whether a column (axis 0) or a row holds the integers from 0 on."""
    if node.ndim != 2 or node.shape[1 - axis] != 1:
        return False
    if isinstance(node, Constant):
        return bool(np.all(node.array.ravel() == np.arange(node.array.size)))
    return node.op is RESHAPE and isinstance(node.operands[0], Iota)


def _gather_transpose(ct: Any, x: Any, *indices: Any, axes: tuple[int, ...], at: int) -> Any:
    found = _convolved(ct, indices[0], x.shape) if len(indices) == 1 else None
    if found is None:
        found = SCATTER(ct, *indices, axes=axes, at=at, shape=x.shape)
    return found, *(None for _ in indices)


GATHER: ArrayOp = define(
    Gather("Gather", evaluate=_gather, params={"axes": AXES, "at": PLACE}, shape=_gather_shape,
        element=_gather_element,
        rule=Linear(_gather_transpose, (0,)),
        support=lambda mask, x, *indices, axes, at: (
            SCATTER(mask, *indices, axes=axes, at=at, shape=x.shape),
            *(None for _ in indices),
        ),
        batch=_gather_batch, fits=_gather_fits),
    Code(source=_gather_source),
    Words("read elements at positions given by integer arrays"),
)  # fmt: skip
SCATTER: ArrayOp = define(
    Scatter("Scatter", evaluate=_scatter, params={"axes": AXES, "at": PLACE, "shape": SHAPE},
        shape=lambda *_, axes, at, shape: shape, element=_scatter_element, place=scatter_place,
        rule=Linear(lambda ct, v, *indices, axes, at, shape: (
            GATHER(ct, *indices, axes=axes, at=at),
            *(None for _ in indices),
        ), (0,)),
        batch=_scatter_batch,
        stacked=lambda v, *indices, axes, at, shape: SCATTER(
            np.moveaxis(v, 0, at), *indices, axes=axes, at=at, shape=shape
        ),
        fits=_scatter_fits),
    Code(source=_scatter_source, helpers=(scattered,)),
    Words("add elements at positions given by integer arrays"),
)  # fmt: skip
