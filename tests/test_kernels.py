"""Kernels in Numba's world, in threads, in other processes, and on disk."""

from __future__ import annotations

import copy
import gc
import json
import os
import pickle
import stat
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

import symgrad as sg
from symgrad._core.op import (
    Code,
    Cython,
    Libm,
    registry,
)
from symgrad.errors import UnsupportedError
from tests.shared import STRICT, run_here

x3 = np.array([0.1, 0.2, 0.3])


def loss(w: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ w) ** 2)


W, DATA = np.linspace(-1, 1, 4), np.random.default_rng(0).normal(size=(50, 4))


# ---------------------------------------------------------------- inside numba


def test_value_and_gradient_inside_njit() -> None:
    kernel = sg.value_and_grad(loss).kernel(W, DATA)

    @numba.njit
    def descend(w: Any, x: Any, steps: int) -> Any:
        value = 0.0
        for _ in range(steps):
            value, slope = kernel(w, x)
            w = w - 0.01 * slope
        return value, w

    w = W
    for _ in range(20):
        value, slope = sg.value_and_grad(loss)(w, DATA)
        w = w - 0.01 * slope
    got_value, got_w = descend(W, DATA, 20)
    assert got_value == value
    np.testing.assert_array_equal(got_w, w)


@pytest.mark.slow  # numba's parallel pipeline takes seconds
def test_prange() -> None:
    kernel = sg.grad(loss).kernel(W, DATA)

    @numba.njit(parallel=True)
    def total(w: Any, batches: Any) -> Any:
        out = np.zeros((batches.shape[0], w.shape[0]))
        for k in numba.prange(batches.shape[0]):
            out[k] = kernel(w, batches[k])
        return out

    batches = np.random.default_rng(1).normal(size=(9, 50, 4))
    want = [sg.grad(loss)(W, b) for b in batches]
    np.testing.assert_allclose(total(W, batches), want, rtol=1e-13)


def test_scalars_cfuncs_and_vectorize() -> None:
    kernel = sg.value_and_grad(lambda x, a: np.sin(x) * a).kernel(0.5, 2.0)

    @numba.njit
    def inside(x: float) -> Any:
        value, slope = kernel(x, 3)  # an int where a float is wanted
        return value + slope

    want = 3 * (np.sin(0.5) + np.cos(0.5))
    assert inside(0.5) == pytest.approx(want, rel=1e-15)
    assert inside(np.float32(0.5)) == pytest.approx(want, rel=1e-15)

    @numba.cfunc("float64(float64)")
    def c_function(x: float) -> Any:
        return inside(x)

    assert c_function.ctypes(0.5) == inside(0.5)

    @numba.vectorize(["float64(float64)"])
    def ufunc(x: float) -> Any:
        return inside(x)

    np.testing.assert_array_equal(ufunc(x3), [inside(x) for x in x3])

    @numba.njit
    def passed(function: Any, x: Any) -> Any:
        return function(x, 1.0)[1]

    assert passed(kernel, 0.0) == 1


class Pair(NamedTuple):
    a: Any
    b: Any


def test_nested_tuples_and_sizes() -> None:
    def f(p: Any, q: Any, n: int) -> Any:
        return np.sum(p[0] * p[1][0]) * q.a / n, (q.b[:n], None, (p[0],))

    args = (x3, (2.0,)), Pair(3.0, np.arange(6.0)), 2
    kernel = sg.compile(f).kernel(*args)

    @numba.njit
    def inside(p: Any, q: Any, n: int) -> Any:
        value, (part, _, (same,)) = kernel(p, q, n)
        return value, part, same

    value, part, same = inside(*args)
    assert value == pytest.approx(f(*args)[0], rel=1e-15)
    assert part.tolist() == [0, 1]
    np.testing.assert_array_equal(same, x3)
    assert inside(*args[:2], 4)[1].tolist() == [0, 1, 2, 3]


def test_dicts_are_passed_leaf_by_leaf() -> None:
    kernel = sg.grad(lambda p, k: np.sum(p["a"] * p["b"]) * k).kernel({"a": x3, "b": 2.0}, 3.0)

    @numba.njit
    def inside(a: Any, b: float) -> Any:
        return kernel(a, b, 3.0)

    a, b = inside(x3, 2.0)
    np.testing.assert_allclose(a, 6.0)
    assert b == pytest.approx(3 * np.sum(x3))


