"""The chain rule step by step: how a derivative comes about, in the function's own steps.

The function is a list of steps ``v0, v1, ..., out``. From the result back to the argument
each step's derivative is the sum, over the steps that read it, of *their* derivative times the
derivative of one step. That is reverse mode, with mathematics in the place of numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import sympy as sp

from .._core.base.sizes import as_expr
from .._core.graph import Input, Node
from .._core.op import Words
from .._core.program import schedule
from .._symbolic import (
    Elements,
    Equation,
    Formula,
    Function,
    Patience,
    Sum,
    Variable,
    derivative_of,
    element_symbol,
    index_symbols,
    rename_bound,
    resolve,
    simplified,
    with_lengths,
)
from ..errors import UnsupportedError

#: A derivation of more steps is nobody's to read.
STEPS = 60


@dataclass(frozen=True)
class Path:
    """One way from a step to the result: through a step that reads it.

    Attributes
    ----------
    outer:
        The derivative of the result by the reader; None if the reader is the result.
    inner:
        The derivative of the reader by the step.
    summed:
        Indices of the reader that the product is summed over.
    """

    outer: Equation | None
    inner: Equation
    summed: tuple[sp.Symbol, ...]


@dataclass(frozen=True)
class Step:
    """One line of a derivation.

    Attributes
    ----------
    equation:
        What the line states.
    where:
        The user's line that it comes from, if any.
    paths:
        For derivatives: the products of which it is the sum.
    """

    equation: Equation
    where: str = ""
    paths: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Derivation:
    """The steps of a function, the derivative of each, and the result.

    Attributes
    ----------
    gave_up:
        Whether the time for simplifying the steps' derivatives has run out.
    """

    forward: tuple[Step, ...]
    backward: tuple[Step, ...]
    result: Formula
    gave_up: bool = False


def derivation(
    graph: Function, wrt: Input, result: Formula, elements: Elements, patience: Patience
) -> Derivation:
    """Return the derivation of a derivative.

    Parameters
    ----------
    graph:
        A function of one result.
    wrt:
        The input to differentiate by.
    result:
        The derivative, simplified: the last line.
    elements:
        Those that ``result`` was written with: names of constant arrays.
    patience:
        The time that simplification may take.

    Raises
    ------
    UnsupportedError
        If the function has more steps than anybody would read.
    """
    walk = _Walk(tuple(graph.inputs), graph.outputs[0], wrt, elements, patience)
    return walk.derivation(result)


class _Walk:
    def __init__(
        self,
        inputs: tuple[Input, ...],
        output: Node,
        wrt: Input,
        elements: Elements,
        patience: Patience,
    ) -> None:
        program = schedule(inputs, [output])
        if len(program.steps) > STEPS:
            raise UnsupportedError(
                f"a derivation of {len(program.steps)} steps is too long to be read (at most "
                f"{STEPS}): explain a part of the function, or print sg.formula(f, *args, wrt=0)"
            )
        self.program = program
        self.steps = tuple(n for n in program.steps if n is output or _is_shown(n))
        self.output, self.wrt = output, wrt
        self.names: dict[Node, str] = {n: program.names[n] for n in inputs}
        used = set(self.names.values())
        free = (f"v{k}" for k in count() if f"v{k}" not in used)
        self.names |= {n: next(free) for n in self.steps if n is not output}
        top = "out" if "out" not in used else "out_"
        if output in self.steps:
            self.names[output] = top
        self.lengths, self.constants = elements.lengths, elements.constants
        sizes = {str(s) for s in program.sizes}
        self.taken = {*self.names.values(), *self.constants.values(), *sizes, "out"}
        self.patience = patience
        self.top = replace(self.variable(output, 0), name=top)

    # ---------------------------------------------------------------- names

    def variable(self, node: Node, skip: int) -> Variable:
        """Return a node with fresh indices, the first ``skip`` letters left out."""
        letters = index_symbols(skip + len(node.shape), self.taken)[skip:]
        name = self.names.get(node, "out")
        shape = with_lengths(node.shape, self.lengths)
        return Variable(name, tuple(letters), tuple(map(as_expr, shape)))

    def symbol(self, node: Node, v: Variable) -> Any:
        return node.symbol if isinstance(node, Input) and not node.shape else (
            element_symbol(v.name, node, v.indices))  # fmt: skip

    def formula(self, node: Node, v: Variable) -> Any:
        """Return a step in terms of the steps before it."""
        named = {n: name for n, name in self.names.items() if n is not node}
        elements = Elements(taken=self.taken, named=named, lengths=self.lengths)
        elements.constants = self.constants
        return rename_bound(elements.expression(node, v.indices),
                            self.taken | {i.name for i in v.indices})  # fmt: skip

    # ---------------------------------------------------------------- both ways

    def derivation(self, result: Formula) -> Derivation:
        forward = []
        for node in self.steps:
            v = self.variable(node, 0)
            right = self.formula(node, v)
            forward.append(Step(_equation(v, (), right), self.program.line_text(node)))
        if self.output not in self.steps:  # a constant, an argument or a part of one
            forward.append(Step(_equation(self.top, (), self.formula(self.output, self.top))))
        relevant = self.relevant()
        readers: dict[Node, list[Node]] = {}
        for node in self.steps:
            for x in dict.fromkeys(self.read_by(node)):
                if node in relevant and x in relevant and node.dtype.kind == "f":
                    readers.setdefault(x, []).append(node)
        known: dict[Node, tuple[Variable, Any]] = {}
        backward = []
        path = [node for node in (*reversed(self.steps), self.wrt) if node in relevant]
        for node in self.patience.among(path):
            step = self.backward(node, readers.get(node, []), known)
            if node is not self.output or node is self.wrt:
                backward.append(step)
        return Derivation(tuple(forward), tuple(backward), result, self.patience.gave_up)

    def read_by(self, node: Node) -> Iterator[Node]:
        """Yield the steps and inputs that a step reads, directly or through a view of them."""
        for x in node.operands:
            if x.op.kind == "view" and x not in self.names:
                yield from self.read_by(x)
            else:
                yield x

    def relevant(self) -> set[Node]:
        """Return the nodes that depend on the input and are real."""
        found: set[Node] = {self.wrt}
        for node in self.steps:
            if node.dtype.kind == "f" and any(x in found for x in self.read_by(node)):
                found.add(node)
        return found

    def backward(
        self, node: Node, readers: list[Node], known: dict[Node, tuple[Variable, Any]]
    ) -> Step:
        """Return the derivative of the result by a node, from those by its readers."""
        v = self.variable(node, len(self.top.indices))
        if node is self.output:
            known[node] = (v, None)
            pairs = zip(self.top.indices, v.indices, strict=True)
            same = sp.Mul(*(sp.KroneckerDelta(i, j) for i, j in pairs))
            return Step(_equation(self.top, (v,), same))
        total: Any = sp.S.Zero
        paths = []
        for reader in readers:
            path, term = self.path(node, v, reader, *known[reader])
            total += term
            paths.append(path)
        total = simplified(total, self.patience)
        total = rename_bound(total, self.taken | {i.name for i in (*self.top.indices, *v.indices)})
        known[node] = (v, total)
        where = self.program.line_text(readers[0]) if len(readers) == 1 else ""
        return Step(_equation(self.top, (v,), total), where, tuple(paths))

    def path(
        self, node: Node, v: Variable, reader: Node, seen: Variable, outer: Any
    ) -> tuple[Path, Any]:
        last = reader is self.output
        # Element by element, unless it is read in another order, through a view.
        direct = [x for x in reader.operands if x.op.kind != "view" or x in self.names]
        same = not last and reader.op.kind == "map" and reader.shape == node.shape
        same = same and list(self.read_by(reader)).count(node) == direct.count(node)
        skip = len(self.top.indices) + len(v.indices)
        r = Variable(seen.name, v.indices, v.sizes) if same else self.variable(reader, skip)
        r = self.top if last else r
        if not last:
            outer = outer.xreplace(dict(zip(seen.indices, r.indices, strict=True)))
        fresh = [sp.Dummy(i.name, integer=True, nonnegative=True) for i in v.indices]
        target = self.symbol(node, Variable(v.name, tuple(fresh), v.sizes))
        slope = derivative_of(self.formula(reader, r), target)
        ranges = {i: (sp.S.Zero, d - 1) for x in (self.top, v, r)
                  for i, d in zip(x.indices, x.sizes, strict=True)}  # fmt: skip
        ranges |= {size: (number, number) for number, size in self.lengths.items()}
        ranges |= {f: ranges[i] for f, i in zip(fresh, v.indices, strict=True)}
        letters = (*self.top.indices, *v.indices, *r.indices)
        slope = _tidy(resolve(slope, ranges), self.taken, letters)
        slope = slope.xreplace(dict(zip(fresh, v.indices, strict=True)))
        product = slope if last else outer * slope
        if not same and not last and r.indices:
            limits = [(i, 0, d - 1) for i, d in zip(r.indices, r.sizes, strict=True)]
            inside = {i: ends for i, ends in ranges.items() if i not in r.indices}
            product = resolve(Sum(product, *limits), inside)
        inner = _equation(r, (v,), _tidy(slope, self.taken, (*r.indices, *v.indices)))
        before = None if last else _equation(self.top, (r,), outer)
        return Path(before, inner, () if same or last else r.indices), product


def _is_shown(node: Node) -> bool:
    """Conditions and views read best where they are used; factors stand in no formula."""
    factors = node.op.kind == "routine" and Words.of(node.op).reading is None
    return node.dtype.kind != "b" and node.op.kind != "view" and not factors


def _tidy(expression: Any, taken: set[str], indices: tuple[sp.Symbol, ...]) -> Any:
    return rename_bound(expression, taken | {i.name for i in indices})


def _equation(result: Variable, wrt: tuple[Variable, ...], right: Any) -> Equation:
    return Equation(result, wrt, right, right, None)
