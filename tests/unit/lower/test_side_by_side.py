"""Bodies of many examples: arrays whose last axis is the lane, and stay so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._graph import Input, topological
from symgrad._lower._side_by_side import LANES, side_by_side


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
