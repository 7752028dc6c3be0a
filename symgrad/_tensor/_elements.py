"""Single elements of a graph: each with its formula in the elements that it is computed from.

Elementwise ops are their SymPy form; of other ops the element formula is written out at the
sizes at hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from .._core.base.broadcast import aligned
from .._core.base.fork_safety import cached_property
from .._core.base.sizes import as_expr
from .._core.graph import Constant, Input, Node, as_sympy
from .._core.op import ArrayOp, Readers
from .._symbolic import derivative_of
from ..errors import UnsupportedError

#: An op of more elements than this is not written out: paths through it are not for reading.
LARGEST = 4096


class Elements:
    """The elements of a graph that have been asked for; each is one object."""

    def __init__(self) -> None:
        self._known: dict[tuple[Node, tuple[int, ...]], Element] = {}

    def at(self, node: Node, index: tuple[int, ...]) -> Element:
        """Return one element of a node."""
        found = self._known.get((node, index))
        if found is None:
            found = self._known[node, index] = Element(self, node, index)
        return found


class Element:
    """One number of a graph.

    Attributes
    ----------
    node, index:
        The node that it is an element of, and its place.
    """

    def __init__(self, graph: Elements, node: Node, index: tuple[int, ...]) -> None:
        self._graph, self.node, self.index = graph, node, index

    @cached_property
    def _read(self) -> tuple[tuple[Element, ...], tuple[sp.Symbol, ...], sp.Expr]:
        """The elements read, what stands for them, and the formula."""
        op = self.node.op
        if op.kind == "leaf":
            return (), (), self._leaf()
        if op.kind == "map":
            if op.sympy is None:
                raise UnsupportedError(
                    f"{op.name} has no formula, so there are no paths through it"
                )
            parts = tuple(
                self._graph.at(x, aligned(self.index, x.shape)) for x in self.node.operands
            )
            places = tuple(sp.Dummy(f"x{k}", real=True) for k in range(len(parts)))
            return parts, places, op.sympy(*places, **self.node.params)
        formula, bases = _formula(self.node, self.index)
        reads = sorted(formula.atoms(sp.Indexed), key=sp.default_sort_key)
        parts = tuple(
            self._graph.at(self.node.operands[bases[r.base]], tuple(map(int, r.indices[1:])))
            for r in reads
        )
        places = tuple(sp.Dummy(f"x{k}", real=True) for k in range(len(parts)))
        return parts, places, formula.xreplace(dict(zip(reads, places, strict=True)))

    @property
    def symbol(self) -> sp.Symbol:
        """The element of an input as a SymPy symbol."""
        return sp.Symbol(str(self), real=True)

    def _leaf(self) -> sp.Expr:
        if isinstance(self.node, Input):
            return self.symbol
        if isinstance(self.node, Constant):
            return sp.Float(self.node.array[self.index].item())
        return as_sympy(self.node)

    @property
    def operands(self) -> tuple[Element, ...]:
        """The elements that it is computed from."""
        return self._read[0]

    def form(self, operands: list[Any]) -> Any:
        """Return its formula, in the given formulas of the operands."""
        _, places, formula = self._read
        return formula.xreplace(dict(zip(places, operands, strict=True)))

    def slope(self, slot: int, operands: list[Any]) -> Any:
        """Return its derivative by one operand, at the given formulas of the operands."""
        _, places, formula = self._read
        return derivative_of(formula, places[slot]).xreplace(
            dict(zip(places, operands, strict=True))
        )

    def __str__(self) -> str:
        name = self.node.name if isinstance(self.node, Input) else self.node.op.name
        return f"{name}[{', '.join(map(str, self.index))}]" if self.index else name

    __repr__ = __str__


def _formula(node: Node, index: tuple[int, ...]) -> tuple[Any, dict[Any, int]]:
    op = node.op
    sizes = [int(np.prod(x.shape, dtype=int)) for x in node.operands]
    if not isinstance(op, ArrayOp) or max(sizes, default=0) > LARGEST:
        largest = max(sizes, default=0)
        raise UnsupportedError(
            f"there are no paths to be shown through {op.name} of {largest} elements: "
            "use smaller arrays, or sg.derivative, which writes array ops in index notation"
        )
    bases = [sp.IndexedBase(f"x{k}", real=True) for k in range(len(node.operands))]
    # A leading 0, because a number has no index.
    operands = Readers(node.operands, lambda k, place: bases[k][(0, *place)])
    formula = as_expr(op.element(tuple(map(sp.Integer, index)), *operands, **node.params)).doit()
    reads = formula.atoms(sp.Indexed)
    if not all(i.is_Integer for r in reads for i in r.indices) or formula.free_symbols - {
        s for r in reads for s in r.free_symbols
    }:
        raise UnsupportedError(
            f"there are no paths to be shown through {op.name}: what it reads depends on values"
        )
    return formula, {base: k for k, base in enumerate(bases)}
