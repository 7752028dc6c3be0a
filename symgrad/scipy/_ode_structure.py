"""The systems of linearly implicit methods: full, banded, or blocks along the diagonal.

A method needs solutions with ``s*I - J``. Which elements of the Jacobian J are not zero is known
from sparse derivatives; what a system consists of follows from that: of small groups of unknowns
that have nothing to do with each other, or, in an order that brings neighbours together, of a
band. Columns of J that have no row in common are then one derivative in a direction: a block of
k unknowns takes k of them, a band of w diagonals takes w, however long the state is.

Sources: A. R. Curtis, M. J. D. Powell, J. K. Reid, On the estimation of sparse Jacobian matrices,
J. Inst. Maths. Applics. 13, 1974; E. Cuthill, J. McKee, Reducing the bandwidth of sparse symmetric
matrices, Proc. 24th Nat. Conf. ACM, 1969.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph

from .. import numpy as traced_numpy
from .._api._at_values import jvp
from .._api._custom import custom_jvp
from .._api._matrices import jacobian
from .._api._transforms import vmap
from .._core.ops.banded import BAND_BY_FACTORS, BAND_LU, BAND_SOLVE
from .._core.ops.linear import BY_FACTORS, LU, SOLVE
from .._core.trace import SHORT_LAST_AXIS, as_node
from .._syntax._control import scan

Slope = Callable[[Any, Any], Any]
Solve = Callable[[Any], Any]

#: Up to this size a matrix is inverted by Gauss and Jordan.
SMALL = 8

#: Up to these, of real and of complex numbers, by straight code, in registers. The time to compile
#: that grows like the cube of the size, and a product of complex numbers is six instructions.
TINY = {"f": 4, "c": 2}

#: From so many unknowns on, and with so many times fewer entries, solvers get sparse matrices.
LARGE, FEWER = 100, 10

#: More directions of a short state's derivative than this are a loop. Side by side they share what
#: they load, 0.97 of the time of a call, and are as many times the code, a tenth of a first call.
SIDE_BY_SIDE = 3

#: A band is used if it has so many times fewer diagonals than the matrix has columns. From so many
#: diagonals on sparse factors are found in less time, those of a grid from 50 by 50 points on.
NARROW, WIDE = 4, 100


def _eliminated(matrix: Any) -> Any:
    """Return the inverse of a small matrix by Gauss and Jordan, with pivots by columns.

    Its elements may be arrays: then it is many matrices, of shape (n, n, many).
    """
    if matrix.ndim == 2 and matrix.shape[0] > TINY[matrix.dtype.kind]:
        return _in_a_loop(matrix)
    n = matrix.shape[0]
    rows = [[*(matrix[i, j] for j in range(n)), *np.eye(n)[i].tolist()] for i in range(n)]
    for k in range(n):
        for i in range(k + 1, n):
            larger = np.abs(rows[i][k]) > np.abs(rows[k][k])
            pairs = list(zip(rows[k], rows[i], strict=True))
            rows[k] = [np.where(larger, b, a) for a, b in pairs]
            rows[i] = [np.where(larger, a, b) for a, b in pairs]
        pivot = 1.0 / rows[k][k]
        rows[k] = [x * pivot for x in rows[k]]
        for i in range(n):
            if i != k:
                rows[i] = [x - rows[i][k] * p for x, p in zip(rows[i], rows[k], strict=True)]
    return np.stack([np.stack(row[n:]) for row in rows])


def _in_a_loop(matrix: Any) -> Any:
    """Return the inverse by the same steps in place, of which the code is written once.

    Rows stay where they are: which of them was the pivot of a column says where they belong.
    """
    n = matrix.shape[0]
    index = np.arange(n)

    def column(carry: Any, k: Any) -> Any:
        rows, place = carry
        known = rows[:, k]
        pivot = np.argmax(np.where(place < 0, _magnitude(known), -1.0))
        chosen = np.where(index == k, 1.0, rows[pivot]) / known[pivot]
        others = np.where(index == k, 0.0, rows) - known[:, np.newaxis] * chosen
        rows = np.where(index[:, np.newaxis] == pivot, chosen, others)
        return (rows, np.where(index == pivot, k, place)), pivot

    start = matrix, np.full(n, -1)
    (rows, place), pivots = scan(column, start, index)
    # As zeros lie: loops that carry it are traced once.
    return traced_numpy.ascontiguousarray(rows[pivots][:, place])


def _magnitude(x: Any) -> Any:
    """Return how large pivots are; a root would take longer than a turn of elimination."""
    return np.abs(x) if x.dtype.kind != "c" else np.abs(x.real) + np.abs(x.imag)


_small = custom_jvp(_eliminated)


@_small.defjvp
def _moved(primals: Any, tangents: Any) -> Any:
    inverse = _small(primals[0])
    return inverse, -(inverse @ tangents[0] @ inverse)


def inline(slope: Slope) -> Slope:
    """Return a slope whose steps are seen where it is called, for its derivatives."""
    found: Slope = getattr(slope, "inline", slope)
    return found


class System(Protocol):
    """How systems with ``shift*I - J`` are solved; the shift may be complex."""

    def jacobian(self, slope: Slope, t: Any, y: Any) -> Any:
        """Return what is to be known of the Jacobian, as an array."""

    def zeros(self, y: Any) -> Any:
        """Return the same of a slope that does not change with ``y``."""

    def factors(self, jacobian: Any, shift: Any) -> Any:
        """Return what solutions take of ``shift*I - J``, arrays."""

    def solve(self, factors: Any, right: Any) -> Any:
        """Return the solution for a right-hand side of shape (n,)."""


class Full:
    """By the inverse of a small matrix, in straight code, else by LAPACK's factors."""

    def jacobian(self, slope: Slope, t: Any, y: Any) -> Any:
        return jacobian(slope, argnums=1)(t, y)

    def zeros(self, y: Any) -> Any:
        return traced_numpy.zeros((*y.shape, *y.shape))

    def factors(self, jacobian: Any, shift: Any) -> Any:
        n = jacobian.shape[0]
        matrix = traced_numpy.eye(n) * shift - jacobian
        if isinstance(n, int) and n <= SMALL:
            return _small(matrix)
        return matrix, LU(np.transpose(matrix))

    def solve(self, factors: Any, right: Any) -> Any:
        if not isinstance(factors, tuple):
            return factors @ right
        *matrix, both = factors
        right = right[np.newaxis]
        if not matrix:
            return BY_FACTORS(both, right, trans=True)[0]
        return SOLVE(np.transpose(*matrix), both, right, trans=True)[0]


