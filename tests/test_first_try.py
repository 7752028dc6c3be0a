"""Tasks from science and engineering run as their authors wrote them: examples/first_try."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "first_try"

pytestmark = pytest.mark.usefixtures("scripts")

#: What is not done yet, with its tasks by module.
FAILING = {
    "roots found by SciPy within a trace": "energy.colebrook finance.yield_to_maturity",
}


def cases() -> list[Any]:
    """The tasks by the names of their functions, read without importing what they need."""
    found = []
    for path in sorted((FOLDER / "tasks").glob("*.py")):
        listed = ast.parse(path.read_text()).body[-1].value.elts
        for k, task in enumerate(listed):
            named = [w.value.value for w in task.keywords if w.arg == "name"]
            name = f"{path.stem}.{named[0] if named else ast.unparse(task.args[0])}"
            why = [why for why, names in FAILING.items() if name in names.split()]
            marks = [pytest.mark.xfail(reason=why[0])] if why else []
            found.append(pytest.param(path.stem, k, id=name, marks=marks))
    return found


@pytest.mark.quick(6)
@pytest.mark.parametrize(("module", "k"), cases())
def test_task(module: str, k: int) -> None:
    if module == "tables":
        pytest.importorskip("pandas")
    from task import check, tasks

    found = check(tasks(module)[k])
    assert not found.failure
