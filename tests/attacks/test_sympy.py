"""Random formulas over the classes that docs/coverage-sympy.md promises, against mpmath."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest
import sympy as sp
from sympy.codegen import cfunctions, numpy_nodes, scipy_nodes
from sympy.codegen.matrix_nodes import MatrixSolve
from sympy.combinatorics import Permutation
from sympy.functions.special.tensor_functions import LeviCivita
from sympy.logic.boolalg import Boolean
from sympy.matrices import expressions as matrices
from sympy.printing.pycode import MpmathPrinter
from sympy.tensor.array import expressions as arrays
from sympy.utilities.lambdify import MPMATH_TRANSLATIONS as TRANSLATED

import symgrad as sg
from symgrad.errors import UnsupportedError
from tests.attacks.conftest import Attack, Case

X, Y = sp.symbols("x y")
INDEX = sp.Symbol("i", integer=True)
OTHER = sp.Symbol("j", integer=True)
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
    cfunctions.expm1: (-2, 2), cfunctions.log1p: (-0.6, 3), cfunctions.Cbrt: (0.3, 4),
    cfunctions.Sqrt: (0.2, 4), scipy_nodes.cosm1: (-3, 3), sp.riemann_xi: (1.3, 4),
    sp.fibonacci: (0.5, 4), sp.lucas: (0.5, 4), sp.exp_polar: (-2, 2), sp.polar_lift: (0.3, 3),
    sp.UnevaluatedExpr: (-2, 2), sp.conjugate: (-2, 2), sp.adjoint: (-2, 2),
    sp.transpose: (-2, 2), sp.re: (-2, 2),
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
    (lambda a, b: _polylog(3, a) * b, (-0.9, 0.9), (-2, 2)),
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
    # SymPy takes a sign out of the argument, by complex powers of what is below 0.
    (lambda a, b: sp.besselj(b, a, evaluate=False), (0.5, 3), (0.2, 2)),
    (lambda a, b: sp.besseli(b, a, evaluate=False), (0.5, 2), (0.2, 2)),
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
    (numpy_nodes.logaddexp2, (-2, 2), (-2, 2)), (numpy_nodes.maximum, (-2, 2), (-2, 2)),
    (lambda a, b: numpy_nodes.minimum(a, b, 1), (-2, 2), (-2, 2)),
    (scipy_nodes.powm1, (0.3, 2), (-2, 2)),
    (lambda a, b: cfunctions.fma(a, b, a), (-2, 2), (-2, 2)),
    (sp.Rem, (-4.9, -4.1), (1.7, 1.9)), (sp.Mod, (-4.9, -4.1), (1.7, 1.9)),
    (sp.erf2, (-2, 2), (-2, 2)), (sp.erf2inv, (-0.5, 0.5), (0.1, 0.3)),
    (lambda a, b: sp.LambertW(a, -1) * b, (-0.35, -0.05), (-2, 2)),
    (lambda a, b: sp.zeta(a) * b, (-4.3, -3.2), (-2, 2)),
    (lambda a, b: sp.zeta(a) + sp.dirichlet_eta(b), (0.2, 0.8), (-2.3, -1.2)),
    (sp.harmonic, (0.3, 4), (1.5, 3)), (sp.uppergamma, (0.3, 1.7), (0.3, 3)),
    (lambda a, b: sp.uppergamma(-sp.Rational(3, 2), a) + sp.uppergamma(-1, b), (0.3, 3), (0.3, 3)),
    (lambda a, b: _polylog(2, a) - _polylog(-2, b), (-3, 0.9), (-3, 0.8)),
    (lambda a, b: _polylog(4, a) + _polylog(1, b), (-4, -1.1), (-2, 0.8)),
    (lambda a, b: sp.hyper([a], [b], sp.Rational(2, 3)), (0.5, 2), (0.5, 3)),
    (lambda a, b: sp.hyper([a, 1], [b], -sp.Rational(1, 3)), (0.5, 2), (0.5, 3)),
    (lambda a, b: sp.hyper([a], [], b), (-2, 2), (-2, 0.8)),
    (lambda a, b: sp.bessely(b, a), (0.5, 3), (0.2, 2)),
    (lambda a, b: sp.besselk(b, a), (0.5, 3), (0.2, 2)),
    (lambda a, b: sp.jn(b, a) - sp.yn(b, a) / 3, (0.5, 3), (0.2, 2)),
    # Polynomials that SymPy does not write out.
    (lambda a, b: sp.gegenbauer(3, b, a, evaluate=False), (-1, 1), (0.5, 2)),
    (lambda a, b: sp.jacobi(2, 1, b, a, evaluate=False), (-1, 1), (0.5, 2)),
    (lambda a, b: sp.laguerre(3, a) * b, (-1, 2), (-2, 2)),
    (lambda a, b: sp.hermite(3, a, evaluate=False) / 9 + sp.hermite_prob(3, b) / 3,
     (-1, 2), (-2, 2)),
    (lambda a, b: sp.assoc_legendre(3, 1, a) + b, (-0.9, 0.9), (-2, 2)),
    (lambda a, b: sp.assoc_legendre(3, 2, a, evaluate=False) + b, (-0.9, 0.9), (-2, 2)),
    # Complex numbers on the way.
    (lambda a, b: sp.re(sp.hankel1(1, a)) + sp.im(sp.hankel2(0, b)), (0.5, 3), (0.5, 3)),
    (lambda a, b: sp.im(sp.hn1(1, a)) * sp.re(sp.hn2(0, b)), (0.8, 3), (0.8, 3)),
    (lambda a, b: sp.re(a * sp.exp(sp.I * b)) + sp.im((a + sp.I * b) ** 3), (-2, 2), (-2, 2)),
    (lambda a, b: sp.arg(a + sp.I * b) * sp.Abs(a - sp.I * b), (0.3, 2), (-2, 2)),
    (lambda a, b: sp.re(sp.log(a + sp.I * b) * sp.conjugate(sp.sin(a * sp.I + b))),
     (0.3, 2), (-1, 1)),
    (lambda a, b: sp.re(sp.Ynm(2, 1, a, b)) + sp.im(sp.Ynm(3, -2, b, a)), (0.3, 2.8), (0.3, 2.8)),
    (lambda a, b: sp.re(sp.Znm(3, 2, a, b)), (0.3, 2.8), (-2, 2)),
    (lambda a, b: sp.Znm(2, -1, a, b, evaluate=False), (0.3, 2.8), (-2, 2)),
    # Piecewise constant parts.
    (lambda a, b: sp.Heaviside(a) * b + sp.sign(b) * a, (-2, 2), (-2, 2)),
    (lambda a, b: sp.floor(3 * a) * b - sp.ceiling(2 * b), (-2, 2), (-2, 2)),
    (lambda a, b: sp.DiracDelta(a) + sp.KroneckerDelta(sp.floor(a), sp.ceiling(b)) * b,
     (-2, 2), (-2, 2)),
    (lambda a, b: LeviCivita(sp.floor(a), 2, sp.floor(b)) + a, (1.1, 3.9), (1.1, 3.9)),
    # Conditions.
    (lambda a, b: sp.Piecewise((a * b, sp.Xor(a > 0, b > 0, a < b)), (sp.cos(a), sp.Ne(a, b)),
                               (b, True)), (-2, 2), (-2, 2)),
    (lambda a, b: sp.Piecewise((a, sp.Implies(a > 0, b > 0)), (b * b, True)), (-2, 2), (-2, 2)),
    (lambda a, b: sp.Piecewise((a, sp.Equivalent(a > 0, b > 0)), (b, sp.Eq(a, 1)), (a * b, True)),
     (-2, 2), (-2, 2)),
    (lambda a, b: sp.Piecewise((sp.sin(a), sp.ITE(a > 0, b > 1, a < b)), (b, True)),
     (-2, 2), (-2, 2)),
    (lambda a, b: sp.Piecewise((a, sp.Nand(a > 0, b > 0)), (b - a, sp.Nor(a > 1, b > 1)),
                               (b, True)),
     (-2, 2), (-2, 2)),
    (lambda a, b: sp.Piecewise((a, sp.Not(cfunctions.isnan(b)) & (a > 0)), (b, True)),
     (-2, 2), (-2, 2)),
    (lambda a, b: sp.Piecewise((a * b, sp.Contains(a, sp.Interval.open(-1, b))), (b * b, True)),
     (-2, 2), (-2, 2)),
    # Bodies that read the arguments in their limits.
    (lambda a, b: sp.Integral(sp.sin(T * a) + b, (T, a, 2 * b)), (-1, 1), (-1, 1)),
    (lambda a, b: sp.Integral(sp.exp(-T * T * a), (T, 0, sp.Abs(b))), (-1, 1), (0.2, 1)),
    (lambda a, b: sp.Sum(sp.Product(1 + a / (INDEX + OTHER), (OTHER, 1, 3)) * b**INDEX,
                          (INDEX, 1, 3)),
     (-1, 1), (-1, 1)),
    (lambda a, b: sp.Sum(sp.cos(INDEX * a) * b / (INDEX + 2), (INDEX, 3, -1)), (-1, 1), (-1, 1)),
    (lambda a, b: sp.factorial2(a) * b, (0.3, 4), (-2, 2)),
    (lambda a, b: sp.Piecewise((a * a, sp.Or(a > 1, b < 0)), (b, True)), (-2, 2), (-2, 2)),
    (lambda a, b: sp.Piecewise((a, sp.Not(cfunctions.isinf(b)) & (a >= 0)), (b, True)),
     (-2, 2), (-2, 2)),
    (lambda a, b: sp.CRootOf(T**5 - T - 1, 0) * a + sp.AlgebraicNumber(sp.sqrt(2)) * b,
     (-2, 2), (-2, 2)),
    (lambda a, b: sp.besselj(sp.Float("0.5", 30), a) * b, (0.5, 3), (-2, 2)),
]  # fmt: skip


class Structure(NamedTuple):
    """A number made of matrices or arrays, and how SymPy writes it in numbers."""

    function: Callable[[Any, Any], Any]
    plain: Callable[[Any, Any], Any] | None = None

    def __call__(self, a: Any, b: Any) -> Any:
        return self.function(a, b)

    def in_numbers(self, a: Any, b: Any) -> Any:
        """Return the formula without matrices, of names first: formulas are large."""
        names, form = _in_numbers(self)
        return form.xreplace(dict(zip(names, (a, b), strict=True)))


@cache
def _in_numbers(structure: Structure) -> tuple[tuple[Any, Any], Any]:
    names = sp.Dummy("a"), sp.Dummy("b")
    if structure.plain is not None:
        return names, structure.plain(*names)
    return names, structure.function(*names).doit()


def _square(a: Any, b: Any) -> Any:
    return sp.ImmutableMatrix([[a, b, 0], [1, a + 5, b], [b, a, 4]])


def _small(a: Any, b: Any) -> Any:
    return sp.ImmutableMatrix([[b + 4, a], [a * b, 3]])


def _blocks(a: Any, b: Any) -> Any:
    return sp.BlockMatrix([[_small(a, b), sp.OneMatrix(2, 2)], [sp.Identity(2), _small(b, a)]])


#: An even permutation.
CYCLE = Permutation([1, 2, 0])


def _array(a: Any, b: Any) -> Any:
    return sp.ImmutableDenseNDimArray([[a, b], [a * b, 2]])


#: Arguments beside the two numbers: what each stands for, as NumPy computes it of these (axes of
#: the numbers' own stand behind those of a matrix) and as a formula.
MATRIX, VECTOR = sp.MatrixSymbol("M", 2, 2), sp.IndexedBase("v")
ARRAY, PATH = arrays.ArraySymbol("w", (2, 2)), sp.Function("q")(T)
MATRIX_VALUE = sp.ImmutableMatrix([[Y + 4, X / 8], [sp.sin(X * Y), 3]])
VECTOR_VALUE = (X, sp.cos(Y), X * Y / 9)
ARRAY_VALUE = sp.ImmutableDenseNDimArray([[X, Y / 4], [sp.sin(Y), 2]])
PATH_VALUE, SPEED_VALUE = sp.sin(X - Y), sp.cos(X * Y)
OTHERS = (MATRIX, VECTOR, ARRAY, PATH, PATH.diff(T))


def _others(x: Any, y: Any) -> list[Any]:
    """Return the values of the other arguments."""

    def stacked(parts: list[Any], *shape: int) -> Any:
        rows = np.stack(np.broadcast_arrays(*parts))
        return np.reshape(rows, (*shape, *rows.shape[1:]))

    matrix = stacked([y + 4, x / 8, np.sin(x * y), 3.0], 2, 2)
    square = stacked([x, y / 4, np.sin(y), 2.0], 2, 2)
    return [
        np.moveaxis(matrix, (0, 1), (-2, -1)),
        stacked([x, np.cos(y), x * y / 9], 3),
        np.moveaxis(square, (0, 1), (-2, -1)),
        np.sin(x - y),
        np.cos(x * y),
    ]


#: Numbers made of matrices and arrays, of numbers between -1 and 1. They are written without
#: ``**``, by which SymPy integrates what is within, for some places wrongly.
STRUCTURES = [
    Structure(lambda a, b: sp.Determinant(_square(a, b))),
    Structure(lambda a, b: sp.Trace(matrices.Inverse(_square(a, b)))),
    Structure(lambda a, b: sp.Trace(sp.MatMul(_small(a, b), matrices.Inverse(_small(b, a))))),
    Structure(lambda a, b: sp.Trace(matrices.MatPow(_small(a, b), 3)) / 9),
    Structure(lambda a, b: sp.Trace(matrices.MatPow(_small(a, b), -2))),
    Structure(lambda a, b: matrices.DotProduct(
        sp.ImmutableMatrix([a, b, 1]), sp.ImmutableMatrix([b, a, b]))),
    Structure(lambda a, b: sp.Trace(matrices.HadamardProduct(_small(a, b), _small(b, a)))),
    Structure(
        lambda a, b: sp.Trace(matrices.HadamardPower(_small(a, b), 3)) / 9,
        lambda a, b: ((b + 4) ** 3 + 27) / 9,
    ),
    Structure(lambda a, b: sp.Trace(matrices.KroneckerProduct(_small(a, b), _small(b, a)))),
    Structure(lambda a, b: sp.Trace(matrices.Transpose(_small(a, b)) * _small(b, a))),
    Structure(
        lambda a, b: sp.Determinant(matrices.MatAdd(_small(a, b), matrices.Adjoint(_small(b, a)))),
        lambda a, b: (_small(a, b) + _small(b, a).T).det(),
    ),
    Structure(
        lambda a, b: sp.Trace(sp.MatMul(_small(a, b), sp.FunctionMatrix(
            2, 2, sp.Lambda((INDEX, OTHER), INDEX + 2 * OTHER)))),
        lambda a, b: (_small(a, b) * sp.ImmutableMatrix([[0, 2], [1, 3]])).trace(),
    ),
    Structure(lambda a, b: sp.Determinant(matrices.DiagMatrix(sp.ImmutableMatrix([a, b + 2, 3])))),
    Structure(
        lambda a, b: sp.Trace(matrices.MatPow(
            matrices.BlockDiagMatrix(_small(a, b), _small(b, a)), 2)) / 9,
        lambda a, b: sum((m**2).trace() for m in (_small(a, b), _small(b, a))) / 9,
    ),
    Structure(
        lambda a, b: sp.Trace(matrices.MatPow(_blocks(a, b), 2)) / 9,
        lambda a, b: (_blocks(a, b).as_explicit() ** 2).trace() / 9,
    ),
    Structure(
        lambda a, b: sp.Trace(matrices.Inverse(_blocks(a, b))),
        lambda a, b: _blocks(a, b).as_explicit().inv(method="ADJ").trace(),
    ),
    Structure(
        lambda a, b: sp.Determinant(sp.BlockMatrix([
            [_small(a, b), sp.ZeroMatrix(2, 1)],
            [sp.ImmutableMatrix([[b, a]]), sp.ImmutableMatrix([[a + 3]])]])),
        lambda a, b: _small(a, b).det() * (a + 3),
    ),
    Structure(
        lambda a, b: sp.Trace(sp.MatMul(matrices.PermutationMatrix(CYCLE), _square(a, b))),
        lambda a, b: (matrices.PermutationMatrix(CYCLE).as_explicit() * _square(a, b)).trace(),
    ),
    Structure(
        lambda a, b: sp.Trace(matrices.MatrixPermute(_square(a, b), CYCLE, 1)),
        lambda a, b: matrices.MatrixPermute(_square(a, b), CYCLE, 1).as_explicit().trace(),
    ),
    Structure(
        lambda a, b: sp.Determinant(
            matrices.MatrixPermute(sp.MatAdd(_square(a, b), sp.OneMatrix(3, 3)), CYCLE)),
        lambda a, b: (_square(a, b) + sp.ones(3, 3)).det(),  # of an even permutation
    ),
    Structure(
        lambda a, b: sp.Trace(
            matrices.CompanionMatrix(sp.Poly([1, a, b, a * b + 2], sp.Dummy())) ** 2),
        lambda a, b: a**2 - 2 * b,
    ),
    Structure(
        lambda a, b: sp.Trace(matrices.MatPow(matrices.DiagonalMatrix(_square(a, b)), 2)) / 9,
        lambda a, b: (a**2 + (a + 5) ** 2 + 16) / 9,
    ),
    Structure(
        lambda a, b: sp.Determinant(matrices.MatrixSlice(
            sp.MatAdd(_square(a, b), sp.Identity(3)), (0, 2), (1, 3))),
        lambda a, b: b * b,
    ),
    Structure(
        lambda a, b: sp.Trace(sp.MatMul(matrices.Transpose(MatrixSolve(
            _small(a, b), sp.ImmutableMatrix([b, a]))), sp.ImmutableMatrix([1, a]))),
        lambda a, b: (_small(a, b).inv() * sp.ImmutableMatrix([b, a])).dot(sp.Matrix([1, a])),
    ),
    Structure(
        lambda a, b: sp.Sum(sp.MatMul(_small(a, b), _small(b, a))[INDEX, 0] * (INDEX + 1),
                            (INDEX, 0, 1)),
        lambda a, b: sp.ImmutableMatrix([[1, 2]]).dot((_small(a, b) * _small(b, a))[:, 0]),
    ),
    Structure(
        lambda a, b: sp.Sum(arrays.ArrayElement(
            arrays.ArrayAdd(_array(a, b), arrays.PermuteDims(_array(b, a), [1, 0])),
            (INDEX, OTHER)) / (INDEX + 2 * OTHER + 1), (INDEX, 0, 1), (OTHER, 0, 1)),
        lambda a, b: a + b + (b + a * b) / 3 + (a * b + a) / 2 + 1,
    ),
    Structure(
        lambda a, b: sp.Trace(matrices.DiagonalOf(MATRIX) * sp.ImmutableMatrix([[a, b]])),
        lambda a, b: MATRIX_VALUE[0, 0] * a + MATRIX_VALUE[1, 1] * b,
    ),
    Structure(
        lambda a, b: sp.Trace(sp.MatMul(
            sp.ImmutableSparseMatrix(2, 2, {(0, 0): a, (1, 0): b}), _small(a, b))),
        lambda a, b: a * (b + 4) + b * a,
    ),
    # Of other arguments.
    Structure(
        lambda a, b: sp.Trace(sp.MatMul(MATRIX, _small(a, b))) / 9 + MATRIX[1, 0] * a,
        lambda a, b: (MATRIX_VALUE * _small(a, b)).trace() / 9 + MATRIX_VALUE[1, 0] * a,
    ),
    Structure(
        lambda a, b: sp.Determinant(MATRIX + _small(a, b)) / 9,
        lambda a, b: (MATRIX_VALUE + _small(a, b)).det() / 9,
    ),
    Structure(
        lambda a, b: sp.Trace(sp.MatMul(matrices.Inverse(MATRIX), _small(a, b))) + a,
        lambda a, b: (MATRIX_VALUE.inv() * _small(a, b)).trace() + a,
    ),
    Structure(
        lambda a, b: sp.Sum(VECTOR[INDEX] * a**INDEX, (INDEX, 0, 2)) + VECTOR[1] * b,
        lambda a, b: sum(v * a**k for k, v in enumerate(VECTOR_VALUE)) + VECTOR_VALUE[1] * b,
    ),
    Structure(
        lambda a, b: sp.Product(b + VECTOR[INDEX] ** 2, (INDEX, 0, 2)) * a,
        lambda a, b: sp.Mul(*(b + v**2 for v in VECTOR_VALUE)) * a,
    ),
    Structure(
        lambda a, b: a * PATH + sp.sin(PATH.diff(T) * b),
        lambda a, b: a * PATH_VALUE + sp.sin(SPEED_VALUE * b),
    ),
    Structure(
        lambda a, b: sp.Sum(arrays.ArrayElement(ARRAY, (INDEX, OTHER)) * a**INDEX * b**OTHER,
                            (INDEX, 0, 1), (OTHER, 0, 1)),
        lambda a, b: (ARRAY_VALUE[0, 0] + ARRAY_VALUE[1, 0] * a
                      + ARRAY_VALUE[0, 1] * b + ARRAY_VALUE[1, 1] * a * b),
    ),
]  # fmt: skip

#: Contractions of arrays, which SymPy takes into no other formula.
CONTRACTIONS = [
    Structure(
        lambda a, b: arrays.ArrayContraction(
            arrays.ArrayTensorProduct(_array(a, b), _array(b, a)), (0, 3), (1, 2)),
        lambda a, b: (_array(a, b).tomatrix() * _array(b, a).tomatrix()).trace(),
    ),
    Structure(
        lambda a, b: arrays.ArrayContraction(
            arrays.ArrayAdd(_array(a, b), arrays.PermuteDims(_array(b, a), [1, 0])), (0, 1)),
        lambda a, b: a + b + 4,
    ),
    Structure(
        lambda a, b: arrays.ArrayContraction(arrays.ArrayTensorProduct(
            *(arrays.ArrayDiagonal(_array(u, v), (0, 1)) for u, v in ((a, b), (b, a)))), (0, 1)),
        lambda a, b: a * b + 4,
    ),
    Structure(
        lambda a, b: arrays.ArrayContraction(arrays.ArrayTensorProduct(
            arrays.Reshape(_array(a, b), (4,)),
            arrays.Reshape(arrays.PermuteDims(_array(b, a), [1, 0]), (4,))), (0, 1)),
        lambda a, b: a * b + a * b * b + a * b * a + 4,
    ),
    Structure(
        lambda a, b: arrays.ArrayContraction(arrays.ArrayElementwiseApplyFunc(
            sp.Lambda(T, sp.sin(T) * T), _array(a, b)), (0, 1)),
        lambda a, b: a * sp.sin(a) + 2 * sp.sin(2),
    ),
    Structure(
        lambda a, b: arrays.ArrayContraction(arrays.ArrayTensorProduct(
            arrays.OneArray(2, 2), arrays.ArrayAdd(arrays.ZeroArray(2, 2), _array(a, b))),
            (0, 2), (1, 3)),
        lambda a, b: a + b + a * b + 2,
    ),
    Structure(
        lambda a, b: arrays.ArrayContraction(
            arrays.ArrayTensorProduct(ARRAY, _array(a, b)), (0, 3), (1, 2)),
        lambda a, b: (ARRAY_VALUE.tomatrix() * _array(a, b).tomatrix()).trace(),
    ),
    Structure(
        lambda a, b: arrays.ArrayContraction(arrays.ArrayTensorProduct(
            sp.ImmutableSparseNDimArray({0: a, 3: b}, (2, 2)), _array(a, b)), (0, 2), (1, 3)),
        lambda a, b: a**2 + 2 * b,
    ),
]  # fmt: skip


def _derivative_at(a: Any, b: Any) -> Any:
    own = sp.Dummy("t")  # SymPy does not substitute for a name that is bound in the formula, too
    return sp.Subs(sp.Derivative(sp.sin(own * b) * own, own), own, a)


def _polylog(order: int, z: Any) -> Any:
    """Write it as it stands: SymPy would simplify z, for minutes, to see whether it is 1."""
    return sp.polylog(order, z, evaluate=False)


def _within(e: Any, interval: tuple[float, float]) -> Any:
    """Bring a formula's values to an interval, smoothly."""
    low, high = (sp.Rational(str(end)) for end in interval)
    return (low + high) / 2 + (high - low) / 2 * sp.sin(e)


