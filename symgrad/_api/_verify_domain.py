"""Certificates: verification over a domain."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import sympy as sp

from .._graph import Node
from .._schedule import schedule
from .._schedule._json import to_json
from .._trace import substitute
from .._verify import Certificate, Entry, Problem, combined, entries, strengthened
from ..errors import ArgumentError, DataError, VerificationError
from ._call import Call
from ._verify_evidence import cost_of, gradient_of, is_identity, kinks_of, worst_step
from ._verify_kernels import Kernels, chosen_leaves, name_of, problem_of, real_outputs
from ._verify_points import intervals_of, middle, plain, points_of

#: Points that kinks are looked for at.
LOOKED_AT = 24


def certificate(
    f: Callable[..., Any], args: Sequence[Any], wrt: Any, domain: Any, digits: int, samples: int,
    limit: float, points: int, seed: int,
) -> Certificate:  # fmt: skip
    """Return the certificate of ``f`` over a domain; see :func:`symgrad.verify`."""
    args = tuple(args) or middle(f, domain)
    call = Call(f, args, dynamic=False)
    chosen = chosen_leaves(call, wrt)
    intervals = intervals_of(call, domain)
    kernels = Kernels(call, chosen)
    gathered: list[list[tuple[Entry, Mapping[str, Any]]]] = [[] for _ in range(len(chosen) + 1)]
    enclosed, zeros = [0] * (len(chosen) + 1), [0] * (len(chosen) + 1)
    runs: list[tuple[Call, Problem]] = []
    paths: set[tuple[Node, ...]] = set()
    count = 0
    for leaves in points_of(call, intervals, points, seed):
        positional, _ = call.tree.unflatten(leaves)
        here = Call(f, positional, dynamic=False)
        place = {call.names[k]: plain(leaves[k]) for k in intervals}
        problem = problem_of(here, chosen, kernels)
        try:
            found, proofs, exact = entries(problem, digits, samples, limit)
        except VerificationError as error:
            where = ", ".join(f"{name} = {value}" for name, value in place.items())
            raise VerificationError(f"at {where}: {error}") from None
        count += 1
        for k, some in enumerate(found):
            gathered[k] += [(e, place) for e in some]
            enclosed[k] += proofs[k]
            zeros[k] += exact[k]
        paths.add(_conditions(here, call))
        if len(runs) < LOOKED_AT:
            runs.append((here, problem))
    names = ["value", *(f"d/d {call.names[k]}" for k in chosen)]
    rows = combined(names, gathered, zeros)
    gradient = gradient_of(call, chosen, kernels)
    inputs = [call.graph.inputs[call.inputs[k]] for k in chosen]  # type: ignore[index]
    # A proof, like a saved program, is of one path through the code.
    single = len(paths) == 1
    proved = [False, *(single and is_identity(gradient, k, x) for k, x in enumerate(inputs))]
    rows = [
        strengthened(r, e, p) for r, e, p in zip(rows, enclosed, proved, strict=True)
    ]  # fmt: skip
    fixed = {
        call.names[k]: plain(leaf) for k, leaf in enumerate(call.leaves)
        if k not in intervals and call.inputs[k] is not None
    }  # fmt: skip
    return Certificate(
        name_of(f),
        {call.names[k]: list(v) for k, v in intervals.items()},
        count, digits, limit, tuple(rows),
        worst_step(call, chosen, kernels, rows, digits),
        tuple(kinks_of(call, runs)),
        cost_of(call, gradient),
        _program(call) if single else "",
        {"symgrad": version("symgrad"), "numpy": np.__version__, "sympy": sp.__version__,
         "machine": platform.machine(), "points": str(points), "samples": str(samples)},
        fixed, seed,
    )  # fmt: skip


def _conditions(here: Call, call: Call) -> tuple[Node, ...]:
    """Return the decisions at a point, in terms of the inputs of the call in the middle."""
    names = dict(zip(here.graph.inputs, call.graph.inputs, strict=True))
    return tuple(substitute(here.graph.conditions, names))


def _program(call: Call) -> str:
    """Return the function as a saved program; empty if the format does not have it."""
    graph = call.graph
    try:
        made = schedule(graph.inputs, real_outputs(call), graph.guards, graph.conditions)
        return str(to_json(made))
    except (DataError, ArgumentError):
        return ""
