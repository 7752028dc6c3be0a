"""Questions by which code tells numbers from arrays, asked of values while they are traced.

Each case is a function that takes one branch or another by what a value says that it is: its
attributes, its type, abstract classes, protocols. The names are enumerated from Python's and
NumPy's classes, the code stands in a file of the user's or in an installed package.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import SymgradError

KINDS = (float, int, complex, bool, np.ndarray, np.float64, np.float32, np.int64, np.complex128)
#: What differs between versions of Python, and for arrays of fewer than two axes.
NAMES = sorted({name for kind in KINDS for name in dir(kind)} - {"mT"})

VALUES = {
    "float": 0.5, "int": 3, "bool": True, "complex": 0.5 + 1j,
    "float64": np.float64(0.5), "float32": np.float32(0.5), "int64": np.int64(3),
    "complex128": np.complex128(0.5 + 1j), "complex64": np.complex64(1.5),
    "floats": np.array([0.5, 2.0]), "singles": np.array([0.5, 2.0, 3.0], np.float32),
    "integers": np.array([1, 2, 3]), "booleans": np.array([True, False]),
    "complexes": np.array([1j, 2.0]), "matrix": np.arange(6.0).reshape(2, 3) + 0.5,
    "one": np.array([2.0]), "none": np.zeros((0, 2)),
}  # fmt: skip

#: Values that the functions ask: of the argument, and computed from it.
OF_ALL = ["x", "x", "x", "x + 1", "x * 2.0", "np.sin(x)", "abs(x)", "x ** 2", "np.sum(x)", "x == 1",
          "np.exp(1j * x)", "np.asarray(x) + 1", "1.5 + x", "x - np.float64(2.0)"]  # fmt: skip
OF_ARRAYS = ["x[0]", "x[1:]", "x.shape[0]", "x.T", "x[..., None]", "x.sum()", "x.reshape(-1)",
             "x.mean()", "np.zeros_like(x) + x", "np.stack([x, x])", "x.size"]  # fmt: skip
OF_NUMBERS = ["-x", "2.0 * x + 1.0", "x / 3", "np.array([x, x])", "x * np.ones(2)", "(x, x)[1]"]

ABSTRACT = [
    *(f"collections.abc.{k}" for k in ("Hashable", "Sized", "Iterable", "Iterator", "Reversible",
      "Container", "Collection", "Callable", "Sequence", "MutableSequence", "Mapping", "Set")),
    *(f"numbers.{k}" for k in ("Number", "Complex", "Real", "Rational", "Integral")),
    *(f"typing.{k}" for k in ("SupportsAbs", "SupportsRound", "SupportsFloat", "SupportsInt",
      "SupportsIndex", "SupportsComplex", "SupportsBytes", "Sized", "Hashable")),
    "float", "int", "complex", "bool", "list", "(int, float)", "int | float", "np.ndarray",
    "ndarray", "np.floating", "np.integer", "np.generic", "np.number", "np.float64", "np.float32",
]  # fmt: skip

CLASSES = ["float", "int", "complex", "np.ndarray", "ndarray", "np.float64", "np.float32",
           "np.int64", "np.complex128"]  # fmt: skip

BY_NAME = [
    "hasattr(v, {name!r})", "hasattr(v, name)", "getattr(v, {name!r}, None) is None",
    "getattr(v, name, None) is not None", "callable(getattr(v, {name!r}, None))",
    "attempted(v)",
]  # fmt: skip
BY_CLASS = ["isinstance(v, {kind})", "issubclass(type(v), {kind})", "not isinstance(v, {kind})",
            "Keeps({kind})(v)"]  # fmt: skip
BY_TYPE = [
    "type(v) is {kind}", "type(v) == {kind}", "type(v) in (list, {kind})", "v.__class__ is {kind}",
    "{{{kind}: 1}}.get(type(v), 0)", "type(v).__name__ == {kind}.__name__",
    "type(v).__module__ == {kind}.__module__", "type(v).__qualname__.startswith('n')",
    "matched(v)", "dispatched(v)",
]  # fmt: skip
OTHER = [
    "np.isscalar(v)", "np.iterable(v)", "callable(v)", "np.ndim(v) == 0", "'__len__' in dir(v)",
    "np.result_type(v, np.float32) == np.float32", "isinstance(v, numbers.Number)",
]  # fmt: skip

HEAD = """
import collections.abc, functools, numbers, typing
import numpy as np
from numpy import ndarray

name = {name!r}

class Keeps:
    def __init__(self, kind):
        self.kind = kind
    def __call__(self, v):
        return isinstance(v, self.kind)

def attempted(v):
    try:
        v.{plain}
    except AttributeError:
        return False
    return True

def matched(v):
    match v:
        case np.ndarray():
            return True
        case float():
            return False
    return True

@functools.singledispatch
def dispatched(v):
    return True

@dispatched.register(float)
def _(v):
    return False

def f(x):
    v = {value}
    return x * 2 if {question} else x * 3
"""


def written(rng: np.random.Generator) -> tuple[str, Any, bool]:
    """Return a function's source, its argument, and whether it is an installed package's."""
    x = VALUES[str(rng.choice(list(VALUES)))]
    own = OF_ARRAYS if isinstance(x, np.ndarray) else OF_NUMBERS
    value = str(rng.choice([*OF_ALL, *own]))
    name = str(rng.choice(NAMES))
    form = rng.integers(10)
    if form < 5:
        question = str(rng.choice(BY_NAME)).format(name=name)
    elif form < 7:
        question = str(rng.choice(BY_CLASS)).format(kind=rng.choice(ABSTRACT))
    elif form < 9:
        question = str(rng.choice(BY_TYPE)).format(kind=rng.choice(CLASSES))
    else:
        question = str(rng.choice(OTHER))
    plain = name if not name.startswith("__") else "shape"
    source = HEAD.format(name=name, plain=plain, value=value, question=question)
    return source, x, bool(rng.integers(2))


def made(source: str, number: int, installed: bool) -> ModuleType:
    """Return a module of some source, as a user's or as an installed package."""
    name = f"asks_{number}"
    module = ModuleType(name)
    folder = "/lib/python3/site-packages" if installed else "/home/user"
    module.__file__ = f"{folder}/{name}.py"
    sys.modules[name] = module
    exec(compile(source, module.__file__, "exec"), vars(module))
    return module


@pytest.mark.attack(quick=300, whole=20_000, judge="the plain function, or an error with its line")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.usefixtures("no_kernels")
def test_questions(attack: Any) -> None:
    """Questions to a value: attributes, types, abstract classes, protocols."""
    for case in attack:
        with case:
            source, x, installed = written(case.rng)
            module = made(source, case.number, installed)
            try:
                f = module.f
                try:
                    wanted = f(x)
                except (TypeError, ValueError, AttributeError, IndexError):
                    case.tally("no function of such a value")
                    continue
                try:
                    found = sg.compile(lambda x, f=f: f(x))(x)
                except SymgradError as error:
                    if not str(error).endswith("]"):
                        raise
                    case.tally("refused")
                    continue
                asked = source[source.rindex("v =") :]
                np.testing.assert_allclose(found, wanted, rtol=1e-6, err_msg=f"{x!r}: {asked}")
            finally:
                del sys.modules[module.__name__]
