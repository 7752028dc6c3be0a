"""``numpy.random``: for plain arrays; while a function is traced only from given seeds.

What is drawn while a function is traced would be drawn once, and be the same constant in every
call. That is right for numbers from a seed that the function itself gives, and wrong for all
others, which are refused.

Examples
--------
>>> import symgrad as sg
>>> import symgrad.numpy as np
>>> f = lambda x: np.sum(x * np.random.default_rng(0).random(3))
>>> f(2.0) == sg.compile(f)(2.0)
np.True_
"""

from __future__ import annotations

import functools
import random as _python
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from .._core.base.sizes import Size
from .._core.base.state import now
from .._core.trace.namespace import offering
from ..errors import OutsideError

_names, __dir__ = offering(np.random, globals())


def _seeding(function: Callable[..., Any], home: str) -> Callable[..., Any]:
    """Return what seeds a shared generator; while a function is traced, it may then draw."""

    @functools.wraps(function)
    def seed(*args: Any, **kwargs: Any) -> Any:
        seeded = now().seeded
        if seeded is not None:
            given = any(x is not None for x in (*args, *kwargs.values()))
            (seeded.add if given else seeded.discard)(home)  # without one it is the system's
        return function(*args, **kwargs)

    return seed


def drawing(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that draws random numbers, but not while another is traced."""

    @functools.wraps(function)
    def draw(*args: Any, **kwargs: Any) -> Any:
        seeded = now().seeded
        if seeded is not None and name.rpartition(".")[0] not in seeded:
            raise OutsideError(
                f"{name} draws random numbers: they would be drawn once, while the function is "
                "traced, and be the same in every call. Write instead: draw them outside and "
                "pass them as an argument; or np.random.default_rng(seed) within the function "
                "for the same numbers in every call"
            )
        return function(*args, **kwargs)

    return draw


#: Python's ``random``, which draws nothing while a function is traced.
PYTHON = ModuleType("random")
for _name, _function in vars(_python).items():
    if not _name.startswith("__"):
        if isinstance(getattr(_function, "__self__", None), _python.Random):
            make = _seeding if _name == "seed" else drawing
            _function = make(_function, "random" if _name == "seed" else f"random.{_name}")
        setattr(PYTHON, _name, _function)


class Drawing:
    """A generator that a traced function found, and may not draw from."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._generator, name)
        if name.startswith("_") or not callable(found):
            return found
        return drawing(found, f"{type(self._generator).__name__}.{name}")


def default_rng(seed: Any = None) -> Any:
    """Make a generator; while a function is traced its seed has to be given."""
    if seed is None:
        return drawing(np.random.default_rng, "np.random.default_rng()")()
    return _seeded(np.random.default_rng)(seed)


def _seeded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of seeds that takes whole numbers among the arguments of a trace."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        numbers = [int(x) if isinstance(x, Size) else x for x in args]
        named = {k: int(x) if isinstance(x, Size) else x for k, x in kwargs.items()}
        return function(*numbers, **named)

    return call


seed = _seeded(_seeding(np.random.seed, "np.random"))
RandomState, SeedSequence, PCG64, MT19937, Philox = map(
    _seeded,
    (np.random.RandomState, np.random.SeedSequence, np.random.PCG64,
     np.random.MT19937, np.random.Philox),
)  # fmt: skip


def __getattr__(name: str) -> Any:
    found: Any = getattr(np.random, name, None)
    if isinstance(getattr(found, "__self__", None), np.random.RandomState):
        return drawing(found, f"np.random.{name}")
    return _names(name)
