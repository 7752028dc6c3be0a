"""Bodies of loops and branches, and what they take from around them."""

import gc
import weakref

import numpy as np

import symgrad as sg
from symgrad._core.control import _build
from symgrad._core.control._fields import result
from symgrad._core.trace import Traced


def test_a_result_of_a_loop_around_that_a_branch_is_the_first_to_ask_for() -> None:
    def f(x):
        first, second = sg.while_loop(
            lambda s: s[0] < 3.0, lambda s: (s[0] + 1.0, s[1] * np.sin(s[0])), (x, x)
        )
        loop = first.node.operands[0]
        del second
        gc.collect()
        return sg.cond(first > 0, lambda: Traced(result(loop, 1)) ** 2, lambda: first)

    def plain(x):
        first, second = x, x
        while first < 3.0:
            first, second = first + 1.0, second * np.sin(first)
        return second**2

    value, slope = sg.value_and_grad(f)(0.5)
    assert np.isclose(value, plain(0.5))
    assert np.isclose(slope, (plain(0.5 + 1e-6) - plain(0.5 - 1e-6)) / 2e-6)


def test_a_derivative_does_not_look_at_all_loops_of_the_process(monkeypatch) -> None:
    class Asked(weakref.WeakSet):
        def __iter__(self):
            raise AssertionError("all bound variables are looked at")

    monkeypatch.setattr(_build, "_closed", Asked())
    double = sg.compile(lambda x: sg.fori_loop(0, 2, lambda i, c: c * x, x))
    assert sg.grad(lambda x: sg.grad(double)(x) * x)(2.0) == 36.0
