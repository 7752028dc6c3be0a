"""A formula that went in through ``from_sympy`` comes back: equal, differentiable, readable.

References are the formulas themselves, SymPy's ``diff``, and ``evalf`` with 60 digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.codegen import numpy_nodes

import symgrad as sg
from symgrad.errors import ArgumentError, UnsupportedError
from tests.test_from_sympy import FORMULAS, PLACE, x, y

DIGITS = 50

a, b, c, k, m, n, q, r, s, t, u, v, w, z = sp.symbols("a b c k m n q r s t u v w z", real=True)
A, B, D, E, G, K, L, M, P, R, S, T, V = sp.symbols("A B D E G K L M P R S T V", real=True)
alpha, beta, gamma, epsilon, eta, theta, mu, nu, rho, sigma, tau, phi, omega = sp.symbols(
    "alpha beta gamma epsilon eta theta mu nu rho sigma tau phi omega", real=True
)
hbar, c0, kB = sp.symbols("hbar c0 k_B", real=True)
i = sp.Symbol("i", integer=True)
HALF = sp.Rational(1, 2)


def _normal(e: Any) -> Any:
    return (1 + sp.erf(e / sp.sqrt(2))) / 2


_d1 = (sp.log(S / K) + (r + sigma**2 / 2) * T) / (sigma * sp.sqrt(T))
_root = sp.sqrt(1 - (v / c0) ** 2)

#: Formulas of physics, chemistry, engineering, biology, statistics and finance.
CORPUS: dict[str, Any] = {
    "Planck's law": 2 * hbar * nu**3 / c0**2 / (sp.exp(hbar * nu / (kB * T)) - 1),
    "Lorentz transformation": (z - v * t) / _root,
    "kinetic energy": m * c0**2 * (1 / _root - 1),
    "Schwarzschild orbit": m * u**2 / 2 + L**2 / (2 * r**2) - G * M / r - G * M * L**2 / r**3,
    "damped oscillator": A * sp.exp(-gamma * t) * sp.cos(sp.sqrt(omega**2 - gamma**2) * t + phi),
    "resonance": A / sp.sqrt((omega**2 - w**2) ** 2 + (2 * gamma * w) ** 2),
    "pendulum's period": 4 * sp.sqrt(L / G) * sp.elliptic_k(sp.sin(theta / 2) ** 2),
    "Lennard-Jones": 4 * epsilon * ((sigma / r) ** 12 - (sigma / r) ** 6),
    "Morse": D * (1 - sp.exp(-a * (r - b))) ** 2,
    "Yukawa": -(G**2) * sp.exp(-m * r) / r,
    "van der Waals": R * T / (V - b) - a / V**2,
    "Redlich-Kwong": R * T / (V - b) - a / (sp.sqrt(T) * V * (V + b)),
    "Antoine": 10 ** (A - B / (c + T)),
    "Arrhenius": A * sp.exp(-E / (R * T)),
    "Nernst": E - R * T / (n * k) * sp.log(q),
    "Butler-Volmer": A * (sp.exp(alpha * n * u / T) - sp.exp(-(1 - alpha) * n * u / T)),
    "Debye-Hueckel": -A * z**2 * sp.sqrt(s) / (1 + B * a * sp.sqrt(s)),
    "Michaelis-Menten with inhibition": V * s / (K * (1 + q / k) + s),
    "Hill": V * s**n / (K**n + s**n),
    "one compartment": D * k / (V * (k - a)) * (sp.exp(-a * t) - sp.exp(-k * t)),
    "Gompertz": K * sp.exp(sp.log(m / K) * sp.exp(-a * t)),
    "Debye's heat capacity":
        9 * n * (T / theta) ** 3
        * sp.Integral(t**4 * sp.exp(t) / (sp.exp(t) - 1) ** 2, (t, 0, theta / T)),
    "Airy disc": (2 * sp.besselj(1, u) / u) ** 2,
    "thin film": 2 * R * (1 - sp.cos(4 * sp.pi * n * L / w)) / (1 + R**2 - 2 * R * sp.cos(q)),
    "Voigt by parts": eta / (1 + u**2) + (1 - eta) * sp.exp(-sp.log(2) * u**2),
    "Gaussian beam": w * sp.sqrt(1 + (z * L / (sp.pi * w**2)) ** 2),
    "hydrogen 2p": r / (4 * sp.sqrt(2 * sp.pi * a**5)) * sp.exp(-r / (2 * a)) * sp.cos(theta),
    "harmonic oscillator 3": sp.hermite(3, u) * sp.exp(-(u**2) / 2) / sp.sqrt(48 * sp.sqrt(sp.pi)),
    "Fermi-Dirac": 1 / (sp.exp((E - mu) / (kB * T)) + 1),
    "Stirling's remainder": sp.loggamma(u) - (u - HALF) * sp.log(u) + u - sp.log(2 * sp.pi) / 2,
    "heat kernel": sp.exp(-(u**2) / (4 * D * t)) / sp.sqrt(4 * sp.pi * D * t),
    "Ogata-Banks":
        A / 2 * (sp.erfc((u - v * t) / (2 * sp.sqrt(D * t)))
                 + sp.exp(v * u / D) * sp.erfc((u + v * t) / (2 * sp.sqrt(D * t)))),
    "well in an aquifer": q / (4 * sp.pi * T) * sp.expint(1, r**2 * s / (4 * T * t)),
    "Colebrook by Lambert": (sp.log(10) / 2 / sp.LambertW(u * sp.log(10) / 2)) ** 2,
    "Manning": sp.Rational(1, 97) * A ** sp.Rational(5, 3) * sp.sqrt(s) / P ** sp.Rational(2, 3),
    "Black-Scholes": S * _normal(_d1) - K * sp.exp(-r * T) * _normal(_d1 - sigma * sp.sqrt(T)),
    "Vasicek's bond": sp.exp(-r * (1 - sp.exp(-a * T)) / a),
    "annuity": P * sp.Sum((1 + r) ** (-i), (i, 1, 12)),
    "Student's density":
        sp.gamma((nu + 1) / 2) / (sp.sqrt(nu * sp.pi) * sp.gamma(nu / 2))
        * (1 + u**2 / nu) ** (-(nu + 1) / 2),
    "beta density": u ** (alpha - 1) * (1 - u) ** (beta - 1) / sp.beta(alpha, beta),
    "von Mises": sp.exp(k * sp.cos(u - mu)) / (2 * sp.pi * sp.besseli(0, k)),
    "Kepler": theta - epsilon * sp.sin(theta) - m,
    "haversine":
        2 * R * sp.asin(sp.sqrt(sp.sin((u - v) / 2) ** 2
                                + sp.cos(u) * sp.cos(v) * sp.sin((a - b) / 2) ** 2)),
    "beam, by Macaulay": P / (6 * E) * (
        sp.SingularityFunction(u, 0, 3) - 2 * sp.SingularityFunction(u, a, 3)),
    "rectifier": sp.Piecewise((u**2 / R, u > 0), (0, True)),
    "soft wall": sp.Max(0, r - u) ** 2 / 2 + sp.Abs(r - 2 * u),
}  # fmt: skip


def _values(formula: Any) -> dict[Any, Any]:
    """A value for each symbol: between 0.4 and 0.9, which all formulas have."""
    names = sorted(formula.free_symbols, key=str)
    return {e: sp.Rational(51 + 37 * p % 50, 113) for p, e in enumerate(names)}


def _back(formula: Any, place: Any, **options: Any) -> Any:
    """What comes of a formula that goes in, in its own symbols."""
    names = sorted(place, key=str)
    f = sg.from_sympy(formula, names)
    found = (sg.derivative if options else sg.symbolic)(f, *(float(place[e]) for e in names),
                                                       **options)  # fmt: skip
    return found.xreplace({sp.Symbol(e.name, real=True): e for e in names})


def _number(formula: Any, place: Any) -> Any:
    done = formula.subs(place)
    if done.has(sp.riemann_xi):
        done = done.rewrite(sp.zeta)
    if done.has(sp.Sum, sp.Product) and not done.has(sp.oo):
        done = done.doit().doit()
    return done.evalf(DIGITS + 10)


def _same(found: Any, formula: Any, place: Any) -> None:
    if found == formula:
        return
    got, wanted = _number(found, place), _number(formula, place)
    assert abs(got - wanted) <= sp.Float(10) ** -DIGITS * max(1, abs(wanted)), (found, got, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_every_function_comes_back(formula: Any) -> None:
    """The functions that docs/coverage-sympy.md promises; the table is complete by a test."""
    _same(_back(formula, PLACE), formula, PLACE)


@pytest.mark.parametrize("name", CORPUS)
def test_formulas_come_back(name: str) -> None:
    formula = CORPUS[name]
    _same(_back(formula, _values(formula)), formula, _values(formula))


@pytest.mark.parametrize("name", CORPUS)
def test_derivatives_of_what_comes_back(name: str) -> None:
    formula = CORPUS[name]
    place = _values(formula)
    names = sorted(place, key=str)
    for p in (0, len(names) // 2, len(names) - 1):
        found = _back(formula, place, wrt=p)
        _same(found, formula.diff(names[p]), place)


@pytest.mark.parametrize("name", CORPUS)
def test_latex_of_what_comes_back(name: str) -> None:
    """As short as SymPy's own of the formula, and drawn by matplotlib but for cases and limits."""
    formula = CORPUS[name]
    place = _values(formula)
    names = sorted(place, key=str)
    f = sg.from_sympy(formula, names)
    drawn = sg.latex(f, *(float(place[e]) for e in names))
    assert len(drawn) <= 1.3 * len(sp.latex(formula)) + 10
    if not any(word in drawn for word in (r"\begin{cases}", r"\limits")):
        pytest.importorskip("matplotlib.mathtext").MathTextParser("path").parse(f"${drawn}$")


