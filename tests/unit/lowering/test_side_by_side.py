"""Bodies of many examples: arrays whose last axis is the lane, and stay so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.graph import Input, topological
from symgrad._core.lowering._batched_loops import LANES, side_by_side
from symgrad._core.pipeline import lower


def written(known: Any, row: Any, k: Any) -> Any:
    known[k] = row
    return known


def column(known: Any, row: Any, k: Any) -> Any:
    known[1:, k] += row[1]
    return known


def joined(known: Any, row: Any, k: Any) -> Any:
    known[2] = row
    return np.concatenate([known, row[np.newaxis], np.ones((1, 3))]) * k


@pytest.mark.parametrize(
    "body", [written, column, joined, lambda known, row, k: known[k] * row, lambda a, b, k: a[:, k]]
)
def test_places_that_all_examples_share_leave_lanes_where_they_are(
    body: Callable[..., Any],
) -> None:
    """An array turned round and back at each write took five times as long."""
    given = np.arange(12.0).reshape(4, 3), np.ones(3), 2
    [result] = sg.compile(body).program(*given).steps[-1:]
    inputs = [n for n in topological([result]) if isinstance(n, Input)]
    wide = side_by_side(inputs, [x.ndim > 0 for x in inputs], [result])
    [found] = wide.outputs
    assert found.shape[-1] == LANES
    large = [n for n in topological([found]) if n.op.name == "Transpose" and n.ndim > 2]
    assert not large


@pytest.mark.parametrize("several", [False, True])
def test_few_examples_take_their_turns_one_after_the_other(several: bool) -> None:
    def root(a: Any) -> Any:
        x, _ = sg.while_loop(
            lambda c: np.abs(c[0] * c[0] - a) > 1e-12 * a,
            lambda c: (0.5 * (c[0] + a / c[0]), c[1] + 1),
            (a, 0),
        )
        return sg.scan(lambda c, k: (np.sin(c) + k, None), x, np.arange(3.0))[0] if several else x

    for n in (1, 2, 3, 4, 5, 40):
        given = 10.0 ** np.arange(n) if n < 10 else np.linspace(1, 1e6, n)
        fast = sg.compile(lambda a, n=n: sg.vmap(root)(np.reshape(a, (n,))))
        np.testing.assert_allclose(fast(given), [root(a) for a in given], rtol=1e-14)
        text = lower(fast.program(given)).text
        assert any(f".{part}.run(" in text for part in ("group", "turn")) == (n >= 4)
