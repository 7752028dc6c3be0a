"""Objects that are more than their numbers: pandas, xarray, masked arrays, matrices, units."""

from __future__ import annotations

import functools
import importlib.util
import statistics
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import TraceError

pytestmark = pytest.mark.usefixtures("few_kernels")

PANDAS = importlib.util.find_spec("pandas") is not None
XARRAY = importlib.util.find_spec("xarray") is not None
needs_pandas = pytest.mark.skipif(not PANDAS, reason="pandas is not installed")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # NumPy advises against them
    MATRIX = np.matrix(np.eye(2))

NUMBERS = np.array([1.0, 2.5, np.nan, 4.0])


def series(values: Any = NUMBERS, index: Any = "abcd", name: Any = "height") -> Any:
    return pytest.importorskip("pandas").Series(values, list(index), name=name)


def data_array(values: Any = NUMBERS, start: int = 0) -> Any:
    xr = pytest.importorskip("xarray")
    return xr.DataArray(values, dims="t", coords={"t": np.arange(start, start + len(values))})


MAKERS: list[Any] = [
    pytest.param(make, marks=pytest.mark.skipif(not there, reason="not installed"))
    for make, there in ((series, PANDAS), (data_array, XARRAY))
]

FUNCTIONS: list[Callable[[Any], Any]] = [
    lambda s: np.sum((s - 1.0) ** 2),
    lambda s: (np.log(s) * 2).sum(),
    lambda s: s.mean() + np.mean(s) + s.max() - np.min(s),
    lambda s: s.std() + np.std(s) + s.var() - np.var(s) + s.std(ddof=0),
    lambda s: s.prod() * s.size * s.shape[0] * len(s) * s.ndim,
    lambda s: np.sum(np.where(s > 2, s, 0.0)),
    lambda s: np.median(s - 1.0) + np.linalg.norm(s),
    lambda s: np.sum(s.to_numpy()) + np.sum(s.values**2),
    lambda s: np.dot(s, np.ones(4)) + s @ np.ones(4),
    lambda s: np.sum(s * np.array([1.0, 2.0, 3.0, 4.0])),
    lambda s: (s - s.mean()).sum() + ((s - s.mean()) / s.std()).max(),
    lambda s: sum(v for v in s),
    lambda s: np.sum(s[1:] ** 2) + s[-2:].mean() - s[1:3].max(),
]

