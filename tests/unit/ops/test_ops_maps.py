"""The elementwise records: rules proved, forms compared, lowerings run, conventions kept."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sc
import sympy as sp
from scipy.special import cython_special

import symgrad as sg
from symgrad._core.op import (
    Code,
    Cython,
    Evidence,
    Libm,
    Map,
    Op,
    Partials,
    Words,
    define,
    registry,
)
from symgrad._core.ops import logic, np_refused, rounding
from symgrad._core.runtime._libraries import Function, exported
from symgrad.errors import DefinitionError, UnsupportedError
from tests.samples import samples_of

MAPS = [op for op in registry.ops.values() if isinstance(op, Map)]
#: With an operand that is a function of the others, through which its rule leads: tested where
#: derivatives are, of the lengths that it is made for.
TIED = {"Cosine"}
RULES = [
    op for op in MAPS
    if op.partials is not None and op.reason is None and op.sympy and op.name not in TIED
]  # fmt: skip
FORMLESS = [op for op in MAPS if op.partials is not None and op.sympy is None]
STEPS = [op for op in MAPS if op.reason is not None and op.sympy is not None]
DIGITS = 40


def named(ops: list[Op]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("op", ops, ids=lambda op: op.name)


# ---------------------------------------------------------------- rules on SymPy values

PI = sp.pi
CONSTANTS = {
    float(c): c
    for c in (
        PI, PI / 2, PI / 180, 180 / PI, PI**2 / 3, PI**2 / 4, sp.sqrt(PI) / 2, 2 / sp.sqrt(PI),
        1 / sp.sqrt(2 * PI), sp.sqrt(2 / PI), sp.sqrt(2), sp.log(2), sp.log(10), 1 / sp.log(2),
        1 / sp.log(10),
    )
}  # fmt: skip


def exact(value: Any) -> Any:
    """Return the number that a float in a rule stands for; it must be rounded correctly."""
    if isinstance(value, (bool, np.bool_)):
        return sp.true if value else sp.false
    if value != value:
        return sp.nan
    value = float(value)
    if abs(value) in CONSTANTS:
        return sp.sign(value) * CONSTANTS[abs(value)]
    for d in range(1, 9):
        fraction = sp.Rational(round(value * d), d)
        if float(fraction) == value:
            return fraction
    raise AssertionError(f"{value!r} is no known constant, or not the nearest double to it")


class Proof:
    """A SymPy expression that NumPy functions and ops act on by their SymPy forms."""

    dtype = np.dtype(np.float64)

    def __init__(self, form: Any) -> None:
        self.form = form

    @staticmethod
    def __symgrad_bind__(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Proof:
        forms = [x.form if isinstance(x, Proof) else exact(x) for x in operands]
        if op.sympy is None:  # what it is by is compared with differences
            assert Evidence.of(op).precise is not None
            return Proof(sp.nan)
        return Proof(op.sympy(*forms, **params))

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        assert method == "__call__"
        assert not options
        return registry.handler(ufunc)(*operands)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return registry.handler(function)(*args, **kwargs)


def operator(ufunc: np.ufunc, swap: bool = False) -> Callable[..., Any]:
    return lambda self, *other: ufunc(*other, self) if swap else ufunc(self, *other)


for _word, _ufunc in {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide,
    "pow": np.power, "and": np.bitwise_and, "or": np.bitwise_or, "lt": np.less, "gt": np.greater,
    "le": np.less_equal, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
    "neg": np.negative, "invert": np.invert,
}.items():  # fmt: skip
    setattr(Proof, f"__{_word}__", operator(_ufunc))
    setattr(Proof, f"__r{_word}__", operator(_ufunc, swap=True))


def symbol(k: int, domain: sp.Set) -> Any:
    """Return a symbol with what SymPy can be told of the domain, or a condition."""
    if domain is logic.CONDITION:
        return sp.Symbol(f"t{k}", real=True) > 0
    name = f"x{k}"
    if domain.is_subset(sp.Integers):
        return sp.Symbol(name, integer=True, positive=domain.is_subset(sp.Naturals) or None)
    if domain.is_subset(sp.Interval.open(0, sp.oo)):
        return sp.Symbol(name, positive=True)
    return sp.Symbol(name, real=True, zero=None if 0 in domain else False)


def steps_are_flat(form: Any) -> Any:
    """Drop derivatives of floor and sign: zero, but for points where there is none."""
    return form.replace(
        lambda e: isinstance(e, (sp.Subs, sp.Derivative, sp.DiracDelta)), lambda *_: sp.S.Zero
    )


def slopes(op: Op, symbols: list[Any]) -> list[Any]:
    """Return the rule's derivatives as SymPy expressions."""
    assert op.sympy is not None
    assert op.partials is not None
    rule = op.partials(Proof(op.sympy(*symbols)), *map(Proof, symbols))
    assert len(rule) == op.arity
    return [p.form if isinstance(p, Proof) else sp.S.Zero if p is None else exact(p) for p in rule]


