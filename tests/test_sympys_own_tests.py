"""SymPy's own tests of lambdify and of its printers, with each call compared with symgrad's.

``lambdify`` of SymPy's test module is replaced by one that makes both functions. SymPy's tests go
on with SymPy's values, so that they pass or fail as they do without symgrad.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp

import symgrad as sg
from symgrad.errors import ArgumentError, ShapeError, UnsupportedError

#: Test modules, how many calls are compared at least, and what is refused, by the tests.
MODULES: dict[str, tuple[int, dict[str, str]]] = {
    "sympy.utilities.tests.test_lambdify": (
        950,
        {
            "test_str_args": "not text",
            "test_numpy_matrix": "SymPy function dot",
            "test_sym_single_arg": "symbols that are no arguments",
            "test_sym_list_args": "symbols that are no arguments",
            "test_sym_integral": "not the formula y",
            "test_curly_matrix_symbol": "a column",
            "test_amin_amax_minimum_maximum": r"not \[",
            "test_scipy_fns": "has to be known",
            "test_lambdify_Derivative_custom_printer": "functions that are not known",
            "test_issue_15827": "symbols that are no arguments",
            "test_issue_13167_21411": r"not \[-1, 0, 1\]",
            "test_scipy_bernoulli": "counts or factors integers",
            "test_deprecated_set": "a set",
            "test_issue_13881": "a column",
        },
    ),
    "sympy.printing.tests.test_numpy": (25, {"test_matsolve": "a column"}),
    "sympy.printing.tests.test_lambdarepr": (3, {}),
    "sympy.codegen.tests.test_matrix_nodes": (2, {}),
    "sympy.codegen.tests.test_rewriting": (8, {}),
    "sympy.physics.mechanics.tests.test_kane5": (6, {}),
}

#: Tests of complex values of real numbers, which symgrad has of complex numbers alone.
COMPLEX = {"test_issue_17898"}

#: Modules that compute with something else: symgrad's values are compared with theirs.
OTHERS = {"mpmath", "sympy", "cmath", "tensorflow", "torch", "jax", "cupy", "numexpr"}


def _numbers(value: Any) -> list[complex]:
    """Return the numbers in a value; a TypeError if it has others."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [x for part in value for x in _numbers(part)]
    if hasattr(value, "todense"):
        value = value.todense()
    if isinstance(value, np.ndarray):
        value = np.asarray(value).ravel()
    if isinstance(value, (np.ndarray, sp.MatrixBase, mpmath.matrix)):
        return [complex(x) for x in value]
    return [] if value is None else [complex(value)]


def _as_numpys(value: Any) -> Any:
    """Return mpmath's and SymPy's values as Python's and NumPy's."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(_as_numpys, value))
    if isinstance(value, sp.MatrixBase):
        return np.array(value.tolist(), dtype=float)
    if isinstance(value, mpmath.mpf):
        return float(value)
    return complex(value) if isinstance(value, mpmath.mpc) else value


class _Comparison:
    """SymPy's ``lambdify``, and what symgrad's gives beside it in one test."""

    def __init__(self, plain: Callable[..., Any], test: str) -> None:
        self.plain, self.test = plain, test
        self.equal = 0
        self.different: list[Any] = []
        self.refused: list[str] = []

    def __call__(
        self, args: Any, expr: Any, modules: Any = None, printer: Any = None, **named: Any
    ) -> Any:
        f = self.plain(args, expr, modules, printer, **named)
        ours = [m for m in ([modules] if _is_one(modules) else modules or []) if not _is_other(m)]
        if not inspect.isfunction(f):  # a test's own
            return f
        try:
            g = sg.lambdify(args, expr, ours, **named)
        except (ArgumentError, UnsupportedError) as error:
            self.refused.append(str(error))
            return f

        def both(*values: Any, **by_name: Any) -> Any:
            wanted = f(*values, **by_name)
            self._compare(g, expr, values, by_name, wanted)
            return wanted

        for name in ("__doc__", "__name__", "__module__"):
            setattr(both, name, getattr(f, name))
        both.__code__ = both.__code__.replace(
            co_filename=f.__code__.co_filename, co_firstlineno=f.__code__.co_firstlineno
        )
        both.__wrapped__ = f  # type: ignore[attr-defined]
        return both

    def _compare(self, g: Any, expr: Any, values: Any, by_name: Any, wanted: Any) -> None:
        try:
            numbers = _numbers(wanted)
        except (TypeError, ValueError):  # formulas, or arrays of other libraries
            return
        try:
            found = _numbers(g(*map(_as_numpys, values), **by_name))
        except (ArgumentError, ShapeError, UnsupportedError) as error:
            self.refused.append(str(error))
            return
        same = len(numbers) == len(found) and np.allclose(
            found, numbers, rtol=1e-9, atol=1e-12, equal_nan=True
        )
        if same:
            self.equal += 1
        elif not any(x.imag for x in numbers) or self.test not in COMPLEX:
            self.different.append((self.test, expr, values, numbers, found))


def _is_one(modules: Any) -> bool:
    return isinstance(modules, (str, dict)) or inspect.ismodule(modules)


def _is_other(module: Any) -> bool:
    return isinstance(module, str) and module in OTHERS


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_calls_of_sympys_tests(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = pytest.importorskip(name)
    least, allowed = MODULES[name]
    plain, count, raised = module.lambdify, 0, Counter[str]()
    for test, function in vars(module).copy().items():
        if not (test.startswith("test_") and inspect.isfunction(function)):
            continue
        comparison = _Comparison(plain, test)
        monkeypatch.setattr(module, "lambdify", comparison)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                function()
            except (Exception, pytest.skip.Exception) as error:  # noqa: BLE001
                raised[type(error).__name__] += 1  # what is skipped, and what is known to fail
        real = test.startswith("test_cmath")  # complex values of real numbers
        assert real or not comparison.different, comparison.different
        for said in comparison.refused:
            assert test in allowed, (test, said)
            assert re.search(allowed[test], said), (test, said)
        count += comparison.equal
    assert count >= least, (count, raised)
