"""Complex numbers: functions against NumPy and mpmath, derivatives in JAX's convention."""

from __future__ import annotations

import cmath
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from numba import njit
from scipy import special

import symgrad as sg
import symgrad.numpy as snp
import symgrad.scipy.special as sg_special
from symgrad._core.op import Composite, registry
from symgrad._core.trace import flatten
from symgrad.errors import (
    ArgumentError,
    DegeneracyWarning,
    DTypeError,
    SymgradError,
    UnsupportedError,
)
from tests.samples import samples_of
from tests.shared import called, of_arrays

pytestmark = pytest.mark.usefixtures("few_kernels")

Z = np.array([1.2 + 0.7j, -0.4 + 2.1j, -1.6 - 0.3j, 0.6 - 0.8j, 0.3 + 0.0j, -2.5 + 0.0j, 1.7j])
W = np.array([0.5 - 1.1j, 2.0 + 0.3j, -0.7 + 0.9j, 0.1 + 1.5j, -1.2 + 0.4j, 0.8 - 0.2j, 3.0 + 0.0j])

#: mpmath's version of each holomorphic function of one variable.
HOLOMORPHIC: dict[str, Callable[[Any], Any]] = {
    "Positive": lambda z: z, "Negative": lambda z: -z, "Square": lambda z: z * z,
    "Reciprocal": lambda z: 1 / z, "Sqrt": mp.sqrt, "Exp": mp.exp, "Exp2": lambda z: mp.mpf(2)**z,
    "Expm1": mp.expm1, "Log": mp.log, "Log2": lambda z: mp.log(z, 2), "Log10": mp.log10,
    "Log1p": lambda z: mp.log(1 + z), "Sin": mp.sin, "Cos": mp.cos, "Tan": mp.tan,
    "Arcsin": mp.asin, "Arccos": mp.acos, "Arctan": mp.atan, "Sinh": mp.sinh, "Cosh": mp.cosh,
    "Tanh": mp.tanh, "Arcsinh": mp.asinh, "Arccosh": mp.acosh, "Arctanh": mp.atanh,
    "Sinc": lambda z: mp.sin(mp.pi * z) / (mp.pi * z),
    "Gamma": mp.gamma, "Rgamma": mp.rgamma, "Loggamma": mp.loggamma, "Erf": mp.erf,
    "Erfc": mp.erfc, "Erfi": mp.erfi, "Erfcx": lambda z: mp.exp(z * z) * mp.erfc(z),
}  # fmt: skip
OF_TWO = {
    "Add": lambda z, w: z + w, "Subtract": lambda z, w: z - w, "Multiply": lambda z, w: z * w,
    "Divide": lambda z, w: z / w, "Power": lambda z, w: z**w, "FloatPower": lambda z, w: z**w,
}  # fmt: skip
#: Not holomorphic, or about elements; compared with NumPy below.
OTHERS = {
    "Conjugate", "Absolute", "Sign", "Equal", "NotEqual", "LogicalAnd", "LogicalOr", "LogicalXor",
    "LogicalNot", "Isnan", "Isinf", "Isfinite", "StopGradient", "Cast", "Less", "LessEqual",
    "Greater", "GreaterEqual", "Maximum", "Minimum", "Fmax", "Fmin",
}  # fmt: skip
MAPS = {name: op for name, op in registry.ops.items() if op.parts is not None and op.kind == "map"}


def test_every_elementwise_function_is_known_here() -> None:
    assert set(MAPS) == {*HOLOMORPHIC, *OF_TWO, *OTHERS} & set(registry.ops)


def exact(function: Any, *args: complex) -> complex:
    with mp.workdps(40):
        return complex(function(*(mp.mpc(a.real, a.imag) for a in args)))


def derivative(function: Any, place: int, *args: complex) -> complex:
    """The complex derivative by an argument, along the imaginary axis: cuts lie on the real one.

    From the side that NumPy's signs of zero name, which is above for +0.
    """
    with mp.workdps(40):
        values = [mp.mpc(a.real, a.imag) for a in args]
        h = mp.mpc(0, mp.mpf(10) ** -18)
        f = []
        for k in (0, 1, 2):
            moved = list(values)
            moved[place] += k * h
            f.append(function(*moved))
        return complex((4 * f[1] - 3 * f[0] - f[2]) / (2 * h))


def close(found: Any, wanted: Any, ulps: float) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    eps = np.finfo(found.real.dtype).eps
    np.testing.assert_array_less(np.abs(found - wanted), ulps * eps * (np.abs(wanted) + 1e-300))


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_values_and_complex_derivatives(name: str) -> None:
    function, reference = MAPS[name], HOLOMORPHIC[name]
    points = Z if name not in ("Arccosh", "Arctan") else Z[:5]  # 1.7i lies on arctan's cut
    found, slopes = sg.vmap(sg.value_and_grad(lambda z: function(z), holomorphic=True))(points)
    close(found, [exact(reference, z) for z in points.tolist()], 16)
    close(slopes, [derivative(reference, 0, z) for z in points.tolist()], 64)


@pytest.mark.parametrize("name", ["Gamma", "Rgamma", "Loggamma"])
@pytest.mark.quick
def test_gamma_functions_next_to_the_zeros_of_the_logarithm(name: str) -> None:
    """Within a quarter of 1 and 2 they are by a power series, and beyond by Lanczos's."""
    function, reference = MAPS[name], HOLOMORPHIC[name]
    far = np.exp(0.7j * np.arange(9.0)) * np.linspace(0.01, 0.4, 9)
    points = np.concatenate([1.0 + far, 2.0 + far])
    found = sg.vmap(lambda z: function(z))(points)
    close(found, [exact(reference, z) for z in points.tolist()], 64)


