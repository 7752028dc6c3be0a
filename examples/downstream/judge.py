"""Whether symgrad's value and derivatives of a call are those of the plain function.

The value is compared with the plain call, the derivative with respect to each float argument with
central differences, extrapolated by Richardson's method. A derivative that differs is wrong only
if the differences converge and agree with those of other steps. Where the differences from the
left and from the right converge to different limits, or the values do, the function has no
derivative there.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import random
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import symgrad as sg

EPS = 2.0**-52
RIGHT, WRONG, WARNED, REFUSED, NAN = "right", "wrong", "warned", "refused", "nan"
NO_DERIVATIVE, NOT_JUDGED = "not differentiable", "not judged"


@dataclass(frozen=True)
class Verdict:
    """How the call of a function ended, and why."""

    outcome: str
    reason: str = ""
    text: str = ""


# ---------------------------------------------------------------- numbers in arguments and results


def is_float(value: Any) -> bool:
    """Return whether a value is a float to differentiate by; there are no steps at infinity."""
    return isinstance(value, (float, np.floating)) and bool(np.isfinite(value))


def is_floats(value: Any) -> bool:
    """Return whether a value is a float, an array of floats, or a list of floats and integers."""
    if isinstance(value, np.ndarray):
        return bool(value.dtype.kind == "f" and value.size)
    if isinstance(value, (list, tuple)):
        numbers = all(is_float(v) or type(v) is int or is_floats(v) for v in value)
        return numbers and any(is_floats(v) for v in value) and not ragged(value)
    return is_float(value)


def ragged(value: Any) -> bool:
    """Return whether a list of lists is no array."""
    try:
        return np.asarray(value).dtype.kind != "f"
    except ValueError:
        return True


def leaves(plain: Any, result: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the floats and complex numbers of a plain result, and those of a second result."""
    if isinstance(plain, (float, complex, np.floating, np.complexfloating)):
        yield plain, result
    elif isinstance(plain, np.ndarray):
        if plain.dtype.kind in "fc" and plain.size:
            yield plain, result
    elif isinstance(plain, (tuple, list)):
        if len(plain) != len(result):
            raise ValueError(f"{len(result)} results, and {len(plain)} of the plain function")
        for one, other in zip(plain, result, strict=True):
            yield from leaves(one, other)
    elif isinstance(plain, dict):
        for key, one in plain.items():
            yield from leaves(one, result[key])
    elif dataclasses.is_dataclass(plain):
        for field in dataclasses.fields(plain):
            yield from leaves(getattr(plain, field.name), getattr(result, field.name))


def finite(value: Any) -> bool:
    """Return whether a result has floats, all of them finite."""
    found = [np.all(np.isfinite(leaf)) for leaf, _ in leaves(value, value)]
    return bool(found) and all(found)


def weights_of(plain: Any) -> list[tuple[Any, Any]]:
    """Return random weights of about 1 / |value|: one for real parts, one for imaginary ones."""
    draws = np.random.default_rng(1)

    def one(part: Any) -> Any:
        size = np.abs(part)
        typical = np.max(size) if np.ndim(size) else size
        scale = np.maximum(size, 1e-3 * typical)
        return draws.uniform(0.5, 1.5, np.shape(part)) / np.where(scale > 0, scale, 1.0)

    return [(one(np.real(leaf)), one(np.imag(leaf))) for leaf, _ in leaves(plain, plain)]


def weighted(plain: Any, result: Any, weights: list[tuple[Any, Any]]) -> Any:
    """Return the sum of all floats of a result, times weights."""
    total = 0.0
    for (leaf, traced), (real, imag) in zip(leaves(plain, result), weights, strict=True):
        if np.iscomplexobj(leaf):
            total = total + np.sum(real * np.real(traced)) + np.sum(imag * np.imag(traced))
        else:
            total = total + np.sum(real * traced)
    return total


# ---------------------------------------------------------------- differences


@dataclass(frozen=True)
class Limit:
    """The limit of a sequence of differences, and how far it may be off."""

    value: float
    error: float


NOTHING = Limit(math.nan, math.inf)


