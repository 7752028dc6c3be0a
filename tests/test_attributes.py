"""What values of a trace answer about themselves: attributes, types, abstract classes."""

from __future__ import annotations

import collections.abc
import functools
import math
import numbers
import sys
import typing
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.stats
from numpy import ndarray

import symgrad as sg
from symgrad.errors import CaptureWarning, TraceError

VALUES = {
    "float": 0.5, "int": 3, "complex": 0.5 + 1j, "float64": np.float64(0.5),
    "float32": np.float32(0.5), "int64": np.int64(3), "bool_": np.bool_(True),
    "complex128": np.complex128(0.5 + 1j), "floats": np.array([0.5, 2.0]),
    "integers": np.array([1, 2, 3]), "booleans": np.array([True, False]),
    "complexes": np.array([1j, 2.0]), "matrix": np.ones((2, 3)),
}  # fmt: skip
KINDS = (float, int, complex, bool, np.ndarray, np.float64, np.float32, np.int64, np.bool_,
         np.complex128)  # fmt: skip
#: NumPy's own mT raises a ValueError for fewer than two axes.
NAMES = sorted({name for kind in KINDS for name in dir(kind)} - {"mT"})
#: What only memory has.
OF_MEMORY = {"data", "flags", "strides", "base", "ctypes", "__array_interface__",
             "__array_struct__"}  # fmt: skip


@pytest.fixture
def package() -> Iterator[Callable[[str], ModuleType]]:
    """Makes a module of an installed package from source."""
    made: list[str] = []

    def make(source: str) -> ModuleType:
        module = ModuleType(f"installed_{len(made)}")
        module.__file__ = f"/lib/python3/site-packages/{module.__name__}.py"
        sys.modules[module.__name__] = module
        made.append(module.__name__)
        exec(compile(source, module.__file__, "exec"), vars(module))
        return module

    yield make
    for name in made:
        del sys.modules[name]


def answers(asked: Callable[[Any], Any], x: Any) -> Any:
    """Return what a function says of a traced value."""
    found = []

    def f(x: Any) -> Any:
        found.append(asked(x))
        return x * 1

    sg.compile(f, backend="numpy")(x)
    return found[-1]


@pytest.mark.quick
@pytest.mark.parametrize("kind", VALUES)
def test_a_value_has_the_attributes_of_what_it_stands_for(kind: str, package: Any) -> None:
    x = VALUES[kind]
    listed = "".join(f"        {name!r}: hasattr(x, {name!r}),\n" for name in NAMES)
    module = package(f"""
def named(x):
    return {{\n{listed}    }}

def looked_up(x, names):
    return {{name: hasattr(x, name) for name in names}}
""")
    wanted = module.named(x)
    assert {k for k, v in wanted.items() if v} == {k for k in NAMES if hasattr(x, k)}
    assert answers(module.named, x) == wanted
    assert answers(lambda x: module.looked_up(x, NAMES), x) == wanted
    assert answers(lambda x: {name: hasattr(x, name) for name in NAMES}, x) == wanted


@pytest.mark.quick
@pytest.mark.parametrize("kind", VALUES)
def test_an_attribute_is_given_or_refused(kind: str, package: Any) -> None:
    x = VALUES[kind]
    names = [n for n in NAMES if n not in OF_MEMORY]
    module = package("""
def there(x, names):
    return [getattr(x, name, None) is not None for name in names]

def called(x, names):
    return [callable(getattr(x, name, None)) for name in names]
""")
    for ask in (module.there, module.called):
        assert answers(lambda x, ask=ask: ask(x, names), x) == ask(x, names)
    if not isinstance(x, (np.ndarray, np.generic)):
        return
    for name in ("data", "__array_interface__"):
        with pytest.raises(TraceError, match=rf"`x\.{name}`.*\[.*\.py:\d+\]$"):
            sg.compile(lambda x, name=name: x if getattr(x, name, None) is None else -x)(x)


def given(x: Any) -> Any:
    return x * (x.nbytes + 100 * x.itemsize)


