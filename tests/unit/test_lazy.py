"""The stub that declares the public names."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import symgrad
import symgrad.torch
from symgrad._core.base.lazy_names import declared

STUB = Path(symgrad.__file__).with_suffix(".pyi")


def test_a_stub_is_read_as_type_checkers_read_it() -> None:
    homes, modules = declared(str(STUB))
    found: dict[str, str] = {}
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                assert alias.name == alias.asname  # a name that is exported
                found[alias.name] = "." * node.level + (node.module or "")
    assert {**homes, **dict.fromkeys(modules, ".")} == found
    assert symgrad.__all__ == list(homes)


def test_names_are_where_the_stub_says() -> None:
    homes, modules = declared(str(STUB))
    for name, home in homes.items():
        assert getattr(symgrad, name) is getattr(importlib.import_module(home, "symgrad"), name)
    for name in modules:
        assert getattr(symgrad, name) is importlib.import_module(f"symgrad.{name}")
    with pytest.raises(AttributeError, match=r"no attribute 'gard'$"):
        symgrad.gard  # noqa: B018
