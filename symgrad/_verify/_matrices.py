"""Routines as scalars: what LAPACK computes, its derivatives and what rounding may do.

The record says how a matrix of the result is computed in multiple precision. Derivatives are
central differences of that, at thrice the digits: a step of 10**-d leaves an error of the order
10**-2d, so all digits asked for are right, and no rule of calculus, symgrad's or another, plays
a part.

Errors are *normwise*. A backward stable routine gives the exact result for a matrix that is
off by some units of rounding of its norm, as many as it has rows (N. J. Higham, Accuracy and
Stability of Numerical Algorithms, 2nd ed., SIAM 2002, chapters 9, 10, 19). So an element of the
result may be off by its derivative's norm times that: the condition number of the problem. How
fast a derivative changes, which bounds its own error, is measured in a few random directions.

Computed orthonormal vectors are orthonormal up to some units of rounding *of their length* (there,
19.3): an element that happens to be small is as far off as a large one, and so is its derivative,
which is a combination of these vectors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .._core.graph import Node
from .._core.op import Evidence, Exact, Words
from .._core.ops.multiple_precision import FAILURES
from ..errors import UnsupportedError
from ._numbers import Digits, finite
from ._scalars import DOUBT, Scalar, Slope

#: Matrices of more elements take too long.
ELEMENTS = 144
#: Random directions in which the change of a derivative is measured, and how far they go.
DIRECTIONS, STEP = 3, -20

#: Matrices whose halves agree to so many bits count as symmetric.
SYMMETRIC = 18


class Matrix:
    """One matrix of a routine's batch, with its elements, computed when they are asked for.

    Parameters
    ----------
    context:
        The mpmath context of the exact values.
    node, batch:
        The routine, and which of its matrices.
    known:
        The scalars of all operand elements that it reads, by operand and place.
    """

    def __init__(
        self, context: Digits, node: Node, batch: tuple[int, ...],
        known: Mapping[tuple[int, tuple[int, ...]], Scalar],
    ) -> None:  # fmt: skip
        self.context, self.node, self.exact = context, node, exact_of(node)
        self.fine = Digits(3 * context.dps + 20)
        self.keys = list(known)
        self.parts = [known[k] for k in self.keys]
        self.shapes = [core_shape(x, batch) for x in node.operands]
        self.size = max(self.shapes[0])
        self._look_symmetric(known)
        self.like = self._numpy(known)
        self.values = self._at({})
        self._slopes: dict[int, list[Any] | None] = {}
        self._sizes: dict[range, Any] = {}
        self._changes: dict[tuple[int, int], list[Any] | None] = {}
        self.norm = {
            k: context.sqrt(sum((p.value**2 for (o, _), p in self._of(k)), context.zero))
            for k in {o for o, _ in self.keys}
        }

    def _of(self, operand: int) -> list[tuple[tuple[int, tuple[int, ...]], Scalar]]:
        return [(k, p) for k, p in zip(self.keys, self.parts, strict=True) if k[0] == operand]

    def _look_symmetric(self, known: Mapping[tuple[int, tuple[int, ...]], Scalar]) -> None:
        if not self.exact.symmetric:
            return
        for (_, (i, j, *part)), scalar in known.items():
            other = known[0, (j, i, *part)]
            sign = -1 if part == [1] else 1  # of an imaginary part
            gap = abs(scalar.value - sign * other.value)
            size = abs(scalar.value) + abs(other.value)
            if gap > self.context.ldexp(size, -SYMMETRIC) + scalar.error + other.error:
                raise UnsupportedError(
                    f"{Words.of(self.node.op).doc}: the matrix is not symmetric, and derivatives "
                    "are those by symmetric ones; verify f with 0.5*(a + a.T) in the place of a"
                )

    def _numpy(self, known: Mapping[tuple[int, tuple[int, ...]], Scalar]) -> Sequence[Any]:
        """Return NumPy's result, for what the definition leaves open."""
        node = self.node
        arrays: list[Any] = []
        for k, shape in enumerate(self.shapes):
            array = np.zeros(shape, node.operands[k].dtype)
            for (operand, place), scalar in known.items():
                if operand == k:
                    array[place] = float(scalar.value)
            arrays.append(array)
        if len({o for o, _ in self.keys}) < len(arrays):
            return ()  # operands that nobody reads: nothing is left open there
        with np.errstate(all="ignore"):
            return list(np.ravel(node.op.evaluate(*arrays, **node.params)))

    def _at(self, moved: Mapping[int, Any]) -> list[Any] | None:
        """Return the result with some parts moved; None where the problem has none."""
        fine = self.fine

        def read(operand: int) -> Any:
            values = np.empty(self.shapes[operand], object)
            for n, (o, place) in enumerate(self.keys):
                if o == operand:
                    values[place] = fine.mpf(self.parts[n].value) + moved.get(n, 0)
            return values.tolist()

        if not all(finite(p.value) for p in self.parts):
            return None
        try:
            return list(self.exact.compute(fine, read, self.like, **self.node.params))
        except FAILURES:
            return None

    # ---------------------------------------------------------------- derivatives

    def slope(self, part: int, element: int) -> Any:
        """Return the derivative of an element of the result by one part; nan if it has none."""
        if part not in self._slopes:
            self._slopes[part] = self._difference({}, part)
        return self._picked(self._slopes[part], element)

    def change(self, part: int, direction: int, element: int) -> Any:
        """Return how a derivative changes in a random direction, all parts by about 1."""
        key = (part, direction)
        if key not in self._changes:
            rng = np.random.default_rng(direction)
            signs = rng.choice([-1, 1], len(self.parts))
            step = self.fine.mpf(10) ** STEP
            moved = {n: step * int(s) for n, s in enumerate(signs)}
            there, here = self._difference(moved, part), self._difference({}, part)
            self._changes[key] = None
            if there is not None and here is not None:
                self._changes[key] = [
                    None if a is None or b is None else (a - b) / step
                    for a, b in zip(there, here, strict=True)
                ]
        return self._picked(self._changes[key], element)

    def fellows(self, element: int) -> range:
        """Return the elements of the orthonormal vectors with an element in them, or it alone."""
        vectors = self.exact.vectors
        ranges = vectors(self.shapes[0], **self.node.params) if vectors else ()
        return next((r for r in ranges if element in r), range(element, element + 1))

    def size_of(self, element: int) -> Any:
        """Return the norm of the derivatives of an element by all parts, largest of its like."""
        fellows = self.fellows(element)
        if fellows not in self._sizes:
            parts = range(len(self.parts))
            self._sizes[fellows] = max(self._norm(self.slope(n, e) for n in parts) for e in fellows)
        return self._sizes[fellows]

    def _norm(self, values: Iterable[Any]) -> Any:
        return self.context.sqrt(sum((v * v for v in values if finite(v)), self.context.zero))

    def _difference(self, moved: Mapping[int, Any], part: int) -> list[Any] | None:
        fine = self.fine
        scale = max(fine.one, abs(fine.mpf(self.parts[part].value)))
        step = scale * fine.mpf(10) ** -self.context.dps
        sides = [
            self._at({**moved, part: moved.get(part, 0) + sign * step}) for sign in (1, -1)
        ]  # fmt: skip
        if sides[0] is None or sides[1] is None:
            return None
        return [
            None if a is None or b is None else (a - b) / (2 * step)
            for a, b in zip(*sides, strict=True)
        ]

    def _picked(self, found: list[Any] | None, element: int) -> Any:
        if found is None or found[element] is None:
            return self.context.nan
        return self.context.mpf(found[element])


