"""Shortcuts through reductions: proved by SymPy for arrays of symbols, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgrad as sg
from symgrad._core.graph import topological
from symgrad._core.op import registry
from symgrad._core.rewrite import SHORTCUTS, Reduced, shortcuts
from symgrad._symbolic import Elements

FOLDED = tuple(rule for rule in SHORTCUTS if isinstance(rule, Reduced))

#: By what derivatives of lengths are scaled.
SCALE = registry.ops["LengthScale"]

#: For each rule what users write, and the shapes of the arguments.
WRITTEN: dict[str, list[tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]]] = {
    "sqrt(sum(x**2)): x/r": [
        (lambda x: np.sqrt(np.sum(x**2)), ((3,),)),
        (lambda x: np.sqrt(np.mean(x * x)), ((3,),)),
        (lambda x: np.sqrt(x @ x), ((3,),)),
        (lambda x: np.sum(x * x, axis=1) ** 0.5, ((2, 2),)),
        (lambda x: np.sqrt(np.sum(np.square(x), axis=0, keepdims=True) / 3), ((2, 2),)),
        (lambda x: np.sqrt(np.sum(x**2)), ((2, 2),)),
    ],
    "sqrt(2*d*d - 2*d*d): 0": [
        (lambda x: np.sqrt(2 * (x / 2) * x - x * x), ((2,),)),
        (lambda x: np.arccos((x / 2 - x) / (x / 2)), ((2,),)),
    ],
    "hypot(x, y): x/r, y/r": [(np.hypot, ((2,), (2,)))],
    "abs(x)**2: 2*x": [
        (lambda x: np.abs(x) ** 2, ((2,),)),
        (lambda x: np.fabs(x) * np.fabs(x), ((),)),
    ],
    "abs(x): sign(x)": [(np.abs, ((2,),)), (np.fabs, ((),))],
    "x/sqrt(sum(x**2)): (ct - u*sum(u*ct))/r": [
        (lambda x: (s := SCALE(x[0]) * x) / np.sqrt(np.sum(s * s)), ((2,),)),
    ],
    "sqrt(a@a + b@b - 2*a@b): 0 at 0": [
        (lambda a, b: np.sqrt(a @ a + b @ b - 2 * a @ b), ((2,), (2,))),
        (lambda a, b: np.sqrt(np.sum(a**2) - 2 * (a @ b) + b @ b), ((2,), (2,))),
    ],
    "maximum(d2, 0): 1": [(lambda x: np.maximum(np.sum(x**2), 0.0), ((2,),))],
    "exp(x)/sum(exp(x)): s*(ct - sum(s*ct))": [
        (lambda x: np.exp(x) / np.sum(np.exp(x)), ((3,),)),
        (lambda x: np.exp(x) / np.sum(np.exp(x), axis=1, keepdims=True), ((2, 2),)),
    ],
    "log(sum(exp(x))): softmax(x)": [
        (lambda x: np.log(np.sum(np.exp(x))), ((3,),)),
        (lambda x: np.log(np.mean(np.exp(x), axis=0)), ((2, 2),)),
        (lambda x: np.log(2.5 * np.sum(np.exp(x), axis=-1, keepdims=True)), ((2, 2),)),
    ],
    "log(prod(x)): 1/x": [
        (lambda x: np.log(np.prod(x)), ((3,),)),
        (lambda x: np.log(np.prod(x, axis=0) / 3), ((2, 2),)),
    ],
    "log(exp(x)/sum(exp(x))): ct - s*sum(ct)": [
        (lambda x: np.log(np.exp(x) / np.sum(np.exp(x))), ((3,),)),
        (lambda x: np.log(np.exp(x) / np.sum(np.exp(x), axis=0)), ((2, 2),)),
    ],
    "log(x**p*y/z): p/x, 1/y, -1/z": [
        (lambda x, y, z: np.log(x**3 * y / z), ((2,), (2,), (2,))),
        (lambda x, y: np.log(2 * x / (y * np.sqrt(x))), ((2,), (2,))),
        (lambda x, y: np.log(x**-1.5 * (y * x) ** 2), ((), ())),
    ],
}


def test_every_rule_is_here() -> None:
    assert WRITTEN.keys() == {rule.name for rule in FOLDED}


def formulas(function: Callable[..., Any], *args: Any, positive: bool) -> list[Any]:
    """Return a program's results, element by element, in a symbol for each input element."""
    graph = sg.compile(function)._specialization(args, {}).graph
    sizes = {d: d.hint for x in graph.inputs for d in x.shape if not isinstance(d, int)}
    made, found = Elements(exact=True), []
    for node in graph.outputs:
        for place in np.ndindex(*(sizes.get(d, d) for d in node.shape)):
            formula = made.expression(node, place).xreplace(sizes).doit()
            swap = {e: symbol(sp.sstr(e), positive) for e in formula.atoms(sp.Indexed, sp.Symbol)}
            found.append(formula.xreplace(swap))
    return found


