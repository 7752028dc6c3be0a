"""Questions of whether two values are one object, which stand-ins in a trace cannot answer."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import UnsupportedError


@dataclass
class Pair:
    left: Any
    right: Any


READ = np.array([1.0, 2.0])
READ_LIST = [1.0, 2.0]


class Model:
    def __init__(self) -> None:
        self.kept = READ

    def loss(self, x: Any, a: Any) -> Any:
        return x * (2.0 if a is self.kept else 1.0)


QUESTIONS: dict[str, Callable[..., Any]] = {
    "is": lambda x, a, b: x * (2.0 if a is b else 1.0),
    "is not": lambda x, a, b: x * (1.0 if a is not b else 2.0),
    "is_": lambda x, a, b: x * (2.0 if operator.is_(a, b) else 1.0),
    "id": lambda x, a, b: x * (2.0 if id(a) == id(b) else 1.0),
    "any": lambda x, a, b: x * (2.0 if any(a is k for k in (b,)) else 1.0),
    "set of ids": lambda x, a, b: x * (3.0 - len({id(a), id(b)})),
}
OBJECTS: dict[str, Callable[[], Any]] = {
    "array": lambda: np.array([1.0, 2.0]),
    "integers": lambda: np.array([1, 2]),
    "list": lambda: [1.0, 2.0],
    "list of texts": lambda: ["a", "b"],
    "tuple": lambda: (np.float64(1.0), 2.0),
    "dict": lambda: {"k": 1.0},
    "dataclass": lambda: Pair(1.0, 2.0),
    "array of none": lambda: np.zeros(0),
}


@pytest.mark.parametrize("make", [sg.compile, sg.grad, sg.value_and_grad])
@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_one_object_twice_is_never_taken_for_two(question: str, kind: str, make: Any) -> None:
    f, new = QUESTIONS[question], OBJECTS[kind]
    a, b = new(), new()
    g = make(f)
    expected = make(lambda x: x * 1.0)(3.0)
    for _ in range(3):  # the third goes straight to the machine code, if any does
        assert g(3.0, a, b) == expected
    with pytest.raises(UnsupportedError, match=r"passed twice.*pass a copy.*test_identity"):
        g(3.0, a, a)
    with pytest.raises(UnsupportedError, match="passed twice"):
        make(f)(3.0, x := new(), x)
    assert g(3.0, b, a) == expected


@pytest.mark.parametrize("share", [np.shares_memory, np.may_share_memory])
def test_memory_that_one_array_twice_shares(share: Any) -> None:
    a = np.ones(3)
    with pytest.raises(UnsupportedError, match="passed twice"):
        sg.compile(lambda x, a, b: x * (2.0 if share(a, b) else 1.0))(3.0, a, a)


def test_parts_of_arguments_that_are_one_object() -> None:
    row = [1.0, 2.0]

    def f(x: Any, a: Any) -> Any:
        return x * (2.0 if a["p"] is a["q"][0] else 1.0)

    assert sg.compile(f)(3.0, {"p": row, "q": (list(row), 1.0)}) == 3.0
    with pytest.raises(UnsupportedError, match="passed twice"):
        sg.compile(f)(3.0, {"p": row, "q": (row, 1.0)})


@pytest.mark.parametrize(
    ("f", "read"),
    [
        (lambda x, a: x * (2.0 if a is READ else 1.0), READ),
        (lambda x, a: x * (2.0 if a is READ_LIST else 1.0), READ_LIST),
        (Model().loss, READ),
    ],
    ids=["array", "list", "attribute"],
)
def test_an_argument_that_the_function_reads_besides(f: Any, read: Any) -> None:
    g = sg.compile(f)
    for _ in range(3):
        assert g(3.0, (type(read) is list and list(read)) or np.array(read)) == 3.0
    with pytest.raises(UnsupportedError, match="is also what the function captures"):
        g(3.0, read)


def test_questions_that_a_trace_answers() -> None:
    """None, types, names of one value within the trace; numbers, of which Python keeps some."""
    a = np.ones(2)

    def f(x: Any, a: Any, b: Any) -> Any:
        inner = a
        known = inner is a and b is not None and type(x) is float
        return x * (2.0 if known else 1.0) + np.sum(a * b)

    assert f(3.0, a, a.copy()) == sg.compile(f)(3.0, a, a.copy()) == 8.0
    g = sg.compile(lambda x, a, b: x * (2.0 if a is None else 1.0) * (3.0 if b is None else 1.0))
    assert g(3.0, a, a) == 3.0
    assert g(3.0, None, None) == 18.0
    assert sg.compile(lambda x, y: x * (2.0 if x is y else 1.0))(3.0, 4.0) == 3.0


def test_classes_and_equality_are_no_questions() -> None:
    """A dataclass has an ``__eq__`` that asks ``other.__class__ is self.__class__``."""
    a = np.ones(2)

    def f(x: Any, p: Any, b: Any) -> Any:
        known = Pair(0.0, 1.0) == Pair(0.0, 1.0) and p.__class__ is b.__class__
        return np.sum(x * a * p * b) * (2.0 if known else 1.0)

    assert sg.compile(f)(2.0, a, a) == f(2.0, a, a) == 8.0


def test_kernels_do_not_look_at_objects() -> None:
    f = QUESTIONS["is"]
    a, b = np.ones(2), np.ones(2)
    with pytest.raises(UnsupportedError, match=r"machine code does not.*test_identity"):
        sg.compile(f).kernel(3.0, a, b)
    assert sg.compile(f).kernel(3.0, 1.0, 2.0)(3.0, 1.0, 2.0) == 3.0
