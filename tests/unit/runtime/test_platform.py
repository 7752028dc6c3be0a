"""What systems lack, pretended one by one in processes of their own: the results are the same."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symgrad._core.base import platform as _platform
from symgrad._core.base.package import FOLDER
from symgrad._core.runtime import structures
from tests.shared import STRICT

#: Prints the results of a bit of everything, and what shows that the lack is one.
SMOKE = """
import pickle
import threading

import numpy as np
from numba import njit
from scipy import special
from scipy.integrate import quad, solve_ivp
from scipy.sparse import csr_array

import symgrad as sg
from symgrad._core.base import platform as _platform
from symgrad._core.codegen.cache import loaded
from symgrad._capture._layout_checks import can_watch
from symgrad._core.runtime import has_libmvec, structures
from symgrad.cli.diff import limited_memory

scale = 2.0
x = np.linspace(0.1, 2.0, 33)

def f(x):
    return np.sum(np.sin(x) * np.exp(scale * x)) + np.log1p(x[0])

def loss(x):
    return np.sum(special.jv(2.0, x) * special.erf(x) + special.gammaln(x)) ** 2

g, both = sg.grad(f), sg.value_and_grad(loss)
found = [g(x), *both(x), sg.hessian(loss)(x[:4])]
scale = 3.0
found += [g(x), g(x.astype(np.float32)), g(x[::-2]), g(x[:1])]

matrix = csr_array(np.diag(x) + np.eye(33, k=2))
found.append(sg.grad(lambda v: np.sum((matrix @ v) ** 2))(x))

def decay(p):
    return solve_ivp(lambda t, y: -p * y, (0.0, 1.0), [1.0, 2.0], rtol=1e-8).y[:, -1].sum()

found.append(sg.grad(decay)(0.5))

large = np.linspace(0.1, 1.0, 600_000)  # memory that is kept, large pages, and threads
swing = sg.compile(lambda x: np.sin(x) * np.cos(x) ** 2, parallel=True)
sg.set_num_threads(3)
found += [swing(large)[::60_000], swing(large)[::60_000]]

results = []
threads = [threading.Thread(target=lambda: results.append(g(x))) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
found += results

found.append(njit(lambda kernel, x: kernel(x)[1])(both.kernel(x), x))
square = sg.grad(lambda x: np.sin(x) ** 2).cfunc(1.0, signature="double (double)")
found.append(quad(square.low_level_callable, 0.0, 1.0)[0])
with limited_memory(64.0):
    found.append(sg.compile(lambda a, b: a @ b)(np.ones((9, 9)), np.full((9, 9), 0.5)))

facts = {
    "fault": structures.FAULT, "libmvec": has_libmvec(), "near": _platform.NEAR,
    "words": can_watch(loaded), "long": _platform.LONG_BITS, "owners": _platform.OWNERS,
    "advice": _platform.ADVICE,
}
print(pickle.dumps(([np.asarray(a) for a in found], facts)).hex())
"""


def smoke(cache: Path, *lacks: str) -> tuple[list[Any], dict[str, Any]]:
    where = {"SYMGRAD_PRETEND": ",".join(lacks), "SYMGRAD_CACHE_DIR": str(cache)}
    run = subprocess.run(
        [sys.executable, *STRICT, "-c", SMOKE], env={**os.environ, **where},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return pickle.loads(bytes.fromhex(run.stdout.split()[-1]))


def compare(found: list[Any], expected: list[Any], lack: str) -> None:
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if lack in ("libmvec", "all"):  # functions of two libraries, each within some roundings
            close = 256 * np.finfo(a.dtype).eps
            np.testing.assert_allclose(
                a, b, rtol=close, atol=close * np.abs(b).max(), err_msg=str(k)
            )
        else:
            np.testing.assert_array_equal(a, b, err_msg=str(k))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    cache = tmp_path_factory.mktemp("cache")
    return cache, smoke(cache)[0]


@pytest.mark.slow
@pytest.mark.parametrize("lack", _platform.LACKS)
def test_results_are_the_same_without(lack: str, expected: tuple[Path, list[Any]]) -> None:
    cache, usual = expected
    first, facts = smoke(cache, lack)
    again, _ = smoke(cache, lack)  # from the disk
    compare(first, usual, lack)
    compare(again, first, "")
    assert facts["fault"] == (
        "a build of CPython that is known" if lack == "structures" else structures.FAULT
    )
    for name in "libmvec", "near", "words", "owners", "advice":
        assert not (name == lack and facts[name]), name
    assert lack != "long" or facts["long"] == 32


@pytest.mark.slow
def test_results_are_the_same_without_any(expected: tuple[Path, list[Any]]) -> None:
    cache, usual = expected
    compare(smoke(cache, *_platform.LACKS)[0], usual, "all")


@pytest.mark.slow
def test_names_on_the_disk_do_for_other_systems(expected: tuple[Path, list[Any]]) -> None:
    """Names that differ differ not by case alone, and have no characters that Windows refuses."""
    names = [p.relative_to(expected[0]).as_posix() for p in expected[0].rglob("*")]
    assert names
    assert all(re.fullmatch(r"[a-zA-Z0-9._/-]+", n) and len(n) < 160 for n in names)
    assert len({n.casefold() for n in names}) == len(names)


def test_what_is_pretended_is_checked() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "import symgrad._core.base.platform"],
        env={**os.environ, "SYMGRAD_PRETEND": "forks"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 1
    assert "SYMGRAD_PRETEND has forks" in run.stderr


def test_builds_without_the_interpreters_lock_are_refused() -> None:
    pretend = "import sysconfig; sysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1"
    run = subprocess.run(
        [sys.executable, "-c", f"{pretend}; import symgrad"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 1
    assert "ImportError: symgrad needs Python's global interpreter lock" in run.stderr


def test_systems_are_asked_in_one_place() -> None:
    """What names a system, or what only some have, stands in ``_core/base/platform.py``."""
    asked = re.compile(
        r"sys\.platform|platform\.(machine|system)\(|os\.name\b|os\.register_at_fork|os\.getuid"
        r"|^\s*import (fcntl|mmap|msvcrt)"
    )
    root = Path(FOLDER)
    found = {
        file.relative_to(root).as_posix()
        for file in root.rglob("*.py")
        if any(asked.search(line) for line in file.read_text("utf-8").splitlines())
    }
    # A certificate names the processor; so does an error on one that has no code.
    assert found == {
        "_core/base/platform.py",
        "_api/_certificates.py",
        "_core/runtime/_machine.py",
    }