def extrapolated(rows: list[tuple[float, float]], order: int, noise: float) -> Limit:
    """Return the limit of differences ``(step, difference)`` for halved steps.

    ``order`` is that of the first term of the error in the step, and the distance of the terms: 2
    for central differences, 1 for one-sided ones (Richardson 1911; Ridders 1982).
    """
    best, table = NOTHING, []
    for step, difference in rows:
        row = [difference]
        if not math.isfinite(difference):
            table = []
            continue
        for level, before in enumerate(table[-1] if table else [], 1):
            row.append(row[-1] + (row[-1] - before) / (2.0 ** (order * level) - 1.0))
            error = max(abs(row[-1] - row[-2]), abs(row[-1] - before)) + noise / step
            if error < best.error:
                best = Limit(row[-1], error)
            if level == 6:
                break
        table.append(row)
    return best


def noise_of(f: Callable[[float], float], scale: float) -> float:
    """Return the size of rounding errors beside 0, by fourth differences (Hamming 1962)."""
    found = 4 * EPS * max(1.0, abs(f(0.0)))
    for step in (1e-4, -1e-4, 1e-7, -1e-7, 1e-9, -1e-9):  # each side alone: 0 may be a kink
        values = np.array([f((k + 0.3) * step * scale) for k in range(9)])
        if np.all(np.isfinite(values)):
            found = max(found, 4 * float(np.max(np.abs(np.diff(values, 4)))) / math.sqrt(70.0))
    return found


def jumps(f: Callable[[float], float], scale: float) -> bool:
    """Return whether the values on the two sides of 0 have different limits."""
    near = [abs(f(t) - f(-t)) for t in (1e-7 * scale, 1e-9 * scale, 1e-11 * scale)]
    return all(math.isfinite(gap) for gap in near) and near[-1] > 1e-7 and near[-1] > near[0] / 2


def flat(f: Callable[[float], float], scale: float) -> bool:
    """Return whether a function is constant next to 0, on one side at least, as steps are."""
    here = f(0.0)
    return any(all(f(s * t * scale) == here for t in (1e-11, 3e-12)) for s in (1.0, -1.0))


def apart(f: Callable[[float], float], scale: float) -> bool:
    """Return whether the value at 0 is not the limit of those beside it."""
    here = f(0.0)
    gaps = [abs(f(s * t * scale) - here) for t in (1e-9, 1e-12) for s in (1.0, -1.0)]
    return min(gaps[2:]) > 1e-6 and min(gaps[2:]) > max(gaps[:2]) / 2


def differentiable(
    f: Callable[[float], float], found: float, scale: float = 1.0
) -> tuple[str, str]:
    """Return an outcome for the derivative of a function at 0, and what the differences are.

    Parameters
    ----------
    f : callable
        A function whose values are of about 1, nan where it has none.
    found : float
        The derivative to judge.
    scale : float
        A change of the argument that is large.
    """

    def steps(first: float) -> list[float]:
        return [first * scale / 2**k for k in range(14)]

    def central(first: float) -> Limit:
        return extrapolated([(h, (f(h) - f(-h)) / (2 * h)) for h in steps(first)], 2, noise)

    here = f(0.0)
    noise = noise_of(f, scale)
    found, unit = found * scale, scale
    both = central(0.02)
    limit, error = both.value * unit, both.error * unit

    def near(one: float, other: float, error: float) -> bool:
        return abs(one - other) <= 20 * error + 1e-6 * max(abs(one), abs(other)) + 1e-9

    converged = error < 1e-3 * max(1e-3, abs(limit))
    if converged and math.isfinite(found) and near(found, limit, error):
        return RIGHT, f"{found:.6g}"
    if jumps(f, scale) or apart(f, scale):
        return NO_DERIVATIVE, "a jump"
    if found == 0.0 and abs(limit) > 1e-3 and flat(f, scale):
        return RIGHT, "0 between steps"
    sides = [
        extrapolated([(h, (f(s * h) - here) / (s * h)) for h in steps(0.02)], 1, noise)
        for s in (1.0, -1.0)
    ]
    values = [side.value * unit for side in sides]
    errors = [side.error * unit for side in sides]
    known = [error < 1e-3 * max(1e-3, abs(v)) for v, error in zip(values, errors, strict=True)]
    if all(known):
        if abs(values[0] - values[1]) > 1e-4 * max(map(abs, values)) + 20 * sum(errors):
            low, high = min(values), max(values)
            room = 1e-4 * (high - low) + 20 * sum(errors)
            if low - room <= found <= high + room or not math.isfinite(found):
                return NO_DERIVATIVE, "a kink"
            return WRONG, f"{found:.6g} at a kink between {low:.6g} and {high:.6g}"
    elif any(known):
        one = known.index(True)
        other = f(-1e-9 * scale if one == 0 else 1e-9 * scale)
        if not math.isfinite(other):
            if near(found, values[one], errors[one]):
                return RIGHT, f"{found:.6g} on one side"
            if not math.isfinite(found):
                return NO_DERIVATIVE, "an end"
            return WRONG, f"{found:.6g}, and {values[one]:.6g} on the side where values are"
        return NOT_JUDGED, "differences do not converge on one side"
    if not error < 1e-4 * max(1e-3, abs(limit)):
        return NOT_JUDGED, "differences do not converge"
    again = central(0.0037)
    if not near(again.value * unit, limit, error + again.error * unit):
        return NOT_JUDGED, "differences depend on the step"
    if math.isfinite(again.value) and near(found, again.value * unit, again.error * unit):
        return RIGHT, f"{found:.6g}"
    return WRONG, f"{found:.6g}, and {limit:.6g} +- {error:.1g} by differences"


