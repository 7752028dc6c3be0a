"""Parts of index notation: bounds of effort, numbers, deltas, conditions, ranges."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import pytest
import scipy.special as special
import sympy as sp

import symgrad as sg
from symgrad import symbolic
from symgrad._symbolic import Elements, readable_number, simplified
from symgrad._symbolic._bound_functions import (
    AllOver,
    AnyOver,
    ArgmaxOver,
    ArgminOver,
    MaxOver,
    MinOver,
)
from symgrad._symbolic._cases import decided, gap_of, never_negative
from symgrad._symbolic._deltas import resolve
from symgrad._symbolic._names import rename_bound
from symgrad._symbolic._shortening import cost
from symgrad.errors import UnsupportedError

X, A, B = np.array([0.3, 1.7, -0.6]), np.arange(12.0).reshape(4, 3) - 5, np.ones((3, 2))


def test_few_operations_may_be_a_large_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each derivative of the logistic function writes its argument twice."""

    def slopes(x: Any) -> Any:
        for _ in range(4):
            x = sg.grad(lambda v: np.sum(special.expit(v)))(x)
        return x

    monkeypatch.setattr("symgrad._symbolic._element.WRITTEN", 150)
    with pytest.raises(UnsupportedError, match="too large to be written as one formula"):
        symbolic(slopes, X)
    graph = sg.compile(slopes)._specialization((X,), {}).graph
    proof = Elements(exact=True).expression(graph.outputs[0], (0,))
    assert len(list(sp.preorder_traversal(proof))) > 150


def test_simplification_is_bounded_in_time() -> None:
    x = sp.symbols("x:8", real=True)
    hard = sp.Add(*(sp.sin(a * b + c) / (1 + a**2 + sp.exp(b)) for a in x for b in x for c in x))
    start = time.process_time()  # a busy machine takes none of it
    simplified(hard, patience=0.1)
    assert time.process_time() - start < 10
    plain = x[0] * 2 + x[0] * x[1]
    assert simplified(plain, patience=0.0) == plain


# ---------------------------------------------------------------- parts


def test_cost_and_simplification() -> None:
    x, y = sp.symbols("x y", real=True)
    assert cost(x + y)[0] == 1
    assert simplified(sp.sin(x) ** 2 + sp.cos(x) ** 2) == 1
    assert simplified((x**2 - y**2) / (x - y)) == x + y
    a, i = sp.IndexedBase("a", real=True), sp.Symbol("i", integer=True, nonnegative=True)
    inside = sp.Sum(sp.exp(-a[i]) / (1 + sp.exp(-a[i])), (i, 0, 9))
    assert str(simplified(inside)) == "Sum(1/(exp(a[i]) + 1), (i, 0, 9))"


def test_numbers_as_people_write_them() -> None:
    shown = {
        0.5: "1/2", -2.0: "-2", 0.1: "0.1", np.pi: "pi", -np.pi / 3: "-pi/3", np.e: "E",
        np.sqrt(2): "sqrt(2)", 1 / np.sqrt(2): "sqrt(2)/2", np.log(2): "log(2)",
        1e-30: "1.0e-30", 1e300: None, np.inf: "oo", 3.14: "3.14",
    }  # fmt: skip
    for number, text in shown.items():
        shorter = sp.sstr(readable_number(np.float64(number)), full_prec=False)
        assert text in (None, shorter)
    assert sp.sstr(readable_number(np.float32(0.1)), full_prec=False) == "0.1"
    assert readable_number(np.int64(2**60 + 1)) == 2**60 + 1
    assert readable_number(np.bool_(True)) is sp.true


def test_sums_over_deltas() -> None:
    n = sp.Symbol("n", integer=True, positive=True)
    i, j, k = sp.symbols("i j k", integer=True, nonnegative=True)
    a = sp.IndexedBase("a", real=True)
    ranges = {i: (0, n - 1), j: (0, n - 1)}
    delta = sp.KroneckerDelta
    sums = {
        sp.Sum(a[k] * delta(i, k), (k, 0, n - 1)): "a[i]",
        sp.Sum(a[k] * delta(i, k), (k, 0, 2 * n)): "a[i]",
        sp.Sum(a[k] * delta(i, k), (k, 1, n - 1)): "Piecewise((a[i], i >= 1), (0, True))",
        sp.Sum(a[k] * delta(i, k + 1), (k, 0, n - 2)): "Piecewise((a[i - 1], i >= 1), (0, True))",
        sp.Sum(a[k] * delta(i, 2 * k), (k, 0, n)): (
            "Piecewise((a[i/2], Eq(Mod(i, 2), 0)), (0, True))"
        ),
        sp.Sum(a[3 * k + 1] * delta(i, 3 * k + 1), (k, 0, sp.floor((n + 1) / 3) - 1)): (
            "Piecewise((a[i], Eq(Mod(i, 3), 1)), (0, True))"
        ),
        sp.Sum(a[n - 2 * k - 1] * delta(i, n - 2 * k - 1), (k, 0, sp.floor((n + 1) / 2) - 1)): (
            "Piecewise((a[i], Eq(Mod(-i + n, 2), 1)), (0, True))"
        ),
        sp.Sum(a[k] * delta(i, k), (k, 0, sp.floor(n / 2) - 1)): (
            "Piecewise((a[i], i < floor(n/2)), (0, True))"
        ),  # i < n/2 is more for odd n
        sp.Sum(delta(i, k) * delta(j, k), (k, 0, n - 1)): "KroneckerDelta(i, j)",
        sp.Sum(a[k] + 3, (k, 0, n - 1)): "3*n + Sum(a[k], (k, 0, n - 1))",
        sp.Sum(a[i] * a[k], (k, 0, n - 1)): "a[i]*Sum(a[k], (k, 0, n - 1))",
        sp.Sum(a[i], (k, 0, i)): "(i + 1)*a[i]",
    }
    for before, after in sums.items():
        assert str(resolve(before, ranges)) == after