def _formula(rng: np.random.Generator, depth: int) -> tuple[Any, Any]:
    """Return a formula, and what it is without matrices and arrays."""
    if depth == 0:
        return ([X, Y, sp.Rational(int(rng.integers(1, 9)), 4)][rng.integers(3)],) * 2
    kind = rng.integers(13)
    if kind < 4:
        function = list(ONE)[rng.integers(len(ONE))]
        inner = _formula(rng, depth - 1)
        return _both([inner], lambda e: function(_within(e, ONE[function])))
    if kind == 8:
        return _of_matrices(rng, depth, STRUCTURES)
    a, b = (_formula(rng, depth - 1) for _ in range(2))
    if kind < 8:
        function, first, second = TWO[rng.integers(len(TWO))]
        return _both([a, b], lambda u, v: function(_within(u, first), _within(v, second)))
    return _both([a, b], lambda u, v: u + v / 2 if kind < 11 else u * v - u)


def _both(parts: list[tuple[Any, Any]], function: Callable[..., Any]) -> tuple[Any, Any]:
    """Apply a function to what is given and to what is plain: once, where these are the same."""
    given, plain = zip(*parts, strict=True)
    made = function(*given)
    return made, made if all(p is q for p, q in parts) else function(*plain)


def _of_matrices(rng: Any, depth: int, structures: list[Structure]) -> tuple[Any, Any]:
    structure = structures[rng.integers(len(structures))]
    a, b = (_formula(rng, depth - 1) for _ in range(2))
    (u, v), (p, q) = ([_within(e, (-1, 1)) for e in pair] for pair in zip(a, b, strict=True))
    return structure(u, v), structure.in_numbers(p, q)


