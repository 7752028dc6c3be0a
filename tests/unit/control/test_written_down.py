"""What a loop writes down for its way back: results of loops within, unless these are run again."""

from __future__ import annotations

from typing import Any

import numpy as np

import symgrad as sg
from symgrad._core.graph import topological


def inner_loops(f: Any, *args: Any) -> list[int]:
    """Return for each loop of a gradient how many loops its body has."""
    steps = sg.grad(f).program(*args).steps
    bodies = [n.params["body"] for n in steps if n.op.kind == "loop"]
    return [sum(x.op.kind == "loop" for x in topological(b.outputs)) for b in bodies]


def halved(x: Any) -> Any:
    """Return x, halved until it is below 1."""
    return sg.while_loop(lambda s: s > 1.0, lambda s: 0.5 * s, x)


def test_what_a_solver_finds_is_written_down() -> None:
    """Its own steps are not differentiated, so it is not run again on the way back."""

    def f(a: Any) -> Any:
        def step(k: Any, t: Any) -> Any:
            return t + np.sin(a * t) * sg.stop_gradient(halved(t + k))

        return sg.fori_loop(0, 20, step, a)

    assert sorted(inner_loops(f, 0.3)) == [0, 1]
    tangent = sg.jvp(f, (0.3,), (1.0,))[1]
    np.testing.assert_allclose(sg.grad(f)(0.3), tangent, rtol=1e-13)


def test_a_loop_that_is_differentiated_is_run_again() -> None:
    """Its own tapes are made on the way back, and with them its results."""

    def f(a: Any) -> Any:
        return sg.fori_loop(0, 20, lambda k, t: np.sin(t) * halved(t + a * k), a)

    assert min(inner_loops(f, 0.3)) == 1
