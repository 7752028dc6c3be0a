"""Memory that is XLA's: no array of symgrad's looks at it when a call is over."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._bridges import _xla

jax = pytest.importorskip("jax")


@pytest.fixture(autouse=True)
def _doubles() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def test_no_view_of_xlas_memory_outlives_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory is XLA's: what a call keeps of its arguments would be read when it is gone."""
    views: list[Any] = []
    made = _xla._view

    def watched(kind: Any) -> Any:
        view = made(kind)

        def at(address: int) -> Any:
            array = view(address)
            views.append(weakref.ref(array))
            return array

        return at

    monkeypatch.setattr(_xla, "_view", watched)
    f = jax.jit(sg.to_jax(lambda x: (np.sum(np.sin(x) ** 2), x, x[::2])))
    for n in (0, 1, 5, 1000):
        found = f(np.arange(float(n)))
        assert [a.shape for a in found] == [(), (n,), ((n + 1) // 2,)]
    gc.collect()
    assert not [view for view in views if view() is not None]
