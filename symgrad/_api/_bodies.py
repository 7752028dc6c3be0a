"""The transformations as functions on traced values: graph in, graph out.

Each body traces the user's function on fresh inputs, runs a pass, and puts the caller's
values in the place of the fresh inputs. The fresh inputs keep nested transformations apart:
what the function closes over is constant for this derivative, even if it is the same value
as the argument. A body's ``top`` variant skips them where the arguments are inputs of the
outermost trace, which nothing can close over.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._control import refuse_leaks
from .._forward import push_forward
from .._graph import Input, Literal, Node
from .._reverse import pull_back
from .._shapes import same, show
from .._trace import (
    Traced,
    Tree,
    as_node,
    close_conditions,
    collect,
    flatten,
    fresh,
    is_value,
    require_traced,
    substitute,
)
from ..errors import ArgumentError, ShapeError


def positions_of(argnums: Any) -> tuple[tuple[int, ...], bool]:
    """Return ``argnums`` as a tuple of positions, and whether it was a single one."""
    try:
        single = not isinstance(argnums, (tuple, list))
        return tuple(map(operator.index, (argnums,) if single else argnums)), single
    except TypeError:
        raise ArgumentError(
            "argnums is the position of an argument, counted from 0, or a tuple of positions, "
            f"not {argnums!r}"
        ) from None


def real_leaves(value: Any, what: str) -> tuple[list[Any], Tree, list[int]]:
    """Flatten an argument to differentiate by; return leaves, tree, positions of the reals."""
    leaves, tree = flatten(value)
    positions = []
    for k, leaf in enumerate(leaves):
        number = isinstance(leaf, Traced) or is_value(leaf)
        if not number and (tree.kind != "leaf" or leaf is None or isinstance(leaf, str)):
            continue  # baked in among the values: a name, a flag, a callable
        traced = require_traced(leaf, what)
        if traced.dtype.kind != "f":
            raise ArgumentError(
                f"cannot differentiate with respect to {what} of type {traced.dtype}: "
                "derivatives are by real numbers; pass 3.0 or x.astype(float)"
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
    argnums:
        Positions of the arguments to differentiate by.
    top:
        Whether the arguments are inputs of the outermost trace, and can serve themselves.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        argnums: Sequence[int],
        top: bool,
    ) -> None:
        new = list(args)
        self.given: list[Node] = []
        self.inputs: list[Node] = []
        self.trees: list[tuple[Tree, list[Any], list[int]]] = []
        for number in argnums:
            if not -len(args) <= number < len(args):
                raise ArgumentError(
                    f"argnums={number}, but the function was called with {len(args)} "
                    "positional arguments"
                )
            leaves, tree, positions = real_leaves(args[number], f"argument {number}")
            self.trees.append((tree, list(leaves), positions))
            for k in positions:
                node = leaves[k].node
                name = node.name if isinstance(node, Input) else "x"
                stand_in = node if top and isinstance(node, Input) else fresh(node, name)
                self.given.append(node)
                self.inputs.append(stand_in)
                leaves[k] = Traced(stand_in, leaves[k].weak)
            new[number] = tree.unflatten(leaves)
        self.result = function(*new, **kwargs)

    def close(self, nodes: Sequence[Node]) -> list[Traced]:
        """Put the caller's values in the place of the fresh inputs."""
        refuse_leaks(nodes)
        swap = {i: g for i, g in zip(self.inputs, self.given, strict=True) if i is not g}
        if swap:
            close_conditions(swap)
        return [Traced(n) for n in (substitute(nodes, swap) if swap else nodes)]

    def pack(self, values: Sequence[Any], single: bool) -> Any:
        """Give derivative leaves the structure of the arguments."""
        rest = iter(values)
        packed = []
        for tree, leaves, positions in self.trees:
            flat = [next(rest) if k in positions else None for k in range(len(leaves))]
            packed.append(tree.unflatten(flat))
        return packed[0] if single else tuple(packed)


def scalar_of(result: Any, name: str) -> Node:
    """Return the node of a function's one real number, or raise naming its shape."""
    leaves, tree = flatten(result)
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
    return node


def zeros_like(node: Node) -> Node:
    """Return zeros of the shape and type of ``node``."""
    zero = Literal(0, node.dtype)
    return zero if not node.shape else as_node(np.broadcast_to(Traced(zero), Traced(node).shape))


def grad_body(
    function: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool, with_value: bool,
    name: str,
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
        value = scalar_of(result, name)
        found = pull_back([value], [Literal(1, value.dtype)], opened.inputs)
        slopes = [
            zeros_like(x) if g is None else g for g, x in zip(found, opened.inputs, strict=True)
        ]
        extra, tree, leaves = collect(aux)
        closed = opened.close([value, *slopes, *extra])
        gradient = opened.pack(closed[1 : 1 + len(slopes)], single)
        rest = closed[1 + len(slopes) :]
        packed = tree.unflatten(x[0] if isinstance(x, tuple) else rest[x] for x in leaves)
        if with_value:
            return ((closed[0], packed), gradient) if has_aux else (closed[0], gradient)
        return (gradient, packed) if has_aux else gradient

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


def matching(tangents: Any, opened: Opened, what: str) -> list[Node]:
    """Return the tangents of the opened inputs, which must have their shapes."""
    flat = [leaf for leaf in flatten(tuple(tangents))[0] if leaf is not None]
    if len(flat) != len(opened.inputs):
        raise ArgumentError(
            f"{what} must have the structure of the primals: {len(opened.inputs)} arrays "
            f"are needed, {len(flat)} were given"
        )
    return [fit(t, x, what) for t, x in zip(flat, opened.inputs, strict=True)]


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
        nodes, tree, _ = collect(opened.result)
        flat, given_tree = flatten(cotangents)
        flat = [leaf for leaf in flat if leaf is not None]
        if len(flat) != len(nodes):
            raise ArgumentError(
                "the cotangent must have the structure of the function's result: "
                f"{tree.kind} with {len(nodes)} arrays, not {given_tree.kind} with {len(flat)}"
            )
        cts = [fit(ct, n, "the cotangent") for ct, n in zip(flat, nodes, strict=True)]
        found = pull_back(nodes, cts, opened.inputs)
        slopes = [
            zeros_like(x) if g is None else g for g, x in zip(found, opened.inputs, strict=True)
        ]
        return opened.pack(opened.close(slopes), single=False)

    return body
