"""Formulas as people read them: order, notation, names, LaTeX, MathML, the time limit."""

from __future__ import annotations

import gc
import io
import re
import sys
import time
import weakref
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from types import FunctionType
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import sympy as sp
from scipy import special as sp_special
from sympy.printing.pretty.pretty_symbology import pretty_use_unicode

import symgrad as sg
from symgrad._graph import topological
from symgrad._symbolic import Patience, latex, mathml, pretty, simplified, text
from symgrad._symbolic._binders import Sum, as_sympy, unevaluated
from symgrad._symbolic._formula import Formula
from symgrad._symbolic._named import distinct, inner_first
from symgrad._symbolic._notation import Array, Diag, Eye, Norm, Ones, T
from symgrad._symbolic._products import product, transposed
from symgrad.errors import ArgumentError, SimplificationWarning, UnsupportedError

x, y = sp.symbols("x y", real=True)
V, S, M = np.array([0.3, 1.7, -0.6]), np.arange(9.0).reshape(3, 3), np.ones((4, 3))
Y = np.array([1.0, -1.0, 1.0, 1.0])


# ---------------------------------------------------------------- text


def test_terms_in_the_order_of_people() -> None:
    shown = {
        sp.cos(x) - sp.sin(x): "cos(x) - sin(x)",
        x**2 - 2 * x + 1: "x**2 - 2*x + 1",
        -x - y: "-x - y",
        1 + sp.exp(-x): "1 + exp(-x)",
        1 - x: "1 - x",
        sp.exp(x) - 1: "exp(x) - 1",
        y - 2 * x: "y - 2*x",
        x + 0.5: "x + 0.5",
    }
    for expression, line in shown.items():
        assert text(expression) == line


def test_the_example_of_the_index_notation() -> None:
    f = lambda a: np.sum(np.sin(a) + np.cos(a))  # noqa: E731
    formula = sg.formula(f, V, wrt=0)
    assert formula.text("index") == "d out/d a[i] = cos(a[i]) - sin(a[i])"
    assert formula.text("matrix") == "d out/d a = cos(a) - sin(a)"
    assert str(formula) == f"{formula.text('index')}\nd out/d a    = cos(a) - sin(a)"


def test_both_notations_and_names() -> None:
    quadratic = sg.formula(lambda x, A: x @ A @ x, V, S, wrt="x")
    assert str(quadratic) == (
        "d out/d x[i] = Sum((A[i, j] + A[j, i])*x[j], (j, 0, n - 1))\nd out/d x    = (A + A^T) x"
    )
    assert quadratic.expression == sg.derivative(lambda x, A: x @ A @ x, V, S)
    loss = lambda w, X, y: np.sum(np.log(1 + np.exp(X @ w)) - y * (X @ w))  # noqa: E731
    hessian = sg.formula(loss, V, M, Y, wrt=0, order=2)
    assert str(hessian) == (
        "d2 out/d w[i] d w[j] = Sum((1 - s[k])*X[k, i]*X[k, j]*s[k], (k, 0, m - 1))\n"
        "d2 out/d w d w^T     = X^T diag(s*(1 - s)) X\n"
        "    where s[i] = 1/(1 + exp(-Sum(X[i, j]*w[j], (j, 0, n - 1))))\n"
        "    where s = 1/(1 + exp(-X w))"
    )
    assert hessian.text("matrix") == (
        "d2 out/d w d w^T = X^T diag(s*(1 - s)) X\n    where s = 1/(1 + exp(-X w))"
    )


def test_numbers_have_one_notation_only() -> None:
    formula = sg.formula(lambda x, y: np.sin(x) * y, 1.0, 2.0, wrt=0)
    assert str(formula) == "d out/d x = y*cos(x)"
    assert str(sg.formula(lambda x: x**3, 1.0, wrt=0, order=2)) == "d2 out/d x^2 = 6*x"


def test_several_results_and_arguments() -> None:
    both = sg.formula(lambda p: (p["a"] * p["b"], p["a"] ** 2), {"a": 1.0, "b": 2.0}, wrt=0)
    assert [line.split(" = ") for line in str(both).splitlines()] == [
        ["d out0/d p_a", "p_b"], ["d out1/d p_a", "2*p_a"],
        ["d out0/d p_b", "p_a"], ["d out1/d p_b", "0"],
    ]  # fmt: skip
    assert str(sg.formula(lambda out: out**2, 1.0)) == "out_ = out**2"
    assert str(sg.formula(lambda x: x > 0, V)) == "out[i] = x[i] > 0"