#: What pandas picks, by labels and by positions.
PICKED: list[Callable[[Any], Any]] = [
    lambda s: s["b"] * s["a"] + s.d * s.loc["c"],
    lambda s: s.iloc[0] * s.iloc[-1] + s.iat[1] + s.at["c"],
    lambda s: (s[["d", "a"]] ** 2).sum() + np.sum(s.loc["b":"c"] ** 3),
    lambda s: s.head(2).sum() + s.tail(1).mean() + (s[s.index > "b"] ** 2).sum(),
    lambda s: np.sum(s[1:] * s[1:]) + s.iloc[[0, 2]].std() + np.sqrt(s)["d"],
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
def test_values_are_those_of_the_library(make: Callable[..., Any], f: Callable[[Any], Any]) -> None:
    if f is FUNCTIONS[8] and make is data_array:
        pytest.skip("xarray multiplies by names of axes")
    for values in (NUMBERS, np.arange(1.0, 5.0), np.array([2, 3, 5, 7])):
        s = make(values)
        np.testing.assert_allclose(sg.compile(f)(s), f(s), rtol=1e-13)


@pytest.mark.parametrize("make", MAKERS)
def test_gradients_have_the_labels(make: Callable[..., Any]) -> None:
    s = make()
    value, slope = sg.value_and_grad(lambda s, p: np.sum(p * s**2))(s, 3.0)
    assert value == 3.0 * np.nansum(NUMBERS**2)
    assert type(slope) is type(s)
    assert slope.name == s.name
    np.testing.assert_array_equal(slope.values, np.where(np.isnan(NUMBERS), 0, 6 * NUMBERS))
    if hasattr(s, "index"):
        assert slope.index.equals(s.index)
    else:
        assert slope.coords.identical(s.coords)
    result = sg.compile(lambda s: {"twice": 2 * s})(s)["twice"]
    assert type(result) is type(s)
    np.testing.assert_array_equal(result.values, 2 * NUMBERS)
    by_number = sg.grad(lambda s, p: np.sum(p * s**2), argnums=1)(s, 3.0)
    assert by_number == np.nansum(NUMBERS**2)


@needs_pandas
def test_labels_are_those_of_each_call() -> None:
    g = sg.grad(lambda s: np.sum(s**2))
    a, b = series(), series(index="wxyz", name="width")
    for s in (a, b, a):
        assert list(g(s).index) == list(s.index)
        assert g(s).name == s.name
    assert type(g(np.ones(4))) is np.ndarray


REFUSED: list[Callable[[Any, Any], Any]] = [
    lambda s, x: np.sum(s[s > 2] * x),
    lambda s, x: (s[1:] * s[:-1] * x).sum(),
    lambda s, x: s.rolling(2).mean().sum() * x,
    lambda s, x: np.cumsum(s).sum() * x,
    lambda s, x: s.sum(axis=0) * x,
    lambda s, x: s.fillna(0.0).sum() * x,
    lambda s, x: np.sum(s * np.ones((4, 1))) * x,
    lambda s, x: np.sum(np.add.reduce(s)) * x,
]


@pytest.mark.parametrize("f", REFUSED)
@needs_pandas
def test_what_needs_labels_is_refused(f: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(sg.errors.TraceError, match=r"to_numpy.*\[test_labels.py"):
        sg.compile(f)(series(), 2.0)


@pytest.mark.parametrize("make", MAKERS)
def test_other_labels_are_not_combined(make: Callable[..., Any]) -> None:
    a = make(np.arange(4.0))
    b = series(index="bcde") if make is series else data_array(start=1)
    with pytest.raises(sg.errors.TraceError, match="other labels"):
        sg.compile(lambda a, b: (a * b).sum())(a, b)
    assert sg.compile(lambda a, b: (a * b).sum())(a, a) == 14.0
    with pytest.raises(sg.errors.TraceError, match="other labels"):
        sg.compile(lambda a: (a * b).sum())(a)


@pytest.mark.parametrize("f", PICKED)
@needs_pandas
def test_elements_are_picked_by_labels(f: Callable[[Any], Any]) -> None:
    s = series(np.array([1.0, 2.5, 3.0, 4.0]))
    np.testing.assert_allclose(sg.compile(f)(s), f(s), rtol=1e-13)
    slope = sg.grad(f)(s)
    assert type(slope) is type(s)
    steps = 1e-6 * np.eye(4)
    wanted = [(f(s + h) - f(s - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(slope.values, wanted, rtol=1e-7)
    assert sg.compile(lambda s: f(s) / 2)(2 * s) == pytest.approx(f(2 * s) / 2)


def test_elements_of_data_arrays_are_picked_by_coordinates() -> None:
    a = data_array(np.array([1.0, 2.5, 3.0, 4.0]))
    f: Any = lambda a: a.sel(t=2) * a[1:].sum() + a.isel(t=0) ** 2  # noqa: E731
    np.testing.assert_allclose(sg.compile(f)(a), f(a), rtol=1e-13)
    np.testing.assert_allclose(sg.grad(f)(a).values, [2.0, 3.0, 9.5 + 3.0, 3.0], rtol=1e-13)


# ---------------------------------------------------------------- tables


def frame() -> Any:
    pd = pytest.importorskip("pandas")
    rows = {"dose": [0.1, 1.0, 10.0], "response": [2, 8, 55], "sd": [1.0, 1.5, 3.0]}
    return pd.DataFrame(rows, index=list("abc"))


def test_frames_keep_their_labels() -> None:
    df = frame()

    def chi2(df: Any, p: Any) -> Any:
        residual = (df["response"] - p * df.dose) / df["sd"]
        return (residual**2).sum() + df.loc["b", "dose"] * df.iloc[0, 1]

    for f in (chi2, lambda df, p: np.sum(df.to_numpy() * p), lambda df, p: chi2(df * 2.0 + 1.0, p)):
        np.testing.assert_allclose(sg.compile(f)(df, 3.0), f(df, 3.0), rtol=1e-13)
    slope = sg.grad(chi2)(df, 3.0)
    assert slope.index.equals(df.index)
    assert list(slope.columns) == list(df.columns)
    other = df.astype(float)
    other.loc["b", "dose"] += 1e-6
    wanted = (chi2(other, 3.0) - chi2(df, 3.0)) / 1e-6
    assert slope.loc["b", "dose"] == pytest.approx(wanted, rel=1e-4)
    twice = sg.compile(lambda df: 2.0 * df)(df)
    assert twice.equals(2.0 * df)


@pytest.mark.parametrize(
    "f", [lambda df: df.sum(), lambda df: df.mean().sum(), lambda df: sum(c for c in df),
          lambda df: (df - df["dose"]).to_numpy(), lambda df: df @ np.ones(3)],
)  # fmt: skip
def test_what_frames_do_by_columns_is_refused(f: Callable[[Any], Any]) -> None:
    with pytest.raises(sg.errors.TraceError, match=r"to_numpy.*\[test_labels.py"):
        sg.compile(f)(frame())


def test_captured_tables_keep_their_labels() -> None:
    df = frame()
    short = df["sd"][:2]

    def chi2(p: Any) -> Any:
        return (((df["response"] - p * df["dose"].values) / df["sd"]) ** 2).sum()

    def named(x: Any) -> Any:
        return df["dose"] * x

    g = sg.value_and_grad(chi2)
    for _ in range(2):
        value, slope = g(3.0)
        assert value == pytest.approx(chi2(3.0), rel=1e-14)
        wanted = (chi2(3.0 + 1e-5) - chi2(3.0 - 1e-5)) / 2e-5
        assert slope == pytest.approx(wanted, rel=1e-8)
        df.loc["b", "response"] = 10
    found = sg.compile(named)(2.0)
    assert found.equals(named(2.0))
    assert found.name == "dose"
    with pytest.raises(sg.errors.TraceError, match="other labels"):
        sg.compile(lambda x: (short * (df["dose"] * x)).sum())(2.0)
    with pytest.raises(sg.errors.TraceError, match="another shape"):
        sg.compile(lambda x: (short * x).sum())(np.ones(3))


def _captured() -> list[Any]:
    found: list[Any] = [
        pytest.param(np.ma.array([1.0, 2.0], mask=[False, True]), r"x\.filled", id="masked"),
        pytest.param(MATRIX, r"np\.asarray", id="matrix"),
        pytest.param(Metres([1.0, 2.0]), r"np\.asarray", id="units"),
    ]
    if PANDAS:
        pd = pytest.importorskip("pandas")
        found += [
            pytest.param(pd.Series([1, 2], dtype="Int64"), "to_numpy", id="series"),
            pytest.param(pd.DataFrame({"a": ["b", "c"]}), "to_numpy", id="frame"),
        ]
    if XARRAY:
        xr = pytest.importorskip("xarray")
        found.append(pytest.param(xr.DataArray([1 + 1j, 2.0]), "to_numpy", id="xarray"))
    return found


class Metres(np.ndarray):
    """An array with a unit."""

    def __new__(cls, values: Any) -> Metres:
        return np.asarray(values).view(cls)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return NotImplemented


USES: list[Callable[[Any, Any], Any]] = [
    lambda c, x: np.sum(c * x), lambda c, x: np.sum(x * c), lambda c, x: np.sum(np.multiply(c, x)),
    lambda c, x: np.sum(np.multiply(x, c)), lambda c, x: np.sum(x + c), lambda c, x: np.dot(x, c),
    lambda c, x: np.where(x > 0, x, c),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(("captured", "instead"), _captured())
def test_captured_objects_are_refused(
    captured: Any, instead: str, use: Callable[[Any, Any], Any]
) -> None:
    with pytest.raises((sg.errors.SymgradError, TypeError)) as caught:
        sg.grad(lambda x: np.sum(use(captured, x)))(np.array([1.0, 2.0]))
    assert isinstance(caught.value, sg.errors.SymgradError), caught.value


@pytest.mark.parametrize(("given", "instead"), _captured()[:3])
def test_arguments_of_such_classes_are_refused(given: Any, instead: str) -> None:
    with pytest.raises(sg.errors.ArgumentError, match=rf"argument x: .*{instead}"):
        sg.compile(lambda x: np.sum(x * x))(given)


@needs_pandas
def test_other_types_are_refused() -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(sg.errors.ArgumentError, match="to_numpy"):
        sg.compile(lambda x: np.sum(x))(pd.Series([1, None], dtype="Int64"))


def test_classes_without_arithmetic_are_their_numbers(tmp_path: Any) -> None:
    stored = np.memmap(tmp_path / "numbers", float, "w+", shape=3)
    stored[:] = [1.0, 2.0, 3.0]
    assert sg.compile(lambda x: np.sum(x * stored))(stored) == 14.0


def test_errors_within_code_of_libraries_name_the_users_line() -> None:
    xr = pytest.importorskip("xarray")
    table = xr.DataArray(np.ones((2, 3)), dims=("site", "time"), coords={"time": np.arange(3.0)})

    def trend(p: Any) -> Any:
        return (table - p[0] - p[1] * table.time).mean(dim="time").sum()

    with pytest.raises(sg.errors.TraceError, match=r"\[test_labels.py:\d+\]$"):
        sg.grad(trend)(np.ones(2))


def test_a_table_that_keeps_traced_values_is_refused_with_what_to_write() -> None:
    table = pytest.importorskip("pandas").DataFrame({"hour": [0, 1, 0], "sun": [1.0, 2.0, 4.0]})

    def by_pandas(x: Any, table: Any = table) -> Any:
        table = table.copy()
        table["heat"] = x * table["sun"].to_numpy()
        return table.groupby("hour")["heat"].mean().to_numpy().sum()

    def by_numpy(x: Any) -> Any:
        hour = table["hour"].to_numpy()
        heat = np.bincount(hour, weights=x * table["sun"].to_numpy())
        return np.sum(heat / np.bincount(hour))

    def kept(x: Any) -> Any:
        own = table.copy()
        own["heat"] = x
        return own["heat"].to_numpy().sum()

    x = np.ones(3)
    with pytest.raises(TraceError, match=r"column of a table .*np\.bincount"):
        sg.grad(kept)(x)
    with pytest.raises(TraceError, match=r"group_mean, which is compiled.*test_labels.py"):
        sg.grad(by_pandas)(x)
    with pytest.raises(TraceError, match=r"may need its labels.*functools\.partial"):
        sg.grad(by_pandas)(x, table)
    assert by_pandas(x) == by_numpy(x)
    np.testing.assert_allclose(sg.grad(by_numpy)(x), [0.5, 2.0, 2.0])


RECORDS = np.array([("V", 0, 1.0), ("P", 2, 2.0)], [("kind", "U2"), ("at", int), ("z", float)])
DAYS = np.array(["2020-01-01", "2020-01-03", "2020-01-04"], "M8[D]")


@pytest.mark.parametrize(
    ("f", "data"),
    [
        (lambda x, data: np.sum(x[data["at"]] * data["z"] * (data["kind"] != "V")), RECORDS),
        (lambda x, data: np.sum(x[data == "b"] ** 2), np.array(["a", "b", "b"])),
        (lambda x, data: np.sum(x * (data - data[0]).astype(float)), DAYS),
    ],
    ids=["records", "text", "times"],
)
def test_arrays_of_other_things_than_numbers_are_bound(f: Any, data: Any) -> None:
    x = np.array([1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match=r"argument data has .*functools\.partial"):
        sg.grad(f)(x, data)
    for bound in (functools.partial(f, data=data), lambda x: f(x, data)):
        value, slope = sg.value_and_grad(bound)(x)
        assert value == f(x, data)
        near = [(f(x + h, data) - f(x - h, data)) / 2e-5 for h in 1e-5 * np.eye(3)]
        np.testing.assert_allclose(slope, near, rtol=1e-8)


def test_pythons_statistics_say_what_to_write() -> None:
    with pytest.raises(TraceError, match=r"np\.mean.* \[test_labels.py"):
        sg.grad(lambda x: statistics.fmean(x))(np.ones(3))


@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize("f", [statistics.mean, statistics.variance], ids=["mean", "variance"])
def test_pythons_statistics_of_whole_numbers_say_what_to_write(f: Any, kind: Any) -> None:
    """They make the result by the type of their numbers, of fractions: ``type(n)(value)``."""
    with pytest.raises(TraceError, match=r"np\.mean.* \[test_labels.py"):
        sg.compile(lambda x, k: x * f(k))(1.0, kind([1, 2, 3, 4]))


# ---------------------------------------------------------------- tables of several types


def test_tables_with_other_columns_than_numbers_are_read() -> None:
    """As an argument that is not differentiated, whose columns are compared in each call."""
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"y": [1.0, 2.0, 3.0], "ok": [True, False, True], "k": list("aba")})

    def loss(b: Any, table: Any) -> Any:
        rest = (table["y"] - b) ** 2
        named = np.where((table["k"] == "a").to_numpy(), table["y"].to_numpy() * b, 0.0)
        return np.sum(rest[table["ok"]]) + np.sum(named)

    def by_hand(b: float) -> float:
        own = table[table["ok"]]["y"].to_numpy()
        return float(np.sum(2 * (b - own)) + np.sum(table["y"][table["k"] == "a"]))

    f = sg.value_and_grad(loss)
    for b in (1.0, 2.0):
        value, slope = f(b, table)
        assert (value, slope) == (loss(b, table), by_hand(b))
    assert f.traces == 1
    table.loc[1, "ok"] = True
    assert f(1.0, table) == (loss(1.0, table), by_hand(1.0))
    table.loc[0, "y"] = 5.0
    assert f(1.0, table) == (loss(1.0, table), by_hand(1.0))
    table = table.assign(k=list("bbb"))
    assert f(1.0, table) == (loss(1.0, table), by_hand(1.0))
    np.testing.assert_array_equal(
        sg.vmap(loss, in_axes=(0, None))(np.array([1.0, 2.0]), table),
        [loss(1.0, table), loss(2.0, table)],
    )
    assert sg.hessian(loss)(1.0, table) == 2.0 * table["ok"].sum()
    assert "out" in str(sg.formula(loss, 1.0, table, wrt="b"))
    assert sg.verify(loss, 1.0, table)
    with pytest.raises(TypeError, match="argument table must be"):
        sg.grad(loss, 1)(1.0, table)
