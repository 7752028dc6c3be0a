"""Python's clocks, files and environment, for a function that is traced.

What they say then would be the same in every call. A clock may be read, for a line in a log; what
it says must not become part of the result (:mod:`symgrad._core.trace._clocks`). Text from files,
the environment and the keyboard cannot be followed, and is refused at once.
"""

from __future__ import annotations

import builtins
import datetime as dt
import functools
import io
import os
import pathlib
import secrets
import sys
import time
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import numpy as np

from .._core.base.stand_in_types import class_of
from .._core.base.state import now
from .._core.graph import user_line
from .._core.trace import ArrayMethods, Reading, reading
from ..errors import OutsideError
from .random import from_system


class Version:
    """A module or a class with versions of some of its names."""

    __symgrad_version__ = True

    def __init__(self, original: Any, **versions: Any) -> None:
        self._original = original
        self.__dict__.update(versions)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._original(*args, **kwargs)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, self._original)

    def __subclasscheck__(self, kind: type) -> bool:
        return issubclass(kind, self._original)


def _clock(function: Callable[..., Any], always: bool = True) -> Callable[..., Any]:
    """Return a function that says the time, of now or (not ``always``) of what it is given."""

    @functools.wraps(function)
    def read(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        if now().guards is None:
            return found
        given = [x for x in (*args, *kwargs.values()) if isinstance(x, Reading)]
        if given:
            return reading(found, given[0].read_at)
        return reading(found, user_line()) if always or not args else found

    return read


def _clocks(home: Any, *names: str, always: bool = True) -> dict[str, Any]:
    return {k: _clock(getattr(home, k), always) for k in names}


def refuse(call: str) -> None:
    """Raise for what is read while a function is traced."""
    if now().guards is not None:
        raise OutsideError(
            f"{call} is called while the function is traced, and what it reads then would be the "
            "same in every call. Write instead: read it outside, and pass what it says as an "
            "argument"
        )


def refused(function: Callable[..., Any], call: str) -> Callable[..., Any]:
    """Return a function that reads, but not while another is traced."""

    @functools.wraps(function)
    def read(*args: Any, **kwargs: Any) -> Any:
        refuse(call)
        return function(*args, **kwargs)

    return read


def _open(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def opened(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if not mode.strip("btU") or "r" in mode or "+" in mode:
            refuse(f"open({os.fspath(file) if isinstance(file, os.PathLike) else file!r})")
        return original(file, mode, *args, **kwargs)

    return opened


class _Environment(MutableMapping[str, str]):
    """``os.environ``: it may be written to."""

    def __getitem__(self, name: str) -> str:
        refuse(f"os.environ[{name!r}]")
        return os.environ[name]

    def get(self, name: str, default: Any = None) -> Any:
        refuse(f"os.environ.get({name!r})")
        return os.environ.get(name, default)

    def __contains__(self, name: object) -> bool:
        refuse(f"{name!r} in os.environ")
        return name in os.environ

    def __iter__(self) -> Iterator[str]:
        refuse("os.environ")
        return iter(os.environ)

    def __len__(self) -> int:
        refuse("os.environ")
        return len(os.environ)

    def __setitem__(self, name: str, value: str) -> None:
        os.environ[name] = value

    def __delitem__(self, name: str) -> None:
        del os.environ[name]


class Path(type(pathlib.Path())):  # type: ignore[misc]
    """``pathlib.Path``, whose files are not read."""

    read_text = refused(pathlib.Path.read_text, "Path.read_text()")
    read_bytes = refused(pathlib.Path.read_bytes, "Path.read_bytes()")
    open = _open(pathlib.Path.open)


def of_file(function: Callable[..., Any], home: str = "np") -> Callable[..., Any]:
    """Return a library's function that reads a file, but not while another is traced."""

    @functools.wraps(function)
    def read(file: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(file, (str, bytes, os.PathLike)):
            refuse(f"{home}.{function.__name__}({file!r})")
        return function(file, *args, **kwargs)

    return read


_DATE = Version(
    dt.date, **_clocks(dt.date, "today"), **_clocks(dt.date, "fromtimestamp", always=False)
)
_DATETIME = Version(
    dt.datetime,
    **_clocks(dt.datetime, "now", "today", "utcnow"),
    **_clocks(dt.datetime, "fromtimestamp", "combine", always=False),
)

#: Versions of modules, and of what has no module that names it.
TIME = Version(
    time,
    **_clocks(
        time, "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns",
        "process_time", "process_time_ns", "thread_time", "thread_time_ns",
    ),
    **_clocks(time, "localtime", "gmtime", always=False),
)  # fmt: skip
DATETIME = Version(dt, date=_DATE, datetime=_DATETIME)
IO = Version(io, open=_open(io.open))
PATHLIB = Version(pathlib, Path=Path)
ENVIRON = _Environment()
OS = Version(
    os, environ=ENVIRON, getenv=refused(os.getenv, "os.getenv()"),
    urandom=from_system(os.urandom, "os.urandom"),
)  # fmt: skip
SECRETS = Version(
    secrets, **{k: from_system(getattr(secrets, k), f"secrets.{k}") for k in secrets.__all__
                if callable(getattr(secrets, k)) and not isinstance(getattr(secrets, k), type)}
)  # fmt: skip
INPUT = refused(builtins.input, "input()")


def _namespace(module: Any) -> Callable[..., Any]:
    """Return array_api_compat's question for the namespace of arrays, some of which are traced."""

    @functools.wraps(module.array_namespace)
    def ask(*arrays: Any, **options: Any) -> Any:
        plain = [x for x in arrays if not isinstance(x, ArrayMethods)]
        if len(plain) == len(arrays):
            return module.array_namespace(*arrays, **options)
        module.array_namespace(np.empty(0), *plain, **options)  # refuses other libraries' arrays
        return now().namespace or np

    return ask


def _of_arrays(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return array_api_compat's test of a value, which a traced array or number of NumPy passes."""

    @functools.wraps(test)
    def ask(x: Any) -> bool:
        traced = isinstance(x, ArrayMethods)
        return issubclass(class_of(x), (np.ndarray, np.generic)) if traced else test(x)

    return ask


def __getattr__(part: str) -> Any:
    """Return a version of a module that users import, and symgrad does not."""
    if part not in ("ARRAY_API_COMPAT", "PANDAS", "XARRAY", "SUBPROCESS"):
        raise AttributeError(f"module {__name__!r} has no attribute {part!r}")
    module = sys.modules[part.lower()]
    if part == "SUBPROCESS":
        calls: tuple[str, ...] = "run", "call", "check_call", "check_output", "getoutput", "Popen"
        made = {k: refused(getattr(module, k), f"subprocess.{k}()") for k in calls}
    elif part == "ARRAY_API_COMPAT":
        made = dict.fromkeys(("array_namespace", "get_namespace"), _namespace(module))
        for name in ("is_numpy_array", "is_array_api_obj"):
            made[name] = _of_arrays(getattr(module, name))
    else:
        readers = [k for k in dir(module) if k.startswith(("read_", "open_", "load_"))]
        made = {k: of_file(getattr(module, k), module.__name__) for k in readers}
        if part == "PANDAS":
            moment, calls = module.Timestamp, ("now", "today", "utcnow")
            told = {k: refused(getattr(moment, k), f"pandas.Timestamp.{k}()") for k in calls}
            made["Timestamp"] = Version(moment, **told)
    return globals().setdefault(part, Version(module, **made))
