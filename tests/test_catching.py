"""Handlers that take what a traced value refuses for an error of their own."""

from __future__ import annotations

import concurrent.futures
import contextlib
import copy
import importlib
import math
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import symgrad as sg

PACKAGE = """
    import contextlib, decimal, marshal, math
    import numba
    import numpy as np
    from math import exp

    calls = []
    scalar = True

    def truncated_exp(x, most=1.7976931348622732e308):
        try:
            return exp(x)
        except:
            return most

    def kept(x):
        try:
            return float(x) * 2
        except (TypeError, ValueError):
            return -1.0

    def suppressed(x):
        y = 0.0
        with contextlib.suppress(Exception):
            y = math.fsum([x, 2 * x])
        return y

    class Caught:
        def __exit__(self, *_):
            return True
        def __enter__(self):
            return self

    def own_manager(x):
        y = -1.0
        with Caught():
            y = math.hypot(x, 1.0)
        return y

    def finally_returns(x):
        y = -1.0
        try:
            y = math.expm1(x)
        finally:
            return y

    class Callable:
        def __call__(self, x):
            try:
                return exp(x)
            except:
                return 1e300

    called = Callable()

    def generated(x):
        def each():
            try:
                yield math.erf(x)
            except Exception:
                yield -1.0
        return next(each())

    def remembering(x):
        global scalar
        try:
            y = math.tan(x)
        except TypeError:
            calls.append("failed")
            scalar = False
        return y if scalar and not calls else 7.0 * x

    class Table:
        plain = True
        def __init__(self):
            self.failed = 0
        def value(self, x):
            try:
                y = math.tan(x)
            except TypeError:
                self.failed += 1
                Table.plain = False
            return y if self.plain and not self.failed else 7.0 * x

    table = Table()
    tabulated = table.value

    def searched(x):
        try:
            return None if math.isnan(x) else 2 * x
        except Exception:
            return None

    def attempt(f, *args):
        try:
            return f(*args)
        except Exception:
            return -1.0

    def text(x):
        try:
            return x * len(f"{x:.3f}")
        except Exception:
            return x * 7

    def whole(x):
        try:
            return x * 2 if not x.is_integer() else x * 3
        except AttributeError:
            return x * 4

    def asked(x):
        return x * 2 if hasattr(x, "is_integer") and not x.is_integer() else x * 3

    def decimals(x):
        try:
            return float(decimal.Decimal(x)) * x
        except (ArithmeticError, TypeError, ValueError):
            return 5.0

    def imported(x):
        from datetime import timedelta
        with contextlib.suppress(TypeError):
            return timedelta(seconds=x).total_seconds()
        return 5.0

    def digits(x):
        try:
            return float.fromhex(float.hex(x)) * x
        except Exception:
            return 5.0

    def marshalled(x):
        try:
            return marshal.loads(marshal.dumps(x)) * x
        except ValueError:
            return 5.0

    def of_text(x):
        try:
            return float(str(x)) * x
        except ValueError:
            return 5.0

    def entry(x):
        return x * {"0.25": 3.0}.get(repr(x), 5.0)

    @numba.vectorize
    def square(x):
        return x * x

    def squared(x):
        try:
            return square(x)
        except Exception:
            return 5.0

    class Log:
        lines = []
        def info(self, text, *args):
            text = text.format(*args)
            self.lines.append(text)

    def logged(x):
        Log().info("x is {}", x)
        words = f"x is {x}"
        if x > 100.0:
            raise ValueError(words)
        return 2 * x

    def future(x):
        import concurrent.futures
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            f = pool.submit(exp, x)
            return f.result() if f.exception() is None else -1.0
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """An installed package."""
    place = tmp_path_factory.mktemp("lib") / "site-packages"
    place.mkdir()
    (place / "catching_package.py").write_text(textwrap.dedent(PACKAGE))
    sys.path.insert(0, str(place))
    yield importlib.import_module("catching_package")
    sys.path.remove(str(place))
    del sys.modules["catching_package"]


RIGHT = {
    "truncated_exp": (math.exp, math.exp),
    "kept": (lambda x: 2 * x, lambda x: 2.0),
    "suppressed": (lambda x: 3 * x, lambda x: 3.0),
    "own_manager": (lambda x: math.hypot(x, 1), lambda x: x / math.hypot(x, 1)),
    "finally_returns": (math.expm1, math.exp),
    "called": (math.exp, math.exp),
    "generated": (math.erf, lambda x: 2 / math.sqrt(math.pi) * math.exp(-x * x)),
    "remembering": (math.tan, lambda x: 1 + math.tan(x) ** 2),
    "tabulated": (math.tan, lambda x: 1 + math.tan(x) ** 2),
    "whole": (lambda x: 2 * x, lambda x: 2.0),
    "asked": (lambda x: 2 * x, lambda x: 2.0),
    "squared": (lambda x: x * x, lambda x: 2 * x),
    "logged": (lambda x: 2 * x, lambda x: 2.0),
}


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.quick
@pytest.mark.parametrize("name", RIGHT)
def test_a_package_that_hides_a_refusal_is_adapted(package: ModuleType, name: str) -> None:
    value, slope = RIGHT[name]
    f = getattr(package, name)
    for x in (0.25, 0.5):
        found = sg.value_and_grad(lambda x: f(x))(x)
        np.testing.assert_allclose(found, (value(x), slope(x)), rtol=1e-13)


@pytest.mark.usefixtures("no_kernels")
def test_an_error_after_a_hidden_refusal_follows_from_it(package: ModuleType) -> None:
    def f(x: Any) -> Any:
        found = package.searched(x)
        if found is None:
            raise ValueError("there is no solution")
        return found

    assert sg.value_and_grad(f)(0.25) == (0.5, 2.0)


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.quick
@pytest.mark.parametrize("name", ["text", "future", "decimals", "imported", "digits", "marshalled"])
def test_what_cannot_be_adapted_is_refused(package: ModuleType, name: str) -> None:
    f = getattr(package, name)
    with pytest.raises(sg.errors.SymgradError):
        sg.value_and_grad(lambda x: f(x))(0.25)


@pytest.mark.parametrize("name", ["of_text", "entry"])
def test_text_in_a_package_is_warned_of(package: ModuleType, name: str) -> None:
    f = getattr(package, name)
    with pytest.warns(sg.errors.CaptureWarning, match="text of a traced value"):
        sg.value_and_grad(lambda x: f(x))(0.25)


def test_the_line_that_hides_is_named(package: ModuleType) -> None:
    with pytest.raises(sg.errors.TraceError, match=r"text .*hidden at catching_package.py:\d+"):
        sg.grad(lambda x: package.text(x))(0.25)

    def labelled(x: Any) -> Any:
        with contextlib.suppress(Exception):
            return x * len(f"{x:.3f}")
        return x

    with pytest.raises(sg.errors.TraceError, match=r"hidden at test_catching.py:\d+"):
        sg.grad(labelled)(0.25)


@pytest.mark.usefixtures("no_kernels")
def test_a_callback_that_a_package_calls(package: ModuleType) -> None:
    found = sg.value_and_grad(lambda x: package.attempt(math.exp, x))(0.25)
    np.testing.assert_allclose(found, math.exp(0.25), rtol=1e-14)
    found = sg.value_and_grad(lambda x: package.attempt(lambda: math.exp(2 * x)))(0.25)
    np.testing.assert_allclose(found, (math.exp(0.5), 2 * math.exp(0.5)), rtol=1e-14)


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("transform", [
    lambda f: sg.grad(sg.grad(f))(0.25),
    lambda f: sg.jvp(f, (0.25,), (1.0,))[1], lambda f: sg.hessian(f)(0.25),
    lambda f: sg.compile(f)(0.25), lambda f: sg.compile(f, control_flow=True)(0.25),
])  # fmt: skip
def test_under_transformations(package: ModuleType, transform: Callable[..., Any]) -> None:
    np.testing.assert_allclose(
        transform(lambda x: package.truncated_exp(x)), math.exp(0.25), rtol=1e-13
    )


@pytest.mark.usefixtures("no_kernels")
def test_in_a_batch_the_handler_is_named(package: ModuleType) -> None:
    x = np.array([0.25, 0.5])
    with pytest.warns(sg.errors.CaptureWarning, match=r"OverflowError .*catching_package.py:\d+"):
        found = sg.vmap(lambda x: package.truncated_exp(x))(x)
    np.testing.assert_allclose(found, np.exp(x), rtol=1e-13)


def test_a_kernel_on_disk_does_not_hide_a_refusal(package: ModuleType) -> None:
    """The graph of the fallback is a kernel that is known already."""

    def constant(x: Any) -> Any:
        return 0.0 * x + 7.0

    def caught(x: Any) -> Any:
        try:
            return 0.0 * x + float(f"{x:.3f}")
        except TypeError:
            return 0.0 * x + 7.0

    assert sg.grad(constant)(0.25) == 0.0
    with pytest.raises(sg.errors.TraceError, match="hidden"):
        sg.grad(caught)(0.25)


def test_a_thread_that_keeps_its_error() -> None:
    def f(x: Any) -> Any:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            futures = [pool.submit(lambda: f"{x:.1f}"), pool.submit(np.array, [x, 1.0], dtype=str)]
        return x if any(future.exception() for future in futures) else 2.0 * x

    with pytest.raises(sg.errors.SymgradError):
        sg.grad(f)(0.25)


@pytest.mark.parametrize("ask", [
    lambda x: x.hex().count("x") * x, lambda x: x.as_integer_ratio()[0] * x,
    lambda x: np.array([1.0, 2.0]).take(x.__trunc__()) * x,
    lambda x: sg.numpy.asarray([x], dtype=object)[0], lambda x: np.linalg.matrix_rank([[x]]) * x,
])  # fmt: skip
def test_a_thread_that_catches(ask: Callable[[Any], Any]) -> None:
    """The thread is in no trace; the value that it asks is."""

    def f(x: Any) -> Any:
        found = []

        def work() -> None:
            try:
                found.append(ask(x))
            except (TypeError, AttributeError):
                found.append(7.0 * x)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return found[0]

    try:
        value = sg.compile(f)(0.75)
    except sg.errors.SymgradError:
        return
    assert value == f(0.75)


def test_other_threads_errors_are_theirs() -> None:
    """A trace is not given up for what another thread's calls refuse."""
    done = False

    def fails() -> int:
        count = 0
        while not done:
            with contextlib.suppress(sg.errors.SymgradError):
                sg.grad(lambda x: f"{x:.3f}")(1.0)
            with contextlib.suppress(sg.errors.SymgradError):
                sg.grad("no function")  # type: ignore[arg-type, type-var]
            count += 1
        return count

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        failing = pool.submit(fails)
        for k in range(20):
            assert sg.compile(lambda x, k=k: k * x)(2.0) == 2.0 * k
        done = True
        assert failing.result() > 0