@pytest.mark.parametrize("name", OF_TWO)
def test_values_and_derivatives_of_two_variables(name: str) -> None:
    function, reference = MAPS[name], OF_TWO[name]
    body = sg.value_and_grad(lambda z, w: function(z, w), argnums=(0, 1), holomorphic=True)
    found, slopes = sg.vmap(body)(Z, W)
    pairs = list(zip(Z.tolist(), W.tolist(), strict=True))
    close(found, [exact(reference, *p) for p in pairs], 64)
    for place, slope in enumerate(slopes):
        close(slope, [derivative(reference, place, *p) for p in pairs], 256)


@pytest.mark.parametrize("mixed", [(Z, W.real), (Z.real, W), (Z, 2.5), (1.5, W), (Z, 1j), (3, W)])
@pytest.mark.parametrize("name", sorted({*OF_TWO, "Equal", "NotEqual"} - {"FloatPower"}))
def test_real_and_complex_operands_meet(name: str, mixed: tuple[Any, Any]) -> None:
    function = MAPS[name].functions[0]
    with sg.backend("numpy"), np.errstate(all="ignore"):
        found = sg.compile(lambda x, y: function(x, y))(*mixed)
    wanted = function(*mixed)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


@pytest.mark.parametrize("name", sorted(OTHERS - {"StopGradient", "Cast"}))
def test_functions_that_are_not_holomorphic(name: str) -> None:
    ufunc = MAPS[name].functions[0]
    points = np.array([1 + 2j, 0, np.nan + 1j, complex(2, np.inf), -3, 1j, 0.5 - 2.5j])
    args = (points, np.roll(points, 2))[: ufunc.nin]
    with np.errstate(invalid="ignore"):
        found, wanted = sg.compile(lambda *x: ufunc(*x))(*args), ufunc(*args)
    assert found.dtype == wanted.dtype
    keep = np.isfinite(points) if name == "Sign" else np.ones(7, bool)
    np.testing.assert_allclose(found[keep], wanted[keep], rtol=1e-15)


#: On cuts, with both signs of zero; and where intermediate results could overflow or cancel.
EDGES = np.array([
    complex(x, y) for x in (-2.0, -0.5, 0.5, 2.0) for y in (0.0, -0.0)
] + [complex(x, y) for x in (0.0, -0.0) for y in (-2.0, 2.0, 0.25)]
  + [300 + 1j, -300 - 2j, 1e-9 + 1e-9j, 1 + 1e-9j, 1e200 - 1e200j])  # fmt: skip


@pytest.mark.parametrize("name", sorted(HOLOMORPHIC))
def test_cuts_and_far_points_as_in_numpy(name: str) -> None:
    ufunc = MAPS[name].functions[0]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, wanted = sg.compile(lambda z: ufunc(z))(EDGES), ufunc(EDGES)
    for z, a, b in zip(EDGES, found, wanted, strict=True):
        if np.isfinite(b) and abs(z) < 1e100:
            bound = 1e-7 if name == "Log1p" else 1e-14  # NumPy's log1p keeps half the digits
            assert abs(a - b) <= bound * abs(b) + 1e-300, (z, a, b)


# ---------------------------------------------------------------- NumPy's functions


