"""The backward pass: Kahn's order, one pull through each node, gradients written at the end.

Nothing is written and nothing is freed before all of it has been computed, so an error in
the middle (a freed buffer, a rule, a hook) leaves every ``.grad`` as it was.

A branch that is not taken adds nothing, whatever its slope: the compiler's walk
(``symgrad._core.transforms.guards``) carries conditions, here they are arrays, one for each node
behind an op that chooses. A gradient is cut to its mask after every op that could have made nan of
its zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from .._core.base.argument_checks import shown
from .._core.ops import unbroadcast
from .._core.program import kahn
from ..errors import ArgumentError, BackwardError
from ._compiled import attempt
from ._mode import mode
from ._node import AccumulateGrad, Backward, Node, Value, wrap
from ._shortcuts import paths


def reach(roots: Sequence[Node]) -> tuple[list[Node], bool]:
    """Return the nodes behind ``roots``, latest first, and whether numbers order them.

    Numbers do not order a graph whose ``next_functions`` were set by hand. What is ``behind``
    the nodes are nodes only from then on.
    """
    seen = set(roots)
    stack = list(dict.fromkeys(roots))
    numbered = True
    while stack:
        node = stack.pop()
        seq, behind = node.seq, node.behind
        for edge in behind:
            if isinstance(edge, Value):
                behind = node.edges
                break
        for edge in behind:
            if edge is not None:
                if edge.seq >= seq:
                    numbered = False
                if edge not in seen:
                    seen.add(edge)
                    if edge.behind:
                        stack.append(edge)
    return sorted(seen, key=_number, reverse=True), numbered


_number = attrgetter("seq")


def _users(nodes: Sequence[Node]) -> dict[Node, list[Node]]:
    users: dict[Node, list[Node]] = {node: [] for node in nodes}
    for node in nodes:
        for edge in dict.fromkeys(node.edges):
            if edge is not None:
                users[edge].append(node)
    return users


def levels(roots: Sequence[Node]) -> list[list[Node]]:
    """Return the nodes behind ``roots`` in the rounds of Kahn's algorithm."""
    nodes, _ = reach(roots)
    order, level = kahn(nodes, _users(nodes).__getitem__, name=Node.name)
    rounds: list[list[Node]] = [[] for _ in range(max(level, default=-1) + 1)]
    for node, k in zip(order, level, strict=True):
        rounds[k].append(node)
    return rounds


