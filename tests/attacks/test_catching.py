"""Handlers around what a traced value refuses: plain Python's branch, or an error of symgrad's.

A case is a form of catching, a function that asks a number for more than arithmetic, the place
where the code stands (the user's file, an installed package, one that calls another, a callback
of either), and how it is given the number. Python is the judge: its value, and its differences.
"""

from __future__ import annotations

import importlib
import itertools
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import symgrad as sg

#: What asks for a number, or its parts; each is defined, and smooth or constant, at the points.
ASKING = (
    "math.exp(x)", "math.fsum([x, 2.0 * x])", "math.hypot(x, 1.0)", "math.erf(x)",
    "math.floor(x) * 1.0", "math.prod([x, 2.0])", "math.dist([x], [1.0])",
    "math.isclose(x, 0.7, abs_tol=1.0) * x", "float(x)", "int(10.0 * x + 0.5) * 1.0",
    "complex(x).real", "bool(x) * 2.0 * x", "round(x, 1)", "abs(x)", "x * len(f'{x:.3f}')",
    "x * len('%.2f' % x)", "x * len('{:.1f}'.format(x))", "x * len(format(x, '.2f'))",
    "x * len(str(x) and '1')", "x * ('7' in f'{x:.1f}')", "cmath.exp(x).real", "cmath.phase(x)",
    "struct.unpack('d', struct.pack('d', x))[0]", "array.array('d', [x])[0]",
    "float(np.asarray(x, float))", "np.array([x, 1.0], dtype=float)[0]", "np.float64(x) * 2.0",
    "np.zeros(2).__setitem__(0, x) or x", "(10.0, 20.0)[operator.index(int(x))]",
    "[1.0, 2.0][int(x)] * x", "float(x.is_integer())", "x.hex().count('x') * x", "x.real * 3.0",
    "float(x.as_integer_ratio()[0] > 0) * x", "x.conjugate() * 3.0", "float(fractions.Fraction(x))",
    "ctypes.c_double(x).value", "statistics.fmean([x, 1.0])", "statistics.mean([x, 1.0])",
    "{x: x}[x] * 2.0", "hash(x) * 0.0 + x", "sum(np.linspace(0.0, x, 3))",
    "np.interp(x, [0.0, 1.0], [0.0, 2.0])", "math.sqrt(x) ** 2", "float(np.float32(x)) * 0.0 + x",
    "sorted([x, 0.1], key=math.exp)[0]", "max(x, 0.1, key=float)", "next(map(math.exp, [x]))",
    "functools.reduce(math.hypot, [x, 1.0, 2.0])", "random.Random(1).uniform(x, x)",
    "x.__float__()", "x.__round__()", "divmod(x, 0.4)[1]",
    "time.strftime('%Y', time.gmtime(x)).count('1970') * x", "np.fromiter([x], float)[0]",
    "np.full(2, x)[0]", "np.asarray([x]).item(0)", "np.vectorize(math.exp)(x)", "operator.index(x)",
    "np.frompyfunc(math.exp, 1, 1)(x)", "float(np.array2string(np.asarray([1.0]))[1]) * x",
    "range(int(3 * x)).stop * x", "len(x) * 1.0",
)  # fmt: skip

