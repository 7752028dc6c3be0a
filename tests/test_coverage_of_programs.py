"""The script that traces other people's functions, on small stand-ins for their checkouts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

BASE = """
class Benchmark:
    def __init__(self, N):
        self.N, self.bounds, self.nfev = N, [(1.0, 2.0)] * N, 0
"""

FUNCTIONS = """
import math
from numpy import arange, exp, sum
from numpy.random import uniform
from .go_benchmark import Benchmark

class Smooth(Benchmark):
    def __init__(self):
        super().__init__(3)

    def fun(self, x, *args):
        self.nfev += 1
        return sum(exp(-x) * arange(1.0, self.N + 1)) + math.sqrt(x[0])

class Noisy(Smooth):
    def fun(self, x, *args):
        return sum(x * uniform(0.0, 1.0, self.N))

class Staircase(Smooth):
    def fun(self, x, *args):
        return sum([float("%f" % v) for v in x])
"""

KERNEL = """
import numpy as np

def kernel(steps, a):
    for _ in range(steps):
        a[1:] += np.sin(a[:-1])
"""

MAKER = """
import numpy as np

def initialize(n, datatype=np.float32):
    return np.arange(n, dtype=datatype)
"""

INFO = {"short_name": "chain", "relative_path": "chain", "module_name": "chain",
        "func_name": "kernel", "parameters": {"S": {"steps": 3, "n": 100}},
        "init": {"func_name": "initialize", "input_args": ["n"], "output_args": ["a"]},
        "input_args": ["steps", "a"], "output_args": ["a"]}  # fmt: skip


@pytest.mark.slow
def test_the_script_says_what_becomes_of_functions(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    functions = tmp_path / "scipy" / "benchmarks" / "benchmarks" / "go_benchmark_functions"
    chain = tmp_path / "npbench" / "npbench" / "benchmarks" / "chain"
    infos = tmp_path / "npbench" / "bench_info"
    for folder in (functions, chain, infos):
        folder.mkdir(parents=True)
    (functions / "__init__.py").touch()
    (functions / "go_benchmark.py").write_text(BASE)
    (functions / "go_funcs_A.py").write_text(FUNCTIONS)
    (chain / "chain_numpy.py").write_text(KERNEL)
    (chain / "chain.py").write_text(MAKER)
    (infos / "chain.json").write_text(json.dumps({"benchmark": INFO}))
    found = tmp_path / "found.json"
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "traced_programs"), "--scipy", "scipy",
         "--npbench", "npbench", "--json", str(found)],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    findings = {f["name"]: f for f in json.loads(found.read_text())}
    verdicts = {name: (f["verdict"], f["slopes"]) for name, f in findings.items()}
    assert verdicts == {"Smooth": ("traced", 2), "Noisy": ("traced", 2),
                        "Staircase": ("refused", 0), "chain": ("traced", 2)}  # fmt: skip
    assert "a Python float" in findings["Staircase"]["detail"]
