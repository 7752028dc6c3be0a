"""Derivations: each line of the chain rule is right, and all three forms show it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgrad as sg
from symgrad.errors import ArgumentError, UnsupportedError

V, S = np.array([0.3, 1.7, -0.6]), np.arange(9.0).reshape(3, 3) / 5


def test_text() -> None:
    shown = sg.explain(lambda x: np.exp(-(x**2)), 1.0).text()
    line = test_text.__code__.co_firstlineno + 1
    assert (
        shown
        == f"""\
The derivative of f by x

1. The function, step by step
    v0 = x**2      test_explain.py:{line}
    v1 = -v0       test_explain.py:{line}
    out = exp(v1)  test_explain.py:{line}

2. The chain rule, from the result back to the argument
    d out/d v1 = exp(v1)
    d out/d v0 = (d out/d v1)*(d v1/d v0)
        with d v1/d v0 = -1
        = -exp(v1)
    d out/d x = (d out/d v0)*(d v0/d x)
        with d v0/d x = 2*x
        = -2*x*exp(v1)

3. Written out and simplified
    d out/d x = -2*x*exp(-x**2)"""
    )


def test_sums_and_several_paths() -> None:
    lines = str(sg.explain(lambda x, A: x @ A @ x, V, S)).splitlines()
    start = lines.index("    d out/d v0[i] = x[i]")
    both = "Sum over j of (d out/d v0[j])*(d v0[j]/d x[i]) + d out/d x[i]"
    assert lines[start + 1 : start + 5] == [
        f"    d out/d x[i] = {both} of the last step alone",
        "        with d v0[j]/d x[i] = A[i, j]",
        "        with d out/d x[i] of the last step alone = v0[i]",
        "        = v0[i] + Sum(A[i, j]*x[j], (j, 0, n - 1))",
    ]
    assert lines[-2:] == [
        "    d out/d x[i] = Sum((A[i, j] + A[j, i])*x[j], (j, 0, n - 1))",
        "    d out/d x    = (A + A^T) x",
    ]


WEIGHTS, OFFSET = np.array([1.0, 3.0, -4.0]), np.array([2.0, 5.0, 7.5])

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int]] = {
    "quadratic form": (lambda x, A: x @ A @ x, (V, S), 0),
    "by the matrix": (lambda x, A: np.sum(np.tanh(A @ x)), (V, S), 1),
    "softmax": (lambda x: np.exp(x) / np.sum(np.exp(x)), (V,), 0),
    "neighbours": (lambda x: np.sum((x[1:] - x[:-1]) ** 2), (V,), 0),
    "branches": (lambda x: np.sum(np.where(x > 0, x**2, np.exp(x))), (V,), 0),
    "loss": (lambda w, X, y: np.sum(np.log(1 + np.exp(X @ w)) - y * (X @ w)), (V, S, V), 0),
    "scalar": (lambda x, y: np.exp(x * y) ** 2 / x, (0.5, 1.5), 0),
    "identity": (lambda x: x, (V,), 0),
    "mean": (lambda x: x - np.mean(x), (V,), 0),
    "views": (lambda A, x: np.sum(A.T @ x[::-1] * A[:, 0]), (S, V), 0),
    "an order reversed": (lambda x: np.sum(np.exp(x)[::-1] ** 2 * x), (V,), 0),
    "both orders": (lambda x: np.sum(np.exp(x)[::-1] * np.exp(x)), (V,), 0),
    "sums of a view": (lambda A: np.sum(A.reshape(-1)[::-1].reshape(3, 3), axis=0), (S,), 0),
}


def test_views_are_no_steps_and_constants_keep_their_names() -> None:
    shown = str(sg.explain(lambda x: np.sum((WEIGHTS * x + OFFSET)[::-1] ** 2), V))
    assert "v0[i] = WEIGHTS[i]*x[i]" in shown
    assert "v1[i] = OFFSET[i] + v0[i]" in shown
    assert "v2[i] = v1[2 - i]**2" in shown
    assert "d out/d x[i] = 2*(OFFSET[i] + WEIGHTS[i]*x[i])*WEIGHTS[i]" in shown
    assert "(OFFSET is a constant: float64[3])" in shown


@pytest.mark.parametrize("name", CASES)
@pytest.mark.quick(2)
def test_the_steps_give_the_derivative(name: str) -> None:
    f, args, wrt = CASES[name]
    d = sg.explain(f, *args, wrt=wrt).derivation
    with sg.backend("numpy"):
        exact = np.asarray(sg.jacobian(f, argnums=wrt)(*args))
    found = written_out(d, f, args)
    indices = d.backward[-1].equation.indices
    for place in np.ndindex(exact.shape):
        at = found.xreplace(dict(zip(indices, map(sp.Integer, place), strict=True))).doit()
        assert number(at, f, args) == pytest.approx(exact[place], rel=1e-12, abs=1e-12)


def written_out(d: Any, f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Put the function's steps into the last line of the chain rule."""
    found = d.backward[-1].equation.expression
    known = {}
    for step in d.forward:
        v = step.equation.result
        known[v.name] = (v.indices, step.equation.expression)
    sizes = {s: sp.Integer(s.hint) for s in sg.compile(f).program(*args).sizes}
    sizes |= {s: sp.Integer(3) for s in found.free_symbols if s.name in ("n", "m")}
    for name, (indices, formula) in reversed(known.items()):
        found = found.xreplace(sizes).doit()
        for e in found.atoms(sp.Indexed):
            if e.base.name == name:
                sized = formula.xreplace({s: sp.Integer(3) for s in formula.free_symbols
                                          if s.name in ("n", "m")})  # fmt: skip
                fresh = sized.doit().xreplace(dict(zip(indices, e.indices, strict=True)))
                found = found.xreplace({e: fresh})
        plain = {s: formula for s in found.free_symbols if s.name == name and not indices}
        found = found.xreplace(plain)
    return found.xreplace({s: sp.Integer(3) for s in found.free_symbols if s.name in ("n", "m")})


