"""Universal functions of NumPy's made of kernels: what NumPy promises of them, and what it is
promised."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import symgrad as sg
from symgrad.errors import ArgumentError, CaptureWarning, DTypeError, ShapeError, UnsupportedError

ROWS = np.random.default_rng(0).normal(size=(40, 3))
POINT = np.array([0.3, -0.2, 0.1])


def distance(p: Any, q: Any) -> Any:
    return np.sqrt(np.sum((p - q) ** 2))


def softplus(x: Any, y: Any) -> Any:
    return np.log(np.exp(x) + np.exp(y))


try:
    dist = sg.gufunc(distance, "(n),(n)->()")
except UnsupportedError as error:
    pytest.skip(str(error), allow_module_level=True)
slope = sg.gufunc(sg.value_and_grad(distance), "(n),(n)->(),(n)")
plus = sg.gufunc(softplus)


def expected(p: Any, q: Any) -> Any:
    return np.sqrt(np.sum((p - q) ** 2, axis=-1))


# ---------------------------------------------------------------- NumPy's protocol


def test_it_is_numpys_own_kind_of_function() -> None:
    assert type(dist) is np.ufunc
    assert (dist.signature, dist.types) == ("(n),(n)->()", ["ff->f", "dd->d"])
    assert (plus.signature, plus.nin, plus.nout) == (None, 2, 1)
    assert dist.__name__ == "distance"


@pytest.mark.parametrize("n", [0, 1, 2, 3, 16, 17, 40, 41])
@pytest.mark.parametrize("rows", [(), (0,), (1,), (3,), (17,), (4, 5), (2, 1, 3)])
def test_any_sizes(n: int, rows: tuple[int, ...]) -> None:
    p = np.random.default_rng(n).normal(size=(*rows, n))
    q = np.random.default_rng(n + 1).normal(size=(n,))
    value, gradient = slope(p, q)
    assert dist(p, q) == pytest.approx(expected(p, q), rel=1e-14)
    assert np.array_equal(value, dist(p, q))
    if n:
        assert gradient == pytest.approx((p - q) / expected(p, q)[..., None], rel=1e-13)
    assert gradient.shape == p.shape


def test_other_lengths_compile_nothing() -> None:
    f = sg.gufunc(lambda x: np.sum(x * x), "(n)->()")
    traces: list[int] = []
    for n, rows in [(100, 1), (40, 0), (40, 3), (17, 17), (30, 2000)]:
        f(np.ones((rows, n)))
        traces.append(loops(f)[1].traces)
    assert traces == [1] * 5


def loops(ufunc: np.ufunc) -> Any:
    """Return the compiled functions of a ufunc's loops, by what keeps them alive."""
    [owner] = [x for x in gc.get_referents(ufunc) if hasattr(x, "origin")]
    return [x.__self__ for x in owner.kept if hasattr(x, "__self__")]


@pytest.mark.parametrize(
    "layout",
    [
        lambda x: x[::-1],
        lambda x: x[:, ::-1],
        lambda x: x[::3],
        np.asfortranarray,
        lambda x: x.astype(">f8"),
        lambda x: np.broadcast_to(x[:1], x.shape),
        lambda x: np.lib.stride_tricks.sliding_window_view(np.tile(x[:, 0], 3), 3),
        lambda x: np.frombuffer(b"1" + x.tobytes(), offset=1).reshape(x.shape),
        lambda x: x.tolist(),
    ],
)
def test_any_layout(layout: Callable[[Any], Any]) -> None:
    p = layout(ROWS)
    out = np.zeros((len(p), 4))[:, 1]
    assert dist(p, POINT, out=out) is out
    assert out == pytest.approx(expected(np.array(p, float), POINT), rel=1e-14)


def test_large_loops_that_need_copies_are_done_in_blocks() -> None:
    p = np.random.default_rng(1).normal(size=(40_000, 6))
    values, gradients = np.zeros(80_000)[::2], np.zeros((40_000, 6))[:, ::2]
    slope(p[:, ::2], POINT, out=(values, gradients))
    assert np.array_equal(values, dist(p[:, ::2].copy(), np.tile(POINT, (40_000, 1))))
    assert gradients == pytest.approx((p[:, ::2] - POINT) / values[:, None], rel=1e-13)
    x = p[:, 0].copy()
    plus(x, x, out=x)
    assert np.array_equal(x, plus(p[:, 0], p[:, 0]))


