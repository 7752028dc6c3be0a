"""Whose code it is: the user's, an installed package's, Python's own or symgrad's."""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from .._core.base.package import FOLDER
from .._core.graph import Where

FIXED = ("numpy", "scipy", "sympy", "symgrad")

#: What symgrad knows in a way of its own, and what it runs on: it is never traced.
_KNOWN = frozenset(FIXED) | {"pandas", "xarray", "numba", "llvmlite", "mpmath", "dask"}

#: Other array libraries, as their users call them. Their functions take arrays of their own, their
#: source leads through all of them, and ends in machine code: it is never adapted.
LIBRARIES = {
    "jax": "JAX", "jaxlib": "JAX", "flax": "Flax", "torch": "PyTorch", "tensorflow": "TensorFlow",
    "keras": "Keras", "cupy": "CuPy", "cupyx": "CuPy", "mlx": "MLX", "pytensor": "PyTensor",
    "aesara": "Aesara", "theano": "Theano", "autograd": "Autograd", "mxnet": "MXNet",
    "paddle": "Paddle", "tinygrad": "tinygrad", "casadi": "CasADi",
}  # fmt: skip

#: No installed package counts as the user's.
NONE: frozenset[str] = frozenset()


def _homes() -> tuple[str, ...]:
    """Return the folders of Python's library, and of what symgrad needs wherever it is installed.

    ``pip install --target`` puts packages beside the user's code, so the folder says nothing of
    others there.
    """
    places = {sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib")}
    for name in (*FIXED, "mpmath", "numba", "llvmlite"):
        spec = find_spec(name)
        places.update((spec and spec.submodule_search_locations) or ())
    return tuple(str(Path(place)) + os.sep for place in places)


_HOMES = _homes()


def by_symgrad(file: str) -> bool:
    """Tell whether code is symgrad's."""
    return file.startswith(FOLDER)


@lru_cache(maxsize=4096)
def installed(file: str) -> bool:
    """Tell whether code is Python's own, an installed package's or symgrad's."""
    if "site-packages" in file or "dist-packages" in file or file.startswith(("<frozen", FOLDER)):
        return True
    return file.startswith(_HOMES)


def of_packages(name: object, packages: frozenset[str]) -> bool:
    """Tell whether a module's name is one of some packages'."""
    return bool(packages) and isinstance(name, str) and name.partition(".")[0] in packages


def of_library(module: ModuleType | str, packages: frozenset[str] = NONE) -> bool:
    """Tell whether a module is fixed: Python's own, or installed.

    ``packages``: installed ones that count as the user's.

    What names ``__main__`` as its module never is: under ``python -m cProfile`` and in joblib's
    workers the module of that name is the runner's, where the user's classes were not made.
    """
    if module == "__main__":
        return False
    found = sys.modules.get(module) if isinstance(module, str) else module
    if found is None or of_packages(found.__name__, packages):
        return False
    file = getattr(found, "__file__", None)
    if file is None:
        return found.__name__.partition(".")[0] in sys.stdlib_module_names
    return installed(file)


def never_adapted(package: str) -> bool:
    """Tell whether a package is Python's own, or one that is not taken as it stands."""
    return package in _KNOWN or package in LIBRARIES or package in sys.stdlib_module_names


def of_package(file: str, module: object) -> bool:
    """Tell whether code, of a file or else of a module, is an installed package's."""
    home = str(module).partition(".")[0]
    if home in _KNOWN or home in sys.stdlib_module_names:
        return False
    found = file or str(getattr(sys.modules.get(str(module)), "__file__", ""))
    return installed(found)


def users_line(error: BaseException) -> Where | None:
    """Return the last line that an error has passed of code that is not installed."""
    found, trail = None, error.__traceback__
    while trail is not None:
        code = trail.tb_frame.f_code
        if not installed(code.co_filename):
            found = Where(code.co_filename, trail.tb_lineno, code.co_name)
        trail = trail.tb_next
    return found


def packages_in(error: BaseException | None) -> frozenset[str]:
    """Return the installed packages whose functions had to do with an error."""
    around = getattr(error, "around", ())  # of code that has hidden it
    found = {name.partition(".")[0] for file, name in around if installed(file)}
    for _ in range(8):
        trace = error.__traceback__ if error is not None else None
        while trace is not None:
            code, names = trace.tb_frame.f_code, trace.tb_frame.f_globals
            if installed(code.co_filename):
                found.add(str(names.get("__name__")).partition(".")[0])
            trace = trace.tb_next
        error = error and (error.__cause__ or error.__context__)
    return frozenset(found - _KNOWN - LIBRARIES.keys() - sys.stdlib_module_names)
