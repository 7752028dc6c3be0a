"""The functions and constants that a formula may use, and what names in it mean.

One line a function: its names (NumPy's first, then SymPy's, SciPy's and ``math``'s), how
SymPy writes it, and a double-precision evaluation. The evaluation is run on constants only,
before SymPy sees them: SymPy would expand ``gamma(10**9)`` digit by digit.

SymPy does not evaluate the special functions at all (``evaluate=False``): it would write a
Legendre polynomial of degree 1,000 out. Their names are functions where they are called and
symbols elsewhere, since models have a ``beta`` and a ``zeta``.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import mpmath
import numpy as np
import sympy as sp
from sympy.codegen import cfunctions, numpy_nodes, scipy_nodes

from .._core.base.argument_checks import as_items, shown
from .._core.base.scipy_names import special
from ..errors import ArgumentError


@dataclass(frozen=True)
class Function:
    """A function of real numbers that a formula may call.

    Parameters
    ----------
    build:
        Makes the SymPy expression from those of the arguments.
    value:
        The same on Python floats; raises ValueError or OverflowError outside its domain.
    least, most:
        How many arguments it takes.
    exact:
        The size of a constant argument above which the double is taken instead of SymPy's
        exact value, whose number of digits or terms grows with the argument.
    """

    build: Callable[..., sp.Expr]
    value: Callable[..., float]
    least: int = 1
    most: int = 1
    exact: float = math.inf


def _cbrt(x: sp.Expr) -> sp.Expr:
    # x**(1/3) is complex for negative x in SymPy; NumPy's cbrt is the real root.
    return sp.sign(x) * sp.Abs(x) ** sp.Rational(1, 3)


def _heaviside(x: float, at_zero: float = 0.5) -> float:
    return at_zero if x == 0 else float(x > 0)


def _extremum(kind: type[sp.Max | sp.Min]) -> Callable[..., sp.Expr]:
    def build(*arguments: sp.Expr) -> sp.Expr:
        # Flat, but unevaluated: SymPy compares all pairs, seconds for a hundred arguments.
        flat = (part for argument in arguments for part in kind.make_args(argument))
        return kind(*flat, evaluate=False)

    return build


def _polygamma(order: sp.Expr, x: sp.Expr) -> sp.Expr:
    if order not in range(21):
        raise ValueError("the order of polygamma is an integer from 0 to 20")
    return sp.polygamma(order, x)


def _polygamma_value(order: float, x: float) -> float:
    if order not in range(21):
        raise ValueError("the order of polygamma is an integer from 0 to 20")
    return float(special.polygamma(int(order), x))


#: The largest degree of an orthogonal polynomial: its recurrence takes as many steps.
MAX_DEGREE = 10_000
#: The orders of a polylogarithm, whose formulas are written out.
POLYLOG_ORDERS = range(-20, 101)


def _unevaluated(function: Any) -> Callable[..., sp.Expr]:
    return lambda *arguments: function(*arguments, evaluate=False)


def _polynomial(function: Any, orders: int = 1) -> Callable[..., sp.Expr]:
    """Build an orthogonal polynomial, whose first arguments are its degree and orders."""

    def build(*arguments: sp.Expr) -> sp.Expr:
        if any(abs(n) > MAX_DEGREE for n in arguments[:orders] if n.is_number):
            raise ValueError(f"the degree of a polynomial is at most {MAX_DEGREE}")
        return function(*arguments, evaluate=False)

    return build


def _polylog_orders() -> str:
    first, last = POLYLOG_ORDERS[0], POLYLOG_ORDERS[-1]
    return f"the order of polylog is an integer from {first} to {last}"


def _polylog(order: sp.Expr, x: sp.Expr) -> sp.Expr:
    if order not in POLYLOG_ORDERS:
        raise ValueError(_polylog_orders())
    return sp.polylog(order, x, evaluate=False)


def _polylog_value(order: float, x: float) -> float:
    if order not in POLYLOG_ORDERS:
        raise ValueError(_polylog_orders())
    return float(mpmath.polylog(int(order), x).real) if x <= 1 else math.nan


def _harmonic_value(n: float) -> float:
    return float(special.digamma(n + 1) + np.euler_gamma)


def _riemann_xi_value(s: float) -> Any:
    return s * (s - 1) / 2 * mpmath.pi ** (-s / 2) * mpmath.gamma(s / 2) * mpmath.zeta(s)


def _falling_value(x: float, n: float) -> float:
    return float(special.poch(x - n + 1, n))


def _hermite_value(degree: float, x: float, kind: str = "eval_hermite") -> float:
    if degree != int(degree) or degree < 0:
        return math.nan
    return float(getattr(special, kind)(int(degree), x))


def _lambertw(x: sp.Expr, branch: sp.Expr = sp.S.Zero) -> sp.Expr:
    if branch not in (0, -1):
        raise ValueError("the real branches of LambertW are 0 and -1")
    return sp.LambertW(x, branch, evaluate=False) if branch else sp.LambertW(x, evaluate=False)


def _lambertw_value(x: float, branch: float = 0.0) -> float:
    if branch not in (0, -1) or x < -math.exp(-1) or (branch == -1 and x >= 0):
        return math.nan
    return float(special.lambertw(x, int(branch)).real)


def _real(function: str, *order: int) -> Callable[..., float]:
    """Return a function of SciPy's, of arguments that it takes in another order."""
    return lambda *xs: float(getattr(special, function)(*([xs[k] for k in order] or xs)))


