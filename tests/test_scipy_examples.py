"""SciPy's documented examples give the same numbers in traced code.

Each statement of a docstring's examples that calls the function is run by SciPy, and again as a
compiled function of the arrays and numbers that it reads; interpolants and such are made anew
within it. Plots are not drawn; what is refused with a reason is counted, no more.
"""

from __future__ import annotations

import ast
import copy
import doctest
import importlib
import io
import warnings
from contextlib import redirect_stdout
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import SymgradError

MODULES = ("fft", "integrate", "interpolate", "signal", "ndimage", "spatial.distance",
           "spatial.transform", "sparse.linalg", "stats")  # fmt: skip
#: Examples of which none can be compared, and why.
WITHOUT: dict[str, str] = {
    "fft.fht": "the spacing of its points is traced with them, and is refused",
    "integrate.nquad": "four variables take too long to compile for a test",
    "integrate.tplquad": "three variables, likewise",
    "integrate.dblquad": "two variables, five times",
    "interpolate.griddata": "its points are traced with its values, and are refused",
    "interpolate.LinearNDInterpolator": "likewise",
    "interpolate.NearestNDInterpolator": "likewise",
    "interpolate.UnivariateSpline": "it smooths, by knots that depend on values, and is refused",
    "interpolate.LSQSphereBivariateSpline": "fitted to numbers, which its examples trace",
    "interpolate.RectSphereBivariateSpline": "likewise",
    "interpolate.SmoothSphereBivariateSpline": "likewise",
    "signal.oaconvolve": "its signal is long",
    "signal.sosfiltfilt": "its sections are traced with its signal, and are refused",
    "sparse.linalg.eigsh": "its vectors have signs of their own: tests/test_sparse_solvers.py",
    "sparse.linalg.svds": "likewise",
    "stats.gaussian_kde": "its grid is large",
    "stats.vonmises": "it draws",
    "stats.pearsonr": "it draws",
    "stats.boxcox": "its exponent is fitted, outside of traced code",
    "stats.yeojohnson": "likewise",
    "integrate.solve_ivp": "tests/test_ode.py: in traced code it asks for t_eval",
    "integrate.solve_bvp": "tests/test_bvp.py: in traced code five nodes stay five, too few",
}
#: Where the method is another, or numbers nearly equal are subtracted.
LOOSE: dict[str, float] = {"integrate.odeint": 1e-6, "signal.filtfilt": 1e-6}
#: Results of which the second is an estimate of the error, by another count of panels.
ESTIMATED = ("integrate.quad", "integrate.quad_vec", "integrate.dblquad", "integrate.tplquad")

#: Examples that fail, by SciPy's own status: nan in traced code.
FAILING = ("tanhsinh(f, -np.inf, 1000).integral",)


def named(module: str) -> list[str]:
    ours, original = (importlib.import_module(f"{p}.{module}") for p in ("symgrad.scipy", "scipy"))
    return [f"{module}.{n}" for n in sorted(ours.__all__) if hasattr(original, n)]


class Inlined(ast.NodeTransformer):
    """An expression with what names were assigned in their places."""

    def __init__(self, known: dict[str, ast.expr]) -> None:
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self.known.get(node.id, node))


def calls(tree: ast.AST, name: str) -> bool:
    """Tell whether a function or class of that name is called."""
    heads = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call)]
    return any(getattr(h, "attr", getattr(h, "id", None)) == name for h in heads)


def numeric(value: Any) -> list[Any]:
    """Return the numbers and arrays in a result, in order."""
    if isinstance(value, (tuple, list)):
        return [x for v in value for x in numeric(v)]
    plain = isinstance(value, (float, int))
    array = isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fciub"
    return [value] if plain or array else []


def pictures() -> MagicMock:
    """Return a stand-in for matplotlib.pyplot."""
    plt = MagicMock()

    def subplots(rows: int = 1, columns: int = 1, **options: Any) -> Any:
        count = options.get("nrows", rows) * options.get("ncols", columns)
        axes = [MagicMock() for _ in range(count)]
        return MagicMock(), axes[0] if count == 1 else axes

    plt.subplots.side_effect = subplots
    return plt