def test_sizes_in_bytes_follow_the_shape() -> None:
    g = sg.compile(given)
    for shape in ((3,), (5,), (1,), (0,), (2, 3), (4, 3), (0, 3)):
        for dtype in (np.float64, np.float32, np.complex64, np.int64):
            x = np.ones(shape, dtype)
            np.testing.assert_array_equal(g(x), given(x))
    assert sg.grad(lambda x: np.sum(given(x)))(np.ones(4)).tolist() == [832.0] * 4


ABSTRACT = [
    *(getattr(collections.abc, k) for k in (
        "Hashable", "Sized", "Iterable", "Iterator", "Reversible", "Container", "Collection",
        "Callable", "Sequence", "Mapping")),
    *(getattr(numbers, k) for k in ("Number", "Complex", "Real", "Integral")),
    *(getattr(typing, k) for k in (
        "SupportsAbs", "SupportsRound", "SupportsFloat", "SupportsInt", "SupportsIndex",
        "SupportsComplex", "SupportsBytes")),
]  # fmt: skip


@pytest.mark.quick
@pytest.mark.parametrize("kind", VALUES)
def test_abstract_classes_have_the_instances_that_plain_values_are(kind: str, package: Any) -> None:
    x = VALUES[kind]
    module = package("""
import typing
def named(x, kinds):
    return [isinstance(x, kind) for kind in kinds]

def aliases(x):
    return [isinstance(x, typing.Sized), isinstance(x, typing.Iterable),
            isinstance(x, typing.Hashable)]
""")
    assert answers(lambda x: module.named(x, ABSTRACT), x) == module.named(x, ABSTRACT)
    assert answers(lambda x: [isinstance(x, k) for k in ABSTRACT], x) == module.named(x, ABSTRACT)
    assert answers(module.aliases, x) == module.aliases(x)

    def aliases(x: Any) -> list[bool]:
        return [isinstance(x, typing.Sized), isinstance(x, typing.Iterable)]

    assert answers(aliases, x) == aliases(x)


class Keeping:
    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def __call__(self, x: Any) -> Any:
        if not isinstance(x, self.kind):
            raise TypeError(f"{x} is of type {type(x)}")
        return x * 2


def whole(x: Any) -> Any:
    try:
        return x * 2 if x.is_integer() else x * 3
    except AttributeError:
        return x * 5


