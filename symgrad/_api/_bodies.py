"""The transformations as functions on traced values: graph in, graph out.

Each body traces the user's function on fresh inputs, runs a pass, and puts the caller's
values in the place of the fresh inputs. The fresh inputs keep nested transformations apart:
what the function closes over is constant for this derivative, even if it is the same value
as the argument. A body's ``top`` variant skips them where the arguments are inputs of the
outermost trace, which nothing can close over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .._control import refuse_leaks, rerolled
from .._forward import push_forward
from .._graph import Input, Literal, Node
from .._reverse import pull_back
from .._series import Series
from .._shapes import same, show
from .._state import now
from .._trace import (
    Complex,
    Traced,
    Tree,
    argument_name,
    arrived,
    as_node,
    close_conditions,
    collect,
    flatten_traced,
    fresh,
    is_value,
    require_traced,
    substitute,
    with_conditions,
)
from ..errors import ArgumentError, ShapeError
from ._wrt import Key, Keys, as_floats, places_of, positions_of


def real_leaves(value: Any, what: str) -> tuple[list[Any], Tree, list[int]]:
    """Flatten an argument to differentiate by; return leaves, tree, positions of the reals."""
    leaves, tree = flatten_traced(as_floats(value))
    positions = []
    for k, (leaf, path) in enumerate(zip(leaves, tree.paths(what), strict=True)):
        number = isinstance(leaf, Traced) or is_value(leaf)
        if not number and (tree.kind != "leaf" or leaf is None or isinstance(leaf, str)):
            continue  # baked in among the values: a name, a flag, a callable
        traced = require_traced(leaf, path)
        if traced.dtype.kind != "f":
            raise ArgumentError(
                f"cannot differentiate with respect to {path} of type {traced.dtype}: "
                "derivatives are by real numbers or complex ones; pass 3.0 or x.astype(float)"
            )
        leaves[k] = traced
        positions.append(k)
    return leaves, tree, positions


class Opened:
    """A function's graph at fresh inputs for some of its arguments.

    Parameters
    ----------
    function:
        The function to trace.
    args, kwargs:
        The caller's values.
    keys:
        Positions or names of the arguments to differentiate by.
    top:
        Whether the arguments are inputs of the outermost trace, and can serve themselves.
    loops:
        Whether loops that Python has written out are loops again.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        keys: Sequence[Key],
        top: bool,
        loops: bool = True,
    ) -> None:
        new, named, places = places_of(function, args, kwargs, keys)
        self.given: list[Node] = []
        self.inputs: list[Input] = []
        self.trees: list[tuple[Tree, list[Any], list[int]]] = []
        for place in places:
            home: Any = named if isinstance(place, str) else new
            key = place + len(args) if isinstance(place, int) and place < 0 else place
            name = f"argument {argument_name(function, key)}"
            leaves, tree, positions = real_leaves(home[place], name)
            self.trees.append((tree, list(leaves), positions))
            for k in positions:
                node = leaves[k].node
                name = node.name if isinstance(node, Input) else "x"
                stand_in = node if top and isinstance(node, Input) else fresh(node, name)
                self.given.append(node)
                self.inputs.append(stand_in)
                leaves[k] = Traced(stand_in, leaves[k].weak)
            home[place] = tree.unflatten(leaves)
        result = function(*new, **named)
        if top:
            pairs = zip(self.inputs, self.given, strict=True)
            arrived(result, {x: given for x, given in pairs if x is not given})
        self.result = looped(result) if loops else result

    def close(self, nodes: Sequence[Node]) -> list[Traced]:
        """Put the caller's values in the place of the fresh inputs."""
        refuse_leaks(nodes, self.given)
        swap = {i: g for i, g in zip(self.inputs, self.given, strict=True) if i is not g}
        if swap:
            close_conditions(swap)
        return [Traced(n) for n in (substitute(nodes, swap) if swap else nodes)]

    def pack(self, values: Sequence[Any], single: bool) -> Any:
        """Give derivative leaves the structure of the arguments.

        They are derivatives by real and by imaginary parts, and the result is
        ``df/dx - i df/dy`` for a complex argument ``x + iy``.
        """
        rest = iter(values)
        packed = []
        for tree, leaves, positions in self.trees:
            flat = [next(rest) if k in positions else None for k in range(len(leaves))]
            packed.append(tree.unflatten(conjugated(flat, tree.units)))
        return packed[0] if single else tuple(packed)

    def arranged(self, values: Sequence[Any], single: bool) -> Any:
        """Give one value for each argument, real or complex, the structure of the arguments."""
        rest = iter(values)
        packed = [
            tree.outline.unflatten(
                [next(rest) if k in positions else None for k, _ in enumerated(tree)]
            )
            for tree, _, positions in self.trees
        ]
        return packed[0] if single else tuple(packed)

    @property
    def is_real(self) -> bool:
        """Whether one of the arguments to differentiate by is real."""
        return 1 in self.widths

    @property
    def widths(self) -> list[int]:
        """For each value to differentiate by 1 if it is real, 2 if it is complex."""
        return [
            width
            for tree, _, positions in self.trees
            for k, width in enumerated(tree)
            if k in positions
        ]


