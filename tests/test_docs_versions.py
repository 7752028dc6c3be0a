"""docs/versions.md: its rows are runs of docs/build_versions.py; bounds are what is tested."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import symgrad as sg

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / ".ci").is_dir(), reason="of the repository")


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_versions", ROOT / "docs/build_versions.py")
    assert spec is not None
    assert spec.loader is not None
    made = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_a_row_says_what_was_run_when_and_of_which_commit() -> None:
    made = script()
    known = made.rows(made.PAGE.read_text(encoding="utf-8"))
    assert list(known) == list(made.ROWS)
    current = ".".join(sg.__version__.split(".")[:2])
    for row in known.values():
        _, _, versions, _, result, run = (cell.strip() for cell in row.strip("|").split("|"))
        if result.startswith("not run"):
            continue
        assert f"symgrad {current}." in versions, "run it again, or say that it was not"
        assert re.fullmatch(r"\d{4}-\d\d-\d\d, [0-9a-f]{8,}", run), "commit before it is run"
        assert re.fullmatch(r"\d+ passed", result)


def test_a_row_of_an_earlier_minor_version_says_so() -> None:
    made = script()
    old = made.stamped("3.12", "symgrad 0.0.7, Python 3.12.1", "quick suite", "9 passed", "then")
    lines = [*made.table({"3.12": old}, "0.1")]
    assert [line for line in lines if "not run since 0.0" in line and "then" in line]
    assert sum("not run" in line for line in lines) == len(made.ROWS)


def test_the_lowest_versions_are_the_bounds() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (ROOT / ".ci" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    lowest = dict(line.split("==") for line in lines if "==" in line)
    bounds = dict(requirement.split(">=") for requirement in project["dependencies"])
    assert lowest.keys() == bounds.keys()
    for name, bound in bounds.items():
        assert (lowest[name] + ".0").startswith(bound + "."), name