def test_conditions_that_ranges_decide() -> None:
    n = sp.Symbol("n", integer=True, positive=True)
    i = sp.Symbol("i", integer=True, nonnegative=True)
    ranges = {i: (sp.Integer(0), n - 1)}
    assert decided(i < n, ranges) == sp.true
    assert decided(i >= n, ranges) == sp.false
    assert decided(sp.And(i >= 0, n - i > 1), ranges) == (i <= n - 2)
    assert decided(i / 2 + n / 2 < n, ranges) == sp.true  # SymPy's form of i + n < 2*n
    assert decided(sp.Gt(3 * n, 2 * i + n, evaluate=False), ranges) == sp.true
    assert not never_negative(i - 1, ranges)
    assert never_negative(2 * n - i - 2, ranges) is True or n.is_positive


def test_gaps_of_relations_between_whole_numbers() -> None:
    n = sp.Symbol("n", integer=True, positive=True)
    i = sp.Symbol("i", integer=True, nonnegative=True)
    rng = np.random.default_rng(0)
    for _ in range(60):
        a, b, c = (sp.Rational(int(p), int(q)) for p, q in rng.integers(1, 4, (3, 2)))
        compare = (sp.Lt, sp.Le, sp.Gt, sp.Ge)[rng.integers(4)]
        relation = compare(a * i - c, b * n, evaluate=False)
        gap = gap_of(relation)
        for p, q in itertools.product(range(5), range(1, 5)):
            here = {i: sp.Integer(p), n: sp.Integer(q)}
            assert bool(gap.xreplace(here) >= 0) == bool(relation.xreplace(here))


def test_bound_indices_are_named_by_depth() -> None:
    i, j, k = (sp.Dummy(s, integer=True, nonnegative=True) for s in "xyz")
    a = sp.IndexedBase("a", real=True)
    twice = sp.Sum(a[i], (i, 0, 3)) + sp.Sum(a[j], (j, 0, 3))
    assert str(rename_bound(twice, ())) == "2*Sum(a[i], (i, 0, 3))"
    nested = sp.Sum(a[i] * sp.Sum(a[j], (j, 0, i)), (i, 0, 3))
    assert str(rename_bound(nested, ("i",))) == "Sum(a[j]*Sum(a[k], (k, 0, j)), (j, 0, 3))"
    hidden = sp.Sum(a[i] * sp.Sum(a[i] * sp.Sum(a[k], (k, 0, 9)), (i, 0, 3)), (i, 0, 5))
    assert str(rename_bound(hidden, ())) == (
        "Sum(a[i]*Sum(a[j]*Sum(a[k], (k, 0, 9)), (j, 0, 3)), (i, 0, 5))"
    )
    pair = sp.Sum(a[i] * a[k], (k, 0, 5), (i, 0, 3))
    assert str(rename_bound(pair, ())) == "Sum(a[i]*a[j], (j, 0, 5), (i, 0, 3))"


def test_functions_over_a_range() -> None:
    k, i = sp.symbols("k i", integer=True, nonnegative=True)
    a = sp.IndexedBase("a", real=True)
    short, known = (k, 0, 2), {a[0]: 1, a[1]: 3, a[2]: 3}
    cases = {MaxOver: 3, MinOver: 1, ArgmaxOver: 1, ArgminOver: 0}
    for kind, result in cases.items():
        assert kind(a[k], short).doit().subs(known) == result
    assert AnyOver(a[k] > 2, short).doit().subs(known) == sp.true
    assert AllOver(a[k] > 2, short).doit().subs(known) == sp.false
    n = sp.Symbol("n", integer=True, positive=True)
    largest = MaxOver(a[k], (k, 0, n - 1))
    assert largest.doit() == largest
    assert largest.is_real
    assert k not in largest.free_symbols
    assert largest.diff(a[i]).subs(n, 3).doit().subs(i, 2).subs(known) == sp.Rational(1, 2)
    assert ArgmaxOver(a[k], short).diff(a[1]) == 0
