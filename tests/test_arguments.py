"""By which arguments, and how a call passes them: positions, names, defaults, whole numbers."""

from __future__ import annotations

import dataclasses
import functools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import ArgumentError


def model(t: Any, rate: Any = 2, start: Any = 3.0, *, scale: Any = 1.5, power: int = 2) -> Any:
    return scale * start * np.exp(-rate * t) ** power


class Model:
    def __init__(self) -> None:
        self.scale = 2.0

    def value(self, x: Any, *, width: Any = 1) -> Any:
        return self.scale * np.sum(x**2) / width

    __call__ = value


#: Slopes of model at t = 0.5, by name.
WANTED = {
    "t": -4 * 4.5 * np.exp(-2.0), "rate": -4.5 * np.exp(-2.0), "start": 1.5 * np.exp(-2.0),
    "scale": 3 * np.exp(-2.0),
}  # fmt: skip

CALLS: dict[str, Callable[[Any], Any]] = {
    "defaults": lambda g: g(0.5),
    "positions": lambda g: g(0.5, 2.0, 3.0),
    "names": lambda g: g(t=0.5, scale=1.5, rate=2.0, start=3.0),
    "whole numbers": lambda g: g(0.5, 2, start=3),
    "mixed": lambda g: g(0.5, 2.0, scale=1.5),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", WANTED)
def test_by_name(name: str, call: str) -> None:
    g = sg.grad(model, argnames=name)
    assert CALLS[call](g) == pytest.approx(WANTED[name], rel=1e-14)
    if name in ("rate", "start"):
        h = sg.grad(model, argnums=("t", "rate", "start").index(name))
        assert CALLS[call](h) == pytest.approx(WANTED[name], rel=1e-14)


def test_several_are_a_tuple() -> None:
    g = sg.grad(model, argnames=("scale", "t"))
    np.testing.assert_allclose(g(0.5), [WANTED["scale"], WANTED["t"]])
    np.testing.assert_allclose(pickle.loads(pickle.dumps(g))(0.5), g(0.5))
    value, slopes = sg.value_and_grad(model, 0, argnames="rate")(0.5)
    assert value == pytest.approx(model(0.5))
    np.testing.assert_allclose(slopes, [WANTED["t"], WANTED["rate"]])
    ((tt, ts), (st, ss)) = sg.hessian(model, argnames=("t", "scale"))(0.5)
    np.testing.assert_allclose([tt, ts, st, ss], [-4 * WANTED["t"], -4 * WANTED["scale"],
                                                  -4 * WANTED["scale"], 0.0])  # fmt: skip
    rows = sg.jacobian(lambda *, x: x**2, argnames="x", sparse=True)(x=np.array([1.0, 2.0]))
    np.testing.assert_array_equal(rows.toarray(), [[2.0, 0.0], [0.0, 4.0]])
    assert sg.grad(lambda **kw: kw["a"] * kw["b"], argnames="a")(a=2.0, b=3.0) == 3.0


def test_partials_methods_and_callable_objects() -> None:
    fixed = functools.partial(model, rate=2.0, scale=1.5)
    np.testing.assert_allclose(sg.grad(fixed)(0.5), WANTED["t"])
    np.testing.assert_allclose(sg.grad(fixed, argnames="scale")(0.5), WANTED["scale"])
    first = functools.partial(model, 0.5)
    np.testing.assert_allclose(sg.grad(first)(2.0), WANTED["rate"])
    np.testing.assert_allclose(sg.grad(first, argnames="start")(2), WANTED["start"])
    thing, x = Model(), np.array([1.0, 2.0])
    for f in (thing, thing.value):
        np.testing.assert_allclose(sg.grad(f)(x), 4.0 * x)
        assert sg.grad(f, argnames="width")(x) == -10.0
        assert sg.grad(f, argnames="width")(x, width=2) == -2.5
    thing.scale = 3.0
    assert sg.grad(thing, argnames="width")(x) == -15.0


def test_defaults_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any, rate: Any = 2.0) -> Any:
        return x * rate**2

    g = sg.grad(f, argnames="rate")
    assert g(1.0) == 4.0
    monkeypatch.setattr(f, "__defaults__", (5.0,))
    assert g(1.0) == 10.0


