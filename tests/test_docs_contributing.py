"""docs/CONTRIBUTING.md: what it says to write works where it says to put it.

A comment ``<!-- in: FILE -->`` above a block names the file whose names the block sees. The blocks
run in one process of their own, since they change the registry.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import STRICT

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"<!-- in: (symgrad/[\w/]+)\.py -->\n<!-- skip: next -->\n```python\n(.*?)```", re.DOTALL
)

RUN = """
import sys
from importlib import import_module
import numpy as np
import scipy.special as sc
import symgrad as sg

{blocks}

def run(name, text):
    exec(compile(text, name, "exec"), vars(import_module(name)))

for name, text in BLOCKS:
    run(name, text)
"""

CHECK = """
from symgrad._core.op import registry
g = registry.ops["Gudermannian"]
x = np.array([-30.0, 0.0, 1.0, 800.0])
with np.errstate(over="ignore"):
    slope = sg.grad(lambda x: np.sum(g(x)))(x)
np.testing.assert_allclose(slope[:3], 1 / np.cosh(x[:3]), rtol=1e-14)
assert slope[3] == 0
y = np.array([0.2, 0.5])
np.testing.assert_allclose(sg.compile(lambda y: sc.pdtri(2, y))(y), sc.pdtri(2, y), rtol=1e-13)
"""


@pytest.mark.slow
def test_what_it_says_to_write_works() -> None:
    page = (ROOT / "docs" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = [(file.replace("/", "."), text) for file, text in BLOCK.findall(page)]
    assert len(found) == page.count("```python") > 3
    code = RUN.format(blocks=f"BLOCKS = {found!r}") + CHECK
    command = [sys.executable, *STRICT, "-c", code]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
