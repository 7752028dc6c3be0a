"""Sizes whose bytes or positions no 64-bit number holds."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.numpy as snp

Array = np.ndarray[Any, Any]

#: Arrays whose elements are all ``x``, of one size or two.
SOURCES: list[Callable[..., Any]] = [
    lambda x, n, m: snp.zeros(n) + x,
    lambda x, n, m: np.broadcast_to(x, (n,)),
    lambda x, n, m: snp.zeros((n, m)) + x,
    lambda x, n, m: np.broadcast_to(x, (n, m)) * 1.0,
    lambda x, n, m: snp.full(n * m + 3, x),
    lambda x, n, m: snp.full((m, n // 2), 1.0) * x,
    lambda x, n, m: (snp.arange(n) * 0 + x)[:, None] * snp.ones(m),
    lambda x, n, m: np.outer(snp.ones(n), snp.full(m, x)),
    lambda x, n, m: snp.zeros((2, n % m + 5)) + x,
    lambda x, n, m: np.where(snp.ones(n)[:, None] > 0, x, snp.zeros(m)),
]

#: What becomes of them; the first element stays ``x``.
STEPS: list[Callable[..., Any]] = [
    np.sort, np.argsort, np.ravel, np.cumsum, np.transpose, np.median, np.flip,
    lambda y: np.concatenate([y, y]), lambda y: np.repeat(y, 3), lambda y: np.tile(y, 2),
    lambda y: np.pad(y.ravel(), (1, 2)), lambda y: np.where(y > 0, y, 1.0), lambda y: y[1:],
    lambda y: np.stack([y, y]), lambda y: y.ravel()[::2],
    lambda y: np.linalg.qr(np.atleast_2d(y))[0],
    lambda y: y[..., None] * np.ones(3), lambda y: np.diff(y), lambda y: y.reshape(-1),
]  # fmt: skip


def _size(rng: np.random.Generator) -> int:
    """Return a size near a power of two, or the two parts of one."""
    power = int(rng.choice([20, 29, 31, 32, 33, 40, 58, 60, 61, 62, 63, 64]))
    return (1 << power) // int(rng.choice([1, 1, 1, 3])) + int(rng.integers(-3, 6))


def _first(value: Any) -> float:
    while isinstance(value, tuple):
        value = value[0]
    return float(np.asarray(value).ravel()[0])


def _called(f: Any, calls: list[tuple[Any, ...]], kernel: bool) -> Any:
    g = sg.compile(f)
    for args in calls[:-1]:
        g(*args)
    if kernel:
        return g.kernel(*calls[0])(*calls[-1])
    return g(*calls[-1])


#: What a call may end in that there is no memory for.
REFUSALS = ("OutOfMemoryError", "ValueError", "OverflowError", "ShapeError", "IndexingError",
            "UnsupportedError", "MemoryError", "ArgumentError", "LinAlgError")  # fmt: skip


@pytest.mark.attack(quick=3, whole=600, part=100, judge="the same at small sizes; no signal")
def test_sizes(attack: Any, isolated: Any) -> None:
    """Arrays of about 2**31, 2**32, 2**61 and 2**63 elements and bytes, in 1 GB of memory."""
    for case in attack:
        with case:
            rng = case.rng
            source = SOURCES[rng.integers(len(SOURCES))]
            steps = [STEPS[k] for k in rng.integers(len(STEPS), size=rng.integers(3))]
            whole = rng.random() < 0.3

            def f(x: Any, n: Any, m: Any) -> Any:
                y = source(x, n, m)  # noqa: B023
                for step in steps:  # noqa: B023
                    y = step(y)
                return y if whole else y.ravel()[0] if hasattr(y, "ravel") else y[0].ravel()[0]  # noqa: B023

            large = (2.5, _size(rng), int(rng.choice([_size(rng), int(rng.integers(2, 9))])))
            calls = [large] if rng.random() < 0.4 else [(2.5, 11, 13), large]
            kernel = len(calls) == 2 and rng.random() < 0.1
            ending = isolated(_called, f, calls, kernel, seconds=60, memory=1 << 30)
            if ending.kind == "raised":
                assert ending.value[0] in REFUSALS, ending
                case.tally("refused")
                continue
            assert ending.kind == "returned", ending
            small = isolated(_called, f, [(2.5, 11, 13)], False)
            assert small.kind == "returned", small
            assert _first(ending.value) == _first(small.value)


# ---------------------------------------------------------------- what was found


def _median(a: Array, b: Array, c: Array) -> Any:
    return np.median(np.where(a[:, None, None] > 0, b[None, :, None], c[None, None, :]))


@pytest.mark.slow
def test_a_product_of_lengths_beyond_64_bits(isolated: Any) -> None:
    """2588957 * 526691 * 1691021 * 8 is 24 modulo 2**64."""
    small, large = (3, 4, 5), (2588957, 526691, 1691021)
    for calls in ([large], [small, large]):
        given = [tuple(map(np.ones, sizes)) for sizes in calls]
        ending = isolated(_called, _median, given, False)
        assert ending.kind == "raised", ending
        assert ending.value[0] == "OutOfMemoryError"
        assert "2588957" in ending.value[1]
        assert "test_sizes.py" in ending.value[1]
    given = [tuple(map(np.ones, sizes)) for sizes in (small, large)]
    assert isolated(_called, _median, given, True).value[0] == "ValueError"


@pytest.mark.parametrize("n", [2**61 + 4, 2**62, 2**63 - 1, 2**63, 2**64 + 5, 2**80])
@pytest.mark.parametrize("first", [True, False])
def test_lengths_beyond_memory(n: int, first: bool, isolated: Any) -> None:
    def least(x: Any, n: Any) -> Any:
        return np.sort(snp.zeros(n) + x)[0]

    ending = isolated(_called, least, [(1.0, n)] if first else [(1.0, 10), (1.0, n)], False)
    assert ending.value[0] == "OutOfMemoryError", ending
    assert str(n) in ending.value[1]


def test_numbers_beyond_64_bits_are_exact() -> None:
    """What is computed of an argument that is an integer is what Python computes."""
    g = sg.compile(lambda x, k: x * (k * k + 1))
    for k in (3, 1 << 40, 5, (1 << 62) + 1, 1 << 31):
        assert g(0.5, k) == 0.5 * (k * k + 1)


def test_memory_that_is_not_there(isolated: Any) -> None:
    """The message names the largest array and the line; nothing is lost."""

    def f(x: Any, n: Any) -> Any:
        return np.cumsum(np.sort(np.outer(x, snp.arange(n)))[0])

    def tried() -> Any:
        g = sg.compile(f)
        x = np.ones(1000)
        g(x, 20)
        texts = []
        for call in (lambda: g(x, 1 << 24), lambda: g(x, 1 << 24, out=np.ones(1 << 24))):
            with pytest.raises(MemoryError) as found:
                call()
            texts.append(str(found.value))
        assert g(x, 20)[-1] == 190.0
        return texts

    ending = isolated(tried, seconds=60, memory=1 << 30)
    assert ending.kind == "returned", ending
    for text in ending.value:
        assert "(1000, 16777216)" in text
        assert "test_sizes.py" in text


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_exported_functions_refuse_them(tmp_path: Path) -> None:
    source = sg.export_c(sg.compile(_median_of_outer), np.ones(3), np.ones(4))
    (tmp_path / "f.c").write_text(source)
    library = tmp_path / "f.so"
    build = ["cc", "-O1", "-shared", "-fPIC", "-o", library, tmp_path / "f.c", "-lm"]
    subprocess.run(build, check=True)
    function = next(
        getattr(ctypes.CDLL(library), line.split("(")[0].split()[-1])
        for line in source.splitlines()
        if line.startswith("int ")
    )
    out, ones = np.zeros(1), np.ones(4)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (ones, ones, out)]
    sizes = [ctypes.c_ssize_t(n) for n in ((1 << 32) + 1, 1 << 32)]
    assert function(*sizes, *pointers) == 1
    assert function(*(ctypes.c_ssize_t(n) for n in (3, 4)), *pointers) == 0
    assert out[0] == 12.0


def _median_of_outer(a: Array, b: Array) -> Any:
    return np.cumsum(np.outer(a, b))[-1]
