"""Ops that read a diagonal of matrices, and that write one: linear, each other's transposes."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from .._op import (
    INTEGER,
    SHAPE,
    SIZE,
    ArrayOp,
    Assemble,
    Code,
    Linear,
    View,
    Words,
    define,
)
from .._shapes import Shape, as_dim, as_size, same, show
from .._spell import spell
from .operands import agree

Region = tuple[tuple[Any, int, Any], ...]


def _corner(offset: int) -> tuple[int, int]:
    return max(-offset, 0), max(offset, 0)


def _diagonal_element(index: Any, x: Any, offset: int, size: Any) -> Any:
    row, column = _corner(offset)
    *lead, k = index
    return x[(*lead, k + row, k + column)]


def _embed_place(k: int, index: Any, x: Any, offset: int, shape: Shape) -> tuple[Any, ...]:
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
