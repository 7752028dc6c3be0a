"""Fourier transforms: NumPy's values, adjoints, derivatives, batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.op import registry
from symgrad.errors import ArgumentError, ShapeError, UnsupportedError
from tests.samples import samples_of

pytestmark = pytest.mark.usefixtures("few_kernels")

TRANSFORMS = {
    name: record
    for name, record in registry.composites.items()
    if record.function.__module__ == "symgrad._core.ops.np_fft"
}


def test_all_of_numpys_transforms_are_here() -> None:
    taken = {f for record in TRANSFORMS.values() for f in record.functions}
    for name in np.fft.__all__:
        function = getattr(np.fft, name)
        assert function in taken or "shift" in name or "freq" in name, name


def complex_samples(name: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    rng = np.random.default_rng(5)
    for (x, *rest), kwargs in samples_of(TRANSFORMS[name], np.random.default_rng(7)):
        assert not rest
        real_only = name in ("rfft", "rfft2", "rfftn", "ihfft")
        if x.dtype.kind == "f" and not real_only:
            x = x + 1j * rng.standard_normal(x.shape).astype(x.dtype)
        yield x, kwargs


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.quick(1)
def test_kernels_give_numpys_numbers(name: str) -> None:
    function = TRANSFORMS[name].functions[0]
    for k, (x, kwargs) in enumerate(complex_samples(name)):
        if k % 5:
            continue
        found, wanted = sg.compile(lambda x, kwargs=kwargs: function(x, **kwargs))(x), None
        wanted = function(x, **kwargs)
        assert found.dtype == wanted.dtype
        eps = np.finfo(wanted.dtype).eps
        np.testing.assert_allclose(found, wanted, rtol=0, atol=8 * eps * np.abs(wanted).max())


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.quick(1)
def test_adjoints(name: str) -> None:
    """``Re(ct * F t)`` is ``Re(F^T ct * t)``, and F is its own derivative."""
    function = TRANSFORMS[name].functions[0]
    rng = np.random.default_rng(1)
    with sg.backend("numpy"):
        for x, kwargs in complex_samples(name):
            x = np.asarray(x, np.complex128 if x.dtype.kind == "c" else np.float64)
            f = lambda x, kwargs=kwargs: function(x, **kwargs)  # noqa: E731
            y, pull = sg.vjp(f, x)
            ct = rng.standard_normal(y.shape)
            ct = ct + 1j * rng.standard_normal(y.shape) if y.dtype.kind == "c" else ct
            pushed = sg.jvp(f, (x,), (x,))[1]
            np.testing.assert_allclose(pushed, y, atol=1e-13)
            left, right = np.sum(ct * pushed).real, np.sum(pull(ct)[0] * x).real
            assert left == pytest.approx(right, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 210, 211])
def test_all_lengths(n: int) -> None:
    x = np.random.default_rng(n).standard_normal((3, n))
    np.testing.assert_allclose(FFT(x + 1j), np.fft.fft(x + 1j), atol=1e-12)
    np.testing.assert_allclose(RFFT(x), np.fft.rfft(x), atol=1e-12)


FFT, RFFT = sg.compile(lambda z: np.fft.fft(z)), sg.compile(lambda x: np.fft.rfft(x))


def test_one_compilation_serves_even_and_odd_lengths() -> None:
    f = sg.value_and_grad(lambda x: np.sum(np.abs(np.fft.rfft(x, norm="ortho")) ** 4))
    for n in (7, 10, 16, 23):
        x = np.random.default_rng(n).standard_normal(n)
        value, slope = f(x)
        assert value == pytest.approx(np.sum(np.abs(np.fft.rfft(x, norm="ortho")) ** 4))
        moved = np.sum(np.abs(np.fft.rfft(x + 1e-6 * slope, norm="ortho")) ** 4)
        assert (moved - value) / 1e-6 == pytest.approx(slope @ slope, rel=1e-3)
    assert f.traces == 1


@pytest.mark.usefixtures("no_kernels")
def test_parseval_and_convolution() -> None:
    rng = np.random.default_rng(2)
    x, k = rng.standard_normal((2, 9))
    slope = sg.grad(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2))(x)
    np.testing.assert_allclose(slope, 18 * x, rtol=1e-13)

    def filtered(x: Any, k: Any) -> Any:
        return np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(k), 9)

    by_k = sg.jacobian(filtered, argnums=1)(x, k)
    np.testing.assert_allclose(by_k, x[(np.arange(9)[:, None] - np.arange(9)) % 9], atol=1e-13)
    second = sg.hessian(lambda k: np.sum(filtered(x, k) ** 2))(k)
    np.testing.assert_allclose(second, 2 * by_k.T @ by_k, atol=1e-11)


def test_batches_and_loops() -> None:
    z = np.random.default_rng(3).standard_normal((4, 6)) * (1 - 2j)
    np.testing.assert_allclose(sg.vmap(np.fft.ifft)(z), np.fft.ifft(z), atol=1e-15)
    found = sg.vmap(sg.grad(lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 2)))(z.real)
    # Inner elements stand for two, of which one is counted.
    wanted = [6 * x + np.sum(x) + np.sum(x * (-1.0) ** np.arange(6)) * (-1.0) ** np.arange(6)
              for x in z.real]  # fmt: skip
    np.testing.assert_allclose(found, wanted, atol=1e-12)

    def steps(z: Any) -> Any:
        return sg.fori_loop(0, 4, lambda _, z: np.fft.fft(z, norm="ortho"), z)

    np.testing.assert_allclose(sg.compile(steps)(z[0]), z[0], atol=1e-13)


def test_programs_save_and_show() -> None:
    x = np.arange(4.0)
    f = sg.grad(lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 2))
    scope: dict[str, Any] = {}
    exec(f.program(x).source(), scope)
    np.testing.assert_allclose(scope["program"](x), f(x))
    assert "real_fourier" in f.program(x).source()


REFUSED = {
    "complex": (lambda: sg.compile(np.fft.rfft)(np.array([1j, 2])), ArgumentError, "np.fft.fft"),
    "norm": (
        lambda: sg.compile(lambda x: np.fft.fft(x, norm="both"))(np.ones(3)),
        ArgumentError, "'ortho'"),
    "axis": (lambda: sg.compile(lambda x: np.fft.fft(x, axis=1))(np.ones(3)), ShapeError, "axis 1"),
    "no points": (
        lambda: sg.compile(lambda x: np.fft.fft(x, 0))(np.ones(3)), ShapeError, "data points"),
    "empty": (lambda: sg.compile(np.fft.fft)(np.ones(0)), ShapeError, "data points"),
    "s": (
        lambda: sg.compile(lambda x: np.fft.fft2(x, s=(2,)))(np.ones((3, 3))),
        ArgumentError, "different lengths"),
    "tensors": (lambda: np.fft.fft(sg.tensor([1.0, 2.0])), UnsupportedError, "eager tensors"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    call, error, text = REFUSED[case]
    with pytest.raises(error, match=text):
        call()
