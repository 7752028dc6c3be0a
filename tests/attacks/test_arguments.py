"""Nested arguments whose structure, constants and types change from call to call."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import ArgumentError


class Pair(NamedTuple):
    """Two values by name."""

    first: Any
    second: Any


@dataclasses.dataclass
class Box:
    """Two values in a class of the user's."""

    inner: Any
    outer: Any


def is_array(value: Any) -> bool:
    """Tell whether a value is a list of numbers, possibly nested, which is an array."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            is_array(v) or (isinstance(v, (int, float)) and not isinstance(v, bool)) for v in value
        )
    )


def number(value: Any) -> Any:
    """Return a number that tells a value, and where it lies, from others."""
    if value is None:
        return 0.5
    if isinstance(value, (bool, str)):
        return 0.1 * len(repr(value))
    if isinstance(value, dict):
        parts: Any = [(len(str(k)) + 0.3 * k.count("a"), v) for k, v in value.items()]
        total = 1.0
    elif isinstance(value, Box):
        parts, total = [(1.7, value.inner), (2.3, value.outer)], 2.0
    elif isinstance(value, Pair):
        parts, total = [(0.7, value.first), (1.3, value.second)], 3.0
    elif isinstance(value, (list, tuple)) and not is_array(value):
        parts, total = [(k + 1.0, v) for k, v in enumerate(value)], float(len(value))
        total = total if isinstance(value, list) else 2 * total
    else:
        return np.sum(np.asarray(value) ** 2)
    for place, (weight, part) in enumerate(parts):
        total = total + (weight + 0.01 * place) * number(part)
    return total


def function(*args: Any, **kwargs: Any) -> Any:
    """Return a number that tells calls from each other."""
    total = number(args)
    for name, value in kwargs.items():
        total = total + len(name) * number(value)
    return total


def leaf(rng: np.random.Generator, constants: bool) -> Any:
    """Return an array, a number or a constant."""
    kind = int(rng.integers(10 if constants else 4))
    if kind < 3:
        return rng.normal(size=tuple(rng.integers(1, 5, rng.integers(1, 3))))
    return (
        float(rng.normal()), None, True, False, "ab", 1, 5, rng.normal(size=3).astype(np.float32),
    )[max(kind - 3, 0)]  # fmt: skip


def nested(rng: np.random.Generator, depth: int, constants: bool) -> Any:
    """Return a random nested value."""
    if not depth or rng.random() < 0.3:
        return leaf(rng, constants)
    parts = [nested(rng, depth - 1, constants) for _ in range(rng.integers(1, 4))]
    names = list(rng.permutation(["a", "bb", "aa", "c"]))[: len(parts)]
    two = (parts * 2)[:2]
    return (
        lambda: parts, lambda: tuple(parts), lambda: dict(zip(map(str, names), parts, strict=True)),
        lambda: dict(zip(map(str, names), parts, strict=True)), lambda: Pair(*two),
        lambda: Box(*two),
        lambda: collections.OrderedDict(zip(map(str, names), parts, strict=True)),
        lambda: collections.defaultdict(float, zip(map(str, names), parts, strict=True)),
    )[rng.integers(8)]()  # fmt: skip


def changed(rng: np.random.Generator, value: Any, constants: bool) -> Any:
    """Return a value that differs a little, in its numbers or in its structure."""
    if rng.random() < 0.1:
        return nested(rng, 1, constants)
    if isinstance(value, dict):
        items = [(k, changed(rng, v, constants)) for k, v in value.items()]
        if rng.random() < 0.1:
            items.reverse()
        if rng.random() < 0.1:
            items.append(("more", leaf(rng, constants)))
        made = {} if rng.random() < 0.1 else value.copy()
        made.clear()
        made.update(items)
        return made
    if isinstance(value, (Pair, Box)):
        parts = value if isinstance(value, Pair) else (value.inner, value.outer)
        kind = type(value) if rng.random() < 0.9 else Box
        return kind(*(changed(rng, v, constants) for v in parts))
    if isinstance(value, (list, tuple)):
        parts = [changed(rng, v, constants) for v in value]
        return parts if isinstance(value, list) ^ (rng.random() < 0.1) else tuple(parts)
    if isinstance(value, np.ndarray):
        if rng.random() < 0.1:
            return value.tolist() if value.ndim == 1 else value.astype(np.float32)
        return rng.normal(size=value.shape).astype(value.dtype)
    if type(value) is float:
        return float(rng.normal()) if rng.random() < 0.8 else np.float64(rng.normal())
    return leaf(rng, constants) if rng.random() < 0.1 else value


def by_hand(value: Any, weight: float = 1.0) -> Any:
    """Return the derivative of :func:`number` by a nested value of floats, nested as it is."""
    if isinstance(value, dict):
        made = value.copy()
        for place, (k, v) in enumerate(value.items()):
            own = len(str(k)) + 0.3 * k.count("a") + 0.01 * place
            made[k] = by_hand(v, weight * own)
        return made
    if isinstance(value, Box):
        return Box(by_hand(value.inner, 1.7 * weight), by_hand(value.outer, 2.31 * weight))
    if isinstance(value, Pair):
        return Pair(by_hand(value.first, 0.7 * weight), by_hand(value.second, 1.31 * weight))
    if isinstance(value, (list, tuple)) and not is_array(value):
        return type(value)(by_hand(v, weight * (k + 1.0 + 0.01 * k)) for k, v in enumerate(value))
    return 2 * weight * np.asarray(value)


def same(found: Any, wanted: Any) -> None:
    """Compare nested results, their containers included."""
    if isinstance(wanted, Box):
        assert type(found) is Box
        found, wanted = (found.inner, found.outer), (wanted.inner, wanted.outer)
    if isinstance(wanted, dict):
        assert type(found) is type(wanted)
        assert list(found) == list(wanted)
        found, wanted = tuple(found.values()), tuple(wanted.values())
    if isinstance(wanted, (list, tuple)):
        assert type(found) is type(wanted)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            same(one, other)
        return
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.attack(quick=2, whole=3_000, part=200, judge="the plain function, derivatives by hand")
def test_arguments(attack: Any) -> None:
    """Nested arguments, by position and by name: containers, keys, constants, types that change.

    Earlier kinds of calls come again, between others.
    """
    shift = 0.25  # what it reads besides

    def reads(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) + shift

    for case in attack:
        with case:
            rng = case.rng
            plain = reads if rng.random() < 0.3 else function
            compiled, slope = sg.compile(plain), sg.value_and_grad(plain)
            args = [nested(rng, 3, False), *(nested(rng, 2, True) for _ in range(rng.integers(3)))]
            kwargs = {k: nested(rng, 1, True) for k in ("x", "why")[: int(rng.integers(3))]}
            earlier: list[tuple[Any, Any]] = []
            for _ in range(8):
                shift = float(rng.normal())
                try:
                    wanted = plain(*args, **kwargs)
                except ValueError:
                    with pytest.raises(ArgumentError, match="ragged"):
                        compiled(*args, **kwargs)
                    break
                for _ in range(2):  # the second is as the first, and goes straight
                    np.testing.assert_allclose(compiled(*args, **kwargs), wanted, rtol=1e-5)
                    value, found = slope(*args, **kwargs)
                    np.testing.assert_allclose(value, wanted, rtol=1e-5)
                    same(found, by_hand(args[0]))
                    if earlier and rng.random() < 0.5:  # kinds that take turns go straight, too
                        before, named = earlier[rng.integers(len(earlier))]
                        wanted_before = plain(*before, **named)
                        np.testing.assert_allclose(compiled(*before, **named), wanted_before, 1e-5)
                        same(slope(*before, **named)[1], by_hand(before[0]))
                earlier.append((args, kwargs))
                args = [changed(rng, args[0], False), *(changed(rng, a, True) for a in args[1:])]
                kwargs = {k: changed(rng, v, True) for k, v in kwargs.items()}
                if rng.random() < 0.1:
                    kwargs = dict(reversed(kwargs.items()))
