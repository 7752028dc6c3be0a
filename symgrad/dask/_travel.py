"""Functions as bytes: what a loss is now, wherever it runs.

Dask pickles functions of modules by name, so a worker would compute with what *its* module has:
another version, or a global name that the client has changed since. Here the user's own functions,
classes and modules go by value, as notebooks' do; what is taken as fixed elsewhere in symgrad
(Python's modules, installed packages) goes by name.

Classes that come by value are new ones each time. cloudpickle would change the class that came
before in place, under the functions that came with it.
"""

from __future__ import annotations

import functools
import io
import pickle
import sys
import threading
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import cloudpickle

from .._compile import Function
from .._compile._users import of_library
from .._forks import free_in_children
from ..errors import ArgumentError

#: cloudpickle's list of modules that go by value is one for the process.
_lock = free_in_children(threading.Lock())

_kept = free_in_children(threading.Lock())


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.entered: list[ModuleType] = []

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Function):  # a decorated function of a module would go by name
            return _remade, obj._recipe
        if isinstance(obj, (FunctionType, type, ModuleType)):
            name = obj.__name__ if isinstance(obj, ModuleType) else obj.__module__
            module = sys.modules.get(name)
            if module is not None and name not in cloudpickle.list_registry_pickle_by_value() and (
                not of_library(module)
            ):  # fmt: skip
                cloudpickle.register_pickle_by_value(module)
                self.entered.append(module)
        return super().reducer_override(obj)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        if module.startswith("cloudpickle") and name.startswith("_make_skeleton_"):
            # The last argument but one is the number by which cloudpickle finds the class again.
            return lambda *args: found(*args[:-2], None, args[-1])
        return found


def _remade(make: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return make(*args, **options)


def to_bytes(value: Any, what: str) -> bytes:
    """Return a function with what it reads, pickled by value.

    Raises
    ------
    ArgumentError
        If something that it reads cannot be pickled.
    """
    file = io.BytesIO()
    with _lock:
        pickler = _Pickler(file)
        try:
            pickler.dump(value)
        except Exception as error:
            raise ArgumentError(
                f"{what} reads something that cannot be sent to workers: {error}. Pass it as an "
                "argument, or import names (from module import name), not the module that has it"
            ) from error
        finally:
            for module in pickler.entered:
                cloudpickle.unregister_pickle_by_value(module)
    return file.getvalue()


def from_bytes(pickled: bytes) -> Any:
    """Return what :func:`to_bytes` has pickled; the same for the same bytes, compiled once."""
    with _kept:  # two threads at once would both compile it
        return _loaded(pickled)


@functools.lru_cache(maxsize=16)
def _loaded(pickled: bytes) -> Any:
    return _Unpickler(io.BytesIO(pickled)).load()
