"""Losses of data in chunks: those of the whole data, with the same bits wherever they run."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import symgrad as sg

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")

import symgrad.dask as sgd  # noqa: E402
from symgrad.errors import ArgumentError, ShapeError  # noqa: E402

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), RNG.normal(size=60)
W = RNG.normal(size=3)


def rows(w: Any, X: Any, y: Any) -> Any:
    return np.logaddexp(0, -y * (X @ w))


def summed(w: Any, X: Any, y: Any) -> Any:
    return np.sum(rows(w, X, y))


def mean(w: Any, X: Any, y: Any) -> Any:
    return np.mean(rows(w, X, y))


def split(x: Any, sizes: Any) -> Any:
    return da.from_array(x, chunks=(sizes, *x.shape[1:]))


def bits(result: Any) -> list[bytes]:
    value, slope = result
    return [np.asarray(value).tobytes(), np.asarray(slope).tobytes()]


# ---------------------------------------------------------------- results


@pytest.mark.quick
@pytest.mark.parametrize(
    ("loss", "reduce"), [(rows, "sum"), (summed, "sum"), (rows, "mean"), (mean, "mean")]
)
@pytest.mark.parametrize("sizes", [(60,), (20, 20, 20), (1, 40, 0, 2, 17), (0, 60)], ids=str)
def test_the_whole_is_the_sum_or_mean_over_all_rows(loss: Any, reduce: str, sizes: Any) -> None:
    value, slope = sgd.value_and_grad(loss, data=(1, 2), reduce=reduce)(
        W, split(X, sizes), split(Y, sizes)
    )
    whole = sg.value_and_grad({"sum": summed, "mean": mean}[reduce])
    wanted, wanted_slope = whole(W, X, Y)
    np.testing.assert_allclose(value, wanted, rtol=1e-14)
    np.testing.assert_allclose(slope, wanted_slope, rtol=1e-13)


def test_types_and_structures_are_those_of_the_arguments() -> None:
    @dataclass
    class Layer:
        weights: Any
        bias: Any

    def loss(layer: Layer, scale: float, x: Any, *, power: int) -> Any:
        return scale * (x @ layer.weights + layer.bias["b"]) ** power

    x = X.astype("f")
    layer = Layer(W.astype("f"), {"b": np.float32(0.5)})
    g = sgd.value_and_grad(loss, (0, 1), data=2, reduce="mean")
    value, (slope, by_scale) = g(layer, np.float32(2.0), split(x, 25), power=2)
    assert type(slope) is Layer
    assert value.dtype == slope.weights.dtype == slope.bias["b"].dtype == by_scale.dtype == "f"
    whole = np.mean((x @ layer.weights + 0.5) ** 2)
    np.testing.assert_allclose([value, by_scale], [2 * whole, whole], rtol=1e-6)


def test_second_derivatives() -> None:
    x, y = split(X, 25), split(Y, 25)
    whole = sg.hessian(summed)(W, X, Y)
    found = sgd.hessian(rows, data=(1, 2))(W, x, y)
    product = sgd.hvp(summed, data=(1, 2))((W, x, y), (W,))
    np.testing.assert_allclose(found, whole, rtol=1e-13)
    np.testing.assert_allclose(product, whole @ W, rtol=1e-13)


def test_products_with_jacobians_are_gradients_of_sums() -> None:
    def model(w: Any, X: Any) -> Any:
        return np.tanh(X @ w)

    J = sg.jacobian(model)(W, X)
    x, y = split(X, 25), split(Y, 25)
    transposed = sgd.grad(lambda w, X, u: u * model(w, X), data=(1, 2))
    np.testing.assert_allclose(transposed(W, x, y), J.T @ Y, rtol=1e-13)
    forward = sgd.map_blocks(
        lambda w, v, X: sg.jvp(lambda w: model(w, X), (w,), (v,))[1], W, W, x, data=2
    )
    np.testing.assert_allclose(forward.compute(), J @ W, rtol=1e-13)
    gauss = sgd.grad(
        lambda v, w, X: 0.5 * sg.jvp(lambda w: model(w, X), (w,), (v,))[1] ** 2, data=2
    )
    np.testing.assert_allclose(gauss(W, W, x), J.T @ (J @ W), rtol=1e-13)


def test_dataframes_and_delayed_chunks() -> None:
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    table = pd.DataFrame({"a": X[:, 0], "y": Y, "city": ["Bonn"] * 60})
    frame = dd.from_pandas(table, npartitions=4)

    def of_columns(w: Any, t: Any) -> Any:
        return (w[0] * t["a"] + w[1] - t["y"]) ** 2

    wanted = sg.value_and_grad(lambda w: np.sum((w[0] * X[:, 0] + w[1] - Y) ** 2))(W)
    g = sgd.value_and_grad(of_columns, data=1)
    kept = frame[frame.a < 10]  # how many rows is not known
    for data in (frame, kept, kept.persist()):
        value, slope = g(W, data)
        np.testing.assert_allclose(value, wanted[0], rtol=1e-13)
        np.testing.assert_allclose(slope, wanted[1], rtol=1e-13)
    x, y = kept[["a", "y"]].to_dask_array(), kept["y"]
    value = sgd.value(lambda w, x, y: (w[0] * x[:, 0] + w[1] - y) ** 2, data=(1, 2))(W, x, y)
    np.testing.assert_allclose(value, wanted[0], rtol=1e-13)
    assert sgd.map_blocks(of_columns, W, kept, data=1).compute().shape == (60,)

    load = dask.delayed(lambda k: (X[k : k + 20], Y[k : k + 20]))
    value = sgd.value(lambda w, chunk: rows(w, *chunk), data=1)(W, [load(k) for k in (0, 20, 40)])
    np.testing.assert_allclose(value, summed(W, X, Y), rtol=1e-13)


def test_results_for_each_chunk_stay_in_chunks() -> None:
    sizes = (1, 40, 0, 19)
    slopes = sg.vmap(sg.grad(lambda w, x, y: np.logaddexp(0, -y * (x @ w))), (None, 0, 0))
    found = sgd.map_blocks(slopes, W, split(X, sizes), split(Y, sizes), data=(1, 2), shape=(3,))
    assert found.chunks == (sizes, (3,))
    np.testing.assert_allclose(found.compute(), slopes(W, X, Y), rtol=1e-13)
    np.testing.assert_allclose(found[::2].sum(axis=0).compute(), slopes(W, X, Y)[::2].sum(0))


def test_a_result_can_wait() -> None:
    x, y = split(X, 25), split(Y, 25)
    g = sgd.value_and_grad(rows, data=(1, 2))
    later = g.delayed(W, x, y)
    both = dask.compute(later, da.sum(x))
    assert bits(both[0]) == bits(g(W, x, y)) == bits(later.persist().compute())


# ---------------------------------------------------------------- the same bits


def test_bits_depend_on_the_chunks_alone() -> None:
    x, y = RNG.normal(size=(3000, 3)), RNG.normal(size=3000)
    sizes = tuple(np.bincount(RNG.integers(0, 40, size=3000), minlength=40).tolist())
    g = sgd.value_and_grad(rows, data=(1, 2))
    a, b = split(x, sizes), split(y, sizes)
    wanted = bits(g(W, a, b))
    for workers in (1, 2, 5):
        with dask.config.set(scheduler="threads", num_workers=workers):
            assert bits(g(W, a, b)) == wanted
    with dask.config.set(scheduler="synchronous"):
        assert bits(g(W, a, b)) == wanted
        assert bits(g(W, a.persist(), b)) == wanted
        wide = da.from_array(np.hstack([x, x]), chunks=(sizes, 6))[:, :3]  # a view of its memory
        assert bits(g(W, wide, b)) == wanted
    parts = [x[k] for k in np.split(np.arange(3000), np.cumsum(sizes)[:-1])]
    others = [y[k] for k in np.split(np.arange(3000), np.cumsum(sizes)[:-1])]
    whole = [sg.value_and_grad(summed)(W, p, q) for p, q in zip(parts, others, strict=True)]
    while len(whole) > 1:  # the tree
        pairs = [whole[k : k + 2] for k in range(0, len(whole), 2)]
        whole = [tuple(map(sum, zip(*pair, strict=True))) for pair in pairs]
    assert bits(whole[0]) == wanted


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(40))
def test_random_chunks(seed: int) -> None:
    """Layouts, types, empty chunks, captures that change: as NumPy has them."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(1, 90)), int(rng.integers(1, 5))
    dtype = rng.choice(["f", "d"])
    x, y = rng.normal(size=(n, p)).astype(dtype), rng.normal(size=n).astype(dtype)
    if rng.random() < 0.3:
        x = np.asfortranarray(x)
    cuts = np.sort(rng.integers(0, n + 1, size=int(rng.integers(0, 12))))
    sizes = tuple(np.diff([0, *cuts, n]).tolist())
    w = rng.normal(size=p).astype(dtype)
    reduce = str(rng.choice(["sum", "mean"]))
    read = {"scale": 1.0, "shift": np.zeros(1, dtype)}

    def loss(w: Any, x: Any, y: Any) -> Any:
        return np.tanh(read["scale"] * (x @ w) - y + read["shift"][0]) ** 2

    g = sgd.value_and_grad(loss, data=(1, 2), reduce=reduce)
    a, b = split(x, sizes), split(y, sizes)
    if 0 not in sizes and rng.random() < 0.5:  # Dask 2026.8 reverses no empty chunks rightly
        a, b = a[::-1], b[::-1]
    for _ in range(3):
        value, slope = g(w, a, b)
        assert value.dtype == slope.dtype == dtype
        number = getattr(np, reduce)
        wanted = number(loss(w.astype("d"), x.astype("d"), y.astype("d")))
        np.testing.assert_allclose(value, wanted, rtol=1e-4 if dtype == "f" else 1e-12, atol=1e-6)
        read["scale"] = float(rng.normal())
        read["shift"][0] = rng.normal()