def chosen(op: Op, symbols: list[Any]) -> list[Any]:
    """Return for each operand the condition under which it reaches the result."""
    if op.taken is None:
        return [sp.true] * op.arity
    given = op.taken(Proof(op.sympy(*symbols)), *map(Proof, symbols))
    return [sp.true if c is None else c[0].form if c[1] else sp.Not(c[0].form) for c in given]


def proved(claim: Any, form: Any, symbol: sp.Symbol) -> bool:
    """Tell whether ``claim`` is identically the derivative of ``form``."""
    difference = claim - steps_are_flat(sp.diff(form, symbol))
    return not refuted(difference) and bool(
        sp.expand(difference) == 0 or sp.simplify(difference) == 0
    )


def refuted(difference: Any) -> bool:
    """Tell whether a formula is clearly not 0 at some point; SymPy may search for minutes."""
    free = sorted(difference.free_symbols, key=str)
    at = {s: 2 if s.is_integer else sp.Rational(37 + 11 * k, 100) for k, s in enumerate(free)}
    found = difference.subs(at).evalf(30)
    return bool(found.is_Float and abs(found) > 1e-10)


def cases(op: Op) -> Iterator[tuple[Any, Any, sp.Symbol]]:
    """Yield slope, form and symbol for each real operand whose derivative is claimed."""
    symbols = [symbol(k, d) for k, d in enumerate(op.domain)]
    assert op.sympy is not None
    for x, claim, domain in zip(symbols, slopes(op, symbols), op.domain, strict=True):
        if claim is sp.nan:
            assert "nan" in str(Words.of(op).convention) or Evidence.of(op).precise
        elif domain.is_subset(sp.Reals) and not domain.is_subset(sp.Integers):
            yield claim, op.sympy(*symbols), x


@named(RULES)
def test_rule_is_the_derivative(op: Op) -> None:
    claims = list(cases(op))
    assert claims
    symbols = [symbol(k, d) for k, d in enumerate(op.domain)]
    reached = dict(zip(symbols, chosen(op, symbols), strict=True))
    for claim, form, x in claims:
        where_taken = sp.Piecewise((claim, reached[x]), (0, True))
        assert proved(claim, form, x) or proved(where_taken, form, x), f"by {x}: {claim}"


@named([op for op in RULES if op.taken is not None and op.name != "Where" and not op.fixed])
def test_an_operand_that_is_not_taken_has_no_derivative(op: Op) -> None:
    symbols = [symbol(k, d) for k, d in enumerate(op.domain)]
    reached = dict(zip(symbols, chosen(op, symbols), strict=True))
    for claim, _, x in cases(op):
        for point in ((1, 2), (2, 1), (-1, 0), (sp.Rational(1, 3), -5)):
            at = dict(zip(symbols, point, strict=True))
            assert (claim.subs(at) != 0) == bool(reached[x].subs(at))


@named(RULES)
def test_a_wrong_rule_is_not_proved(op: Op) -> None:
    for claim, form, x in cases(op):
        for wrong in [-claim, sp.S.Zero] if claim != 0 else [sp.S.One]:
            assert not proved(wrong, form, x), f"by {x}: {wrong} passes for {claim}"


# ---------------------------------------------------------------- numbers


def sampled(op: Op, count: int = 12) -> list[Any]:
    """Return random operands from the record's ranges."""
    rng = np.random.default_rng(sum(map(ord, op.name)))
    operands: list[Any] = []
    for domain, (low, high) in zip(op.domain, Evidence.of(op).samples, strict=True):
        if domain is logic.CONDITION:
            operands.append(rng.random(count) < 0.5)
        elif domain.is_subset(sp.Integers):
            operands.append(rng.integers(low, high, count, endpoint=True))
        else:
            operands.append(rng.uniform(low, high, count))
    return operands


def number(value: Any) -> Any:
    """Return the exact value of a NumPy scalar."""
    value = value.item()
    if isinstance(value, bool):
        return sp.true if value else sp.false
    return sp.Integer(value) if isinstance(value, int) else sp.Float(value, DIGITS + 20)


