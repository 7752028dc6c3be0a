"""SciPy is imported by the first program that needs it."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special as sc
import sympy as sp

import symgrad as sg
from symgrad._core.base.scipy_names import LateFunction, LateModule, resolved, special
from symgrad._core.graph._types import resolve
from symgrad._core.op import Map, NonZero, registry
from symgrad._core.op._registry import Composite, Registry
from symgrad._tensor import Tensor
from symgrad.errors import DefinitionError, UnsupportedError
from symgrad.special.gamma import BERNOULLI

MODELS = Path(__file__).with_name("late_models.py")
#: Modules that cost more than they give to a program of NumPy's functions.
HEAVY = ("scipy.special", "scipy.linalg", "numpy.f2py", "symgrad.special")


def run(code: str, folder: Path | None = None) -> str:
    """Run code in a process of its own, that starts with the models and a cache in a folder."""
    start = MODELS.read_text(encoding="utf-8")
    if folder is not None:
        start = f"import os\nos.environ['SYMGRAD_CACHE_DIR'] = {str(folder)!r}\n{start}"
    done = subprocess.run(
        [sys.executable, "-c", start + code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_programs_of_numpy_alone_import_no_scipy(tmp_path: Path) -> None:
    code = f"\nprint(sorted(set({HEAVY}) & set(sys.modules)))"
    for _ in ("compiled", "from the cache"):
        assert run("\nuse_all()" + code, tmp_path) == "[]"


@pytest.mark.slow
def test_late_and_imported_functions_are_the_same_program() -> None:
    code = "\nprint(fingerprints())"
    late = run(code)
    assert late
    assert late == run("\nimport scipy.special, scipy.linalg" + code)


def test_special_functions_are_loaded_by_the_first_that_is_traced() -> None:
    code = """
sg.value_and_grad(chain)(X)
assert "symgrad.special" not in sys.modules
from scipy import special
slope = sg.grad(lambda x: np.log(special.ndtr(x)))(-30.0)  # by a shortcut, which waits, too
assert "symgrad.special" in sys.modules
print(slope, sg.compile(lambda x: 1 - special.erf(x))(9.0))"""
    slope, tail = map(float, run(code).split())
    np.testing.assert_allclose(slope, registry.ops["NormalHazard"](-30.0), rtol=1e-15)
    np.testing.assert_allclose(tail, sc.erfc(9.0), rtol=1e-15)


@pytest.mark.slow
def test_special_functions_of_numbers_are_folded_whenever_they_are_loaded() -> None:
    code = """
sg.grad(chain)(X)  # the rules of rewriting are there before the functions
from scipy import special
print(sg.compile(lambda x: x * special.gamma(np.full_like(x, 4.0))).program(X))"""
    program = run(code)
    assert "6.0" in program
    assert "gamma" not in program


@pytest.mark.slow
def test_ops_of_special_functions_are_found_by_name() -> None:
    code = """
from symgrad._core.op import registry
assert registry.named("Tanh") and "symgrad.special" not in sys.modules
print(registry.ops["Kei"](1.5), registry.named("Kei").name, registry.named("Nothing"))"""
    assert run(code) == f"{registry.ops['Kei'](1.5)} Kei None"


@pytest.mark.slow
def test_saved_programs_load_the_special_functions_that_are_in_them(tmp_path: Path) -> None:
    path = tmp_path / "kei.json"
    sg.grad(sc.kei).program(1.5).save(path)
    code = f"\nprint(sg.load({str(path)!r}).run(1.5)[0])"
    assert float(run(code)) == sg.grad(sc.kei)(1.5)


@pytest.mark.slow
def test_names_of_special_functions_are_taken_before_they_are_loaded() -> None:
    code = """
try:
    sg.define("Kei", lambda x: 2 * x)
except sg.errors.DefinitionError as error:
    print(error)"""
    assert "Kei" in run(code)


@pytest.mark.slow
def test_the_registry_settles_without_a_clash() -> None:
    code = """
from symgrad._core.op import registry
import scipy.special, scipy.linalg
assert registry.find(scipy.special.erf) is registry.ops["Erf"]
assert not registry._late
assert registry.find(scipy.special.digamma) is registry.ops["Digamma"]  # SciPy's psi
assert registry.ops["Erf"].functions == (scipy.special.erf,)
assert registry.ops["Erf"].evaluate is scipy.special.erf
assert registry.ops["Log1p"].functions == (np.log1p, scipy.special.log1p)
print("settled")"""
    assert run(code) == "settled"


@pytest.mark.slow
def test_asking_for_fields_imports_what_they_hold() -> None:
    code = """
from symgrad._core.op import registry
op = registry.ops["Log1p"]
assert op.ufunc is np.log1p and op.evaluate is np.log1p and "scipy.special" not in sys.modules
op = registry.ops["Erf"]
assert op.is_late and op.given("functions")[0].__name__ == "erf"
assert repr(op) and "scipy.special" not in sys.modules
assert isinstance(op.ufunc, np.ufunc) and "scipy.special" in sys.modules
assert op.functions == (op.ufunc,) and op.given("evaluate") is op.given("functions")[0]
handlers = registry.handlers
print(handlers[sys.modules["scipy.special"].erf] is op)"""
    assert run(code) == "True"


@pytest.mark.slow
def test_calls_on_numbers_import_scipy() -> None:
    code = """
