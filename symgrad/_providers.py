"""Functions of higher layers that lower ones call: handed over when symgrad is imported.

Each imports its home when it is called, so that ``import symgrad`` takes milliseconds.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from ._core.base.providers import PROVIDED


def _provide(function: Any) -> Any:
    PROVIDED[function.__name__.strip("_")] = function
    return function


@_provide
def _latex(program: Any) -> str:
    from ._show._program_latex import latex

    return latex(program)


@_provide
def _scan(*args: Any) -> Any:
    from ._syntax._control import scan

    return scan(*args)


@_provide
def _fori_loop(*args: Any) -> Any:
    from ._syntax._control import fori_loop

    return fori_loop(*args)


@_provide
def _vmap(*args: Any) -> Any:
    from ._api._transforms import vmap

    return vmap(*args)


@_provide
def _following() -> Any:
    from ._syntax._control_flow import Following

    return Following()


@_provide
def _rolled(function: Any) -> Any:
    from ._syntax._control_flow import rolled

    return rolled(function)


@_provide
def _vectorize(*args: Any) -> Any:
    from .numpy import vectorize

    return vectorize(*args)


@_provide
def _sparse_array(*args: Any, **kwargs: Any) -> Any:
    from .scipy.sparse import coo_array

    return coo_array(*args, **kwargs)


@_provide
def _replaced_in_scipy(module: str, name: str) -> bool:
    """Tell whether symgrad has a function in place of one of SciPy's."""
    from . import scipy

    if find_spec(f"{scipy.__name__}.{module}") is None:
        return False
    return name in getattr(getattr(scipy, module), "__all__", ())


@_provide
def _refused_in_scipy(module: str, name: str) -> str:
    """Return why one of SciPy's functions refuses traced values; empty if it does not."""
    from .scipy._coverage import REFUSED, fate

    try:
        kind, why = fate(module, name)
    except KeyError:
        return ""
    return why if kind == REFUSED else ""
