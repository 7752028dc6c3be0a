"""A module imports only from the layers below it, and at its top."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "symgrad").rglob("*.py"))

# Packages of optional extras: imported by the function that needs them, because symgrad works
# without them. Everything else is imported at the top, where the layers are visible.
OPTIONAL = {"flint", "graphviz", "matplotlib", "rich"}

# Importing numba takes longer than most functions take to compile: it waits for the first kernel.
LATE = {"._kernel", "numba"}

# SciPy's functions wait for the first numbers (symgrad._late): importing their modules takes
# longer than loading most programs. These give SciPy's names to users, who import it themselves.
SCIPY = {"scipy.linalg", "scipy.special"}
WITH_SCIPY = {"demo", "scipy", "torch"}


def local_imports(source: str) -> list[tuple[int, str]]:
    """Return line and name of the imports inside functions that are no optional extra."""
    found: dict[tuple[int, str], None] = {}
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = ["." * node.level + (node.module or "")]
            else:
                continue
            for name in names:
                if name.split(".")[0] not in OPTIONAL and name not in LATE:
                    found[node.lineno, name] = None
    return list(found)


def test_layers_contract() -> None:
    """The contract is in pyproject.toml, [[tool.importlinter.contracts]]."""
    # A process of its own: the linter puts the working directory on sys.path and prints.
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", code, "--no-cache"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 kept, 0 broken" in run.stdout


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_local_imports(path: Path) -> None:
    assert local_imports(path.read_text(encoding="utf-8")) == []


def imports_of_scipy(source: str) -> list[tuple[int, str]]:
    """Return line and name of the imports of modules that are to wait."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        found += [(node.lineno, n) for n in names if ".".join(n.split(".")[:2]) in SCIPY]
    return found


@pytest.mark.parametrize(
    "path", [m for m in MODULES if not WITH_SCIPY & set(m.relative_to(ROOT).parts)],
    ids=lambda path: str(path.relative_to(ROOT)),
)  # fmt: skip
def test_no_imports_of_scipy(path: Path) -> None:
    """Write ``from .._late import special``."""
    assert imports_of_scipy(path.read_text(encoding="utf-8")) == []


def test_imports_of_scipy_are_found() -> None:
    source = """
import scipy, scipy.special as sc
from scipy import linalg, version
from scipy.linalg import blas
from .._late import special
from ..scipy import linalg
"""
    assert imports_of_scipy(source) == [
        (2, "scipy.special"), (3, "scipy.linalg"), (4, "scipy.linalg"), (4, "scipy.linalg.blas"),
    ]  # fmt: skip


def test_local_imports_are_found() -> None:
    source = """
import numpy
def f():
    import scipy.special, rich.table
    class C:
        def g(self):
            from . import _graph
            from ..errors import ShapeError
            from rich.progress import Progress
            from flint import arb
"""
    assert local_imports(source) == [(4, "scipy.special"), (7, "."), (8, "..errors")]


# ---------------------------------------------------------------- circles

#: Modules that import each other, by the first of each circle, and why; there are to be fewer.
CIRCLES = {
    "_lower._bodied": "loops hold bodies that hold loops",
}


def imports(root: Path) -> dict[str, set[str]]:
    """Return the modules of a package that each of them imports; a package is its __init__."""
    modules = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        modules[parts[:-1] if parts[-1] == "__init__" else parts] = path
    found: dict[str, set[str]] = {}
    for name, path in modules.items():
        package = name if path.name == "__init__.py" else name[:-1]
        wanted: set[tuple[str, ...]] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                home = package[: len(package) - node.level + 1]
                home += tuple((node.module or "").split(".")) if node.module else ()
                named = {(*home, alias.name) for alias in node.names}
                wanted |= {n if n in modules else home for n in named}
        found[".".join(name)] = {".".join(n) for n in wanted if n in modules and n != name}
    return found


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the sets of modules that reach each other (R. Tarjan, SIAM J. Comput. 1, 1972)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in number:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == number[name]:
            circle = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(circle) > 1:
                found.append(sorted(circle))

    for name in sorted(graph):
        if name not in number:
            visit(name)
    return found


def test_modules_do_not_import_each_other() -> None:
    """Not for type checking either: who has to know of what is above asks it to register."""
    assert {circle[0] for circle in circles(imports(ROOT / "symgrad"))} <= CIRCLES.keys()


def test_circles_are_found(tmp_path: Path) -> None:
    for name, source in {
        "__init__": "from . import a", "a": "from .b import f", "b": "from .c import g",
        "c": "def g():\n    from . import a", "d": "from .a import f\nfrom . import e",
        "e": "import d",
    }.items():  # fmt: skip
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    assert circles(imports(tmp_path)) == [["a", "b", "c"]]