# ---------------------------------------------------------------- what the loss reads


scale = 1.0


class Model:
    power = 2


def test_each_call_computes_what_the_loss_means_now() -> None:
    global scale

    def loss(w: Any, x: Any) -> Any:
        return scale * (x @ w) ** Model.power

    g, x = sgd.value(loss, data=1), split(X, 25)
    try:
        for scale, Model.power in (  # noqa: B007 - the loss reads them
            (1.0, 2),
            (2.0, 2),
            (1.0, 2),
            (1.0, 4),
            (1.0, 2),
        ):
            np.testing.assert_allclose(g(W, x), np.sum(loss(W, X)), rtol=1e-13)
    finally:
        scale, Model.power = 1.0, 2


def test_no_two_calls_share_a_key() -> None:
    g, x, y = sgd.grad(rows, data=(1, 2)), split(X, 25), split(Y, 25)
    keys = [set(g.delayed(W, x, y).__dask_graph__()) for _ in range(2)]
    own = keys[0] & keys[1]
    assert all("rows" not in str(key) for key in own)
    assert g.delayed(W, x, y).key.startswith("result-grad-rows-")


# ---------------------------------------------------------------- wrong use


def test_an_error_names_the_chunk() -> None:
    def loss(w: Any, x: Any) -> Any:
        if x.shape[0] == 10:
            raise ValueError("ten rows")
        return np.sum(x @ w)

    with pytest.raises(ValueError, match="ten rows") as found:
        sgd.grad(loss, data=1)(W, split(X, (25, 25, 10)))
    assert "chunk 2 (counted from 0) of 3, on this machine" in "".join(found.value.__notes__)


