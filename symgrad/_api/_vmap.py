"""vmap: a function of one example as a function of a batch."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from .._core.base.broadcast import show
from .._core.base.sizes import Dimension, as_size, same
from .._core.base.state import now, repeating, within
from .._core.control import batch_examples
from .._core.graph import Input, Node
from .._core.trace import (
    Traced,
    Tree,
    argument_name,
    as_node,
    collect,
    flatten,
    flatten_traced,
    require_traced,
)
from .._syntax._decisions import with_branches
from ..errors import ArgumentError, ShapeError, SymgradError
from ._opening import widths_of

Axes = Any  # an int, None, or a tuple of them, one for each argument


def vmap_body(
    function: Callable[..., Any], in_axes: Axes, out_axes: Axes, batches: list[Any] | None = None
) -> Callable[..., Any]:
    """Return the batched ``function`` as a function on traced values.

    ``batches``, where it is given, gets the size of the batch, and what replaces an example.
    """

    def body(*args: Any, _top: bool = False, **kwargs: Any) -> Any:
        axes = _spread(in_axes, len(args), "in_axes", "arguments")
        batch = _Batch()
        new = []
        for number, (arg, axis) in enumerate(zip(args, axes, strict=True)):
            leaves, tree = flatten_traced(arg)
            if axis is None:
                new.append(arg)
                continue
            paths = tree.paths(f"argument {argument_name(function, number)}")
            new.append(tree.unflatten([
                leaf if leaf is None or isinstance(leaf, str) else batch.example(leaf, axis, path)
                for leaf, path in zip(leaves, paths, strict=True)
            ]))  # fmt: skip
        size, replaced = batch.size, batch.replaced
        if size is None:
            raise ArgumentError("vmap needs at least one argument with a batch axis")
        if batches is not None:
            batches.append((size, replaced))
        draws = now().draws
        members = nullcontext() if draws is None else draws.repeated(size, batch.member)
        with repeating(), within(batches=(*now().batches, (replaced, size))), members:
            nodes, tree, leaves = _traced(function, new, kwargs)
        widths = widths_of(tree, leaves)
        axes = _spread(out_axes, len(widths), "out_axes", "results")
        outs = [axis for axis, width in zip(axes, widths, strict=True) for _ in range(width)]
        found = zip(batch_examples(nodes, replaced, size), outs, strict=True)
        results = [_with_axis(node, lifted, axis, size) for (node, lifted), axis in found]
        return tree.unflatten(x[0] if isinstance(x, tuple) else results[x] for x in leaves)

    return body


class _Batch:
    """How many examples there are, and which nodes are in the place of one of them."""

    def __init__(self) -> None:
        self.size: Dimension | None = None
        self.replaced: dict[Node, Node] = {}

    def example(self, leaf: Any, axis: int, path: str) -> Traced:
        """Return one example of an array with the batch along an axis."""
        x = require_traced(leaf, path)
        if not -x.ndim <= axis < x.ndim:
            raise ShapeError(
                f"vmap over axis {axis} of {path}, which has shape "
                f"{show(x.node.shape)}; use in_axes=None for what is not batched"
            )
        moved = as_node(np.moveaxis(x, axis, 0))
        if self.size is not None and not same(self.size, moved.shape[0]):
            raise ShapeError(
                f"vmap over axes of different lengths: {show((self.size,))[1:-2]} and "
                f"{show(moved.shape[:1])[1:-2]} ({path})"
            )
        self.size = moved.shape[0]
        return Traced(self.member(moved))

    def member(self, whole: Node) -> Input:
        """Return what stands for one example of an array with the batch as its first axis."""
        one = Input(getattr(whole, "name", "x"), whole.shape[1:], whole.dtype)
        self.replaced[one] = whole
        return one


def _with_axis(node: Node, lifted: bool, axis: int | None, size: Dimension) -> Any:
    """Return a result with the batch along an axis; ``lifted``: it has it as its first."""
    value: Any = Traced(node)
    if lifted and axis is None:
        raise ArgumentError(
            "out_axes=None is for results that are the same for all examples; this "
            f"one, of shape {show(node.shape)}, has a batch axis: say where to put it"
        )
    if not lifted and axis is not None:
        value = np.broadcast_to(value, (as_size(size), *value.shape))
    return value if axis in (0, None) else np.moveaxis(value, 0, axis)


def _traced(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Node], Tree, list[Any]]:
    """Return the nodes of an example's results."""
    try:
        return collect(with_branches(function)(*args, **kwargs))
    except SymgradError as error:
        error.of_batch = True
        raise


def one_by_one(
    function: Callable[..., Any], in_axes: Axes, out_axes: Axes, error: SymgradError
) -> Callable[..., Any]:
    """Return the batched ``function`` as a loop over the examples, each by its own decisions.

    It is for what cannot be traced for all examples at once, as ``error`` says, which is raised
    if an example cannot be traced by itself either.
    """

    def batched(*args: Any, **kwargs: Any) -> Any:
        axes = _spread(in_axes, len(args), "in_axes", "arguments")
        trees, columns = [], []
        for arg, axis in zip(args, axes, strict=True):
            leaves, tree = flatten(arg)
            trees.append(tree)
            columns.append([
                x if axis is None or x is None or isinstance(x, str)
                else np.moveaxis(np.asarray(x), axis, 0)
                for x in leaves
            ])  # fmt: skip
        [size, *_] = [len(x) for column, axis in zip(columns, axes, strict=True) if axis is not None
                      for x in column if isinstance(x, np.ndarray)]  # fmt: skip
        if not size:
            raise error
        rows = []
        for k in range(size):
            example = [
                tree.unflatten(x[k] if axis is not None and isinstance(x, np.ndarray) else x
                               for x in column)
                for tree, column, axis in zip(trees, columns, axes, strict=True)
            ]  # fmt: skip
            try:
                rows.append(flatten(function(*example, **kwargs)))
            except SymgradError:
                raise error from None
        first, tree = rows[0]
        shapes = [np.shape(x) for x in first]
        if any(t != tree or [np.shape(x) for x in row] != shapes for row, t in rows):
            raise error  # results of several shapes are no array
        outs = _spread(out_axes, len(first), "out_axes", "results")
        return tree.unflatten(
            x if x is None or isinstance(x, str)
            else np.stack([row[k] for row, _ in rows], axis or 0)
            for k, (x, axis) in enumerate(zip(first, outs, strict=True))
        )  # fmt: skip

    return batched


def _spread(axes: Axes, count: int, name: str, what: str) -> Sequence[int | None]:
    """Return one axis for each argument or result."""
    several = isinstance(axes, (tuple, list))
    given = list(axes) if several else [axes] * count
    try:
        found = [None if axis is None else operator.index(axis) for axis in given]
    except TypeError:
        raise ArgumentError(
            f"{name} is an axis, None, or a tuple of them, one for each of the {what}, which "
            f"arrays in a container share, not {axes!r}"
        ) from None
    if len(found) != count:
        raise ArgumentError(f"{name} has {len(found)} axes for {count} {what}: {axes}")
    return found
