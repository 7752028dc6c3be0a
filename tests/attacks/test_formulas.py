"""Formulas: texts of a grammar and what mutations make of them, through all that reads them."""

from __future__ import annotations

import ast
import contextlib
import gc
import io
import time
import warnings
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import symgrad as sg
from symgrad._symbolic import _limits as _patience
from symgrad.cli import main
from symgrad.errors import ParseError, SymgradError

#: Seconds of the processor that a formula may take, through everything: reading the text, and
#: the limits of each of three ways to write it.
SECONDS = 15.0

NAMES = ["x", "y", "z", "λ"]
UNARY = ["sin", "cos", "exp", "atan", "tanh", "erf", "expm1", "sqrt", "log1p", "square", "abs"]
WILD = [*UNARY, "log", "tan", "gamma", "digamma", "loggamma", "asin", "acosh", "cbrt", "floor",
        "zeta", "LambertW", "Ei", "erfinv", "fresnels", "factorial", "harmonic", "ellipk", "k0",
        "airybi", "acoth"]  # fmt: skip
WILD_PAIRS = ["besselj", "kv", "beta", "binomial", "polylog", "legendre", "hermite", "expint",
              "uppergamma", "Mod", "zeta", "LambertW", "elliptic_f", "hyp0f1"]  # fmt: skip
#: Functions that are smooth everywhere, under SymPy's names.
SMOOTH = ["Si", "fresnels", "airyai", "airybiprime", "erfi", "sech", "j0", "i1", "frac"]
NUMBERS = ["0", "1", "2", "3", "7", "0.5", "1.25", "1e-3", "10"]
HUGE = ["9" * 17, "9" * 300, "2**60", "10**9", "1e300", "5e-324", "1e999999999", "10**300",
        "(1/3)", "1/99999999999999997", "170.5", "-10**15"]  # fmt: skip
COMPARED = ["<", "<=", ">", ">=", "==", "!="]

#: What is not mathematics, or only looks like it.
FOREIGN = [
    "__import__('os').system('touch {canary}')", "__import__", "open({canary!r}, 'w')",
    "exec(\"open({canary!r}, 'w')\")", "().__class__.__bases__[0].__subclasses__()",
    "x.__class__", "x.real", "lambda: 0", "(lambda x: x)(y)", "[x for x in (y,)]", "{{x}}",
    "f'{{open({canary!r}, \"w\")}}'", "x := 2", "x if y else z", "await x", "yield", "*x", "**x",
    "import os", "\0", "\n", "\r", "\x0c", "\ud800", "\u202e", "х", "ｘ", "𝐱", "２", "٣", "−", "×",
    "²", "`", "$", "\\", "#", "@", "...", "1_000", "0x10", "1j", "x;y", "=", "==", "None", "True",
    "oo", "nan", "zoo", "I", "e", "E", "pi", "S", "Symbol('x')", "factorial(10**9)", "x!", "x[0]",
    "Function('f')", "sympify('x')", "Integer", "polygamma(10**9, x)", "polygamma(20, 1e-9)",
    "Piecewise((x, x > 0))", "Piecewise", "where", "where(x, y, z)", "max()", "%s", "//", "<<",
]  # fmt: skip
PIECES = ["(", ")", "+", "-", "*", "/", "**", ",", "<", "&", "|", "~", " ", "^", "."]


