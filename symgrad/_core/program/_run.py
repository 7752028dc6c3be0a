"""Running a program step by step under NumPy: the reference that kernels are tested by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from ...errors import ArgumentError, BranchError, ShapeError
from ..base.argument_checks import shown
from ..base.broadcast import show
from ..base.sizes import evaluate_dim
from ..base.state import now
from ..graph import Body, Node, leaf_value
from ..op import Bodied, Op
from ..ops.movement import by_rows
from ._steps import Steps, body_program
from ._text import guard_texts


def bind_sizes(program: Steps, values: Sequence[Any]) -> dict[sp.Symbol, int]:
    """Return the number of each size symbol for the given argument leaves.

    Raises
    ------
    ShapeError
        If the arguments do not have the ranks and sizes that the program is for.
    """
    sizes = _sizes(program, values)
    if not program.admit(sizes):
        found = ", ".join(f"{s} = {n}" for s, n in sizes.items())
        raise ShapeError(
            f"the program is for sizes with {', '.join(guard_texts(program.guards))}, not "
            f"{found}: make one with f.program(*args) for arguments of these sizes"
        )
    return sizes


def _sizes(program: Steps, values: Sequence[Any]) -> dict[sp.Symbol, int]:
    if len(values) != len(program.inputs):
        raise ArgumentError(
            f"the program takes {len(program.inputs)} arguments "
            f"({', '.join(x.name for x in program.inputs)}), not {len(values)}"
        )
    for node, value in zip(program.inputs, values, strict=True):
        try:
            ndim = np.ndim(value)
        except ValueError:
            raise ArgumentError(f"{node.name} is a ragged list: {shown(value)}") from None
        if ndim < node.ndim:
            raise ShapeError(
                f"{node.name} has shape {np.shape(value)}, expected {show(node.shape)}"
            )
    sizes = {
        symbol: int(_argument(program.inputs[k], values[k]))
        if axis is None
        else int(np.shape(values[k])[axis])
        for symbol, (k, axis) in program.sizes.items()
    }
    for node, value in zip(program.inputs, values, strict=True):
        expected = tuple(evaluate_dim(d, sizes) for d in node.shape)
        if np.shape(value) != expected:
            raise ShapeError(f"{node.name} has shape {np.shape(value)}, expected {expected}")
    return sizes


def admits(program: Steps, values: Sequence[Any]) -> bool:
    """Tell whether all guards hold for the sizes of these argument leaves."""
    return program.admit(_sizes(program, values))


def run(program: Steps, *values: Any) -> tuple[Any, ...]:
    """Run the steps one by one under NumPy: the reference that kernels are tested by.

    Parameters
    ----------
    *values:
        One number or array for each of ``inputs``.
    """
    try:
        env = computed(program, values, bind_sizes(program, values))
    except IndexError:  # a place that there is in the other branch alone
        if not holds(program, *values):
            raise BranchError(branch_message(program.conditions[0])) from None
        raise
    broken = next((x for x in program.conditions if not env[x]), None)
    if broken is not None:
        raise BranchError(branch_message(broken))
    foreign = {id(env[x]) for x in (*program.inputs, *program.leaves)}
    return tuple([_owned(env[x], foreign) for x in program.outputs])


def holds(program: Steps, *values: Any) -> bool:
    """Tell whether the conditions are true for these values of the inputs."""
    if not program.conditions:
        return True
    test = program.test
    env = computed(test, values, bind_sizes(program, values))
    return all(env[x] for x in test.outputs)


def computed(
    program: Steps, values: Sequence[Any], sizes: Mapping[sp.Symbol, int]
) -> dict[Node, Any]:
    """Return the value of every node."""
    env: dict[Node, Any] = {n: _argument(n, v) for n, v in zip(program.inputs, values, strict=True)}
    if now().promised:
        env = {n: by_rows(v) for n, v in env.items()}
    for leaf in program.leaves:
        env[leaf] = leaf_value(leaf, lambda d: evaluate_dim(d, sizes))
    with np.errstate(all="ignore"):
        for node in program.steps:
            params = {k: concrete(v, sizes) for k, v in node.items}
            operands = [env[x] for x in node.operands]
            if now().promised:
                result = _in_order(node.op, operands, params)
            else:
                result = node.op.evaluate(*operands, **params)
            several = isinstance(node.op, Bodied)
            env[node] = result if several else np.asarray(result, node.dtype)[()]
    return env


def call(program: Steps, *values: Any) -> Any:
    """Run the program under NumPy; one result comes alone, several as a tuple.

    Parameters
    ----------
    *values:
        One number or array for each of ``inputs``.
    """
    results = run(program, *values)
    return results[0] if len(results) == 1 else results


def _in_order(op: Op, operands: Sequence[Any], params: Mapping[str, Any]) -> Any:
    """Compute a step so that its bits do not depend on how arrays lie in memory."""
    if op.kind == "view":
        return op.evaluate(*operands, **params)
    if op.kind != "contract":  # matrices go to BLAS as they lie
        operands = list(map(by_rows, operands))
    result = op.reference(*operands, **params)
    return result if isinstance(op, Bodied) else by_rows(result)


def _argument(node: Node, value: Any) -> Any:
    """Return an argument in its input's element type.

    Raises
    ------
    ArgumentError
        If whole numbers or truth values are wanted, and it is others.
    """
    try:
        found = np.asarray(value)
        result = found.astype(node.dtype, copy=False)
    except (TypeError, ValueError):
        raise ArgumentError(f"{node.name} is of numbers, not {shown(value)}") from None
    if node.dtype.kind in "iub" and found.dtype != node.dtype:
        whole = found.dtype.kind in "iub" or not found.size
        if not (whole and np.array_equal(result, found)):
            kind = "truth values" if node.dtype.kind == "b" else f"numbers of {node.dtype}"
            raise ArgumentError(f"{getattr(node, 'name', '?')} takes {kind}, not {value!r:.60}")
    return result if node.shape else result[()]


def _owned(value: Any, taken: set[int]) -> Any:
    """Return a result that shares memory with no argument, constant or other result."""
    if not isinstance(value, np.ndarray):
        return value
    if id(value) in taken or not (value.flags.owndata and value.flags.c_contiguous):
        return np.array(value, order="C")
    taken.add(id(value))
    return value


class Step:
    """A body as a function of arrays and numbers, for the given sizes.

    Attributes
    ----------
    kinds:
        Shape and element type of each result.
    """

    def __init__(self, body: Body, sizes: Mapping[sp.Symbol, int]) -> None:
        self.program, self.sizes = body_program(body), sizes
        self.kinds = [(concrete(x.shape, sizes), x.dtype) for x in body.outputs]

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """Compute the results."""
        env = computed(self.program, values, self.sizes)
        return tuple([env[x] for x in self.program.outputs])


def concrete(value: Any, sizes: Mapping[sp.Symbol, int]) -> Any:
    """Return a parameter with its symbolic sizes replaced by numbers, bodies made callable."""
    if isinstance(value, tuple):
        return tuple([concrete(v, sizes) for v in value])
    if isinstance(value, Body):
        return Step(value, sizes)
    if isinstance(value, sp.Basic):
        return evaluate_dim(value, sizes)
    return value


def branch_message(condition: Node) -> str:
    """Return what to say where a condition does not hold."""
    where = f" at {condition.where}" if condition.where is not None else ""
    return (
        f"the values take another branch{where} than the program was traced for: call the "
        "function itself, or make a program with f.program(*args) for values like these"
    )