def test_names_that_a_formula_binds_capture_nothing() -> None:
    """An argument may be called as the index of a sum or the variable of an integral."""
    total = sg.from_sympy(sp.Sum(x**i / i, (i, 1, 3)), [x])
    found = sg.symbolic(lambda i: total(i * i), 0.5)
    place = {sp.Symbol("i", real=True): sp.Rational(1, 2)}
    assert found.doit().subs(place) == sum(sp.Rational(1, 4) ** p / p for p in (1, 2, 3))
    area = sg.from_sympy(sp.Integral(sp.exp(-x * t), (t, 0, y)), [x, y])
    found = sg.symbolic(lambda t, q: area(t * q, t), 0.5, 0.25)
    free = {e.name: e for e in found.free_symbols}
    exact = sp.Integral(sp.exp(-x * t), (t, 0, y)).subs({x: HALF / 4, y: HALF})
    at = {free["t"]: HALF, free["q"]: HALF / 2}
    assert abs(found.subs(at).evalf(40) - exact.evalf(40)) < 1e-38
    inner = sg.from_sympy(sp.Integral(sp.sin(t), (t, 0, t)), [t])  # the end is the argument
    assert abs(sg.symbolic(inner, 0.5).subs({t: HALF}).evalf(30) - 1 + sp.cos(HALF)) < 1e-28


