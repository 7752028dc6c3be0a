"""Points where a derivative is special, with the right value and the one found.

Branches and values that plain Python takes, repeated eigenvalues, lengths of 0, derivatives by
orders and parameters of special functions, points singled out by ``==``, integrals to limits that
move, elements that a result does not depend on. The right values are closed forms, or mpmath's to
50 digits. ``python examples/right_values.py`` prints the table, and ends with 1 if a value is
wrong; ``--wrong`` prints wrong ones alone.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.special as sc
from scipy import stats
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

import symgrad as sg

ONE = np.eye(2)
SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])
ZERO = np.zeros(3)
X = np.array([0.0, 1.0, 4.0])
PLACES = np.array([[0.0, 0.0], [1.0, 2.0]])

Case = tuple[str, Callable[[], Any], Any]
CASES: list[Case] = []


def case(name: str, right: Any) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Note a function without arguments that finds what is right."""

    def note(find: Callable[[], Any]) -> Callable[[], Any]:
        CASES.append((name, find, right))
        return find

    return note


def cases(*rows: Case) -> None:
    CASES.extend(rows)


# ---------------------------------------------------------------- state that a call leaves


class BatchNorm:
    """Keeps a running mean."""

    def __init__(self) -> None:
        self.mean = 0.0

    def __call__(self, x: Any) -> Any:
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        return x - self.mean


@case("a running mean after three calls", 0.1 * (0.81 * 7.0 + 0.9 * 7.5 + 7.5))
def running_mean() -> Any:
    norm = BatchNorm()
    f = sg.compile(norm)
    for mean in (7.0, 7.5, 7.5):
        f(np.array([mean - 1.0, mean + 1.0]))
    return norm.mean


# ---------------------------------------------------------------- spectra


def exp_by_eigh(a: Any) -> Any:
    w, v = np.linalg.eigh(a)
    return (v * np.exp(w)) @ v.T


def log_det(a: Any) -> Any:
    return np.sum(np.log(np.linalg.eigvalsh(a)))


def identity_by_svd(a: Any) -> Any:
    u, s, v = np.linalg.svd(a)
    return (u * s) @ v


def singular_squares(a: Any) -> Any:
    return np.sum(np.linalg.svd(a, compute_uv=False) ** 2)


def first_of_pair(a: Any) -> Any:
    return scipy.linalg.eigh(a, np.diag([1.0, 2.0]), eigvals_only=True)[0]


cases(
    ("exp by eigh at I, along E", lambda: sg.jvp(exp_by_eigh, (ONE,), (SWAP,))[1], math.e * SWAP),
    ("log det by eigvalsh at I, hvp", lambda: sg.hvp(log_det, (ONE,), (SWAP,)), -SWAP),
    ("identity by svd at I, along E", lambda: sg.jvp(identity_by_svd, (ONE,), (SWAP,))[1], SWAP),
    ("identity by svd at I, reverse",
     lambda: sg.grad(lambda a: identity_by_svd(a)[0, 1])(ONE), [[0, 1], [0, 0]]),
    ("sum of singular values**2 at I, diagonal of the Hessian",
     lambda: np.diag(sg.hessian(singular_squares)(ONE).reshape(4, 4)), [2, 2, 2, 2]),
    ("eigh(a, b): symmetric gradient",
     lambda: np.diff(sg.grad(first_of_pair)(np.array([[2.0, 1.0], [1.0, 3.0]]))[[0, 1], [1, 0]]),
     [0.0]),
    ("trace by eigvals at I",
     lambda: sg.grad(lambda a: np.real(np.sum(np.linalg.eigvals(a))))(ONE), ONE),
    ("det at [[1, 2], [2, 4]]",
     lambda: sg.grad(np.linalg.det)(np.array([[1.0, 2.0], [2.0, 4.0]])), [[4, -2], [-2, 1]]),
    ("det [[t, 1], [4, t]] at 2",
     lambda: sg.grad(lambda t: np.linalg.det(np.array([[t, 1.0], [4.0, t]])))(2.0), 4.0),
    ("sqrtm(ones)", lambda: sg.compile(scipy.linalg.sqrtm)(np.ones((2, 2))),
     np.full((2, 2), math.sqrt(0.5))),
    ("R[0, 0]**2 of a rank-deficient matrix",
     lambda: sg.grad(lambda a: np.linalg.qr(a)[1][0, 0] ** 2)(np.array([[1.0, 2.0], [2.0, 4.0]])),
     [[2, 0], [4, 0]]),
)  # fmt: skip


# ---------------------------------------------------------------- lengths


def matern(x: Any, y: Any) -> Any:
    r = np.sqrt(5.0) * np.linalg.norm(x - y)
    return (1 + r + r**2 / 3) * np.exp(-r)


def all_pairs(s: Any, x: Any) -> Any:
    r = np.sqrt(3 * np.sum((x[:, None] - x[None]) ** 2, -1) / s**2)
    return np.sum((1 + r) * np.exp(-r))


