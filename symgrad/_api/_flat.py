"""Nested structures of arrays as vectors, and bounds for what is in them."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .._core.base.argument_checks import shown
from .._core.trace import Tree, aligned, flatten
from ..errors import ArgumentError, DTypeError, ShapeError


class Flat:
    """A nested structure of arrays as one vector.

    Attributes
    ----------
    what:
        What errors call it.
    size:
        How many numbers there are.
    parts:
        The slice of each array.
    """

    def __init__(self, value: Any, what: str) -> None:
        self.what = what
        leaves, self.tree = flatten(value)
        arrays = []
        self.names = list(self.tree.paths(what))
        for leaf, name in zip(leaves, self.names, strict=True):
            try:
                array = np.asarray(leaf)
            except ValueError:
                raise ArgumentError(f"{name} is a ragged list: {shown(leaf)}") from None
            if array.dtype.kind not in "fiu":
                raise DTypeError(f"{name} is to be real numbers, not {array.dtype}")
            arrays.append(array.astype(float))
        self.shapes = [a.shape for a in arrays]
        ends = np.cumsum([0, *(a.size for a in arrays)]).tolist()
        self.parts = [slice(a, b) for a, b in itertools.pairwise(ends)]
        self.size: int = ends[-1]
        self.vector = self._joined(arrays)

    @staticmethod
    def _joined(arrays: Sequence[Any]) -> Any:
        return np.concatenate([np.zeros(0), *(np.ravel(a) for a in arrays)])

    def arrays(self, vector: Any) -> list[Any]:
        """Return the arrays that a vector consists of, as views of it.

        Raises
        ------
        ShapeError
            If it is not as long as they are together.
        """
        if vector.shape != (self.size,):
            raise ShapeError(
                f"the vector of {self.what} has shape ({self.size},), not {vector.shape}"
            )
        return [
            vector[part].reshape(shape) for part, shape in zip(self.parts, self.shapes, strict=True)
        ]

    def nested(self, vector: Any) -> Any:
        """Return a vector as the structure; arrays are views of it."""
        return self.tree.unflatten(self.arrays(vector))

    def flat(self, value: Any, what: str) -> Any:
        """Return a structure as a vector.

        Raises
        ------
        ShapeError
            If it is another structure, or its arrays have other shapes.
        """
        leaves, tree = flatten(aligned(value, self.tree, what))
        leaves = [as_vector(leaf, what) for leaf in leaves]
        shapes = [np.shape(leaf) for leaf in leaves]
        if tree.leaves != self.tree.leaves or shapes != self.shapes:
            raise ShapeError(f"{what} has arrays of shapes {shapes}, not {self.shapes}")
        return self._joined(leaves)

    def spread(self, value: Any, default: float, what: str) -> Any:
        """Return a bound for each number, of one for all or of a structure of them."""
        whole = np.full(self.size, default)
        parts = iter(zip(self.parts, self.shapes, self.names, strict=True))
        _spread(self.tree, value, parts, whole, what)
        return whole


def as_vector(value: Any, what: str) -> Any:
    """Return a vector of real numbers as an array of floats."""
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} is a vector of real numbers, not {shown(value)}") from None


def _spread(tree: Tree, value: Any, parts: Iterator[Any], whole: Any, what: str) -> None:
    """Write bounds into ``whole``; None and nan leave what is there."""
    if tree.kind == "leaf" or value is None or isinstance(value, (int, float, np.number)):
        for part, shape, name in itertools.islice(parts, tree.leaves):
            try:
                bound = np.array(value, float)  # None becomes nan
                spread = np.broadcast_to(bound, shape).ravel()
            except (TypeError, ValueError):
                raise ShapeError(
                    f"the {what} bound of {name} is to be numbers of shape {shape}, not "
                    f"{shown(value)}"
                ) from None
            whole[part] = np.where(np.isnan(spread), whole[part], spread)
        return
    if isinstance(value, Mapping) and tree.kind == "dict":
        keys = tree.meta[-1]
        if unknown := [k for k in value if k not in keys]:
            raise ArgumentError(f"the {what} bounds name {unknown}, of {list(keys)}")
        inner = [value.get(k) for k in keys]
    elif dataclasses.is_dataclass(value) and tree.kind == "dataclass":
        inner = [getattr(value, name) for name in tree.meta[-1]]
    elif isinstance(value, (list, tuple)) and len(value) == len(tree.children):
        inner = list(value)
    else:
        raise ArgumentError(f"the {what} bounds are numbers, or as nested as what they bound")
    for child, each in zip(tree.children, inner, strict=True):
        _spread(child, each, parts, whole, what)


def limits_of(what: Flat, given: Any, default: tuple[float, float], name: str) -> tuple[Any, Any]:
    """Return lower and upper bounds as vectors.

    Raises
    ------
    ArgumentError
        If they cross, or if they may be SciPy's pairs, one for each variable.
    """
    if given is None:
        given = default
    solvers = sys.modules.get("scipy.optimize")  # whoever has its Bounds has imported it
    if solvers is not None and isinstance(given, solvers.Bounds):
        given = given.lb, given.ub
    if not (isinstance(given, (tuple, list)) and len(given) == 2):
        raise ArgumentError(f"nlp: {name} is a pair, (lower, upper), not {shown(given)}")
    lower = what.spread(given[0], -np.inf, "lower")
    upper = what.spread(given[1], np.inf, "upper")
    if what.size == 2 and all(isinstance(x, (tuple, list)) and len(x) == 2 for x in given):
        pairs = np.array(list(zip(*given, strict=True)), float)
        first, last = np.where(np.isnan(pairs), np.array([[-np.inf], [np.inf]]), pairs)
        other = np.any(first != lower) or np.any(last != upper)
        if other and np.all(first <= last) and np.any(first < last):
            raise ArgumentError(
                f"nlp: {name}={given!r:.60} may be (lower, upper), or a pair for each of the two "
                "variables, as SciPy's solvers take it. Write instead: scipy.optimize.Bounds("
                "lower, upper), or arrays, (np.array(lower), np.array(upper))"
            )
    wrong = np.flatnonzero(lower > upper)
    if len(wrong):
        k = int(wrong[0])
        part = next(j for j, p in enumerate(what.parts) if p.start <= k < p.stop)
        place = np.unravel_index(k - what.parts[part].start, what.shapes[part] or (1,))
        text = f"[{', '.join(map(str, place))}]" if what.shapes[part] else ""
        raise ArgumentError(
            f"nlp: {name} cross at {what.names[part]}{text}: lower {lower[k]}, upper {upper[k]}"
            + (f", and at {len(wrong) - 1} more" if len(wrong) > 1 else "")
        )
    return lower, upper
