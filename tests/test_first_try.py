"""Tasks from science and engineering run as their authors wrote them: examples/first_try."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "first_try"

pytestmark = pytest.mark.usefixtures("scripts")


def cases() -> list[Any]:
    """The tasks by the names of their functions, read without importing what they need."""
    found = []
    for path in sorted((FOLDER / "tasks").glob("*.py")):
        listed = ast.parse(path.read_text()).body[-1].value.elts
        for k, task in enumerate(listed):
            named = [w.value.value for w in task.keywords if w.arg == "name"]
            name = f"{path.stem}.{named[0] if named else ast.unparse(task.args[0])}"
            found.append(pytest.param(path.stem, k, id=name))
    return found


@pytest.mark.quick(1)
@pytest.mark.parametrize(("module", "k"), cases())
def test_task(module: str, k: int) -> None:
    if module == "tables":
        pytest.importorskip("pandas")
    from task import check, tasks

    found = check(tasks(module)[k])
    assert not found.failure
