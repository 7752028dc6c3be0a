"""Programs of forty fields as their authors write them have exact derivatives."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import symgrad as sg

FOLDER = Path(__file__).parents[1] / "examples" / "benchmarks"

pytestmark = [
    pytest.mark.usefixtures("scripts"),
    pytest.mark.filterwarnings("ignore::symgrad.errors.SparsityWarning"),
]

#: Programs whose small size compiles in well below a second.
SHORT = {"arma", "american_put", "eikonal", "garch", "lj_energy", "pipe_network", "pose_graph"}

TRANSFORMS = {
    "gradient": lambda f, k: sg.grad(f, k),
    "sparse jacobian": lambda f, k: sg.jacobian(f, k, sparse=True),
    "sparse hessian": lambda f, k: sg.hessian(f, k, sparse=True),
}


def names() -> list[object]:
    """The programs' names, read without importing what they need."""
    found = []
    groups = sorted((FOLDER / "field_programs").glob("*.py"))
    for path in groups:
        last = ast.parse(path.read_text(encoding="utf-8")).body[-1]
        if isinstance(last, ast.Assign) and last.targets[0].id == "PROGRAMS":  # type: ignore[attr-defined]
            for call in last.value.elts:  # type: ignore[attr-defined]
                name = ast.unparse(call.args[1]).split(".")[-1]
                marks = () if name in SHORT else pytest.mark.slow
                found.append(pytest.param(name, marks=marks))
    return found


def test_all_are_found() -> None:
    from field_programs import programs

    assert sorted(p.values[0] for p in names()) == sorted(programs())  # type: ignore[attr-defined]
    assert len(programs()) >= 40


@pytest.mark.quick
@pytest.mark.parametrize("name", names())
def test_derivative(name: str) -> None:
    from field_programs import programs
    from field_programs.program import curvature_error, error

    program = programs()[name]
    derivative = TRANSFORMS[program.kind](program.function, program.argnums)
    arguments = program.arguments(program.sizes[0])
    assert error(program, arguments, derivative(*arguments)) <= program.tolerance
    changed = program.changed(arguments)
    assert error(program, changed, derivative(*changed)) <= program.tolerance
    if program.hessian:
        hessian = sg.hessian(program.function, program.argnums)(*arguments)
        assert curvature_error(program, arguments, hessian) <= program.tolerance


@pytest.mark.slow
@pytest.mark.parametrize("name", [p.values[0] for p in names()])  # type: ignore[attr-defined]
def test_derivative_at_the_sizes_that_are_measured(name: str) -> None:
    """What is long becomes loops again: other programs than those of the sizes for tests."""
    from field_programs import programs
    from field_programs.program import error

    program = programs()[name]
    derivative = TRANSFORMS[program.kind](program.function, program.argnums)
    for size in program.sizes[1:]:
        arguments = program.arguments(size)
        assert error(program, arguments, derivative(*arguments)) <= program.tolerance


def test_a_wrong_derivative_is_seen() -> None:
    from field_programs import Program
    from field_programs.program import curvature_error, error

    def cubes(x: np.ndarray) -> np.ndarray:
        return np.sum(x**3)

    program = Program("none", cubes, lambda n: (np.linspace(1, 2, n),), (3, 3, 4))
    (x,) = program.arguments(3)
    assert error(program, (x,), 3 * x**2) <= 1e-9
    assert error(program, (x,), 3 * x**2 + [0, 1e-4, 0]) > 1e-7
    assert error(program, (x,), np.array([1.0, np.nan, 1.0])) == np.inf
    assert curvature_error(program, (x,), np.diag(6 * x)) <= 1e-9
    assert curvature_error(program, (x,), np.diag(6 * x) * (1 + 1e-4)) > 1e-6
