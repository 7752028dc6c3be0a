"""The transformations as functions on traced values: graph in, graph out.

Each body traces the user's function on fresh inputs, runs a pass, and puts the caller's
values in the place of the fresh inputs. The fresh inputs keep nested transformations apart:
what the function closes over is constant for this derivative, even if it is the same value
as the argument. A body's ``top`` variant skips them where the arguments are inputs of the
outermost trace, which nothing can close over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.base.argument_checks import shown
from .._core.base.broadcast import show
from .._core.control import without_counted_loops
from .._core.graph import Literal, Node
from .._core.trace import (
    Complex,
    Traced,
    Tree,
    as_node,
    collect,
    flatten_traced,
    require_traced,
    zeros_like,
)
from .._core.transforms.limits import push_forward
from .._core.transforms.reverse import pull_back
from .._core.transforms.series import Series
from ..errors import ArgumentError
from ._argnums import Keys, positions_of
from ._opening import (
    Opened,
    conjugated,
    filled,
    fit,
    fitting,
    matching,
    or_float_zero,
    values_of,
    widths_of,
)


def scalar_of(result: Any, name: str, holomorphic: bool) -> Any:
    """Return the traced one number of a function, or raise naming its shape."""
    leaves, tree = flatten_traced(result)
    if tree.kind == "complex":
        value = tree.unflatten(leaves)
        if not holomorphic:
            raise ArgumentError(
                f"{name} needs a function that returns one real number, but it returned a "
                "complex one: take its real part or np.abs of it, or say holomorphic=True for "
                "a function with a complex derivative"
            )
        if value.shape == ():
            return value
        raise ArgumentError(
            f"{name} needs a function that returns one number, but it returned an array of "
            f"shape {show(value.real.node.shape)}: sum it, index it, or use sg.jacobian"
        )
    if tree.kind != "leaf":
        raise ArgumentError(
            f"{name} needs a function that returns one real number, but it returned a "
            f"{tree.kind} of {len(leaves)} values: return their sum, or use sg.jacobian "
            "(has_aux=True for a function that returns (value, extra))"
        )
    node = or_float_zero(require_traced(leaves[0], "the function's result").node)
    if node.shape != () or node.dtype.kind != "f":
        raise ArgumentError(
            f"{name} needs a function that returns one real number, but it returned an array "
            f"of shape {show(node.shape)} and type {node.dtype}: sum it, index it, or use "
            "sg.jacobian"
        )
    if holomorphic:
        raise ArgumentError(
            f"{name} with holomorphic=True is for functions with complex results, and this one "
            "is real"
        )
    return Traced(node)


def grad_body(
    function: Callable[..., Any], argnums: Keys, has_aux: bool, with_value: bool,
    name: str, holomorphic: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """Return the gradient of ``function`` as a function on traced values."""
    numbers, single = positions_of(argnums)

    def body(*args: Any, _top: bool = False, **kwargs: Any) -> Any:
        opened = Opened(function, args, kwargs, numbers, _top)
        result, aux = opened.result, None
        if has_aux:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise ArgumentError(
                    f"with has_aux=True the function of {name} returns (value, extra)"
                )
            result, aux = result
        value = scalar_of(result, name, holomorphic)
        if holomorphic and opened.is_real:
            raise ArgumentError(
                f"{name} with holomorphic=True differentiates by complex arguments, and one is "
                "real: convert it with .astype(complex)"
            )
        parts = [x.node for x in ((value.real, value.imag) if holomorphic else (value,))]
        found = pull_back(parts[:1], [Literal(1, parts[0].dtype)], opened.inputs, fixed=True)
        slopes = filled(found, opened.inputs)
        extra, tree, leaves = collect(aux)
        closed = opened.close([*slopes, *extra, *parts])
        gradient = opened.pack(closed[: len(slopes)], single)
        rest = closed[len(slopes) : -len(parts)]
        number = Complex.of(*closed[-2:]) if holomorphic else closed[-1]
        packed = tree.unflatten(x[0] if isinstance(x, tuple) else rest[x] for x in leaves)
        if with_value:
            return ((number, packed), gradient) if has_aux else (number, gradient)
        return (gradient, packed) if has_aux else gradient

    body.__wrapped__ = function  # type: ignore[attr-defined]  # which has the names of arguments
    return body


def _nested(values: Sequence[Any], tree: Tree, leaves: Sequence[Any]) -> Any:
    """Return derivatives in the structure of a result; None for leaves that are no values."""
    return tree.unflatten(None if isinstance(x, tuple) else values[x] for x in leaves)


def jvp_body(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``(primals, tangents) -> (out, tangent)`` on traced values."""

    def body(primals: Any, tangents: Any, _top: bool = False) -> Any:
        opened = Opened(function, primals, {}, range(len(primals)), _top)
        given = matching(tangents, opened, "tangents")
        nodes, tree, leaves = collect(opened.result)
        pairs = dict(zip(opened.inputs, given, strict=True))
        pushed = push_forward(nodes, pairs)
        slopes = filled(pushed, nodes)
        closed = opened.close([*nodes, *slopes])
        count = len(nodes)
        value = tree.unflatten(x[0] if isinstance(x, tuple) else closed[x] for x in leaves)
        return value, _nested(closed[count:], tree, leaves)

    return body


