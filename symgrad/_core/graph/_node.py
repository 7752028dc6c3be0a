"""Nodes: interned SymPy expressions that are never evaluated while they are built.

A node is a ``sympy.Expr`` with a shape, an element type and the user's source line. Equal
nodes are the same object (hash-consing), so identity is equality and a graph shares every
common subexpression from the start. Nodes are made with ``Basic.__new__``-like cost
(microseconds): SymPy's evaluating constructors are a hundred times slower and would change
the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import sympy as sp

from ..base.sizes import Shape, hint
from ..base.state import now
from ..op import Op, Words
from ._where import Where


class Static(sp.Atom):  # type: ignore[misc]
    """The parameters of a node (axes, permutations) as the SymPy atom among its args."""

    __slots__ = ("items",)
    items: tuple[tuple[str, Any], ...]

    def __new__(cls, items: tuple[tuple[str, Any], ...]) -> Static:
        self: Static = super().__new__(cls)
        self.items = items
        return self

    def _hashable_content(self) -> tuple[Any, ...]:
        return (self.items,)

    def _sympystr(self, printer: Any) -> str:
        return ", ".join(f"{k}={v}" for k, v in self.items)


class Node(sp.Expr):  # type: ignore[misc]
    """One value of a graph: an op applied to operands.

    Attributes
    ----------
    operands:
        The nodes it is computed from.
    items:
        Its static parameters as sorted ``(name, value)`` pairs.
    shape, dtype:
        Shape (integers and SymPy size expressions) and NumPy element type.
    where:
        The user's source line that made it, or None.
    """

    __slots__ = ("__weakref__", "dtype", "items", "operands", "shape", "where")
    op: ClassVar[Op]
    operands: tuple[Node, ...]
    items: tuple[tuple[str, Any], ...]
    shape: Shape
    dtype: np.dtype[Any]
    where: Where | None

    is_commutative = True

    @property
    def params(self) -> dict[str, Any]:
        """The static parameters as a dict."""
        return dict(self.items)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    # Interned: identity is equality, and hashing must not walk the graph.
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        # Program.save writes graphs; pickling one node would recurse over the graph.
        raise TypeError("nodes do not pickle by themselves; pickle or save their Program")

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """The SymPy symbols of the inputs that the value depends on."""
        return {n._formula([]) for n in topological([self]) if n.op.name == "Input"}

    def _formula(self, operands: Sequence[sp.Expr]) -> sp.Expr:
        form = self.op.sympy or (Words.of(self.op).reading if self.op.kind == "map" else None)
        if form is not None:
            return form(*operands, **self.params)
        statics = [sp.Symbol(f"{k}={v}") for k, v in self.items]
        name = self.op.name
        return sp.Function(name)(*operands, *statics) if operands else sp.Symbol(name)

    def as_sympy(self) -> sp.Expr:
        """Return the value as a SymPy expression; array ops appear as functions by name."""
        return as_sympy(self)

    def diff(self, *symbols: Any, **assumptions: Any) -> sp.Expr:
        """Differentiate the SymPy form; for small graphs (the compiler never calls it)."""
        by = [s.as_sympy() if isinstance(s, Node) else s for s in symbols]
        return as_sympy(self).diff(*by, **assumptions)

    def _sympystr(self, printer: Any) -> str:
        return str(printer._print(as_sympy(self)))

    def _latex(self, printer: Any, *_: Any, **__: Any) -> str:
        return str(printer._print(as_sympy(self)))

    def _pretty(self, printer: Any, *_: Any) -> Any:
        return printer._print(as_sympy(self))

    def __str__(self) -> str:
        if len(topological([self], limit=PRINT_LIMIT)) == PRINT_LIMIT:
            return f"<{self.op.name} node of a graph with {PRINT_LIMIT} or more nodes>"
        return str(sp.sstr(as_sympy(self)))

    __repr__ = __str__


PRINT_LIMIT = 400


def as_sympy(node: Node) -> sp.Expr:
    """Return ``node`` as a SymPy expression; see :meth:`Node.as_sympy`.

    Parameters
    ----------
    node:
        A value of a graph.

    Returns
    -------
    sympy.Expr
        The element formula of the value; an op without one is a SymPy function of its name.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> from symgrad.extend import as_sympy
    >>> program = sg.compile(lambda x: np.exp(2.0 * x)).program(1.0)
    >>> as_sympy(program.outputs[0])
    exp(2*x)
    """
    forms: dict[Node, sp.Expr] = {}
    for n in topological([node]):
        forms[n] = n._formula([forms[x] for x in n.operands])
    return forms[node]


def element_count(node: Node) -> int:
    """Return the number of elements in the example call."""
    count = 1
    for dim in node.shape:
        count *= hint(dim)
    return count


# ---------------------------------------------------------------- the walk


class Linked(Protocol):
    """What can be walked over; equal ones are one."""

    @property
    def operands(self) -> tuple[Any, ...]:
        """What it is computed from."""


LinkedT = TypeVar("LinkedT", bound=Linked)

#: Walks over so many nodes are kept, where the state has a place for one.
LONG = 2000


def topological(outputs: Iterable[LinkedT], limit: int | None = None) -> list[LinkedT]:
    """Return the nodes that ``outputs`` need, operands before users, without recursion.

    The order is depth-first from the first output on, so it depends on the graph alone.

    Parameters
    ----------
    outputs : iterable of Node
        The nodes to begin from.
    limit:
        The number of nodes after which the walk stops; None: it takes all.

    Returns
    -------
    list of Node
        The nodes in order.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> from symgrad.extend import topological
    >>> program = sg.compile(lambda x: np.exp(-x)).program(1.0)
    >>> [node.op.name for node in topological(program.outputs)]
    ['Input', 'Negative', 'Exp']
    """
    roots = list(outputs)
    kept = None if limit is not None else now().walked
    if kept and kept[0][0] == roots:
        return kept[0][1].copy()
    order: dict[LinkedT, None] = {}
    for root in roots:
        stack: list[LinkedT | None] = [root]
        while stack:
            node = stack.pop()
            if node is None:  # all that the node below needs is done
                node = stack.pop()
                assert node is not None
            elif node in order:
                continue
            else:
                first = 0
                for x in node.operands:
                    if x not in order:
                        if not first:
                            stack += (node, None)
                            first = len(stack)
                        stack.append(x)
                if first:
                    if len(stack) > first + 1:
                        stack[first:] = stack[: first - 1 : -1]
                    continue
            order[node] = None
            if len(order) == limit:
                break
        if len(order) == limit:
            break
    found = list(order)
    if kept is not None and len(found) >= LONG:
        kept[:] = [(roots, found.copy())]
    return found


def carrying(order: Sequence[Node], outputs: Sequence[Node]) -> list[Node]:
    """Return the nodes of ``order`` whose derivatives ``outputs`` need, the inputs too.

    Others are read aside only: factors of a matrix by what is differentiated by the matrix.
    """
    if not any(node.op.aside for node in order):
        return list(order)
    needed = set(outputs)
    for node in reversed(order):
        if node in needed:
            aside = node.op.aside
            needed.update(x for k, x in enumerate(node.operands) if k not in aside)
    return [node for node in order if node in needed]


def viewed(node: Node) -> Node:
    """Return what a view, or a view of views, is of; any other node is its own."""
    while node.op.kind == "view":
        node = node.operands[0]
    return node