full = Full()


def alone(factors: Any) -> Any:
    """Return what solutions take without the matrix, which only their derivatives look at."""
    return factors[-1:] if isinstance(factors, tuple) else factors


def _directions(slope: Slope, t: Any, y: Any, colours: Any, count: int) -> Any:
    """Return the derivatives in the directions of the unknowns of each colour, shape (count, n)."""
    seeds = (colours == np.arange(count)[:, np.newaxis]).astype(float)

    def along(seed: Any) -> Any:
        return jvp(lambda v: slope(t, v), (y,), (seed,))[1]

    short = isinstance(y.shape[0], int) and count > SIDE_BY_SIDE
    if short or written_out(slope(t, y)):  # a loop, whose code is that of one direction
        return scan(lambda none, seed: (none, along(seed)), 0.0, seeds)[1]
    return vmap(along)(seeds)


def written_out(value: Any) -> bool:
    """Tell whether an array is put together of many elements."""
    node = as_node(value)
    while len(node.operands) == 1:
        (node,) = node.operands
    return len(node.operands) > SHORT_LAST_AXIS


class Band(NamedTuple):
    """A band of so many diagonals below the main one and above.

    Attributes
    ----------
    order, place:
        Which unknown comes at which place, and the reverse; None: they are in order.
    """

    lower: int
    upper: int
    order: Any = None
    place: Any = None

    def jacobian(self, slope: Slope, t: Any, y: Any) -> Any:
        """Return the band by columns; what of it lies outside of the matrix is anything."""
        lower, upper, width = self.lower, self.upper, self.lower + self.upper + 1
        order, place = self._orders(y.shape)
        column = traced_numpy.arange(y.shape[0])
        along = _directions(slope, t, y, (column if place is None else place) % width, width)
        column = column[:, np.newaxis]
        row = np.clip(column + np.arange(-upper, lower + 1), 0, y.shape[0] - 1)
        found = along[column % width, row if order is None else order[row]]
        return traced_numpy.ascontiguousarray(found)  # as zeros lie: loops are traced once

    def zeros(self, y: Any) -> Any:
        return traced_numpy.zeros((*y.shape, self.lower + self.upper + 1))

    def factors(self, jacobian: Any, shift: Any) -> Any:
        lower, upper, *_ = self
        diagonal = shift * (np.arange(lower + upper + 1) == upper)
        columns = diagonal - jacobian
        return columns, BAND_LU(columns, lower=lower, upper=upper)

    def solve(self, factors: Any, right: Any) -> Any:
        order, place = self._orders(right.shape)
        right = right if order is None else right[order]
        band = {"lower": self.lower, "upper": self.upper, "trans": False}
        solution = BAND_SOLVE if len(factors) > 1 else BAND_BY_FACTORS
        found = solution(*factors, right[np.newaxis], **band)[0]
        return found if place is None else found[place]

    def _orders(self, shape: Any) -> tuple[Any, Any]:
        """Return order and place, of the state's length: a number where it is short."""
        if self.order is None:
            return None, None
        return np.reshape(self.order, shape), np.reshape(self.place, shape)


