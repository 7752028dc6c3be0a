"""Formulas as people read them: order, notation, names, LaTeX, MathML, the time limit."""

from __future__ import annotations

import io
import re
import time
import xml.etree.ElementTree as ET
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import sympy as sp
from scipy import special as sp_special
from sympy.printing.pretty.pretty_symbology import pretty_use_unicode

import symgrad as sg
from symgrad.errors import ArgumentError, SimplificationWarning, UnsupportedError

x, y = sp.symbols("x y", real=True)
V, S, M = np.array([0.3, 1.7, -0.6]), np.arange(9.0).reshape(3, 3), np.ones((4, 3))
Y = np.array([1.0, -1.0, 1.0, 1.0])


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
@pytest.mark.quick(1)
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


def test_giving_up_is_said(patience: Any) -> None:
    patience(SECONDS=0.0)
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
def test_names_given_in_a_hurry_have_no_indices(patience: Any) -> None:
    patience(SECONDS=0.0)

    def f(x: Any, W: Any) -> Any:
        y = np.concatenate([W, W[:1] * 2])
        y[0, 1] += np.sum(y[1])
        return np.sum(np.cos(y) * np.logaddexp(y, x))

    for order in (1, 2):
        (equation,) = sg.formula(f, V, S, wrt=1, order=order).equations
        for part, _ in equation.parts:
            free = {s.name for s in part.formula.free_symbols} - {i.name for i in part.indices}
            assert free <= {"x", "W", "n", "m"} | {p.name for p, _ in equation.parts}


def test_a_formula_that_takes_too_long_is_refused(patience: Any) -> None:
    patience(WRITTEN=0.0)
    f = lambda x, y: np.sin(x * y) * np.exp(x)  # noqa: E731
    for call in (sg.symbolic, sg.derivative, sg.formula, sg.explain):
        with pytest.raises(UnsupportedError, match="has not written the formula"):
            call(f, 1.0, 2.0)


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


@pytest.mark.slow
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


def test_a_choice_between_conditions_is_a_condition() -> None:
    def chosen(x: Any, y: Any) -> Any:
        return np.where(np.where(x > 1, y > 0, False), x, 2 * y)

    text = str(sg.formula(chosen, 2.0, 3.0))
    assert "Piecewise((x, ITE(x > 1, y > 0, False)), (2*y, True))" in text
    assert "p*x" in str(sg.formula(sg.grad(lambda x, p: x**p), 2.0, 3.0))