def complexified(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value + 1j * rng.standard_normal(value.shape).astype(value.dtype)
    if isinstance(value, (list, tuple)):
        return type(value)(complexified(v, rng) for v in value)
    return value


def complex_samples(record: Composite) -> Iterator[tuple[Any, Any]]:
    rng = np.random.default_rng(3)
    for args, kwargs in samples_of(record, np.random.default_rng(7)):
        made = tuple(complexified(a, rng) for a in args)
        if any(isinstance(x, np.ndarray) and x.dtype.kind == "c" for x in flatten(made)[0]):
            yield made, kwargs


COMPOSITES = {
    name: record
    for name, record in registry.composites.items()
    if record.functions
    and record.function.__module__.startswith(("symgrad._core.ops.", "symgrad.special."))
}
#: Bins have an order; NumPy takes complex ones and gives real numbers of a complex type.
ORDERED = {"histogram_bin_edges"}


@pytest.mark.parametrize("name", COMPOSITES)
def test_composites_agree_with_numpy_or_refuse(name: str) -> None:
    """No function of NumPy is silently wrong for complex arguments."""
    record = COMPOSITES[name]
    function = record.functions[0]
    cases = list(complex_samples(record))
    for args, kwargs in cases[:: max(1, len(cases) // 8)]:
        body, arrays = of_arrays(called(function), (args, kwargs))
        with np.errstate(all="ignore"), warnings.catch_warnings(), sg.backend("numpy"):
            warnings.simplefilter("ignore")
            try:
                found = sg.compile(body)(*arrays)
            except SymgradError:
                continue
            try:
                wanted = function(*args, **kwargs)
            except (TypeError, NotImplementedError):
                continue  # a formula that holds for complex numbers where the original has none
            if name in ORDERED:
                continue
        for x, y in zip(flatten(found)[0], flatten(wanted)[0], strict=True):
            x, y = np.asarray(x), np.asarray(y)
            assert x.dtype == y.dtype
            tolerance = 1e-5 if y.dtype.char in "fF" else 1e-10
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


#: What must not be lost from the functions that take complex arrays.
TAKEN = [
    "sum", "mean", "var", "std", "average", "cumsum", "dot", "matmul", "einsum", "tensordot",
    "inner", "outer", "kron", "vdot", "vecdot", "norm", "cov", "correlate", "convolve", "diff",
    "gradient", "trapezoid", "stack", "concatenate", "where", "reshape", "transpose", "pad",
    "roll", "flip", "take", "repeat", "tile", "real", "imag", "angle", "isclose", "allclose",
    "round", "nan_to_num", "polyval", "cross", "trace", "diag", "tril", "triu", "nansum",
    "prod", "cumprod", "nanprod", "vander", "max", "min", "ptp", "argmax", "argmin", "sort",
    "argsort", "partition", "median", "nanmax", "nanmin", "nanmedian", "searchsorted", "clip",
    "sort_complex", "lexsort",
]  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_functions_that_take_complex_arrays(name: str) -> None:
    function = getattr(np, name, None) or getattr(np.linalg, name)
    record = next(r for r in COMPOSITES.values() if function in r.functions)
    args, kwargs = next(complex_samples(record))
    with sg.backend("numpy"), np.errstate(all="ignore"):
        sg.compile(lambda *x: function(*x, **kwargs))(*args)


# ---------------------------------------------------------------- arguments and results


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
@pytest.mark.parametrize(
    "z",
    [
        Z, Z.astype(np.complex64), Z[::-1], Z[:6].reshape(2, 3).T, Z[:0], Z[:1], np.array(1 + 2j),
        np.complex64(1 + 2j), 1 + 2j, np.asfortranarray(Z[:6].reshape(2, 3)), Z.astype(">c16"),
        [1j, 2.0],
    ],
)  # fmt: skip
def test_arguments_of_all_kinds(z: Any, backend: Any) -> None:
    with sg.backend(backend):
        found = sg.compile(lambda z: z * 2j + 1)(z)
    wanted = np.asarray(z) * 2j + 1
    assert found.dtype == wanted.dtype.newbyteorder("=")
    assert type(found) is type(wanted[()])
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_nested_arguments_results_and_static_leaves() -> None:
    def f(p: Any, mode: str) -> Any:
        return {"sum": p["a"] + p["b"], "mode": mode, "parts": (p["a"].real, [p["a"].imag])}

    found = sg.compile(f)({"a": Z, "b": W.real}, "x")
    np.testing.assert_array_equal(found["sum"], Z + W.real)
    np.testing.assert_array_equal(found["parts"][1][0], Z.imag)
    assert found["mode"] == "x"
    slopes = sg.grad(lambda p: np.sum(np.abs(p["a"] * p["b"]) ** 2))({"a": Z, "b": W.real})
    np.testing.assert_allclose(slopes["a"], 2 * Z.conj() * W.real**2)
    np.testing.assert_allclose(slopes["b"], 2 * W.real * np.abs(Z) ** 2)


def test_python_complex_numbers_do_not_widen() -> None:
    z = Z.astype(np.complex64)
    assert sg.compile(lambda z: z * 1j + 2.0)(z).dtype == np.complex64
    assert sg.compile(lambda x: x * 1j)(z.real).dtype == np.complex64
    assert sg.compile(lambda z, c: z * c)(z, 1j).dtype == np.complex64
    assert sg.compile(lambda x, c: x * c)(np.arange(3), 1j).dtype == np.complex128
    assert sg.grad(lambda z: np.sum(np.abs(z)))(z).dtype == np.complex64


def test_one_compilation_serves_all_lengths() -> None:
    f = sg.compile(lambda z: np.sum(z * np.conj(z)).real)
    for n in (3, 5, 8):
        f(Z[:n])
    assert f.traces == 1


def test_calls_of_other_kinds_after_the_first() -> None:
    f = sg.compile(lambda z: z * 2)
    pairs = np.ones((7, 2))
    for x in (Z, Z, pairs, Z, Z.astype("F"), Z[::-1], 1j, 2j, 1.5, np.complex128(1j), pairs, Z):
        found = f(x)
        np.testing.assert_array_equal(found, np.asarray(x) * 2)
        assert found.dtype == (np.asarray(x) * 2).dtype


@pytest.mark.slow
def test_results_into_given_memory_and_kernels_in_njit() -> None:
    f = sg.value_and_grad(lambda z, c: np.sum(np.abs(z * c) ** 2))
    out = np.empty_like(Z)
    value, slope = f(Z, 2j, out=(None, out))
    np.testing.assert_array_equal(out, f(Z, 2j)[1])
    assert np.shares_memory(slope, out)
    double = sg.compile(lambda z: (z * 2, z.real))
    for target in (np.empty((7, 2), complex)[:, 0], np.empty(14, complex)[::-2]):
        double(Z, out=(target, None))
        np.testing.assert_array_equal(target, Z * 2)
    real = np.empty(7, complex)
    double(Z, out=(None, real))
    np.testing.assert_array_equal(real, Z.real)
    with pytest.raises(ArgumentError, match="the result is complex"):
        double(Z, out=(np.empty(7), None))
    kernel = f.kernel(Z, 2j)

    @njit
    def call(z: Any) -> Any:
        return kernel(z, 2j)

    found = call(Z)
    assert found[0] == value
    np.testing.assert_array_equal(found[1], out)
    square = sg.compile(lambda z: z * z).kernel(1j)
    assert njit(lambda z: square(z))(3j) == -9
    for z in (np.repeat(Z, 2)[::2], Z[::-1]):  # Numba copies what is not contiguous
        np.testing.assert_array_equal(kernel(z, 2j)[1], f(z, 2j)[1])


MADE_OF_PARTS: dict[str, Callable[[Any], Any]] = {
    "zeros and a number": lambda x: np.zeros(x.shape) + 0j,
    "a number and ones": lambda x: 2j - np.ones(x.shape),
    "a row and an array": lambda x: x[0] + 1j * x,
    "an array and a column": lambda x: x + 1j * x[:, :1],
    "of one array": lambda x: x + 0j,
    "a diagonal": lambda x: np.eye(2, 3) + 1j * x,
}


@pytest.mark.parametrize("made", MADE_OF_PARTS)
def test_what_is_made_of_parts_is_an_array_of_its_own(made: str) -> None:
    """Assigning to it goes, and changes neither part."""

    def f(p: Any) -> Any:
        x = p * np.arange(1.0, 7.0).reshape(2, 3)
        z = MADE_OF_PARTS[made](x)
        z[1, 0] = p * p
        z[0] *= 2j
        return np.sum(np.abs(z) ** 2) + 10 * np.sum(x)

    value, slope = sg.value_and_grad(f)(1.5)
    assert value == pytest.approx(f(1.5), rel=1e-14)
    assert slope == pytest.approx((f(1.5 + 1e-5) - f(1.5 - 1e-5)) / 2e-5, rel=1e-8)


def _row(m: Any, x: Any) -> None:
    m[0] = 1j * x


def _element(m: Any, x: Any) -> None:
    m[0, 1] += x[0] + 1j


def _constant(m: Any, x: Any) -> None:
    m[0, 1] = 1j


def _places(m: Any, x: Any) -> None:
    m[np.array([0, 1])] = 1j * x


def _whole(m: Any, x: Any) -> None:
    m *= 1j * x


@pytest.mark.parametrize("assign", [_row, _element, _constant, _places, _whole])
def test_complex_values_in_a_real_array_are_refused(assign: Any) -> None:
    """NumPy drops the imaginary part, with a warning, or raises."""

    def f(x: Any) -> Any:
        matrix = np.zeros((2, 3))
        matrix[1] = x
        assign(matrix, x)
        return np.sum(np.abs(matrix))

    with pytest.raises(DTypeError, match=r"array of real numbers.*dtype=complex"):
        sg.grad(f)(np.ones(3))


def test_assignment_and_views() -> None:
    def f(z: Any) -> Any:
        z[0] = 1j * z[1]
        z[1:3] *= 2
        z.real[3] = 7.0
        w = snp.zeros(3, dtype=complex)
        w[1] = z[0]
        w[2] = 2.0
        z += w[1]
        return z, w

    def g(z: Any) -> Any:
        z = z.copy()
        z[0] = 1j * z[1]
        z[1:3] *= 2
        z.real[3] = 7.0
        w = np.array([0, z[0], 2.0])
        return z + w[1], w

    for found, wanted in zip(sg.compile(f)(Z), g(Z), strict=True):
        np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("v", [np.array([1.5, 2.0, 3.0]), np.array([1.5, 2j, 3.0 - 1j])])
def test_places_that_are_added_to_more_than_once(v: Any) -> None:
    def f(x: Any, v: Any) -> Any:
        z = x * (1 + 2j)
        np.add.at(z, [0, 1, 0], v)
        np.subtract.at(z, [[1], [2]], v[:1] * 2)
        return z

    x = np.array([0.1, 0.5, 0.7])
    np.testing.assert_allclose(sg.compile(f)(x, v), f(x, v), rtol=1e-15)
    cost = lambda x: np.sum(np.abs(f(x, v * x * 1j)) ** 2)  # noqa: E731
    slopes = [(cost(x + e) - cost(x - e)) / 2e-5 for e in 1e-5 * np.eye(3)]
    np.testing.assert_allclose(sg.grad(cost)(x), slopes, rtol=1e-8)


def test_masks() -> None:
    """What a mask selects, on both sides of an assignment and in reductions."""

    def f(np: Any, z: Any, w: Any) -> Any:
        z, m = z.copy(), np.abs(z) < 2
        z[m] = z[m] ** 2 + w[m]
        z[np.abs(z) > 3] = 1j
        z[~m] *= 2
        return z, np.sum(z[m] * w[m]) + z[m].real.sum() + np.mean(z[~m]), z[m].imag.max()

    for got, wanted in zip(sg.compile(lambda z, w: f(snp, z, w))(Z, W), f(np, Z, W), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-14)
    g = sg.grad(lambda z, w: f(snp, z, w)[1].real)(Z, W)
    for direction in (1.0, 1j):
        for k in range(len(Z)):
            h = 1e-6 * direction * (np.arange(len(Z)) == k)
            slope = (f(np, Z + h, W)[1].real - f(np, Z - h, W)[1].real) / 2e-6
            assert (g[k] * direction).real == pytest.approx(slope, abs=1e-8)


#: Functions of the order, NumPy's: by real parts, then by imaginary ones, nan last.
BY_ORDER: dict[str, Callable[[Any], Any]] = {
    "sort": np.sort, "argsort": lambda z: np.argsort(z, stable=True),
    "sort by columns": lambda z: np.sort(z, axis=0), "sort_complex": np.sort_complex,
    "partition": lambda z: np.partition(z, 2)[..., 2], "max": np.max, "ptp": np.ptp,
    "max by columns": lambda z: np.max(z, axis=0), "argmax": np.argmax, "median": np.median,
    "min by rows": lambda z: np.min(z, axis=1, keepdims=True), "median by rows":
    lambda z: np.median(z, axis=1), "argmin": lambda z: z.argmin(axis=0),
    "clip": lambda z: np.clip(z, -1, 1 + 1j), "real parts": lambda z: z.real <= z[::-1],
    "searchsorted": lambda z: np.searchsorted(np.array([-1j, 0, 1, 1 + 1j]), z),
    "nanmax": lambda z: np.nanmax(z, axis=1), "nanmin": lambda z: np.nanmin(z, axis=0),
    "nanargmax": lambda z: np.nanargmax(z, axis=1), "nanargmin": np.nanargmin,
}  # fmt: skip


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", BY_ORDER)
@pytest.mark.quick(1)
def test_order(name: str, missing: bool) -> None:
    f, rng = BY_ORDER[name], np.random.default_rng(4)
    z = rng.integers(-2, 3, (4, 5)) + 1j * rng.integers(-2, 3, (4, 5))
    if missing:
        z[1, 2], z[2, 3], z[2, 1] = np.nan, complex(1, np.nan), complex(np.nan, 1)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, wanted = sg.compile(lambda z: f(z))(z), f(z)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def test_derivatives_go_to_the_elements_that_order_picks() -> None:
    z = np.array([[2 + 1j, 1 - 1j], [2 - 1j, -3 + 0j]])

    def f(z: Any) -> Any:
        whole = np.max(z) * 2 + np.median(z) + np.sum(np.maximum(z, z[::-1])[0])
        return whole + np.sort(np.ravel(z))[0] * 5

    np.testing.assert_allclose(sg.grad(f, holomorphic=True)(z), [[3.0, 1.5], [0.5, 5]])


def test_logsumexp() -> None:
    """The largest real part is taken off; the logarithm is the principal one."""
    z = np.array([[700 + 1j, 710 + 3j, -5j], [1j, 0.5 - 2j, -800 + 1j]])
    b = np.array([1.0, -2.0, 0.5])
    for options in ({}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"axis": 1, "b": b},
                    {"axis": 0, "return_sign": True}):  # fmt: skip
        found = sg.compile(lambda z, o=options: sg_special.logsumexp(z, **o))(z)
        for x, y in zip(flatten(found)[0], flatten(special.logsumexp(z, **options))[0],
                        strict=True):  # fmt: skip
            np.testing.assert_allclose(x, y, rtol=1e-14, atol=1e-14)
    slope = sg.grad(lambda z: sg_special.logsumexp(z), holomorphic=True)(z)
    np.testing.assert_allclose(slope, special.softmax(z), rtol=1e-12, atol=1e-300)


def test_decisions_on_complex_values() -> None:
    f = sg.compile(lambda z: z * 2 if z == 1j else z)
    assert f(1j) == 2j
    assert f(2j) == 2j


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 8])
@pytest.mark.quick(1)
def test_products_along_an_axis(n: int) -> None:
    z = np.random.default_rng(n).standard_normal((2, n, 2)).view(complex)[..., 0]
    for backend in ("llvm", "numpy"):
        with sg.backend(backend):
            found = sg.compile(lambda z: (np.prod(z, 1), np.cumprod(z, 1), np.prod(z)))(z)
        for x, y in zip(found, (np.prod(z, 1), np.cumprod(z, 1), np.prod(z)), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-13)
    if n > 1:
        z[0, :2] = 0
        slope = sg.grad(np.prod, holomorphic=True)(z[1])
        np.testing.assert_allclose(slope, np.prod(z[1]) / z[1], rtol=1e-13)
        np.testing.assert_array_equal(sg.grad(np.prod, holomorphic=True)(z[0]), 0.0)


