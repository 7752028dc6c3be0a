"""Formulas and derivatives in index notation: how they read, and that they are right."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as special
import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits

import symgrad as sg
import symgrad.scipy.special as scipy_special
from symgrad import derivative, latex, symbolic
from symgrad._core.op import registry
from symgrad.errors import ArgumentError, UnsupportedError

X, A, B = np.array([0.3, 1.7, -0.6]), np.arange(12.0).reshape(4, 3) - 5, np.ones((3, 2))
S = np.arange(9.0).reshape(3, 3)
softmax = registry.handler(special.softmax)


def gauss(b1: Any, b2: Any, b3: Any, x: Any) -> Any:
    """A model of NIST's, in its notation."""
    return b1 * np.exp(-((x - b2) ** 2) / b3**2)


#: Function, arguments, what it computes, and its derivative by the first argument.
FORMULAS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str, str]] = {
    "scalar": (
        lambda x, y: np.sin(x) * np.exp(-y), (1.0, 2.0), "exp(-y)*sin(x)", "exp(-y)*cos(x)",
    ),
    "sum": (
        lambda a: np.sum(np.sin(a) + np.cos(a)), (X,),
        "Sum(sin(a[i]) + cos(a[i]), (i, 0, n - 1))", "cos(a[i]) - sin(a[i])",
    ),
    "elementwise": (lambda x: x**2, (X,), "x[i]**2", "2*KroneckerDelta(i, j)*x[i]"),
    "mean": (lambda x: np.mean(x**2), (X,), "Sum(x[i]**2, (i, 0, n - 1))/n", "2*x[i]/n"),
    "variance": (
        lambda x: np.var(x), (X,),
        "Sum((x[i] - Sum(x[j], (j, 0, n - 1))/n)**2, (i, 0, n - 1))/n",
        "2*(x[i] - Sum(x[j], (j, 0, n - 1))/n)/n",
    ),
    "quadratic form": (
        lambda x, A: x @ A @ x, (X, S),
        "Sum(x[i]*Sum(A[j, i]*x[j], (j, 0, n - 1)), (i, 0, n - 1))",
        "Sum((A[i, j] + A[j, i])*x[j], (j, 0, n - 1))",
    ),
    "matrix product": (
        lambda A, B: A @ B, (A, B), "Sum(A[i, k]*B[k, j], (k, 0, m - 1))",
        "KroneckerDelta(i, k)*B[l, j]",
    ),
    "linear map": (lambda x, A: A @ x, (X, A), "Sum(A[i, j]*x[j], (j, 0, n - 1))", "A[i, j]"),
    "trace": (
        lambda X: np.trace(X @ X), (S,),
        "Sum(X[i, j]*X[j, i], (j, 0, n - 1), (i, 0, n - 1))", "2*X[j, i]",
    ),
    "norm": (
        lambda x: np.sqrt(np.sum(x**2)), (X,), "sqrt(Sum(x[i]**2, (i, 0, n - 1)))",
        "x[i]/sqrt(Sum(x[j]**2, (j, 0, n - 1)))",
    ),
    "log of a sum": (
        lambda x: np.log(np.sum(np.exp(x))), (X,), "log(Sum(exp(x[i]), (i, 0, n - 1)))",
        "exp(x[i])/Sum(exp(x[j]), (j, 0, n - 1))",
    ),
    "product": (
        np.prod, (X,), "Product(a[i], (i, 0, n - 1))",
        "Product(a[j], (j, 0, i - 1))*Product(a[j], (j, i + 1, n - 1))",
    ),
    "neighbours": (
        lambda x: np.sum((x[1:] - x[:-1]) ** 2), (X,),
        "Sum((x[i + 1] - x[i])**2, (i, 0, n - 2))",
        ("Piecewise((2*x[i] - 2*x[i + 1], i <= n - 2), (0, True))"
         " + Piecewise((2*x[i] - 2*x[i - 1], i >= 1), (0, True))"),
    ),
    "running sum": (
        lambda x: np.cumsum(x), (X,), "Sum(x[j], (j, 0, i))",
        "Piecewise((1, i >= j), (0, True))",
    ),
    "one element": (
        lambda x: x[0] * x[1] ** 2, (X,), "x[0]*x[1]**2",
        "(KroneckerDelta(0, i)*x[1] + 2*KroneckerDelta(1, i)*x[0])*x[1]",
    ),
    "flattened": (
        lambda x: np.sum(x.reshape(-1) ** 2), (A,),
        "Sum(x[i, j]**2, (j, 0, m - 1), (i, 0, n - 1))", "2*x[i, j]",
    ),
    "joined": (
        lambda x: np.sum(np.concatenate([x, x**2])), (X,),
        "Sum(Piecewise((x[i], n > i), (x[-n + i]**2, True)), (i, 0, 2*n - 1))",
        "2*x[i] + 1",
    ),
    "transposed": (
        lambda x, y: np.sum(x.T * y), (A, np.ones(4)),
        "Sum(x[i, j]*y[i], (j, 0, m - 1), (i, 0, n - 1))", "y[i]",
    ),
    "where": (
        lambda x: np.sum(np.where(x > 0, x, 0.1 * x)), (X,),
        "Sum(Piecewise((x[i], x[i] > 0), (0.1*x[i], True)), (i, 0, n - 1))",
        "Piecewise((1, x[i] > 0), (0.1, True))",
    ),
    "maximum": (
        lambda x: np.sum(np.maximum(x, 0.0)), (X,), "Sum(Max(0, x[i]), (i, 0, n - 1))",
        "Heaviside(x[i])",
    ),
    "largest": (
        lambda x: np.max(x), (X,), "Max(x[i], (i, 0, n - 1))",
        ("Piecewise((1, Eq(x[i], Max(x[j], (j, 0, n - 1)))), (0, True))/Sum(Piecewise((1, "
         "Eq(x[j], Max(x[k], (k, 0, n - 1)))), (0, True)), (j, 0, n - 1))"),
    ),
    "gather": (
        lambda x, k: x[k], (X, np.array([2, 0])),
        "x[Mod(k[i], n)]",
        "KroneckerDelta(j, Mod(k[i], n))",
    ),
    "size": (lambda x: np.sum(x) / x.size, (X,), "Sum(x[i], (i, 0, n - 1))/n", "1/n"),
    "pi": (
        lambda x: np.cos(2 * np.pi * x / 12), (1.0,), "cos(pi*x/6)", "-pi*sin(pi*x/6)/6",
    ),
    "model": (
        gauss, (1.0, 2.0, 3.0, X), "b1*exp(-(x[i] - b2)**2/b3**2)",
        "exp(-(x[i] - b2)**2/b3**2)",
    ),
    "logistic": (
        lambda w, X: np.sum(np.log(1 + np.exp(-(X @ w)))), (X, A),
        "Sum(log(1 + exp(-Sum(X[i, j]*w[j], (j, 0, n - 1)))), (i, 0, m - 1))",
        "-Sum(X[j, i]/(1 + exp(Sum(X[j, k]*w[k], (k, 0, n - 1)))), (j, 0, m - 1))",
    ),
    "softmax": (
        softmax, (X,),
        "exp(x[i])/Sum(exp(x[j]), (j, 0, n - 1))", "",
    ),
    "gradient": (sg.grad(lambda x: np.sum(x**3)), (X,), "3*x[i]**2", "6*KroneckerDelta(i, j)*x[i]"),
    "constant": (lambda x: 3.0, (X,), "3", "0"),
    "identity": (lambda x: x, (1.0,), "x", "1"),
    "truth": (lambda x: x > 0, (X,), "x[i] > 0", "0"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(name: str) -> None:
    f, args, formula, slope = FORMULAS[name]
    assert str(symbolic(f, *args)) == formula
    if slope:
        assert str(derivative(f, *args)) == slope


# ---------------------------------------------------------------- right numbers


def value(expression: Any, index: dict[str, int], inputs: dict[str, Any]) -> float:
    """Evaluate an expression of index notation for given indices and arrays."""
    sizes = {"n": 3, "m": 3}
    for x in inputs.values():
        if isinstance(x, np.ndarray) and x.ndim == 2:
            sizes = {"n": x.shape[0], "m": x.shape[1]}
    swap = {}
    for s in expression.atoms(sp.Symbol):
        if s.name in sizes and s.is_positive:
            swap[s] = sp.Integer(sizes[s.name])
        elif s.name in index:
            swap[s] = sp.Integer(index[s.name])
    found = expression.xreplace(swap).doit()
    numbers: dict[Any, Any] = {}
    for e in found.atoms(sp.Indexed):
        array = np.asarray(inputs[e.base.name])
        numbers[e] = sp.Float(float(array[tuple(map(int, e.indices))]))
    for s in found.atoms(sp.Symbol):
        if s.name in inputs and not isinstance(inputs[s.name], np.ndarray):
            numbers[s] = sp.Float(inputs[s.name])
    return float(found.xreplace(numbers).doit())


NUMBERS = [
    name for name in FORMULAS
    if name not in ("gather", "constant", "identity", "truth", "gradient", "linear map",
                    "logistic", "size", "transposed")
]  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_derivatives_have_the_right_numbers(name: str) -> None:
    f, args, _, _ = FORMULAS[name]
    with sg.backend("numpy"):
        exact = sg.jacobian(f)(*args)
    slope = derivative(f, *args)
    names = {"product": ("a",), "matrix product": ("A", "B"), "model": ("b1", "b2", "b3", "x"),
             "trace": ("X",), "sum": ("a",), "quadratic form": ("x", "A"),
             "scalar": ("x", "y")}.get(name, ("x",))  # fmt: skip
    inputs = dict(zip(names, args, strict=True))
    letters = "ijkl"[: np.ndim(exact)]
    for place in np.ndindex(np.shape(exact)):
        index = dict(zip(letters, place, strict=True))
        assert value(slope, index, inputs) == pytest.approx(exact[place], rel=1e-12, abs=1e-12)


def unnamed(equation: Any) -> Any:
    """Write out the names of a formula's parts."""
    found = equation.short
    for part, _ in reversed(equation.parts):
        if not part.indices:
            found = found.xreplace({part.at(()): part.formula})
        base = sp.IndexedBase(part.name, real=True)
        for e in [e for e in found.atoms(sp.Indexed) if e.base == base]:
            # Bound indices of the meaning must not catch the indices that are put in.
            letters = {i: sp.Dummy(i.name, integer=True, nonnegative=True) for i in part.indices}
            inner = {k: sp.Dummy() for s in part.formula.atoms(ExprWithLimits) for k in s.variables}
            meaning = part.formula.xreplace({**inner, **letters})
            put = dict(zip(letters.values(), e.indices, strict=True))
            found = found.xreplace({e: meaning.xreplace(put)})
    return found


NAMED = {
    "softmax": (lambda x: np.exp(x) / np.sum(np.exp(x)), (X,), 1),
    "log-sum-exp": (lambda x: np.log(np.sum(np.exp(x))), (X,), 2),
    "logistic": (lambda x, A: np.sum(np.log(1 + np.exp(A @ x))), (X, S), 2),
    "labels": (lambda x, A: np.sum(np.log1p(np.exp(-x * (A @ x)))), (X, S), 1),
    "branches inside": (
        lambda x, A: np.sum(np.log1p(np.exp(np.sum(np.where(x < A, A * x, 0.0), 1)))), (X, S), 1,
    ),
    "two layers": (lambda x, A: np.sum(np.tanh(A @ np.tanh(A @ x)) ** 2), (X, S), 1),
    "max": (lambda x: np.max(x) ** 2, (X,), 1),
    "range": (lambda x: np.sin(np.ptp(x)), (X,), 2),
    "scalar": (lambda x, y: np.tanh(x * y) ** 3 * np.exp(np.tanh(x * y)), (0.5, 0.7), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.quick(1)
def test_names_stand_for_what_they_say(name: str) -> None:
    f, args, order = NAMED[name]
    (equation,) = sg.formula(f, *args, wrt=0, order=order).equations
    assert equation.parts or name in ("two layers", "max"), "nothing was named"
    with sg.backend("numpy"):
        slope = sg.jacobian(f) if order == 1 else sg.jacobian(sg.jacobian(f))
        exact = np.asarray(slope(*args))
    inputs = dict(zip(("x", "y" if name == "scalar" else "A"), args, strict=False))
    letters = [i.name for i in equation.indices]
    for place in np.ndindex(exact.shape):
        index = dict(zip(letters, place, strict=True))
        for form in (equation.expression, unnamed(equation)):
            got = value(form, index, inputs)
            assert got == pytest.approx(exact[place], rel=1e-11, abs=1e-12)


def test_inverses_and_determinants_in_index_notation() -> None:
    assert str(symbolic(np.linalg.inv, S)) == "inv(a)[i, j]"
    assert str(symbolic(np.linalg.det, S)) == "det(a)"
    solve = lambda A, b: np.linalg.solve(A, b)  # noqa: E731
    assert str(symbolic(solve, S, X)) == "Sum(inv(A)[i, j]*b[j], (j, 0, n - 1))"
    assert str(derivative(solve, S, X, wrt=1)) == "inv(A)[i, j]"
    assert str(derivative(np.linalg.inv, S)) == "-inv(a)[i, k]*inv(a)[l, j]"
    assert str(derivative(np.linalg.det, S)) == "det(a)*inv(a)[j, i]"
    assert str(derivative(lambda A: np.linalg.slogdet(A)[1], S)) == "inv(A)[j, i]"
    assert derivative(lambda A, b: np.linalg.inv(A) @ b, S, X, wrt=1) == derivative(
        solve, S, X, wrt=1
    )
    shown = sg.formula(lambda A: np.linalg.inv(A @ A.T), S)
    assert str(shown.matrix) == "(A A^T)^-1"


# ---------------------------------------------------------------- arguments and results


def test_nested_arguments_and_results() -> None:
    f = lambda p: {"s": p[0] * p[1]["w"], "t": (p[0], None)}  # noqa: E731
    args = ((2.0, {"w": X}),)
    assert str(symbolic(f, *args)) == "{'s': p_0*p_1_w[i], 't': (p_0, None)}"
    slope = derivative(f, *args)
    assert str(slope["s"]) == "(p_1_w[i], {'w': p_0*KroneckerDelta(i, j)})"
    assert str(slope["t"]) == "((1, {'w': 0}), None)"


def test_wrt() -> None:
    f = lambda x, k: np.exp(-k * x)  # noqa: E731
    assert str(derivative(f, 1.0, 2.0)) == "-k*exp(-k*x)"
    assert derivative(f, 1.0, 2.0, wrt=1) == derivative(f, 1.0, 2.0, wrt="k")
    assert derivative(f, 1.0, 2.0, wrt=-1) == derivative(f, 1.0, 2.0, wrt="k")
    with pytest.raises(ArgumentError, match="wrt=2, but the function was called with 2"):
        derivative(f, 1.0, 2.0, wrt=2)
    with pytest.raises(ArgumentError, match="no argument is called 'y': x, k"):
        derivative(f, 1.0, 2.0, wrt="y")
    with pytest.raises(ArgumentError, match="by k, which is not real"):
        derivative(lambda x, k: x[k], X, np.array([0, 1]), wrt="k")
    with pytest.raises(ArgumentError, match="a function is needed, not float"):
        symbolic(3.0)  # type: ignore[arg-type]


def test_indices_avoid_the_names_of_arguments() -> None:
    assert str(symbolic(lambda i, j: i * j, X, X)) == "i[k]*j[k]"
    assert str(symbolic(lambda n: n, X)) == "n[i]"
    assert str(symbolic(lambda c0: c0 * np.array([1.0, 2.5, 0.1]), X)) == "c0[i]*c1[i]"


def test_latex() -> None:
    assert latex(lambda x: np.sqrt(x), 2.0, wrt=0) == r"\frac{1}{2 \sqrt{x}}"
    assert latex(lambda a: np.sum(a * a), X) == r"\sum_{i=0}^{n - 1} {a}_{i}^{2}"
    assert latex(sp.Symbol("x") ** 2) == "x^{2}"
    largest = latex(lambda a: np.max(a) ** 2, X)
    assert largest == r"\max_{0 \leq i \leq n - 1}\left({a}_{i}\right)^{2}"
    some = latex(lambda a: np.where(np.any(a > 0), 1.0, 0.0), X)
    assert r"\operatorname*{any}_{0 \leq i \leq n - 1}\left({a}_{i} > 0\right)" in some


def test_sympy_goes_on_from_there() -> None:
    x, y = sp.symbols("x y", real=True)
    f = lambda x, y: np.exp(-x) * np.cos(y)  # noqa: E731
    assert sp.diff(symbolic(f, 1.0, 2.0), y) == derivative(f, 1.0, 2.0, wrt="y")
    assert sp.limit(symbolic(f, 1.0, 2.0), x, sp.oo) == 0
    again = sg.from_sympy(derivative(f, 1.0, 2.0), [x, y])
    assert float(again(0.5, 0.25)) == pytest.approx(-np.exp(-0.5) * np.cos(0.25))


# ---------------------------------------------------------------- limits


def test_what_is_too_large_is_refused() -> None:
    def chain(x: Any) -> Any:
        for _ in range(5000):
            x = np.sin(x)
        return x

    start = time.process_time()
    with pytest.raises(UnsupportedError, match="too large to be written as one formula"):
        symbolic(chain, 1.0)
    assert time.process_time() - start < 60


@pytest.mark.slow
def test_deep_formulas_that_are_allowed_work() -> None:
    def chain(x: Any) -> Any:
        for _ in range(70):
            x = np.sin(x) + 1.0 if _ % 10 == 0 else np.sin(x)
        return x

    assert str(symbolic(chain, 1.0)).count("sin") == 70
    assert str(derivative(chain, 1.0)).count("cos") == 70


def test_steps_are_constant_between_their_jumps() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(np.floor(x / y) * x**2 + np.trunc(x * y) * y + np.sign(x / y) * x)

    x, y = np.array([0.3, 1.7, -0.6]), np.array([0.4, -0.7, 1.3])
    for wrt in (0, 1):
        slope = derivative(f, x, y, wrt=wrt)
        assert not slope.has(sp.Derivative, sp.Subs)
        with sg.backend("numpy"):
            exact = sg.grad(f, wrt)(x, y)
        for k in range(3):
            assert value(slope, {"i": k}, {"x": x, "y": y}) == pytest.approx(exact[k], rel=1e-12)


CASES_IN_CONDITIONS: list[Callable[..., Any]] = [
    lambda x: np.where(np.sum(np.where(x > 0, x, x**2)) > 1, np.sum(x**2), 2 * x[1]),
    lambda x: np.where(np.max(np.where(x > 0, np.where(x > 1, x, 3 * x) + 1, 0)) > 1, x[0], x[1]),
    lambda x: np.where(np.any(np.where(x > 0, x, -3 * x) > 1.8), x[0] ** 2, x[1]),
    lambda x: np.sum(np.where(np.sum(np.where(x > x[:, None], x, x**2), 1) > 1, x[0] * x, 2 * x)),
    lambda x: np.max(np.where(x > 0, x, -2 * x)),
    lambda x: np.sum(x**2 * (np.sum(np.where(x > 0, x, x**2)) > 1)),
    lambda x: np.max(np.trunc(x) + x) ** 2,
    lambda x: np.sum(np.sin(np.diag(x)) + np.exp(np.diag(x))),
    lambda x: np.prod(np.sum(np.sin(np.diag(x)), axis=1)),
    lambda x: np.prod(np.where((x < 1) & (x > -0.65), x, np.sin(x))),
]


@pytest.mark.parametrize("f", CASES_IN_CONDITIONS)
@pytest.mark.quick(1)
def test_cases_inside_of_sums_in_conditions_keep_their_index(f: Callable[..., Any]) -> None:
    formula = symbolic(f, X)
    slope = derivative(f, X)
    for x in (X, np.array([-0.7, 0.1, -0.4])):
        assert value(formula, {}, {"x": x}) == pytest.approx(f(x), rel=1e-12)
        with sg.backend("numpy"):
            exact = sg.grad(f)(x)
        for k in range(3):
            assert value(slope, {"i": k}, {"x": x}) == pytest.approx(exact[k], rel=1e-12)


@pytest.mark.slow
def test_second_derivatives_of_products_of_what_is_joined() -> None:
    f = lambda x: np.prod(np.concatenate([x, x**2]))  # noqa: E731
    curvature = derivative(f, X, order=2)
    with sg.backend("numpy"):
        exact = sg.hessian(f)(X)
    for i, j in ((0, 0), (0, 2), (2, 0)):
        got = value(curvature, {"i": i, "j": j}, {"x": X})
        assert got == pytest.approx(exact[i, j], rel=1e-12)


def test_an_argument_that_is_not_traced_is_refused() -> None:
    with pytest.raises(ArgumentError, match="argument 0, which is 1: no int is traced; pass a fl"):
        derivative(lambda x: np.sin(x), 1)
    with pytest.raises(ArgumentError, match="argument 'kind', which is 'a': no str is traced"):
        sg.formula(lambda x, kind: x, 1.0, "a", wrt="kind")
    with pytest.raises(ArgumentError, match=r"one argument at a time, .* not \('x', 'k'\)"):
        derivative(lambda x, k: x**k, 1.0, 3.0, wrt=("x", "k"))  # type: ignore[arg-type]


@pytest.mark.slow
def test_minus_signs_are_put_where_nobody_reads_them() -> None:
    def naive(w: Any, X: Any, y: Any) -> Any:
        p = 1 / (1 + np.exp(-X @ w))
        return -np.sum(y * np.log(p) + (1 - y) * np.log(1 - p))

    args = np.ones(2), np.ones((3, 2)), np.ones(3)
    assert "\nd out/d w    = X^T (s - y)\n" in str(sg.formula(naive, *args, wrt=0))
    assert "= X^T diag(s*(1 - s)) X\n" in str(sg.formula(naive, *args, wrt=0, order=2))
    third = derivative(lambda x: np.sin(x) * x, 1.0, order=3)
    assert str(third) == "-x*cos(x) - 3*sin(x)"


@pytest.mark.slow
def test_functions_are_read_as_textbooks_define_them() -> None:
    """What is computed takes the largest element off; nobody wants to read that."""
    x, y = np.ones(3), np.array([1000.0, -1000.0, 999.0])
    known = {
        "log(sum(exp(a)))": scipy_special.logsumexp,
        "exp(x)/sum(exp(x))": scipy_special.softmax,
        "x - log(sum(exp(x)))": scipy_special.log_softmax,
        "norm(x)": np.linalg.norm,
    }
    for text, f in known.items():
        assert str(sg.formula(f, x)).splitlines()[-1].split("= ", 1)[1] == text
    assert str(sg.formula(np.linalg.norm, x, wrt=0)).endswith("d out/d x    = x/norm(x)")
    slope = str(sg.formula(scipy_special.logsumexp, x, wrt=0))
    assert slope.endswith("d out/d a    = exp(a)/sum(exp(a))")
    assert "Max" not in str(sg.explain(scipy_special.logsumexp, x))
    for f in (sg.compile(scipy_special.logsumexp), sg.grad(scipy_special.logsumexp)):
        sg.formula(f, x)  # what is read is not what is computed with
        assert np.isfinite(f(y)).all()
        assert np.isfinite(sg.compile(lambda y, f=f: f(y))(y)).all()
    assert sg.grad(np.linalg.norm)(np.zeros(2)).tolist() == [0, 0]
    assert np.isnan(sg.compile(np.linalg.norm)(np.array([np.nan, 1.0])))


def test_whole_numbers_keep_their_names() -> None:
    assert str(symbolic(lambda x, k: k * x**k, 2.0, 3)) == "k*x**k"
    assert str(derivative(lambda x, k: x**k, 2.0, 3)) == "k*x**(k - 1)"
    sums = derivative(lambda x, k: np.sum(x[:k] ** 2), np.ones(5), 3)
    assert str(sums) == "Piecewise((2*x[i], i < k), (0, True))"
    assert str(derivative(lambda x, k: k * x[:], X, 3)) == "n*KroneckerDelta(i, j)"  # its length


def test_the_normal_distribution_is_read_by_the_error_function() -> None:
    shown = str(derivative(lambda x: scipy_special.log_ndtr(x), 0.5))
    assert shown == "sqrt(2)*exp(-x**2/2)/(sqrt(pi)*(erf(sqrt(2)*x/2) + 1))"


CASES = sp.Piecewise((1 / sp.Symbol("x"), sp.Symbol("y") < -1), (sp.Symbol("x"), True))
#: Formulas whose other cases Python's numbers cannot compute, with places and values.
GUARDED = [
    (CASES, (0, 3), 0.0),
    (CASES, (0.0, 3.0), 0.0),
    (CASES, (4, -2), 0.25),
    (CASES.subs(sp.Symbol("x"), sp.Symbol("x") ** 2), (0, 3), 0.0),
    (sp.Piecewise((sp.Symbol("x") ** sp.Symbol("y"), sp.Symbol("y") > 0), (5, True)), (0, -1), 5.0),
    (sp.Piecewise((sp.cbrt(sp.Symbol("x")), sp.Symbol("x") > 0), (7, True)), (-8.0, 0), 7.0),
]


@pytest.mark.parametrize("row", range(len(GUARDED)))
def test_cases_that_do_not_apply_raise_nothing(row: int) -> None:
    formula, values, wanted = GUARDED[row]
    f = sg.from_sympy(formula, ["x", "y"])
    arrays = [np.array([v, v]) for v in values]
    assert f(*values) == wanted
    assert f(*map(np.float64, values)) == wanted
    assert sg.compile(f)(*values) == wanted
    np.testing.assert_array_equal(f(*arrays) if arrays[0].dtype.kind == "f" else wanted, wanted)


@pytest.mark.parametrize("compiled", [False, True])
def test_matrices_of_arrays_and_numbers_broadcast(compiled: bool) -> None:
    x, y = sp.symbols("x y")
    column = sp.Matrix([[x, 1], [y, x * y]])
    f: Any = sg.from_sympy(column, [x, y])
    g = sg.compile(f) if compiled else f
    for a, b in ((np.arange(3.0), 2.0), (1.0, np.ones((2, 3))), (np.ones((2, 1)), np.arange(3.0))):
        shape = np.broadcast_shapes(np.shape(a), np.shape(b))
        wanted = [np.broadcast_to(e, shape) for e in (a, 1.0, b, a * b)]
        np.testing.assert_array_equal(g(a, b), np.reshape(wanted, (2, 2, *shape)))
    assert g(1.0, 2.0).shape == (2, 2)


def test_the_zeta_function_of_one_argument() -> None:
    x = sp.Symbol("x")
    f = sg.from_sympy(sp.zeta(x), [x])
    assert f(2.5) == pytest.approx(1.3414872572509171797, rel=1e-15)
    assert sg.compile(f)(2.5) == pytest.approx(1.3414872572509171797, rel=1e-15)
    with pytest.raises(UnsupportedError, match="SymPy function marcumq"):
        sg.from_sympy(sp.marcumq(1, x, 2), [x])
