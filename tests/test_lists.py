"""Lists of numbers as arguments: arrays for NumPy, and lists for code that tells the two apart."""

from __future__ import annotations

import collections.abc
import copy
from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
import pytest

import symgrad as sg

P = [3.0, 4.0]


@singledispatch
def total(a: Any) -> Any:
    return 3.0 * a[0]


@total.register
def _(a: list) -> Any:  # type: ignore[type-arg]
    return 2.0 * a[0]


def without_shape(a: Any) -> Any:
    try:
        return a[0] * a.shape[0]
    except AttributeError:
        return a[0] * 5.0


def copied(a: Any) -> Any:
    part = a[:1]
    part[0] = 9.0
    return a[0] * part[0]


def adapted(a: Any) -> Any:
    table = np.zeros(2)
    table[0] = a[0]
    return table[0] if isinstance(a, np.ndarray) else table[0] * 2.0


def matched(a: Any) -> Any:
    match a:
        case [x]:
            return 5.0 * x
        case [x, *rest]:
            return x * len(rest) * 7.0
    return a[0]


def caught(a: Any) -> Any:
    try:
        return a[0] / (a[0] - 3.0) + a[0]
    except ZeroDivisionError:
        return a[0] * 5.0


#: What code asks a list, and an array answers otherwise or not at all.
TOLD: dict[str, Callable[[Any], Any]] = {
    "isinstance": lambda a: a[0] * 2.0 if isinstance(a, list) else a[0],
    "isinstance of a tuple": lambda a: a[0] * 2.0 if isinstance(a, (list, tuple)) else a[0],
    "not an array": lambda a: a[0] if isinstance(a, np.ndarray) else a[0] * 2.0,
    "not an array, in adapted code": adapted,
    "Sequence": lambda a: a[0] * 2.0 if isinstance(a, collections.abc.Sequence) else a[0],
    "type": lambda a: a[0] * 2.0 if type(a) is list else a[0],
    "name of the type": lambda a: a[0] * len(type(a).__name__),
    "singledispatch": total,
    "truth": lambda a: a[0] * 2.0 if a else 0.0,
    "not": lambda a: 0.0 if not a else a[0] * 2.0,
    "+": lambda a: len(a + a) * a[0],
    "+ from the left": lambda a: len([1.0, 2.0] + a) * a[0],  # noqa: RUF005
    "+ of slices": lambda a: (a[1:] + a[:1])[0] * 2.0,
    "*": lambda a: len(a * 2) * a[0],
    "* from the left": lambda a: len(3 * a) * a[0],
    "* of a slice": lambda a: len(a[:1] * 3) * a[0],
    "== of a list": lambda a: a[0] * 2.0 if a == [3.0, 4.0] else a[0],
    "== of nothing": lambda a: a[0] if a == [] else a[0] * 2.0,
    "== of a number": lambda a: a[0] if a == 3.0 else a[0] * 2.0,
    "!=": lambda a: a[0] if a != [3.0, 4.0] else a[0] * 2.0,
    "<": lambda a: a[0] * 2.0 if a < [3.0, 5.0] else a[0],
    "index": lambda a: (a.index(4.0) + 2) * a[0],
    "count": lambda a: a.count(4.0) * a[0],
    "hasattr": lambda a: a[0] if hasattr(a, "shape") else a[0] * 2.0,
    "getattr": lambda a: a[0] if getattr(a, "ndim", None) else a[0] * 2.0,
    "hasattr of a method": lambda a: a[0] if hasattr(a, "sum") else a[0] * 2.0,
    "AttributeError": without_shape,
    "a slice is a copy": copied,
    "pattern": matched,
    "pattern of a slice": lambda a: matched(a[:1]),
    "type of a number": lambda a: a[0] * 2.0 if type(a[0]) is float else a[0],
    "name of a number's type": lambda a: a[0] * len(type(a[:1][0]).__name__),
    "caught division": caught,
    "NumPy's number and a list": lambda a: np.sum(np.sin(a[0]) + (a + a)),
}
#: Those that single out a point, or of which complex numbers tell no derivative.
SINGLED = (
    "== of a list", "!=", "<", "index", "count", "caught division", "type of a number",
    "name of a number's type", "not an array, in adapted code",
)  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_lists_answer_as_lists(name: str) -> None:
    function = TOLD[name]
    compiled = sg.compile(function)
    for numbers in (P, [3.0, 5.0], [4.0], P):
        try:
            plain = function(copy.deepcopy(numbers))
        except (IndexError, ValueError):
            continue
        assert compiled(numbers) == plain
    for size in (2, 1):
        arrays = np.array(P[:size])
        try:
            plain = function(arrays.copy())
        except Exception:  # noqa: BLE001 (for lists alone)
            continue
        assert np.all(compiled(arrays) == plain)
    assert compiled(P) == function([*P])


