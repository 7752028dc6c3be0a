"""Equations with algebraic parts, by scikit-sundae where it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import MissingExtraError, ShapeError, UnsupportedError
from symgrad.scipy import _dae
from symgrad.scipy.integrate import solve_dae, solve_ivp

needs_sundae = pytest.mark.skipif(find_spec("sksundae") is None, reason="needs scikit-sundae")


def robertson(t: Any, y: Any, yp: Any) -> Any:
    made, back, lost = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return np.array([yp[0] - back + made, yp[1] - made + back + lost, y[0] + y[1] + y[2] - 1])


@needs_sundae
def test_an_algebraic_equation() -> None:
    """The end is that of the test set of Mazzia and Magherini at 400."""
    found = solve_dae(robertson, (0, 400), [1, 0, 0], rtol=1e-8, atol=1e-12)
    assert found.success
    assert found.status == 0
    assert found.t[0] == 0
    assert found.t[-1] == 400
    assert found.y.shape == found.yp.shape == (3, len(found.t))
    assert found.njev < found.nfev / 3  # no differences
    np.testing.assert_allclose(found.y.sum(axis=0), 1.0, atol=1e-10)

    def slopes(t: Any, y: Any) -> Any:
        a, b, c = y
        made, back, lost = 0.04 * a, 1e4 * b * c, 3e7 * b**2
        return [back - made, made - back - lost, lost]

    wanted = solve_ivp(slopes, (0, 400), [1, 0, 0], "Rodas5P", [40, 400], rtol=1e-10, atol=1e-14)
    at = solve_dae(robertson, (0, 400), [1, 0, 0], t_eval=[40, 400], rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(at.y, wanted.y, rtol=1e-6)
    np.testing.assert_array_equal(at.t, [40, 400])


@needs_sundae
def test_what_does_not_fit_together_is_corrected() -> None:
    found = solve_dae(robertson, (0, 1), [1, 0, 0.5], t_eval=[0], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found.y[:, 0], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(found.yp[:2, 0], [-0.04, 0.04], rtol=1e-6)


@needs_sundae
def test_mass_matrices_and_sparse_jacobians() -> None:
    """A pole between a fixed and a moved end, by finite elements: a mass matrix, and two ends."""
    n = 150

    def pole(t: Any, u: Any, up: Any, rate: Any) -> Any:
        mass = (up[:-2] + 4 * up[1:-1] + up[2:]) / 6
        inner = mass - rate * (u[2:] - 2 * u[1:-1] + u[:-2])
        return np.concatenate([[u[0] - np.sin(t)], inner, [u[-1]]])

    found = solve_dae(pole, (0, 1), np.zeros(n), args=(50.0,), rtol=1e-7, atol=1e-9, t_eval=[1.0])
    assert found.success
    mass = np.eye(n - 2) * 4 / 6 + (np.eye(n - 2, k=1) + np.eye(n - 2, k=-1)) / 6
    stiff = 50.0 * (np.eye(n - 2, k=1) + np.eye(n - 2, k=-1) - 2 * np.eye(n - 2))
    first = np.eye(n - 2)[0]

    def slopes(t: Any, u: Any) -> Any:
        pull = 50.0 * np.sin(t) - np.cos(t) / 6
        return np.linalg.solve(mass, stiff @ u + first * pull)

    wanted = solve_ivp(slopes, (0, 1), np.zeros(n - 2), "Rodas5P", [1.0], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found.y[1:-1, 0], wanted.y[:, 0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.y[0, 0], np.sin(1.0))


@needs_sundae
def test_backward_steps_and_what_the_function_reads() -> None:
    data = {"rate": 1.0}

    def decay(t: Any, y: Any, yp: Any) -> Any:
        return yp + data["rate"] * y

    for rate in (1.0, 2.0):
        data["rate"] = rate
        found = solve_dae(decay, (1, 0), [1.0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.y[0, -1], np.exp(rate), rtol=1e-6)


@needs_sundae
def test_failures_are_said_in_the_result() -> None:
    grown = solve_dae(lambda t, y, yp: yp - y**2, (0, 2), [1.0], rtol=1e-6)
    assert not grown.success
    assert grown.status == -1
    assert 0.99 < grown.t[-1] < 1.01
    few = solve_dae(lambda t, y, yp: yp + np.sin(50 * t), (0, 9), [1.0], max_steps=20, rtol=1e-8)
    assert "limit of 20 steps" in few.message
    lost = solve_dae(lambda t, y, yp: yp + y * np.nan, (0, 1), [1.0])
    assert lost.status == -1
    assert lost.y.shape == (1, 0)


@needs_sundae
def test_errors_of_the_user_are_raised() -> None:
    with pytest.raises(ShapeError, match=r"shape \(1,\) for a state of shape \(2,\)"):
        solve_dae(lambda t, y, yp: yp[:1], (0, 1), [1.0, 2.0])
    with pytest.raises(ValueError, match="`yp0` must be 1-dimensional"):
        solve_dae(lambda t, y, yp: yp, (0, 1), [1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="not within `t_span`"):
        solve_dae(lambda t, y, yp: yp, (0, 1), [1.0], t_eval=[2.0])


def test_it_is_not_traced() -> None:
    with pytest.raises(UnsupportedError, match="outside of the differentiated function"):
        sg.grad(lambda p: solve_dae(lambda t, y, yp: yp + p * y, (0, 1), [1.0]).y[0, -1])(1.0)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str, *_: Any) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(_dae, "late_module", absent)
    with pytest.raises(MissingExtraError, match=r"symgrad\[sundae\]"):
        solve_dae(lambda t, y, yp: yp + y, (0, 1), [1.0])