def test_elements_that_are_picked_by_number_are_listed() -> None:
    shown = sg.formula(lambda p: p[0] * p[3] ** 2, np.ones(5), wrt=0)
    assert str(shown).splitlines() == [
        "d out/d p[0] = p[3]**2", "d out/d p[3] = 2*p[0]*p[3]",
        "    (by elements that are not listed it is 0)",
    ]  # fmt: skip
    assert r"\frac{\partial \mathrm{out}}{\partial {p}_{0}}" in shown.latex()
    hessian = sg.formula(lambda p: p[0] * p[3] ** 2, np.ones(5), wrt=0, order=2)
    assert str(hessian).splitlines()[:2] == [
        "d2 out/d p[0] d p[3] = 2*p[3]", "d2 out/d p[3]^2      = 2*p[0]",
    ]  # fmt: skip
    whole = sg.formula(lambda x: x[0] * np.sum(x), V, wrt=0)
    assert str(whole) == "d out/d x[i] = KroneckerDelta(0, i)*Sum(x[j], (j, 0, n - 1)) + x[0]"
    matrix = sg.formula(lambda A: A[0, 1] * A[2, 2], S, wrt=0)
    assert str(matrix).splitlines()[0] == "d out/d A[0, 1] = A[2, 2]"


@pytest.mark.slow  # simplified for as long as the tests allow
def test_many_elements_that_are_picked_stay_one_formula() -> None:
    many = sg.formula(lambda x: sum(x[k] ** 2 for k in range(20)), np.ones(30), wrt=0)
    assert "KroneckerDelta(19, i)" in str(many)


C = np.arange(27.0).reshape(3, 3, 3) ** 2

NO_MATRIX_NOTATION = {
    "a hinge": (lambda A, x: np.sum(np.where(A @ x > 0, A @ x, 0.1 * (A @ x))), (S, V)),
    "neighbours": (lambda x: np.sum((x[1:] - x[:-1]) ** 2), (V,)),
    "three indices": (lambda A, B: A @ B, (S, S)),
    "gather": (lambda x: x[np.array([2, 0])], (V,)),
    "an index's value": (lambda x: np.sum(x * np.arange(x.size)), (V,)),
    "triangle of three arrays": (
        lambda x, A, B: np.einsum("i,ij,ik,ijk->", x, A, B, C), (V, S, S),
    ),
    "products": (np.prod, (V,)),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_MATRIX_NOTATION)
def test_where_there_is_no_matrix_notation(name: str) -> None:
    f, args = NO_MATRIX_NOTATION[name]
    formula = sg.formula(f, *args, wrt=0)
    assert formula.matrix is None
    assert formula.text("matrix") == formula.text("index") == str(formula)


def test_errors() -> None:
    with pytest.raises(ArgumentError, match=r"order counts the derivatives: 1, 2, \.\.\., not 0"):
        sg.formula(np.sin, 1.0, wrt=0, order=0)
    with pytest.raises(ArgumentError, match="order counts"):
        sg.derivative(np.sin, 1.0, order=-1)
    with pytest.raises(ArgumentError, match="by k, which is not real"):
        sg.formula(lambda x, k: x[k], V, np.array([0, 1]), wrt="k")


# ---------------------------------------------------------------- pictures, LaTeX, MathML

