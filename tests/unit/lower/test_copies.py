"""Nests that copy whole arrays are one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._pipeline import lower


def text(f: Callable[..., Any], *args: Any) -> str:
    return lower(sg.compile(f)._specialization(args, {}).program).text


def first_written(x: Any) -> Any:
    x = x.copy()
    x[0] = 2.0
    return x


def handed_on(x: Any, t: Any) -> Any:
    return sg.cond(t > 0, lambda: x, lambda: np.sort(x, axis=0))


def as_it_is(x: Any) -> Any:
    return x, np.reshape(x, (-1,))


@pytest.mark.parametrize(("f", "rest"), [(first_written, ()), (handed_on, (1.0,)), (as_it_is, ())])
@pytest.mark.parametrize("kind", [float, np.float32, int, bool])
def test_copies_are_no_loops(f: Any, rest: Any, kind: Any) -> None:
    x = np.arange(20).reshape(5, 4) % 3 if f is not first_written else np.arange(20) % 3
    x = x.astype(kind)
    found = text(f, x, *rest)
    assert "llvm.memcpy" in found
    assert ".chunk(" not in found or rest  # the other side of a branch has a loop
    for n in (3, 20, 20_000):
        x = np.resize(x, (n, *x.shape[1:]))
        got, wanted = sg.compile(f)(x, *rest), f(x, *rest)
        for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, wanted)), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


def test_what_is_no_copy() -> None:
    x = np.ones((5, 4))
    assert "memcpy" not in text(lambda x: (x.T, x[::2], x[:, :1] + x), x)
    assert "memcpy" not in text(lambda x: np.broadcast_to(x, (3, 5, 4)), x)
