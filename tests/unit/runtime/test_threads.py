"""Threads in kernels: the same bits for any number of them, from wherever they are called."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import erf

import symgrad as sg
from symgrad._core.lowering import _chunking as _cut
from symgrad._core.lowering._plan import Nest, plan
from symgrad._core.pipeline import lower
from symgrad._core.runtime import _thread_count, structures
from symgrad._core.runtime import threads as _threads

#: Numba's dispatcher calls kernels, which start no threads unless they are to.
CALLED = pytest.mark.skipif(structures.FAULT is not None, reason="Numba calls the functions")

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _threads_as_set() -> Iterator[None]:
    yield
    sg.set_num_threads()


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut short loops, too, so that tests are quick."""
    for module in ("_chunking", "_chunk_functions"):
        monkeypatch.setattr(f"symgrad._core.lowering.{module}.CHUNK", 1 << 12)
    # What is compiled so is not what others should find.
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", "")


def leaves(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in leaves(part)]
    return [np.asarray(value)]


def potential(x: Any) -> Any:
    d = x[:, None, :] - x[None, :, :]
    return np.sum(1 / np.sqrt(np.sum(d * d, axis=-1) + 1e-3))


def black_scholes(s: Any, k: Any, t: Any) -> Any:
    d1 = (np.log(s / k) + 0.045 * t) / (0.3 * np.sqrt(t))
    return np.sum(s * (1 + erf(d1 / 1.4)) - k * (1 + erf((d1 - 0.3 * np.sqrt(t)) / 1.4)))


def diffusion(u: Any) -> Any:
    inner = u[1:-1, 1:-1]
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return np.sum(np.sin(inner + 0.1 * (around - 4 * inner)))


def relaxed(u: Any) -> Any:
    return np.sum(sg.fori_loop(0, 3, lambda _, v: np.sin(v) * 1.1 + np.mean(np.cos(v)), u))


def classified(w: Any, x: Any, y: Any) -> Any:
    return np.sum(np.log1p(np.exp(-y * (x @ w))))


def extremes(x: Any) -> Any:
    rows = np.reshape(x, (-1, 2))
    ends = np.max(np.sin(x) * x) + np.min(np.max(np.cos(rows), axis=0))
    return ends + np.prod(1 + 1e-7 * x) + x[np.argmax(x)]


N = 5003  # no multiple of anything

#: Functions of one real number with what can be cut in different ways.
SCALAR = {
    "map and sum": (lambda x: np.sum(np.sin(x) * np.exp(x)), [(N,)]),
    "float32": (lambda x: np.sum(np.sin(x) * np.exp(x)), [(N,), np.float32]),
    "sum over rows": (lambda x: np.sum(np.sum(np.exp(x), axis=0) ** 2), [(N, 7)]),
    "sum over columns": (lambda x: np.sum(np.sum(np.exp(x), axis=1) ** 2), [(203, 70)]),
    "middle axis": (lambda x: np.sum(np.sum(np.exp(x), axis=1) ** 2), [(30, 20, 40)]),
    "broadcast": (lambda x, y: np.sum(np.tanh(x[:, None] * y)), [(203,), (90,)]),
    "differences": (lambda x: np.sum((x[1:] - x[:-1]) ** 2), [(N,)]),
    "reversed": (lambda x: np.sum(np.exp(x) * np.cos(x[::-1])), [(N,)]),
    "distant": (lambda x: np.sum(np.exp(x[3000:]) * np.cos(x[:-3000])), [(2 * N,)]),
    "concatenated": (
        lambda x, y: np.sum(np.exp(np.concatenate([x, y, x]) ** 2)),
        [(N,), (N,)],
    ),
    "cumulated": (lambda x: np.sum(np.sin(np.cumsum(x)) ** 2), [(N,)]),
    "potential": (potential, [(130, 3)]),
    "black-scholes": (black_scholes, [(N,), (N,), (N,)]),
    "diffusion": (diffusion, [(80, 90)]),
    "loop": (relaxed, [(N,)]),
    "classified": (classified, [(12,), (903, 12), (903,)]),
    "extremes": (extremes, [(2 * N,)]),
}


def arguments(description: list[Any]) -> list[np.ndarray[Any, Any]]:
    dtype = description[-1] if not isinstance(description[-1], tuple) else np.float64
    shapes = [d for d in description if isinstance(d, tuple)]
    return [(RNG.random(shape) + 0.1).astype(dtype) for shape in shapes]