SHOWN: dict[str, tuple[Any, tuple[Any, ...], int]] = {
    "gradient": (lambda x, A: x @ A @ x, (V, S), 1),
    "Hessian": (lambda w, X: np.sum(np.log(1 + np.exp(X @ w))), (V, M), 2),
    "norm": (lambda x: np.sqrt(np.sum(x**2)), (V,), 1),
    "branches": (lambda x: np.sum(np.where(x > 0, x**2, 0.1 * x)), (V,), 1),
    "largest": (lambda x: np.max(x), (V,), 1),
    "elementwise": (lambda x, A: np.exp(A * x), (V, S), 1),
    "softmax": (lambda x: np.exp(x) / np.sum(np.exp(x)), (V,), 1),
    "step": (lambda x: np.sum(np.maximum(x, 0.0) * x), (V,), 1),
    "matrix power": (lambda X: np.sum((X * X) ** 2), (S,), 1),
    "scalar": (lambda x: np.exp(-(x**2)) / x, (1.5,), 2),
    "lifted cases": (lambda x: np.sum(np.cbrt(x) ** 2), (V,), 2),
    "two conditions": (lambda x: np.where((x < 0.3) & (x > -1), x, np.sin(x)), (0.2,), 1),
    "outer": (lambda x, A: np.sum(np.tanh(A @ x)), (V, S), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.quick(2)
def test_every_form_is_well_formed(name: str) -> None:
    f, args, order = SHOWN[name]
    formula = sg.formula(f, *args, wrt=len(args) - 1 if name == "outer" else 0, order=order)
    assert "=" in formula.pretty()
    tex = formula.latex()
    assert tex.count("{") == tex.count("}")
    assert tex.count(r"\left") == tex.count(r"\right")
    assert not re.search(r"_\{[^{}]*\}_", tex), "a double subscript is an error in LaTeX"
    for element in formula.mathml().splitlines():
        tree = ET.fromstring(element)
        assert tree.tag.endswith("math")
        assert all(e.tag.split("}")[1].startswith("m") for e in tree.iter())
    assert formula._repr_latex_().startswith("$")
    assert formula._repr_html_() == formula.html()


def test_latex_of_both_notations() -> None:
    tex = sg.formula(lambda x, A: x @ A @ x, V, S, wrt=0).latex()
    first, left, second, last = tex.splitlines()
    assert (first, last) == (r"\begin{aligned}", r"\end{aligned}")
    assert left == (
        r"\frac{\partial \mathrm{out}}{\partial {x}_{i}} &= \sum_{j=0}^{n - 1} "
        r"\left({A}_{i,j} + {A}_{j,i}\right) {x}_{j} \\"
    )
    assert second == r"\frac{\partial \mathrm{out}}{\partial x} &= \left(A + A^{T}\right) x"
    assert sg.latex(lambda a: np.sin(a) - np.cos(a), 1.0, wrt=0) == (
        r"\sin{\left(a \right)} + \cos{\left(a \right)}"
    )
    assert sg.latex(sp.cos(x) - sp.sin(x)).startswith(r"\cos")


def test_elements_of_an_inverse_are_set_as_such() -> None:
    shown = sg.formula(lambda A: np.linalg.slogdet(A)[1], S + np.eye(3), wrt=0)
    assert r"= {\left(A^{-1}\right)}_{j,i}" in shown.latex().replace("&", "")
    inverse = "<mo>(</mo><msup><mi>A</mi><mrow><mo>−</mo><mn>1</mn></mrow></msup><mo>)</mo>"
    assert f"<msub><mrow>{inverse}</mrow>" in shown.mathml()
    assert "inv(A)[j, i]" in shown.text()


def test_a_picture() -> None:
    picture = sg.formula(lambda x, A: x @ A @ x, V, S, wrt=0).pretty("matrix")
    assert picture.splitlines() == ["          ⎛     T⎞  ", "∂out/∂x = ⎝A + A ⎠ x"]


def test_pictures_do_not_depend_on_the_terminal() -> None:
    before = pretty_use_unicode(False)
    try:
        assert "∑" not in sg.formula(lambda x: np.sum(x**2) ** 2, V, wrt=0).pretty()
        assert "╲" in sg.formula(lambda x: np.sum(x**2) ** 2, V, wrt=0).pretty()
        assert pretty_use_unicode() is False
    finally:
        pretty_use_unicode(before)


def test_notation_of_matrices() -> None:
    A, B, u, v = Array("A", 2), Array("B", 2), Array("u", 1), Array("v", 1)
    n = sp.Symbol("n")
    shown = {
        product(A, B, u): "A B u",
        product(A + B, u): "(A + B) u",
        2 * product(A, u): "2 A u",
        -product(A, u) / n: "-A u/n",
        u * product(A, v): "u*(A v)",
        product(T(u), v): "u^T v",
        transposed(product(A, B)): "B^T A^T",
        transposed(transposed(A)): "A",
        product(Diag(u), A): "diag(u) A",
        product(Eye(n), A): "A",
        Norm(-u): "norm(u)",
        u * (1 - u): "u*(1 - u)",
        product(u, T(Ones(n))): "u ones^T",
        product(A, 1 / (1 + sp.exp(u))): "A (1/(1 + exp(u)))",
        2 * A: "2 A",
    }
    for form, line in shown.items():
        assert text(form) == line
    assert latex(u * product(A, v)) == r"u \odot \left(A v\right)"
    assert latex(A**2) == r"A^{\circ 2}"
    assert pretty(u * v) == "u⊙v"
    assert "<mo>⊙</mo>" in mathml(u * v)
    assert "display" not in mathml(u, display=False)


# ---------------------------------------------------------------- time


def test_simplification_that_takes_long_is_stopped_and_said() -> None:
    hard = sp.Add(*(sp.sin(a * x) ** b / (1 + sp.cos(b * x) ** a) for a in (2, 3) for b in (2, 3)))
    patience = Patience(0.05)
    begin = time.process_time()
    simplified(hard, patience)
    assert patience.gave_up
    assert time.process_time() - begin < 3


def test_giving_up_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symgrad._symbolic._patience.SECONDS", 0.0)
    f = lambda x: np.exp(-((x - 1) ** 2) / x) * np.sin(x)  # noqa: E731
    with pytest.warns(SimplificationWarning, match="gave up simplifying after 0 seconds"):
        slope = sg.derivative(f, 1.0)
    assert float(slope.subs(sp.Symbol("x", real=True), 0.5)) == pytest.approx(
        float(sg.grad(f)(0.5))
    )
    late = "(simplifying was given up after a while: shorter forms may exist)"
    found = sg.formula(f, 1.0, wrt=0)
    assert str(found).endswith(f"\n    {late}")
    assert found.pretty().endswith(f"\n\n{late}")
    assert rf"& \text{{{late}}}" in found.latex()
    assert late.strip("()") in found.html()


@pytest.mark.slow
def test_names_given_in_a_hurry_have_no_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symgrad._symbolic._patience.SECONDS", 0.0)

    def f(x: Any, W: Any) -> Any:
        y = np.concatenate([W, W[:1] * 2])
        y[0, 1] += np.sum(y[1])
        return np.sum(np.cos(y) * np.logaddexp(y, x))

    for order in (1, 2):
        (equation,) = sg.formula(f, V, S, wrt=1, order=order).equations
        for part, _ in equation.parts:
            free = {s.name for s in part.formula.free_symbols} - {i.name for i in part.indices}
            assert free <= {"x", "W", "n", "m"} | {p.name for p, _ in equation.parts}


def test_the_time_limit_reaches_into_a_running_function() -> None:
    def forever(_: Any) -> str:
        for k in count():
            try:
                str(k)
                abs(-k)
            except Exception:  # noqa: BLE001 - as SymPy has them
                return "caught"
        return "ended"

    patience = Patience(0.05)
    assert patience.attempt(forever, None, "stopped") == "stopped"
    assert patience.gave_up
    assert sys.getprofile() is None
    assert Patience(5).attempt(lambda v: v + 1, 1, 0) == 2


@pytest.mark.slow
def test_the_time_limit_outlasts_callbacks_of_the_collector(monkeypatch: Any) -> None:
    lost: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)

    def collected(phase: str, info: Any) -> None:
        str(phase)

    def work(_: Any) -> str:
        kept: list[Any] = []
        for _ in range(500_000):  # time passes; the collector alone calls something
            kept = [kept, []]
        str(kept is None)
        return "ended"

    # Of a module that is neither the function's nor SymPy's.
    gc.callbacks.append(FunctionType(collected.__code__, {"__name__": "elsewhere", "str": str}))
    try:
        assert Patience(0.01).attempt(work, None, "stopped") == "stopped"
    finally:
        gc.callbacks.pop()
    assert not lost


def test_the_time_limit_outlasts_generators_that_are_closed(monkeypatch: Any) -> None:
    lost: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)

    def closing(_: Any) -> str:
        def parts() -> Iterator[int]:
            try:
                yield 1
            finally:
                while time.monotonic() < patience.deadline + 0.01:
                    pass

        inside = parts()
        next(inside)
        del inside  # an error raised in it now would be printed, and the limit be gone
        for k in range(10**7):
            abs(k)
        return "ended"

    patience = Patience(0.05)
    assert patience.attempt(closing, None, "stopped") == "stopped"
    assert not lost