class Element(Scalar):
    """One element of a matrix that a routine has computed."""

    __slots__ = ("element", "matrix")

    def __init__(self, context: Any, matrix: Matrix, element: int, dtype: np.dtype[Any]) -> None:
        values = matrix.values
        if values is not None and values[element] is None:
            raise UnsupportedError(
                f"an element of {Words.of(matrix.node.op).doc} is not determined: two values are "
                "equal, or one is 0, so any turned vectors would do as well"
            )
        super().__init__(
            context, context.nan if values is None else context.mpf(values[element]), dtype,
            matrix.parts,
        )  # fmt: skip
        self.matrix, self.element = matrix, element
        norms = dict.fromkeys(matrix.norm, context.zero)
        passed_on = context.zero
        for n, ((operand, _), part) in enumerate(zip(matrix.keys, matrix.parts, strict=True)):
            p = matrix.slope(n, element)
            if finite(p):
                norms[operand] += p * p
                passed_on += abs(p) * part.error
        own = abs(self.value) if len(matrix.fellows(element)) == 1 else context.one
        scale = sum((context.sqrt(norms[k]) * matrix.norm[k] for k in norms), own)
        self._round(context, passed_on, float(matrix.size), scale)

    def slopes(self, context: Any) -> list[Slope | None]:
        """Return central differences, with normwise bounds."""
        parts = range(len(self.parts))
        values = [self.matrix.slope(n, self.element) for n in parts]
        size = self.matrix.size_of(self.element)
        unit, tiny = context.rounding(self.dtype)
        unit = self.matrix.size * unit
        tiny_slope = size * context.ldexp(1, -context.prec)
        found: list[Slope | None] = []
        for n, p in enumerate(values):
            if not self.parts[n].active:
                found.append(None)
                continue
            error = unit * (abs(p) + size) + tiny + self._wobble(context, n, unit)
            found.append((context.zero if abs(p) <= tiny_slope else p, error, False))
        return found

    def _wobble(self, context: Any, part: int, unit: Any) -> Any:
        """Return what rounding the operands does to a derivative."""
        squares = context.zero
        for direction in range(DIRECTIONS):
            change = self.matrix.change(part, direction, self.element)
            if finite(change):
                squares += change * change
        gradient = context.sqrt(squares / DIRECTIONS)
        error = context.sqrt(sum((p.error**2 for p in self.parts), context.zero))
        return gradient * (unit * sum(self.matrix.norm.values(), context.zero) + error)


