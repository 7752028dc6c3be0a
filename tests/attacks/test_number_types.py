"""NumPy's functions of numbers, of Python's and its own: types and axes of what they return.

A compiled function returns numbers of NumPy's types: ``np.float64`` where NumPy has Python's float
or an array of no axes, float32 where it has float16. Else it is all as in NumPy.
"""

from __future__ import annotations

import itertools
import operator
import warnings
from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.numpy
from symgrad._core.op import registry
from symgrad.errors import SymgradError

KINDS = (0.5, 2, True, np.float64(0.5), np.array(0.5))

#: They write into an argument, print, return what was in memory, or tell arrays from numbers.
ELSEWHERE = {
    "copyto", "empty", "empty_like", "fill_diagonal", "info", "isscalar", "may_share_memory",
    "place", "put", "put_along_axis", "putmask", "shares_memory",
}  # fmt: skip

#: Their second parameter is a target.
TARGETED = ("fix", "isneginf", "isposinf")


def is_traced(name: str) -> bool:
    """Tell whether symgrad has its own version of NumPy's function."""
    function = operator.attrgetter(name)(np)
    if isinstance(function, type) or not callable(function) or name in ELSEWHERE:
        return False
    own: Any = operator.attrgetter(name)(symgrad.numpy)
    return function in registry.handlers or own is not function


NAMES = [
    prefix + name
    for prefix, module in (("", np), ("linalg.", np.linalg))
    for name in sorted(dir(module))
    if not name.startswith("_") and is_traced(prefix + name)
]

#: One number or two, but not a target behind the operand of a universal function.
CASES = [
    (name, kinds)
    for name in NAMES
    for count in (1, 2)
    for kinds in itertools.product(range(len(KINDS)), repeat=count)
    if getattr(operator.attrgetter(name)(np), "nin", count) == count
    and not (count == 2 and name in TARGETED)
]


def described(value: Any) -> Any:
    """Return the type and the axes of a result, of tuples and lists those of their elements."""
    if isinstance(value, (tuple, list)):
        return isinstance(value, list), tuple(map(described, value))
    found = np.asarray(value)
    return str(found.dtype).replace("float16", "float32"), found.shape


@pytest.mark.attack(quick=100, whole=10445, judge="NumPy: types, axes and values")
@pytest.mark.usefixtures("no_kernels")
def test_number_types(attack: Any) -> None:
    """NumPy's functions of one number and two, of Python's and NumPy's types."""
    order = np.random.default_rng(0).permutation(len(CASES))
    for case in attack:
        with case, np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            name, kinds = CASES[order[case.number % len(CASES)]]
            function = operator.attrgetter(name)(np)
            own = operator.attrgetter(name)(symgrad.numpy)
            numbers = [KINDS[k] for k in kinds]
            try:
                want = function(*numbers)
                numeric = all(x.dtype.kind in "biufc" for x in parts(want))
            except Exception:  # noqa: BLE001 - all that NumPy raises
                case.tally("NumPy raises")
                continue
            if not numeric:
                case.tally("no numbers")
                continue
            try:
                found = sg.compile(lambda *numbers: own(*numbers))(*numbers)  # noqa: B023
            except SymgradError:
                case.tally("refused")
                continue
            except Exception as error:
                raise AssertionError((name, numbers)) from error
            assert described(found) == described(want), (name, numbers, found, want)
            for a, b in zip(parts(found), parts(want), strict=True):
                exact = 2e-3 if b.dtype == np.float16 else 1e-13
                np.testing.assert_allclose(a, b, rtol=exact, err_msg=str((name, numbers)))


def parts(value: Any) -> list[Any]:
    """Return the arrays of a result."""
    if isinstance(value, (tuple, list)):
        return [x for each in value for x in parts(each)]
    return [np.asarray(value)]