def truly(form: Any, point: tuple[Any, ...]) -> Any:
    """Return the form at a point to 40 digits, or its truth value."""
    value = form(*map(number, point)).replace(sp.erfcinv, lambda x: sp.erfinv(1 - x))
    if isinstance(value, (sp.logic.boolalg.BooleanAtom, bool)):
        return bool(value)
    with mpmath.workdps(DIGITS):
        return mpmath.mpf(sp.N(value, DIGITS)._to_mpmath(DIGITS * 4))


def ulps(got: Any, want: Any) -> float:
    """Return the distance of a double to an exact value in units in the last place."""
    with mpmath.workdps(DIGITS):
        unit = np.spacing(max(abs(float(want)), 1e-300))
        return float(abs(mpmath.mpf(float(got)) - want) / mpmath.mpf(float(unit)))


def unequal(got: Any, want: Any, tolerance: float) -> Any:
    """Tell where results differ by more than so many units, or in nan or the sign of zero."""
    if want.dtype.kind != "f":
        return got != want
    with np.errstate(all="ignore"):
        same = (got == want) & ((want != 0) | (np.signbit(got) == np.signbit(want)))
        near = np.abs(got - want) <= tolerance * np.spacing(np.abs(want))
    return ~(same | near | (np.isnan(got) & np.isnan(want)))


@named([op for op in MAPS if op.sympy is not None and Evidence.of(op).exact_form])
def test_numpy_computes_the_form(op: Op) -> None:
    operands = sampled(op)
    result = np.asarray(op.evaluate(*operands))
    for point, got in zip(zip(*operands, strict=True), result, strict=True):
        want = truly(op.sympy, point)
        if isinstance(want, bool):
            assert bool(got) == want, point
        else:
            assert ulps(got, want) <= max(Evidence.of(op).ulp, 2.0), (point, got, want)


@named([op for op in STEPS if op.name != "StopGradient"])
def test_without_a_rule_the_form_is_flat(op: Op) -> None:
    nudge = sp.Float("1e-30", DIGITS + 20)
    for point in zip(*sampled(op, 4), strict=True):
        assert op.sympy is not None
        there = [number(p) for p in point]
        near = [n + nudge if n.is_Float else n for n in there]
        before, after = op.sympy(*there), op.sympy(*near)
        assert before == after or abs(sp.N(before - after, DIGITS)) < 1e-35


#: Slopes of a few terms lose digits where they cross zero; I1e's does at 1.6.
LOSING = {"I1e": 1000.0}


@named([op for op in RULES if op.name not in ("Where", "Cast")])
def test_rule_is_accurate(op: Op) -> None:
    """On doubles the rule agrees with the exact derivative, but for rounding."""
    operands = sampled(op, 6)
    result = op.evaluate(*operands)
    assert op.partials is not None
    rule = op.partials(result, *operands)
    symbols = [symbol(k, d) for k, d in enumerate(op.domain)]
    for claim, _, x in cases(op):
        slope = rule[symbols.index(x)]
        values = np.broadcast_to(0.0 if slope is None else slope, result.shape)
        for got, point in zip(values, zip(*operands, strict=True), strict=True):
            at = dict(zip(symbols, map(number, point), strict=True))
            want = truly(lambda *_, at=at, claim=claim: claim.subs(at), point)
            bound = LOSING.get(op.name, max(64.0, 8 * Evidence.of(op).ulp))
            assert ulps(got, want) <= bound, (point, got, want)


@named([op for op in RULES if op.name not in ("Where", "Cast")])
def test_second_derivative_is_exact(op: Op) -> None:
    """Rules are made of ops: traced and differentiated again they are still right."""
    symbols = [symbol(k, d) for k, d in enumerate(op.domain)]
    for claim, _, x in cases(op):
        j, second = symbols.index(x), steps_are_flat(sp.diff(claim, x))
        for point in zip(*sampled(op, 2), strict=True):
            with sg.backend("numpy"):
                slope = sg.grad(lambda v, j=j, p=point: op(*p[:j], v, *p[j + 1 :]))
                got = float(sg.grad(lambda v, slope=slope: slope(v))(point[j]))
            at = dict(zip(symbols, map(number, point), strict=True))
            want = truly(lambda *_, at=at, second=second: second.subs(at), point)
            assert got == pytest.approx(float(want), rel=1e-9, abs=1e-12), (x, point)


