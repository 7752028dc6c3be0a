"""Random programs in ordinary NumPy: what is written through views, beside NumPy itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.numpy as snp
from symgrad.errors import SymgradError

#: Calls of one program: compiling takes longer than all of them.
INPUTS = 20
#: Kinds of lengths among them: each may be a trace of its own.
KINDS = 3
#: Lengths n and m; the first are those that the program is written for.
SIZES = ((5, 3), (6, 4), (4, 4), (3, 5), (2, 2), (1, 3), (5, 1), (1, 1), (2, 7), (0, 3))

PART = (
    ":", "1:", ":-1", "::2", "1::2", "::-1", "-2::-1", "1:3", "3:0:-1", "::-2", "2:2", "-3:", "0",
    "1", "-1", "-2", "2", "...",
)  # fmt: skip
WRITTEN = (*PART, "None", "[0, -1, 1]", "[2, 0]", "(0, 1)", "np.array([1, 1])")


class Writer:
    """Writes a program line by line; a line that NumPy refuses is taken back."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.args = arguments(rng, *SIZES[0], 0)
        self.names = ["x", "a", "t"]
        tries = 0
        while len(self.lines) < 3 + int(rng.integers(7)) and tries < 60:
            tries += 1
            line = self.line()
            known = self.names + ([line.split(" = ")[0]] if re.match(r"v\d+ = ", line) else [])
            if self.works([*self.lines, line], known):
                self.lines.append(line)
                self.names = known
        count = 1 + int(rng.integers(3))
        chosen = {self.names[-1], *(str(k) for k in rng.choice(self.names, count))}
        self.results = sorted(chosen)

    def works(self, lines: list[str], names: list[str]) -> bool:
        try:
            found = function(lines, names)(np, *map(np.copy, self.args))
        except (ValueError, IndexError, TypeError):
            return False
        sizes = [np.size(v) for v in found]
        return max(sizes) <= 80 and all(np.all(np.abs(v) < 50) for v in found)

    def pick(self, *options: Any) -> str:
        return str(options[int(self.rng.integers(len(options)))])

    def index(self, options: tuple[str, ...] = PART) -> str:
        return ", ".join(self.pick(*options) for _ in range(1 + int(self.rng.integers(2))))

    def value(self) -> str:
        """An expression without a name of its own."""
        v, w, i, k = self.pick(*self.names), self.pick(*self.names), self.index(), self.index()
        return self.pick(
            f"{v}[{i}]", f"{v}[{i}] * {w}[{k}]", f"{v}[{i}] + 1", "0.5", "s", "2", "c",
            f"np.sin({v})", f"{v}[{i}] * s", f"{v}[{i}] / 2 - {w}[{k}]", f"{v}[::-1]",
            f"{v}[:-1]", f"{v}[1:]", f"np.sum({v}) * 0.1", f"{v}.shape[0] * 0.1",
            f"np.where(c, {v}, {w})", f"np.where({v} > 0.3, {v}, {w}[{i}])", f"np.where(b, x, {v})",
            f"{v}.T", f"{v}[{i}] * b[0]", f"({v} if c else {w}[{k}])", f"({v} if b[0] else 1.5)",
            f"np.where(~b | c, {v}, s)", f"np.sum({v}, where=b)",
        )  # fmt: skip

    def line(self) -> str:
        v, w, new = self.pick(*self.names), self.pick(*self.names), f"v{len(self.lines)}"
        i, e = self.index(WRITTEN), self.value()
        kind = self.rng.random()
        if kind < 0.45:
            return self.pick(
                f"{v}[{i}] = {e}", f"{v}[{i}] = {e}", f"{v}[{i}] += {e}", f"{v}[{i}] *= {e}",
                f"{v} += {e}", f"{v} *= {e}", f"{v}[1:] = {v}[:-1]", f"{v}[:-1] = {v}[1:]",
                f"{v}[::2] += {v}[1::2]", f"{v}[::-1] = {v}", f"{v}[...] = {v}[::-1]",
                f"{v}[:] = {w}", f"{v}[{v} > 0.2] = 0.25", f"{v}[{v} < 0.5] *= 1.5", f"{v}[b] = s",
                f"np.add({v}, {e}, out={v})", f"np.multiply({v}[{i}], 0.5, out={v}[{i}])",
                f"np.add({v}, {e}, out={v}, where=b)", f"np.sin({v}, out={v}, where={v} > 0.1)",
                f"np.multiply({v}, 0.5, out={v}, where=c)", f"{v}[b] *= {e}",
                f"np.subtract({v}[{i}], {e}, out={v}[{i}], where={w}[{i}] > 0)",
                f"{v}[~b] = {e}", f"{v} *= b", f"{v}[{i}] = b[0]",
                f"np.copyto({v}, {e})", f"np.copyto({v}, 0.5, where={v} > 0.1)", f"{v}.fill(s)",
                f"{v}.sort()", f"np.fill_diagonal({v}, {e})", f"{v}.flat[1] = s",
                f"np.add.at({v}, [0, 1, 0], s)", f"{v}.ravel()[0] = s", f"{v}.reshape(-1)[1] = {e}",
                f"{v}.T[{i}] = {e}", f"{v}[::-1].ravel()[0] = s", f"{v}[{i}][{self.index()}] = {e}",
            )  # fmt: skip
        if kind < 0.75:
            made = self.pick(
                f"{v}[{i}]", f"{v}[{i}]", f"{v}.T", f"{v}.ravel()", f"{v}.reshape(-1)",
                f"{v}[::-1]", f"{v}.reshape({v}.shape[::-1])", f"np.flip({v})", f"np.rot90({v})",
                f"{v}[None]",
                f"np.squeeze({v})", f"np.diagonal({v})", f"np.broadcast_to({v}, (2, *{v}.shape))",
                f"np.split({v}, [2])[{self.pick(0, 1)}]", f"np.atleast_2d({v})",
                f"{v}.swapaxes(0, -1)",
                f"np.ascontiguousarray({v})", f"np.asarray({v})", f"{v}.flatten()", f"{v}[1:][::2]",
                f"np.expand_dims({v}, 0)", f"np.moveaxis({v}, 0, -1)", f"{v}.ravel(order='F')",
                f"np.real({v})", f"{v}[..., ::-1]",
            )  # fmt: skip
            return f"{new} = {made}"
        made = self.pick(
            f"{v}.copy()", f"np.copy({v})", f"np.sin({v})", f"{v} * 0.5 + {e}", f"+{v}",
            "np.zeros(6)", "np.ones((2, 3))", f"np.zeros_like({v})",
            f"np.full({v}.shape, s)", "np.zeros(x.shape[0])", "np.arange(5) * 0.3", "np.arange(4)",
            f"np.concatenate([{v}, {w}])", f"np.stack([{v}, {w}])", f"np.pad({v}, 1)",
            f"np.pad({v}, 1, mode='edge')", f"np.roll({v}, 1)", f"np.repeat({v}, 2)",
            f"np.tile({v}, 2)", f"np.append({v}, s)", f"np.delete({v}, 0)", f"np.insert({v}, 1, s)",
            f"np.vstack([{v}, {w}])", f"np.stack([s, {v}[0], 1.0])", f"np.sum({v}, axis=0)",
            f"np.cumsum({v})", f"{v} @ {w}", f"np.outer({v}, {w})", f"np.where({v} > 0.1, {v}, 0)",
            f"np.array({v}, copy=True)", f"{v}[[0, -1, 0]]", f"{v}[:, [1, 0]]", f"np.diff({v})",
            f"np.where(b, {v}, -1)", f"{v}.astype(float)", f"np.sort({v})", f"np.take({v}, [1, 0])",
        )  # fmt: skip
        return f"{new} = {made}"


