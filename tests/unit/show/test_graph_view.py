"""What is drawn of a graph: texts, boxes, folds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symgrad as sg
from symgrad._show._graph_view import value_text
from symgrad._show._graph_view_fold import fold
from symgrad._tensor._view import view_of
from symgrad.errors import ArgumentError


def leaf(data: Any, name: str | None = None) -> Any:
    return sg.tensor(data, requires_grad=True, name=name)


def text_four() -> tuple[Any, dict[str, Any]]:
    x1, x2 = sg.tensor(1.0), sg.tensor(2.0)
    w1, w2, w3 = leaf(1.0), leaf(2.0), leaf(3.0)
    L = 1 - (w2 * (w1 * x1) + w3 * (w1 * x2))
    return L, {"w1": w1, "w2": w2, "w3": w3, "x1": x1, "x2": x2}


def called(names: dict[str, Any]) -> dict[int, str]:
    return {id(t): name for name, t in names.items()}


# ---------------------------------------------------------------- what is shown


def test_every_number_of_the_fourth_text() -> None:
    L, names = text_four()
    view = view_of([L], called(names))
    shown = {v.name: v for v in view.vertices}
    assert {n: (v.kind, v.value.item()) for n, v in shown.items() if n in names} == {
        "w1": ("leaf", 1.0), "w2": ("leaf", 2.0), "w3": ("leaf", 3.0),
        "x1": ("constant", 1.0), "x2": ("constant", 2.0),
    }  # fmt: skip
    gradients = {n: v.gradient.item() for n, v in shown.items() if v.kind == "leaf"}
    assert gradients == {"w1": -8.0, "w2": -1.0, "w3": -2.0}
    slopes = {
        (view.vertices[x.source].name, view.vertices[x.target].formula): (x.symbol, x.slope.item())
        for x in view.links if x.slope is not None
    }  # fmt: skip
    assert slopes["w1", "w1*x1"] == ("x1", 1.0)
    assert slopes["w1", "w1*x2"] == ("x2", 2.0)
    assert [x for key, x in slopes.items() if key[1].startswith("1 - ")] == [("-1", -1.0)]
    L.backward()
    for name, tensor in names.items():
        assert tensor.grad is None or tensor.grad.item() == gradients[name]


def f(x: Any, y: Any) -> Any:
    return np.sum(np.where(x > y, np.exp(-x) * y, x[::-1] ** 3))


def test_functions_and_programs() -> None:
    x = np.array([1.0, 2.0, 3.0])
    picture = sg.draw(f, x, 2.0)
    with sg.backend("numpy"):
        slopes = sg.grad(f, (0, 1))(x, 2.0)
    for slope in slopes:
        assert f"gradient {value_text(slope)}" in picture.dot
    assert "where(" in picture.dot
    assert "3*" in picture.dot  # the derivative of a cube, not of any power
    program = sg.grad(f).program(x, 2.0)
    formulas = program.draw().dot
    assert "[n]" in formulas
    assert "gradient" not in formulas
    assert value_text(slopes[0]) in program.draw(x, 2.0).dot
    assert value_text(slopes[0]) in sg.draw(sg.grad(f), x, 2.0).dot
    with pytest.raises(ArgumentError, match="2 inputs"):
        program.draw(x)


def test_a_long_chain_is_folded_by_level() -> None:
    y = x = leaf(1.0)
    for _ in range(1000):
        y = y * 1.001
    folded = fold(view_of([y], {id(x): "x"}))
    assert 5 < len(folded.boxes) <= 60
    assert "levels " in " ".join(folded.boxes[-1].lines)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=60),
       st.integers(1, 40))  # fmt: skip
def test_boxes_are_a_partition_in_order(pairs: list[tuple[int, int]], limit: int) -> None:
    values = [leaf(1.0), leaf(2.0)]
    for a, b in pairs:
        values.append(values[a % len(values)] * values[b % len(values)])
    view = view_of(values[-1:], {})
    folded = fold(view, limit)
    members = [k for box in folded.boxes for k in box.members]
    assert sorted(members) == list(range(len(view.vertices)))
    links = sum(len(arrow.links) for arrow in folded.arrows)
    home = {k: n for n, box in enumerate(folded.boxes) for k in box.members}
    assert links == sum(home[x.source] != home[x.target] for x in view.links)
    # Kahn: the picture has no cycle.
    waiting = {n: {a.source for a in folded.arrows if a.target == n} for n in set(home.values())}
    while waiting:
        ready = [n for n, needs in waiting.items() if not needs & set(waiting)]
        assert ready
        for n in ready:
            del waiting[n]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=30))
def test_gradients_are_those_of_backward(pairs: list[tuple[int, int]]) -> None:
    values = [leaf(0.7), leaf(-0.4)]
    for a, b in pairs:
        values.append(np.sin(values[a % len(values)] * values[b % len(values)]))
    view = view_of(values[-1:], {id(values[0]): "first", id(values[1]): "second"})
    shown = {v.name: v.gradient for v in view.vertices if v.kind == "leaf"}
    values[-1].backward()
    for name, tensor in (("first", values[0]), ("second", values[1])):
        if name in shown:
            assert shown[name] == tensor.grad.item()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.8, "0.8"), (True, "True"), (3, "3"), ([1.0, 2.5], "[1, 2.5]"), ([[1, 2], [3, 4]],
        "[[1, 2], [3, 4]]"), (np.arange(9.0), "[0, 1, …, 8]"), (np.eye(4), "0 … 1"),
        (np.ones((4, 4)), "1 everywhere"), (np.zeros((0, 3)), "empty"), (math.inf, "inf"),
        (np.arange(9) > 3, "5 of 9 true"),
    ],
)  # fmt: skip
def test_value_text(value: Any, text: str) -> None:
    assert value_text(np.asarray(value)) == text
