"""Every function of NumPy's namespaces is covered, and the page says how."""

from __future__ import annotations

import importlib
import re
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy

import symgrad as sg
import symgrad.numpy as snp
from symgrad._core.op import registry
from symgrad.errors import SymgradError
from symgrad.scipy._coverage import FATES
from tests.shared import builder

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def build() -> ModuleType:
    return builder("coverage")


#: What only older releases of NumPy have, and warn of; in1d is isin, trapz is trapezoid.
WITHDRAWN = ("np.in1d", "np.trapz")


def functions() -> dict[str, Any]:
    """NumPy's public functions: what can be called and is no class."""
    found = {}
    for prefix, module in (("np", np), ("np.linalg", np.linalg), ("np.fft", np.fft)):
        for name in module.__all__:
            value = getattr(module, name, None)
            public = not name.startswith("_") and f"{prefix}.{name}" not in WITHDRAWN
            if public and callable(value) and not isinstance(value, type):
                found[f"{prefix}.{name}"] = value
    return found


FUNCTIONS = functions()


def test_the_page_is_up_to_date(build: ModuleType) -> None:
    """All of it, where SciPy is the one whose names it has."""
    committed = (DOCS / "coverage.md").read_text(encoding="utf-8")
    page = build.page()
    version = ".".join(scipy.__version__.split(".")[:2])
    if f"Names of SciPy {version}." not in committed:
        committed, page = (text.partition("## SciPy")[0] for text in (committed, page))
    assert page == committed, "run: python docs/build_coverage.py"


@pytest.mark.parametrize("module", FATES)
def test_fates_of_scipys_names_are_true(build: ModuleType, module: str) -> None:
    """What is differentiable is symgrad's own; functions that are not refuse traced values."""
    ours = importlib.import_module(f"symgrad.scipy.{module}")
    original = importlib.import_module(f"scipy.{module}")
    named = {n for _, _, names in FATES[module] for n in names.split()} - {"*"}
    assert not named & set(ours.__all__) & set(original.__all__)
    for name, (fate, why) in build.scipy_fates(module).items():
        found = getattr(ours, name)
        if fate == "differentiable":
            assert found is not getattr(original, name, None), name
        elif hasattr(found, "__name__") and not isinstance(found, type) and hasattr(original, name):
            with pytest.raises(SymgradError, match=re.escape(why)):
                sg.compile(found)(np.ones(3))


def test_every_function_has_one_fate(build: ModuleType) -> None:
    """A function is in the registry, or it is said why it need not be."""
    fates = build.fates()
    known = {attrgetter(name.partition(".")[2])(np) for name in fates if _exists(name)}
    missing = [name for name, f in FUNCTIONS.items() if name not in fates and f not in known]
    assert missing == []


def _exists(name: str) -> bool:
    try:
        attrgetter(name.partition(".")[2])(np)
    except AttributeError:
        return False
    return True


def test_fates_are_true(build: ModuleType) -> None:
    """What is differentiable has a handler, what is passed has none, what is refused raises."""
    for name, (fate, _) in build.fates().items():
        if not _exists(name):
            continue
        function = attrgetter(name.partition(".")[2])(np)
        handler = registry.handlers.get(function)
        assert (handler is None) == (fate == "passed"), name
        if fate == "refused":
            with pytest.raises(SymgradError):
                handler(np.ones(3))


def test_symgrad_numpy_offers_all() -> None:
    for name, function in FUNCTIONS.items():
        ours = attrgetter(name.partition(".")[2])(snp)
        assert callable(ours)
        assert getattr(ours, "__name__", "") == getattr(function, "__name__", ""), name


def test_dates_and_files_refuse_traced_values() -> None:
    for function in (snp.frombuffer, snp.busday_count, snp.base_repr):
        with pytest.raises(SymgradError, match="cannot be traced"):
            sg.compile(function)(np.ones(3))
