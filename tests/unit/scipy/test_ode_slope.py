"""Right-hand sides that are called, and those that are part of the program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symgrad.scipy import _ode_programs, _ode_slope
from symgrad.scipy._ode_slope import RightHandSide
from symgrad.scipy.integrate import solve_ivp

RATES = np.linspace(0.5, 1.5, 5)


def leak(t: Any, y: Any, k: Any) -> Any:
    flow = k * RATES * np.cos(y) + np.sin(t)
    return [flow[j] - y[j] + 0.1 * y[j - 1] for j in range(5)]


def turning(t: Any, y: Any, k: Any) -> Any:
    return 1j * k * y + np.exp(-t) * np.conj(y)


def growth(t: Any, y: Any, k: Any) -> Any:
    return k * y * (1 - y)


def half(t: Any, y: Any, k: Any) -> Any:
    return y[0] - 0.5


PROBLEMS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "a list, a captured array": (leak, [0.1, 0.2, 0.3, 0.4, 0.5], {}),
    "complex": (turning, [1.0 + 0j, 2j], {}),
    "one unknown, an event": (growth, [0.1], {"events": half}),
    "dense": (leak, [0.1, 0.2, 0.3, 0.4, 0.5], {"dense_output": True}),
    "vectorized": (growth, [0.1, 0.9, 0.3], {"vectorized": True}),
    "longest step": (growth, [0.1, 0.9], {"max_step": 0.2}),
}


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Tsit5", "Taylor", "Rodas5P"])
@pytest.mark.parametrize("which", PROBLEMS)
@pytest.mark.parametrize("span", [(0.0, 3.0), (2.0, -1.0)], ids=["ahead", "back"])
def test_a_call_gives_what_the_steps_give(
    which: str, method: str, span: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fun, y0, options = PROBLEMS[which]
    if method in ("Rodas5P", "Taylor") and which == "complex":
        pytest.skip("left to SciPy's loop")

    def solved(long: float, k: float) -> Any:
        monkeypatch.setattr(_ode_slope, "LONG", long)
        _ode_programs._programs.cache_clear()
        return solve_ivp(fun, span, y0, method, args=(k,), rtol=1e-8, atol=1e-9, **options)

    for k in (1.0, 0.7):
        called, inline = solved(0, k), solved(np.inf, k)
        assert called.nfev == inline.nfev
        np.testing.assert_allclose(called.t, inline.t, rtol=1e-12)
        np.testing.assert_allclose(called.y, inline.y, rtol=1e-10, atol=1e-12)
        if "events" in options:
            np.testing.assert_allclose(called.t_events[0], inline.t_events[0], rtol=1e-10)
        if called.sol is not None:
            np.testing.assert_allclose(called.sol(0.5), inline.sol(0.5), rtol=1e-10)
    _ode_programs._programs.cache_clear()


def test_a_long_right_hand_side_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its body is that of all calls; of a short one there is none."""
    # Found to be sums over an array, it would be short.
    monkeypatch.setattr("symgrad._core.control._array_recovery.LEAST", 10**6)
    bodies = []

    class Noted(_ode_slope.Branch):
        def __init__(self, index: Any, operands: Any, bodies_: Any, kept: bool) -> None:
            bodies.extend(bodies_)
            super().__init__(index, operands, bodies_, kept)

    def attracted(t: Any, y: Any) -> Any:
        n = len(y) // 2
        pulls = [sum((y[j] - y[i]) / (1 + (y[j] - y[i]) ** 2) for j in range(n)) for i in range(n)]
        return [*y[n:], *pulls]

    def few(t: Any, y: Any) -> Any:
        return attracted(t, y[:4])

    monkeypatch.setattr(_ode_slope, "Branch", lambda *args, kept: Noted(*args, kept))
    y0 = np.linspace(0.0, 1.0, 20)
    solve_ivp(attracted, (0.0, 1.0), y0)
    assert len(bodies) >= 2
    assert len(set(bodies)) == 1
    bodies.clear()
    solve_ivp(few, (0.0, 1.0), y0[:4])
    assert not bodies
    assert RightHandSide(attracted, ()).inline(0.0, y0).shape == (20,)
