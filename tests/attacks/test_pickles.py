"""Attacks: functions made of functions are pickled, and loaded where something has changed."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import symgrad as sg

cloudpickle = pytest.importorskip("cloudpickle")

X = np.array([0.3, 0.5, 0.8])

#: What a user's file may have; ``case`` stands for what is drawn.
FILE = """
import functools
import numpy as np
import symgrad as sg

k = {k}
table = np.array([1.0, 2.0, {k}])

class Box:
    shared = {k}
    def __init__(self): self.own = 2.0
    def method(self, x): return np.sum(np.sin(self.own * x) * self.shared)

box = Box()

def named(x): return np.sum(k * x**3)
def reads(x): return np.sum(table * x**2) + box.own * np.sum(np.cos(x))
def calls(x): return named(x) * reads(x) + box.method(x)
def scaled(x, rate=2.0, *, power=2): return np.sum(k * rate * x**power)
def around():
    inner, held = k, np.array([{k}, 1.0, 2.0])
    def closure(x): return np.sum(held * np.exp(-inner * x))
    return closure

{decorators}
def decorated(x): return np.sum(k * np.sin(table * x))

@sg.compile
def recursive(x, n=3): return np.sum(x) if n == 0 else np.sum(k * x) * recursive(x, n - 1)

@sg.custom_vjp
def rule(x): return np.sin(x)
rule.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (k * ct * np.cos(x),))

@sg.checkpoint
def kept(x): return k * np.sin(x)

@sg.adapt
def adapted(x):
    y = np.zeros(3)
    y[:] = k * x
    return y

def by_others(x): return np.sum(rule(x) + kept(x) + adapted(x))