class Levels(tuple[tuple[Node, ...], ...]):
    """The nodes of a backward pass, level by level; prints one level a line."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(
            f"{k}: {', '.join(node.name() for node in level)}" for k, level in enumerate(self)
        )

    __repr__ = __str__


def backward_order(tensor: Value) -> Levels:
    """Return the order in which a tensor's backward pass runs, in the rounds of Kahn's algorithm.

    Parameters
    ----------
    tensor:
        A tensor that requires a gradient.

    Returns
    -------
    Levels
        A tuple of levels, each a tuple of ``grad_fn`` nodes that do not wait for each other.

    Raises
    ------
    CycleError
        If ``next_functions`` were set by hand so that the graph has a cycle.
    BackwardError
        If the tensor requires no gradient.

    Notes
    -----
    A. B. Kahn, Topological sorting of large networks, CACM 5 (1962), 558-562.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> a = sg.tensor([0.0, 1.0], requires_grad=True)
    >>> sg.backward_order((np.sin(a) + np.cos(a)).sum())
    0: SumBackward0
    1: AddBackward0
    2: CosBackward0, SinBackward0
    3: AccumulateGrad
    """
    if not hasattr(tensor, "edge") or isinstance(tensor, type):
        raise ArgumentError(f"backward_order takes a tensor, not {shown(tensor)}")
    node = tensor.edge()
    if node is None:
        raise BackwardError("the tensor does not require grad and does not have a grad_fn")
    return Levels(tuple(level) for level in levels([node]))


def ordered(roots: Sequence[Node]) -> list[Node]:
    """Return the nodes behind ``roots`` in the order of the backward pass.

    Among the ready nodes Kahn's algorithm takes the one that was made last. Where every
    node is younger than those behind it, that is the order of their numbers, and sorting
    is all there is to do.
    """
    nodes, numbered = reach(roots)
    return nodes if numbered else kahn(nodes, _users(nodes).__getitem__, name=Node.name)[0]


def run(
    roots: Sequence[Node],
    gradients: Sequence[Any],
    *,
    retain_graph: bool,
    create_graph: bool,
    targets: Sequence[Node] | None = None,
    observe: Callable[[Node, Sequence[Any]], None] | None = None,
) -> dict[Node, Any]:
    """Send gradients back from ``roots``.

    Parameters
    ----------
    roots, gradients:
        Nodes, and the gradients of their results: arrays, or tensors with ``create_graph``.
    retain_graph, create_graph:
        As in :meth:`Tensor.backward`.
    targets:
        The nodes whose gradients are wanted; then no ``.grad`` is written. None for
        ``backward``: all leaves get theirs.
    observe:
        Called with each node and what it sends to its operands.

    Returns
    -------
    dict
        The gradients at the targets.
    """
    order = ordered(roots)
    if targets is not None:
        order = _towards(order, set(targets))
    found: dict[Node, Any] = {}
    writes = None
    if targets is None and not create_graph and observe is None:
        writes = attempt(order, gradients)
    if writes is None:
        before = mode.recording
        mode.recording = create_graph
        try:
            with np.errstate(all="ignore"):
                made = _Pass(order, create_graph, targets, observe)
                made.run(roots, gradients)
                found, writes = made.found, made.writes
        finally:
            mode.recording = before
    for tensor, gradient in writes:
        tensor.accumulate(*((None, gradient) if create_graph else (gradient, None)))
    if not retain_graph:
        for node in order:
            if isinstance(node, Backward):
                node.free()
    return found


def _towards(order: Sequence[Node], targets: set[Node]) -> list[Node]:
    """Keep the nodes from which a target can be reached."""
    kept = set(targets)
    for node in reversed(order):
        if any(edge in kept for edge in node.edges):
            kept.add(node)
    return [node for node in order if node in kept]


class _Pass:
    """A pass from the roots to the leaves: what has arrived at each node, and what is found.

    Attributes
    ----------
    found:
        The gradients at the targets.
    writes:
        The tensors whose ``.grad`` they are added to, each with its gradient.
    """

    def __init__(
        self,
        order: Sequence[Node],
        create_graph: bool,
        targets: Sequence[Node] | None,
        observe: Callable[[Node, Sequence[Any]], None] | None,
    ) -> None:
        self.order, self.create_graph, self.observe = order, create_graph, observe
        self.wanted: set[Node] = set(targets or ())
        #: The nodes that gradients are passed on to; None: all.
        self.active = None if targets is None else set(order)
        self.pending: dict[Node, Any] = {}
        #: Where gradients can differ from 0; nothing is said of those that can everywhere.
        self.masks: dict[Node, Any] = {}
        self.past = paths(order, self.wanted) if observe is None else {}
        self.found: dict[Node, Any] = {}
        self.writes: list[tuple[Any, Any]] = []

    def run(self, roots: Sequence[Node], gradients: Sequence[Any]) -> None:
        """Carry it out, from the gradients of the roots' results."""
        pending, masks, active = self.pending, self.masks, self.active
        for root, gradient in zip(roots, gradients, strict=True):
            pending[root] = pending[root] + gradient if root in pending else gradient
        for node in self.order:
            ct = pending.pop(node, None)
            if ct is None:
                if not isinstance(node, AccumulateGrad):
                    continue
                ct = np.zeros_like(node.variable._data)  # it is reached, but by zeros only
                ct = wrap(ct) if self.create_graph else ct
            if node in self.wanted:
                self.found[node] = ct
            if node.extra is not None:
                ct = self._through_hooks(node, ct)
            if type(node) is AccumulateGrad:
                if active is None:
                    self.writes.append((node.variable, ct))
                continue
            assert isinstance(node, Backward)
            node.check()
            edges, parts, supports = self._pulled(node, ct, masks.pop(node, None))
            if self.observe is not None:
                self.observe(node, parts)
            for k, edge in enumerate(edges):
                part = parts[k]
                if part is None or edge is None or (active is not None and edge not in active):
                    continue
                known = pending.get(edge)
                pending[edge] = part if known is None else known + part
                if supports or masks:
                    self._mask(edge, known is not None, supports[k] if supports else None)

    def _through_hooks(self, node: Node, given: Any) -> Any:
        """Return a gradient as its tensor's hooks leave it; note tensors that keep theirs."""
        assert node.extra is not None
        ct = _hooked(node, given, self.create_graph)
        if ct is not given:
            self.masks.pop(node, None)  # what a hook returns may be anything
        if self.active is None:
            self.writes += [(t, ct) for r in node.extra.retained if (t := r()) is not None]
        elif node in self.wanted and self.active.isdisjoint(node.edges):
            self.found[node] = ct  # as in PyTorch: of what is passed on, the gradient before hooks
        return ct

    def _pulled(
        self, node: Backward, ct: Any, mask: Any
    ) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """Return where gradients go from a node, the gradients, and their masks, if any."""
        path = self.past.get(node) if self.past else None
        if path is not None:
            return path.edges, *path.guarded(ct, mask, self.create_graph)
        if node.op.taken is not None or mask is not None:
            return node.behind, *_guarded(node, ct, mask, self.create_graph)
        tensor = node.tensor() if self.create_graph else None
        return node.behind, node.pull(ct, tensor, self.create_graph), ()

    def _mask(self, edge: Node, again: bool, support: Any) -> None:
        """Note where a gradient can differ from 0, beside the one that has arrived before."""
        if again:
            before = self.masks.pop(edge, None)
            support = None if before is None or support is None else before | support
        if support is not None:
            self.masks[edge] = support


