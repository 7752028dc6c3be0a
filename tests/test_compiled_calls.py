"""Compiled functions of installed packages that are given traced values."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.cluster._vq as vq
import scipy.fft._pocketfft.pypocketfft as pypocketfft
import scipy.interpolate._ppoly as ppoly
import scipy.linalg.blas as blas
import scipy.ndimage._nd_image as nd_image
import scipy.signal._sigtools as sigtools
import scipy.spatial
import scipy.special.cython_special as cython_special
import scipy.stats._stats as stats

import symgrad as sg
from symgrad.errors import TraceError

ROW = np.array([0.1, 0.5, 0.9, 0.3])
POINTS = np.arange(12.0).reshape(4, 3) / 7
#: By the function's name: a call, its argument, and the hint.
CALLS: dict[str, tuple[Callable[[Any], Any], Any, str]] = {
    "gamma": (lambda x: cython_special.gamma(x[0]), ROW, r"scipy\.special\.gamma"),
    "beta": (lambda x: cython_special.beta(x.sum(), 2.0), ROW, r"scipy\.special\.beta"),
    "evaluate": (lambda x: ppoly.evaluate(x, x, x, 0, 0, x), ROW, "sg.custom_vjp"),
    "_kendall_dis": (lambda x: stats._kendall_dis(x, x), ROW, "sg.custom_vjp"),
    "vq": (lambda x: vq.vq(x, x)[0], POINTS, "sg.pure_callback"),
    "c2c": (pypocketfft.c2c, ROW, "sg.pure_callback"),
    "ddot": (lambda x: blas.ddot(x, x), ROW, "sg.pure_callback"),
    "_linear_filter": (lambda x: sigtools._linear_filter(ROW, ROW, x, 0), ROW, "pure_callback"),
    "correlate1d": (lambda x: nd_image.correlate1d(x, ROW, 0, x, 0, 0.0, 0), ROW, "pure_callback"),
    "cKDTree": (lambda x: scipy.spatial._ckdtree.cKDTree(x).n * x, POINTS, "sg.pure_callback"),
    "sha1": (lambda x: x * len(hashlib.sha1(x).digest()), ROW, "sg.pure_callback"),
    "pack": (lambda x: x * len(struct.pack("d", x[0])), ROW, "sg.pure_callback"),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", CALLS)
def test_the_function_is_named_with_the_line(name: str) -> None:
    call, x, hint = CALLS[name]
    for make in (sg.compile, sg.jacobian):
        with pytest.raises(TraceError, match=rf"(?s){name}.*Write instead: .*{hint}") as caught:
            make(lambda x: call(x))(x)
        assert "[test_compiled_calls.py:" in str(caught.value)
    assert "compiled" in str(caught.value)


def test_errors_about_plain_arguments_stay_as_they_are() -> None:
    def f(x: Any) -> Any:
        struct.pack("d", "text")
        return x

    with pytest.raises(struct.error, match="required argument is not a float"):
        sg.compile(f)(1.0)

    def g(x: Any) -> Any:
        return x * [1.0, 2.0].index(3.0)

    with pytest.raises(ValueError, match="is not in list"):
        sg.compile(g)(1.0)
