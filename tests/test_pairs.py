"""Numbers of twice the precision, and the densities and quantiles that are made of them."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sc
import sympy as sp

import symgrad as sg
from symgrad._core.op import Evidence, registry
from tests.shared import condition

rng = np.random.default_rng(0)


#: Far outside of the samples, too: rounding a sum of large logarithms cost 200 to 700 ulp.
DENSITIES = [
    ("GammaDensity", ((0.02, 9.0), (0.01, 15.0))),
    ("GammaDensity", ((300.0, 900.0), (250.0, 950.0))),
    ("BetaDensity", ((0.02, 5.0), (0.02, 5.0), (0.01, 0.99))),
    ("BetaDensity", ((30.0, 900.0), (30.0, 900.0), (0.2, 0.8))),
    ("StudentDensity", ((0.1, 9.0), (-3.0, 3.0))),
    ("StudentDensity", ((20.0, 900.0), (-3.0, 3.0))),
]


@pytest.mark.parametrize(("name", "intervals"), DENSITIES)
@pytest.mark.quick(1)
def test_densities_and_their_slopes(name: str, intervals: tuple[tuple[float, float], ...]) -> None:
    op = registry.ops[name]
    operands = [rng.uniform(low, high, 12) for low, high in intervals]
    symbols = sp.symbols(f"x:{op.arity}", positive=True)
    for slope in range(op.slopes + 1):
        assert op.sympy is not None
        exact = sp.lambdify(symbols, op.sympy(*symbols, slope=slope), "mpmath")
        kernel = sg.compile(lambda *xs, slope=slope: op(*xs, slope=slope))(*operands)
        np.testing.assert_allclose(op.evaluate(*operands, slope=slope), kernel, rtol=2e-15)
        with mpmath.workdps(50):
            for k, point in enumerate(zip(*operands, strict=True)):
                at = [mpmath.mpf(x) for x in point]
                want = exact(*at)
                # Both roundings are of the exponential and of the result; SIMD takes one more.
                allowed = (2.5 + condition(exact, at)) * np.spacing(abs(float(want)))
                assert abs(mpmath.mpf(float(kernel[k])) - want) <= allowed, (slope, point)


@pytest.mark.parametrize("name", ["GammaDensity", "BetaDensity", "StudentDensity"])
@pytest.mark.quick(1)
def test_rules_of_the_slopes(name: str) -> None:
    """The textbook's second derivatives, beside SymPy's."""
    op = registry.ops[name]
    assert op.sympy is not None
    symbols = sp.symbols(f"x:{op.arity}", positive=True)
    at = [0.5 * (low + high) + 0.1 for low, high in Evidence.of(op).samples]
    for slope in range(1, op.slopes + 1):
        form = op.sympy(*symbols, slope=slope)
        for by, x in enumerate(symbols):
            once = sp.diff(op.sympy(*symbols), symbols[slope - 1])
            assert abs((once - form).subs(dict(zip(symbols, at, strict=True))).evalf(30)) < 1e-12
            want = float(sp.diff(form, x).subs(dict(zip(symbols, at, strict=True))))
            found = sg.grad(lambda *xs, slope=slope: op(*xs, slope=slope), argnums=by)(*at)
            assert found == pytest.approx(want, rel=1e-13)


def share_of_t(v: Any, t: Any) -> Any:
    tail = mpmath.betainc(v / 2, 0.5, 0, v / (v + t * t), regularized=True) / 2
    return tail if t < 0 else 1 - tail


@pytest.mark.slow
def test_students_distribution() -> None:
    """SciPy's is five units off, and its quantile ten thousand close to the middle."""
    v = np.concatenate([rng.uniform(0.5, 40.0, 20), [1.0, 2.0, 9.0]])
    t = np.concatenate([rng.standard_cauchy(20), [-1e6, 1e-9, 0.0]])
    found = sg.compile(lambda v, t: sc.stdtr(v, t))(v, t)
    quantile = sg.value_and_grad(lambda p, v: np.sum(sc.stdtrit(v, p)))
    with mpmath.workdps(40):
        for freedom, x, got in zip(v, t, found, strict=True):
            want = share_of_t(mpmath.mpf(freedom), mpmath.mpf(x))
            assert abs(mpmath.mpf(float(got)) - want) <= np.spacing(float(want)), (freedom, x)
            p = float(got)
            if not 0.001 < p < 0.999 or p == 0.5:
                continue
            root = mpmath.findroot(lambda y, f=freedom, p=p: share_of_t(f, y) - p, x)
            density = mpmath.diff(lambda y, f=freedom: share_of_t(f, y), root)
            at, slope = quantile(p, freedom)
            assert abs(at - root) <= 2 * np.spacing(abs(float(root))), (freedom, p)
            assert abs(slope * density - 1) <= 3e-16, (freedom, p)
