"""Balls of python-flint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgrad as sg
from symgrad._verify import _ball_arithmetic as balls

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture(autouse=True)
def numpy_backend() -> Any:
    with sg.backend("numpy"):
        yield


@pytest.mark.skipif(not balls.available, reason="python-flint is not installed")
def test_balls_enclose_exact_values() -> None:
    found = sg.verify(np.tanh, domain=(-3.0, 3.0), points=2)
    assert found["x"].enclosed == found["x"].compared
    x = sp.Symbol("x")
    ball = balls.enclosure(sp.exp(x) * sp.sin(x) / sp.sqrt(x + 2), {x: 0.5}, 256)
    exact = str(sp.N((sp.exp(x) * sp.sin(x) / sp.sqrt(x + 2)).subs(x, sp.Rational(1, 2)), 50))
    assert balls.relative_radius(ball) < 1e-60
    assert balls.holds(ball, exact)
    assert not balls.holds(ball, exact[:20] + "7" + exact[21:])
    with pytest.raises(balls.UnknownError):
        balls.enclosure(sp.zeta(x), {x: 2.0}, 64)


def test_without_flint_sampling_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balls, "available", False)
    assert sg.verify(np.tanh, domain=(-3.0, 3.0), points=2)["x"].enclosed == 0