class Position(Scalar):
    """One position of a vector's order."""

    __slots__ = ()

    def __init__(self, context: Any, matrix: Matrix, element: int, dtype: np.dtype[Any]) -> None:
        order = matrix.values
        assert order is not None
        super().__init__(context, int(order[element]), dtype, matrix.parts)
        self.active = False
        ranked = [matrix.parts[int(k)] for k in order]
        for x, y in pairwise(ranked):
            slack = DOUBT * (x.error + y.error)
            self.doubtful |= bool(slack and y.value - x.value <= slack)


def exact_of(node: Node) -> Exact:
    """Return how a routine's record computes a matrix of its result in multiple precision."""
    exact = Evidence.of(node.op).exact
    assert exact is not None
    return exact


def core_shape(operand: Node, batch: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of what belongs to one call."""
    return tuple(map(int, operand.shape[len(batch) :]))


def reads(node: Node, batch: tuple[int, ...]) -> list[tuple[int, tuple[int, ...]]]:
    """Return the operand elements that a matrix of the result is computed from.

    Raises
    ------
    UnsupportedError
        If the matrix is large.
    """
    shapes = {k: core_shape(node.operands[k], batch) for k in exact_of(node).reads}
    if max(map(math.prod, shapes.values())) > ELEMENTS:
        raise UnsupportedError(
            f"{Words.of(node.op).doc}: matrices of more than {ELEMENTS} elements take too long to "
            "compute exactly; verify with smaller ones (one compiled kernel serves all sizes)"
        )
    return [(k, place) for k, shape in shapes.items() for place in np.ndindex(*shape)]
