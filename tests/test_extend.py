"""The interface for other packages: ``symgrad.extend``, by an example package and by itself."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import symgrad as sg
from symgrad import extend
from symgrad.errors import DefinitionError

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "extension" / "hyperbolic.py"


@pytest.fixture(scope="module")
def package() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("hyperbolic", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["hyperbolic"] = module
    spec.loader.exec_module(module)
    yield module
    for name in ("log(sech(x)) = log(2) - |x| - log1p(exp(-2|x|))", "Sech", "gudermannian"):
        extend.forget(name)


def test_the_example_takes_nothing_else() -> None:
    """Public names and the interface alone: no module of the inside."""
    taken = [
        name
        for node in ast.walk(ast.parse(EXAMPLE.read_text(encoding="utf-8")))
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom)
            else [a.name for a in node.names] if isinstance(node, ast.Import) else []
        )
        if name.startswith("symgrad")
    ]  # fmt: skip
    assert taken == ["symgrad", "symgrad.extend"]


def test_the_names_are_told() -> None:
    """Each name is in the module's text, which is its page, and there is no other."""
    said = extend.__doc__
    assert said is not None
    for name in extend.__all__:
        assert f":`{name}`" in said or f"``{name}``" in said, name
        assert hasattr(extend, name)
    assert len(extend.__all__) <= 40


X = np.array([-800.0, -3.0, -0.5, 0.0, 1e-9, 0.25, 2.0, 800.0])


def test_an_op_with_machine_code(package: ModuleType) -> None:
    with np.errstate(over="ignore"):
        want = 1 / np.cosh(X)
    np.testing.assert_allclose(sg.compile(package.sech)(X), want, rtol=1e-14, atol=0)
    slope = -want * np.tanh(X)
    np.testing.assert_allclose(sg.vmap(sg.grad(package.sech))(X), slope, rtol=1e-14, atol=0)
    _, tangent = sg.jvp(package.sech, (X,), (np.ones_like(X),))
    np.testing.assert_allclose(tangent, slope, rtol=1e-14, atol=0)
    second = sg.grad(sg.grad(package.sech))(0.7)
    y, t = 1 / np.cosh(0.7), np.tanh(0.7)
    assert second == pytest.approx(y * t * t - y**3, rel=1e-13)
    small = X.astype(np.float32)
    found = sg.compile(package.sech)(small)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-37)


def test_the_op_is_verified_and_printed(package: ModuleType) -> None:
    def f(x: Any) -> Any:
        return np.sum(package.sech(x) ** 2)

    assert sg.verify(f, np.array([0.3, -1.2])).confirmed == 2
    assert "sech(x)" in str(sg.derivative(package.sech, 0.5))


def test_the_op_inside_numba(package: ModuleType) -> None:
    import numba

    kernel = sg.grad(package.sech).kernel(0.5)

    @numba.njit
    def total(n: int) -> float:
        s = 0.0
        for k in range(n):
            s += kernel(0.1 * k)
        return s

    want = sum(-np.tanh(0.1 * k) / np.cosh(0.1 * k) for k in range(5))
    assert total(5) == pytest.approx(want, rel=1e-13)


def test_a_function_of_others(package: ModuleType) -> None:
    found = sg.vmap(sg.grad(package.gudermannian))(X[1:-1])
    np.testing.assert_allclose(found, 1 / np.cosh(X[1:-1]), rtol=1e-13)


def test_a_rewrite(package: ModuleType) -> None:
    """Values and derivatives far out, where the formula as written gives infinity and nan."""

    def f(x: Any) -> Any:
        return np.log(package.sech(x))

    want = np.log(2) - abs(X) - np.log1p(np.exp(-2 * abs(X)))
    np.testing.assert_allclose(sg.compile(f)(X), want, rtol=1e-14)
    np.testing.assert_allclose(sg.vmap(sg.grad(f))(X), -np.tanh(X), rtol=1e-14)


def test_a_solver(package: ModuleType) -> None:
    def f(x: Any, a: Any) -> Any:
        return x**3 + a * x - 1.0

    root = package.halley(f)

    def by_scipy(a: float) -> float:
        return float(so.brentq(lambda x: x**3 + a * x - 1.0, 0.0, 2.0, xtol=1e-15))

    for a in (0.5, 2.0):
        x, slope = sg.value_and_grad(root, argnums=1)(0.5, a)
        assert x == pytest.approx(by_scipy(a), rel=1e-13)
        assert slope == pytest.approx(-x / (3 * x * x + a), rel=1e-12)


# ---------------------------------------------------------------- entering, and entering again


def record(scale: float, name: str = "TestedScale") -> tuple[Any, ...]:
    return (
        extend.Map(name, evaluate=lambda x: scale * x, domain=(extend.Real,),
                   rule=extend.Partials(lambda y, x: (scale,))),
        extend.Code(extend.Composed(lambda x: scale * x), source=lambda x: f"({scale}*{x})"),
        extend.Evidence(samples=(-1, 1)),
    )  # fmt: skip