@cache
def _gauss() -> tuple[list[Any], list[Any]]:
    """Nodes and weights of Gauss and Legendre's rule, of 48 points, between 0 and 1."""
    with mpmath.workdps(70):
        nodes, weights = [], []
        for guess in np.polynomial.legendre.leggauss(48)[0]:
            t = mpmath.mpf(guess)
            for _ in range(4):  # Newton's steps; the last one changes nothing
                value, before = mpmath.legendre(48, t), mpmath.legendre(47, t)
                slope = 48 * (t * value - before) / (t * t - 1)
                t -= value / slope
            nodes.append(t)
            weights.append(1 / ((1 - t * t) * slope**2))
        return [(1 + t) / 2 for t in nodes], weights


def _integral(integrand: Any, interval: Any) -> Any:
    """Integrate one of the integrands above, which are entire: mpmath's own takes seconds."""
    low, high = interval
    nodes, weights = _gauss()
    values = (w * integrand(low + (high - low) * t) for t, w in zip(nodes, weights, strict=True))
    return (high - low) * mpmath.fsum(values)


#: What SymPy writes for mpmath under names that mpmath has not, or with another meaning.
NAMES: dict[str, Any] = {
    "quad": _integral,
    "Cbrt": mpmath.cbrt,
    "catalan": lambda n: (
        4**n * mpmath.gamma(n + 0.5) / (mpmath.sqrt(mpmath.pi) * mpmath.gamma(n + 2))
    ),
    "erf2": lambda a, b: mpmath.erf(b) - mpmath.erf(a),
    "factorial2": mpmath.fac2,
    "isinf": mpmath.isinf,
    "exp2": lambda a: mpmath.mpf(2) ** a,
    "airyaiprime": lambda a: mpmath.airyai(a, derivative=1),
    "airybiprime": lambda a: mpmath.airybi(a, derivative=1),
    "jn": lambda n, a: mpmath.sqrt(mpmath.pi / 2 / a) * mpmath.besselj(n + 0.5, a),
    "yn": lambda n, a: mpmath.sqrt(mpmath.pi / 2 / a) * mpmath.bessely(n + 0.5, a),
    "erfcinv": lambda a: mpmath.erfinv(1 - a),
    "dirichlet_eta": mpmath.altzeta,
    "Li": lambda a: mpmath.li(a) - mpmath.li(2),
    "assoc_legendre": lambda n, m, a: mpmath.legenp(n, m, a, type=2),
    "sinc": mpmath.sinc,  # else a Piecewise, which SymPy folds with conditions that it cannot take
    "cosm1": lambda a: mpmath.cos(a) - 1,
    "fma": lambda a, b, c: a * b + c,
    "maximum": max,
    "minimum": min,
    "logaddexp": lambda a, b: mpmath.log(mpmath.exp(a) + mpmath.exp(b)),
    "logaddexp2": lambda a, b: mpmath.log(2**a + 2**b, 2),
    "exp_polar": mpmath.exp,
    "polar_lift": lambda a: a,
    "UnevaluatedExpr": lambda a: a,
    "adjoint": mpmath.conj,
    "transpose": lambda a: a,
    "riemann_xi": lambda s: (
        s * (s - 1) / 2 * mpmath.pi ** (-s / 2) * mpmath.gamma(s / 2) * mpmath.zeta(s)
    ),
    "lucas": lambda n: mpmath.fib(n - 1) + mpmath.fib(n + 1),
    "Rem": lambda a, b: a - b * (mpmath.floor(a / b) if a / b > 0 else mpmath.ceil(a / b)),
    "hn1": lambda n, a: mpmath.sqrt(mpmath.pi / 2 / a) * mpmath.hankel1(n + 0.5, a),
    "hn2": lambda n, a: mpmath.sqrt(mpmath.pi / 2 / a) * mpmath.hankel2(n + 0.5, a),
    "harmonic": lambda n, m=1: (
        mpmath.harmonic(n) if m == 1 else mpmath.zeta(m) - mpmath.zeta(m, n + 1)
    ),
    "LambertW": mpmath.lambertw,
    "Ynm": mpmath.spherharm,
    "Znm": lambda n, m, theta, phi: (  # of an m below 0
        mpmath.sqrt(2) * mpmath.im(mpmath.spherharm(n, m, theta, phi))
    ),
    "erf2inv": lambda a, b: mpmath.erfinv(b + mpmath.erf(a)),
    "DiracDelta": lambda a: mpmath.mpf(0),
    "LeviCivita": lambda *k: int(sp.LeviCivita(*map(int, k))),
    "isnan": mpmath.isnan,
    "SingularityFunction": lambda x, a, n: (x - a) ** n if x >= a else mpmath.mpf(0),
}

