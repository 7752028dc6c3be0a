"""examples/downstream: its judge tells right derivatives from wrong ones, kinks and refusals."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples" / "downstream"

pytestmark = pytest.mark.usefixtures("scripts")


def verdict(function: Any, *args: Any, **kwargs: Any) -> Any:
    from judge import Call, judge

    return judge(function, Call(args, kwargs))


def smooth(x: Any, scale: float, name: str = "sin") -> Any:
    wave = np.sin(scale * x) if name == "sin" else np.cos(scale * x)
    return {"wave": wave, "name": name, "both": (wave * x, [x**2, 3])}


@sg.custom_jvp
def doubled(x: Any) -> Any:
    return np.exp(x)


doubled.defjvp(
    lambda primals, tangents: (np.exp(primals[0]), 2.0 * np.exp(primals[0]) * tangents[0])
)


@sg.custom_jvp
def unknown(x: Any) -> Any:
    return np.exp(x)


unknown.defjvp(lambda primals, tangents: (np.exp(primals[0]), np.nan * tangents[0]))


def kinked(x: Any) -> Any:
    return x if x < 2.0 else 3.0 * x - 4.0


def stepped(x: Any) -> Any:
    return x if x < 2.0 else x + 1.0


def rounded(x: Any) -> Any:
    return round(x, 2)


def apart(x: Any) -> Any:
    return 7.0 if x == 2.0 else x


def noisy(x: Any) -> Any:
    return x + 1e-4 * math.sin(1e9 * x)


def refused(x: Any) -> Any:
    return float(np.array([x], dtype=object)[0]) ** 2


def at_end(x: Any) -> Any:
    if x < 0:
        raise ValueError("negative")
    return 1.0 + math.sin(x)


def test_right_derivatives() -> None:
    assert verdict(smooth, 0.7, 1.5).outcome == "right"
    assert verdict(smooth, np.array([0.7, 1.2]), scale=2.0).outcome == "right"
    assert verdict(lambda xs: sum(x**3 for x in xs), [1.0, 2.0, 4.0]).outcome == "right"
    assert verdict(lambda x, n: x**n / 7.0, 3, 2).outcome == "right"  # integers stand for floats
    assert verdict(rounded, 2.344).outcome == "right"
    assert verdict(at_end, 0.0).outcome == "right"
    assert verdict(lambda x: np.exp(1j * x), 0.3).outcome == "right"


def test_a_wrong_derivative() -> None:
    found = verdict(doubled, 0.7)
    assert found.outcome == "wrong"
    assert found.reason == "derivative"
    assert verdict(lambda x: (1e9 * x, 1e-9 * doubled(x)), 0.7).outcome == "wrong"
    assert verdict(lambda x: np.abs(x) + 2 * doubled(x), 0.0).outcome == "wrong"


def test_a_wrong_value() -> None:
    from judge import agrees

    plain = (1.0, {"parts": [np.array([1e-3, 2.0])], "name": "text"})
    assert agrees(plain, (1.0 + 1e-12, {"parts": [np.array([1e-3, 2.0])], "name": "text"}))
    assert not agrees(plain, (1.0 + 1e-6, {"parts": [np.array([1e-3, 2.0])]}))
    assert not agrees(plain, (1.0, {"parts": [np.array([1e-3 + 1e-8, 2.0])]}))
    assert not agrees(plain, (1.0, {"parts": [np.array([[1e-3, 2.0]])]}))
    assert not agrees(plain, (1.0, {}))
    assert not agrees(plain, (math.nan, {"parts": [np.array([1e-3, 2.0])]}))


def test_nan_is_no_silent_answer() -> None:
    assert verdict(unknown, 0.7).outcome == "nan"


def test_points_without_a_derivative() -> None:
    assert verdict(kinked, 2.0).reason == "a kink"
    assert verdict(stepped, 2.0).reason == "a jump"
    assert verdict(apart, 2.0).reason == "a jump"
    assert verdict(kinked, 3.0).outcome == "right"


def test_what_is_not_judged() -> None:
    assert verdict(noisy, 1.0).outcome in ("not judged", "not differentiable")
    draws = np.random.default_rng(0)
    assert verdict(lambda x: x + draws.random(), 1.0).reason == (
        "the plain call gives another result each time"
    )
    assert verdict(lambda n: n // 2, "text").outcome == "not judged"


def test_refusals_have_reasons() -> None:
    found = verdict(refused, 1.0)
    assert found.outcome == "refused"
    assert found.reason
    assert "/" not in found.reason