def function(lines: list[str], results: list[str]) -> Callable[..., Any]:
    """Return the function of these lines; ``np`` is its first argument."""
    body = "\n    ".join([*lines, f"return ({', '.join(results)},)"])
    made: dict[str, Any] = {}
    exec(f"def program(np, x, a, t, s, b, c):\n    {body}\n", made)
    return made["program"]  # type: ignore[no-any-return]


def arguments(rng: np.random.Generator, n: int, m: int, layout: int) -> list[Any]:
    """Return a vector, a matrix, a short vector, a number, a mask, and a truth value."""
    x, a, t = (rng.uniform(-1, 1, shape) for shape in (n, (n, m), 4))
    if layout == 1:
        a = np.asfortranarray(a)
    elif layout == 2:
        x, a = np.repeat(x, 2)[::2], np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3]
    elif layout == 3:
        x, a = x[::-1].copy()[::-1], np.flip(np.flip(a).copy())
    elif layout == 4:
        for given in (x, a, t):
            given.flags.writeable = False
    elif layout == 5 and n and m:  # overlapping
        a = np.lib.stride_tricks.as_strided(rng.uniform(-1, 1, n + m), (n, m), (8, 8))
        x = a[:, 0]
    truth = (bool, np.bool_, np.array)[int(rng.integers(3))](bool(rng.integers(2)))
    return [x, a, t, rng.uniform(0.2, 1), rng.random(n) > 0.5, truth]


class Pair:
    """A program, compiled: its values, and a number that depends on all of them."""

    def __init__(self, seed: int) -> None:
        written = Writer(np.random.default_rng([20, seed]))
        self.text = "\n".join([*written.lines, f"return {written.results}"])
        self.program = function(written.lines, written.results)
        self.values = sg.compile(lambda *args: self.program(snp, *args))
        self.slopes = sg.value_and_grad(lambda *args: self.total(snp, *args), argnums=(0, 1, 2, 3))

    def total(self, module: Any, *args: Any) -> Any:
        found = self.program(module, *args)
        return sum(module.sum(module.cos(v + 0.3 * k) * 0.7) for k, v in enumerate(found, 1))

    def reference(self, args: list[Any]) -> Any:
        """NumPy's values, for copies of the arguments in C order."""
        return self.program(np, *(np.array(v, order="C") if np.ndim(v) else v for v in args))