#: What SymPy rewrites in the whole formula before it prints it, for seconds, though mpmath has it.
REWRITTEN = [
    "cot", "csc", "sec", "acot", "acsc", "asec", "coth", "csch", "sech", "acoth", "acsch", "asech",
    "fibonacci", "beta", "factorial", "binomial", "frac", "erfc", "Ei", "RisingFactorial",
    "FallingFactorial",
]  # fmt: skip


def _multiplied_out(body: Any, limits: Any) -> Any:
    index, first, last = limits
    return sp.Mul(*(body.subs(index, k) for k in range(int(first), int(last) + 1)))


def _added_up(body: Any, *limits: Any) -> Any:
    """SymPy's sum from 3 to -1 is that from 0 to 2, negative; as Python's it would be empty."""
    ((index, first, last),) = limits
    if int(last) < int(first) - 1:
        return -sp.Sum(body, (index, last + 1, first - 1))
    return sp.Sum(body, *limits)


def _sum(body: Any, first: Any, last: Any) -> Any:
    if last < first - 1:
        return -_sum(body, last + 1, first - 1)
    return mpmath.fsum(body(mpmath.mpf(k)) for k in range(int(first), int(last) + 1))


def _product(body: Any, first: Any, last: Any) -> Any:
    return mpmath.fprod(body(mpmath.mpf(k)) for k in range(int(first), int(last) + 1))


