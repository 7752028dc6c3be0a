"""Counts of what a user may have many of, swept across the package's constants.

Constants of the package choose between two ways to do the same: sixteen functions in a list are
compared one by one, more as a whole. Neither answers nor acceptance may depend on such a number.
The constants are read from the source; each kind of thing is tried in one less, in as many and in
one more. All answers are closed forms.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import symgrad as sg

Trial = tuple[Callable[..., Any], tuple[Any, ...], Any, Any]
X = 0.7


def constants() -> list[int]:
    """Return the integers from 2 to 5,000 that modules of the package give names."""
    found = set()
    for path in Path(sg.__file__).parent.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(n.id.isupper() for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)):
                numbers = (n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant))
                found.update(n for n in numbers if type(n) is int and 2 <= n <= 5000)
    return sorted(found)


def _weights(n: int) -> Any:
    """Return different numbers of a known sum."""
    return 1.0 + np.arange(n) / n


# ---------------------------------------------------------------- what there may be many of


def _times(c: float) -> Callable[[Any], Any]:
    return lambda x: c * x * x


def functions_in(kind: Callable[[list[Any]], Any]) -> Callable[[int], Trial]:
    def make(n: int) -> Trial:
        w = _weights(n)
        all_of_them = kind([_times(float(c)) for c in w])

        def f(x: Any) -> Any:
            each = all_of_them.values() if isinstance(all_of_them, dict) else all_of_them
            return sum(g(x) for g in each)

        return f, (X,), w.sum() * X**2, 2 * X * w.sum()

    return make


class Linked:
    """One of a chain of objects."""

    def __init__(self, weight: float, after: Any) -> None:
        self.weight, self.after = weight, after


def linked_objects(n: int) -> Trial:
    w, first = _weights(n), None
    for c in w:
        first = Linked(float(c), first)

    def f(x: Any) -> Any:
        total, item = 0.0 * x, first
        while item is not None:
            total, item = total + item.weight * x * x, item.after
        return total

    return f, (X,), w.sum() * X**2, 2 * X * w.sum()


def objects_in_a_list(n: int) -> Trial:
    w = _weights(n)
    items = [SimpleNamespace(weight=float(c), power=2) for c in w]
    return (
        lambda x: sum(i.weight * x**i.power for i in items),
        (X,),
        w.sum() * X**2,
        (2 * X * w.sum()),
    )


def attributes_of_an_object(n: int) -> Trial:
    w = _weights(n)
    item = Linked(1.0, None)
    vars(item).update({f"a{k}": float(c) for k, c in enumerate(w)})
    return (
        lambda x: sum(getattr(item, f"a{k}") * x * x for k in range(n)),
        (X,),
        (w.sum() * X**2),
        2 * X * w.sum(),
    )


def numbers_in_a_list(n: int) -> Trial:
    w = [float(c) for c in _weights(n)]
    return lambda x: sum(c * x * x for c in w), (X,), sum(w) * X**2, 2 * X * sum(w)


def arrays_in_a_dictionary(n: int) -> Trial:
    w = {f"w{k}": np.array([c, 1.0]) for k, c in enumerate(_weights(n))}
    total = sum(c.sum() for c in w.values())
    return lambda x: sum(np.sum(c) * x * x for c in w.values()), (X,), total * X**2, 2 * X * total


def arguments(n: int) -> Trial:
    x = _weights(n)
    return lambda *xs: sum(x * x for x in xs), tuple(map(float, x)), np.sum(x**2), 2 * x[0]


def keys_of_an_argument(n: int) -> Trial:
    x = _weights(n)
    given = {f"k{k}": float(c) for k, c in enumerate(x)}
    return (
        lambda d: sum(v * v for v in d.values()),
        (given,),
        np.sum(x**2),
        {k: 2 * v for k, v in given.items()},
    )


def depths_of_an_argument(n: int) -> Trial:
    given: Any = X
    for _ in range(n):
        given = (given,)

    def f(x: Any) -> Any:
        while isinstance(x, tuple):
            x = x[0]
        return x * x

    slope: Any = 2 * X
    for _ in range(n):
        slope = (slope,)
    return f, (given,), X**2, slope


def functions_around(n: int) -> Trial:
    f: Callable[[Any], Any] = lambda x: x * x  # noqa: E731
    for k in range(n):
        f = functools.partial(lambda g, c, x: g(x) + c * x, f, 1.0 + k % 3)
    slope = sum(1.0 + k % 3 for k in range(n))
    return f, (X,), X**2 + slope * X, 2 * X + slope


def writes(n: int) -> Trial:
    x = _weights(n)

    def f(x: Any) -> Any:
        out = np.zeros(n)
        for k in range(n):
            out[k] = x[k] * (k + 1)
        return np.sum(out)

    return f, (x,), np.sum(x * np.arange(1, n + 1)), np.arange(1.0, n + 1)


def branches(n: int) -> Trial:
    text = "def f(x):\n" + "".join(
        f"    {'if' if k == 0 else 'elif'} x < {k}: return {k + 1}.0 * x\n" for k in range(n)
    )
    scope: dict[str, Any] = {}
    exec(text + "    return x\n", scope)
    x = n - 1.5
    k = max(n - 1, 0)
    return scope["f"], (x,), (k + 1.0) * x, k + 1.0


def decisions(n: int) -> Trial:
    x = _weights(n) * np.where(np.arange(n) % 2, 1, -1)

    def f(x: Any) -> Any:
        total = 0.0
        for v in x:
            total += v if v > 0 else -2 * v
        return total

    return f, (x,), np.sum(np.where(x > 0, x, -2 * x)), np.where(x > 0, 1.0, -2.0)


def lengths(n: int) -> Trial:
    x = _weights(n)[::-1].copy()
    f = lambda x: np.sum(x * np.cumsum(x)) + np.sort(x)[0] + x @ x + np.max(x)  # noqa: E731
    slope = np.sum(x) + 3 * x
    slope[n - 1] += 1.0
    slope[0] += 1.0
    return f, (x,), f(x), slope


def steps_of_python(n: int) -> Trial:
    def f(x: Any) -> Any:
        y = x
        for _ in range(n):
            y = y / (1.0 + y)
        return y

    return f, (X,), X / (1 + n * X), 1 / (1 + n * X) ** 2


def steps_of_a_loop(n: int) -> Trial:
    def f(x: Any) -> Any:
        return sg.fori_loop(0, n, lambda _, y: y / (1.0 + y), x)

    return f, (X,), X / (1 + n * X), 1 / (1 + n * X) ** 2


def followed_steps(n: int) -> Trial:
    f, *rest = steps_of_python(n)
    return (sg.compile(f, control_flow=True), *rest)  # type: ignore[return-value]


def recurrences(n: int) -> Trial:
    x = _weights(n)

    def f(x: Any) -> Any:
        y = np.zeros(n)
        for i in range(1, n):
            y[i] = x[i] + y[i - 1]
        return y[n - 1]

    return f, (x,), np.sum(x[1:]), np.where(np.arange(n) > 0, 1.0, 0.0)


def parts(n: int) -> Trial:
    x = _weights(n)
    f = lambda x: np.sum(np.concatenate([k * x[k : k + 1] for k in range(n)]) ** 2)  # noqa: E731
    k = np.arange(n)
    return f, (x,), np.sum((k * x) ** 2), 2 * k**2 * x


def axes(n: int) -> Trial:
    shape = (2, 3, *(1,) * n)[:n] if n <= 64 else None
    x = np.reshape(_weights(int(np.prod(shape))), shape)
    return lambda x: np.sum(x**2), (x,), np.sum(x**2), 2 * x


def equations(n: int) -> Trial:
    b, own = _weights(n), np.eye(n) * 2.0 + np.ones((n, n)) / n
    f = lambda b: np.sum(np.linalg.solve(own, b))  # noqa: E731
    return f, (b,), np.sum(b) / 3.0, np.full(n, 1 / 3.0)


def unknowns_of_a_differential_equation(n: int) -> Trial:
    y = _weights(n)

    def f(y: Any) -> Any:
        return np.sum(scipy.integrate.solve_ivp(
            lambda t, y: -0.5 * y, (0.0, 1.0), y, rtol=1e-10, atol=1e-12
        ).y[:, -1])  # fmt: skip

    e = np.exp(-0.5)
    return f, (y,), e * y.sum(), np.full(n, e)


def members(n: int) -> Trial:
    x = _weights(n)
    return (
        lambda x: np.sum(sg.vmap(lambda v: np.sin(v) * v)(x)),
        (x,),
        np.sum(np.sin(x) * x),
        (np.cos(x) * x + np.sin(x)),
    )


def columns_of_a_jacobian(n: int) -> Trial:
    x = _weights(n)

    def powers(x: Any) -> Any:
        return np.stack([np.sum(x**2), np.sum(x**3)])

    def f(x: Any) -> Any:
        return np.sum(np.cos(x)) * np.sum(sg.jacobian(powers)(x)[:, 0])

    inner, further = 2 * x[0] + 3 * x[0] ** 2, np.zeros(n)
    further[0] = np.sum(np.cos(x)) * (2 + 6 * x[0])
    return f, (x,), np.sum(np.cos(x)) * inner, further - np.sin(x) * inner


def coefficients(n: int) -> Trial:
    c = _weights(n)
    powers = X ** np.arange(n - 1, -1, -1)
    slope = np.sum(c[:-1] * np.arange(n - 1, 0, -1) * X ** np.arange(n - 2, -1, -1.0))
    return lambda x: np.polyval(c, x), (X,), c @ powers, slope


KINDS: dict[str, tuple[Callable[[int], Trial], int]] = {
    "functions in a list": (functions_in(list), 1100),
    "functions in a tuple": (functions_in(tuple), 600),
    "functions in a dictionary": (
        functions_in(lambda fs: {f"f{k}": f for k, f in enumerate(fs)}), 600
    ),
    "linked objects": (linked_objects, 600),
    "objects in a list": (objects_in_a_list, 600),
    "attributes": (attributes_of_an_object, 600),
    "numbers in a list": (numbers_in_a_list, 1100),
    "arrays in a dictionary": (arrays_in_a_dictionary, 600),
    "arguments": (arguments, 260),
    "keys": (keys_of_an_argument, 520),
    "depths": (depths_of_an_argument, 150),
    "functions around": (functions_around, 100),
    "writes": (writes, 600),
    "branches": (branches, 130),
    "decisions": (decisions, 300),
    "lengths": (lengths, 4100),
    "steps of Python": (steps_of_python, 4100),
    "steps of a loop": (steps_of_a_loop, 4100),
    "followed steps": (followed_steps, 4100),
    "recurrences": (recurrences, 600),
    "parts": (parts, 300),
    "axes": (axes, 32),
    "equations": (equations, 300),
    "unknowns": (unknowns_of_a_differential_equation, 130),
    "members": (members, 4100),
    "columns": (columns_of_a_jacobian, 300),
    "coefficients": (coefficients, 300),
}  # fmt: skip


def sweep() -> list[tuple[str, int]]:
    """Return kinds and counts, in an order whose beginning has something of all."""
    near = sorted({c + d for c in constants() for d in (-1, 0, 1) if c + d > 1})
    found = [(kind, n) for kind, (_, most) in KINDS.items() for n in near if n <= most]
    order = np.random.default_rng(46).permutation(len(found))
    return [found[k] for k in order]


SWEEP = sweep()


@pytest.mark.attack(quick=25, whole=3249, part=100, judge="closed forms")
@pytest.mark.filterwarnings("ignore::symgrad.errors.CaptureWarning")
def test_counts(attack: Any) -> None:
    """One less, as many and one more than each constant of the package."""
    for case in attack:
        with case:
            kind, n = SWEEP[case.number % len(SWEEP)]
            f, args, value, slope = KINDS[kind][0](n)
            try:
                found = sg.value_and_grad(f)(*args)
            except Exception as error:
                error.add_note(f"{n} {kind}")
                raise
            same = functools.partial(
                np.testing.assert_allclose, rtol=1e-6 if kind == "unknowns" else 1e-9, atol=1e-12,
                err_msg=f"{n} {kind}",
            )  # fmt: skip
            same(found[0], value)
            flat, want = found[1], slope
            while isinstance(want, tuple):
                flat, want = flat[0], want[0]
            if isinstance(want, dict):
                assert flat.keys() == want.keys()
                flat, want = list(flat.values()), list(want.values())
            same(flat, want)


def test_constants_are_found() -> None:
    """The sweep has those of containers and of steps, whatever they are now."""
    from symgrad._capture import _reads  # a constant that once was a cliff

    assert {_reads.SEPARATE, _reads.SEPARATE_FUNCTIONS} <= set(constants())
    assert len(constants()) > 60
