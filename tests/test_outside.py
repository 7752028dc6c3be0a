"""Clocks, files, the environment: what they say while tracing must not become a constant."""

# ruff: noqa: DTZ001, DTZ005, DTZ006, DTZ011, PTH123
from __future__ import annotations

import copy
import datetime as dt
import math
import os
import pickle
import random
import subprocess
import time
from collections.abc import Callable
from datetime import datetime
from io import StringIO
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import OutsideError

X = np.array([1.0, 2.0])
HERE = Path(__file__)


def plain_mean(x: Any) -> Any:
    times = [time.time() for _ in range(3)]
    return x * np.mean(np.diff(times))


def kept(x: Any) -> Any:
    y = np.zeros(2)
    y[0] = time.time()
    return x * y


def imported(x: Any) -> Any:
    from time import monotonic

    return x + monotonic()


def opened(x: Any) -> Any:
    with open(HERE) as file:
        return x * len(file.read())


INNER = sg.compile(lambda x: x**2)

CLOCKS: list[Callable[[Any], Any]] = [
    lambda x: x * time.time(),
    lambda x: time.time() - x,
    lambda x: np.multiply(x, perf_counter()),
    lambda x: x + np.sin(perf_counter()),
    lambda x: x + math.sin(perf_counter()),
    lambda x: x + np.array([perf_counter(), 1.0]),
    lambda x: x + np.full(2, perf_counter()),
    lambda x: x + np.sum([perf_counter(), 1.0]),
    lambda x: x * float(time.time_ns()),
    lambda x: x * int(time.time()),
    lambda x: x * np.float64(time.time()),
    lambda x: x * np.float32(time.time_ns()),
    lambda x: x * abs(np.complex128(perf_counter())),
    lambda x: x * abs(complex(perf_counter())),
    lambda x: x * complex(0.0, perf_counter()).imag,
    lambda x: x * float(perf_counter()) if type(x) is np.ndarray else x,
    lambda x: x * min(time.time(), 3.0),
    lambda x: x if time.time() > 5.0 else 2.0 * x,
    lambda x: x * {5: 1.0}.get(time.time(), 2.0),
    lambda x: (x, time.time()),
    lambda x: INNER(time.time()) * x,
    lambda x: x * (datetime.now().year - 1980),
    lambda x: x * (dt.datetime.now() - dt.datetime(2000, 1, 1)).total_seconds(),
    lambda x: x if datetime.now().hour < 12 else -x,
    lambda x: x * dt.date.today().weekday(),
    lambda x: x * time.localtime().tm_hour,
    lambda x: x * datetime.fromtimestamp(time.time()).hour,
    lambda x: sg.fori_loop(0, 3, lambda _, v: v * time.time(), x),
    plain_mean, kept, imported,
]  # fmt: skip
FILES: list[Callable[[Any], Any]] = [
    opened,
    lambda x: x * len(HERE.read_text()),
    lambda x: x * len((HERE.parent / HERE.name).read_bytes()),
    lambda x: x * len(Path(str(HERE)).read_text()),
    lambda x: x * np.loadtxt(str(HERE)),
    lambda x: x * float(input()),
    lambda x: x * len(os.environ["HOME"]),
    lambda x: x * float(os.environ.get("SCALE", "2")),
    lambda x: x * float(os.getenv("SCALE", "2")),
]


@pytest.mark.quick
@pytest.mark.parametrize("k", range(len(CLOCKS)))
def test_the_time_is_refused_where_the_result_depends_on_it(k: int) -> None:
    with pytest.raises(OutsideError, match=r"the time.*pass the time.*\[test_outside\.py:\d+\]"):
        sg.compile(CLOCKS[k])(X)


@pytest.mark.quick
@pytest.mark.parametrize("k", range(len(FILES)))
def test_what_is_read_is_refused(k: int) -> None:
    with pytest.raises(OutsideError, match=r"read it outside.*\[test_outside\.py:\d+\]"):
        sg.compile(FILES[k])(X)