def _real_one(value: Any) -> Any:
    """Return what is real but for rounding as real: a complex number is in no order."""
    small = abs(mpmath.im(value)) <= mpmath.mpf(10) ** -50 * abs(value)
    return mpmath.re(value) if small else value


class _Parts(MpmathPrinter):
    """Print a formula with each part computed once and when it is needed.

    Parts with a bound symbol stay where they are. SymPy's own text for mpmath repeats a part
    wherever it stands, under integrals at each of their nodes.
    """

    def __init__(self) -> None:
        super().__init__({
            "fully_qualified_modules": False,
            "order": "none",  # SymPy would compute parts to sort terms
            "allow_unknown_functions": True,
            "user_functions": {name: name for name in [*REWRITTEN, *NAMES]},
        })  # fmt: skip
        self.names: dict[Any, str] = {}
        self.lines: list[str] = []

    def function(self, formula: Any) -> Callable[[Any, Any], Any]:
        """Return the formula as a function of both symbols."""
        result = self._print(formula)
        body = [*self.lines, f"return {result}"]
        there = vars(mpmath) | {name: getattr(mpmath, n) for name, n in TRANSLATED.items()}
        there |= NAMES | {"cache": cache, "_sum": _sum, "_product": _product, "_real": _real_one}
        exec("\n    ".join(["def function(x, y):", *body]), there)
        made: Callable[[Any, Any], Any] = there["function"]
        return made

    def _print(self, expr: Any, **options: Any) -> Any:
        if (
            not isinstance(expr, (sp.Expr, Boolean))
            or not expr.args
            or expr.free_symbols - {X, Y}
            or expr.is_Rational
        ):
            return super()._print(expr, **options)
        if expr not in self.names:
            text = super()._print(expr, **options)
            self.names[expr] = f"part_{len(self.names)}"
            self.lines.append(f"{self.names[expr]} = cache(lambda: {text})")
        return f"{self.names[expr]}()"

    def _print_Dummy(self, expr: Any) -> str:
        return f"own_{expr.dummy_index}"

    def _print_Relational(self, expr: Any) -> Any:
        if isinstance(expr, (sp.Eq, sp.Ne)):
            return super()._print_Relational(expr)
        left, right = (self._print(e) for e in expr.args)
        return f"(_real({left}) {expr.rel_op} _real({right}))"

    def _print_Sum(self, expr: Any, name: str = "_sum") -> str:
        text = self._print(expr.function)
        for limits in expr.limits:
            index, first, last = map(self._print, limits)
            text = f"{name}(lambda {index}: {text}, {first}, {last})"
        return text

    def _print_Product(self, expr: Any) -> str:
        return self._print_Sum(expr, "_product")

    def _print_Subs(self, expr: Any) -> Any:
        return self._print(expr.doit())

    def _print_Contains(self, expr: Any) -> Any:
        return self._print(expr.args[1].as_relational(expr.args[0]))

    def _print_ComplexRootOf(self, expr: Any) -> Any:
        return self._print(expr.evalf(60))

    _print_AlgebraicNumber = _print_ComplexRootOf

    def _print_betainc_regularized(self, expr: Any) -> Any:
        # SymPy prints mpmath's betainc, which is not regularized.
        return self._print(sp.betainc(*expr.args) / sp.beta(*expr.args[:2]))


