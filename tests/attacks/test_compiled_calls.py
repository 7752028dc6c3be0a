"""Functions of extension modules, given values that are being traced.

They are compiled by Cython, f2py, pybind11, or written in C, and take numbers. Each refuses a
traced value in its own words, or asks it for numbers; what the user is told must name the function.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy

import symgrad as sg
from symgrad.errors import SymgradError

#: Modules of callbacks and backends, which take no numbers; and those made by f2py, whose wrappers
#: release an element type too often where an argument is refused, until Python ends.
BUT = ("uarray", "ccallback", "messagestream", "_highs", "test", "_matfuncs_sqrtm",
       "_fblas", "_flapack", "_dfitpack")  # fmt: skip


@functools.lru_cache(maxsize=1)
def functions() -> list[tuple[ModuleType, str]]:
    """Return what can be called in SciPy's extension modules."""
    found = []
    for info in pkgutil.walk_packages(scipy.__path__, "scipy."):
        if info.ispkg or any(part in info.name for part in BUT):
            continue
        spec: Any = info.module_finder.find_spec(info.name, None)
        if not (spec.origin or "").endswith((".so", ".pyd")):
            continue
        module = importlib.import_module(info.name)
        for name, value in sorted(vars(module).items()):
            home = getattr(value, "__module__", None)
            own = callable(value) and home in (module.__name__, None)
            plain = not isinstance(value, (np.ufunc, type))
            if own and plain and not name.startswith("__") and "test" not in name.lower():
                found.append((module, name))
    return found


@pytest.mark.attack(quick=100, whole=2000, judge="an error that names the function and the line")
@pytest.mark.usefixtures("no_kernels")
@pytest.mark.filterwarnings("ignore")
def test_compiled_calls(attack: Any) -> None:
    """Functions of SciPy's extension modules, of traced values."""
    every = functions()
    for case in attack:
        with case:
            module, name = every[int(case.rng.integers(len(every)))]
            count = int(case.rng.integers(1, 6))
            x = case.rng.random(tuple(case.rng.integers(2, 5, case.rng.integers(1, 3))))
            names = {"compiled": module, "__name__": "written"}
            exec(f"def call(v): return compiled.{name}({', '.join(['v'] * count)})", names)
            call = names["call"]
            said = ""
            try:
                sg.compile(lambda v, call=call: call(v))(x)
            except SymgradError as error:
                said = str(error)
            except (AttributeError, TypeError) as error:  # of what arrays do not have
                if type(error) is TypeError and "unhashable" not in str(error):
                    raise
                case.tally("for other objects")
                continue
            # Some call Python code, which calls another compiled function.
            named = (
                name in said
                or "which is compiled" in said
                or said.startswith(("scipy.", "a numpy"))
            )
            assert not said or (named and "Write instead" in said), (module, name, said)
            case.tally("refused" if said else "no numbers asked for")
