"""Calls where machine code cannot read Python's objects: they go through Numba's dispatcher."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from symgrad._core.runtime import structures as _structures
from tests.shared import STRICT

pytestmark = pytest.mark.skipif(
    _structures.FAULT is not None, reason="something is otherwise here, or said to be"
)

ROOT = Path(__file__).parents[3]

#: What is tested of each structure by shifting where it is looked for, and what is said then.
SHIFTED = {
    "TYPE_AT": "the layout of floats",
    "VALUE_AT": "the layout of floats",
    "TUPLE_AT": "the layout of tuples",
    "DATA_AT": "the layout of NumPy's arrays",
    "RANK_AT": "the layout of NumPy's arrays",
    "SHAPE_AT": "the layout of NumPy's arrays",
    "STRIDES_AT": "the layout of NumPy's arrays",
    "DTYPE_AT": "the layout of NumPy's arrays",
    "FLAGS_AT": "the layout of NumPy's arrays",
    "HEADER": "a build of CPython that is known",
}

#: Programs of test_backends.py, in a process where an array's flags are looked for elsewhere.
CORPUS = """
import io
import sys
import numpy as np
from symgrad._core.runtime import structures as _structures
_structures.FLAGS_AT += 8
_structures.FAULT = _structures.fault()
assert _structures.FAULT == "the layout of NumPy's arrays"

import symgrad as sg
from symgrad._core.codegen import code as _code
from symgrad._dispatch._function import Function
from symgrad._core.trace import flatten
sys.path.insert(0, "tests")
from test_backends import PROGRAMS

for name, (f, args) in list(PROGRAMS.items())[int(sys.argv[1])::int(sys.argv[2])]:
    function = sg.compile(f)
    function(*args)
    found, structure = flatten(function(*args))
    with sg.backend("numpy"):
        expected, same = flatten(function(*args))
    assert structure == same, name
    for a, b in zip(found, expected, strict=True):
        assert type(a) is type(b), name
        if isinstance(b, (np.ndarray, np.generic)) and b.dtype.kind in "fc":
            assert (a.dtype, a.shape) == (b.dtype, b.shape), name
            scale = np.max(np.abs(b), initial=0, where=np.isfinite(b))
            close = 64 * np.finfo(b.dtype).eps
            np.testing.assert_allclose(a, b, rtol=close, atol=close * scale, err_msg=name)
        else:
            np.testing.assert_array_equal(a, b, err_msg=name)
    [made] = [s for group in function._kinds._groups.values() for s in group]
    assert made.function is _code._missing, name
    assert made.kernel(into=False).signatures, name

page = io.StringIO()
sg.show(sg.grad(np.sin), 0.5, file=page)
assert "called through Numba's dispatcher: the layout of NumPy's arrays is not" in page.getvalue()

x = np.linspace(0.1, 1, 200_000)  # memory that is kept, and threads
out = np.empty_like(x)
swing = sg.compile(lambda x: np.cumsum(np.sin(x)) * np.cos(x), parallel=True)
assert swing(x, out=out) is out
np.testing.assert_allclose(out, np.cumsum(np.sin(x)) * np.cos(x), rtol=1e-12)
"""


def test_all_is_known_here() -> None:
    assert _structures.FAULT is None


@pytest.mark.parametrize("name", SHIFTED)
@pytest.mark.parametrize("by", [-8, 8])
def test_a_structure_that_is_otherwise_is_found(
    name: str, by: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_structures, name, getattr(_structures, name) + by)
    assert _structures.fault() == SHIFTED[name]


def test_another_interface_of_numpys_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_structures, "NUMPY_INTERFACE", 0x03000000)
    assert _structures.fault() == "NumPy's C functions"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(6))
def test_calls_go_through_numbas_dispatcher(first: int) -> None:
    """With the results that there are otherwise, and no entry of our own."""
    command = [sys.executable, *STRICT, "-c", CORPUS, str(first), "6"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
