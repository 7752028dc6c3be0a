"""Transformations within transformations, in loops, branches and batches, of arrays of any layout.

Each case is a chain of steps, some of which are transformations themselves. Written once more for
plain NumPy, with loops for loops and differences for derivatives, it judges the values; the
derivatives are judged by differences of the values, and by each other.
"""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from tests.shared import PLAIN_LOOPS

STEPS = (
    "np.sin(z)", "z * z", "np.exp(-z**2)", "np.cumsum(z)", "z[::-1]", "z * np.mean(z)",
    "np.tanh(z)", "np.roll(z, 1)", "np.where(z > 0, z, z * 2)", "z @ z * z", "np.sort(z)",
    "np.max(z) * z",
    "sg.scan(lambda c, t: (c * 0.5 + t, c * t), 0.0, z)[1]", "sg.vmap(lambda t: np.sin(t) * t)(z)",
    "sg.grad(lambda t: np.sum(t**3))(z)", "sg.fori_loop(0, 3, lambda i, c: np.sin(c) + i, z)",
    "sg.cond(np.sum(z) > 0, lambda t: t * 2, lambda t: t**2, z)",
    "sg.while_loop(lambda c: np.sum(c**2) > 1.0, lambda c: c * 0.7, z)",
    "sg.jvp(lambda t: np.sin(t) * np.sum(t), (z,), (z,))[1]",
    "np.diag(sg.jacobian(lambda t: t**2 * np.sum(t))(z))",
    "sg.hvp(lambda t: np.sum(t**4), (z,), (z,))", "sg.checkpoint(lambda t: np.exp(np.sin(t)))(z)",
    "sg.vmap(sg.grad(lambda t: sg.scan(lambda c, u: (np.sin(c + u * t), c), t, np.ones(3))[0]))(z)",
    ("sg.hessian(lambda t: sg.cond(np.sum(t) > 0, lambda u: np.sum(u**3), "
     "lambda u: np.sum(u**4), t))(z) @ z"),
    "sg.vjp(lambda t: np.cumsum(t**2), z)[1](z)[0]", "sg.jacobian(sg.vmap(lambda t: t**3))(z) @ z",
    ("sg.grad(lambda t: sg.while_loop(lambda c: np.sum(c**2) > 2.0, lambda c: c * 0.7, t)[0])(z)"
     " * z"),
    "sg.vmap(lambda t: sg.while_loop(lambda c: abs(c) > 1.0, lambda c: c * 0.6, t))(z)",
    "sg.vmap(lambda t: sg.cond(t > 0.2, np.sin, np.cos, t))(z)",
)  # fmt: skip


def differences(f: Any, h: float = 1e-4) -> Any:
    """Return the Jacobian of a function by differences of order 4."""

    def jacobian(x: Any) -> Any:
        x, columns = np.asarray(x), []
        for k in np.ndindex(x.shape):
            e = np.zeros(x.shape)
            e[k] = h
            a, b, c, d = (np.asarray(f(x + s * e)) for s in (-2, -1, 1, 2))
            columns.append((8 * (c - b) - (d - a)) / (12 * h))
        found = np.stack(columns, -1)
        return found.reshape(found.shape[:-1] + x.shape)

    return jacobian


def _hessian(f: Any) -> Any:
    return differences(differences(f, 1e-3), 1e-3)


PLAIN = SimpleNamespace(
    **vars(PLAIN_LOOPS), grad=differences, jacobian=differences, hessian=_hessian,
    checkpoint=lambda f: f,
    vmap=lambda f: lambda x: np.array([f(row) for row in x]),
    jvp=lambda f, x, v: (f(*x), np.tensordot(differences(f)(x[0]), v[0], np.ndim(x[0]))),
    hvp=lambda f, x, v: _hessian(f)(x[0]) @ v[0],
    vjp=lambda f, x: (f(x), lambda w: (np.tensordot(w, differences(f)(x), np.ndim(w)),)),
)  # fmt: skip


def laid_out(x: Any, layout: int) -> Any:
    """Return equal numbers that lie otherwise in memory."""
    if layout == 1:
        return x[::-1].copy()[::-1]
    if layout == 2:
        return np.repeat(x, 2)[::2]
    if layout == 3:
        return np.asfortranarray(np.stack([x, x]))[0]
    if layout == 4:
        x.flags.writeable = False
    return x


@pytest.mark.attack(quick=15, whole=3_000, part=100, judge="plain loops, and differences")
def test_nested_transforms(attack: Any) -> None:
    """Transformations within others, loops, branches and batches; layouts; one element."""
    for case in attack:
        with case, sg.backend("numpy"), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rng = case.rng
            steps = [str(s) for s in rng.choice(STEPS, rng.integers(1, 4))]
            text = "x"
            for step in steps:
                text = f"(lambda z: {step})({text})"
            f = eval(f"lambda x: {text}", {"np": np, "sg": sg})
            plain = eval(f"lambda x: {text}", {"np": np, "sg": PLAIN})
            x = laid_out(rng.normal(size=rng.integers(1, 5)), int(rng.integers(5)))
            before, said = x.copy(), f"{text}\nx = {x!r}"
            want = plain(x)
            if not np.isfinite(want).all() or np.abs(want).max() > 1e3:
                case.tally("not finite, or large")
                continue
            near = [plain(x + h) for h in (-1e-3, 1e-3)]
            if not all(np.allclose(y, want, 0.1, 0.1) for y in near):
                case.tally("a step between")
                continue
            got = sg.compile(f)(x)
            assert got.shape == want.shape, said
            np.testing.assert_allclose(got, want, 5e-4, 5e-4, err_msg=said)
            v, w = rng.normal(size=x.shape), rng.normal(size=got.shape)
            tangent = sg.jvp(f, (x,), (v,))[1]
            total = sg.grad(lambda x: np.sum(f(x) * w))  # noqa: B023
            slope = total(x)
            np.testing.assert_allclose(
                np.sum(slope * v), np.sum(tangent * w), 1e-7, 1e-8, err_msg=said
            )
            np.testing.assert_allclose(sg.jacobian(f)(x) @ v, tangent, 1e-7, 1e-8, err_msg=said)
            rows = sg.vmap(f)(np.stack([x, 2 * x, x]))
            np.testing.assert_allclose(rows[[0, 2]], [got, got], 1e-9, 1e-11, err_msg=said)
            np.testing.assert_array_equal(x, before)
            second = sg.hvp(lambda x: np.sum(f(x) * w), (x,), (v,))  # noqa: B023
            for found, g in ((tangent, sg.compile(f)), (second, total)):
                a, b = ((g(x + h * v) - g(x - h * v)) / (2 * h) for h in (1e-6, 1e-5))
                if np.allclose(a, b, 1e-3, 1e-4):  # no kink between
                    np.testing.assert_allclose(found, b, 2e-3, 2e-4, err_msg=said)
