"""Random functions: formulas and derivatives in index notation have the function's numbers."""

from __future__ import annotations

import math
import warnings
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy.concrete.expr_with_limits import ExprWithLimits

import symgrad as sg
from symgrad._symbolic._names import index_symbols
from symgrad.errors import SimplificationWarning

#: Steps from vectors of one length to others; they meet in conditions, sums and deltas.
STEPS = [
    "np.sin({0})", "{0}*{1}", "{0} - {1}", "np.maximum({0}, {1})", "np.where({0} > {1}, {0}, {1})",
    "{0}*np.sum({1})", "np.where(np.sum({0}) > 0.3, {1}, {0})", "np.max({0})*{1}", "{0}[::-1]",
    "np.cumsum({0})", "np.roll({0}, 1)*{1}", "np.trunc({0}) + {1}", "{0} % 0.7 + {1}",
    "np.sum(np.sin(np.diag({0})), axis=1)", "np.sum(np.where({0} > {1}[:, None], {0}, 0.5), 1)",
    "np.outer({0}, {1}) @ {0}", "np.concatenate([{0}[1:], {1}[:1]**2])", "{0}*np.prod({1})",
    "np.where(np.any({0} > 1.1), {1}, {0})", "np.exp(-{0}**2)", "np.append(np.diff({0}), {1}[0])",
]  # fmt: skip


@st.composite
def functions(draw: st.DrawFn) -> str:
    """Return the text of a function of a vector, of up to three steps."""
    lines = ["def f(x):"]
    names = ["x"]
    for k in range(draw(st.integers(1, 3))):
        one, two = names[-1], draw(st.sampled_from(names))
        lines.append(f"    v{k} = {draw(st.sampled_from(STEPS)).format(one, two)}")
        names.append(f"v{k}")
    lines.append(f"    return {draw(st.sampled_from(['np.sum({0}**2)', 'np.sum({0})', '{0}']))}")
    return "\n".join(lines).format(names[-1])


def number(e: Any, known: dict[str, Any]) -> Any:
    """Evaluate a formula in index notation with Python's numbers."""
    if e.is_Symbol:
        return known[e.name]
    if isinstance(e, sp.Indexed):
        place = tuple(number(i, known) for i in e.indices)
        assert all(0 <= k < n for k, n in zip(place, known[e.base.name].shape, strict=True))
        return known[e.base.name][place]
    if isinstance(e, sp.Piecewise):
        return next((number(v, known) for v, c in e.args if number(c, known)), math.nan)
    if isinstance(e, sp.ITE):
        return number(e.args[1 if number(e.args[0], known) else 2], known)
    if isinstance(e, (sp.And, sp.Or)):
        return (all if isinstance(e, sp.And) else any)(number(a, known) for a in e.args)
    if isinstance(e, ExprWithLimits):
        return folded(e, list(e.limits), known)
    if not e.args:
        return bool(e) if e in (sp.true, sp.false) else int(e) if e.is_Integer else float(e)
    args = [number(a, known) for a in e.args]
    if isinstance(e, sp.Pow) and args[1] == -1:
        return math.nan if args[0] == 0 else 1 / args[0]
    made = e.func(*[sp.Float(a, 17) if isinstance(a, float) else sp.sympify(a) for a in args])
    if made in (sp.true, sp.false):
        return bool(made)
    return int(made) if made.is_Integer else float(made)


FOLDS: dict[str, Any] = {
    "Sum": math.fsum, "Product": math.prod, "MaxOver": max, "MinOver": min, "AnyOver": any,
    "AllOver": all,
}  # fmt: skip


def folded(e: Any, limits: list[Any], known: dict[str, Any]) -> Any:
    """Evaluate a sum, a product or an extremum over its indices."""
    places = [known]
    for k, low, high in reversed(limits):
        places = [
            {**here, k.name: p}
            for here in places for p in range(number(low, here), number(high, here) + 1)
        ]  # fmt: skip
    return FOLDS[type(e).__name__](number(e.function, here) for here in places)


def compare(text: str, order: int, seconds: float) -> None:
    """Compare a function's formula, or one of its derivatives, with the numbers of a program."""
    with warnings.catch_warnings(), patch("symgrad._symbolic._limits.SECONDS", seconds):
        warnings.simplefilter("ignore", SimplificationWarning)
        _compare(text, order)


def _compare(text: str, order: int) -> None:
    found: dict[str, Any] = {"np": np}
    exec(text, found)
    f, x = found["f"], np.array([0.3, 1.7, -0.6, 0.9])
    if order:
        formula = sg.derivative(f, x, order=order)
        with sg.backend("numpy"):
            exact = np.asarray((sg.jacobian(sg.jacobian(f)) if order == 2 else sg.jacobian(f))(x))
    else:
        formula, exact = sg.symbolic(f, x), np.asarray(f(x))
    letters = [i.name for i in index_symbols(exact.ndim, {"x", "n"})]
    rng = np.random.default_rng(0)
    every = list(np.ndindex(exact.shape))
    for k in rng.permutation(len(every))[:6]:
        known = {"x": x, "n": 4, **dict(zip(letters, every[k], strict=True))}
        got = number(sp.sympify(formula), known)
        scale = 1 + np.max(np.abs(exact))
        assert got == pytest.approx(exact[every[k]], abs=1e-10 * scale), str(formula)


@given(functions(), st.sampled_from([0, 1]))
@settings(max_examples=25 * settings.default.max_examples // 50)
@pytest.mark.slow
def test_formulas_have_the_numbers_of_the_function(text: str, order: int) -> None:
    compare(text, order, 0.0)


@pytest.mark.slow
@given(functions(), st.sampled_from([1, 2]))
@settings(max_examples=4 * settings.default.max_examples)
def test_many_formulas_have_the_numbers_of_the_function(text: str, order: int) -> None:
    compare(text, order, 1.0)