def written(rng: np.random.Generator, depth: int, wild: bool = False) -> str:
    """Return a formula of the grammar; ``wild``: with any numbers, functions and powers."""
    kind = rng.integers(9) if depth else 0
    inner = [written(rng, depth - 1, wild) for _ in range(2)] if kind else []
    if kind == 0:
        leaves = [NAMES, NUMBERS, HUGE] if wild else [NAMES, NAMES, NUMBERS]
        return str(rng.choice(leaves[rng.integers(3)]))
    if kind <= 4:
        return f"({inner[0]}{'+-*/'[kind - 1]}{inner[1]})"
    if kind == 5:
        return f"{rng.choice(WILD if wild else [*UNARY, *SMOOTH])}({inner[0]})"
    if kind == 6:
        powers = [inner[1], *HUGE, "(1/2)", "-1"] if wild else ["2", "3", "-1", "0.5", "(1/3)"]
        return f"({inner[0]})**{rng.choice(powers)}"
    if kind == 7:
        test = f"{inner[0]}{rng.choice(COMPARED[:4])}{inner[1]}"
        return f"where({test}, {inner[1]}, {written(rng, depth - 1, wild)})"
    if wild and rng.random() < 0.3:
        name = rng.choice(["Sum", "Product", "Integral"])
        index = rng.choice(["k", *NAMES])
        ends = rng.choice(["0", "1", "-oo", "oo", *NUMBERS, *HUGE, inner[1]], 2)
        return f"{name}({inner[0]}*{index}, ({index}, {ends[0]}, {ends[1]}))"
    if rng.random() < 0.3:
        name, last = rng.choice(["Sum", "Product"]), rng.integers(0, 4)
        return f"{name}({inner[0]} + k/5, (k, 0, {last})) + {inner[1]}"
    pairs = ["max", "min", "hypot", "arctan2"]
    name = rng.choice([*pairs, *WILD_PAIRS] if wild else pairs)
    return f"{name}({inner[0]}, {inner[1]})"


def hostile(rng: np.random.Generator, canary: Path) -> str:
    """Return a text that is one of these: wild, long, deep, a tower, mutated, or foreign."""
    kind = rng.integers(8)
    text = written(rng, int(rng.integers(1, 5)), wild=True)
    if kind == 1:
        name = rng.choice([*UNARY, *WILD])
        deep = int(rng.integers(2, 130))
        return f"{name}(" * deep + text + str(rng.choice(["", "+1", "**2"])) + ")" * deep
    if kind == 2:
        count = int(rng.choice([10, 100, 300, 1000]))
        join = str(rng.choice(["+", "-", "*", "/", "**", "+x*"]))
        row = join.join(f"a{k}" if rng.random() < 0.7 else f"(a{k}+{k})" for k in range(count))
        return f"({row}){rng.choice(['', '**2', '**9', '**-1', '**10**17', '**(1/2)'])}"
    if kind == 3:
        return "**".join(f"({written(rng, 1, wild=True)})" for _ in range(rng.integers(2, 7)))
    if kind == 4:
        return str(rng.choice(FOREIGN)).format(canary=str(canary))
    if kind >= 5:
        for _ in range(rng.integers(1, 5)):
            place, end = sorted(rng.integers(0, len(text) + 1, 2))
            pieces = [PIECES, HUGE, WILD, FOREIGN, [text[place:end]], [""]]
            piece = str(rng.choice(pieces[rng.integers(len(pieces))])).format_map(
                {"canary": str(canary)}
            ) if rng.random() < 0.9 else chr(int(rng.integers(1, 0x3000)))  # fmt: skip
            text = text[:place] + piece + text[end if rng.random() < 0.5 else place :]
    return text


def promised() -> None:
    """Have limits in this process that are a quarter of the promised, to try more cases."""
    _patience.SECONDS, _patience.NAMED, _patience.WRITTEN = 0.5, 0.8, 1.0
    warnings.simplefilter("ignore")


@pytest.fixture
def warm() -> None:
    """Have this process know what each of its forks would otherwise find out by itself."""
    f = sg.from_sympy(sg.parse("where(x > 1, x**2*sin(y), gamma(x)/z)"), ["x", "y", "z"])
    str(sg.formula(f, 1.0, 2.0, 3.0, wrt=0))
    with contextlib.redirect_stdout(io.StringIO()):
        main(["diff", "sin(x)/x"])
    gc.collect()
    gc.freeze()


