"""Guards on values: a decision that needs a number takes that of the example call.

``if x > 0`` on a traced value takes the branch that the example's arguments take, and notes
the condition under which the trace is the function's. The conditions go into the program; a
call whose arguments break one is traced anew.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

import numpy as np

from ..base.sizes import hint
from ..base.state import now
from ..graph import (
    Input,
    Literal,
    Node,
    apply,
    element_count,
    is_internal,
    leaf_value,
    topological,
    viewed,
)
from ..op import Bodied, registry

#: Concretizes a parameter: sizes become numbers, bodies become callable.
Bind = Callable[[Any, Mapping[Any, int]], Any]

#: Calls NumPy's functions for the traced code, by their names.
_NAMESPACE = f"{__package__}.namespace"


class EnclosedError(Exception):
    """A function that is called while another is traced uses traced values of that other."""


class PlacesError(Exception):
    """Elements of index data decide, one by one, at which places the traced code reads or writes.

    The function is traced once more, with their numbers in place.
    """


#: So many elements of an array, or this part of all, may be places before its numbers are known:
#: they come from a loop of Python's, whose every step would be a computed place of its own.
PLACES, PART = 16, 32

#: Places are computed from index data in fewer steps than this.
STEPS_TO_A_PLACE = 64


class Examples:
    """The values of a trace's inputs in the example call, and what followed from them.

    Parameters
    ----------
    values:
        One number or array for each input.
    bind:
        ``bind(parameter, sizes)`` returns a node's parameter as its ``evaluate`` takes it.
    read:
        Which inputs are not arguments, but what the function reads besides.

    Attributes
    ----------
    conditions:
        What has to be true of the inputs, in the order in which it was decided; and whether its
        part in derivatives is settled: by a rule of the function's own, or looked at already.
    compared:
        Comparisons for equality that the traced code itself has written.
    waiting:
        Conditions with such comparisons at which no derivative has looked yet.
    needed:
        Which of ``read`` numbers were asked of that depend on no argument.
    places:
        Which of ``read`` places in loops of Python's are computed from.
    """

    def __init__(
        self, values: Sequence[Any], bind: Bind, read: Sequence[int] = (),
        indices: Collection[int] = (),
    ) -> None:  # fmt: skip
        """``indices``: which of ``read`` are arrays whose numbers may be known."""
        self.given, self.bind = tuple(values), bind
        self.places, self._indices = set[int](), indices
        self._at: defaultdict[Node, set[Node]] = defaultdict(set)
        self._places, self._read = read, dict[Node, int]()
        self.needed: set[int] = set()
        self._around: Examples | None = None
        self.values: dict[Node, Any] = {}
        self.sizes: dict[Any, int] = {}
        self.conditions: dict[Node, bool] = {}
        self.compared: set[Node] = set()
        self.waiting: list[Node] = []
        self._decided: dict[Node, tuple[Node, type]] = {}
        self._against: frozenset[tuple[Node, type]] = frozenset()

    def compares(self, node: Node) -> None:
        """Note a comparison for equality, and its negation, which ``not`` makes of it."""
        self.compared.add(node)
        ops = registry.ops
        other = {ops["Equal"]: ops["NotEqual"], ops["NotEqual"]: ops["Equal"]}.get(node.op)
        if other is not None:
            self.compared.add(apply(other, node.operands, node.items, node.shape, node.dtype))

    def start(self, inputs: Sequence[Input]) -> None:
        """Give the inputs their values."""
        self._around = now().examples
        self._read = {inputs[k]: n for n, k in enumerate(self._places)}
        for node, value in zip(inputs, self.given, strict=True):
            self.values[node] = np.asarray(value, node.dtype)[()]
            for dim in (*node.shape, *(() if node.dim is None else (node.dim,))):
                if not isinstance(dim, int):
                    self.sizes[dim] = hint(dim)

    def changed(self, inputs: Sequence[Input], by: float) -> Examples:
        """Return the example call with some values a little larger, each by another factor."""
        other = Examples(self.given, self.bind)
        other._around, other.sizes = self._around, self.sizes
        other.values = {n: v for n, v in self.values.items() if isinstance(n, Input)}
        for k, x in enumerate(inputs):
            if x in other.values:
                value = np.asarray(other.values[x])
                uneven = 1.0 + 0.5 * np.cos(k + np.arange(value.size)).reshape(value.shape)
                other.values[x] = np.asarray(value * (1.0 + by * uneven), x.dtype)[()]
        return other

    def beside(self) -> Examples:
        """Return a call nearby: each argument that is a float has another value, zeros, too."""
        other = Examples(self.given, self.bind)
        other._around, other.sizes = self._around, self.sizes
        inputs = [n for n in self.values if isinstance(n, Input)]
        for k, x in enumerate(inputs):
            value = np.asarray(self.values[x])
            if value.dtype.kind == "f" and x not in self._read:
                uneven = 1.0 + 0.5 * np.cos(k + np.arange(value.size)).reshape(value.shape)
                value = np.asarray(value + 1e-3 * uneven * (1.0 + np.abs(value)), x.dtype)
            other.values[x] = value[()]
        return other

    def of_member(self, values: Mapping[Node, Any]) -> Examples:
        """Return the example call with values for inputs: those of one example of a batch."""
        other = Examples(self.given, self.bind)
        other._around, other.sizes = self._around, self.sizes
        other.values = {n: v for n, v in self.values.items() if isinstance(n, Input)} | {
            n: np.asarray(v, n.dtype)[()] for n, v in values.items()
        }
        return other

    def only_reads(self, node: Node | None) -> bool:
        """Tell whether a node depends on what the function reads, and on no argument."""
        if node is None or not self._read:
            return False
        found = {n for n in topological([node]) if isinstance(n, Input)}
        return bool(found) and found <= self._read.keys()

    def is_needed(self, node: Node | None) -> bool:
        """Tell whether :meth:`only_reads`, and note that this needs its numbers in place."""
        if node is None or not self.only_reads(node):
            return False
        self.needed |= {k for n, k in self._read.items() if n in topological([node])}
        return True

    def note_place(self, node: Node) -> None:
        """Note that a number is a place at which the traced code reads or writes.

        Raises
        ------
        PlacesError
            If it is one of many that depend on index data alone, whose numbers may be known.
        """
        if not self._indices:
            return
        steps = topological([node], limit=STEPS_TO_A_PLACE)
        leaves = [n for n in steps if isinstance(n, Input)]
        if len(steps) == STEPS_TO_A_PLACE or not leaves:
            return
        if not all(self._read.get(n) in self._indices for n in leaves):
            return
        for n in leaves:
            self._at[n].add(node)
        if any(len(self._at[n]) > max(PLACES, element_count(n) // PART) for n in leaves):
            # The others that are used so as well, at once.
            self.places |= {self._read[n] for n, at in self._at.items() if len(at) > PLACES // 2}
        if self.places:
            raise PlacesError

    def value(self, node: Node) -> Any:
        """Return the value of a node in the example call, None if it is not known.

        Raises
        ------
        EnclosedError
            If it is known in a trace around this one alone.
        """
        stack = [node]
        with np.errstate(all="ignore"):
            while stack:
                n = stack[-1]
                if n in self.values:
                    stack.pop()
                    continue
                if isinstance(n, Input):  # bound by a body, or an example of a batch
                    if self._around is not None and self._around.value(n) is not None:
                        raise EnclosedError
                    return None
                waiting = [x for x in n.operands if x not in self.values]
                if waiting:
                    stack += reversed(waiting)
                    continue
                stack.pop()
                self.values[n] = self._compute(n)
        return self.values[node]

    def decide(self, node: Node, kind: type) -> Any:
        """Return a node's number as a bool or int, and note what it depends on; None if unknown."""
        value = self.value(node)
        if value is None or (kind is int and not np.isfinite(value)):
            return None
        if kind is int:
            self.note_place(node)
        number = kind(value)
        if (node, kind) in self._against:
            return not number
        condition = _condition(node, number)
        self._decided[condition] = node, kind
        if node.dtype.kind == "f" and kind is bool:  # `if not x`
            self.compared.add(condition)
        self.conditions.setdefault(condition, False)
        return number

    @contextlib.contextmanager
    def against(self, conditions: Sequence[Node]) -> Iterator[None]:
        """Decide the other way, within, what has been decided under these conditions."""
        before = self._against
        decided = (self._decided.get(c) for c in conditions)
        self._against = before | {x for x in decided if x is not None and x[1] is bool}
        try:
            yield
        finally:
            self._against = before

    def settle(self) -> None:
        """Have nobody look at what was decided so far for derivatives that it leaves out."""
        self.conditions = dict.fromkeys(self.conditions, True)

    def _compute(self, node: Node) -> Any:
        if node.op.kind == "leaf":
            return leaf_value(node, hint)
        params = {k: self.bind(v, self.sizes) for k, v in node.items}
        found = node.op.evaluate(*[self.values[x] for x in node.operands], **params)
        return found if isinstance(node.op, Bodied) else np.asarray(found, node.dtype)[()]


