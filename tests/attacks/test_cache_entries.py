"""Attacks: what lies in the cache on disk is damaged, exchanged, not the user's, or being written.

The cache of a part is filled once, with kernels of several functions, notes on them and Numba's
files. Each case damages it, and a process of its own computes every function again.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.codegen import private_files as _private
from symgrad._core.codegen.cache import loaded_quickly
from symgrad._core.runtime import load_memory, load_pool

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")

X = np.linspace(0.3, 2.0, 7)

#: Functions with their derivatives; close to each other, so that a wrong one goes unnoticed.
FUNCTIONS: tuple[tuple[Callable[[Any], Any], Callable[[Any], Any]], ...] = (
    (lambda x: np.sum(np.tan(x) * 2.0), lambda x: 2.0 + 2.0 * np.tan(x) ** 2),
    (lambda x: np.sum(np.tan(x) * 3.0), lambda x: 3.0 + 3.0 * np.tan(x) ** 2),
    (lambda x: np.sum(np.exp(x) * x), lambda x: np.exp(x) * (1.0 + x)),
    (lambda x: np.sum(np.tan(x)[::-1] * np.arange(7.0)), lambda x: np.arange(6.0, -1, -1)
     * (1.0 + np.tan(x) ** 2)),
)  # fmt: skip


def compute(numba: bool = True) -> float:
    """Compute all gradients, and one in Numba's world; return the largest error."""
    worst = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k, (function, derivative) in enumerate(FUNCTIONS):
            gradient, want = sg.grad(function), derivative(X)
            found = [gradient(X)]
            if numba and k == 0:
                found.append(gradient.kernel(X)(X))
            worst = max(worst, *(float(np.max(np.abs(g - want) / np.abs(1 + want))) for g in found))
    return worst


# ---------------------------------------------------------------- damage


def flip(place: Path, rng: np.random.Generator, _: list[Path]) -> None:
    if place.stat().st_size > 1 << 24:
        return
    content = bytearray(place.read_bytes())
    for _k in range(rng.integers(1, 4)):
        if content:
            content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    place.write_bytes(content)


def cut(place: Path, rng: np.random.Generator, _: list[Path]) -> None:
    os.truncate(place, rng.integers(place.stat().st_size + 1))


def extend(place: Path, rng: np.random.Generator, _: list[Path]) -> None:
    with place.open("ab") as file:
        file.write(rng.bytes(rng.integers(1, 100)))


def sparse(place: Path, rng: np.random.Generator, _: list[Path]) -> None:
    os.truncate(place, 1 << int(rng.integers(30, 43)))


def exchange(place: Path, rng: np.random.Generator, others: list[Path]) -> None:
    other = others[rng.integers(len(others))]
    aside = place.with_name("aside")
    place.rename(aside)
    if other.exists():
        other.rename(place)
    aside.rename(other)


def copy(place: Path, rng: np.random.Generator, others: list[Path]) -> None:
    other = others[rng.integers(len(others))]
    if other == place:
        return
    _private.discard(place)
    (shutil.copytree if other.is_dir() else shutil.copy)(other, place)


def link(place: Path, rng: np.random.Generator, others: list[Path]) -> None:
    other = others[rng.integers(len(others))]
    if other != place:
        _private.discard(place)
        place.symlink_to(other)


def hard_link(place: Path, rng: np.random.Generator, others: list[Path]) -> None:
    other = others[rng.integers(len(others))]
    if other != place and not other.is_dir():
        _private.discard(place)
        place.hardlink_to(other)


def mode(place: Path, rng: np.random.Generator, _: list[Path]) -> None:
    place.chmod(int(rng.integers(0o1000)))


def owner(place: Path, rng: np.random.Generator, _: list[Path]) -> None:
    if os.geteuid() == 0:
        os.chown(place, int(rng.choice((1, 1000, 65534))), -1)


def fifo(place: Path, *_: Any) -> None:
    _private.discard(place)
    os.mkfifo(place)


def folder(place: Path, *_: Any) -> None:
    _private.discard(place)
    place.mkdir()


def empty(place: Path, *_: Any) -> None:
    _private.discard(place)
    place.write_bytes(b"")


def gone(place: Path, *_: Any) -> None:
    _private.discard(place)


