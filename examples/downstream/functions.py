"""The public functions of installed libraries, and points to call them at.

Points are those of the calls that a library's doctests make, directly or in other functions. A
function that no doctest calls gets made-up numbers for which the plain call gives finite results.
"""

from __future__ import annotations

import copy
import doctest
import importlib
import inspect
import io
import itertools
import os
import pkgutil
import signal
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np
from judge import Call, finite, is_floats, leaves, plainly


@dataclass(frozen=True)
class Library:
    """A library of PyPI.

    Attributes
    ----------
    field:
        The science it is of.
    package:
        The name to import; empty: that of the library.
    without:
        Parts of the names of modules that are left out: tests, plots, data, copies.
    setup:
        A statement that its users begin with.
    plain:
        Whether it compiles its functions by Numba where that is installed, and is imported
        without it.
    """

    field: str
    package: str = ""
    without: tuple[str, ...] = ()
    setup: str = ""
    plain: bool = False


LIBRARIES = {
    "chemicals": Library("chemistry", without=("numba", "vectorized", "units", "numba_tools")),
    "fluids": Library("fluid mechanics", without=("numba", "vectorized", "units", "optional")),
    "ht": Library("heat transfer", without=("numba", "vectorized", "units")),
    "thermo": Library("thermodynamics", without=("numba", "vectorized", "units", "stream")),
    "pvlib": Library("photovoltaics", without=("iotools",)),
    "colour-science": Library("colour", "colour", ("plotting", "examples", "io", "datasets")),
    "psychrolib": Library("moist air", setup="psychrolib.SetUnitSystem(psychrolib.SI)", plain=True),
    "iapws": Library("water and steam", without=("_utils",)),
    "seawater": Library("oceanography"),
    "pymeeus": Library("astronomy"),
    "skyfield": Library("astronomy", without=("data", "documentation")),
    "scikit-rf": Library("radio frequency", "skrf", ("plotting", "vi", "io", "data")),
    "lmfit": Library("lines of spectra", without=("ui", "jsonutils")),
    "filterpy": Library("estimation"),
    "pymap3d": Library("geodesy"),
    "ahrs": Library("orientation"),
    "transforms3d": Library("rotations", without=("_gohlketransforms",)),
    "pythermalcomfort": Library("thermal comfort"),
    "thermofeel": Library("heat stress"),
    "numpy-financial": Library("finance", "numpy_financial"),
    "empyrical-reloaded": Library("finance", "empyrical"),
    "miepython": Library("scattering"),
    "quantecon": Library("economics"),
    "astral": Library("sun and moon"),
    "pysolar": Library("sun and moon"),
    "colossus": Library("cosmology", without=("demos", "settings")),
    "pytransform3d": Library("rigid motions", without=("plot_utils", "visualizer", "editor")),
    "spatialmath-python": Library("robotics", "spatialmath", ("graphics", "animate", "timing")),
    "bruges": Library("geophysics", without=("noise", "unconformity")),
    "py_vollib": Library("options"),
    "statsmodels": Library("statistics", without=("datasets", "graphics", "plots", "sandbox")),
    "scikit-fuzzy": Library("fuzzy logic", "skfuzzy", ("image",)),
    "control": Library("control", without=("matlab", "plots", "flatsys")),
}
SECONDS = 5  # of computing, for an example of a docstring
WAITING = 60  # seconds for one, whether it computes or not
POINTS = 2  # for each function
MOST = 12  # parameters to make up numbers for


def limit(seconds: float) -> None:
    """End what follows by a TimeoutError after seconds of computing; 0: do not end it."""

    def late(*_: Any) -> None:
        raise TimeoutError

    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(WAITING if seconds else 0)


@dataclass
class Entry:
    """A public function, and calls of it."""

    module: str
    name: str
    source: str = "made up"
    calls: list[Call] = field(default_factory=list)

    def function(self) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(importlib.import_module(self.module), self.name)
        return found


