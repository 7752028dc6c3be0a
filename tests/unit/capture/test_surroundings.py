"""The cache where there is no home, and no space."""

from __future__ import annotations

import errno
import pwd
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.codegen.cache import cache_folder


def _nobody(*_: Any) -> NoReturn:
    raise KeyError("getpwuid(): uid not found")


def test_a_user_without_a_home_has_the_cache_that_was_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", _nobody)
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", str(tmp_path / "chosen"))
    assert cache_folder() == tmp_path / "chosen"
    monkeypatch.delenv("SYMGRAD_CACHE_DIR")
    assert cache_folder() is None
    assert sg.grad(lambda x: x * x * x)(2.0) == 12.0
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "symgrad"


def test_an_empty_home_is_not_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("SYMGRAD_CACHE_DIR")
    assert cache_folder() is None
    assert not Path("/.cache/symgrad").exists()


def test_a_full_disk_costs_the_cache_only(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("symgrad._core.codegen.private_files.os.fdopen", full)
    x = np.array([0.5, 1.0])
    gradient = sg.grad(lambda x: np.sum(x**3))
    np.testing.assert_allclose(gradient(x), 3 * x**2)
    np.testing.assert_allclose(gradient.kernel(x)(x), 3 * x**2)
    assert not [place for place in cache_dir.rglob("*") if place.is_file()]
