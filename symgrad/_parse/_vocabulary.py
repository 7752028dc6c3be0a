"""The functions and constants that a formula may use, and what names in it mean.

One line a function: its names (NumPy's first, then SymPy's, SciPy's and ``math``'s), how
SymPy writes it, and a double-precision evaluation. The evaluation is run on constants only,
before SymPy sees them: SymPy would expand ``gamma(10**9)`` digit by digit.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import sympy as sp
from sympy.codegen import cfunctions

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

FUNCTIONS: dict[str, Function] = {
    name: function for names, function in _TABLE for name in names.split()
}

CONSTANTS: dict[str, sp.Expr] = {"pi": sp.pi, "E": sp.E}

# Functions that are more than a SymPy constructor; ``_build`` knows them.
SPECIAL = ("where", "Piecewise", "power", "pow", "Eq", "Ne")

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
        if name in FUNCTIONS or name in SPECIAL:
            return f"{name} is a function: write {name}(x), or declare the name in symbols="
        if name in RESERVED or name.startswith("__"):
            return f"the name {name} is refused in a formula"
        if self.declared is None:
            return sp.Symbol(name, real=True)
        near = difflib.get_close_matches(name, [*self.declared, *CONSTANTS], n=3)
        known = "did you mean " + " or ".join(near) if near else "known: "
        return f"unknown name {name!r}; {known if near else known + ', '.join(self.declared)}"