def read(text: str) -> tuple[str, float]:
    """Read a formula, its derivatives and values; return how it ended, and the seconds."""
    promised()
    begin = time.process_time()
    try:
        expression = sg.parse(text)
    except ParseError:
        return "refused", time.process_time() - begin
    every = sorted(expression.free_symbols, key=str)
    symbols, known = every[:8], [np.float64(1.5)] * len(every[8:])
    ended = "read"
    with contextlib.suppress(SymgradError), np.errstate(all="ignore"):
        whole = sg.from_sympy(expression, every)

        def f(*values: Any) -> Any:
            return whole(*values, *known)

        point = [np.float64(0.7 + 0.1 * k) for k in range(len(symbols))]
        ended = "bounded"
        sg.latex(expression)
        float(f(*point))
        if symbols:
            str(sg.formula(f, *point, wrt=0))
            sg.derivative(f, *point)
        ended = "read"
    return ended, time.process_time() - begin


@pytest.mark.attack(quick=4, whole=4000, judge="a result or symgrad's error, in time and memory")
def test_texts_of_formulas(attack: Any, isolated: Any, warm: None, tmp_path: Path) -> None:
    """Formulas through parse, latex, from_sympy, formula and derivative: deep, long, huge, code."""
    canary = tmp_path / "canary"
    for case in attack:
        with case:
            text = hostile(case.rng, canary)
            ending = isolated(read, text, seconds=90, memory=1 << 30)
            assert ending.kind == "returned", (text[:500], ending)
            assert not canary.exists(), text
            kind, seconds = ending.value
            assert seconds < SECONDS, (text[:500], seconds)
            case.tally(kind)


def command(arguments: list[str]) -> tuple[int, str, float]:
    """Return the command's status, what it complained of, and the seconds."""
    promised()
    begin, said = time.process_time(), io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        try:
            status = main(arguments)
        except SystemExit as stopped:  # argparse's
            status = int(stopped.code or 0)
    return status, said.getvalue(), time.process_time() - begin


@pytest.mark.attack(quick=4, whole=2000, judge="exit status 0 or 2, no traceback, in time")
def test_commands_on_formulas(attack: Any, isolated: Any, warm: None, tmp_path: Path) -> None:
    """`symgrad diff` with its options on formulas: deep, long, huge, code."""
    canary = tmp_path / "canary"
    options = [[], ["--latex"], ["--pretty"], ["--order", "2"], ["--at", "x=0.5"], ["--program"],
               ["--c"], ["--wrt", "x"], ["--at", "x=1", "y=2", "z=3", "λ=1e308"]]  # fmt: skip
    for case in attack:
        with case:
            text = hostile(case.rng, canary)
            chosen = options[case.rng.integers(len(options))]
            ending = isolated(command, ["diff", *chosen, "--", text], seconds=90, memory=3 << 30)
            assert ending.kind == "returned", (chosen, text[:500], ending)
            assert not canary.exists(), text
            status, said, seconds = ending.value
            assert status in (0, 2), (chosen, text[:500], said)
            assert "Traceback" not in said
            assert bool(said) == (status == 2), (chosen, text[:500], said)
            assert seconds < SECONDS, (chosen, text[:500], seconds)
            case.tally("refused" if status else "read")


# ---------------------------------------------------------------- values

EXACT: dict[str, Any] = {
    **{name: getattr(mpmath, name) for name in ("sin", "cos", "exp", "atan", "tanh", "erf",
                                                "expm1", "sqrt", "log1p")},
    "square": lambda a: a * a, "abs": abs, "max": max, "min": min, "arctan2": mpmath.atan2,
    "hypot": lambda a, b: mpmath.sqrt(a * a + b * b),  # of complex numbers, too
    "Si": mpmath.si, "fresnels": mpmath.fresnels, "airyai": mpmath.airyai,
    "airybiprime": lambda a: mpmath.airybi(a, derivative=1), "erfi": mpmath.erfi,
    "sech": mpmath.sech, "j0": mpmath.j0, "i1": lambda a: mpmath.besseli(1, a),
    "frac": lambda a: a - mpmath.floor(a),
}  # fmt: skip


