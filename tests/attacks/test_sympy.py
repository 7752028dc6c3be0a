"""Random formulas over the classes that docs/coverage-sympy.md promises, against mpmath."""

from __future__ import annotations

import warnings
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp
from sympy.codegen import cfunctions, numpy_nodes

import symgrad as sg
from symgrad.errors import UnsupportedError
from tests.attacks.conftest import Attack

X, Y = sp.symbols("x y")
INDEX = sp.Symbol("i", integer=True)
T = sp.Symbol("t")

#: Functions of one number, and the interval that their arguments are brought to.
ONE: dict[Any, tuple[float, float]] = {
    sp.sin: (-3, 3), sp.cos: (-3, 3), sp.tan: (-1.2, 1.2), sp.exp: (-2, 2), sp.log: (0.3, 4),
    sp.sqrt: (0.2, 4), sp.asin: (-0.8, 0.8), sp.acos: (-0.8, 0.8), sp.atan: (-3, 3),
    sp.acot: (0.2, 3), sp.sinh: (-2, 2), sp.cosh: (-2, 2), sp.tanh: (-2, 2), sp.asinh: (-3, 3),
    sp.acosh: (1.2, 4), sp.atanh: (-0.8, 0.8), sp.acoth: (1.2, 4), sp.sec: (-1.2, 1.2),
    sp.csc: (0.3, 2.8), sp.cot: (0.3, 2.8), sp.sech: (-2, 2), sp.csch: (0.3, 2),
    sp.coth: (0.3, 2), sp.asec: (1.2, 4), sp.acsc: (1.2, 4), sp.asech: (0.2, 0.9),
    sp.acsch: (0.3, 3), sp.sinc: (0.3, 3), sp.erf: (-2, 2), sp.erfc: (-2, 2), sp.erfi: (-1, 1),
    sp.gamma: (0.5, 4), sp.loggamma: (0.5, 4), sp.digamma: (0.5, 4), sp.trigamma: (0.5, 4),
    sp.factorial: (0.3, 4), sp.LambertW: (0.2, 4), sp.Ei: (0.3, 2), sp.Si: (0.2, 4),
    sp.Ci: (0.3, 4), sp.Shi: (0.2, 2), sp.Chi: (0.3, 2), sp.li: (1.5, 4), sp.fresnels: (0.2, 2),
    sp.fresnelc: (0.2, 2), sp.airyai: (-2, 2), sp.airybi: (-2, 1), sp.airyaiprime: (-2, 2),
    sp.airybiprime: (-2, 1), sp.elliptic_k: (-1, 0.8), sp.elliptic_e: (-1, 0.8), sp.zeta: (1.3, 5),
    sp.dirichlet_eta: (0.3, 5), sp.catalan: (0.3, 3), sp.harmonic: (0.3, 4),
    sp.erfinv: (-0.8, 0.8), sp.erfcinv: (0.3, 1.7), sp.Li: (2.3, 4), sp.Abs: (0.3, 3),
    cfunctions.log10: (0.3, 4), cfunctions.log2: (0.3, 4), cfunctions.exp2: (-2, 2),
    cfunctions.expm1: (-2, 2), cfunctions.log1p: (-0.6, 3),
}  # fmt: skip

