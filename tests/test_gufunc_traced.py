"""Universal functions inside of traced functions: they give what they give outside."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.numpy as snp
from symgrad.errors import ArgumentError, DTypeError, ShapeError, TraceError, UnsupportedError

rng = np.random.default_rng(0)


def distance(p: Any, q: Any) -> Any:
    return np.sqrt(np.sum((p - q) ** 2) + 1)


def several(x: Any, a: Any) -> Any:
    return {"ax": a @ x, "sums": (np.cumsum(a, axis=1), 3.0 * x[0])}


try:
    dist = sg.gufunc(distance, "(n),(n)->()")
except UnsupportedError as error:
    pytest.skip(str(error), allow_module_level=True)
many = sg.gufunc(several, "(n),(m,n)->(m),(m,n),()")
product = sg.gufunc(lambda a, b: a @ b, "(m?,n),(n,p?)->(m?,p?)")
wrong = sg.gufunc(distance, "(n),(n)->(n)")
plus = sg.gufunc(lambda x, y: np.log(np.exp(x) + np.exp(y)))


def same(ufunc: Any, *args: Any, **kwargs: Any) -> None:
    """Compare a call inside of a compiled function with the call itself."""
    found = sg.compile(lambda *xs: ufunc(*xs, **kwargs))(*args)
    wanted = ufunc(*args, **kwargs)
    found, wanted = ([x] if not isinstance(x, tuple) else [*x] for x in (found, wanted))
    for a, b in zip(found, wanted, strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=1e-6 if a.dtype == "f4" else 1e-13, atol=1e-14)


LOOPS = [
    ((), ()), ((5,), ()), ((), (5,)), ((5,), (5,)), ((4, 1), (1, 5)), ((3, 1, 2), (4, 1)),
    ((1,), ()), ((1, 1), (1,)), ((0,), ()), ((0, 1), (3,)), ((2, 0, 3), (1, 3)),
]  # fmt: skip


@pytest.mark.quick(4)
@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("n", [1, 3, 20])
@pytest.mark.parametrize("loops", LOOPS)
def test_loops_broadcast(loops: Any, n: int) -> None:
    p, q = (rng.normal(size=(*loop, n)) for loop in loops)
    same(dist, p, q)
    same(many, p, rng.normal(size=(*loops[1], 2, n)))


@pytest.mark.usefixtures("few_kernels")
def test_options_and_types() -> None:
    p, q = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    same(dist, p, q, axis=0)
    same(dist, p, q, axis=0, keepdims=True)
    same(dist, p, q, axes=[0, 0])
    same(dist, p, q, axes=[0, (0,), ()])
    same(dist, p, q, axes=[0, 0, 1], keepdims=True)
    same(many, p, rng.normal(size=(3, 2, 4)), axes=[0, (1, 2), 0, (2, 0), ()])
    same(plus, p, 1.0)
    same(plus, p.astype("f4"), 1.0)
    same(plus, p.astype("f4"), q)
    same(plus, np.arange(3), 2)
    same(plus, np.arange(3, dtype=np.int16), 2)
    same(plus, p, q, dtype="f4")
    same(plus.outer, p[0], q)
    same(plus.reduce, p)
    same(plus.reduce, p, axis=1, keepdims=True, initial=0.5)
    same(plus.accumulate, p, axis=1)
    for a, b in [
        ((2, 3), (3, 4)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((3,), (3,)),
        ((5, 2, 3), (3, 4)),
    ]:
        same(product, rng.normal(size=a), rng.normal(size=b))
    positive = sg.gufunc(lambda x: x > 0, types=["d->?", "l->?"])
    same(positive, p)
    same(positive, np.array([-1, 2]))
    square = sg.gufunc(lambda z: z * np.conj(z) * 2, types=["d->d", "D->D"])
    same(square, p + 1j * q)
    same(square, p)
    target = sg.compile(lambda x: _into(x))(p)
    assert target == pytest.approx(np.where(p > 0, plus(p, 1.0), 7.0))


def _into(x: Any) -> Any:
    out = snp.full_like(x, 7.0)
    plus(x, 1.0, out=out, where=x > 0)
    return out


@pytest.mark.usefixtures("few_kernels")
def test_derivatives() -> None:
    points, centre = rng.normal(size=(6, 3)), rng.normal(size=3)
    by_loop = sum(sg.grad(distance, argnums=1)(p, centre) for p in points)
    assert sg.grad(lambda q: np.sum(dist(points, q)))(centre) == pytest.approx(by_loop)
    rows = sg.jacobian(lambda q: dist(points, q))(centre)
    assert rows == pytest.approx(np.array([sg.grad(distance, 1)(p, centre) for p in points]))
    hessian = sg.hessian(lambda q: np.sum(dist(points, q)))(centre)
    assert hessian == pytest.approx(sum(sg.hessian(distance, 1)(p, centre) for p in points))
    slope = sg.gufunc(sg.value_and_grad(distance), "(n),(n)->(),(n)")
    value, gradient = sg.compile(lambda q: slope(points, q))(centre)
    assert (value, gradient) == (
        pytest.approx(dist(points, centre)), pytest.approx(slope(points, centre)[1])
    )  # fmt: skip
    batch = sg.vmap(lambda q: dist(points, q))(points[:2])
    assert batch == pytest.approx(dist(points, points[:2, np.newaxis]))
    x = rng.normal(size=5)
    weights = np.exp(x) / np.sum(np.exp(x))
    assert sg.grad(plus.reduce)(x) == pytest.approx(weights)


def test_never_stale() -> None:
    """What the function of an example reads is looked at through the universal function."""
    box = SimpleNamespace(scale=2.0, table=np.array([1.0, 2.0]), power=2)
    f = sg.gufunc(lambda x: np.sum(box.scale * box.table * x**box.power), "(n)->()")
    g = sg.compile(lambda x: np.sum(f(x)))
    x = rng.uniform(1, 2, (3, 2))
    for change in (
        lambda: None, lambda: setattr(box, "scale", 3.0), lambda: setattr(box, "scale", 4.5),
        lambda: box.table.__setitem__(0, 5.0), lambda: setattr(box, "power", 3),
        lambda: setattr(box, "table", np.array([7.0, 8.0])), lambda: setattr(box, "scale", 5.5),
    ):  # fmt: skip
        change()
        assert g(x) == pytest.approx(np.sum(f(x)), rel=1e-14)
    known = g.traces
    for scale in (6.0, 7.0, 8.0):  # data by now
        box.scale = scale
        assert g(x) == pytest.approx(np.sum(f(x)), rel=1e-14)
    assert g.traces == known


def test_code_as_it_stands() -> None:
    """A function that has to be adapted, with ``np.zeros`` in it."""

    def filled(x: Any) -> Any:
        out = np.zeros(3)
        out[1] = x
        return out

    f = sg.gufunc(filled, "()->(3)")
    slopes = sg.jacobian(lambda x: np.sum(f(x) ** 2, axis=-1))(np.array([1.0, 2.0]))
    assert slopes.tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_any_size_by_one_trace() -> None:
    g = sg.compile(lambda p: np.sum(dist(p, np.ones(3))))
    for rows in (40, 27, 18, 100):
        p = rng.normal(size=(rows, 3))
        assert g(p) == pytest.approx(np.sum(dist(p, np.ones(3))))
    assert g.traces == 1


def test_eager_tensors() -> None:
    t = sg.Tensor(rng.normal(size=(4, 3)), requires_grad=True)
    total = np.sum(dist(t, np.ones(3)))
    total.backward()
    assert t.grad is not None
    assert t.grad._data == pytest.approx(sg.grad(lambda p: np.sum(dist(p, np.ones(3))))(t._data))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: dist(x, x[:, :2]), ShapeError, "the axis n of argument 1 has length 2, not 3"),
        (lambda x: dist(x, 1.0), ShapeError, "argument 1 has 0 axes, in .* 1 at least"),
        (lambda x: dist(x, x[:2]), ShapeError, "distance: operands could not be broadcast"),
        (lambda x: dist(x, x, axes=[0]), ArgumentError, "a tuple each"),
        (lambda x: many(x[0], x, axis=0), ArgumentError, "for one core axis"),
        (lambda x: many(x[0], x, keepdims=True), ArgumentError, "results without core axes"),
        (lambda x: dist(x, x, axis=5), ShapeError, "axis 5 is out of bounds"),
        (lambda x: plus(x, 1j), DTypeError, "has no loop for float64, complex"),
        (lambda x: dist.reduce(x), (ArgumentError, TraceError), "two numbers|signature"),
        (lambda x: wrong(x, x), ShapeError, r"result 0 has shape \(\)"),
    ],
)  # fmt: skip
def test_wrong_use(call: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        sg.compile(call)(np.ones((4, 3)))


def test_it_is_freed() -> None:
    f: Any = sg.gufunc(lambda x: x * x)
    [owner] = [x for x in gc.get_referents(f) if hasattr(x, "origin")]
    gone = weakref.ref(owner)
    square = sg.compile(lambda x, f=f: f(x))
    assert square(2.0) == 4.0
    del f, owner, square
    gc.collect()
    assert gone() is None
