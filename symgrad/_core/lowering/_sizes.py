"""The function that reads sizes off the arguments, checks guards, and shapes the results.

It also makes sure that no arithmetic with sizes leaves 64 bits, in it or in the program: else
the memory for a temporary would be too small for what is written to it. All of it is bounded by
one polynomial with positive coefficients, made here, of which little or nothing is left to
compute in a call: what lies in memory in the arguments is small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import sympy as sp

from ..base.size_text import fraction_of
from ..base.sizes import MOST_BYTES, Dim, as_expr, dim_product
from ..graph import Node, SizeOf
from ..program import Steps
from ..runtime.interface import constant_text
from . import _instructions as asm
from ._emitter import Emitter
from ._instructions import Function
from ._llvm_module import Module

#: An array in memory has at most so many bytes: the addresses that systems give to a process.
IN_MEMORY = 1 << 48

#: A polynomial: the coefficient of each product of size symbols, with their powers.
Monomial = tuple[tuple[sp.Symbol, int], ...]
Bound = dict[Monomial, int]


def write_sizes(
    module: Module,
    name: str,
    program: Steps,
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
    admitted = _admit(
        e, sizes, unsure(program, [*computed(program, outputs), *module.bounded, steps])
    )
    checks = []
    for (k, axis), given in names.items():
        dim = program.inputs[k].dim if axis is None else program.inputs[k].shape[axis]
        expected = e.index(dim)
        if expected != given:
            checks.append(e.op("icmp eq", "i64", given, expected))
    for relation, truth in program.guards.items():
        value = e.relation(relation)
        checks.append(value if truth else e.op("xor", "i1", value, "true"))
    result = "true"
    for check in checks:
        result = check if result == "true" else e.op("and", "i1", result, check)
    for position, dim in enumerate([*sizes, *(d for n in outputs for d in n.shape), steps]):
        value = e.index(dim)
        pointer = e.element("i64", "%found", position)
        e.store("i64", value, pointer)
    status = e.select(result, "i32", "0", "2")
    body = [asm.label("entry"), *e.lines[0], asm.ret("i32", status)]
    if admitted:
        body += [asm.label("special"), asm.ret("i32", "2")]
    function = Function(f"{name}.sizes", [*parameters, "ptr %found"], body, "#0", "i32", False)
    module.functions.append(function)


def _admit(e: Emitter, sizes: Sequence[sp.Symbol], bound: Bound) -> bool:
    """Refuse sizes before anything is computed with them; tell whether some may be.

    Those of 0 and 1 have traces of their own; for others the arithmetic could leave 64 bits.
    """
    checks = []
    if sizes:
        least = e.index(sizes[0])
        for symbol in sizes[1:]:
            least = e.least(least, e.index(symbol))
        checks.append(e.op("icmp sgt", "i64", least, "1"))
    if bound:
        checks.append(_below(e, bound))
    if not checks:
        return False
    general = checks[0] if len(checks) == 1 else e.op("and", "i1", *checks)
    e.branch(general, "general", "special")
    e.begin("general")
    return True


def _below(e: Emitter, bound: Bound) -> str:
    """Compare a bound with the limit: with floats, which do not overflow."""
    floats = {
        symbol: e.cast("sitofp", "i64", e.index(symbol), "double")
        for symbol in dict.fromkeys(s for monomial in bound for s, _ in monomial)
    }
    total = constant_text(0.0, np.dtype(np.float64))
    for monomial, coefficient in bound.items():
        term = constant_text(float(coefficient), np.dtype(np.float64))
        for symbol, power in monomial:
            for _ in range(power):
                term = e.op("fmul", "double", term, floats[symbol])
        total = e.op("fadd", "double", total, term)
    limit = constant_text(float(MOST_BYTES), np.dtype(np.float64))
    return e.op("fcmp olt", "double", total, limit)


# ---------------------------------------------------------------- what is computed


def sizes_of(nodes: Iterable[Node]) -> Iterator[sp.Expr]:
    """Yield what the code of ``nodes`` computes of sizes: bytes, positions and numbers."""
    for node in nodes:
        if isinstance(node, SizeOf):
            yield as_expr(node.size)
        if node.shape:
            yield as_expr(dim_product(node.shape)) * node.dtype.itemsize
        for _, value in node.items:
            yield from _expressions(value)


def _expressions(value: Any) -> Iterator[sp.Expr]:
    if isinstance(value, tuple):
        for item in value:
            yield from _expressions(item)
    elif isinstance(value, sp.Expr) and not isinstance(value, (Node, sp.Atom)):
        yield value


def computed(program: Steps, outputs: Sequence[Node]) -> Iterator[Any]:
    """Yield what is computed of sizes before a program runs: for its guards and its results."""
    for node in program.inputs:
        yield from node.shape
    for relation in program.guards:
        yield from relation.args
    for node in outputs:
        if node.shape:
            yield as_expr(dim_product(node.shape)) * node.dtype.itemsize
            yield from node.shape


# ---------------------------------------------------------------- bounds


def unsure(program: Steps, expressions: Iterable[Any]) -> Bound:
    """Return a bound of all expressions together, without what is known to be small.

    The rest is to be compared with :data:`MOST_BYTES`. A size that is an argument itself is no
    arithmetic.
    """
    total: Bound = {}
    for expression in expressions:
        if not isinstance(expression, (int, sp.Atom)):
            for monomial, coefficient in bound_of(expression).items():
                total[monomial] = max(total.get(monomial, 0), coefficient)
    small = [dict[Any, int]()]
    for node in program.inputs:
        if all(isinstance(d, Dim) or (isinstance(d, int) and d) for d in node.shape):
            symbols = [d for d in node.shape if isinstance(d, Dim)]
            small.append({s: symbols.count(s) for s in symbols})
    known, rest = 0, Bound()
    for m, c in sorted(total.items(), key=lambda term: term[1]):
        most = known + c * (IN_MEMORY if m else 1)
        fits = any(all(s.get(symbol, 0) >= power for symbol, power in m) for s in small)
        if fits and most < MOST_BYTES:
            known = most
        else:
            rest[m] = c
    # Both parts together are far from an overflow: each may have the limit for itself.
    return rest


def bound_of(expression: Any) -> Bound:
    """Return a bound of what the code for an expression computes, in its steps as well.

    ``Emitter.index`` says which steps these are.
    """
    e = as_expr(expression)
    if isinstance(e, sp.Symbol):
        return {((e, 1),): 1}
    if isinstance(e, sp.Rational):  # divided by its denominator last
        return {(): abs(int(e.p))}
    if isinstance(e, sp.Add):
        return _sum(map(bound_of, e.args))
    if isinstance(e, sp.Mul):
        return _product(map(bound_of, e.args))
    if isinstance(e, sp.Pow) and e.exp.is_Integer and e.exp > 0:
        return _product([bound_of(e.base)] * int(e.exp))
    if isinstance(e, sp.floor):
        return _sum(map(bound_of, fraction_of(e.args[0])))
    if isinstance(e, (sp.Mod, sp.Min, sp.Max)):
        return _sum(map(bound_of, e.args))
    return {}  # refused where it is written as code


def _sum(bounds: Iterable[Bound]) -> Bound:
    total: Bound = {}
    for bound in bounds:
        for monomial, coefficient in bound.items():
            total[monomial] = total.get(monomial, 0) + coefficient
    return total


def _product(bounds: Iterable[Bound]) -> Bound:
    total: Bound = {(): 1}
    for bound in bounds:
        total = _sum({_times(m, k): c * d} for m, c in total.items() for k, d in bound.items())
    return total


def _times(a: Monomial, b: Monomial) -> Monomial:
    powers = dict(a)
    for symbol, power in b:
        powers[symbol] = powers.get(symbol, 0) + power
    return tuple(sorted(powers.items(), key=lambda pair: pair[0].name))
