"""What memory holds before a task: numbers to start from, and arrays that are written over.

Arrays that a loop carries are written where they lie: a step's ``Put`` or ``AddAt`` makes a new
array of the old one. If nothing reads the old one afterwards, it can be the same memory, and a
step costs what it writes, not the array's size.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import sympy as sp

from ..base.sizes import as_expr, dim_product
from ..base.switches import is_on
from ..graph import Input, Node, viewed
from ..op import PROJECTIONS, Placing, Scatter
from ._fold import describe, folded_from, identity_of
from ._plan import Nest, Plan, Single, Task
from ._windows import windows


def overwritten(plan: Plan, inputs: Sequence[Input], carries: int) -> dict[Node, int]:
    """Return the nodes of a loop's body that take the memory of what they write over.

    Parameters
    ----------
    plan:
        The plan of the body.
    inputs:
        Its inputs: the step, the carries, and the rest.
    carries:
        How many carries there are.

    Returns
    -------
    dict
        For each node the number of its carry.
    """
    chains = {k: x for k in range(carries) if (x := _chain(plan, k, inputs[1 + k]))}
    if not chains or not is_on("write over"):
        return {}
    inside = {n for chain in chains.values() for n, _ in chain}
    reads = [set(_read(task, plan, inside)) for task in plan.tasks]
    at = {s.target: j for j, t in enumerate(plan.tasks) if isinstance(t, Nest)
          for s in t.stores if s.part is not None}  # fmt: skip
    at |= {t.node: j for j, t in enumerate(plan.tasks) if isinstance(t, Single)}
    found: dict[Node, int] = {}
    for k, chain in chains.items():
        if all(_is_last(n, base, at, reads) for n, base in chain):
            found |= dict.fromkeys((n for n, _ in chain), k)
    return found


def continued(plan: Plan) -> dict[Node, Node]:
    """Return pairs of arrays that can be one memory: where a loop starts from and where it ends.

    The first value of a carry is a temporary that nothing but the loop reads. The key takes
    the place of the value: the start that of the end if that is a result of the whole.
    """
    found: dict[Node, Node] = {}
    loops = [t.node for t in plan.tasks if isinstance(t, Single) and t.node.op.kind == "loop"]
    if not loops:
        return found
    reads = [set(_read(task, plan)) for task in plan.tasks]
    at = {t.node: j for j, t in enumerate(plan.tasks) if isinstance(t, Single)}
    for loop in loops:
        for end in plan.given.get(loop, {}).values():
            start = written_over(end)
            if start is None or start not in plan.stored or start in plan.results:
                continue
            if start.op.kind in ("leaf", "view", *PROJECTIONS):
                continue
            if _is_last(end, start, at, reads):
                pair = (start, end) if end in plan.results else (end, start)
                found[pair[0]] = pair[1]
    return found


def _is_last(node: Node, base: Node, at: dict[Node, int], reads: list[set[Node]]) -> bool:
    """Tell whether nothing reads ``base`` from where ``node`` is written over it."""
    if node.op.over:
        return node in at and not any(base in r for r in reads[at[node] :])
    [loop] = node.operands
    once = sum(viewed(x) is base for x in loop.operands) == 1
    return once and not any(base in r for r in reads[at[loop] + 1 :])


def _chain(plan: Plan, k: int, carried: Input) -> list[tuple[Node, Node]]:
    """Return what leads from a carry to its new value, if it is nothing but writing.

    Each node comes with what it is written over; a loop within writes over what it starts
    from. None is another result, too: that has a place of its own.
    """
    chain: list[tuple[Node, Node]] = []
    node = plan.outputs[k]
    while (base := written_over(node)) is not None and plan.results.get(node, k) == k:
        chain.append((node, base))
        node = base
    return chain if node is carried else []


def written_over(node: Node) -> Node | None:
    """Return the array in whose memory a node could be, None if there is none."""
    if node.op.over:
        return node.operands[1]
    if node.op.kind == "result" and node.operands[0].op.kind == "loop":
        [loop], index = node.operands, node.params["index"]
        if index < loop.params["carries"] and node.shape:
            start: Node = loop.operands[index]
            return start
    return None


def _read(task: Task, plan: Plan, inside: Collection[Node] = ()) -> Iterator[Node]:
    """Yield what a task reads from memory; what is cheap it computes again from there.

    What writes over an array has copied it before, but for what is written ``inside`` a carry.
    A view that has a place in memory may be read there, or from what it is a view of.
    """
    if isinstance(task, Nest):
        own = set(task.nodes)
        stack = [*task.nodes, *(s.node for s in task.stores)]
        stack += [x for r in task.reductions for x in r.operands]
        for target in {s.target for s in task.stores}:
            if isinstance(target.op, Scatter):
                stack += target.op.places_of(target.operands)
        stack += [s.target.operands[1] for s in task.stores
                  if s.target.op.over and s.target not in inside]  # fmt: skip
    else:
        own, stack = set(), list(task.node.operands)
    seen: set[Node] = set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        from_memory = node not in own and (node.op.kind == "leaf" or node in plan.stored)
        if from_memory:
            yield node
        if not from_memory or node.op.kind == "view":
            stack.extend(node.operands)


def starting(plan: Plan) -> Callable[[Node], Any]:
    """Return what gives the number that a node's memory holds before the first task, or None."""
    folded: dict[Node, Any] = {}
    whole: set[Node] = set()  # sums of shifted parts, written without a look at what was there
    for task in plan.tasks:
        if isinstance(task, Nest):
            folded |= {r.node: identity_of(r.how, r.dtype) for r in map(describe, task.reductions)
                       if folded_from(r, task.domain) is None}  # fmt: skip
            whole |= {x for x, rows in windows(task).items() if all(w.whole for w in rows)}

    def value(node: Node) -> Any:
        if node.op.kind in ("assemble", "scatter") and not _covers(node):
            begun = isinstance(node.op, Placing) and node.op.begins(0, node.params)
            return None if begun or node in whole else 0
        return folded.get(node)

    return value


def _covers(node: Node) -> bool:
    """Tell whether the parts write every element before anything is added to it."""
    if node.params.get("whole", False):
        return True
    op = node.op
    assert isinstance(op, Placing)
    count = op.parts_of(node.operands)
    alone = node.params.get("disjoint", node.params.get("alone") == count)
    if not alone:
        return False
    total: Any = sp.Integer(0)
    for part in node.operands[:count]:
        total += as_expr(dim_product(part.shape))
    return bool(sp.expand(total - as_expr(dim_product(node.shape))) == 0)
