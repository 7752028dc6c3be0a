"""The elementwise records: rules proved, forms compared, lowerings run, conventions kept."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sc
import sympy as sp

from symgrad._op import Composed, Emit, Instr, Intrinsic, Op, define, registry
from symgrad._ops import bessel, logic, rounding, signs, special, transcendental, unsupported
from symgrad.errors import DefinitionError, UnsupportedError

MAPS = [op for op in registry.ops.values() if op.kind == "map"]
RULES = [op for op in MAPS if op.partials is not None and op.reason is None]
STEPS = [op for op in MAPS if op.reason is not None and op.sympy is not None]
DIGITS = 40


def named(ops: list[Op]) -> Any:
    return pytest.mark.parametrize("op", ops, ids=lambda op: op.name)


# ---------------------------------------------------------------- rules on SymPy values

PI = sp.pi
CONSTANTS = {
    float(c): c
    for c in (
        PI, PI / 2, PI / 180, 180 / PI, PI**2 / 3, sp.sqrt(PI) / 2, 2 / sp.sqrt(PI),
        1 / sp.sqrt(2 * PI), sp.sqrt(2 / PI), sp.log(2), 1 / sp.log(2), 1 / sp.log(10),
    )
}  # fmt: skip


def exact(value: Any) -> Any:
    """Return the number that a float in a rule stands for; it must be rounded correctly."""
    if isinstance(value, (bool, np.bool_)):
        return sp.true if value else sp.false
    if value != value:
        return sp.nan
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
        assert op.sympy is not None
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
    return [
        p.form if isinstance(p, Proof) else sp.S.Zero if p is None else exact(p) for p in rule
    ]


def proved(claim: Any, form: Any, symbol: sp.Symbol) -> bool:
    """Tell whether ``claim`` is identically the derivative of ``form``."""
    difference = claim - steps_are_flat(sp.diff(form, symbol))
    return sp.expand(difference) == 0 or sp.simplify(difference) == 0


def cases(op: Op) -> Iterator[tuple[Any, Any, sp.Symbol]]:
    """Yield slope, form and symbol for each real operand whose derivative is claimed."""
    symbols = [symbol(k, d) for k, d in enumerate(op.domain)]
    assert op.sympy is not None
    for x, claim, domain in zip(symbols, slopes(op, symbols), op.domain, strict=True):
        if claim is sp.nan:
            assert op.convention == special.ORDER
        elif domain.is_subset(sp.Reals) and not domain.is_subset(sp.Integers):
            yield claim, op.sympy(*symbols), x


@named(RULES)
def test_rule_is_the_derivative(op: Op) -> None:
    claims = list(cases(op))
    assert claims
    for claim, form, x in claims:
        assert proved(claim, form, x), f"by {x}: {claim}"


@named(RULES)
def test_a_wrong_rule_is_not_proved(op: Op) -> None:
    for claim, form, x in cases(op):
        for wrong in ([-claim, sp.S.Zero] if claim != 0 else [sp.S.One]):
            assert not proved(wrong, form, x), f"by {x}: {wrong} passes for {claim}"


# ---------------------------------------------------------------- numbers


def sampled(op: Op, count: int = 12) -> list[Any]:
    """Return random operands from the record's ranges."""
    rng = np.random.default_rng(sum(map(ord, op.name)))
    operands: list[Any] = []
    for domain, (low, high) in zip(op.domain, op.samples, strict=True):
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


def truly(op: Op, form: Callable[..., Any], point: tuple[Any, ...]) -> Any:
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


@named([op for op in MAPS if op.sympy is not None and op.exact_form])
def test_numpy_computes_the_form(op: Op) -> None:
    operands = sampled(op)
    result = np.asarray(op.evaluate(*operands))
    for point, got in zip(zip(*operands, strict=True), result, strict=True):
        want = truly(op, op.sympy, point)  # type: ignore[arg-type]
        if isinstance(want, bool):
            assert bool(got) == want, point
        else:
            assert ulps(got, want) <= max(op.ulp, 2.0), (point, got, want)