def test_made_arrays() -> None:
    def f(x: Any) -> Any:
        a = snp.array([x, 1j * x])
        b = snp.full((2,), x + 1j)
        c = x.astype(complex) * snp.eye(2, dtype=complex)
        return a + b, c, snp.linspace(0, 1 + x * 1j, 3), snp.ones_like(a), a.astype(np.complex64)

    x = np.float64(2.0)
    found = sg.compile(f)(x)
    np.testing.assert_array_equal(found[0], [4 + 1j, 2 + 3j])
    np.testing.assert_array_equal(found[1], 2 * np.eye(2))
    np.testing.assert_array_equal(found[2], [0, 0.5 + 1j, 1 + 2j])
    assert found[3].dtype == np.complex128
    assert found[4].dtype == np.complex64


def test_derivatives_of_infinite_lengths() -> None:
    for kind in (np.complex64, np.complex128):
        z = np.array([complex(np.inf, 0), complex(-np.inf, 2), complex(-1, np.inf)], kind)
        slopes = sg.grad(lambda z: np.sum(np.abs(z)))(z)
        assert slopes.dtype == kind
        np.testing.assert_array_equal(slopes, [1, -1, -1j])
        along = np.full(3, 1 + 2j, kind)
        np.testing.assert_array_equal(sg.jvp(np.abs, (z,), (along,))[1], [1, -1, 2])
    parts = sg.grad(lambda p: np.hypot(*p))
    np.testing.assert_array_equal(parts(np.array([np.inf, -2.0])), [1, 0])
    assert np.isnan(parts(np.array([np.inf, np.inf]))).all()  # it depends on the way there