class _TooLongError(BaseException):
    """SymPy or mpmath takes too long; no ``except Exception`` of theirs may catch it."""


#: Seconds of this processor that SymPy or mpmath may take for one formula or value.
SECONDS = 60


@contextmanager
def _patience() -> Iterator[None]:
    """Raise when the block has run for too long: nothing of symgrad's is in it."""

    def ring(*_: Any) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class _Exact:
    """A formula's values with 50 digits: by mpmath, by SymPy's evalf for what mpmath has not."""

    def __init__(self, formula: Any) -> None:
        self.formula = formula
        with _patience():
            self.function = _Parts().function(formula)

    @cached_property
    def written_out(self) -> Any:
        """The formula as evalf takes it."""
        subs = {e: e.doit() for e in self.formula.atoms(sp.Subs)}
        return (
            self.formula.xreplace(subs)
            .replace(sp.Product, _multiplied_out)
            .replace(sp.Sum, _added_up)
            .replace(sp.Contains, lambda x, where: where.as_relational(x))
            .replace(
                sp.betainc_regularized, lambda a, b, x, y: sp.betainc(a, b, x, y) / sp.beta(a, b)
            )
        )

    def __call__(self, a: Any, b: Any) -> Any:
        """Return the value; None where there is none, or none that is real."""
        with mpmath.workdps(60), _patience():
            at = [mpmath.mpf(v.p) / v.q for v in (a, b)]
            try:
                value = mpmath.mpmathify(self.function(*at))
            except (NameError, AttributeError, TypeError):
                try:
                    value = self.written_out.evalf(60, subs={X: a, Y: b})
                except ValueError:  # harmonic of what has no value
                    return None
                if not (value.is_Float or value.is_Rational):
                    return None
                value = mpmath.mpf(value)
            except (ValueError, ZeroDivisionError, mpmath.libmp.NoConvergence):
                return None
            if not mpmath.isfinite(value):
                return None
            if abs(mpmath.im(value)) > mpmath.mpf(10) ** -50 * abs(value):
                return None
            return mpmath.re(value)