def nested(f: Callable[[Any], Any], order: int) -> Callable[[Any], Any]:
    for _ in range(order):
        f = sg.grad(f)
    return f


Y, ROOT15 = np.array([1.0, 2.0]), math.sqrt(15.0)
cases(
    ("cos(norm(x)) at 0, Hessian",
     lambda: sg.hessian(lambda x: np.cos(np.linalg.norm(x)))(ZERO), -np.eye(3)),
    ("norm(x)**2 at 0, Hessian",
     lambda: sg.hessian(lambda x: np.linalg.norm(x) ** 2)(ZERO), 2 * np.eye(3)),
    ("rotation by a vector at 0, Hessian of an element",
     lambda: sg.hessian(lambda w: Rotation.from_rotvec(w).as_matrix()[0, 0])(ZERO),
     np.diag([0.0, -1.0, -1.0])),
    ("angle**2 of a rotation at 0, Hessian",
     lambda: sg.hessian(lambda w: Rotation.from_rotvec(w).magnitude() ** 2)(ZERO), 2 * np.eye(3)),
    ("Matern 5/2 at equal points, Hessian", lambda: sg.hessian(matern)(Y, Y), -5 / 3 * np.eye(2)),
    ("the same, mixed", lambda: sg.jacobian(sg.grad(matern), 1)(Y, Y), 5 / 3 * np.eye(2)),
    ("Matern 3/2 of all pairs by the scale", lambda: sg.grad(all_pairs)(1.0, PLACES),
     2 * 15 * math.exp(-ROOT15)),
    ("hypot(x, 1)'' at 1e8", lambda: nested(lambda x: np.hypot(x, 1.0), 2)(1e8), 1e-24),
    ("hypot(x, 1)''' at 1e8", lambda: nested(lambda x: np.hypot(x, 1.0), 3)(1e8), -3e-32),
    ("hypot'' at (1e-190, 2e-200)",
     lambda: nested(lambda x: np.hypot(x, 2e-200), 2)(1e-190), 4e170),
    ("abs at inf + 0j", lambda: sg.grad(np.abs)(complex(math.inf, 0.0)), 1.0),
)  # fmt: skip


# ---------------------------------------------------------------- elements that do not matter


def segment(d: Any) -> Any:
    h = 3.0
    if h > d:
        h = d
    r = d / 2
    return r * r * np.arccos((r - h) / r) - (r - h) * np.sqrt(2 * r * h - h * h)


cases(
    ("sqrt(x)[1:] at 0", lambda: sg.grad(lambda x: np.sum(np.sqrt(x)[1:]))(X), [0, 0.5, 0.25]),
    ("arccos(x)[0], another outside",
     lambda: sg.grad(lambda x: np.arccos(x)[0])(np.array([-0.5, 0.5, 2.0])),
     [-2 / math.sqrt(3), 0, 0]),
    ("constant mask", lambda: sg.grad(lambda x: np.sum(np.array([0.0, 1, 1]) * np.sqrt(x)))(X),
     [0, 0.5, 0.25]),
    ("jacobian(sqrt) at 0", lambda: sg.jacobian(np.sqrt)(np.array([0.0, 4.0])),
     [[math.inf, 0], [0, 0.25]]),
    ("hessian of sum sqrt at 0",
     lambda: sg.hessian(lambda x: np.sum(np.sqrt(x)))(np.array([0.0, 4.0])),
     [[-math.inf, 0], [0, -1 / 32]]),
    ("sorted, without the first", lambda: sg.grad(lambda x: np.sum(np.sort(np.sqrt(x))[1:]))(X),
     [0, 0.5, 0.25]),
    ("area of a full segment by its diameter", lambda: sg.grad(segment)(0.6), math.pi * 0.3),
    ("logsumexp([0, inf])", lambda: sg.grad(sc.logsumexp)(np.array([0.0, math.inf])), [0, 1]),
)  # fmt: skip


# ---------------------------------------------------------------- special functions


def half_line(s: Any) -> Any:
    return stats.truncnorm.logpdf(0.5, (0 - 0.2) / s, (np.inf - 0.2) / s, 0.2, s)