def test_the_time_limit_outlasts_callbacks_of_weak_references(monkeypatch: Any) -> None:
    """They may ask a table for a key with SymPy's expressions in it, which SymPy compares."""
    lost: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    x = sp.Symbol("x")

    def compared(_: Any) -> None:
        while time.monotonic() < patience.deadline + 0.01:
            pass
        assert sp.cos(x) + 1 != sp.sin(x) + 1

    forget = FunctionType(compared.__code__, {**globals(), "__name__": "elsewhere"}, None, None,
                          compared.__closure__)  # fmt: skip

    def dying(_: Any) -> str:
        part = {1}
        kept = weakref.ref(part, forget)
        del part
        for k in range(10**7):
            sp.Integer(k)
        return str(kept)

    patience = Patience(0.05)
    assert patience.attempt(dying, None, "stopped") == "stopped"
    assert not lost


def busy(_: Any) -> str:
    while True:
        str(sys.getprofile())


def test_nothing_is_watched_before_time_is_up() -> None:
    assert Patience(5).attempt(lambda _: sys.getprofile(), None, "stopped") is None


def test_limits_hold_inside_of_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symgrad._symbolic._patience.WRITTEN", 0.1)
    seen = []

    def twice() -> None:
        seen.append(Patience(0.02).attempt(busy, None, "stopped"))
        Patience(5).attempt(busy, None, "stopped, too")
        seen.append("not here")

    with pytest.raises(UnsupportedError, match=r"in 0\.1 seconds, .*read its derivation"):
        Patience.of_a_reader().required(twice)
    assert seen == ["stopped"]
    assert sys.getprofile() is None


def test_the_time_limit_holds_in_other_threads() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(Patience(0.05).attempt, busy, None, "stopped").result() == "stopped"


def test_time_is_shared_among_what_needs_it() -> None:
    patience = Patience(100.0)
    left = [patience.deadline - time.monotonic() for _ in patience.among(range(4))]
    assert left == pytest.approx([25, 100 / 3, 50, 100], rel=0.05)
    assert patience.deadline == patience.start + 100


def test_a_formula_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symgrad._symbolic._patience.WRITTEN", 0.0)
    f = lambda x, y: np.sin(x * y) * np.exp(x)  # noqa: E731
    for call in (sg.symbolic, sg.derivative, sg.formula, sg.explain):
        with pytest.raises(UnsupportedError, match="has not written the formula"):
            call(f, 1.0, 2.0)


def test_a_profiler_that_is_there_stays() -> None:
    calls = []
    sys.setprofile(lambda *_: calls.append(1))
    try:
        assert Patience(5).attempt(abs, -1, 0) == 1
        assert sys.getprofile() is not None
    finally:
        sys.setprofile(None)
    assert calls


def test_what_is_written_often_is_visited_once() -> None:
    e: Any = x
    for _ in range(40):  # written out, 2**40 symbols
        e = sp.sin(e) + sp.cos(e)
    outer, inner = distinct(e), inner_first(e)
    assert set(outer) == set(inner)
    assert len(outer) == len(inner) == 121
    place = {part: k for k, part in enumerate(inner)}
    assert all(place[a] < place[part] for part in inner for a in part.args)