def test_decisions_by_values_of_formulas() -> None:
    f = sg.from_sympy(sp.acoth(x) - 1, [x])
    found = sg.formula(lambda p: -f(p) if f(p) < 0 else 2 * f(p), 4.0)
    assert str(found) == "out = 1 - acoth(p)\n    (for acoth(p) - 1 < 0, as in this call)"


def test_sums_of_any_length_have_formulas() -> None:
    count = sp.Symbol("n", integer=True)
    f = sg.from_sympy(sp.Sum(x**i / i, (i, 1, count)), [count, x])
    assert str(sg.formula(f, 4, 0.5)) == "out = Sum(x**i/i, (i, 1, n))"
    assert str(sg.formula(f, 4, 0.5, wrt=1)) == "d out/d x = Sum(x**i, (i, 1, n))/x"


def test_formulas_of_arrays_and_within_functions() -> None:
    area = sg.from_sympy(sp.Integral(sp.exp(-x * t), (t, 0, y)), [x, y])
    found = sg.formula(lambda p: np.sum(area(p, p**2)), np.ones(3), wrt=0)
    assert str(found) == (
        "d out/d p[i] = 2*exp(-p[i]**3)*p[i] - Integral(t*exp(-t*p[i]), (t, 0, p[i]**2))"
    )
    wave = sg.from_sympy(sp.acoth(x) + sp.sec(x), [x])
    assert sg.symbolic(lambda p: wave(2 * p) ** 2, 1.0) == (
        sp.sec(2 * sp.Symbol("p", real=True)) + sp.acoth(2 * sp.Symbol("p", real=True))
    ) ** 2  # fmt: skip
    assert str(sg.formula(sg.grad(wave), 2.0)) == "out = tan(x)*sec(x) + 1/(1 - x**2)"


def test_steps_have_no_deltas_in_derivatives() -> None:
    f = sg.from_sympy(sp.SingularityFunction(x, 1, 1) + sp.Heaviside(x - 2), [x])
    assert str(sg.formula(f, 0.5, wrt=0)) == "d out/d x = SingularityFunction(x, 1, 0)"
    assert str(sg.formula(f, 0.5, wrt=0, order=2)) == "d2 out/d x^2 = 0"