def test_names_that_are_not_there() -> None:
    with pytest.raises(ArgumentError, match=r"no argument is called 'speed'; there are t, rate"):
        sg.grad(model, argnames="speed")
    assert sg.grad(model, argnums="rate")(0.5) == sg.grad(model, argnames="rate")(0.5)
    with pytest.raises(ArgumentError, match="called without it"):
        sg.grad(lambda **kw: kw["a"], argnames="b")(a=1.0)
    with pytest.raises(ArgumentError, match="called with 1 positional"):
        sg.grad(lambda x, y: x * y, argnums=1)(1.0)
    with pytest.raises(ArgumentError, match="argnums is the position"):
        sg.grad(model, argnums=0.5)  # type: ignore[arg-type]


# ---------------------------------------------------------------- whole numbers


def test_whole_numbers_are_floats() -> None:
    cube = lambda x: x**3  # noqa: E731
    for n in (0, 1, 2, 7):
        assert sg.grad(cube)(n) == 3.0 * n**2
        assert sg.hessian(cube)(n) == 6.0 * n
        assert sg.jvp(cube, (n,), (1,)) == (n**3, 3.0 * n**2)
        assert sg.vjp(cube, n)[1](1) == (3.0 * n**2,)
        assert sg.hvp(cube, (n,), (2,)) == 12.0 * n
    g = sg.grad(cube)
    assert [g(n) for n in (2, 3.0, 4)] == [12.0, 27.0, 48.0]
    assert g.traces == 1
    slopes = sg.jacobian(lambda p: p[0] * np.array([1.0, 2.0]) ** p[1])([1, 2])
    np.testing.assert_allclose(slopes, [[1.0, 0.0], [4.0, 4 * np.log(2.0)]])
    nested = sg.grad(lambda p: p["a"] * p["b"][0] + np.sum(p["c"]))(
        {"a": 2, "b": (3,), "c": [1, 2]}
    )
    assert (nested["a"], nested["b"]) == (3.0, (2.0,))
    np.testing.assert_array_equal(nested["c"], [1.0, 1.0])
    assert sg.compile(lambda n: sg.grad(cube)(n))(3) == 27.0
    assert sg.compile(sg.grad(cube))(3) == 27.0
    assert sg.grad(lambda x: x * sg.grad(cube)(2))(1.0) == 12.0
    assert sg.grad(cube).program(2).run(2.0) == (12.0,)
    single = sg.grad(lambda s, x: np.sum(s * x))(2, np.ones(3, np.float32))
    assert single == 3.0


@pytest.mark.parametrize("whole", [np.arange(3), np.int64(3), np.ones(2, bool), True])
def test_arrays_of_whole_numbers_are_refused(whole: Any) -> None:
    with pytest.raises(ArgumentError, match="derivatives are by real numbers"):
        sg.grad(lambda x: np.sum(x * 2.0))(whole)


def test_lists_and_integers_are_as_what_was_compiled() -> None:
    f: Any = lambda p, n: np.sum(p**2) * n  # noqa: E731
    g, h = sg.grad(f), sg.compile(f)
    for p, n in (([1.0, 2.0], 3), ([1, 2], 3), ([3, 4, 5], 2), ([2.5], 2), (np.ones(2), 4)):
        for _ in range(3):
            np.testing.assert_array_equal(g(p, n), 2.0 * n * np.asarray(p, float))
            assert h(p, n) == np.sum(np.asarray(p) ** 2) * n
            assert type(h([1, 2], 3)) is type(np.sum(np.array([1, 2]) ** 2) * 3)
    by_number = sg.value_and_grad(lambda x: x**2)
    found = [by_number(x) for x in (2.0, 3, 4, np.float64(5.0), 6)]
    assert [(float(a), float(b)) for a, b in found] == [(x * x, 2 * x) for x in range(2, 7)]
    assert {type(a) for pair in found for a in pair} == {np.float64}
    with pytest.raises(sg.errors.ArgumentError, match="int64"):
        g(np.array([1, 2]), 3)
    with pytest.raises(TypeError):
        g([1, "a"], 3)


