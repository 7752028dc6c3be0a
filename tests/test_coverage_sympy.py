"""Every class of SymPy's that formulas are made of has a fate, and the page says which."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import sympy as sp

from tests.shared import builder
from tests.test_from_sympy import FORMULAS
from tests.test_lambdify import SYMPY

DOCS = Path(__file__).parents[1] / "docs"

#: Functions that tests/test_from_sympy.py compares outside of its table.
_ELSEWHERE = """
    digamma multigamma trigamma DiracDelta Eijk Ynm Znm adjoint arg conjugate erf2 erf2inv erfcinv
    exp_polar factorial2
    fibonacci hankel1 hankel2 hn1 hn2 im lucas polar_lift transpose Function UndefinedFunction
    SingularityFunction LeviCivita KroneckerDelta
"""
ELSEWHERE = _ELSEWHERE.split()

#: Polynomials, which SymPy writes out for the degrees that are known.
_POLYNOMIALS = """
    assoc_laguerre assoc_legendre chebyshevt chebyshevu gegenbauer hermite hermite_prob jacobi
    laguerre legendre
"""
POLYNOMIALS = _POLYNOMIALS.split()


@pytest.fixture(scope="module")
def build() -> ModuleType:
    return builder("coverage_sympy")


def test_the_page_is_up_to_date(build: ModuleType) -> None:
    committed = (DOCS / "coverage-sympy.md").read_text(encoding="utf-8")
    version = ".".join(sp.__version__.split(".")[:2])
    if f"Names of SymPy {version}." not in committed:
        pytest.skip("the page has the names of another SymPy")
    assert build.page() == committed, "run: python docs/build_coverage_sympy.py"


def test_every_class_has_a_fate(build: ModuleType) -> None:
    unknown = [
        name
        for _, namespaces in build.SECTIONS
        for name, kind in build.classes(namespaces).items()
        if build.fate(kind) == ("", "")
    ]
    assert unknown == []


def test_every_function_is_compared(build: ModuleType) -> None:
    """A function that the page promises has a formula that tests compare with SymPy."""
    compared: set[str] = {*ELSEWHERE, *POLYNOMIALS}
    entries: list[Any] = [*FORMULAS, *(row[1] for row in SYMPY)]
    while entries:
        e = entries.pop()
        if isinstance(e, (list, tuple)):
            entries.extend(e)
        elif isinstance(e, sp.Basic):
            compared.add(type(e).__name__)
            entries.extend(e.args)
        elif isinstance(e, sp.MatrixBase):
            entries.extend(e)
    promised = {
        name
        for name, kind in build.classes(["sympy.functions"]).items()
        if build.fate(kind)[0] in ("differentiable", "without a derivative")
    }
    assert sorted(promised - compared) == []


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_any_degree(name: str) -> None:
    import numpy as np

    import symgrad as sg

    n, x, a = sp.symbols("n x a")
    kind = getattr(sp, name)
    more = {"assoc_laguerre": 1, "gegenbauer": 1, "jacobi": 2, "assoc_legendre": 1}.get(name, 0)
    parameters = [sp.Integer(1)] if name == "assoc_legendre" else [a] * more
    formula = kind(n, *parameters, x)
    f = sg.from_sympy(formula, [n, a, x])
    for degree in (1, 2, 5):
        wanted = float(kind(degree, *(p.subs(a, 1.5) for p in parameters), x).subs(x, 0.3))
        assert f(degree, 1.5, 0.3) == pytest.approx(wanted, rel=1e-12)
        g = sg.grad(lambda v, d=degree: f(d, 1.5, v))
        slope = kind(degree, *(p.subs(a, 1.5) for p in parameters), x).diff(x).subs(x, 0.3)
        np.testing.assert_allclose(g(0.3), float(slope), rtol=1e-10, atol=1e-12)
