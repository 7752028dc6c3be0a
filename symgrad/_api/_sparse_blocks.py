"""Sparse derivatives to be read: their blocks as index formulas, and their certificate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.sizes import as_expr, recording
from .._core.graph import Input, Node
from .._sparse import Block, Index, blocks_of, selected
from .._symbolic import (
    Equation,
    Formula,
    Patience,
    Variable,
    elements_of,
    equation_of,
    index_symbols,
    left_text,
    ordered,
    shapes_of,
    simplified,
    text,
)
from .._verify import Problem
from ..errors import ArgumentError
from ._bodies import grad_body
from ._call import Call, arrays_read_by
from ._sparse_functions import SparseFunction
from ._verify_kernels import Kernels, Rows, problem_of


def differentiated(derivative: SparseFunction) -> tuple[Callable[..., Any], Sequence[int]]:
    """Return the function whose Jacobian a sparse derivative is, and by which arguments."""
    make, (f, *_), options = derivative._recipe
    if "argnums" not in options:
        raise ArgumentError("of a batch of sparse derivatives, read the one of one example")
    argnums = options["argnums"]
    several = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    if any(isinstance(k, str) for k in several):
        raise ArgumentError("a derivative by arguments that are named is not read: say argnums=")
    if make.__name__ == "hessian":
        inner = grad_body(f, argnums, False, False, "hessian", False)
        inner.__name__ = "gradient"
        return inner, several
    return f, several


# ---------------------------------------------------------------- formulas


def blocks_formula(derivative: SparseFunction, args: Sequence[Any]) -> Formula:
    """Return the blocks of a sparse derivative as formulas, with the ranges of their indices."""
    function, argnums = differentiated(derivative)
    call = Call(function, args, dynamic=True, read="formula")
    leaves = [k for n in argnums for k in call.argument(n)[1] if call.real(k)]
    inputs = [call.graph.inputs[call.inputs[k]] for k in leaves]  # type: ignore[index]
    dense: list[Node] = []
    with recording():
        outputs = selected(call.graph.outputs, inputs)
        found = blocks_of(outputs, inputs, lambda node, _: dense.append(node))
    reader = _Reader(call)
    second = derivative._recipe[0].__name__ == "hessian"
    for k, (node, blocks) in enumerate(zip(call.graph.outputs, found.outputs, strict=True)):
        name = f"out{k}" if len(found.outputs) > 1 and not second else "out"
        for block in blocks:
            reader.read(name, node, inputs[k].name if second else None, block)
    notes = reader.notes
    if found.cuts:
        notes.append("and products of such blocks, where gathers read computed places")
    if dense:
        lines = dict.fromkeys(str(n.where) for n in dense if n.where)
        notes.append(f"with all entries of the steps at {', '.join(lines)}")
    return Formula(tuple(reader.equations), reader.patience.gave_up, tuple(notes))


class _Reader:
    """Makes the equations of blocks."""

    def __init__(self, call: Call) -> None:
        self.elements = elements_of(call.graph, arrays_read_by(call.function))
        self.shapes = shapes_of(call.graph, self.elements)
        self.patience = Patience.of_a_reader()
        self.equations: list[Equation] = []
        self.notes: list[str] = []

    def read(self, name: str, node: Node, first: str | None, block: Block) -> None:
        """Add the equation of a block; of a second derivative, ``first`` by this argument."""
        lanes = index_symbols(len(block.lanes), self.elements.taken)
        ends = {i: (sp.S.Zero, as_expr(n) - 1) for i, n in zip(lanes, block.lanes, strict=True)}
        rows = [self._place(i, lanes) for i in block.rows]
        cols = [self._place(i, lanes) for i in block.cols]
        value = self._element(block.value, lanes)
        shift = {}
        for row in rows:  # rows count from their own beginning
            for i in lanes:
                by = sp.expand(row - i)
                if i not in shift and not by.has(*lanes, sp.Indexed):
                    shift[i] = i - by
                    ends[i] = tuple(sp.expand(end + by) for end in ends[i])
        rows, cols = ([sp.expand(e.xreplace(shift)) for e in part] for part in (rows, cols))
        value = ordered(simplified(value.xreplace(shift), self.patience))
        source = block.source
        assert isinstance(source, Input)
        by_rows = Variable(first or name, tuple(rows), node.shape)
        by_cols = Variable(source.name, tuple(cols), source.shape)
        result, wrt = (Variable(name), (by_rows, by_cols)) if first else (by_rows, (by_cols,))
        equation = equation_of(result, wrt, value, self.shapes, self.patience)
        self.equations.append(replace(equation, matrix=None))
        ranges = [f"{text(a)} <= {i} <= {text(b)}" for i, (a, b) in ends.items()]
        if ranges:
            self.notes.append(f"{left_text(result, wrt)}: {', '.join(ranges)}")

    def _element(self, node: Node, lanes: Sequence[Any]) -> Any:
        """Return an element of an array over the lanes, which may have axes of length 1."""
        index = zip(lanes, node.shape, strict=False)  # or no axes
        return self.elements.expression(node, tuple(0 if n == 1 else i for i, n in index))

    def _place(self, index: Index, lanes: Sequence[Any]) -> Any:
        found = as_expr(index.start)
        for lane, step in index.steps:
            found += as_expr(step) * lanes[lane]
        if index.rest is not None:
            found += self._element(index.rest, lanes)
        # Of an index array that may count from the end, the number that is in it.
        return sp.expand(found.replace(sp.Piecewise, lambda *cases: cases[-1][0]))


# ---------------------------------------------------------------- certificates


def sparse_problem(derivative: SparseFunction, args: Sequence[Any]) -> Problem:
    """Return what is compared of a sparse derivative: the function's value, and its Jacobian."""
    function, argnums = differentiated(derivative)
    call = Call(function, args, dynamic=False)
    chosen = [k for n in argnums for k in call.argument(n)[1] if call.real(k)]
    return problem_of(call, chosen, SparseKernels(call, chosen, derivative))


class SparseKernels(Kernels):
    """The compiled value of a function, and its Jacobian by lanes."""

    def __init__(self, call: Call, chosen: Sequence[int], derivative: SparseFunction) -> None:
        super().__init__(call, ())
        self._derivative, self._by = derivative, chosen

    def at(self, leaves: Sequence[Any]) -> tuple[list[np.ndarray[Any, Any]], Rows]:
        """Return the results at a point, and the derivatives of one result element."""
        values, _ = super().at(leaves)
        args, _ = self.call.tree.unflatten(leaves)
        plan, result = self._derivative._evaluated(args, {})
        data = zip(plan.patterns, plan.split(result), strict=True)
        found = [pattern.matrix(x).tocsr() for pattern, x in data]
        width = len(self._by)

        def row(k: int, place: tuple[int, ...]) -> Sequence[np.ndarray[Any, Any]]:
            flat = int(np.ravel_multi_index(place, values[k].shape)) if place else 0
            parts = zip(found[k * width : (k + 1) * width], self._by, strict=True)
            return [x[[flat]].toarray().reshape(np.shape(leaves[n])) for x, n in parts]

        return values, row
