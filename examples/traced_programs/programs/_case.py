"""One function of somebody else's, and what becomes of it."""

from __future__ import annotations

import copy
import random as python_random
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import symgrad as sg

from ._slopes import NoSlopeError, slope

#: How far values may be apart, relative to the largest.
VALUES = 1e-11

#: How far slopes may be apart beyond what the differences say of themselves.
SLOPES = 1e-6

#: The same where the function computes in float32.
LOW_VALUES, LOW_SLOPES = 1e-4, 1e-2

#: The ways to trace a function: the first that works is reported.
WAYS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "sg.adapt": sg.adapt,
    "control_flow=True": lambda f: sg.compile(sg.adapt(f), control_flow=True),
}


@dataclass(frozen=True)
class Case:
    """A function with arguments to call it with.

    Attributes
    ----------
    suite, name:
        Where it is from and what it is called there.
    function:
        The function or method, as imported.
    arguments:
        Makes arguments from a seed.
    written:
        The positions of the arguments that a function without a result overwrites.
    """

    suite: str
    name: str
    function: Callable[..., Any]
    arguments: Callable[[int], Sequence[Any]]
    written: tuple[int, ...] = ()


@dataclass
class Finding:
    """What became of a function.

    Attributes
    ----------
    verdict:
        ``"traced"``, ``"option"`` (needs one), ``"refused"`` or ``"WRONG"``.
    way:
        What traced it.
    first:
        Processor seconds to the first value and gradient, compilation included.
    detail:
        The error's text, or how far off.
    slopes:
        How many slopes were checked.
    """

    case: Case
    verdict: str = "refused"
    way: str = ""
    first: float = 0.0
    detail: str = ""
    slopes: int = 0
    refusals: dict[str, str] = field(default_factory=dict)


