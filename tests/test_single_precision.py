"""Functions of SciPy that compute in double precision whatever they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.spatial
import scipy.special
import scipy.stats

import symgrad as sg

V = np.array([0.3, 0.5, 0.7, 0.9, 0.2, 0.6], np.float32)
W = np.array([0.4, 0.1, 0.8, 0.6, 0.35, 0.25], np.float32)
M = np.arange(16, dtype=np.float32).reshape(4, 4) / 20 + np.eye(4, dtype=np.float32)
CALLS: dict[str, tuple[Callable[..., Any], ...]] = {
    "linregress": (lambda v, w: scipy.stats.linregress(v, w)[0], V, W),
    "scoreatpercentile": (lambda v: scipy.stats.scoreatpercentile(v, 30.0), V),
    "mean": (scipy.ndimage.mean, V), "variance": (scipy.ndimage.variance, V),
    "standard_deviation": (scipy.ndimage.standard_deviation, V),
    "matmul_toeplitz": (scipy.linalg.matmul_toeplitz, V, W),
    "solve_toeplitz": (scipy.linalg.solve_toeplitz, np.sort(V)[::-1] + np.eye(1, 6)[0], W),
    "solve_discrete_lyapunov": (scipy.linalg.solve_discrete_lyapunov, M / 4, M),
    "expm_frechet": (lambda a, e: scipy.linalg.expm_frechet(a, e)[1], M, M.T),
    "distance_matrix": (scipy.spatial.distance_matrix, M, M + 1),
    "minkowski_distance": (lambda a, b: scipy.spatial.minkowski_distance(a, b, 3), M, M + 1),
    "braycurtis": (scipy.spatial.distance.braycurtis, V, W),
    "canberra": (scipy.spatial.distance.canberra, V, W),
    "barycentric_interpolate": (scipy.interpolate.barycentric_interpolate, V, W, W),
    "sawtooth": (lambda v: scipy.signal.sawtooth(v, 0.5), V),
    "squareform": (scipy.spatial.distance.squareform, V),
    "eval_hermite": (lambda v: scipy.special.eval_hermite(3, v), V),
    "eval_hermitenorm": (lambda v: scipy.special.eval_hermitenorm(3, v), V),
    "wofz": (scipy.special.wofz, V),
}  # fmt: skip

#: Those in which SciPy takes some steps in single precision.
IN_PART = ("mean", "variance", "standard_deviation", "solve_discrete_lyapunov", "expm_frechet")


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("name", CALLS)
def test_types_and_digits_are_scipys(name: str) -> None:
    function, *given = CALLS[name]
    given = [x.astype(np.float32) for x in given]
    found, want = sg.compile(lambda *x: function(*x))(*given), np.asarray(function(*given))
    assert found.dtype == want.dtype
    rtol = 1e-6 if name in IN_PART else 1e-12
    np.testing.assert_allclose(found, want, rtol=rtol)