@named(FORMLESS)
def test_rule_without_a_form_agrees_with_differences(op: Op) -> None:
    """To second order: what SymPy cannot say is compared with differences."""
    operands, h = sampled(op, 3), 2e-4
    for j, domain in enumerate(op.domain):
        if domain.is_subset(sp.Integers):
            continue

        def total(x: Any, j: int = j) -> Any:
            return np.sum(op(*operands[:j], x, *operands[j + 1 :]))

        slope = sg.grad(total)

        def steepness(x: Any, slope: Any = slope) -> Any:
            return np.sum(slope(x))

        x = operands[j]
        with sg.backend("numpy"):
            if np.isnan(slope(x)).all():
                assert "not known" in str(Words.of(op).convention)
                continue
            for rule, before in ((slope, total), (sg.grad(steepness), steepness)):
                if np.isnan(rule(x)).all():
                    assert Words.of(op).convention
                    continue
                for k, got in enumerate(rule(x)):
                    far, near, nearer, farther = (
                        before(x + s * h * (np.arange(3) == k)) for s in (-2, -1, 1, 2)
                    )
                    want = (far - 8 * near + 8 * nearer - farther) / (12 * h)
                    assert got == pytest.approx(want, rel=1e-6, abs=1e-7)


FAR = [
    (np.expm1, (-40.0,), (math.exp(-40.0),)),
    (np.expm1, (-700.0,), (math.exp(-700.0),)),
    (np.log1p, (1e-20,), (1.0,)),
    (np.tanh, (30.0,), (float(mpmath.sech(30) ** 2),)),
    (np.tanh, (1e4,), (0.0,)),
    (sc.expit, (-300.0,), (math.exp(-300.0),)),
    (sc.expit, (300.0,), (math.exp(-300.0),)),
    (sc.log_expit, (-1e4,), (1.0,)),
    (sc.log_ndtr, (-1e4,), (10000.000099999998,)),
    (sc.erfc, (20.0,), (-2 / math.sqrt(math.pi) * math.exp(-400.0),)),
    (sc.ndtr, (-30.0,), (float(mpmath.npdf(30)),)),
    (np.arctan2, (1e-200, 1e-200), (5e199, -5e199)),
    (np.arctan2, (1e200, 1e200), (5e-201, -5e-201)),
    (np.arcsinh, (1e200,), (1e-200,)),
    (np.arccosh, (1e200,), (1e-200,)),
    (np.hypot, (3e200, 4e200), (0.6, 0.8)),
    (np.sinc, (1e-8,), (-(math.pi**2) / 3 * 1e-8,)),
    (np.logaddexp, (1000.0, -1000.0), (1.0, 0.0)),
    (np.logaddexp, (-math.inf, 0.0), (0.0, 1.0)),
    (np.logaddexp, (-math.inf, -math.inf), (0.5, 0.5)),
    (np.logaddexp2, (math.inf, math.inf), (0.5, 0.5)),
    (np.remainder, (1.0, 0.1), (1.0, -9.0)),
    (np.fmod, (-1.0, 0.1), (1.0, 9.0)),
]
CONVENTIONS = [
    (np.absolute, (0.0,), (0.0,)),
    (np.fabs, (-0.0,), (0.0,)),
    (np.maximum, (2.0, 2.0), (0.5, 0.5)),
    (np.minimum, (2.0, 2.0), (0.5, 0.5)),
    (np.maximum, (1.0, 2.0), (0.0, 1.0)),
    (np.minimum, (1.0, 2.0), (1.0, 0.0)),
    (np.maximum, (math.inf, math.inf), (0.5, 0.5)),
    (np.maximum, (math.nan, 1.0), (math.nan, math.nan)),
    (np.fmax, (math.nan, 1.0), (0.0, 1.0)),
    (np.fmin, (1.0, math.nan), (1.0, 0.0)),
    (np.fmin, (1.0, 1.0), (0.5, 0.5)),
    (np.power, (0.0, 0.0), (0.0, 0.0)),
    (np.power, (0.0, 2.0), (0.0, 0.0)),
    (np.power, (0.0, 1.0), (1.0, 0.0)),
    (np.power, (-3.0, 0.0), (0.0, math.nan)),
    (np.power, (-3.0, 2.0), (-6.0, math.nan)),
    (np.hypot, (0.0, 0.0), (0.0, 0.0)),
    (np.arctan2, (0.0, 0.0), (0.0, 0.0)),
    (np.heaviside, (0.0, 0.5), (0.0, 1.0)),
    (np.sqrt, (0.0,), (math.inf,)),
    (np.cbrt, (0.0,), (math.inf,)),
    (np.copysign, (0.0, -1.0), (0.0, 0.0)),
    (np.sinc, (0.0,), (0.0,)),
    (sc.i0e, (0.0,), (0.0,)),
    (sc.xlogy, (0.0, 0.0), (-math.inf, 0.0)),
    (sc.xlogy, (0.0, 2.0), (math.log(2.0), 0.0)),
    (sc.entr, (0.0,), (math.inf,)),
    (sc.polygamma, (1.0, 1.0), (math.nan, -2.4041138063191885)),
    (sc.jv, (0.0, 0.0), (math.nan, 0.0)),
]