def test_exact_numbers_come_back() -> None:
    formula = sp.sqrt(sp.pi) * x ** sp.Rational(1, 97) + sp.EulerGamma / 101 + sp.zeta(3) * x
    assert _back(formula, {x: HALF}) == formula


def test_exact_numbers_come_back_beside_a_set() -> None:
    where = sp.Contains(x, sp.Interval.open(-1, sp.sin(2)))
    found = _back(sp.Piecewise((sp.sqrt(sp.pi) * x, where), (x, True)), {x: HALF})
    assert found == sp.Piecewise((sp.sqrt(sp.pi) * x, (x > -1) & (x < sp.sin(2))), (x, True))


@pytest.mark.parametrize("value", [0.5 + 1j, np.complex128(2), np.array([1j, 2])])
def test_complex_values_for_real_symbols(value: Any) -> None:
    """SymPy has taken conjugate(x) for x: of a complex value the result would be another."""
    f = sg.from_sympy(sp.conjugate(a) * a, [a])
    for g in (f, sg.compile(f)):
        assert g(3.0) == 9.0
        with pytest.raises(ArgumentError, match=r"a is declared real.*Symbol\('a'\)"):
            g(value)
    np.testing.assert_allclose(sg.from_sympy(sp.conjugate(x) * x, [x])(value), abs(value) ** 2)


@pytest.mark.parametrize("kind", [sp.Sum, sp.Product])
def test_a_maximum_with_a_sum_of_numbers(kind: Any) -> None:
    """SymPy's constructor compares what it evaluates: sums of symgrad's own class had no value."""
    formula = numpy_nodes.minimum(2 * sp.sin(kind(1 + sp.sin(1) / i, (i, 1, 4))), x * y)
    found = sg.symbolic(sg.from_sympy(formula, [x, y]), 0.37, 0.62)
    assert isinstance(found, sp.Min)
    own = dict(zip(sp.symbols("x y", real=True), (PLACE[x], PLACE[y]), strict=True))
    wanted = min(2 * sp.sin(kind(1 + sp.sin(1) / i, (i, 1, 4)).doit()), PLACE[x] * PLACE[y])
    assert abs(found.xreplace(own).evalf(40) - wanted.evalf(40)) < 1e-35


def test_enormous_numbers_are_not_written_out() -> None:
    f = sg.from_sympy(x ** sp.Integer(10) ** 9 + sp.gamma(10**6 * x, evaluate=False), [x])
    assert sg.symbolic(f, 0.5).has(sp.gamma)
    with pytest.raises(UnsupportedError, match="binary digits"):
        sg.symbolic(lambda p: f(0 * p + 3.0), 0.5)
    g = sg.from_sympy(sp.gamma(x), [x])
    assert sg.symbolic(lambda p: g(0 * p + 1e7), 0.5) == sp.gamma(sp.Float(1e7))


def test_arguments_of_polylogarithms_are_not_compared_with_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SymPy simplifies the argument for that, which took minutes: x is a polynomial of sines."""
    formula = sp.polylog(-2, sp.sin(x) * y - sp.Rational(11, 10), evaluate=False)
    f = sg.from_sympy(formula, [x, y])
    monkeypatch.setattr(sp.Expr, "equals", lambda *_, **__: pytest.fail("compared"))
    assert str(sg.symbolic(f, 0.5, 0.7)) == str(formula)


def test_formulas_that_take_sympy_too_long_come_back_as_computed(
    monkeypatch: pytest.MonkeyPatch, patience: Callable[..., None]
) -> None:
    f = sg.from_sympy(sp.acot(x) * y, [x, y])  # computed as arctan(1/x)
    as_in_sympy: dict[str, Any] = {"__name__": "sympy.slow", "sp": sp}
    exec("def endless(cls, z):\n    while isinstance(z, sp.Dummy):\n        sp.sin(z)", as_in_sympy)
    monkeypatch.setattr(sp.acot, "eval", classmethod(as_in_sympy["endless"]))
    patience(SECONDS=0.1)
    found = sg.symbolic(f, 0.5, 0.7)
    assert not found.has(sp.acot)
    place = {v: {"x": 0.5, "y": 0.7}[v.name] for v in found.free_symbols}
    assert abs(found.subs(place) - 0.7 * np.arctan(2)) < 1e-14