@pytest.mark.slow
def test_nested_maxima_are_compared_no_more_often_than_they_are_built() -> None:
    def f(a: Any) -> Any:
        y = a
        for k in range(8):
            y = np.clip(y * a + 0.5, -1.0 - k, 1.0 + k)
        return y

    with patch.object(sp.Max, "_find_localzeros", wraps=sp.Max._find_localzeros) as compared:
        slope = sg.formula(f, 0.7, wrt=0, order=2)
    assert compared.call_count < 300
    value = float(slope.expression.subs(sp.Symbol("a", real=True), 0.7))
    assert value == pytest.approx(float(sg.hessian(f)(0.7)))


def test_choices_between_conditions_are_drawn_as_they_are() -> None:
    choice = sp.ITE(x > 0, y > 1, y < 0)
    assert text(choice) == "ITE(x > 0, y > 1, y < 0)"
    assert pretty(choice) == "(x ≤ 0 ∧ y < 0) ∨ (x > 0 ∧ y > 1)"
    assert latex(choice) == (
        r"\left(x \leq 0 \wedge y < 0\right) \vee \left(x > 0 \wedge y > 1\right)"
    )
    assert "ITE" not in mathml(choice)


# ---------------------------------------------------------------- sums


def test_branches_stay_inside_their_sums() -> None:
    i, k = sp.symbols("i k", integer=True, nonnegative=True)
    a = sp.IndexedBase("a", real=True)
    inner = Sum(sp.Piecewise((a[i, k], a[i, k] > 0), (0, True)), (k, 0, 2))
    outer = Sum(sp.exp(inner), (i, 0, 3))
    assert str(outer) == (
        "Sum(exp(Sum(Piecewise((a[i, k], a[i, k] > 0), (0, True)), (k, 0, 2))), (i, 0, 3))"
    )
    assert k not in outer.free_symbols
    assert type(as_sympy(outer)) is Sum, "SymPy's own would take the branches out"
    plain = sp.Sum(a[i, 0], (i, 0, 3))
    assert type(unevaluated(plain)) is Sum
    assert as_sympy(unevaluated(plain)) == plain
    assert type(as_sympy(unevaluated(plain))) is sp.Sum
    nested = Sum(Sum(a[i, k], (k, 0, 2)), (i, 0, 3))
    assert nested.limits == (sp.Tuple(k, 0, 2), sp.Tuple(i, 0, 3))


def test_the_logistic_function_inside_of_a_logarithm() -> None:
    wall = lambda x, k: np.abs(k) * np.log(1 + np.exp(k * (x - 1)))  # noqa: E731
    (equation,) = sg.formula(wall, 1.0, 2.0, wrt=1).equations
    ((part, _),) = equation.parts
    s = part.at(part.indices)
    assert equation.short.atoms(sp.log) == {sp.log(1 - s)}
    assert not equation.short.has(sp.exp)
    values = {"x": 0.3, "k": 1.7}
    known = {q: values[q.name] for q in equation.expression.free_symbols}
    written_out = equation.short.xreplace({s: part.formula}).subs(known)
    assert float(written_out) == pytest.approx(float(equation.expression.subs(known)), rel=1e-14)


# ---------------------------------------------------------------- one meaning for each name

TANGLED = {
    "second derivatives": (
        "sin(cos(tan(exp(x*y)+sqrt(x**2+y**2))))**3*log(1+x**4*y**2)/(1+exp(-x*sin(y)))**2"
    ),
    "two parts": "exp(x**2*y)*sin(x*y + 1)**2/(1 + cos(x*y + 1)**2) + log(1 + exp(x**2*y))**3",
}


@pytest.mark.parametrize("name", TANGLED)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.slow
def test_names_mean_the_same_in_all_equations(name: str, order: int) -> None:
    """What is read, with its names written out, is the derivative."""
    x, y = sp.symbols("x y", real=True)
    expression = sp.sympify(TANGLED[name], locals={"x": x, "y": y})
    f = sg.from_sympy(expression, [x, y])
    equations = []
    for wrt in ("x", "y"):
        equations += sg.formula(f, 0.7, 0.4, wrt=wrt, order=order).equations
    made = Formula(tuple(equations))
    lines = made.rows()
    meanings = [(left.split()[1], right) for left, right in lines if left.startswith(" ")]
    assert len({left for left, _ in meanings}) == len(meanings)
    point: dict[str, Any] = {"x": sp.Float("0.7", 40), "y": sp.Float("0.4", 40)}
    for left, right in meanings:
        point[left] = sp.sympify(right, locals=point).evalf(40)
    for e, (_, right) in zip(made.equations, lines, strict=False):
        read = sp.sympify(right, locals=point).evalf(40)
        values = {s: point[s.name] for s in e.expression.free_symbols}
        assert abs(read - e.expression.evalf(40, subs=values)) < 1e-25 * abs(read)


def test_formulas_that_are_large_are_read_within_seconds() -> None:
    def nested(x: Any) -> Any:
        for _ in range(3):
            x = np.sin(x) * np.exp(-(x**2)) / (1 + x**4) + np.sqrt(1 + x**2)
        return x

    start = time.process_time()
    made = sg.formula(nested, 1.0, wrt=0)
    assert made.gave_up
    assert len(made.text()) < 3000
    assert "    where t = " in made.text()
    assert time.process_time() - start < 20  # it took minutes

    def deeper(x: Any) -> Any:
        return nested(nested(x))

    with pytest.raises(UnsupportedError, match=r"read its derivation with sg\.explain"):
        sg.formula(deeper, 1.0, wrt=0)