@pytest.mark.parametrize("n", [1, 3, 16, 17, 100])
def test_the_same_bits_however_examples_are_cut(n: int) -> None:
    f = sg.gufunc(sg.value_and_grad(lambda x: np.sum(np.sin(x) * np.exp(x / 3))), "(n)->(),(n)")
    f(np.ones((3, 200)))  # what was called before does not matter
    x = np.random.default_rng(n).normal(size=(1000, n))
    value, gradient = f(x)
    for size in (1, 2, 3, 7, 64, 999):
        parts = [f(x[k : k + size]) for k in range(0, 1000 if size > 1 else 20, size)]
        count = sum(len(part[0]) for part in parts)
        assert np.array_equal(np.concatenate([v for v, _ in parts]), value[:count])
        assert np.array_equal(np.concatenate([g for _, g in parts]), gradient[:count])
    assert np.array_equal(f(np.asfortranarray(x))[0], value)


def test_axes_and_broadcasting() -> None:
    assert dist(ROWS.T, POINT, axis=0) == pytest.approx(expected(ROWS, POINT))
    assert dist(ROWS, POINT, keepdims=True).shape == (40, 1)
    both = slope(ROWS.T, POINT, axes=[0, 0, (), 0])
    assert np.array_equal(both[1].T, slope(ROWS, POINT)[1])
    pairs = dist(ROWS[:, None], ROWS[:5])
    assert pairs == pytest.approx(expected(ROWS[:, None], ROWS[:5]))
    with pytest.raises(ValueError, match="core dimension"):
        dist(ROWS, POINT[:2])


def test_types_and_casting() -> None:
    single = dist(ROWS.astype("f4"), POINT.astype("f4"))
    assert single.dtype == "f4"
    assert single == pytest.approx(expected(ROWS, POINT), rel=1e-5)
    assert dist([1, 2], [4, 6]) == 5.0
    assert plus(1.0, 2.0, dtype="f4").dtype == "f4"
    assert plus(np.ones(2), 2.0, out=np.zeros(2, "f4")).dtype == "f4"
    with pytest.raises(TypeError, match="casting rule 'no'"):
        plus(np.ones(2, int), 2.0, casting="no")
    for wrong in (np.array([1, None]), "a", 1j, np.longdouble(1)):
        with pytest.raises(TypeError, match="not supported for the input types"):
            plus(wrong, 1.0)


def test_types_that_are_said() -> None:
    square = sg.gufunc(lambda z: z * z, types=["d->d", "D->D"])
    assert square(np.array([1j, 2.0])).tolist() == [-1, 4]
    assert square(np.array([3.0])).dtype == float
    positive = sg.gufunc(lambda x: x > 0, types=["d->?", "l->?"])
    assert positive([1.0, -1.0]).tolist() == [True, False]
    assert positive(3).dtype == bool


def test_as_a_binary_operation() -> None:
    x = np.random.default_rng(2).normal(size=(5, 7))
    for axis in (0, 1):
        assert plus.reduce(x, axis) == pytest.approx(np.logaddexp.reduce(x, axis))
        assert plus.accumulate(x, axis) == pytest.approx(np.logaddexp.accumulate(x, axis))
    assert plus.reduce(x[0, ::2], keepdims=True).shape == (1,)
    assert plus.reduceat(x[0], [0, 3, 1]) == pytest.approx(np.logaddexp.reduceat(x[0], [0, 3, 1]))
    assert plus.outer(x[0], x[1]) == pytest.approx(np.logaddexp.outer(x[0], x[1]))
    assert plus.reduce([], initial=2.0) == 2.0
    total = np.zeros(3)
    plus.at(total, [0, 0, 2], 0.0)
    assert total == pytest.approx(np.log([3, 1, 2]))
    with pytest.raises(ValueError, match="no identity"):
        plus.reduce([])