# ---------------------------------------------------------------- a call


@dataclass(frozen=True)
class Call:
    """A function at a point."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def floats(self, function: Callable[..., Any]) -> list[int | str]:
        """Return the positions and names of the arguments to differentiate by.

        These are floats, and arrays and lists of them. If there are none, integers count as
        floats where the plain function gives the same for both.
        """
        places = self.places(is_floats)
        if places:
            return places
        plain = plainly(function, self)
        return [
            place
            for place in self.places(lambda value: type(value) is int)
            if agrees(plain, plainly(function, self.having({place: 1.0}, times=True)))
        ]

    def places(self, wanted: Callable[[Any], bool]) -> list[int | str]:
        """Return the positions and the names of arguments that are of a kind."""
        rows: list[tuple[int | str, Any]] = [*enumerate(self.args), *self.kwargs.items()]
        return [place for place, value in rows if wanted(value)]

    def having(self, values: dict[int | str, Any], *, times: bool = False) -> Call:
        """Return the call with other arguments, or with arguments times these."""
        args, kwargs = list(copy.deepcopy(self.args)), copy.deepcopy(self.kwargs)
        for place, value in values.items():
            where: Any = args if isinstance(place, int) else kwargs
            where[place] = where[place] * value if times else value
        return Call(tuple(args), kwargs)

    def at(self, place: int | str) -> Any:
        return self.args[place] if isinstance(place, int) else self.kwargs[place]


def plainly(function: Callable[..., Any], call: Call) -> Any:
    """Return the result of a plain call; None: it has none."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            fresh = copy.deepcopy(call)
            return function(*fresh.args, **fresh.kwargs)
        except Exception:  # noqa: BLE001 (whatever a library raises)
            return None


def agrees(plain: Any, result: Any) -> bool:
    """Return whether the numbers of two results are equal up to rounding."""
    try:
        pairs = [*leaves(plain, result)]
        return bool(pairs) and all(
            np.shape(one) == np.shape(other)
            and np.allclose(one, other, rtol=1e-9, atol=1e-12 * float(np.max(np.abs(one))))
            for one, other in pairs
        )
    except (TypeError, ValueError, KeyError, AttributeError, IndexError):
        return False


def changed(value: Any, direction: Any, t: float) -> Any:
    """Return a value that has moved along a direction, of the type that it had."""
    if isinstance(value, np.ndarray):
        return value + (t * np.asarray(direction)).astype(value.dtype)
    if isinstance(value, (list, tuple)):
        return type(value)(changed(v, d, t) for v, d in zip(value, direction, strict=True))
    return value + t * direction