@pytest.mark.parametrize("read", [sg.formula, sg.latex])
def test_an_order_needs_an_argument(read: Any) -> None:
    with pytest.raises(ArgumentError, match=r"order=2 .* say wrt="):
        read(np.sin, 1.0, order=2)


def test_formulas_say_which_branch_they_are_of() -> None:
    def f(x_1: Any) -> Any:
        return x_1**2 if x_1 > 0 else -x_1

    above, below = sg.formula(f, 1.0, wrt=0), sg.formula(f, -1.0, wrt=0)
    assert str(above) == "d out/d x_1 = 2*x_1\n    (for x_1 > 0, as in this call)"
    assert "(for x_1 <= 0, as in this call)" in str(below)
    assert above.pretty().endswith("\n\n(for x_1 > 0, as in this call)")
    assert r"& \text{(for x\_1 $>$ 0, as in this call)}" in above.latex()
    assert "for x_1 &gt; 0, as in this call" in above.html()
    assert "(for x_1 > 0, as in this call)" in str(sg.explain(f, 1.0))

    def g(x: Any) -> Any:
        return np.sum(x**2) if np.sum(x) > 0 else np.sum(x)

    assert "(for Sum(x[i], (i, 0, n - 1)) > 0, as in this call)" in str(sg.formula(g, np.ones(3)))


def test_many_decisions_are_counted() -> None:
    def halved(x: Any) -> Any:
        while x > 1.0:
            x = x / 2
        return x

    assert str(sg.formula(halved, 200.0)).splitlines()[1:] == [
        *(f"    (for {x} > 1, as in this call)" for x in ("x", "x/2", "x/4", "x/8")),
        "    (and 5 decisions more that are taken as in this call)",
    ]


def test_loops_and_branches_say_which_way_they_go() -> None:
    def f(x: Any) -> Any:
        return sg.cond(x > 0, lambda x: x**2, lambda x: -x, x)

    assert str(sg.formula(f, 1.0)) == "out = x**2\n    (for x > 0, as in this call)"
    assert str(sg.formula(f, -1.0, wrt=0)) == "d out/d x = -1\n    (for x <= 0, as in this call)"

    def doubled(x: Any) -> Any:
        return sg.while_loop(lambda c: c < 5, lambda c: 2 * c, x)

    assert str(sg.formula(doubled, 2.0, wrt=0)).splitlines() == [
        "d out/d x = 4",
        *(f"    (for {x}, as in this call)" for x in ("x < 5", "2*x < 5", "4*x >= 5")),
    ]
    # The derivative of a loop reads what the loop has written down.
    assert "out1 = " in str(sg.formula(sg.value_and_grad(doubled), 2.0))
    with sg.backend("numpy"):
        found = sg.verify(doubled, domain=(1.0, 3.0), points=4)
    assert found.max_ulp == 0
    assert [kink.step for kink in found.kinks] == ["if x < 5"]


def test_complex_arguments_are_pairs() -> None:
    def f(z: Any) -> Any:
        return np.abs(z) ** 2

    note = "(z is complex: a last index of 0 is for real, 1 for imaginary parts)"
    assert str(sg.formula(f, 1 + 2j, wrt=0)).splitlines()[-1].strip() == note
    assert note in str(sg.explain(f, 1 + 2j))


def test_what_has_no_formula_is_told_with_its_line() -> None:
    with pytest.raises(
        UnsupportedError, match=r"for one element \[.*test_symbolic_formula.py:\d+\]"
    ):
        sg.formula(lambda x: np.sort(x)[0], V)
    with pytest.raises(ArgumentError, match=r"not Pow: .* sg.from_sympy\(expression, names\)"):
        sg.formula(x**2)


def test_decisions_without_a_formula_are_named_by_their_line() -> None:
    def f(x: Any) -> Any:
        y = np.prod(x[:, None] + x) + np.sum(np.sin(x[:, None] * x) ** 2 + x[:, None] ** 3)
        return x if y > 0 else -x

    assert "(for the branch taken at test_symbolic_formula.py:" in str(sg.formula(f, np.ones(3)))


def test_names_are_set_in_type() -> None:
    greek = sg.from_sympy(sp.Symbol("σ") ** 2 * sp.Symbol("Δx"), ["σ", "Δx"])
    assert sg.formula(greek, 1.0, 2.0, wrt=0).latex().endswith(r"= 2 \Delta x \sigma")
    f = sg.formula(lambda lambda_: lambda_[0] ** 2, np.ones(2))
    assert f.latex().endswith(r"= {\lambda}_{0}^{2}")
    assert "<mi></mi>" not in f.mathml()


