"""``symgrad cache`` shows and clears the compiled programs on disk."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

import symgrad as sg
from symgrad.cli import main


@pytest.fixture
def folder(cache_dir: Path) -> Path:
    return cache_dir


def compile_two() -> None:
    sg.value_and_grad(lambda x: np.sum(np.sin(x) * 0.25))(np.ones(3))
    sg.compile(lambda x, y, a: (x + y) * a + 0.125)(np.ones(3), np.ones(3), 2.0)


def test_show_and_list(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache"]) == 0
    assert capsys.readouterr().out == f"{folder}: 0 programs, 0 bytes\n"
    compile_two()
    assert main(["cache", "--list"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    assert head == f"{folder}: 2 programs, {size / 1000:.1f} kB"
    assert [re.sub(r".* hours  ", "", line) for line in lines] == [
        "float64[1] -> float64, float64[1]", "2 x float64[1], float64 -> float64[1]",
    ]  # fmt: skip


def test_clear(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compile_two()
    old = min(folder.iterdir(), key=lambda p: p.stat().st_mtime_ns)
    os.utime(old, (0, 0))
    (folder / ".new-from-another-process").mkdir()
    assert main(["cache", "--clear", "--days", "30"]) == 0
    assert "1 program," in capsys.readouterr().out
    assert not old.exists()
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out.endswith("removed 1\n")
    assert [p.name for p in folder.iterdir()] == [".new-from-another-process"]


def test_a_damaged_entry_is_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compile_two()
    (max(folder.iterdir()) / "kernel.json").write_text("[")
    assert main(["cache", "--list"]) == 0
    listed = capsys.readouterr().out
    assert "damaged" in listed
    assert "?" not in listed


def test_programs_without_arguments_are_listed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sg.compile(lambda: np.sum(np.arange(5.0)))()
    assert main(["cache", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [re.sub(r".* hours  ", "", line) for line in lines] == ["nothing -> float64"]


def test_entry_code_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Code that takes arguments out of containers is compiled and kept, too."""
    sg.compile(lambda x: x["a"] + x["b"][0])({"a": 1.5, "b": [np.ones(3)]})
    assert main(["cache", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert {re.sub(r".* hours  ", "", line) for line in lines} <= {
        "entry code of symgrad", "float64, float64[1] -> float64[1]",
    }  # fmt: skip


def test_no_cache(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", "")
    assert main(["cache", "--list", "--clear"]) == 0
    assert "there is no cache" in capsys.readouterr().out


def test_clear_removes_what_killed_processes_left(folder: Path) -> None:
    compile_two()
    old, new = folder / ".new-1", folder / ".new-2"
    for place in (old, new):
        place.mkdir()
        (place / "code.o").write_bytes(b"half")
    os.utime(old, (0, 0))
    assert main(["cache", "--clear"]) == 0
    assert not old.exists()
    assert new.exists()  # another process may be writing it
