"""Loops that write to rows: results of several numbers for each turn of a vector loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.pipeline import lower


def text(f: Callable[..., Any], *args: Any) -> str:
    return lower(sg.compile(f)._specialization(args, {}).program).text


def each(p: Any) -> Any:
    return np.stack([np.sin(p[0]) * p[1], p[0] / p[1], p[2] ** 2 * p[0]])


def test_rows_are_asked_for_before_they_are_written() -> None:
    p = np.ones((9, 3))
    assert "@rows.prefetch" in text(sg.vmap(each), p)
    assert "@rows.prefetch" in text(sg.vmap(sg.jacobian(each)), p)
    assert "@rows.prefetch" not in text(lambda p: np.sin(p), p)
    assert "@rows.prefetch" not in text(lambda p: np.stack([np.sin(p), np.cos(p)]), p)


@pytest.mark.parametrize("count", [1, 7, 255, 256, 257, 1000])
def test_all_rows_are_written(count: int) -> None:
    p = np.random.default_rng(0).uniform(0.5, 1.5, (count, 3))
    a, b, c = p.T
    zero = np.zeros(count)
    np.testing.assert_allclose(
        sg.vmap(each)(p), np.stack([np.sin(a) * b, a / b, c * c * a], axis=1), rtol=1e-14
    )
    want = [[np.cos(a) * b, np.sin(a), zero], [1 / b, -a / b**2, zero], [c * c, zero, 2 * c * a]]
    got = sg.vmap(sg.jacobian(each))(p)
    np.testing.assert_allclose(got, np.moveaxis(np.array(want), 2, 0), rtol=1e-13)
