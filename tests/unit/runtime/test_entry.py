"""The compiled Python function: what it takes, what it leaves alone, what it gives back."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError
from numba.core.runtime import _nrt_python, rtsys

import symgrad as sg
from symgrad._core.pipeline import lower
from symgrad._core.runtime import MISS, structures, write_entry
from symgrad._core.runtime.structures import DTYPES

pytestmark = pytest.mark.skipif(
    structures.FAULT is not None, reason="no machine code reads objects"
)


def compiled(f: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """Return the compiled function alone, without the dispatch around it."""
    return sg.compile(f)._specialization(args, {}).function


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_and_scalars_of_every_type(dtype: str) -> None:
    array = np.array([3, 0, 2]).astype(dtype)
    function = compiled(lambda a, s: (a[::-1], s), array, array[0])
    found, scalar = function(array, array[2])
    np.testing.assert_array_equal(found, array[::-1])
    assert found.dtype == array.dtype
    assert found.flags.owndata
    assert type(scalar) is type(array[2])
    assert scalar == array[2]


x = np.linspace(0.0, 1.0, 5)
strange = np.arange(5.0).astype(np.dtype("f8", metadata={"unit": "m"}))


@pytest.mark.parametrize(
    "args",
    [
        (), (x,), (x, 1.0, 1), (x, 1, 1.0), (x, np.float64(1.0)), (x, object()), (1.0, x),
        (x.astype("f4"), 1.0), (x.astype(">f8"), 1.0), (x.reshape(1, 5), 1.0), (x[::-1], 1.0),
        (x.tolist(), 1.0), (np.ma.array(x), 1.0), (x[:1], 1.0), (x[:0], 1.0), (strange, 1.0),
    ],
)  # fmt: skip
def test_what_it_is_not_made_for_is_left_alone(args: tuple[Any, ...]) -> None:
    function = compiled(lambda a, s: np.sin(a) * s, x, 2.0)
    counts = [sys.getrefcount(a) for a in args]
    for _ in range(100):
        assert function(*args) is MISS
    assert [sys.getrefcount(a) for a in args] == counts


def test_sizes_are_integers_of_64_bits() -> None:
    function = compiled(lambda a, n: a * n, x, 3)
    np.testing.assert_array_equal(function(x, 7), x * 7)
    for n in (7.0, np.int64(7), True, 1 << 70, -(1 << 70), -1):
        assert function(x, n) is MISS


def test_keywords_are_refused() -> None:
    with pytest.raises(TypeError, match="keyword"):
        compiled(np.sin, x)(x=x)


def test_read_only_and_one_dimension_of_many() -> None:
    fixed = x.copy()
    fixed.flags.writeable = False
    function = compiled(np.sin, x)
    np.testing.assert_array_equal(function(fixed), function(x))


def test_nothing_is_lost() -> None:
    """Neither memory nor references, in results of all kinds and after errors."""
    several = compiled(lambda a: (np.sum(a), np.sin(a), a > 0.5, (a @ a) > 0.0), x)
    picks = compiled(lambda a, k: np.sin(a)[k], x, np.array([0, 1]))
    bad = np.array([0, 9])

    def work() -> None:
        several(x)
        several(None)
        with pytest.raises(IndexError, match="out of bounds"):
            picks(x, bad)

    for _ in range(10):
        work()
    dtypes = [np.dtype(name) for name in DTYPES]
    before = [sys.getrefcount(d) for d in dtypes]
    tracemalloc.start()
    try:
        first = tracemalloc.get_traced_memory()[0]
        for _ in range(200):
            work()
        grown = tracemalloc.get_traced_memory()[0] - first
    finally:
        tracemalloc.stop()
    assert grown < 20_000  # a lost array of every round would be 8 times as much
    changes = [sys.getrefcount(d) - b for d, b in zip(dtypes, before, strict=True)]
    assert max(map(abs, changes)) < 50  # arrays of other tests come and go


def test_the_code_goes_with_the_function() -> None:
    """The engine is freed with the last reference, and not while it is needed."""
    function = compiled(lambda a: np.cos(a) + 17.0, x)
    engine = function.__self__[1]  # type: ignore[attr-defined]
    held = sys.getrefcount(engine)
    np.testing.assert_array_equal(function(x), np.cos(x) + 17.0)
    del function
    assert sys.getrefcount(engine) == held - 1  # the tuple


# ---------------------------------------------------------------- results in given memory


def loss(x: Any, a: Any) -> Any:
    return np.sum(np.sin(x) * a)


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_out(backend: Any) -> None:
    g = sg.value_and_grad(loss)
    value, want = g(x, 2.0)
    with sg.backend(backend):
        for out in (np.empty(5), np.empty(10)[::2], np.empty(5, ">f8")):
            got, gradient = g(x, 2.0, out=(None, out))
            assert gradient is out
            assert got == pytest.approx(value, rel=1e-15)
            np.testing.assert_allclose(out, want, rtol=1e-15)
        both = np.zeros(()), np.zeros(5)
        assert g(x, 2.0, out=both) == both
        assert both[0] == pytest.approx(value, rel=1e-15)


def test_out_is_written_to_directly() -> None:
    function = compiled(np.sin, x)
    out = np.empty(5)
    before = sys.getrefcount(out)
    assert function(x, MISS, out) is out
    np.testing.assert_allclose(out, np.sin(x), rtol=1e-15)
    assert function(x, MISS, None) is not out
    fixed = np.zeros(5)
    fixed.flags.writeable = False
    for bad in (fixed, np.zeros(4), np.zeros((5, 1)), np.zeros(5, "f4"), np.zeros(10)[::2], x):
        assert function(x, MISS, bad) is MISS
    memory = np.zeros(9)
    assert function(memory[:5], MISS, memory[4:]) is MISS  # one element in common
    assert function(memory[:4], MISS, memory[4:8]) is not MISS
    assert not fixed.any()
    assert sys.getrefcount(out) == before


def test_out_that_overlaps_with_an_argument() -> None:
    f = sg.compile(lambda x: (x[::-1] * 2, np.cumsum(x)))
    memory = np.arange(6.0)
    f(memory, out=(memory, None))
    np.testing.assert_array_equal(memory, [10, 8, 6, 4, 2, 0])


def test_targets_are_checked_against_all_others() -> None:
    """The first of many arguments, the last, and the results in between."""
    many = [np.full(4, float(k)) for k in range(12)]
    function = compiled(lambda xs: [np.sin(x) for x in xs], many)
    memory = np.zeros(16)
    assert function(*many, MISS, *[None] * 11, memory[:4]) is not MISS
    for k in (0, 5, 11):
        assert function(*many, MISS, *[None] * 11, many[k]) is MISS
        targets = [None] * 12
        targets[k] = memory[:4]
        assert function(*many, MISS, *targets) is not MISS
        targets[(k + 3) % 12] = memory[3:7]
        assert function(*many, MISS, *targets) is MISS
        targets[(k + 3) % 12] = memory[4:8]
        assert function(*many, MISS, *targets) is not MISS


def test_the_length_of_the_entry_is_linear() -> None:
    def length(count: int) -> int:
        xs = [np.ones(4)] * count
        f = sg.compile(lambda xs: [np.sin(x) for x in xs])
        program = f._specialization((xs,), {}).program
        return len(write_entry(lower(program), ["array"] * count).splitlines())

    assert length(64) - length(32) == 2 * (length(32) - length(16))


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.zeros(5), "another structure"), ((None, [1.0] * 5), "takes arrays"),
        ((None, np.zeros(4)), "broadcast"), ((None, np.zeros(5, int)), "element type int64"),
        ((None, np.zeros((5, 5))[::5].T), "broadcast"),
    ],
)  # fmt: skip
def test_out_that_does_not_fit(out: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        sg.value_and_grad(loss)(x, 2.0, out=out)


def test_a_parameter_called_out_stays_one() -> None:
    assert sg.grad(lambda x, out: x * out)(2.0, out=3.0) == 3.0


@pytest.mark.parametrize("function", [np.tanh, np.cumsum, np.linalg.inv])
def test_numpys_functions_compiled_as_they_are_write_to_out(function: Any) -> None:
    x = np.array([[2.0, 1.0], [0.5, 3.0]]) if function is np.linalg.inv else np.arange(4.0)
    out = np.full_like(x, 9.0)
    assert sg.compile(function)(x, out=out) is out
    np.testing.assert_allclose(out, function(x), rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_product_of_matrices_made_of_one_number(dtype: Any) -> None:
    x = dtype(1.5)
    for f in (
        lambda x: np.reshape(x, (1, 1)) @ np.reshape(x, (1, 1)),
        lambda x: np.linalg.inv(np.reshape(x, (1, 1))),
    ):
        np.testing.assert_allclose(sg.compile(f)(x), f(np.asarray(x)), rtol=1e-6)


def test_kernels_that_write_into_given_arrays() -> None:
    step = sg.value_and_grad(loss).kernel_into(x, 2.0)
    into = np.zeros(5)
    value, gradient = step(x, 2.0, into)
    assert value == sg.value_and_grad(loss)(x, 2.0)[0]
    np.testing.assert_array_equal(into, sg.grad(loss)(x, 2.0))
    assert gradient.ctypes.data == into.ctypes.data
    with pytest.raises(ValueError, match="another shape than the result"):
        step(x, 2.0, np.zeros(6))
    with pytest.raises(TypingError, match="writes into array"):
        step(x, 2.0, np.zeros(10)[::2])
    with pytest.raises(TypeError):
        step(x, 2.0)

    @numba.njit
    def many(x: Any, into: Any) -> Any:
        for _ in range(100):
            step(x, 2.0, into)

    many(x, into)
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats().alloc
        many(x, into)
        assert rtsys.get_allocation_stats().alloc - before < 10  # not one a step
    finally:
        _nrt_python.memsys_disable_stats()


def test_one_more_argument_is_not_written_to() -> None:
    f = sg.compile(lambda x, y=None: np.sin(x) if y is None else x * y)
    x, y = np.ones(3), np.full(3, 2.0)
    np.testing.assert_array_equal(f(x), np.sin(x))
    np.testing.assert_array_equal(f(x, y), 2.0)
    np.testing.assert_array_equal(y, 2.0)
    g = sg.compile(np.sin)
    g(x)
    with pytest.raises(TypeError):
        g(x, y, y)
    np.testing.assert_array_equal(y, 2.0)