# ---------------------------------------------------------------- the convention


def test_gradients_are_jaxs() -> None:
    """The numbers are those of jax.grad, jvp, vjp and jacrev for the same functions."""
    z = 3.0 + 4.0j
    assert sg.grad(np.abs)(z) == pytest.approx(0.6 - 0.8j)
    assert sg.grad(lambda z: z.real)(z) == 1
    assert sg.grad(lambda z: z.imag)(z) == -1j
    assert sg.grad(lambda z: (z * z).real)(z) == 2 * z
    assert sg.grad(lambda z: np.abs(z) ** 2)(z) == pytest.approx(6 - 8j)
    assert sg.grad(lambda z: (z * z).real, holomorphic=False)(z) == 2 * z
    assert sg.grad(lambda z: z * z, holomorphic=True)(z) == 2 * z
    out, pull = sg.vjp(lambda z: np.conj(z) * 2j, z)
    assert out == 8 + 6j
    assert pull(1.0 + 1.0j) == (-2 - 2j,)  # conj(ct * 2j), with the pairing Re(ct * dw)
    assert sg.vjp(lambda z: z * 2j, z)[1](1.0 + 1.0j) == (-2 + 2j,)
    assert sg.jvp(lambda z: np.conj(z) * 2j, (z,), (1j,)) == (8 + 6j, 2 + 0j)


def test_a_step_against_the_conjugate_of_the_gradient_goes_downhill() -> None:
    goal = np.array([1 - 2j, 3j])
    loss = sg.value_and_grad(lambda z: np.sum(np.abs(z**2 - goal) ** 2))
    z = np.array([1 - 1j, 1 + 1j])
    for _ in range(200):
        value, slope = loss(z)
        z = z - 0.02 * slope.conj()
    assert value < 1e-8


