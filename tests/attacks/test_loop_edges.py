"""Values of infinite or undefined slope, computed before loops whose steps may not use them.

Each case is a loop, written twice: as Python's, which computes with numbers and their slopes by
the chain rule along its own path, and as a loop of the program, as a function of one number
``x``. What is not on Python's path has no part in the derivative.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import symgrad as sg

from .test_batched_control import Slope

#: Values before the loop; at the points tried, some have slopes that are infinite or nan.
BEFORE = ("np.sqrt(x)", "np.log(x)", "1 / x", "np.sqrt(abs(x))", "np.exp(900 * x)", "x * x",
          "np.sin(x)", "2 * x", "np.sqrt(x - 1)", "x / (x - 1)")  # fmt: skip
#: What a step computes: ``c``, ``d`` are carried, ``k`` is the step, ``y`` an element of a list.
TERMS = ("c", "d", "u", "v", "w", "y", "x", "c * u", "c + v", "d - w", "u * v", "c * c", "0.5",
         "np.sin(c)", "c * y", "u + y", "np.sqrt(u)", "1 / c", "np.sqrt(d)")  # fmt: skip
TESTS = ("x > 0", "x > 1", "c > 1", "d > c", "k > 1", "k == 0", "x > k", "u > v")
#: What the loop has in its list.
ROWS = ("[x, 2.0, x * x]", "[1.0, 2.0, 3.0]", "[u, v, w]", "[u, 1.0, x]")


def step(rng: np.random.Generator) -> str:
    term = str(rng.choice(TERMS))
    if rng.integers(4) == 0:
        return term
    test, other = rng.choice(TESTS), rng.choice(TERMS)
    return f"pick({test}, lambda: {term}, lambda: {other})"


def program(rng: np.random.Generator, scans: bool) -> str:
    """Return a function of ``x`` and ``n`` that is told how to choose and to repeat.

    Only ``scans`` read their lists in order; of a place that is computed the others count, too.
    """
    lines = ["def f(x, n):"]
    lines += [f"    {name} = {rng.choice(BEFORE)}" for name in "uvw"]
    starts = [str(rng.choice(["u", "x", "1.0 + 0 * x", "w"])) for _ in "cd"]
    lines += [
        f"    rows = {rng.choice(ROWS[: 4 if scans else 2])}",
        "    def body(k, c, d, y):",
        f"        e = {step(rng)}",
        (
            f"        return {step(rng)}, {rng.choice(['e', 'c', 'd', 'e + d'])}, "
            f"{rng.choice(['e', 'c'])}"
        ),
        f"    c, d, ys = repeat(body, {starts[0]}, {starts[1]}, rows, n)",
        f"    return {rng.choice(['c', 'c + d', 'd', 'c + ys', 'ys'])}",
    ]
    return "\n".join(lines)


def of_python(body: Any, c: Any, d: Any, rows: Any, n: int) -> Any:
    total: Any = 0.0
    for k in range(n):
        c, d, y = body(k, c, d, rows[k])
        total = y + total
    return c, d, total


def stacked(rows: Any) -> Any:
    return np.stack([np.asarray(r) if isinstance(r, float) else r + 0.0 for r in rows])


def scanned(body: Any, c: Any, d: Any, rows: Any, n: int) -> Any:
    def one(carry: Any, given: Any) -> Any:
        c, d, y = body(given[0], *carry, given[1])
        return (c, d), y

    read = stacked(rows[:n]) if n else np.zeros(0)
    (c, d), ys = sg.scan(one, (c, d), (np.arange(n), read))
    return c, d, np.sum(ys)


def counted(body: Any, c: Any, d: Any, rows: Any, n: int) -> Any:
    rows = stacked(rows)

    def one(k: Any, carry: Any) -> Any:
        c, d, total = carry
        c, d, y = body(k, c, d, rows[k])
        return c, d, total + y

    return sg.fori_loop(0, n, one, (c, d, 0.0))


def repeated(body: Any, c: Any, d: Any, rows: Any, n: int) -> Any:
    rows = stacked(rows)

    def one(carry: Any) -> Any:
        k, c, d, total = carry
        c, d, y = body(k, c, d, rows[k])
        return k + 1, c, d, total + y

    return sg.while_loop(lambda carry: carry[0] < n, one, (0, c, d, 0.0))[1:]


WAYS = {"scan": scanned, "fori_loop": counted, "while_loop": repeated}


def decided(test: Any, yes: Any, no: Any) -> Any:
    return yes() if test else no()


def chosen(test: Any, yes: Any, no: Any) -> Any:
    return np.where(test, yes(), no())


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.attack(quick=30, whole=6_000, judge="the chain rule, along Python's way")
def test_edges_of_loops(attack: Any) -> None:
    """Slopes that are infinite or undefined before loops, used by some steps or by none."""
    for case in attack:
        with case, np.errstate(all="ignore"):
            rng = case.rng
            way, pick = str(rng.choice(list(WAYS))), rng.choice([chosen, sg.cond])
            source = program(rng, way == "scan")
            n, x = int(rng.integers(0, 4)), float(rng.choice([0.0, 1.0, 0.5, 2.0, 1.3]))
            said = f"{way}, {pick.__name__}, n = {n}, x = {x}\n{source}"
            plain: Any = {"np": Numbers, "repeat": of_python, "pick": decided}
            exec(source, plain)
            f: Any = {"np": np, "repeat": WAYS[way], "pick": pick}
            exec(source, f)
            try:
                want = plain["f"](Slope(x, 1.0), n)
            except ZeroDivisionError:
                case.tally("raised")
                continue
            want = want if isinstance(want, Slope) else Slope(want)
            g = lambda x: f["f"](x, n)  # noqa: B023, E731
            batched = rng.integers(4) == 0
            got = sg.vmap(sg.grad(g))(np.full(2, x))[0] if batched else sg.grad(g)(x)
            if np.isfinite((want.value, want.slope)).all():
                np.testing.assert_allclose(got, want.slope, 1e-9, 1e-12, err_msg=said)
            else:
                case.tally("not finite")


def over_arrays(way: str, shape: tuple[int, ...]) -> Any:
    """Return how a loop is repeated whose values are arrays of this shape."""

    def of_shape(values: Any) -> Any:
        return tuple(np.broadcast_to(v, shape) + 0.0 for v in values)

    def repeat(body: Any, c: Any, d: Any, rows: Any, n: int) -> Any:
        rows, start = np.stack(of_shape(rows)), of_shape((c, d))

        def one(k: Any, c: Any, d: Any, y: Any) -> Any:
            return of_shape(body(k, c, d, y))

        def scanned(s: Any, given: Any) -> Any:
            c, d, y = one(given[0], *s, given[1])
            return (c, d), y

        if way == "scan":
            ends, ys = sg.scan(scanned, start, (np.arange(n), rows[:n]))
            return *ends, np.sum(ys, axis=0)

        def counted(k: Any, s: Any) -> Any:
            c, d, y = one(k, *s[:2], rows[k])
            return c, d, s[2] + y

        return sg.fori_loop(0, n, counted, (*start, np.zeros(shape)))

    return repeat


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.attack(quick=15, whole=3_000, judge="the chain rule, element by element")
def test_edges_of_loops_over_arrays(attack: Any) -> None:
    """The same of arrays of one to three axes, whose elements take different sides."""
    for case in attack:
        with case, np.errstate(all="ignore"):
            rng = case.rng
            way = str(rng.choice(["scan", "scan", "fori_loop"]))
            source, n = program(rng, way == "scan"), int(rng.integers(1, 4))
            shape = ((3,), (n, 2), (2, n), (n, n), (2, 1), (1, n, 2), (n, n, n))[rng.integers(7)]
            x = rng.choice([0.0, 1.0, 0.5, 2.0, 1.3], shape)
            plain: Any = {"np": Numbers, "repeat": of_python, "pick": decided}
            exec(source, plain)
            f: Any = {"np": np, "repeat": over_arrays(way, shape), "pick": chosen}
            exec(source, f)
            try:
                want = [plain["f"](Slope(float(v), 1.0), n) for v in x.ravel()]
            except ZeroDivisionError:
                case.tally("raised")
                continue
            slopes = np.array([w.slope if isinstance(w, Slope) else 0.0 for w in want])
            values = np.array([w.value if isinstance(w, Slope) else w for w in want])
            got = sg.grad(lambda x: np.sum(f["f"](x, n)))(x)  # noqa: B023
            said = f"{way}, n = {n}, x = {x.tolist()}\n{source}"
            assert got.shape == shape, said
            finite = np.isfinite(values) & np.isfinite(slopes)
            np.testing.assert_allclose(
                got.ravel()[finite], slopes[finite], 1e-9, 1e-12, err_msg=said
            )
            if not finite.all():
                case.tally("not finite in part")


def _of(name: str) -> Any:
    return lambda x: getattr(x, name)() if isinstance(x, Slope) else getattr(np, name)(x)


Numbers = SimpleNamespace(**{name: _of(name) for name in ("sqrt", "log", "exp", "sin")})
