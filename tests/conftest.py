"""Settings of the whole test session."""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Read when NumPy and Numba are imported, so set before any test module imports them. Two
# threads are enough to be parallel, and BLAS threads beside pytest-xdist's workers only
# slow each other down. What the caller has set stays.
os.environ.setdefault("NUMBA_NUM_THREADS", "2")
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# The checker runs after every pass.
os.environ.setdefault("SYMGRAD_CHECK", "1")

# The same examples on every run and machine, so that a red test is red for everyone;
# HYPOTHESIS_PROFILE=explore looks for new ones. Compiling takes longer than any deadline.
_common = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", derandomize=True, max_examples=15, **_common)
settings.register_profile("all", derandomize=True, max_examples=50, **_common)
settings.register_profile("explore", max_examples=1000, print_blob=True, **_common)

import numpy as np  # noqa: E402

import symgrad as sg  # noqa: E402
from symgrad._core.base.state import now, reset  # noqa: E402
from symgrad._core.codegen.cache import loaded_quickly  # noqa: E402
from symgrad._core.op import Op, registry  # noqa: E402
from symgrad._core.runtime import load_memory, load_pool  # noqa: E402

# Tests run over all ops; tests/unit/test_late.py, in processes of its own, over who loads them.
registry.complete()

# A user's module for type checkers, with calls that are wrong.
collect_ignore = ["typed.py"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options: what runs besides the quick tests."""
    group = parser.getgroup("symgrad")
    group.addoption("--all", action="store_true", help="run the slow tests, too")
    group.addoption("--whole", action="store_true", help="try all cases of every attack")
    group.addoption("--cases", metavar="N:M", help="try only these cases of the chosen attacks")
    group.addoption("--tally", metavar="FILE", help="write how many cases ended how, as JSON")
    shard = "of what would run, only part K of N, which all machines cut alike"
    group.addoption("--shard", metavar="K/N", type=_shard, help=shard)


def _shard(text: str) -> tuple[int, int]:
    """Read ``K/N``."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(
            f"--shard takes K/N, 1 <= K <= N, such as 1/3, not {text!r}"
        )
    return int(found[1]), int(found[2])


class Tally:
    """Adds up the outcomes of all attacks from all workers, and writes them to a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, Counter[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "teardown":  # the last report has all that was noted
            return
        for key, value in report.user_properties:
            if key == "attack" and value[1]:
                name, outcomes = value
                self.found.setdefault(name, Counter()).update(outcomes)

    def pytest_sessionfinish(self) -> None:
        self.path.write_text(json.dumps(self.found, indent=1, sort_keys=True) + "\n")


def is_quick(config: pytest.Config) -> bool:
    """Whether neither ``--all`` nor the choice of tests asks for more than the quick tests.

    Also known as ``config.option.quick``, to where nothing can be imported from here.
    """
    option = config.option
    chosen = option.markexpr or option.keyword or any("::" in x for x in config.args)
    return not (option.all or option.whole or option.cases or chosen)


def pytest_configure(config: pytest.Config) -> None:
    """Give the session a kernel cache of its own, shared by pytest-xdist's workers."""
    config.option.quick = is_quick(config)
    usual = "quick" if config.option.quick else "all"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", usual))
    if "PYTEST_XDIST_WORKER" in os.environ:  # a worker inherits the session's folder
        return
    if config.getoption("tally"):
        config.pluginmanager.register(Tally(Path(config.getoption("tally"))), "tally")
    folder = tempfile.TemporaryDirectory(prefix="symgrad-tests-", ignore_cleanup_errors=True)
    os.environ["SYMGRAD_CACHE_DIR"] = folder.name
    config.add_cleanup(folder.cleanup)


@pytest.fixture(autouse=True)
def _patient_simplification(monkeypatch: pytest.MonkeyPatch) -> None:
    """Formulas must not depend on how busy the machine is; the limit has tests of its own."""
    for limit in ("SECONDS", "NAMED", "WRITTEN"):
        monkeypatch.setattr(f"symgrad._symbolic._limits.{limit}", 60.0)


@pytest.fixture(autouse=True)
def _as_found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep from the next test how numbers are printed, the state of the compiler, and modules.

    Those that a test has written, and IPython: where it is imported other code may be put into
    functions, so a first call does not go straight to its kernel, and the next may trace again.
    """
    modules, written = set(sys.modules), str(tmp_path_factory.getbasetemp())
    state = now()
    with np.printoptions():
        yield
    left = now()
    reset(state)
    assert left is state, f"the test has left a state behind: {left}"
    for name in sys.modules.keys() - modules:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(written) or name.partition(".")[0] == "IPython":
            del sys.modules[name]


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """``patience(SECONDS=0.1)``: how long formulas are simplified in this test."""

    def limit(**limits: float) -> None:
        for name, value in limits.items():
            monkeypatch.setattr(f"symgrad._symbolic._limits.{name}", value)

    return limit


#: Cases of one test that run in the quick suite, unless its mark ``quick`` says otherwise.
QUICK = 1


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not quick, and what is in another shard, as the options say."""
    for item in items:
        if re.search(r" at 0x[0-9a-f]{6}", item.nodeid):
            raise pytest.UsageError(f"{item.nodeid}: an address, another in each process")
    left_out = _not_quick(items) if is_quick(config) else set()
    if config.option.shard:
        part, parts = config.option.shard
        shards = {item: zlib.crc32(item.nodeid.encode()) % parts + 1 for item in items}
        left_out |= {item for item, shard in shards.items() if shard != part}
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