def noted_equality(value: Any, frame: FrameType) -> None:
    """Note a comparison for equality that the traced code itself has written, in this frame."""
    examples: Examples | None = now().examples
    if examples is None or not hasattr(value, "node"):
        return
    if frame.f_globals.get("__name__") == _NAMESPACE and frame.f_back is not None:
        frame = frame.f_back
    if not is_internal(frame.f_code):
        examples.compares(value.node)


def noted_order(value: Any, frame: FrameType) -> None:
    """Note ``r > 0`` and its kin of a length: at 0 it singles out a point as ``r != 0`` does."""
    if now().examples is not None and hasattr(value, "node") and is_of_length(value.node):
        noted_equality(value, frame)


def is_of_length(comparison: Node) -> bool:
    """Tell whether a comparison tells 0 from the positive values of a root or absolute value."""
    less, ops = _IS_LESS.get(comparison.op), registry.ops
    if less is None or comparison.shape:
        return False
    zero, length = comparison.operands if less else comparison.operands[::-1]
    if not isinstance(zero, Literal) or zero.value != 0:
        return False
    return viewed(length).op in (ops["Absolute"], ops["Fabs"], ops["Hypot"], ops["Sqrt"])


#: Comparisons that tell 0 from positive numbers: whether the 0 comes first.
_IS_LESS = {
    registry.ops["Less"]: True, registry.ops["GreaterEqual"]: True,
    registry.ops["Greater"]: False, registry.ops["LessEqual"]: False,
}  # fmt: skip