def difference(pair: Pair, args: list[Any], along: list[Any], step: float) -> float:
    """Return the slope along a direction by central differences of order 8."""
    weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    found = 0.0
    for k, weight in enumerate(weights, 1):
        for sign in (1, -1):
            moved = [
                np.add(v, sign * k * step * d, order="C")
                for v, d in zip(args[:4], along, strict=True)
            ]
            found += sign * weight * float(pair.total(np, *moved, *args[4:]))
    return found / step


def agree(pair: Pair, args: list[Any], rng: np.random.Generator) -> str:
    """Compare one call with NumPy; return how it ended, or raise AssertionError."""
    before = [np.array(v) for v in args]
    try:
        wanted = pair.reference(args)
    except (ValueError, IndexError, TypeError) as error:
        try:
            found = pair.values(*args)
        except (ValueError, IndexError, TypeError, SymgradError):
            return f"raises as NumPy does: {type(error).__name__}"
        raise AssertionError((pair.text, "does not raise", error, found)) from error
    try:
        found = pair.values(*args)
    except (SymgradError, TypeError) as error:  # numbers, which NumPy's scalars pass for arrays
        return "refused: " + re.sub(r"\d+|\(.*?\)|\S+_programs\S*|<\S+>", "#", str(error))[:70]
    for k, (got, want) in enumerate(zip(found, wanted, strict=True)):
        assert np.shape(got) == np.shape(want), (pair.text, k, np.shape(got), np.shape(want))
        np.testing.assert_allclose(got, want, 1e-12, 1e-12, err_msg=f"{pair.text}\nresult {k}")
    slopes = pair.slopes(*args)[1]
    along = [rng.uniform(-1, 1, np.shape(v)) for v in args[:4]]
    slope = sum(float(np.sum(g * d)) for g, d in zip(slopes, along, strict=True))
    for given, copy in zip(args, before, strict=True):
        np.testing.assert_array_equal(given, copy, "an argument was written to")
    tried = []
    for step in (2e-2, 2e-3, 1e-4, 5e-6):  # one crosses a kink, a shorter one may not
        tried.append(difference(pair, args, along, step))
        if abs(tried[-1] - slope) <= 1e-6 * max(1.0, abs(slope)):
            break
    else:
        raise AssertionError((pair.text, args, "slope", slope, "differences", tried))
    if rng.random() < 0.1:
        with sg.backend("numpy"):
            _, pushed = sg.jvp(
                lambda *v: pair.total(snp, *v, *args[4:]), tuple(args[:4]),
                tuple(np.float64(d) if np.ndim(d) == 0 else d for d in along),
            )  # fmt: skip
        np.testing.assert_allclose(pushed, slope, 1e-9, 1e-9, err_msg=pair.text)
    return "equal"


def inputs(number: int) -> tuple[int, list[Any]]:
    """Return the program's number, and the arguments, of a case."""
    seed, call = divmod(number, INPUTS)
    rng = np.random.default_rng([21, number])
    others = np.random.default_rng([22, seed]).permutation(np.arange(1, len(SIZES)))
    chosen = [0, *others[: KINDS - 1]]
    return seed, arguments(rng, *SIZES[chosen[call % KINDS]], int(rng.integers(6)))


@pytest.mark.attack(
    quick=2, whole=20_000, part=1000, judge="plain NumPy, differences of order 8, forward mode"
)
def test_differential_programs(attack: Any) -> None:
    """Writes through views of every layout, overlapping; masks, branches, joins, sizes from 0."""
    pair = None
    seed = -1
    for case in attack:
        with case:
            number, args = inputs(case.number)
            if number != seed:
                pair, seed = Pair(number), number
            assert pair is not None
            case.tally(agree(pair, args, case.rng))


def again(number: int) -> list[str]:
    """Run all cases of one program in a process that finds its kernels on disk."""
    pair, rng = Pair(number), np.random.default_rng(number)
    cases = range(number * INPUTS, (number + 1) * INPUTS)
    return [agree(pair, inputs(k)[1], rng) for k in cases]


@pytest.mark.attack(quick=1, whole=50, part=10, judge="plain NumPy, in a separate process")
@pytest.mark.slow
def test_differential_programs_from_the_cache(attack: Any, isolated: Any) -> None:
    """The same programs with kernels that another process has compiled."""
    for case in attack:
        with case:
            first, second = (isolated(again, case.number, seconds=120) for _ in range(2))
            assert first.kind == second.kind == "returned", (first, second)
            assert Counter(first.value) == Counter(second.value)