#: Functions ``f(x)`` in which E asks, and 7*x is what is left where that raises.
FORMS = {
    "bare": """
        def f(x):
            try:
                return E
            except:
                return 7.0 * x
    """,
    "exception": """
        def f(x):
            try:
                y = E
            except Exception as error:
                kept = error
                y = 7.0 * x
            return y
    """,
    "types": """
        def f(x):
            try:
                return E
            except (TypeError, ValueError):
                return 7.0 * x
    """,
    "attributes": """
        def f(x):
            try:
                return E
            except (AttributeError, TypeError, struct.error, ArithmeticError, ValueError):
                return 7.0 * x
    """,
    "otherwise": """
        def f(x):
            try:
                y = E
            except Exception:
                z = 7.0
            else:
                return y
            return z * x
    """,
    "suppress": """
        def f(x):
            y = 7.0 * x
            with contextlib.suppress(Exception):
                y = E
            return y
    """,
    "manager": """
        class Quiet:
            def __enter__(self):
                return self
            def __exit__(self, *_):
                return True
        def f(x):
            y = 7.0 * x
            with Quiet():
                y = E
            return y
    """,
    "yielding": """
        @contextlib.contextmanager
        def quiet():
            try:
                yield
            except Exception:
                pass
        def f(x):
            y = 7.0 * x
            with quiet():
                y = E
            return y
    """,
    "stack": """
        def f(x):
            y = 7.0 * x
            with contextlib.ExitStack() as stack:
                stack.push(lambda *_: True)
                y = E
            return y
    """,
    "finally": """
        def f(x):
            y = 7.0 * x
            try:
                y = E
            finally:
                return y
    """,
    "loop": """
        def f(x):
            for k in range(3):
                try:
                    y = E
                    break
                except Exception:
                    continue
            else:
                y = 7.0 * x
            return y
    """,
    "chained": """
        def g(x):
            try:
                return E
            except Exception as error:
                raise RuntimeError("not a number") from error
        def f(x):
            try:
                return g(x)
            except RuntimeError:
                return 7.0 * x
    """,
    "group": """
        def f(x):
            try:
                y = E
            except* Exception:
                y = 7.0 * x
            return y
    """,
    "generator": """
        def g(x):
            try:
                yield E
            except Exception:
                yield 7.0 * x
        def f(x):
            return next(g(x))
    """,
    "comprehension": """
        def g(x):
            try:
                return E
            except Exception:
                return 7.0 * x
        def f(x):
            return sum([g(v) for v in (x, x)])
    """,
    "callback": """
        def attempt(g, *args):
            try:
                return g(*args)
            except Exception:
                return None
        def f(x):
            y = attempt(lambda: E)
            return 7.0 * x if y is None else y
    """,
    "decorator": """
        def guarded(g):
            @functools.wraps(g)
            def called(x):
                try:
                    return g(x)
                except Exception:
                    return 7.0 * x
            return called
        @guarded
        def f(x):
            return E
    """,
    "method": """
        class Model:
            scale = 1.0
            def value(self, x):
                try:
                    return self.scale * (E)
                except Exception:
                    return 7.0 * x
            def __call__(self, x):
                return self.value(x)
        f = Model()
    """,
    "property": """
        class Point:
            def __init__(self, x):
                self.x = x
            @property
            def value(self):
                x = self.x
                return E
        def f(x):
            y = getattr(Point(x), "value", None)
            try:
                return y * 1.0
            except TypeError:
                return 7.0 * x
    """,
    "static": """
        class Tools:
            @staticmethod
            def value(x, most=7.0):
                try:
                    return E
                except Exception:
                    return most * x
            @classmethod
            def called(cls, x):
                return cls.value(x)
        f = Tools.called
    """,
    "slots": """
        class Cell:
            __slots__ = ("x",)
            def __init__(self, x):
                self.x = x
            def value(self):
                x = self.x
                try:
                    return E
                except Exception:
                    return 7.0 * x
        def f(x):
            return Cell(x).value()
    """,
    "partial": """
        def g(most, x):
            try:
                return E
            except Exception:
                return most * x
        f = functools.partial(g, 7.0)
    """,
    "cached": """
        @functools.lru_cache(maxsize=4)
        def table(n):
            return [7.0] * n
        def f(x):
            try:
                return E
            except Exception:
                return table(2)[0] * x
    """,
    "future": """
        def f(x):
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                future = pool.submit(lambda: E)
            return future.result() if future.exception() is None else 7.0 * x
    """,
    "thread": """
        def f(x):
            found = []
            def work():
                try:
                    found.append(E)
                except Exception:
                    found.append(7.0 * x)
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            return found[0]
    """,
    "gathered": """
        async def g(x):
            return E
        def f(x):
            async def both():
                return await asyncio.gather(g(x), return_exceptions=True)
            [y] = asyncio.run(both())
            return 7.0 * x if isinstance(y, Exception) else y
    """,
    "asked": """
        def f(x):
            if hasattr(x, "is_integer") and hasattr(x, "hex"):
                try:
                    return E
                except Exception:
                    return 7.0 * x
            return 5.0 * x
    """,
    "global": """
        failed = [0]
        def f(x):
            global last
            try:
                last = E
            except Exception:
                failed[0] = 1
            return 7.0 * x if failed[0] else last
    """,
    "decided": """
        def is_number(x):
            try:
                E
            except Exception:
                return False
            return True
        def f(x):
            return 3.0 * x if is_number(x) else 7.0 * x
    """,
    "deep": """
        def g(x, n):
            if n:
                return g(x, n - 1)
            return E
        def f(x):
            try:
                return g(x, 3)
            except Exception:
                return 7.0 * x
    """,
    "logged": """
        def f(x):
            try:
                return E
            except Exception:
                logging.getLogger("quiet").debug("failed", exc_info=True)
            return 7.0 * x
    """,
}

