"""Nodes: interned SymPy expressions that are never evaluated while they are built.

A node is a ``sympy.Expr`` with a shape, an element type and the user's source line. Equal
nodes are the same object (hash-consing), so identity is equality and a graph shares every
common subexpression from the start. Nodes are made with ``Basic.__new__``-like cost
(microseconds): SymPy's evaluating constructors are a hundred times slower and would change
the program.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import sympy as sp

from .._op import Op
from .._shapes import Dimension, Shape, hint
from ._where import Where, user_line


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


def _leaf(name: str) -> Op:
    def evaluate(*_: Any, **__: Any) -> Any:
        raise TypeError(f"{name} is a leaf and has no operands to compute from")

    return Op(name=name, kind="leaf", evaluate=evaluate, reason="a leaf")


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
        return {n.symbol for n in topological([self]) if isinstance(n, Input)}

    def as_sympy(self) -> sp.Expr:
        """Return the value as a SymPy expression; array ops appear as functions by name."""
        return as_sympy(self)

    def diff(self, *symbols: Any, **assumptions: Any) -> sp.Expr:
        """Differentiate the SymPy form; for small graphs (the compiler never calls it)."""
        return as_sympy(self).diff(*(_as_symbol(s) for s in symbols), **assumptions)

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


def _as_symbol(symbol: Any) -> Any:
    return symbol.symbol if isinstance(symbol, Input) else symbol


# ---------------------------------------------------------------- interning


_table: dict[Any, weakref.ref[Node]] = {}
_lock = threading.RLock()  # re-entrant: the collector may free nodes while it is held


class _Made(threading.local):
    nodes: set[Node] | None = None
    steps: dict[Node, int] | None = None


_made = _Made()


@contextlib.contextmanager
def recording_nodes() -> Iterator[set[Node]]:
    """Collect the nodes that are made in the block, and were not there before."""
    outer, found = _made.nodes, set[Node]()
    _made.nodes = found
    try:
        yield found
    finally:
        _made.nodes = outer
        if outer is not None:
            outer |= found


@contextlib.contextmanager
def unrecorded() -> Iterator[None]:
    """Leave the nodes that are made in the block out of what is collected around it."""
    before = _made.nodes
    _made.nodes = None
    try:
        yield
    finally:
        _made.nodes = before


@contextlib.contextmanager
def apart(wanted: bool = True) -> Iterator[None]:
    """Make every step in the block a node of its own, numbered, though an equal one exists.

    Equal steps of a program are one node, and one cotangent; on eager tensors each has its own.
    """
    before = _made.steps
    _made.steps = (before if before is not None else {}) if wanted else None
    try:
        yield
    finally:
        _made.steps = before


def step_numbers() -> dict[Node, int] | None:
    """Return the numbers of the steps made apart so far; None outside of :func:`apart`."""
    return _made.steps


def shared(outputs: Sequence[Node]) -> list[Node]:
    """Return ``outputs`` with steps that were made apart as one where they are equal."""
    done = merged(topological(outputs))
    return [done[x] for x in outputs]


def merged(order: Sequence[Node]) -> dict[Node, Node]:
    """Return for each node of ``order`` the one that stands for all that are equal."""
    done: dict[Node, Node] = {}
    with apart(False):
        for node in order:
            if node.op.kind == "leaf":
                done[node] = node
                continue
            operands = tuple([done[x] for x in node.operands])
            key = (node.op, node.items, *map(id, operands))
            done[node] = _intern(
                key,
                lambda n=node, xs=operands: _copied(n, xs),  # type: ignore[misc]
            )
    return done


def _copied(node: Node, operands: tuple[Node, ...]) -> Node:
    if operands == node.operands:
        return node
    made = _new(type(node), operands, node.items, node.shape, node.dtype)
    made.where = node.where
    return made


class _Entry(weakref.ref):  # type: ignore[type-arg]
    __slots__ = ("key",)
    key: Any


def _forget(entry: _Entry) -> None:
    with _lock:
        if _table.get(entry.key) is entry:
            del _table[entry.key]


def _intern(key: Any, make: Callable[[], Node]) -> Node:
    entry = _table.get(key)
    if entry is not None:
        known = entry()
        if known is not None:
            return known
    return _entered(key, make())


def _entered(key: Any, node: Node) -> Node:
    """Return the node of ``key``: ``node``, unless another thread has made one meanwhile."""
    fresh = _Entry(node, _forget)
    fresh.key = key
    entry = _table.setdefault(key, fresh)
    if entry is not fresh:  # another thread's, or that of a node which is just being freed
        with _lock:
            known = _table[key]() if key in _table else None
            if known is not None:
                return known
            _table[key] = fresh
    if _made.nodes is not None:
        _made.nodes.add(node)
    return node


def _new(
    cls: type[Node],
    operands: tuple[Node, ...],
    items: tuple[tuple[str, Any], ...],
    shape: Shape,
    dtype: np.dtype[Any],
) -> Node:
    node: Node = object.__new__(cls)
    node._assumptions = cls.default_assumptions
    node._mhash = None
    node._args = (*operands, Static(items)) if items else operands
    node.operands, node.items = operands, items
    node.shape, node.dtype, node.where = shape, dtype, user_line()
    return node


_classes: dict[Op, type[Node]] = {}


def node_class(op: Op) -> type[Node]:
    """Return the class of the nodes of ``op``, named after it."""
    cls = _classes.get(op)
    if cls is None:
        with _lock:
            if op not in _classes:
                _classes[op] = type(op.name, (Node,), {"__slots__": (), "op": op})
            cls = _classes[op]
    return cls


def apply(
    op: Op,
    operands: tuple[Node, ...],
    items: tuple[tuple[str, Any], ...],
    shape: Shape,
    dtype: np.dtype[Any],
) -> Node:
    """Return the interned node of ``op`` applied to ``operands``."""
    steps = _made.steps
    if steps is not None:
        made = _new(node_class(op), operands, items, shape, dtype)
        steps[made] = len(steps)
        if _made.nodes is not None:
            _made.nodes.add(made)
        return made
    key = (op, items, *map(id, operands))
    entry = _table.get(key)
    if entry is not None:
        node = entry()
        if node is not None:
            return node
    return _entered(key, _new(node_class(op), operands, items, shape, dtype))


# ---------------------------------------------------------------- leaves


class Input(Node):
    """An argument of the traced function. Each is distinct, whatever its name.

    ``dim`` is the size symbol that the argument gives the value of, if it is a size.
    """

    __slots__ = ("dim", "name")
    op = _leaf("Input")
    name: str
    dim: sp.Symbol | None

    def __new__(cls, name: str, shape: Shape, dtype: Any, dim: sp.Symbol | None = None) -> Input:
        self: Input = _new(cls, (), (), shape, np.dtype(dtype))
        self.name, self.dim, self.where = name, dim, None
        return self

    @property
    def symbol(self) -> sp.Symbol:
        """The input as a SymPy symbol."""
        kind = self.dtype.kind
        return sp.Symbol(self.name, real=True) if kind == "f" else sp.Symbol(self.name)


class Literal(Node):
    """A number written in the function, of a definite element type."""

    __slots__ = ("value",)
    op = _leaf("Literal")
    value: Any

    def __new__(cls, value: Any, dtype: Any) -> Literal:
        dtype = np.dtype(dtype)
        scalar = np.asarray(value).astype(dtype)[()]

        def make() -> Node:
            self: Literal = _new(cls, (), (), (), dtype)
            self.value = scalar
            return self

        # Bytes tell 0.0 from -0.0 and keep nan equal to itself.
        return _intern((cls, dtype, scalar.tobytes()), make)


class Constant(Node):
    """An array that the function closes over; copied, so later writes do not reach it."""

    __slots__ = ("array", "digest")
    op = _leaf("Constant")
    array: np.ndarray[Any, Any]
    digest: str

    def __new__(cls, array: np.ndarray[Any, Any]) -> Constant:
        array = np.array(array, order="C", copy=True)
        array.flags.writeable = False
        digest = hashlib.sha256(array.tobytes()).hexdigest()[:32]

        def make() -> Node:
            self: Constant = _new(cls, (), (), array.shape, array.dtype)
            self.array, self.digest = array, digest
            return self

        return _intern((cls, array.dtype.str, array.shape, digest), make)


class SizeOf(Node):
    """A symbolic size as a number in the computation."""

    __slots__ = ("size",)
    op = _leaf("SizeOf")
    size: Dimension

    def __new__(cls, size: Dimension, dtype: Any = np.int64) -> SizeOf:
        def make() -> Node:
            self: SizeOf = _new(cls, (), (), (), np.dtype(dtype))
            self.size = size
            return self

        return _intern((cls, size, np.dtype(dtype)), make)


class Iota(Node):
    """The integers ``0, 1, ..., size - 1``."""

    __slots__ = ("size",)
    op = _leaf("Iota")
    size: Dimension

    def __new__(cls, size: Dimension) -> Iota:
        def make() -> Node:
            self: Iota = _new(cls, (), (), (size,), np.dtype(np.int64))
            self.size = size
            return self

        return _intern((cls, size), make)


# ---------------------------------------------------------------- walks


def topological(outputs: Iterable[Node], limit: int | None = None) -> list[Node]:
    """Return the nodes that ``outputs`` need, operands before users, without recursion.

    The order is depth-first from the first output on, so it depends on the graph alone.
    With ``limit`` the walk stops after that many nodes.
    """
    order: dict[Node, None] = {}
    for root in outputs:
        stack: list[Node | None] = [root]
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
    return list(order)


def as_sympy(node: Node) -> sp.Expr:
    """Return ``node`` as a SymPy expression; see :meth:`Node.as_sympy`."""
    forms: dict[Node, sp.Expr] = {}
    for n in topological([node]):
        forms[n] = _form(n, [forms[x] for x in n.operands])
    return forms[node]


def _form(node: Node, operands: list[sp.Expr]) -> sp.Expr:
    if isinstance(node, Input):
        return node.symbol
    if isinstance(node, Literal):
        return literal_form(node.value)
    if isinstance(node, SizeOf):
        return sp.sympify(node.size)
    if node.op.sympy is not None:
        return node.op.sympy(*operands, **node.params)
    name = node.op.name if not isinstance(node, Constant) else f"c{node.digest[:4]}"
    statics = [sp.Symbol(f"{k}={v}") for k, v in node.items]
    return sp.Function(name)(*operands, *statics) if operands else sp.Symbol(name)


def literal_form(value: Any) -> sp.Expr:
    """Return the exact SymPy number of a NumPy scalar: integers stay integers."""
    if isinstance(value, np.bool_):
        return sp.true if value else sp.false
    number = value.item()
    if isinstance(number, int):
        return sp.Integer(number)
    if number != number:
        return sp.nan
    if number in (float("inf"), float("-inf")):
        return sp.oo if number > 0 else -sp.oo
    if float(number).is_integer() and abs(number) < 2**53:
        return sp.Integer(int(number))
    # The shortest decimal for people; the oracle reads the exact binary value itself.
    return sp.Float(number)


def element_count(node: Node) -> int:
    """Return the number of elements in the example call."""
    count = 1
    for dim in node.shape:
        count *= hint(dim)
    return count
