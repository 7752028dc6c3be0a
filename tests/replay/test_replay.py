"""The replay of emitted code: what is equal compares equal, and a lost rewrite is noticed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: The command itself, then once more without the rules for products.
CODE = """
import sys
from tests.replay.__main__ import main
from symgrad._core import rewrite as _rewrite
from symgrad._core.rewrite import RULES

file, names = sys.argv[1], ("transforms/grad_of_grad", "transforms/where")
assert main("record", file, *names) == 0
assert main("compare", file, *names) == 0
kept = [rule for rule in RULES if "Multiply" not in rule.heads]
assert len(kept) < len(RULES)
_rewrite._ALL = _rewrite.Simplifier(kept)
assert main("compare", file, "transforms/where") == 1
"""


@pytest.mark.slow
def test_a_lost_rewrite_is_noticed(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path / "record.gz")],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout + found.stderr
    assert "transforms/where: 0 trace and transform differs first" in found.stdout
