"""Certificates: verification over a domain."""

from __future__ import annotations

import inspect
import itertools
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import ArgumentIndexError

from .. import __version__
from .._core.graph import Node, as_sympy, topological
from .._core.program import schedule, to_json
from .._core.rewrite import rewrite
from .._core.trace import substitute
from .._symbolic import Patience, plain_condition, text
from .._verify import (
    Certificate,
    Cost,
    Entry,
    Kink,
    Loss,
    Problem,
    Row,
    combined,
    entries,
    kinks,
    loss,
    operations,
)
from ..errors import ArgumentError, DataError, VerificationError
from ._call import Call
from ._transforms import value_and_grad
from ._verify_kernels import Kernels, chosen_leaves, inputs_of, name_of, problem_of, real_outputs

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
        here = Call(f, positional, dynamic=False, exact=True)
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
        replace(r, enclosed=e, proved=p) for r, e, p in zip(rows, enclosed, proved, strict=True)
    ]
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
        {"symgrad": __version__, "numpy": np.__version__, "sympy": sp.__version__,
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


# ---------------------------------------------------------------- where it looks


#: Corners of boxes of up to this many intervals are points.
CORNERS = 4
#: Distances from an end, relative to the interval, at which it is looked at, too.
NEAR = (1e-6, 1e-12)


def middle(f: Callable[..., Any], domain: Any) -> tuple[float, ...]:
    """Return example arguments where all are numbers of the domain."""
    try:
        parameters = inspect.signature(f).parameters.values()
        names = [p.name for p in parameters if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
    except (TypeError, ValueError):  # a NumPy function that does not tell
        names = list(domain) if isinstance(domain, Mapping) else ["x"]
    if not isinstance(domain, Mapping):
        return (mean(domain),) * max(len(names), 1)
    missing = [n for n in names if n not in domain]
    if missing:
        other = [str(n) for n in domain if n not in names]
        raise ArgumentError(
            f"verify needs a value or an interval for {', '.join(missing)}"
            + (f", which {', '.join(other)} is not" if other else "")
            + ': give the arguments, or domain={"x": (low, high), ...} for each'
        )
    return tuple(mean(domain[n]) for n in names)


def mean(interval: Any) -> float:
    """Return the middle of an interval, without overflow."""
    low, high = _checked(interval)
    return 0.5 * low + 0.5 * high


def _checked(interval: Any) -> tuple[float, float]:
    try:
        low, high = map(float, interval)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"a domain is (low, high) or a dict of them by argument, not {interval!r}"
        ) from None
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise ArgumentError(f"a domain needs finite low <= high, not ({low}, {high})")
    return low, high


def intervals_of(call: Call, domain: Any) -> dict[int, tuple[float, float]]:
    """Return the interval of each argument leaf that has one."""
    if isinstance(domain, Mapping):
        return {
            k: _checked(interval)
            for name, interval in domain.items()
            for k in call.argument(0 if isinstance(call.function, np.ufunc) else name)[1]
            if call.real(k)
        }
    interval = _checked(domain)
    return {k: interval for k in range(len(call.leaves)) if call.real(k)}


def points_of(
    call: Call, intervals: Mapping[int, tuple[float, float]], count: int, seed: int
) -> Iterator[list[Any]]:
    """Yield argument leaves: corners, ends and what is near them, 0, and random points."""

    def placed(choice: Mapping[int, Any]) -> list[Any]:
        leaves = list(call.leaves)
        for k, value in choice.items():
            like = np.asarray(leaves[k])
            filled = np.broadcast_to(np.asarray(value, like.dtype), like.shape)
            leaves[k] = filled.copy() if like.shape else filled[()]
        return leaves

    middle = {k: 0.5 * low + 0.5 * high for k, (low, high) in intervals.items()}
    seen: set[tuple[float, ...]] = set()

    def once(choice: dict[int, float]) -> Iterator[list[Any]]:
        key = tuple(choice.values())
        if key not in seen:
            seen.add(key)
            yield placed(choice)

    if len(intervals) <= CORNERS:
        for corner in itertools.product(*intervals.values()):
            yield from once(dict(zip(intervals, corner, strict=True)))
    for k, (low, high) in intervals.items():
        width = high - low
        ends = [low, high, *(low + t * width for t in NEAR), *(high - t * width for t in NEAR)]
        inside = [x for x in (0.0, 1e-8, -1e-8) if low < x < high]
        for x in [*ends, *inside]:
            yield from once({**middle, k: x})
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield placed({
            k: rng.uniform(low, high, np.shape(call.leaves[k]))
            for k, (low, high) in intervals.items()
        })  # fmt: skip


def plain(value: Any) -> Any:
    return np.asarray(value).tolist()


# ---------------------------------------------------------------- what it says beside the errors


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
    here = Call(call.function, positional, dynamic=False, exact=True)
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
