"""Functions of ``scipy.stats`` of data along one axis: what all of them do with their arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

from ._versions import Function, floats, given_to, refuse_option, replaces

#: What there is in place of options that are not followed in traced code.
_INSTEAD = {
    "alternative": "the statistic, and a tail of its distribution",
    "dtype": "x.astype(dtype)",
    "limits": "np.where(inside, x, 0.0) in sums",
    "nan_policy": "np.nanmean and its kin",
}
#: What only says more of an option that is refused.
_BESIDE = frozenset(("inclusive",))


def refuse_unless(name: str, option: str, value: Any, default: Any) -> None:
    """Refuse an option that has another value than by default."""
    if value is not default and value != default:
        words = _INSTEAD.get(option, f"a call without {option}")
        refuse_option(f"scipy.stats.{name}", option, value, words)


def along(*data: str) -> Callable[[Function], Function]:
    """Have a function stand for SciPy's of its name, for data along one axis.

    Parameters
    ----------
    *data:
        SciPy's names of the data. The function gets them as floats; of ``axis=None`` they are
        vectors. ``axis`` is a number, and other options are named as SciPy's; those that the
        function does not name are refused unless they are SciPy's defaults. It returns what it
        has found, an array or a tuple of some, with the axis, whose length is one.
    """

    def decorate(ours: Function) -> Function:
        original = getattr(scipy.stats, ours.__name__)
        takes, follows = inspect.signature(original), inspect.signature(ours).parameters

        @functools.wraps(ours)
        def function(*args: Any, **kwargs: Any) -> Any:
            options = given_to(takes, args, kwargs)
            # SciPy 1.16 has functions that take no axis: they are along the first.
            axis, keepdims = options.pop("axis", 0), options.pop("keepdims", False)
            for name in options.keys() - follows.keys():
                value = options.pop(name)
                if name not in _BESIDE:
                    refuse_unless(ours.__name__, name, value, takes.parameters[name].default)
            rank = np.ndim(options[data[0]])
            for name in data:
                if options[name] is not None:
                    x = floats(options[name])
                    options[name] = np.reshape(x, (-1,)) if axis is None else x
            found = ours(**options, axis=0 if axis is None else axis)
            if keepdims and axis is not None:
                return found
            return _each(
                found, lambda x: np.reshape(x, (1,) * rank) if keepdims else np.squeeze(x, axis)
            )

        function.__signature__ = takes  # type: ignore[attr-defined]
        return replaces(original)(function)

    return decorate


def _each(found: Any, change: Function) -> Any:
    """Return an array changed, or the arrays of a result, those by name alone among them."""
    if not isinstance(found, tuple):
        return change(found) if np.ndim(found) else found
    made = type(found)(*(_each(x, change) for x in found))
    for name, x in getattr(found, "__dict__", {}).items():
        setattr(made, name, _each(x, change))
    return made
