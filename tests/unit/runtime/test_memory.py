"""Memory that is kept for the next call: whose it is, how much there is, and what it saves."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy._core import multiarray

import symgrad as sg
from symgrad._core.codegen import code as _code
from symgrad._core.codegen import llvm as _llvm
from symgrad._core.runtime import _memory, structures
from symgrad._core.runtime import _memory_code as memory
from symgrad._core.runtime.structures import MemoryHandler
from symgrad._dispatch import _kinds

pytestmark = pytest.mark.skipif(
    structures.FAULT is not None, reason="no machine code reads objects"
)

N = memory.LEAST // 8  # the shortest float64 vector that is kept
x = np.linspace(0.1, 0.9, N)


@pytest.fixture(autouse=True)
def emptied() -> Iterator[None]:
    emptied_now()
    yield
    sg.set_kept_memory()


def emptied_now() -> None:
    """Free what a compilation used."""
    sg.set_kept_memory(0)
    sg.set_kept_memory(1 << 24)


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def test_results_own_their_data() -> None:
    y = sg.compile(np.sin)(x)
    assert y.flags.owndata
    assert y.flags.writeable
    assert y.base is None
    assert multiarray.get_handler_name(y) == "symgrad"
    np.testing.assert_allclose(y, np.sin(x), rtol=1e-14)
    small = sg.compile(np.sin)(x[: N - 1])
    assert multiarray.get_handler_name(small) != "symgrad"


def test_a_result_that_is_dropped_is_used_again() -> None:
    f = sg.compile(np.sin)
    y = f(x)
    place = address(y)
    assert sg.get_kept_memory() == 0
    del y
    assert sg.get_kept_memory() == 8 * N
    assert address(f(x)) == place
    view = f(x)[3:]
    assert address(f(x)) != address(view) - 24
    np.testing.assert_allclose(view, np.sin(x[3:]), rtol=1e-14)


def test_blocks_go_to_other_functions_of_the_same_size() -> None:
    y = sg.compile(np.sin)(x)
    place = address(y)
    del y
    assert address(sg.compile(np.cos)(x)) == place
    longer = sg.compile(np.cos)(np.ones(N + 1))
    assert address(longer) != place


def test_temporaries_are_kept() -> None:
    f = sg.compile(lambda a: np.sum(np.cumsum(np.sin(a))[::2]))
    want = np.sum(np.cumsum(np.sin(x))[::2])
    for _ in range(3):
        assert f(x) == pytest.approx(want, rel=1e-12)
    assert 8 * N <= sg.get_kept_memory() < 20 * N


def test_the_limit_holds_and_the_oldest_go_first() -> None:
    f = sg.compile(np.sin)
    sg.set_kept_memory(3 * 8 * N + 100)
    several = [f(x) for _ in range(5)]
    places = [address(y) for y in several]
    several.reverse()
    while several:
        del several[-1]  # the first made is the first dropped
        assert sg.get_kept_memory() <= 3 * 8 * N
    assert sg.get_kept_memory() == 3 * 8 * N
    again = [f(x) for _ in range(3)]
    assert {address(y) for y in again} == set(places[2:])
    sg.set_kept_memory(8 * N)
    del again
    assert sg.get_kept_memory() == 8 * N
    sg.set_kept_memory(0)
    assert sg.get_kept_memory() == 0
    f(x)
    assert sg.get_kept_memory() == 0


def test_more_blocks_than_places() -> None:
    f = sg.compile(np.sin)
    sg.set_kept_memory(1 << 30)
    many = [f(x) for _ in range(memory.SLOTS + 10)]
    many.clear()
    assert sg.get_kept_memory() == memory.SLOTS * 8 * N
    again = [f(x) for _ in range(memory.SLOTS + 10)]
    assert len({address(y) for y in again}) == len(again)
    assert sg.get_kept_memory() == 0


def test_arrays_are_numpys_in_all_respects() -> None:
    f = sg.compile(np.sin)
    y = f(x)
    y.resize(2 * N, refcheck=False)
    np.testing.assert_allclose(y[:N], np.sin(x), rtol=1e-14)
    assert not y[N:].any()
    y.resize(10, refcheck=False)
    del y
    assert sg.get_kept_memory() == 0  # ten numbers
    gone = []
    y = f(x)
    weakref.finalize(y, gone.append, True)
    del y
    assert gone == [True]
    y = f(x)
    with warnings.catch_warnings():  # deprecated since NumPy 2.5
        warnings.simplefilter("ignore", DeprecationWarning)
        y.shape = (2, N // 2) if N % 2 == 0 else (1, N)
    y = y.view(np.int64).T.copy()
    gc.collect()
    np.testing.assert_array_equal(y.T.ravel().view(float), f(x))


def test_threads_share_it() -> None:
    f, wrong = sg.compile(lambda a, b: (np.sin(a) * b, np.cos(a) + b)), []

    def work(k: int) -> None:
        b = np.full(N, float(k))
        want = np.sin(x) * b, np.cos(x) + b
        for _ in range(30):
            got = f(x, b)
            if not all(np.allclose(g, w, rtol=1e-13) for g, w in zip(got, want, strict=True)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_a_taken_table_is_not_waited_for() -> None:
    f = sg.compile(np.sin)
    y = f(x)
    _memory._state[0] = 1  # as if another thread held it
    try:
        z = f(x)
        del z
        assert sg.get_kept_memory() == 0
    finally:
        _memory._state[0] = 0
    del y
    assert sg.get_kept_memory() == 8 * N


def test_a_table_that_was_held_while_the_process_forked_is_begun_anew() -> None:
    """A slot whose block has been taken out, and not its size, would be given out as null."""
    f = sg.compile(np.sin)
    f(x)
    sg.set_kept_memory(0)
    sg.set_kept_memory(1 << 24)
    _memory._state[0], _memory._state[1] = 1, 8 * N
    _memory._state[memory.HEAD + 1] = 8 * N
    _memory._unlock()
    assert _memory._state[:] == [0, 0, 1 << 24] + [0] * (memory.WORDS - 3)
    np.testing.assert_allclose(f(x), np.sin(x), rtol=1e-14)
    assert sg.get_kept_memory() == 8 * N


def test_the_books_agree_with_the_table() -> None:
    f = sg.compile(np.sin)
    rng = np.random.default_rng(0)
    held: list[np.ndarray] = []
    for _ in range(300):
        if held and rng.random() < 0.5:
            del held[rng.integers(len(held))]
        else:
            held.append(f(x[:1].repeat(N + int(rng.integers(4)))))
        sizes = _memory._state[memory.HEAD + 1 :: 2]
        assert sum(sizes) == sg.get_kept_memory() <= 1 << 24
        blocks = [p for p in _memory._state[memory.HEAD :: 2] if p]
        assert len(set(blocks)) == len(blocks) == sum(map(bool, sizes))
        assert not set(blocks) & {address(y) for y in held}


@pytest.mark.parametrize("value", ["1GB", "-1", "0.5"])
def test_the_environment_is_refused_by_name(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("SYMGRAD_KEPT_MEMORY", value)
        with pytest.raises(sg.errors.ArgumentError, match="SYMGRAD_KEPT_MEMORY is a number"):
            sg.set_kept_memory()


@pytest.mark.parametrize("value", [-1, 1.5, "8", True])
def test_sizes_are_numbers_of_bytes(value: object) -> None:
    with pytest.raises(sg.errors.ArgumentError, match="number of bytes"):
        sg.set_kept_memory(value)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_environment_sets_it() -> None:
    code = (
        "import numpy as np, symgrad as sg; f = sg.compile(np.sin); f(np.ones(100_000));"
        "print(sg.get_kept_memory())"
    )
    for value, want in (("0", "0"), ("1000000", "800000"), ("", "800000")):
        run = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "SYMGRAD_KEPT_MEMORY": value},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert run.stdout.strip() == want


@pytest.mark.slow
def test_arrays_that_outlive_everything() -> None:
    """At exit modules go in an order of their own."""
    code = (
        "import numpy as np, symgrad as sg, builtins;"
        "builtins.kept = [sg.compile(np.sin)(np.ones(100_000)) for _ in range(3)]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("otherwise", "function"),
    [("_memory.ARRAY_BYTES = 104", "compile"), ("_memory.ARRAY_BYTES = 104", "gufunc"),
     ("structures.CALLER_AT = 184", "gufunc")],
)  # fmt: skip
def test_numpy_with_another_layout_is_left_to_itself(otherwise: str, function: str) -> None:
    code = (
        "import numpy as np, symgrad as sg;"
        f"from symgrad._core.runtime import _memory, structures; {otherwise};"
        f"y = sg.{function}(lambda x: np.sin(x))(np.ones(100_000));"
        "from numpy._core import multiarray; print(multiarray.get_handler_name(y))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )  # fmt: skip
    assert run.stdout.strip() == "default_allocator"


def test_the_handler_is_numpys_struct() -> None:
    assert ctypes.sizeof(MemoryHandler) == 128 + 5 * ctypes.sizeof(ctypes.c_void_p)


def test_sizes_are_integers_of_any_kind() -> None:
    sg.set_kept_memory(np.int64(1 << 20))  # type: ignore[arg-type]
    sg.set_kept_memory(1 << 80)
    f = sg.compile(np.sin)
    f(x)
    assert sg.get_kept_memory() == 8 * N


# ---------------------------------------------------------------- functions that are dropped

DROPPED = """
import gc, os
import numpy as np
import symgrad as sg

