"""Formulas of SymPy's: functions, sums, integrals, matrices, arrays; values and derivatives.

References are SymPy's ``evalf`` with 30 digits and more, NumPy, and central differences of
``evalf`` with 40 digits.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp
from sympy.combinatorics import Permutation
from sympy.matrices.expressions import CompanionMatrix
from sympy.matrices.expressions.diagonal import DiagMatrix, DiagonalMatrix, DiagonalOf
from sympy.tensor.array.expressions import (
    ArrayAdd,
    ArrayContraction,
    ArrayDiagonal,
    ArraySymbol,
    ArrayTensorProduct,
    PermuteDims,
    Reshape,
)

import symgrad as sg
from symgrad.errors import ArgumentError, ShapeError, UnsupportedError

x, y, t = sp.symbols("x y t")
i, j, k = sp.symbols("i j k", integer=True)
HALF = sp.Rational(1, 2)

#: Formulas of x and y, at x = 0.37, y = 0.62.
FORMULAS: list[Any] = [
    sp.Sum(x**i, (i, 0, 10)), sp.Sum(x**i / sp.factorial(i), (i, 0, 10)),
    sp.Product(1 + x / i, (i, 1, 5)),
    sp.Sum(x**i, (i, 5, 2)), sp.Sum(x**i, (i, 5, 4)), sp.Product(x + i, (i, 5, 2)),
    sp.Integral(sp.exp(-x * t) * sp.sin(t), (t, 0, y)),
    sp.Integral(sp.exp(-x * t**2), (t, 0, sp.oo)),
    sp.Integral(sp.cos(x * t), (t, x, y)),
    sp.factorial(x), sp.binomial(x, y), sp.beta(x, y), sp.LambertW(x), sp.acot(x), sp.acot(-x),
    sp.acot(x + 1), sp.asec(1 + x), sp.acsc(1 + x), sp.asech(x), sp.acsch(x), sp.acoth(1 + x),
    sp.frac(3 * x), sp.expint(2, x), sp.expint(HALF, x), sp.expint(1, x), sp.jn(2, x), sp.yn(1, x),
    sp.uppergamma(x, y), sp.uppergamma(0, x), sp.uppergamma(-2, x), sp.uppergamma(-HALF, x),
    sp.lowergamma(x, y), sp.hyper([x], [y], x), sp.hyper([x, y], [1], x / 2), sp.hyper([], [y], x),
    sp.SingularityFunction(x, sp.Rational(1, 5), 2), sp.besseli(x, y), sp.besselj(1, x),
    sp.bessely(x, y), sp.besselk(2, x), sp.polylog(3, x), sp.polylog(3, -7 * x), sp.polylog(2, x),
    sp.polylog(-2, x), sp.polylog(4, -x / 3), sp.polylog(5, x + y), sp.polylog(1, x),
    sp.zeta(x), sp.zeta(-x), sp.zeta(2 + x), sp.zeta(2 + x, y), sp.dirichlet_eta(x),
    sp.dirichlet_eta(-x), sp.riemann_xi(x + 2), sp.elliptic_k(x), sp.elliptic_e(x),
    sp.elliptic_e(y, x), sp.elliptic_f(y, x), sp.elliptic_pi(x, y), sp.elliptic_pi(x, y, x / 3),
    sp.CRootOf(x**5 - x - 1, 0) * y, sp.Heaviside(x), sp.Heaviside(x - 1), sp.Si(x), sp.Ci(x),
    sp.Shi(x), sp.Chi(x), sp.li(x + 1), sp.Li(x + 2), sp.Ei(x), sp.erfi(x), sp.erfinv(x),
    sp.fresnels(x), sp.fresnelc(x), sp.airyai(x), sp.airybi(x), sp.airyaiprime(x),
    sp.airybiprime(x), sp.gamma(x), sp.loggamma(x), sp.digamma(x), sp.trigamma(x),
    sp.polygamma(2, x), sp.multigamma(3 + x, 2), sp.RisingFactorial(x, y),
    sp.FallingFactorial(x + 3, y), sp.catalan(x), sp.harmonic(x), sp.harmonic(x, 2 + y),
    sp.betainc(x, y, sp.Rational(1, 10), x), sp.betainc_regularized(x, y, 0, x),
    sp.Max(x, y), sp.Min(x, y, 1), sp.Mod(x, y), sp.sinc(x), sp.cot(x), sp.sec(x), sp.csc(x),
    sp.coth(x), sp.sech(x), sp.csch(x), sp.sqrt(x) ** -3, x * sp.stieltjes(1), x * sp.primepi(20),
    x * sp.Sum(1 / i**2, (i, 1, sp.oo)), sp.Piecewise((x, x < y), (y, True)),
    sp.acos(x), sp.asin(x), sp.atan(x), sp.acosh(x + 1), sp.asinh(x), sp.atanh(x), sp.cos(x),
    sp.cosh(x), sp.sinh(x), sp.tan(x), sp.tanh(x), sp.log(x), sp.atan2(x, y), sp.erf(x),
    sp.erfc(x), sp.ceiling(3 * x), sp.floor(3 * x), sp.sign(x - y), sp.exp(x), sp.re(x), sp.Abs(x),
    sp.Rem(5 * x, y),
    sp.meijerg([], [], [0], [], 1) * x,
]  # fmt: skip

PLACE = {x: sp.Rational("0.37"), y: sp.Rational("0.62")}


def _value(formula: Any, place: Any) -> Any:
    """SymPy's value with 40 digits."""
    done = formula.subs(place)
    if isinstance(formula, sp.riemann_xi):
        done = done.rewrite(sp.zeta)
    if done.has(sp.Sum, sp.Product) and not done.has(sp.oo):
        done = done.doit().doit()
    return done.evalf(40)


