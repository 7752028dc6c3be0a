"""From index notation to matrix notation, where there is one.

A term of index notation is a graph: indices are its vertices, a factor of one index is a
vector at that vertex, a factor of two indices a matrix on the edge between them. Indices that
are summed over are eliminated one by one: at the end of a chain a matrix is applied to a
vector, in the middle of one two matrices are multiplied, a closed chain is a trace. What is
left are the free indices: a scalar, a vector or a matrix. An index with three or more edges
cannot be eliminated: such a term has no matrix notation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.logic.boolalg import Boolean

from ._bound_functions import DetOver, Entry, LogDetOver, OfMatrix, Over
from ._notation import Array, Det, Diag, Diagonal, Eye, Inverse, LogDet, Norm, Ones, T, rank
from ._products import (
    collected,
    diagonal_of,
    power,
    product,
    split,
    sum_of,
    total,
    trace_of,
    transposed,
)

Size = Any
Sizes = Mapping[sp.Symbol, Size]


class _NoForm(Exception):  # noqa: N818 - not an error: the answer "no"
    """There is no matrix notation."""


def matrix_notation(
    expression: Any, indices: Sequence[sp.Symbol], sizes: Sizes, shapes: Mapping[str, Any]
) -> Any:
    """Return a formula in matrix notation, or None if it has none.

    Parameters
    ----------
    expression:
        In index notation.
    indices:
        The free indices: none for a scalar, one for a vector, row and column of a matrix.
    sizes:
        How many values each free index takes.
    shapes:
        The shapes of the arrays by name: sums must run over whole axes.
    """
    if len(indices) > 2:
        return None
    reader = _Reader(shapes, dict(sizes))
    try:
        form = reader.read(expression, tuple(indices))
    except _NoForm:
        return None
    for norm in form.atoms(Norm):
        square = product(transposed(norm.args[0]), norm.args[0])
        form = form.xreplace({square: norm**2})
    if indices and rank(form) == 0:
        ones = [Ones(sizes[i]) for i in indices]
        form = form * (ones[0] if len(ones) == 1 else product(ones[0], T(ones[1])))
    return form


class _Reader:
    def __init__(self, shapes: Mapping[str, Any], sizes: dict[sp.Symbol, Size]) -> None:
        self.shapes, self.sizes = shapes, sizes

    def used(self, e: Any) -> tuple[sp.Symbol, ...]:
        """The free indices of an expression."""
        return tuple(sorted((s for s in e.free_symbols if s in self.sizes), key=str))

    def read(self, e: Any, index: tuple[sp.Symbol, ...]) -> Any:
        """Return the form of ``e``; its rank is that of ``index``, or 0 if it is constant."""
        own = tuple(i for i in index if e.has(i))
        if len(self.used(e)) > len(own):
            raise _NoForm
        if own and isinstance(e, (ExprCondPair, Boolean)) and len(own) < len(index):
            raise _NoForm  # a condition has no transpose
        if len(own) < len(index):
            return self.lifted(self.read(e, own), own, index)
        if isinstance(e, sp.Add):
            return collected(sp.Add(*(self.read(a, index) for a in e.args)))
        if isinstance(e, DetOver):
            return Det(self.whole(e))
        if isinstance(e, LogDetOver):
            return LogDet(self.whole(e))
        if isinstance(e, (sp.Mul, sp.Sum, sp.Indexed, sp.KroneckerDelta, Entry)):
            return _Term(self, e).form(index)
        if not e.args or not e.has(sp.Indexed, sp.Sum, sp.KroneckerDelta, Entry, OfMatrix, *index):
            if own:  # the value of an index itself
                raise _NoForm
            return e
        if isinstance(e, Over) or e.has(sp.Product, sp.Integral):
            raise _NoForm
        if isinstance(e, sp.Pow) and not own:
            return power(self.read(e.base, index), self.read(e.exp, index))
        # Elementwise: conditions and the pairs of a Piecewise are read like operands.
        parts = [self.read(a, index) for a in e.args]
        if isinstance(e, ExprCondPair) and not isinstance(parts[1], Boolean):
            raise _NoForm  # a comparison of matrices has no notation
        return e.func(*parts)

    def whole(self, e: Any) -> Any:
        """Return the matrix that an inverse or a determinant is of."""
        fresh = {k: sp.Dummy(k.name, integer=True, nonnegative=True) for k, *_ in e.limits}
        for k, low, high in e.limits:
            if low != 0:
                raise _NoForm
            self.sizes[fresh[k]] = sp.expand(high + 1)
        return self.read(e.function.xreplace(fresh), tuple(fresh.values()))

    def lifted(self, form: Any, own: tuple[sp.Symbol, ...], index: tuple[sp.Symbol, ...]) -> Any:
        """Repeat a vector along the index that it does not have; numbers repeat themselves."""
        if not own or rank(form) == 0:
            return form
        if own[0] == index[0]:
            return product(form, T(Ones(self.sizes[index[1]])))
        return product(Ones(self.sizes[index[0]]), transposed(form))


class _Term:
    """A product of factors, summed over some of their indices."""

    def __init__(self, reader: _Reader, e: Any) -> None:
        self.reader = reader
        self.scale: Any = sp.S.One
        self.summed: list[sp.Symbol] = []
        self.vectors: dict[sp.Symbol, Any] = {}
        self.edges: list[tuple[sp.Symbol, sp.Symbol, Any]] = []
        self.sums: list[Any] = []
        self.collect(e)

    def collect(self, e: Any) -> None:
        if isinstance(e, sp.Mul):
            for a in e.args:
                self.collect(a)
        elif isinstance(e, sp.Sum):
            fresh = {k: sp.Dummy(k.name, integer=True, nonnegative=True) for k, *_ in e.limits}
            for k, low, high in e.limits:
                size = sp.expand(high + 1)
                if low != 0 or self.reader.used(size) or size.has(*fresh):
                    raise _NoForm
                self.reader.sizes[fresh[k]] = size
                self.summed.append(fresh[k])
            self.collect(e.function.xreplace(fresh))
        else:
            self.factor(e)

    def factor(self, e: Any) -> None:
        own = self.reader.used(e)
        if e.is_Add and (len(own) > 2 or any(_picks(a) for a in e.args)):
            self.sums.append(e)
            return
        if len(own) > 2:
            raise _NoForm
        if isinstance(e, Entry):
            form: Any = Inverse(self.reader.whole(e.args[0]))
            if not all(i in self.reader.sizes for i in e.indices) or e.args[0].has(*own):
                raise _NoForm
            own = e.indices
            if own[0] == own[1]:
                own, form = own[:1], Diagonal(form)
        elif isinstance(e, sp.Indexed):
            form = self.element(e)
            if len(e.indices) == 2 and e.indices[0] != e.indices[1]:
                own = e.indices
        elif isinstance(e, sp.KroneckerDelta):
            if len(own) != 2 or set(e.args) != set(own):
                raise _NoForm
            form = Eye(self.reader.sizes[own[0]])
        else:
            form = self.reader.read(e, own)
        coefficient, form = split(form) if own else (form, None)
        self.scale *= coefficient
        if len(own) == 1:
            self.vectors[own[0]] = self.vectors.get(own[0], sp.S.One) * form
        elif own:
            self.edges.append((own[0], own[1], form))

    def element(self, e: Any) -> Any:
        """Return the array of which ``e`` is an element at plain, whole-range indices."""
        name = e.base.name
        shape = self.reader.shapes.get(name)
        if shape is None or len(shape) > 2:
            raise _NoForm
        for i, size in zip(e.indices, shape, strict=True):
            if i not in self.reader.sizes or sp.expand(self.reader.sizes[i] - size) != 0:
                raise _NoForm
        array = Array(name, len(shape))
        return Diagonal(array) if len(set(e.indices)) < len(shape) else array

    # ---------------------------------------------------------------- eliminating

    def form(self, index: tuple[sp.Symbol, ...]) -> Any:
        if self.sums:
            return self.distributed(index)
        waiting = [s for s in self.summed if s not in index]
        while waiting:
            waiting.sort(key=self.degree)
            self.eliminate(waiting.pop(0), waiting)
        return self.scale * self.rest(index)

    def distributed(self, index: tuple[sp.Symbol, ...]) -> Any:
        """Multiply out a sum of too many indices, and sum term by term."""
        first, *others = self.sums
        limits = [(s, 0, self.reader.sizes[s] - 1) for s in self.summed]
        known = [self.scale, *others]
        marks: dict[Any, Any] = {}
        for vertex, form in self.vectors.items():
            marks[sp.Dummy("v")] = ((vertex,), form)
        for u, v, form in self.edges:
            marks[sp.Dummy("e")] = ((u, v), form)
        total = []
        for term in first.args:
            part = _Term(self.reader, sp.Mul(term, *known))
            part.summed += [s for s, *_ in limits]
            for own, form in marks.values():
                if len(own) == 1:
                    part.vectors[own[0]] = part.vectors.get(own[0], sp.S.One) * form
                else:
                    part.edges.append((*own, form))
            total.append(part.form(index))
        return collected(sp.Add(*total))

    def degree(self, s: sp.Symbol) -> int:
        return sum(s in edge[:2] for edge in self.edges)

    def eliminate(self, s: sp.Symbol, waiting: list[sp.Symbol]) -> None:
        """Sum over ``s``."""
        around = [edge for edge in self.edges if s in edge[:2]]
        vector = self.vectors.pop(s, None)
        if len(around) > 2:
            raise _NoForm
        self.edges = [edge for edge in self.edges if s not in edge[:2]]
        if not around:
            self.scale *= self.reader.sizes[s] if vector is None else total(vector)
            return
        (t, into), *more = ((v, transposed(m)) if u == s else (u, m) for u, v, m in around)
        alone = t in waiting and self.degree(t) == 0 and t not in self.vectors
        if not more and alone and vector is None:
            waiting.remove(t)
            self.scale *= sum_of(into)
            return
        if not more:
            at = product(into, Ones(self.reader.sizes[s]) if vector is None else vector)
            self.join(t, at)
            return
        (r, out) = more[0][0], transposed(more[0][1])
        middle = () if vector is None else (Diag(vector),)
        if r != t:
            self.edges.append((t, r, product(into, *middle, out)))
        elif alone:
            waiting.remove(t)
            self.scale *= trace_of(product(into, *middle, out))
        else:
            self.join(t, diagonal_of(product(into, *middle, out)))

    def join(self, t: sp.Symbol, vector: Any) -> None:
        scale, vector = split(vector)
        self.scale *= scale
        self.vectors[t] = self.vectors.get(t, sp.S.One) * vector

    def rest(self, index: tuple[sp.Symbol, ...]) -> Any:
        """Return what the free indices hold."""
        if not index:
            return sp.S.One
        if len(index) == 1:
            return self.vectors.get(index[0], sp.S.One)
        i, j = index
        u, v = self.vectors.get(i), self.vectors.get(j)
        if not self.edges:
            u, v = (Ones(self.reader.sizes[k]) if w is None else w
                    for k, w in ((i, u), (j, v)))  # fmt: skip
            return product(u, transposed(v))
        matrix = sp.Mul(*(m if a == i else transposed(m) for a, _, m in self.edges))
        if any(isinstance(m, Eye) for _, _, m in self.edges):
            others = [m if a == i else transposed(m) for a, _, m in self.edges
                      if not isinstance(m, Eye)]  # fmt: skip
            diagonal = sp.Mul(*(w for w in (u, v) if w is not None), *map(diagonal_of, others))
            return matrix if diagonal == 1 else Diag(diagonal)
        left = () if u is None else (Diag(u),)
        right = () if v is None else (Diag(v),)
        return product(*left, matrix, *right)


def _picks(e: Any) -> bool:
    return any(isinstance(a, sp.KroneckerDelta) for a in sp.Mul.make_args(e))
