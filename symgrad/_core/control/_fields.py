"""Loops and branches as nodes: their operands and parameters by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..base.sizes import Dimension, Shape
from ..graph import Body, Input, Literal, Node, apply, topological
from ..graph._types import TOKEN
from ..op import Bodied, registry
from ..ops import BROADCAST
from ..trace import bind_nodes

OPS = registry.ops


@dataclass(frozen=True)
class Loop:
    """A loop: ``carry, y = body(i, carry, x, const)``, again and again.

    A body has the inputs ``[step, *carries, *elements of xs, *consts]`` and the outputs
    ``[*carries, *ys]``. The loop's results are the last carries and, for each y, either all
    of them stacked ("result") or the tape that holds them ("tape"). A tape is an array with
    a leading axis as long as the loop has run; only loops read it.

    Attributes
    ----------
    inits, xs, consts:
        The operands: first carries, arrays or tapes that give an element to each step, and
        what all steps share.
    body:
        What is done in a step.
    length:
        How many steps there are; None: as many as ``cond`` allows, or the tapes have.
    cond:
        While it holds of ``[*carries, *consts]`` the loop goes on; None: for ``length`` steps.
    reverse:
        Whether the steps are taken from the last to the first.
    slots:
        In how many carries reverse mode is to do with, None: it writes down all of them.
    """

    inits: tuple[Node, ...]
    xs: tuple[Node, ...]
    consts: tuple[Node, ...]
    body: Body
    length: Dimension | None
    cond: Body | None = None
    reverse: bool = False
    slots: int | None = None

    @classmethod
    def of(cls, node: Node) -> Loop:
        """Return the parts of a loop node."""
        p, given = node.params, node.operands
        carries, elements = p["carries"], p["elements"]
        return cls(
            given[:carries], given[carries : carries + elements], given[carries + elements :],
            p["body"], p["length"], p["cond"], p["reverse"], p.get("slots"),
        )  # fmt: skip

    @property
    def bodies(self) -> tuple[Body, ...]:
        """What is run: a step, and the condition if there is one."""
        return (self.body,) if self.cond is None else (self.body, self.cond)

    @property
    def carries(self) -> int:
        """Number of carries."""
        return len(self.inits)

    @property
    def step(self) -> Input:
        """The body's input that counts the steps from 0 on."""
        return self.body.inputs[0]

    @property
    def carried(self) -> tuple[Input, ...]:
        """The body's inputs for the carries."""
        return self.body.inputs[1 : 1 + self.carries]

    @property
    def slices(self) -> tuple[Input, ...]:
        """The body's inputs for elements of ``xs``."""
        return self.body.inputs[1 + self.carries : 1 + self.carries + len(self.xs)]

    @property
    def shared(self) -> tuple[Input, ...]:
        """The body's inputs for ``consts``."""
        return self.body.inputs[1 + self.carries + len(self.xs) :]

    @property
    def news(self) -> tuple[Node, ...]:
        """The body's outputs for the carries."""
        return self.body.outputs[: self.carries]

    @property
    def ys(self) -> tuple[Node, ...]:
        """The body's outputs that are written down in each step."""
        return self.body.outputs[self.carries :]

    @property
    def is_of_examples(self) -> bool:
        """Whether the steps are examples with loops of their own: none needs another one."""
        return (
            self.length is not None and self.cond is None and not self.inits
            and not any(x.op.kind == "tape" for x in self.xs)
            and any(isinstance(n.op, Bodied) for n in topological(self.body.outputs))
        )  # fmt: skip

    def node(self) -> Node:
        """Return the node."""
        items: tuple[tuple[str, Any], ...] = (
            ("body", self.body), ("carries", self.carries), ("cond", self.cond),
            ("elements", len(self.xs)), ("length", self.length), ("reverse", self.reverse),
        )  # fmt: skip
        if self.slots is not None:
            items += (("slots", self.slots),)
        return apply(OPS["Loop"], (*self.inits, *self.xs, *self.consts), items, (), TOKEN)

    def changed(self, **fields: Any) -> Loop:
        """Return the loop with other parts."""
        return replace(self, **fields)


@dataclass(frozen=True)
class Branch:
    """A branch: the body with the number ``index`` is run on ``operands``.

    Attributes
    ----------
    index:
        Node of the number; it is one of the bodies' numbers.
    operands:
        What the bodies' inputs are bound to.
    bodies:
        All have the same number of inputs, and outputs of the same kinds.
    kept:
        Whether the branch stays a branch if the number is known: a barrier, on whose inner
        side the derivative computes everything again.
    """

    index: Node
    operands: tuple[Node, ...]
    bodies: tuple[Body, ...]
    kept: bool = False

    @classmethod
    def of(cls, node: Node) -> Branch:
        """Return the parts of a branch node."""
        p = node.params
        return cls(node.operands[0], node.operands[1:], p["bodies"], p["kept"])

    def node(self) -> Node:
        """Return the node."""
        items = (("bodies", self.bodies), ("kept", self.kept))
        return apply(OPS["Branch"], (self.index, *self.operands), items, (), TOKEN)


def counterparts(made: Node, lifted: Sequence[bool]) -> Callable[[Node], tuple[Node, bool]]:
    """Return what of a batched loop or branch stands for a result, and if it has the batch axis."""

    def counterpart(projection: Node) -> tuple[Node, bool]:
        k = projection.params["index"]
        return result(made, k), lifted[k]

    return counterpart


def result(node: Node, index: int) -> Node:
    """Return a result of a loop or a branch."""
    return project(node, index, "result")


def tape(node: Node, index: int) -> Node:
    """Return what a loop has written down: result ``index`` as a tape."""
    return project(node, index, "tape")


def project(node: Node, index: int, kind: str) -> Node:
    """Return a result of a loop or a branch as a projection of the given kind."""
    assert isinstance(node.op, Bodied)
    shape, dtype = node.op.results(node, index, kind)
    return apply(
        OPS["Result" if kind == "result" else "Tape"], (node,), (("index", index),), shape, dtype
    )


def stand_ins(nodes: Iterable[Node], name: str) -> list[Input]:
    """Return an input for each of ``nodes``, of its shape and type."""
    return [Input(f"{name}{k}", n.shape, n.dtype) for k, n in enumerate(nodes)]


def zeros(node: Node) -> Node:
    """Return zeros of the shape and type of ``node``."""
    return filled(0, node.shape, node.dtype)


def or_zeros(found: Iterable[Node | None], like: Iterable[Node]) -> list[Node]:
    """Return derivatives of ``like`` with zeros for those that are None."""
    return [zeros(x) if d is None else d for d, x in zip(found, like, strict=True)]


def filled(value: Any, shape: Shape, dtype: Any) -> Node:
    """Return an array node that has ``value`` everywhere."""
    scalar = Literal(value, dtype)
    if not shape:
        return scalar
    return bind_nodes(BROADCAST, (scalar,), {"shape": shape})


def pick(items: Sequence[Any], flags: Sequence[Any]) -> list[Any]:
    """Return the items whose flag is true (or not None)."""
    return [x for x, f in zip(items, flags, strict=True) if f is not None and f is not False]
