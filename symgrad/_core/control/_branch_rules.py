"""Derivatives and batches of a branch: a branch over those of its bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import numpy as np

from ..base.sizes import Dimension
from ..base.state import within
from ..graph import Body, Input, Node
from ..rewrite import rewrite
from ..trace import Traced, as_node, substitute
from ..transforms.batch import batch, differing, repeated, widened
from ..transforms.guards import Guard, Guarded, holds
from ..transforms.limits import push_forward
from ..transforms.reverse import pull_back_guarded
from ._branch_writes import added, scattered
from ._fields import Branch, counterparts, or_zeros, pick, result, stand_ins
from ._singular_points import passes_edge


def push_branch(tangents: Sequence[Node | None], node: Node) -> Callable[[Node], Node | None]:
    """Return, as a function of the branch's result nodes, their tangents."""
    branch = Branch.of(node)
    given = tangents[1:]
    bodies, pushed = [], []
    for body in branch.bodies:
        inner = {x: Input(f"d{x.name}", x.shape, x.dtype) for x in pick(body.inputs, given)}
        pushed.append((body, inner, push_forward(body.outputs, inner)))
    moving = [any(t is not None for t in column)
              for column in zip(*(p for _, _, p in pushed), strict=True)]  # fmt: skip
    for body, inner, found in pushed:
        slopes = or_zeros(found, body.outputs)
        outputs = rewrite([*body.outputs, *pick(slopes, moving)])
        bodies.append(Body((*body.inputs, *inner.values()), outputs))
    operands = (*branch.operands, *pick(given, given))
    made = Branch(branch.index, operands, tuple(bodies), branch.kept).node()
    places = np.cumsum(moving) + len(moving) - 1

    def tangent(projection: Node) -> Node | None:
        k = projection.params["index"]
        return result(made, int(places[k])) if moving[k] else None

    return tangent


def pull_branch(
    cts: Mapping[Node, Guarded], node: Node, wanted: Sequence[bool]
) -> list[Guarded | None]:
    """Return the cotangents of a branch's operands: each body is pulled back within itself.

    What has been computed before the branch has its slope outside of it, infinite perhaps where
    no body that uses it is run: so they come with the conditions under which they count.
    """
    branch = Branch.of(node)
    given = {projection.params["index"]: ct for projection, ct in cts.items()}
    conditions = {ct.guard: as_node(holds(ct.guard)) for ct in given.values() if ct.guard}
    inputs = [pick(body.inputs, wanted[1:]) for body in branch.bodies]
    edgy = [w and passes_edge(x) for w, x in zip(wanted[1:], branch.operands, strict=True)]
    bound, found = [], []
    for body, wrt in zip(branch.bodies, inputs, strict=True):
        outputs = [body.outputs[k] for k in given]
        seeds, truths = stand_ins(outputs, "ct"), stand_ins(conditions.values(), "counts")
        guards = dict(zip(conditions, (((x, True),) for x in truths), strict=True))
        own = [Guarded(x, guards.get(ct.guard, ()))
               for x, ct in zip(seeds, given.values(), strict=True)]  # fmt: skip
        with within(edgy=dict.fromkeys(pick(body.inputs, edgy), "all")):
            found.append(pull_back_guarded(outputs, own, wrt))
        bound.append((*body.inputs, *seeds, *truths))
    columns = list(zip(*found, strict=True))
    flowing = [any(ct is not None for ct in column) for column in columns]
    columns = pick(columns, flowing)
    if not columns:
        return [None] * len(node.operands)
    values = [rewrite(or_zeros([ct and ct.value for ct in slopes], pick(wrt, flowing)))
              for *slopes, wrt in zip(*columns, inputs, strict=True)]  # fmt: skip
    short = [None if branch.kept else added(column) for column in zip(*values, strict=True)]
    masks = [None if few else _mask(column) for few, column in zip(short, columns, strict=True)]
    bodies = []
    for number, args in enumerate(bound):
        outputs = [x for ct, few in zip(values[number], short, strict=True)
                   for x in ([ct] if few is None else few.columns[number])]  # fmt: skip
        bodies.append(Body(args, [*outputs, *rewrite([mask[number] for mask in masks if mask])]))
    operands = (*branch.operands, *(ct.value for ct in given.values()), *conditions.values())
    back = Branch(branch.index, operands, tuple(bodies), branch.kept).node()
    results = iter([result(back, k) for k in range(len(bodies[0].outputs))])
    slopes = [
        next(results) if few is None
        else scattered(ct, few, [next(results) for _ in few.columns[0]])
        for ct, few in zip(values[0], short, strict=True)
    ]  # fmt: skip
    counts = [((next(results), True),) if mask else _numbered(branch.index, column)
              for mask, column in zip(masks, columns, strict=True)]  # fmt: skip
    sent, flags = map(Guarded, slopes, counts), iter(flowing)
    return [None, *(next(sent) if w and next(flags) else None for w in wanted[1:])]