@pytest.mark.parametrize(("function", "point", "want"), FAR + CONVENTIONS)
@pytest.mark.quick
def test_slope_at_a_point(function: Any, point: Any, want: Any) -> None:
    op = registry.handler(function)
    assert isinstance(op, Op)
    assert op.partials is not None
    operands = [np.float64(p) for p in point]
    with np.errstate(all="ignore"):
        got = op.partials(op.evaluate(*operands), *operands)
    numbers = [0.0 if g is None else float(g) for g in got]
    np.testing.assert_allclose(numbers, want, rtol=4e-15, atol=0)


@named([op for op in RULES if op.name not in ("Cast", "FloatPower")])
@pytest.mark.quick
def test_rule_keeps_single_precision(op: Op) -> None:
    singles = op.name == "Polygamma"
    operands = [
        x.astype(np.float32) if singles or x.dtype.kind == "f" else x for x in sampled(op, 3)
    ]
    result = np.asarray(op.evaluate(*operands))
    assert op.partials is not None
    assert result.dtype == np.float32
    for slope in op.partials(result, *operands):
        if isinstance(slope, (np.ndarray, np.generic)):
            assert slope.dtype == np.float32


# ---------------------------------------------------------------- kernels against NumPy

EDGES = [
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -2.5, 1e-310, -1e-310, 1e300, -1e300, 1e-20, 700.0,
    -700.0, -745.0, 40.0, -40.0, 0.3, 0.99999, 1e-8, math.inf, -math.inf, math.nan,
]  # fmt: skip
WHOLE = [0, 1, 2, 3, 7, 8, 31, 33, 63, 64, 65, -1, -2, -3, -7, -64]
#: Not run on the edges of every type; each has a test of its own below, but for Hyp0f1.
SET_ASIDE = {
    "Cast": "takes a parameter",
    "Scale": "defined for the exponents of doubles only",
    "Zeta": "orders of 1 and less, where SciPy is not consistent",
    "Polygamma": "orders must be whole",
    "Hyp0f1": "SciPy divides by zero for tiny parameters",
    "Boxcox": "SciPy takes the logarithm for tiny orders; single precision loses digits in both",
    "Cosm1": "SciPy's cancels where the cosine is near 1",
    "StudentDensity": "far out it is the exponential of hundreds, whose rounding it magnifies",
    "Expn": "SciPy warns of orders that are not whole",
    "LogNdtr": "far to the right SciPy's loses digits, and the rounding of x is magnified",
    **dict.fromkeys(
        (
            "JvByOrder",
            "YvByOrder",
            "IvByOrder",
            "IveByOrder",
            "KvByOrder",
            "KveByOrder",
            "StruveByOrder",
            "ModStruveByOrder",
        ),
        "exact in units of the function itself, which is far larger at some edges",
    ),
    "Sinc": "at whole numbers of single precision it is what rounding pi*x leaves",
}


