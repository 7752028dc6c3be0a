"""Whole numbers as arguments: as sizes, counts, places, and as numbers beside arrays.

Each case calls one function, a few times with different whole numbers, negative and too large
ones among them. NumPy judges the value, its type, and whether there is one.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import symgrad as sg

SMALL = np.array([0, 1, 2], np.int8)
SINGLE = np.array([1.0, -2.0, 0.5], np.float32)
TRUTHS = np.array([True, False, True])
GRID = np.arange(6.0).reshape(2, 3)

#: Expressions in ``x``, an array of three floats, and ``k``, a whole number that is a size.
OF_SIZES = (
    "np.ones({k}).sum() * x", "np.ones((2, {k})) * x[0]", "np.zeros({k}).sum() + x",
    "np.empty({k}).size * x", "np.full({k}, 2.0) * x[0]", "np.full({k}, x[0])",
    "np.arange({k}) * x[0]", "np.eye({k}) * x[0]", "np.identity({k}) * x[0]", "np.tri({k}) * x[0]",
    "np.linspace(0.0, x[0], {k})", "np.broadcast_to(x, ({k}, 3))", "np.tile(x, {k})",
    "np.tile(x, (2, {k}))", "np.repeat(x, {k})", "np.zeros_like(x, shape=({k},)) + x[0]",
    "np.full_like(x, 1.0, shape=({k}, 2)) * x[0]", "np.indices(({k}, 2)) * x[0]",
    "np.fromfunction(lambda i: i, ({k},)) * x[0]", "np.ndarray({k}).size * x",
    "sum([x] * {k})", "sum(x for _ in range({k}))", "np.roll(x, {k})", "np.pad(x, {k})",
    "np.pad(x, (1, {k}), mode='edge')", "np.pad(x, ({k}, 1), constant_values=2.0)",
    "x[:{k}]", "x[{k}:]", "x[::{k}]", "x[{k}]", "np.hanning({k}) * x[0]", "np.vander(x, {k})",
    "np.geomspace(1.0, x[0] + 1, {k})", "np.logspace(0.0, x[0], {k})", "np.resize(x, {k})",
    "abs(np.fft.fft(x, {k}))", "np.array_split(x, {k})[0]",
    "np.bincount(np.array([0, 1, 1]), x, {k})", "np.fft.rfftfreq({k} or 1) * x[0]",
    "np.diff(x, {k})",
    "np.diag(x, {k})", "np.triu(GRID * x, {k})", "np.eye(3, k={k}) * x", "np.trace(GRID * x, {k})",
    "np.rot90(GRID * x, {k})", "np.linalg.matrix_power(np.diag(x), {k})", "np.take(x, {k})",
    "np.moveaxis(GRID * x, {k}, 0)", "np.expand_dims(x, {k})", "np.sum(GRID * x, {k})",
    "np.flip(GRID * x, {k})", "np.partition(x, {k})", "np.swapaxes(GRID * x, {k}, 0)",
    "np.insert(x, {k}, 1.0)", "np.delete(x, {k})",
    "np.lib.stride_tricks.sliding_window_view(x, {k})",
    "np.linspace(0.0, x[0], {k}, endpoint=False)", "np.split(x, {k})[0]", "np.round(x, {k})",
)  # fmt: skip
#: How ``k`` is made of an argument ``n``, and of the length of ``x``.
SIZES = ("n", "n", "n - 2", "2 - n", "n - len(x)", "n // 2", "-n", "n * 1")

#: Expressions in ``x`` and ``n``, a number beside arrays of short types.
OF_NUMBERS = (
    "np.full(3, n, np.int8)", "np.full(3, -n, np.uint8)", "np.full(3, n)", "np.full(3, n, bool)",
    "np.full_like(SMALL, n)", "np.full_like(SINGLE, n)", "np.full_like(x, n, dtype=np.int8)",
    "np.array([n, 1, 2], np.int8)", "np.asarray(n, np.int8)", "np.int8(n)",
    "np.where(TRUTHS, n, SMALL)",
    "np.where(TRUTHS, n, SINGLE)", "np.minimum(SMALL, n)", "SMALL + n", "SMALL == n", "SMALL < n",
    "SINGLE * n", "np.select([TRUTHS], [n], SMALL)", "np.pad(SMALL, 1, constant_values=n)[1:-1]",
    "np.append(SMALL, n)[:3]", "np.concatenate([SMALL, [n]])[1:]", "np.stack([SMALL, [n] * 3])[1]",
    "np.sum(SMALL, initial=n)", "np.max(SMALL, initial=n)", "np.prod(SINGLE, initial=n)",
    "np.power(SMALL, abs(n))", "np.choose(SMALL, [SMALL, n, SMALL])", "np.outer(SMALL, n)[:, 0]",
    "np.diff(SMALL, prepend=n)", "np.bitwise_and(SMALL, n)", "SMALL % n", "np.fmod(SINGLE, n)",
    "np.result_type(SMALL, n).itemsize", "np.result_type(SINGLE, n).itemsize", "np.float32(1) * n",
    "np.int8(1) + n", "np.ones(3, np.int8) * [n, n, n]", "np.bool_(n)", "np.gradient(SINGLE, n)",
    "np.array([n, -n, 0]).astype(np.uint8)", "np.heaviside(SINGLE, n)", "np.dot(SMALL, n)",
    "np.searchsorted(SMALL, n)", "np.interp(n, [0.0, 1.0], [2.0, 3.0])", "np.clip(SINGLE, -n, n)",
    "np.isin(SMALL, [n])", "np.trapezoid(SINGLE, dx=n)", "np.linspace(0, n, 3)", "x + n", "x**n",
)  # fmt: skip
#: Statements that write to ``b``, three numbers of a short type.
WRITES = (
    "b[0:2] = [n, 1]", "b[0] = n", "b[:] = n", "b.fill(n)", "np.copyto(b, n)", "np.put(b, [0], n)",
    "np.place(b, TRUTHS, [n])", "np.putmask(b, TRUTHS, n)", "b += n", "b[TRUTHS] = n",
    "b[[0, 1]] = n", "b[[0, 1]] = [n, 1]", "b |= n", "np.fill_diagonal(b[:1, None], n)",
    "np.add(b, n, out=b)", "b[1:] = (n, n)", "b[...] = [n, n, n]", "b.put([0], n)", "b[0] = n * 2",
    "b[0] = -n", "np.put_along_axis(b, np.array([0]), n, 0)", "b *= n", "b[x > 0] = n",
)  # fmt: skip
TARGETS = ("np.zeros(3, np.int8)", "x.astype(np.int8)", "x.astype(np.uint8)", "np.ones_like(x)")


def program(rng: np.random.Generator) -> str:
    kind = rng.integers(4)
    if kind < 2:
        size = str(rng.choice(SIZES))
        return f"return {str(rng.choice(OF_SIZES)).replace('{k}', size)}"
    if kind == 2:
        return f"return ({rng.choice(OF_NUMBERS)}) * x"
    return f"b = {rng.choice(TARGETS)}\n    {rng.choice(WRITES)}\n    return b * x"


@pytest.mark.attack(quick=150, whole=6_000, judge="NumPy, types and errors included")
def test_whole_numbers(attack: Any) -> None:
    """Integers as sizes, counts, places and axes, and beside arrays of short types."""
    for case in attack:
        with case, warnings.catch_warnings(), sg.backend("numpy"):
            warnings.simplefilter("ignore")
            rng = case.rng
            text = program(rng)
            names = {"np": np, "SMALL": SMALL, "SINGLE": SINGLE, "TRUTHS": TRUTHS, "GRID": GRID}
            exec(f"def f(x, n):\n    {text}", names)
            f: Any = names["f"]
            g = sg.compile(f)
            x = rng.uniform(0.2, 1.5, 3).astype(rng.choice(["f4", "f8"]))
            outcomes = set()
            for n in rng.choice([-130, -3, -1, 0, 1, 2, 3, 4, 5, 100, 300], rng.integers(1, 4)):
                outcomes.add(compared(f, g, x, int(n), text))
            case.tally(max(outcomes))


def compared(f: Any, g: Any, x: Any, n: int, text: str) -> str:
    """Compare one call; return how it ended."""
    found, wanted = ended(g, x, n), ended(f, x, n)
    says = f"{text}; n = {n}: {found!r}, NumPy: {wanted!r}"
    if isinstance(wanted, Exception):
        assert isinstance(found, Exception), says
        return "raises as NumPy does"
    if isinstance(found, Exception):
        return "refused"
    assert found.dtype == wanted.dtype, says
    np.testing.assert_allclose(found, wanted, rtol=1e-6, err_msg=says)
    return "equal"


def ended(f: Any, x: Any, n: int) -> Any:
    try:
        return np.asarray(f(x, n))
    except Exception as error:  # noqa: BLE001  # of whatever kind it is
        return error
