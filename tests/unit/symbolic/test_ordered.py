"""SymPy expressions that print in reading order are SymPy's in everything else."""

from __future__ import annotations

import copy
import operator
import pickle
from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.core.cache import clear_cache

import symgrad as sg
from symgrad._symbolic import ordered

X, Y = sp.symbols("x y", real=True)
A = sp.IndexedBase("a", real=True)
I, N = sp.symbols("i n", integer=True, nonnegative=True)

EXPRESSIONS = {
    "sum": (sp.cos(X) - sp.sin(X), "cos(x) - sin(x)"),
    "product": ((1 - X * Y) * sp.exp(-X), "(1 - x*y)*exp(-x)"),
    "power": ((sp.cos(X) - sp.sin(X)) ** -2, "(cos(x) - sin(x))**(-2)"),
    "function": (sp.log(1 + sp.exp(X)), "log(1 + exp(x))"),
    "sum over an index": (
        sp.Sum(sp.cos(A[I]) - sp.sin(A[I]), (I, 0, N - 1)),
        "Sum(cos(a[i]) - sin(a[i]), (i, 0, n - 1))",
    ),
    "cases": (
        sp.Piecewise((sp.cos(X) - sp.sin(X), X > 0), (0, True)),
        "Piecewise((cos(x) - sin(x), x > 0), (0, True))",
    ),
    "no sum": (X * Y, "x*y"),
}


def test_the_text_of_the_example() -> None:
    assert str(sg.derivative(lambda a: np.sum(np.sin(a) + np.cos(a)), np.ones(5))) == (
        "cos(a[i]) - sin(a[i])"
    )
    assert sp.latex(sg.derivative(lambda x: np.sin(x) + np.cos(x), 1.0)).startswith(r"\cos")


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_sorted_as_equals_are(name: str) -> None:
    """SymPy gives the key of the one that it met first to all that are equal to it."""
    plain, _ = EXPRESSIONS[name]
    clear_cache()
    key = sp.default_sort_key(ordered(plain))
    clear_cache()
    assert key == sp.default_sort_key(plain)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_equal_in_all_but_the_order(name: str) -> None:
    plain, text = EXPRESSIONS[name]
    made = ordered(plain)
    assert str(made) == text
    assert made == plain
    assert plain == made
    assert not operator.ne(made, plain)
    assert made != plain + 1
    assert hash(made) == hash(plain)
    assert {plain: 1}[made] == 1
    assert ordered(made) == made
    for copied in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert copied == plain
        assert str(copied) == text


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_sympy_computes_with_them_as_with_its_own(name: str) -> None:
    plain = EXPRESSIONS[name][0]
    made = ordered(plain)
    computed: list[Any] = [
        lambda e: e + 1, lambda e: 2 * e, lambda e: e**2, lambda e: e.subs(X, 2),
        lambda e: sp.diff(e, X), lambda e: sp.expand(e), lambda e: sp.simplify(e),
        lambda e: e.xreplace({X: Y}), lambda e: sp.factor(e), lambda e: -e,
    ]  # fmt: skip
    for compute in computed:
        assert compute(made) == compute(plain)
    assert type((made + 1).func(*(made + 1).args)) is type(plain + 1)
    if name not in ("sum over an index", "cases"):
        values = {X: sp.Rational(1, 3), Y: sp.Rational(1, 5)}
        assert made.subs(values).evalf() == plain.subs(values).evalf()
