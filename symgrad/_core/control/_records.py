"""The records of loops, branches and their results, with their reference under NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.sizes import Shape, agree
from ..graph import BODIES, BODY, Node
from ..op import (
    COUNT,
    FLAG,
    SIZE,
    BranchOp,
    Code,
    LoopOp,
    NoRule,
    Products,
    Result,
    Tape,
    Words,
    define,
    optional,
    or_none,
)
from ._backward_loops import pull_loop
from ._branch_rules import batch_branch, pull_branch, push_branch, spread_branch
from ._fields import Branch, Loop
from ._loop_rules import batch_loop, push_loop, spread_loop
from ._sums import merged


def run_loop(
    *operands: Any,
    body: Callable[..., tuple[Any, ...]],
    carries: int,
    cond: Callable[..., tuple[Any, ...]] | None,
    elements: int,
    length: int | None,
    reverse: bool,
    slots: int | None = None,
) -> tuple[Any, ...]:
    """Run a loop; return the last carries and the stacked rest of the body's results."""
    carry = operands[:carries]
    xs, consts = operands[carries : carries + elements], operands[carries + elements :]
    rows: list[tuple[Any, ...]] = []
    if cond is not None:
        while cond(*carry, *consts)[0]:
            found = body(np.int64(len(rows)), *carry, *consts)
            carry = found[:carries]
            rows.append(found[carries:])
    else:
        count = len(xs[0]) if length is None else length
        for i in reversed(range(count)) if reverse else range(count):
            found = body(np.int64(i), *carry, *(x[i] for x in xs), *consts)
            carry = found[:carries]
            rows.append(found[carries:])
    if reverse:
        rows.reverse()
    if rows:
        return (*carry, *(np.stack(column) for column in zip(*rows, strict=True)))
    kinds = getattr(body, "kinds", ())[carries:]
    return (*carry, *(np.zeros((0, *shape), dtype) for shape, dtype in kinds))


def run_branch(
    index: Any, *operands: Any, bodies: tuple[Callable[..., tuple[Any, ...]], ...], kept: bool
) -> tuple[Any, ...]:
    """Run the body that ``index`` names."""
    return tuple(bodies[int(index)](*operands))


def _loop_results(node: Node, index: int, kind: str) -> tuple[Shape, np.dtype[Any]]:
    loop = Loop.of(node)
    out = loop.body.outputs[index]
    if kind == "tape" or index < loop.carries:
        return out.shape, out.dtype
    if loop.length is None:
        raise ValueError("only a loop of a known number of steps stacks its results")
    return (loop.length, *out.shape), out.dtype


def _branch_results(node: Node, index: int, kind: str) -> tuple[Shape, np.dtype[Any]]:
    out = Branch.of(node).bodies[0].outputs[index]
    return out.shape, out.dtype


def _loop_fits(node: Any) -> str | None:
    loop = Loop.of(node)
    inputs = loop.body.inputs
    if len(inputs) != 1 + len(node.operands) or len(loop.body.outputs) < loop.carries:
        return "its body has other inputs and outputs than it has operands"
    pairs = [
        *zip(loop.carried, loop.inits, strict=True),
        *zip(loop.carried, loop.news, strict=True),
        *zip(loop.shared, loop.consts, strict=True),
    ]
    for inner, outer in pairs:
        if inner.dtype != outer.dtype or not agree(inner.shape, outer.shape):
            return f"{inner.name} is {inner.dtype}{inner.shape}, not {outer.dtype}{outer.shape}"
    for inner, outer in zip(loop.slices, loop.xs, strict=True):
        shape = outer.shape if outer.op.kind == "tape" else outer.shape[1:]
        if inner.dtype != outer.dtype or not agree(inner.shape, shape):
            return f"{inner.name} is {inner.dtype}{inner.shape}, no element of {outer.shape}"
    endless = loop.length is None and loop.cond is None
    if endless and not any(x.op.kind == "tape" for x in loop.xs):
        return "it has no length, no condition and no tape: it would not end"
    return None


def _branch_fits(node: Any) -> str | None:
    branch = Branch.of(node)
    for body in branch.bodies:
        if not _alike(body.inputs, branch.operands):
            return "a body has other inputs than it has operands"
        if not _alike(body.outputs, branch.bodies[0].outputs):
            return "its bodies have different results"
    return None


def _alike(a: Sequence[Node], b: Sequence[Node]) -> bool:
    same = len(a) == len(b)
    return same and all(x.dtype == y.dtype and agree(x.shape, y.shape)
                        for x, y in zip(a, b, strict=True))  # fmt: skip


LOOP = define(
    LoopOp("Loop", evaluate=run_loop,
        params={
            "body": BODY,
            "carries": COUNT,
            "cond": or_none(BODY),
            "elements": COUNT,
            "length": or_none(SIZE),
            "reverse": FLAG,
            "slots": optional(COUNT),
        },
        rule=Products(pull_loop, push_loop), batch=batch_loop, spread=spread_loop,
        results=_loop_results, fits=_loop_fits),
    Code(helpers=(run_loop,)),
    Words("a body that is run again and again, carrying values along"),
)  # fmt: skip
BRANCH = define(
    BranchOp("Branch", evaluate=run_branch, params={"bodies": BODIES, "kept": FLAG},
        rule=Products(pull_branch, push_branch), batch=batch_branch, spread=spread_branch,
        results=_branch_results, fits=_branch_fits),
    Code(helpers=(run_branch,)),
    Words("one of several bodies, chosen by a number"),
)  # fmt: skip
RESULT = define(
    Result("Result", evaluate=lambda results, index: results[index], params={"index": COUNT},
        rule=NoRule("its cotangent is one of those that the loop's rule takes")),
    Code(source=lambda results, index: f"{results}[{index}]"),
    Words("a result of a loop or a branch"),
)  # fmt: skip
TAPE = define(
    Tape("Tape", evaluate=lambda results, index: results[index], params={"index": COUNT},
        rule=NoRule("its cotangent is one of those that the loop's rule takes"), merge=merged),
    Code(source=lambda results, index: f"{results}[{index}]"),
    Words("what a loop wrote down in each step, for another loop to read"),
)  # fmt: skip
