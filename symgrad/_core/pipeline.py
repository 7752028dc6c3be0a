"""The main line: what becomes of a function on its way to machine code.

    trace, transform -> share, roll, join, rewrite, tidy -> schedule              a program
             -> name axes, unroll, call, legalise, cut -> schedule -> plan -> emit     its code

A function is traced by being called (``trace``). A transformation is a function, too: its body
has the graph of what it transforms and extends it (``reverse``, ``forward``, ``batch``), so
the graph that a trace gives is the transformed one. From there on each pass takes what a graph
is wanted for, and returns what is to be computed instead. Kahn's algorithm puts the steps into
an order, once for the program and once for what has instructions, and that order is the order
of NumPy's source, of C and of machine code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from .base.state import now
from .base.switches import is_on
from .control import all_of, lockstep, rerolled, tidy, with_one_body
from .graph import Node, checked, shared
from .lowering import (
    Lowered,
    Plan,
    called,
    cut,
    direct,
    emit,
    legalize,
    numpy_steps,
    plan,
    unroll,
    unrolls,
)
from .program import Program, Steps, schedule
from .rewrite import rewrite
from .runtime import register_bytes, vector_math_default
from .trace import Graph


class Roots(NamedTuple):
    """What a graph is wanted for: its results, and conditions under which they are right."""

    outputs: Sequence[Node]
    conditions: Sequence[Node] = ()

    @property
    def nodes(self) -> list[Node]:
        """All of them."""
        return [*self.outputs, *self.conditions]


class Pass(NamedTuple):
    """A pass: its name, what a listing says above its result, and the function."""

    name: str
    says: str
    run: Callable[[Roots], Roots]


def each(change: Callable[[Sequence[Node]], Sequence[Node]]) -> Callable[[Roots], Roots]:
    """Return a pass that makes no difference between results and conditions."""

    def run(roots: Roots) -> Roots:
        found, count = change(roots.nodes), len(roots.outputs)
        return Roots(found[:count], found[count:])

    return run


def share(roots: Roots) -> Roots:
    """Make equal steps one, where tracing has kept each apart: where the rounding is promised."""
    return each(shared)(roots) if now().promised else roots


def join(roots: Roots) -> Roots:
    """Make conditions on neighbouring elements of an array one condition."""
    return Roots(roots.outputs, all_of(roots.conditions))


def apply_rules(roots: Roots) -> Roots:
    """Apply the rules to the whole graph."""
    return each(rewrite)(roots) if is_on("rewrite") else roots


#: From the traced graph to the program.
SIMPLIFYING = (
    Pass("share", "Shared: equal steps are one", share),
    Pass("roll", "Rolled: what Python has written out is loops", each(rerolled)),
    Pass("one body", "Shared: loops equal but for numbers have one body", each(with_one_body)),
    Pass("join", "Joined: neighbouring conditions are one", join),
    Pass("rewrite", "Rewritten", apply_rules),
    Pass("tidy", "Tidied: loops and branches without what nobody uses", each(tidy)),
)


def lowering(program: Steps, vector_math: bool) -> tuple[Pass, ...]:
    """Return the passes from a program to what has instructions or library functions."""
    written_out = "Legalised: ops without an instruction or a library function are written out"
    if now().promised:
        return (
            Pass("round", "Rounded: ops are written out as NumPy computes them", each(numpy_steps)),
            Pass("legalise", written_out, each(legalize)),
        )
    simd = vector_math and register_bytes() > 0
    portable = now().machine is not None
    numbers = unrolls(Roots(program.outputs, program.conditions).nodes)
    expand = partial(legalize, simd=simd, numbers=numbers, portable=portable)
    once = partial(called, expand=expand)
    borders = partial(cut, guards=program.guards)
    return (
        Pass("name axes", "Axes named: transposes are letters of products", each(direct)),
        Pass("unroll", "Unrolled: short axes are values of their own", each(unroll)),
        Pass("call", "Called: long functions that come again are one body", each(once)),
        Pass("legalise", written_out, each(expand)),
        Pass("cut", "Cut: loops over assembled arrays end at their borders", each(borders)),
    )


def through(passes: Sequence[Pass], roots: Roots) -> Iterator[tuple[Pass, Roots]]:
    """Yield each pass with what it makes of what the one before it has made."""
    staged = now().staged
    for each_pass in passes:
        before = None if staged is None else staged(each_pass.name)
        roots = each_pass.run(roots)
        if staged is not None and before is not None:
            staged(before)
        checked(each_pass.name, roots.nodes)
        yield each_pass, roots


def program_of(graph: Graph) -> Program:
    """Return the program of a traced graph: simplified, and in order."""
    checked("tracing", graph)
    *_, (_, roots) = through(SIMPLIFYING, Roots(graph.outputs, graph.conditions))
    program = schedule(graph.inputs, roots.outputs, graph.guards, roots.conditions)
    return checked("scheduling", program)


def legal(program: Steps, vector_math: bool | None = None) -> Program:
    """Return a program, or the body of a loop, in steps that have instructions, in order."""
    vector = vector_math_default() if vector_math is None else vector_math
    roots = Roots(program.outputs, program.conditions)
    *_, (_, roots) = through(lowering(program, vector), roots)
    return schedule(program.inputs, roots.outputs, program.guards, roots.conditions)


def by_arrays(program: Program) -> Program:
    """Return a program as NumPy runs it best: examples with loops of their own side by side."""
    outputs = lockstep(program.outputs)
    if now().promised or outputs == list(program.outputs):
        return program
    return schedule(program.inputs, rewrite(outputs), program.guards, program.conditions)


def portable(program: Steps) -> Program:
    """Return a program, or the body of a loop, in steps that C has, in order."""
    roots = each(partial(legalize, portable=True))(Roots(program.outputs, program.conditions))
    return schedule(program.inputs, roots.outputs, program.guards, roots.conditions)


def lower(
    program: Steps, vector_math: bool | None = None, listings: list[list[str]] | None = None
) -> Lowered:
    """Return a program as LLVM assembly: of each legal program, its tasks, by its plan.

    ``listings`` is given the lines of each function's instructions, to be read.
    """
    vector = vector_math_default() if vector_math is None else vector_math
    staged = now().staged or (lambda stage: stage)

    def planned(steps: Steps) -> Plan:
        before = staged("plan")
        found = plan(legal(steps, vector))
        staged(before)
        return found

    before = staged("write LLVM's text")
    found = emit(program, planned, vector, listings)
    staged(before)
    return found
