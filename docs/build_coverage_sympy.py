"""Write docs/coverage-sympy.md, what becomes of every class of SymPy's that formulas are made of.

The classes are those of SymPy's public namespaces, their fates those of the tables in
``symgrad/_sympy``. Run ``python docs/build_coverage_sympy.py`` after a change;
tests/test_coverage_sympy.py compares.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable
from pathlib import Path

import sympy as sp
from sympy.core.function import AppliedUndef

from symgrad._sympy._builder import WHOLE
from symgrad._sympy._from_sympy import TABLE
from symgrad._sympy._refusals import known_reason

PAGE = Path(__file__).with_name("coverage-sympy.md")

INTRO = """\
# SymPy's functions and structures

<!-- Made by docs/build_coverage_sympy.py from SymPy's namespaces; do not edit. -->

Every class of SymPy that a formula can be made of, and what becomes of it in `sg.from_sympy` and `sg.lambdify`.

- **differentiable**: values and derivatives, to any order.
- **without a derivative**: computed in the program, but piecewise constant or boolean.
- **names and numbers**: what a formula ends in.
- **refused**: an error that names the part and says why. SymPy computes the values of constants, so `primepi(20)*x` and `x*Sum(1/n**2, (n, 1, oo))` are taken.

A function whose order or degree decides its formula takes it as a number: `expint(2, x)`, `polygamma(1, x)`, `jn(2, x)`, `legendre(3, x)` under a transformation. `hyper` has up to two upper parameters and one lower, `polylog` integer orders, `LambertW` its real branches as real numbers and all others as complex ones, `MatPow` integer exponents. `Heaviside(0)` is the value that the formula gives it, one half if none; `DiracDelta`, and `SingularityFunction` of a negative exponent, are 0. A sum or product whose last index is below its first follows SymPy: `Sum(f, (i, a, b))` is `-Sum(f, (i, b + 1, a - 1))`. `zeta` of one argument, `dirichlet_eta`, `riemann_xi` (with imaginary parts up to 80, else nan), `polylog`, `elliptic_k`, `elliptic_e`, `elliptic_f`, `beta`, `binomial` and `catalan` take complex values, also compiled. Other functions that SciPy has for real numbers alone, `zeta` and `harmonic` of two arguments, `assoc_legendre` and limits of an `Integral` refuse them.
"""  # noqa: E501

#: Namespaces, and the headings of their tables; a class is listed where it is met first.
SECTIONS: list[tuple[str, tuple[str, ...]]] = [
    ("Functions", ("sympy.functions", "sympy.functions.special.tensor_functions")),
    ("Sums, products, integrals, derivatives",
     ("sympy.concrete", "sympy.integrals", "sympy.core.function", "sympy.series")),
    ("Logic, relations, sets", ("sympy.logic", "sympy.core.relational", "sympy.sets")),
    ("Matrices", ("sympy.matrices", "sympy.matrices.expressions")),
    ("Arrays", ("sympy.tensor.indexed", "sympy.tensor.array", "sympy.tensor.array.expressions")),
    ("Code generation",
     ("sympy.codegen.cfunctions", "sympy.codegen.numpy_nodes", "sympy.codegen.scipy_nodes",
      "sympy.codegen.matrix_nodes")),
    ("The rest of SymPy's namespace", ("sympy",)),
]  # fmt: skip

#: Classes whose values are piecewise constant or boolean.
_CONSTANT = """
    floor ceiling sign Heaviside KroneckerDelta LeviCivita Eijk And Or Not Xor Xnor Nand Nor Implies
    Equivalent ITE Equality Unequality GreaterThan LessThan StrictGreaterThan StrictLessThan
    Contains DiracDelta isnan isinf
"""
CONSTANT = frozenset(_CONSTANT.split())

#: Classes that formulas are not made of: bases, and what SymPy works with.
_NO_FORMULAS = """
    LatticeOp Basic Expr Atom AtomicExpr Function Application MatrixBase BooleanFunction Boolean
    BooleanAtom Relational Rel ExprWithLimits DefinedFunction RoundFunction HyperRep
    TrigonometricFunction HyperbolicFunction InverseTrigonometricFunction ArgumentIndexError
    CoordinateSystem SeqExpr NDimArray ArrayKind MatrixKind BooleanKind SetKind
    UndefinedKind NumberKind TensorKind Kind Manifold
"""
_BASES = frozenset(_NO_FORMULAS.split())

_LEAVES = (sp.Number, sp.NumberSymbol, sp.Symbol, sp.Idx, AppliedUndef, *WHOLE)
_LEAF_NAMES = (
    "ImaginaryUnit", "BooleanTrue", "BooleanFalse", "AlgebraicNumber", "CRootOf", "ComplexRootOf",
    "RootOf", "Str",
)  # fmt: skip


def classes(namespaces: Iterable[str]) -> dict[str, type]:
    """Return the classes in namespaces by their own names."""
    found: dict[str, type] = {}
    for name in namespaces:
        module = importlib.import_module(name)
        for key in getattr(module, "__all__", None) or dir(module):
            value = getattr(module, key, None)
            if inspect.isclass(value) and issubclass(value, sp.Basic) and key[0] != "_":
                found.setdefault(value.__name__, value)
    return {k: v for k, v in found.items() if k not in _BASES and not inspect.isabstract(v)}


def fate(kind: type) -> tuple[str, str]:
    """Return what becomes of a class, and why; ``("", "")`` if nothing is known."""
    why = known_reason(kind)
    if issubclass(kind, _LEAVES) and kind.__name__ != "Wild":
        return ("refused", why) if why else ("names and numbers", "")
    if kind.__name__ in _LEAF_NAMES:
        return "names and numbers", ""
    if kind in TABLE:
        constant = kind.__name__ in CONSTANT
        return "without a derivative" if constant else "differentiable", ""
    return ("refused", why) if why else ("", "")


def page() -> str:
    """Return the text of the page."""
    lines, seen = [INTRO], set()
    for heading, namespaces in SECTIONS:
        rows: dict[str, list[str]] = {}
        for name, kind in sorted(classes(namespaces).items()):
            if name in seen:
                continue
            seen.add(name)
            what, why = fate(kind)
            rows.setdefault(f"{what}|{why}", []).append(f"`{name}`")
        if not rows:
            continue
        lines.append(f"## {heading}\n")
        for what in ("differentiable", "without a derivative", "names and numbers"):
            names = rows.get(f"{what}|")
            if names:
                lines.append(f"**{what}** ({len(names)}): {', '.join(names)}\n")
        refused = sorted(
            (k.partition("|")[2], v) for k, v in rows.items() if k.startswith("refused")
        )
        if refused:
            lines.append("| refused | because it |\n| --- | --- |")
            lines.extend(f"| {', '.join(names)} | {why} |" for why, names in refused)
            lines.append("")
    version = ".".join(sp.__version__.split(".")[:2])
    lines.append(f"Names of SymPy {version}.")
    return "\n".join(line for line in lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
