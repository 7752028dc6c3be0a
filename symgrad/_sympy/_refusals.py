"""What SymPy can say and is not computed, and why: errors say it, docs/coverage-sympy.md lists it.

A row is a reason and the names of SymPy's classes.
"""

from __future__ import annotations

from typing import Any

_COUNTS = "counts or factors integers: compute it outside, .doit() of a number gives a number"
_SET = "is a set: as a condition write x in it, Contains(x, set)"
_GEOMETRY = "is a thing of geometry: its coordinates, lengths and areas are formulas"
_TRANSFORM = "is a transform that SymPy has not found: .doit(), or its Integral with finite limits"
_UNKNOWN = "is computed by no library that symgrad calls: write its Integral or series"
_SERIES = "is a sequence: its .coeff(n) or .formula is a formula"
_ORDER = "stands for terms left out: .removeO()"

#: Reasons, and the classes that they are for.
REASONS: list[tuple[str, str]] = [
    (_COUNTS, """
        andre bell bernoulli carmichael divisor_sigma euler genocchi jacobi_symbol kronecker_symbol
        legendre_symbol mobius motzkin partition primenu primeomega primepi reduced_totient totient
        udivisor_sigma         tribonacci nC nP nT stirling
    """),
    ("is computed for numbers only: .doit() or .evalf() of numbers", """
        chebyshevt_root chebyshevu_root stieltjes subfactorial
    """),
    (_SET, """
        Complement ComplexRegion ConditionSet DisjointUnion FiniteSet ImageSet Intersection Interval
        PowerSet ProductSet Range Set SymmetricDifference Union EmptySet Reals Integers Naturals
        Naturals0 Rationals Complexes UniversalSet
    """),
    (_GEOMETRY, """
        Circle Curve Ellipse Line Line2D Line3D Parabola Plane Point Point2D Point3D Polygon Ray
        Ray2D Ray3D RegularPolygon Segment Segment2D Segment3D Triangle GeometryEntity
    """),
    (_TRANSFORM, """
        CosineTransform FourierTransform HankelTransform InverseCosineTransform
        InverseFourierTransform InverseHankelTransform InverseLaplaceTransform
        InverseMellinTransform InverseSineTransform LaplaceTransform MellinTransform SineTransform
    """),
    (_UNKNOWN, """
        appellf1 lerchphi marcumq mathieuc mathieucprime mathieus mathieusprime meijerg
    """),
    (_SERIES, "SeqAdd SeqFormula SeqMul SeqPer SeqBase FormalPowerSeries FourierSeries"),
    (_ORDER, "Order O"),
    ("is a limit that SymPy has not found: .doit(), or the formula at a point nearby", "Limit"),
    ("depends on a branch, which numbers do not carry: simplify with unpolarify",
     "periodic_argument principal_branch"),
    ("is an interval of values, no number: it comes of a limit that oscillates",
     "AccumBounds AccumulationBounds"),
    ("is an array that is not written out: .doit()", "ArrayComprehension ArrayComprehensionMap"),
    ("is text of another language", "Token CodegenAST Node"),
    ("is a sum over the roots of a polynomial: .doit(), or sum over numpy.roots", "RootSum"),
    ("is a permanent, whose cost grows exponentially: write it out", "Permanent"),
    ("is a question to the assumptions: write it as a relation, x > 0",
     "AppliedPredicate Predicate Q"),
    ("is a function and no value: apply it to arguments", "Lambda FunctionClass UndefinedFunction"),
    ("matches formulas and is none", "Wild WildFunction"),
    ("is a unit: convert_to(expression, units), and divide by the unit", "Quantity Dimension"),
    ("is a vector: its components are formulas, .to_matrix(frame)",
     "Vector Dyadic ReferenceFrame VectorAdd VectorMul BaseVector CoordSys3D"),
    ("has four parts, which are formulas: q.a, q.b, q.c, q.d", "Quaternion"),
    ("is a thing of sets and orders, no number", "Ordinal OmegaPower GroebnerBasis"),
    ("is a structure of Python's: give its values, list(d.values())", "Dict"),
    ("is no number: give formulas in a Python tuple", "Tuple Str"),
]  # fmt: skip

_BY_NAME = {name: why for why, names in REASONS for name in names.split()}


def known_reason(kind: type) -> str | None:
    """Return why a class of SymPy's is refused, None if no row has it or one it is made of."""
    return next((_BY_NAME[k.__name__] for k in kind.__mro__ if k.__name__ in _BY_NAME), None)


def reason(e: Any) -> str:
    """Return what is said of a formula that is refused: the part, and what to write."""
    kind = type(e).__name__
    text = ""
    try:
        text = str(e)
    except RecursionError:
        text = kind
    part = f"{text[:80]}{'...' * (len(text) > 80)}"
    why = known_reason(type(e))
    if why is None and type(e).__module__.partition(".")[0] != "sympy":
        return (
            f"the function {kind} is a class of your own: sg.lambdify(args, expr, "
            f"modules={{'{kind}': function}}) computes it (in {part})"
        )
    if why is None:
        why = (
            "has no value to compute with: rewrite it in elementary functions "
            "(expression.rewrite(...), .doit())"
        )
    shown = "the SymPy function" if getattr(e, "is_Function", False) else "SymPy's"
    return f"{shown} {kind} {why} (in {part})"