#: Functions of two numbers, and the intervals of both.
TWO: list[tuple[Any, tuple[float, float], tuple[float, float]]] = [
    (sp.beta, (0.5, 3), (0.5, 3)), (sp.binomial, (2, 4), (0.5, 1.5)), (sp.atan2, (-2, 2), (0.3, 2)),
    (sp.lowergamma, (0.5, 3), (0.3, 3)), (sp.uppergamma, (0.5, 3), (0.3, 3)),
    (lambda a, b: sp.besselj(1, a) * b, (0.3, 4), (-2, 2)),
    (lambda a, b: sp.bessely(0, a) * b, (0.3, 4), (-2, 2)),
    (lambda a, b: sp.besseli(2, a) + b, (0.3, 2), (-2, 2)),
    (lambda a, b: sp.besselk(1, a) + b, (0.3, 2), (-2, 2)),
    (lambda a, b: sp.expint(2, a) - b, (0.3, 3), (-2, 2)),
    (lambda a, b: sp.jn(1, a) + sp.yn(2, b), (0.5, 3), (0.5, 3)),
    (lambda a, b: sp.polylog(3, a) * b, (-0.9, 0.9), (-2, 2)),
    (lambda a, b: sp.hyper([1, sp.Rational(1, 2)], [2], a) + b, (-0.7, 0.7), (-2, 2)),
    (lambda a, b: sp.hyper([sp.Rational(1, 2)], [2], a) * b, (-1, 1), (-2, 2)),
    (lambda a, b: sp.elliptic_f(a, b), (-1, 1), (-0.5, 0.5)),
    (sp.RisingFactorial, (0.5, 3), (0.5, 2)), (lambda a, b: a**b, (0.3, 2), (-2, 2)),
    (lambda a, b: sp.Piecewise((a, a < b), (b**2, True)), (-2, 2), (-2, 2)),
    (lambda a, b: sp.Max(a, b) - sp.Min(a, b, 0), (-2, 2), (-2, 2)),
    (lambda a, b: sp.Sum(a**INDEX * b / sp.factorial(INDEX), (INDEX, 0, 6)), (-1, 1), (-2, 2)),
    (lambda a, b: sp.Product(1 + a * b / INDEX, (INDEX, 1, 4)), (-1, 1), (-1, 1)),
    (lambda a, b: sp.Integral(sp.exp(-a * T) * sp.cos(b * T), (T, 0, 1)), (-1, 1), (-1, 1)),
    (lambda a, b: _derivative_at(a, b), (-1, 1), (-1, 1)),
    (lambda a, b: sp.SingularityFunction(a, 0, 2) + b, (-2, 2), (-2, 2)),
    (lambda a, b: sp.legendre(3, a) + sp.chebyshevt(4, b), (-1, 1), (-1, 1)),
    (lambda a, b: sp.hermite(3, a) - sp.chebyshevu(2, b), (-1, 1), (-1, 1)),
    (lambda a, b: sp.gegenbauer(3, b, a), (-1, 1), (0.5, 2)),
    (lambda a, b: sp.jacobi(2, 1, b, a), (-1, 1), (0.5, 2)),
    (lambda a, b: sp.assoc_laguerre(3, b, a), (-1, 2), (0.5, 2)),
    (lambda a, b: sp.besselj(b, a), (0.5, 3), (0.2, 2)),
    (lambda a, b: sp.besseli(b, a), (0.5, 2), (0.2, 2)),
    (lambda a, b: sp.expint(sp.Rational(3, 2), a) + b, (0.3, 3), (-2, 2)),
    (lambda a, b: sp.hyper([], [b], a), (-1, 1), (0.5, 3)),
    (lambda a, b: sp.elliptic_e(a, b) - sp.elliptic_pi(a / 3, b), (-1, 1), (-0.5, 0.5)),
    (lambda a, b: sp.zeta(a, b), (1.5, 4), (0.5, 3)),
    (lambda a, b: sp.FallingFactorial(a, b), (2, 4), (0.5, 1.5)),
    (lambda a, b: sp.betainc_regularized(a, b, 0, sp.Rational(1, 3)), (0.5, 3), (0.5, 3)),
    (lambda a, b: sp.betainc(2, 3, 0, a) * b, (0.1, 0.9), (-2, 2)),
    (lambda a, b: sp.polygamma(2, a) / 9 + b, (0.7, 3), (-2, 2)),
    (lambda a, b: sp.multigamma(a, 2) * b, (1.5, 3), (-1, 1)),
    (lambda a, b: sp.Mod(a, 5) * sp.frac(b), (0.5, 4.5), (1.1, 1.9)),
    (lambda a, b: sp.Sum(sp.sin(INDEX * a) * sp.Integral(sp.exp(b * T), (T, 0, INDEX)) / 9,
                         (INDEX, 1, 3)), (-1, 1), (-1, 1)),
    (lambda a, b: sp.Piecewise((a * b, sp.And(a > 0, b < 1)), (sp.exp(a), a < b), (b, True)),
     (-2, 2), (-2, 2)),
    (lambda a, b: numpy_nodes.logaddexp(a, b), (-2, 2), (-2, 2)),
    (lambda a, b: cfunctions.hypot(a, b), (0.3, 2), (0.3, 2)),
]  # fmt: skip


def _derivative_at(a: Any, b: Any) -> Any:
    own = sp.Dummy("t")  # SymPy does not substitute for a name that is bound in the formula, too
    return sp.Subs(sp.Derivative(sp.sin(own * b) * own, own), own, a)


def _within(e: Any, interval: tuple[float, float]) -> Any:
    """Bring a formula's values to an interval, smoothly."""
    low, high = (sp.Rational(str(end)) for end in interval)
    return (low + high) / 2 + (high - low) / 2 * sp.sin(e)