def unread(k: int, bad: int = 1) -> Any:
    if k == bad:
        raise OSError("no such file")
    return np.full((k + 1, 3), 0.5)


#: Data of which chunk 1 cannot be made, and the name of the task.
UNMADE: dict[str, tuple[str, Any]] = {
    "delayed": ("unread-", lambda: [dask.delayed(unread)(k) for k in range(3)]),
    "steps": ("unread-", lambda: [2.0 * dask.delayed(unread)(k) for k in range(3)]),
    "array": ("unread-", lambda: 1.0 + da.concatenate(
        [da.from_delayed(dask.delayed(unread)(k), (k + 1, 3), float) for k in range(3)])),
    "blocks": ("unread-", lambda: da.map_blocks(
        lambda block_info=None: unread(block_info[None]["chunk-location"][0]), name="unread-blocks",
        chunks=((1, 2, 3), (3,)), dtype=float)),
}  # fmt: skip


@pytest.mark.quick
@pytest.mark.parametrize("data", UNMADE)
def test_an_error_in_making_a_chunk_names_it(data: str) -> None:
    name, make = UNMADE[data]
    slope = sgd.grad(lambda w, x: x @ w, data=1)
    for call in (lambda: slope(W, make()), lambda: dask.compute(slope.delayed(W, make()), 1)):
        with pytest.raises(OSError, match="no such file") as found:
            call()
        (note,) = found.value.__notes__
        assert name in note
        assert note.endswith(", which makes chunk 1 (counted from 0) of 3, on this machine")


def test_an_error_in_making_several_chunks_says_so() -> None:
    whole = dask.delayed(unread)(1)
    parts = [*(whole[k:] for k in range(2)), dask.delayed(unread)(2)]
    with pytest.raises(OSError, match="no such file") as found:
        sgd.grad(lambda w, x: x @ w, data=1)(W, parts)
    (note,) = found.value.__notes__
    assert note.endswith(", which makes several of 3 chunks, on this machine")


def test_chunks_are_made_once_for_a_loss_and_another_use() -> None:
    made: list[int] = []

    def make(k: int) -> Any:
        made.append(k)
        return np.full((k, 3), 0.5)

    parts = [dask.delayed(make)(k) for k in (0, 1, 4)]
    slope, *chunks = dask.compute(sgd.grad(lambda w, x: x @ w, data=1).delayed(W, parts), *parts)
    np.testing.assert_array_equal(slope, np.full(3, 2.5))
    assert [len(x) for x in chunks] == [0, 1, 4]
    assert sorted(made) == [0, 1, 4]


