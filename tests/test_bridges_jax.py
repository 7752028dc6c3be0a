"""Functions inside JAX: values, transforms, errors; compared with the same in ``jax.numpy``."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import ArgumentError, ShapeError, UnsupportedError

jax = pytest.importorskip("jax")
jnp = jax.numpy

X = np.array([0.3, 1.2, 2.0])


@pytest.fixture(autouse=True)
def _doubles() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def cubes(xp: Any, x: Any) -> Any:
    return xp.sum(xp.exp(-x) * x**3)


def model(xp: Any, x: Any, y: Any, k: int = 2) -> Any:
    return {"a": xp.sin(x["u"]) * y**k, "b": (xp.sum(x["u"] * y), xp.arange(3))}


def both(f: Callable[..., Any]) -> tuple[Any, Any]:
    """Return a function of a namespace and arguments with symgrad's in it, and with JAX's."""
    return sg.to_jax(lambda *args, **kwargs: f(np, *args, **kwargs)), (
        lambda *args, **kwargs: f(jnp, *args, **kwargs)
    )


def same(found: Any, expected: Any, rtol: float = 1e-11, atol: float = 1e-12) -> None:
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def scanned(f: Any) -> Any:
    return lambda x: jax.lax.scan(lambda c, _: (f(c) * c / 4, None), x, None, length=3)[0].sum()


TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "value": lambda f: f,
    "jit": jax.jit,
    "grad": jax.grad,
    "jit of value and gradient": lambda f: jax.jit(jax.value_and_grad(f)),
    "hessian": jax.hessian,
    "jacrev of jacrev": lambda f: jax.jacrev(jax.jacrev(f)),
    "jacfwd of jacfwd": lambda f: jax.jacfwd(jax.jacfwd(f)),
    "jacrev of jacfwd": lambda f: jax.jacrev(jax.jacfwd(f)),
    "third": lambda f: jax.jacfwd(jax.hessian(f)),
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (x + 1,)),
    "linearize": lambda f: lambda x: jax.linearize(f, x)[1](x + 1),
    "batch": lambda f: lambda x: jax.vmap(f)(jnp.stack([x, 2 * x])),
    "hessians of a batch": lambda f: lambda x: jax.vmap(jax.hessian(f))(jnp.stack([x, 2 * x])),
    "gradient of a batch": lambda f: jax.grad(lambda x: jax.vmap(f)(jnp.stack([x, x**2])).sum()),
    "batch of batches": lambda f: lambda x: jax.vmap(jax.vmap(f))(x + jnp.zeros((4, 2, 3))),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(f)),
    "scan": lambda f: jax.grad(scanned(f)),
    "batch of scans": lambda f: lambda x: jax.vmap(jax.grad(scanned(f)))(jnp.stack([x, x / 2])),
    "transposed batch": lambda f: (
        lambda x: jax.linear_transpose(jax.vmap(jax.linearize(f, x)[1]), jnp.zeros((4, 3)))(
            jnp.arange(4.0)
        )
    ),
    "transposed vjp": lambda f: (
        lambda x: jax.linear_transpose(lambda c: jax.vjp(f, x)[1](c)[0], 1.0)(x)
    ),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str) -> None:
    f, g = both(cubes)
    same(TRANSFORMS[name](f)(jnp.asarray(X)), TRANSFORMS[name](g)(jnp.asarray(X)))


def test_nested_arguments_and_results() -> None:
    f, g = both(model)
    y = np.array([1.0, 2.0, 0.5])
    same(f({"u": X}, y, k=3), g({"u": X}, y, k=3))
    same(jax.jit(lambda x: f(x, y, k=3))({"u": X}), g({"u": X}, y, k=3))
    primals, tangents = ({"u": X}, y), ({"u": y}, X)
    found, expected = jax.jvp(f, primals, tangents), jax.jvp(g, primals, tangents)
    assert found[1]["b"][1].dtype == expected[1]["b"][1].dtype == jax.dtypes.float0
    same((found[0], found[1]["a"]), (expected[0], expected[1]["a"]))
    _, pull = jax.vjp(lambda x, y: f(x, y)["a"], {"u": X}, y)
    _, expected = jax.vjp(lambda x, y: g(x, y)["a"], {"u": X}, y)
    same(pull(jnp.asarray(y)), expected(jnp.asarray(y)))


class Point(NamedTuple):
    x: Any
    y: Any


def test_containers() -> None:
    f, g = both(lambda xp, p, q: Point(xp.cos(p.x) * q[0], [p.y * q[1]]))
    args = Point(jnp.asarray(X), 2.0 * X), (1.5 * X, X**2)
    same(f(*args), g(*args))
    same(jax.jit(f)(*args), g(*args))


def test_batch_axes() -> None:
    f, g = both(lambda xp, x, y, n: x[:, None] * y**n)
    x, y = np.arange(15.0).reshape(3, 5), np.array([1.0, 2.0])
    for axes in ((1, None, None), (-1, None, None)):
        same(
            jax.vmap(lambda x, y: f(x, y, 2), axes[:2])(x, y),
            jax.vmap(lambda x, y: g(x, y, 2), axes[:2])(x, y),
        )


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_element_types_stay(dtype: str) -> None:
    f, g = both(lambda xp, x: xp.sum(xp.abs(0.5 * x) ** 2))
    x = jnp.asarray([0.5, 2.0], dtype)
    same(f(x), g(x), rtol=1e-6)
    same(jax.grad(f)(x), jax.grad(g)(x), rtol=1e-6)


def test_single_precision_without_x64() -> None:
    jax.config.update("jax_enable_x64", False)
    data = np.array([1.0, 2.0])  # float64, as NumPy has it
    f = sg.to_jax(lambda x: x * data)
    assert f(data).dtype == jax.jit(f)(data).dtype == jnp.float32
    same(jax.jit(jax.grad(lambda x: f(x).sum()))(data), jnp.asarray(data))


def test_complex_derivatives_are_those_of_jax() -> None:
    z = jnp.asarray([1 + 2j, 0.5 - 1j])
    f, g = both(lambda xp, z: xp.sum(xp.abs(z) ** 2 * xp.real(z * z)))
    same(jax.grad(f)(z), jax.grad(g)(z))
    same(jax.jvp(jax.grad(f), (z,), (1j * z,)), jax.jvp(jax.grad(g), (z,), (1j * z,)))
    f, g = both(lambda xp, z: z**2 * xp.conj(z))
    same(jax.vjp(f, z)[1](z), jax.vjp(g, z)[1](z))


def test_sizes_change() -> None:
    f, g = both(cubes)
    slope = jax.jit(jax.grad(f))
    for n in (3, 1, 0, 7, 2, 40):
        x = jnp.linspace(0.1, 1.0, n)
        same(slope(x), jax.grad(g)(x))


def test_integers_and_constants() -> None:
    f, g = both(lambda xp, x, i, words, squared: (x[i] ** 2 if squared else x[i], i + 1, i > 0))
    i = jnp.asarray([0, 2])
    same(f(X, i, "words", True), g(jnp.asarray(X), i, "words", True))
    loss = lambda f: lambda x: f(x, i, None, True)[0].sum()  # noqa: E731
    same(jax.grad(loss(f))(jnp.asarray(X)), jax.grad(loss(g))(jnp.asarray(X)))
    power = sg.to_jax(lambda x, n: x**n)
    assert [float(power(2.0 * jnp.ones(()), n)) for n in (2, 3, 0.5)] == [4.0, 8.0, 2.0**0.5]


def test_linear_functions_are_transposed() -> None:
    f, g = both(lambda xp, x: 3.0 * xp.cumsum(x))
    same(jax.linear_transpose(f, X)(jnp.asarray(X)), jax.linear_transpose(g, X)(jnp.asarray(X)))


def test_large_arrays_under_jit() -> None:
    f = jax.jit(jax.value_and_grad(sg.to_jax(lambda x: np.sum(np.sin(x)))))
    x = np.linspace(0, 1, 1_000_000)
    for _ in range(3):
        value, slope = f(x)
    np.testing.assert_allclose(value, np.sum(np.sin(x)), rtol=1e-12)
    np.testing.assert_allclose(slope, np.cos(x), rtol=1e-12)


def test_custom_vjp_needs_no_forward_rule() -> None:
    @sg.custom_vjp
    def clipped(x: Any) -> Any:
        return x**2

    clipped.defvjp(lambda x: (x**2, x), lambda x, ct: (7.0 * ct * x,))
    f = sg.to_jax(lambda x: clipped(x))
    assert float(jax.grad(f)(3.0)) == 21.0
    assert jax.vmap(jax.grad(f))(jnp.asarray([1.0, 2.0])).tolist() == [7.0, 14.0]


def test_functions_that_symgrad_made() -> None:
    slope = sg.to_jax(sg.grad(lambda x: cubes(np, x)))
    same(jax.jacfwd(slope)(X), jax.hessian(lambda x: cubes(jnp, x))(X))


def test_captures_are_read_in_each_call() -> None:
    weights = np.array([1.0, 2.0, 3.0])
    f = jax.jit(sg.to_jax(lambda x: np.sum(weights * x)))
    assert float(f(np.ones(3))) == 6.0
    weights[:] = 5.0
    assert float(f(np.ones(3))) == 15.0


def test_shapes_that_depend_on_values_are_refused() -> None:
    f = sg.to_jax(lambda x: x[:2] if x[0] > 1 else x[:1])
    assert f(np.zeros(3)).shape == (1,)
    with pytest.raises(ShapeError, match=r"\[\(1,\)\] were announced.* \[\(2,\)\]"):
        f(np.full(3, 2.0))
    compiled = jax.jit(f)
    with pytest.raises(RuntimeError, match=r"(?s)ShapeError.*\[\(1,\)\] were announced"):
        compiled(np.full(3, 2.0)).block_until_ready()
    assert compiled(np.zeros(3)).shape == (1,)


# ---------------------------------------------------------------- the call from XLA


def test_xla_calls_the_handler() -> None:
    text = jax.jit(jax.grad(sg.to_jax(square))).lower(X).as_text()
    assert "@symgrad" in text
    assert "callback" not in text


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float32", "complex64"])
def test_arrays_reach_the_function_as_they_are(dtype: str) -> None:
    f, g = both(lambda xp, x, y: (x[::-1].T, y, xp.zeros((0, 2), x.dtype), x[0, 0] == y[0]))
    x = jnp.arange(6).reshape(3, 2).astype(dtype)
    for y in (x[0], x[:0, 0]):
        if len(y):
            same(jax.jit(f)(x, y), jax.jit(g)(x, y))
        else:
            same(jax.jit(lambda y: sg.to_jax(np.flip)(y))(y), y)


def test_a_compiled_program_keeps_its_function() -> None:
    def compiled() -> Any:
        weights = np.array([1.0, 2.0, 4.0])
        return jax.jit(sg.to_jax(lambda x: weights @ x)).lower(X).compile()

    program = compiled()
    jax.clear_caches()
    gc.collect()
    assert float(program(jnp.ones(3))) == 7.0


def test_threads_call_at_the_same_time() -> None:
    f = jax.jit(jax.value_and_grad(sg.to_jax(square)))
    xs = [k + np.arange(5.0) for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for x, (value, slope) in zip(xs * 8, pool.map(f, xs * 8), strict=True):
            assert float(value) == np.sum(x**2)
            np.testing.assert_array_equal(slope, 2 * x)


WITHOUT_HEADER = """
import jax, jax.ffi, numpy as np
jax.ffi.include_dir = lambda: "nowhere"
import symgrad as sg
f = jax.jit(jax.value_and_grad(sg.to_jax(lambda x: np.sum(x**3))))
assert "callback" in f.lower(np.ones(3)).as_text()
value, slope = f(np.arange(3.0))
assert float(value) == 9.0 and slope.tolist() == [0.0, 3.0, 12.0]
"""


def test_where_the_interface_is_not_known_a_callback_serves() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_HEADER], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


class Counter:
    calls = 0


def counted(x: Any) -> Any:
    Counter.calls += 1
    return np.sum(x**2) * Counter.calls


def test_what_changes_state_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"calls is assigned by .* calls it again"):
        sg.to_jax(counted)(X)


def square(x: Any) -> Any:
    return np.sum(x**2)


def test_pickles() -> None:
    f = pickle.loads(pickle.dumps(sg.to_jax(square)))
    assert repr(f) == "<symgrad to_jax of square>"
    assert jax.grad(f)(X).tolist() == (2 * X).tolist()


def test_what_is_refused() -> None:
    with pytest.raises(ArgumentError, match="a str is among its results"):
        sg.to_jax(lambda x: (np.sum(x), "aux"))(X)
    with pytest.raises(ArgumentError, match=r"to_jax: argument data is a set, and not an array"):
        sg.to_jax(lambda x, data: x)(X, {1})
    with pytest.raises(ArgumentError, match=r"to_jax takes a function.*sg\.to_jax\(f\)"):
        sg.to_jax(X)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="symgrad traces"):
        sg.grad(lambda x: sg.to_jax(square)(x))(X)


def test_arrays_of_jax_are_arguments_of_symgrads_functions() -> None:
    np.testing.assert_array_equal(sg.grad(square)(jnp.asarray(X)), 2 * X)
    with pytest.raises(ArgumentError, match=r"argument x is a jax\.\w+.*sg\.to_jax\(f\)"):
        jax.jit(sg.compile(square))(X)


NAMES = ("sin", "exp", "tanh", "sqrt", "log1p", "arctan")


def random_function(rng: np.random.Generator) -> Any:
    """Return a function of a namespace and a positive vector, with one number as its result."""
    steps = [(rng.choice(NAMES), int(rng.integers(3))) for _ in range(int(rng.integers(2, 5)))]
    power = float(rng.integers(1, 4))

    def f(xp: Any, x: Any) -> Any:
        y = x
        for name, kind in steps:
            z = getattr(xp, name)(y)
            y = (z * x, z + y, z / (1.0 + y * y))[kind]
        return xp.sum(y**power * x)

    return f


@pytest.mark.parametrize("case", range(24))
def test_random_functions_under_random_transforms(case: int) -> None:
    rng = np.random.default_rng(case)
    f, g = both(random_function(rng))
    name = list(TRANSFORMS)[int(rng.integers(len(TRANSFORMS)))]
    x = jnp.asarray(rng.uniform(0.2, 1.5, 3))
    same(TRANSFORMS[name](f)(x), TRANSFORMS[name](g)(x), rtol=1e-9, atol=1e-10)
