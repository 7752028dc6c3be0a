"""A module imports only from the layers below it, and none imports the other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_contracts_of_imports() -> None:
    """They are in pyproject.toml, [[tool.importlinter.contracts]]."""
    # A process of its own: the linter puts the working directory on sys.path and prints.
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", code, "--no-cache"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "2 kept, 0 broken" in run.stdout
