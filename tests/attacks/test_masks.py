"""What traced masks select: sums, rows, writes, and other masks of it; the data change."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import PathsWarning, SymgradError

MASKS = ["x > {c}", "(x > {c}) & (x < 1.5)", "~(x > {c})", "M[:, 1] > {c}", "x > M[:, 0]", "x < 9",
         "x * x < {c} - 2"]  # fmt: skip

#: Statements with ``m`` a mask, ``s`` what it selects of x, ``y`` a copy, ``out`` a list.
STATEMENTS = """
out.append(np.sum(s)); out.append(s * s)
out.append(np.sort(s)[::-1])
out.append(s - np.sum(s) / max(len(s), 1))
out.append(np.cumsum(s)[1:])
out.append(s @ s); out.append(np.outer(s, s[::-1]))
out.append(M[m] @ v); out.append(M[m][:, 1] * s)
out.append(np.concatenate([s, x]))
out.append(np.stack([s, 2 * s])); out.append(s[:, None] * v)
out.append(s[s > {c}]); out.append(np.sum(s[s < {c}]))
out.append(x[np.nonzero(m)[0]] + s); out.append(M[np.where(m)[0], 2])
out.append(sum(e**2 for e in s)); out.append(len(s))
out.append(s.max() if len(s) else x[0])
if len(s) > 2: out.append(s[0] * s[-1]); s[1] = 3.0
y[m] = s * 2; y[m] += 1.0
y[m] = np.arange(1.0, len(s) + 1) * x[0]
y[m] *= M[m][:, 0]; y[~m] = -y[~m]
M = M.copy(); M[m] = v; M[m, 1] = s
s = s.copy(); s *= 2.0; s[s > 2.0] = 0.5
s[:] = s + x[0]; out.append(s)
x = np.where(m, y, x); m = x > 0.75; s = x[m]
m = m & (y < {c} + 1); s = y[m]
""".strip().splitlines()


@pytest.mark.attack(quick=8, whole=2_000, part=200, judge="plain NumPy, and its differences")
def test_masks(attack: Any) -> None:
    """Elements that masks select in sums, rows and writes, none of them, one, all."""
    for case in attack:
        with case:
            rng = case.rng
            lines = [f"m = {rng.choice(MASKS)}; s = x[m]; y = x * 1.0; out = []"]
            lines += list(rng.choice(STATEMENTS, rng.integers(2, 7)))
            body = [line.replace("{c}", f"{rng.choice([0.5, 1.0, 1.25])}") for line in lines]
            source = "\n    ".join(["def f(np, x, M, v):", *body, "return y, s, M, *out"])
            space: dict[str, Any] = {}
            exec(source, space)

            def f(x: Any, M: Any, v: Any, f: Any = space["f"]) -> Any:
                return f(np, x, M, v)

            compiled = sg.compile(f, backend="llvm" if rng.random() < 0.1 else "numpy")
            size = int(rng.choice([0, 1, 2, 5, 9]))
            for _ in range(4):
                args = (rng.uniform(0, 2, size), rng.uniform(0, 2, (size, 3)), rng.normal(size=3))
                compare(case, source, f, compiled, args)


def compare(case: Any, source: str, f: Any, compiled: Any, args: tuple[Any, ...]) -> None:
    """Compare values, and the slope along random directions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathsWarning)
        try:
            wanted = f(*args)
        except (IndexError, ValueError) as error:
            with pytest.raises((type(error), SymgradError)):
                compiled(*args)
            case.tally("refused by NumPy")
            return
        found = compiled(*args)
        for got, want in zip(found, wanted, strict=True):
            assert np.shape(got) == np.shape(want), source
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12, err_msg=source)
        along = [case.rng.normal(size=np.shape(a)) for a in args]
        slopes = sg.jvp(f, args, tuple(along))[1]
        near = [
            f(*(a + h * d for a, d in zip(args, along, strict=True)))
            for h in (1e-6, -1e-6)
        ]  # fmt: skip
        for slope, one, other in zip(slopes, *near, strict=True):
            if np.shape(one) == np.shape(other) and np.result_type(slope).kind == "f":
                difference = (np.asarray(one) - other) / 2e-6
                np.testing.assert_allclose(slope, difference, rtol=1e-4, atol=1e-4, err_msg=source)
