"""Parts of readable formulas: notation, patience, names, choices."""

from __future__ import annotations

import gc
import sys
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from types import FunctionType
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgrad as sg
from symgrad._core.graph import topological
from symgrad._symbolic import Patience, beside, latex, mathml, simplified, text
from symgrad._symbolic._binders import Sum, as_sympy, unevaluated
from symgrad._symbolic._formula import Formula
from symgrad._symbolic._names import distinct, inner_first
from symgrad._symbolic._notation import Array, Diag, Eye, Norm, Ones, T
from symgrad._symbolic._products import product, transposed
from symgrad.errors import UnsupportedError

x, y = sp.symbols("x y", real=True)


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
    assert beside("y", u * v) == "y = u⊙v"
    assert "<mo>⊙</mo>" in mathml(u * v)


# ---------------------------------------------------------------- time


def test_simplification_that_takes_long_is_stopped_and_said() -> None:
    hard = sp.Add(*(sp.sin(a * x) ** b / (1 + sp.cos(b * x) ** a) for a in (2, 3) for b in (2, 3)))
    patience = Patience(0.05)
    begin = time.process_time()
    simplified(hard, patience)
    assert patience.gave_up
    assert time.process_time() - begin < 3


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


def test_limits_hold_inside_of_each_other(patience: Any) -> None:
    patience(WRITTEN=0.1)
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


def test_choices_between_conditions_are_drawn_as_they_are() -> None:
    choice = sp.ITE(x > 0, y > 1, y < 0)
    assert text(choice) == "ITE(x > 0, y > 1, y < 0)"
    assert beside("y", choice) == "y = (x ≤ 0 ∧ y < 0) ∨ (x > 0 ∧ y > 1)"
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


def test_long_loops_are_refused_before_they_are_written_out(monkeypatch: Any) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("written out")

    monkeypatch.setattr("symgrad._core.control._unrolling.substitute", never)
    with pytest.raises(UnsupportedError, match="too long to be written out"):
        sg.formula(lambda x: sg.fori_loop(0, 100_000, lambda _, c: np.sin(c), x), 1.0)


def test_what_a_loop_has_written_out_is_walked_once(monkeypatch: Any) -> None:
    seen: list[int] = []

    def walk(nodes: Any) -> Any:
        found = topological(nodes)
        seen.append(len(found))
        return found

    monkeypatch.setattr("symgrad._core.control._unrolling.topological", walk)
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
def test_memory_is_limited_as_time_is(patience: Any) -> None:
    patience(MEMORY=1 << 25)

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
