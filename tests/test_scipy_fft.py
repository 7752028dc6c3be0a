"""``scipy.fft`` in traced code: SciPy's numbers, types and errors, and the matrices of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.fft
from scipy.fft import rfft

import symgrad as sg
from symgrad.errors import ArgumentError

pytestmark = pytest.mark.usefixtures("few_kernels")

WAVES = ("dct", "idct", "dst", "idst")
FOURIER = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")


def numbers(shape: Any, dtype: str) -> Any:
    rng = np.random.default_rng(3)
    x = 5 * rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype[0] == "c" else x).astype(dtype)


def same(name: str, x: Any, *args: Any, **options: Any) -> None:
    """Compare traced and plain results: to SciPy's own error in their precision."""

    def f(x: Any) -> Any:
        return getattr(scipy.fft, name)(x, *args, **options)

    want = f(x)
    with sg.backend("numpy"):
        found = sg.compile(f)(x)
    assert (found.dtype, found.shape) == (want.dtype, want.shape)
    near = 30 * np.finfo(want.dtype).eps * max(1.0, np.abs(want).max(initial=0.0))
    np.testing.assert_allclose(found, want, rtol=0, atol=near, err_msg=f"{args} {options}")


@pytest.mark.quick(8)
@pytest.mark.parametrize("name", WAVES)
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9])
def test_cosines_and_sines_of_any_length(name: str, kind: int, n: int) -> None:
    if n == 1 and kind == 1 and name[-3:] == "dct":
        return  # SciPy has none
    for norm in (None, "ortho", "forward"):
        for orthogonalize in (None, True, False):
            same(name, numbers(n, "f8"), kind, norm=norm, orthogonalize=orthogonalize)


@pytest.mark.parametrize("name", WAVES)
def test_cosines_and_sines_of_arrays(name: str) -> None:
    for dtype in ("f4", "c8", "c16", "i4"):
        same(name, numbers((3, 4), dtype))
    for n, axis in ((3, 0), (7, 0), (6, 1), (2, -1)):
        same(name, numbers((5, 4), "f8"), 2, n, axis)
    same(name, numbers((0, 3), "f8"))
    several: tuple[dict[str, Any], ...] = (
        {}, {"axes": (0, 2)}, {"s": (3, 5)}, {"s": (2, 2), "axes": (1, 0)}, {"axes": ()},
        {"axes": 0, "s": 3}, {"type": 3, "norm": "ortho"},
    )  # fmt: skip
    for options in several:
        same(f"{name}n", numbers((2, 3, 4), "f8"), **options)


def options(name: str) -> Iterator[tuple[str, tuple[int, ...], dict[str, Any]]]:
    one: tuple[dict[str, Any], ...] = (
        {}, {"axis": 0}, {"n": 3}, {"n": 7, "axis": 0, "norm": "ortho"}, {"norm": "forward"},
        {"workers": 2, "overwrite_x": False},
    )  # fmt: skip
    for chosen in one:
        yield name, (3, 4), chosen
    for chosen in (
        {}, {"axes": (0, 2)}, {"s": (3, 5), "axes": (1, 2)},
        {"s": (2, 2), "axes": (1, 0), "norm": "ortho"}, {"norm": "forward"},
    ):  # fmt: skip
        yield f"{name}n", (2, 3, 4), chosen
        yield f"{name}2", (2, 3, 4), chosen


@pytest.mark.quick(10)
@pytest.mark.parametrize("name", FOURIER)
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i4"])
def test_fourier_transforms(name: str, dtype: str) -> None:
    if name in ("rfft", "ihfft") and dtype[0] == "c":
        pytest.skip("of real numbers")
    for function, shape, chosen in options(name):
        same(function, numbers(shape, dtype), **chosen)


OTHERS: tuple[Callable[[Any], Any], ...] = (
    lambda x: scipy.fft.fft(x) * scipy.fft.fftfreq(len(x), 0.1),
    lambda x: scipy.fft.fftshift(scipy.fft.rfftfreq(len(x), x[0])),
    lambda x: np.fft.fftfreq(5, x[0]) + np.zeros(1),
    lambda x: scipy.fft.ifftshift(x),
    lambda x: rfft(x, scipy.fft.next_fast_len(2 * len(x), real=True)),
    lambda x: scipy.fft.ifht(A=scipy.fft.fht(a=x, dln=0.1, mu=0.5), dln=0.1, mu=0.5, bias=0.1),
)


def test_shifts_frequencies_and_hankel() -> None:
    for n in (4, 5):
        for f in OTHERS:
            with sg.backend("numpy"):
                found = sg.compile(f)(numbers(n, "f8"))
            np.testing.assert_allclose(found, f(numbers(n, "f8")), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", WAVES)
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.quick(2)
def test_derivatives_are_the_matrix_for_all_lengths(name: str, kind: int) -> None:
    transform = getattr(scipy.fft, name)
    f = sg.grad(lambda x: np.sum(np.cos(transform(x, kind, norm="ortho"))))
    for n in (2, 3, 8, 9, 40):
        x = numbers(n, "f8")
        matrix = transform(np.eye(n), kind, norm="ortho").T
        np.testing.assert_allclose(f(x), -matrix.T @ np.sin(matrix @ x), atol=1e-12)
    assert f.traces == 1


def test_batches_and_second_derivatives() -> None:
    x = numbers((3, 4), "f8")
    matrix = scipy.fft.dct(np.eye(4)).T
    found = sg.vmap(sg.hessian(lambda x: np.sum(scipy.fft.dct(x) ** 3)))(x)
    want = [matrix.T @ np.diag(6 * matrix @ row) @ matrix for row in x]
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-10)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "type": (lambda x: scipy.fft.dct(x, 5), "1, 2, 3 or 4"),
    "norm": (lambda x: scipy.fft.dct(x, norm="both"), "'forward'"),
    "axis": (lambda x: scipy.fft.dst(x, axis=1), "no axis 1"),
    "one": (lambda x: scipy.fft.dct(x[:1], 1), "size < 2"),
    "none": (lambda x: scipy.fft.dst(x[:0]), r"data points \(0\)"),
    "twice": (lambda x: scipy.fft.fftn(x, axes=(0, -1)), "unique"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_are_scipys(case: str) -> None:
    f, text = REFUSED[case]
    with pytest.raises((ValueError, IndexError, RuntimeError)):
        f(np.ones(3))
    with pytest.raises((ArgumentError, ValueError), match=text):  # of an empty array: SciPy's own
        sg.compile(f)(np.ones(3))
