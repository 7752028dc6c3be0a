"""The public names are what ``__all__`` says, and each explains itself."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import symgrad

PUBLIC_MODULES = [
    "symgrad",
    *(
        module.name
        for module in pkgutil.walk_packages(symgrad.__path__, "symgrad.")
        if not any(part.startswith("_") for part in module.name.split("."))
    ),
]
NAMES = [name for name in symgrad.__all__ if not name.startswith("__")]
FUNCTIONS = [name for name in NAMES if inspect.isroutine(getattr(symgrad, name))]
CLASSES = [name for name in NAMES if inspect.isclass(getattr(symgrad, name))]


def test_dir_shows_what_all_says() -> None:
    # A fresh process: here, other tests have imported submodules, which dir() shows too.
    code = "import symgrad, json; print(json.dumps(dir(symgrad)))"
    command = [sys.executable, "-c", code]
    root = Path(__file__).parents[1]
    run = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    shown = {name for name in json.loads(run.stdout) if not name.startswith("_")}
    submodules = {name.split(".")[1] for name in PUBLIC_MODULES if "." in name}
    assert shown - submodules == set(NAMES) - submodules


def test_names_are_where_the_package_says() -> None:
    for home, names in symgrad._NAMES.items():
        module = importlib.import_module(home, "symgrad")
        for name in names:
            assert getattr(symgrad, name) is getattr(module, name)
    assert set(symgrad._NAMES["._tensor"]) == set(symgrad._tensor.__all__)
    with pytest.raises(AttributeError, match="no attribute 'gard'"):
        symgrad.gard  # noqa: B018


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_all_names_exist_once(name: str) -> None:
    module = importlib.import_module(name)
    names = getattr(module, "__all__", [])
    assert len(names) == len(set(names))
    assert [n for n in names if not hasattr(module, n)] == []
    assert module.__doc__


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_has_an_example(name: str) -> None:
    # --doctest-modules runs the examples; here they only have to be there.
    docstring = inspect.getdoc(getattr(symgrad, name))
    assert docstring, f"symgrad.{name} has no docstring"
    assert doctest.DocTestParser().get_examples(docstring), f"symgrad.{name} has no example"


@pytest.mark.parametrize("name", CLASSES)
def test_class_and_methods_are_described(name: str) -> None:
    cls = getattr(symgrad, name)
    described = {name: cls.__doc__}
    for key, member in vars(cls).items():
        if not key.startswith("_") and (inspect.isroutine(member) or isinstance(member, property)):
            described[f"{name}.{key}"] = inspect.getdoc(getattr(cls, key))
    assert [key for key, docstring in described.items() if not docstring] == []


def test_version() -> None:
    assert symgrad.__version__.count(".") >= 2
