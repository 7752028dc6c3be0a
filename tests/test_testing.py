"""``symgrad.testing`` and the pytest plugin: what passes, and what a failure says."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import ArgumentError, VerificationError
from symgrad.testing import assert_derivatives_exact

ROOT = Path(__file__).parents[1]
X = np.array([0.5, 1.0])


@sg.custom_jvp
def wrong(x: Any) -> Any:
    return np.sin(x)


wrong.defjvp(lambda primals, tangents: (np.sin(primals[0]), tangents[0] * np.sin(primals[0])))


@pytest.mark.usefixtures("few_kernels")
def test_gradient_and_hessian_of_one_number() -> None:
    first, second = assert_derivatives_exact(
        lambda x, rate, n: np.sum(np.exp(-rate * x) ** n), X, 2.0, 3
    )
    assert [c.name for c in first.checks] == ["value", "x", "rate"]
    assert (first["x"].checked, second["x"].checked, second["rate"].checked) == (2, 6, 3)
    assert second.max_ulp < 16


@pytest.mark.usefixtures("few_kernels")
def test_jacobian_of_several_results() -> None:
    first, second = assert_derivatives_exact(lambda x: x**2 * np.sin(x), X)
    assert (first["x"].checked, second["x"].checked) == (4, 8)


@pytest.mark.usefixtures("few_kernels")
def test_orders_and_arguments() -> None:
    def f(x: Any, y: Any) -> Any:
        return x * np.exp(y)

    (value,) = assert_derivatives_exact(f, 2.0, 0.5, order=0)
    assert [c.name for c in value.checks] == ["value"]
    (first,) = assert_derivatives_exact(f, 2.0, 0.5, wrt="y", order=1)
    assert [c.name for c in first.checks] == ["value", "y"]
    _, second = assert_derivatives_exact(f, 2.0, 0.5, wrt=(1,))
    assert [c.name for c in second.checks] == ["value", "y"]


@pytest.mark.parametrize("order", [-1, 3, 1.5, None, "two"])
def test_other_orders_are_refused(order: Any) -> None:
    with pytest.raises(ArgumentError, match="order is '0', '1' or '2'"):
        assert_derivatives_exact(np.sin, 0.5, order=order)


@pytest.mark.usefixtures("few_kernels")
def test_a_failure_names_the_line_and_the_digits() -> None:

    def f(x: Any) -> Any:
        return np.sum(wrong(x) ** 2)

    line = f.__code__.co_firstlineno + 1
    with pytest.raises(VerificationError) as caught:
        assert_derivatives_exact(f, X)
    text = str(caught.value)
    assert isinstance(caught.value, AssertionError)
    assert f"test_testing.py:{line}" in text
    assert str(np.sin(2.0))[:15] in text  # the derivative of sin(x)**2 at 1
    assert "ulp" in text


@pytest.mark.usefixtures("few_kernels")
def test_a_wrong_second_derivative_is_found() -> None:
    @sg.custom_jvp
    def cube(x: Any) -> Any:
        return x**3

    @sg.custom_jvp
    def slope(x: Any) -> Any:
        return 3 * x**2

    slope.defjvp(lambda p, t: (3 * p[0] ** 2, 5 * p[0] * t[0]))
    cube.defjvp(lambda p, t: (p[0] ** 3, slope(p[0]) * t[0]))
    assert_derivatives_exact(lambda x: cube(x), 0.75, order=1)
    with pytest.raises(VerificationError, match=r"d grad\(f\) / d x"):
        assert_derivatives_exact(lambda x: cube(x), 0.75)


# ---------------------------------------------------------------- the plugin


def test_the_entry_point_is_the_plugin() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    name = declared["project"]["entry-points"]["pytest11"]["symgrad"]
    assert hasattr(import_module(name), "assert_derivatives_exact")


def test_the_plugin_imports_no_library() -> None:
    """pytest loads it first: conftest.py may set what NumPy reads when it is imported."""
    code = (
        "import sys, symgrad.testing._plugin; "
        "print(sorted({'numpy', 'scipy', 'sympy', 'numba'} & {*sys.modules}))"
    )
    run = [sys.executable, "-c", code]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "[]\n"


PROGRAM = """
import numpy as np
import symgrad as sg

@sg.custom_jvp
def wrong(x):
    return np.sin(x)

wrong.defjvp(lambda primals, tangents: (wrong(primals[0]), tangents[0] * primals[0]))

def test_right(assert_derivatives_exact):
    assert_derivatives_exact(lambda x: x * np.exp(x), 0.5, order=1)

def test_wrong(assert_derivatives_exact):
    assert_derivatives_exact(lambda x: wrong(x) ** 2, 0.5, order=1)
"""


def test_the_fixture_in_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin alone, whether or not it is among those that pytest finds installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(sg.__file__).parents[1]))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_program.py").write_text(PROGRAM)
    run = [sys.executable, "-m", "pytest", "-p", "symgrad.testing._plugin", "."]
    found = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert "1 failed, 1 passed" in found
    assert re.search(r"E +symgrad\.errors\.VerificationError: the derivative by x is wrong", found)
    assert "computed at test_program.py:15" in found
    assert "symgrad/_verify" not in found  # the traceback ends in the test
    assert re.search(r"1 function has exact derivatives.*test_program\.py::test_right", found)