class Blocks(NamedTuple):
    """Groups of up to ``size`` unknowns that have nothing to do with each other.

    Attributes
    ----------
    member:
        The unknowns of each group, shape (size, groups); any where a group has fewer.
    real:
        1.0 for these, 0.0 where a group has fewer.
    rank:
        Which of its group an unknown is, shape (n,).
    place:
        Where it stands in ``member``, counted along the rows.
    """

    size: int
    member: Any
    real: Any
    rank: Any
    place: Any

    def jacobian(self, slope: Slope, t: Any, y: Any) -> Any:
        return _directions(slope, t, y, self.rank, self.size)

    def zeros(self, y: Any) -> Any:
        return traced_numpy.zeros((self.size, *y.shape))

    def factors(self, jacobian: Any, shift: Any) -> Any:
        size, member, real, *_ = self
        rows = [
            [shift * float(i == j) - real[i] * jacobian[j][member[i]] for j in range(size)]
            for i in range(size)
        ]
        return _eliminated(np.stack([np.stack(row) for row in rows]))

    def solve(self, factors: Any, right: Any) -> Any:
        found = np.sum(factors * right[self.member], axis=1)
        return np.reshape(found, (-1,))[self.place]


#: What a system is, as far as code depends on it: None, or a name and numbers.
Kind = tuple[str, tuple[int, ...]] | None


def structure_of(rows: Any, columns: Any, n: int) -> tuple[Kind, tuple[Any, ...]]:
    """Return what systems with a Jacobian of this pattern are, and the arrays that say how.

    Parameters
    ----------
    rows, columns:
        The places of its entries.
    n:
        How many unknowns there are.
    """
    ones = np.ones(len(rows), np.int8)
    pattern = scipy.sparse.csr_array((ones, (rows, columns)), shape=(n, n))
    count, group = scipy.sparse.csgraph.connected_components(pattern, directed=False)
    sizes = np.bincount(group, minlength=count)
    if sizes.max() <= SMALL:
        return _blocks(group, sizes)
    best: tuple[Kind, tuple[Any, ...]] = None, ()
    least = n // NARROW
    both = scipy.sparse.csr_array(pattern + pattern.T)
    orders = np.arange(n), scipy.sparse.csgraph.reverse_cuthill_mckee(both, symmetric_mode=True)
    for order in orders:
        place = np.argsort(order)
        below = place[rows] - place[columns]
        lower, upper = max(0, int(below.max())), max(0, int(-below.min()))
        if lower + upper + 1 < least:
            least = lower + upper + 1
            best = ("band", (lower, upper)), (order.astype(np.int64), place)
    return best


def _blocks(group: Any, sizes: Any) -> tuple[Kind, tuple[Any, ...]]:
    n, size = len(group), int(sizes.max())
    count = max(len(sizes), SHORT_LAST_AXIS + 1)  # fewer would be straight code, one by one
    by_group = np.argsort(group, kind="stable")
    rank = np.empty(n, np.int64)
    rank[by_group] = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    member = np.zeros((size, count), np.int64)
    real = np.zeros((size, count))
    member[rank, group], real[rank, group] = np.arange(n), 1.0
    return ("blocks", (size,)), (member, real, rank, rank * count + group)


#: Systems with a structure, by the names of their kinds.
STRUCTURES: dict[str, Any] = {"band": Band, "blocks": Blocks}


def arrays_of(kind: Kind) -> int:
    """Return how many arrays say how systems of a kind are."""
    return 0 if kind is None else len(STRUCTURES[kind[0]]._fields) - len(kind[1])


def system_of(kind: Kind, arrays: tuple[Any, ...]) -> System:
    """Return how systems of this kind are solved."""
    if kind is None:
        return full
    name, numbers = kind
    found: System = STRUCTURES[name](*numbers, *arrays)
    return found


def is_sparse(entries: int, n: int) -> bool:
    """Tell whether a Jacobian of ``n`` unknowns with so many entries is worth a sparse matrix."""
    return n >= LARGE and entries * FEWER < n**2
