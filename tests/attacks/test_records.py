"""Long lists of tuples as arguments: edges, branches, measurements, as Python's code has them.

Each case is a function written out as source, of an array, a list of records and a number. Its
loops use the integers as places, sizes, keys, exponents, large numbers and text, the floats in
arithmetic, decisions and Python's own functions; and the list as lists are used: sliced, sorted,
transposed, searched. It is called with records of several kinds in turn: of the same form, of
another length, tuples of tuples, with numbers that no column has. Plain Python judges, and its
extrapolated differences.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import CaptureWarning, PathsWarning, SymgradError

from .test_closures import made

HEAD = """
import collections, itertools, math
import numpy as np

"""

#: What is done with a record. ``I``, ``J`` are integers of it, ``W``, ``V`` floats.
STEPS = (
    "s += W * x[I]",
    "s += np.sin(x[I] - x[J]) * V",
    "r[I] += W * x[J] ** 2",
    "r[I] -= np.sin(x[J] * W)",
    "r[J] += x[I] * x[J] - W * x[I]",
    "r[I] = r[I] + V * np.cos(x[J]) - W * x[I]",
    "r[(I + 1) % n] += x[I] * W",
    "r[I // 2] += x[J]",
    "r[-1 - I] += W * x[I]",
    "r[3 * I % n] += x[3 * J % n]",
    "m[I, J] += W * x[I]",
    "m[I] += x[J] * np.array([W, 2.0, V, 1.0, x[I]])",
    "s += x[I] * I",
    "s += I / (J + 1) * x[0]",
    "s += (I - J) * W * x[1]",
    "if I == J: s += x[I]",
    "if W > 0.7: s += x[I] * W",
    "if x[I] > 0.7: s += W",
    "if I < J and V < 0.9: r[I] += x[J]",
    "d[I] = d.get(I, 0.0) + x[J]",
    "for k in range(I % 3): s += x[k] * W",
    "seen.add((I, J)); s += len(seen) * x[0]",
    "s += x[I] ** (J % 3)",
    "s += (I ** 9 % 7) * x[0]",
    "s += ((I + 1) * 1000003 ** 3 % 11) * x[1]",
    "s += ((I + 3) ** 25 - (I + 3) ** 25 + 1) * x[0]",
    "s += x[I] * isinstance(I, int) * isinstance(W, float)",
    "s += x[I] if type(J) is int and type(V) is float else 0.0",
    "s += len(f'{I}:{W:.2f}') * x[0]",
    "s += math.exp(-W) * x[I] + math.sqrt(V)",
    "s += math.floor(W * 2) * x[I]",
    "s += round(W, 1) * x[I]",
    "s += int(W * 3) * x[J]",
    "s += x[I] / W",
    "s += x[I : I + 2].sum() * W",
    "s += parts[I] * V",
    "s += ((I & 1) + (J << 2) - ~I) * x[0]",
    "s += min(I, J) * x[I] + max(W, V) * x[J]",
    "s += abs(I - J) * x[0] + divmod(I + 7, 3)[1] * x[1]",
    "s += float(I) * x[J] + np.float64(W)",
    "s += x[[I, J]].sum() * W",
    "s += bool(I) * x[0]",
    "s += (W if I else V) * x[J]",
    "s += str(I).count('1') * x[0]",
    "s += np.hypot(W, x[I]) + np.where(W > 0.6, x[I], x[J])",
    "last = last * 0.5 + W * x[I]",
    "last = last * W + x[I] * last",
    "s += W * x[0] + np.sin(V * x[1])",
    "last = last * W + x[2]",
    "if W > 0.7: s += x[1] * V",
)

#: What is done with the whole list. ``I``, ``W`` are places of an integer and a float in a record.
WHOLE = (
    "s += len(rows) * x[0]",
    "s += rows[-1][W] * x[rows[0][I]]",
    "s += sum(row[W] for row in rows) * x[1]",
    "s += sum(row[W] * x[row[I]] for row in rows[::2])",
    "s += sum(row[W] * x[row[I]] for row in reversed(rows))",
    "s += np.array([row[W] for row in rows]) @ x[[row[I] for row in rows]]",
    "s += np.sum(np.array(rows)[:, W]) * x[0]",
    "s += np.sum(x[np.array([row[I] for row in rows])] ** 2)",
    "columns = list(zip(*rows)); s += sum(columns[W]) * x[2] + x[columns[I][3]]",
    "s += sorted(rows)[2][W] * x[0]",
    "s += max(rows, key=lambda row: row[W])[W] * x[1]",
    "s += min(row[I] for row in rows) * x[1]",
    "s += sum(k * row[W] for k, row in enumerate(rows)) * x[0]",
    "s += collections.Counter(row[I] for row in rows)[1] * x[0]",
    "s += any(row[I] == 3 for row in rows) * x[0]",
    "s += {row[I]: row[W] for row in rows}[rows[0][I]] * x[0]",
    "s += (rows[0] in rows) * x[0] + rows.index(rows[1]) * x[1]",
    "s += sum(a[W] * b[W] for a, b in zip(rows, rows[1:])) * x[0]",
    "s += sum(row[W] * x[row[I]] for row in rows if row[I] > 1)",
    "s += isinstance(rows, list) * x[0] + isinstance(rows[0], tuple) * x[1]",
    "s += len(rows + rows) * x[0]",
    "s += np.mean([x[row[I]] for row in rows])",
    "s += sum(x[i] * len(list(g)) for i, g in itertools.groupby(rows, lambda row: row[I]))",
    "s += rows == [*rows]",
)


#: What is done with a list of integers, or a tuple of numbers.
FLAT = (
    "s += len(rows) * x[0] + rows[-1] * x[1]",
    "s += np.sum(x[[int(k) % n for k in rows]] ** 2)",
    "s += np.sum(np.array(rows)) * x[0] + np.mean(rows) * x[1]",
    "s += max(rows) * x[0] - min(rows) * x[1] + sum(rows) * x[2]",
    "s += sorted(rows)[2] * x[0] + rows[3] * rows[4] * x[1]",
    "s += rows.count(1) * x[0] + (rows[0] in rows) * x[1]",
    "s += len(rows + rows) * x[0] + len(2 * rows) * x[1]",
    "s += sum(a * b for a, b in zip(rows, rows[1:])) * x[0]",
    "s += isinstance(rows, list) * x[0] + isinstance(rows, tuple) * x[1]",
    "s += len(set(rows)) * x[0]",
    "s += np.asarray(rows) @ np.linspace(0, 1, len(rows)) * x[0]",
    "s += np.cumsum(rows)[-1] * x[0]",
    "s += np.prod(rows[:5]) * x[0] + np.dot(rows, rows) * x[1]",
    "s += x[0] * np.bincount(np.array(rows, int) % 3)[1]",
    "s += sum(rows[k] * x[k % n] for k in range(len(rows)))",
    "s += sum(k * x[0] for k in rows if k > 1)",
)


def written(rng: np.random.Generator, letters: str) -> str:
    """Return a function of records with numbers of these kinds."""
    names = [f"{c}{k}" for k, c in enumerate(letters)]
    ints = [n for n in names if n[0] == "i"]
    floats = [n for n in names if n[0] == "f"]
    lines = ["n = len(x)", "s, last, d, seen = 0.0, 0.0, {}, set()", "r = np.zeros_like(x)",
             "m = np.zeros((n, 5)) * x[0]", "parts = [x[k] * 2 for k in range(n)]"]  # fmt: skip
    flat = len(letters) == 1
    for _ in range(int(rng.integers(1, 3))):
        if flat and rng.integers(2):
            lines.append(str(rng.choice(FLAT)))
            continue
        if not flat and rng.integers(3) == 0:
            text = WHOLE[rng.integers(len(WHOLE))]
            text = text.replace("[I]", f"[{rng.choice([n[1] for n in ints])}]")
            lines.append(text.replace("W]", f"{rng.choice([n[1] for n in floats])}]"))
            continue
        lines.append(f"for {', '.join(names)}{',' * (not flat)} in rows:")
        for _ in range(int(rng.integers(1, 4))):
            text = STEPS[rng.integers(len(STEPS))]
            kinds = (("I", ints), ("J", ints), ("W", floats), ("V", floats))
            while any(not kind and re.search(rf"\b{c}\b", text) for c, kind in kinds):
                text = STEPS[rng.integers(len(STEPS))]
            for letter, kind in kinds:
                own = rng.choice(kind or ["none"])
                text = re.sub(rf"\b{letter}\b", own, text)
            lines.append(f"    {text}")
    weights = "np.linspace(0.5, 1.5, n)"
    lines.append(f"return s * c + last + r @ {weights} + np.sum(m) + sum(d.values())")
    body = "".join(f"    {line}\n" for line in lines)
    return f"{HEAD}def f(x, rows, c):\n{body}"


def records(rng: np.random.Generator, letters: str, count: int, n: int) -> list[Any]:
    """Return so many records, with places below ``n``."""

    def number(letter: str) -> Any:
        return int(rng.integers(n)) if letter == "i" else round(float(rng.uniform(0.2, 1.4)), 3)

    if len(letters) == 1:
        return [number(letters) for _ in range(count)]
    return [tuple([number(c) for c in letters]) for _ in range(count)]


def slope(f: Callable[..., Any], x: Any, direction: Any) -> Any:
    """Return the derivative along a direction by extrapolated differences; None at a kink."""
    at = {k: f(x + k * 1e-4 * direction) for k in (-4, -2, -1, 0, 1, 2, 4)}
    wide, mid, near = ((at[k] - at[-k]) / (2e-4 * k) for k in (4, 2, 1))
    found, other = (4 * near - mid) / 3, (4 * mid - wide) / 3
    scale = 1 + abs(found)
    smooth = abs(found - other) < 1e-7 * scale
    return found if smooth and abs((at[1] - at[0]) / 1e-4 - found) < 0.1 * scale else None


#: Errors of plain Python.
PLAIN = (IndexError, ValueError, TypeError, AttributeError, ZeroDivisionError, OverflowError,
         KeyError)  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.attack(quick=12, whole=4_000, part=25, judge="plain Python, and its differences")
def test_records(attack: Any) -> None:
    """Long lists of tuples as arguments: what is done with their numbers, and with the list."""
    for case in attack:
        rng = case.rng
        letters = str(rng.choice(["if", "fii", "iiff", "fi", "fif", "ifif", "i", "f"]))
        source, n = written(rng, letters), 5
        count = int(rng.choice([32, 33, 40]))
        calls = [records(rng, letters, count, n), records(rng, letters, count, n)]
        other: Any = records(rng, letters, int(rng.choice([1, 7, 31, 35])), n)
        if letters == "f":  # a list of floats is an array
            calls = [tuple(rows) for rows in calls]
            other = tuple(other)
        match rng.integers(5) if len(letters) > 1 else 9:
            case 0:
                other = tuple(calls[0])
            case 1:  # an integer among the floats
                other = [*calls[0]]
                k = letters.index("f")
                other[3] = (*other[3][:k], 1, *other[3][k + 1 :])
            case 2:
                k = letters.index("i")
                other = [*calls[0]]
                other[3] = (*other[3][:k], True, *other[3][k + 1 :])
            case 3:
                k = letters.index("i")
                other = [*calls[0]]
                other[3] = (*other[3][:k], -(1 << 70), *other[3][k + 1 :])
        calls += [other, calls[0]]
        name: Any = ["numpy", "numpy", "numpy", "llvm"][int(rng.integers(4))]
        with case, np.errstate(all="ignore"), sg.backend(name):
            _attacked(case, source, calls, n)


def _attacked(case: Any, source: str, calls: list[Any], n: int) -> None:
    """Compare value and gradient with plain Python, call by call."""
    f, rng = made(source, f"<records {case.number}>"), case.rng
    compiled, gradient, sparse = sg.compile(f), sg.grad(f), sg.grad(f, (0, 2))
    for k, rows in enumerate(calls):
        text = f"{source[source.index('def f(') :]}\ncall {k} with {str(rows)[:300]}"
        x, c = rng.uniform(0.2, 1.4, n), float(rng.uniform(0.5, 1.5))
        direction = rng.normal(size=n)
        try:
            want = f(x, rows, c)
            by_hand = slope(lambda x, rows=rows, c=c: f(x, rows, c), x, direction)
        except PLAIN:
            continue
        if not np.isfinite(want) or abs(want) > 1e8:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CaptureWarning)
                warnings.simplefilter("ignore", PathsWarning)
                value = compiled(x, rows, c)
                found, by_number = sparse(x, rows, c) if k == 1 else (gradient(x, rows, c), None)
        except SymgradError as error:
            if "Write instead" not in str(error) and "write" not in str(error):
                raise
            case.tally("refused")
            return
        np.testing.assert_allclose(value, want, rtol=1e-9, atol=1e-9, err_msg=text)
        if by_hand is not None:
            np.testing.assert_allclose(
                found @ direction, by_hand, rtol=1e-5, atol=1e-6, err_msg=text
            )
        if by_number is not None:
            wide = (f(x, rows, c + 1e-4) - f(x, rows, c - 1e-4)) / 2e-4
            np.testing.assert_allclose(by_number, wide, rtol=1e-5, atol=1e-5, err_msg=text)
