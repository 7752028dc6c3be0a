"""Every example and benchmark script runs, warnings shown as a user would see them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BENCHMARKS = sorted((ROOT / "examples" / "benchmarks").glob("*.py"))

# Scripts that take more than a few seconds.
SLOW = {"nist_strd.py"}


def scripts(paths: list[Path], *, slow: bool = False) -> list[object]:
    return [
        pytest.param(
            path,
            id=str(path.relative_to(ROOT / "examples")),
            marks=[pytest.mark.slow] if slow or path.name in SLOW else [],
        )
        for path in paths
    ]


def run(path: Path, folder: Path, *options: str) -> None:
    environment = os.environ | {
        "MPLBACKEND": "Agg",  # no window
        "PYTHONPATH": str(ROOT),  # the checkout, installed or not
    }
    done = subprocess.run(
        [sys.executable, str(path), *options],
        cwd=folder,  # what a script writes goes there, not into the checkout
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "Warning" not in done.stdout, done.stdout[-4000:]


@pytest.mark.parametrize("path", scripts(EXAMPLES))
def test_example(path: Path, tmp_path: Path) -> None:
    run(path, tmp_path)


@pytest.mark.parametrize("path", scripts(BENCHMARKS, slow=True))
def test_benchmark(path: Path, tmp_path: Path) -> None:
    run(path, tmp_path, "--quick")
