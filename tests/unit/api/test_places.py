"""The places of a sparse derivative's values: 32 bits where that is enough, else 64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._sparse import _plan


def flow(u: Any) -> Any:
    padded = np.concatenate([u[:1], u, u[-1:]])
    return (padded[2:] - 2.0 * u + padded[:-2]) * u + 0.1 * u**3


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_places_have_as_many_bits_as_entries_need(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slopes = sg.jacobian(flow, sparse=True)
    many = sg.vmap(slopes)
    rng = np.random.default_rng(0)
    for most, sizes in ((2**31 - 1, (30, 40)), (60, (20, 60, 20))):
        monkeypatch.setattr(_plan, "SMALL", most)
        for n in sizes:
            x = rng.normal(size=(3, n))
            dense = sg.jacobian(flow)
            with sg.backend(backend):  # type: ignore[arg-type]
                np.testing.assert_allclose(slopes(x[0]).toarray(), dense(x[0]), rtol=1e-13)
                out = np.empty(slopes.nnz)
                slopes.values(x[1], out=out)
                np.testing.assert_array_equal(out, slopes(x[1]).data)
                for found, each in zip(many(x), x, strict=True):
                    np.testing.assert_allclose(found.toarray(), dense(each), rtol=1e-13)
            words = slopes._last.placed(slopes._specialization((x[0],), {}, short=True))[1]
            assert words[0].dtype == (np.int32 if slopes.nnz <= most else np.int64)
    assert slopes.traces <= 2


@pytest.mark.slow
def test_values_after_a_change_of_word_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    curvature = sg.hessian(lambda u: np.sum(flow(u) ** 2), sparse=True, triangle="lower")
    rng = np.random.default_rng(1)
    for most in (2**31 - 1, 0, 2**31 - 1):
        monkeypatch.setattr(_plan, "SMALL", most)
        for n in (9, 14):
            x = rng.normal(size=n)
            wanted = np.tril(sg.hessian(lambda u: np.sum(flow(u) ** 2))(x))
            np.testing.assert_allclose(curvature(x).toarray(), wanted, rtol=1e-12, atol=1e-12)
            kernel = curvature.kernel(x)
            np.testing.assert_allclose(kernel(x), curvature(x).data, rtol=1e-14)