from symgrad._core.base.scipy_names import linalg, special
late = special.erf
assert repr(late) == "<function scipy.special.erf>" and "scipy.special" not in sys.modules
import copy, pickle
assert copy.copy(late).__name__ == pickle.loads(pickle.dumps(late)).__name__ == "erf"
assert not hasattr(late, "__wrapped__") and "scipy.special" not in sys.modules
print(late(0.5), special.logsumexp([0.5, 1.5], axis=0), linalg.det([[2.0]]), late.nin)
assert special.erf is sys.modules["scipy.special"].erf and late.real is special.erf"""
    expected = f"{sc.erf(0.5)} {sc.logsumexp([0.5, 1.5], axis=0)} {scipy.linalg.det([[2.0]])} 1"
    assert run(code) == expected


@pytest.mark.slow
def test_scipy_imported_later_by_the_user_is_traced() -> None:
    code = """
value = sg.value_and_grad(lambda x: np.sum(np.sin(x)))(X)
from scipy import special
from symgrad.scipy.linalg import cho_factor, cho_solve, solve
assert np.isclose(sg.grad(special.digamma)(2.0), special.polygamma(1, 2.0))
assert sg.grad(lambda a: np.sum(solve(a, np.ones(2))))(np.eye(2)).shape == (2, 2)
assert np.isclose(sg.grad(lambda b: np.sum(cho_solve(cho_factor(b), X[:2])))(np.eye(2))[0, 0], -0.1)
print("traced")"""
    assert run(code) == "traced"


# ---------------------------------------------------------------- element types

SCIPYS = [
    op for op in registry.ops.values()
    if isinstance(op, Map) and op.types is None and op.head is not None
    and getattr(np, op.head.__name__, None) is not op.head
]  # fmt: skip


@pytest.mark.parametrize("op", SCIPYS, ids=lambda op: op.name)
def test_types_of_scipys_functions_are_those_of_one_float(op: Map) -> None:
    """What :func:`resolve` assumes of functions whose module it does not import."""
    double, single = np.dtype(np.float64), np.dtype(np.float32)
    cases = [(double, kinds) for kinds in product((double, float), repeat=op.arity)]
    for dtype, kinds in (*cases[:-1], (single, (single,) * op.arity)):  # the last: floats alone
        assert resolve(op, kinds) == ((dtype,) * op.arity, dtype)
        if op.ufunc is not None:
            found = op.ufunc.resolve_dtypes((*kinds, *(None,) * op.ufunc.nout))
            assert found == (dtype,) * len(found)


# ---------------------------------------------------------------- the parts


def test_functions_of_a_module_are_one_object() -> None:
    module = LateModule("a_module_that_nobody_imports")
    assert module.f is module.f
    assert isinstance(module.f, LateFunction)
    with pytest.raises(AttributeError):
        module._private  # noqa: B018
    with pytest.raises(ModuleNotFoundError):
        module.f(1.0)


def test_an_imported_module_gives_its_functions() -> None:
    assert special.erf is sc.erf
    with pytest.raises(AttributeError, match="no_such_function"):
        special.no_such_function  # noqa: B018
    late = LateFunction("scipy.special", "erf")
    assert late(0.5) == sc.erf(0.5)
    assert resolved((late, np.sin)) == (sc.erf, np.sin)


def test_operands_that_are_not_ours_go_to_the_function() -> None:
    late = LateFunction("statistics_of_nobody", "mean")
    with pytest.raises(ModuleNotFoundError):
        late([Tensor(1.0)])


def test_unknown_late_functions_refuse() -> None:
    with pytest.raises(UnsupportedError, match="diric"):
        registry.handler(LateFunction("scipy.special", "diric"))
    assert registry.find(LateFunction("scipy.special", "diric")) is None
    assert registry.find(np.ones(2)) is None  # type: ignore[arg-type]  # not hashable


def _composite(name: str, *functions: Any) -> Composite:
    return Composite(name, lambda: name, functions)


def test_functions_that_turn_out_to_be_one_are_claimed_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = Registry()
    first, second = LateFunction("a_late_module", "f"), LateFunction("a_late_module", "g")
    own.add(_composite("F", first))
    with pytest.raises(DefinitionError, match="twice"):
        own.add(_composite("F2", first))
    own.add(_composite("G", second))
    module = type(sys)("a_late_module")
    module.f = module.g = lambda: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "a_late_module", module)
    with pytest.raises(DefinitionError, match=r"twice, as <function a_late_module\.g>"):
        own.find(module.f)


def test_records_are_copied_with_what_they_were_given() -> None:
    record = _composite("F", LateFunction("a_module_that_nobody_imports", "f"))
    other = copy.copy(record)
    assert other.given("functions") == record.given("functions")
    with pytest.raises(AttributeError, match="nothing"):
        other.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_late_functions_are_pickled_by_name() -> None:
    late = pickle.loads(pickle.dumps(LateFunction("scipy.special", "erf")))
    assert late.real is sc.erf


# ---------------------------------------------------------------- what is written out for imports


def test_tables_written_out_are_sympys() -> None:
    numbers = (sp.bernoulli(2 * j) / sp.factorial(2 * j) for j in range(1, 10))
    assert tuple(map(float, numbers)) == BERNOULLI
    assert sp.Union(*NonZero.args) == NonZero
