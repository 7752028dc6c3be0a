"""What samples are made of: random arrays of given shapes and types, and options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

Sample = tuple[tuple[Any, ...], dict[str, Any]]
Samples = Callable[[np.random.Generator], Iterator[Sample]]


def on(
    shapes: Iterable[tuple[int, ...]],
    *calls: tuple[Any, ...] | dict[str, Any],
    dtypes: Sequence[str] = ("f8",),
) -> Samples:
    """Return ``samples`` of a function of one array: each call on each shape and type.

    A call is a tuple of further positional arguments or a dict of keyword arguments.
    """
    return _product([(shape,) for shape in shapes], calls, dtypes, listed=False)


def on_all(
    groups: Iterable[Sequence[tuple[int, ...]]],
    *calls: tuple[Any, ...] | dict[str, Any],
    dtypes: Sequence[str] = ("f8",),
    listed: bool = False,
) -> Samples:
    """Return ``samples`` of a function of several arrays, or of a list of arrays."""
    return _product(groups, calls, dtypes, listed)


def _product(groups: Any, calls: Any, dtypes: Any, listed: bool) -> Samples:
    def samples(rng: np.random.Generator) -> Iterator[Sample]:
        for group in groups:
            for call in calls or ((),):
                for dtype in dtypes:
                    arrays = tuple(numbers(rng, shape, dtype) for shape in group)
                    head = (list(arrays),) if listed else arrays
                    yield (head, dict(call)) if isinstance(call, dict) else ((*head, *call), {})

    return samples


def join(*parts: Samples) -> Samples:
    """Return the samples of all ``parts``, one after the other."""
    return lambda rng: (sample for part in parts for sample in part(rng))


def numbers(rng: np.random.Generator, shape: Any, dtype: str = "f8") -> Any:
    """Return a random array: normal floats, integers of both signs, or booleans."""
    x = np.asarray(rng.standard_normal(shape))
    return np.asarray(x > 0) if dtype == "?" else (4 * x if dtype[0] == "i" else x).astype(dtype)
