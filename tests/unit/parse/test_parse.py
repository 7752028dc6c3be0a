"""Formulas from text: what is accepted, what is refused, and that nothing is executed."""

from __future__ import annotations

import ast
import builtins
import math
import time

import mpmath
import pytest
import sympy as sp
from hypothesis import example, given
from hypothesis import strategies as st
from sympy.codegen import cfunctions

import symgrad as sg
from symgrad._core.base.size_text import parse_relation, parse_size
from symgrad._parse import parse
from symgrad._parse._vocabulary import FUNCTIONS
from symgrad.errors import ArgumentError, DataError, ParseError

x, y, z = sp.symbols("x y z", real=True)
b1, b2, b3 = sp.symbols("b1 b2 b3", real=True)


# ---------------------------------------------------------------- accepted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", x),
        ("  x\n + y\t", x + y),
        ("-x**2", -(x**2)),
        ("2**-x", 2 ** (-x)),
        ("x**y**z", x ** (y**z)),
        ("x - y - z", x - y - z),
        ("x/y/z", x / y / z),
        ("x/y*z", x * z / y),
        ("+x", x),
        ("1/3", sp.Rational(1, 3)),
        ("0.1", sp.Float(0.1)),
        (".5e1", sp.Float(5.0)),
        ("2.*x", 2.0 * x),
        ("pi*E", sp.pi * sp.E),
        ("e", sp.Symbol("e", real=True)),
        ("E**x", sp.exp(x)),
        ("-0.5*((x-b3)/b2)**2", -0.5 * ((x - b3) / b2) ** 2),
        ("b1*(1-exp(-b2*x))", b1 * (1 - sp.exp(-b2 * x))),
        ("(x+1)**(10**9)", sp.Pow(x + 1, 10**9)),
        ("x**(-1/3)", x ** sp.Rational(-1, 3)),
        ("arctan2(y, x) + atan2(y, x)", 2 * sp.atan2(y, x)),
        ("arcsinh(x)*asinh(y)", sp.asinh(x) * sp.asinh(y)),
        ("ln(x) + log(x)", 2 * sp.log(x)),
        ("log10(x)", cfunctions.log10(x)),
        ("expm1(x) + log1p(x)", cfunctions.expm1(x) + cfunctions.log1p(x)),
        ("cbrt(x)", sp.sign(x) * sp.Abs(x) ** sp.Rational(1, 3)),
        ("cbrt(-8)", -2),
        ("abs(x) + Abs(y)", sp.Abs(x) + sp.Abs(y)),
        ("maximum(x, y) - Min(x, 3)", sp.Max(x, y) - sp.Min(x, 3)),
        ("heaviside(x, 1)", sp.Heaviside(x, 1)),
        ("where(x > 0, x, -x)", sp.Piecewise((x, x > 0), (-x, True))),
        ("where((x > 0) & ~(y <= 1), x, 0)", sp.Piecewise((x, (x > 0) & (y > 1)), (0, True))),
        (
            "where(0 < x < 1, x, 0)",
            sp.Piecewise((x, sp.Lt(0, x) & (x < 1)), (0, True), evaluate=False),
        ),
        ("where(x == y, 1, 2)", sp.Piecewise((1, sp.Eq(x, y)), (2, True))),
        ("where(1 < 2, x, y)", x),
        ("Piecewise((x, x > 0), (y, Ne(x, y)), (z, True))", None),
        ("gamma(x)/gamma(5)", sp.gamma(x) / 24),
        ("sqrt(8)", 2 * sp.sqrt(2)),
        ("power(x, 2) + square(y)", x**2 + y**2),
        ("polygamma(1, x)", sp.polygamma(1, x)),
        ("λ + é", sp.Symbol("λ", real=True) + sp.Symbol("é", real=True)),
    ],
)
def test_accepts(text: str, expected: sp.Expr | None) -> None:
    got = parse(text)
    if expected is not None:
        assert got == expected
    assert parse(str(got)) == got


