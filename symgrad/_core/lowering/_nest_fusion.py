"""Nests that write to one array, each at places of its own, run together, some rows at a time.

The values of a sparse matrix come from several nests, which differ by a border or two: what the
inside of a grid gives, and what its neighbours do. Each goes through all of the matrix, which one
after the other is as many times through memory. So they take turns, so many rows each that what
they write and read stays in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy as sp

from ..base.sizes import as_dim, as_expr, dim_product
from ..base.switches import is_on
from ..graph import Node
from ..op import Placing
from . import _instructions as asm
from ._chunk_functions import dozens, share
from ._chunking import Cut, cost_of, cut_of
from ._emitter import Emitter, size_parameters
from ._llvm_module import Module
from ._loops import JOINED, Frame, task_function
from ._nest import NestWriter
from ._plan import Nest, Plan, Task

#: Elements of each nest in one turn: with more, what it writes leaves the nearest cache.
TURN = 256


def together(plan: Plan) -> Iterator[Any]:
    """Yield the tasks of a plan in order, each with its number; those that run together as one."""
    group: list[Any] = []
    common: Any = None
    for k, task in enumerate(plan.tasks):
        if isinstance(task, Nest) and not (task.nodes or task.stores or task.reductions):
            continue
        target = _target(task, plan)
        if group and target is not None and target == common:
            group.append(task)
            continue
        if group:
            yield group
        group, common = [k, task], target
    if group:
        yield group


def _target(task: Task, plan: Plan) -> tuple[Node, int, Any] | None:
    """Return the one array to which a nest writes, at places that are no other's; else None.

    With it come the rank and the sizes of the nest: those that run together have as many rows,
    but for a border, and so the same work to share.
    """
    if not isinstance(task, Nest) or task.reductions or not task.stores or not is_on("together"):
        return None
    target = task.stores[0].target
    if target.op.kind != "scatter" or any(x in plan.stored for x in task.nodes):
        return None
    assert isinstance(target.op, Placing)
    for store in task.stores:
        if store.target is not target or store.part is None:
            return None
        if not target.op.alone(store.part, target.params):
            return None
    cut = cut_of(task)
    if cut is None or cut.axis != 0:
        return None
    return target, len(task.domain), as_expr(dim_product(task.domain)).free_symbols


def write_together(
    module: Module, name: str, nest: Nest, cut: Cut, frame: Frame, stored: dict[Node, None],
    *more: Nest,
) -> sp.Expr:  # fmt: skip
    """Add the functions of nests that run together; return the work of all, in dozens.

    ``NAME.part`` runs the rows from ``%begin`` to ``%end``. There is a row more than the first
    nest has: the others have their last ones there, whatever their number.
    """
    nests = (nest, *more)
    inner = Frame(frame.place, frame.result, frame.sizes, more=("%begin", "%end", JOINED))
    e = Emitter(module)
    e.bind_sizes(frame.sizes)
    rows = [e.index(as_expr(nest.domain[0])) for nest in nests]
    total = e.op("add", "i64", rows[0], "1")
    width = e.index(as_expr(dim_product(nests[0].domain[1:])))
    turn = e.op("udiv", "i64", TURN, e.least(width, 1, "smax"))
    step = e.least(turn, 1, "smax")
    e.jump("turn")
    e.begin("turn")
    e.add(asm.phi("%row", "i64", ("%begin", "entry"), ("%next", "turn")))
    e.op("add nuw nsw", "i64", "%row", step, name="%next")
    stop = e.least("%next", "%end")
    last = e.op("icmp sge", "i64", stop, total)
    cost = 0
    for k, (nest, count) in enumerate(zip(nests, rows, strict=True)):
        own = Frame(frame.place, frame.result, frame.sizes, more=inner.more)
        NestWriter(module, f"{name}.{k}", nest, own, cut=cut).write(stored)
        inner.pointers.update(own.pointers)
        cost += cost_of(nest, len(own.pointers))
        first, end = (e.least(x, count) for x in ("%row", stop))
        end = e.select(last, "i64", count, end)
        given = [f"ptr {p}" for p in own.pointers] + size_parameters(own.sizes)
        given += [f"i64 {first}", f"i64 {end}", "i64 0"]
        once = module.attribute("noinline")
        e.call("void", f"@{name}.{k}", given, f" {once}")
    e.op("icmp slt", "i64", "%next", "%end", name="%more")
    e.branch("%more", "turn", "done")
    e.begin("done")
    e.ret()
    module.functions.append(task_function(f"{name}.part", inner, [asm.label("entry"), *e.lines[0]]))
    domain = (as_dim(as_expr(nests[0].domain[0]) + 1), *nests[0].domain[1:])
    share(module, name, domain, frame, inner, cost)
    return dozens(cost, domain)
