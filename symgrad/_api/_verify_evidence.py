"""What a certificate says beside the errors: a proof, the step that loses digits, kinks, cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import ArgumentIndexError

from .._graph import Node, as_sympy, topological
from .._rewrite import rewrite
from .._symbolic import Patience, plain_condition, text
from .._trace import substitute
from .._verify import Cost, Kink, Loss, Problem, Row, kinks, loss, operations
from ._call import Call
from ._transforms import value_and_grad
from ._verify_kernels import Kernels, inputs_of, real_outputs

#: Operations of a formula that SymPy is asked to simplify to 0.
SIMPLE = 60


def gradient_of(call: Call, chosen: Sequence[int], kernels: Kernels) -> list[Node] | None:
    """Return value and gradient of a function with one real result, in the call's inputs."""
    if not kernels.together:
        return None
    both = value_and_grad(kernels.single, argnums=tuple(chosen))
    made = Call(both, call.leaves, dynamic=False).graph
    return rewrite(substitute(made.outputs, dict(zip(made.inputs, call.graph.inputs, strict=True))))


def is_identity(gradient: list[Node] | None, k: int, x: Any) -> bool:
    """Tell whether the program's formula is identically SymPy's derivative of the function's."""
    if gradient is None or any(n.shape for n in topological(gradient)):
        return False
    value, *slopes = gradient
    if len(topological([slopes[k]])) > SIMPLE:
        return False
    try:
        difference = as_sympy(slopes[k]) - sp.diff(as_sympy(value), x.symbol)
        difference = difference.replace(lambda e: isinstance(e, sp.Float), _fraction)
        if difference.atoms(sp.Float):
            return False  # 0.693... is not log(2)
        if difference.count_ops() > SIMPLE or difference.has(sp.Piecewise, sp.Derivative):
            return False
        if sp.expand(difference) == 0:
            return True
        shorter: Any = Patience.of_a_reader().attempt(sp.simplify, difference, difference)
        return bool(shorter == 0)
    except (TypeError, ValueError, NotImplementedError, RecursionError, ArgumentIndexError):
        return False


def _fraction(number: Any) -> Any:
    """Return a number of a formula as a simple fraction, if it is one."""
    exact = sp.Rational(str(float(number)))
    return exact if exact.q <= SIMPLE else number


def worst_step(
    call: Call, chosen: Sequence[int], kernels: Kernels, rows: Sequence[Row], digits: int
) -> Loss | None:
    """Return the step that loses digits where the largest error was."""
    worst = max(rows, key=lambda r: r.max_ulp)
    leaves = list(call.leaves)
    for name, value in worst.point.items():
        k = call.names.index(name)
        leaves[k] = np.asarray(value, np.asarray(leaves[k]).dtype)[()]
    positional, _ = call.tree.unflatten(leaves)
    here = Call(call.function, positional, dynamic=False)
    outputs = gradient_of(here, chosen, kernels) or rewrite(real_outputs(here))
    return loss(outputs, inputs_of(here), digits)


def kinks_of(call: Call, runs: Sequence[tuple[Call, Problem]]) -> list[Kink]:
    """Return the kinks; paths that differ from the first one's are looked at by themselves."""
    found: dict[Any, Kink] = {}
    groups: dict[tuple[Node, ...], list[Any]] = {}
    for here, problem in runs:
        names = dict(zip(here.graph.inputs, call.graph.inputs, strict=True))
        outputs = tuple(substitute(here.graph.outputs, names))
        values = {names[n]: v for n, v in problem.inputs.items()}
        groups.setdefault(outputs, []).append(values)
    for outputs, sampled in groups.items():
        for kink in kinks(outputs, sampled):
            found.setdefault((kink.step, kink.where), kink)
    for here, _ in runs if len(groups) > 1 else []:
        names = dict(zip(here.graph.inputs, call.graph.inputs, strict=True))
        for node in substitute(tuple(here.graph.conditions), names):
            where = str(node.where) if node.where else None
            step = f"if {text(plain_condition(node.as_sympy()))}"
            found.setdefault(where, Kink(step, where, "branch", None, 0))
    return list(found.values())


def cost_of(call: Call, gradient: list[Node] | None) -> Cost | None:
    """Return what a gradient costs, if there is one."""
    if gradient is None:
        return None
    return Cost(operations(rewrite(real_outputs(call))), operations(gradient))