def looped(result: Any) -> Any:
    """Return a traced result in which loops that Python has written out are loops again.

    Not where rounding is promised: the way back through a loop adds up in another order.
    """
    if now().promised:
        return result
    leaves, tree = flatten_traced(result)
    places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, Traced)]
    nodes = [leaves[k].node for k in places]
    found = with_conditions(rerolled, nodes)
    if found == nodes:
        return result
    for k, node in zip(places, found, strict=True):
        leaves[k] = Traced(node, leaves[k].weak)
    return tree.unflatten(leaves)


def enumerated(tree: Tree) -> Iterator[tuple[int, int]]:
    """Yield the number of the first leaf of each value, and 2 if it is complex, else 1."""
    start = 0
    for width in tree.units:
        yield start, width
        start += width


def widths_of(tree: Tree, leaves: Sequence[Any]) -> list[int]:
    """Return for each value of what :func:`collect` found 1 if it is real, 2 if complex."""
    return [width for k, width in enumerated(tree) if not isinstance(leaves[k], tuple)]


def conjugated(leaves: Sequence[Any], widths: Sequence[int]) -> list[Any]:
    """Return leaves with the imaginary parts of complex values negated."""
    rest, flat = iter(leaves), []
    for width in widths:
        flat.append(next(rest))
        if width == 2:
            imag = next(rest)
            flat.append(None if imag is None else -imag)
    return flat


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
    node = require_traced(leaves[0], "the function's result").node
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


def zeros_like(node: Node) -> Node:
    """Return zeros of the shape and type of ``node``."""
    zero = Literal(0, node.dtype)
    return zero if not node.shape else as_node(np.broadcast_to(Traced(zero), Traced(node).shape))


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
        found = pull_back(parts[:1], [Literal(1, parts[0].dtype)], opened.inputs)
        slopes = [
            zeros_like(x) if g is None else g for g, x in zip(found, opened.inputs, strict=True)
        ]
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


