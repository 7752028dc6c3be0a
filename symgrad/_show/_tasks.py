"""A plan as text: which steps share a loop nest, and what goes to memory."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from .._graph import Node
from .._lower._plan import Nest, Plan
from .._schedule import Program, shape_text

WIDTH = 88


def task_lines(plan: Plan, program: Program) -> Iterator[str]:
    """Yield the lines that describe the tasks of a plan, in the names of ``program``."""
    names = program.names
    number = 0
    for task in plan.tasks:
        if not isinstance(task, Nest):
            yield f"task {number}: {task.node.op.name.lower()} {names[task.node]}"
            number += 1
            continue
        if not (task.nodes or task.reductions or task.stores):
            continue
        over = f"loops over {shape_text(task.domain)}" if task.domain else "straight-line code"
        yield f"task {number}: {over}"
        number += 1
        yield from _row("computes", [names[n] for n in task.nodes])
        folds = [f"{names[n]} = {n.op.name.lower()}({_operands(n, names)})"
                 for n in task.reductions]  # fmt: skip
        yield from _row("reduces", folds)
        yield from _row("stores", _stores(task, plan, names))


def _stores(task: Nest, plan: Plan, names: Mapping[Node, str]) -> list[str]:
    found = []
    for node in task.nodes:
        if node in plan.results:
            found.append(f"{names[node]} as result {plan.results[node]}")
        elif node in plan.stored:
            found.append(names[node])
    found += [f"{names[n]} as result {plan.results[n]}"
              for n in task.reductions if n in plan.results]  # fmt: skip
    for store in task.stores:
        if store.output is not None:
            found.append(f"{names[store.node]} as result {store.output}")
        elif store.part is not None:
            found.append(f"{names[store.node]} into {names[store.target]}")
        else:
            found.append(names[store.node])
    return found


def _operands(node: Node, names: Mapping[Node, str]) -> str:
    return ", ".join(names[x] for x in node.operands)


def _row(word: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        head = f"    {word:8} "
        yield from textwrap.wrap(
            ", ".join(items), WIDTH, initial_indent=head, subsequent_indent=" " * len(head)
        )