def compiled(factor):
    sg.compile(lambda x: np.sum(np.sin(x) * factor * x), cache=False)(np.ones(2))

def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

for k in range(20):
    compiled(float(k))
before = resident()
for k in range(20, 70):
    compiled(float(k))
print((resident() - before) / 50 / 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the memory is not known")
def test_functions_that_are_dropped_leave_little() -> None:
    done = subprocess.run([sys.executable, "-c", DROPPED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 40


def test_passes_are_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    freed = []
    dispose = _llvm.NewPassManager._dispose
    monkeypatch.setattr(
        _llvm.NewPassManager, "_dispose", lambda passes: (freed.append(1), dispose(passes))
    )
    assert sg.compile(lambda x: np.sum(np.sin(x) * 71.25), cache=False)(np.ones(2)) > 0
    assert freed


def repeated(x: Any) -> Any:
    total = 0.0
    for k in range(len(x)):
        total = total + x[k] ** (k + 1)
    return total


def test_a_function_keeps_the_specialisations_that_were_used_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_kinds, "KEPT", 3)
    f = sg.compile(repeated)
    held = f._specialization((np.ones(2),), {}).function
    codes = {n: weakref.ref(f._specialization((np.ones(n),), {}).function) for n in (2, 3, 4)}
    for n in (3, 2, 5, 2):
        assert f(np.ones(n)) == n
    assert f.traces == 4
    assert sum(map(len, f._kinds._groups.values())) == 3
    gc.collect()
    assert [n for n in codes if codes[n]() is None] == [4]
    for n in range(6, 10):
        for _ in range(2):  # from the second on calls go straight to the code, and it is held
            assert f(np.ones(n)) == n
    assert held(np.array([2.0, 3.0])) == 11.0  # whoever still has it may call it
    del held
    gc.collect()
    assert codes[2]() is None


def test_constants_live_as_long_as_their_code() -> None:
    f = sg.compile(lambda x: np.sum(x * np.arange(100.0)), cache=False)
    assert f(np.ones(100)) == 4950.0
    symbols = set(_code._constants)
    dropped = sg.compile(lambda x: np.sum(x * np.cos(np.arange(100.0))), cache=False)
    np.testing.assert_allclose(dropped(np.ones(100)), np.sum(np.cos(np.arange(100.0))))
    assert set(_code._constants) > symbols
    del dropped
    gc.collect()
    assert set(_code._constants) <= symbols
    assert f(np.ones(100)) == 4950.0
    kernel = sg.compile(lambda x: np.sum(x * np.arange(99.0, -1.0, -1.0)), cache=False).kernel(
        np.ones(100)
    )
    gc.collect()
    assert kernel(np.ones(100)) == 4950.0


# ---------------------------------------------------------------- universal functions


def usual() -> str:
    """Return NumPy's handler of new arrays in this thread."""
    return multiarray.get_handler_name()


@pytest.mark.parametrize("signature", [None, "(),()->()"])
def test_results_of_universal_functions_are_used_again(signature: str | None) -> None:
    before = usual()
    plus = sg.gufunc(lambda x, y: x + 2.0 * y, signature)
    plus(x, x)
    emptied_now()
    y = plus(x, x)
    place = address(y)
    assert (multiarray.get_handler_name(y), usual()) == ("symgrad", before)
    np.testing.assert_array_equal(y, 3.0 * x)
    held = plus(x, x)
    assert address(held) != place
    y = None
    again = plus(x, 2.0 * x)
    assert address(again) == place
    np.testing.assert_array_equal(again, 5.0 * x)
    np.testing.assert_array_equal(held, 3.0 * x)
    small = plus(x[: N - 1], x[0])
    assert multiarray.get_handler_name(small) != "symgrad"


def test_large_results_of_small_arguments_are_kept() -> None:
    table = sg.gufunc(lambda x, y: x * y)
    side = x[:: N // 200]
    made = table(side[:, np.newaxis], side)
    assert multiarray.get_handler_name(made) == "symgrad"
    np.testing.assert_array_equal(made, np.multiply.outer(side, side))
    np.testing.assert_array_equal(table.outer(side, side), made)
    assert table(x[:0], x[:1]).shape == (0,)
    assert table(x.reshape(-1, 1), x[:0]).shape == (N, 0)


def test_several_results_of_universal_functions_are_kept() -> None:
    slopes = sg.gufunc(sg.value_and_grad(lambda p: np.sum(p**2)), "(n)->(),(n)")
    rows = x.reshape(-1, 4)
    slopes(rows)
    emptied_now()
    places = None
    for _ in range(3):
        value, slope = slopes(rows)
        np.testing.assert_allclose(value, np.sum(rows**2, axis=1), rtol=1e-14)
        np.testing.assert_array_equal(slope, 2.0 * rows)
        assert multiarray.get_handler_name(slope) == "symgrad"
        places, old = address(slope), places
        assert old is None or places == old
        del value, slope


def test_numpys_handler_is_back_after_errors() -> None:
    before = usual()
    dot = sg.gufunc(lambda p, q: p @ q, "(n),(n)->()")
    with pytest.raises(ValueError, match="mismatch in its core dimension"):
        dot(x, x[:-1])
    with pytest.raises(TypeError):
        dot(x, x, x, x)
    with pytest.raises(TypeError):
        dot(x, x, nothing=1)
    wrong = sg.gufunc(lambda p: p[:2], "(n)->(n)")
    with pytest.raises(sg.errors.ShapeError):
        wrong(x)
    assert usual() == before
    assert multiarray.get_handler_name(np.empty(N)) == before


def test_universal_functions_in_threads_keep_memory() -> None:
    twice = sg.gufunc(lambda x: 2.0 * x, parallel=False)
    wrong: list[Any] = []

    def work(k: int) -> None:
        before = usual()
        for j in range(50):
            y = twice(x + k + j)
            if not np.array_equal(y, 2.0 * (x + k + j)) or usual() != before:
                wrong.append((k, j))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