def _function(read: Callable[..., Any], formula: Any) -> Callable[..., Any]:
    """Return the formula's function of both numbers."""
    names = [X, Y, *OTHERS] if formula.has(*OTHERS) else [X, Y]
    f: Callable[..., Any] = read(*((names, formula) if read is sg.lambdify else (formula, names)))
    return f if len(names) == 2 else lambda x, y: f(x, y, *_others(x, y))


def _real_part(f: Any) -> Any:
    return lambda *values: np.real(f(*values))


def _renamed(e: Any, names: dict[Any, Any]) -> Any:
    """As ``xreplace``, by which SymPy simplifies arguments of polylogarithms for minutes."""
    if e in names:
        return names[e]
    args = [_renamed(a, names) for a in e.args]
    if all(new is old for new, old in zip(args, e.args, strict=True)):
        return e
    return _polylog(*args) if isinstance(e, sp.polylog) else e.func(*args)


def _require_back(f: Any, formula: Any, place: Any, wanted: Any) -> None:
    """The formula that comes back has the values of the one that went in, to 35 digits.

    Of a formula without arguments the function gives a number, which is all there is to come back.
    """
    try:
        found = sg.symbolic(f, *map(float, place))
    except UnsupportedError:  # too large to be read
        return
    own = {sp.Symbol(s.name, real=True): s for s in (X, Y)}
    with _patience():
        found = _renamed(found, own)
    value = _Exact(found)(*place)
    assert value is not None, (formula, found)
    bound = 1e-35 if formula.free_symbols else 1e-13
    assert abs(value - wanted) <= bound * max(1, abs(wanted)), (formula, found)


def _has_complex_parts(formula: Any, place: Any) -> bool:
    """Tell whether a part of a real value is complex, as the root of a negative number is."""
    at = dict(zip((X, Y), place, strict=True))
    parts = [e for e in sp.preorder_traversal(formula) if isinstance(e, sp.Expr)]
    values = [e.evalf(15, subs=at) for e in parts]
    return any(v.is_number and abs(sp.im(v)) > 0 for v in values)


