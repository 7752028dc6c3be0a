"""Solvers called with functions that are made anew, whose solutions are known."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.scipy import optimize

pytestmark = pytest.mark.usefixtures("few_kernels")


class Model:
    def __init__(self, target: Any) -> None:
        self.target = target

    def residual(self, x: Any) -> Any:
        return np.sinh(x - self.target)

    def __call__(self, x: Any) -> Any:
        return self.residual(x)


def _by_helper(target: Any) -> Any:
    def aim() -> Any:
        return target

    return lambda x: np.sinh(x - aim())


def _by_branch(target: Any) -> Any:
    flag = bool(target[0] > 0)

    def residual(x: Any) -> Any:
        return np.sinh(x - target) if flag else (x - target) * 2.0

    return residual


def _by_whole_number(target: Any) -> Any:
    k, table = int(abs(target[0])) % 3, [target, target, target]
    table[(k + 1) % 3] = target + 1.0
    return lambda x: np.sinh(x - table[k])


def _by_number(target: Any) -> Any:
    first, rest = float(target[0]), target[1:]

    def residual(x: Any) -> Any:
        return np.concatenate([[x[0] - first], np.sinh(x[1:] - rest)])

    return residual


def _with_default(target: Any) -> Any:
    return lambda x, aim=target: np.sinh(x - aim)


def _nested(target: Any) -> Any:
    def residual(x: Any) -> Any:
        inner = optimize.root(lambda y: np.sinh(y - target), np.zeros(len(target))).x
        return np.sinh(x - inner)

    return residual


FAMILIES: list[Any] = [
    _by_helper, _by_branch, _by_whole_number, _by_number, _with_default, _nested,
    lambda target: Model(target), lambda target: Model(target).residual,
    lambda target: partial(lambda aim, x: np.sinh(x - aim), target),
    lambda target: sg.compile(lambda x: np.sinh(x - target)),
]  # fmt: skip


def _solved(solver: int, residual: Any, n: int) -> Any:
    """Return where a function is zero, by one of the solvers."""
    start = np.zeros(n)
    if solver == 0:
        return optimize.least_squares(residual, start, xtol=1e-14, ftol=1e-14, gtol=1e-14).x
    if solver == 1:
        return optimize.root(residual, start, tol=1e-12).x
    if solver == 2:
        cost = partial(_cost, residual)
        return optimize.minimize(cost, start, method="trust-exact", options={"gtol": 1e-9}).x
    if solver == 3:
        holds = [{"type": "eq", "fun": lambda x, k=k: np.ravel(residual(x))[k]} for k in range(n)]
        return optimize.minimize(lambda x: 0.0 * np.sum(x), start, method="SLSQP",
                                 constraints=holds, options={"ftol": 1e-14}).x  # fmt: skip
    if solver in (5, 6):
        return _by_columns(residual, start) if solver == 5 else _by_rows(residual, start)
    problem = sg.nlp(lambda x: 0.0 * np.sum(x), residual, start)
    x = start
    for _ in range(30):
        J = np.zeros((n, n))
        J[problem.jacobianstructure()] = problem.jacobian(x)
        x = x - np.linalg.solve(J, problem.constraints(x))
    return x


def _by_columns(residual: Any, x: Any) -> Any:
    """Return where Newton's method ends, with derivatives at values."""
    for _ in range(30):
        made = [sg.jvp(residual, (x,), (e,)) for e in np.eye(len(x))]
        x = x - np.linalg.solve(np.stack([tangent for _, tangent in made], 1), made[0][0])
    return x


def _by_rows(residual: Any, x: Any) -> Any:
    for _ in range(30):
        value, pull = sg.vjp(residual, x)
        x = x - np.linalg.solve(np.stack([pull(e)[0] for e in np.eye(len(x))]), value)
    return x


def _cost(residual: Any, x: Any) -> Any:
    return np.sum(residual(x) ** 2)


def _round(rng: Any, make: Any, solver: int, n: int, kept: list[Any]) -> None:
    """Solve for a function that is made anew, or for one of those that are kept."""
    target = np.round(rng.uniform(-1.5, 1.5, n), 3)
    residual = make(target)
    if rng.random() < 0.3:
        kept.append((residual, target))
    if kept and rng.random() < 0.4:
        residual, target = kept[rng.integers(len(kept))]
        if make not in (_by_branch, _by_number, _by_whole_number) and rng.random() < 0.5:
            target += 0.25
    found = _solved(solver, residual, n)
    np.testing.assert_allclose(found, target, atol=2e-5)


def _failing(x: Any) -> Any:
    raise ZeroDivisionError


def _in_thread(seed: int, make: Any, solver: int, n: int, errors: list[Any]) -> None:
    rng, kept = np.random.default_rng(seed), []
    try:
        for _ in range(3):
            _round(rng, make, solver, n, kept)
    except BaseException as error:  # noqa: BLE001 - told by the test
        errors.append(error)


@pytest.mark.attack(quick=12, whole=1_000, judge="solutions that are known")
def test_solves(attack: Any) -> None:
    """Functions made for each solve, kept, changed, failing, nested, and in threads"""
    for case in attack:
        with case:
            rng = case.rng
            make = FAMILIES[rng.integers(len(FAMILIES))]
            solver, n, kept = int(rng.integers(7)), int(rng.integers(1, 4)), []
            for _ in range(5):
                _round(rng, make, solver, n, kept)
                if rng.random() < 0.2:
                    with pytest.raises(ZeroDivisionError):
                        _solved(solver, _failing, n)
            if rng.random() < 0.2:
                case.tally("in threads")
                errors: list[Any] = []
                threads = [
                    threading.Thread(target=_in_thread, args=(seed, make, solver, n, errors))
                    for seed in rng.integers(100, size=2)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                assert not errors, errors