def edges(dtype: Any, arity: int) -> list[Any]:
    """Return all combinations of a type's edge values as operands."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        values: list[Any] = EDGES
    elif dtype.kind == "b":
        values = [False, True]
    else:
        info = np.iinfo(dtype)
        values = [v for v in WHOLE if info.min <= v <= info.max]
        values += [info.max, info.max - 1, info.min, info.min + 1]
    with np.errstate(all="ignore"):
        points = np.array(list(itertools.product(values, repeat=arity)), dtype)
    return [np.ascontiguousarray(p) for p in points.T]


#: SciPy computes float32 in single precision, kernels in double.
SINGLE = (sc.stdtr, sc.stdtrit, sc.ber, sc.bei, sc.ker, sc.kei, sc.berp, sc.beip, sc.kerp, sc.keip)


def applies(op: Op, operands: list[Any]) -> bool:
    """Tell whether NumPy has the op for these operands, in types that are traced."""
    kind = operands[0].dtype.kind
    if op.name in SET_ASIDE or op.arity != len(operands):
        return False
    if op.ufunc is None:  # the records that serve whole numbers in formulas, and other reals
        return kind in "iu" if op.name.startswith("Int") else kind == "f"
    if operands[0].dtype != np.float64 and op.ufunc in SINGLE:
        return False
    if kind != "f" and op.ufunc in (np.reciprocal, sc.jv, sc.yv, sc.iv, sc.kv, sc.ive):
        return False  # undefined at 0; SciPy has other loops for whole orders
    try:
        *found, result = op.ufunc.resolve_dtypes((*(x.dtype for x in operands), None))
    except TypeError:
        return False
    if kind == "i" and op.ufunc is np.power:  # refuses negative exponents
        return False
    return np.float16 not in found and result != np.float16


def conditioned(function: Any, operands: list[Any], got: Any, want: Any) -> Any:
    """Tell which results are no farther off than those of operands a unit larger, and near.

    At a small value of a function with large derivatives, as Bessel's J0(40), the digits depend on
    the processor's instructions.
    """
    if want.dtype.kind != "f" or any(x.dtype.kind != "f" for x in operands):
        return np.zeros(want.shape, bool)
    with np.errstate(all="ignore"):
        evaluate = getattr(function, "evaluate", function)
        moved = np.abs(evaluate(*(np.nextafter(x, np.inf) for x in operands)) - want)
        near = moved <= 1e4 * np.finfo(want.dtype).eps * np.abs(want)
        return near & (np.abs(got - want) <= moved)


def compare(functions: list[Any], operands: list[Any], tolerance: float = 6.0) -> None:
    """Compile one kernel for all functions and compare each result with NumPy's."""
    with np.errstate(all="ignore"):
        expected = [np.asarray(getattr(f, "evaluate", f)(*operands)) for f in functions]
    results = sg.compile(lambda *xs: tuple(f(*xs) for f in functions), cache=False)(*operands)
    for function, want, result in zip(functions, expected, results, strict=True):
        got = np.asarray(result)
        assert got.dtype == want.dtype, function
        apart = unequal(got, want, tolerance) & ~conditioned(function, operands, got, want)
        wrong = np.flatnonzero(apart)
        shown = [(*(x[k] for x in operands), want[k], got[k]) for k in wrong[:4]]
        assert not shown, f"{function}: operands, NumPy, kernel: {shown}"


#: Accurate as a complex number; each part of it, which may be the smaller one, within 20 units.
PARTS = [registry.ops["FaddeevaReal"], registry.ops["FaddeevaImag"]]