def symbol(name: str, positive: bool) -> sp.Symbol:
    if positive and name[0] == "x":
        return sp.Symbol(name, positive=True)
    return sp.Symbol(name, real=True)


def symbols(name: str, arrays: Sequence[Any], positive: bool) -> list[sp.Symbol]:
    """Return the symbols of all elements of a tuple of arrays."""
    return [
        symbol(f"{name}_{k}[{', '.join(map(str, place))}]".removesuffix("[]"), positive)
        for k, a in enumerate(arrays)
        for place in np.ndindex(*np.shape(a))
    ]


def taken(formula: Any) -> list[Any]:
    """Return the cases of a formula that are taken at some points, which are not singled out."""
    folded = sp.piecewise_fold(formula)
    if not isinstance(folded, sp.Piecewise):
        return [folded]
    rng, found = np.random.default_rng(0), set[Any]()
    for _ in range(24):
        numbers = {s: float(rng.normal()) for s in sorted(folded.free_symbols, key=str)}
        point = {s: abs(x) if s.is_positive else x for s, x in numbers.items()}
        found.add(next(case for case, where in folded.args if bool(where.subs(point))))
    return list(found)


def assert_proved(claims: Sequence[Any], wanted: Sequence[Any]) -> None:
    """Have SymPy show that formulas are equal, but where a length is 0."""
    for claim, want in zip(claims, wanted, strict=True):
        for case in taken(claim):
            assert sp.simplify(case - want) == 0


CASES = [(rule, *case) for rule in FOLDED for case in WRITTEN[rule.name]]


@pytest.mark.parametrize(("rule", "f", "shapes"), CASES, ids=[rule.name for rule, *_ in CASES])
@pytest.mark.quick(1)
def test_shortcut_is_proved(rule: Reduced, f: Callable[..., Any], shapes: Any) -> None:
    x = tuple(np.ones(shape) for shape in shapes)
    graph = sg.compile(f)._specialization(x, {}).graph
    assert shortcuts(topological(graph.outputs), graph.inputs, (rule,))
    # Only logarithms of products ask for positive numbers.
    positive = "prod" in rule.name or "x**p" in rule.name
    values = sp.Matrix(formulas(lambda x: f(*x), x, positive=positive))
    jacobian = values.jacobian(symbols("x", x, positive))

    c = np.ones(np.shape(f(*x)))
    claims = formulas(lambda x, c: sg.vjp(f, *x)[1](c[0]), x, (c,), positive=positive)
    assert_proved(claims, jacobian.T * sp.Matrix(symbols("c", [c], positive)))
    claims = formulas(lambda x, t: sg.jvp(f, x, t)[1], x, x, positive=positive)
    assert_proved(claims, jacobian * sp.Matrix(symbols("t", x, positive)))


def test_a_wrong_shortcut_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    rule, f, shapes = next(case for case in CASES if "softmax" in case[0].name)
    monkeypatch.setattr(
        "symgrad._core.rewrite._reduction_formulas._SOFTMAX", lambda v, axis: np.exp(v)
    )
    with pytest.raises(AssertionError):
        test_shortcut_is_proved(rule, f, shapes)