def imported(library: str) -> ModuleType:
    """Return the package of a library, as its users have it."""
    told = LIBRARIES[library]
    name = told.package or library
    numba = sys.modules.get("numba")
    if told.plain:
        sys.modules["numba"] = None  # type: ignore[assignment]
    try:
        package = importlib.import_module(name)
    finally:
        if told.plain:
            del sys.modules["numba"]
            sys.modules |= {"numba": numba} if numba else {}
    exec(told.setup, {name: package})  # noqa: S102 (a statement of the table above)
    return package


def modules(library: str) -> Iterator[ModuleType]:
    """Yield the modules of a library that can be imported."""
    told = LIBRARIES[library]
    package = imported(library)
    yield package
    path = getattr(package, "__path__", [])
    for found in pkgutil.walk_packages(path, package.__name__ + ".", onerror=lambda _: None):
        name = found.name
        parts = name.split(".")[1:]
        if any(
            p in told.without or p.startswith(("test", "_test", "__", "conftest")) for p in parts
        ):
            continue
        try:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                module = importlib.import_module(name)
        except (Exception, SystemExit):  # noqa: BLE001 (a module that needs more)
            continue
        if isinstance(module.__name__, str):
            yield module


def entries(found: list[ModuleType]) -> dict[CodeType, Entry]:
    """Return the public functions of modules by their code, each at the place it is defined."""
    result: dict[CodeType, Entry] = {}
    known = {module.__name__ for module in found}
    for module in found:
        for name, value in vars(module).items():
            if name.startswith("_") or not inspect.isfunction(value):
                continue
            if inspect.isgeneratorfunction(value) or inspect.iscoroutinefunction(value):
                continue
            if value.__module__ not in known:
                continue
            result.setdefault(value.__code__, Entry(module.__name__, name))
    return result


def simple(value: Any) -> bool:
    """Return whether a value is made of numbers, texts and containers."""
    if isinstance(value, (list, tuple)):
        return type(value) in (list, tuple) and all(map(simple, value))
    if isinstance(value, dict):
        return type(value) is dict and all(map(simple, value.values()))
    if isinstance(value, np.ndarray):
        return type(value) is np.ndarray and value.dtype.kind in "fiubc" and value.size <= 10_000
    return value is None or isinstance(value, (int, float, complex, str, bool, np.generic))


def given(function: Callable[..., Any], frame: FrameType) -> Call | None:
    """Return the call that a frame begins with, without arguments that have their defaults."""
    code, seen = frame.f_code, frame.f_locals
    names = code.co_varnames
    count = code.co_argcount
    args = [seen[name] for name in names[:count]]
    defaults = getattr(function, "__defaults__", None) or ()
    only = dict.fromkeys(names[count : count + code.co_kwonlyargcount])
    kwargs = {name: seen[name] for name in only}
    place = count + code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        args += seen[names[place]]
        place += 1
    else:
        while args and count - len(args) < len(defaults):
            if args[-1] is not defaults[len(args) - 1 - count]:
                break
            args.pop()
    if code.co_flags & inspect.CO_VARKEYWORDS:
        kwargs |= seen[names[place]]
    kept = getattr(function, "__kwdefaults__", None) or {}
    kwargs = {k: v for k, v in kwargs.items() if k not in kept or v is not kept[k]}
    return copy.deepcopy(Call(tuple(args), kwargs)) if simple([args, kwargs]) else None


