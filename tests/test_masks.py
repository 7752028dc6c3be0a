"""What a mask selects in a row, by a guard on the mask: its number, order, elements one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import UnsupportedError

pytestmark = pytest.mark.usefixtures("few_kernels")

X = np.array([1.0, 3.0, 1.9, 5.0, 4.0])
#: Three masks ``x > 2``, of which one is that of X with other numbers.
POINTS = (X, X[::-1].copy(), X + 10.0, X * 0.9 + 0.1)


def table(x: Any) -> Any:
    return np.outer(x, x) + np.eye(5)


def into_places(x: Any) -> Any:
    y, m = np.zeros((5, 2)), x > 2
    y[m, 0] = np.linalg.solve(table(x)[np.ix_(m, m)], x[m])
    y[m, 1] += 1.0 + x[0]
    return y


def added(x: Any) -> Any:
    y, m = np.outer(x, x) / 50, x > 2
    y[np.ix_(m, m)] += np.eye(len(x[m])) * x[0] / 150
    y[y > 0.25] *= np.sort(y[y > 0.25])[::-1]
    return y if len(x[m]) == 5 else y[m]


def from_list(x: Any) -> Any:
    y = x.copy()
    y[x > 2] = [1.0, x[0], 3.0] if len(x[x > 2]) == 3 else x[::-1]
    return y


def complex_numbers(x: Any) -> Any:
    z = x + 1j * x**2
    kept = z[np.abs(z) > 5]
    return np.array([kept[0].real, kept[-1].imag, len(kept) * 1.0])


def in_place(x: Any) -> Any:
    kept, others = x[x > 2], x[x < 4.5]
    kept[0] = 7.0 * x[0]
    kept[1:] = kept[1:] ** 2
    others[others > 2] = 3.0
    return np.sum(np.cumsum(kept)) * np.max(others, initial=0.0)


def neighbours(x: Any) -> Any:
    total = x[0]
    for i in range(4):
        for j in i + 1 + np.nonzero(abs(x[i + 1 :] - x[i]) < 1.5)[0]:
            total += (x[j] - x[i]) ** 3
    return total


def cubic(x: Any) -> Any:
    roots = np.roots([1.0, -x[0] / 3, x[1] / 40, -x[2] / 900])
    real = roots[np.abs(roots.imag) < 1e-9].real
    if len(real) == 1:
        return real[0]
    return max(real) + sorted(real)[1] * len(real[real > 0])


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "first": lambda x: np.sort(x[x > 1.5])[0] ** 2,
    "last": lambda x: x[x > 2][-1],
    "how many": lambda x: len(x[x > 2]) * x,
    "result": lambda x: x[x > 2],
    "iterated": lambda x: sum(v**2 for v in x[x > 2]),
    "listed": lambda x: np.array([*x[~(x > 2)], x[0]]),
    "of as many": lambda x: x[x > 2] * (1.0 + np.arange(len(x[x > 2]))),
    "two masks": lambda x: np.sum(x[x > 2]) - x[x < 40][:3],
    "joined": lambda x: np.concatenate([x[x > 2], x[x <= 2]]),
    "product": lambda x: x[x > 2] @ x[x > 2] + np.matmul(x[x > 2], x[x > 2]),
    "array": lambda x: np.array(x[x > 2]) + np.max(np.array([x[x > 2], 2 * x[x > 2]])),
    "numbers": lambda x: np.array(x[x > 2].tolist()),
    "differences": lambda x: np.sum(x[x > 2][1:] * x[x > 2][:-1]),
    "two results": lambda x: np.sum(np.divmod(x[x > 2], 1.37)[1]),
    "places": lambda x: x[np.where(x > 2)[0] - 1],
    "place by place": lambda x: np.array([x[j] for j in np.flatnonzero(x > 2)]),
    "pairs of places": lambda x: np.array([table(x)[i, j] for i, j in np.argwhere(table(x) > 6)]),
    "rows": lambda x: np.linalg.det(table(x)[x > 2][:, x > 2]),
    "beside": lambda x: table(x)[x > 2, 0] + table(x)[1, x > 2],
    "median": lambda x: np.median(x[x > 2]) + np.interp(2.5, np.sort(x[x > 2]), x[x > 2]),
    "into places": into_places,
    "in place": in_place,
    "added": added,
    "from a list": from_list,
    "complex numbers": complex_numbers,
    "neighbours": neighbours,
    "cubic": cubic,
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.quick(3)
def test_a_mask_decides_as_a_branch_does(name: str) -> None:
    f = PROGRAMS[name]
    g = sg.compile(lambda x: f(x))
    slopes = sg.jacobian(lambda x: np.sum(np.sin(f(x))))
    for x in (*POINTS, X):
        np.testing.assert_allclose(g(x), f(x), rtol=1e-12)
        steps = 1e-6 * np.eye(5)
        near = [(np.sum(np.sin(f(x + h))) - np.sum(np.sin(f(x - h)))) / 2e-6 for h in steps]
        np.testing.assert_allclose(slopes(x), near, rtol=2e-6, atol=1e-7 * np.max(np.abs(near)))
    assert g.traces <= 4


def test_one_guard_for_a_mask_and_the_same_code_for_other_numbers() -> None:
    g = sg.grad(lambda x: np.sort(x[x > 2])[0] ** 2)
    for x in (X, X * 0.9 + 0.1, X):
        np.testing.assert_allclose(g(x), 2 * x * (x == np.min(x[x > 2])))
    assert g.traces == 1
    assert len(g.program(X).guards) <= 3  # the mask, and its length


def test_what_is_summed_needs_no_guard() -> None:
    g = sg.grad(lambda x: np.sum(x[x > 2] ** 2) / x[x > 2].size)
    for x in POINTS:
        np.testing.assert_allclose(g(x), 2 * x * (x > 2) / np.sum(x > 2))
    assert g.traces == 1


@pytest.mark.parametrize("name", ["product", "iterated", "rows", "neighbours", "in place"])
def test_examples_of_a_batch_decide_nothing(name: str) -> None:
    f, points = PROGRAMS[name], np.stack(POINTS)
    with pytest.raises(UnsupportedError, match="mask"):
        sg.compile(lambda points: sg.vmap(f)(points))(points)
    with pytest.warns(sg.errors.PathsWarning, match="one by one: .*mask"):
        np.testing.assert_allclose(sg.vmap(f)(points), [f(x) for x in points], rtol=1e-13)


def of_a_number(x: Any) -> Any:
    """Return a formula by parts of what may be a number, as code for both is written."""
    x, scale = np.broadcast_arrays(x, 2.0)
    found = np.full_like(x, np.nan, dtype=np.float64)
    above = x > 1.0
    if np.any(above):
        found[above] = scale[above] * np.log(x[above])
    found[~above] = x[~above] ** 2
    return found


@pytest.mark.parametrize("make", [sg.compile, sg.grad])
def test_a_number_is_selected_by_its_mask(make: Any) -> None:
    expected = {3.0: 2 / 3, 0.5: 1.0} if make is sg.grad else {3.0: 2 * np.log(3), 0.5: 0.25}
    f = make(lambda x: of_a_number(x)[()])
    for x, value in expected.items():
        assert np.isclose(f(x), value)


def test_the_row_of_a_number() -> None:
    """An index that is a truth value makes an axis of one element, or of none."""
    f = lambda x: np.asarray(x)[np.asarray(x) > 2]  # noqa: E731
    g = sg.compile(f)
    for x in (3.0, 1.0, 4.0):
        np.testing.assert_array_equal(g(x), f(x))


# ---------------------------------------------------------------- masks of plain arrays


def test_plain_arrays_take_traced_masks() -> None:
    """The mask's values decide, and others trace again."""
    data = np.array([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        return np.sum(data[x > 1] * x[x > 1] ** 2) + np.sum(np.arange(3)[x > 1])

    g = sg.value_and_grad(f)
    for x in ([0.5, 1.0, 2.0], [3.0, 0.0, 2.0], [0.0, 0.0, 0.0], [3.0, 0.0, 2.0]):
        value, slope = g(np.array(x))
        assert value == f(np.array(x))
        np.testing.assert_array_equal(slope, np.where(np.array(x) > 1, 2 * data * x, 0.0))
    assert g.traces <= 3
    with pytest.warns(UserWarning, match="one by one"):
        rows = sg.vmap(f)(np.array([[0.5, 1.0, 2.0], [3.0, 0.0, 2.0]]))
    np.testing.assert_array_equal(
        rows, [f(np.array([0.5, 1.0, 2.0])), f(np.array([3.0, 0.0, 2.0]))]
    )


def test_counts_without_a_length() -> None:
    weights = np.array([1.0, 2.0, 3.0])
    f = sg.value_and_grad(lambda w, i: np.sum(np.bincount(i, w) ** 2))
    for places in ([0, 1, 3], [0, 0, 0], [5, 5, 1]):
        value, slope = f(weights, np.array(places))
        want = np.bincount(places, weights)
        assert value == np.sum(want**2)
        np.testing.assert_array_equal(slope, 2 * want[places])
    counts = sg.compile(lambda i: np.bincount(i))
    for places in ([2, 2], [0, 3], []):
        np.testing.assert_array_equal(counts(np.array(places, int)), np.bincount(places))


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (lambda x: RECORDS["a"] * np.array([(x[0],)], RECORDS.dtype)["a"], r"x\['name'\]"),
        (lambda x: _filled(RECORDS.copy(), x)["a"], "an array for each field"),
        (lambda x: {x.tobytes(): x}, "without a cache by values"),
        (lambda x: np.bincount(np.arange(3), x)[np.arange(3)[np.argsort(x)]], "take"),
    ],
)
def test_what_plain_arrays_refuse(use: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        sg.compile(use)(np.array([1.0, 2.0, 3.0]))


RECORDS = np.zeros(3, dtype=[("a", float)])


def _filled(records: Any, x: Any) -> Any:
    records["a"] = x
    return records
