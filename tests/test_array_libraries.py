"""Functions of other array libraries that are given traced values."""

from __future__ import annotations

import importlib
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg

#: A library in the manner of JAX's: wrappers, tests of types, arrays that say that they are some.
LIBRARY = """
    import functools
    import numpy

    class Array:
        __array_priority__ = 100
        def __init__(self, numbers):
            self.numbers = numpy.asarray(numbers)
        def __mul__(self, other):
            return Array(self.numbers * checked(other).numbers)
        __rmul__ = __mul__
        def __array__(self, dtype=None, copy=None):
            return self.numbers

    def checked(x):
        if isinstance(x, Array):
            return x
        if type(x) not in (numpy.ndarray, float, int):
            raise TypeError(f"{x!r} of type {type(x)} is not a valid array type")
        return Array(x)

    def jit(f):
        @functools.wraps(f)
        def wrapped(*args):
            return f(*map(checked, args))
        return wrapped

    @jit
    def sum(x):
        return Array(x.numbers.sum())

    @jit
    def softplus(x):
        return Array(numpy.logaddexp(x.numbers, 0.0))
"""


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Callable[[str, str], Any]]:
    """``install(name, text)`` returns an installed package."""
    place = tmp_path / "lib" / "site-packages"
    made: list[str] = []

    def put(name: str, text: str) -> Any:
        (place / name).mkdir(parents=True)
        (place / name / "__init__.py").write_text(textwrap.dedent(text))
        made.append(name)
        for key in [k for k in sys.modules if k.partition(".")[0] == name]:
            del sys.modules[key]
        importlib.invalidate_caches()
        return importlib.import_module(name)

    sys.path.insert(0, str(place))
    yield put
    sys.path.remove(str(place))
    for name in made:
        del sys.modules[name]


X = np.array([0.25, 0.5])


@pytest.mark.skipif("jax" in sys.modules, reason="the real one is here")
@pytest.mark.parametrize(("library", "said"), [("jax", "JAX"), ("cupy", "CuPy"), ("mlx", "MLX")])
def test_another_librarys_function_is_named(
    install: Callable[[str, str], Any], library: str, said: str
) -> None:
    jnp = install(library, LIBRARY)
    for f, name, instead in (
        (lambda x: jnp.sum(x**2), "jnp.sum", r"np\.sum"),
        (lambda x: np.sum(jnp.softplus(2.0 * x)), "jnp.softplus", "the same in NumPy"),
        (lambda x: jnp.jit(lambda v: v)(x), "jnp.jit", "the same in NumPy"),
    ):
        start = time.thread_time()
        with pytest.raises(sg.errors.TraceError, match=f"{name} of {said} .*{instead}") as caught:
            sg.grad(f)(X)
        assert time.thread_time() - start < 1.0
        assert "test_array_libraries.py:" in str(caught.value)


@pytest.mark.skipif("jax" in sys.modules, reason="the real one is here")
def test_its_arrays_of_numbers_are_taken(install: Callable[[str, str], Any]) -> None:
    jnp = install("jax", LIBRARY)
    weights = jnp.Array([1.0, 2.0])
    with pytest.raises(sg.errors.SymgradError, match="JAX"):
        sg.grad(lambda x: np.sum(weights * x))(X)
    found = sg.grad(lambda x: np.sum(np.asarray(weights) * x**2))(X)
    np.testing.assert_allclose(found, 2 * np.array([1.0, 2.0]) * X)


def test_the_real_jax() -> None:
    jnp = pytest.importorskip("jax.numpy")
    sg.grad(np.sum)(X)
    for f in (lambda x: jnp.sum(x**2), lambda x: np.sum(jnp.exp(x)), lambda x: jnp.asarray(x)[0]):
        start = time.thread_time()
        with pytest.raises(sg.errors.TraceError, match=r"jnp\.\w+ of JAX .*Write instead: np\."):
            sg.grad(f)(X)
        assert time.thread_time() - start < 5.0


# ---------------------------------------------------------------- arguments of other libraries


class Exchanged:
    """An array that has nothing but the exchange protocol."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers, self.given = numbers, 0

    def __dlpack__(self, **options: Any) -> Any:
        self.given += 1
        return self.numbers.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.numbers.__dlpack_device__()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64", "bool"])
def test_arguments_by_dlpack(dtype: str) -> None:
    numbers = np.arange(6).reshape(2, 3).astype(dtype)
    f = sg.compile(lambda x, y: (x * 2, np.sum(x) + y))
    for array in (numbers, numbers.T, numbers[:, ::2], numbers[:0], numbers[0, 0, np.newaxis]):
        given = Exchanged(array)
        double, total = f(given, 1.5)
        assert given.given == 1
        assert double.dtype == (array * 2).dtype
        np.testing.assert_array_equal(double, array * 2)
        np.testing.assert_array_equal(total, np.sum(array) + 1.5)


def test_derivatives_of_arguments_by_dlpack() -> None:
    numbers = np.arange(3.0)
    given = Exchanged(numbers)
    assert sg.grad(lambda p: np.sum(p["x"] ** 2))({"x": given})["x"].tolist() == [0.0, 2.0, 4.0]
    assert sg.hessian(lambda x: np.sum(x**3))(given).tolist() == np.diag(6 * numbers).tolist()
    numbers[:] = 1.0  # its memory is read, and not a copy of it
    assert sg.grad(lambda p: np.sum(p["x"] ** 2))({"x": given})["x"].tolist() == [2.0, 2.0, 2.0]


def test_read_only_memory_by_dlpack() -> None:
    numbers = np.arange(3.0)
    numbers.flags.writeable = False
    try:
        numbers.__dlpack__(max_version=(1, 0))
    except (BufferError, TypeError):
        pytest.skip("this NumPy gives away no memory that is read-only")
    assert sg.grad(lambda x: np.sum(x**2))(Exchanged(numbers)).tolist() == [0.0, 2.0, 4.0]


class Elsewhere(Exchanged):
    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("cannot export memory of another device")


def test_memory_that_is_elsewhere_is_refused() -> None:
    with pytest.raises(
        sg.errors.ArgumentError,
        match=r"argument x\[0\] is a .*Elsewhere.*on the CPU: cannot export.*NumPy array",
    ):
        sg.grad(lambda x: np.sum(x[0]))([Elsewhere(np.ones(2)), 1.0])


@pytest.mark.parametrize("name", ["torch", "jax", "pytensor"])
def test_bridges_say_what_they_need(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in sys.modules:
        pytest.skip("it has been imported already")
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        sg.errors.MissingExtraError, match=rf"to_{name} needs .*'symgrad\[{name}\]'"
    ):
        getattr(sg, f"to_{name}")(np.sin)
