"""Edits of a function's source that keep its meaning keep its value and its derivatives.

A case is a program, one kind of edit (they take turns), and up to five more at random. Plain Python
proves each edit: one after which the program has another value, or none, is dropped. The edited
program is written to a module, and symgrad's value, gradient, Hessian times a vector, batch and
sparse Jacobian have to be those of differences of the plain program that nobody edited, and, to
rounding, symgrad's own of that. Refusals are counted; a refusal that is not listed here is a
failure.
"""

from __future__ import annotations

import functools
import linecache
import re
import sys
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import SymgradError
from tests.attacks.edits import EDITS, edited, pick

pytestmark = [
    pytest.mark.filterwarnings("ignore::symgrad.errors.PathsWarning"),
    pytest.mark.filterwarnings("ignore::symgrad.errors.SparsityWarning"),
]

#: Programs of ``x``, an array, and ``a``, a number.
PROGRAMS: dict[str, str] = {
    "Rosenbrock": """
        def f(x, a):
            total = 0.0
            for i in range(len(x) - 1):
                total += a * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
            return total
        """,
    "chain of springs": """
        def energy(stretch, stiffness=1.5):
            return 0.5 * stiffness * stretch ** 2
        def f(x, a):
            rest = np.linspace(0.0, 1.0, 5)
            gaps = np.diff(x + rest)
            total = sum(energy(g - 0.3) for g in gaps)
            return total + np.sum(np.sin(a * x))
        """,
    "Euler's steps": """
        def rate(y, a):
            return np.array([y[0] * (1.0 - y[1]), a * y[1] * (y[0] - 1.0)])
        def f(x, a):
            y = np.array([x[0] + 1.0, x[1]])
            for _ in range(4):
                y = y + 0.1 * rate(y, a)
            return y
        """,
    "Runge-Kutta": """
        def f(x, a):
            q, p = x[0], x[1]
            h = 0.2
            for k in range(3):
                def force(s):
                    return -math.sin(s) * a
                p1 = p + 0.5 * h * force(q)
                q = q + h * p1
                p = p1 + 0.5 * h * force(q)
            return q * q + p * x[2]
        """,
    "logistic loss": """
        DATA = np.array([[0.5, -1.0, 0.3], [1.5, 0.2, -0.7], [-0.4, 0.9, 1.1], [0.1, 0.4, -0.2]])
        LABELS = np.array([1.0, 0.0, 1.0, 0.0])
        def f(x, a):
            score = DATA @ x[:3] + x[3]
            p = 1.0 / (1.0 + np.exp(-score))
            loss = -np.mean(LABELS * np.log(p) + (1.0 - LABELS) * np.log(1.0 - p))
            return loss + 0.5 * a * np.dot(x, x)
        """,
    "network": """
        W = np.array([
            [0.3, -0.8, 0.5, 0.1, -0.2], [0.7, 0.2, -0.4, 0.6, 0.9], [0.1, 0.5, 0.3, -0.6, 0.4]])
        class Layer:
            def __init__(self, weights, bias):
                self.weights, self.bias = weights, bias
            def __call__(self, v):
                return np.tanh(self.weights @ v + self.bias)
        def f(x, a):
            first = Layer(W, 0.1)
            second = Layer(W.T * a, x)
            return second(first(x))
        """,
    "softmax": """
        def softmax(z):
            z = z - np.max(z)
            e = np.exp(z)
            return e / np.sum(e)
        def f(x, a):
            return softmax(a * x) * np.arange(1.0, 6.0)
        """,
    "linear system": """
        def f(x, a):
            m = np.diag(2.0 + x ** 2) + 0.1 * np.ones((5, 5))
            b = np.cos(x) + a
            return np.linalg.solve(m, b)
        """,
    "Gaussian likelihood": """
        def f(x, a):
            points = np.array([0.2, 1.1, -0.4, 0.8])
            mean, scale = x[0], np.exp(x[1])
            z = (points - mean) / scale
            lp = -0.5 * np.sum(z ** 2) - len(points) * math.log(2.0) - 4 * x[1]
            if a > 0.5:
                lp = lp - 0.1 * mean ** 2
            else:
                lp = lp + mean
            return lp
        """,
    "heat": """
        def f(x, a):
            u = np.zeros(7)
            u[1:6] = x
            for _ in range(3):
                v = u.copy()
                v[1:-1] = u[1:-1] + 0.2 * a * (u[2:] - 2.0 * u[1:-1] + u[:-2])
                u = v
            return u[1:6]
        """,
    "stencil in place": """
        def f(x, a):
            y = np.zeros_like(x)
            for i in range(1, len(x) - 1):
                y[i] = a * (x[i - 1] * x[i + 1] - np.sin(x[i]))
            y[0] = x[0] ** 2
            y[-1] += x[-1] / 3.0
            return y
        """,
    "Horner": """
        def f(x, a):
            y = 0.0
            for c in x[::-1]:
                y = y * a + c ** 2
            return y
        """,
    "distances": """
        def f(x, a):
            p = np.stack([x, x[::-1] * 0.5 + np.arange(5.0)], axis=1)
            total = 0.0
            for i in range(5):
                for j in range(i):
                    d = p[i] - p[j]
                    r = np.sqrt(d @ d + 0.1)
                    total += np.exp(-r / a) / r
            return total
        """,
    "Newton": """
        def f(x, a):
            y = 1.0 + abs(a)
            for _ in range(4):
                y = y - (y ** 3 - x[0] ** 2 - 2.0) / (3.0 * y ** 2)
            return y * x[1]
        """,
    "branches": """
        def f(x, a):
            out = []
            for v in x:
                if v > 0.4:
                    out.append(v ** 2 * a)
                elif v > -0.2:
                    out.append(0.16 * a + v)
                else:
                    out.append(math.exp(v))
            return np.array(out)
        """,
    "limits": """
        def f(x, a):
            y = np.maximum(x, 0.1) + np.minimum(a * x, 0.3)
            z = np.where(x > 0.2, y ** 2, np.abs(y) * 0.5)
            return z + np.clip(x, -0.3, 0.9) * a
        """,
    "returns": """
        def f(x, a):
            growth = np.cumsum(np.log1p(0.1 * x))
            worst = growth[0]
            for g in growth[1:]:
                worst = min(worst, g)
            return np.sum(growth * a) + worst
        """,
    "option": """
        def cdf(z):
            return 0.5 * (1.0 + math.erf(z / math.sqrt(2.0)))
        def f(x, a):
            s, k, t = 1.0 + x[0] ** 2, 1.1, 0.5 + a ** 2
            sigma = 0.2 + 0.1 * x[1] ** 2
            d1 = (math.log(s / k) + 0.5 * sigma ** 2 * t) / (sigma * math.sqrt(t))
            d2 = d1 - sigma * math.sqrt(t)
            return s * cdf(d1) - k * math.exp(-0.05 * t) * cdf(d2) + x[2] * x[3]
        """,
    "arm": """
        def turn(angle):
            c, s = np.cos(angle), np.sin(angle)
            return np.array([[c, -s], [s, c]])
        def f(x, a):
            pose, place = np.eye(2), np.zeros(2)
            for angle, length in zip(x, [1.0, 0.8, 0.6, 0.4, 0.2]):
                pose = pose @ turn(angle)
                place = place + pose @ np.array([length * a, 0.0])
            return place
        """,
    "recursion": """
        def tree(v, depth):
            if depth == 0:
                return v ** 2
            return tree(v * 0.5, depth - 1) + math.sin(tree(v + 0.1, depth - 1))
        def f(x, a):
            return tree(x[0], 2) * a + x[1] * x[2]
        """,
    "comprehensions": """
        def f(x, a):
            squares = [v * v for v in x]
            pairs = [p * q for p, q in zip(squares, squares[1:])]
            table = {k: v for k, v in enumerate(pairs)}
            chosen = [table[k] for k in table if k % 2 == 0]
            return sum(chosen) * a + max(squares)
        """,
    "filter": """
        class Filter:
            def __init__(self, gain):
                self.gain, self.state, self.seen = gain, 0.0, []
            def step(self, v):
                self.state = self.state + self.gain * (v - self.state)
                self.seen.append(self.state)
                return self.state
            @property
            def energy(self):
                return sum(s ** 2 for s in self.seen)
        def f(x, a):
            it = Filter(0.3 + 0.1 * a)
            for v in x:
                it.step(v)
            return it.energy + it.state
        """,
    "convolution": """
        def f(x, a):
            kernel = np.array([0.25, 0.5, 0.25])
            smooth = np.array([np.dot(kernel, x[i:i + 3]) for i in range(len(x) - 2)])
            total = np.sum(smooth ** 2)
            return smooth / (1.0 + a * total)
        """,
    "moments": """
        def f(x, a):
            m = np.mean(x)
            centred = x - m
            var = np.sum(centred ** 2) / len(x) + 0.1
            skew = np.mean(centred ** 3) / var ** 1.5
            return np.array([m, a * var, skew])
        """,
    "implicit step": """
        def f(x, a):
            y = x.copy()
            i = 0
            while i < 3:
                y = (y + 0.1 * np.cos(y)) / (1.0 + 0.1 * a)
                i += 1
            return y[1:] - y[:-1]
        """,
    "angles": """
        def f(x, a):
            r = np.hypot(x[0], a)
            t = math.atan2(x[1], 1.0 + x[2] ** 2)
            return r * math.cos(t) + math.sinh(0.3 * t) - math.tanh(x[3])
        """,
    "determinant": """
        def f(x, a):
            m = np.outer(x, x) + np.eye(5) * (1.0 + a ** 2)
            sign, log = np.linalg.slogdet(m)
            return log + np.trace(np.linalg.inv(m))
        """,
    "trapezoids": """
        def f(x, a):
            t = np.linspace(0.0, 1.0, 9)
            y = np.exp(-a * t) * np.sin(x[0] * t) + x[1] * t ** 2
            area = np.sum((t[1:] - t[:-1]) * (y[1:] + y[:-1]) / 2.0)
            return area + np.linalg.norm(x)
        """,
    "matrix": """
        def f(x, a):
            m = np.outer(x, np.array([1.0, 2.0, 3.0])) + a
            s = np.sin(m)
            g = s.T @ s
            return np.sum(g * g[::-1]) + np.max(np.sum(np.abs(s) + 1.0, axis=0))
        """,
    "rolled": """
        def f(x, a):
            left, right = np.roll(x, 1), np.roll(x, -1)
            flux = 0.5 * (left + right) * x
            out = flux - a * (left - 2.0 * x + right)
            return out
        """,
    "steps that end": """
        def f(x, a):
            y, n = 1.0 + x[0] ** 2, 0
            while y > 0.2:
                y = y * 0.5
                n += 1
                if n > 6:
                    break
            return y * x[1] + n * a * x[2]
        """,
    "generator": """
        def powers(v, n):
            p = 1.0
            for k in range(n):
                yield p
                p = p * v
        def f(x, a):
            return sum(c * p for c, p in zip(x, powers(a, len(x))))
        """,
    "ranges": """
        def f(x, a):
            if not np.all(np.isfinite(x)):
                raise ValueError(f"not finite: {x}")
            low = -1.0 < x[0] < 3.0 and a > 0.0
            y = x[1] if low else x[2]
            z = y * y if (x[3] > 0.9 or low) else -y
            return z + np.prod(1.0 + 0.2 * x)
        """,
}  # fmt: skip