@pytest.mark.parametrize("name", [k for k in TOLD if k not in SINGLED])
def test_derivatives_are_those_of_the_lists_way(name: str) -> None:
    function = TOLD[name]
    found = sg.grad(function)(P)

    def plain(*numbers: complex) -> Any:
        return function([*numbers])

    steps = [plain(3.0 + 1e-20j, 4.0), plain(3.0, 4.0 + 1e-20j)]
    np.testing.assert_allclose(found, [np.imag(y) * 1e20 for y in steps], rtol=1e-15)


def told(a: Any) -> Any:
    return a[0] ** 2 * a[1] if isinstance(a, list) else 3.0 * np.sum(a)


def test_transformations_of_lists_and_arrays_in_turn() -> None:
    gradient = sg.grad(told)
    for _ in range(3):
        np.testing.assert_array_equal(gradient([2.0, 3.0]), [12.0, 4.0])
        np.testing.assert_array_equal(gradient(np.array([2.0, 3.0])), [3.0, 3.0])
        np.testing.assert_array_equal(gradient([2, 3]), [12.0, 4.0])
    np.testing.assert_array_equal(sg.hessian(told)([2.0, 3.0]), [[6.0, 4.0], [4.0, 0.0]])
    assert sg.jvp(told, ([2.0, 3.0],), ([1.0, 0.0],)) == (12.0, 12.0)
    np.testing.assert_array_equal(sg.hvp(told, ([2.0, 3.0],), ([1.0, 0.0],)), [6.0, 4.0])
    times = sg.vmap(lambda a, t: told(a) * t, in_axes=(None, 0))([2.0, 3.0], np.arange(3.0))
    np.testing.assert_array_equal(times, [0.0, 12.0, 24.0])


def test_array_first() -> None:
    compiled = sg.compile(told)
    assert compiled(np.array([2.0, 3.0])) == 15.0
    assert compiled([2.0, 3.0]) == 12.0
    assert compiled(np.array([2.0, 3.0])) == 15.0
    assert compiled([2.0, 4.0]) == 16.0
    assert compiled.traces == 2


def test_several_lists_by_name_and_nested() -> None:
    def joined(a: Any, b: Any = None, **more: Any) -> Any:
        return a[0] * len(a + b) * more["c"][0][1] if isinstance(more["c"][0], list) else a[0]

    values: dict[str, Any] = {"b": [1.0], "c": [[5.0, 6.0], [7.0, 8.0]]}
    assert sg.compile(joined)([3.0, 4.0], **values) == joined([3.0, 4.0], **values) == 54.0
    np.testing.assert_array_equal(sg.grad(joined)([3.0, 4.0], **values), [18.0, 0.0])


def test_lists_stay_arrays_where_plain_python_has_no_lists() -> None:
    def path(x: Any) -> Any:
        return np.sum((x[1:] - x[:-1]) ** 2) if not isinstance(x, tuple) else 0.0

    gradient = sg.grad(path)
    for _ in range(2):
        found = gradient([1.0, 3.0, 4.0])
        assert isinstance(found, np.ndarray)
        np.testing.assert_array_equal(found, [-4.0, 2.0, 2.0])
    np.testing.assert_array_equal(gradient([1.0, 3.0, 5.0]), [-4.0, 0.0, 4.0])
    np.testing.assert_array_equal(sg.compile(lambda x: 2.0 * x)([1.0, 2.0]), [2.0, 4.0])
    assert isinstance(sg.grad(lambda x: np.sum(x**2) / x.size)([1.0, 2.0]), np.ndarray)


def test_a_kernel_first() -> None:
    compiled = sg.compile(told)
    with_array = compiled.kernel([2.0, 3.0])
    assert with_array(np.array([2.0, 3.0])) == 15.0
    assert compiled([2.0, 3.0]) == 12.0


