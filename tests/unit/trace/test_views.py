"""What is known of the memory of results: sharing and layout, as in NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from symgrad._core.base.scipy_names import resolved
from symgrad._core.op import registry
from symgrad._core.trace import Traced, as_traced
from symgrad._core.trace._arrays import call
from symgrad._core.trace._views import Layout
from symgrad.errors import SymgradError
from tests.samples import samples_of

# ---------------------------------------------------------------- sharing, over the registry


def leaves(value: Any) -> list[Any]:
    return [y for x in value for y in leaves(x)] if isinstance(value, (list, tuple)) else [value]


def exchanged(value: Any, change: Callable[[Any], Any]) -> Any:
    if type(value) in (list, tuple):
        return type(value)(exchanged(x, change) for x in value)
    return change(value)


def is_real_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0 and value.dtype.kind == "f"


@pytest.mark.parametrize("turned", [False, True], ids=["C order", "Fortran order"])
@pytest.mark.parametrize("name", sorted(registry.composites))
def test_results_share_memory_and_lie_as_numpys(name: str, turned: bool) -> None:
    """What is sure of a result's memory is so in NumPy; what NumPy shares is never a copy."""
    record = registry.composites[name]
    order = np.asfortranarray if turned else np.ascontiguousarray
    for function in map(resolved, record.functions):
        for args, kwargs in samples_of(record, np.random.default_rng(7)):
            plain = exchanged(args, lambda x: order(x) if is_real_array(x) else x)
            given = [x for x in leaves(plain) if is_real_array(x)]
            twins = {id(x): as_traced(x) for x in given}
            if not given:
                continue
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                wanted = function(*plain, **kwargs)
                traced = exchanged(plain, lambda x: twins.get(id(x), x))  # noqa: B023
                try:
                    found = call(function, traced, dict(kwargs))
                except SymgradError:
                    continue
            for a, b in zip(leaves(found), leaves(wanted), strict=True):
                if not (isinstance(a, Traced) and isinstance(b, np.ndarray) and b.ndim and b.size):
                    continue
                shared = any(np.shares_memory(b, x) for x in given)
                known = any(a.root is x for x in twins.values())
                assert known or not shared, (function, kwargs)
                sure = not a.is_view or a._view.path is not None
                assert shared or not (known and sure), (function, kwargs)
                if a.ndim > 1 and a.layout >= Layout.RUN:
                    assert b.flags.c_contiguous, (function, kwargs)
