"""Taylor mode: a pass that carries power series along with the values of a graph.

A series is a list of coefficients, ``x(s) = x[0] + x[1]*s + x[2]*s**2 + ...``, the first of which
is the value. Linear ops act on each coefficient, products convolve, quotients and roots have
recurrences of their own (the facet ``Recurrence``). Every other map follows from its slopes, which
are nodes with series as well: ``y' = slope * x'``, by coefficients ``k*y[k] = sum(j * x[j] *
slope[k-j])``. Of exp, sin or tanh the slopes are made of nodes that are there already; where they
are not (gamma functions), each order needs one more, and no slope is asked for further than that.

Sources: A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 13; J.
Bettencourt, M. J. Johnson, D. Duvenaud, Taylor-mode automatic differentiation for higher-order
derivatives in JAX, 2019.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ..base.state import at, within
from ..graph import Node
from ..op import PROJECTIONS, Bodied, Contract, Map, Op, Products, Recurrence, Reduce
from ..ops.series import added, convolved
from ..rewrite import number_of
from ..trace import Traced, as_node, partials
from .forward import fitted
from .guards import only


class Series:
    """The series of some nodes of a graph, which grow by one order at a time.

    Parameters
    ----------
    outputs:
        Nodes whose series are wanted.
    inputs:
        Nodes whose series are given.
    order:
        The last order that will be asked for.

    Attributes
    ----------
    smooth:
        Whether nothing on the way is piecewise: no comparison, no rounding, no choice.

    Raises
    ------
    UnsupportedError
        Where an op on the way has no rule for series.
    """

    def __init__(self, outputs: Sequence[Node], inputs: Sequence[Node], order: int) -> None:
        self._outputs, self._inputs, self._order = outputs, inputs, order
        self.smooth = True
        self._moves = dict.fromkeys(inputs, True)
        self._slopes: dict[Node, list[Any]] = {}
        self._formulas: dict[Node, Node] = {}
        self._series: dict[Node, list[Any]] = {x: [Traced(x)] for x in inputs}
        with within():
            self._needed = self._plan()
            self._sequence = self._in_turn()
        for node in self._sequence:
            self._series[node] = [Traced(node)]

    def extend(self, given: Sequence[Node | None]) -> list[Node | None]:
        """Take the next coefficients of the inputs, and return those of the outputs.

        None stands for zero.
        """
        for x, coefficient in zip(self._inputs, given, strict=True):
            self._series[x].append(None if coefficient is None else Traced(coefficient))
        k = len(self._series[self._inputs[0]]) - 1
        with within():
            for node in self._sequence:
                if self._needed[node] >= k:
                    at(node.where)
                    found = self._coefficient(node, k)
                    if found is not None:
                        found = Traced(fitted(as_node(found), node))
                    self._series[node].append(found)
        return [self._at(x, k) for x in self._outputs]

    def _at(self, node: Node, k: int) -> Node | None:
        known = self._series.get(node)
        return None if known is None or known[k] is None else known[k].node

    # ------------------------------------------------------------------ what is needed

    def _moving(self, node: Node) -> bool:
        """Tell whether a node has a series, or is a constant."""
        stack = [node]
        while stack:
            x = stack[-1]
            unknown = [] if x in self._moves else [y for y in x.operands if y not in self._moves]
            stack.extend(unknown)
            if not unknown:
                stack.pop()
                if x not in self._moves:
                    moving = any(self._moves[y] for y in x.operands)
                    inner = x.op.kind in PROJECTIONS or isinstance(x.op, Bodied)
                    # Whole numbers and truth values are piecewise constant.
                    known = inner or (x.dtype.kind == "f" and x.op.differentiable)
                    self._moves[x] = moving and known
                    if moving and (not self._moves[x] or x.op.taken is not None):
                        self.smooth = False
        return self._moves[node]

    def _plan(self) -> dict[Node, int]:
        """Return up to which order each series is needed; find slopes and formulas on the way."""
        needed: dict[Node, int] = {}
        stack = [(node, self._order) for node in self._outputs]
        while stack:
            node, order = stack.pop()
            if order <= needed.get(node, 0) or not self._moving(node):
                continue
            needed[node] = order
            if node in self._inputs:
                continue
            at(node.where)
            if node.op.kind in PROJECTIONS or isinstance(node.op, Bodied):
                raise self._refused(node)
            aside = node.op.aside
            stack.extend((x, order) for k, x in enumerate(node.operands) if k not in aside)
            if _by_slopes(node.op):
                self._add_slopes(node)
                slopes = (x.node for x in self._slopes[node] if isinstance(x, Traced))
                stack.extend((x, order - 1) for x in slopes)
            elif (formula := self._formula(node)) is not None:
                stack.append((formula, order))
        return needed

    def _add_slopes(self, node: Node) -> None:
        if node not in self._slopes:
            xs = [Traced(x) for x in node.operands]
            self._slopes[node] = list(partials(node.op, Traced(node), xs, node.params))

    def _formula(self, node: Node) -> Node | None:
        rule = Recurrence.of(node.op)
        if node not in self._formulas and rule.formula is not None:
            moving = [self._moving(x) for x in node.operands]
            numbers = [number_of(x) for x in node.operands]
            xs = [
                Traced(x) if n is None else n for x, n in zip(node.operands, numbers, strict=True)
            ]
            found = rule.formula(moving, *xs, **node.params)
            if found is not None:
                self._formulas[node] = fitted(as_node(found), node)
        return self._formulas.get(node)

    def _in_turn(self) -> list[Node]:
        """Return the nodes, each after those whose coefficients of the same order it reads."""
        done = set(self._inputs)
        order: list[Node] = []
        for root in self._needed:
            stack = [root]
            while stack:
                node = stack[-1]
                before = () if node in done else self._reads(node)
                waiting = [x for x in before if x not in done]
                stack.extend(waiting)
                if not waiting:
                    stack.pop()
                    if node not in done:
                        done.add(node)
                        order.append(node)
        return order

    def _reads(self, node: Node) -> Iterable[Node]:
        formula = self._formulas.get(node)
        read = node.operands if formula is None else (formula,)
        return [x for x in read if x in self._needed]

    # ------------------------------------------------------------------ coefficients

    def _of(self, node: Node, k: int) -> list[Any]:
        """Return the coefficients of a node up to order ``k``."""
        known = self._series.get(node)
        return [Traced(node), *(None,) * k] if known is None else known[: k + 1]

    def _coefficient(self, node: Node, k: int) -> Any:
        """Return coefficient ``k`` of a node, None for zero."""
        op = node.op
        if node in self._formulas:
            return self._of(self._formulas[node], k)[k]  # of a constant, x**0, it is zero
        xs = [self._of(x, k) for x in node.operands]
        if (rule := Recurrence.of(op).coefficient) is not None:
            return rule(k, self._series[node], *xs, **node.params)
        if op.linear is not None:
            return _linear(op, xs, k, node)
        if isinstance(op, Map):
            return self._by_slopes(node, xs, k)
        if isinstance(op, Contract):
            return convolved(xs[0], xs[1], k, lambda x, y: op(x, y, **node.params))
        if isinstance(op, Reduce) and op.taken is not None:  # one of its elements
            assert isinstance(op.rule, Products)
            moved = [xs[0][k]]
            if moved[0] is None:
                return None
            return op.rule.jvp(moved, Traced(node), xs[0][0], **node.params)
        raise self._refused(node)

    def _refused(self, node: Node) -> UnsupportedError:
        inner = node.op.kind in PROJECTIONS or isinstance(node.op, Bodied)
        what = "loops, branches and custom rules" if inner else f"the op {node.op.name}"
        return UnsupportedError(
            f"{node.where}: power series do not go through {what}: take derivatives one after the "
            'other (sg.jvp of sg.jvp), or solve equations by method="DOP853"'
        )

    def _by_slopes(self, node: Node, xs: Sequence[list[Any]], k: int) -> Any:
        op, params = node.op, node.params
        values = [x[0] for x in xs]
        own: Sequence[Any] = [None] * len(xs)
        if op.taken is not None:
            own = op.taken(self._series[node][0], *values, **params)
        terms: list[Any] = []
        for x, slope, condition in zip(xs, self._slopes[node], own, strict=True):
            if slope is None or (isinstance(slope, (int, float)) and slope == 0):
                continue
            term = _steady(x[k], slope)
            if isinstance(slope, Traced) and slope.node in self._needed:
                # Interned: j times a coefficient is the same node in every order.
                weighted = [None if a is None else a * j if j > 1 else a for j, a in enumerate(x)]
                slopes = [*self._of(slope.node, k - 1), None]
                term = convolved([None, *weighted[1:]], slopes, k)
                term = term if term is None or k == 1 else term / k
            if term is not None:
                terms.append(term if condition is None else only(condition, term))
        return added(terms)


def _steady(x: Any, slope: Any) -> Any:
    """Return the product of a coefficient and a constant slope."""
    if x is None or (isinstance(slope, (int, float)) and slope == 1):
        return x
    return -x if isinstance(slope, (int, float)) and slope == -1 else x * slope


def _by_slopes(op: Op) -> bool:
    known = Recurrence.of(op)
    return isinstance(op, Map) and op.linear is None and known == Recurrence()


def _linear(op: Op, xs: Sequence[list[Any]], k: int, node: Node) -> Any:
    assert op.linear is not None
    places = op.linear.places(len(xs))
    if all(xs[i][k] is None for i in places):
        return None
    operands = [
        x[0] if i not in places else np.zeros_like(x[0]) if x[k] is None else x[k]
        for i, x in enumerate(xs)
    ]
    return op(*operands, **node.params)
