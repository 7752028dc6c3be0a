"""What is compiled for a chunk: the sum over its rows, and products with its Hessian."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._api._bodies import grad_body, jvp_body
from .._api._transforms import made
from .._api._wrt import Keys, positions_of
from .._compile import Function
from .._trace import flatten
from ..errors import ArgumentError, ShapeError


def total(f: Callable[..., Any], *, data: tuple[int, ...], reduce: str) -> Function:
    """Return the sum over the rows of a chunk of what ``f`` says of all of them or of each."""
    traced = f.outermost if isinstance(f, Function) else f

    def body(*args: Any, _top: bool = False, **kwargs: Any) -> Any:
        rows = flatten(args[data[0]])[0][0].shape[0]
        results, tree = flatten((traced if _top else f)(*args, **kwargs))
        return tree.unflatten([_summed(x, rows, reduce) for x in results])

    return made(total, f, body, {"data": data, "reduce": reduce})


def _summed(result: Any, rows: Any, reduce: str) -> Any:
    shape = np.shape(result)
    if shape == ():
        return result * rows if reduce == "mean" else result
    if len(shape) == 1 and shape[0] == rows:
        return np.sum(result)
    raise ShapeError(
        f"the loss returns shape {shape} for a chunk of {rows} rows: it has to return one number, "
        "or one for each row"
    )


def hessian_product(f: Callable[..., Any], *, argnums: Keys) -> Function:
    """Return a function of tangents and arguments: the Hessian times the tangents."""
    places, _ = positions_of(argnums)
    slope = grad_body(f, argnums, False, False, "hvp")

    def body(tangents: Any, *args: Any, _top: bool = False, **kwargs: Any) -> Any:
        if not isinstance(tangents, tuple) or len(tangents) != len(places):
            raise ArgumentError(
                f"tangents is a tuple with one entry for each of argnums={argnums}: write (v,)"
            )

        def gradient(*chosen: Any) -> Any:
            new = list(args)
            for place, value in zip(places, chosen, strict=True):
                new[place] = value  # type: ignore[index]
            return slope(*new, **kwargs)

        primals = tuple(args[place] for place in places)  # type: ignore[index]
        return jvp_body(gradient)(primals, tangents, _top=_top)[1]

    return made(hessian_product, f, body, {"argnums": argnums})
