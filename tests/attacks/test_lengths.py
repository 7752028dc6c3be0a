"""How long arrays are, asked for by ``len``, ``size`` and ``shape``, in calls of other sizes."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import PathsWarning, SymgradError

#: Statements with ``n`` a length, ``x`` a row of that many, ``M`` as many rows of three.
STATEMENTS = """
out.append(np.sum(x * x) / n)
out.append(x @ np.arange(n)); out.append(np.arange(n) * 0.5)
out.append(x - np.linspace(0.0, 1.0, n))
out.append(np.eye(n) @ x); out.append(np.outer(x, np.ones(n)))
out.append(np.full(n, 2.0) * x); out.append(np.zeros((n, 2)) + x[:, None])
out.append(np.concatenate([x, np.zeros(n // 2)]))
out.append(x[: n // 2]); out.append(x[n // 3 :] * 2); out.append(x[max(n - 3, 0) :])
out.append(x[n - 1] if n else 0.0); out.append(x[-n] if n > 2 else 1.0)
out.append(sum(x[i] for i in range(n)))
out.append(sum(x[i] * x[n - 1 - i] for i in range(0, n, 2)))
out.append([2.0 * n] * 2); out.append(n); out.append(n % 3 + 0.5)
out.append(np.array([1.0] * n) * x); out.append(np.array([i for i in range(n)]) + x)
out.append(math.sqrt(n) * x); out.append(np.sqrt(n + 1.0)); out.append(1 / (n + 1))
out.append(x[: int(0.4 * n)]); out.append(x[: int(n / 2)]); out.append(x[: round(n * 0.3)])
out.append(x[: math.ceil(n / 2)]); out.append(int(np.sqrt(n)) * x)
out.append(x ** 2 if n > 4 else x + 1.0)
out.append(np.reshape(x, (n, 1)) * M); out.append(np.reshape(M, (3 * n,))[:n])
out.append(np.reshape(x[: n - n % 2], (n // 2, 2)).sum(axis=1))
out.append({0: x, 1: -x}[n % 2]); out.append(f"{n}".count("1") * x)
out.append(np.mean(M, axis=0) * n); out.append(np.sum(M) / len(M) + len(M[0]))
out.append(np.tile(x, 2)[:n]); out.append(np.repeat(x, 2)[n:])
out.append(np.roll(x, n // 2)); out.append(x[np.arange(n)[::-1]])
out.append(x[np.arange(n) % 2 == 0])
y = np.zeros(n); y[: n // 2] = x[: n // 2]; out.append(y)
y = x.copy(); y[0 : n : 2] = 1.0; out.append(y)
y = [];  y.extend(x * k for k in range(min(n, 3))); out.append(len(y))
for k in range(n): x = x + 0.1 * k
while n > 6: n = n - 2
n = n + 1; x = np.append(x, 1.0); M = np.vstack([M, M[:1] if len(M) else np.ones((1, 3))])
n = min(n, len(x)); x = x[:n]; M = M[:n]
""".strip().splitlines()

ASKED = ["len(x)", "x.size", "x.shape[0]", "len(M)", "np.size(x)", "M.shape[0]", "len(x * 2.0)"]


@pytest.mark.attack(quick=10, whole=3_000, part=200, judge="plain NumPy, and its differences")
def test_lengths(attack: Any) -> None:
    """Lengths in sums, arrays made, slices, loops, decisions and lists, for sizes that change."""
    for case in attack:
        with case:
            rng = case.rng
            body = [
                f"n = {rng.choice(ASKED)}; out = []",
                *rng.choice(STATEMENTS, rng.integers(1, 5)),
            ]
            source = "\n    ".join(["def f(x, M):", *body, "return x, *out"])
            dtype = rng.choice(["d", "f"])
            space: dict[str, Any] = {"np": np, "math": math}
            exec(source, space)
            f = space["f"]
            compiled = sg.compile(f, backend="llvm" if rng.random() < 0.2 else "numpy")

            def joined(x: Any, M: Any, f: Any = f) -> Any:
                return np.hstack([np.ravel(v) for v in f(x, M)]) * 1.0

            slope = sg.jacobian(joined)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PathsWarning)
                warnings.simplefilter("ignore", RuntimeWarning)  # the mean of nothing
                for size in rng.permutation([0, 1, 2, 5, 7, 8, 12])[:5]:
                    args = rng.uniform(0.5, 2, size), rng.uniform(0.5, 2, (size, 3))
                    args = tuple(x.astype(dtype) for x in args)
                    sloped = dtype == "d" and rng.random() < 0.3
                    compare(case, source, f, compiled, slope if sloped else None, args)


def compare(case: Any, source: str, f: Any, compiled: Any, slope: Any, args: Any) -> None:
    """Compare values, and perhaps the derivatives by ``x``."""
    try:
        with np.errstate(all="ignore"):
            wanted = f(*args)
    except (IndexError, ValueError, ZeroDivisionError) as error:
        with pytest.raises((type(error), SymgradError)):
            compiled(*args)
        case.tally("refused by NumPy")
        return
    try:
        found = compiled(*args)
    except SymgradError as error:
        raise AssertionError(source) from error
    assert len(found) == len(wanted), source
    for got, want in zip(found, wanted, strict=True):
        assert np.shape(got) == np.shape(want), source
        assert np.asarray(got).dtype == np.asarray(want).dtype, source
        close = 1e-12 if args[0].dtype == np.float64 else 1e-5
        np.testing.assert_allclose(got, want, rtol=close, atol=close, err_msg=source)
    if slope is None:
        return

    def flat(x: Any) -> Any:
        return np.hstack([np.ravel(v) for v in f(x, args[1])]) * 1.0

    got = slope(*args)
    want = np.zeros(got.shape)
    for k in range(len(args[0])):
        step = 1e-6 * (np.arange(len(args[0])) == k)
        want[:, k] = (flat(args[0] + step) - flat(args[0] - step)) / 2e-6
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, err_msg=source)