# ---------------------------------------------------------------- depth


@dataclasses.dataclass
class Link:
    """A list that is linked by hand."""

    value: float
    rest: Any


def _nested(kind: str, depth: int) -> Any:
    value: Any = 3.0
    for _ in range(depth):
        value = {
            "tuple": lambda x: (x,), "list": lambda x: [x, "end"], "numbers": lambda x: [x],
            "dict": lambda x: {"w": x}, "dataclass": lambda x: Link(2.0, x),
        }[kind](value)  # fmt: skip
    return value


def _sum(value: Any) -> Any:
    """Return the sum of squares of all numbers in a nested value."""
    if isinstance(value, Link):
        return value.value**2 + _sum(value.rest)
    if isinstance(value, dict):
        return sum(map(_sum, value.values()))
    if isinstance(value, (tuple, list)):
        return sum(map(_sum, value))
    return 0.0 if isinstance(value, str) else np.sum(value**2)


@pytest.mark.parametrize("kind", ["tuple", "list", "dict", "dataclass"])
def test_deep_containers(kind: str) -> None:
    """A hundred levels work, six hundred are refused with the depth that is allowed."""
    value = _nested(kind, 100)
    found = sg.grad(_sum)(value)
    while not isinstance(found, np.floating | float):
        found = found.rest if kind == "dataclass" else found["w"] if kind == "dict" else found[0]
    assert found == 6.0
    calls: tuple[Callable[[Any], Any], ...] = (
        sg.grad(_sum), sg.compile(_sum), lambda x: sg.verify(_sum, x),
        lambda x: sg.jvp(_sum, (x,), (x,)), lambda x: sg.formula(_sum, x),
    )  # fmt: skip
    for transformed in calls:
        with pytest.raises(ArgumentError, match="nested more than 150 containers deep"):
            transformed(_nested(kind, 600))


@pytest.mark.parametrize("kind", ["tuple", "dict"])
def test_as_many_containers_as_the_error_names(kind: str) -> None:
    """Those that a transformation puts around an argument and a result do not count."""
    value = _nested(kind, 150)
    assert sg.value_and_grad(_sum)(value)[0] == sg.compile(_sum)(value) == 9.0
    assert sg.jvp(_sum, (value,), (value,))[1] == 18.0


@pytest.mark.parametrize("depth", [70, 600])
def test_lists_of_more_axes_than_arrays_have(depth: int) -> None:
    if depth < 100:
        found = sg.grad(_sum)(_nested("numbers", depth))
        for _ in range(depth):
            (found,) = found
        assert found == 6.0
    else:
        with pytest.raises(ArgumentError, match="150 containers deep"):
            sg.grad(_sum)(_nested("numbers", depth))


def test_containers_that_contain_themselves() -> None:
    items: list[Any] = [1.0]
    items.append(items)
    named: dict[str, Any] = {"w": 1.0}
    named["again"] = named
    for value in (items, named, Link(1.0, items)):
        for f in (sg.compile(_sum), sg.grad(_sum)):
            with pytest.raises(ArgumentError, match="may contain itself"):
                f(value)
    with pytest.raises(ArgumentError, match="may contain itself"):
        sg.compile(lambda x: items)(1.0)


@pytest.mark.parametrize("argnums", [True, (0, False), np.bool_(True)])
def test_truth_values_are_no_positions(argnums: Any) -> None:
    """Mostly meant for another parameter: they were positions 0 and 1."""
    with pytest.raises(ArgumentError, match="argnums is the position of an argument"):
        sg.grad(lambda x, y: x * y, argnums=argnums)(1.0, 2.0)