def run_doctests(found: list[ModuleType], table: dict[CodeType, Entry]) -> None:
    """Run the examples of all docstrings, and note the calls of public functions."""
    functions = {code: entry.function() for code, entry in table.items()}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        entry = table.get(frame.f_code)
        if entry is None or len(entry.calls) >= POINTS:
            return
        call = given(functions[frame.f_code], frame)
        if call is not None and repr(call) not in map(repr, entry.calls):
            entry.calls.append(call)
            entry.source = "docstring"

    finder = doctest.DocTestFinder()
    for module in found:
        # What is taught at the package is imported from it.
        scope = vars(sys.modules[module.__name__.split(".")[0]]) | vars(module)
        try:
            tests = finder.find(module, module.__name__)
        except Exception:  # noqa: BLE001 (objects that do not answer)
            continue
        for test in tests:
            names = dict(scope) | {"np": np}
            for example in test.examples:
                quiet = io.StringIO()
                with redirect_stdout(quiet), redirect_stderr(quiet), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    limit(SECONDS)
                    try:
                        code = compile(example.source, "<docstring>", "single")
                        sys.setprofile(note)
                        exec(code, names)  # noqa: S102 (an example of a docstring)
                    except (Exception, SystemExit):  # noqa: BLE001 (one that fails)
                        pass
                    finally:
                        sys.setprofile(None)
                        limit(0)


def made_up(function: Callable[..., Any], name: str) -> list[Call]:
    """Return calls with made-up numbers, for which the plain function gives finite ones."""
    try:
        parameters = [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return []
    needed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in needed if p.default is p.empty]
    if not required:
        required = [p for p in needed if is_floats(p.default)]
        names: list[str] = [p.name for p in required]
    else:
        names = []
    if not required or len(required) > MOST:
        return []
    draws = np.random.default_rng(zlib.crc32(name.encode()))
    spans = [(0.1, 0.9), (1.0, 3.0), (5.0, 40.0), (200.0, 400.0), (1e4, 2e5)]
    forms: list[Callable[[float, float], Any]] = [
        lambda a, b: float(draws.uniform(a, b)),
        lambda a, b: np.sort(draws.uniform(a, b, 4)),
        lambda a, b: draws.uniform(a, b, 3).tolist(),
        lambda a, b: draws.uniform(a, b, (3, 3)),
    ]
    calls: list[Call] = []
    plans: Iterator[list[tuple[Any, tuple[float, float]]]] = itertools.chain(
        ([(form, span)] * len(required) for form in forms[:2] for span in spans),
        (
            [(forms[draws.integers(3)], spans[draws.integers(len(spans))]) for _ in required]
            for _ in range(24)
        ),
        ([(form, span)] * len(required) for form in forms[2:] for span in spans),
    )
    for plan in plans:
        values = tuple(form(*span) for form, span in plan)
        call = Call((), dict(zip(names, values, strict=True))) if names else Call(values, {})
        limit(SECONDS)
        try:
            result = plainly(function, call)
        except TimeoutError:
            return calls
        finally:
            limit(0)
        if result is not None and finite(result) and moderate(result):
            calls.append(call)
            if len(calls) == POINTS:
                break
    return calls


def moderate(result: Any) -> bool:
    """Return whether no number of a result is so large or small that made-up ones had no sense."""
    sizes = np.concatenate([np.abs(np.ravel(leaf)) for leaf, _ in leaves(result, result)])
    return bool(np.all(sizes < 1e30) and np.all((sizes > 1e-30) | (sizes == 0)))


def collected(library: str) -> list[Entry]:
    """Return the public functions of a library that take floats and return them, with calls."""
    sys.stdout.flush()
    os.environ["MPLBACKEND"] = "Agg"
    found = [*modules(library)]
    table = entries(found)
    run_doctests(found, table)
    kept = []
    for entry in table.values():
        function = entry.function()
        quiet = io.StringIO()
        with redirect_stdout(quiet), redirect_stderr(quiet):
            if entry.calls:
                entry.calls = [c for c in entry.calls if usable(function, c)]
            if not entry.calls:
                entry.source = "made up"
                entry.calls = [c for c in made_up(function, entry.name) if usable(function, c)]
        if entry.calls:
            kept.append(entry)
    return kept


def usable(function: Callable[..., Any], call: Call) -> bool:
    """Return whether a call has floats on both sides."""
    limit(SECONDS)
    try:
        result = plainly(function, call)
        return result is not None and finite(result) and bool(call.floats(function))
    except Exception:  # noqa: BLE001 (whatever a library raises, and TimeoutError)
        return False
    finally:
        limit(0)