def _formula(rng: np.random.Generator, depth: int) -> Any:
    if depth == 0:
        return [X, Y, sp.Rational(int(rng.integers(1, 9)), 4)][rng.integers(3)]
    kind = rng.integers(6)
    if kind < 2:
        function = list(ONE)[rng.integers(len(ONE))]
        return function(_within(_formula(rng, depth - 1), ONE[function]))
    if kind < 4:
        function, first, second = TWO[rng.integers(len(TWO))]
        a, b = (_formula(rng, depth - 1) for _ in range(2))
        return function(_within(a, first), _within(b, second))
    a, b = (_formula(rng, depth - 1) for _ in range(2))
    return a + b / 2 if kind == 4 else a * b - a


class _Exact:
    """A formula's values with 40 digits: by mpmath, by SymPy's evalf for what mpmath has not."""

    def __init__(self, formula: Any) -> None:
        subs = {e: e.doit() for e in formula.atoms(sp.Subs, sp.Product)}
        # SymPy prints betainc_regularized as mpmath's betainc, which is not regularized.
        self.formula = formula.xreplace(subs).replace(
            sp.betainc_regularized, lambda a, b, x, y: sp.betainc(a, b, x, y) / sp.beta(a, b)
        )
        self.function = sp.lambdify([X, Y], self.formula, "mpmath")

    def __call__(self, a: Any, b: Any) -> Any:
        """Return the value; None where there is none, or none that is real."""
        with mpmath.workdps(40):
            at = [mpmath.mpf(v.p) / v.q for v in (a, b)]
            try:
                value = self.function(*at)
            except (NameError, AttributeError, TypeError):
                value = self.formula.evalf(40, subs={X: a, Y: b})
                if not (value.is_Float or value.is_Rational):
                    return None
                value = mpmath.mpf(value)
            except (ValueError, ZeroDivisionError, mpmath.NoConvergence):
                return None
            if not mpmath.isfinite(value) or mpmath.im(value) != 0:
                return None
            return mpmath.re(value)


def _require_back(f: Any, formula: Any, place: Any, wanted: Any) -> None:
    """The formula that comes back has the values of the one that went in, to 35 digits.

    Of a formula without arguments the function gives a number, which is all there is to come back.
    """
    try:
        found = sg.symbolic(f, *map(float, place))
    except UnsupportedError:  # too large to be read
        return
    own = {sp.Symbol(s.name, real=True): s for s in (X, Y)}
    value = _Exact(found.xreplace(own))(*place)
    assert value is not None, (formula, found)
    bound = 1e-35 if formula.free_symbols else 1e-13
    assert abs(value - wanted) <= bound * max(1, abs(wanted)), (formula, found)


@pytest.mark.attack(quick=15, whole=20_000, part=100, judge="mpmath with 40 digits")
def test_sympy_formulas(attack: Attack) -> None:
    """Formulas over SymPy's functions and structures: values, two derivatives, arrays."""
    for case in attack:
        # Kernels take 0.2 s each.
        backend = "llvm" if case.number % 10 == 0 else "numpy"
        with case, warnings.catch_warnings(), sg.backend(backend), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            formula = _formula(case.rng, int(case.rng.integers(1, 3)))
            a, b = (sp.Rational(int(case.rng.integers(-40, 40)) * 2 + 1, 32) for _ in range(2))
            exact = _Exact(formula)
            wanted = exact(a, b)
            if wanted is None:
                case.tally("no value")
                continue
            f = sg.from_sympy(formula, [X, Y])
            at = float(a), float(b)
            scale = max(1.0, abs(float(wanted)))
            assert abs(f(*at) - float(wanted)) <= 1e-11 * scale, (formula, at)
            value, slope = sg.value_and_grad(f)(*at)
            assert abs(value - float(wanted)) <= 1e-11 * scale, (formula, at)
            h = sp.Rational(1, 10**9)
            up, down = (exact(a + d, b) for d in (h, -h))
            if up is None or down is None:
                case.tally("no value beside it")
                continue
            with mpmath.workdps(40):
                step = mpmath.mpf(h.p) / h.q
                first = float((up - down) / (2 * step))
                second = float((up - 2 * wanted + down) / step**2)
            size = max(scale, abs(first), abs(second))
            assert abs(slope - first) <= 1e-9 * size, (formula, at, slope, first)
            if case.number % 3 == 0:
                curvature = sg.grad(sg.grad(f))(*at)
                assert abs(curvature - second) <= 1e-7 * size, (formula, at, curvature, second)
            if case.number % 4 == 1:
                _require_back(f, formula, (a, b), wanted)
            rows = np.array([at[0], at[0] + 0.25]), np.array([[at[1]], [at[1]]])
            np.testing.assert_allclose(
                np.broadcast_to(sg.compile(f)(*rows), (2, 2))[0, 0], float(wanted), rtol=1e-10,
                atol=1e-11 * scale,
            )  # fmt: skip