def asked(tree: ast.expr, space: dict[str, Any]) -> list[ast.expr]:
    """Return an expression, or what is handed to a picture or printed by it."""
    if isinstance(tree, ast.Call):
        root: Any = tree.func
        while isinstance(root, ast.Attribute):
            root = root.value
        name = getattr(root, "id", "")
        if name == "print" or isinstance(space.get(name), MagicMock):
            return [x for x in tree.args if not isinstance(x, ast.Starred)]
    return [tree]


def statements(function: Any, name: str) -> Any:
    """Yield the expressions that call the function, and the names in force there."""
    space: dict[str, Any] = {"np": np}
    assigned: dict[str, ast.expr] = {}
    for example in doctest.DocTestParser().get_examples(function.__doc__ or ""):
        if "matplotlib" in example.source:
            space["plt"] = pictures()
            continue
        for node in ast.parse(example.source).body:
            value = getattr(node, "value", None)
            if isinstance(node, (ast.Expr, ast.Assign)) and isinstance(value, ast.expr):
                wholes = [Inlined(assigned).visit(copy.deepcopy(x)) for x in asked(value, space)]
                for whole in wholes:
                    if calls(whole, name):
                        yield whole, space
                        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                            assigned[node.targets[0].id] = whole
            try:
                with redirect_stdout(io.StringIO()), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    exec(compile(ast.Module([node], []), "example", "exec"), space)
            except Exception:  # noqa: BLE001 - examples show errors, too
                return


def traced_arguments(tree: ast.expr, space: dict[str, Any]) -> list[str]:
    """Return the names in an expression of floats and of arrays of floats."""
    bound = {a.arg for n in ast.walk(tree) if isinstance(n, ast.Lambda) for a in n.args.args}
    used = dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name))
    values = {n: space[n] for n in used if n in space and n not in bound}
    arrays = (np.ndarray, np.floating)
    floating = (isinstance(v, arrays) and v.dtype.kind in "fc" for v in values.values())
    return [n for (n, v), f in zip(values.items(), floating, strict=True) if f or type(v) is float]


def compared(name: str) -> tuple[int, list[str]]:
    """Compare the examples of a function; return how many are equal, and what is refused."""
    module, _, short = name.rpartition(".")
    function = getattr(importlib.import_module(f"scipy.{module}"), short)
    equal, refused = 0, []
    for tree, space in statements(function, short):
        text = ast.unparse(tree)
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            try:
                want = numeric(eval(text, space))
            except Exception:  # noqa: BLE001
                continue
            if not want:
                continue
            given = traced_arguments(tree, space)
            f = eval(f"lambda {', '.join(given)}: {text}", space)
            try:
                with sg.backend("llvm" if module == "integrate" else "numpy"):
                    found = numeric(sg.compile(f)(*(space[n] for n in given)))
            except SymgradError as error:
                refused.append(f"{text}: {error}")
                continue
        assert len(found) == len(want), text
        if text in FAILING:
            want = [np.nan] * len(want)
        if name in ESTIMATED:
            found, want = found[:1], want[:1]
        for got, right in zip(found, want, strict=True):
            scale = np.max(np.abs(right), initial=0.0, where=np.isfinite(right))
            tolerance = LOOSE.get(name, 1e-10)
            np.testing.assert_allclose(
                got, right, rtol=tolerance, atol=tolerance * max(scale, 1e-5), err_msg=text
            )
        equal += 1
    return equal, refused


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", [n for m in MODULES for n in named(m)])
def test_examples(name: str) -> None:
    if name in WITHOUT:
        pytest.skip(WITHOUT[name])
    equal, refused = compared(name)
    if not equal and not refused:
        pytest.skip("no example has numbers")
    assert equal, refused