def _part(function: str, k: int) -> Callable[..., float]:
    """Return result k of a function of SciPy's that has several."""
    return lambda x: float(getattr(special, function)(x)[k])


def _at_order(function: Any, order: int) -> Callable[..., sp.Expr]:
    return lambda x: function(sp.Integer(order), x, evaluate=False)


def _hyper(above: int) -> Callable[..., sp.Expr]:
    return lambda *xs: sp.hyper(xs[:above], xs[above:-1], xs[-1], evaluate=False)


def _exact(function: Any) -> Callable[..., float]:
    """Return mpmath's function on doubles; nan where it is complex."""

    def value(*arguments: float) -> float:
        found = mpmath.mpmathify(function(*arguments))
        return math.nan if found.imag else float(found.real)

    return value


def _reciprocal(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: 1 / function(x)


def _of_reciprocal(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: function(1 / x)


_MANY = 1000

_TABLE: tuple[tuple[str, Function], ...] = (
    ("sin", Function(sp.sin, math.sin)),
    ("cos", Function(sp.cos, math.cos)),
    ("tan", Function(sp.tan, math.tan)),
    ("arcsin asin", Function(sp.asin, math.asin)),
    ("arccos acos", Function(sp.acos, math.acos)),
    ("arctan atan", Function(sp.atan, math.atan)),
    ("arctan2 atan2", Function(sp.atan2, math.atan2, 2, 2)),
    ("hypot", Function(lambda x, y: sp.sqrt(x**2 + y**2), math.hypot, 2, 2)),
    ("sinh", Function(sp.sinh, math.sinh)),
    ("cosh", Function(sp.cosh, math.cosh)),
    ("tanh", Function(sp.tanh, math.tanh)),
    ("arcsinh asinh", Function(sp.asinh, math.asinh)),
    ("arccosh acosh", Function(sp.acosh, math.acosh)),
    ("arctanh atanh", Function(sp.atanh, math.atanh)),
    ("exp", Function(sp.exp, math.exp, exact=20)),
    ("exp2", Function(lambda x: sp.Pow(2, x), lambda x: 2.0**x)),
    # These four stay functions of their own: exp(x) - 1 would lose the digits near 0 for
    # which one writes expm1(x).
    ("expm1", Function(cfunctions.expm1, math.expm1, exact=20)),
    ("log1p", Function(cfunctions.log1p, math.log1p)),
    ("log2", Function(cfunctions.log2, math.log2)),
    ("log10", Function(cfunctions.log10, math.log10)),
    ("log ln", Function(sp.log, math.log)),
    ("sqrt", Function(sp.sqrt, math.sqrt)),
    ("cbrt", Function(_cbrt, lambda x: math.copysign(abs(x) ** (1 / 3), x))),
    ("square", Function(lambda x: x**2, lambda x: x * x)),
    ("abs absolute fabs Abs", Function(sp.Abs, abs)),
    ("sign", Function(sp.sign, lambda x: float((x > 0) - (x < 0)))),
    ("floor", Function(sp.floor, math.floor)),
    ("ceil ceiling", Function(sp.ceiling, math.ceil)),
    ("minimum min Min", Function(_extremum(sp.Min), lambda *xs: min(xs), 1, _MANY)),
    ("maximum max Max", Function(_extremum(sp.Max), lambda *xs: max(xs), 1, _MANY)),
    ("heaviside Heaviside", Function(sp.Heaviside, _heaviside, 1, 2)),
    ("erf", Function(sp.erf, math.erf)),
    ("erfc", Function(sp.erfc, math.erfc)),
    ("gamma", Function(sp.gamma, math.gamma, exact=20)),
    ("gammaln loggamma lgamma", Function(sp.loggamma, math.lgamma, exact=20)),
    ("digamma psi", Function(sp.digamma, lambda x: float(special.digamma(x)), exact=20)),
    ("polygamma", Function(_polygamma, _polygamma_value, 2, 2, exact=20)),
    ("expit", Function(lambda x: 1 / (1 + sp.exp(-x)), lambda x: float(special.expit(x)))),
)

_E = _unevaluated
#: Constant arguments above this are evaluated in double precision by SciPy.
_SHORT = 50

_SPECIAL_TABLE: tuple[tuple[str, Function], ...] = (
    ("cot", Function(_E(sp.cot), _reciprocal(math.tan))),
    ("sec", Function(_E(sp.sec), _reciprocal(math.cos))),
    ("csc", Function(_E(sp.csc), _reciprocal(math.sin))),
    ("acot arccot", Function(_E(sp.acot), lambda x: math.atan(1 / x) if x else math.pi / 2)),
    ("asec arcsec", Function(_E(sp.asec), _of_reciprocal(math.acos))),
    ("acsc arccsc", Function(_E(sp.acsc), _of_reciprocal(math.asin))),
    ("coth", Function(_E(sp.coth), _reciprocal(math.tanh))),
    ("sech", Function(_E(sp.sech), _reciprocal(math.cosh))),
    ("csch", Function(_E(sp.csch), _reciprocal(math.sinh))),
    ("acoth arccoth", Function(_E(sp.acoth), _of_reciprocal(math.atanh))),
    ("asech arcsech", Function(_E(sp.asech), _of_reciprocal(math.acosh))),
    ("acsch arccsch", Function(_E(sp.acsch), _of_reciprocal(math.asinh))),
    ("mod remainder Mod", Function(_E(sp.Mod), lambda x, y: math.nan if y == 0 else x % y, 2, 2)),
    ("frac", Function(_E(sp.frac), lambda x: x - math.floor(x))),
    ("radians deg2rad", Function(lambda x: x * sp.pi / 180, math.radians)),
    ("degrees rad2deg", Function(lambda x: x * 180 / sp.pi, math.degrees)),
    ("cosm1", Function(_E(scipy_nodes.cosm1), _real("cosm1"))),
    ("powm1", Function(_E(scipy_nodes.powm1), _exact(mpmath.powm1), 2, 2)),
    ("logaddexp", Function(numpy_nodes.logaddexp,
                           lambda x, y: float(np.logaddexp(x, y)), 2, 2)),
    ("logaddexp2", Function(numpy_nodes.logaddexp2,
                            lambda x, y: float(np.logaddexp2(x, y)), 2, 2)),
    ("fma", Function(_E(cfunctions.fma), lambda x, y, z: x * y + z, 3, 3)),
    ("DiracDelta", Function(_E(sp.DiracDelta), lambda x: 0.0)),
    ("KroneckerDelta", Function(sp.KroneckerDelta, lambda i, j: float(i == j), 2, 2)),
    # gamma, beta, counting
    ("factorial", Function(_E(sp.factorial), lambda n: math.gamma(n + 1), exact=20)),
    ("binomial binom", Function(_E(sp.binomial), _real("binom"), 2, 2, exact=20)),
    ("beta", Function(_E(sp.beta), _real("beta"), 2, 2, exact=20)),
    ("harmonic", Function(_E(sp.harmonic), _harmonic_value,
                          exact=20)),
    ("trigamma", Function(lambda x: sp.polygamma(1, x, evaluate=False),
                          lambda x: float(special.polygamma(1, x)), exact=20)),
    ("RisingFactorial rf poch", Function(_E(sp.RisingFactorial), _real("poch"), 2, 2, exact=20)),
    ("FallingFactorial ff", Function(_E(sp.FallingFactorial), _falling_value, 2, 2, exact=20)),
    ("lowergamma", Function(_E(sp.lowergamma),
                            lambda s, x: float(special.gammainc(s, x) * special.gamma(s)), 2, 2,
                            exact=20)),
    ("uppergamma", Function(_E(sp.uppergamma), lambda s, x: float(mpmath.gammainc(s, x)), 2, 2,
                            exact=20)),
    ("factorial2", Function(_E(sp.factorial2), _exact(mpmath.fac2), exact=20)),
    ("fibonacci", Function(_E(sp.fibonacci), _exact(mpmath.fib), exact=20)),
    ("lucas", Function(_E(sp.lucas), _exact(lambda n: mpmath.fib(n - 1) + mpmath.fib(n + 1)),
                       exact=20)),
    ("catalan", Function(_E(sp.catalan),
                         _exact(lambda n: mpmath.binomial(2 * n, n) / (n + 1)), exact=20)),
    ("betainc", Function(_E(sp.betainc), _exact(mpmath.betainc), 4, 4, exact=20)),
    ("betainc_regularized", Function(
        sp.betainc_regularized,
        _exact(lambda a, b, x, y: mpmath.betainc(a, b, x, y, regularized=True)), 4, 4, exact=20)),
    # error functions, integrals
    ("erf2inv", Function(_E(sp.erf2inv),
                         lambda x, y: float(special.erfinv(y + special.erf(x))), 2, 2)),
    ("Li", Function(_E(sp.Li), _exact(lambda x: mpmath.li(x) - mpmath.li(2)), exact=_SHORT)),
    ("erfi", Function(_E(sp.erfi), _real("erfi"), exact=20)),
    ("erf2", Function(_E(sp.erf2), lambda x, y: math.erf(y) - math.erf(x), 2, 2)),
    ("erfinv", Function(_E(sp.erfinv), _real("erfinv"))),
    ("erfcinv", Function(_E(sp.erfcinv), _real("erfcinv"))),
    ("fresnels", Function(_E(sp.fresnels), _part("fresnel", 0), exact=_SHORT)),
    ("fresnelc", Function(_E(sp.fresnelc), _part("fresnel", 1), exact=_SHORT)),
    ("Ei expi", Function(_E(sp.Ei), _real("expi"), exact=_SHORT)),
    ("E1 exp1", Function(_at_order(sp.expint, 1), _real("exp1"), exact=_SHORT)),
    ("expint expn", Function(_E(sp.expint), lambda n, x: float(mpmath.expint(n, x)), 2, 2,
                             exact=_SHORT)),
    ("li", Function(_E(sp.li), lambda x: float(special.expi(math.log(x))), exact=_SHORT)),
    ("Si", Function(_E(sp.Si), _part("sici", 0), exact=_SHORT)),
    ("Ci", Function(_E(sp.Ci), _part("sici", 1), exact=_SHORT)),
    ("Shi", Function(_E(sp.Shi), _part("shichi", 0), exact=_SHORT)),
    ("Chi", Function(_E(sp.Chi), _part("shichi", 1), exact=_SHORT)),
    ("LambertW lambertw", Function(_lambertw, _lambertw_value, 1, 2, exact=_SHORT)),
    # Bessel functions
    ("besselj jv", Function(_E(sp.besselj), _real("jv"), 2, 2, exact=_SHORT)),
    ("bessely yv", Function(_E(sp.bessely), _real("yv"), 2, 2, exact=_SHORT)),
    ("besseli iv", Function(_E(sp.besseli), _real("iv"), 2, 2, exact=_SHORT)),
    ("besselk kv", Function(_E(sp.besselk), _real("kv"), 2, 2, exact=_SHORT)),
    *((f"{letter}{order}", Function(_at_order(function, order), _real(f"{letter}{order}"),
                                    exact=_SHORT))
      for letter, function in zip("jyik", (sp.besselj, sp.bessely, sp.besseli, sp.besselk),
                                  strict=True)
      for order in (0, 1)),
    ("airyai", Function(_E(sp.airyai), _part("airy", 0), exact=_SHORT)),
    ("airyaiprime", Function(_E(sp.airyaiprime), _part("airy", 1), exact=_SHORT)),
    ("airybi", Function(_E(sp.airybi), _part("airy", 2), exact=_SHORT)),
    ("airybiprime", Function(_E(sp.airybiprime), _part("airy", 3), exact=_SHORT)),
    # zeta functions, hypergeometric and elliptic functions
    ("zeta", Function(_E(sp.zeta), _real("zeta"), 1, 2, exact=20)),
    ("dirichlet_eta", Function(_E(sp.dirichlet_eta), _exact(mpmath.altzeta), exact=20)),
    ("riemann_xi", Function(_E(sp.riemann_xi), _exact(_riemann_xi_value), exact=20)),
    ("polylog", Function(_polylog, _polylog_value, 2, 2, exact=20)),
    ("hyp0f1", Function(_hyper(0), _real("hyp0f1"), 2, 2, exact=20)),
    ("hyp1f1", Function(_hyper(1), _real("hyp1f1"), 3, 3, exact=20)),
    ("hyp2f1", Function(_hyper(2), _real("hyp2f1"), 4, 4, exact=20)),
    ("elliptic_k ellipk", Function(_E(sp.elliptic_k), _real("ellipk"), exact=_SHORT)),
    ("elliptic_e ellipe", Function(_E(sp.elliptic_e), _real("ellipe"), exact=_SHORT)),
    ("elliptic_f ellipkinc", Function(_E(sp.elliptic_f), _real("ellipkinc"), 2, 2, exact=_SHORT)),
    ("elliptic_pi", Function(_E(sp.elliptic_pi), _exact(mpmath.ellippi), 2, 3, exact=_SHORT)),
    ("ellipeinc", Function(_E(sp.elliptic_e), _real("ellipeinc"), 2, 2, exact=_SHORT)),
    # orthogonal polynomials
    ("legendre eval_legendre", Function(_polynomial(sp.legendre), _real("eval_legendre"), 2, 2,
                                        exact=_SHORT)),
    ("chebyshevt eval_chebyt", Function(_polynomial(sp.chebyshevt), _real("eval_chebyt"), 2, 2,
                                        exact=_SHORT)),
    ("chebyshevu eval_chebyu", Function(_polynomial(sp.chebyshevu), _real("eval_chebyu"), 2, 2,
                                        exact=_SHORT)),
    ("hermite eval_hermite", Function(_polynomial(sp.hermite), _hermite_value, 2, 2,
                                      exact=_SHORT)),
    ("hermite_prob eval_hermitenorm", Function(_polynomial(sp.hermite_prob),
                                               partial(_hermite_value, kind="eval_hermitenorm"),
                                               2, 2, exact=_SHORT)),
    ("laguerre eval_laguerre", Function(_polynomial(sp.laguerre), _real("eval_laguerre"), 2, 2,
                                        exact=_SHORT)),
    ("assoc_laguerre eval_genlaguerre", Function(_polynomial(sp.assoc_laguerre, 2),
                                                 _real("eval_genlaguerre"), 3, 3, exact=_SHORT)),
    ("assoc_legendre", Function(_polynomial(sp.assoc_legendre, 2), _real("lpmv", 1, 0, 2), 3, 3,
                                exact=_SHORT)),
    ("gegenbauer eval_gegenbauer", Function(_polynomial(sp.gegenbauer), _real("eval_gegenbauer"),
                                            3, 3, exact=_SHORT)),
    ("jacobi eval_jacobi", Function(_polynomial(sp.jacobi), _real("eval_jacobi"), 4, 4,
                                    exact=_SHORT)),
)  # fmt: skip

#: Functions whose names are functions everywhere.
ELEMENTARY: dict[str, Function] = {
    name: function for names, function in _TABLE for name in names.split()
}
FUNCTIONS: dict[str, Function] = ELEMENTARY | {
    name: function for names, function in _SPECIAL_TABLE for name in names.split()
}

CONSTANTS: dict[str, sp.Expr] = {
    "pi": sp.pi, "E": sp.E, "EulerGamma": sp.EulerGamma, "GoldenRatio": sp.GoldenRatio,
}  # fmt: skip

# Functions that are more than a SymPy constructor; ``_build`` knows them.
SPECIAL = (
    "where", "ITE", "Piecewise", "power", "pow", "Eq", "Ne", "Lt", "Le", "Gt", "Ge", "And", "Or",
    "Not", "Xor", "Nand", "Nor", "Implies", "Equivalent", "Derivative",
)  # fmt: skip

#: Functions whose first argument is read with the names that the others bind: (k, 0, n).
BINDING: dict[str, Callable[..., sp.Expr]] = {
    "Sum": sp.Sum, "Product": sp.Product, "Integral": sp.Integral,
}  # fmt: skip

# A symbol called "oo" would print like infinity, and one called "I" like the imaginary unit.
RESERVED = frozenset({"I", "oo", "zoo", "nan", "inf", "infty", "NaN", "Infinity"})


Symbols: TypeAlias = str | Iterable[str | sp.Symbol] | Mapping[str, sp.Expr] | None


@dataclass(frozen=True)
class Names:
    """What names mean: those declared by the caller, or any (``declared`` is None)."""

    declared: dict[str, sp.Expr] | None

    @staticmethod
    def of(symbols: Symbols) -> Names:
        """Read the ``symbols`` argument of ``parse``; raises ArgumentError."""
        if symbols is None:
            return Names(None)
        declared: dict[str, sp.Expr] = {}
        if isinstance(symbols, Mapping):
            for name, meaning in symbols.items():
                if not isinstance(name, str) or not isinstance(meaning, sp.Expr):
                    raise ArgumentError(f"symbols maps names to expressions, got {shown(name)}")
                declared[name] = meaning
            return Names(declared)
        if isinstance(symbols, str):
            symbols = symbols.replace(",", " ").split()
        for entry in as_items(symbols, "parse: symbols", "names or SymPy symbols"):
            if isinstance(entry, sp.Symbol):
                declared[entry.name] = entry
            elif isinstance(entry, str):
                declared[entry] = sp.Symbol(entry, real=True)
            else:
                raise ArgumentError(f"symbols holds names or SymPy symbols, got {shown(entry)}")
        return Names(declared)

    def look_up(self, name: str) -> sp.Expr | str:
        """The expression that a name stands for, or why it is refused."""
        if self.declared is not None and name in self.declared:
            return self.declared[name]
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in ELEMENTARY or name in SPECIAL or name in BINDING:
            return f"{name} is a function: write {name}(x), or declare the name in symbols="
        if name in RESERVED or name.startswith("__"):
            return f"the name {name} is refused in a formula"
        if self.declared is None:
            return sp.Symbol(name, real=True)
        near = difflib.get_close_matches(name, [*self.declared, *CONSTANTS], n=3)
        known = "did you mean " + " or ".join(near) if near else "known: "
        return f"unknown name {name!r}; {known if near else known + ', '.join(self.declared)}"