def exact(node: ast.expr, known: dict[str, Any]) -> Any:
    """Evaluate Python's own reading of a formula with mpmath's numbers."""
    match node:
        case ast.Constant():
            return mpmath.mpf(node.value)
        case ast.Name():
            return known[node.id]
        case ast.UnaryOp():
            return -exact(node.operand, known)
        case ast.BinOp():
            a, b = exact(node.left, known), exact(node.right, known)
            kind = type(node.op).__name__
            return {"Add": lambda: a + b, "Sub": lambda: a - b, "Mult": lambda: a * b,
                    "Div": lambda: a / b, "Pow": lambda: a**b}[kind]()  # fmt: skip
        case ast.Compare():
            a, b = exact(node.left, known), exact(node.comparators[0], known)
            kind = type(node.ops[0]).__name__
            return {"Lt": a < b, "LtE": a <= b, "Gt": a > b, "GtE": a >= b}[kind]
        case ast.Call(func=ast.Name(id="where")):
            test, yes, no = node.args
            return exact(yes if exact(test, known) else no, known)
        case ast.Call(func=ast.Name(id="Sum" | "Product" as name)):
            body, limit = node.args
            assert isinstance(limit, ast.Tuple)
            last = int(exact(limit.elts[2], known))
            terms = [exact(body, {**known, "k": mpmath.mpf(k)}) for k in range(last + 1)]
            return mpmath.fsum(terms) if name == "Sum" else mpmath.fprod(terms)
        case ast.Call(func=ast.Name(id=name)):
            return EXACT[name](*(exact(a, known) for a in node.args))
    raise AssertionError(ast.dump(node))


@pytest.mark.attack(quick=12, whole=3000, judge="mpmath on Python's syntax tree, and differences")
def test_values_of_formulas(attack: Any) -> None:
    """The meaning of formulas: their values and derivatives at a point."""
    for case in attack:
        with case:
            text = written(case.rng, int(case.rng.integers(2, 5)))
            point = dict(zip(NAMES, case.rng.uniform(0.2, 2.0, len(NAMES)), strict=True))
            tree = ast.parse(text, mode="eval").body
            try:
                expression = sg.parse(text, symbols=NAMES)
            except ParseError:
                case.tally("refused")  # a constant without a real value
                continue
            with mpmath.workdps(60), contextlib.suppress(ZeroDivisionError, TypeError):
                known = {n: mpmath.mpf(v) for n, v in point.items()}
                step, slopes = mpmath.mpf(10) ** -20, []
                value = exact(tree, known)
                for name in NAMES:
                    sides = [exact(tree, {**known, name: known[name] + s}) for s in (step, -step)]
                    slopes.append((sides[0] - sides[1]) / (2 * step))
                    one_sided = 2 * value - sides[0] - sides[1]
                    if abs(one_sided) > mpmath.mpf(10) ** -15 * step:
                        raise ZeroDivisionError  # at an edge
                numbers = [value, *slopes]
                if all(isinstance(n, mpmath.mpf) and abs(n) < 1e100 for n in numbers):
                    compare(expression, list(point.values()), [float(n) for n in numbers])
                    continue
            case.tally("no real number")


def compare(expression: Any, point: list[float], wanted: list[float]) -> None:
    """Compare value and derivatives, run with NumPy, with the exact ones."""
    f = sg.from_sympy(expression, NAMES)
    with sg.backend("numpy"), np.errstate(all="ignore"):
        found = [float(f(*map(np.float64, point)))]
        found += map(float, sg.grad(f, tuple(range(len(NAMES))))(*point))
    largest = max(1.0, *map(abs, wanted))
    np.testing.assert_allclose(
        found, wanted, rtol=1e-7, atol=1e-7 * largest, err_msg=str(expression)
    )