def jvp_body(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``(primals, tangents) -> (out, tangent)`` on traced values."""

    def body(primals: Any, tangents: Any, _top: bool = False) -> Any:
        opened = Opened(function, primals, {}, range(len(primals)), _top)
        given = matching(tangents, opened, "tangents")
        nodes, tree, leaves = collect(opened.result)
        pairs = dict(zip(opened.inputs, given, strict=True))
        pushed = push_forward(nodes, pairs)
        slopes = [zeros_like(n) if t is None else t for n, t in zip(nodes, pushed, strict=True)]
        closed = opened.close([*nodes, *slopes])
        count = len(nodes)

        def packed(values: Sequence[Any]) -> Any:
            return tree.unflatten(None if isinstance(x, tuple) else values[x] for x in leaves)

        return packed(closed[:count]), packed(closed[count:])

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

        def packed(values: Sequence[Any]) -> Any:
            return tree.unflatten(None if isinstance(x, tuple) else values[x] for x in leaves)

        return packed(rows[0]), [packed(row) for row in rows[1:]]

    return body


def series_solution(
    slope: Callable[..., Any], t: Any, y: Any, h: Any, order: int
) -> tuple[list[Any], bool]:
    """Return the series of the solution of ``dy/dt = slope(t, y)`` from ``t``, ``y``.

    Returns
    -------
    terms:
        Those of ``y(t + x*h) = y + terms[0]*x + terms[1]*x**2 + ...``, each of the state's shape:
        scaled by the step, they do not overflow where the unit of time is far from the solution's.
    smooth:
        Whether nothing in the slope is piecewise.
    """
    opened = Opened(slope, (t, y), {}, (0, 1), False, loops=False)
    nodes, _, _ = collect(opened.result)
    _, *states = opened.inputs
    carried = Series(nodes, opened.inputs, order - 1)
    step = require_traced(h, "the step")
    found: list[Node] = []
    slopes: Sequence[Node | None] = nodes
    for k in range(1, order + 1):
        by = np.divide(step, float(k))
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


def matching(tangents: Any, opened: Opened, what: str) -> list[Node]:
    """Return the tangents of the opened inputs, which must have their shapes."""
    flat = fitting(tuple(tangents), opened.widths, what)
    if flat is None:
        raise ArgumentError(
            f"{what} must have the structure of the primals: {len(opened.widths)} arrays "
            f"are needed, {len(values_of(tuple(tangents)))} were given"
        )
    return [fit(t, x, what) for t, x in zip(flat, opened.inputs, strict=True)]


def values_of(value: Any) -> list[tuple[Any, ...]]:
    """Return the leaves of a nested value, with the two of a complex one together."""
    leaves, tree = flatten_traced(value)
    rest = iter(leaves)
    found = [tuple(next(rest) for _ in range(width)) for width in tree.units]
    return [value for value in found if value[0] is not None]


def fitting(value: Any, widths: Sequence[int], what: str) -> list[Any] | None:
    """Return the leaves of tangents or cotangents, of which some are complex (width 2).

    A real value serves where a complex one is needed, but not the other way round. None if
    there are more or fewer than needed.
    """
    given = values_of(value)
    if len(given) != len(widths):
        return None
    flat: list[Any] = []
    for parts, width in zip(given, widths, strict=True):
        if len(parts) > width:
            raise ArgumentError(f"{what} of a real value must be real, not complex")
        flat += parts
        if len(parts) < width:
            flat.append(Traced(zeros_like(require_traced(parts[0], what).node)))
    return flat


def fit(value: Any, like: Node, what: str) -> Node:
    """Return ``value`` as a node of the type and shape of ``like``."""
    node = as_node(require_traced(value, what), like.dtype)
    if node.shape == like.shape:
        return node
    if node.ndim == like.ndim and all(map(same, node.shape, like.shape)):
        return as_node(np.reshape(Traced(node), Traced(like).shape))
    raise ShapeError(
        f"{what} must have the shapes of the values they belong to: "
        f"{show(node.shape)} was given for {show(like.shape)}"
    )


def vjp_body(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``(primals, cotangents) -> tuple of cotangents`` on traced values."""

    def body(primals: Any, cotangents: Any, _top: bool = False) -> Any:
        opened = Opened(function, primals, {}, range(len(primals)), _top)
        nodes, tree, leaves = collect(opened.result)
        widths = widths_of(tree, leaves)
        flat = fitting(cotangents, widths, "the cotangent")
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
        slopes = [
            zeros_like(x) if g is None else g for g, x in zip(found, opened.inputs, strict=True)
        ]
        return opened.pack(opened.close(slopes), single=False)

    return body
