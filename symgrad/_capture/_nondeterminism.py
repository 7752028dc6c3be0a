"""What a trace cannot follow: random numbers, clocks, what is typed in, files.

They are read once, while a function is traced, and would be the same in every call. Generators
of random numbers that the function can reach are looked at before and after a trace: one that has
moved on was drawn from. Clocks and files leave no such trail. Copies of functions have others
(:mod:`symgrad.numpy._environment`); where no copy can be made, they are looked for in the code.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import random
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType, GeneratorType, ModuleType
from typing import Any

import numpy as np

from .._core.base.state import now
from .._core.graph import Where, warn_user
from .._core.trace import GENERATORS, SHARED
from ..errors import CaptureWarning, OutsideError
from ._code_names import names_in
from ._draws import States

#: So many more traces tell whether a function draws, or another thread, if no code says so.
DOUBT = 16

#: Names of functions that draw random numbers.
_DRAWING = frozenset(
    name for home in (np.random.Generator, np.random.RandomState, random.Random)
    for name in dir(home) if name[0].islower()
)  # fmt: skip

_CLOCKS = (
    time.time, time.time_ns, time.perf_counter, time.perf_counter_ns, time.monotonic,
    time.monotonic_ns, time.process_time, dt.datetime.now, dt.datetime.today,
    dt.datetime.utcnow, dt.date.today,
)  # fmt: skip
_FILES = (input, open, np.loadtxt, np.genfromtxt, np.fromfile, np.load)


class DrawnError(OutsideError):
    """Random numbers are drawn, it seems by the function.

    Other threads draw from the generators that everyone shares, too (Dask's do); what the function
    draws itself it draws in every trace. ``doubt`` is how many more traces are to tell.
    """

    doubt = 0


def generators_among(values: Iterable[Any]) -> list[Any]:
    """Return the generators of random numbers among arguments."""
    return [x for x in values if isinstance(x, GENERATORS)]


@contextlib.contextmanager
def no_draws(generators: Sequence[Any], codes: Sequence[CodeType]) -> Iterator[None]:
    """Raise if random numbers are drawn in the block, unless the code gives their seed.

    Generators of NumPy's new kind have no ``seed``, and must never be drawn from. Draws that are
    noted (:class:`Draws`) are none of theirs, nor is a seed that is noted.

    Parameters
    ----------
    generators:
        Those that a function can reach, besides the shared ones.
    codes:
        The code of the function and those that it calls.
    """
    seeds = now().draws is None and any("seed" in names_in(code).mentioned for code in codes)
    watched = [g for g in generators if not seeds or isinstance(g, np.random.Generator)]
    before = States(watched if seeds else (*watched, *SHARED.values()))
    yield
    if before.moved():
        error = DrawnError(
            "random numbers are drawn while the function is traced: they would be the same in "
            "every call. Write instead: draw them outside and pass them as an argument; or "
            "np.random.default_rng(seed) within the function for the same numbers in every call"
        )
        error.where = _line(codes)
        if threading.active_count() > 1:
            error.doubt = DOUBT  # a name that draws proves nothing: `Model.power` is one
        else:
            before.put_back()
        error.args = (f"{error.args[0]} [{error.where}]",) if error.where else error.args
        raise error


@contextlib.contextmanager
def told_of_advances(
    iterators: Sequence[tuple[Any, str]], codes: Sequence[CodeType]
) -> Iterator[None]:
    """Warn if iterators, each with its name, are advanced in the block: the calls advance none."""
    before = [_progress(x) for x, _ in iterators]
    yield
    for (x, name), old in zip(iterators, before, strict=True):
        new = _progress(x)
        if len(old) == len(new) and all(map(_is_same, old, new)):
            continue
        lines = ((code, names_in(code).lines.get(name.rpartition(".")[2])) for code in codes)
        where = [str(Where(c.co_filename, line, c.co_name)) for c, line in lines if line]
        warn_user(
            f"the function advances the iterator {name or 'that it reads'}, outside of it, only "
            "while it is traced: what comes out then is the same in every call. Write instead: "
            f"take it outside, and pass it as an argument{f' [{where[0]}]' if where else ''}",
            CaptureWarning,
        )


#: Whose iterators tell how far they are.
_TELLING = ("builtins", "itertools")


def _progress(value: Any, depth: int = 0) -> list[Any]:
    """Return what tells how far an iterator is: parts that are other objects further on."""
    if isinstance(value, GeneratorType):
        frame = value.gi_frame
        if frame is None:
            return [None]
        held = [*frame.f_locals.values(), value.gi_yieldfrom]
        return [frame.f_lasti, *(part for x in held for part in _progress(x, depth + 1))]
    telling = type(value).__module__ in _TELLING and isinstance(value, Iterator)
    if not telling or depth > _DEEPEST:
        return [value]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            reduced = value.__reduce__()
    except TypeError:
        return [repr(value)]  # itertools.count
    return _parts_of(reduced, depth + 1)


def _parts_of(reduced: tuple[Any, ...], depth: int) -> list[Any]:
    """Return what tells how far an iterator is of what it is made of."""
    found = []
    for x in reduced:
        short = type(x) is tuple and len(x) <= _DEEPEST and depth <= _DEEPEST
        found += _parts_of(x, depth + 1) if short else _progress(x, depth + 1)
    return found


#: How deep iterators may lie in one another, and how long the tuples are that they are made of.
_DEEPEST = 8


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) in (int, str) and bool(a == b))


def _line(codes: Sequence[CodeType]) -> str | None:
    """Return the first line that seems to draw."""
    for code in codes:
        lines = [line for name, line in names_in(code).lines.items() if name.strip(".") in _DRAWING]
        if lines:
            return str(Where(code.co_filename, min(lines), code.co_name))
    return None


def warn_of_clocks(name: str, value: Any, code: CodeType) -> None:
    """Warn of a clock or a file that a function reads by a global name."""
    lines = names_in(code).lines
    found = [(name, value)]
    if isinstance(value, (ModuleType, type)) and value.__name__ in _HOMES:
        found = [
            (f"{name}{key}", getattr(value, key[1:], None)) for key in lines if key[:1] == "."
        ]  # fmt: skip
    for text, function in found:
        which = _named(function)
        if which is None:
            continue
        line = lines.get(text.removeprefix(name), lines.get(name))
        warn_user(
            f"{text} is called only while the function is traced, and what it says then is the "
            f"same in every call: pass {which} as an argument, or leave the call out "
            f"[{Where(code.co_filename, line or 0, code.co_name)}]",
            CaptureWarning,
        )


_HOMES = ("time", "datetime", "date", "numpy")


def _named(function: Any) -> str | None:
    """Return what a function of the lists above gives; None for others."""
    if isinstance(function, (np.ndarray, np.generic)) or not callable(function):
        return None
    if any(function == f for f in _CLOCKS):
        return "the time"
    return "what it reads" if any(function is f for f in _FILES) else None
