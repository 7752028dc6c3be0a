"""Where a derivative can differ from zero, as its form says: zeros that do not move.

A product ``0*inf`` in a chain rule is 0 where the zero is a constant of the chain, and not
known where it is a value of the chain. In ``np.sum(np.sqrt(x)[1:])`` nothing but ``x[1:]``
reaches the result: the cotangent of the root is 0 at its first element for every ``x``, and so
is the derivative there, whatever ``0.5/sqrt(x[0])`` is. In ``np.sqrt(x)**2`` at 0 the cotangent
``2*sqrt(x)`` is 0 by its value; it moves with ``x``, and the derivative is 1.

So a zero counts if what it is made of does not depend on what is differentiated by: elements
that a slice or a gather leaves out, zeros of a constant mask or of weights, the other elements
of a unit vector. A derivative is then held at 0 by the op ``Reached``, where it is multiplied
by a partial derivative that may be infinite; everywhere else the product is 0 already. Which
may be is told by the domains in the records. A seed may be a value of a chain that goes on
elsewhere (in the body of a loop, in a product with a vector of the user's), so it is taken for
one unless the caller says that it is fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from ..base.sizes import dim_expand, dim_product
from ..graph import Constant, Literal, Node, SizeOf, bodies, topological, viewed
from ..op import PROJECTIONS, Bodied, Map, Op, Zeros, registry
from ..trace import Traced, as_node

#: What says nothing of an element: it can differ from zero.
EVERYWHERE = None

#: So many steps of the argument of a root, at most, are looked at for factors that are data.
_STEPS = 6


def differentiable(op: Op) -> bool:
    """Tell whether derivatives flow through ``op`` at all."""
    return op.kind in PROJECTIONS or op.differentiable


def dependents(
    order: Sequence[Node], wrt: Sequence[Node], constants: Collection[Node] = ()
) -> set[Node]:
    """Return the real-valued nodes of ``order`` through which derivatives to ``wrt`` flow."""
    found = set(wrt)
    for node in order:
        if node in constants:
            continue
        if (
            (node.dtype.kind == "f" or isinstance(node.op, Bodied))
            and not found.isdisjoint(node.operands)
            and differentiable(node.op)
        ):
            found.add(node)
    return found


def edges(order: Iterable[Node]) -> set[Node]:
    """Return the real maps and loops whose derivatives may be infinite, and all behind them."""
    found: set[Node] = set()
    for node in order:
        if not found.isdisjoint(node.operands) or has_edge(node):
            found.add(node)
    return found


def has_edge(node: Node) -> bool:
    """Tell whether a derivative of a map may be infinite, or one of a loop's or branch's steps."""
    if isinstance(node.op, Map):
        return node.dtype.kind == "f" and is_edgy(node)
    return isinstance(node.op, Bodied) and any(
        has_edge(x) for body in bodies(node) for x in topological(body.outputs)
    )


def is_edgy(node: Node) -> bool:
    """Tell whether a map is undefined somewhere, or has no derivative there."""
    assert isinstance(node.op, Map)
    return any(
        edge and not isinstance(x, Literal)
        for x, edge in zip(node.operands, node.op.edges, strict=False)
    )


class Support:
    """Where the cotangents or tangents of one pass can differ from zero.

    Parameters
    ----------
    order:
        The graph that is differentiated.
    active:
        Its nodes that depend on what is differentiated by.
    seeds:
        Cotangents or tangents that are given and may be values of a chain.
    """

    def __init__(
        self, order: Sequence[Node], active: Collection[Node], seeds: Iterable[Node | None]
    ) -> None:
        self._edges = edges(order)
        self._graph, self._active = frozenset(order), active
        self._moves = {x: True for x in seeds if x is not None and not isinstance(x, Literal)}
        self._known: dict[bool, dict[Node, Node | None]] = {False: {}, True: {}}
        self._tame: set[Node] = set()
        self._apart: dict[Node, bool] = {}

    def product(self, node: Node, derivative: Node, partial: Any, product: Any) -> Any:
        """Return the product of a derivative and a partial one of ``node``, 0 where it stays 0.

        Parameters
        ----------
        node:
            The step of the graph.
        derivative:
            The cotangent of its result, or the tangent of an operand.
        partial:
            Its derivative with respect to that operand.
        product:
            The product of the two, a traced value.
        """
        if not self._edges or partial is None:
            return product
        if not isinstance(partial, Traced) and isinstance(partial, (int, float)):
            return product
        where = self._where(derivative) if node in self._edges else EVERYWHERE
        where = _both(where, self._of_argument(node))
        other = self.of_constant(partial)
        if other is not EVERYWHERE and self._may_be_infinite(derivative):
            where = _both(where, other)
        return product if where is EVERYWHERE else held(product, where)

    def _of_argument(self, node: Node) -> Node | None:
        """Return where the argument of a map moves whose derivative may be infinite.

        A product with data is 0 for good where the data are: ``sqrt(d2/s)`` by ``s``, of squared
        distances ``d2`` some of which are 0.
        """
        if not isinstance(node.op, Map) or not is_edgy(node):
            return EVERYWHERE
        moving = [
            (x, edge) for x, edge in zip(node.operands, node.op.edges, strict=False)
            if x.dtype.kind == "f" and self.moves(x)
        ]  # fmt: skip
        if len(moving) != 1 or not moving[0][1]:
            return EVERYWHERE
        return self._beside_data(moving[0][0], _STEPS)

    def _beside_data(self, x: Node, left: int) -> Node | None:
        """Return where a value is not 0 by a factor that is data, of a few steps."""
        if not self.moves(x):
            return self._of_leaf(x)
        op = x.op
        told = op.linear if op.kind in ("reduce", "view") else op.kind == "map" and _zeros(x)
        # What a condition selects is 0 for the values of now.
        if not told or not left or any(y.dtype.kind != "f" for y in x.operands):
            return EVERYWHERE
        masks = [self._beside_data(y, left - 1) for y in x.operands]
        if all(m is EVERYWHERE for m in masks):
            return EVERYWHERE
        return self._of_parts(x, masks, fixed=False)

    def past(
        self, node: Node, derivative: Node, products: Sequence[Any],
        spread: Callable[[Any], Sequence[Any]] | None = None,
    ) -> Sequence[Any]:  # fmt: skip
        """Return the products with the derivatives of a whole formula, 0 where they stay 0.

        ``spread(mask)`` says where those of operands can differ from zero; None: where the
        derivative can.
        """
        where = self._where(derivative) if node in self._edges else EVERYWHERE
        if where is EVERYWHERE:
            return products
        if spread is None:
            masks: Sequence[Any] = [Traced(where)] * len(products)
        else:
            masks = spread(np.broadcast_to(Traced(where), Traced(derivative).shape))
        return [
            x if mask is None else held(x, as_node(mask))
            for x, mask in zip(products, masks, strict=True)
        ]

    def past_zeros(self, node: Node, tangents: Sequence[Any]) -> Sequence[Any]:
        """Return the tangents of a sum of products, 0 where the other factor stays 0."""
        if not self._edges or node.op.kind != "contract":
            return tangents
        changed = list(tangents)
        for k, t in enumerate(tangents):
            if t is not None and self._may_be_infinite(as_node(t)):
                where = self._beside(node, 1 - k)
                changed[k] = t if where is EVERYWHERE else held(t, where)
        return changed

    def _beside(self, node: Node, k: int) -> Node | None:
        """Return where the other factor of a sum of products meets one that stays 0 nowhere."""
        own, labels = node.params["ab"[k]], node.params["ba"[k]]
        if isinstance(node.operands[k], Constant):
            return _not_all_zeros(node, k, labels, node.operands[1 - k])
        where = self._where(node.operands[k]) if {*own} == {*labels} else EVERYWHERE
        if where is EVERYWHERE:
            return EVERYWHERE
        whole = np.broadcast_to(Traced(where), Traced(node.operands[k]).shape)
        return as_node(np.transpose(whole, [own.index(label) for label in labels]))

    def vanishes(self, node: Node, derivative: Node) -> bool:
        """Tell whether the derivative of a formula's operand is 0 somewhere for good."""
        return node in self._edges and self._where(derivative) is not EVERYWHERE

    def around(self, node: Node, derivative: Node) -> Node | None:
        """Return where the derivative of a loop's result counts; None: everywhere.

        The zeros must be constants of the program, and the steps of the loop elementwise, with an
        op that is undefined somewhere. Other loops move zeros, and a zero that is a weight has a
        derivative, which the selection in a loop would cut off.
        """
        if node not in self._apart:  # once for all results of a loop
            self._apart[node] = bool(self._graph) and _is_elementwise_loop(node)
        if not self._apart[node]:
            return EVERYWHERE
        where = self._where(derivative)
        if where is not EVERYWHERE and not _is_constant(where):
            where = self._where(derivative, fixed=True)
        return where

    def moves(self, node: Node) -> bool:
        """Tell whether a value depends on what is differentiated by; truth values never do."""
        known = self._moves
        stack = [node]
        while stack:
            x = stack[-1]
            if x in known:
                stack.pop()
                continue
            if x in self._graph:
                known[x] = x in self._active
                continue
            if not x.operands or not _flows(x):
                known[x] = False
                continue
            rest = [y for y in x.operands if y not in known]
            if not rest or True in map(known.get, x.operands):
                known[x] = True in map(known.get, x.operands)
            else:
                stack.append(rest[-1])
        return known[node]

    def selects(self, condition: Node) -> bool:
        """Tell whether a condition is made of values that depend on what is differentiated by."""
        stack, seen = [condition], set()
        while stack:
            x = stack.pop()
            if x.dtype.kind == "f":
                if self.moves(x):
                    return True
            elif x not in seen:
                seen.add(x)
                stack.extend(x.operands)
        return False

    # ---------------------------------------------------------------- the form

    def _where(self, node: Node, fixed: bool = False) -> Node | None:
        """Return where a value can differ from zero for good; None: everywhere.

        ``fixed``: by zeros alone that are constants of the program.
        """
        known = self._known[fixed]
        stack = [node]
        while stack:
            x = stack[-1]
            if x in known:
                stack.pop()
                continue
            parts = self._parts(x)
            rest = [y for y in parts if y not in known]
            if rest:
                stack.extend(reversed(rest))
                continue
            where = self._combined(x, [known[y] for y in parts], fixed)
            apart = fixed and where is not EVERYWHERE and not _is_constant(where)
            known[x] = EVERYWHERE if apart else where
        return known[node]

    def _parts(self, x: Node) -> tuple[Node, ...]:
        """Return the operands on whose zeros those of a value depend."""
        op = x.op
        if not x.operands or x.dtype.kind != "f":
            return ()
        if x in self._graph and op.kind != "map" and not isinstance(viewed(x), Literal):
            return ()
        if op.kind == "map":
            return tuple([y for y in x.operands if y.dtype.kind == "f"]) if _zeros(x) else ()
        if op.kind == "reduce":
            return x.operands if op.linear is not None else ()
        if op.kind == "contract":
            return x.operands if _is_elementwise(x) or _with_constant(x) is not None else ()
        if op.kind in ("view", "assemble", "gather", "scatter") and op.linear is not None:
            places = op.linear.places(len(x.operands))
            return tuple(x.operands[k] for k in places)
        return ()

    def _combined(self, x: Node, masks: list[Node | None], fixed: bool) -> Node | None:
        if not x.operands or x.dtype.kind != "f":
            return self._of_leaf(x)
        where = self._of_parts(x, masks, fixed) if masks else EVERYWHERE
        if self.moves(x):
            return where
        # A look at what is there costs less than its form.
        return EVERYWHERE if where is EVERYWHERE else _nonzero(x)

    def _of_leaf(self, x: Node) -> Node | None:
        if isinstance(x, Literal):
            return EVERYWHERE if x.value != 0 else Literal(False, np.bool_)
        if isinstance(x, SizeOf) or (isinstance(x, Constant) and bool(np.all(x.array))):
            return EVERYWHERE
        return EVERYWHERE if self.moves(x) else _nonzero(x)

    def _of_parts(self, x: Node, masks: list[Node | None], fixed: bool) -> Node | None:
        op = x.op
        if op.kind == "map":
            # Of real numbers of which nothing is known, nothing is known of the result.
            if len(masks) == len(x.operands) and masks.count(EVERYWHERE) == len(masks):
                return EVERYWHERE
            rest = iter(masks)
            others = [EVERYWHERE if fixed and not _is_constant(y) else y for y in x.operands]
            given = [next(rest) if y.dtype.kind == "f" else other
                     for y, other in zip(x.operands, others, strict=True)]  # fmt: skip
            found = _zeros(x)(*(EVERYWHERE if m is EVERYWHERE else Traced(m) for m in given))
            return EVERYWHERE if found is EVERYWHERE else as_node(found)
        if op.kind in ("assemble", "scatter"):
            if _is_covered(x, masks):
                return EVERYWHERE
        elif op.kind == "contract" and not _is_elementwise(x):
            return _rows_of_constant(x)
        elif all(m is EVERYWHERE for m in masks):
            return EVERYWHERE
        if op.kind == "contract":
            factors = [
                _filled(m, y).astype(x.dtype) for m, y in zip(masks, x.operands, strict=True)
            ]
            return _nonzero(as_node(op(*factors, **x.params)))
        linear = op.linear
        assert linear is not None
        places, rest = linear.places(len(x.operands)), iter(masks)
        xs = [_filled(next(rest), y) if k in places else Traced(y)
              for k, y in enumerate(x.operands)]  # fmt: skip
        if op.kind == "reduce":
            return as_node(np.any(xs[0], axis=x.params["axes"]))
        return as_node(op(*xs, **x.params))

    def _may_be_infinite(self, derivative: Node) -> bool:
        """Tell whether an op that is undefined somewhere takes part in a derivative."""
        stack, seen = [derivative], set[Node]()
        while stack:
            x = stack.pop()
            if x in seen or x in self._tame:
                continue
            if x in self._edges or has_edge(x):
                return True
            seen.add(x)
            if x not in self._graph:
                stack.extend(x.operands)
        self._tame |= seen
        return False

    def of_constant(self, partial: Any) -> Node | None:
        """Return where a factor is not one of the zeros that the program has as constants.

        Weights that are arguments are no constants: a selection for each would be slow.
        """
        if not self._edges or partial is None or isinstance(partial, (int, float)):
            return EVERYWHERE
        x = as_node(partial)
        y = viewed(x)
        if isinstance(y, Literal):
            return self._of_leaf(y)
        if isinstance(y, Constant):
            return EVERYWHERE if bool(np.all(y.array)) else _nonzero(x)
        counts = bool(y.operands) and not any(z.dtype.kind == "f" for z in y.operands)
        return _nonzero(x) if counts and not isinstance(y.operands[0], SizeOf) else EVERYWHERE