def test_tables_that_are_read_are_refused(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    file = tmp_path / "weights.csv"
    file.write_text("w\n1.0\n2.0\n", encoding="utf-8")
    read_csv = pd.read_csv

    def loss(x: Any) -> Any:
        return np.sum(pd.read_csv(file)["w"].to_numpy() * x**2)

    def imported(x: Any) -> Any:
        return np.sum(read_csv(str(file)).w.to_numpy() * x**2)

    for f in (loss, imported):
        with pytest.raises(OutsideError, match=r"pandas.read_csv\(.*test_outside.py:\d+"):
            sg.grad(f)(X)
    weights = pd.read_csv(file)  # outside of the function it is read
    found = sg.grad(lambda x: np.sum(weights["w"].to_numpy() * x**2))(X)
    np.testing.assert_allclose(found, [2.0, 8.0])
    with pytest.raises(OutsideError, match=r"pandas.Timestamp.now\(\).*test_outside.py:\d+"):
        sg.grad(lambda x: np.sum(x) * pd.Timestamp.now().timestamp())(X)
    year = sg.grad(lambda x: np.sum(x) * pd.Timestamp("2026-01-01").year)(X)
    np.testing.assert_array_equal(year, [2026.0, 2026.0])
    text = "w\n3.0\n4.0\n"  # the same in every call
    found = sg.grad(lambda x: np.sum(pd.read_csv(StringIO(text)).w.to_numpy() * x**2))(X)
    np.testing.assert_allclose(found, [6.0, 16.0])


def test_other_programs_are_not_asked() -> None:
    def loss(x: Any) -> Any:
        return x * float(subprocess.check_output(["echo", "3"]))

    with pytest.raises(OutsideError, match=r"subprocess.check_output\(\) is called"):
        sg.grad(loss)(2.0)


def test_a_log_may_tell_the_time(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def timed(x: Any) -> Any:
        start = perf_counter()
        y = np.sum(x**2)
        passed = perf_counter() - start
        print(f"{datetime.now():%Y} {datetime.now().isoformat()} {time.ctime()} {passed:.3f}")
        print("%.3f" % passed, round(1e3 * passed, 1), divmod(time.time_ns(), 60), str(passed))  # noqa: UP031
        with open(tmp_path / "log", "a") as log:
            print(time.strftime("%H:%M", time.localtime(time.time())), file=log)
        return y

    np.testing.assert_array_equal(sg.grad(timed)(X), 2.0 * X)
    assert str(datetime.now().year) in capsys.readouterr().out
    assert (tmp_path / "log").read_text()


class Timed:
    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.total = 0.0
        self.last: Any = None

    def __call__(self, x: Any) -> Any:
        start = perf_counter()
        y = np.sum(x**2)
        self.total += perf_counter() - start
        self.calls.append(datetime.now())
        self.last = datetime.now()
        return y


def test_what_is_kept_of_a_clock_is_a_number_outside() -> None:
    timed = Timed()
    g = sg.grad(timed)
    for _ in range(3):
        np.testing.assert_array_equal(g(X), 2.0 * X)
    assert type(timed.total) is float
    assert type(timed.last) is datetime
    [then] = timed.calls  # one trace
    assert then <= timed.last
    assert then.year == timed.last.year
    for other in (pickle.loads(pickle.dumps(then)), copy.deepcopy(then)):
        assert type(other) is datetime
        assert other == then


def test_clocks_of_adapted_and_called_back_functions() -> None:
    assert type(sg.adapt(lambda x: x * time.time())(1.0)) is float
    stamped = sg.compile(lambda x: sg.pure_callback(lambda v: v * 0 + time.time(), x, x))
    assert stamped(X)[0] < stamped(X)[0]


# What users write is tested, so NumPy's shared generator is meant.
def of_numpy(x: Any) -> Any:
    np.random.seed(1)  # noqa: NPY002
    return sum(math.exp(-x * np.random.rand()) for _ in range(5))  # noqa: NPY002


def of_python(x: Any) -> Any:
    random.seed(1)
    return sum(math.exp(-x * random.random()) for _ in range(5))


def without(x: Any) -> Any:
    return math.exp(-x * np.random.rand())  # noqa: NPY002


def by_the_system(x: Any) -> Any:
    np.random.seed()  # noqa: NPY002
    return math.exp(-x * np.random.rand())  # noqa: NPY002


def by_the_system_again(x: Any) -> Any:
    np.random.seed(1)  # noqa: NPY002
    np.random.seed()  # noqa: NPY002
    return math.exp(-x * np.random.rand())  # noqa: NPY002


def of_the_other(x: Any) -> Any:
    random.seed(1)
    return math.exp(-x * np.random.rand())  # noqa: NPY002


def test_a_seed_of_the_function_seeds_in_each_call() -> None:
    """The generator is left where a plain call leaves it."""
    for f, draw in ((of_numpy, np.random.rand), (of_python, random.random)):
        expected = f(2.0), draw()
        g = sg.compile(f)
        assert (g(2.0), draw()) == (pytest.approx(expected[0], rel=1e-14), expected[1])
        assert (g(2.0), draw()) == (pytest.approx(expected[0], rel=1e-14), expected[1])
        slope = (f(2.0 + 1e-6) - f(2.0 - 1e-6)) / 2e-6
        assert sg.grad(f)(2.0) == pytest.approx(slope, rel=1e-8)
    for f in (without, of_the_other):
        np.random.seed(5)  # noqa: NPY002
        value = f(2.0)
        np.random.seed(5)  # noqa: NPY002
        assert sg.compile(f)(2.0) == pytest.approx(value, rel=1e-14)
    for f in (by_the_system, by_the_system_again):
        with pytest.raises(
            OutsideError, match=r"np\.random\.seed\(\) takes a seed from the system"
        ):
            sg.compile(f)(2.0)


def test_programs_without_python_draw_after_a_seed_of_the_function_alone() -> None:
    """In functions that are traced as adapted copies, too."""
    for f in (of_numpy, of_python):
        assert sg.compile(f).kernel(2.0)(2.0) == pytest.approx(f(2.0), rel=1e-14)
    for f in (without, by_the_system, by_the_system_again, of_the_other):
        with pytest.raises(OutsideError, match=r"np\.random\.rand draws"):
            sg.compile(f).kernel(2.0)