SIZE = 5
#: Values where no program has a kink.
POINTS = (
    (np.array([0.62, -0.41, 0.93, 0.27, 0.55]), 0.7),
    (np.array([0.58, -0.37, 0.88, 0.31, 0.49]), 0.8),
)

#: What holds a function that a walk through what a program reads does not follow.
_HIDDEN = "context variable|thread local|weak reference|__getattr__|singledispatch|cached factory"

#: Refusals that are known: their kind, the edits that bring them, and the text of the error.
REFUSALS: tuple[tuple[str, str, str], ...] = (
    (
        "functions out of sight",  # are called as they are, with NumPy's own functions
        f"a function: ({_HIDDEN})",
        "was asked of|which is compiled|writes into a plain array|was assigned into",
    ),
    ("written into what asarray gives", ".*", "(?s)into a plain array"),
    ("an index by a test", "by a test|by int of a test|conditional expression", "an index"),
    ("functions of another range", "emath", "scimath"),
)


def run(scope: dict[str, Any]) -> list[Any]:
    return [scope["f"](x.copy(), a) for x, a in POINTS]


def module_of(source: str, name: str) -> ModuleType:
    """Return the module of a text whose lines can be looked up."""
    module = ModuleType(name)
    module.__file__ = f"<{name}>"
    linecache.cache[f"<{name}>"] = len(source), None, source.splitlines(keepends=True), f"<{name}>"
    sys.modules[name] = module
    exec(compile(source, f"<{name}>", "exec", dont_inherit=True), vars(module))
    return module


