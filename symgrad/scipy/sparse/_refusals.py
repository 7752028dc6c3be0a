"""Functions of ``scipy.sparse`` that refuse a matrix that is traced, and why."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..._core.trace.namespace import holds
from ...errors import UnsupportedError
from .._coverage import reasons
from ._entries import Entries


def refusing(names: Callable[[str], Any], module: str) -> Callable[[str], Any]:
    """Return names of SciPy's, whose functions refuse a sparse matrix that is traced."""

    @functools.cache
    def get(name: str) -> Any:
        function = names(name)
        if isinstance(function, type) or not callable(function):
            return function

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            if any(holds(x, lambda x: isinstance(x, Entries)) for x in (*args, *kwargs.values())):
                raise UnsupportedError(
                    f"scipy.{module}.{name} takes no sparse matrix that is traced: "
                    f"{reasons(module)(name)}. Write instead: bmat, block_diag, kron, "
                    "spsolve, or A.toarray()"
                )
            return function(*args, **kwargs)

        return checked

    return get
