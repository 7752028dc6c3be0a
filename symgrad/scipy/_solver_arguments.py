"""What solvers are given: numbers, or traced values, for which others stand."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.optimize

from .._api._kept_functions import borrowing
from .._core.base.signals import foreseen
from .._core.base.state import now
from .._core.op import refuse
from .._core.ops.np_common import is_traced
from .._core.trace import attempt, is_complex, known_value
from .._core.trace.namespace import holds, is_function
from .._syntax._control_flow import followed
from ..errors import ArgumentError, TraceError, UnsupportedError

#: Why the other solvers refuse traced values.
WHY = (
    "SciPy's solver works on numbers. In traced code there are minimize, minimize_scalar, "
    "least_squares, curve_fit, root, fsolve, root_scalar, newton, brentq, brenth, ridder and "
    "bisect; sg.implicit_root and sg.implicit_minimum differentiate what another one finds"
)


def given_numbers(function: Any, why: str) -> Any:
    """Have a function of SciPy's refuse functions that return traced values.

    They close over traced values. The refusal passes through C, which may print it or make
    another of it: it is raised again.
    """
    if not is_function(function):
        return function

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if now().guards is None:
            return function(*args, **kwargs)
        refusals: list[UnsupportedError] = []

        def watched(value: Any) -> Any:
            if isinstance(value, dict):  # a constraint, or options
                return {k: watched(v) for k, v in value.items()}
            if type(value) in (list, tuple) and any(map(_is_constraint, value)):
                return type(value)(map(watched, value))
            if isinstance(value, scipy.optimize.NonlinearConstraint):
                value = copy.copy(value)
                value.fun = watched(value.fun)
                return value
            if not callable(value) or isinstance(value, type):
                return value

            @functools.wraps(value)
            def call(*args: Any, **kwargs: Any) -> Any:
                found = value(*args, **kwargs)
                if holds(found, _is_unknown):
                    try:
                        refuse(function, why)
                    except UnsupportedError as error:
                        refusals.append(error)
                        raise
                return found

            return call

        try:
            result = function(*map(watched, args), **{k: watched(x) for k, x in kwargs.items()})
        except foreseen(Exception):
            if refusals:
                raise refusals[0] from None
            raise
        if refusals:
            raise refusals[0]
        return result

    return checked


def _is_unknown(value: Any) -> bool:
    return is_traced(value) and (is_complex(value) or known_value(value.node) is None)


#: What solvers call the place where they start.
_STARTS = frozenset(("x0", "p0"))
_NESTED = (
    "{name} of {solver} is a dictionary, but SciPy's solvers take a vector. Write instead: a "
    "function of a vector that makes the dictionary, lambda v: f({{'a': v[:2], 'b': v[2]}}), or "
    "use sg.nlp, which takes dictionaries"
)


def solver(
    traced: Callable[..., Any], module: Any = scipy.optimize
) -> Callable[[Callable[[dict[str, Any]], Any]], Callable[..., Any]]:
    """Have a function stand for the solver of SciPy's that has its name.

    It is given the arguments of a call by SciPy's names, without those that the call leaves out,
    and may fill these in. With traced values ``traced`` stands for it.
    """

    def decorate(filling: Callable[[dict[str, Any]], Any]) -> Callable[..., Any]:
        original = getattr(module, filling.__name__)
        named = by_names(original)

        def plain(*args: Any, **kwargs: Any) -> Any:
            given = named(args, kwargs)
            for name in _STARTS & given.keys():
                if isinstance(given[name], Mapping):
                    raise ArgumentError(_NESTED.format(name=name, solver=original.__name__))
            return filling(given)

        solve = functools.wraps(filling)(unless_traced(original, traced, plain))
        solve.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
        return solve

    return decorate


def unless_traced(
    original: Callable[..., Any], traced: Callable[..., Any],
    plain: Callable[..., Any] | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """Return a solver of SciPy's, for which ``traced`` stands where it is given traced values.

    They are among its arguments, or what its functions return. ``traced`` is given arguments by
    SciPy's names. ``plain`` is called outside of traced code, or the solver itself.
    """
    outside = plain or original
    watching, named = given_numbers(original, WHY), by_names(original)

    @functools.wraps(original)
    def solve(*args: Any, **kwargs: Any) -> Any:
        if now().guards is None:
            with borrowing():
                return outside(*args, **kwargs)
        if not any(map(_is_given_traced, (*args, *kwargs.values()))):
            with contextlib.suppress(UnsupportedError, TraceError), attempt():
                return watching(*args, **kwargs)
        return with_branches(traced, **named(args, kwargs))

    return solve


def by_names(original: Callable[..., Any]) -> Callable[[Any, Any], dict[str, Any]]:
    """Return a function of the arguments of a call that gives them by SciPy's names.

    ``Signature.bind`` takes ten times as long, and is left to say what is wrong with a call.
    """
    signature = inspect.signature(original)
    each = signature.parameters.values()
    names = [p.name for p in each if p.kind is p.POSITIONAL_OR_KEYWORD]
    needed = {p.name for p in each if p.default is p.empty and p.kind is not p.VAR_KEYWORD}
    takes_more = any(p.kind is p.VAR_KEYWORD for p in each)

    def named(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        right = len(given) == len(args) + len(kwargs) and needed <= given.keys()
        if not right or not (takes_more or given.keys() <= signature.parameters.keys()):
            signature.bind(*args, **kwargs)
        return given

    return named


def with_branches(traced: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return what a solver makes of functions as they are, or with their branches rewritten.

    In a solver's loop no ``if`` of theirs has an example to go by.
    """
    try:
        with attempt():
            return traced(*args, **kwargs)
    except TraceError as error:

        def rewritten(value: Any) -> Any:
            return followed(value) if callable(value) and not isinstance(value, type) else value

        try:
            return traced(*map(rewritten, args), **{k: rewritten(x) for k, x in kwargs.items()})
        except foreseen(Exception):  # the first one is of the code as it stands
            raise error from None


#: What constraints are of, and bounds.
LIMITS = (
    scipy.optimize.Bounds, scipy.optimize.LinearConstraint, scipy.optimize.NonlinearConstraint,
)  # fmt: skip


def _is_constraint(value: Any) -> bool:
    return isinstance(value, (dict, *LIMITS))


def _is_given_traced(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_is_given_traced, value.values()))
    if type(value) in (list, tuple) and any(map(_is_constraint, value)):
        return any(map(_is_given_traced, value))
    if isinstance(value, LIMITS):
        value = [value.lb, value.ub, getattr(value, "A", None)]
    return holds(value, is_traced)


def start_of(x0: Any) -> Any:
    """Return where a solver starts, as a vector of floats; None if that is for SciPy alone."""
    try:
        x = np.atleast_1d(np.asarray(x0))
        if x.dtype.kind == "c":
            return None  # SciPy's solvers take some complex numbers as they are
        return x if x.dtype.kind == "f" else x.astype(float)
    except (TypeError, ValueError):
        return None


def as_tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)


def first_parameters(f: Callable[..., Any]) -> Any:
    """Return ones for the parameters of a model, as SciPy counts them; None if it cannot."""
    try:
        known = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return None
    count = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in known) - 1
    return np.ones(count) if count > 0 else None