def test_float_literals_are_the_doubles_that_python_reads() -> None:
    for text in ("0.1", "1e-300", "3.141592653589793238462643383279E0", "5e-324", "1e-400"):
        assert float(parse(text)) == float(text)
    assert parse("0.1") != sp.Rational(1, 10)
    assert parse("10") == sp.Integer(10)
    assert parse("9" * 300) == sp.Integer("9" * 300)


def test_constants_too_long_to_be_exact_become_doubles() -> None:
    assert parse("loggamma(10**8)") == sp.Float(math.lgamma(1e8))
    assert parse("sqrt(10**30)") == sp.Float(1e15)
    assert float(parse("digamma(10**8)*x").coeff(x)) == pytest.approx(math.log(1e8), rel=1e-8)


#: Functions of one argument that are real within 1 alone.
WITHIN_ONE = [
    *("arcsin", "asin", "arccos", "acos", "arctanh", "atanh", "asech", "arcsech"),
    *("erfinv", "elliptic_k", "ellipk", "elliptic_e", "ellipe"),
]
#: Functions that SymPy does not evaluate, in others.
EXPANDED = {
    "erf2": lambda x, y: sp.erf(y) - sp.erf(x),
    "erfcinv": lambda x: sp.erfinv(1 - x),
    "erf2inv": lambda x, y: sp.erfinv(y + sp.erf(x)),
    "fma": lambda x, y, z: x * y + z,
    "lucas": lambda n: sp.GoldenRatio**n + sp.cos(sp.pi * n) * sp.GoldenRatio**-n,
    "factorial2": lambda n: (
        2 ** (n / 2) * sp.gamma(n / 2 + 1) * (2 / sp.pi) ** ((1 - sp.cos(sp.pi * n)) / 4)
    ),
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_agrees_with_its_double(name: str) -> None:
    function = FUNCTIONS[name]
    values = {1: [1.25], 2: [2, 0.375], 3: [2, 1, 0.375], 4: [1, 2, 4, 0.375]}[function.least]
    if name in WITHIN_ONE:
        values = [0.375]
    if name in ("elliptic_pi", "erf2inv"):  # of others they are complex
        values = [0.25, 0.375]
    symbols = sp.symbols(f"t:{len(values)}", real=True)
    names = ", ".join(map(str, symbols))
    if name in ("polygamma", "polylog"):
        symbols, names = symbols[1:], "2, t1"
    formula = parse(f"{name}({names})")
    at = dict(zip(symbols, values[-len(symbols) :], strict=True))
    exact = EXPANDED[name](*formula.args) if name in EXPANDED else formula
    assert float(exact.subs(at)) == pytest.approx(function.value(*values), rel=1e-13)
    # Written with numbers, the formula is a constant with the same value.
    constant = parse(f"{name}({', '.join(map(str, values))})")
    assert float(constant) == pytest.approx(function.value(*values), rel=1e-13)


@pytest.mark.parametrize(
    "text",
    [
        "besselj(1, x) + jv(2, x)*k0(x)",
        "beta*x + beta(2, x)",  # a name and a function
        "zeta*zeta(x + 2)",
        "Ei(x)*LambertW(x) + erfi(x)/E1(x)",
        "legendre(3, x)*chebyshevt(2, y) + hermite(2, x)",
        "hyp2f1(1, 2, 3, x) - polylog(2, x)",
        "Sum(x**k/factorial(k), (k, 0, 6))",
        "Sum(x*j*k, (j, 0, k), (k, 0, 4)) + k",  # k is bound inside and free outside
        "Sum(Sum(x**j, (j, 0, k)), (k, 0, 4))",
        "Product(x + k, (k, 1, 4))",
        "Integral(exp(-t*x), (t, 0, oo))",
        "Integral(exp(-t**2), (t, -oo, x))",
        "x*Sum(1/k**2, (k, 1, 20)) + Sum(k*j, (j, 0, k), (k, 0, 10))*y",
        "x*Sum(1, (k, 5, 1))",  # Karr's convention: minus the three between
        "Mod(x, 3) + frac(y) + radians(x)",
        "ITE(Gt(x, 2), x**2, y)",
    ],
)
def test_values_are_those_of_sympy(text: str) -> None:
    formula = parse(text)
    at = {"x": 0.4, "y": 0.3, "k": 2.0, "beta": 1.5, "zeta": 0.25}
    symbols = sorted(formula.free_symbols, key=str)
    point = [at[str(s)] for s in symbols]
    names = {str(s): s for s in symbols if str(s) not in ("beta", "zeta")}
    theirs = sp.sympify(text.replace("beta*", "1.5*").replace("zeta*", "0.25*"), names | SCIPYS)

    def value(at: float) -> float:
        moved = {s: at if s == x else p for s, p in zip(symbols, point, strict=True)}
        return sp.N(theirs.doit().subs(moved).doit(), 30)

    f = sg.from_sympy(formula, symbols)
    assert float(f(*point)) == pytest.approx(float(value(point[symbols.index(x)])), rel=1e-11)
    step = sp.Float("1e-8", 30)
    slope = (value(0.4 + step) - value(0.4 - step)) / (2 * step)
    assert float(sg.grad(f, symbols.index(x))(*point)) == pytest.approx(float(slope), rel=1e-9)


#: Names that are SciPy's alone, of calls and of conditions.
SCIPYS = {
    "jv": sp.besselj,
    "k0": lambda x: sp.besselk(0, x),
    "E1": lambda x: sp.expint(1, x),
    "hyp2f1": lambda a, b, c, x: sp.hyper((a, b), (c,), x),
    "radians": lambda x: x * sp.pi / 180,
    "ITE": lambda c, a, b: sp.Piecewise((a, c), (b, True)),
}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Sum(x)", r"Sum is written Sum\(f, \(k, a, b\)\)"),
        ("Sum(x, (k, 0))", "Sum is written"),
        ("Sum(x, (2, 0, 1))", "the first entry of a limit is a name"),
        ("Sum(x, (k, 0, 1), (k, 0, 2))", "binds a name twice"),
        ("Sum(x, (k, 0, oo))", "a sum of infinitely many terms"),
        ("Sum(x, (k, 1, 10**9))", "more than 1,000,000 terms"),
        ("Sum(x, (k, 10**9, 1))", "more than 1,000,000 terms"),
        ("Sum(Sum(x, (k, 1, 10**4)), (j, 1, 10**4))", "more than 1,000,000 terms"),
        ("Sum(k, (k, 1, 10**4))", "1,000 terms of sums of numbers alone"),
        ("Sum(Sum(1, (k, 1, 100)), (j, 1, 100))", "1,000 terms of sums of numbers alone"),
        ("Sum(k, (k, 0, 2.5))", "the limits of a sum are integers"),
        ("Sum(1/k, (k, 0, 3))", "division by zero"),
        ("Sum(9**9**k, (k, 0, 9))", "larger than any double"),
        ("Integral(t, (t, 0, 1))", "write its value"),
        ("x + oo", "the name oo is refused"),
        ("Sum", "Sum is a function"),
        ("jn(1, x)", "SymPy's"),
        ("sinc(x)", "NumPy's"),
        ("legendre(10**9, x)", "at most 10000"),
        ("polylog(2.5, x)", "order of polylog"),
        ("LambertW(-1)", "no meaning for real numbers"),
    ],
)
def test_sums_and_special_functions_are_bounded(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(text)


def test_symbols_restrict_and_define_names() -> None:
    t = sp.Symbol("t", positive=True)
    assert parse("t**2", symbols=[t]) == t**2
    assert parse("pi + gamma", symbols="pi, gamma") == sum(sp.symbols("pi gamma", real=True))
    assert parse("k*x", symbols={"k": sp.Float(2.5), "x": x}) == 2.5 * x
    assert parse("I*V", symbols=["I", "V"]).free_symbols == set(sp.symbols("I V", real=True))
    with pytest.raises(ParseError, match="unknown name 'alpa'; did you mean alpha"):
        parse("alpa*x", symbols="alpha x")
    for wrong in (3, [3], {"x": 3}):
        with pytest.raises(ArgumentError, match="symbols"):
            parse("x", symbols=wrong)
    with pytest.raises(ArgumentError, match="string, got int"):
        parse(3)


# ---------------------------------------------------------------- refused

ATTACKS = {
    # code
    "__import__('os').system('true')": "strings",
    "__import__(os)": "unknown function '__import__'",
    "__import__": "refused",
    "__builtins__": "refused",
    "x.__class__": "attributes",
    "x.real": "attributes",
    "().__class__": "attributes",
    "x[0]": "subscripts",
    "lambda: 1": "word of Python",
    "lambda x: x": "word of Python",
    "[x for x in y]": "subscripts and lists",
    "{x: y}": "braces",
    "(x for x in y)": "operator is missing|word of Python",
    "(x := 5)": "refused",
    "x if y else z": r"where\(condition, a, b\)",
    "await x": "word of Python",
    "yield": "word of Python",
    "import os": "word of Python",
    "x; y": "one expression",
    "x = 1": "assignments",
    "sin(x=1)": "keyword arguments",
    "sin(*x)": "plain arguments",
    "print(x)": "unknown function 'print'",
    "eval(x)": "unknown function 'eval'",
    "exec(x)": "unknown function 'exec'",
    "open(x)": "unknown function 'open'",
    "getattr(x, y)": "unknown function 'getattr'",
    "sin(x)(y)": "operator is missing",
    "'x'": "strings",
    'f"{x}"': "strings",
    "b'x'": "strings",
    "x\\\n+y": "refused",
    "x # y": "comments",
    "x @ y": "matrix",
    "...": "attributes",
    "None": "word of Python",
    "True": "number is needed",
    "x\0": "refused",
    "x\ud800": "refused",
    "x\x0c+y": "refused",
    # mathematics that is not
    "x^2": r"write \*\*",
    "2x": "operator is missing",
    "2(x)": "operator is missing",
    "(x)(y)": "operator is missing",
    "sin x": "operator is missing",
    "x!": "factorial",
    "x % y": "remainder",
    "x // y": "floor",
    "x << 2": "refused",
    "x − y": "minus",
    "2π": "write pi",
    "π": "write pi",
    "x²": r"write \*\*2",
    "2*x³ + y": r"write \*\*3",
    "x₁₂²": r"write \*\*2",
    "arctn(x)": "did you mean arctan",
    "sin": "is a function",
    "gamma*x": "is a function",
    "sin(x, y)": "takes 1 argument, got 2",
    "max()": "takes 1 to",
    "oo": "refused",
    "nan": "refused",
    "I": "refused",
    "x, y": "comma",
    "()": "a number is missing here",
    "sin((x, y))": "comma",
    "x > 0": "condition",
    "(x > 0) + 1": "condition",
    "where(x, y, z)": "condition such as",
    "where(x > 0 & y > 0, x, y)": "parentheses",
    "Piecewise(x)": "pairs",
    "Piecewise((x, y, z))": "pairs",
    "Piecewise((x, 1 > 2))": "no case",
    "~x": "condition",
    "x & y": "condition",
    "": "empty",
    " \n ": "empty",
    "(": "never closed",
    ")": "unmatched",
    "x +": "not a formula",
    "007": "leading zeros",
    "0x10": "operator is missing",
    "1_000": "operator is missing",
    "1j": "operator is missing",
    "1e400": "larger than any double",
    # constants without a finite real value
    "1/0": "division by zero",
    "0**-1": "division by zero",
    "x/(y - y)": "division by zero",
    "tan(pi/2)": "not finite",
    "log(0)": "no meaning",
    "log(-1)": "no meaning",
    "sqrt(-2)": "no meaning",
    "(-8)**(1/3)": "root of a negative",
    "asin(2)": "no meaning",
    "gamma(-1)": "no meaning",
    "sqrt(-x**2)": "imaginary",
    "1e200*1e200": "larger than any double",
    "(1e200*x)**2": "larger than any double",
    # constants that grow
    "9**9**9": "larger than any double",
    "9**9**9**9": "larger than any double",
    "2**1000000": "larger than any double",
    "x*2**1000000": "larger than any double",
    "2**(x - x + 10**9)": "larger than any double",
    "(2*x)**1000000": "too large",
    "2**(10**9*x)": "too large",
    "(2**x)**(10**9/x)": "too large",
    "3**x*3**(10**9 - x)": "too large",
    "exp(10**9*log(2*x))": "too large",
    "exp(-10**12*log(2*x))": "too large",
    "(10**300/(10**300 + 1))**1000000": "too large",
    "x**(10**300)*x**(10**300)**2": "larger than any double",
    "((x**(10**300))**(10**300))": "grow beyond",
    "gamma(10**9)": "larger than any double",
    "exp(exp(exp(10)))": "larger than any double",
    "polygamma(10**9, x)": "order of polygamma",
    "9" * 301: "301 digits",
    "*".join(["x" + "9" * 5] * 2000): "characters",
    "*".join(f"({2**63 - k}*x)**(1/7)" for k in range(300)): "too many roots",
    # depth and length
    "(" * 100_000 + "x" + ")" * 100_000: "characters",
    "(" * 4000 + "x" + ")" * 4000: "nested parentheses",
    "(" * 9000: "nested parentheses",
    "-" * 9000 + "x": "too deep",
    "~" * 9000 + "x": "too deep",
    "x**" * 3000 + "x": "too deep",
    "x**" * 150 + "x": "inside each other",
    "-" * 150 + "x": "inside each other",
    "sin(" * 90 + "-" * 20 + "x" + ")" * 90: "inside each other",
    "tanh(arccosh(" * 49 + "x" + "))" * 49: "too many parts",
    "cbrt(" * 49 + "x" + "+1)" * 49: "too many parts",
}


@pytest.mark.parametrize("text", ATTACKS, ids=lambda text: ascii(text[:30]))
def test_refuses(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def executed(*_: object) -> None:
        raise AssertionError("parse executed text")

    monkeypatch.setattr(builtins, "eval", executed)
    monkeypatch.setattr(builtins, "exec", executed)
    begin = time.process_time()
    with pytest.raises(ParseError, match=ATTACKS[text]):
        parse(text)
    # No benchmark: an attack that worked would take minutes, or all memory.
    assert time.process_time() - begin < 20


def deep_tree(*_: object, **__: object) -> ast.Expression:
    """A tree as Python 3.13's parser gives it for 3000 minus signs, on every version."""
    tree: ast.expr = ast.Constant(1)
    for _ in range(3000):
        tree = ast.UnaryOp(ast.USub(), tree)
    body = ast.fix_missing_locations(ast.Expression(ast.Constant(0)))
    body.body = tree
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        node.lineno, node.col_offset = 1, 0  # type: ignore[attr-defined]
        waiting += [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
    return body


def test_depth_is_bounded_by_the_readers_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(ast, "parse", deep_tree)
        with pytest.raises(ParseError, match="too deep"):
            parse("1")
        with pytest.raises(DataError, match="nested more than 100 deep"):
            parse_size("1", {})
        with pytest.raises(DataError, match="nested more than 100 deep"):
            parse_relation("1", {})
    assert parse_size("-" * 40 + "1", {}) == 1


def test_the_error_points_at_the_place() -> None:
    with pytest.raises(ParseError) as caught:
        parse("x +\n  é*foo(y)")
    assert caught.value.position == 8
    assert str(caught.value).splitlines()[-2:] == ["      é*foo(y)", "        ^"]
    assert isinstance(caught.value, ValueError)


LONG = {
    "a long sum": "+".join(f"x{k}*y" for k in range(1000)),
    "a long product": "*".join(f"(x+{k})" for k in range(1000)),
    "a deep nest": "sin(" * 98 + "x" + ")" * 98,
    "many roots of numbers": "+".join(f"sqrt({k})" for k in range(2, 800)),
    "many unlike denominators": "+".join(f"x**(1/{k})" for k in range(1, 700)),
    "many arguments": f"max({', '.join(f'x{k}' for k in range(500))})",
    "nested maxima": "max(x, " * 49 + "y" + "+1)" * 49,
    "nested constants": "sqrt(" * 49 + "2" + "+1)" * 49,
    "nested absolute values": "abs(" * 40 + "x" + "+y)" * 40,
    "many conditions": f"where({'&'.join(f'(x>{k})' for k in range(300))}, 1, 2)",
}


@pytest.mark.parametrize("name", LONG)
def test_long_formulas_are_read_in_reasonable_time(name: str) -> None:
    begin = time.process_time()
    assert isinstance(parse(LONG[name]), sp.Expr)
    assert time.process_time() - begin < 20


# ---------------------------------------------------------------- properties


@given(st.text())
@example("0" * 400)
@example("x" * 10_000)
def test_arbitrary_text_raises_nothing_but_parse_errors(text: str) -> None:
    try:
        result = parse(text)
    except ParseError:
        return
    assert isinstance(result, sp.Expr)


TOKENS = ["x", "y", "1", "2", "0.5", "10", "9", "+", "-", "*", "/", "**", "(", ")", ",", "<", "&"]
TOKENS += ["sin(", "exp(", "log(", "sqrt(", "max(", "where(", "gamma(", "x>0", "pi", "1e300", "~"]


@given(st.lists(st.sampled_from(TOKENS), max_size=30).map("".join))
def test_text_that_looks_like_formulas_raises_nothing_but_parse_errors(text: str) -> None:
    test_arbitrary_text_raises_nothing_but_parse_errors.hypothesis.inner_test(text)


def _grow(inner: st.SearchStrategy[sp.Expr]) -> st.SearchStrategy[sp.Expr]:
    unary = [sp.sin, sp.cos, sp.exp, sp.atan, sp.tanh, sp.Abs, sp.erf, sp.sign, cfunctions.expm1]
    binary = [
        sp.Add,
        sp.Mul,
        sp.Max,
        sp.atan2,
        lambda a, b: a / (b**2 + 1),
        lambda a, b: a - b,
        lambda a, b: sp.sqrt(a**2 + b**2 + 1),
        lambda a, b: sp.Piecewise((a, x > 1), (b, True)),
    ]
    return st.one_of(
        st.builds(lambda f, a: f(a), st.sampled_from(unary), inner),
        st.builds(lambda f, a, b: f(a, b), st.sampled_from(binary), inner, inner),
        st.builds(lambda a, n: (a**2 + 1) ** n, inner, st.integers(-3, 3)),
    )


LEAVES = st.one_of(
    st.sampled_from([x, y, z, sp.pi]),
    st.integers(-9, 9).map(sp.Integer),
    st.fractions(-9, 9, max_denominator=9).map(lambda q: sp.Rational(q.numerator, q.denominator)),
)


@given(st.recursive(LEAVES, _grow, max_leaves=6))
def test_what_sympy_prints_is_read_back_with_the_same_value(expression: sp.Expr) -> None:
    if expression.has(sp.I, sp.zoo, sp.nan):
        return
    try:
        again = parse(str(expression))
    except ParseError as error:
        # SymPy keeps exp((1 + pi**2)**3) as it is; here a constant must have a double.
        exponents = [
            e.args[0] for e in expression.atoms(sp.exp, cfunctions.expm1) if not e.free_symbols
        ]
        if "larger than any double" in str(error) and any(e > 709 for e in exponents):
            return
        raise
    # Constants may be doubles now; otherwise nothing has changed.
    if not again.has(sp.Float):
        assert again == expression or sp.simplify(again - expression) == 0
    for point in ((0.3, 1.7, -0.6), (2.1, -0.4, 0.9)):
        values = dict(zip((x, y, z), point, strict=True))
        assert complex(again.evalf(subs=values)) == pytest.approx(
            complex(expression.evalf(subs=values)), rel=1e-9, abs=1e-9
        )


SPECIAL_VALUES = {
    "factorial2(x)": mpmath.fac2, "fibonacci(x)": mpmath.fib,
    "lucas(x)": lambda x: mpmath.fib(x - 1) + mpmath.fib(x + 1),
    "catalan(x)": lambda x: mpmath.binomial(2 * x, x) / (x + 1),
    "betainc(2, 3, 0, x)": lambda x: mpmath.betainc(2, 3, 0, x),
    "betainc_regularized(2, 3, 0, x)": lambda x: mpmath.betainc(2, 3, 0, x, regularized=True),
    "erf2inv(0, x)": mpmath.erfinv, "Li(x + 2)": lambda x: mpmath.li(x + 2) - mpmath.li(2),
    "dirichlet_eta(x)": mpmath.altzeta, "elliptic_pi(x, 1/2)": lambda x: mpmath.ellippi(x, 0.5),
    "elliptic_pi(1/3, x, 1/2)": lambda x: mpmath.ellippi(mpmath.mpf(1) / 3, x, 0.5),
    "riemann_xi(x)": lambda s: (
        s * (s - 1) / 2 * mpmath.pi ** (-s / 2) * mpmath.gamma(s / 2) * mpmath.zeta(s)
    ),
    "hermite_prob(3, x)": lambda x: x**3 - 3 * x, "cosm1(x)": lambda x: mpmath.cos(x) - 1,
    "powm1(x, 2)": lambda x: x**2 - 1,
    "logaddexp(x, 1)": lambda x: mpmath.log(mpmath.exp(x) + mpmath.e),
    "logaddexp2(x, 1)": lambda x: mpmath.log(2**x + 2, 2), "fma(x, 2, 3)": lambda x: 2 * x + 3,
}  # fmt: skip


@pytest.mark.parametrize("text", SPECIAL_VALUES)
def test_special_functions_of_names_and_of_numbers(text: str) -> None:
    at = 0.4
    wanted = float(SPECIAL_VALUES[text](mpmath.mpf(at)))
    assert sg.from_sympy(parse(text), ["x"])(at) == pytest.approx(wanted, rel=1e-12)
    name, _, arguments = text.partition("(")
    number = parse(f"{name}({arguments.replace('x', repr(at))}")
    assert float(number) == pytest.approx(wanted, rel=1e-12)


def test_connectives_by_name() -> None:
    for text, wanted in {
        "And(x > 0, y > 0)": 2.0, "Or(x > 0, y > 0)": 1.0, "Not(x > 0)": 2.0,
        "Xor(x > 0, y > 0)": 1.0, "Nand(x > 0, y > 0)": 1.0, "Nor(x > 0, y > 0)": 2.0,
        "Implies(x > 0, y > 0)": 2.0, "Equivalent(x > 0, y > 0)": 2.0,
    }.items():  # fmt: skip
        f = sg.from_sympy(parse(f"where({text}, 1, 2)"), ["x", "y"])
        assert f(1.0, -1.0) == wanted, text


def test_derivatives() -> None:
    assert parse("Derivative(x**3*y, x)") == sp.Derivative(x**3 * y, x)
    assert parse("Derivative(x**3*y, x, 2)") == sp.Derivative(x**3 * y, (x, 2))
    both = parse("2*Derivative(sin(x)*y**3, (y, 2), x)")
    assert sg.from_sympy(both, ["x", "y"])(0.3, 0.7) == pytest.approx(12 * 0.7 * math.cos(0.3))
    for text, said in {
        "Derivative(x**2)": "takes 2", "Derivative(x**2, 2)": "is written",
        "Derivative(x**2, x + 1)": "is written", "Derivative(x**2, x, 99)": "is written",
        "Derivative(x**2, pi)": "by names",
    }.items():  # fmt: skip
        with pytest.raises(ParseError, match=said):
            parse(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_written_with_repr_is_read_exactly(number: float) -> None:
    assert float(parse(repr(number))) == number


@given(st.text(alphabet="()+-*x ", max_size=60))
def test_agrees_with_python_on_arithmetic(text: str) -> None:
    try:
        got = parse(text, symbols="x")
    except ParseError:
        return
    python = eval(compile(text.strip(), "formula", "eval"), {"__builtins__": {}, "x": x})
    assert sp.simplify(got - python) == 0