OF_FILES = (flip, cut, extend, sparse)
OF_ALL = (exchange, copy, link, hard_link, mode, owner, fifo, folder, empty, gone)


def damage(cache: Path, rng: np.random.Generator) -> None:
    """Damage one thing, or several."""
    for _ in range(int(rng.choice((1, 1, 2, 8)))):
        there = [p for p in sorted(cache.rglob("*")) if not p.is_symlink()]
        if not there:
            return
        place = there[rng.integers(len(there))]
        how = OF_ALL if place.is_dir() or rng.random() < 0.5 else OF_FILES
        if not place.is_dir() and not place.is_file():
            continue
        likes = [p for p in there if p.is_dir() == place.is_dir()]
        if rng.random() < 0.7:  # of the same name, in another entry
            likes = [p for p in likes if p.suffix == place.suffix]
        likes = [p for p in likes if p not in place.parents and place not in p.parents]
        if likes:
            how[rng.integers(len(how))](place, rng, likes)


# ---------------------------------------------------------------- cases


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache that is not damaged."""
    load_memory(loaded_quickly)  # once a process: what children inherit is not read again
    load_pool(loaded_quickly)
    cache = tmp_path_factory.mktemp("cache") / "filled"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYMGRAD_CACHE_DIR", str(cache))
        assert compute() < 1e-14
    return cache


@pytest.fixture
def cache(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Path]:
    """Return what makes the cache anew, and has it used."""
    place = tmp_path / "cache"
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", str(place))

    def fresh() -> Path:
        _private.discard(place)
        return Path(shutil.copytree(filled, place))

    return fresh


@pytest.mark.attack(quick=1, whole=2000, part=250, judge="derivatives by hand, in NumPy")
def test_cache_entries(attack: Any, isolated: Any, cache: Callable[[], Path]) -> None:
    """Bits, lengths, swaps, copies, links, modes, owners and kinds of files in the cache."""
    for case in attack:
        with case:
            damage(cache(), case.rng)
            for _ in range(2):  # a second process meets what the first has left
                ending = isolated(compute, case.number % 3 == 0, seconds=60)
                assert ending.kind == "returned", ending
                assert ending.value < 1e-14, ending


def compute_while_damaged(seed: int, place: Path) -> float:
    """Compute all gradients while a thread of another process damages the files."""
    parent, child = os.getpid(), os.fork()
    if not child:
        try:
            rng = np.random.default_rng(seed)
            while os.getppid() == parent:  # it may have been stopped for its time
                with contextlib.suppress(OSError, ValueError):  # the other removes files, too
                    damage(place, rng)
                time.sleep(float(rng.choice((0, 1e-4, 1e-3, 1e-2))))  # the other is to get on
        finally:
            os._exit(3)
    try:
        return max(compute(numba=False) for _ in range(3))
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.slow
@pytest.mark.attack(quick=1, whole=200, part=50, judge="derivatives by hand, in NumPy")
def test_cache_races(attack: Any, isolated: Any, cache: Callable[[], Path]) -> None:
    """Another process damages the cache's files, or removes them, while they are read."""
    for case in attack:
        with case:
            place = cache()
            ending = isolated(compute_while_damaged, case.number, place, seconds=120)
            assert ending.kind == "returned", ending
            assert ending.value < 1e-14, ending


@pytest.mark.slow
@pytest.mark.attack(quick=1, whole=200, part=50, judge="derivatives by hand, in NumPy")
def test_cache_writers(attack: Any, isolated: Any, cache: Callable[[], Path]) -> None:
    """Several processes fill one cache, and are killed at any moment; one computes after."""
    for case in attack:
        with case:
            place = cache()
            _private.discard(place)
            children = []
            for _ in range(3):
                child = os.fork()
                if not child:
                    try:
                        compute()
                    finally:
                        os._exit(0)
                children.append(child)
                signal.sigtimedwait((), float(0.2 * case.rng.random()))
            for child in children:
                if case.rng.random() < 0.8:
                    signal.sigtimedwait((), float(0.3 * case.rng.random()))
                    os.kill(child, signal.SIGKILL)
            for child in children:
                os.waitpid(child, 0)
            ending = isolated(compute, seconds=60)
            assert ending.kind == "returned", ending
            assert ending.value < 1e-14, ending