def _not_quick(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Tests that run with ``--all``, or where they are chosen, but not in the quick suite.

    Properties that a case shows within milliseconds (``@pytest.mark.quick``, without a number)
    run over all ops and functions, so none is without a test. Of other tests with many cases
    the quick suite runs one, or n (``@pytest.mark.quick(n)``), whose names (of an op, a
    function, a page) such tests have run least so far, and of these ones that are spread over
    all: so every property is tested, by ops as different as can be, and always by the same.
    """
    left_out = {item for item in items if item.get_closest_marker("slow")}
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item not in left_out:
            cases.setdefault(item.nodeid.split("[")[0], []).append(item)
    met: Counter[str] = Counter()
    for group in cases.values():
        mark = group[0].get_closest_marker("quick")
        if mark is not None and not mark.args:
            continue
        count = QUICK if mark is None else mark.args[0]
        names = [item.nodeid.partition("[")[2] for item in group]
        order = sorted(range(len(group)), key=lambda k: (met[names[k]], k * 0.618034 % 1))
        met.update(names[k] for k in order[:count])
        left_out.update(group[k] for k in order[count:])
    return left_out


def pytest_collection_finish() -> None:
    """Have full collections of garbage pass over symgrad, the libraries and the tests."""
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _frozen() -> Iterator[None]:
    """Have them pass over what a module's tests have left, too: it stays, by and large."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty kernel cache for one test alone."""
    load_memory(loaded_quickly)  # once a process: they are not to appear in this cache
    load_pool(loaded_quickly)
    folder = tmp_path / "cache"
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def broken() -> Iterator[Callable[..., None]]:
    """Replace fields of an op's record: frozen records are shared by all modules."""
    saved: list[tuple[Op, str, Any]] = []

    def replace(op: Op, **fields: Any) -> None:
        for name, value in fields.items():
            saved.append((op, name, getattr(op, name)))
            object.__setattr__(op, name, value)

    yield replace
    for op, name, value in reversed(saved):
        object.__setattr__(op, name, value)


@pytest.fixture
def some(pytestconfig: pytest.Config) -> Callable[..., Sequence[Any]]:
    """``some(cases, n)``: in the quick suite one case in ``n``, the last among them."""
    return lambda cases, n: cases[::-n][::-1] if is_quick(pytestconfig) else cases


@pytest.fixture
def vector_math(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use SIMD mathematics, also where the tests run without."""
    monkeypatch.setenv("SYMGRAD_VECTOR_MATH", "1")


@pytest.fixture
def no_kernels() -> Iterator[None]:
    """Let NumPy run the programs: the test is about derivatives, and kernels take time to make."""
    with sg.backend("numpy"):
        yield


@pytest.fixture
def few_kernels(pytestconfig: pytest.Config) -> Iterator[None]:
    """Let NumPy run the programs in the quick suite: elsewhere it makes kernels of all ops."""
    with sg.backend("numpy") if is_quick(pytestconfig) else contextlib.nullcontext():
        yield


@pytest.fixture
def written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave loops that Python has written out as they are: the test is about long programs."""
    monkeypatch.setattr("symgrad._core.control._reroll.LONG", 1 << 60)
    monkeypatch.setattr("symgrad._dispatch._function.words_of", lambda *_: None)  # found anew
    monkeypatch.setattr("symgrad._dispatch._long_loops.MOST", 1 << 60)


@pytest.fixture
def rolled_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make loops again of what Python has written out, of short programs, too."""
    monkeypatch.setattr("symgrad._core.control._reroll.LONG", 60)


@pytest.fixture(scope="session")
def backward_kernels() -> ModuleType:
    """The module whose ``table`` has the backward passes of tensors, kernels ``AFTER`` so many."""
    return importlib.import_module("symgrad._tensor._compiled")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium, driven by Selenium; skipped where either is missing."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs Chromium and its driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for switch in (
        "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
        "--window-size=1200,800",
    ):  # fmt: skip
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=driver)
    opened = webdriver.Chrome(options=options, service=service)
    yield opened
    opened.quit()


@pytest.fixture(scope="module")
def scripts(request: pytest.FixtureRequest) -> Iterator[None]:
    """Make the modules of the test module's ``FOLDER`` importable, as when that is run.

    They are forgotten after: the folders have modules of the same names.
    """
    folder, before = str(request.module.FOLDER), set(sys.modules)
    sys.path.insert(0, folder)
    yield
    sys.path.remove(folder)
    for name in sys.modules.keys() - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(folder):
            del sys.modules[name]
