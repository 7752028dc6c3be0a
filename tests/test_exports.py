"""The public names are declared in one place, are what they say, and explain themselves."""

from __future__ import annotations

import builtins
import doctest
import importlib
import inspect
import json
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import symgrad
import symgrad.torch

PUBLIC_MODULES = [
    "symgrad",
    *(
        module.name
        for module in pkgutil.walk_packages(symgrad.__path__, "symgrad.")
        if not any(part.startswith("_") for part in module.name.split("."))
    ),
]
#: The names of the compiler, and PyTorch's.
NAMES = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (symgrad, symgrad.torch)
    for name in module.__all__
}
FUNCTIONS = [name for name, value in NAMES.items() if inspect.isroutine(value)]
CLASSES = [name for name, value in NAMES.items() if inspect.isclass(value)]


def test_dir_shows_what_all_says() -> None:
    # A fresh process: here, other tests have imported submodules, which dir() shows too.
    code = "import symgrad, json; print(json.dumps(dir(symgrad)))"
    command = [sys.executable, "-c", code]
    root = Path(__file__).parents[1]
    run = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    shown = {name for name in json.loads(run.stdout) if not name.startswith("_")}
    submodules = {name.split(".")[1] for name in PUBLIC_MODULES if "." in name}
    assert shown - submodules == set(symgrad.__all__)


def test_the_compilers_names_are_few_and_not_pythons() -> None:
    assert len(symgrad.__all__) <= 60
    assert set(symgrad.__all__) & set(dir(builtins)) == {"compile"}


@pytest.mark.parametrize("name", ["relu", "sum", "float32", "long", "autograd", "manual_seed"])
def test_names_that_moved_say_where(name: str) -> None:
    wanted = rf"moved to symgrad.torch: import symgrad.torch as torch; torch.{name}$"
    with pytest.raises(AttributeError, match=wanted):
        getattr(symgrad, name)
    assert hasattr(symgrad.torch, name)


@pytest.mark.slow
def test_what_a_pickled_tensor_needs_comes_with_it() -> None:
    code = "import pickle, sys; x = pickle.loads(sys.stdin.buffer.read()); print(x.relu().tolist())"
    pickled = pickle.dumps(symgrad.tensor([-1.0, 2.0]))
    run = subprocess.run([sys.executable, "-c", code], input=pickled, capture_output=True)
    assert run.stdout.split() == [b"[0.0,", b"2.0]"], run.stderr


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_all_names_exist_once(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except symgrad.errors.MissingExtraError as error:
        pytest.skip(str(error))
    names = getattr(module, "__all__", [])
    assert len(names) == len(set(names))
    assert [n for n in names if not hasattr(module, n)] == []
    assert module.__doc__


def test_every_function_of_the_modules_of_pytorchs_names_is_public() -> None:
    for name in ("_algebra", "_arrange", "_create", "_elementwise", "_reductions"):
        module = importlib.import_module(f"symgrad.torch.{name}")
        own = {
            key for key, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == module.__name__
            and not key.startswith("_")
        }  # fmt: skip
        assert own == set(module.__all__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_has_an_example(name: str) -> None:
    # --doctest-modules runs the examples; here they only have to be there.
    docstring = inspect.getdoc(NAMES[name])
    assert docstring, f"{name} has no docstring"
    assert doctest.DocTestParser().get_examples(docstring), f"{name} has no example"


@pytest.mark.parametrize("name", CLASSES)
def test_class_and_methods_are_described(name: str) -> None:
    cls = NAMES[name]
    described = {name: cls.__doc__}
    for key, member in vars(cls).items():
        if not key.startswith("_") and (inspect.isroutine(member) or isinstance(member, property)):
            described[f"{name}.{key}"] = inspect.getdoc(getattr(cls, key))
    assert [key for key, docstring in described.items() if not docstring] == []


def test_version() -> None:
    assert symgrad.__version__.count(".") >= 2


@pytest.mark.parametrize(
    ("name", "instead"),
    [("jit", "sg.compile"), ("jacfwd", "sg.jacobian"), ("lax", "sg.scan"),
     ("elementwise_grad", "sg.vmap")],
)  # fmt: skip
def test_names_of_other_packages_say_what_there_is(name: str, instead: str) -> None:
    assert not hasattr(symgrad, name)
    with pytest.raises(AttributeError, match=f"has no attribute '{name}': .*{instead}"):
        getattr(symgrad, name)
    assert hasattr(symgrad, instead.removeprefix("sg."))


def test_attributes_of_other_arrays_say_what_to_write() -> None:
    with pytest.raises(AttributeError, match=r"'at'. Write instead: x = x.copy\(\)"):
        symgrad.grad(lambda x: x.at[0].set(1.0).sum())(np.ones(3))
    with pytest.raises(symgrad.errors.TraceError, match=r"`x\.strides`.*instead: .*sliding_window"):
        symgrad.grad(lambda x: x.strides[0] * x.sum())(np.ones(3))
    assert symgrad.compile(lambda x: x.sum() + hasattr(x, "at"))(np.ones(3)) == 3.0
