"""The function that reads sizes off the arguments, checks guards, and shapes the results."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from .._graph import Node
from .._schedule import Program
from ._emitter import Emitter
from ._llvm_module import Module


def write_sizes(
    module: Module,
    name: str,
    program: Program,
    sizes: Sequence[sp.Symbol],
    outputs: Sequence[Node],
    steps: sp.Expr = sp.Integer(0),  # noqa: B008 - immutable
) -> None:
    """Add ``name.sizes(extents..., found) -> status`` to the module.

    It takes every extent of every array argument and every size argument, writes the size
    symbols, the extents of all results and the work of long loops (``steps``) to ``found``,
    and returns 0, or 2 if the program is not for such sizes.
    """
    e = Emitter(module)
    names: dict[tuple[int, int | None], str] = {}
    for k, node in enumerate(program.inputs):
        if node.dim is not None:
            names[k, None] = f"%n{k}"
        names.update({(k, axis): f"%n{k}_{axis}" for axis in range(node.ndim)})
    parameters = [f"i64 {n}" for n in names.values()]
    for symbol, source in program.sizes.items():
        e.bind_index(symbol, names[source], 0)
    _general(e, sizes)
    checks = []
    for (k, axis), given in names.items():
        dim = program.inputs[k].dim if axis is None else program.inputs[k].shape[axis]
        expected = e.index(dim)
        if expected != given:
            checks.append(e.op(f"icmp eq i64 {given}, {expected}"))
    for relation, truth in program.guards.items():
        value = e.relation(relation)
        checks.append(value if truth else e.op(f"xor i1 {value}, true"))
    result = "true"
    for check in checks:
        result = check if result == "true" else e.op(f"and i1 {result}, {check}")
    for position, dim in enumerate([*sizes, *(d for n in outputs for d in n.shape), steps]):
        value = e.index(dim)
        pointer = e.op(f"getelementptr inbounds i64, ptr %found, i64 {position}")
        e.line(f"store i64 {value}, ptr {pointer}")
    status = e.op(f"select i1 {result}, i32 0, i32 2")
    body = ["entry:", *e.lines[0], f"  ret i32 {status}"]
    if sizes:
        body += ["special:", "  ret i32 2"]
    head = f"define i32 @{name}.sizes({', '.join([*parameters, 'ptr %found'])}) #0 {{"
    module.functions.append("\n".join([head, *body, "}\n"]))


def _general(e: Emitter, sizes: Sequence[sp.Symbol]) -> None:
    """Refuse sizes of 0 and 1 before anything is computed: they have traces of their own."""
    if not sizes:
        return
    least = e.index(sizes[0])
    for symbol in sizes[1:]:
        e.module.declare("llvm.smin.i64", "i64", ["i64", "i64"])
        least = e.op(f"call i64 @llvm.smin.i64(i64 {least}, i64 {e.index(symbol)})")
    general = e.op(f"icmp sgt i64 {least}, 1")
    e.line(f"br i1 {general}, label %general, label %special")
    e.lines[0].append("general:")