ASKING: dict[str, Callable[[Any], Any]] = {
    "is the imported class": lambda x: type(x) is ndarray,
    "is NumPy's class": lambda x: type(x) is np.ndarray,
    "class": lambda x: x.__class__ is ndarray,
    "among": lambda x: type(x) in (list, ndarray),
    "table": lambda x: {ndarray: 1, float: 2}.get(type(x), 3),
    "name": lambda x: type(x).__name__,
    "module": lambda x: type(x).__module__,
    "list": lambda x: getattr(x, "tolist", None) is None,
    "shape": lambda x: getattr(x, "shape", None) is None,
    "type of both": lambda x: str(np.result_type(x, np.float32)),
    "floor": lambda x: hasattr(x, "__floor__"),
    "device": lambda x: getattr(x, "device", None),
    "namespace": lambda x: getattr(x, "__array_namespace__", lambda: None)() is np,
    "imaginary part": lambda x: type(x.imag) is type(x.real),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", ASKING)
def test_types_are_those_of_the_values(name: str) -> None:
    ask = ASKING[name]
    for x in (0.5, np.float64(0.5), np.float32(0.5), 1j, np.array([0.25, 0.5])):
        assert answers(ask, x) == ask(x), x


PACKAGE = """
import numpy as np
from numpy import ndarray

def exact(x):
    return 1.0 - x if type(x) is ndarray else [1.0 - 2.0 * v for v in x]

def named(x):
    return x * 2 if type(x).__name__ in ("float", "float64") else x * 3

def is_array(x):
    return type(x) is ndarray

def said(x):
    if x is None:
        raise TypeError(f"{type(x)} is no array but %s" % type(x).__name__)
    return is_square(x)

def is_square(x):
    return isinstance(x, np.ndarray) and x.ndim == 2

def of_memory(x):
    table = np.array([1.0, 2.0])
    many = len(memoryview(table))
    return many * x if type(x) is ndarray else -x

class Model:
    def __call__(self, x):
        return self._of(x)
    def _of(self, x):
        return x * 2 if type(x) is ndarray else x * 3
    def of_itself(self, x):
        return type(self)() is None or 2 * x
"""


def test_installed_packages_are_answered_too(package: Any) -> None:
    module = package(PACKAGE)
    x, model = np.array([0.25, 0.5]), module.Model()
    for f in (
        lambda x: module.exact(x),
        lambda x: x * 2 if module.is_array(x) else x * 3,
        lambda x: model(x),
        lambda x: 2.0 * model.of_itself(x),
        functools.partial(module.exact),
    ):
        np.testing.assert_array_equal(sg.compile(f)(x), f(x))
    assert sg.compile(lambda x: module.named(x))(0.25) == 0.5
    assert sg.grad(lambda x: module.named(x))(0.25) == 2.0


def test_what_cannot_be_traced_with_its_types_answered_is_said(package: Any) -> None:
    module = package(PACKAGE)
    with pytest.warns(CaptureWarning, match=r"decides by the exact type.*installed_0\.py:\d+"):
        sg.compile(lambda x: module.of_memory(x))(np.ones(2))


def test_messages_about_types_are_no_tests_of_types(package: Any) -> None:
    module = package(PACKAGE)
    g = sg.compile(lambda x: x * 2 if module.said(x) else x * 3)
    np.testing.assert_array_equal(g(np.ones(2)), [3.0, 3.0])


def test_types_that_objects_keep() -> None:
    x = np.array([0.25, 0.5])
    for kind, value in (
        (float, 0.5), ((int, float), 0.5), (numbers.Real, 0.5), (ndarray, x), (np.float64, x[0]),
        (int | float, 0.5),
    ):  # fmt: skip
        model = Keeping(kind)
        np.testing.assert_array_equal(sg.compile(model)(value), model(value))
        with pytest.raises(TypeError, match="is of type"):
            sg.compile(Keeping(list))(value)


def test_numbers_that_are_integers() -> None:
    g = sg.compile(whole)
    for x in (0.5, 2.0, math.inf, np.float64(3.0), np.float32(2.5), np.array([2.0, 3.0])):
        np.testing.assert_array_equal(g(x), whole(x))


def test_an_exponent_is_asked_for_its_type() -> None:
    def f(p: Any) -> Any:
        return scipy.stats.pmean([1.0, 4.0], p)

    assert sg.compile(f)(2.5) == pytest.approx(f(2.5), rel=1e-14)
    step = 1e-6
    slope = (f(2.5 + step) - f(2.5 - step)) / (2 * step)
    assert sg.grad(f)(2.5) == pytest.approx(slope, rel=1e-8)


def test_absent_attributes_are_pythons_errors() -> None:
    with pytest.raises(AttributeError, match=r"'float' object has no attribute 'sum'.*np\.sum\(x"):
        sg.grad(lambda x: x.sum())(2.0)
    with pytest.raises(TraceError, match=r"`x\.tobytes\(\)`.*without a cache.*\[test_attributes"):
        sg.compile(lambda x: x * len(x.tobytes()))(np.ones(3))
    assert sg.compile(lambda x: x + len(np.arange(3.0).tobytes()))(1.0) == 25.0


def test_elements_cannot_be_deleted() -> None:
    def f(x: Any) -> Any:
        try:
            del x[0]
        except TypeError:
            return 2 * x
        except ValueError:
            return 3 * x
        return sum(x)

    for x in (0.5, np.float64(0.5), np.ones(2)):
        np.testing.assert_array_equal(sg.compile(f)(x), f(x))


def test_conversions_keep_to_their_rule() -> None:
    def f(x: Any) -> Any:
        try:
            return x.astype(int, casting="safe") * x
        except TypeError:
            return 2 * x

    x = np.array([0.5, 1.5])
    np.testing.assert_array_equal(sg.compile(f)(x), 2 * x)
    np.testing.assert_array_equal(
        sg.compile(lambda x: x.astype("f8", casting="safe"))(x.astype("f4")), x
    )
