"""Matrix products: the shared function against exact sums, and what kernels make of it."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

import symgrad as sg
from symgrad._core.codegen import loading
from symgrad._core.codegen.code import load_object
from symgrad._core.codegen.llvm import emit
from symgrad._core.lowering import products
from symgrad._core.lowering._plan import Nest, plan
from symgrad._core.pipeline import legal

OWN = products.tile_bytes()

#: Registers that tiles are made for and that this CPU has; with 0 all goes to BLAS.
REGISTERS = [0, *(size for size in (32, 64) if size <= OWN)]

KINDS = {np.dtype(np.float64): "double", np.dtype(np.float32): "float"}

Product = Callable[..., None]


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """Load what the functions call: threads, BLAS and the limit."""
    for dtype in KINDS:
        a = np.ones((30, 30), dtype)
        sg.compile(np.matmul)(a, a)


@lru_cache
def function(kind: str, size: int) -> Product:
    """Return the function for an element type, made for registers of a size."""
    engine = load_object(emit(products.product_text(kind, size)))
    number, pointer = ctypes.c_int64, ctypes.c_void_p
    made = ctypes.CFUNCTYPE(
        None, *[number] * 3, *[pointer, number, number] * 2, pointer, number
    )(engine.get_function_address(products.product_symbol(kind)))  # fmt: skip
    made.engine = engine
    return made


@pytest.fixture(params=list(itertools.product(KINDS, REGISTERS)), ids=str)
def dtype_and_product(request: Any) -> tuple[np.dtype[Any], Product]:
    dtype, size = request.param
    return dtype, function(KINDS[dtype], size)


@pytest.fixture
def call_blas() -> Iterator[None]:
    """Leave every product to BLAS."""
    before, loading._limit.value = loading._limit.value, -1
    yield
    loading._limit.value = before


def multiplied(product: Product, a: Any, b: Any, c: Any, threads: int = 1) -> Any:
    """Call the function on arrays of any strides; ``c`` lies by rows."""
    steps = [s // a.itemsize for s in (*a.strides, *b.strides)]
    product(
        len(a), b.shape[1], len(b), a.ctypes.data, *steps[:2], b.ctypes.data, *steps[2:],
        c.ctypes.data, threads,
    )  # fmt: skip
    return c


def factors(m: int, k: int, n: int, dtype: Any, flips: tuple[bool, bool] = (False, False)) -> Any:
    """Return two matrices, each by rows or by columns."""
    rng = np.random.default_rng([m, k, n])
    made = [rng.standard_normal(s).astype(dtype) for s in ((m, k), (k, n))]
    return [np.asarray(x, order="F" if flip else "C") for x, flip in zip(made, flips, strict=True)]


def check(a: Any, b: Any, c: Any) -> None:
    """Compare with sums in a wider type: the bound for any order of additions."""
    wide = np.longdouble if a.dtype == np.float64 else np.float64
    exact = a.astype(wide) @ b.astype(wide)
    bound = abs(a).astype(wide) @ abs(b).astype(wide) * (len(b) * np.finfo(a.dtype).eps)
    assert np.all(abs(c - exact) <= bound)


FLIPS = list(itertools.product((False, True), repeat=2))

#: Around the rows of a tile, around one to three vectors, and around the depth of a block.
SIDES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 17, 23, 24, 25, 31, 47, 48, 49, 65]


@pytest.mark.quick(2)
def test_small_products(dtype_and_product: Any) -> None:
    dtype, product = dtype_and_product
    for m, n in itertools.product(SIDES, SIDES):
        for k in (0, 1, 5, 8, 19):
            flips = FLIPS[(m + n + k) % 4]
            a, b = factors(m, k, n, dtype, flips)
            check(a, b, multiplied(product, a, b, np.full((m, n), np.nan, dtype)))


@pytest.mark.parametrize(
    "shape",
    [(9, 255, 50), (10, 256, 7), (50, 257, 9), (3, 520, 3), (257, 70, 30), (300, 300, 40),
     (30, 300, 300), (2, 1000, 3), (1000, 2, 11), (1, 300, 60), (60, 300, 1)],
)  # fmt: skip
@pytest.mark.parametrize("flips", FLIPS)
def test_blocks(dtype_and_product: Any, shape: Any, flips: Any) -> None:
    dtype, product = dtype_and_product
    a, b = factors(*shape, dtype, flips)
    c = np.full((shape[0], shape[2]), np.nan, dtype)
    check(a, b, multiplied(product, a, b, c))


def test_strided_factors_are_read_in_place(dtype_and_product: Any) -> None:
    """Of each matrix one stride is 1; the other may be any."""
    dtype, product = dtype_and_product
    x, y = factors(70, 90, 80, dtype)
    for a, b in ((x[5:40:3, :50], y[10:60, 7:37]), (x[:40, 3:53].T, y[1:80:2, :21])):
        check(a, b, multiplied(product, a, b, np.empty((len(a), b.shape[1]), dtype)))


def test_result_does_not_depend_on_the_split(dtype_and_product: Any) -> None:
    """An element is the same sum wherever it lies, and however many threads there are."""
    dtype, product = dtype_and_product
    for shape in ((500, 300, 260), (40, 700, 800)):
        a, b = factors(*shape, dtype)
        whole = multiplied(product, a, b, np.empty((shape[0], shape[2]), dtype))
        for threads in (0, 2, 3, 7):
            again = multiplied(product, a, b, np.empty_like(whole), threads)
            assert np.array_equal(whole, again)


def test_special_values_spread_as_they_should(dtype_and_product: Any) -> None:
    dtype, product = dtype_and_product
    for m, k, n in ((5, 6, 7), (9, 20, 26), (33, 40, 50)):
        for value, flips in itertools.product((np.nan, np.inf, -np.inf), FLIPS):
            a, b = factors(m, k, n, dtype, flips)
            a[-1, 2] = b[3, -1] = value
            with np.errstate(invalid="ignore"):
                expected = np.einsum("ik,kj->ij", a, b)
            found = multiplied(product, a, b, np.empty((m, n), dtype))
            special = ~np.isfinite(expected)
            assert np.array_equal(found[special], expected[special], equal_nan=True)
            assert np.all(np.isfinite(found[~special]))
            # Nothing of it is left in the panels of the next product.
            a, b = factors(m, k, n, dtype, flips)
            check(a, b, multiplied(product, a, b, np.empty((m, n), dtype)))


def test_zeros_have_their_sign(dtype_and_product: Any) -> None:
    dtype, product = dtype_and_product
    a, b = -np.ones((9, 3), dtype), np.zeros((3, 9), dtype)
    found = multiplied(product, a, b, np.empty((9, 9), dtype))
    assert not np.signbit(found).any()  # sums start from 0, as NumPy's


def test_nothing_is_written_around_the_result(dtype_and_product: Any) -> None:
    dtype, product = dtype_and_product
    for (m, k, n), flips in itertools.product(((9, 5, 11), (3, 300, 26), (40, 9, 3)), FLIPS):
        a, b = factors(m, k, n, dtype, flips)
        memory = np.full(m * n + 200, 7.0, dtype)
        multiplied(product, a, b, memory[100:-100].reshape(m, n))
        assert np.all(memory[:100] == 7.0)
        assert np.all(memory[-100:] == 7.0)


PAGE = mmap.PAGESIZE


class Guarded:
    """Memory with a page before it and one behind it that must not be touched."""

    def __init__(self, size: int) -> None:
        self.pages = -(-size // PAGE)
        self.map = mmap.mmap(-1, (self.pages + 2) * PAGE)
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.protect(0)

    def protect(self, access: int) -> None:
        for page in (0, self.pages + 1):
            place = ctypes.c_void_p(self.start + page * PAGE)
            assert ctypes.CDLL(None).mprotect(place, PAGE, access) == 0

    def array(self, x: Any, end: bool) -> Any:
        """Return a copy of an array that lies at the start or at the end of the memory."""
        offset = PAGE + (self.pages * PAGE - x.nbytes if end else 0)
        flat = np.frombuffer(self.map, x.dtype, x.size, offset)
        order = "C" if x.flags.c_contiguous else "F"
        flat[...] = x.ravel(order)
        return flat.reshape(x.shape, order=order)


@pytest.mark.skipif(sys.platform == "win32", reason="mprotect is of POSIX")
def test_nothing_is_read_outside_of_the_factors(dtype_and_product: Any) -> None:
    """A tile that read one number too many would end the process here."""
    dtype, product = dtype_and_product
    homes = [Guarded(300 * 300 * 8) for _ in range(3)]
    shapes = [(1, 1, 1), (2, 3, 5), (9, 7, 25), (13, 260, 10), (10, 260, 13), (70, 5, 3),
              (8, 8, 24), (33, 300, 290)]  # fmt: skip
    for (m, k, n), flips, end in itertools.product(shapes, FLIPS, (False, True)):
        given = factors(m, k, n, dtype, flips)
        a, b = (home.array(x, end) for home, x in zip(homes, given, strict=False))
        c = homes[2].array(np.zeros((m, n), dtype), end)
        check(a, b, multiplied(product, a, b, c))
    for home in homes:
        home.protect(mmap.PROT_READ | mmap.PROT_WRITE)


# ---------------------------------------------------------------- when BLAS is called


@pytest.mark.parametrize("flips", FLIPS)
@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 6, 4), (6, 1, 4), (4, 6, 1), (1, 1, 1)])
@pytest.mark.usefixtures("call_blas")
def test_blas_gets_the_same_matrices(dtype_and_product: Any, shape: Any, flips: Any) -> None:
    dtype, product = dtype_and_product
    a, b = factors(*shape, dtype, flips)
    for x, y in ((a, b), (np.asarray(b.T, order="C").T, b)):
        if x.shape == a.shape:
            check(x, y, multiplied(product, x, y, np.empty((len(x), y.shape[1]), dtype)))


def test_blas_without_kernels_for_the_registers_is_not_called(monkeypatch: Any) -> None:
    core: dict[str, Any] = {"now": "Haswell"}
    monkeypatch.setattr(loading, "blas_core", lambda: core["now"])
    monkeypatch.setattr(products, "tile_bytes", lambda: 64)
    assert loading.limit() == loading.UNLIMITED
    core["now"] = "SkylakeX"
    assert loading.limit() == loading.SIDE**3
    core["now"] = None  # another library
    assert loading.limit() == loading.SIDE**3
    core["now"] = "Zen"
    monkeypatch.setattr(products, "tile_bytes", lambda: 32)
    assert loading.limit() == loading.SIDE**3


def test_blas_says_what_it_takes_the_cpu_for() -> None:
    core = loading.blas_core()
    config: Any = __import__("scipy").show_config(mode="dicts")
    if "openblas" in config["Build Dependencies"]["blas"]["name"]:
        assert core
        assert core.isalnum()


# ---------------------------------------------------------------- in kernels

PROGRAMS: list[tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = [
    (lambda a, b: a @ b, ((20, 30), (30, 17))),
    (lambda a, b: a.T @ b, ((30, 20), (30, 17))),
    (lambda a, b: a @ b.T, ((20, 30), (17, 30))),
    (lambda a, b: (a.T @ b.T).T, ((30, 20), (17, 30))),
    (lambda a, b: a[::2, 3:] @ b[::-1], ((20, 30), (27, 17))),
    (lambda a, b: a @ b, ((6, 20, 30), (6, 30, 17))),
    (lambda a, b: a @ b, ((6, 20, 30), (30, 17))),
    (lambda a, b: np.einsum("zij,zkj->zik", a, b), ((5, 20, 30), (5, 17, 30))),
    (lambda a, b: np.tensordot(a, b, ((1, 2), (0, 1))), ((20, 5, 18), (5, 18, 19))),
    (lambda a, b: a @ b, ((1, 30), (30, 17))),
    (lambda a, b: a @ b, ((20, 30), (30, 1))),
    (lambda a, b: a @ b, ((20, 1), (1, 17))),
    (lambda a, b: a[2:, :] @ b, ((2, 30), (30, 17))),
    (lambda a, b: a[:, 20:] @ b[20:], ((19, 20), (20, 17))),
    (lambda a, b: a.T @ (np.tanh(b)[:, None] * a), ((200, 12), (200,))),
]


@pytest.mark.parametrize("dtype", KINDS, ids=str)
@pytest.mark.parametrize("k", range(len(PROGRAMS)))
@pytest.mark.quick(3)
def test_programs(k: int, dtype: Any) -> None:
    f, shapes = PROGRAMS[k]
    rng = np.random.default_rng(k)
    args = [rng.standard_normal(s).astype(dtype) for s in shapes]
    both = sg.value_and_grad(lambda *xs: np.sum(np.sin(f(*xs))), argnums=(0, 1))
    tolerance = 1e-11 if dtype == np.float64 else 1e-3
    for g in (sg.compile(f), both):
        found = g(*args)
        with sg.backend("numpy"):
            expected = g(*args)
        for x, y in zip(_flat(found), _flat(expected), strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def _flat(x: Any) -> list[Any]:
    return [y for part in x for y in _flat(part)] if isinstance(x, tuple) else [x]


def test_threads_compute_the_same_bits() -> None:
    a, b = factors(700, 300, 400, np.float64)
    both = sg.compile(sg.value_and_grad(lambda a, b: np.sum(np.tanh(a @ b)), argnums=(0, 1)))
    found = []
    try:
        for count in (1, 2, 3):
            sg.set_num_threads(count)
            value, gradients = both(a, b)
            found.append((value, *gradients))
    finally:
        sg.set_num_threads()
    for other in found[1:]:
        assert all(np.array_equal(x, y) for x, y in zip(found[0], other, strict=True))


def test_kernels_multiply_in_numba() -> None:
    a, b = factors(40, 50, 30, np.float64)
    kernel = sg.compile(np.matmul).kernel(a, b)
    check(a, b, kernel(a, b))


def test_numpys_rounding_calls_numpys_products() -> None:
    a, b = factors(20, 30, 25, np.float64)
    f = sg.compile(np.matmul, rounding="numpy")
    assert np.array_equal(f(a, b), a @ b)
    assert np.array_equal(f(a, b.T.copy().T), a @ b)


def test_loops_multiply() -> None:
    """A loop's body calls the function with the loop's memory."""
    a = factors(20, 20, 20, np.float64)[0] / 10

    def power(x: Any) -> Any:
        return np.sum(sg.fori_loop(0, 3, lambda _, y: y @ x, x))

    value, gradient = sg.value_and_grad(power)(a)
    with sg.backend("numpy"):
        expected = sg.value_and_grad(power)(a)
    assert value == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-11, atol=1e-12)


def test_text_is_valid_for_every_cpu() -> None:
    for kind, size in itertools.product(KINDS.values(), (0, 32, 64)):
        module = llvm.parse_assembly(products.product_text(kind, size), llvm.create_context())
        module.verify()


# ---------------------------------------------------------------- transposes and vectors


def tasks(f: Callable[..., Any], *shapes: tuple[int, ...]) -> list[str]:
    """Return what a program is planned as: products, and nests with what they store."""
    args = [np.ones(s) for s in shapes]
    program = sg.compile(f).program(*args)
    found = []
    for task in plan(legal(program, vector_math=False)).tasks:
        if isinstance(task, Nest):
            found += [f"store {s.node.op.name}" for s in task.stores]
            found += [f"reduce {n.op.name}" for n in task.reductions]
        else:
            found.append(task.node.op.name)
    return found


@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        (lambda a, b: a.T @ b, ((30, 20), (30, 40))),
        (lambda a, b: a @ b.T, ((30, 20), (40, 20))),
        (lambda a, b: a.T @ b.T, ((9, 30), (40, 9))),
        (lambda a, b: (a @ b).T, ((30, 20), (20, 40))),
        (lambda a, b: (b.T @ a.T).T, ((30, 20), (20, 40))),
        (lambda a, b: np.matrix_transpose(a) @ b, ((4, 30, 20), (4, 30, 40))),
        (lambda a, b: np.swapaxes(a @ b, 1, 2), ((4, 30, 20), (4, 20, 40))),
        (lambda a, b: np.einsum("ij,kj->ki", a, b), ((30, 20), (40, 20))),
    ],
)
def test_transposes_move_nothing(f: Any, shapes: Any) -> None:
    assert tasks(f, *shapes) == ["Contract"]
    a, b = (np.random.default_rng(0).standard_normal(s) for s in shapes)
    np.testing.assert_allclose(sg.compile(f)(a, b), f(a, b), rtol=1e-12, atol=1e-12)


def test_gradients_through_transposes_move_nothing() -> None:
    """A layer in PyTorch's convention: forward, and by weights and inputs."""
    both = sg.grad(lambda x, w: np.sum(np.tanh(x @ w.T)), argnums=(0, 1))
    assert tasks(both, (30, 20), (40, 20)) == ["Contract"] * 3


def test_a_product_that_is_read_both_ways_is_computed_once() -> None:
    found = tasks(lambda a, b: (a @ b, (a @ b).T + 1.0), (30, 20), (20, 40))
    assert found.count("Contract") == 1


@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        (lambda a, b: a @ b, ((30, 20), (20, 1))),
        (lambda a, b: a @ b, ((1, 20), (20, 30))),
        (lambda a, b: a.T @ b, ((20, 30), (20, 1))),
        (lambda a, b: a @ b, ((4, 30, 20), (4, 20, 1))),
        (lambda a, b: a @ b, ((1, 20), (20, 1))),
    ],
)
def test_one_row_or_column_is_a_loop(f: Any, shapes: Any) -> None:
    assert "Contract" not in tasks(f, *shapes)
    a, b = (np.random.default_rng(0).standard_normal(s) for s in shapes)
    found = sg.compile(f)(a, b)
    assert found.shape == f(a, b).shape
    np.testing.assert_allclose(found, f(a, b), rtol=1e-12, atol=1e-12)