def _numbered(index: Node, column: Sequence[Guarded | None]) -> Guard:
    """Return the guard that says that a body is run in which a cotangent flows."""
    numbers = [k for k, ct in enumerate(column) if ct is not None]
    others = [k for k, ct in enumerate(column) if ct is None]
    few = min(others, numbers, key=len)
    truths = [np.equal(Traced(index), k) for k in few]
    return ((as_node(reduce(np.logical_or, truths)), few is numbers),) if few else ()


def _mask(column: Sequence[Guarded | None]) -> list[Node] | None:
    """Return for each body where a cotangent counts, None if that is everywhere or nowhere."""
    if not any(ct and ct.guard for ct in column):
        return None
    like = next(ct.value for ct in column if ct is not None)
    some = [holds(ct.guard) if ct and ct.guard else ct is not None for ct in column]
    if any(np.ndim(x) for x in some):
        some = [np.broadcast_to(x, Traced(like).shape) for x in some]
    return [as_node(x, np.dtype(bool)) for x in some]


def batch_branch(
    size: Dimension, operands: Sequence[Node], flags: Sequence[bool], node: Node, last: bool
) -> Callable[[Node], tuple[Node, bool]]:
    """Return, as a function of the branch's result nodes, their batched counterparts.

    If the number differs between examples, all bodies are run and the results selected.
    """
    branch = Branch.of(node)
    found = []
    for body in branch.bodies:
        wide = {
            x: Input(x.name, widened(x.shape, size, last), x.dtype)
            for x in pick(body.inputs, flags[1:])
        }
        found.append((body, wide, batch(body.outputs, wide, size, last)))
    if flags[0]:
        return _selected(size, last, operands, [
            [(substitute([x], dict(zip([wide.get(i, i) for i in body.inputs], operands[1:],
                                       strict=True)))[0], f) for x, f in outputs]
            for body, wide, outputs in found
        ])  # fmt: skip
    lifted = [any(f for _, f in column)
              for column in zip(*(outputs for *_, outputs in found), strict=True)]  # fmt: skip
    bodies = []
    for body, wide, outputs in found:
        full = [repeated(x, size, last) if up and not f else x
                for (x, f), up in zip(outputs, lifted, strict=True)]  # fmt: skip
        bodies.append(Body([wide.get(x, x) for x in body.inputs], rewrite(full)))
    made = Branch(operands[0], tuple(operands[1:]), tuple(bodies), branch.kept).node()
    return counterparts(made, lifted)


def spread_branch(node: Node, flags: Sequence[bool]) -> tuple[list[bool], bool]:
    """Tell which results of a branch differ between examples, and whether each ends by itself."""
    bodies = Branch.of(node).bodies
    found = [differing(b.outputs, pick(b.inputs, flags[1:])) for b in bodies]
    results = [
        [x in moving for x in b.outputs] for b, (moving, _) in zip(bodies, found, strict=True)
    ]
    columns = zip(*results, strict=True)
    return [flags[0] or any(c) for c in columns], any(own for _, own in found)


def _selected(
    size: Dimension,
    last: bool,
    operands: Sequence[Node],
    found: Sequence[Sequence[tuple[Node, bool]]],
) -> Callable[[Node], tuple[Node, bool]]:
    index = Traced(operands[0])

    def counterpart(projection: Node) -> tuple[Node, bool]:
        column = [outputs[projection.params["index"]] for outputs in found]
        wide = [x if f else repeated(x, size, last) for x, f in column]
        chosen = Traced(wide[-1])
        ones = (1,) * (chosen.ndim - 1)
        shape = (*ones, index.shape[0]) if last else (index.shape[0], *ones)
        for k in reversed(range(len(wide) - 1)):
            chosen = np.where(np.reshape(np.equal(index, k), shape), Traced(wide[k]), chosen)
        return as_node(chosen), True

    return counterpart
