"""The collector of cycles while graphs are built."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.base.collector import SELDOM, collecting_seldom


def test_what_was_set_is_put_back() -> None:
    before = gc.get_threshold()
    with collecting_seldom():
        assert gc.get_threshold() == SELDOM
    assert gc.get_threshold() == before
    with pytest.raises(KeyError), collecting_seldom():
        raise KeyError
    assert gc.get_threshold() == before


def test_blocks_that_overlap_leave_what_was() -> None:
    before = gc.get_threshold()
    first, second = collecting_seldom(), collecting_seldom()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold() == before
    second.__exit__(None, None, None)
    assert gc.get_threshold() == before


def test_what_the_code_in_it_sets_stays() -> None:
    before = gc.get_threshold()
    try:
        with collecting_seldom():
            gc.set_threshold(500, 5, 5)
        assert gc.get_threshold() == (500, 5, 5)
    finally:
        gc.set_threshold(*before)


def test_tracing_and_compiling_put_it_back() -> None:
    before, seen = gc.get_threshold(), set()

    def f(x: object) -> object:
        seen.add(gc.get_threshold())
        return np.sum(np.sin(x) ** 2)

    sg.grad(f)(np.ones(3))
    assert seen == {SELDOM}
    assert gc.get_threshold() == before
