"""A record's rule, made ready for eager use: what it reads, and code for what is wanted.

The rule of an elementwise op gives the derivatives by all operands. Run on traced values it
becomes a small graph, from which only what the wanted gradients need is kept: ``x**3`` needs
no logarithm for the exponent that is a constant, and ``x/5`` does not need its result. The
code for it is made once for each op and set of operands; other ops run their rule as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._graph import Input, Literal, Node, topological
from .._op import Op
from .._reverse import pull
from .._trace import Traced, as_node
from ..errors import SymgradError

Pull = Callable[..., Sequence[Any]]


@dataclass(frozen=True)
class Rule:
    """How gradients go back through an op.

    ``needs`` tells which operands are read, ``reads_result`` whether the result is; both
    functions are called with the gradient, the result and the operands: one of arrays, one
    of tensors, whose results can be differentiated again.
    """

    needs: tuple[bool, ...]
    reads_result: bool
    arrays: Pull
    tensors: Pull


def rule_of(op: Op, wanted: Sequence[bool], params: Mapping[str, Any]) -> Rule | None:
    """Return the rule of ``op`` for gradients of the wanted operands.

    None if it has to be run with its parameters each time (for ops that are no maps).
    """
    if op.kind != "map" or op.transpose is not None:
        return None
    inputs = [Input(f"x{k}", (), np.float64) for k in range(len(wanted) + 2)]
    ct, y, *xs = map(Traced, inputs)
    try:
        parts = pull(op, ct, y, xs, params, wanted)
    except (SymgradError, TypeError, ValueError):
        return None  # a rule that does not trace is run as it is
    outputs = [None if p is None else as_node(p) for p in parts]
    order = topological([n for n in outputs if n is not None])
    used = set(order)
    return Rule(
        tuple(x in used for x in inputs[2:]),
        inputs[1] in used,
        _code(inputs, order, outputs, lambda n: n.op.evaluate),
        _code(inputs, order, outputs, lambda n: n.op),
    )


def _code(
    inputs: Sequence[Input],
    order: Sequence[Node],
    outputs: Sequence[Node | None],
    function: Callable[[Node], Any],
) -> Pull:
    """Return a function of the inputs that computes the outputs, one line a node."""
    names: dict[Node, str] = {n: n.name for n in inputs}
    scope: dict[str, Any] = {}
    lines = []
    for k, node in enumerate(order):
        if isinstance(node, Input):
            continue
        if isinstance(node, Literal):
            # A Python number: it does not widen float32.
            scope[f"c{k}"], names[node] = node.value.item(), f"c{k}"
            continue
        scope[f"f{k}"], names[node] = function(node), f"v{k}"
        options = "".join(f", {name}={value!r}" for name, value in node.items)
        operands = ", ".join(names[x] for x in node.operands)
        lines.append(f"    v{k} = f{k}({operands}{options})")
    results = "".join(f"{names[n] if n is not None else None}, " for n in outputs)
    head = ", ".join(n.name for n in inputs)
    source = "\n".join([f"def rule({head}):", *lines, f"    return ({results})"])
    exec(compile(source, "<rule>", "exec"), scope)  # noqa: S102 - names and numbers of records
    made: Pull = scope["rule"]
    return made


def read_by(op: Op, count: int) -> tuple[tuple[bool, ...], bool]:
    """Return what the rule of an op that is no map may read: operands, result."""
    if op.transpose is not None:  # linear: it reads the operands in which it is not
        linear = op.linear if op.linear is not None else range(count)
        return tuple(k not in linear for k in range(count)), False
    return (True,) * count, True