def held(value: Any, where: Node) -> Any:
    """Return a traced value where a truth value holds, else 0, whose derivatives are the value's.

    They must be: where a weight is 0, the derivative by the weight is not.
    """
    if isinstance(where, Literal) and bool(where.value):
        return value
    return registry.ops["Reached"](value, Traced(where))


def _is_elementwise_loop(node: Node) -> bool:
    """Tell whether all steps of a loop are elementwise, one of them undefined somewhere."""
    steps = [x for body in bodies(node) for x in topological(body.outputs) if x.op.kind != "leaf"]
    return all(x.op.kind == "map" for x in steps) and any(
        x.dtype.kind == "f" and is_edgy(x) for x in steps
    )


def _is_constant(x: Node) -> bool:
    """Tell whether a value is made of constants and sizes alone."""
    return all(
        isinstance(y, (Constant, Literal, SizeOf)) for y in topological([x]) if y.op.kind == "leaf"
    )


def _zeros(x: Node) -> Any:
    return Zeros.of(x.op).where


def _flows(x: Node) -> bool:
    return (x.dtype.kind == "f" or isinstance(x.op, Bodied)) and differentiable(x.op)


def _nonzero(x: Node) -> Node:
    return as_node(np.not_equal(Traced(x), 0.0))


def _both(one: Node | None, other: Node | None) -> Node | None:
    if one is EVERYWHERE or other is EVERYWHERE:
        return other if one is EVERYWHERE else one
    return as_node(np.logical_and(Traced(one), Traced(other)))


