"""symgrad.numpy and symgrad.scipy: NumPy's names for traced values, lists and symbolic sizes."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.special
import scipy.stats

import symgrad as sg
import symgrad.numpy as snp
import symgrad.scipy as ssp
from symgrad._core.op import registry
from symgrad.errors import DTypeError, TraceError, UnsupportedError
from symgrad.scipy import interpolate as si
from symgrad.scipy import linalg, special, stats
from symgrad.scipy.spatial.transform import Rotation


@pytest.fixture(autouse=True)
def _numpy_backend() -> Iterator[None]:
    with sg.backend("numpy"), warnings.catch_warnings(), np.errstate(all="ignore"):
        yield


def same(a: Any, b: Any) -> None:
    assert np.asarray(a).dtype == np.asarray(b).dtype
    assert np.shape(a) == np.shape(b)
    np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-14)


# ---------------------------------------------------------------- names


MODULES = {
    "numpy": (snp, np),
    "numpy.linalg": (snp.linalg, np.linalg),
    "numpy.fft": (snp.fft, np.fft),
    "numpy.random": (snp.random, np.random),
    "scipy.special": (special, scipy.special),
    "scipy.stats": (stats, scipy.stats),
    "scipy.linalg": (linalg, scipy.linalg),
    "scipy.optimize": (ssp.optimize, scipy.optimize),
}


@pytest.mark.parametrize("name", MODULES)
def test_all_names_are_there(name: str) -> None:
    module, original = MODULES[name]
    public = getattr(original, "__all__", None) or [n for n in dir(original) if n[0] != "_"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names on their way out
        for each in filter(partial(hasattr, original), public):
            assert callable(getattr(module, each)) == callable(getattr(original, each))
    assert set(public) <= set(dir(module))
    assert all(hasattr(module, each) for each in module.__dict__.get("__all__", ()))


@pytest.mark.parametrize("name", MODULES)
def test_names_that_are_not(name: str) -> None:
    module, _ = MODULES[name]
    for missing in ("no_such_name", "__wrapped__", "_private"):
        with pytest.raises(AttributeError, match=f"symgrad.{name}' has no attribute '{missing}"):
            getattr(module, missing)


def test_what_is_no_function_is_the_original() -> None:
    for name in ("pi", "e", "inf", "newaxis", "float32", "dtype", "bool_", "errstate",
                 "testing", "s_", "index_exp"):  # fmt: skip
        assert getattr(snp, name) is getattr(np, name)
    assert np.isnan(snp.nan)
    assert snp.linalg.LinAlgError is np.linalg.LinAlgError
    assert ssp.cluster is importlib.import_module("scipy.cluster")
    assert ssp.special is special
    assert ssp.stats is stats
    assert {"special", "stats", "linalg", "optimize"} <= set(dir(ssp))
    with pytest.raises(AttributeError, match="_no_such"):
        _ = ssp._no_such


def test_functions_are_made_once_and_named() -> None:
    assert snp.sin is snp.sin
    assert snp.sum is snp.sum
    assert snp.sum.__name__ == "sum"
    assert snp.sum.__doc__ == np.sum.__doc__
    assert snp.sin.__name__ == "sin"
    assert snp.sin.nin == 1
    assert repr(snp.sin) == "<ufunc 'sin' of symgrad>"
    assert pickle.loads(pickle.dumps(snp.sin))(0.0) == 0.0
    with pytest.raises(AttributeError, match="no_such"):
        _ = snp.sin.no_such


def test_plain_arrays_are_numpys() -> None:
    x = np.arange(6.0).reshape(2, 3)
    for name in ("sum", "mean", "sort", "unique", "transpose", "sin", "median", "count_nonzero"):
        same(getattr(snp, name)(x), getattr(np, name)(x))
    same(snp.add.reduce(x, axis=1), np.add.reduce(x, axis=1))
    same(snp.linalg.inv(np.eye(2)), np.eye(2))
    same(snp.fft.rfft(np.ones(4)).real, np.fft.rfft(np.ones(4)).real)
    same(special.gamma([1.0, 2.0]), [1.0, 1.0])
    same(linalg.norm(x), scipy.linalg.norm(x))
    same(stats.norm.pdf(0.0), scipy.stats.norm.pdf(0.0))
    assert np.may_share_memory(snp.asarray(x), x)


def test_importing_is_cheap() -> None:
    """Who does not ask for a library does not wait for it; scipy.stats takes a second."""
    code = (
        "import sys, symgrad\n"
        "assert not {'sympy', 'numba', 'scipy', 'llvmlite'} & set(sys.modules)\n"
        "symgrad.grad\n"
        "assert not {'numba', 'scipy.stats', 'matplotlib'} & set(sys.modules)\n"
        "import sys, symgrad, symgrad.numpy, symgrad.scipy.special\n"
        "assert 'scipy.stats' not in sys.modules\n"
        "symgrad.nlp\n"
        "assert 'scipy.optimize' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[1])


# ---------------------------------------------------------------- lists of traced values


X = np.array([0.5, -1.5, 2.0])
LISTS: dict[str, Any] = {
    "array": lambda np, x: np.array([x, x**2]),
    "nested": lambda np, x: np.array([[x[0], 1.0], [2, x[1]]]),
    "asarray": lambda np, x: np.asarray((x[0], x[2])),
    "dtype": lambda np, x: np.array([x[0], 2], dtype="f4"),
    "ndmin": lambda np, x: np.array(x, ndmin=3),
    "of a value": lambda np, x: np.array(x),
    "sum": lambda np, x: np.sum([x, x * 2]),
    "sum over axis": lambda np, x: np.sum([x, x * 2], axis=0),
    "mean": lambda np, x: np.mean((x[0], x[1], 3.0)),
    "max": lambda np, x: np.max([x[0], x[1]]),
    "sin": lambda np, x: np.sin([x[0], x[1]]),
    "add": lambda np, x: np.add([x[0], 1.0], [x[1], x[2]]),
    "maximum": lambda np, x: np.maximum([x[0], 1.0], 0.7),
    "reduce": lambda np, x: np.add.reduce([x, x]),
    "outer": lambda np, x: np.multiply.outer([x[0], x[1]], x),
    "where": lambda np, x: np.where([x[0] > 0, x[1] > 0], [x[0], x[1]], [1.0, x[2]]),
    "dot": lambda np, x: np.dot([x[0], x[1]], [x[1], 2.0]),
    "stack": lambda np, x: np.stack([x, 2 * x]),
    "concatenate": lambda np, x: np.concatenate([x, [x[0], 1.0], x[:1]]),
    "hstack": lambda np, x: np.hstack([x[0], x]),
    "block": lambda np, x: np.block([[x, x], [2 * x, 3 * x]]),
    "select": lambda np, x: np.select([x > 1, x > 0], [x, 2 * x]),
    "append": lambda np, x: np.append([x[0], x[1]], x[2]),
    "round": lambda np, x: np.round([x[0] * 3.3, x[2] * 1.1]),
    "norm": lambda np, x: np.linalg.norm([x[0], x[1]]),
    "multi_dot": lambda np, x: np.linalg.multi_dot([x[None], x[:, None], x[None]]),
    "r_": lambda np, x: np.r_[0.0, x, x[1]],
    "c_": lambda np, x: np.c_[x, 2 * x],
    "r_ of numbers": lambda np, x: x[0] * np.r_[1:4, 7],
    "cumsum": lambda np, x: np.cumsum([x[0], x[1], 1.0]),
    "einsum": lambda np, x: np.einsum("i,i", [x[0], x[1]], [x[1], 1.0]),
    "average": lambda np, x: np.average(x, weights=[x[0] + 5, 1.0, 2.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
def test_lists(name: str) -> None:
    function = LISTS[name]
    want = function(np, X)
    same(sg.compile(lambda x: function(snp, x))(X), want)

    def total(x: Any) -> Any:
        return snp.sum(function(snp, x) ** 2)

    slope = sg.grad(total)(X)
    h = 1e-2 if name == "dtype" else 1e-6
    for k in range(3):
        e = h * np.eye(3)[k]
        near = (np.sum(function(np, X + e) ** 2) - np.sum(function(np, X - e) ** 2)) / (2 * h)
        tolerance = 1e-2 if name == "dtype" else 1e-6
        assert slope[k] == pytest.approx(near, rel=tolerance, abs=tolerance)


def test_lists_of_tensors() -> None:
    a, b = sg.tensor(2.0, requires_grad=True), sg.tensor(3.0, requires_grad=True)
    snp.sum(snp.array([a, b, a * b])).backward()
    assert a.grad.item() == 4.0
    assert b.grad.item() == 3.0


def test_lists_inside_of_vmap_and_grad() -> None:
    f = sg.vmap(sg.grad(lambda x: special.logsumexp([x, 2 * x, 0.0])))
    x = np.array([-1.0, 0.0, 1.0])
    weights = scipy.special.softmax([x, 2 * x, 0 * x], axis=0)
    same(f(x), weights[0] + 2 * weights[1])


# ---------------------------------------------------------------- symbolic sizes


SIZED: dict[str, Any] = {
    "zeros": lambda np, x: x + np.zeros(x.shape),
    "zeros of int": lambda np, x: x + np.zeros(x.shape[0]),
    "ones": lambda np, x: x * np.ones((2, x.shape[0])),
    "empty": lambda np, x: x + 0 * np.zeros_like(np.empty(x.shape)),
    "full": lambda np, x: np.full((x.shape[0], 2), 3.5) + x[:, None],
    "full of traced": lambda np, x: np.full(x.shape, x[1]),
    "full dtype": lambda np, x: np.full(x.shape, 2, dtype="f4") * x.astype("f4"),
    "zeros dtype": lambda np, x: x * np.ones(x.shape, dtype=int),
    "eye": lambda np, x: np.eye(x.shape[0]) @ x,
    "eye of two": lambda np, x: np.eye(x.shape[0], x.shape[0] + 2, k=1) * x[:, None],
    "identity": lambda np, x: np.identity(x.shape[0]) * x,
    "tri": lambda np, x: np.tri(x.shape[0], k=-1) @ x,
    "arange": lambda np, x: x * np.arange(x.shape[0]),
    "arange from": lambda np, x: x[1:] * np.arange(1, x.shape[0]),
    "arange step": lambda np, x: x[::2] * np.arange(0, x.shape[0], 2),
    "arange back": lambda np, x: x * np.arange(x.shape[0] - 1, -1, -1),
    "arange dtype": lambda np, x: x * np.arange(x.shape[0], dtype="f8"),
    "linspace": lambda np, x: x * np.linspace(0, 1, x.shape[0]),
    "linspace open": lambda np, x: x * np.linspace(0, 2, x.shape[0], endpoint=False),
    "linspace step": lambda np, x: x * np.linspace(0, 2, x.shape[0], retstep=True)[1],
    "linspace of traced": lambda np, x: np.linspace(x[0], x[1], 5),
    "linspace of arrays": lambda np, x: np.linspace(x, 2 * x, 4, axis=-1),
    "linspace of one": lambda np, x: np.linspace(x[0], x[1], 1),
    "logspace": lambda np, x: np.logspace(x[0], 2.0, x.shape[0], base=2.0),
    "indices": lambda np, x: np.indices((x.shape[0], 2)) * x[:, None],
    "indices sparse": lambda np, x: sum(np.indices((x.shape[0], 2), sparse=True)) * x[:, None],
    "fromfunction": lambda np, x: np.fromfunction(lambda i, j: i + 2 * j, (x.shape[0], 2)) + x[0],
    "broadcast_to": lambda np, x: np.broadcast_to(np.array([1.0]), x.shape) * x,
    "tile": lambda np, x: np.tile(np.array([1.0, 2.0]), x.shape[0])[:4] * x[:4],
}  # fmt: skip


@pytest.mark.parametrize("name", SIZED)
def test_sizes_stay_symbolic(name: str) -> None:
    function = SIZED[name]
    compiled = sg.compile(lambda x: function(snp, x))
    for n in (5, 8, 11):
        x = np.linspace(0.5, 2, n)
        result = compiled(x)
        same(result, function(np, x))
    assert compiled.traces == 1


def test_a_range_of_nothing() -> None:
    compiled = sg.compile(lambda x: snp.sum(snp.arange(9, x.shape[0])) + x[0])
    for n in (3, 9, 12):
        assert compiled(np.ones(n)) == 1 + np.sum(np.arange(9, n))


def test_what_is_made_in_a_trace_can_be_assigned_to() -> None:
    kinds, made = [], []

    def f(x: Any) -> None:
        made.append(snp.zeros(x.shape[0]))
        made[0][0] = 2.0
        kinds.append(type(made[0]))

    sg.compile(f, dynamic=False)(X)
    assert kinds[0] is np.ndarray
    assert type(made[0]) is np.ndarray
    np.testing.assert_array_equal(made[0], [2.0, *[0.0] * (len(X) - 1)])
    assert isinstance(snp.zeros(3), np.ndarray)
    assert isinstance(snp.arange(3), np.ndarray)


# ---------------------------------------------------------------- SciPy


def test_special() -> None:
    x = np.array([[0.2, 1.5], [-1.0, 3.0]])
    for name in ("logsumexp", "softmax", "log_softmax"):
        original, ours = getattr(scipy.special, name), getattr(special, name)
        same(sg.compile(lambda x, ours=ours: ours(x, axis=1))(x), original(x, axis=1))
        same(ours(x, axis=0), original(x, axis=0))
    for name in ("expit", "erf", "gammaln", "xlogy"):
        original, ours = getattr(scipy.special, name), getattr(special, name)
        args = (x, np.abs(x)) if name == "xlogy" else (x,)
        same(sg.compile(lambda *xs, ours=ours: ours(*xs))(*args), original(*args))
    same(sg.grad(lambda x: np.sum(special.expit([x, 0.0])))(0.0), 0.25)


def test_linalg_norm() -> None:
    x = np.array([[3.0, 0.0], [4.0, 1.0]])
    for args in ((), (1,), (np.inf, 1)):
        same(sg.compile(lambda x, args=args: linalg.norm(x, *args))(x), linalg.norm(x, *args))


def test_distributions_otherwise() -> None:
    frozen = stats.norm(1.0, scale=2.0)
    same(frozen.logpdf(0.3), scipy.stats.norm(1.0, 2.0).logpdf(0.3))
    same(sg.compile(lambda x, m: stats.norm(m, scale=2.0).cdf(x))(X, 0.5),
         scipy.stats.norm.cdf(X, 0.5, 2.0))  # fmt: skip
    same(sg.compile(lambda x: stats.norm.logpdf([x, 0.0], loc=x, scale=3))(0.5),
         scipy.stats.norm.logpdf([0.5, 0.0], loc=0.5, scale=3))  # fmt: skip
    assert stats.norm.rvs(size=3, random_state=0).shape == (3,)
    assert stats.norm.mean(2.0) == 2.0
    assert repr(stats.norm) == "<distribution 'norm' of symgrad>"
    assert stats.norm.name == "norm"
    with pytest.raises(UnsupportedError, match="of norm, logpdf, pdf, cdf"):
        sg.compile(stats.norm.expect)(X)
    with pytest.raises(TypeError, match="missing a required argument: 'a'"):
        sg.compile(lambda x: stats.gamma.logpdf(x))(X)
    with pytest.raises(AttributeError, match="no_such"):
        _ = stats.norm.no_such


# ---------------------------------------------------------------- what is refused


REFUSED: list[tuple[Any, Any, str]] = [
    (lambda x: snp.packbits(x), UnsupportedError, "numpy.packbits cannot be traced"),
    (lambda x: sg.vmap(snp.nonzero)(x[None]), UnsupportedError, "Write instead: np.where"),
    (lambda x: linalg.schur(x[None] * x[:, None]), UnsupportedError, "of the op table"),
    (lambda x: special.factorial2(x), UnsupportedError, "cannot be traced"),
    (lambda x: special.mathieu_cem(1, 2, x), UnsupportedError, "mathieu_cem"),
    (lambda x: stats.kendalltau(x, x), UnsupportedError, "p-values of data"),
    (lambda x: snp.arange(x[0]), UnsupportedError, "would depend on the values"),
    (lambda x: snp.arange(0, x.shape[0], 0.5), UnsupportedError, r"np.arange\(n\) \* step"),
    (lambda x: snp.arange(0.5, x.shape[0]), UnsupportedError, "must be integers"),
    (lambda x: snp.linspace(0, 1, x[0]), UnsupportedError, "would depend on the values"),
    (lambda x: snp.r_[0:3, x], UnsupportedError, "np.concatenate"),
    (lambda x: snp.zeros(x.shape[0], dtype=np.float16), DTypeError, "float16"),
    (lambda x: snp.float64(x[0]), TraceError, "was asked of"),
]


@pytest.mark.parametrize(("function", "error", "message"), REFUSED)
def test_refused(function: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        sg.compile(function)(X)


def test_sizes_do_not_leak_into_plain_functions() -> None:
    """A function of plain arrays takes the size of the example call, with a guard."""
    compiled = sg.compile(lambda x: x * snp.kaiser(x.shape[0], 2.0))
    for n in (4, 6):
        same(compiled(np.ones(n)), np.kaiser(n, 2.0))
    assert compiled.traces == 2


def test_registry_is_what_decides() -> None:
    assert np.sin in registry.handlers
    same(sg.compile(lambda x: snp.sin(x))(X), np.sin(X))


@pytest.mark.usefixtures("no_kernels")
def test_options_of_layout_and_subclasses() -> None:
    """No value depends on them."""
    x = np.arange(6.0).reshape(2, 3)
    for f in (
        lambda x: np.zeros_like(x, subok=False),
        lambda x: np.full_like(x, 2.0, order="C", subok=True),
        lambda x: np.ones_like(x, None, "K"),
        lambda x: np.broadcast_to(x, (2, 2, 3), subok=True),
        lambda x: np.copy(x, subok=True),
    ):
        np.testing.assert_array_equal(sg.compile(f)(x), f(x))
    with pytest.raises(UnsupportedError, match=r"order='F' .*order='C'"):
        sg.compile(lambda x: np.empty_like(x, order="F"))(x)


AT = np.arange(6.0)
MADE: dict[str, tuple[str, Any]] = {
    "CubicSpline": ("interpolate", lambda m: m.CubicSpline(AT, AT**2 - 3.0).roots()),
    "PchipInterpolator": ("interpolate", lambda m: m.PchipInterpolator(AT, AT**2).solve(2.0)),
    "BSpline": ("interpolate", lambda m: m.BSpline.basis_element(AT[:4])(AT[:4])),
    "design_matrix": ("interpolate", lambda m: m.BSpline.design_matrix(AT[3:5], np.arange(9.0), 3)),
    "RectBivariateSpline": (
        "interpolate",
        lambda m: m.RectBivariateSpline(AT, AT, np.outer(AT, AT)).integral(0, 1, 0, 2),
    ),
    "RBFInterpolator": (
        "interpolate", lambda m: m.RBFInterpolator(AT[:, None], AT, neighbors=3)([[1.5]])
    ),
    "RegularGridInterpolator": (
        "interpolate", lambda m: m.RegularGridInterpolator((AT,), AT**2, method="pchip")([1.5])
    ),
    "KDTree": ("spatial", lambda m: m.KDTree(AT[:, None]).count_neighbors(m.KDTree([[0.5]]), 1.0)),
    "Rotation": (
        "spatial.transform",
        lambda m: (m.Rotation.from_euler("zxz", [0.1, 0.2, 0.3]) ** 2).mean().as_quat(),
    ),
    "Slerp": (
        "spatial.transform",
        lambda m: m.Slerp([0, 1], m.Rotation.from_rotvec(np.eye(3)[:2]))(0.5).as_matrix(),
    ),
    "gaussian_kde": ("stats", lambda m: m.gaussian_kde(AT).integrate_box_1d(0.0, 1.0)),
    "sparse": (
        "sparse",
        lambda m: m.linalg.eigsh(m.diags([AT + 1.0, AT[1:], AT[1:]], [0, 1, -1]).tocsc(), 2)[0],
    ),
    "kron": (
        "sparse", lambda m: m.tril(m.kron(m.eye_array(2), m.csr_array(np.outer(AT, AT)))).sum()
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_objects_of_plain_values_are_scipys(name: str) -> None:
    """Of which all methods are there: changing one import changes nothing outside of traces."""
    module, use = MADE[name]
    ours, theirs = (
        importlib.import_module(f"{root}scipy.{module}") for root in ("symgrad.", "")
    )  # fmt: skip
    found, wanted = use(ours), use(theirs)
    assert type(found) is type(wanted)
    dense = [x.toarray() if hasattr(x, "toarray") else x for x in (found, wanted)]
    np.testing.assert_allclose(*dense)


def test_objects_of_plain_values_are_read_by_traces() -> None:
    spline, turn = si.CubicSpline(AT, AT**2), Rotation.from_euler("z", 0.3)
    assert isinstance(spline, si.CubicSpline)
    assert isinstance(spline, si.PPoly)
    assert isinstance(turn, Rotation)
    np.testing.assert_allclose(sg.grad(lambda t: spline(t))(1.5), 3.0)

    def turned(v: Any) -> Any:
        return (turn * Rotation.from_rotvec(v) * turn).apply([1.0, 0.0, 0.0])

    v = np.array([0.1, 0.2, 0.3])
    steps = 1e-6 * np.eye(3)
    want = np.stack([(turned(v + h) - turned(v - h)) / 2e-6 for h in steps], axis=1)
    np.testing.assert_allclose(sg.jacobian(turned)(v), want, rtol=1e-7, atol=1e-9)


class _Shifted(si.CubicSpline):
    def shifted(self, t: Any) -> Any:
        return self(t - 1.0)


def test_a_class_derived_from_a_version_is_what_it_says() -> None:
    spline = _Shifted(AT, AT**2)
    assert type(spline) is _Shifted
    assert spline.shifted(2.5) == pytest.approx(2.25)
    assert sg.grad(spline.shifted)(2.5) == pytest.approx(3.0)
    assert not isinstance(si.CubicSpline(AT, AT), _Shifted)


@pytest.mark.parametrize(
    "name", ["constants", "io", "signal.windows", "stats.qmc", "linalg.lapack"]
)
def test_modules_without_a_version_are_scipys(name: str) -> None:
    """Also those beneath modules that have one: a file's imports may all be changed."""
    assert importlib.import_module(f"symgrad.scipy.{name}") is importlib.import_module(
        f"scipy.{name}"
    )


def test_modules_beneath_that_have_a_version() -> None:
    for name in ("sparse.linalg", "spatial.distance", "spatial.transform"):
        assert importlib.import_module(f"symgrad.scipy.{name}").__name__ == f"symgrad.scipy.{name}"


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("ascontiguousarray", (0.5,)), ("asfortranarray", (0.5,)), ("argsort", (0.5,)),
        ("cumulative_sum", (0.5,)), ("cumulative_prod", (2,)), ("cumsum", (0.5, 0)),
        ("polysub", (0.5, True)), ("polyint", (0.5, 0.5)), ("angle", (-2, True)),
        ("nan_to_num", (2, 0.5)), ("real_if_close", (2, 0.5)),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("no_kernels")
@pytest.mark.quick
def test_functions_of_numbers_have_numpys_axes(name: str, numbers: tuple[Any, ...]) -> None:
    """Also where the operand is no traced one and an option is."""
    found = sg.compile(getattr(snp, name))(*numbers)
    want = getattr(np, name)(*numbers)
    assert np.shape(found) == np.shape(want)
    np.testing.assert_allclose(found, want)
