"""docs/downstream.md: its rows are runs of docs/build_downstream.py."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]


def script() -> ModuleType:
    place = ROOT / "docs" / "build_downstream.py"
    spec = importlib.util.spec_from_file_location("build_downstream", place)
    assert spec is not None
    assert spec.loader is not None
    made = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def libraries() -> set[str]:
    """The names in the script's table, which is read without what the script imports."""
    tree = ast.parse((ROOT / "examples/downstream/functions.py").read_text(encoding="utf-8"))
    [table] = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "LIBRARIES"
    ]
    assert isinstance(table, ast.Dict)
    return {ast.literal_eval(key) for key in table.keys if key is not None}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_rows_say_what_was_run_when_and_of_which_commit() -> None:
    made = script()
    text = made.PAGE.read_text(encoding="utf-8")
    rows = made.known(text, made.LIBRARIES)
    total = rows.pop("**all**")
    assert rows
    assert rows.keys() <= libraries()
    single = made.known(text, made.FUNCTIONS)
    for library, [line] in rows.items():
        _, *counts, field, version, run = cells(line)
        assert field
        assert version
        assert re.match(r"\d{4}-\d\d-\d\d, [0-9a-f]{8,}(?!-dirty)", run), "commit before it is run"
        functions, *outcomes = (int(count.replace(",", "")) for count in counts)
        assert functions == sum(outcomes)
        shown = [cells(one)[2] for one in single.get(library, [])]
        assert shown.count("wrong") + shown.count("crashed") == outcomes[1], library
        assert shown.count("refused") + shown.count("late") == outcomes[2], library
    assert [made.total(rows)] == total


def test_other_libraries_keep_their_rows() -> None:
    made = script()
    text = f"{made.LIBRARIES}\n{made.END}\nbetween\n{made.FUNCTIONS}\n{made.END}\n"

    def told(version: str, run: str, *outcomes: str) -> dict[str, object]:
        functions = [
            {"function": f"f{k}", "outcome": outcome, "reason": "a | b"}
            for k, outcome in enumerate(outcomes)
        ]
        return {"field": "algebra", "version": version, "run": run, "functions": functions}

    text = made.written(text, {"b": told("1", "day, commit", "right", "wrong", "refused")})
    text = made.written(text, {"a": told("2", "day, commit", "right", "nan")})
    text = made.written(text, {"a": told("3", "later, commit", "right", "right")})
    rows = made.known(text, made.LIBRARIES)
    assert [*rows] == ["a", "b", "**all**"]
    assert cells(rows["a"][0])[1:3] == ["2", "2"]
    assert cells(rows["a"][0])[-2] == "3"
    assert cells(rows["a"][0])[-1] == "later, commit"
    assert [cells(line)[1] for line in made.known(text, made.FUNCTIONS)["b"]] == ["`f1`", "`f2`"]
    assert "a" not in made.known(text, made.FUNCTIONS)
    assert cells(rows["**all**"][0])[1] == "**5**"