def test_forward_and_reverse_agree() -> None:
    """``Re(ct * J v)`` from both sides, for a function that is not holomorphic."""
    rng = np.random.default_rng(0)
    v, ct = (rng.normal(size=7) + 1j * rng.normal(size=7) for _ in range(2))

    def f(z: Any) -> Any:
        return np.exp(z * W) * np.abs(z) + np.conj(z) * np.sum(z).real + np.sqrt(z)

    _, pushed = sg.jvp(f, (Z,), (v,))
    (pulled,) = sg.vjp(f, Z)[1](ct)
    assert np.sum(ct * pushed).real == pytest.approx(np.sum(pulled * v).real, rel=1e-12)
    h = 1e-6
    differences = (f(Z + h * v) - f(Z - h * v)) / (2 * h)
    np.testing.assert_allclose(np.delete(pushed, 5), np.delete(differences, 5), rtol=1e-7)  # a cut


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.quick(1)
def test_jacobians(mode: str) -> None:
    z = Z[:3]
    found = sg.jacobian(lambda z: z**3 * np.sum(z), mode=mode, holomorphic=True)(z)
    wanted = np.diag(3 * z**2 * z.sum()) + (z**3)[:, None]
    np.testing.assert_allclose(found, wanted, rtol=1e-13)
    found = sg.jacobian(lambda x: np.exp(1j * x), mode=mode)(z.real)
    np.testing.assert_allclose(found, np.diag(1j * np.exp(1j * z.real)), rtol=1e-14)
    found = sg.jacobian(lambda z: np.abs(z) ** 2, mode=mode)(z)
    np.testing.assert_allclose(found, np.diag(2 * z.conj()), rtol=1e-14)
    found = sg.jacobian(lambda z, x: {"y": (z * x).real}, argnums=(0, 1), mode=mode)(z, z.imag)
    np.testing.assert_allclose(found["y"][0], np.diag(z.imag), rtol=1e-14)
    np.testing.assert_allclose(found["y"][1], np.diag(z.real), rtol=1e-14)


def test_second_derivatives() -> None:
    z = Z[:3]
    found = sg.hessian(lambda z: np.sum(z**3), holomorphic=True)(z)
    np.testing.assert_allclose(found, np.diag(6 * z), rtol=1e-13)
    # |exp(ix) + 1|**2 = 2 + 2 cos x
    found = sg.hessian(lambda x: np.sum(np.abs(np.exp(1j * x) + 1) ** 2))(z.real)
    np.testing.assert_allclose(found, np.diag(-2 * np.cos(z.real)), atol=1e-14)
    found = sg.hvp(lambda z: np.sum(np.abs(z) ** 2), (z,), (z,))
    np.testing.assert_allclose(found, 2 * z.conj(), rtol=1e-13)


def test_aux_and_argnums() -> None:
    f = sg.value_and_grad(lambda x, z: (np.sum(x * z).real, {"w": z * 2}), argnums=(1, 0),
                          has_aux=True)  # fmt: skip
    (value, aux), (by_z, by_x) = f(W.real, Z)
    assert value == pytest.approx(np.sum(W.real * Z.real))
    np.testing.assert_array_equal(aux["w"], Z * 2)
    np.testing.assert_array_equal(by_z, W.real)
    np.testing.assert_array_equal(by_x, Z.real)
    assert by_z.dtype == np.complex128


# ---------------------------------------------------------------- batches and loops


def test_vmap() -> None:
    grid = np.arange(6).reshape(2, 3) * (1 + 1j)
    for axis in (0, 1, -1):
        found = sg.vmap(lambda z: (z * 2j, z.real), in_axes=axis, out_axes=(axis, 0))(grid)
        np.testing.assert_array_equal(found[0], grid * 2j)
    np.testing.assert_allclose(sg.vmap(sg.grad(lambda z: np.abs(z) ** 2))(Z), 2 * Z.conj())


def test_loops_and_branches() -> None:
    def series(z: Any) -> Any:
        return sg.fori_loop(0, 40, lambda k, s: 1 + z * s / (40 - k), 1 + 0j)

    z = 0.7 + 0.4j
    np.testing.assert_allclose(sg.compile(series)(z), np.exp(z), rtol=1e-14)
    np.testing.assert_allclose(sg.grad(series, holomorphic=True)(z), np.exp(z), rtol=1e-14)

    def running(z: Any) -> Any:
        return sg.scan(lambda c, x: (c * x, c + x), 1j, z)

    last, rows = sg.compile(running)(Z)
    np.testing.assert_allclose(last, 1j * np.prod(Z))
    np.testing.assert_allclose(rows, np.cumprod([1j, *Z[:-1]]) + Z)

    def branch(z: Any) -> Any:
        return sg.cond(np.abs(z) > 1, lambda z: z * z, lambda z: z + 1, z)

    assert sg.compile(branch)(2j) == -4
    assert sg.compile(branch)(0.5j) == 1 + 0.5j
    assert sg.grad(branch, holomorphic=True)(2j) == 4j


def test_stop_gradient_and_checkpoint() -> None:
    f = sg.grad(lambda z: (z * sg.stop_gradient(z)).real)
    assert f(3 + 4j) == 3 + 4j
    g = sg.grad(sg.checkpoint(lambda z: np.abs(np.exp(z))))
    assert g(0.5 + 1j) == pytest.approx(np.exp(0.5))


# ---------------------------------------------------------------- what can be read and checked


def test_formulas_and_certificates() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(np.abs(np.exp(x + 1j * y)) ** 2)

    assert sg.verify(f, np.array([0.3, -1.0]), np.array([0.5, 2.0])).max_ulp < 16
    assert "z[i, 0]" in str(sg.formula(lambda z: np.sum(np.abs(z) ** 2), Z))
    transform = str(sg.formula(lambda x: np.fft.fft(x).real, np.arange(4.0)))
    assert "cos(2*pi*i*j/n)" in transform


# ---------------------------------------------------------------- what is refused

