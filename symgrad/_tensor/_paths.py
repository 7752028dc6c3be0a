"""The chain rule as a sum over paths: along each path the product of its edges' derivatives.

Source: F. L. Bauer, Computational graphs and rounding error, SIAM J. Numer. Anal. 11 (1974),
87-96. The number of paths can be exponential in the number of nodes; the sum never needs
them one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.fork_safety import cached_property
from .._core.base.state import within
from .._core.graph import Input, Node, topological
from .._core.program import Program
from .._core.trace import evaluate
from .._symbolic import derivative_of
from ..errors import ArgumentError
from ._elements import Element, Elements
from ._freeze import Record
from ._origin import variables
from ._tensor import Tensor

#: More paths than this are counted and summed, but listed only on demand.
LIMIT = 1000


@dataclass(frozen=True)
class Path:
    """One way from the output down to the input.

    Attributes
    ----------
    nodes:
        The elements passed through, from the output to the input.
    edges:
        The derivative of each element by the next one, as SymPy.
    """

    nodes: tuple[Element, ...]
    edges: tuple[sp.Expr, ...]

    @property
    def product(self) -> sp.Expr:
        """What the path contributes to the derivative."""
        return sp.Mul(*self.edges)

    def __str__(self) -> str:
        steps = " -> ".join(map(str, self.nodes))
        factors = " * ".join(f"({e})" if e.is_Add or e.could_extract_minus_sign() else str(e)
                             for e in self.edges)  # fmt: skip
        return f"{steps}: {factors or '1'} = {self.product}"


class Paths:
    """All paths from an output to an input; made by :func:`paths`.

    Attributes
    ----------
    count:
        The number of paths, counted without listing them.
    """

    def __init__(
        self,
        output: Element,
        input: Element,
        values: Mapping[Any, Any],
        limit: int,
    ) -> None:
        self.output, self.input, self._values, self._limit = output, input, values, limit
        self._order = topological([output])
        self._counts: dict[Element, int] = {}
        for node in self._order:
            through = sum(self._counts[x] for x in node.operands)
            self._counts[node] = 1 if node is input else through
        self.count = self._counts[output]

    # ---------------------------------------------------------------- listing

    def __iter__(self) -> Iterator[Path]:
        """Yield the paths; operands in order.

        Raises
        ------
        ArgumentError
            If there are more than the limit.
        """
        if self.count > self._limit:
            raise ArgumentError(
                f"there are {self.count} paths from {self.output} to {self.input}, "
                f"more than limit={self._limit}: .total is their sum without listing them"
            )
        stack: list[tuple[tuple[Element, ...], tuple[sp.Expr, ...]]] = [((self.output,), ())]
        while stack:
            nodes, edges = stack.pop()
            if nodes[-1] is self.input:
                yield Path(nodes, edges)
                continue
            slopes = self._slopes(nodes[-1])
            for x, slope in reversed(list(zip(nodes[-1].operands, slopes, strict=True))):
                if slope is not None:
                    stack.append(((*nodes, x), (*edges, slope)))

    @cached_property
    def _forms(self) -> dict[Element, sp.Expr]:
        forms: dict[Element, sp.Expr] = {}
        for element in self._order:
            forms[element] = element.form([forms[x] for x in element.operands])
        return forms

    def _slopes(self, element: Element) -> list[sp.Expr | None]:
        """Return the derivative by each operand that leads to the input."""
        if not any(self._counts[x] for x in element.operands):
            return [None] * len(element.operands)
        forms = [self._forms[x] for x in element.operands]
        return [
            element.slope(k, forms) if self._counts[x] else None
            for k, x in enumerate(element.operands)
        ]

    # ---------------------------------------------------------------- the sum

    @cached_property
    def total(self) -> sp.Expr:
        """The sum of all products: the derivative. Computed without listing the paths."""
        adjoint: dict[Element, sp.Expr] = {self.output: sp.Integer(1)}
        for node in reversed(self._order):
            if node not in adjoint or node is self.input:
                continue
            for x, slope in zip(node.operands, self._slopes(node), strict=True):
                if slope is not None:
                    adjoint[x] = adjoint.get(x, sp.Integer(0)) + adjoint[node] * slope
        return adjoint.get(self.input, sp.Integer(0))

    @property
    def value(self) -> Any:
        """The sum at the given numbers, which tensors have."""
        symbols = self.total.free_symbols
        missing = sorted(str(s) for s in symbols - set(self._values))
        if missing:
            raise ArgumentError(f"no numbers are known for {', '.join(missing)}")
        return np.asarray(evaluate(self.total, self._values), np.float64)[()]

    @cached_property
    def formula(self) -> sp.Expr:
        """The output as a formula."""
        return self._forms[self.output]

    @cached_property
    def expanded(self) -> sp.Expr:
        """The output multiplied out."""
        return sp.expand(self.formula)

    @cached_property
    def derivative(self) -> sp.Expr:
        """The derivative of the expanded formula, in one step."""
        return derivative_of(self.expanded, self._forms[self.input])

    @property
    def agrees(self) -> bool:
        """Whether SymPy shows that the sum over paths equals that derivative."""
        return bool(sp.simplify(self.total - self.derivative) == 0)

    def __str__(self) -> str:
        many = "1 path" if self.count == 1 else f"{self.count} paths"
        lines = [f"{many} to {self.input}"]
        if self.count <= min(self._limit, 100):
            lines += [f"  {path}" for path in self]
        lines.append(f"sum: {self.total}")
        if self.total.free_symbols <= set(self._values):
            lines.append(f"value: {self.value:g}" if np.ndim(self.value) == 0
                         else f"value: {self.value}")  # fmt: skip
        return "\n".join(lines)

    __repr__ = __str__


def paths(
    output: Tensor | Program | Node,
    input: Any,
    *,
    index: Any = (),
    limit: int = LIMIT,
    **names: Tensor,
) -> Paths:
    """Return the chain rule as a sum over all paths from an output to an input.

    Parameters
    ----------
    output:
        A tensor, a :class:`Program` with one output, or a node of a graph: of one element.
    input : Tensor or Input or str
        A leaf tensor; for programs and nodes an input node or its name.
    index : int or tuple of int
        Which element of the input; needed if it has several.
    limit:
        How many paths may be listed; counting and summing need no listing.
    **names:
        Leaf tensors by the names they get; others have their ``name``, or that of the variable
        that holds them where ``paths`` is called, or ``x0``, ... .

    Returns
    -------
    Paths
        Iterate over it for the paths; ``.count``, ``.total`` (their sum), ``.value``,
        ``.derivative`` (of the expanded formula) and ``.agrees``. It prints as a table.

    Raises
    ------
    ArgumentError
        If the input does not belong to the output's computation; when listing, if there
        are more paths than ``limit``.
    UnsupportedError
        If a path leads through an op whose operands depend on values, or that is too large.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> x1, x2, w2, w3 = (sg.tensor(float(v)) for v in (1, 2, 2, 3))
    >>> w1 = sg.tensor(1.0, requires_grad=True)
    >>> L = 1 - (w2 * (w1 * x1) + w3 * (w1 * x2))
    >>> sg.paths(L, w1)
    2 paths to w1
      Subtract -> Add -> Multiply -> Multiply -> w1: (-1) * 1 * w2 * x1 = -w2*x1
      Subtract -> Add -> Multiply -> Multiply -> w1: (-1) * 1 * w3 * x2 = -w3*x2
    sum: -w2*x1 - w3*x2
    value: -8

    Through arrays the paths are those of single elements:

    >>> a = sg.tensor([0.5, 1.0], requires_grad=True)
    >>> sg.paths((np.sin(a) + np.cos(a)).sum(), a, index=1)
    2 paths to a[1]
      Sum -> Add[1] -> Sin[1] -> a[1]: 1 * 1 * cos(a[1]) = cos(a[1])
      Sum -> Add[1] -> Cos[1] -> a[1]: 1 * 1 * (-sin(a[1])) = -sin(a[1])
    sum: -sin(a[1]) + cos(a[1])
    value: -0.301169
    """
    if isinstance(output, Tensor):
        return _of_tensor(output, input, index, limit, names)
    if isinstance(output, Program):
        if len(output.outputs) != 1:
            raise ArgumentError("the program has several outputs: pass one of program.outputs")
        inputs = {n.name: n for n in output.inputs}
        node = output.outputs[0]
    elif isinstance(output, Node):
        node = output
        inputs = {n.name: n for n in topological([output]) if isinstance(n, Input)}
    else:
        raise ArgumentError(f"paths are of a tensor, program or node, not {type(output).__name__}")
    chosen = inputs.get(input) if isinstance(input, str) else input
    if not isinstance(chosen, Input) or chosen not in inputs.values():
        raise ArgumentError(f"{input!r} is none of the inputs {', '.join(inputs)}")
    graph = Elements()
    return Paths(_one(graph, node), _chosen(graph, chosen, index), {}, limit)


def _one(graph: Elements, node: Node) -> Element:
    if any(size != 1 for size in node.shape):
        raise ArgumentError(
            f"paths lead from one number, and the output has shape {node.shape}: select an "
            "element, t[0], or sum them"
        )
    return graph.at(node, (0,) * len(node.shape))


def _chosen(graph: Elements, node: Input, index: Any) -> Element:
    """Return the element of an input that is asked for."""
    places = index if isinstance(index, tuple) else (index,)
    if not places and all(size == 1 for size in node.shape):
        places = (0,) * len(node.shape)
    if len(places) != len(node.shape):
        raise ArgumentError(
            f"{node.name} has shape {node.shape}: say by which element, as in "
            f"index={(0,) * len(node.shape) if len(node.shape) > 1 else 0}"
        )
    try:
        places = tuple(range(n)[i] for i, n in zip(places, node.shape, strict=True))
    except IndexError:
        raise ArgumentError(f"{node.name} of shape {node.shape} has no element {index}") from None
    return graph.at(node, places)


def _called(output: Tensor, names: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return leaf tensors by name: those given, and those without one by their variables."""
    leaves = list(Record(output, names).inputs.values())
    named = {id(leaf) for leaf in leaves if leaf.name is not None}
    named |= {id(leaf) for leaf in names.values()}
    taken = {*names, *(leaf.name for leaf in leaves)}
    found = dict(names)
    for name, value in variables().items():
        if id(value) in named or name in taken or not any(value is leaf for leaf in leaves):
            continue
        named.add(id(value))
        found[name] = value
    return found


def _of_tensor(
    output: Tensor, input: Any, index: Any, limit: int, names: Mapping[str, Tensor]
) -> Paths:
    names = _called(output, names)
    record = Record(output, names)
    found = [name for name, leaf in record.inputs.items() if leaf is input]
    if not found:
        raise ArgumentError("the input is no leaf tensor that the output depends on")
    with within(reading="derivation"):
        frozen = record.program()
    inputs = {n.name: n for n in frozen.inputs}
    graph = Elements()
    values = {
        graph.at(inputs[name], place).symbol: leaf._data[place]
        for name, leaf in record.inputs.items()
        for place in np.ndindex(leaf.shape)
    }
    chosen = _chosen(graph, inputs[found[0]], index)
    return Paths(_one(graph, frozen.outputs[0]), chosen, values, limit)