def test_an_op_is_replaced() -> None:
    """The later definition counts, in values, derivatives and kernels from the disk."""
    for scale in (2.0, 3.0, 2.0):
        op = extend.define(*record(scale))
        assert extend.op("TestedScale") is op
        found = sg.value_and_grad(lambda x, op=op: np.sum(op(x) * x))(np.array([1.0, 2.0]))
        assert found[0] == 5 * scale
        assert list(found[1]) == [2 * scale, 4 * scale]

    extend.forget("TestedScale")


def test_names_that_are_taken() -> None:
    with pytest.raises(DefinitionError, match="nothing from outside of symgrad has the name 'Sin'"):
        extend.forget("Sin")
    with pytest.raises(DefinitionError, match="'Sin' is defined twice"):
        extend.define(*record(1.0, "Sin"))
    assert extend.op("Sin").name == "Sin"
    with pytest.raises(DefinitionError, match="no op 'Sine'"):
        extend.op("Sine")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (("a", lambda x: np.sin(x) ** 2, lambda x: 1 - np.cos(2 * x), [(0, 1)]), "value differs"),
        (("b", lambda x: np.log(x), lambda x: np.log(x), [(-2, -1)]), "value differs"),
        (("c", lambda x: x, lambda x: x, [(0, 1)]), "an operand or a number alone"),
        (("d", lambda x, y: x + y, lambda x, y: y + x, [(0, 1)]), "2 operands, samples of 1"),
        (("e", lambda x: np.sin(x) ** 3, lambda x: np.sin(x) * np.sin(x) ** 2, [(0, 1)],
          lambda y, x: (y,)), "partial 0 differs"),
    ],
)  # fmt: skip
def test_rewrites_that_are_none(arguments: tuple[Any, ...], match: str) -> None:
    with pytest.raises(DefinitionError, match=match):
        extend.rewrite(*arguments)
    x = np.array([0.5, 1.5])
    np.testing.assert_allclose(sg.compile(lambda x: np.sin(x) ** 2)(x), np.sin(x) ** 2, rtol=1e-15)


def test_a_rewrite_applies_to_what_was_compiled_before() -> None:
    """When it is transformed again; and no longer when the rewrite is taken out."""

    def f(x: Any) -> Any:
        return np.arctan(np.sinh(x))

    def other(x: Any) -> Any:  # equal to nine digits, to be told from the formula as written
        return 2 * np.arctan(np.tanh(x / 2)) * (1 + 1e-10)

    plain = sg.compile(f)(1.0)
    extend.rewrite("gd", f, other, [(-2, 2)])
    assert sg.compile(f)(1.0) == pytest.approx(plain * (1 + 1e-10), rel=1e-14)
    extend.forget("gd")
    assert sg.compile(f)(1.0) == plain


def test_an_op_that_is_looked_up_by_name_is_the_last_one() -> None:
    def by_name(x: Any) -> Any:
        return extend.op("TestedScale")(x)

    for scale in (2.0, 3.0, 2.0):
        extend.define(*record(scale))
        assert sg.grad(by_name)(1.5) == scale
    extend.forget("TestedScale")


def test_a_composite_is_entered_once() -> None:
    """Code that was adapted calls the first: a second would not be seen."""

    def lookup(x: Any) -> Any:
        return float(x) ** 2

    enter = extend.composite(lookup, name="tested_lookup")
    enter(lambda x: x**2)
    assert sg.grad(lambda x: lookup(x))(3.0) == 6.0
    extend.forget("tested_lookup")
    with pytest.raises(DefinitionError, match="entered before in this process"):
        enter(lambda x: x**3)


OTHER_PROCESS = """
import json, sys
import numpy as np
import symgrad as sg
from symgrad import extend
factor = float(sys.argv[1])
if factor:
    extend.rewrite("tested", lambda x: np.arctan(np.sinh(x)),
                   lambda x: 2 * np.arctan(np.tanh(x / 2)) * (1 + (factor - 1) * 1e-10), [(-2, 2)])
f = lambda x: np.sum(np.arctan(np.sinh(x)))
print(json.dumps([sg.compile(f)(np.array([1.0])), sg.value_and_grad(f)(np.array([1.0]))[0]]))
"""


@pytest.mark.slow
def test_kernels_on_disk_know_the_rewrites(tmp_path: Path) -> None:
    """A kernel made with a rewrite is not found by a process without it, or with another one."""
    found = []
    for factor in ("0", "1", "2", "0", "2"):
        done = subprocess.run(
            [sys.executable, "-c", OTHER_PROCESS, factor],
            check=True, capture_output=True, text=True, cwd=ROOT,
            env={**os.environ, "SYMGRAD_CACHE_DIR": str(tmp_path)},
        )  # fmt: skip
        found.append(json.loads(done.stdout))
    plain = float(np.arctan(np.sinh(1.0)))
    assert found[0] == found[3]
    assert found[2] == found[4]
    assert all(abs(x - plain) < 1e-15 for x in (*found[0], *found[1]))
    assert all(abs(x / plain - 1 - 1e-10) < 1e-14 for x in found[2])