def _filled(mask: Node | None, x: Node) -> Any:
    if mask is EVERYWHERE:
        return np.ones_like(Traced(x), dtype=np.bool_)
    return np.broadcast_to(Traced(mask), Traced(x).shape)


def _is_elementwise(x: Node) -> bool:
    """Tell whether products are summed over nothing."""
    return {*x.params["a"], *x.params["b"]} == {*x.params["out"]}


def _with_constant(x: Node) -> int | None:
    """Return which factor of a sum of products is a constant, if one is."""
    return next((k for k, y in enumerate(x.operands) if isinstance(y, Constant)), None)


def _rows_of_constant(x: Node) -> Node | None:
    """Return where the constant factor of a sum of products is not a row of zeros.

    Of ``C.T @ ct`` those are the columns of ``C`` that have another element than 0.
    """
    k = _with_constant(x)
    assert k is not None
    return _not_all_zeros(x, k, x.params["out"], x)


def _not_all_zeros(x: Node, k: int, labels: Sequence[Any], like: Node) -> Node | None:
    """Return where elements with some axes meet one of a constant factor that is not 0.

    Parameters
    ----------
    x, k:
        The sum of products, and which factor the constant is.
    labels, like:
        Labels of the axes, and a node of their shape.
    """
    constant, own = x.operands[k], x.params["ab"[k]]
    assert isinstance(constant, Constant)
    rest = [label for label in own if label in labels]
    others = tuple(n for n, label in enumerate(own) if label not in labels)
    some = np.any(constant.array != 0, axis=others)
    if bool(np.all(some)):
        return EVERYWHERE
    some = np.transpose(some, [rest.index(label) for label in labels if label in rest])
    sizes = iter(some.shape)
    shape = [next(sizes) if label in rest else 1 for label in labels]
    mask = Traced(as_node(np.reshape(some, shape)))
    return as_node(np.broadcast_to(mask, Traced(like).shape))


def _is_covered(x: Node, masks: list[Node | None]) -> bool:
    """Tell whether an assembly has something in every place."""
    if x.op.kind != "assemble" or any(m is not EVERYWHERE for m in masks):
        return False
    if x.op.begins(0, x.params):  # type: ignore[attr-defined]
        return True
    if not x.params.get("disjoint", False):
        return False
    total = sum(dim_product(y.shape) for y in x.operands)
    return bool(dim_expand(total) == dim_expand(dim_product(x.shape)))
