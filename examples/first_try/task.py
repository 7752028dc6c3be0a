"""What a task is, and what becomes of it."""

from __future__ import annotations

import copy
import importlib
import inspect
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import differentiate

import symgrad as sg


@dataclass(frozen=True)
class Task:
    """A function as its author wrote it, and how it is called.

    Parameters
    ----------
    function
        The function; what it uses stands beside it in its module.
    arguments
        Makes the arguments.
    change
        Changes what the function reads besides its arguments, between two calls.
    argnums
        The arguments to differentiate by.
    keywords
        Arguments that are passed by name.
    hessian
        Whether its author wants second derivatives, too.
    tolerance
        Largest relative error; larger than usual where differences have few digits.
    accuracy
        Largest relative error of the value; larger where two solvers have steps of their own.
    name
        Where it is not the function's.
    """

    function: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]
    change: Callable[[], Any] | None = None
    argnums: int | tuple[int, ...] = 0
    keywords: dict[str, Any] = field(default_factory=dict)
    hessian: bool = False
    tolerance: float = 1e-7
    accuracy: float = 1e-11
    name: str = ""

    def __str__(self) -> str:
        return self.name or self.function.__qualname__

    def lines(self) -> int:
        """How long the function itself is."""
        f = self.function.func if isinstance(self.function, partial) else self.function
        return len(inspect.getsource(f).splitlines())


@dataclass
class Finding:
    """What became of a task: errors relative to the largest value, or why there are none."""

    task: Task
    value: float = np.nan
    slopes: float = np.nan
    plain: float = np.nan
    compiled: float = np.nan
    failure: str = ""


def modules() -> list[str]:
    """Names of the files with tasks."""
    return sorted(p.stem for p in (Path(__file__).parent / "tasks").glob("[!_]*.py"))


def tasks(module: str) -> list[Task]:
    """The tasks of one file."""
    return importlib.import_module(f"tasks.{module}").TASKS


# ---------------------------------------------------------------- arguments as numbers, and back


def numbers(value: Any) -> Iterator[float]:
    """The numbers of nested containers, in order."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple) and np.ndim(value) == 0:
        yield value
        return
    for part in value:
        yield from numbers(part)


def refilled(value: Any, new: Iterator[Any]) -> Any:
    """Return the same containers with other numbers."""
    if isinstance(value, dict):
        return {k: refilled(v, new) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(refilled(v, new) for v in value)
    if np.ndim(value) == 0:
        return next(new)
    other = copy.deepcopy(value).astype(float)
    other[...] = np.array([next(new) for _ in range(value.size)]).reshape(value.shape)
    return other


def matrix(slopes: Any, value: Any) -> np.ndarray:
    """Derivatives as a matrix, a row for each number of the result."""
    if isinstance(value, list | tuple):
        return np.vstack([matrix(s, v) for s, v in zip(slopes, value, strict=True)])
    rows = np.size(value)

    def columns(part: Any) -> Iterator[np.ndarray]:
        if isinstance(part, dict):
            part = tuple(part.values())
        if isinstance(part, list | tuple):
            for p in part:
                yield from columns(p)
        else:
            yield np.reshape(part, (rows, -1))

    return np.hstack(list(columns(slopes)))


def differences(f: Callable[..., Any], arguments: tuple[Any, ...], argnums: Any) -> np.ndarray:
    """The same matrix, by differences of high order."""
    which = argnums if isinstance(argnums, tuple) else (argnums,)
    given = tuple(arguments[k] for k in which)
    x = np.array(list(numbers(given)), float)

    def at(point: np.ndarray) -> np.ndarray:
        new = list(copy.deepcopy(arguments))
        for k, part in zip(which, refilled(given, iter(point.tolist())), strict=True):
            new[k] = part
        return np.array(list(numbers(f(*new))), float)

    def many(points: np.ndarray) -> np.ndarray:
        return np.apply_along_axis(at, 0, points)

    # One step of order 8 has ten digits; larger ones meet more kinks, smaller ones round more.
    steps = 2e-4 * np.maximum(np.abs(x), 0.1)
    return differentiate.jacobian(many, x, initial_step=steps, order=8, maxiter=1).df


def distance(got: Any, want: Any) -> float:
    """The largest error, relative to the largest of the numbers."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        raise AssertionError(f"shape {got.shape}, and not {want.shape}")
    if not np.array_equal(np.isfinite(got), np.isfinite(want)):
        raise AssertionError(f"{got}, and not {want}")
    scale = np.max(np.abs(want), initial=0.0) or 1.0
    return float(np.max(np.abs(got - want), initial=0.0) / scale)


# ---------------------------------------------------------------- a task, carried out


def rate(f: Callable[..., Any], *arguments: Any) -> float:
    """Calls a second, in a twentieth of a second."""
    for _ in range(2):  # the second call finds what the first one has compiled
        f(*arguments)
    count, start = 0, time.perf_counter()
    while (taken := time.perf_counter() - start) < 0.05:
        f(*arguments)
        count += 1
    return count / taken


def check(task: Task) -> Finding:
    """Compare a task's value and derivatives with plain Python and differences, twice."""
    found = Finding(task, value=0.0, slopes=0.0)
    plain = partial(task.function, **task.keywords)
    compiled: Any = partial(sg.compile(task.function), **task.keywords)
    slopes: Any = None
    for change in (None, task.change):
        if change:
            change()
        arguments = task.arguments()
        value = plain(*copy.deepcopy(arguments))
        if slopes is None:
            transform = sg.grad if np.ndim(value) == 0 else sg.jacobian
            slopes = partial(transform(task.function, task.argnums), **task.keywords)
            curvature = partial(sg.hessian(task.function, task.argnums), **task.keywords)
        got = compiled(*arguments)
        found.value = max(found.value, distance([*numbers(got)], [*numbers(value)]))
        want = differences(plain, arguments, task.argnums)
        found.slopes = max(found.slopes, distance(matrix(slopes(*arguments), value), want))
        if task.hessian:
            want = differences(slopes, arguments, task.argnums)
            second = matrix_of_blocks(curvature(*arguments), slopes(*arguments))
            found.slopes = max(found.slopes, distance(second, want))
    if found.value > task.accuracy or found.slopes > task.tolerance:
        found.failure = f"wrong: value by {found.value:.1e}, slopes by {found.slopes:.1e}"
    return found


def matrix_of_blocks(second: Any, first: Any) -> np.ndarray:
    """A Hessian as a matrix; of several arguments it comes in blocks."""
    return matrix(second, first) if isinstance(first, tuple) else matrix(second, np.ravel(first))


def attempt(task: Task) -> Finding:
    """Carry out a task, and tell how fast it is; what goes wrong is told, too."""
    try:
        found = check(task)
        arguments = task.arguments()
        found.plain = rate(partial(task.function, **task.keywords), *arguments)
        found.compiled = rate(partial(sg.compile(task.function), **task.keywords), *arguments)
    except Exception as error:  # noqa: BLE001 - it is told, whatever it is
        return Finding(task, failure=f"{type(error).__name__}: {error}".splitlines()[0])
    return found
