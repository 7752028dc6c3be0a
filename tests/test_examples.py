"""Every example and benchmark script runs, warnings shown as a user would see them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = [*sorted((ROOT / "examples").glob("*.py")), ROOT / "examples/nist/step_by_step.py"]
BENCHMARKS = sorted((ROOT / "examples" / "benchmarks").glob("[!_]*.py"))

# Scripts that need a package which symgrad does not.
NEEDS = {
    "train_digits.py": "sklearn", "opf.py": "ipyopt", "collocation.py": "ipyopt",
    "nutpie_model.py": "nutpie", "nutpie_draws.py": "nutpie", "scale_out.py": "distributed",
    "dask_chunks.py": "distributed",
}  # fmt: skip

# Scripts that save pictures in a given folder.
PICTURES = {f"seed_{name}.py" for name in ("1_backprop_graph", "3_grad_fn_walk", "4_path_sums")}

# Scripts that take more than a few seconds.
SLOW = {
    "bicycle.py",
    "train_digits.py",
    "step_by_step.py",
    "scale_out.py",
    "bundle_adjustment.py",
    "collocation.py",
    "fitting.py",
    "kept_promises.py",
    "right_values.py",
    "nutpie_model.py",
}


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
    # A busy machine is no error.
    assert "Warning" not in done.stdout.replace("SlowWarning", ""), done.stdout[-4000:]


@pytest.mark.parametrize("path", scripts(EXAMPLES))
@pytest.mark.quick(1)
def test_example(path: Path, tmp_path: Path) -> None:
    if path.name in NEEDS:
        pytest.importorskip(NEEDS[path.name])
    pictures = tmp_path / "pictures"
    wanted = path.name in PICTURES
    run(path, tmp_path, *([str(pictures)] if wanted else []))
    if wanted:
        assert {".dot", ".html"} <= {file.suffix for file in pictures.iterdir()}


@pytest.mark.parametrize("path", scripts(BENCHMARKS, slow=True))
def test_benchmark(path: Path, tmp_path: Path) -> None:
    if path.name in NEEDS:
        pytest.importorskip(NEEDS[path.name])
    # Workloads have their peers in test_benchmarks.py; here the script itself is run.
    workload = "harness" in path.read_text(encoding="utf-8")
    run(path, tmp_path, "--quick", *(["--peers", "symgrad,numpy"] if workload else []))
