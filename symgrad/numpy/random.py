"""``numpy.random`` and Python's ``random``, whose shared generators a traced function draws from.

A compiled function draws in each call, before its program runs
(:mod:`symgrad._core.trace._draws`). A program without Python cannot; there only numbers from a seed
that the function itself gives are drawn, while it is traced, and are the same in every call.

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
from .._core.trace import GENERATORS, SHARED, RandomGenerator, in_trace
from .._core.trace.namespace import offering
from ..errors import OutsideError

_names, __dir__ = offering(np.random, globals())


def _seeding(function: Callable[..., Any], home: str) -> Callable[..., Any]:
    """Return what seeds a shared generator; while a function is traced, it may then draw."""

    @functools.wraps(function)
    def seed(*args: Any, **kwargs: Any) -> Any:
        given = any(x is not None for x in (*args, *kwargs.values()))
        if now().draws is not None:
            if not given:
                raise OutsideError(
                    f"{home}.seed() takes a seed from the system, another one in each call, so "
                    "that a derivative could not be computed of the same numbers. Write instead: "
                    f"{home}.seed(), outside of the function"
                )
            return _of_shared(home).seed(*args, **kwargs)
        seeded = now().seeded
        if seeded is not None:
            (seeded.add if given else seeded.discard)(home)  # without one it is the system's
        return function(*args, **kwargs)

    return seed


def _of_shared(home: str) -> Any:
    """Return what stands for a shared generator in the trace that runs."""
    generator = SHARED[home]
    return in_trace(type(generator), generator=generator, home=home)


def drawing(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that draws random numbers, of which a trace is told.

    ``name`` is its name in its module.
    """
    home, _, method = name.rpartition(".")

    @functools.wraps(function)
    def draw(*args: Any, **kwargs: Any) -> Any:
        if now().draws is not None:
            return getattr(_of_shared(home), method)(*args, **kwargs)
        _refuse_unseeded(name)
        return function(*args, **kwargs)

    return draw


def from_system(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that has its numbers from the system; it is refused in a trace."""

    @functools.wraps(function)
    def draw(*args: Any, **kwargs: Any) -> Any:
        _refuse_unseeded(name)
        return function(*args, **kwargs)

    return draw


def _refuse_unseeded(name: str) -> None:
    """Raise in a trace, where nothing notes what is drawn, unless the function gives the seed."""
    seeded = now().seeded
    if seeded is not None and name.rpartition(".")[0] not in seeded:
        raise OutsideError(
            f"{name} draws random numbers: they would be drawn once, while the function is "
            "traced, and be the same in every call. Write instead: draw them outside and "
            "pass them as an argument; or np.random.default_rng(seed) within the function "
            "for the same numbers in every call"
        )


#: Python's ``random``.
PYTHON = ModuleType("random")
for _name, _function in vars(_python).items():
    if not _name.startswith("__"):
        if isinstance(getattr(_function, "__self__", None), _python.Random):
            make = _seeding if _name == "seed" else drawing
            _function = make(_function, "random" if _name == "seed" else f"random.{_name}")
        setattr(PYTHON, _name, _function)


def default_rng(seed: Any = None) -> Any:
    """Make a generator; while a function is traced its seed has to be given."""
    if seed is None:
        return from_system(np.random.default_rng, "np.random.default_rng()")()
    return seed if type(seed) is RandomGenerator else _seeded(np.random.default_rng)(seed)


def _seeded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of seeds that takes whole numbers among the arguments of a trace."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        numbers = [int(x) if isinstance(x, Size) else x for x in args]
        named = {k: int(x) if isinstance(x, Size) else x for k, x in kwargs.items()}
        made, seeded = function(*numbers, **named), now().seeded
        if seeded is not None and type(made) in GENERATORS:
            seeded.add(made)  # which the bodies of loops must not draw from
        return made

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