@pytest.mark.slow
def test_memory_of_any_order_inside_njit() -> None:
    kernel = sg.compile(lambda x, y: (x * 2 + y, np.sum(x))).kernel(np.ones((3, 4)), np.ones(4))

    @numba.njit
    def inside(x: Any, y: Any) -> Any:
        return kernel(x, y)

    big = np.arange(48.0).reshape(6, 8)
    vector = np.arange(16.0)
    pairs = [
        (big[2::-1, 3::-1], vector[::4]),
        (big[:3, :4].copy(order="F"), vector[:4]),
        (np.broadcast_to(big[0, :4], (3, 4)), vector[3::-1]),
    ]
    for x, y in pairs:
        total, s = inside(x, y)
        np.testing.assert_array_equal(total, x * 2 + y)
        assert s == pytest.approx(np.sum(x), rel=1e-15)
    frozen = big[:3, :4].copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(kernel(frozen, vector[:4])[0], frozen * 2 + vector[:4])


@pytest.mark.slow
def test_no_memory_is_lost() -> None:
    kernel = sg.grad(lambda x, y: np.sum(np.cumsum(x) * y)).kernel(x3, x3)
    gather = sg.compile(lambda x, k: x[k]).kernel(x3, np.array([0, 1]))

    @numba.njit
    def inside(x: Any, y: Any, times: int) -> Any:
        total = 0.0
        for _ in range(times):
            total += kernel(x[::-1], y)[0]
        return total

    _nrt_python.memsys_enable_stats()

    def allocated() -> int:
        gc.collect()
        stats = rtsys.get_allocation_stats()
        return int(stats.alloc - stats.free)

    strided = np.arange(8.0)[::2]
    inside(x3, x3, 3)
    before = allocated()
    inside(x3, x3, 1000)
    for _ in range(5):
        sg.grad(np.sum)(x3)
    assert allocated() == before
    for _ in range(100):
        with pytest.raises(ValueError, match="do not fit"):
            kernel(strided, x3)
        with pytest.raises(IndexError, match="out of bounds"):
            gather(x3, np.array([0, 7]))
    assert allocated() == before


def test_a_kernel_says_what_it_is_made_for() -> None:
    kernel = sg.compile(lambda x, n: x * n).kernel(x3, 2.0)

    @numba.njit
    def inside(x: Any, n: Any) -> Any:
        return kernel(x, n)

    for bad, says in [
        ((np.ones((2, 2)), 1.0), "argument x of the symgrad kernel is array"),
        ((np.ones(3, np.float32), 1.0), "made for array"),
        ((x3, x3), "argument n of the symgrad kernel"),
        ((1.0, 1.0), r"make a kernel with g\.kernel\(\*args\)"),
    ]:
        with pytest.raises(numba.TypingError, match=says):
            inside(*bad)


