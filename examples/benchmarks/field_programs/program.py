"""A program, its arguments at three sizes, and its derivative by finite differences."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Program:
    """A function as its author wrote it, and how it is differentiated.

    Attributes
    ----------
    field
        Whose work this is.
    function
        The function, of the arguments.
    arguments
        Makes arguments of a size.
    sizes
        A size for tests, the measured one, and the second length.
    other
        Makes arguments of the same size with another parameter. By default the differentiated
        ones, three percent larger.
    argnums
        The arguments to differentiate with respect to.
    kind
        ``"gradient"``, ``"sparse jacobian"`` or ``"sparse hessian"``.
    hessian
        Whether the author needs second derivatives, too.
    step
        The first step of finite differences, relative to the point.
    tolerance
        Largest relative error of a derivative along a direction.
    """

    field: str
    function: Callable[..., Any]
    arguments: Callable[[int], Arguments]
    sizes: tuple[int, int, int]
    other: Callable[[Arguments], Arguments] | None = None
    argnums: int | tuple[int, ...] = 0
    kind: str = "gradient"
    hessian: bool = False
    step: float = 1e-2
    tolerance: float = 1e-6

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def where(self) -> tuple[int, ...]:
        """The arguments to differentiate with respect to, as a tuple."""
        return self.argnums if isinstance(self.argnums, tuple) else (self.argnums,)

    def changed(self, arguments: Arguments) -> Arguments:
        """Return arguments with another parameter."""
        if self.other is not None:
            return self.other(arguments)
        return moved(arguments, self.where, [scaled(arguments[k], 0.03) for k in self.where], 1.0)


def scaled(value: Any, factor: float) -> Any:
    """Return a nested value of numbers times a factor."""
    if isinstance(value, dict):
        return {k: scaled(v, factor) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(scaled(v, factor) for v in value)
    return value * factor


def added(value: Any, direction: Any, t: float) -> Any:
    """Return ``value + t*direction``, leaf by leaf."""
    if isinstance(value, dict):
        return {k: added(v, direction[k], t) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(added(v, d, t) for v, d in zip(value, direction, strict=True))
    return value + t * direction


def moved(arguments: Arguments, where: tuple[int, ...], directions: Any, t: float) -> Arguments:
    """Return the arguments, those at ``where`` moved by ``t`` along their directions."""
    new = list(copy.deepcopy(arguments))
    for k, d in zip(where, directions, strict=True):
        new[k] = added(new[k], d, t)
    return tuple(new)


def random_like(value: Any, rng: np.random.Generator) -> Any:
    """Return random numbers in a value's structure, of each leaf's magnitude."""
    if isinstance(value, dict):
        return {k: random_like(v, rng) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(random_like(v, rng) for v in value)
    size = np.abs(value) + 0.1 * np.max(np.abs(value), initial=0.0) + 1e-3 * (not np.any(value))
    drawn = rng.uniform(-1, 1, np.shape(value)) * size
    return drawn if np.ndim(value) else float(drawn)


def inner(gradient: Any, direction: Any) -> tuple[float, float]:
    """Return the inner product of two nested values, and that of their magnitudes."""
    if isinstance(gradient, dict):
        gradient, direction = list(gradient.values()), [direction[k] for k in gradient]
    if isinstance(gradient, list | tuple):
        parts = [inner(g, d) for g, d in zip(gradient, direction, strict=True)]
        return sum(p[0] for p in parts), sum(p[1] for p in parts)
    product = np.asarray(gradient) * np.asarray(direction)
    return float(np.sum(product)), float(np.sum(np.abs(product)))


def extrapolated(along: Callable[[float], Any], step: float, second: bool = False) -> Any:
    """Return the first or second derivative at 0, by Ridders' extrapolation, and its doubt.

    Steps shrink by 1.6; the entry of the tableau that differs least from its neighbours is kept.
    """
    middle = along(0.0) if second else None
    best, doubt, rows = np.nan, np.inf, []
    shrink = 1.6
    for k in range(12):
        h = step / shrink**k
        high, low = along(h), along(-h)
        row = [(high - 2 * middle + low) / h**2 if second else (high - low) / (2 * h)]
        for j, before in enumerate(rows[-1] if rows else [], start=1):
            factor = shrink ** (2 * j)
            row.append((factor * row[-1] - before) / (factor - 1))
            error = max(np.max(np.abs(row[-1] - row[-2])), np.max(np.abs(row[-1] - before)))
            if error < doubt:
                best, doubt = row[-1], error
        rows.append(row)
    return best, doubt


def error(program: Program, arguments: Arguments, derivative: Any, seed: int = 0) -> float:
    """Return the relative error of a derivative along random directions, beyond the doubt.

    The plain function is called, by finite differences with extrapolation; infinite where the
    derivative is not finite or the differences say nothing.
    """
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(2):
        directions = [random_like(arguments[k], rng) for k in program.where]

        def along(t: float, directions: Any = directions) -> Any:
            return np.asarray(program.function(*moved(arguments, program.where, directions, t)))

        second = program.kind == "sparse hessian"
        wanted, doubt = extrapolated(along, program.step, second)
        if program.kind == "gradient":
            parts = derivative if isinstance(program.argnums, tuple) else (derivative,)
            got, scale = inner(tuple(parts), tuple(directions))
        else:
            (direction,) = directions
            got = derivative @ direction
            scale = np.max(abs(derivative) @ np.abs(direction))
            if second:
                got, scale = (
                    direction @ got,
                    np.abs(direction) @ abs(derivative) @ np.abs(direction),
                )
        worst = max(worst, off(got, wanted, doubt, scale))
    return worst


def curvature_error(program: Program, arguments: Arguments, hessian: Any) -> float:
    """Return the relative error of a Hessian (of one array) along a random direction."""
    rng = np.random.default_rng(1)
    direction = random_like(arguments[program.where[0]], rng)

    def along(t: float) -> Any:
        return np.asarray(program.function(*moved(arguments, program.where, [direction], t)))

    wanted, doubt = extrapolated(along, 3 * program.step, second=True)
    d = np.asarray(direction)
    return off(d @ hessian @ d, wanted, doubt, np.abs(d) @ np.abs(hessian) @ np.abs(d))


def off(got: Any, wanted: Any, doubt: float, scale: float) -> float:
    """Return the distance beyond ten times the doubt, relative to the scale."""
    if not (np.all(np.isfinite(got)) and np.all(np.isfinite(wanted)) and scale > 0):
        return float("inf")
    if doubt > 1e-3 * scale:
        return float("inf")
    return float(max(np.max(np.abs(got - wanted)) - 10 * doubt, 0.0) / scale)
