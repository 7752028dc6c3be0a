"""``freqz``, ``freqz_sos`` and ``chirp`` of traced filters and frequencies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.signal as signal
from scipy import differentiate

import symgrad as sg
from symgrad.errors import UnsupportedError

pytestmark = pytest.mark.usefixtures("few_kernels")

B, F, T = np.array([0.2, 0.5, 0.3]), np.array([1.0, 2.0, 3.0]), np.linspace(0, 1, 7)
SECTIONS = signal.butter(4, 0.2, output="sos")


def scaled(p: Any) -> Any:
    return np.concatenate([SECTIONS[:, :3] * p[0], SECTIONS[:, 3:4], SECTIONS[:, 4:] * p[1]], 1)


CASES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "numerator": (lambda p: signal.freqz(p, [1.0, -0.5], 8)[1], B),
    "denominator": (lambda p: signal.freqz([1.0, 0.2], p, worN=[0.1, 0.2], fs=2.0)[1], B),
    "no denominator": (lambda p: signal.freqz(p, worN=8)[1], B),
    "whole": (lambda p: signal.freqz(p, worN=8, whole=True, fs=10.0)[0] * p[0], B),
    "nyquist": (lambda p: signal.freqz(p, [1, 0.5], worN=8, include_nyquist=True)[1], B),
    "one": (lambda p: signal.freqz(p[:1], p[:2], worN=1)[1], B),
    "sections": (lambda p: signal.freqz_sos(scaled(p), worN=8, fs=3.0)[1], B),
    "older name": (lambda p: signal.sosfreqz(scaled(p), worN=8)[1], B),
    "complex": (lambda p: signal.chirp(T * p[0], p[0], p[1], p[2], complex=True), F),
    "number": (lambda p: signal.chirp(p[0], p[0], p[1], p[2]), F),
    "vertex": (lambda p: signal.chirp(T, p[0], p[1], p[2], "quadratic", 30, False), F),
}
for _method in ("linear", "quadratic", "logarithmic", "hyperbolic"):
    CASES[_method] = (lambda p, m=_method: signal.chirp(T, p[0], p[1], p[2], m, phi=30)), F
    CASES[f"{_method}, constant"] = CASES[_method][0], np.array([2.0, 1.5, 2.0])


@pytest.mark.parametrize("case", CASES)
def test_values_and_derivatives(case: str) -> None:
    f, x = CASES[case]
    want = f(x)
    found = sg.compile(f)(x)
    assert (found.shape, found.dtype) == (np.shape(want), want.dtype)
    np.testing.assert_allclose(found, want, rtol=1e-11, atol=1e-12)

    def size(p: Any) -> Any:
        return np.sum(np.abs(f(p) - 0.3) ** 2 * np.arange(1, 1 + np.size(want)))

    slopes = differentiate.jacobian(
        lambda p: np.apply_along_axis(size, 0, p)[None], x, initial_step=1e-2
    ).df[0]
    np.testing.assert_allclose(sg.grad(size)(x), slopes, rtol=1e-6, atol=1e-6)


def test_refusals() -> None:
    with pytest.raises(UnsupportedError, match="plot=None"):
        sg.compile(lambda b: signal.freqz(b, plot=print)[1])(B)
    with pytest.raises(UnsupportedError, match="each filter"):
        sg.compile(lambda b: signal.freqz(np.stack([b, b], 1)[..., None])[1])(B)
    with pytest.raises(ValueError, match="method must be"):
        sg.compile(lambda f: signal.chirp(T, f, 1.0, 2.0, "cubic"))(1.0)