def test_a_loop_does_not_read_what_it_has_still_to_write() -> None:
    """Cheap steps are computed again where a view reads them, stored for another task or not."""

    def turned(a: Any, b: Any) -> Any:
        z = a @ b - b @ a
        return (z - z.T) * a, a @ z

    def reshaped(a: Any, b: Any) -> Any:
        z = a @ b - b @ a
        return z + np.reshape(np.reshape(z, (-1,))[::-1], z.shape), a @ z

    a, b = np.random.default_rng(0).standard_normal((2, 20, 20))
    for f in (turned, reshaped):
        for found, wanted in zip(sg.compile(f, dynamic=False)(a, b), f(a, b), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_index_out_of_range_inside_a_kernel() -> None:
    g = sg.compile(lambda x, k: x[k])
    np.testing.assert_array_equal(g(x3, np.array([2, -1, -3])), x3[[2, -1, -3]])
    for bad in (3, -4, 2**40):
        with pytest.raises(IndexError, match="out of bounds"):
            g(x3, np.array([0, bad, 1]))
        with sg.backend("numpy"), pytest.raises(IndexError, match="out of bounds"):
            g(x3, np.array([0, bad, 1]))


# ---------------------------------------------------------------- threads


def spread(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Run ``work(k)`` in as many threads, started together."""
    barrier = threading.Barrier(count)

    def one(k: int) -> Any:
        barrier.wait()
        return work(k)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


@pytest.fixture
def impatient() -> Any:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("impatient")
def test_threads_share_one_function() -> None:
    g = sg.value_and_grad(loss)
    want = sg.value_and_grad(loss)(W, DATA)
    for value, slope in spread(8, lambda k: g(W, DATA)):
        assert value == want[0]
        np.testing.assert_array_equal(slope, want[1])
    assert g.traces == 1


@pytest.mark.usefixtures("impatient")
@pytest.mark.slow
def test_threads_trace_different_functions() -> None:
    def make(k: int) -> sg.Function:
        def f(x: Any) -> Any:
            total = x
            for j in range(30):
                total = np.sin(total + k * x) * (j + 1.5)  # the same nodes for all, and others
            return np.sum(total)

        return sg.grad(f)

    def work(k: int) -> list[Any]:
        with sg.backend("numpy"):
            return [make(k % 4)(x3 * n) for n in (1, 2)] + [sg.hessian(loss)(W, DATA)]

    for k, results in enumerate(spread(8, work)):
        for got, want in zip(results, work(k), strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.usefixtures("impatient", "cache_dir")
def test_threads_compile_at_the_same_time() -> None:
    def work(k: int) -> Any:
        return sg.grad(lambda x: np.sum(np.sin(x * (k % 3 + 1))))(x3)

    for k, got in enumerate(spread(6, work)):
        n = k % 3 + 1
        np.testing.assert_allclose(got, n * np.cos(x3 * n), rtol=1e-15)


FIRST_CALLS = """
import sys, threading
import numpy as np
import symgrad as sg
from symgrad.errors import UnsupportedError

x = np.array([0.5, 1.0, 2.0])
sys.setswitchinterval(1e-5)
barrier = threading.Barrier(6)


def work(k):
    f = sg.grad(lambda x: np.sum(np.sin(x * k)))  # which reads k
    barrier.wait()
    for _ in range(3):
        assert np.allclose(f(x), k * np.cos(x * k))


threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.slow
def test_threads_may_be_the_first_that_call() -> None:
    """What each makes of code that is made once lives as long as it is used."""
    run = subprocess.run([sys.executable, "-c", FIRST_CALLS], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")


def test_kernels_release_the_lock() -> None:
    kernel = sg.compile(lambda x: np.sum(np.sin(x) ** 3) + np.cumsum(x)[-1]).kernel(x3)
    assert kernel.targetoptions["nogil"]
    arrays = [np.linspace(0, k, 20_000 + k) for k in range(8)]
    want = [kernel(x) for x in arrays]
    assert spread(8, lambda k: [kernel(arrays[k]) for _ in range(20)]) == [[w] * 20 for w in want]


# ---------------------------------------------------------------- pickling


MODULE = """
import numpy as np
import symgrad as sg
from symgrad.errors import UnsupportedError

def f(x, a):
    return np.sum(np.sin(x) * a)

@sg.grad
def slope(x):
    return np.sum(x**3)

class Model:
    k = 2.0

    @sg.value_and_grad
    def static(x):
        return np.sum(x**2)

g = sg.value_and_grad(f, argnums=(0, 1))
nested = sg.hessian(slope)
options = sg.compile(f, backend="numpy", dynamic=False, cache=False)
mapped = sg.vmap(sg.grad(np.sin), in_axes=0)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "users_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    import users_module

    yield users_module
    del sys.modules["users_module"]


def test_pickling_here(module: Any) -> None:
    first = module.g(x3, 2.0)
    for copied in (pickle.loads(pickle.dumps(module.g)), copy.copy(module.g),
                   copy.deepcopy(module.g)):  # fmt: skip
        again = copied(x3, 2.0)
        assert again[0] == first[0]
        np.testing.assert_array_equal(again[1][0], first[1][0])
    assert pickle.loads(pickle.dumps(module.slope)) is module.slope
    assert pickle.loads(pickle.dumps(module.Model.static)) is module.Model.static
    options = pickle.loads(pickle.dumps(module.options))
    kept = {
        "backend": "numpy", "parallel": None, "dynamic": False, "cache": False, "rounding": None
    }  # fmt: skip
    assert options._recipe[2] == kept
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(module.mapped))(x3), module.mapped(x3))


def test_pickling_a_lambda_says_so() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(sg.grad(lambda x: x))


def python(code: str, folder: Path, *args: str, **env: str) -> str:
    """Run code in a fresh process, in ``folder``; return what it prints."""
    done = subprocess.run(
        [sys.executable, *STRICT, "-c", textwrap.dedent(code), *args],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)]), **env},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


ROOT = Path(sg.__file__).parent.parent

UNPICKLE = """
    import pickle, sys, pathlib
    import numpy as np
    functions = pickle.loads(pathlib.Path("functions.pickle").read_bytes())
    x = np.array([0.1, 0.2, 0.3])
    g, slope, nested = functions
    value, (by_x, by_a) = g(x, 2.0)
    print(value.hex(), by_x.tobytes().hex(), by_a.hex(), slope(x).tobytes().hex())
    assert g.kernel(x, 2.0)(x, 2.0)[0] == value
    print(g._specialization((x, 2.0), {}).entry.found)
"""


@pytest.mark.slow
def test_pickling_to_another_process(module: Any, tmp_path: Path, cache_dir: Path) -> None:
    functions = module.g, module.slope, module.nested
    value, (by_x, by_a) = module.g(x3, 2.0)
    slope = module.slope(x3)
    assert module.g.kernel(x3, 2.0)(x3, 2.0)[0] == value
    (tmp_path / "functions.pickle").write_bytes(pickle.dumps(functions))
    printed, hit = python(UNPICKLE, tmp_path).splitlines()
    want = value.hex(), by_x.tobytes().hex(), by_a.hex(), slope.tobytes().hex()
    assert printed == " ".join(want)  # the same machine code, bit for bit
    assert hit == "True"


# ---------------------------------------------------------------- the disk cache


SCRIPT = """
    import sys
    import numpy as np
    import symgrad as sg

    c = np.resize([1.5, 2.5, -2.0], 30)

    def f(x):
        c = np.resize([1.5, 2.5, -2.0], 30)
        return np.sum(np.sin(x) * c) + np.sum(x // c)  # c < 0 is computed while lowering

    g = sg.value_and_grad(f)
    x = np.resize([0.1, 0.2, 0.3], 30)
    value, slope = g(x)
    assert abs(value - f(x)) < 1e-14 and np.allclose(slope, np.cos(x) * c)
    assert g.kernel(x)(x)[0] == value
    print(g._specialization((x,), {}).entry.found)
"""
HIT, MISS = "True", "False"


def files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file())


def folders(cache: Path) -> list[Path]:
    """Return the programs' entries: beside them are the code of the pool of threads, and notes."""
    entries = [p for p in cache.iterdir() if not p.name.startswith(".")]
    return sorted(p for p in entries if not (p / "code.o").exists())


@pytest.mark.slow
def test_a_second_process_loads(cache_dir: Path, tmp_path: Path) -> None:
    assert python(SCRIPT, tmp_path) == MISS
    made = {p: p.stat().st_mtime_ns for p in files(cache_dir)}
    assert len(folders(cache_dir)) == 1
    assert python(SCRIPT, tmp_path) == HIT
    assert {p: p.stat().st_mtime_ns for p in files(cache_dir)} == made


def test_it_is_all_there(cache_dir: Path) -> None:
    assert not run_here()[0]
    assert run_here()[0]
    [entry] = folders(cache_dir)
    names = {p.suffix for p in files(entry)}
    assert names == {".json", ".ll", ".o", ".bin"}
    described = json.loads(json.loads((entry / "kernel.json").read_text())[1])
    assert described["name"].startswith("symgrad.")
    if hasattr(os, "getuid"):
        for folder in (cache_dir, entry):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def garbage(path: Path) -> None:
    path.write_bytes(np.random.default_rng(0).bytes(path.stat().st_size))


def one_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) * 2 // 3] ^= 4
    path.write_bytes(bytes(content))


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


SLOW = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        truncate,
        one_bit,
        *(pytest.param(d, marks=SLOW) for d in (empty, garbage, Path.unlink, as_folder)),
    ],
)
def test_damaged_entries_are_made_again(cache_dir: Path, damage: Callable[[Path], Any]) -> None:
    _, want = run_here()
    [entry] = folders(cache_dir)
    for path in files(entry):
        damage(path)
        assert run_here() == (False, want), path.name
        assert run_here() == (True, want), path.name


def test_an_empty_or_foreign_entry_is_made_again(cache_dir: Path) -> None:
    run_here()
    [entry] = folders(cache_dir)
    for path in files(entry):
        path.unlink()
    (entry / "foreign").write_text("?")
    assert not run_here()[0]
    assert run_here()[0]


@pytest.mark.slow
def test_two_entries_swapped_are_not_mixed_up(cache_dir: Path) -> None:
    f, g = (sg.compile(lambda x, k=k: np.sin(x) * (k + 2.0)) for k in (0, 1))
    want = f(x3), g(x3)
    a, b = folders(cache_dir)
    for name in ("kernel.json", "code0.o"):
        first = (a / name).read_bytes()
        (a / name).write_bytes((b / name).read_bytes())
        (b / name).write_bytes(first)
        again = [sg.compile(lambda x, k=k: np.sin(x) * (k + 2.0))(x3) for k in (0, 1)]
        np.testing.assert_array_equal(again, want)


def test_cache_false_leaves_no_files(cache_dir: Path) -> None:
    np.testing.assert_allclose(sg.compile(np.sin, cache=False)(x3), np.sin(x3))
    assert not cache_dir.exists()


@pytest.mark.slow
def test_long_programs_are_cached_as_objects(cache_dir: Path) -> None:
    def f(x: Any) -> Any:
        for k in range(700):
            x = np.sin(x + 0.001 * k)
        return x

    want = f(0.5)
    assert sg.compile(f)(0.5) == pytest.approx(want, rel=1e-12)
    assert any(p.suffix == ".o" for p in files(cache_dir))
    g = sg.compile(f)
    assert g(0.5) == pytest.approx(want, rel=1e-12)
    for path in files(cache_dir):
        if path.suffix == ".o":
            one_bit(path)
    # The code is in this process already, under its own name: the file is checked all the same.
    assert sg.compile(f)(0.5) == pytest.approx(want, rel=1e-12)


@pytest.mark.slow
def test_processes_share_a_fresh_cache(cache_dir: Path, tmp_path: Path) -> None:
    # Each may find the code that another has made meanwhile: the script judges the values.
    spread(4, lambda k: python(SCRIPT, tmp_path))
    assert len(folders(cache_dir)) == 1
    assert python(SCRIPT, tmp_path) == HIT


@pytest.mark.parametrize("called", ["f(x)", "f.kernel(x)(x)"])
@pytest.mark.slow
def test_vector_math_of_kernels_from_disk(called: str, tmp_path: Path) -> None:
    """The process that loads one first is not the one that compiled it and loaded the library."""
    code = f"""
        import numpy as np
        import symgrad as sg
        f = sg.compile(lambda x: np.sum(np.power(x, 2.5)))
        x = np.linspace(0.1, 0.9, 1000)
        print(float({called}))
    """
    first, second = (python(code, tmp_path, SYMGRAD_CACHE_DIR="cache") for _ in range(2))
    assert first == second


@pytest.mark.slow
def test_many_sums_over_one_axis() -> None:
    """Their names in machine code were once the same as those of temporary values."""
    x = np.linspace(0.0, 1.0, 600)

    def sums(x: Any) -> Any:
        return tuple(np.sum(x + k) for k in range(60))

    np.testing.assert_allclose(sg.compile(sums)(x), sums(x), rtol=1e-13)


@pytest.mark.slow
def test_kernels_that_call_many_functions() -> None:
    """Each function outside takes an entry of the object's table."""
    names = [
        name
        for name, op in registry.ops.items()
        if op.kind == "map" and isinstance(Code.of(op).lower, Cython | Libm) and len(op.domain) == 1
    ]
    assert len(names) > 30
    x = np.linspace(0.3, 0.7, 5)
    many = sg.compile(lambda x: [registry.ops[name](x) for name in names])
    for name, found in zip(names, many(x), strict=True):
        alone = sg.compile(registry.ops[name])(x)
        np.testing.assert_allclose(found, alone, rtol=1e-13, err_msg=name)


@pytest.mark.parametrize("constant", [False, True, None, "words", "<object>", 7])
def test_results_that_are_no_values(constant: Any) -> None:
    """A flag that the arguments' shapes decide, a word: what a call gives, a kernel gives."""
    x = np.arange(3.0)
    g = sg.compile(lambda x: (constant, np.sum(x)))
    assert g.kernel(x)(x) == g(x) == (constant, 3.0)
    alone = sg.compile(lambda x: constant)
    assert alone.kernel(x)(x) == alone(x) == constant

    def by_shape(x: Any) -> Any:
        return np.array_equal(x, np.ones((2, 2)))

    assert sg.compile(by_shape).kernel(x)(x) is False


def test_results_that_a_kernel_cannot_have() -> None:
    x = np.arange(3.0)
    g = sg.compile(lambda x: (range(3), np.sum(x)))
    assert g(x) == (range(3), 3.0)
    with sg.backend("numba"):
        assert g(x) == (range(3), 3.0)
    with pytest.raises(UnsupportedError, match="has an object of another type"):
        g.kernel(x)
