"""Numbers that no loop is needed for are computed before all loops, which stay whole."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

import symgrad as sg
from symgrad._core.lowering._plan import SCALAR_NEST, Nest, plan
from symgrad._core.pipeline import legal


def nests(f: Any, *args: Any) -> list[tuple[bool, int]]:
    """Return for each nest whether it is a loop, and how many steps it has."""
    tasks = plan(legal(sg.compile(f).program(*args))).tasks
    return [(bool(t.domain), len(t.nodes)) for t in tasks if isinstance(t, Nest) and t.nodes]


def test_more_numbers_than_a_function_has_do_not_cut_loops() -> None:
    def f(x: Any, p: Any) -> Any:
        total, a = x, p[0]
        for _ in range(SCALAR_NEST):
            a = np.sin(a) * p[1] + a
            total = total * a + 1.0
        return total

    loops = [loop for loop, _ in nests(f, np.ones(200), np.ones(2))]
    assert loops == [False] * (len(loops) - 1) + [True]
    assert len(loops) > 2


def test_parameters_of_distributions_that_are_numbers_are_looked_at_once() -> None:
    """What is made of the degrees of freedom alone is no step of the loop over the data."""

    def by_degrees(v: Any, x: Any) -> Any:
        return sg.jvp(lambda v: special.stdtr(v, x), (v,), (np.ones_like(v),))[1]

    x = np.linspace(-3.0, 3.0, 200)
    of_number, of_array = (
        sum(steps for loop, steps in nests(by_degrees, v, x) if loop)
        for v in (5.5, np.full(200, 5.5))
    )
    assert of_number < 0.8 * of_array