lambdas = [lambda x: np.sum(k * x**4), lambda x, c=k: np.sum(np.exp(c * x)), around()]
partials = [functools.partial(scaled, rate=3.0), functools.partial(scaled, power=3)]
"""

#: How each function is said in the file, and whether it has a name of its own there.
FUNCTIONS = {
    "named": True, "reads": True, "calls": True, "scaled": True, "by_others": True,
    "box.method": True, "partials[0]": True, "partials[1]": True, "decorated": True,
    "recursive": True, "sg.compile(reads)": True,
    "lambdas[0]": False, "lambdas[1]": False, "lambdas[2]": False,
}  # fmt: skip

TRANSFORMS = (
    "sg.compile({f})", "sg.grad({f})", "sg.value_and_grad({f})", "sg.jacobian(sg.grad({f}))",
    "sg.hessian({f}, sparse=True)", "sg.vmap(sg.grad({f}))", "sg.grad(sg.checkpoint({f}))",
    "sg.compile(sg.grad(sg.compile({f})), backend='numpy')", "sg.grad({f}, argnums=(0,))",
    "sg.vjp({f}, x)[1]", "sg.implicit_minimum(lambda y, x: (y - {f}(x))**2, {f})",
    "sg.nlp({f}, None, x)",
)  # fmt: skip

#: What is done where the function was loaded; by name, that is here.
CHANGES = (
    "", "k = 7.5", "table = np.array([4.0, 5.0, 6.0])", "table[1] = 9.0", "box.own = 3.5",
    "Box.shared = 4.5", "box = Box(); box.own = 1.5", "def named(x): return np.sum(np.cos(k * x))",
    "k = 2", "k = np.float32(1.5)",
)  # fmt: skip


@contextmanager
def main_is(module: ModuleType) -> Iterator[None]:
    """Have a module stand for the program that was started."""
    kept = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        yield
    finally:
        sys.modules["__main__"] = kept


def result(g: Any) -> list[Any]:
    """Return what a function of any of the kinds gives, as arrays."""
    if isinstance(g, sg.NLP):
        found: Any = g.gradient(X), g.hessian(X, [], 1.0)
    elif "vmap" in repr(g):
        found = g(np.stack([X, 2 * X]))
    else:
        found = g(1.0) if "_pulled_back" in repr(g) else g(X)
    leaves = found if isinstance(found, tuple) else (found,)
    flat = [y for x in leaves for y in (x if isinstance(x, (tuple, list)) else (x,))]
    return [np.asarray(x.toarray() if hasattr(x, "toarray") else x) for x in flat]


@pytest.mark.filterwarnings("ignore::symgrad.errors.SparsityWarning")
@pytest.mark.attack(quick=10, whole=3000, judge="the same transformation, taken after loading")
def test_pickles(attack: Any) -> None:
    """Everything made of functions, by every pickler, into a process where names changed."""
    for case in attack:
        with case:
            check(case)


def check(case: Any) -> None:
    rng = case.rng

    def one_of(values: Any) -> Any:
        values = list(values)
        return values[int(rng.integers(len(values)))]

    decorators = one_of(("", "@sg.compile", "@sg.compile\n@sg.compile", "@sg.checkpoint"))
    text = FILE.format(k=one_of(("1.5", "2.5", "np.float64(0.5)")), decorators=decorators)
    is_main = rng.random() < 0.5
    file = ModuleType("__main__" if is_main else f"attack_{case.number}")
    exec(compile(text, "<file>", "exec"), vars(file))
    says, has_name = one_of(FUNCTIONS.items())
    transform = one_of(TRANSFORMS)
    expression = transform.format(f=says)
    vars(file)["x"] = X
    there = main_is(file) if is_main else registered(file)
    with there:
        made = eval(expression, vars(file))
        by_value = rng.random() < 0.5 or not has_name or "lambda" in expression
        if rng.random() < 0.5:
            result(made)  # what was learned stays here
        # The function goes along, so that both sides of the comparison read the same names.
        pair = [made, eval(says, vars(file)), file.named]
        if by_value:
            content = cloudpickle.dumps(pair, protocol=int(rng.integers(4, 6)))
        else:
            content = pickle.dumps(pair, protocol=int(rng.integers(0, 6)))
        if not (has_name and "lambda" not in expression) and rng.random() < 0.3:
            with pytest.raises(
                (pickle.PicklingError, AttributeError), match=r"pickle|local object"
            ):
                pickle.dumps(made)
    elsewhere = ModuleType("__main__")
    alone = is_main and by_value  # a worker, whose program is another
    with main_is(elsewhere if alone else file) if is_main else registered(file):
        damage(content, rng)
        again, function, named = pickle.loads(content)
        if rng.random() < 0.3:
            again = copy.deepcopy(again) if rng.random() < 0.5 else copy.copy(again)
        if rng.random() < 0.5:
            result(again)
        scope: dict[str, Any] = named.__globals__
        assert alone == (scope is not vars(file))
        names = {"np": np, "sg": sg, "x": X}
        change = one_of(CHANGES)
        if all(name in scope or name in names for name in read_by(change)):
            scope.update({k: v for k, v in names.items() if k not in scope})
            exec(change, scope)
        # Data of the call itself, and what lambdas hold, are as they were.
        fresh = eval(transform.format(f="function"), {**names, "function": function})
        for got, want in zip(result(again), result(fresh), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13, err_msg=expression)
    if not change:
        case.tally("unchanged")


def read_by(statement: str) -> tuple[str, ...]:
    code = compile(statement, "<change>", "exec")
    return tuple(
        name
        for name in code.co_names
        if name not in ("array", "sum", "cos", "own", "shared", "float32")
    )


@contextmanager
def registered(module: ModuleType) -> Iterator[None]:
    sys.modules[module.__name__] = module
    try:
        yield
    finally:
        del sys.modules[module.__name__]


def damage(content: bytes, rng: np.random.Generator) -> None:
    """Check that what is cut off, or is of another version, is an error."""
    for _ in range(3):
        cut = content[: int(rng.integers(len(content)))]
        with pytest.raises(Exception):  # noqa: B017, PT011  whichever pickle raises
            pickle.loads(cut)
    version = sg.__version__.encode()
    if version in content:
        with pytest.raises(sg.errors.DataError, match="pickled by symgrad"):
            pickle.loads(content.replace(version, b"9" + version[1:]))  # of the same length