def _hooked(node: Node, ct: Any, create_graph: bool) -> Any:
    """Pass a gradient through the hooks of its tensor."""
    assert node.extra is not None
    for hook in list(node.extra.hooks.values()):
        given = ct if create_graph else wrap(np.array(ct))
        result = hook(given)
        if result is None:
            continue
        if result.shape != ct.shape:
            raise BackwardError(
                f"the hook {getattr(hook, '__name__', hook)!r} returned a gradient of shape "
                f"{tuple(result.shape)} for one of shape {tuple(ct.shape)}"
            )
        ct = result if create_graph else np.asarray(getattr(result, "_data", result))
    return ct


#: Kinds of ops whose transpose adds elements unchanged: a support goes the way of a gradient.
_MOVES = frozenset(("view", "assemble", "gather", "scatter"))


def _guarded(node: Backward, ct: Any, mask: Any, tensors: bool) -> tuple[list[Any], list[Any]]:
    """Return the gradients of a node's operands, and the masks outside of which they are 0.

    Parameters
    ----------
    node:
        The step to go back through.
    ct:
        The gradient of its result.
    mask:
        Where that can differ from 0: a boolean array, or None for everywhere.
    tensors:
        Whether to compute with tensors, so that the result can be differentiated again.
    """
    op, xs = node.op, node.operands()
    parts = node.pull(ct, node.tensor() if tensors else None, tensors, mask)
    masks: list[Any] = [None] * len(parts)
    if op.taken is not None:
        result = node.result if node.result is not None else np.empty(ct.shape, ct.dtype)
        for k, choice in enumerate(op.taken(result, *xs, **node.params)):
            if choice is not None:
                truth, wanted = choice
                masks[k] = np.asarray(truth) if wanted else ~np.asarray(truth)
    if mask is not None:
        inherited = _behind(node, mask, xs)
        masks = [
            a if b is None else b if a is None else a & b
            for a, b in zip(masks, inherited, strict=True)
        ]
    for k, (part, x, own) in enumerate(zip(parts, xs, masks, strict=True)):
        if part is None or own is None:
            masks[k] = None
        elif op.kind == "map":
            whole = own if own.shape == ct.shape else np.broadcast_to(own, ct.shape)
            masks[k] = whole if ct.shape == x.shape else unbroadcast(whole, x.shape) != 0
        elif op.linear is None:
            parts[k] = np.where(own, part, 0.0)
    return parts, masks


def _behind(node: Backward, mask: Any, xs: list[Any]) -> list[Any]:
    """Return where the operands' gradients can differ from 0, by the record."""
    op = node.op
    if op.kind == "map":
        return [mask] * len(xs)
    found: Any = None
    if op.support is not None:
        found = op.support(mask, *xs, **node.params)
    elif op.linear is not None and op.kind in _MOVES:
        found = op.linear.transpose(mask, *xs, **node.params)
    elif not mask.any():
        found = [np.zeros(x.shape, np.bool_) for x in xs]
    if found is None:
        return [None] * len(xs)
    return [None if m is None else np.asarray(m) != 0 for m in found]
