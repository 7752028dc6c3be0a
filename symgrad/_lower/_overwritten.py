"""Arrays that a loop carries and writes elements of: written where they lie.

A step's ``Put`` or ``AddAt`` makes a new array of the old one. If nothing reads the old one
afterwards, it can be the same memory, and a step costs what it writes, not the array's size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._graph import Input, Node
from ._plan import Nest, Plan, Task


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
    found: dict[Node, int] = {}
    reads: list[set[Node]] | None = None
    for k in range(carries):
        chain = _chain(plan, k, inputs[1 + k])
        if not chain:
            continue
        if reads is None:
            reads = [set(_read(task, plan)) for task in plan.tasks]
            at = {s.target: j for j, t in enumerate(plan.tasks) if isinstance(t, Nest)
                  for s in t.stores if s.part is not None}  # fmt: skip
        later = {n: reads[at[n] :] for n in chain if n in at}
        if all(n in later and not any(n.operands[1] in r for r in later[n]) for n in chain):
            found |= dict.fromkeys(chain, k)
    return found


def _chain(plan: Plan, k: int, carried: Input) -> list[Node]:
    """Return what leads from a carry to its new value, if it is nothing but writing."""
    chain: list[Node] = []
    node = plan.outputs[k]
    if plan.results.get(node) != k:
        return []
    while node.op.over:
        chain.append(node)
        node = node.operands[1]
    return chain if node is carried else []


def _read(task: Task, plan: Plan) -> Iterator[Node]:
    """Yield what a task reads from memory; what is cheap it computes again from there."""
    if isinstance(task, Nest):
        own = set(task.nodes)
        stack = [*task.nodes, *(s.node for s in task.stores)]
        stack += [x for r in task.reductions for x in r.operands]
        stack += [x for s in task.stores if s.target.op.kind == "scatter"
                  for x in s.target.operands[1 + s.target.op.over :]]  # fmt: skip
    else:
        own, stack = set(), list(task.node.operands)
    seen: set[Node] = set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node not in own and (node.op.kind == "leaf" or node in plan.stored):
            yield node
        else:
            stack.extend(node.operands)