@pytest.mark.slow
@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_functions(formula: Any) -> None:
    f = sg.from_sympy(formula, [x, y])
    wanted = float(_value(formula, PLACE))
    assert f(0.37, 0.62) == pytest.approx(wanted, rel=1e-13)
    value, slopes = sg.value_and_grad(f, argnums=(0, 1))(0.37, 0.62)
    assert value == pytest.approx(wanted, rel=1e-13)
    h = sp.Rational(1, 10**12)
    for s, slope in zip((x, y), slopes, strict=True):
        up, down = (_value(formula, {**PLACE, s: PLACE[s] + d}) for d in (h, -h))
        assert slope == pytest.approx(float((up - down) / (2 * h)), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "formula",
    [sp.hankel1(x, y), sp.hankel2(1, y), sp.hn1(2, x), sp.hn2(1, x), sp.exp(sp.I * x * y),
     sp.Ynm(2, -1, x, y), sp.conjugate(x + sp.I * y), sp.sqrt(2) * sp.I + x],
    ids=str,
)  # fmt: skip
def test_complex_values(formula: Any) -> None:
    f = sg.from_sympy(formula, [x, y])
    wanted = complex(formula.subs(PLACE).evalf(30))
    assert f(0.37, 0.62) == pytest.approx(wanted, rel=1e-13)
    assert sg.compile(f)(0.37, 0.62) == pytest.approx(wanted, rel=1e-13)


def _catalan(z: Any) -> Any:
    return mpmath.binomial(2 * z, z) / (z + 1)


def _xi(z: Any) -> Any:
    gamma = mpmath.gamma(z / 2)
    return z * (z - 1) / 2 * mpmath.pi ** (-z / 2) * gamma * mpmath.zeta(z)


#: Functions that SciPy has for real numbers alone, and mpmath's of the complex numbers x and y.
OF_COMPLEX: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
    "zeta": (sp.zeta(x), lambda z, w: mpmath.zeta(z)),
    "eta": (sp.dirichlet_eta(x), lambda z, w: mpmath.altzeta(z)),
    "xi": (sp.riemann_xi(x), lambda z, w: _xi(z)),
    **{
        f"polylog {n}": (sp.polylog(n, x, evaluate=False), lambda z, w, n=n: mpmath.polylog(n, z))
        for n in (-2, 1, 2, 3, 6)
    },
    "K": (sp.elliptic_k(x), lambda z, w: mpmath.ellipk(z)),
    "E": (sp.elliptic_e(x), lambda z, w: mpmath.ellipe(z)),
    "F": (sp.elliptic_f(x, y), mpmath.ellipf),
    "E of two": (sp.elliptic_e(x, y), mpmath.ellipe),
    "beta": (sp.beta(x, y), mpmath.beta),
    "binomial": (sp.binomial(x, y), mpmath.binomial),
    "catalan": (sp.catalan(x), lambda z, w: _catalan(z)),
}


@pytest.mark.parametrize("name", OF_COMPLEX)
@pytest.mark.quick(2)
def test_complex_values_where_scipy_has_real_ones(name: str) -> None:
    """Right and left of where power series end, formulas are reflected or arguments inverted."""
    formula, reference = OF_COMPLEX[name]
    f = sg.from_sympy(formula, [x, y])
    slope = sg.grad(f, holomorphic=True)
    z = np.array([0.3 + 0.2j, -0.1 - 0.1j, 0.8 - 0.6j, -2.6 + 1.3j, 3.2 - 0.4j, 0.7 + 7.5j])
    if name in ("zeta", "eta"):
        z = np.concatenate([z, [0j, -6.3 + 0.5j, 0.5 + 79j, -3 - 40j, 90 + 3j, 1.001 + 1e-4j]])
    w = np.linspace(0.4 - 0.3j, -0.6 + 1.1j, len(z))
    with mpmath.workdps(40):
        pairs = [(mpmath.mpc(a), mpmath.mpc(b)) for a, b in zip(z, w, strict=True)]
        wanted = np.array([complex(reference(*p)) for p in pairs])
        slopes = [
            complex(mpmath.diff(lambda t, b=b: reference(t, b), a)) for a, b in pairs
        ]  # fmt: skip
    for call in (f, sg.compile(f)):
        np.testing.assert_allclose(call(z, w), wanted, rtol=2e-13)
        np.testing.assert_allclose(call(complex(z[0]), complex(w[0])), wanted[0], rtol=2e-14)
    found = [slope(*map(complex, p)) for p in zip(z, w, strict=True)]
    np.testing.assert_allclose(found, slopes, rtol=1e-11, atol=1e-15)


def test_complex_values_at_singled_out_places() -> None:
    at = {
        sp.zeta(x): (0.5 + 81j, np.nan), sp.dirichlet_eta(x): (1 + 0j, np.log(2)),
        sp.elliptic_k(x): (1 + 0j, np.inf), sp.elliptic_e(x): (1 + 0j, 1.0),
        sp.polylog(3, x, evaluate=False): (1 + 0j, 1.2020569031595942),
    }  # fmt: skip
    for formula, (place, wanted) in at.items():
        f = sg.from_sympy(formula, [x])
        for call in (f, sg.compile(f)):
            np.testing.assert_allclose(np.real(call(place)), wanted, rtol=1e-15)


def test_complex_values_of_functions_that_are_written_for_real_ones() -> None:
    """Their cases are told apart by comparisons, by which NumPy orders real parts."""
    z = x + sp.I * y
    formulas = [
        sp.zeta(x, z), sp.zeta(z, x), sp.harmonic(z, 3), sp.harmonic(x, z),
        sp.assoc_legendre(3, 2, z, evaluate=False), sp.SingularityFunction(z, 0, 2),
        sp.Integral(t * y, (t, 0, z)), sp.lowergamma(x, z), sp.trigamma(z), sp.Mod(z, 2),
    ]  # fmt: skip
    values: list[tuple[Any, Any]] = [(0.6, 0.3), (np.array([0.6]), np.array([0.3]))]
    for formula in formulas:
        f = sg.from_sympy(sp.re(formula, evaluate=False), [x, y])
        for u, v in values:
            for call in (f, sg.compile(f), lambda *a, f=f: sg.grad(lambda *b: f(*b).sum())(*a)):
                with pytest.raises((ArgumentError, UnsupportedError), match="complex"):
                    call(u, v)
    f = sg.from_sympy(sp.re(sp.erf2(z, y)), [x, y])
    wanted = float(sp.re((sp.erf(0.3) - sp.erf(0.6 + 0.3 * sp.I)).evalf()))
    assert f(0.6, 0.3) == pytest.approx(wanted, rel=1e-14)
    assert sg.compile(f)(0.6, 0.3) == pytest.approx(wanted, rel=1e-14)
    # Numbers are SymPy's to compute.
    for number in (sp.binomial(2 + sp.I, 3, evaluate=False), sp.trigamma(2 + sp.I)):
        assert sg.from_sympy(number * x, [x])(1.0) == pytest.approx(complex(number.evalf()))


