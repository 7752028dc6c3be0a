"""A function opened for differentiation: its graph at fresh inputs, and its arguments as values.

It is refused what searches by halving, in Python or by ``np.where``. Bisection and golden sections
go on with one of two numbers each time. The decisions depend on the arguments, the numbers do not:
the derivative of the steps that were taken is not that of the place on which they close in. Such
decisions are closer and closer: a relative change of the arguments by ``2**-k`` turns the k-th of
them, so their margins spread evenly over the decades, where those of decisions on data gather at
the widest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._core.base.broadcast import show
from .._core.base.sizes import same
from .._core.base.state import now
from .._core.control import INSTEAD, refuse_leaks, rerolled, with_one_body
from .._core.graph import Input, Literal, Node, topological, warn_user
from .._core.op import registry
from .._core.trace import (
    Examples,
    Traced,
    Tree,
    aligned,
    argument_name,
    arrived,
    as_node,
    cast,
    close_conditions,
    flatten_traced,
    fresh,
    is_value,
    require_traced,
    substitute,
    warn_if_changed,
    with_conditions,
    zeros_like,
)
from ..errors import ArgumentError, PathsWarning, ShapeError
from ._argnums import Key, as_floats, places_of
from ._degeneracy import warn_of_ties
from ._equalities import continued

#: About so many steps has a program with its gradient for each of its own.
GRADIENT = 3


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
        checked: list[Any] = []
        for place in places:
            home: Any = named if isinstance(place, str) else new
            key = place + len(args) if isinstance(place, int) and place < 0 else place
            name_of_argument = f"argument {argument_name(function, key)}"
            leaves, tree, positions = real_leaves(home[place], name_of_argument)
            self.trees.append((tree, list(leaves), positions))
            for k in positions:
                node = leaves[k].node
                name = node.name if isinstance(node, Input) else "x"
                stand_in = node if top and isinstance(node, Input) else fresh(node, name)
                self.given.append(node)
                self.inputs.append(stand_in)
                leaves[k] = Traced(stand_in, leaves[k].weak)
            home[place] = tree.unflatten(leaves)
            if tree.kind != "leaf":
                checked.append((home[place], leaves, tree, name_of_argument))
        if (opened := now().opened) is not None:
            opened.append(dict(zip(self.inputs, self.given, strict=True)))
        followed = now().followed
        call = followed.outermost(function) if followed else function
        traced: Callable[[], Any] = partial(call, *new, **named)
        draws = now().draws
        again = traced if draws is None else draws.drawing_again(traced)
        result = continued(again, traced(), self.inputs)
        for given in checked:
            warn_if_changed(result, *given)
        values = [x for x in flatten_traced(result)[0] if isinstance(x, Traced)]
        warn_of_searches([x.node for x in values], self.inputs)
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
            nodes = substitute(nodes, swap)
        warn_of_ties(nodes)
        return [Traced(n) for n in nodes]

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
    found = with_conditions(lambda x: with_one_body(rerolled(x, to_come=GRADIENT)), nodes)
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


def or_float_zero(node: Node, dtype: Any = np.float64) -> Node:
    """Return a result; 0.0 for Python's 0, which a function may return on one of its ways."""
    if isinstance(node, Literal) and node.dtype.kind == "i" and node.value == 0:
        return cast(node, np.dtype(dtype))
    return node


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


def filled(found: Iterable[Node | None], like: Iterable[Node]) -> list[Node]:
    """Return derivatives, zeros where there are none, of the shapes and types of ``like``."""
    return [zeros_like(x) if d is None else d for d, x in zip(found, like, strict=True)]


def matching(tangents: Any, opened: Opened, what: str) -> list[Node]:
    """Return the tangents of the opened inputs, which must have their shapes."""
    tree = Tree("tuple", None, tuple(tree for tree, _, _ in opened.trees))
    flat = fitting(tuple(tangents), tree, opened.widths, what)
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


def fitting(value: Any, tree: Tree, widths: Sequence[int], what: str) -> list[Any] | None:
    """Return the leaves of tangents or cotangents, of which some are complex (width 2).

    ``tree`` is the structure of what they belong to. A real value serves where a complex one is
    needed, but not the other way round. None if there are more or fewer than needed.
    """
    given = values_of(aligned(value, tree, what))
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


#: Fewer decisions on one line are none: the place would have five digits at most.
FEWEST = 16

#: By how much arguments are changed, relatively, to see by how much what is compared changes.
CHANGE = 1e-7

#: Margins of decisions that close in have so many decades below a ten-thousandth, and there are a
#: quarter as many of them as of the next two decades: of decisions on data it is a hundredth.
DECADES = 3

_ORDERED = ("Less", "LessEqual", "Greater", "GreaterEqual")


def warn_of_searches(results: Iterable[Node], inputs: Sequence[Input]) -> None:
    """Warn where decisions on one line close in on a place, whose derivative is not computed."""
    examples: Examples | None = now().examples
    if examples is None:
        return
    ordered = {registry.ops[name] for name in _ORDERED}
    lines: dict[Any, list[Node]] = defaultdict(list)
    decided = [condition for condition, settled in examples.conditions.items() if not settled]
    roots = [*results, *decided]
    reached = set(roots)
    for node in reversed(topological(roots)):
        if node not in reached or node.op.name == "StopGradient":  # a solver's own steps
            continue
        reached.update(node.operands)
        if node.op in ordered and node.operands[0].dtype.kind == "f" and node.where:
            lines[node.where].append(node)
    examples.settle()
    for where, nodes in lines.items():
        if len(nodes) >= FEWEST and _closes_in(nodes, examples, inputs):
            warn_user(
                f"{len(nodes)} decisions at {where} close in on a place: {INSTEAD}",
                PathsWarning,
            )


def _closes_in(nodes: Sequence[Node], examples: Examples, inputs: Sequence[Input]) -> bool:
    changed = examples.changed(inputs, CHANGE)
    margins = defaultdict(list)
    for node in nodes:
        before, after = (_apart(node, e) for e in (examples, changed))
        if before is not None and after is not None and before.shape == after.shape:
            with np.errstate(all="ignore"):
                margins[before.shape].append(CHANGE * np.abs(before / (after - before)))
    for found in margins.values():
        below = np.digitize(found, 10.0 ** np.arange(-16, 0))  # 0 of ties, 13 from 1e-4 on
        decades = sum(np.any(below == k, axis=0) for k in range(1, 13))
        closer = np.count_nonzero((below > 0) & (below < 13), axis=0)
        close = np.count_nonzero((below == 13) | (below == 14), axis=0)
        if np.any((decades >= DECADES) & (4 * closer >= close)):
            return True
    return False


def _apart(node: Node, examples: Examples) -> Any:
    """Return by how much what is compared differs, None if that is not known."""
    left, right = (examples.value(x) for x in node.operands)
    return None if left is None or right is None else np.asarray(left - right, float)