def same_for_any_number(g: Callable[..., Any], given: list[Any]) -> list[Any]:
    """Check that results have the same bits for 1, 2, 3 and 7 threads, and return them."""
    sg.set_num_threads(1)
    first = leaves(g(*given))
    for count in (2, 3, 7):
        sg.set_num_threads(count)
        for a, b in zip(leaves(g(*given)), first, strict=True):
            assert a.tobytes() == b.tobytes()
    return first


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("name", SCALAR)
def test_equal_bits_for_any_number_of_threads(name: str) -> None:
    f, description = SCALAR[name]
    given = arguments(description)
    g = sg.value_and_grad(f, argnums=tuple(range(len(given))))
    program = g._specialization(given, {}, short=True).program
    assert (f"@{_threads.RUN}(" in lower(program).text) == (name != "distant")
    found = same_for_any_number(g, given)
    with sg.backend("numpy"):
        wanted = leaves(g(*given))
    tolerance = 1e-4 if given[0].dtype == np.float32 else 1e-10
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.usefixtures("small_chunks")
def test_reductions_of_all_kinds_and_types() -> None:
    def f(x: Any, k: Any) -> Any:
        found = [np.sum(k), np.max(k), np.any(x > 0.99), np.all(x > -1), np.min(x, axis=0)]
        found += [np.any(x > 0.999, axis=0), np.prod(k % 3 + 1, axis=0), np.argmin(x, axis=1)]
        return tuple(found)

    x, k = RNG.random((N, 3, 20)), RNG.integers(0, 100, (N, 20))
    g = sg.compile(f)
    for a, b in zip(same_for_any_number(g, [x, k]), f(x, k), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.usefixtures("small_chunks")
def test_scatters_stay_in_order() -> None:
    """Elements that many threads could add to at once: rows of their own are cut, others not."""
    x, i = RNG.random(50), RNG.integers(0, 50, N)
    g = sg.value_and_grad(lambda x, i: np.sum(np.sin(x[i]) * np.cos(x[i])))
    _, slope = same_for_any_number(g, [x, i])
    np.testing.assert_allclose(slope, np.bincount(i, minlength=50) * np.cos(2 * x), rtol=1e-12)


@pytest.mark.usefixtures("small_chunks")
def test_a_bad_index_in_any_chunk_is_an_error() -> None:
    x, i = RNG.random(50), RNG.integers(0, 50, 8 * N)
    g = sg.compile(lambda x, i: np.sin(x[i]))
    for count in (1, 3):
        sg.set_num_threads(count)
        np.testing.assert_array_equal(g(x, i).shape, (8 * N,))
        for place in (0, 4 * N, 8 * N - 1):
            bad = i.copy()
            bad[place] = 50
            with pytest.raises(IndexError, match="out of bounds"):
                g(x, bad)
    assert g(x, i).shape == (8 * N,)


@CALLED
def test_long_loops_are_cut_by_default() -> None:
    """A function of a million elements, as a user calls it."""
    x = RNG.random(1_000_003)
    g = sg.value_and_grad(lambda x: np.sum(np.sin(x) * np.exp(-x)))
    value, _ = same_for_any_number(g, [x])
    assert abs(value - np.sum(np.sin(x) * np.exp(-x))) < 1e-8
    assert helpers() > 0


def helpers() -> int:
    """Return the number of helpers that have been started."""
    return sum(state != _threads.ABSENT for state in states())


def states() -> list[int]:
    words = np.frombuffer(_threads._helpers, np.int64).reshape(-1, _threads.HELPER_BYTES // 8)
    return [int(s) for s in words[:, 2]]


X = RNG.random(100_003)


def wave(x: Any) -> Any:
    return np.sum(np.sin(x) * np.exp(-x))


def test_many_python_threads_at_once() -> None:
    g = sg.value_and_grad(wave)
    sg.set_num_threads(1)
    value, slope = g(X)
    sg.set_num_threads(3)
    wrong: list[Any] = []

    def call() -> None:
        for _ in range(50):
            v, s = g(X)
            if v != value or s.tobytes() != slope.tobytes():
                wrong.append(v)

    callers = [threading.Thread(target=call) for _ in range(5)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong
    # All calls together share the helpers of one.
    assert set(states()[2:]) <= {_threads.ABSENT, _threads.IDLE, _threads.LATE}


def test_callers_and_helpers_are_no_more_than_may_be() -> None:
    """Helpers go where others call: these are counted, too, as in a worker of Dask's."""
    x = RNG.random(20_000_003)
    g = sg.compile(lambda x: np.sum(np.sin(x) * np.exp(-x)))
    value = g(x)
    sg.set_num_threads(3)
    together, seen = threading.Barrier(3), []

    def call() -> None:
        together.wait()
        assert g(x) == value

    callers = [threading.Thread(target=call) for _ in range(2)]
    for caller in callers:
        caller.start()
    together.wait()
    while any(caller.is_alive() for caller in callers):
        seen.append(_threads._active.value)
        time.sleep(0.001)
    for caller in callers:
        caller.join()
    # One more while a helper ends its chunk.
    assert max(seen) <= 4
    assert sum(n > 3 for n in seen) < len(seen) / 2
    sg.set_num_threads(2)
    busy: list[int] = []
    stop = threading.Event()

    def go_on() -> None:
        while not stop.is_set():
            assert g(X) == small

    small = g(X)
    callers = [threading.Thread(target=go_on) for _ in range(4)]
    for caller in callers:
        caller.start()
    for _ in range(50):
        busy.append(_threads._active.value)
        time.sleep(0.001)
    stop.set()
    for caller in callers:
        caller.join()
    assert 0 <= min(busy) <= max(busy) <= 5
    assert _threads._active.value == 0


@pytest.mark.slow  # a process that imports numba
def test_parallel_says_whether_threads_are_used() -> None:
    code = """
import numpy as np, symgrad as sg
from symgrad._core.runtime import threads as _threads

sg.set_num_threads(3)
f = lambda x: np.sum(np.sin(x) * np.exp(-x))
x = np.linspace(0, 1, 200_003)
started = lambda: any(bytes(_threads._helpers))
serial = sg.compile(f, parallel=False)(x)
assert not started()
kernel = sg.compile(f).kernel(x)
assert kernel(x) == serial and not started()
kernel = sg.compile(f, parallel=True).kernel(x)
assert kernel(x) == serial and started()
assert sg.compile(f)(x) == serial
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow  # numba's parallel pipeline takes seconds
def test_kernels_inside_a_parallel_region_of_numba() -> None:
    import numba

    kernel = sg.compile(wave, parallel=True).kernel(X)

    @numba.njit(parallel=True)
    def rows(x: Any) -> Any:
        out = np.empty(len(x))
        for k in numba.prange(len(x)):
            out[k] = kernel(x[k])
        return out

    sg.set_num_threads(3)
    np.testing.assert_array_equal(rows(np.stack([X] * 6)), [sg.compile(wave)(X)] * 6)


@CALLED
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own() -> None:
    g = sg.value_and_grad(wave)
    sg.set_num_threads(3)
    value, slope = g(X)
    child = os.fork()
    if child == 0:
        v, s = g(X)
        os._exit(0 if v == value and s.tobytes() == slope.tobytes() and helpers() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert g(X)[0] == value


@pytest.mark.slow
def test_a_process_ends_while_threads_are_at_work() -> None:
    code = """
import threading
import numpy as np, symgrad as sg
sg.set_num_threads(3)
g = sg.compile(lambda x: np.sum(np.sin(x) * np.exp(-x)))
x = np.linspace(0, 1, 200_003)
g(x)
def call():
    while True:
        g(x)
for _ in range(3):
    threading.Thread(target=call, daemon=True).start()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_without_helpers_the_caller_does_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where no thread can be started: a helper that has failed is not tried again."""
    g = sg.compile(wave)
    value = g(X)
    words = np.frombuffer(_threads._helpers, np.int64).reshape(-1, _threads.HELPER_BYTES // 8)
    sg.set_num_threads(64)
    g(X)
    while any(s not in (_threads.IDLE, _threads.ABSENT) for s in states()):
        pass  # the last of them fall asleep
    before = words[:, 2].copy()
    words[:, 2] = _threads.FAILED
    try:
        assert g(X) == value
        assert set(states()) == {_threads.FAILED}
    finally:
        words[:, 2] = before


def test_out_is_written_by_chunks() -> None:
    g = sg.value_and_grad(wave)
    sg.set_num_threads(3)
    value, slope = g(X)
    out = np.empty_like(X)
    again, same = g(X, out=(None, out))
    assert again == value
    assert same is out
    assert out.tobytes() == slope.tobytes()


# ---------------------------------------------------------------- how many


@pytest.mark.parametrize("count", [0, -1, 65, 2.0, True, "2"])
def test_numbers_of_threads_that_are_none(count: Any) -> None:
    with pytest.raises(sg.errors.ArgumentError, match="from 1 to 64"):
        sg.set_num_threads(count)


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({"SYMGRAD_NUM_THREADS": "5", "NUMBA_NUM_THREADS": "2"}, 5),
        ({"NUMBA_NUM_THREADS": "2", "OMP_NUM_THREADS": "3"}, 2),
        ({"OMP_NUM_THREADS": "3,2"}, 3),
        ({"SYMGRAD_NUM_THREADS": "1000"}, 64),
        ({"SYMGRAD_NUM_THREADS": "", "OMP_NUM_THREADS": "0"}, None),
    ],
)
def test_the_environment_says_how_many(
    variables: dict[str, str], wanted: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in _thread_count.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    sg.set_num_threads()
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert sg.get_num_threads() == (wanted or min(cpus or 1, _thread_count._quota(), 64))


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        (["250000 100000"], 3), (["50000 100000"], 1), (["max 100000"], np.inf), ([], np.inf),
        (["200000", "100000"], 2), (["-1", "100000"], np.inf),
    ],
)  # fmt: skip
def test_a_container_has_fewer_cpus(
    files: list[str], wanted: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [tmp_path / str(k) for k in range(len(files))]
    for place, text in zip(places, files, strict=True):
        place.write_text(f"{text}\n")
    monkeypatch.setattr(_thread_count, "_QUOTAS", (("/there/is/none",), tuple(map(str, places))))
    assert _thread_count._quota() == wanted


CHILDREN = """
import multiprocessing, sys
import symgrad as sg
def told(_):
    return sg.get_num_threads()
if __name__ == "__main__":
    sg.set_num_threads(7)
    for method in multiprocessing.get_all_start_methods():
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(*pool.map(told, [0]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("variables", [{}, {"OMP_NUM_THREADS": "3"}])
def test_child_processes_take_one_thread(variables: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(CHILDREN)
    env = {k: v for k, v in os.environ.items() if k not in _thread_count.VARIABLES}
    env["PYTHONPATH"] = str(Path(sg.__file__).parent.parent)
    run = subprocess.run(
        [sys.executable, "program.py"], env={**env, **variables}, cwd=tmp_path,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert set(run.stdout.split()) == {variables.get("OMP_NUM_THREADS", "1")}


def test_threadpoolctl_asks_and_sets() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    sg.set_num_threads(3)
    with threadpoolctl.threadpool_limits(1):
        assert sg.get_num_threads() == 1
    with threadpoolctl.threadpool_limits({"symgrad": 1000}):
        assert sg.get_num_threads() == 64
    assert sg.get_num_threads() == 3
    [known] = [x for x in threadpoolctl.threadpool_info() if x["user_api"] == "symgrad"]
    assert (known["num_threads"], known["version"]) == (3, sg.__version__)


@pytest.mark.parametrize("value", ["abc", "0", "-1", "2.5"])
def test_the_environment_is_refused_by_name(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("SYMGRAD_NUM_THREADS", value)
        with pytest.raises(sg.errors.ArgumentError, match="SYMGRAD_NUM_THREADS is a number"):
            sg.set_num_threads()


def test_parallel_is_yes_no_or_none() -> None:
    with pytest.raises(sg.errors.ArgumentError, match="parallel is True, False or None"):
        sg.compile(wave, parallel=2)  # type: ignore[call-overload]


# ---------------------------------------------------------------- what is cut


def cuts(f: Callable[..., Any], *given: Any) -> list[_cut.Cut | None]:
    program = sg.compile(f).program(*given)
    nests = [t for t in plan(program).tasks if isinstance(t, Nest)]
    return [_cut.cut_of(nest) for nest in nests]


def test_neighbours_that_add_to_the_same_rows_run_in_turn() -> None:
    x = np.ones(50)
    (cut,) = cuts(sg.grad(lambda x: np.sum((x[1:] - x[:-1]) ** 2)), x)
    assert cut is not None
    assert cut.coloured
    assert 1 < _cut.ROWS <= cut.rows
    (cut,) = cuts(sg.grad(lambda x: np.sum(np.exp(x[20:]) * np.cos(x[:-20]))), x)
    assert cut is None  # too far apart
    found = cuts(sg.grad(lambda x: np.sum(np.exp(x) * np.cos(x[::-1]))), x)
    assert not any(cut is None or cut.coloured for cut in found)


def test_what_must_run_in_order_is_not_cut() -> None:
    x, i = np.ones(50), np.arange(70)
    assert cuts(np.argmax, x) == [None]
    assert None in cuts(sg.grad(lambda x, i: np.sum(np.sin(x[i]) * np.cos(x[i]))), x, i)


def test_small_nests_of_fixed_size_are_not_cut() -> None:
    assert _cut.cut_of(Nest(())) is None
    assert _cut.cut_of(Nest((1, 100))) is None
    assert _cut.cut_of(Nest((1, 10**7))) is not None
