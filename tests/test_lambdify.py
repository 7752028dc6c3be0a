"""``sg.lambdify`` against ``sympy.lambdify``, on formulas of SymPy's own tests and others."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.codegen import numpy_nodes
from sympy.utilities.lambdify import implemented_function

import symgrad as sg
from symgrad.errors import ArgumentError, ShapeError, UnsupportedError

w, x, y, z, t = sp.symbols("w x y z t")
n, i, j = sp.symbols("n i j", integer=True)

#: Arguments and formulas of sympy/utilities/tests/test_lambdify.py, and values to call with.
SYMPY: list[tuple[Any, Any, tuple[Any, ...]]] = [
    ([], 1, ()), (x, [x, 2 * x], (3.0,)), ([x, y], [y, x], (1.0, 2.0)), (x, x**2, (2.0,)),
    ([x, y, z], [z, y, x], (1.0, 2.0, 3.0)), (x, sp.sqrt(x), (2.0,)), (x, sp.sin(x) ** 2, (0.7,)),
    (x, sp.Abs(x), (-1.0,)), (x, sp.exp(x), (1.5,)), (x, sp.sign(x), (-2.0,)),
    (x, sp.Piecewise((x, x < 0), (x**2, True)), (-2.0,)),
    (x, sp.Piecewise((x, x <= 1), (1 / x, x > 1)), (1.5,)),
    ((x, y, z), sp.ITE(sp.And(x > 1, y > 1), z > 0, z < 0), (2.0, 2.0, 1.0)),
    ([x, y], sp.Max(x, y) + sp.Min(x, y, 0), (1.0, 2.0)), (x, sp.floor(x) + sp.ceiling(x), (1.5,)),
    ((x, y), sp.Matrix([[x, x * y], [sp.sin(y) + 4, x**y]]), (1.0, 2.0)),
    ((x, y), sp.Matrix([[x, x * y]]).T, (1.0, 2.0)), (x, sp.I * x, (1.0,)),
    (x, sp.Sum(x**i, (i, 0, 5)), (0.5,)), (x, sp.exp(sp.I * x), (0.5,)),
    ([x, y], sp.atan2(y, x), (1.0, -2.0)), (x, sp.Heaviside(x), (0.0,)),
    (x, sp.Mod(x, 3), (-1.0,)), (x, sp.sec(x) + sp.csc(x) + sp.cot(x), (0.7,)),
    (x, sp.acsch(x) + sp.asech(x) + sp.acoth(1 / x), (0.7,)), (x, sp.sinc(x), (0.7,)),
    ((x, y), sp.And(x > 1, sp.Not(y > 1)), (2.0, 0.5)), ((x, y), sp.Xor(x > 1, y > 1), (2.0, 0.5)),
    (x, sp.gamma(x) + sp.loggamma(x) + sp.digamma(x), (1.7,)), (x, sp.erf(x) + sp.erfc(x), (0.3,)),
    (x, sp.besselj(1, x) + sp.bessely(2, x), (1.7,)), (x, sp.factorial(x), (4.0,)),
    ((x, y), sp.beta(x, y), (1.2, 2.3)), (x, sp.fresnels(x) + sp.fresnelc(x), (0.7,)),
    (x, sp.jacobi(3, 1, 2, x), (0.4,)), (x, sp.polygamma(1, x), (0.4,)), (x, sp.Si(x), (0.4,)),
    ((x, y), sp.RisingFactorial(x, y), (1.2, 2.3)), (x, sp.LambertW(x), (0.5,)),
    ([x, (y, z)], x + y * z, (1.0, (2.0, 3.0))), ([[x, y], z], [x, [y, [z]]], ([1.0, 2.0], 3.0)),
    ([x, ((y, z), w)], (x, (y, z), w), (1.0, ((2.0, 3.0), 4.0))),
    (x, (sp.pi, sp.E, sp.GoldenRatio), (1.0,)), ([x, y], sp.Eq(x, y), (1.0, 1.0)),
    (x, sp.Array([[x, 1], [2, x**2]]), (3.0,)), (x, sp.re(x * sp.I + 1), (3.0,)),
    (x, sp.Integral(sp.exp(-(t**2)), (t, -sp.oo, x)), (0.5,)),
]  # fmt: skip


def _compare(found: Any, wanted: Any) -> None:
    if isinstance(wanted, (tuple, list)) and not np.isscalar(found):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            _compare(a, b)
        return
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("case", range(len(SYMPY)), ids=lambda k: str(SYMPY[k][1])[:40])
def test_formulas_of_sympys_tests(case: int) -> None:
    args, formula, values = SYMPY[case]
    f = sg.lambdify(args, formula)
    wanted = sp.lambdify(args, formula, ["scipy", "numpy"])(*values)
    _compare(f(*values), wanted)
    if values:
        _compare(sg.compile(f)(*values), wanted)


@pytest.mark.parametrize(
    "formula",
    [sp.sin(x) * y + x**3, sp.exp(-x) / (1 + y**2), sp.Piecewise((x, x < y), (y**2, True)),
     sp.log(x + 2) * sp.atan2(y, x), sp.Max(x, y) - sp.Abs(x - 1)],
    ids=str,
)  # fmt: skip
def test_arrays_broadcast_as_numpys_do(formula: Any) -> None:
    a, b = np.linspace(-1.5, 2, 5), np.linspace(0.3, 1, 3)[:, None]
    wanted = sp.lambdify([x, y], formula, "numpy")(a, b)
    f = sg.lambdify([x, y], formula)
    np.testing.assert_allclose(f(a, b), wanted, rtol=1e-13)
    np.testing.assert_allclose(sg.compile(f)(a, b), wanted, rtol=1e-13)


def test_values_are_those_of_mpmath() -> None:
    formula = sp.besselj(0, x) * sp.gamma(y) + sp.zeta(y + 1) * sp.exp(-x)
    wanted = sp.lambdify([x, y], formula, "mpmath")(0.3, 1.4)
    assert sg.lambdify([x, y], formula)(0.3, 1.4) == pytest.approx(float(wanted), rel=1e-13)


def test_arguments_by_name_and_nested() -> None:
    f = sg.lambdify([x, y], x - y)
    assert f(y=1.0, x=3.0) == 2.0
    column = sg.lambdify([sp.Matrix([x, y]), z], sp.Matrix([x * z, y]))
    np.testing.assert_array_equal(column(np.array([3.0, 4.0]), 2.0), [[6.0], [4.0]])
    gradient = sg.grad(lambda v: column(v, 2.0).sum())(np.array([3.0, 4.0]))
    np.testing.assert_array_equal(gradient, [2.0, 1.0])
    assert sg.lambdify([x], None)(1.0) is None
    assert sg.lambdify(x, {"a": x, "b": [2 * x]})(2.0) == {"a": 2.0, "b": [4.0]}
    assert sg.lambdify("x", x**2)(3.0) == 9.0
    q = sp.Function("q")(t)
    assert sg.lambdify([q, q.diff(t)], q.diff(t) ** 2 + q)(1.0, 2.0) == 5.0


def test_names_in_one_text() -> None:
    assert sg.lambdify("x, y", x - y)(3.0, 2.0) == sp.lambdify("x, y", x - y)(3.0, 2.0) == 1.0
    assert sg.lambdify("x", x**2)(3.0) == 9.0
    assert sg.lambdify("a_{1,2}", sp.Symbol("a_{1,2}") ** 2)(3.0) == 9.0


def test_functions_from_modules() -> None:
    f = sp.Function("f")
    g = sg.lambdify(x, f(x) + sp.sin(x), [{"f": lambda v: v**3}, "numpy"])
    assert g(2.0) == pytest.approx(8 + math.sin(2))
    assert sg.grad(g)(2.0) == pytest.approx(12 + math.cos(2))
    twice = implemented_function("twice", lambda v: 2 * v)
    assert sg.lambdify(x, twice(x) + 1)(2.0) == 5.0
    with pytest.raises(ArgumentError, match="functions that are not known: twice"):
        sg.lambdify(x, twice(x), use_imps=False)


def test_given_functions_come_before_sympys() -> None:
    twice: Any = lambda v: 2 * v  # noqa: E731
    assert sg.lambdify(x, sp.sin(x), {"sin": twice})(3.0) == 6.0
    assert sg.lambdify(x, sp.asin(x), [{"arcsin": twice}, "numpy"])(3.0) == 6.0
    assert sg.lambdify(x, sp.sin(x), ["numpy", {"sin": twice}])(3.0) == math.sin(3)
    assert sg.lambdify(x, x + sp.pi + y, {"pi": 3.0, "y": 2})(1.0) == 6.0
    many = sp.Add(*(k * sp.sin(k * x) for k in range(1, 99)))
    assert sg.lambdify(x, many, {"sin": twice})(1.0) == 2 * sum(k * k for k in range(99))
    roots = sp.sqrt(x) + 1 / sp.sqrt(x) + x ** sp.Rational(3, 2)
    f = sg.lambdify(x, [roots], {"sqrt": lambda v: np.sqrt(np.maximum(v, 4.0))})
    assert f(1.0) == [2 + 0.5 + 1]  # 1**1.5, which is no root for lambdify either
    values = np.array([0.5, 2.0])  # a module's functions are those of arrays
    _compare(sg.lambdify(x, sp.sin(x) + sp.gamma(x), math)(values),
             sp.lambdify(x, sp.sin(x) + sp.gamma(x), "scipy")(values))  # fmt: skip
    once = implemented_function("once", lambda v: v)
    assert sg.lambdify(x, once(x), {"once": twice})(3.0) == 3.0
    assert sg.lambdify(x, once(x), {"once": twice}, use_imps=False)(3.0) == 6.0


def test_given_functions_by_the_names_that_lambdify_calls_them_by() -> None:
    own: Any = {"abs": lambda v: 5 * v, "ceil": lambda v: 6 * v, "jv": lambda n, v: 7 * n * v,
                "gammaln": lambda v: 8 * v, "poch": lambda v, n: 9 * v * n,
                "lambertw": lambda v, *k: 3 * v, "eval_legendre": lambda n, v: 4 * n * v,
                "sqrt": lambda v: 11 * v}  # fmt: skip
    formulas = [
        sp.Abs(x), sp.ceiling(x), sp.besselj(2, x), sp.loggamma(x), sp.RisingFactorial(x, y),
        sp.LambertW(x), sp.legendre(y, x), sp.sqrt(x), 2 / sp.sqrt(x), x ** sp.Rational(3, 2),
        x ** -sp.Rational(5, 2), sp.floor(x),
    ]  # fmt: skip
    for formula in formulas:
        f, g = (read([x, y], formula, [own, "scipy"]) for read in (sg.lambdify, sp.lambdify))
        assert f(2.3, 3) == pytest.approx(g(2.3, 3), rel=1e-15), formula


def test_given_functions_within_sums_integrals_and_derivatives() -> None:
    f = sp.Function("f")
    square = {"f": lambda v: v**2}
    series = sg.lambdify([x, n], sp.Sum(f(i * x), (i, 1, n)), square)
    assert series(2.0, 3) == 56.0
    assert sg.grad(series)(2.0, 3) == 56.0
    area = sg.lambdify(x, sp.Derivative(f(x), x) * sp.Integral(f(t), (t, 0, x)), square)
    assert area(2.0) == pytest.approx(32 / 3, rel=1e-13)
    assert sg.grad(area)(2.0) == pytest.approx(64 / 3, rel=1e-13)


def test_functions_that_are_classes_of_the_users() -> None:
    class dot(sp.Function):
        pass

    column = sp.MatrixSymbol("column", 3, 1)
    f = sg.lambdify(column, dot(column.T, sp.Matrix([2, 1, 0])), {"dot": np.dot})
    assert f(np.ones((3, 1))) == 3.0
    with pytest.raises(UnsupportedError, match=r"dot is a class of your own: .*modules="):
        sg.lambdify(x, dot(x))


def test_other_things_that_stand_for_values() -> None:
    frame = pytest.importorskip("sympy.vector").CoordSys3D("N")
    matrix, vector = sp.MatrixSymbol("M", 2, 2), sp.DeferredVector("X")
    assert sg.lambdify(sp.sin(t), 2 * sp.sin(t) ** 2)(9.0) == 162.0
    assert sg.lambdify([frame.x, frame.y], frame.x * frame.y + 1)(2.0, 3.0) == 7.0
    assert sg.lambdify([matrix[0, 0], matrix[1, 0]], matrix[0, 0] - matrix[1, 0])(2.0, 3.0) == -1.0
    f = sg.lambdify(vector, vector[0] ** 2 * vector[2])
    assert f([2, 1, 3]) == 12
    np.testing.assert_array_equal(sg.grad(f)(np.array([2.0, 1.0, 3.0])), [12.0, 0.0, 4.0])


def test_numbers_of_sympys_are_values() -> None:
    f = sg.lambdify(x, sp.sin(x))
    assert f(sp.Rational(1, 5)) == math.sin(0.2)
    assert f(sp.pi / 2) == 1.0
    assert f(sp.I) == pytest.approx(1j * math.sinh(1), rel=1e-15)


def test_real_branches_of_w_end() -> None:
    """``lambdify`` goes over to complex numbers there, for all values of an array."""
    values = np.array([-0.4, -0.3, 0.1])
    low = sg.lambdify(x, sp.LambertW(x, -1))(values)
    high = sg.lambdify(x, sp.LambertW(x))(values)
    np.testing.assert_allclose(low, [np.nan, -1.781337023421628, np.nan], rtol=1e-14)
    np.testing.assert_allclose(high, [np.nan, -0.489402227180215, 0.09127652716086226], rtol=1e-14)


def test_options_that_change_nothing() -> None:
    for options in ({"cse": True}, {"dummify": True}, {"docstring_limit": None}, {"modules": np}):
        assert sg.lambdify(x, x**2 + 1, **options)(2.0) == 5.0


def test_it_is_ready_for_all_else() -> None:
    f = sg.lambdify([x, y], sp.exp(-x * y) * sp.sin(x))
    exact = sp.lambdify([x, y], sp.hessian(sp.exp(-x * y) * sp.sin(x), [x, y]))(0.3, 0.7)
    np.testing.assert_allclose(sg.hessian(f, argnums=(0, 1))(0.3, 0.7), exact, rtol=1e-12)
    a = np.linspace(0, 1, 7)
    np.testing.assert_allclose(sg.vmap(f)(a, a), np.exp(-a * a) * np.sin(a), rtol=1e-13)
    assert pickle.loads(pickle.dumps(f))(0.3, 0.7) == f(0.3, 0.7)
    g = sg.compile(f)
    assert g.kernel(0.3, 0.7)(0.3, 0.7) == pytest.approx(f(0.3, 0.7))
    assert "exp" in str(sg.formula(f, 0.3, 0.7))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sg.lambdify(x, x, "mpmath"), r"double precision; sg.verify"),
        (lambda: sg.lambdify(x, x, "tensorflow"), "compiled and differentiated as it is"),
        (lambda: sg.lambdify(x, x, "foo"), "modules='foo'"),
        (lambda: sg.lambdify(x, x, "cmath"), r"pass x \+ 0j"),
        (lambda: sg.lambdify(sp.pi, x), "args are SymPy symbols, not a Pi"),
        (lambda: sg.lambdify(x, sp.sin(x))(y), "not the formula y"),
        (lambda: sg.lambdify(x, x, printer=1), "printer= is refused"),
        (lambda: sg.lambdify({x, y}, x), "a set, which has no order"),
        (lambda: sg.lambdify(3, x), "args are SymPy symbols, not 3"),
        (lambda: sg.lambdify(x, "x + 1"), r"write sg.lambdify\(args, sg.parse"),
        (lambda: sg.lambdify([x], x + y), "no arguments: y; list them in args="),
        (lambda: sg.lambdify([x, x], x), "listed twice"),
        (lambda: sg.lambdify([x], x)(1, 2), "takes 1 values"),
        (lambda: sg.lambdify([(x, y)], x)((1.0,)), "is 2 values, not 1"),
        (lambda: sg.lambdify([(x, y)], x)(1.0), "is 2 values, not 1.0"),
        (lambda: sg.lambdify([sp.Matrix([x, y])], x)(np.ones(3)), "has shape"),
        (lambda: sg.lambdify([(x, y)], x)({"x": 1.0, "y": 2.0}), "is 2 values, not a dict"),
        (lambda: sg.lambdify([(x, y)], x)({1.0, 2.0}), "is 2 values, not a set"),
        (lambda: sg.lambdify(x, x, 3), "names and dicts, not 3"),
        (lambda: sg.lambdify(x, sp.sin(x), {"sin": 3}), "function sin, .* the number 3"),
        (lambda: sg.lambdify(x, sp.sin), "the class sin: apply it"),
        (lambda: sg.lambdify(x, sp.MatrixSymbol("M", 2, 2)[0, 1] + x), "no arguments: M;"),
        (lambda: sg.lambdify(x, sp.Sum(sp.IndexedBase("A")[i], (i, 0, x))), "no arguments: A;"),
    ],
)  # fmt: skip
def test_errors(call: Any, message: str) -> None:
    with pytest.raises((ArgumentError, ShapeError, UnsupportedError), match=message):
        call()


def test_arrays_of_sympys_that_can_be_changed() -> None:
    """They are no formulas of SymPy's, and hold Python's numbers."""
    successor = implemented_function("successor", lambda v: v + 1)
    for kind in (sp.MutableDenseNDimArray, sp.MutableSparseNDimArray):
        formulas = kind([[[x, 1], [2.5, sp.sqrt(x) + successor(x)]]])
        found = sg.lambdify([x], formulas, {"sqrt": np.cbrt})(8.0)
        np.testing.assert_allclose(found, [[[8, 1], [2.5, 11]]], rtol=1e-15)


def test_elements_of_arrays_with_further_axes() -> None:
    """``IndexedBase`` has NumPy's elements, from the first axis on, as lambdify's functions."""
    a, b = sp.IndexedBase("a"), sp.IndexedBase("b", shape=(n, 2))
    u = np.arange(24.0).reshape(4, 2, 3)
    for formula in (a[0], a[1, 0] * x, sp.Sum(a[i] * x, (i, 0, n - 1))):
        f, g = (read([a, n, x], formula) for read in (sg.lambdify, sp.lambdify))
        np.testing.assert_array_equal(f(u, 4, 0.5), g(u, 4, 0.5))
        np.testing.assert_array_equal(sg.compile(f)(u, 4, 0.5), g(u, 4, 0.5))
    column = sp.Sum(b[i, 1], (i, 0, n - 1))
    for names in ([b], ["b"]):  # n is the length of b
        np.testing.assert_array_equal(sg.lambdify(names, column)(u), u[:, 1].sum(0))
    with pytest.raises(ShapeError, match="has shape"):
        sg.lambdify([b], column)(np.ones((4, 3, 2)))


def test_indices_and_limits_are_integers() -> None:
    a = sp.IndexedBase("a")
    element = sg.lambdify([a, x], a[x / 2])
    assert element(np.arange(3.0), 4.0) == 2.0
    total = sg.lambdify([a, x], sp.Sum(a[i], (i, 0, x)))
    for bad in (1.5, np.nan, np.inf):
        with pytest.raises(ArgumentError, match=rf"index of an array is {bad / 2}: integers"):
            element(np.arange(3.0), bad)
        with pytest.raises(ArgumentError, match=rf"over i is {bad}: integers"):
            total(np.arange(3.0), bad)


def test_calls_compare_no_nested_formulas() -> None:
    """A call tells a function from others without a look into its lists of formulas."""
    rows = [[x, y, x * y], {"a": x, "b": (y, None)}, sp.Matrix([[x, y]]), [x + y, x + y]]
    for formulas in rows:
        f = sg.lambdify([x, y], formulas)
        assert isinstance(f._expressions, sp.Tuple)  # type: ignore[attr-defined]
        assert f._expressions == sg.lambdify([x, y], formulas)._expressions  # type: ignore[attr-defined]
    one, other = sg.lambdify([x], [x, 2 * x]), sg.lambdify([x], (x, 2 * x))
    for chosen, kind in ((one, list), (other, tuple), (one, list)):
        held = [chosen]
        assert type(sg.compile(lambda v, held=held: held[0](v))(2.0)) is kind


def test_calls_tell_given_numbers_and_functions_apart() -> None:
    """A compiled caller does not go on with the numbers of another formula."""
    held = [sg.lambdify(x, x + sp.pi, {"pi": 3.0})]
    g = sg.compile(lambda v: held[0](v))
    assert g(1.0) == 4.0
    held[0] = sg.lambdify(x, x + sp.pi, {"pi": 3.5})
    assert g(1.0) == 4.5
    held[0] = sg.lambdify(x, sp.sin(x), {"sin": lambda v: 2 * v})
    assert g(1.0) == 2.0
    held[0] = sg.lambdify(x, sp.sin(x), {"sin": lambda v: 3 * v})
    assert g(1.0) == 3.0


def test_given_functions_are_in_the_formula_that_comes_back() -> None:
    f = sg.lambdify(x, sp.sin(x) + sp.pi, {"sin": lambda v: v**2, "pi": 3.0})
    own = sp.Symbol("x", real=True)
    assert sp.simplify(sg.symbolic(f, 0.5) - own**2 - 3) == 0


def test_implemented_functions_are_not_pickled() -> None:
    """SymPy's error said "cannot pickle 'staticmethod' object"."""
    f = implemented_function("f", lambda v: v * v)
    with pytest.raises(TypeError, match="which implemented_function made"):
        pickle.dumps(sg.lambdify(x, f(x) + 1))
    g = sg.lambdify(x, sp.Function("f")(x) + 1, {"f": np.square})
    assert pickle.loads(pickle.dumps(g))(3.0) == 10.0


def test_extremes_of_arrays() -> None:
    rows = np.array([[1.0, 4.0], [3.0, -2.0]])
    for kind, function in ((numpy_nodes.amin, np.min), (numpy_nodes.amax, np.max)):
        for form, axis in ((kind(x), None), (kind(x, axis=0), 0), (kind(x, axis=-1), -1)):
            np.testing.assert_array_equal(sg.lambdify(x, form)(rows), function(rows, axis=axis))
    f = sg.lambdify(x, numpy_nodes.amax(x))
    np.testing.assert_array_equal(sg.grad(f)(rows), [[0.0, 1.0], [0.0, 0.0]])
