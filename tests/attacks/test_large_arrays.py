"""Programs on arrays of up to 100,000 elements, of lengths around all borders of kernels.

Other attacks draw small arrays. Long loops are cut into blocks, chunks and lanes, take memory of
other arrays and keep many values in registers at once: each case here is a program of its own, at
two sizes, for arguments of odd strides.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import SymgradError
from tests.shared import PLAIN_LOOPS

#: Lengths around those of lanes, blocks of sums, chunks and pages.
LENGTHS = (
    1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 256, 257, 511, 513, 1023, 1024,
    1025, 2047, 2049, 4095, 4096, 4097, 6000, 8191, 8193, 12_289, 16_383, 16_385, 32_767, 32_769,
    50_001, 65_535, 65_536, 65_537, 99_999, 100_000,
)  # fmt: skip

#: No array of a program has more elements.
MOST = 200_000

#: What is the same in each rounding: arithmetic, comparisons, places. ``{v}`` and ``{w}`` are
#: arrays of one shape, ``{u}`` one that goes with them, ``{m}`` a mask, ``{a}`` an axis.
EXACT = """
{v} * {w} - 0.375 * {v}
{v} + {u}
{v} * {u} - {w}
{v} / (1.0 + {w} * {w})
np.sqrt(1.0 + np.abs({v}))
np.maximum({v}, {w})
np.minimum({v}, {c})
np.abs({v}) - {w}
np.clip({v}, -0.5, {w})
np.where({m}, {v}, {w})
np.where({m}, {v}, {u})
np.where({m}, 0.5 * {v}, {c})
np.where(k, {v}, {w})
np.where(k & ({v} > {c}), {v}, {w} + 0.25)
{v} * ({w} > {c})
np.max({v}, axis={a})
np.min({v}, axis={a}, keepdims=True) + {v}
np.max({v})
np.sort({v}, axis={a})
np.sort({v}.ravel())[::-1]
{v}[::-1]
{v}[1:]
{v}[:-1]
{v}[::2]
{v}[1::3]
{v}[..., ::-1]
{v}[..., 1:]
{v}[..., ::2] * 1.5
{v}.T
np.swapaxes({v}, 0, -1) * 0.75
np.moveaxis({v}, 0, -1)
{v}.ravel()
{v}.T.ravel()
{v}.reshape(-1, {v}.shape[0])
{v}[None] * 0.5 + {v}
np.broadcast_to({v}, (3, *{v}.shape))
np.flip({v})
np.rot90({v})
{v}[:, None] - {v}[:16]
np.roll({v}, {i}, axis={a})
np.roll({v}, {i})
np.diff({v}, axis={a})
np.pad({v}, {j})
np.pad({v}, {j}, mode="edge")
np.pad({v}, {j}, mode="wrap")
np.pad({v}, {j}, mode="reflect")
np.concatenate([{v}, {w}], axis={a})
np.concatenate([{v}[1:], {w}, {v}[:1]])
np.stack([{v}, {w}], axis={a})
np.stack([{v}, {w} * 0.5, {u} + {v}], axis=-1)
np.tile({v}, 2)
np.repeat({v}, 3, axis={a})
np.append({v}, {c})
{v}[p % {v}.shape[0]]
np.take({v}, p % {v}.shape[{a}], axis={a})
np.take({v}, p % {v}.size)
{v}.ravel()[q % {v}.size] * 0.5
np.take_along_axis({v}, np.argsort({w}, axis={a}, kind="stable"), axis={a})
{v}[np.argsort({v}[:, 0], kind="stable")] if {v}.ndim > 1 else {v}[np.argsort({v}, kind="stable")]
{v}[-1] * {v}
{v}[{v}.shape[0] // 2] + {v}
np.maximum.accumulate({v}, axis={a})
np.tril({v})
np.diagonal({v}) * 2.0
{v}.copy(); {o}[1:] += 0.5 * {w}[:-1]
{v}.copy(); {o}[{m}] = {c}
{v}.copy(); {o}[{m}] *= 1.5
{v} * 1.0; {o}[::2] -= {w}[::2]; {o}[..., -1] = {c}
{v} + 0.0; {o}[p % {v}.shape[0]] = {c}
{v} + 0.0; {o}[:] = {o}[::-1] * 0.5 + {w}
np.zeros_like({v}); {o}[:-1] += {w}[1:]; {o}[1:] -= {v}[:-1]
np.zeros_like({v}); {o}[..., ::2] = {v}[..., ::2]; {o}[..., 1::2] = {w}[..., 1::2] * 0.5
sum(np.where({v} > 0.1 * j - 0.7, {w}, 0.5 * {v}) for j in range({n}))
L.fori_loop(0, {j}, lambda j, s: 0.5 * (s + s[::-1]) + 0.125 * j, {v})
L.fori_loop(0, {j}, lambda j, s: (s[1], 0.75 * s[0] - s[1]), ({v}, {w}))[{b}]
L.fori_loop(0, {j}, lambda j, s: np.where(s > {c}, 0.5 * s, s + {w}), {v})
L.scan(lambda s, y: (0.5 * s + y, s * y), {v}[0], {v})[{b}]
L.scan(lambda s, y: (np.maximum(0.5 * s, y[0]), s - y[1]), {v}[0], np.stack([{v}, {w}], 1))[1]
""".strip().splitlines()  # fmt: skip

#: The same with jumps: their differences say nothing of a slope.
JUMPS = """
np.floor({v} * 3.0) * 0.125 + {v}
np.round({v} * 4.0) * 0.25
np.sign({v}) * {w}
np.mod({v}, 0.75)
np.trunc({v} * 2.5) - {w}
np.argsort({v}, axis={a}, kind="stable") * 0.00001 + {v}
np.argmax({v}, axis={a}) * 0.0001
np.argmin({v})
np.sum({m})
np.sum({m}, axis={a})
np.count_nonzero({m}, axis={a})
np.any({m}, axis={a})
np.all({m} | {m}, axis={a})
np.cumsum({m})
np.cumsum({m}, axis={a}) * {v} * 0.001
np.searchsorted(np.sort({v}.ravel()), {w})
({m}) & ~({m})
({m}) ^ k
({m}).astype(float) - {v}
({m}).astype(np.int64) * 3 + (q[:1] & 7)
np.isfinite({v}) & ({v} < {c})
(q * 5 + 3) % 64
(q // 7 - (q >> 2)) * 0.0001
np.sum(q ^ 85)
np.cumsum(q & 3)
np.max(q % 1009) - np.min(q)
np.where(q % 3 == 0, q, -q)
np.bincount(q % 17, minlength=17)
np.sort(q % 1001)[::-1]
np.argmax({v} > {c})
{v}[{m}][:1].size + np.sum({m})
np.sum([{v} > 0.1 * j - 0.8 for j in range({n})], axis=0)
sum(np.where(({v} > 0.1 * j - 0.8) ^ ({w} > 0.5 - 0.1 * j), {w}, 0.5 * {v}) for j in range({n}))
sum(a & ~b for a, b in zip(*[[{v} > 0.1 * j - 0.7, {w} < 0.5 - 0.1 * j] for j in range(2)])) * {v}
""".strip().splitlines()

#: What rounds: functions, sums, products.
ROUNDED = """
np.sin({v}) * 0.5 + {w}
np.exp(-{v} * {v})
np.tanh({v} + 0.1 * {w})
np.log1p({v} * {v}) - {w}
np.arctan2({v}, 2.0 + {w} * {w})
np.hypot({v}, {w})
{v} ** 3 * 0.1 + np.cos({w}) ** 2
np.expm1(-np.abs({v}))
np.logaddexp({v}, {w})
1.0 / (1.0 + np.exp(-{v}))
np.sum({v}, axis={a})
np.sum({v}) * 0.01
np.mean({v}, axis={a})
{v} - np.mean({v}, axis=-1, keepdims=True)
{v} / (1.0 + np.sum({w} ** 2, axis={a}, keepdims=True))
np.sum({v}, where={m})
np.sum({v} * ({m}), axis={a})
np.sum({v}[{m}])
np.sum(np.where({m}, {v} * {w}, 0.0), axis={a})
np.mean(np.where(k, {v}, 0.0)) * {v}
np.std({v}, axis={a})
np.var({v})
np.prod(1.0 + 0.01 * {v}, axis={a})
np.cumsum({v}, axis={a}) * 0.01
np.cumsum({v})[::-1] * 0.01
np.cumprod(1.0 + 0.01 * {v}, axis={a})
np.linalg.norm({v} + 2.0) * 0.01
np.exp({v} - np.max({v}, axis={a}, keepdims=True))
np.median({v}, axis={a})
np.quantile({v}, 0.3)
np.logaddexp.reduce({v}, axis={a})
np.trapezoid({v}, dx=0.01, axis={a})
np.gradient({v}, axis={a})
np.interp({v}, np.linspace(-1.0, 1.0, 9), np.cos(np.arange(9.0)))
{v} @ {w}.T * 0.1
{v}.T @ {w} * 0.01
{v}[::-1].T @ {w}[..., ::2] * 0.01
np.tensordot({v}, {w}, axes=({v}.ndim, {v}.ndim)) * 0.01
np.tensordot({v}, {w}, axes=([0], [0])) * 0.01
np.einsum("i...,i...->...", {v}, {w}) * 0.01
np.einsum("ij,kj->ik", {v}, {w}[:5]) * 0.1
np.dot({v}, {w}) * 0.01
np.inner({v}, {w}) * 0.01
np.outer({v}[:300], {w}[:200]) * 0.5
np.convolve({v}, np.array([0.25, 0.5, -0.125, 1.0]), mode="same")
np.convolve({v}, {w}[:33], mode="valid") * 0.1
np.correlate({v}, {w}[:7], mode="full")
np.fft.rfft({v}).real * 0.01
np.abs(np.fft.fft({v}) + 3.0) * 0.01
np.fft.irfft(np.fft.rfft({v}) * 0.5, {v}.shape[-1])
np.zeros_like({v}); np.add.at({o}, p % {v}.shape[0], {v}[0])
{v}.copy(); np.add.at({o}, p % {v}.shape[0], {c})
np.bincount(q % 129, weights=np.resize({v}.ravel(), q.shape), minlength=129) * 0.01
np.add.reduceat({v}, [0, {v}.shape[0] // 2, {v}.shape[0] - 1])
sum(a * b for a, b in zip(*[[np.sin({v} * {c} + 0.1 * j) for j in range({n})]] * 2))
sum(np.cos(0.1 * j * {v}) * np.where({w} > 0.1 * j - 0.7, {v}, {w}) for j in range({n})) * 0.1
sum(np.sum(np.where({v} > 0.1 * j - 0.7, {w}, {v})) for j in range({n})) * 0.0001
L.fori_loop(0, {j}, lambda j, s: np.tanh(s + 0.1 * np.roll(s, 1) - 0.1 * j), {v})
L.fori_loop(0, {j}, lambda j, s: s - 0.1 * np.mean(s) + 0.1 * np.sin({w}), {v})
L.fori_loop(0, {j}, lambda j, s: (np.cumsum(s[1]) * 0.01, s[0] + s[1]), ({v}, {w}))[{b}]
L.scan(lambda s, y: (np.sin(s) + y, np.sum(s * y)), {v}[0], {v})[1]
L.scan(lambda s, y: (0.9 * s + 0.1 * np.cos(y), s), np.sum({v}, axis=0) * 0.01, {v})[{b}]
""".strip().splitlines()

#: What has NumPy's bits under ``rounding="numpy"``, of arrays in C order.
PROMISED = """
np.sin(np.ascontiguousarray({v})) + {w}
np.exp(-np.abs(np.ascontiguousarray({v})))
np.tanh(np.ascontiguousarray({v} - {w}))
np.sum(np.ascontiguousarray({v})) * 0.01
np.sum(np.ascontiguousarray({v}), axis=-1)
np.sum(np.ascontiguousarray({v}), axis=0) * 0.01
np.cumsum(np.ascontiguousarray({v}), axis=-1) * 0.01
np.ascontiguousarray({v}) @ np.ascontiguousarray({w}.T) * 0.1
""".strip().splitlines()


#: Of a long and narrow matrix these may make a large square one.
SQUARES = ("@", "tensordot", "einsum", "inner")

#: What NumPy raises where steps do not go together.
REFUSALS = (
    ValueError, IndexError, TypeError, AttributeError, FloatingPointError, MemoryError,
    RuntimeWarning,
)  # fmt: skip


def square_fits(shape: tuple[int, ...]) -> bool:
    """Tell whether an array with any axis of this shape twice is not too large."""
    return len(shape) == 1 or max(shape) ** 2 <= 10 * MOST


class Writer:
    """Writes a program line by line for some arguments; what NumPy refuses is taken back."""

    def __init__(self, rng: np.random.Generator, arguments: list[Any], promised: bool) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.smooth = True
        self.known: dict[str, Any] = dict(zip("xykpq", arguments, strict=True))
        self.known |= {"np": np, "L": PLAIN_LOOPS}
        tables = [EXACT, JUMPS, PROMISED if promised else ROUNDED]
        chances = [0.6, 0.1, 0.3] if promised else [0.5, 0.1, 0.4]
        wanted, tries = int(rng.choice([2, 4, 7, 12, 20])), 0
        while len(self.lines) < wanted and tries < 200:
            tries += 1
            table = tables[int(rng.choice(3, p=chances))]
            self.add(str(rng.choice(table)), jumps=table is JUMPS)
        names = [k for k in self.known if k[0] == "v"] or ["x"]
        if wanted > 7 and rng.random() < 0.5:  # all are live until the end
            shape = self.known[names[-1]].shape
            mates = [k for k in names if self.known[k].shape == shape]
            self.results = [" + ".join(f"{0.5 + 0.25 * i} * {k}" for i, k in enumerate(mates))]
        else:
            self.results = sorted({names[-1], *rng.choice(names, int(rng.integers(1, 4)))})

    def floats(self) -> list[str]:
        return [k for k, v in self.known.items() if k[0] in "xyv" and v.dtype.kind == "f"]

    def add(self, form: str, jumps: bool) -> None:
        rng, known = self.rng, self.known
        names = [k for k in self.floats() if known[k].ndim]
        v = names[-1 - int(rng.integers(min(len(names), 3 if rng.random() < 0.6 else 99)))]
        shape = known[v].shape
        if any(word in form for word in SQUARES) and not square_fits(shape):
            return
        mates = [k for k in names if known[k].shape == shape]
        masks = [k for k in known if k[0] in "kv" and known[k].dtype == bool]
        masks = [k for k in masks if known[k].shape == shape]
        w = str(rng.choice(mates))
        text = (
            form.replace("{v}", v).replace("{w}", w).replace("{u}", str(rng.choice(self.floats())))
        )
        text = text.replace("{o}", f"v{len(self.lines)}").replace("{b}", str(rng.integers(2)))
        while "{m}" in text:
            made = [f"({v} > {{c}})", f"({w} < {{c}}) & ({v} > -{{c}})", f"~({v} >= {w} * {{c}})"]
            text = text.replace("{m}", str(rng.choice(made + masks)), 1)
        while "{c}" in text:
            text = text.replace("{c}", str(rng.choice(["0.125", "0.3", "-0.25", "0.7"])), 1)
        text = text.replace("{a}", str(rng.integers(-1, max(len(shape), 1))))
        text = text.replace("{n}", str(rng.choice([4, 9, 17, 24])))
        text = text.replace("{i}", str(rng.choice([1, -1, 7, 64, -300])))
        text = text.replace("{j}", str(rng.choice([1, 2, 3, 5])))
        name = f"v{len(self.lines)}"
        trial = dict(known)
        try:
            with np.errstate(all="raise", under="ignore"):
                exec(f"{name} = {text}", trial)
            made = trial[name] = np.asarray(trial[name])
        except REFUSALS:
            return
        if made.dtype.kind not in "fib" or made.size > MOST:
            return
        if made.size and made.dtype.kind == "f" and not np.max(np.abs(made)) < 1e4:
            return
        known[name] = made
        # Of many sorted values some change places within any step of a difference.
        self.smooth &= not jumps and not re.search("[<>]|sort", text)
        self.lines.append(f"{name} = {text}")

    def text(self) -> str:
        """Return the source; each line ends with what may move its value."""
        lines = [f"{line}; {line[: line.index(' ')]} = J({line[: line.index(' ')]})"
                 for line in self.lines]  # fmt: skip
        body = "\n    ".join([*lines, f"return ({', '.join(self.results)},)"])
        return f"def program(np, L, J, x, y, k, p, q):\n    {body}\n"


def shape_of(rng: np.random.Generator) -> tuple[int, ...]:
    """Return a shape of one to three axes of up to 100,000 elements in all."""
    axes = int(rng.choice([1, 1, 2, 2, 3]))
    most = int(rng.choice([300, 5_000, 100_000], p=[0.25, 0.35, 0.4]))
    if axes == 1:
        return (int(rng.choice([n for n in LENGTHS if n <= most][-14:])),)
    found: list[int] = []
    for _ in range(axes):
        room = most // int(np.prod(found, dtype=int))
        found.append(int(rng.choice([n for n in LENGTHS if n <= max(room, 1)][-16:])))
    return tuple(int(n) for n in rng.permutation(found))


def laid(a: Any, layout: int) -> Any:
    """Return an equal array that lies in memory otherwise."""
    if layout == 1:
        return np.asfortranarray(a)
    if layout == 2:
        return np.repeat(a, 2, axis=-1)[..., ::2]
    if layout == 3:
        return np.flip(np.flip(a).copy())
    if layout == 4:
        return np.pad(a, [(1, 2)] * a.ndim)[(slice(1, -2),) * a.ndim]
    if layout == 5:  # not aligned
        raw = np.empty(a.nbytes + 1, np.uint8)
        made = raw[1:].view(a.dtype).reshape(a.shape)
        made[...] = a
        return made
    return a.copy()


def arguments(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> list[Any]:
    """Return two arrays, a mask, places, and whole numbers."""
    x, y = (rng.uniform(-1, 1, shape).astype(dtype) for _ in range(2))
    if rng.random() < 0.1:  # broadcast
        y = np.broadcast_to(y[:1], shape)
    else:
        y = laid(y, int(rng.integers(6)))
    count = int(rng.choice([1, 7, 64, 1000]))
    size = int(np.prod(shape))
    masks = rng.random(shape) < rng.choice([0.02, 0.5, 0.98])
    return [
        laid(x, int(rng.integers(6))), y, laid(masks, int(rng.integers(5))),
        rng.integers(0, 1 << 20, count), rng.integers(0, 1 << 20, min(size, 5_000)),
    ]  # fmt: skip


def jitter(rng: np.random.Generator) -> Callable[[Any], Any]:
    """Return what moves arrays of floats by rounding errors."""

    def moved(a: Any) -> Any:
        a = np.asarray(a)
        if a.dtype.kind != "f":
            return a
        unit = 4 * np.finfo(a.dtype).eps
        made = a + a * (unit * rng.uniform(-1, 1, a.shape)).astype(a.dtype)
        return made + (0.25 * unit * rng.uniform(-1, 1, a.shape)).astype(a.dtype)

    return moved


def weights(k: int, like: Any) -> Any:
    return np.cos(0.7 * np.arange(np.size(like)) + k).reshape(np.shape(like))


def same(a: Any) -> Any:
    return a


def traced(program: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the program as it is traced, and a number of all its results."""

    def values(*args: Any) -> Any:
        return tuple(program(np, sg, same, *args))

    def loss(x: Any, y: Any, k: Any, p: Any, q: Any, way: Any = sg) -> Any:
        found = program(np, way, same, x, y, k, p, q)
        return sum(
            np.sum(r * weights(i, r)) for i, r in enumerate(found) if np.result_type(r).kind == "f"
        )

    return values, loss


class Compared:
    """A program, compiled, beside NumPy."""

    def __init__(self, case: Any) -> None:
        self.case, self.rng = case, case.rng
        self.promised = bool(self.rng.random() < 0.2)
        self.dtype = np.dtype("f8" if self.promised or self.rng.random() < 0.75 else "f4")
        self.shape = shape_of(self.rng)
        self.args = arguments(self.rng, self.shape, self.dtype)
        self.writer = Writer(self.rng, self.args, self.promised)
        space: dict[str, Any] = {}
        exec(self.writer.text(), space)
        self.program = space["program"]
        self.traced, self.loss = traced(self.program)
        self.dynamic = not self.promised and bool(self.rng.random() < 0.8)

    def plain(self, args: list[Any], j: Any = same) -> tuple[Any, ...]:
        return tuple(self.program(np, PLAIN_LOOPS, j, *(np.array(a, order="C") for a in args)))

    def of_numpy(self, args: list[Any]) -> tuple[Any, ...] | None:
        """Return NumPy's results, or None where they are none, or not finite."""
        try:
            with np.errstate(all="raise", under="ignore"):
                return self.plain(args)
        except REFUSALS:
            return None

    def limits(self, want: tuple[Any, ...], args: list[Any]) -> list[float | None]:
        """Return how much each result may differ; None where one may jump."""
        found: list[float | None] = []
        others = [self.plain(args, jitter(self.rng)) for _ in range(3)]
        for k, value in enumerate(want):
            value = np.asarray(value)
            if value.dtype.kind != "f":
                equal = all(np.array_equal(value, o[k]) for o in others)
                found.append(0.0 if equal else None)
                continue
            scale = 1 + np.max(np.abs(value), initial=0)
            moved = max(np.max(np.abs(value - o[k]), initial=0) for o in others)
            rounds = 100 * np.finfo(value.dtype).eps * scale
            far = 1e-3 if value.dtype == np.float32 else 1e-8
            found.append(None if not moved <= far * scale else 20 * float(moved) + float(rounds))
        return found

    def values(self, found: Any, want: Any, limits: list[float | None], what: str) -> None:
        for k, (got, value, limit) in enumerate(zip(found, want, limits, strict=True)):
            got, value = np.asarray(got), np.asarray(value)
            note = f"{what}, result {k}"
            assert got.dtype == value.dtype, (note, got.dtype, value.dtype)
            assert got.shape == value.shape, (note, got.shape, value.shape)
            if self.promised:
                np.testing.assert_array_equal(got, value, note)
            elif limit is not None:
                np.testing.assert_allclose(got, value, rtol=0, atol=limit, err_msg=note)
            else:
                self.case.tally("jumps in part")

    def compare(self) -> None:
        rng, args = self.rng, self.args
        options = {"rounding": "numpy"} if self.promised else {}
        f = sg.compile(self.traced, dynamic=self.dynamic, **options)
        sets = [args, arguments(rng, self.shape, self.dtype)]
        sets[1][3] = np.resize(sets[1][3], args[3].shape)  # one more trace would take long
        if self.dynamic and rng.random() < 0.4:
            rank = len(self.shape)
            shapes = iter(lambda: shape_of(rng), None)
            most = max(1000, 3 * int(np.prod(self.shape)))
            other = next(s for s in shapes if len(s) == rank and np.prod(s) <= most)
            sets.append(arguments(rng, other, self.dtype))
        kept: list[tuple[Any, Any]] = []
        for given in sets:
            before = [np.array(a) for a in given]
            want = self.of_numpy(given)
            if want is None:
                assert given is not args
                continue
            limits = self.limits(want, given)
            found = f(*given)
            self.values(found, want, limits, f"values, {given[0].shape}")
            kept.append((found, [np.array(r) for r in found]))
            for a, b in zip(given, before, strict=True):
                np.testing.assert_array_equal(a, b, "an argument was written to")
        self.again(f, args, sets[1])
        for found, copies in kept:
            for a, b in zip(found, copies, strict=True):
                np.testing.assert_array_equal(a, b, "an earlier result was written to")
        if not self.promised and rng.random() < 0.75:
            self.slopes(args)

    def again(self, f: Any, args: list[Any], other: list[Any]) -> None:
        """Call with the same memory, threads, targets."""
        rng, want = self.rng, f(*args)
        if rng.random() < 0.3:
            before = sg.get_num_threads()
            try:
                for count in (1, 3):
                    sg.set_num_threads(count)
                    for a, b in zip(f(*args), want, strict=True):
                        np.testing.assert_array_equal(a, b, f"{count} threads")
            finally:
                sg.set_num_threads(before)
        if rng.random() < 0.5:  # other values in the same memory
            given = [a if not a.flags.writeable else np.array(a) for a in args]
            f(*given)
            for k in range(2):
                if given[k].flags.writeable:
                    given[k][...] = other[k]
            now = self.plain(given)
            self.values(f(*given), now, self.limits(now, given), "other values there")
        if rng.random() < 0.3:
            values = self.traced
            one = sg.compile(lambda *a: values(*a)[0], dynamic=self.dynamic)
            value = one(*args)
            if isinstance(value, np.ndarray):
                out = np.full_like(value, 3)
                assert one(*args, out=out) is out
                np.testing.assert_array_equal(out, value, "out=")
        if rng.random() < 0.05 and all(a.flags.aligned for a in args):
            made = [np.zeros_like(r) for r in want]
            f.kernel_into(*args)(*args, *(r for r in made if np.ndim(r)))
            for a, b in zip(made, want, strict=True):
                if np.ndim(b):
                    np.testing.assert_array_equal(a, b, "kernel_into")

    def slopes(self, args: list[Any]) -> None:
        """Compare gradients with those by NumPy, the forward mode, and differences."""
        rng, kind = self.rng, self.dtype
        if not any(np.result_type(r).kind == "f" for r in self.plain(args)):
            return
        loss, far = self.loss, 1e-3 if kind == np.float32 else 1e-8
        derivative = sg.grad(loss, argnums=(0, 1))
        found = sg.compile(derivative, dynamic=self.dynamic)(*args)
        by_steps = sg.compile(derivative, backend="numpy", dynamic=self.dynamic)
        want = by_steps(*args)
        moved = [jitter(rng)(a) for a in args[:2]]
        near = by_steps(*moved, *args[2:])
        judged = True
        for got, value, other in zip(found, want, near, strict=True):
            if not np.all(np.isfinite(value)):
                assert np.array_equal(np.isfinite(got), np.isfinite(value)), "places of nan"
                judged = False
                continue
            scale = 1 + np.max(np.abs(value), initial=0)
            limit = np.max(np.abs(value - other), initial=0)
            if not limit <= far * scale:
                judged = False
                continue
            limit = 50 * limit + 200 * np.finfo(kind).eps * scale
            np.testing.assert_allclose(got, value, rtol=0, atol=limit, err_msg="gradient")
        if not judged:
            self.case.tally("derivatives jump")
            return
        if kind == np.float32 or rng.random() < 0.4:
            return
        along = [rng.uniform(-1, 1, self.shape) for _ in range(2)]
        terms = np.concatenate([(g * d).ravel() for g, d in zip(found, along, strict=True)])
        slope, size = np.sum(terms), 1 + np.sqrt(np.sum(terms**2)) + np.abs(np.sum(terms))
        with sg.backend("llvm" if rng.random() < 0.7 else "numpy"):
            values, rest = self.traced, args[2:]
            _, pushed = sg.jvp(lambda x, y: values(x, y, *rest), tuple(args[:2]), tuple(along))
        total = sum(
            np.sum(t * weights(k, t)) for k, t in enumerate(pushed) if np.result_type(t).kind == "f"
        )
        assert abs(total - slope) <= 1e-8 * size, ("forward", total, "reverse", slope)
        if not self.writer.smooth:
            return
        differences = []
        for h in (1e-4, 1e-5, 1e-6, 1e-7):  # a longer step crosses kinks
            ends = [
                loss(*(np.array(a + s * h * d) for a, d in zip(args[:2], along, strict=True)),
                     *args[2:], PLAIN_LOOPS)
                for s in (1, -1)
            ]  # fmt: skip
            differences.append((ends[0] - ends[1]) / (2 * h))
        error = np.min(np.abs(np.array(differences) - slope))
        if error > 1e-4 * size:
            raise AssertionError(("reverse", slope, "differences", differences))


@pytest.mark.attack(
    quick=8, whole=4_000, part=50, judge="plain NumPy; gradients by steps, forward, by differences"
)
def test_large_arrays(attack: Any) -> None:
    """Programs on arrays of lengths around lanes, blocks and chunks, to 100,000; odd strides."""
    for case in attack:
        with case:
            compared = Compared(case)
            try:
                compared.compare()
            except SymgradError as error:
                case.tally("refused: " + re.sub(r"\d+", "#", str(error))[:90])
            except Exception as error:  # noqa: BLE001  # whatever it is, the program is wanted
                text = re.sub(r"; v\d+ = J\(v\d+\)", "", compared.writer.text())
                note = f"{text}{compared.shape} {compared.dtype} dynamic={compared.dynamic}"
                note += f" promised={compared.promised} strides "
                note += str([a.strides for a in compared.args])
                raise AssertionError(f"{note}\n{type(error).__name__}: {error}") from None