def text_of(name: str) -> str:
    lines = PROGRAMS[name].strip("\n").splitlines()
    return "import math\nimport numpy as np\n" + "\n".join(line[8:] for line in lines) + "\n"


WEIGHTS = np.array([0.3, -0.7, 1.1, 0.5, -0.9])


def summed(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose result is one number."""

    def total(x: Any, a: Any) -> Any:
        y = f(x, a)
        return y if np.ndim(y) == 0 else np.dot(y, WEIGHTS[: len(y)])

    return total


def results(f: Callable[..., Any], vectors: bool, ways: tuple[str, ...]) -> dict[str, Any]:
    """Return what symgrad computes of a program."""
    (x, a), (u, b) = POINTS
    total, found = summed(f), {}
    if "value" in ways:
        g = sg.compile(f)
        found["value"] = [g(x, a), g(u, b)]
    if "loops" in ways:
        g = sg.compile(f, control_flow=True)
        found["loops"] = [g(x, a), g(u, b)]
    if "gradient" in ways:
        g = sg.grad(total, argnums=(0, 1))
        found["gradient"] = [*g(x, a), *g(u, b)]
    if "hvp" in ways:
        found["hvp"] = [sg.jvp(lambda x: sg.grad(total)(x, a), (x,), (WEIGHTS,))[1]]
    if "vmap" in ways:
        found["vmap"] = [sg.vmap(f)(np.stack([x, u]), np.array([a, b]))]
    if "sparse" in ways and vectors:
        found["sparse"] = [sg.jacobian(f, sparse=True)(x, a).toarray()]
    return found


WAYS = ("value", "loops", "gradient", "hvp", "vmap", "sparse")


@functools.cache
def unedited(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what plain Python and its differences say of a program, and what symgrad says."""
    f = module_of(text_of(name), f"unedited_{list(PROGRAMS).index(name)}").f
    values = [np.asarray(f(x, a)) for x, a in POINTS]
    total = summed(f)

    def gradient(x: Any, a: float) -> Any:
        z = np.append(x, a)
        return differences(lambda z: total(z[:-1], z[-1]), z)

    first = [gradient(x, a) for x, a in POINTS]
    (x, a), _ = POINTS
    plain: dict[str, Any] = {
        "value": values,
        "loops": values,
        "gradient": [p for g in first for p in (g[:-1], g[-1])],
        "hvp": [differences(lambda t: gradient(x + t[0] * WEIGHTS, a)[:-1], np.zeros(1))[..., 0]],
        "vmap": [np.stack(values)],
    }
    if values[0].ndim:
        plain["sparse"] = [differences(lambda x: f(x, a), x)]
    return plain, results(f, values[0].ndim > 0, WAYS)


def differences(f: Callable[[Any], Any], x: Any) -> Any:
    """Return the derivative by extrapolated differences; its last axis is that of ``x``."""
    columns = []
    for e in np.eye(len(x)):
        d = [(np.asarray(f(x + h * e)) - f(x - h * e)) / (2 * h) for h in (4e-3, 2e-3, 1e-3)]
        once = [(4 * d[1] - d[0]) / 3, (4 * d[2] - d[1]) / 3]
        columns.append((16 * once[1] - once[0]) / 15)
    return np.stack(columns, axis=-1)


def alike(got: Any, want: Any, tolerance: float) -> bool:
    got, want = np.asarray(got, float), np.asarray(want, float)
    scale = max(1.0, float(np.max(np.abs(want), initial=0.0)))
    return got.shape == want.shape and bool(np.all(np.abs(got - want) <= tolerance * scale))


def kept(before: list[Any], source: str) -> bool:
    """Tell whether a program has the same values in plain Python."""
    try:
        scope: dict[str, Any] = {"__name__": "edited"}
        exec(compile(source, "<edited>", "exec", dont_inherit=True), scope)
        after = run(scope)
    except Exception:  # noqa: BLE001 - whatever it is, the edit has changed the meaning
        return False
    return all(alike(b, a, 1e-11) for a, b in zip(before, after, strict=True))


class Edited:
    """A program with edits.

    Parameters
    ----------
    rng:
        Chooses.
    first:
        The edit that it has to have; others come at random.
    """

    def __init__(self, rng: np.random.Generator, first: str) -> None:
        self.edits: list[str] = []
        self.name = ""
        for name in rng.permutation(list(PROGRAMS)):
            self.name, self.source = str(name), text_of(name)
            self.before = [np.asarray(y) for y in unedited(self.name)[0]["value"]]
            if self.put(rng, first):
                break
        else:
            return
        for _ in range(int(rng.integers(6))):
            self.put(rng, pick(rng, list(EDITS)))

    def put(self, rng: np.random.Generator, name: str) -> bool:
        """Make an edit, if it can be made and keeps the meaning."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = edited(self.source, run, name, rng)
            if text is None or not kept(self.before, text):
                return False
        self.source = text
        self.edits.append(name)
        return True


def refused(error: SymgradError, edits: list[str]) -> str | None:
    """Return the listed kind of a refusal."""
    for kind, by, text in REFUSALS:
        if re.search(text, str(error)) and any(re.match(f".*({by})", name) for name in edits):
            return kind
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("no_kernels")
@pytest.mark.attack(quick=20, whole=20_000, part=200, judge="the unedited program in plain Python")
def test_edits(attack: Any) -> None:
    """Edits of source that keep its meaning: nearly a thousand kinds, up to six at once."""
    names = list(EDITS)
    for case in attack:
        with case, np.errstate(all="ignore"):
            rng = case.rng
            p = Edited(rng, names[(case.number * 389) % len(names)])
            if not p.edits:
                case.tally("no place for the edit")
                continue
            check(p, case)


def check(p: Edited, case: Any) -> None:
    """Compare what symgrad makes of an edited program with the unedited one."""
    plain, own = unedited(p.name)
    told = f"{p.edits}\n{p.source[p.source.rindex('def f') if 'def f' in p.source else 0 :]}"
    name = f"edited_{case.number}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = module_of(p.source, name).f
        kinds = set()
        try:
            for way in WAYS:
                try:
                    found = results(f, p.before[0].ndim > 0, (way,))
                except SymgradError as error:
                    kind = refused(error, p.edits)
                    if kind is None:
                        raise AssertionError(f"{way}: refused: {error}\n{told}") from error
                    kinds.add(kind)
                    continue
                except Exception as error:
                    raise AssertionError(f"{way}: {type(error)}: {error}\n{told}") from error
                for got, want, ours in zip(
                    found.get(way, ()), plain.get(way, ()), own.get(way, ()), strict=True
                ):
                    near = 1e-9 if way in ("value", "loops", "vmap") else 1e-6
                    assert alike(got, want, near), f"{way}: {got}, not {want}\n{told}"
                    assert alike(got, ours, 1e-8), f"{way}: {got}, not {ours}\n{told}"
        finally:
            sys.modules.pop(name, None)
            linecache.cache.pop(f"<{name}>", None)
    for kind in sorted(kinds)[:1]:
        case.tally(f"refused: {kind}")


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.quick(2)
def test_programs_have_no_kinks_where_they_are_compared(name: str) -> None:
    plain, own = unedited(name)
    assert own.keys() == plain.keys()
    for way, values in own.items():
        for got, want in zip(values, plain[way], strict=True):
            assert alike(got, want, 1e-6), (way, got, want)


def test_there_are_many_kinds_of_edits() -> None:
    assert len(EDITS) > 150
