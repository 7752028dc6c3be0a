"""Rewrite rules, one at a time: both sides of those that keep every bit, and errors of the others.

A case is a graph at which one rule applies, on operands of one element type: the special numbers
of that type and their neighbours, all pairs of them where there are two operands, and random bit
patterns. The graph is run under NumPy with the rule and without it. Where the rule declares that
it keeps every bit, so do they, signs of zeros and infinities included; only a nan's payload and
sign, which IEEE 754 leaves open, are not compared. Where it declares an error in units in the last
place, rational arithmetic measures it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.base.state import within
from symgrad._core.op import Map, registry
from symgrad._core.ops import SLICE
from symgrad._core.program import schedule
from symgrad._core.rewrite import RULES, Rule, rewrite
from symgrad._core.trace import as_traced
from symgrad.errors import DTypeError, NumberError

EXACT = tuple(rule for rule in RULES if not rule.rounds)
ROUNDING = tuple(rule for rule in RULES if rule.ulp)

FLOATS = ("f8", "f4")
TYPES = (*FLOATS, "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")


# ---------------------------------------------------------------- operands


def special(dtype: np.dtype[Any]) -> Any:
    """Return the numbers of a type at which arithmetic has cases of its own."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info: Any = np.iinfo(dtype)
        near = [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1, info.max // 2]
        return np.unique(np.array([*near, *([-1, -2] if dtype.kind == "i" else [])], dtype))
    info = np.finfo(dtype)
    powers = [2.0**k for k in (1, 2, 10, info.nmant, info.nmant + 1, -1, -info.nmant - 1)]
    found = [0.0, 1.0, 1.5, 3.0, np.pi, info.max, info.max / 2, info.tiny, info.eps, *powers]
    numbers = np.array(found, dtype)
    least = np.nextafter(dtype.type(0), dtype.type(1))
    zero, infinite = dtype.type(0), dtype.type(np.inf)
    with np.errstate(over="ignore"):
        above = np.nextafter(numbers[numbers > 0], infinite)
    numbers = np.concatenate([
        numbers, np.nextafter(numbers, zero), above,
        np.array([least, least * 2, least * 3, info.tiny - least, infinite, np.nan], dtype),
    ])  # fmt: skip
    return np.unique(np.concatenate([numbers, -numbers, [dtype.type(-0.0)]]).view(
        f"u{dtype.itemsize}")).view(dtype)  # fmt: skip


def random(rng: np.random.Generator, dtype: np.dtype[Any], count: int) -> Any:
    """Return numbers of random bits: of all exponents, and of all signs.

    No nan among them is a signalling one, which arithmetic never makes: what `power` makes of it
    and 0 is another thing in each version of NumPy and of the C library.
    """
    if dtype.kind == "b":
        return rng.random(count) < 0.5
    found = np.frombuffer(rng.bytes(count * dtype.itemsize), dtype)
    if dtype.kind == "f":
        found = np.where(np.isnan(found), dtype.type(np.nan), found)
    return found


def operands(
    rng: np.random.Generator, dtype: np.dtype[Any], arity: int, count: int
) -> tuple[Any, ...]:
    """Return arrays of one length: special numbers in all pairs, then random ones."""
    some = special(dtype)
    grid = np.meshgrid(some, some) if arity == 2 else [some] * arity
    return tuple([np.concatenate([g.ravel(), random(rng, dtype, count)]) for g in grid])


def one(rng: np.random.Generator, dtype: np.dtype[Any]) -> Any:
    """Return one number of a type."""
    some = special(dtype)
    return some[rng.integers(len(some))] if rng.random() < 0.5 else random(rng, dtype, 1)[0]


def bits(value: Any) -> bytes:
    """Return the bits of an array; all nans are the same."""
    array = np.array(value)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.tobytes()


# ---------------------------------------------------------------- graphs at which rules apply

Made = tuple[Callable[..., Any], tuple[Any, ...]]

#: Random numbers of a case: in all cases there are 10**6 of each type for each rule.
COUNT = 25_000


def of_formula(rule: Rule, rng: np.random.Generator, dtype: np.dtype[Any]) -> Made:
    """Return the formula of a rule, and operands."""
    assert callable(rule.written)
    arity = rule.written.__code__.co_argcount
    return rule.written, operands(rng, dtype, arity, COUNT)


def _maps(arity: int) -> list[Map]:
    """Return the maps of so many operands, at least, that take numbers alone."""
    registry.complete()
    return [
        op for op in registry.ops.values()
        if isinstance(op, Map) and op.arity >= arity and registry.is_own(op) and not op.orders
        and not op.slopes and not set(op.params)
    ]  # fmt: skip


def _folded(rng: np.random.Generator, dtype: np.dtype[Any]) -> Made:
    op = _maps(1)[rng.integers(len(_maps(1)))]
    numbers = [one(rng, dtype) for _ in range(op.arity)]
    return lambda x: (op(*map(as_traced, numbers)), x), (np.ones(3),)


def _folded_everywhere(rng: np.random.Generator, dtype: np.dtype[Any]) -> Made:
    op = _maps(1)[rng.integers(len(_maps(1)))]
    numbers = [one(rng, dtype) for _ in range(op.arity)]
    shape = ((7,), (2, 9), (1, 1), (64,))[rng.integers(4)]
    rows = rng.random(op.arity) < 0.5
    rows[rng.integers(op.arity)] = True

    def f(x: Any) -> Any:
        parts = [
            np.broadcast_to(as_traced(n), shape) if row else as_traced(n)
            for n, row in zip(numbers, rows, strict=True)
        ]
        return op(*parts), x

    return f, (np.ones(3),)


def _narrowed(rng: np.random.Generator, dtype: np.dtype[Any]) -> Made:
    maps = _maps(2)
    op = maps[rng.integers(len(maps))]
    rows, columns = int(rng.integers(2, 5)), int(rng.integers(2, 40))
    full = [random(rng, dtype, rows * columns).reshape(rows, columns) for _ in range(op.arity)]
    kinds = rng.integers(4, size=op.arity)
    kinds[rng.integers(op.arity)] = 3  # one of them has the result's shape
    number = one(rng, dtype)

    def f(*xs: Any) -> Any:
        parts = [
            np.broadcast_to(as_traced(number), x.shape) if kind == 0 else
            np.broadcast_to(x[0, 0], x.shape) if kind == 1 else
            np.broadcast_to(x[0], x.shape) if kind == 2 else x
            for kind, x in zip(kinds, xs, strict=True)
        ]  # fmt: skip
        return op(*parts)

    return f, tuple(full)


def _converted(rng: np.random.Generator, dtype: np.dtype[Any]) -> Made:
    inner, outer = (np.dtype(TYPES[k]) for k in rng.integers(len(TYPES), size=2))
    if dtype.kind == "f":  # a number beyond a type's range has no value of it
        some = special(dtype)
        x = some[np.isfinite(some) & (np.abs(some) < 100)]
    else:
        x = operands(rng, dtype, 1, COUNT)[0]
    return lambda x: x.astype(inner).astype(outer), (x,)


def _doubled(rng: np.random.Generator, dtype: np.dtype[Any]) -> Made:
    info = np.finfo(dtype)
    two = dtype.type(2.0 ** int(rng.integers(1, info.maxexp)))
    other = one(rng, dtype)
    if rng.random() < 0.6:
        other = dtype.type(rng.integers(-9, 10)) * dtype.type(2.0 ** int(rng.integers(0, 9)))
    first, second = (two, other) if rng.random() < 0.5 else (other, two)
    form = rng.integers(4)

    def f(x: Any) -> Any:
        inner = x * first if form & 1 else first * x
        return inner * second if form & 2 else second * inner

    return f, operands(rng, dtype, 1, COUNT)


def _chosen(rng: np.random.Generator, dtype: np.dtype[Any]) -> Made:
    which = np.array(rng.random() < 0.5)
    return lambda x, y: np.where(which, x, y), operands(rng, dtype, 2, COUNT)


def _bits(dtype: np.dtype[Any]) -> Callable[[Any], Any]:
    return (lambda x: x > 0) if dtype.kind == "f" else lambda x: x


def _joined_again(rng: np.random.Generator, dtype: np.dtype[Any]) -> Made:
    bits, form = _bits(dtype), int(rng.integers(6))

    def f(x: Any, y: Any) -> Any:
        a, b = bits(x), bits(y)
        return [
            lambda: a | a, lambda: a & a, lambda: a | (b & a), lambda: (a | b) & a,
            lambda: (b | a) | a, lambda: a & (a & b),
        ][form]()  # fmt: skip

    return f, operands(rng, dtype, 2, COUNT)


def _with_truth(rng: np.random.Generator, dtype: np.dtype[Any]) -> Made:
    known, both = bool(rng.random() < 0.5), bool(rng.random() < 0.5)
    return lambda x: (known & (x > 0)) if both else ((x > 0) | known), operands(
        rng, dtype, 1, COUNT
    )


def _block(rng: np.random.Generator, dtype: np.dtype[Any]) -> Any:
    shape = tuple(int(n) for n in rng.choice([1, 2, 3, 4, 6], size=3))
    return random(rng, dtype, int(np.prod(shape))).reshape(shape)


def _reshaped(rng: np.random.Generator, dtype: np.dtype[Any]) -> Made:
    return lambda x: x.reshape(-1, x.shape[0]).reshape(x.shape[::-1]), (_block(rng, dtype),)


def _broadcast(rng: np.random.Generator, dtype: np.dtype[Any]) -> Made:
    x = _block(rng, dtype)
    more, again = (2, *x.shape), (3, 2, *x.shape)
    return lambda x: np.broadcast_to(np.broadcast_to(x, more), again), (x,)


def _transposed(rng: np.random.Generator, dtype: np.dtype[Any]) -> Made:
    first, second = (tuple(map(int, rng.permutation(3))) for _ in range(2))
    return lambda x: x.transpose(first).transpose(second), (_block(rng, dtype),)


def _sliced(rng: np.random.Generator, dtype: np.dtype[Any]) -> Made:
    return lambda x: SLICE(x, region=tuple((0, 1, n) for n in x.shape)), (_block(rng, dtype),)


def _assembled(rng: np.random.Generator, dtype: np.dtype[Any]) -> Made:
    axis = int(rng.integers(-4, 4))
    return lambda x: np.stack([x], axis=axis), (_block(rng, dtype),)


def _read_back(rng: np.random.Generator, dtype: np.dtype[Any]) -> Made:
    k, form = int(rng.integers(3)), int(rng.integers(3))

    def f(x: Any) -> Any:
        parts = [x, x[::-1], x]
        if form == 0:
            return np.stack(parts)[k]
        if form == 1:
            n = x.shape[0]
            return np.concatenate(parts)[k * n : (k + 1) * n]
        return np.stack([x[0, 0, 0], x[-1, -1, -1], x[0, 0, 0]])[k]

    return f, (_block(rng, dtype),)


#: What is written where rules without a formula apply.
WRITTEN: dict[str, Callable[..., Made]] = {
    "constant folding": _folded,
    "a*(2*x) = (2*a)*x": _doubled,
    "where(True, a, b) = a": _chosen,
    "x | x = x, x | (x & y) = x": _joined_again,
    "False | x = x, False & x = False": _with_truth,
    "the same number everywhere": _folded_everywhere,
    "needless broadcast": _narrowed,
    "convert twice": _converted,
    "reshape of reshape": _reshaped,
    "broadcast of broadcast": _broadcast,
    "transpose of transpose": _transposed,
    "whole slice": _sliced,
    "assembly of the whole": _assembled,
    "slice of what was assembled": _read_back,
}

#: Rules that look for numbers of real types.
REAL = frozenset(("a*(2*x) = (2*a)*x",))


def test_every_exact_rule_without_a_formula_has_a_graph() -> None:
    assert {rule.name for rule in EXACT if not callable(rule.written)} == WRITTEN.keys()
    assert {rule.name for rule in RULES if rule.ulp} == POWERS.keys()
    assert not any(rule.ulp for rule in EXACT)


@pytest.mark.usefixtures("no_kernels")
def test_a_rule_that_loses_a_sign_is_found() -> None:
    wrong = Rule("x + 0 = x", lambda x: x + 0.0, lambda node, x: x)
    found = both(wrong, lambda x: x + 0.0, (special(np.dtype("f8")),))
    assert found is not None
    assert bits(found[0][0]) != bits(found[1][0])
    assert str(first_difference(*found)) == str((np.float64(0.0), np.float64(-0.0)))


def both(rule: Rule, f: Callable[..., Any], args: Sequence[Any]) -> tuple[Any, Any] | None:
    """Return the results without a rule and with it, None where it does not apply."""
    graph = sg.compile(f, rounding="numpy")._specialization(tuple(args), {}).graph
    counts: Counter[str] = Counter()
    with within(promised=True), np.errstate(all="ignore"):
        after = rewrite(graph.outputs, (rule,), counts, identities=False)
        if not counts:
            return None
        return tuple(  # type: ignore[return-value]
            schedule(graph.inputs, outputs, graph.guards).run(*args)
            for outputs in (graph.outputs, after)
        )


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.attack(quick=120, whole=12_000, part=1_000, judge="the same graph without the rule")
def test_rules_that_keep_every_bit(attack: Any) -> None:
    """Each rule that is declared exact, in every type: special numbers, pairs of them, any bits."""
    for case in attack:
        with case:
            rule, rng = EXACT[case.number % len(EXACT)], case.rng
            turn = case.number // len(EXACT)
            types = FLOATS if rule.name in REAL else TYPES
            dtype = np.dtype(types[turn % len(types)])
            made = WRITTEN.get(rule.name)
            f, args = made(rng, dtype) if made else of_formula(rule, rng, dtype)
            try:
                found = both(rule, f, args)
            except (DTypeError, NumberError, OverflowError, TypeError):
                case.tally("not of this type")
                continue
            if found is None:
                assert dtype.kind != "f" or not callable(rule.written), rule.name
                case.tally("the rule does not apply")
                continue
            before, after = (list(map(bits, values)) for values in found)
            assert before == after, (rule.name, dtype.name, first_difference(*found))


def first_difference(before: Any, after: Any) -> Any:
    """Return the first elements that differ."""
    for x, y in zip(before, after, strict=True):
        a, b = np.atleast_1d(x).ravel(), np.atleast_1d(y).ravel()
        for p, q in zip(a, b, strict=True):
            if bits(p) != bits(q):
                return p, q
    return None


# ---------------------------------------------------------------- rules that round

#: The exponents of rules that make products of powers.
POWERS = {
    "x**1, x**2, x**-1 as products": (1, 2, -1),
    "x**3, x**4 as products": (3, 4),
}


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.attack(quick=20, whole=2_000, part=500, judge="rational arithmetic")
def test_rules_that_round(attack: Any) -> None:
    """Errors of rules that may round, beside what they declare; infinities, nan and signs."""
    for case in attack:
        with case, np.errstate(all="ignore"):
            rule, rng = ROUNDING[case.number % len(ROUNDING)], case.rng
            power = int(rng.choice(POWERS[rule.name]))
            dtype = np.dtype(FLOATS[case.number // len(ROUNDING) % 2])
            bound = np.finfo(dtype).maxexp / abs(power) + 3
            some = np.concatenate([
                special(dtype), random(rng, dtype, 100),
                (rng.choice([-1.0, 1.0], 400) * 2.0 ** rng.uniform(-bound, bound, 400)
                 * rng.uniform(1, 2, 400)).astype(dtype),
            ])  # fmt: skip
            found = both_free(rule, lambda x, power=power: np.power(x, float(power)), some)
            wanted = np.power(some, dtype.type(power))
            np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
            sure = ~np.isnan(wanted) & ((wanted == 0) | (some == 0) | ~np.isfinite(some))
            assert bits(found[sure]) == bits(wanted[sure])
            for x, y in zip(some[~sure], found[~sure], strict=True):
                if not np.isnan(x):
                    assert error(Fraction(float(x)) ** power, y) <= rule.ulp, (power, x, y)


def both_free(rule: Rule, f: Callable[..., Any], x: Any) -> Any:
    """Return the result of a graph with a rule that rounds."""
    graph = sg.compile(f)._specialization((x,), {}).graph
    counts: Counter[str] = Counter()
    outputs = rewrite(graph.outputs, (rule,), counts, identities=False)
    assert counts[rule.name]
    (found,) = schedule(graph.inputs, outputs, graph.guards).run(x)
    return found


def error(exact: Fraction, found: Any) -> float:
    """Return the error in units in the last place; a number that is too large is infinite."""
    info: Any = np.finfo(found.dtype)
    if np.isinf(found):
        beyond = Fraction(float(info.max)) * (1 + Fraction(float(info.eps)) / 4)
        close = abs(exact) >= beyond * (1 - 4 * Fraction(float(info.eps)))
        return 0.0 if close and (exact > 0) == (found > 0) else np.inf
    exponent = max(int(np.frexp(found)[1]), info.minexp + 1)
    unit = Fraction(2) ** (exponent - info.nmant - 1)
    return float(abs(Fraction(float(found)) - exact) / unit)