CATCHING = """
def attempt(g, x):
    try:
        return g(x)
    except Exception:
        return 7.0 * x
"""

PLACES = ("own", "module", "package", "packages", "given", "giving")

IMPORTS = (
    "import array, asyncio, cmath, concurrent.futures, contextlib, ctypes, datetime, decimal\n"
    "import fractions, functools, json, logging, math, operator, random, statistics, struct\n"
    "import threading, time\nimport numpy as np\n"
)

#: How the number is handed over, by a function of the user's file.
GIVEN = {
    "value": lambda f: lambda x: f(x),
    "scaled": lambda f: lambda x: f(1.0 * x),
    "element": lambda f: lambda x: f(np.array([x, 2.0])[0]),
    "attribute": lambda f: lambda x: _through(Box(), f, x),
    "read": lambda f: lambda x: f(WEIGHT) * x,
}

WEIGHT = 0.7


class Box:
    """An object of the user's."""


def _through(box: Any, f: Callable[..., Any], x: Any) -> Any:
    box.x = x
    return f(box.x)


_numbers = itertools.count()


def written(folder: Path, name: str, text: str) -> ModuleType:
    """Return a new module of some text."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(IMPORTS + text)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    return importlib.import_module(name)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[[str, str, str], Callable[..., Any]]]:
    """Return a function that makes one of a form of catching, an expression and a place."""
    paths, modules = list(sys.path), set(sys.modules)
    installed = tmp_path / "lib" / "site-packages"

    def make(form: str, asking: str, place: str) -> Callable[..., Any]:
        text = textwrap.dedent(FORMS[form]).replace("E\n", f"({asking})\n").replace(
            "(E)", f"({asking})").replace(": E)", f": ({asking}))")  # fmt: skip
        name = f"catching_{next(_numbers)}"
        if place == "own":
            space: dict[str, Any] = {"__name__": name}
            exec(compile(IMPORTS + text, str(tmp_path / f"{name}.py"), "exec"), space)
            return space["f"]  # type: ignore[no-any-return]
        if place == "module":
            return written(tmp_path, name, text).f  # type: ignore[no-any-return]
        if place == "package":
            return written(installed, name, text).f  # type: ignore[no-any-return]
        if place == "packages":
            written(installed, name, text)
            outer = f"import {name}\ndef f(x):\n    return {name}.f(x)\n"
            return written(installed, f"{name}_outer", outer).f  # type: ignore[no-any-return]
        # Code that asks is given to code that catches, one of them installed.
        asks = f"def ask(x):\n    return {asking}\n"
        places = (tmp_path, installed) if place == "given" else (installed, tmp_path)
        ask = written(places[0], f"{name}_asks", asks).ask
        attempt = written(places[1], f"{name}_catches", CATCHING).attempt
        return lambda x: attempt(ask, x)

    yield make
    sys.path[:] = paths
    for name in set(sys.modules) - modules:
        if name.startswith("catching_"):
            del sys.modules[name]


@pytest.mark.attack(quick=120, whole=10_000, judge="plain Python, and its differences")
@pytest.mark.usefixtures("no_kernels")
def test_catching(attack: Any, made: Any) -> None:
    """Refusals of traced values under all forms of catching, in all places."""
    names = list(FORMS)
    for case in attack:
        with case, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            form = names[case.number % len(names)]
            asking = ASKING[case.rng.integers(len(ASKING))]
            place = PLACES[case.rng.integers(len(PLACES))]
            how = list(GIVEN)[case.rng.integers(len(GIVEN))]
            about = f"{form}, {asking}, {place}, {how}"
            f = GIVEN[how](made(form, asking, place))
            x, h = 0.7, 1e-5
            if form == "property" and asking.startswith(("operator", "len")):
                case.tally("an error in Python, too")
                continue
            want = float(f(x))
            slope = (float(f(x + h)) - float(f(x - h))) / (2 * h)
            try:
                found = sg.value_and_grad(f)(x)
            except sg.errors.SymgradError:
                case.tally("refused")
                continue
            except Exception as error:
                raise AssertionError(f"{about}: {error!r}") from error
            np.testing.assert_allclose(found[0], want, rtol=1e-12, err_msg=about)
            np.testing.assert_allclose(found[1], slope, rtol=1e-5, atol=1e-5, err_msg=about)
