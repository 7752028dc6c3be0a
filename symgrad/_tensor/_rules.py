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
from .._ops import unbroadcast
from .._ops.movement import by_rows
from .._reverse import pull
from .._trace import Traced, as_node
from ..errors import SymgradError

Pull = Callable[..., Sequence[Any]]


#: Ops whose rule reads the result alone, and that are inner steps of shortcuts, which read the
#: operand: ``exp(x)`` overflows, ``x`` does not.
KEPT = frozenset(("Exp", "Expit", "Expm1", "Sqrt"))


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """How gradients go back through an op to the operands that want them.

    Attributes
    ----------
    needs, reads_result:
        Which operands are read, and whether the result is.
    saves:
        Which operands are kept: those that are read, and those that shortcuts want.
    chooses:
        Whether operands reach the result only where a condition holds.
    back:
        ``back(node, gradient)``: the gradients of the operands, as arrays; raises if what it
        reads was overwritten.
    guarded:
        As ``back``, of ops that choose: the gradients, and masks outside of which they are 0.
    tensors, arrays:
        ``(gradient, result, *operands)``: the rule alone, before un-broadcasting, on tensors,
        so that it can be differentiated again, and on arrays; None if the record's rule is run
        as it is, because it has parameters or does not trace.
    """

    needs: tuple[bool, ...]
    saves: tuple[bool, ...]
    reads_result: bool
    chooses: bool
    back: Pull
    guarded: Pull | None = None
    tensors: Pull | None = None
    arrays: Pull | None = None


def rule_of(
    op: Op,
    wanted: Sequence[bool],
    params: Mapping[str, Any],
    back: Pull,
    guarded: Pull | None,
    tensor: type,
) -> Rule:
    """Return the rule of ``op`` for gradients of the wanted operands.

    Parameters
    ----------
    op, params:
        The op and its static parameters.
    wanted:
        Which operands want a gradient.
    back, guarded:
        What the rule's are, for ops whose rule is run as it is.
    tensor:
        The class of tensors.
    """
    needs, reads_result = _read_by(op, wanted)
    plain = Rule(needs, needs, reads_result, op.taken is not None, back, guarded)
    if op.kind != "map" or op.transpose is not None:
        return plain
    inputs = [Input(f"x{k}", (), np.float64) for k in range(len(wanted) + 2)]
    ct, y, *xs = map(Traced, inputs)
    try:
        parts = pull(op, ct, y, xs, params, wanted)
    except (SymgradError, TypeError, ValueError):
        return plain  # a rule that does not trace
    outputs = [None if p is None else as_node(p) for p in parts]
    order = topological([n for n in outputs if n is not None])
    used = set(order)
    needs, reads_result = tuple(x in used for x in inputs[2:]), inputs[1] in used
    saves = tuple(needed or op.name in KEPT for needed in needs)
    code = _Code(inputs, order, outputs)
    return Rule(
        needs, saves, reads_result, plain.chooses, code.back(needs, saves, reads_result, tensor),
        None, code.pull(lambda n: n.op), code.pull(lambda n: n.op.evaluate),
    )  # fmt: skip


class _Code:
    """A rule's graph as Python code, one line a node."""

    def __init__(
        self, inputs: Sequence[Input], order: Sequence[Node], outputs: Sequence[Node | None]
    ) -> None:
        self.inputs, self.order, self.outputs = inputs, order, outputs

    def _lines(
        self, function: Callable[[Node], Any]
    ) -> tuple[list[str], list[str], dict[str, Any]]:
        """Return the lines, the outputs' names, and what the lines refer to."""
        names: dict[Node, str] = {n: n.name for n in self.inputs}
        scope: dict[str, Any] = {}
        lines = []
        for k, node in enumerate(self.order):
            if isinstance(node, Input):
                continue
            if isinstance(node, Literal):
                # A Python number: it does not widen float32.
                scope[f"c{k}"], names[node] = node.value.item(), f"c{k}"
                continue
            scope[f"f{k}"], names[node] = function(node), f"v{k}"
            options = "".join(f", {name}={value!r}" for name, value in node.items)
            operands = ", ".join(names[x] for x in node.operands)
            lines.append(f"v{k} = f{k}({operands}{options})")
        return lines, [names[n] if n is not None else "None" for n in self.outputs], scope

    def pull(self, function: Callable[[Node], Any]) -> Pull:
        """Return the rule as a function of gradient, result and operands."""
        lines, results, scope = self._lines(function)
        head = ", ".join(n.name for n in self.inputs)
        return _made(f"rule({head})", [*lines, f"return ({', '.join(results)},)"], scope)

    def back(
        self, needs: Sequence[bool], saves: Sequence[bool], reads_result: bool, tensor: type
    ) -> Pull:
        """Return the rule as a function of a node and a gradient.

        All that happens at a node of the way back is in one function: operands are taken from
        the record and looked at for writes, gradients are brought to the operands' shapes and
        types. Calls between Python functions would take longer than the arithmetic.
        """
        body, results, scope = self._lines(lambda n: n.op.evaluate)
        scope |= {"Tensor": tensor, "unbroadcast": unbroadcast, "by_rows": by_rows}
        lines = [f"{''.join(f's{k}, ' for k in range(len(needs)))} = node.saved"]
        for k, needed in enumerate(needs):
            if needed:
                lines += [
                    f"if isinstance(s{k}, Tensor):",
                    f"    x{k + 2} = s{k}._data",
                    f"    cell = s{k}._cell",
                    "    if cell is not None:",
                    "        if cell.written > node.seq: node.check()",
                    f"        if not x{k + 2}.flags.c_contiguous: x{k + 2} = by_rows(x{k + 2})",
                    f"else: x{k + 2} = s{k}",
                ]
        if reads_result:
            lines += [
                "x1, cell = node.result, node.cell",
                "if cell is not None and cell.written > node.seq: node.check()",
            ]
        lines += body
        for k, (name, needed) in enumerate(zip(results, needs, strict=True)):
            if name != "None":
                lines += [
                    f"p{k} = {name}",
                    f"shape = x{k + 2}.shape"
                    if needed
                    else f"shape, dtype = s{k}.shape, s{k}.dtype"
                    if saves[k]
                    else f"shape, dtype = s{k}",
                    f"if p{k}.shape != shape: p{k} = unbroadcast(p{k}, shape)",
                    *([f"dtype = x{k + 2}.dtype"] if needed else []),
                    f"if p{k}.dtype is not dtype: p{k} = p{k}.astype(dtype)",
                ]
        parts = (f"p{k}" if name != "None" else "None" for k, name in enumerate(results))
        lines.append(f"return ({', '.join(parts)},)")
        return _made("back(node, x0)", lines, scope)


def _made(head: str, lines: Sequence[str], scope: dict[str, Any]) -> Pull:
    source = "\n    ".join([f"def {head}:", *lines])
    exec(compile(source, "<rule>", "exec"), scope)  # noqa: S102 - names and numbers of records
    function: Pull = scope[head.partition("(")[0]]
    return function


def _read_by(op: Op, wanted: Sequence[bool]) -> tuple[tuple[bool, ...], bool]:
    """Return what the rule of an op may read: operands, result."""
    if op.transpose is not None:  # linear: it reads the operands in which it is not
        linear = op.linear if op.linear is not None else range(len(wanted))
        return tuple(k not in linear for k in range(len(wanted))), False
    if op.kind == "contract":  # linear in each: for the one it reads the other
        return (wanted[1], wanted[0]), False
    return (True,) * len(wanted), getattr(op, "reads_result", True)