def probing(x: Any) -> Any:
    """Ask for what numbers and arrays do not have either, and for what NumPy refuses, too."""
    found = 1.0 if hasattr(x, "nothing") else 2.0
    found += getattr(x, "otherwise", 3.0)
    with contextlib.suppress(ValueError):
        found = found * (x @ np.ones(5))[0]
    try:
        y = np.reshape(x, (2, 2))
    except ValueError:
        y = x
    try:
        found += x[7]
    except IndexError:
        found += 1.0
    try:
        found += float(x)
    except TypeError:
        found += 2.0
    try:
        {}[x]
    except TypeError:
        found += 4.0
    return found * np.sum(copy.copy(y) * np.asarray(x))


@pytest.mark.usefixtures("no_kernels")
def test_errors_that_arrays_raise_too_are_the_functions_own() -> None:
    x = np.array([1.0, 2.0, 4.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, slope = sg.value_and_grad(probing)(x)
    assert value == probing(x)
    np.testing.assert_allclose(slope, 2 * x * probing(x) / np.sum(x * x), rtol=1e-14)


@pytest.mark.usefixtures("no_kernels")
def test_libraries_that_try(tmp_path: Path) -> None:
    """What NumPy, SciPy and Python's own modules try and leave is not the function's."""
    import logging
    import pprint

    def f(x: Any) -> Any:
        logging.getLogger("quiet").warning("%s", x)
        pprint.pformat({"x": x, "y": [x[0], x[1]]})
        assert np.iterable(x)
        assert not np.isscalar(x)
        y = copy.deepcopy(x) if hasattr(x, "__deepcopy__") else x.copy()
        return np.sum(np.atleast_1d(y) ** 2)

    logging.getLogger("quiet").propagate = False
    x = np.array([1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sg.errors.CaptureWarning)
        np.testing.assert_allclose(sg.grad(f)(x), 2 * x)
