"""Branches of the user's on arguments of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgrad as sg

#: What a truth value can be asked of, each with the values of several calls in turn.
KINDS: dict[str, list[Any]] = {
    "bool_": [np.True_, np.False_],
    "bool": [True, False],
    "0-d": [np.array(True), np.array(False)],
    "float": [1.5, 0.0, -0.0, float("nan")],
    "float32": [np.float32(2), np.float32(0)],
    "int": [3, 0, 1, -2],
    "int32": [np.int32(3), np.int32(0)],
    "uint8": [np.uint8(200), np.uint8(0)],
    "element": [np.array([False, True, True]), np.array([True, False, True])],
    "number": [np.array([0.0, 2.0]), np.array([1.0, 0.0]), np.array([1.0, -0.0])],
    "dict": [{"u": (np.True_,)}, {"u": (np.False_,)}],
    "mixed": [(0.0, np.True_), (1.0, np.False_)],
}


def _read(kind: str, value: Any) -> Any:
    """Return the number that is asked."""
    if kind in ("element", "number", "mixed"):
        return value[1]
    return value["u"][0] if kind == "dict" else value


def _ask(form: int, b: Any, c: Any) -> Any:
    """Return a truth value of two numbers."""
    if form == 0:
        return bool(b)
    if form == 1:
        return not b
    if form == 2:
        return b and c
    if form == 3:
        return b or not c
    if form == 4:
        return (b > 0) & (c > 0)
    return b == c


def _side(form: int, a: Any, b: Any) -> Any:
    """Return one of the values that a branch may give."""
    return [
        lambda: a * 2 + np.sum(a), lambda: a, lambda: np.sort(a)[::-1], lambda: np.cumsum(a) * 1.0,
        lambda: a * b, lambda: a @ a,
    ][form]()  # fmt: skip


@pytest.mark.attack(quick=6, whole=1_000, part=100, judge="plain NumPy")
def test_decisions(attack: Any) -> None:
    """Branches on arguments: kinds of conditions, forms of asking, sides, ways of calling."""
    for case in attack:
        with case:
            rng = case.rng
            kinds = [str(k) for k in rng.choice(list(KINDS), 2)]
            first, second = (int(k) for k in rng.integers(6, size=2))
            sides = [int(k) for k in rng.integers(6, size=3)]

            def f(a: Any, p: Any, q: Any) -> Any:
                b, c = _read(kinds[0], p), _read(kinds[1], q)  # noqa: B023
                if _ask(first, b, c):  # noqa: B023
                    return _side(sides[0], a, b)  # noqa: B023
                if _ask(second, c, b):  # noqa: B023
                    return _side(sides[1], a, c)  # noqa: B023
                return _side(sides[2], a, b)  # noqa: B023

            way = str(rng.choice(["call", "numpy", "fixed", "rounding"]))
            compiled = _compiled(f, way)
            for _ in range(6):
                a = rng.normal(size=int(rng.integers(2, 7)))
                p, q = (KINDS[k][rng.integers(len(KINDS[k]))] for k in kinds)
                want = f(a, p, q)
                got = compiled(a, p, q)
                np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-15)


def _compiled(f: Any, way: str) -> Any:
    if way == "numpy":
        return sg.compile(f, backend=way)
    if way == "fixed":
        return sg.compile(f, dynamic=False)
    return sg.compile(f, rounding="numpy" if way == "rounding" else None)