def truth_of(value: Any) -> Any:
    """Return the truth value that is asked of a traced number: whether it is not equal to 0."""
    if value.dtype == bool:
        return value
    found = np.not_equal(value, 0)
    examples: Examples | None = now().examples
    if examples is not None and value.dtype.kind == "f":
        examples.compares(found.node)
    return found


def share(stand_in: Node, node: Node) -> None:
    """Give a stand-in the example of the node for which it stands."""
    examples: Examples | None = now().examples
    if examples is not None:
        value = examples.value(node)
        if value is not None:
            examples.values[stand_in] = value


def decided(node: Node, kind: type) -> Any:
    """Return a number of the example call as a Python bool or int, by a guard.

    None where it is not known: without examples, under ``vmap``, in the body of a loop.
    """
    examples: Examples | None = now().examples
    return None if examples is None or node.shape else examples.decide(node, kind)


def decided_mask(mask: Any) -> Any:
    """Return a traced mask's truth values in the example call, by one guard on all of them.

    None where they are not known, and where no argument decides: then the function is traced once
    more, with the numbers of what it reads in place.
    """
    examples: Examples | None = now().examples
    if examples is None or examples.is_needed(mask.node):
        return None
    value = examples.value(mask.node)
    if value is not None:
        examples.decide(np.all(mask == value).node, bool)
    return value


def needs_numbers(node: Node) -> None:
    """Note that a node's numbers are needed in place, where no argument decides."""
    examples: Examples | None = now().examples
    if examples is not None:
        examples.is_needed(node)


@contextlib.contextmanager
def attempt() -> Iterator[None]:
    """Forget what was decided within, where that ends with an error after which others try.

    And what was refused.
    """
    examples: Examples | None = now().examples
    refusals = now().refusals
    before = {} if examples is None else dict(examples.conditions)
    count = 0 if refusals is None else refusals.count
    draws = now().draws
    mark = None if draws is None else draws.mark()
    try:
        yield
    except Exception:
        if draws is not None:
            draws.rollback(mark)
        if examples is not None:
            examples.conditions = before
        if refusals is not None:
            refusals.forget(count)
        raise


def undecided(node: Node) -> bool:
    """Tell whether no example has a number for it: in a batch, in the body of a loop."""
    examples: Examples | None = now().examples
    return examples is not None and examples.value(node) is None


def unknown(node: Node) -> str:
    """Say why a value has no numbers."""
    if undecided(node):
        return "whose numbers differ between the examples of a batch or the steps of a loop"
    if now().guards is None:  # in no trace
        return "which has no numbers: it was kept when the function that made it returned"
    return "which has no numbers yet"


def _condition(node: Node, number: Any) -> Node:
    """Return the node that is true as long as ``node`` gives the same decision."""
    ops = registry.ops
    flag = np.dtype(bool)
    if isinstance(number, bool):
        if node.dtype != flag:
            op = ops["NotEqual" if number else "Equal"]
            return apply(op, (node, Literal(0, node.dtype)), (), (), flag)
        if not number:
            return apply(ops["LogicalNot"], (node,), (), (), flag)
        if node.op.kind == "view":  # of an array of one element: kernels keep what is computed
            return apply(ops["NotEqual"], (node, Literal(False, flag)), (), (), flag)
        return node
    if node.dtype.kind == "f":
        node = apply(ops["Trunc"], (node,), (), (), node.dtype)
    return apply(ops["Equal"], (node, Literal(number, node.dtype)), (), (), flag)