def directions(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield directions to move a value along, with arrays for products with a gradient."""
    array = np.asarray(value, float)
    size = np.abs(array)
    typical = float(np.max(size)) or 1.0
    scale = np.where(size > 0, size, typical)
    draws = np.random.default_rng(2)
    masks = (
        [np.ones(array.shape)]
        if array.ndim == 0
        else [draws.choice([-1.0, 1.0], array.shape) * draws.uniform(0.5, 1.0, array.shape)]
    )
    if 1 < array.size <= 3:
        masks = [one.reshape(array.shape) for one in np.eye(array.size)]
    for mask in masks:
        step = mask * scale
        yield (step if isinstance(value, np.ndarray) else step.tolist()), step


#: Reasons of refusals, by parts of symgrad's errors.
REASONS = {
    r"differ between the examples": "a decision in the body of a loop, a branch or a batch",
    r"^a truth value": "a decision by all of an array, or by a list, which counts as one",
    r"^an array of numbers": "traced numbers as an index, a mask or elements of a plain array",
    r"^a Python float": "float(x) of a traced value",
    r"^an index": "a traced number as an index of a plain list",
    r"^numbers for a column": "a traced array as a column of a table",
    r"^where= is": "an integer as a mask",
    r"^a hash": "a traced number in a set, or as a key",
    r"boolean index": "a mask that decides how many elements there are",
    r"how many elements|the counts decide": "a traced number of elements",
    r"element type object": "arrays of objects",
    r"is not defined for element types": "bits of an integer that is computed as a float",
}


def group(error: BaseException) -> str:
    """Return the reason of a refusal: a known one, or the first line of the error.

    Without the names, numbers and lines of the call.
    """
    text = str(error).split("\n")[0].split(" [")[0]
    for part, reason in REASONS.items():
        if re.search(part, text):
            return reason
    text = re.sub(r"[\w./<>-]+\.py:\d+", "FILE", text)
    text = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "...", text)
    text = re.sub(r"\b\d[\d.]*(e[+-]?\d+)?\b", "N", text)
    return f"{type(error).__name__}: {text}"


def judge(function: Callable[..., Any], call: Call) -> Verdict:
    """Return how symgrad's value and derivatives of a call compare with the plain function's."""
    plain = plainly(function, call)
    if plain is None or not finite(plain):
        return Verdict(NOT_JUDGED, "the plain call gives no finite numbers")
    if not agrees(plain, plainly(function, call)):
        return Verdict(NOT_JUDGED, "the plain call gives another result each time")
    places = call.floats(function)
    if not places:
        return Verdict(NOT_JUDGED, "no argument is a float")
    values = [call.at(place) for place in places]
    values = [float(v) if type(v) is int else v for v in values]
    weights = weights_of(plain)

    def objective(*floats: Any) -> Any:
        filled = call.having(dict(zip(places, floats, strict=True)))
        result = function(*filled.args, **filled.kwargs)
        return weighted(plain, result, weights), [other for _, other in leaves(plain, result)]

    random.seed(0)
    said: list[warnings.WarningMessage]
    with warnings.catch_warnings(record=True) as said, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            derive = sg.value_and_grad(objective, argnums=tuple(range(len(places))), has_aux=True)
            (_, result), gradients = derive(*copy.deepcopy(values))
        except Exception as error:  # noqa: BLE001 (a refusal, or a fault that the table shows)
            return Verdict(REFUSED, group(error), f"{type(error).__name__}: {error}")
    spoken = sorted({w.category.__name__ for w in said if "symgrad" in w.category.__module__})

    def ending(numbers: Any) -> str:
        """Return the outcome of numbers that are wrong: nan says that it is no number."""
        nan = any(np.any(np.isnan(x)) for x in numbers)
        return WARNED if spoken else NAN if nan else WRONG

    notes = [", ".join(spoken)] if spoken else []
    if not agrees([leaf for leaf, _ in leaves(plain, plain)], result):
        text = f"{result} and plain {plain} {notes}"[:2000]
        return Verdict(ending(result), "value", text)

    outcomes = []
    for place, value, gradient in zip(places, values, gradients, strict=True):
        for direction, vector in directions(value):

            def moved(t: float, place: Any = place, value: Any = value, d: Any = direction) -> Any:
                result = plainly(function, call.having({place: changed(value, d, t)}))
                try:
                    total = float(weighted(plain, result, weights))
                except (TypeError, ValueError, KeyError, AttributeError, IndexError):
                    return math.nan
                return total

            found = float(np.sum(np.asarray(gradient, float) * vector))
            outcome, text = differentiable(moved, found)
            outcomes.append((outcome, f"by {place}: {text}"))
    for outcome in (WRONG, NO_DERIVATIVE, NOT_JUDGED):
        reasons = [text for one, text in outcomes if one == outcome]
        if reasons:
            kind = ending(gradients) if outcome == WRONG else outcome
            reason = "derivative" if outcome == WRONG else reasons[0].partition(": ")[2]
            return Verdict(kind, reason, "; ".join(reasons + notes)[:2000])
    return Verdict(RIGHT, "", "; ".join(text for _, text in outcomes)[:300])