@pytest.mark.slow
def test_mixed_derivatives() -> None:
    def loss(w: Any, b: Any, X: Any) -> Any:
        return np.sum(np.log(1 + np.exp(X @ w + b)))

    found = sg.formula(loss, np.ones(3), 0.5, M, wrt=("w", "b"), order=2)
    assert found.text("matrix").splitlines() == [
        "d2 out/d w d w^T = X^T diag(s*(1 - s)) X",
        "d2 out/d w d b   = X^T (s*(1 - s))",
        "d2 out/d b^2     = s^T (1 - s)",
        "    where s = 1/(1 + exp(-X w - b))",
    ]  # fmt: skip
    parts = sg.formula(lambda p: p["a"] * np.exp(p["b"]), {"a": 1.0, "b": 2.0}, wrt=0, order=2)
    assert "d2 out/d p_a d p_b = exp(p_b)" in str(parts)
    assert str(sg.formula(lambda x, k: x * k, 1.0, 2.0, wrt=[1, 0])).splitlines() == [
        "d out/d k = x", "d out/d x = k",
    ]  # fmt: skip
    for wrt in ((), 1.5, ("x", 2.5)):
        with pytest.raises(ArgumentError, match="one argument at a time"):
            sg.formula(lambda x, k: x * k, 1.0, 2.0, wrt=wrt)  # type: ignore[arg-type]


@pytest.mark.parametrize("order", [1.5, "2", None, 0])
def test_an_order_is_a_whole_number(order: Any) -> None:
    for read in (sg.formula, sg.derivative):
        with pytest.raises(ArgumentError, match="order counts the derivatives: 1, 2, "):
            read(np.sin, 1.0, wrt=0, order=order)