@pytest.mark.parametrize(
    "formula",
    [
        sp.polylog(0, x, evaluate=False), sp.polylog(-3, x, evaluate=False),
        sp.hyper([y], [], x), sp.jn(y, x) - sp.yn(y, x), sp.fibonacci(x), sp.lucas(x),
        sp.riemann_xi(x), sp.factorial2(x), sp.expint(3, x), sp.uppergamma(-HALF, x),
        sp.uppergamma(-1, x), sp.expint(HALF, x), sp.uppergamma(0, x),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.quick
def test_numbers_of_pythons_and_of_numpys(formula: Any) -> None:
    """Poles are infinite and large values overflow, without errors of Python's floats."""
    f = sg.from_sympy(formula, [x, y])
    with np.errstate(all="ignore"):
        for u in (0.0, 1.0, 2.0, -1.0, 1e300, -1e300):
            wanted = f(np.float64(u), np.float64(0.5))
            np.testing.assert_allclose(f(u, 0.5), wanted, rtol=1e-15, err_msg=str(u))


def test_functions_without_a_value_by_evalf() -> None:
    from scipy import special

    f = sg.from_sympy([sp.erf2(x, y), sp.erfcinv(x), sp.erf2inv(x / 3, y / 5)], [x, y])
    wanted = [special.erf(0.62) - special.erf(0.37), special.erfcinv(0.37),
              special.erfinv(0.62 / 5 + special.erf(0.37 / 3))]  # fmt: skip
    np.testing.assert_allclose(f(0.37, 0.62), wanted, rtol=1e-14)
    g = sg.from_sympy([sp.factorial2(k), sp.fibonacci(k), sp.lucas(k)], [k])
    for n in range(8):
        exact = [sp.factorial2(n), sp.fibonacci(n), sp.lucas(n)]
        np.testing.assert_allclose(g(n), [float(e) for e in exact], rtol=1e-13)
    between = sg.from_sympy(sp.factorial2(x), [x])
    for at in (0.0, 0.3, 1.0, 2.5, 3.7, 5.0, -0.5):
        assert between(at) == pytest.approx(float(mpmath.fac2(at)), rel=1e-13), at
        slope = float(mpmath.diff(mpmath.fac2, at))
        assert sg.grad(between)(at) == pytest.approx(slope, rel=1e-12), at
    # Tails far out, where a difference of erf has no digits.
    far = sg.from_sympy(sp.erf2(x, y), [x, y])
    assert far(6.0, 7.0) == pytest.approx(
        float(sp.erfc(6).evalf(30) - sp.erfc(7).evalf(30)), rel=1e-13
    )
    assert far(-7.0, -6.0) == far(6.0, 7.0)


def test_conditions() -> None:
    conditions = [
        sp.Xor(x < y, y < 1), sp.ITE(x < y, x < 1, y < 1), sp.Nand(x < y, y < 1, evaluate=False),
        sp.Nor(x < y, y < 1, evaluate=False), sp.Implies(x < y, y > 1),
        sp.Equivalent(x < y, y > 1), sp.Contains(x, sp.Interval.open(0, 1)),
        sp.Contains(x, sp.Union(sp.Interval(-3, -2), sp.Interval(HALF, 2))),
    ]  # fmt: skip
    f = sg.from_sympy(conditions, [x, y])
    for a, b in ((0.3, 0.6), (0.7, 0.2), (-2.5, 4.0), (3.0, -1.0)):
        wanted = [bool(c.subs({x: a, y: b})) for c in conditions]
        assert list(map(bool, f(a, b))) == wanted
        assert list(map(bool, sg.compile(f)(a, b))) == wanted


def test_constants_have_gradients() -> None:
    for formula in (sp.Integer(2), sp.Rational(1, 3), sp.pi, x - x):
        assert sg.value_and_grad(sg.from_sympy(formula, [x]))(1.5) == (float(formula), 0.0)


def test_acot_has_its_derivative_at_zero() -> None:
    f = sg.from_sympy(sp.acot(x), [x])
    assert f(0.0) == np.pi / 2
    assert sg.grad(f)(0.0) == -1.0


# ---------------------------------------------------------------- sums


def test_one_compilation_serves_every_limit() -> None:
    n = sp.Symbol("n", integer=True)
    g = sg.value_and_grad(sg.from_sympy(sp.Sum(x**i / i, (i, 1, n)), [n, x]), argnums=1)
    for m in (3, 7, 40, 0):
        value, slope = g(m, 0.5)
        assert value == pytest.approx(sum(0.5**q / q for q in range(1, m + 1)))
        assert slope == pytest.approx(sum(0.5 ** (q - 1) for q in range(1, m + 1)))
    assert g.traces <= 2  # 0 is a kind of integer


def test_sums_of_elements() -> None:
    n, m = sp.symbols("n m", integer=True)
    a, b = sp.IndexedBase("a"), sp.IndexedBase("b", shape=(n,))
    f = sg.from_sympy(sp.Sum((a[i] - m * b[i]) ** 2, (i, 0, n - 1)), [a, b, m])
    u, v = np.arange(5.0), np.ones(5)
    assert f(u, v, 2) == np.sum((u - 2 * v) ** 2)
    np.testing.assert_allclose(sg.grad(f)(u, v, 2.0), 2 * (u - 2 * v))
    g = sg.from_sympy(sp.Sum(a[i] * a[i + 1], (i, 0, m)), [a, m])
    np.testing.assert_allclose(sg.grad(g)(u, 3), [1, 2, 4, 6, 3])
    # An empty sum, and SymPy's convention for a last limit further below.
    assert sg.compile(g)(u, -1) == g(u, -1) == 0.0
    assert sg.compile(g)(u, -3) == g(u, -3) == -(u[-2] * u[-1] + u[-1] * u[0])
    index = sp.Idx("i", n)
    h = sg.from_sympy(sp.Sum(b[index] ** 2, index), ["b"])
    np.testing.assert_allclose(sg.grad(h)(u), 2 * u)


def test_products_do_not_overflow_integers() -> None:
    n = sp.Symbol("n", integer=True)
    f = sg.from_sympy(sp.Product(i, (i, 1, n)), [n])
    assert f(30) == sg.compile(f)(30) == pytest.approx(float(sp.factorial(30)), rel=1e-15)


def test_sums_broadcast() -> None:
    f = sg.from_sympy(sp.Sum(sp.sin(i * x) * y, (i, 1, 4)), [x, y])
    u, v = np.linspace(0, 1, 3), np.ones((2, 1))
    wanted = sum(np.sin(q * u) * v for q in range(1, 5))
    np.testing.assert_allclose(f(u, v), wanted, rtol=1e-14)
    np.testing.assert_allclose(sg.compile(f)(u, v), wanted, rtol=1e-14)


def test_limits_that_depend_on_an_outer_index() -> None:
    f = sg.from_sympy(sp.Sum(sp.sin(i * x) * y / j, (i, 1, j), (j, 1, 3)), [x, y])
    pairs = [(p, q) for q in (1, 2, 3) for p in range(1, q + 1)]
    value, slope = sg.value_and_grad(f)(0.37, 0.62)
    assert value == pytest.approx(sum(np.sin(p * 0.37) * 0.62 / q for p, q in pairs))
    assert slope == pytest.approx(sum(p * np.cos(p * 0.37) * 0.62 / q for p, q in pairs))


# ---------------------------------------------------------------- integrals, derivatives


def test_integrals_by_leibniz_rule() -> None:
    f = sg.from_sympy(sp.Integral(sp.exp(-x * t), (t, 0, y)), [x, y])
    exact = sp.lambdify([x, y], sp.hessian((1 - sp.exp(-x * y)) / x, [x, y]))
    found = sg.hessian(f, argnums=(0, 1))(0.4, 1.5)
    np.testing.assert_allclose(
        [[found[p][q] for q in (0, 1)] for p in (0, 1)], exact(0.4, 1.5), rtol=1e-9
    )
    u = np.array([0.4, 2.0])
    np.testing.assert_allclose(f(u, 1.5), (1 - np.exp(-u * 1.5)) / u, rtol=1e-12)
    np.testing.assert_allclose(sg.compile(f)(u, 1.5), (1 - np.exp(-u * 1.5)) / u, rtol=1e-12)
    double = sg.from_sympy(sp.Integral(x * t * y, (t, 0, y), (y, 0, x)), [x])
    assert double(1.5) == pytest.approx(1.5**5 / 8)


def test_unevaluated_derivatives_and_substitutions() -> None:
    formulas = [
        sp.Derivative(sp.sin(x * y), x), sp.Derivative(sp.sin(x * y) * sp.exp(x), (x, 2), y),
        sp.Subs(x**2 * y, x, sp.sin(y)), sp.Subs(sp.Derivative(sp.sin(x * y), x), x, y),
        sp.Derivative(sp.Integral(sp.exp(-x * t), (t, 0, y)), x),
    ]  # fmt: skip
    f = sg.from_sympy(formulas, [x, y])
    wanted = [float(e.doit().subs(PLACE).evalf(30)) for e in formulas]
    np.testing.assert_allclose(f(0.37, 0.62), wanted, rtol=1e-10)
    np.testing.assert_allclose(sg.compile(f)(0.37, 0.62), wanted, rtol=1e-10)


def test_functions_and_their_derivatives_as_arguments() -> None:
    q = sp.Function("q")(t)
    f = sg.from_sympy(q.diff(t) ** 2 / 2 + q * x, [q, q.diff(t), x])
    assert f(1.0, 2.0, 3.0) == 5.0
    assert sg.grad(f, argnums=(0, 1, 2))(1.0, 2.0, 3.0) == (3.0, 2.0, 1.0)


def test_functions_that_read_symbols_without_a_module() -> None:
    """The class of ``q(t)`` has None as its module."""
    names = [sp.Function("p")(t), sp.Function("q")(t)]
    assert type(names[0]).__module__ is None
    f = sg.lambdify([names], names[0] * names[1])

    def doubled(v: Any) -> Any:
        assert len(names) == 2
        return 2 * f(v)

    np.testing.assert_array_equal(sg.grad(doubled)(np.array([2.0, 3.0])), [6.0, 4.0])
    with pytest.raises((ArgumentError, sg.errors.TraceError, TypeError)):
        sg.grad(lambda v: v * names[0])(2.0)


# ---------------------------------------------------------------- matrices and arrays

A, B, X = sp.MatrixSymbol("A", 3, 3), sp.MatrixSymbol("B", 3, 3), sp.MatrixSymbol("X", 3, 1)
RNG = np.random.default_rng(1)
VALUES = (RNG.normal(size=(3, 3)) + 3 * np.eye(3), RNG.normal(size=(3, 3)), RNG.normal(size=(3, 1)))

MATRICES: list[tuple[Any, Any]] = [
    (A * B, lambda a, b, v: a @ b), (A * X, lambda a, b, v: a @ v),
    (A.inv() * X, lambda a, b, v: np.linalg.solve(a, v)),
    (B * A.inv(), lambda a, b, v: b @ np.linalg.inv(a)),
    (A.inv() * B * X, lambda a, b, v: np.linalg.inv(a) @ b @ v),
    (X.T * A * X, lambda a, b, v: v.T @ a @ v), (2 * A - B, lambda a, b, v: 2 * a - b),
    (sp.Trace(A * B), lambda a, b, v: np.trace(a @ b)),
    (sp.Determinant(A), lambda a, b, v: np.linalg.det(a)),
    (A**2, lambda a, b, v: a @ a), (A**-2, lambda a, b, v: np.linalg.inv(a @ a)),
    (A.T, lambda a, b, v: a.T), (sp.HadamardProduct(A, B), lambda a, b, v: a * b),
    (sp.HadamardPower(A, 2), lambda a, b, v: a**2),
    (sp.KroneckerProduct(A, B), lambda a, b, v: np.kron(a, b)),
    (A + sp.Identity(3), lambda a, b, v: a + np.eye(3)),
    (DiagMatrix(X), lambda a, b, v: np.diag(v[:, 0])),
    (DiagonalOf(A), lambda a, b, v: np.diag(a)[:, None]),
    (DiagonalMatrix(A), lambda a, b, v: np.diag(np.diag(a))),
    (sp.BlockMatrix([[A, B], [B, A]]), lambda a, b, v: np.block([[a, b], [b, a]])),
    (sp.BlockDiagMatrix(A, B), lambda a, b, v: np.block([[a, 0 * a], [0 * b, b]])),
    (A[0, 1] * x, lambda a, b, v: 0.3 * a[0, 1]), (A[1:3, 0:2], lambda a, b, v: a[1:3, 0:2]),
    (A.applyfunc(sp.sin), lambda a, b, v: np.sin(a)),
    (sp.Sum(A[i, i], (i, 0, 2)), lambda a, b, v: np.trace(a)),
    (sp.FunctionMatrix(3, 3, sp.Lambda((i, j), i + 2 * j)) * A,
     lambda a, b, v: np.fromfunction(lambda p, q: p + 2 * q, (3, 3)) @ a),
    (A * sp.Matrix([1, 2, x]), lambda a, b, v: a @ [[1], [2], [0.3]]),
    (sp.PermutationMatrix(Permutation([1, 2, 0])) * A, lambda a, b, v: a[[1, 2, 0]]),
    (sp.MatMul(A.inv(), B.inv()), lambda a, b, v: np.linalg.inv(a) @ np.linalg.inv(b)),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", MATRICES, ids=lambda case: str(case[0]))
def test_matrices(case: Any) -> None:
    formula, plain = case
    f = sg.from_sympy(formula, [A, B, X, x])
    wanted = plain(*VALUES)
    for g in (f, sg.compile(f)):
        found = g(*VALUES, 0.3)
        assert np.shape(found) == np.shape(wanted)
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
    weights = np.cos(np.arange(np.size(wanted))).reshape(np.shape(wanted))
    slopes = sg.grad(lambda a: np.sum(f(a, *VALUES[1:], 0.3) * weights))(VALUES[0])
    for p, q in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[p, q] = 1e-6
        up, down = (np.sum(plain(VALUES[0] + d, *VALUES[1:]) * weights) for d in (step, -step))
        assert slopes[p, q] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-6)


def test_inverses_in_products_are_solved_for() -> None:
    text = str(sg.compile(sg.from_sympy(A.inv() * X, [A, X])).program(VALUES[0], VALUES[2]))
    assert "inv(" not in text
    assert "solve" in text or "lu" in text.lower()


def test_sizes_that_are_symbols() -> None:
    n = sp.Symbol("n", integer=True, positive=True)
    a, v = sp.MatrixSymbol("a", n, n), sp.MatrixSymbol("v", n, 1)
    g = sg.compile(sg.from_sympy(a.inv() * v + n * v + sp.Identity(n) * v, [a, v]))
    for size in (24, 25, 30):
        found = g(2 * np.eye(size), np.ones((size, 1)))
        np.testing.assert_allclose(found, np.full((size, 1), 1.5 + size))
    assert g.traces == 1


def test_arrays_of_any_rank() -> None:
    P, Q = ArraySymbol("P", (3, 3)), ArraySymbol("Q", (3,))
    a, v = VALUES[0], VALUES[2][:, 0]
    cases = [
        (ArrayTensorProduct(P, Q), np.tensordot(a, v, 0)),
        (ArrayContraction(ArrayTensorProduct(P, Q), (1, 2)), a @ v),
        (PermuteDims(P, [1, 0]), a.T), (ArrayDiagonal(P, (0, 1)), np.diag(a)),
        (ArrayAdd(P, P), 2 * a), (P[0, 1] * Q[2], a[0, 1] * v[2]), (Reshape(P, (9,)), a.ravel()),
    ]  # fmt: skip
    for formula, wanted in cases:
        f = sg.from_sympy(formula, [P, Q])
        np.testing.assert_allclose(f(a, v), wanted, rtol=1e-14)
        np.testing.assert_allclose(sg.compile(f)(a, v), wanted, rtol=1e-14)
    derivatives = sp.derive_by_array([sp.sin(x * t), x**2], [x, t])
    found = sg.from_sympy(derivatives, [x, t])(0.3, 0.4)
    c = np.cos(0.12)
    np.testing.assert_allclose(found, [[0.4 * c, 0.6], [0.3 * c, 0]], rtol=1e-15)
    assert sg.from_sympy(sp.Array([x, t, 1]), [x, t])(np.arange(2.0), 1.0).shape == (3, 2)


def test_arrays_that_are_written_out_stand_in_expressions_of_arrays() -> None:
    a, v = np.array([[0.3, 0.4], [0.12, 2.0]]), np.array([0.3, 0.4])
    P, Q = sp.Array([[x, y], [x * y, 2]]), sp.Array([x, y])
    cases = [
        (ArrayContraction(ArrayTensorProduct(P, P), (1, 2)), a @ a),
        (ArrayContraction(P, (0, 1)), 2.3), (ArrayAdd(P, P), 2 * a),
        (PermuteDims(P, [1, 0]), a.T), (ArrayTensorProduct(Q, P), np.tensordot(v, a, 0)),
        (ArrayTensorProduct(sp.ImmutableSparseNDimArray(P), Q), np.tensordot(a, v, 0)),
    ]  # fmt: skip
    for formula, wanted in cases:
        found = sg.from_sympy(formula, [x, y])(0.3, 0.4)
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_numbers_in_matrices_and_arrays_may_be_arrays() -> None:
    """Each element of an argument has the value that it has alone."""
    M, N = sp.ImmutableMatrix([[x, y], [x * y, 3]]), sp.ImmutableMatrix([[y, 1], [2, x]])
    C = sp.ImmutableMatrix([[1, 2], [3, 4]])
    P = sp.Array([[x, y], [x * y, 2]])
    v, w = sp.ImmutableMatrix([x, y, 1]), sp.ImmutableMatrix([y, x, 2])
    formulas = [
        sp.DotProduct(v, w), sp.Trace(sp.KroneckerProduct(M, N)),
        sp.Trace(sp.KroneckerProduct(C, M)), sp.Determinant(DiagMatrix(v)),
        sp.Trace(sp.BlockDiagMatrix(M, C) ** 2), sp.Trace(sp.BlockMatrix([[M, C], [C, N]]) ** 2),
        sp.Trace(DiagonalMatrix(M)), sp.Trace(M * N.inv() * C),
        ArrayContraction(ArrayTensorProduct(P, P), (0, 3), (1, 2)),
        ArrayContraction(ArrayTensorProduct(P, sp.Array([1, 2]), sp.Array([x, 3])), (0, 2), (1, 3)),
        ArrayContraction(PermuteDims(P, [1, 0]), (0, 1)),
        ArrayContraction(ArrayDiagonal(P, (0, 1)), (0,)),
    ]  # fmt: skip
    xs, ys = np.array([0.3, 0.7, -0.2]), np.array([[0.4], [1.5]])
    for formula in formulas:
        f = sg.from_sympy(formula, [x, y])
        wanted = np.array([[f(float(a), float(b)) for a in xs] for b in ys[:, 0]])
        np.testing.assert_allclose(
            np.broadcast_to(f(xs, ys), (2, 3)), wanted, rtol=1e-13, err_msg=str(formula)
        )
        compiled = np.broadcast_to(sg.compile(f)(xs, ys), (2, 3))
        np.testing.assert_allclose(compiled, wanted, rtol=1e-13, err_msg=str(formula))
    reshaped = sg.from_sympy(Reshape(PermuteDims(P, [1, 0]), (4,)), [x, y])(xs, ys)
    np.testing.assert_allclose(reshaped[..., 1], np.broadcast_to(xs * ys, (2, 3)), rtol=1e-15)


def test_companion_matrices() -> None:
    polynomial = sp.Poly([1, x, y, 2], t)
    f = sg.from_sympy(sp.Determinant(CompanionMatrix(polynomial)), [x, y])
    assert f(0.3, 0.4) == pytest.approx(-2.0, rel=1e-14)
    g = sg.from_sympy(sp.Trace(CompanionMatrix(polynomial) ** 2), [x, y])
    # The sum of the squares of the roots.
    assert g(0.3, 0.4) == pytest.approx(0.3**2 - 2 * 0.4, rel=1e-14)
    np.testing.assert_allclose(sg.grad(g, (0, 1))(0.3, 0.4), [0.6, -2.0], rtol=1e-14)


# ---------------------------------------------------------------- errors

q = sp.Function("q")(t)
array = sp.IndexedBase("array")
REFUSED: list[tuple[Any, Any, str]] = [
    (q * x, [x], r"functions that are not known: q; list them .* \(q\(t\)\)"),
    (sp.Symbol("x", positive=True), [x], r"other assumptions: .*positive=True"),
    (sp.Mul(x, sp.zoo, evaluate=False), [x], "zoo, complex infinity"),
    (sp.Limit(sp.sin(x) / x, x, t), [x, t], r"Limit is a limit .* \.doit\(\)"),
    (sp.Sum(array[i], (i, 0, sp.oo)), [array], "infinitely many terms"),
    (sp.Interval(0, x), [x], r"Interval is a set: .* Contains"),
    (sp.Integral(x, x), [x], "indefinite integral: write its limits"),
    (x + t, [x], "no arguments: t;"),
    (q.diff(t) + q, [q, t], r"Derivative\(q\(t\), t\) is not known: q\(t\) is an argument; list"),
    (sp.Derivative(q * t, (t, 2)), [t, q], r"is not known: q\(t\) is an argument"),
    (sp.Derivative(q.diff(t) ** 2, t), [t, q.diff(t)], r"Derivative\(q\(t\), t\) is an argument"),
    (sp.Integral(q.diff(t) * x, (x, 0, 1)), [t, q], r"is not known: q\(t\) is an argument"),
    (sp.Point(x, t), [x, t], r"Point2D is a thing of geometry"),
    (x + sp.O(x**3), [x], r"\.removeO\(\)"),
    (sp.hyper([1, 2, 3], [4, 5], x), [x], "3 upper and 2 lower parameters .*hyperexpand"),
    (sp.polylog(x, t), [x, t], "integer orders"),
    (sp.bell(x), [x], "counts or factors integers"),
    (sp.Lambda(x, x), [x], "is a function and no value"),
    (sp.Q.positive(x), [x], "write it as a relation"),
    (sp.MatPow(A, HALF), [A], "integer exponents"),
    ("x + 1", [x], r"write sg.from_sympy\(sg.parse\('x \+ 1'\), symbols\)"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_refusals_say_the_part_and_what_to_write(case: int) -> None:
    formula, names, message = REFUSED[case]
    with pytest.raises((ArgumentError, UnsupportedError), match=message):
        sg.from_sympy(formula, names)


def test_values_that_do_not_fit() -> None:
    with pytest.raises(ShapeError, match=r"shape \(3, 1\), .* \(3,\): write x\[:, None\]"):
        sg.from_sympy(A * X, [A, X])(VALUES[0], np.ones(3))
    with pytest.raises(ShapeError, match=r"A has shape \(3, 3\), and the value has \(4, 4\)"):
        sg.from_sympy(sp.Trace(A), [A])(np.ones((4, 4)))
    with pytest.raises(ArgumentError, match="limits of the sum or product over i are integers"):
        sg.from_sympy(sp.Sum(x**i, (i, 0, t)), [x, t])(1.0, np.arange(3.0))
    meter = pytest.importorskip("sympy.physics.units").meter
    with pytest.raises(UnsupportedError, match="is a unit: convert_to"):
        sg.from_sympy(meter * x, [x])
    assert np.isnan(sg.from_sympy(sp.nan, [x])(1.0))
    assert sg.from_sympy(sp.oo, [x])(1.0) == np.inf


# ---------------------------------------------------------------- wide sums


def _wide(kind: str, n: int) -> tuple[Any, Any]:
    """A sum of n terms, and its value by NumPy."""
    rng = np.random.default_rng(3)
    if kind == "sines":
        rows = [(k + 1, n - k) for k in range(n)]
        formula = sp.Add(*(sp.Rational(a, n) * sp.sin(b * x / n) * y ** (a % 5) for a, b in rows))
        return formula, lambda u, v: sum(a / n * np.sin(b * u / n) * v ** (a % 5) for a, b in rows)
    if kind == "lines":
        triples = rng.uniform(0.5, 2, (n, 3)).tolist()
        formula = sp.Add(*(a * sp.exp(-((x - c) ** 2) / w) * y for a, c, w in triples))
        return formula, lambda u, v: sum(a * np.exp(-((u - c) ** 2) / w) * v for a, c, w in triples)
    powers = sorted({(int(a), int(b)) for a, b in rng.integers(0, 40, (n, 2))})
    formula = sp.Add(*((a - b + 50) * x**a * y**b for a, b in powers))
    return formula, lambda u, v: sum((a - b + 50) * u**a * v**b for a, b in powers)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sines", "lines", "powers"])
def test_wide_sums(kind: str) -> None:
    formula, plain = _wide(kind, 120)
    f = sg.from_sympy(formula, [x, y])
    assert f(0.3, 0.7) == pytest.approx(plain(0.3, 0.7), rel=1e-13)
    value, slopes = sg.value_and_grad(f, argnums=(0, 1))(0.3, 0.7)
    assert value == pytest.approx(plain(0.3, 0.7), rel=1e-13)
    h = 1e-20  # the imaginary part of a step is the derivative
    assert slopes[0] == pytest.approx(plain(0.3 + 1j * h, 0.7).imag / h, rel=1e-12)
    assert slopes[1] == pytest.approx(plain(0.3, 0.7 + 1j * h).imag / h, rel=1e-12)
    a, b = np.linspace(-0.9, 0.9, 5), np.linspace(0.2, 0.9, 3)[:, None]
    for g in (f, sg.compile(f)):
        np.testing.assert_allclose(g(a, b), plain(a, b), rtol=1e-12, atol=1e-13)
        assert g(np.float32(0.3), np.float32(0.7)).dtype == np.float32
    np.testing.assert_allclose(sg.vmap(f)(a, a), plain(a, a), rtol=1e-12, atol=1e-13)
    slope = sg.grad(lambda u: np.sum(f(u, b)))(a)
    np.testing.assert_allclose(slope, plain(a + 1j * h, b).imag.sum(0) / h, rtol=1e-11, atol=1e-12)


#: Exponents of each variable, what it is, and the share of the products that is there.
POLYNOMIALS = {
    "dense": ({x: range(9), y: range(9)}, 1.0),
    "half of them": ({x: range(8), y: range(5), t: range(6)}, 0.5),
    "gaps": ({x: (0, 2, 7, 11), y: (1, 2, 4, 8, 16), t: (0, 1, 5, 6)}, 1.0),
    "no low powers": ({x: range(3, 12), y: range(2, 11)}, 0.9),
    "of functions": ({sp.sin(x): range(9), sp.gamma(y + 1): range(9)}, 0.8),
    "one variable": ({x: range(150)}, 0.9),
    "sparse": ({x: range(40), y: range(40), t: range(40)}, 0.003),
    "long": ({x: range(0, 900, 3)}, 1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize("kind", POLYNOMIALS)
def test_polynomials(kind: str, others: bool) -> None:
    """Against exact rational numbers; in arrays, single precision, complex, and twice derived."""
    exponents, share = POLYNOMIALS[kind]
    rng = np.random.default_rng(5)
    terms = [
        sp.Rational(int(rng.integers(-50, 50)) or 3, int(rng.integers(1, 9)))
        * sp.Mul(*(base**k for base, k in zip(exponents, row, strict=True)))
        for row in product(*exponents.values())
        if rng.random() < share
    ]
    assert len(terms) > 64
    if others:
        terms += [k * sp.exp(-((x - k) ** 2)) for k in range(70)] + [sp.sqrt(y + k) for k in (2, 3)]
    formula = sp.Add(*terms)
    names, place = [x, y, t], [sp.Rational(-7, 8), sp.Rational(5, 4), sp.Rational(1, 2)]

    def exact(e: Any, at: Any) -> complex:
        return complex(e.subs(dict(zip(names, at, strict=True))).evalf(30))

    size = sum(abs(exact(term, place)) for term in formula.args)
    f, at = sg.from_sympy(formula, names), [float(v) for v in place]
    wanted = exact(formula, place).real
    for g in (f, sg.compile(f)):
        assert g(*at) == pytest.approx(wanted, abs=1e-14 * size)
        assert g(*map(np.float32, at)).dtype == np.float32
        assert g(*map(np.float32, at)) == pytest.approx(wanted, abs=1e-5 * size)
    steps = 1e-13 * size * 900
    gradient = sg.grad(f, argnums=(0, 1, 2))(*at)
    for v, found in zip(names, gradient, strict=True):
        assert found == pytest.approx(exact(formula.diff(v), place).real, abs=steps)
    second = sg.grad(sg.grad(f))(*at)
    assert second == pytest.approx(exact(formula.diff(x, 2), place).real, abs=1e3 * steps)
    many = np.array([-0.875, 0.25])
    rows = [exact(formula, (sp.Rational(v), *place[1:])).real for v in many]
    np.testing.assert_allclose(f(many, *at[1:]), rows, rtol=0, atol=1e-13 * size)
    np.testing.assert_allclose(
        sg.grad(lambda u: np.sum(f(u, *at[1:])))(many)[0], gradient[0], rtol=0, atol=steps
    )
    if not others:
        wanted = exact(formula, (sp.Rational(1, 2) + sp.I / 4, *place[1:]))
        assert f(0.5 + 0.25j, *at[1:]) == pytest.approx(wanted, abs=1e-12 * size)


def test_polynomials_that_are_not_collected() -> None:
    """Equal monomials, and powers of one variable side by side, unevaluated."""
    factors = [sp.Mul(k + 1, x**k, x, y**j, evaluate=False) for k in range(6) for j in range(7)]
    formula = sp.Add(*factors, *factors, sp.Integer(2), sp.Integer(3), evaluate=False)
    f = sg.from_sympy(formula, [x, y])
    wanted = 5 + 2 * sum((k + 1) * 0.7 ** (k + 1) * 0.9**j for k in range(6) for j in range(7))
    assert f(0.7, 0.9) == sg.compile(f)(0.7, 0.9) == pytest.approx(wanted, rel=1e-14)
    np.testing.assert_allclose(f(np.array([0.7]), 0.9), [wanted], rtol=1e-14)


def test_a_polynomial_in_thousands_of_terms_is_short() -> None:
    z = sp.Symbol("z")
    powers = product(range(7), repeat=4)
    formula = sp.Add(*(sp.Mul(a + 1, x**a, y**b, t**c, z**d) for a, b, c, d in powers))
    f = sg.from_sympy(formula, [x, y, t, z])
    assert f(1.0, 1.0, 1.0, 1.0) == 28 * 7**3
    assert f(0.0, 0.0, 0.0, 0.0) == 1.0
    assert len(str(sg.value_and_grad(f).program(0.3, 0.7, 0.2, 0.1)).splitlines()) < 200


def test_programs_of_wide_sums_do_not_grow() -> None:
    lengths = []
    for n in (100, 300):
        f = sg.from_sympy(_wide("lines", n)[0], [x, y])
        lengths.append(len(str(sg.value_and_grad(f).program(0.3, 0.7)).splitlines()))
    assert lengths[0] == lengths[1]


def test_deep_formulas() -> None:
    formula, wanted = x, 0.3
    for _ in range(1000):
        formula = sp.Add(sp.sin(formula, evaluate=False), x, evaluate=False)
        wanted = np.sin(wanted) + 0.3
    assert sg.from_sympy(formula, [x])(0.3) == wanted


@pytest.mark.parametrize("value", [[[1.0], [2.0, 3.0]], ["a"], [None]])
def test_a_list_for_a_name_that_is_text(value: Any) -> None:
    """An array, as for a symbol; a list that is none is refused by its argument's name."""
    f = sg.from_sympy(sp.Symbol("x") ** 2, ["x"])
    np.testing.assert_array_equal(f([1.0, 2.0]), [1.0, 4.0])
    with pytest.raises(ArgumentError, match="x is a number or an array"):
        f(value)


def test_powers_of_numbers_that_overflow_are_infinite() -> None:
    """In a sum that Python adds up they are Python's numbers, whose powers raise errors."""
    x, k = sp.symbols("x k")
    f = sg.from_sympy(sp.Sum(9 ** (9**k) * x, (k, 0, 9)), [x])
    with np.errstate(over="ignore"):
        assert f(0.7) == np.inf


def test_formulas_that_sympy_cannot_print() -> None:
    """It inverts a matrix for the sign of a product, and asks whether its elements are constant."""
    inner = sp.Trace(sp.HadamardPower(sp.ImmutableMatrix([[y + 4, x], [x * y, 3]]), 3))
    first = sp.ImmutableMatrix([[x + 4, sp.sin(inner)], [1, 3]])
    second = sp.ImmutableMatrix([[sp.sin(inner) + 4, x], [x * sp.sin(inner), 3]])
    f = sg.from_sympy(sp.Trace(sp.MatMul(first, sp.Inverse(second))), [x, y])
    s = np.sin((0.62 + 4) ** 3 + 27)
    a, b = np.array([[0.37 + 4, s], [1, 3]]), np.array([[s + 4, 0.37], [0.37 * s, 3]])
    assert f(0.37, 0.62) == pytest.approx(np.trace(a @ np.linalg.inv(b)), rel=1e-13)


def test_no_constant_is_computed_to_print_a_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    """SymPy's printer sorts terms by their constant factors: minutes for some."""
    inner = sp.sin(sp.riemann_xi(sp.sin(2)) + 2)
    formula = inner * sp.sqrt(sp.pi) * sp.exp(x) + 2 * sp.cos(inner) + x**2
    computed: list[Any] = []
    plain = sp.Expr.__complex__
    monkeypatch.setattr(sp.Expr, "__complex__", lambda e: computed.append(e) or plain(e))
    f = sg.from_sympy(formula, [x])
    assert not computed
    assert "riemann_xi" in (f.__doc__ or "")
    assert "x**2 + x" in (sg.from_sympy(x + x**2, [x]).__doc__ or "")


def test_no_matrix_is_inverted_to_print_a_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    """SymPy's printer asks for the sign of a product of matrices: minutes for 2 by 2."""
    inverted: list[Any] = []
    plain = sp.ImmutableMatrix.inv
    monkeypatch.setattr(
        sp.ImmutableMatrix, "inv", lambda m, **more: inverted.append(m) or plain(m, **more)
    )
    small = sp.ImmutableMatrix([[sp.sin(x) + 4, y], [x * y, 3]])
    f = sg.from_sympy(sp.Trace(sp.MatMul(small, sp.Inverse(small.T))), [x, y])
    assert not inverted
    m = np.array([[np.sin(0.3) + 4, 0.4], [0.12, 3]])
    assert f(0.3, 0.4) == pytest.approx(np.trace(m @ np.linalg.inv(m.T)))


def test_complex_integrals_from_right_to_left() -> None:
    """SciPy's ``quad`` with ``complex_func=True`` has the sign of one from left to right."""
    for first, last in ((1, -2), (-2, 1), (x, 0), (0, x)):
        formula = sp.Integral(sp.exp(sp.I * i * y), (i, first, last))
        f = sg.from_sympy(formula, [x, y])
        wanted = complex(formula.subs(PLACE).evalf(20))
        assert f(0.37, 0.62) == pytest.approx(wanted, rel=1e-13)
        assert sg.compile(f)(0.37, 0.62) == pytest.approx(wanted, rel=1e-13)
        np.testing.assert_allclose(f(np.array([0.37, 0.37]), 0.62), [wanted, wanted], rtol=1e-13)