@pytest.mark.parametrize("arity", [1, 2])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?"])
@pytest.mark.quick(1)
def test_kernel_equals_numpy_on_edges(dtype: str, arity: int, some: Any) -> None:
    operands = edges(dtype, arity)
    ops = [op for op in MAPS if applies(op, operands)]
    assert len(ops) >= 20
    ops = some(ops, 2)
    # Single precision: functions of arrays are up to 4 units off, and composed ones more.
    compare([op for op in ops if op not in PARTS], operands, 24.0 if dtype == "f4" else 6.0)
    compare([op for op in ops if op in PARTS], operands, 40.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.quick(1)
def test_kernel_of_extremes_of_zeros(dtype: Any) -> None:
    """The second of equal ones: the sign of a zero tells. ``clip`` keeps its argument's."""
    x, y = np.array([[0, -0.0, 0, -0.0] * 5, [-0.0, 0, 0, -0.0] * 5], dtype)
    for f in (np.maximum, np.minimum, np.fmax, np.fmin):
        np.testing.assert_array_equal(np.signbit(sg.compile(f)(x, y)), np.signbit(y))
        assert [np.signbit(sg.compile(f)(*v)) for v in zip(x, y, strict=True)] == list(
            np.signbit(y)
        )
    for low, high in ((0.0, 1.0), (-1.0, -0.0), (-0.0, 0.0)):
        kept = sg.compile(lambda x, low=low, high=high: np.clip(x, low, high))(x)
        np.testing.assert_array_equal(np.signbit(kept), np.signbit(x))


def test_cube_root_of_the_largest_numbers() -> None:
    x = np.array([np.finfo(float).max, -np.finfo(float).max, 1e308, 2e300, 1e300, 1e-300])
    got = sg.compile(np.cbrt)(x)
    np.testing.assert_allclose(got, np.cbrt(x), rtol=5e-16)
    assert sg.compile(np.cbrt)(x[0]) == got[0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernel_of_mantissas_and_exponents(dtype: Any) -> None:
    """Of all bit patterns, and in loops over transposed arrays: once LLVM gave up on these."""
    bits = np.random.default_rng(0).integers(0, 256, 2400 * dtype().itemsize, np.uint8)
    x = bits.view(dtype)
    x[::7] = np.finfo(dtype).smallest_subnormal * np.arange(len(x[::7]), dtype=dtype)
    x[1:6] = [-0.0, np.inf, -np.inf, np.nan, 1.0]
    f = sg.compile(np.frexp)
    for part in (x, x[3:], x.reshape(40, 60), x.reshape(40, 60).T):
        with np.errstate(invalid="ignore"):
            expected = np.frexp(part)
        for got, want in zip(f(part), expected, strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


def test_the_slope_of_a_mantissa_at_zero() -> None:
    """It is the power of two by which its argument is divided: 1, and finite as the chain's."""
    x = np.array([0.0, -0.0, 3.0, 1.0])
    found = sg.vmap(sg.grad(lambda t: np.frexp(t)[0]))(x)
    np.testing.assert_array_equal(found, [1.0, 1.0, 0.25, 0.5])


def test_the_slope_of_a_fraction_is_one() -> None:
    x = np.array([0.0, -0.0, 3.0, -2.0, 1.25, -0.5])
    slopes = sg.vmap(sg.grad(lambda t: np.modf(t)[0]))(x)
    np.testing.assert_array_equal(slopes, np.ones(6))
    x = np.array([*x, np.inf, -np.inf, np.nan, 1e300, -5e-324])
    for found, want in zip(sg.compile(np.modf)(x), np.modf(x), strict=True):
        np.testing.assert_array_equal(found, want)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(want))


def test_kernel_of_whole_powers_and_exponents() -> None:
    base, exponent = edges("i8", 2)
    compare([np.power], [base, np.abs(exponent // 2)])
    x, n = edges("f8", 2)
    n = np.nan_to_num(n, posinf=3000, neginf=-3000).clip(-3000, 3000).astype(np.int64)
    more = np.arange(-1100, 1100, dtype=np.int64)
    compare([np.ldexp], [np.append(x, np.full(more.shape, 1 / 3)), np.append(n, more)])
    compare([np.ldexp], [np.full(more.shape, 1 / 3, np.float32), more])
    compare([registry.ops["Scale"]], [np.arange(-1022, 1024)])


def test_kernel_of_zeta_and_polygamma() -> None:
    x = np.concatenate([EDGES, np.linspace(-7.3, 20, 200)])
    s, x = (a.ravel() for a in np.meshgrid([1.0, 1.5, 2.0, 3.0, 4.0, 7.0, 20.0, 60.0], x))
    right = (x > 0) | (x == np.floor(x))
    zeta, polygamma = registry.ops["Zeta"], registry.ops["Polygamma"]
    compare([zeta], [s[right], x[right]], 12.0)
    orders = np.where(s == np.floor(s), s - 1, 5.0)
    compare([polygamma], [orders[right], x[right]], 16.0)
    # To the left sums of both signs cancel.
    left = ~right & (x > -8) & (orders < 4)
    got = sg.compile(lambda n, x: polygamma(n, x), cache=False)(orders[left], x[left])
    np.testing.assert_allclose(got, sc.polygamma(orders[left], x[left]), rtol=1e-11)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i1", "u8", "u2", "?"])
def test_kernel_of_casts(dtype: str) -> None:
    (x,) = edges(dtype, 1)
    targets = ["float64", "float32", "int64", "int32", "int8", "uint64", "uint16", "bool"]
    if x.dtype.kind == "f":  # whole numbers only where they fit: the rest is undefined
        reals = [f for f in targets if f[0] in "fb"]
        compare([lambda x, t=t: x.astype(t) for t in reals], [x], 0.0)
        x = np.array([0.0, -0.0, 1.9, -0.9, 100.5], dtype)
    compare([lambda x, t=t: x.astype(t) for t in targets], [x], 0.0)


def test_cast_of_what_does_not_fit_is_defined() -> None:
    x = np.array([math.inf, -math.inf, math.nan, 1e30, -5.0])
    to_int, to_uint = sg.compile(lambda x: (x.astype(np.int64), x.astype(np.uint8)), cache=False)(x)
    top, bottom = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    assert to_int.tolist() == [top, bottom, 0, top, -5]
    assert to_uint.tolist() == [255, 0, 0, 255, 0]


def test_kernel_of_where() -> None:
    x, y = edges("f8", 2)
    compare([np.where, lambda c, x, y: np.where(c, 1, y)], [x > y, x, y], 0.0)
    small, _ = edges("f4", 2)
    compare([np.where, lambda c, x, y: np.where(x, x, 2.5)], [small > 0, small, small], 0.0)


@named([op for op in MAPS if isinstance(Code.of(op).lower, Cython)])
def test_scipy_exports_the_function(op: Op) -> None:
    lower = Code.of(op).lower
    assert isinstance(lower, Cython)
    kind = exported(Function(cython_special.__name__, lower.name))
    arguments = ", ".join(["double"] * op.arity)
    if lower.results == 1:
        assert f'"double ({arguments}, int __pyx_skip_dispatch)"' in str(kind)
    else:
        assert f'"void ({arguments}{", double *" * lower.results})"' in str(kind)


# ---------------------------------------------------------------- composites

COMPOSITES = [
    record
    for record in registry.composites.values()
    if record.function.__module__ in (logic.__name__, rounding.__name__)
]


@pytest.mark.parametrize("record", COMPOSITES, ids=lambda record: record.name)
@pytest.mark.parametrize("traced", [False, True])
def test_composite_is_the_numpy_function(record: Any, traced: bool) -> None:
    for function in record.functions:
        run = sg.compile(function, backend="numpy") if traced else record.function
        for args, kwargs in samples_of(record, np.random.default_rng(3)):
            with np.errstate(all="ignore"):
                want, got = function(*args, **kwargs), run(*args, **kwargs)
            pairs = zip(want, got, strict=True) if isinstance(want, tuple) else [(want, got)]
            for w, g in pairs:
                assert np.asarray(g).dtype == np.asarray(w).dtype
                assert not unequal(np.asarray(g), np.asarray(w), 1.0).any(), (args, w, g)


# ---------------------------------------------------------------- the registry

UFUNCS = sorted({f.__name__: f for f in vars(np).values() if isinstance(f, np.ufunc)}.items())


@pytest.mark.parametrize(("name", "ufunc"), UFUNCS, ids=[n for n, _ in UFUNCS])
def test_every_ufunc_is_handled_or_refused(name: str, ufunc: np.ufunc) -> None:
    if name in np_refused.REFUSED:
        with pytest.raises(UnsupportedError, match=f"{name} cannot be traced: .*Write it"):
            registry.handler(ufunc)(1)
    else:
        handler = registry.handler(ufunc)
        assert isinstance(handler, Op) is (handler in MAPS)
        contraction = name in ("matmul", "vecdot", "matvec", "vecmat")
        composite = name in ("divmod", "frexp", "modf")
        assert isinstance(handler, Op) is not (contraction or composite)


@named(MAPS)
@pytest.mark.quick
def test_record_is_whole(op: Op) -> None:
    assert len(Evidence.of(op).samples) == op.arity >= 1
    assert all(low < high for low, high in Evidence.of(op).samples)
    assert all(isinstance(domain, sp.Set) for domain in op.domain)
    assert Code.of(op).lower is not None
    assert op.sympy is not None or Evidence.of(op).precise is not None or op.reason
    assert op.partials is not None or op.reason
    assert op.functions or Words.of(op).doc, "an op without a NumPy function says what it is"


def _fresh(x: Any) -> Any:
    return np.sin(x)


FIELDS: dict[str, Any] = {
    "name": "Fresh", "sympy": sp.sin, "domain": (sp.Reals,), "functions": (_fresh,),
    "rule": Partials(lambda y, x: (x,)),
}  # fmt: skip
FACETS = (Code(Libm("sin")), Evidence(samples=(0, 1)))


@pytest.mark.parametrize(
    ("holes", "message"),
    [
        ({"rule": None, "sympy": None}, "rule="),
        ({"functions": ()}, "evaluate="),
        ({"domain": ()}, "domain="),
        ({"name": "Sin"}, "'Sin' is defined twice"),
        ({"name": "where"}, "'where' is defined twice"),
    ],
)
def test_a_record_with_holes_is_refused(holes: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        define(Map(**(FIELDS | holes)), *FACETS)
    assert "Fresh" not in registry.ops


@pytest.mark.parametrize(("facets", "message"), [(FACETS[:1], "Evidence"), (FACETS[1:], "Code")])
def test_an_op_without_a_facet_is_refused(facets: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        define(Map(**FIELDS), *facets)
    assert "Fresh" not in registry.ops


def test_a_function_is_claimed_once() -> None:
    with pytest.raises(DefinitionError, match=r"numpy\.sin is claimed twice, by Fresh"):
        define(Map(**(FIELDS | {"functions": (np.sin,)})), *FACETS)
    assert "Fresh" not in registry.ops
    assert registry.handler(np.sin) is registry.ops["Sin"]


def test_helpers_of_different_ops_have_different_names() -> None:
    """A program's source holds those of all its ops."""
    found: dict[str, FunctionType] = {}
    waiting = [helper for op in registry.ops.values() for helper in Code.of(op).helpers]
    while waiting:
        helper = waiting.pop()
        assert isinstance(helper, FunctionType)
        if found.setdefault(helper.__name__, helper) is not helper:
            pytest.fail(f"{helper.__module__} and {found[helper.__name__].__module__}")
        called = map(helper.__globals__.get, helper.__code__.co_names)
        waiting += [f for f in called if isinstance(f, FunctionType) and f not in found.values()]