def jet_body(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``(primals, series) -> (out, terms)`` on traced values: derivatives along a curve."""

    def body(primals: Any, series: Any, _top: bool = False) -> Any:
        opened = Opened(function, primals, {}, range(len(primals)), _top, loops=False)
        lengths = {len(terms) for terms in series}
        if len(series) != len(primals) or len(lengths) != 1:
            raise ArgumentError(
                "series has one list for each primal, all of the same length: derivatives of "
                f"order 1, 2, ... of {len(primals)} primals are needed, lengths "
                f"{[len(terms) for terms in series]} were given"
            )
        (order,) = lengths
        nodes, tree, leaves = collect(opened.result)
        nodes = without_counted_loops(nodes)
        carried = Series(nodes, opened.inputs, order)
        found: list[Node] = list(nodes)
        for k in range(1, order + 1):
            factorial = float(math.factorial(k))
            terms = matching([given[k - 1] for given in series], opened, "the terms of series")
            scaled = [as_node(np.divide(Traced(x), factorial)) for x in terms] if k > 1 else terms
            for node, x in zip(nodes, carried.extend(scaled), strict=True):
                term = None if x is None else as_node(np.multiply(Traced(x), factorial))
                found.append(zeros_like(node) if term is None else term)
        closed = opened.close(found)
        rows = [closed[i : i + len(nodes)] for i in range(0, len(closed), len(nodes) or 1)]
        if not rows:
            raise ArgumentError(
                f"jet: the function returns no number or array, but {shown(opened.result)}"
            )
        first, *terms = (_nested(row, tree, leaves) for row in rows)
        return first, terms

    return body


def series_solution(
    slope: Callable[..., Any], t: Any, y: Any, unit: Any, order: int
) -> tuple[list[Any], bool]:
    """Return the series of the solution of ``dy/dt = slope(t, y)`` from ``t``, ``y``.

    Returns
    -------
    terms:
        Those of ``y(t + x*unit) = y + terms[0]*x + terms[1]*x**2 + ...``, each of the state's
        shape: in a unit like the step's length they do not overflow, whatever that of time is.
    smooth:
        Whether nothing in the slope is piecewise.
    """
    opened = Opened(slope, (t, y), {}, (0, 1), False, loops=False)
    nodes, _, _ = collect(opened.result)
    nodes = without_counted_loops(nodes)
    _, *states = opened.inputs
    carried = Series(nodes, opened.inputs, order - 1)
    step = require_traced(unit, "the unit")
    found: list[Node] = []
    slopes: Sequence[Node | None] = nodes
    for k in range(1, order + 1):
        by = np.multiply(step, 1.0 / k)
        terms = [
            zeros_like(y) if f is None else as_node(np.multiply(Traced(f), by))
            for f, y in zip(slopes, states, strict=True)
        ]
        found += terms
        if k < order:
            slopes = carried.extend([step.node if k == 1 else None, *terms])
    closed = opened.close(found)
    count = len(states)
    rows = (closed[i : i + count] for i in range(0, len(closed), count))
    return [row[0] if count == 1 else Complex.of(*row) for row in rows], carried.smooth


def vjp_body(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``(primals, cotangents) -> tuple of cotangents`` on traced values."""

    def body(primals: Any, cotangents: Any, _top: bool = False) -> Any:
        opened = Opened(function, primals, {}, range(len(primals)), _top)
        nodes, tree, leaves = collect(opened.result)
        widths = widths_of(tree, leaves)
        flat = fitting(cotangents, tree, widths, "the cotangent")
        if flat is None:
            given = flatten_traced(cotangents)[1]
            raise ArgumentError(
                "the cotangent must have the structure of the function's result: "
                f"{tree.outline.kind} with {len(widths)} arrays, not {given.outline.kind} with "
                f"{len(values_of(cotangents))}"
            )
        # A cotangent is paired with a tangent by the real part of their complex product.
        flat = conjugated(flat, widths)
        cts = [fit(ct, n, "the cotangent") for ct, n in zip(flat, nodes, strict=True)]
        found = pull_back(nodes, cts, opened.inputs)
        slopes = filled(found, opened.inputs)
        return opened.pack(opened.close(slopes), single=False)

    return body
