"""Type checkers on a user's module: tests/typed.py, whose lines marked ``# wrong`` they refuse."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

USERS = Path(__file__).with_name("typed.py")
WRONG = {k for k, line in enumerate(USERS.read_text().splitlines(), 1) if "# wrong" in line}


def refused(command: list[str], folder: Path) -> tuple[set[int], str]:
    """Return the lines that a checker refuses, and what it said."""
    root = Path(__file__).parents[1]
    found = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False,
        env={"MYPYPATH": str(root), "PATH": str(Path(sys.executable).parent) + ":/usr/bin:/bin"},
    )  # fmt: skip
    said = found.stdout + found.stderr
    lines = re.findall(r"users\.py:(\d+):(?:\d+)?[ -]+(?:error|warning)", said)
    return set(map(int, lines)), said


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", "basedpyright", "pyright"])
def test_checkers_know_what_derivatives_take_and_give(checker: str, tmp_path: Path) -> None:
    program = shutil.which(checker, path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip(f"{checker} is not installed")
    shutil.copy(USERS, tmp_path / "users.py")
    if checker == "mypy":
        options = ["--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache")]
    else:  # without options it takes the package from where it runs
        (tmp_path / "symgrad").symlink_to(Path(__file__).parents[1] / "symgrad")
        options = ["--level", "error", "--pythonpath", sys.executable]
    lines, said = refused([program, *options, "users.py"], tmp_path)
    assert lines == WRONG, said


def test_the_users_module_lists_wrong_calls() -> None:
    assert len(WRONG) > 5