def test_long_lists_stay_arrays_with_a_warning() -> None:
    compiled = sg.compile(told)
    with pytest.warns(sg.errors.CaptureWarning, match="A list of 1,000 numbers"):
        assert compiled([1.0] * 1000) == 3000.0
    assert compiled([2.0] * 1000) == 6000.0
    assert compiled([2.0, 3.0]) == 12.0


def test_state_is_written_once() -> None:
    calls = [0]

    def counted(a: Any) -> Any:
        calls[0] += 1
        return a[0] * 2.0 if isinstance(a, list) else a[0]

    compiled = sg.compile(counted)
    assert [compiled([1.0, 2.0]), compiled([1.5, 2.0]), compiled([2.0, 2.0])] == [2.0, 3.0, 4.0]
    assert calls == [3]


def test_changes_of_a_list_that_is_an_argument_stay_inside() -> None:
    def appended(a: Any) -> Any:
        a.append(1.5)
        a.insert(0, 2.5)
        return a.pop() * len(a) * a[1]

    given = [3.0, 4.0]
    with pytest.warns(sg.errors.CaptureWarning, match="stays inside of it"):
        found = sg.grad(appended)(given)
    np.testing.assert_array_equal(found, [4.5, 0.0])
    assert given == [3.0, 4.0]


def test_a_question_that_fails_is_the_functions_error() -> None:
    def missing(a: Any) -> Any:
        return a[0] / a[5] if isinstance(a, list) else a[5]

    with pytest.raises(IndexError):
        sg.compile(missing)([1.0, 2.0])


def test_numbers_of_lists_are_pythons() -> None:
    for f, numbers in [
        (lambda p: p[0] ** 40, [3, 4]),
        (lambda p: p[0] ** -1 * p[1], [4, 2]),
        (sum, [2**62, 2**62]),
        (lambda p: sum(range(p[0])) * p[1], [3, 0.5]),
        (lambda p: p[0].bit_length(), [9, 0.5]),
    ]:
        function: Callable[..., Any] = f
        for _ in range(2):
            assert sg.compile(function)(numbers) == function(numbers)


@pytest.mark.parametrize("count", [1, 18, 19, 20, 33])
@pytest.mark.parametrize("kind", [list, tuple])
def test_whole_numbers_of_lists_have_no_end(kind: Any, count: int) -> None:
    """The coefficients of the digits are numbers of the trace that 64 bits do not hold."""

    def remainder(x: Any, digits: Any) -> Any:
        number = 0
        for digit in digits:
            number = 10 * number + digit
        return (number % 97) * x

    g, slope = sg.compile(remainder), sg.grad(remainder)
    for turn in range(3):
        digits = kind([1 + (7 * k + turn) % 9 for k in range(count)])
        for _ in range(2):
            assert g(2.0, digits) == remainder(2.0, digits)
            assert slope(2.0, digits) == remainder(1.0, digits)

    def counted(x: Any, p: Any) -> Any:
        return remainder(x, p) + p.count(2)  # a method of lists and tuples

    assert sg.compile(counted)(1.0, digits) == counted(1.0, digits)


def test_directions_may_be_lists_or_arrays() -> None:
    def doubled(p: Any) -> Any:
        return p + p

    along, expected = [1.0, 0.0], [1.0, 0.0, 1.0, 0.0]
    for direction in (along, np.array(along)):
        assert sg.jvp(doubled, (P,), (direction,))[1] == expected
        assert sg.hvp(lambda p: (p + p)[0] ** 2, (P,), (direction,)) == [2.0, 0.0]
        np.testing.assert_array_equal(sg.jvp(doubled, (np.array(P),), (direction,))[1], [2.0, 0.0])
    assert sg.vjp(doubled, P)[1]([1.0, 2.0, 3.0, 4.0]) == ([4.0, 6.0],)
    assert sg.vjp(lambda p: np.array(p + p), P)[1]([1.0, 2.0, 3.0, 4.0]) == ([4.0, 6.0],)
    assert sg.vjp(lambda x: [3.0 * x, {"a": [x]}], 2.0)[1]([1.0, {"a": [2.0]}]) == (5.0,)


def test_lists_that_cannot_be_traced_as_lists_are_arrays_with_a_warning() -> None:
    def repeated(p: Any, k: Any) -> Any:
        return np.sum((p + p) * k)

    with pytest.warns(sg.errors.CaptureWarning, match="cannot be traced with lists: a list times"):
        sg.compile(repeated)(P, np.int64(2))