REFUSED = {
    "grad of a complex result": (
        lambda: sg.grad(lambda z: z * z)(1j), ArgumentError, "holomorphic=True"),
    "holomorphic with real arguments": (
        lambda: sg.grad(lambda x: x * 1j, holomorphic=True)(1.0), ArgumentError, "is real"),
    "holomorphic with a real result": (
        lambda: sg.grad(np.abs, holomorphic=True)(1j), ArgumentError, "this one is real"),
    "jacobian": (lambda: sg.jacobian(lambda z: np.conj(z))(Z), ArgumentError, "holomorphic"),
    "hessian": (
        lambda: sg.hessian(lambda z: np.sum(np.abs(z)))(Z), ArgumentError, "holomorphic"),
    "complex tangent of a real argument": (
        lambda: sg.jvp(np.sin, (1.0,), (1j,)), ArgumentError, "must be real"),
    "complex cotangent of a real result": (
        lambda: sg.vjp(np.abs, 1j)[1](1j), ArgumentError, "must be real"),
    "floor": (lambda: sg.compile(np.floor)(Z), UnsupportedError, "not defined for complex"),
    "quantile": (
        lambda: sg.compile(lambda z: np.percentile(z, 30))(Z), UnsupportedError, "np.median"),
    "to real": (lambda: sg.compile(lambda z: z.astype(float))(Z), DTypeError, "z.real"),
    "float": (lambda: sg.compile(lambda z: float(z))(1j), TypeError, "z.real"),
    "into an array of reals": (
        lambda: sg.compile(lambda x: x.__setitem__(0, 1j))(W.real), DTypeError, "imaginary part"),
    "long double": (
        lambda: sg.compile(np.sin)(Z.astype(np.clongdouble)), DTypeError, "and complex128"),
    "condition": (lambda: sg.compile(lambda z: np.where(z, 1, 2))(Z), DTypeError, "condition"),
    "certificates": (
        lambda: sg.verify(lambda z: np.sum(np.abs(z)), Z), UnsupportedError, "imaginary parts"),
    "eager": (lambda: sg.tensor(Z), DTypeError, "complex"),
    "eager operand": (lambda: sg.tensor([1.0]) * 1j, DTypeError, "complex"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_say_what_to_write(case: str) -> None:
    call, error, text = REFUSED[case]
    with pytest.raises(error, match=text):
        call()


# ---------------------------------------------------------------- linear algebra


def matrices(*shape: int) -> Any:
    rng = np.random.default_rng(sum(shape))
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.quick(2)
def test_determinants_and_systems(backend: Any, dtype: Any) -> None:
    def f(a: Any, b: Any) -> Any:
        sign, size = np.linalg.slogdet(a)
        return np.linalg.det(a), sign, size, np.linalg.inv(a), np.linalg.solve(a, b), a @ b

    a, b = matrices(2, 3, 3).astype(dtype), matrices(2, 3, 2).astype(dtype)
    with sg.backend(backend):
        found = sg.compile(f)(a, b)
    for x, y in zip(found, f(a, b), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-4 if dtype is np.complex64 else 1e-12)


@pytest.mark.usefixtures("no_kernels")
def test_derivatives_of_determinants_and_systems() -> None:
    a, b = matrices(3, 3), matrices(3)
    inverse, det = np.linalg.inv(a), np.linalg.det(a)
    slope = sg.grad(np.linalg.det, holomorphic=True)(a)
    np.testing.assert_allclose(slope, det * inverse.T, rtol=1e-12)
    slope = sg.grad(lambda a: np.linalg.slogdet(a)[1])(a)
    np.testing.assert_allclose(slope, inverse.T, rtol=1e-12)
    sign, turned = sg.jvp(lambda a: np.linalg.slogdet(a)[0], (a,), (b[:, None] * b,))
    wanted = 1j * sign * np.trace(inverse @ (b[:, None] * b)).imag
    np.testing.assert_allclose(turned, wanted, rtol=1e-12)
    by_b = sg.jacobian(np.linalg.solve, argnums=1, holomorphic=True)(a, b)
    np.testing.assert_allclose(by_b, inverse, rtol=1e-12)
    slope = sg.grad(lambda a: np.sum(np.linalg.solve(a, b)), holomorphic=True)(a)
    wanted = -np.outer(inverse.T @ np.ones(3), inverse @ b)
    np.testing.assert_allclose(slope, wanted, rtol=1e-12)
    second = sg.hessian(np.linalg.det, holomorphic=True)(a[:2, :2])
    wanted = np.zeros((2, 2, 2, 2))
    for (i, j), sign in (((0, 0), 1), ((0, 1), -1), ((1, 0), -1), ((1, 1), 1)):
        wanted[i, j, 1 - i, 1 - j] = sign
    np.testing.assert_allclose(second, wanted, atol=1e-14)


def test_singular_matrices() -> None:
    assert sg.compile(np.linalg.det)(np.ones((2, 2)) * 1j) == 0
    sign, size = sg.compile(lambda a: tuple(np.linalg.slogdet(a)))(np.zeros((2, 2), complex))
    assert sign == 0
    assert size == -np.inf


def unitary(n: int) -> Any:
    return np.linalg.qr(matrices(n, n))[0]


@pytest.mark.usefixtures("no_kernels")
def test_vectors_turn_as_jaxs() -> None:
    """Angles of vectors in the complex plane are free; JAX's choice is kept by tangents."""
    a, t = matrices(4, 3), matrices(4, 3)[::-1]
    (u, s, vh), (du, ds, dvh) = sg.jvp(
        lambda a: tuple(np.linalg.svd(a, full_matrices=False)), (a,), (t,)
    )
    np.testing.assert_allclose((du * s) @ vh + (u * ds) @ vh + (u * s) @ dvh, t, atol=1e-13)
    np.testing.assert_allclose(np.diagonal(vh @ dvh.conj().T), 0, atol=1e-14)
    h = a.conj().T @ a
    (_, v), (_, dv) = sg.jvp(lambda h: tuple(np.linalg.eigh(h)), (h,), (t.conj().T @ t,))
    np.testing.assert_allclose(np.diagonal(v.conj().T @ dv), 0, atol=1e-14)
    (_, r), (_, dr) = sg.jvp(lambda a: tuple(np.linalg.qr(a)), (a,), (t,))
    np.testing.assert_array_equal(np.diagonal(r).imag, 0)
    np.testing.assert_allclose(np.diagonal(dr).imag, 0, atol=1e-14)
    (_, v), (_, dv) = sg.jvp(lambda a: tuple(np.linalg.eig(a)), (a[:3],), (t[:3],))
    largest = np.argmax(np.abs(v), axis=0), np.arange(3)
    np.testing.assert_allclose(dv[largest].imag, 0, atol=1e-14)
    np.testing.assert_allclose(np.sum(v.conj() * dv, axis=0).real, 0, atol=1e-14)


def test_gradients_of_eigenvalues() -> None:
    """By the left and right eigenvectors; of a real matrix they are real."""
    a, w = matrices(3, 3), matrices(3)
    for x in (a, a.real):
        _, v = np.linalg.eig(x)
        wanted = (np.linalg.inv(v).T * w) @ v.T
        found = sg.grad(lambda x: np.sum(np.linalg.eigvals(x) * w).real)(x)
        np.testing.assert_allclose(found, wanted if x is a else wanted.real, rtol=1e-11)


@pytest.mark.slow
def test_zeros_of_polynomials() -> None:
    c = np.array([2.0, -1.0, 3.0, 1.0])
    z = np.roots(c)
    np.testing.assert_array_equal(sg.compile(np.roots)(c), z)
    found = sg.jacobian(np.roots)(c)
    powers = z[:, None] ** np.arange(3, -1, -1)
    np.testing.assert_allclose(found, -powers / np.polyval(np.polyder(c), z)[:, None], rtol=1e-12)


def test_equal_eigenvalues_of_hermitian_matrices() -> None:
    """Functions of all of them are smooth, to second order too."""
    u = unitary(3)
    a = (u * [1.0, 1.0, 2.0]) @ u.conj().T
    found = sg.grad(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2))(a)
    np.testing.assert_allclose(found, 2 * a.conj(), atol=1e-13)


def test_eigenvalues_that_meet_have_no_derivative() -> None:
    single = sg.grad(lambda a: np.sum(np.linalg.eigvals(a)[0].real))
    with pytest.warns(DegeneracyWarning):
        found = single(np.array([[1.0, 1], [0, 1]]))
    assert not np.all(np.isfinite(found))


def test_eigenvalues_of_what_is_no_number(capfd: pytest.CaptureFixture[str]) -> None:
    """They are nan, in a batch only of that matrix, and LAPACK does not print."""
    for x in (np.array([[1.0, 2.0], [-3.0, 1.0]]), matrices(2, 2)):
        both = np.stack([np.full_like(x, np.nan), x])
        for backend in ("llvm", "numpy"):
            with sg.backend(backend):
                found = sg.compile(np.linalg.eigvals)(both)
            assert np.all(np.isnan(found[0]))
            np.testing.assert_allclose(found[1], np.linalg.eigvals(x), rtol=1e-14)
    assert capfd.readouterr() == ("", "")


# ---------------------------------------------------------------- Python's cmath


_OF_CMATH = [
    n for n in dir(cmath)
    if callable(getattr(cmath, n)) and not n.startswith("_") and n not in ("rect", "isclose")
]  # fmt: skip


@pytest.mark.parametrize("name", _OF_CMATH)
def test_functions_of_cmath(name: str) -> None:
    """Values are Python's, and derivatives along the real axis those of finite differences."""
    f = getattr(cmath, name)
    for a, b in ((0.5, 0.2), (-0.3, 0.7), (-0.5, 0.0)):
        found = sg.compile(lambda a, b: f(complex(a, b)))(a, b)
        np.testing.assert_allclose(found, f(complex(a, b)), rtol=1e-14)
        np.testing.assert_allclose(sg.compile(lambda a: f(a))(a), f(a), rtol=1e-14)
        if not name.startswith("is") and name not in ("polar", "phase"):
            slope = sg.grad(lambda a, b: f(complex(a, b)).real)(a, b)
            near = (f(complex(a + 1e-6, b)) - f(complex(a - 1e-6, b))).real / 2e-6
            np.testing.assert_allclose(slope, near, rtol=1e-6, atol=1e-8)


def test_cmath_of_two_numbers_and_by_other_names() -> None:
    from cmath import exp

    np.testing.assert_allclose(sg.compile(cmath.rect)(2.0, 0.7), cmath.rect(2.0, 0.7), rtol=1e-15)
    assert sg.compile(lambda z: cmath.isclose(z, 1.0 + 1e-12j))(1.0 + 0j)
    assert sg.grad(lambda x: cmath.log(x, 2).real)(0.5) == pytest.approx(2.0 / np.log(2.0))
    assert sg.grad(lambda x: exp(1j * x).real)(0.5) == pytest.approx(-np.sin(0.5))
    wave = lambda x, k: abs(cmath.exp(1j * k * x) + 1.0) ** 2  # noqa: E731
    assert sg.grad(wave)(0.3, 2.0) == pytest.approx(-4.0 * np.sin(0.6))
    assert sg.compile(lambda x: cmath.pi * x + cmath.exp(1j).real)(1.0) == pytest.approx(
        np.pi + np.cos(1.0)
    )


def test_guards_of_a_long_polynomial_are_joined_once() -> None:
    """By each coefficient they were joined anew, with which LLVM took all memory there was."""

    def polynomial(z: Any) -> Any:
        beyond = np.abs(z) > 1.0
        near = np.where(beyond, 1.0 / np.where(beyond, z, 2.0), z)
        total = 0.0 * near
        for k in range(30):
            total = total * near + 1.0 / (k + 1)
        return total

    slope = sg.grad(polynomial, holomorphic=True)
    truths = [s for s in slope.program(0.3 + 0.2j).steps if s.op.name.startswith("Bitwise")]
    assert len(truths) < 10
    near, h = 0.3 + 0.2j, 1e-6
    assert np.isclose(slope(near), (polynomial(near + h) - polynomial(near - h)) / (2 * h))
