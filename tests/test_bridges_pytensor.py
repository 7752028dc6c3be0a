"""Functions as ops of PyTensor's: values, gradients, PyMC; compared with PyTensor's own."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import ArgumentError, DTypeError, ShapeError

pytensor = pytest.importorskip("pytensor")
pt = pytensor.tensor

# PyTensor's own warnings, of deprecated names and of its default mode.
pytestmark = pytest.mark.filterwarnings("ignore")

X, Y = np.array([0.3, 1.2, 2.0]), np.array([1.0, 2.0, 0.5])


def evaluated(results: Any, inputs: Any, values: Any) -> Any:
    """Return what results are, without PyTensor's compilation of C or of Numba's code."""
    f = pytensor.function(inputs, results, mode="FAST_COMPILE", on_unused_input="ignore")
    return f(*values)


def same(found: Any, expected: Any, inputs: Any, values: Any) -> None:
    for a, b in zip(
        evaluated(found, inputs, values), evaluated(expected, inputs, values), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.fixture
def xy() -> Any:
    return pt.dvector("x"), pt.dvector("y")


def model(x: Any, y: Any, k: int = 2) -> Any:
    return {"a": np.sin(x["u"]) * y**k, "b": (np.sum(x["u"] * y), None, np.arange(3))}


bridged = sg.to_pytensor(model)


def pair(x: Any, y: Any) -> tuple[list[Any], list[Any]]:
    found = bridged({"u": x}, y, k=3)
    assert found["b"][1] is None
    return [found["a"], found["b"][0]], [pt.sin(x) * y**3, pt.sum(x * y)]


def test_values_and_gradients(xy: Any) -> None:
    found, expected = pair(*xy)
    same(found, expected, xy, (X, Y))
    losses = [(f[0] ** 2).sum() + f[1] ** 2 for f in (found, expected)]
    slopes = [pytensor.grad(loss, list(xy)) for loss in losses]
    same(*slopes, xy, (X, Y))


@pytest.mark.parametrize("k", [0, 1])
def test_second_order(xy: Any, k: int) -> None:
    x, y = xy
    losses = [(f[k] ** 2).sum() for f in pair(x, y)]
    hessians = [pytensor.gradient.hessian(f, x, disconnected_inputs="ignore") for f in losses]
    same(*([h] for h in hessians), xy, (X, Y))
    mixed = [pytensor.gradient.jacobian(pytensor.grad(f, x), y) for f in losses]
    same(*([h] for h in mixed), xy, (X, Y))


def test_forward_mode(xy: Any) -> None:
    x, _ = xy
    forward = getattr(pytensor.gradient, "pushforward", pytensor.gradient.Rop)
    tangent = pt.as_tensor(np.array([1.0, -1.0, 0.5]))
    found, expected = pair(*xy)
    moved = [[forward(f, x, tangent) for f in fs] for fs in (found, expected)]
    same(*moved, xy, (X, Y))
    slopes = [pytensor.grad((f[0] ** 2).sum(), x) for f in (found, expected)]
    same(*([forward(f, x, tangent)] for f in slopes), xy, (X, Y))


def test_batches(xy: Any) -> None:
    from pytensor.graph.replace import vectorize_graph

    x, _ = xy
    rows = pt.dmatrix("rows")
    found = sg.to_pytensor(lambda x: np.sum(np.exp(-x) * x**3))(x)
    expected = (pt.exp(-x) * x**3).sum()
    graphs = [vectorize_graph([f, pytensor.grad(f, x)], {x: rows}) for f in (found, expected)]
    same(*graphs, [rows], [np.stack([X, Y])])


def test_sizes_change(xy: Any) -> None:
    x, _ = xy
    found = sg.to_pytensor(lambda x: np.sum(np.exp(-x) * x**3))(x)
    f = pytensor.function([x], [found, pytensor.grad(found, x)], mode="FAST_COMPILE")
    for n in (3, 1, 0, 8, 2, 40):
        at = np.linspace(0.1, 1.0, n)
        value, slope = f(at)
        np.testing.assert_allclose(value, np.sum(np.exp(-at) * at**3))
        np.testing.assert_allclose(slope, np.exp(-at) * (3 * at**2 - at**3))


def test_types_and_shapes_are_known() -> None:
    x = pt.tensor("x", shape=(3, 4), dtype="float32")
    y = sg.to_pytensor(lambda x: (x.T * 2, np.sum(x), x > 0))(x)
    assert [v.type.shape for v in y] == [(4, 3), (), (3, 4)]
    assert [v.type.dtype for v in y] == ["float32", "float32", "bool"]
    assert pytensor.grad(y[1], x).type.dtype == "float32"


def test_integers_are_not_differentiated() -> None:
    x, n = pt.dvector("x"), pt.lscalar("n")
    found = sg.to_pytensor(lambda x, n: x * n)(x, n).sum()
    (slope,) = evaluated([pytensor.grad(found, x)], [x, n], (X, 4))
    assert slope.tolist() == [4.0, 4.0, 4.0]


def test_constants_and_lists() -> None:
    x = pt.dvector("x")
    found = sg.to_pytensor(lambda x, data, weights, n: np.sum(x * data * weights) ** n)(
        x, X, [1.0, 2.0, 3.0], 2
    )
    (value,) = evaluated([found], [x], (Y,))
    np.testing.assert_allclose(value, np.sum(X * Y * [1, 2, 3]) ** 2)


def test_lengths_that_are_not_known() -> None:
    data = np.arange(20.0).reshape(5, 4)
    f = sg.to_pytensor(lambda w: data @ w)
    with pytest.raises(ArgumentError, match=r"taken for 3 long.*specify_shape"):
        f(pt.dvector("w"))
    w = pt.dvector("w")
    found = f(pt.specify_shape(w, (4,)))
    assert found.type.shape == (5,)
    (value,) = evaluated([found], [w], (np.ones(4),))
    np.testing.assert_allclose(value, data @ np.ones(4))


def test_shapes_that_depend_on_values_are_refused() -> None:
    x = pt.tensor("x", shape=(3,), dtype="float64")
    found = sg.to_pytensor(lambda x: x[:2] if x[0] > 1 else x[:1])(x)
    assert evaluated([found], [x], (np.zeros(3),))[0].shape == (1,)
    with pytest.raises(ShapeError, match=r"\(1,\) was announced"):
        evaluated([found], [x], (np.full(3, 2.0),))


def test_functions_that_symgrad_made(xy: Any) -> None:
    x, _ = xy
    slope = sg.to_pytensor(sg.grad(lambda x: np.sum(np.exp(x))))(x)
    (second,) = evaluated([pytensor.grad(slope.sum(), x)], [x], (X,))
    np.testing.assert_allclose(second, np.exp(X))


def square(x: Any) -> Any:
    return np.sum(x**2)


def test_pickles() -> None:
    f = sg.to_pytensor(square)
    assert repr(pickle.loads(pickle.dumps(f))) == "<symgrad to_pytensor of square>"
    x = pt.dvector("x")
    slope = pytensor.function([x], pytensor.grad(f(x), x), mode="FAST_COMPILE")
    assert pickle.loads(pickle.dumps(slope))(X).tolist() == (2 * X).tolist()


def test_what_is_refused() -> None:
    x = pt.dvector("x")
    with pytest.raises(ArgumentError, match="a str is among its results"):
        sg.to_pytensor(lambda x: (np.sum(x), "aux"))(x)
    with pytest.raises(DTypeError, match=r"to_pytensor: argument x is complex"):
        sg.to_pytensor(square)(pt.zvector("z"))
    with pytest.raises(ArgumentError, match=r"to_pytensor takes a function"):
        sg.to_pytensor(x)
    with pytest.raises(ArgumentError, match="symgrad traces"):
        sg.grad(lambda x: sg.to_pytensor(square)(x))(X)


@pytest.mark.slow
def test_pymc_samples_a_posterior_that_is_known() -> None:
    """A normal prior and a normal likelihood of a linear model: the posterior is normal."""
    pm = pytest.importorskip("pymc")
    rng = np.random.default_rng(1)
    design = rng.normal(size=(40, 2))
    data = design @ [1.0, -0.5] + 0.3 * rng.normal(size=40)
    predict = sg.to_pytensor(lambda w: design @ w)
    with pm.Model():
        w = pm.Normal("w", 0.0, 2.0, shape=2)
        pm.Normal("y", predict(w), 0.3, observed=data)
        trace = pm.sample(600, tune=400, chains=2, cores=1, random_seed=2, progressbar=False)
    precision = design.T @ design / 0.3**2 + np.eye(2) / 2.0**2
    covariance = np.linalg.inv(precision)
    mean = covariance @ (design.T @ data) / 0.3**2
    draws = trace.posterior["w"].values.reshape(-1, 2)
    np.testing.assert_allclose(draws.mean(0), mean, atol=5 * np.sqrt(covariance.max() / 300))
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.3 * covariance.max())