cases(
    ("zeta'(1.5)", lambda: sg.grad(sc.zeta)(1.5), mpmath.diff(mpmath.zeta, 1.5)),
    ("zeta''(1.5)", lambda: nested(sc.zeta, 2)(1.5), mpmath.diff(mpmath.zeta, 1.5, 2)),
    ("jv by the order at (2.5, 3)", lambda: sg.grad(sc.jv)(2.5, 3.0),
     mpmath.diff(lambda v: mpmath.besselj(v, 3), 2.5)),
    ("hyp2f1 by a", lambda: sg.grad(sc.hyp2f1)(0.5, 1.0, 1.5, 0.3),
     mpmath.diff(lambda a: mpmath.hyp2f1(a, 1, 1.5, 0.3), 0.5)),
    ("spence''(1)", lambda: nested(sc.spence, 2)(1.0), 0.5),
    ("spence'''(1)", lambda: nested(sc.spence, 3)(1.0), -2 / 3),
    ("spence' at 1e-300", lambda: sg.grad(sc.spence)(1e-300), -690.7755278982137),
    ("rgamma'(0)", lambda: sg.grad(sc.rgamma)(0.0), 1.0),
    ("rgamma'(-1)", lambda: sg.grad(sc.rgamma)(-1.0), -1.0),
    ("rgamma'(-2)", lambda: sg.grad(sc.rgamma)(-2.0), 2.0),
    ("gammainc(1, x)'' at 0", lambda: sg.grad(sg.grad(sc.gammainc, 1), 1)(1.0, 0.0), -1.0),
    ("betainc(1, 3, x)'' at 0", lambda: sg.grad(sg.grad(sc.betainc, 2), 2)(1.0, 3.0, 0.0), -6.0),
    ("struve(1, x)' at 0", lambda: sg.grad(lambda x: sc.struve(1, x))(0.0), 0.0),
    ("ellipkinc(.7, m)' at 1", lambda: sg.grad(sc.ellipkinc, 1)(0.7, 1.0),
     mpmath.quad(lambda t: mpmath.sin(t) ** 2 / mpmath.cos(t) ** 3 / 2, [0, 0.7])),
    ("x**x at 1e-310", lambda: sg.grad(lambda x: x**x)(1e-310), -712.8013788281542),
    ("truncnorm on a half-line by the scale", lambda: sg.grad(half_line)(1.0), -0.774985364),
)  # fmt: skip


# ---------------------------------------------------------------- points singled out, moving ends


def singled_out(x: Any) -> Any:
    return 1.0 if x == 0 else np.sin(x) / x


def exchanger(r: Any) -> Any:
    return 0.5 if r == 1.0 else (1.0 - np.exp(r - 1.0)) / (1.0 - r * np.exp(r - 1.0))


def oscillator(power: float) -> Callable[[Any], Any]:
    def f(e: Any) -> Any:
        end = np.sqrt(2 * e)
        return quad(lambda x: (2 * (e - 0.5 * x * x)) ** power, -end, end)[0]

    return f


cases(
    ("sin(x)/x with 1 at 0, second derivative", lambda: nested(singled_out, 2)(0.0), -1 / 3),
    ("heat exchanger at the ratio singled out", lambda: sg.grad(exchanger)(1.0), -1 / 8),
    ("integral of sqrt(a - x) to a",
     lambda: sg.grad(lambda a: quad(lambda x: np.sqrt(a - x), 0.0, a)[0])(2.0), math.sqrt(2)),
    ("integral of log(a - x) to a",
     lambda: sg.grad(lambda a: quad(lambda x: np.log(a - x), 0.0, a)[0])(2.0), math.log(2)),
    ("integral of sin(a - x)/(a - x) to a",
     lambda: sg.grad(lambda a: quad(lambda x: np.sin(a - x) / (a - x), 0.0, a)[0])(1.0),
     math.sin(1.0)),
    ("action of an oscillator", lambda: sg.grad(oscillator(0.5))(1.5), math.pi),
    ("period of an oscillator", lambda: oscillator(-0.5)(1.5) * 0 + sg.grad(oscillator(-0.5))(1.5),
     0.0),
)  # fmt: skip


# ---------------------------------------------------------------- sparse arrays


def stored(x: Any) -> Any:
    return scipy.sparse.csr_array(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])).nnz + 0.0 * x


cases(("entries that csr_array stores", lambda: sg.compile(stored)(1.0), 2.0))


def agrees(found: np.ndarray, right: Any) -> bool:
    right = np.asarray(right, float)
    scale = max(1e-300, float(np.max(np.abs(right[np.isfinite(right)]), initial=0.0)))
    absolute = 1e-7 * scale if np.any(right) else 1e-6
    return found.shape == right.shape and np.allclose(found, right, rtol=2e-7, atol=absolute)


def main() -> None:
    wrong = 0
    for name, find, right in CASES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = np.asarray(find())
                found = found.real if not np.any(found.imag) else found
                right_now = agrees(found, right)
            except sg.errors.SymgradError as error:
                found, right_now = f"{type(error).__name__}: {error}"[:60], False
        wrong += not right_now
        if not right_now or "--wrong" not in sys.argv:
            shown, wanted = (
                np.array2string(
                    np.asarray(v, None if isinstance(v, str) else float), precision=9
                ).replace("\n", "")
                for v in (found, right)
            )
            print(f"{'' if right_now else 'WRONG '}{name}: right {wanted}, found {shown}")
    print(f"{len(CASES) - wrong} of {len(CASES)} right")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
