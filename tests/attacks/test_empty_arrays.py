"""Arrays of no elements, in the place of each array of a call of every composite function."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.op import registry
from symgrad._core.trace import flatten
from symgrad.errors import SymgradError, UnsupportedError
from tests.samples import samples_of
from tests.shared import called, of_arrays

COMPOSITES = [r for r in registry.composites.values() if r.functions]

#: Shapes that are tried beside those of the samples with an axis of no elements.
SHAPES = ((0,), (3, 0), (0, 3), (0, 0), (2, 0, 3))

#: Errors of plain calls that say nothing about the values, and what symgrad gives there is right:
#: SciPy's loops over batches, its logsumexp over several axes of which one is empty, and reshapes
#: of no elements with a size that is to be found out.
UNSUPPORTED = re.compile(
    "zero-size batches|too many indices for array|cannot reshape array of size 0"
)

#: Calls of arrays that do not fit, which NumPy and SciPy let pass if there are no elements.
MISFITS = ("piecewise", "scipy.linalg.eigh")

#: Of them NumPy gives memory that it has not written, if the axis has no elements and ``n`` is
#: given; symgrad fills it up with zeros.
UNWRITTEN = ("irfft", "irfft2", "irfftn", "hfft")

#: symgrad's are complex whatever their values, as documented.
COMPLEX = ("eig", "eigvals")


@cache
def calls(name: str) -> list[tuple[Any, list[Any]]]:
    """Return the samples' calls of a composite as functions of arrays, with these."""
    (record,) = (r for r in COMPOSITES if r.name == name)
    function = record.functions[0]
    found = []
    for sample in samples_of(record, np.random.default_rng(7)):
        plain, arrays = of_arrays(function, sample)
        traced, _ = of_arrays(called(function), sample)
        found.append(((plain, traced), arrays))
    return [call for call in found if call[1]]


def emptied(arrays: list[Any]) -> Iterator[list[Any]]:
    """Yield the arrays with one, or all of a rank, in a shape without elements."""
    for k, x in enumerate(arrays):
        own = [(*x.shape[:j], 0, *x.shape[j + 1 :]) for j in range(x.ndim)]
        for shape in (*own, *(s for s in SHAPES if len(s) == x.ndim)):
            yield [np.zeros(shape, a.dtype) if j == k else a for j, a in enumerate(arrays)]
            if len(arrays) > 1:
                alike = [np.zeros(shape, a.dtype) if a.ndim == x.ndim else a for a in arrays]
                yield alike


def tried(function: Any, arrays: list[Any]) -> Any:
    try:
        return function(*(x.copy() for x in arrays))
    except Exception as error:  # noqa: BLE001  # which one is judged
        return error


@pytest.mark.attack(quick=150, whole=8_000, judge="NumPy and SciPy; memory that is filled with nan")
def test_empty_arrays(attack: Any) -> None:
    """Values of calls with arrays of no elements, and the shapes of their derivatives."""
    for case in attack:
        with case, warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            rng = case.rng
            record = COMPOSITES[case.number % len(COMPOSITES)]
            known = calls(record.name)
            if not known:
                case.tally("without arrays")
                continue
            (plain, traced), arrays = known[rng.integers(len(known))]
            choices = list(emptied(arrays))
            if not choices:
                case.tally("without arrays")
                continue
            given = choices[rng.integers(len(choices))]
            case.tally(compared(record.name, plain, traced, given, bool(rng.integers(2))))


def compared(name: str, plain: Any, traced: Any, given: list[Any], machine: bool) -> str:
    """Compare a call with the plain one; return how it ended."""
    text = f"{name} of shapes {[x.shape for x in given]}"
    wanted = tried(plain, given)
    with sg.backend("llvm" if machine else "numpy"):
        found = tried(sg.compile(traced), given)
    if isinstance(wanted, Exception):
        if isinstance(found, Exception):
            told = isinstance(found, SymgradError) or type(found) is type(wanted)
            assert told, f"{text}: {found!r}"
            return "both raise"
        assert UNSUPPORTED.search(str(wanted)), f"{text}: {found} where NumPy has {wanted!r}"
        return "NumPy raises"
    if isinstance(found, UnsupportedError) or (isinstance(found, Exception) and name in MISFITS):
        return "refused"
    if isinstance(found, Exception):
        raise AssertionError(text) from found
    for a, b in zip(*(map(np.asarray, flatten(v)[0]) for v in (found, wanted)), strict=True):
        assert a.shape == b.shape, text
        assert a.dtype == b.dtype or name in COMPLEX, f"{text}: {a.dtype}, {b.dtype}"
        b = np.zeros_like(b) if name in UNWRITTEN else b
        np.testing.assert_allclose(a, b, rtol=1e-12, err_msg=text)
    return differentiated(text, traced, given, machine)


def differentiated(text: str, traced: Any, given: list[Any], machine: bool) -> str:
    """Take the gradient of the sum of all floats; it has the shapes of the arguments."""
    places = tuple(k for k, x in enumerate(given) if x.dtype.kind == "f")

    def total(*arrays: Any) -> Any:
        results = [x for x in flatten(traced(*arrays))[0] if hasattr(x, "dtype")]
        nothing = 0.0 * np.sum(arrays[places[0]])
        return sum((np.sum(x.real) for x in results if x.dtype.kind in "fc"), nothing)

    if not places:
        return "equal"
    with sg.backend("llvm" if machine else "numpy"):
        try:
            slopes = sg.grad(total, places)(*given)
        except UnsupportedError:
            return "not differentiated"
    for k, slope in zip(places, slopes, strict=True):
        assert np.shape(slope) == given[k].shape, text
        assert np.asarray(slope).dtype == given[k].dtype, text
    return "equal"