def twice() -> Any:
    """Return a dataframe with two columns of one name."""
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    return dd.from_pandas(pd.DataFrame(X[:, :2], columns=["a", "a"]), npartitions=2)


LOCK = threading.Lock()
x25, y25 = split(X, 25), split(Y, 25)
WRONG: dict[str, tuple[type[Exception], str, Any]] = {
    "features": (ShapeError, r"along axis 1, too.*rechunk\({0: 'auto', 1: -1}\)", lambda: sgd.grad(
        rows, data=(1, 2))(W, da.from_array(X, chunks=(25, 2)), y25)),
    "count": (ShapeError, r"3 chunks and argument 2 2. Write y.rechunk", lambda: sgd.grad(
        rows, data=(1, 2))(W, x25, split(Y, 30))),
    "rows": (ShapeError, r"chunk 0 has 25 rows in argument 1 and 20", lambda: sgd.grad(
        rows, data=(1, 2))(W, x25, split(Y, (20, 20, 20)))),
    "numpy": (ArgumentError, r"da.from_array\(x, chunks", lambda: sgd.grad(
        rows, data=(1, 2))(W, x25, Y)),
    "list of arrays": (ArgumentError, "a list with a numpy.ndarray.*dask.delayed", lambda: sgd.grad(
        rows, data=(1, 2))(W, [X, X], [Y, Y])),
    "empty list": (ArgumentError, "not an empty list", lambda: sgd.grad(rows, data=1)(W, [], Y)),
    "lengths": (ShapeError, "2 chunks and argument 2 1.*as many elements", lambda: sgd.grad(
        rows, data=(1, 2))(W, [dask.delayed(X)] * 2, [dask.delayed(Y)])),
    "one delayed": (ArgumentError, r"a Delayed: write \[x\]", lambda: sgd.grad(
        rows, data=1)(W, dask.delayed(X), Y)),
    "not named": (ArgumentError, "name its position in data", lambda: sgd.grad(
        rows, data=1)(W, x25, y25)),
    "too few": (ArgumentError, "called with 1 positional", lambda: sgd.grad(rows, data=(1, 2))(W)),
    "reduce": (ArgumentError, "reduce is 'sum' or 'mean'", lambda: sgd.grad(
        rows, data=1, reduce="max")),
    "by data": (ArgumentError, "argument 1 is data", lambda: sgd.grad(rows, 1, data=(1, 2))),
    "data": (ArgumentError, "data is the position", lambda: sgd.grad(rows, data="X")),
    "called": (ArgumentError, r"grad\(loss, data=...\)\(w, X\)", lambda: sgd.grad(3.0, data=1)),
    "empty": (ArgumentError, "the data have no rows", lambda: sgd.grad(
        rows, data=(1, 2))(W, x25[:0], y25[:0])),
    "matrix": (ShapeError, r"returns shape .* for a chunk of .* rows", lambda: sgd.value(
        lambda x: x, data=0)(x25)),
    "no rows": (ShapeError, "one number, or one for each row", lambda: sgd.value(
        lambda x: np.sum(x, axis=0), data=0)(x25)),
    "numbers": (ArgumentError, "arrays with rows, not of float", lambda: sgd.value(
        lambda x: x, data=0)([dask.delayed(3.0)])),
    "parts": (ShapeError, "different numbers of rows", lambda: sgd.value(
        lambda x: x[0], data=0)([dask.delayed((X, Y[:5]))])),
    "lock": (ArgumentError, "cannot be sent to workers", lambda: sgd.value(
        lambda x: x[:, 0] if LOCK else x, data=0)(x25)),
    "tangents": (ArgumentError, "tangents is a tuple", lambda: sgd.hvp(
        rows, data=(1, 2))((W, x25, y25), W)),
    "hvp": (ArgumentError, r"write h\(\(x, data\), \(v,\)\)", lambda: sgd.hvp(
        rows, data=(1, 2))(W, x25, y25)),
    "equal names": (ArgumentError, "several columns a", lambda: sgd.value(
        lambda r: r["a"], data=0)(twice())),
    "block shape": (ShapeError, r"give map_blocks the shape of one row", lambda: sgd.map_blocks(
        lambda x: x, x25, data=0).compute()),
    "block type": (ArgumentError, "dtype='float64'", lambda: sgd.map_blocks(
        lambda x: x, x25, data=0, shape=(3,), dtype="f").compute()),
}  # fmt: skip


@pytest.mark.quick
@pytest.mark.parametrize("name", WRONG)
def test_wrong_use_says_what_to_write(name: str) -> None:
    kind, message, call = WRONG[name]
    with pytest.raises(kind, match=message):
        call()
