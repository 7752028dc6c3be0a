"""A module imports only from the layers below it; tests of a layer alone have their folder."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: Imports and replacements of what users do not see. Any test may range over the registry of ops
#: and take nested results apart.
INSIDE = re.compile(
    r"(?:from|import) symgrad\._(?!core\.op import|core\.trace import flatten$)"
    r"|from symgrad import\s_"
    r"|(?:setattr|patch)\(\s*f?\"symgrad\._",
    re.MULTILINE,
)


def test_contracts_of_imports() -> None:
    """They are in pyproject.toml, [[tool.importlinter.contracts]]."""
    # A process of its own: the linter puts the working directory on sys.path and prints.
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", code, "--no-cache"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "3 kept, 0 broken" in run.stdout


def test_what_users_do_not_see_is_tested_in_a_folder_of_its_own() -> None:
    """A public behaviour is tested through the public API; tests/unit mirrors the package."""
    tests = ROOT / "tests"
    apart = (tests / "unit", tests / "attacks", tests / "replay", tests / "conftest.py")
    found = [
        str(file.relative_to(ROOT))
        for file in sorted(tests.rglob("*.py"))
        if not any(file.is_relative_to(place) for place in apart)
        and INSIDE.search(file.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_folders_of_unit_tests_are_those_of_the_package() -> None:
    unit = ROOT / "tests" / "unit"
    folders = {p.name for p in unit.iterdir() if p.is_dir() and any(p.glob("test_*.py"))}
    package = ROOT / "symgrad"
    places = (*package.iterdir(), *(package / "_core").iterdir())
    homes = {p.stem.removeprefix("_") for p in places}
    assert folders <= homes


def test_the_compiler_names_nothing_above_it_in_text_either() -> None:
    """An import by a name in a string passes the linter; a lower layer is given a provider."""
    by_name = re.compile(r"(?:late_module|import_module)\(\s*f?\"symgrad[.\"](?!_core)")
    found = {
        str(file.relative_to(ROOT)): by_name.findall(file.read_text(encoding="utf-8"))
        for file in (ROOT / "symgrad" / "_core").rglob("*.py")
    }
    assert not any(found.values()), found


def test_packages_meet_the_compiler_at_its_faces() -> None:
    """A module of ``_core`` with an underscore is its part's own; the part has a face.

    That is its ``__init__``, and its modules without an underscore.
    """
    package = ROOT / "symgrad"
    past = re.compile(r"from \.+_core\.(?:\w+\.)*_(?!_)\w+|from \.+_core[\w.]* import _(?!_)")
    found = {
        str(file.relative_to(ROOT)): past.findall(file.read_text(encoding="utf-8"))
        for file in package.rglob("*.py")
        if not file.is_relative_to(package / "_core")
    }
    assert not any(found.values()), {name: hits for name, hits in found.items() if hits}