class TimeLimitError(Exception):
    """A function took longer than allowed."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TimeLimitError in what takes more processor time."""

    def stop(*_: Any) -> None:
        raise TimeLimitError(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def plain(case: Case, arguments: Sequence[Any]) -> list[np.ndarray]:
    """Return the function's numbers as NumPy computes them; the arguments stay as they are."""
    given = copy.deepcopy(list(arguments))
    seed_shared()
    result = case.function(*given)
    if result is None:
        result = [given[k] for k in case.written]
    return numbers(result)


def seed_shared() -> None:
    """Have the shared generators draw the same numbers in each call that is compared."""
    np.random.seed(0)  # noqa: NPY002  which the programs draw from
    python_random.seed(0)


def numbers(result: Any) -> list[np.ndarray]:
    """Return the arrays in a nested result."""
    if isinstance(result, (tuple, list)):
        return [x for part in result for x in numbers(part)]
    return [] if result is None else [np.asarray(result)]


def total(result: Any, weights: Sequence[Any]) -> Any:
    """Return one number of which every element of the result is a part."""
    parts = [result] if not isinstance(result, (tuple, list)) else result
    return sum(np.sum(part * w) for part, w in zip(parts, weights, strict=True))


def differentiable(value: Any) -> bool:
    """Tell whether an argument or a result is of real numbers."""
    return isinstance(value, float) or getattr(getattr(value, "dtype", None), "kind", "") == "f"


def alike(noise: np.ndarray, value: Any) -> np.ndarray:
    """Return noise that leaves a symmetric matrix one: of others no factorisation is asked."""
    square = np.ndim(value) == 2 and np.shape(value)[0] == np.shape(value)[1]
    return (noise + noise.T) / 2 if square and np.array_equal(value, value.T) else noise


def judge(case: Case, points: int = 2, limit: float = 60.0) -> Finding:
    """Trace, compile, and compare with the plain function."""
    finding = Finding(case)
    for way, through in WAYS.items():
        try:
            with limited(limit), warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                check(case, through(case.function), points, finding)
        except AssertionError as error:
            finding.verdict, finding.way, finding.detail = "WRONG", way, str(error)
            return finding
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
            finding.refusals[way] = f"{type(error).__name__}: {error}"
            continue
        finding.verdict, finding.way = "traced" if way == next(iter(WAYS)) else "option", way
        return finding
    finding.detail = finding.refusals[next(iter(WAYS))]
    return finding


def check(case: Case, traced: Callable[..., Any], points: int, finding: Finding) -> None:
    """Compare values and slopes; AssertionError says how far off they are."""
    compiled = sg.compile(traced, cache=False)
    gradient: Any = None
    finding.slopes, finding.first = 0, 0.0
    for seed in range(points):
        arguments = case.arguments(seed)
        wanted = plain(case, arguments)
        low = any(getattr(v, "dtype", None) == np.float32 for v in (*arguments, *wanted))
        start = time.process_time()
        seed_shared()
        got = numbers(compiled(*copy.deepcopy(list(arguments))))
        finding.first = finding.first or time.process_time() - start
        compare(got, wanted, low)
        argnums = tuple(k for k, v in enumerate(arguments) if differentiable(v))
        if not argnums or not any(differentiable(w) for w in wanted):
            continue
        random = np.random.default_rng(7)
        weights = [random.uniform(0.5, 1.5, w.shape) * differentiable(w) for w in wanted]
        if gradient is None:
            gradient = sg.value_and_grad(lambda w, *a: total(compiled(*a), w),
                                         tuple(k + 1 for k in argnums))  # fmt: skip
        start = time.process_time()
        seed_shared()
        _, found = gradient(weights, *copy.deepcopy(list(arguments)))
        if seed == 0:
            finding.first += time.process_time() - start
        finding.slopes += slopes(case, arguments, argnums, weights, found, seed, low)


def compare(got: Sequence[np.ndarray], wanted: Sequence[np.ndarray], low: bool) -> None:
    """Compare results, element by element, to the scale of the largest."""
    assert len(got) == len(wanted), f"{len(got)} results, NumPy has {len(wanted)}"
    for g, w in zip(got, wanted, strict=True):
        assert g.shape == w.shape, f"shape {g.shape}, NumPy has {w.shape}"
        finite = np.isfinite(w)
        assert np.array_equal(g[~finite], w[~finite], equal_nan=True), "not finite elsewhere"
        scale = np.max(np.abs(w[finite]), initial=0.0) or 1.0
        off = np.max(np.abs(g[finite] - w[finite]), initial=0.0) / scale
        assert off <= (LOW_VALUES if low else VALUES), f"value off by {off:.1e}"


def slopes(
    case: Case, arguments: Sequence[Any], argnums: Sequence[int], weights: Sequence[Any],
    gradient: Sequence[Any], seed: int, low: bool,
) -> int:  # fmt: skip
    """Compare the gradient with differences along a random direction; return how many could be."""
    random = np.random.default_rng(seed)
    direction = [
        alike(random.uniform(-1, 1, np.shape(arguments[k])), arguments[k])
        * (np.max(np.abs(arguments[k])) or 1.0)
        for k in argnums
    ]

    def along(t: float) -> float:
        moved = list(arguments)
        for k, d in zip(argnums, direction, strict=True):
            shifted = arguments[k] + t * d
            moved[k] = shifted if np.ndim(shifted) else float(shifted)
        with suppress(ArithmeticError, ValueError):  # outside of where it is defined
            return float(total(plain(case, moved), weights))
        return np.nan

    try:
        wanted, doubt, scale = slope(along, LOW_SLOPES if low else 10 * SLOPES)
    except NoSlopeError:
        return 0
    got = sum(float(np.sum(g * d)) for g, d in zip(gradient, direction, strict=True))
    off = abs(got - wanted)
    allowed = 10 * doubt + (LOW_SLOPES if low else SLOPES) * scale
    assert off <= allowed, f"slope {got:.12g}, differences {wanted:.12g}"
    return 1