def number(e: Any, f: Callable[..., Any], args: tuple[Any, ...]) -> float:
    names = f.__code__.co_varnames[: f.__code__.co_argcount]
    values = dict(zip(names, args, strict=True))
    e = e.xreplace({s: sp.Integer(3) for s in e.free_symbols if s.name in ("n", "m")}).doit()
    swap = {x: sp.Float(values[x.base.name][tuple(map(int, x.indices))])
            for x in e.atoms(sp.Indexed)}  # fmt: skip
    swap |= {s: sp.Float(values[s.name]) for s in e.atoms(sp.Symbol)
             if s.name in values and np.ndim(values[s.name]) == 0}  # fmt: skip
    return float(e.xreplace(swap).doit())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.quick(2)
def test_latex_and_html_are_well_formed(name: str) -> None:
    f, args, wrt = CASES[name]
    shown = sg.explain(f, *args, wrt=wrt)
    tex = shown.latex()
    assert tex.count("{") == tex.count("}")
    assert tex.count(r"\begin{align*}") == 2
    page = shown.html()
    tree = ET.fromstring(page)
    assert tree.attrib["class"] == "symgrad-derivation"
    assert len(tree.findall("h3")) == 3
    steps = len(shown.derivation.forward) + len(shown.derivation.backward)
    assert len(tree.findall("ol/li")) == steps + 1
    results = len(shown.derivation.result.mathml().splitlines())
    assert len(tree.findall("ol/li/div/div[@class='right']")) == results
    assert "script" not in page
    assert "http" not in page.replace("http://www.w3.org/1998/Math/MathML", "")
    assert shown._repr_html_() == page


def test_giving_up_the_steps_is_said(patience: Any) -> None:
    patience(SECONDS=0.0)
    shown = sg.explain(lambda x: np.exp(-(x**2) / x) * np.sin(x), 1.0)
    said = "(simplifying was given up after a while: shorter forms may exist)"
    assert shown.text().count(said) == 2
    assert said in shown.html()
    assert said in shown.latex()


def test_factors_of_matrices_are_no_steps() -> None:
    shown = str(sg.explain(lambda A, b: b @ np.linalg.solve(A, b), S + np.eye(3), V, wrt="b"))
    assert "LU" not in shown
    assert shown.endswith("d out/d b    = (A^-1 + A^-T) b")


def test_names_in_html_are_escaped() -> None:
    def f(x: Any) -> Any:
        return x**2

    f.__name__ = "<b>f</b>"
    assert "<b>" not in sg.explain(f, 1.0).html()


def test_errors() -> None:
    with pytest.raises(ArgumentError, match="one real array or number, and wrt=1 is none"):
        sg.explain(lambda x, k: x[k], V, np.array([0, 1]), wrt=1)
    with pytest.raises(ArgumentError, match="one real result, not 2 results"):
        sg.explain(lambda x: (x, x), 1.0)
    with pytest.raises(ArgumentError, match="one real result"):
        sg.explain(lambda x: x > 0, 1.0)

    def chain(x: Any) -> Any:
        for _ in range(70):
            x = np.sin(x)
        return x

    with pytest.raises(UnsupportedError, match="derivation of 70 steps is too long to be read"):
        sg.explain(chain, 1.0)


@pytest.mark.slow
def test_steps_are_explained_whose_whole_is_too_large(patience: Any) -> None:
    patience(SECONDS=0.1)

    def kepler(mean: Any, e: Any) -> Any:
        angle = mean
        for _ in range(4):
            angle = angle - (angle - e * np.sin(angle) - mean) / (1 - e * np.cos(angle))
        return angle

    with pytest.raises(UnsupportedError, match="too large to be written as one formula"):
        sg.formula(kepler, 0.5, 0.3, wrt=0)
    found = sg.explain(kepler, 0.5, 0.3)
    assert str(found).endswith(
        "3. Written out and simplified\n"
        "    (too large to be read as one formula: what is above is the derivative)"
    )
    assert "d out/d mean = " in str(found)
    assert r"\text{(too large" in found.latex()
    assert "too large" in found.html()


def test_a_result_that_is_no_step_is_written_down() -> None:
    identity = str(sg.explain(lambda x: x, 1.0)).splitlines()
    assert identity[3] == "    out = x"
    assert identity[6] == "    d out/d x = 1"
    assert "    out = 3\n" in str(sg.explain(lambda x: 3.0, 1.0))
    assert "    out[i, j] = x[j, i]" in str(sg.explain(lambda x: x.T, np.ones((2, 3))))