def _compare(found: Any, wanted: Any, far: float, size: float, what: Any) -> None:
    assert abs(float(found) - float(wanted)) <= far * size, (*what, found, float(wanted))


#: The side of differences with 60 digits: 30 are left of a first derivative, 20 of a second.
STEP = sp.Rational(1, 10**15)


def _slopes(exact: _Exact, a: Any, b: Any) -> list[Any] | None:
    """Return both derivatives, and the three second ones, by differences."""
    value = exact(a, b)
    ways = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1))
    around = [exact(a + i * STEP, b + j * STEP) for i, j in ways]
    if value is None or None in around:
        return None
    with mpmath.workdps(60):
        step = mpmath.mpf(STEP.p) / STEP.q
        right, left, up, down, both, neither = around
        second = [(u + v - 2 * value) / step**2 for u, v in
                  ((right, left), (up, down), (both, neither))]  # fmt: skip
        mixed = (second[2] - second[0] - second[1]) / 2
        first = [(right - left) / (2 * step), (up - down) / (2 * step)]
        return [*first, second[0], second[1], mixed]


@pytest.mark.attack(quick=15, whole=20_000, part=100, judge="mpmath with 50 digits")
def test_sympy_formulas(attack: Attack) -> None:
    """Formulas over SymPy's functions and structures: values, two derivatives, arrays."""
    for case in attack:
        # Kernels take 0.2 s each.
        backend = "llvm" if case.number % 10 == 0 else "numpy"
        with case, warnings.catch_warnings(), sg.backend(backend), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                _try(case)
            except _TooLongError:
                case.tally("not judged")


def _try(case: Case) -> None:
    depth = [1, 1, 1, 2, 2, 2, 2, 3][case.rng.integers(8)]
    try:
        with _patience():
            if case.number % 40 == 7:
                formula, plain = _of_matrices(case.rng, depth, CONTRACTIONS)
            else:
                formula, plain = _formula(case.rng, depth)
    except (AttributeError, TypeError, ValueError, RecursionError, sp.PolynomialError):
        # Of Xor in zeta, of a Lambda in a product, of a sine whose sign never settles.
        case.tally("SymPy makes no formula")
        return
    a, b = (sp.Rational(int(case.rng.integers(-40, 40)) * 2 + 1, 32) for _ in range(2))
    exact = _Exact(plain)
    wanted = exact(a, b)
    if wanted is None:
        case.tally("no value")
        return
    read = sg.lambdify if case.number % 5 == 1 else sg.from_sympy
    f = _function(read, formula)
    at = float(a), float(b)
    what = formula, at
    scale = max(1.0, abs(float(wanted)))
    try:
        found = f(*at)
    except UnsupportedError as error:  # of a real part that SymPy wrote in conjugates
        if not formula.has(sp.I) or "complex" not in str(error):
            raise
        case.tally("refused: complex")
        return
    if np.iscomplexobj(found):
        # SymPy wrote a real part as a sum of conjugates, whose type is complex.
        assert abs(np.imag(found)) <= 1e-11 * scale, what
        f, found = _real_part(f), np.real(found)
    if np.isnan(found) and _has_complex_parts(plain, (a, b)):
        case.tally("complex between: nan")  # as NumPy has it
        return
    _compare(found, wanted, 1e-11, scale, what)
    try:
        value, slopes = sg.value_and_grad(f, (0, 1))(*at)
    except UnsupportedError as error:
        if not formula.has(sp.I) or "complex" not in str(error):
            raise
        case.tally("refused: complex")
        return
    _compare(value, wanted, 1e-11, scale, what)
    judged = _slopes(exact, a, b)
    if judged is None:
        case.tally("no value beside it")
        return
    size = max(scale, *(abs(float(v)) for v in judged))
    for k in range(2):
        _compare(slopes[k], judged[k], 1e-9, size, (*what, "slope", k))
    if case.number % 3 == 0:
        bends = sg.hessian(f, (0, 1))(*at)
        for k, (i, j) in enumerate(((0, 0), (1, 1), (0, 1), (1, 0))):
            right = judged[2 + min(k, 2)]
            _compare(bends[i][j], right, 1e-7, size, (*what, "bend", i, j))
    if case.number % 4 == 1 and formula == plain:  # matrices come back as such
        _require_back(f, formula, (a, b), wanted)
    if not (formula.has(sp.Integral) and formula.has(*OTHERS)):  # of one array at a time
        _require_arrays(f, exact, (a, b), (wanted, *judged[:2]), (*what, "array"))


def _require_arrays(f: Any, exact: _Exact, place: Any, known: Any, what: Any) -> None:
    """Arrays have the values of their elements, in rows and columns, and their derivatives."""
    a, b = place
    aside = a + sp.Rational(1, 4), b - sp.Rational(1, 8)
    other = exact(*aside)
    xs, ys = (np.array([float(u), float(v)]) for u, v in zip(place, aside, strict=True))
    grid = np.broadcast_to(sg.compile(f)(xs, ys[:, None]), (2, 2))
    slopes = sg.grad(lambda x, y: np.sum(f(x, y) + 0.0 * (x + y)), (0, 1))(xs, ys)
    wanted = float(known[0])
    _compare(grid[0, 0], wanted, 1e-10, max(1.0, abs(wanted)), what)
    size = max(1.0, *(abs(float(v)) for v in known))
    for k in range(2):
        _compare(slopes[k][0], known[1 + k], 1e-9, size, (*what, "slope", k))
    if other is not None:
        _compare(grid[1, 1], other, 1e-10, max(1.0, abs(float(other))), what)