def test_in_place_and_where() -> None:
    x = ROWS[:, 0].copy()
    plus(x, ROWS[:, 1], out=x)
    assert np.array_equal(x, plus(ROWS[:, 0], ROWS[:, 1]))
    x = ROWS[:, 0].copy()
    plus(x[1:], x[:-1], out=x[1:])
    assert np.array_equal(x[1:], plus(ROWS[1:, 0], ROWS[:-1, 0]))
    given = np.full(4, 9.0)
    assert plus(0.0, np.zeros(4), where=[True, False] * 2, out=given).tolist()[1::2] == [9.0, 9.0]


# ---------------------------------------------------------------- never stale


def test_what_it_reads_is_read_in_each_call() -> None:
    box = SimpleNamespace(scale=2.0, table=np.array([1.0, 2.0]), power=2)
    f = sg.gufunc(lambda x: np.sum(box.scale * box.table * x**box.power), "(n)->()")
    x = np.arange(4.0).reshape(2, 2)

    def now() -> Any:
        return np.sum(box.scale * box.table * x**box.power, axis=1)

    assert f(x) == pytest.approx(now())
    for change in (
        lambda: setattr(box, "scale", 3.0),
        lambda: box.table.__setitem__(0, 5.0),
        lambda: setattr(box, "table", np.array([7.0, 8.0])),
        lambda: setattr(box, "power", 3),
    ):
        change()
        assert f(x) == pytest.approx(now())
        assert f(x[:, ::-1]) == pytest.approx(
            np.sum(box.scale * box.table * x[:, ::-1] ** box.power, 1)
        )
    box.table = np.ones(3)
    with pytest.raises(ShapeError, match="broadcast"):
        f(x)
    box.table = np.ones(2)
    assert f(x) == pytest.approx(now())