DERIVED: dict[str, tuple[Any, tuple[Any, ...], list[str]]] = {
    "a Jacobian": (sg.jacobian(lambda w, X: np.sin(X @ w)), (V, M), [
        "d out[i]/d w[j] = cos(Sum(X[i, k]*w[k], (k, 0, n - 1)))*X[i, j]",
        "d out/d w       = diag(cos(X w)) X",
    ]),
    "a Hessian": (sg.hessian(lambda A, x: x @ A @ x, argnums=-1), (S, V), [
        "d2 out/d x[i] d x[j] = A[i, j] + A[j, i]", "d2 out/d x d x^T     = A + A^T",
    ]),
    "of a derivative": (sg.compile(sg.jacobian(sg.grad(lambda x: np.sum(x**3)))), (V,), [
        "d out[i]/d x[j] = 6*KroneckerDelta(i, j)*x[i]", "d out/d x       = 6*diag(x)",
    ]),
    "three times": (sg.jacobian(sg.hessian(lambda x: x**5)), (2.0,), ["d3 out/d x^3 = 60*x**2"]),
    "by several arguments": (sg.hessian(lambda x, y: x**2 * y, argnums=(0, 1)), (1.0, 2.0), [
        "d2 out/d x^2   = 2*y", "d2 out/d x d y = 2*x", "d2 out/d y^2   = 0",
    ]),
    "by parts": (sg.jacobian(lambda p: p["a"] * np.exp(p["b"])), ({"a": 1.0, "b": 2.0},), [
        "d out/d p_a = exp(p_b)", "d out/d p_b = p_a*exp(p_b)",
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", DERIVED)
def test_jacobians_are_read_as_derivatives(name: str) -> None:
    f, args, printed = DERIVED[name]
    assert str(sg.formula(f, *args)).splitlines() == printed
    page = io.StringIO()
    with sg.backend("numpy"):
        sg.show(f, *args, file=page)
    last = page.getvalue().partition("In mathematics\n")[2]
    assert [line.strip() for line in last.splitlines()] == printed


def test_jacobians_in_sympy_are_those_of_any_length() -> None:
    cubes = sg.hessian(lambda x: np.sum(x**3))
    found = sg.symbolic(cubes, V)
    assert str(found) == "6*KroneckerDelta(i, j)*x[i]"
    assert str(sg.derivative(cubes, V)) == "6*KroneckerDelta(i, j)*KroneckerDelta(i, k)"
    pair = sg.symbolic(sg.jacobian(lambda x: {"a": x**2, "b": np.sin(x)}), 1.0)
    assert {key: str(e) for key, e in pair.items()} == {"a": "2*x", "b": "cos(x)"}
    # Of several arguments it keeps its structure.
    blocks = sg.symbolic(sg.hessian(lambda x, y: x**2 * y, argnums=(0, 1)), 1.0, 2.0)
    assert str(blocks) == "((2*y, 2*x), (2*x, 0))"


def test_long_loops_are_refused_before_they_are_written_out(monkeypatch: Any) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("written out")

    monkeypatch.setattr("symgrad._control._straight.substitute", never)
    with pytest.raises(UnsupportedError, match="too long to be written out"):
        sg.formula(lambda x: sg.fori_loop(0, 100_000, lambda _, c: np.sin(c), x), 1.0)


def test_what_a_loop_has_written_out_is_walked_once(monkeypatch: Any) -> None:
    seen: list[int] = []

    def walk(nodes: Any) -> Any:
        found = topological(nodes)
        seen.append(len(found))
        return found

    monkeypatch.setattr("symgrad._control._straight.topological", walk)
    program = sg.compile(lambda x: sg.fori_loop(0, 200, lambda _, c: np.sin(c), x))
    with pytest.raises(UnsupportedError, match="too large"):
        sg.formula(program, 1.0)
    assert sum(seen) < 2000


# ---------------------------------------------------------------- numbers and memory


def test_the_time_limit_holds_in_a_loop_that_calls_nothing() -> None:
    def counting(_: Any) -> str:
        k = 0
        while k < 10**10:
            k += 1
        return "ended"

    assert Patience(0.05).attempt(counting, None, "stopped") == "stopped"
    assert sys.gettrace() is None
    assert sys.getprofile() is None


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the memory is not known")
def test_memory_is_limited_as_time_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symgrad._symbolic._patience.MEMORY", 1 << 25)

    def growing(_: Any = None) -> None:
        kept = []
        while True:
            kept.append(bytearray(1 << 16))

    patience = Patience(60.0)
    assert patience.attempt(growing, None, "stopped") == "stopped"
    assert patience.gave_up
    with pytest.raises(UnsupportedError, match=r"in 0\.03125 GB of memory, .*read its derivation"):
        Patience(60.0).required(growing)


def test_what_memory_does_not_suffice_for_is_given_up() -> None:
    def failing(_: Any = None) -> None:
        raise MemoryError

    assert Patience(5).attempt(failing, None, "stopped") == "stopped"
    with pytest.raises(UnsupportedError, match="GB of memory"):
        Patience(5).required(failing)


@pytest.mark.parametrize(
    "power", [(2 * x + 2) ** (10**9), x ** (10**17) - x, sp.exp(10**17 * x) * sp.exp(x) + 1]
)
def test_powers_of_a_high_degree_stay_as_they_are(power: Any) -> None:
    """SymPy takes them for polynomials, with a place in memory for each coefficient."""
    for e in (power, sp.diff(power, x), sp.sin(power) + y * power):
        assert sp.expand(simplified(e, 5.0) - e, deep=False) == 0


@pytest.mark.parametrize(
    "power",
    [
        (10**16 + 1) ** (10 ** (y + 10) / 2),
        2 ** ((x - 10**6) ** 2),
        2 ** ((2 * x + 2) ** 40),
        (2 * x) ** (3 * 10 ** (y + 10)),
    ],
)
def test_powers_that_hide_large_numbers_stay_as_they_are(power: Any) -> None:
    """SymPy takes 2**(10**10) out of 2**(10**(y + 10)), in one operation of Python's."""
    mark = sp.Dummy()
    for e in (power * 10 ** (y + 10), x * power + power, sp.sin(power) + y * power):
        found = simplified(e, 5.0)
        assert sp.expand((found - e).xreplace({power: mark})) == 0


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("1/(1 + exp(-2**((x - 10**6)**2)))", "s = 1/(1 + exp(-2**((x - 1000000)**2)))"),
        ("1/(1 + exp(-x)) + exp(10**17*x)", "exp(100000000000000000*x)"),
        # A simplification itself makes a form of this that hides a large number.
        ("exp(3**(x*2**(y + 40))*log(2))", "exp(3**(2**(y + 40)*x)*log(2))"),
    ],
)
def test_formulas_with_powers_that_hide_large_numbers_are_read(text: str, part: str) -> None:
    expression = sg.parse(text)
    names = sorted(map(str, expression.free_symbols))
    assert part in str(sg.formula(sg.from_sympy(expression, names), *[0.5] * len(names), wrt=0))


def test_powers_of_numbers_that_are_too_large_are_refused() -> None:
    large = [
        (lambda x: (2 * x) ** 1e9, "power of a number with 2e\\+09 binary digits"),
        (lambda x: np.exp(1e9 * np.log(2 * x)), "power of a number"),
        (lambda x: np.exp2(x * 0 + 1e9 * (x / x)), "power of a number"),
    ]
    for f, message in large:
        with pytest.raises(UnsupportedError, match=message):
            sg.derivative(f, 2.0)
    assert sg.derivative(lambda x: x * sp_special.gammaln(x - x + 1e9), 2.0) == pytest.approx(
        float(sp_special.gammaln(1e9))
    )


@pytest.mark.parametrize(
    "number",
    [sp.Integer(10) ** 5000, sp.Rational(1, 10**5000), sp.Pow(2, -(10**9), evaluate=False)],
)
def test_numbers_that_nobody_reads_are_refused(number: Any) -> None:
    for call in (sg.latex, lambda e: sg.from_sympy(e, [x])):
        with pytest.raises(UnsupportedError, match="more than 4096 binary digits"):
            call(sp.Mul(number, x, evaluate=False))


def test_numbers_beyond_doubles_are_computed_with() -> None:
    assert sg.from_sympy(x + sp.Rational(1, 10**400), [x])(1.0) == 1.0
    assert sg.from_sympy(x ** (sp.Integer(10) ** 400), [x])(0.5) == 0.0
    nested = x
    for _ in range(300):  # deeper than SymPy prints
        nested = sp.sin(nested)
    assert 0 < sg.from_sympy(nested, [x])(1.0) < 0.1
