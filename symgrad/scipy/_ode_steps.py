"""What a method of solving initial value problems is to the loop: steps, and errors of them.

A step gives *stages*, and everything else is linear in them: the new state, the error estimates,
the polynomial between two steps. So a method says how it makes its stages, and how large it takes
an error to be; nothing else. At the end is what ``solve_ivp`` returns, and at which times.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.optimize import OptimizeResult

from .._core.graph import Node, bodies, topological
from .._core.ops.np_common import is_traced
from .._core.trace import as_node, flatten_traced
from .._core.transforms.support import dependents
from ._ode_structure import Slope


class Step(NamedTuple):
    """A step that is tried.

    Attributes
    ----------
    y, f:
        The state at its end, shape (n,), and the slope there.
    stages:
        What state, errors and interpolant are made of.
    defect:
        What else is an error; None: nothing.
    """

    y: Any
    f: Any
    stages: list[Any]
    defect: Any = None


class Trial(NamedTuple):
    """What a step is made of, before its length counts.

    Attributes
    ----------
    step:
        ``step(h)`` is the step of that length.
    errors:
        If steps of all lengths follow from one computation: ``errors(scale, h)`` are the error of
        that of length ``h``, and of that of one unit. ``scale(y)`` is what they are compared to.
    """

    step: Callable[[Any], Step]
    errors: Callable[..., tuple[Any, Any]] | None = None


class Method(Protocol):
    """What the loop needs of a method.

    Attributes
    ----------
    order:
        The order of the estimate that controls steps.
    root:
        Of an error, the root of this degree says how much shorter the step should have been.
    safety:
        How much shorter than that the next step is.
    stages:
        How many stages a step has.
    evaluations, dense_evaluations:
        How often a step calls the right-hand side, and its interpolant in addition.
    jacobians:
        How often a step takes its Jacobian, and factorises a matrix.
    complex:
        Whether the state may be complex.
    """

    order: int
    root: int
    safety: float
    stages: int
    evaluations: int
    dense_evaluations: int
    jacobians: int
    complex: bool

    def __hash__(self) -> int: ...

    def trial(self, slope: Slope, t: Any, y: Any, f: Any, unit: Any) -> Trial:
        """Return what steps from ``t``, ``y`` with the slope ``f`` are made of.

        ``unit`` is the length of the step before, which is known earlier than that of this one.
        """

    def error(self, step: Step, h: Any, scale: Any) -> Any:
        """Return the size of the error: a step is good if it is below 1."""

    def dense(self, slope: Slope, t: Any, y: Any, h: Any, stages: Sequence[Any]) -> list[Any]:
        """Return q: ``y(t + x*h) = y(t) + q[0]*x + q[1]*x**2 + ...``, each of shape (n,)."""


#: How long the program of a right-hand side may be that is written out for each stage of a step.
BRIEF = 100


def brief(slope: Slope, t: Any, y: Any) -> bool:
    """Tell whether the right-hand side is a short program, or computes with numbers."""
    return is_brief(slope(t, y), t, y)


def is_brief(f: Any, t: Any, y: Any) -> bool:
    """Tell whether ``f`` is a short program of time and state, or computed with numbers."""
    return length(f, t, y) < BRIEF


def length(f: Any, t: Any, y: Any) -> int:
    """Return how many steps ``f`` is of time and state; 0 if it is computed with numbers."""
    found, given = (flatten_traced(x)[0] for x in (f, (t, y)))
    if not any(map(is_traced, found)):
        return 0
    order = topological(map(as_node, found))
    return sum(map(_length, dependents(order, list(map(as_node, given)))))


def _length(node: Node) -> int:
    """Return how many steps a node is, with those of the bodies that it holds."""
    return 1 + sum(_length(x) for body in bodies(node) for x in topological(body.outputs))


def weighted(row: Sequence[float], stages: Sequence[Any]) -> Any:
    """Return the sum of the stages with the weights ``row``; zeros add nothing."""
    terms = [float(a) * k for a, k in zip(row, stages, strict=False) if a]
    return sum(terms[1:], terms[0])


def mean_square(x: Any) -> Any:
    """Return the mean of ``abs(x)**2``."""
    size = np.abs(x)
    if not isinstance(x.shape[0], int):
        return np.mean(size * size)
    return np.sum(size * size) * (1.0 / max(x.shape[0], 1))


class OneByOne:
    """A method whose steps have nothing in common but where they begin."""

    safety: float = 0.9

    def trial(self, slope: Slope, t: Any, y: Any, f: Any, unit: Any) -> Trial:
        return Trial(functools.partial(self.step, slope, t, y, f))

    def step(self, slope: Slope, t: Any, y: Any, f: Any, h: Any) -> Step:
        """Return the step ``h`` from ``t``, ``y``, where the slope is ``f``."""
        raise NotImplementedError


class OdeResult(OptimizeResult):  # type: ignore[misc]
    """What ``solve_ivp`` returns."""


def checked_times(t_eval: Any, t0: float, tf: float) -> Any:
    """Return times to give the solution at, or raise as SciPy does."""
    if t_eval is None:
        return None
    t_eval = np.asarray(t_eval)
    if t_eval.ndim != 1:
        raise ValueError("`t_eval` must be 1-dimensional.")
    sorted_well = len(t_eval) < 2 or tf == t0
    if not sorted_well:
        steps = np.diff(t_eval)
        sorted_well = not ((steps <= 0) if tf > t0 else (steps >= 0)).any()  # a nan is SciPy's
    ends = t_eval
    if sorted_well and tf != t0 and len(t_eval):
        ends = t_eval.item(0), t_eval.item(-1)
    least, most = (t0, tf) if t0 < tf else (tf, t0)
    for t in ends:
        if t < least or t > most:
            raise ValueError("Values in `t_eval` are not within `t_span`.")
    if not sorted_well:
        raise ValueError("Values in `t_eval` are not properly sorted.")
    return t_eval