def test_lengths_that_matter() -> None:
    f = sg.gufunc(lambda x: np.sum(x.reshape(-1, 2)[:, 0]), "(n)->()")
    for n in (2, 4, 20, 22, 26):
        assert f(np.ones((3, n))).tolist() == [n / 2] * 3
    with pytest.raises(ShapeError, match="reshape"):
        f(np.ones(21))
    g = sg.gufunc(lambda x: np.sum(x) if len(x) > 30 else -np.sum(x), "(n)->()")
    assert [g(np.ones(n)) for n in (5, 25, 35, 200)] == [-5, -25, 35, 200]


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("(n)", "a signature is the axes"),
        ("(n),n->()", "a signature is the axes"),
        (3, "signature is text, not 3"),
        ("(n)->()", "has 1 arguments, but distance takes 2"),
        ("(n),(n)->(k)", "the axis k of a result is of no argument"),
    ],
)
def test_signatures_that_do_not_fit(signature: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        sg.gufunc(distance, signature)


def test_wrong_use() -> None:
    with pytest.raises(ArgumentError, match="takes a function"):
        sg.gufunc(3.0)  # type: ignore[arg-type]
    for types in (["d"], []):
        with pytest.raises(ArgumentError, match="types are a character"):
            sg.gufunc(np.sin, types=types)
    with pytest.raises(ArgumentError, match=r"has 1 results, the signature .* has 2"):
        sg.gufunc(distance, "(n),(n)->(),()")(POINT, POINT)
    with pytest.raises(ShapeError, match=r"result 0 has shape \(\)"):
        sg.gufunc(distance, "(n),(n)->(n)")(POINT, POINT)
    with pytest.raises(DTypeError, match=r'types=\["d->\?"\]'):
        sg.gufunc(lambda x: x > 0)(POINT)
    with pytest.raises(ArgumentError, match="takes no arguments"):
        sg.gufunc(lambda: 1.0)


@pytest.mark.parametrize("signature", [None, "(n)->(n)"])
def test_a_warning_that_is_to_be_an_error_is_one(signature: str | None) -> None:
    calls = [0]

    def counted(x: Any) -> Any:
        calls[0] += 1
        return x * calls[0]

    # Here warnings are errors.
    with pytest.raises(CaptureWarning, match=r"calls\[0\] is assigned by the function"):
        sg.gufunc(counted, signature)(POINT)


def test_errors_of_kernels_and_what_follows_them() -> None:
    table = np.array([1.0, 2.0, 3.0])
    pick = sg.gufunc(lambda i: table[i], types=["l->d"])
    for many in (2, 4, 100_000):
        with pytest.raises(IndexError, match="out of bounds"):
            pick(np.full((many, 3), 7)[:, ::2])
        assert pick([0, 2]).tolist() == [1.0, 3.0]


def test_no_floating_point_warnings() -> None:
    f = sg.gufunc(lambda x: np.where(x > 0, np.log(x), 1 / x))
    with np.errstate(all="raise"):
        assert f([0.0, 1.0, np.nan]).tolist()[:2] == [np.inf, 0.0]
        with pytest.raises(FloatingPointError):
            np.log(0.0)


# ---------------------------------------------------------------- lifetime, pickles


def test_it_lives_as_long_as_it_is_used() -> None:
    f = sg.gufunc(np.sin)
    kept = [weakref.ref(loop) for loop in loops(f)]
    call = f.__call__
    del f
    gc.collect()
    assert call(0.5) == pytest.approx(np.sin(0.5), rel=1e-15)
    del call
    gc.collect()
    assert [x() for x in kept] == [None, None]


def test_it_pickles() -> None:
    for f in (dist, slope, plus):
        assert pickle.loads(pickle.dumps(f)) is f
    other = pickle.loads(pickle.dumps(sg.gufunc(distance, "(n),(n)->()")))
    assert other(ROWS, POINT) == pytest.approx(expected(ROWS, POINT))
    assert pickle.loads(pickle.dumps(np.sin)) is np.sin
    assert pickle.loads(pickle.dumps(sg.gufunc(np.hypot)))(3, 4) == 5
    cloudpickle = pytest.importorskip("cloudpickle")
    power = 3
    local = cloudpickle.loads(cloudpickle.dumps(sg.gufunc(lambda x: x**power)))
    assert local(2.0) == 8.0


# ---------------------------------------------------------------- those who do not know symgrad


class Foreign:
    """An array-like that has NumPy's functions hand themselves over."""

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return ufunc, method, len(args)


def test_array_likes() -> None:
    assert plus(Foreign(), 1.0) == (plus, "__call__", 2)
    assert plus.reduce(Foreign()) == (plus, "reduce", 1)
    masked = plus(np.ma.array([1.0, 2.0], mask=[False, True]), 0.0)
    assert masked.mask.tolist() == [False, True]
    assert masked[0] == plus(1.0, 0.0)
    frame = pd.DataFrame({"u": [1.0, 2.0], "v": [3, 4]}, index=["a", "b"])
    assert plus(frame, frame).loc["b", "v"] == plus(4.0, 4.0)
    assert plus(frame.u, 1.0).index.tolist() == ["a", "b"]
    rows = xr.DataArray(ROWS, dims=("row", "xyz"))
    assert plus(rows, 1.0).dims == ("row", "xyz")
    found = xr.apply_ufunc(dist, rows, POINT, input_core_dims=[["xyz"], ["xyz"]])
    assert np.array_equal(found, dist(ROWS, POINT))


def test_dask() -> None:
    da = pytest.importorskip("dask.array")
    chunked = da.from_array(ROWS, chunks=(9, 3))
    assert np.array_equal(dist(chunked, POINT).compute(), dist(ROWS, POINT))
    assert np.array_equal(plus(chunked, POINT).compute(), plus(ROWS, POINT))
    value, gradient = da.apply_gufunc(slope, slope.signature, chunked, POINT)
    assert np.array_equal(gradient.compute(), slope(ROWS, POINT)[1])
    assert value.shape == (40,)
    with pytest.raises(ValueError, match="multiple chunks"):
        dist(chunked.rechunk((9, 2)), POINT)
    rows = xr.DataArray(ROWS, dims=("row", "xyz")).chunk(row=9)
    found = xr.apply_ufunc(
        dist, rows, POINT, input_core_dims=[["xyz"], ["xyz"]], dask="parallelized",
        output_dtypes=[float],
    )  # fmt: skip
    assert np.array_equal(found.compute(), dist(ROWS, POINT))
