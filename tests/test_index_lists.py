"""Loops over index lists that add up or write: array programs, whatever the lists are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg

RNG = np.random.default_rng(7)
N, M = 60, 240
A, B = RNG.integers(0, N, (2, M))
B = np.where(A == B, (B + 1) % N, B)
C = RNG.normal(size=M)
EDGES = np.stack([A, B], axis=1)
PAIRS = [(int(a), int(b)) for a, b in EDGES]
TO_A, TO_B = A.tolist(), tuple(B.tolist())
NARROW = A.astype(np.int32), B.astype(np.uint8)
WIDE = np.repeat(EDGES, 2, axis=0)
STRIDED = WIDE[::2, 0], WIDE[1::2, 1]


def flow(v: Any, r: Any, i: Any, j: Any, c: Any) -> None:
    """Add a term at one place, and subtract it at another."""
    f = c * np.sin(v[i] - v[j])
    r[i] += f
    r[j] -= f


def of_arrays(v: Any) -> Any:
    r, f = np.zeros(N), C * np.sin(v[A] - v[B])
    np.add.at(r, A, f)
    np.subtract.at(r, B, f)
    return r


def by_number(v: Any) -> Any:
    r = np.zeros(N)
    for k in range(M):
        flow(v, r, A[k], B[k], C[k])
    return r


def by_lists(v: Any) -> Any:
    r = np.zeros(N)
    for k in range(M):
        flow(v, r, TO_A[k], TO_B[k], C[k])
    return r


def by_pairs(v: Any) -> Any:
    r = np.zeros(N)
    for k, (i, j) in enumerate(PAIRS):
        flow(v, r, i, j, C[k])
    return r


def by_rows(v: Any) -> Any:
    r = np.zeros(N)
    for k in range(M):
        flow(v, r, EDGES[k, 0], EDGES[k, 1], C[k])
    return r


def by_unpacked_rows(v: Any) -> Any:
    r = np.zeros(N)
    for (i, j), c in zip(EDGES, C, strict=True):
        flow(v, r, i, j, c)
    return r


def zipped(v: Any) -> Any:
    r = np.zeros(N)
    for i, j, c in zip(A, B, C, strict=True):
        flow(v, r, i, j, c)
    return r


def by_int(v: Any) -> Any:
    r = np.zeros(N)
    for k in range(M):
        flow(v, r, int(A[k]), int(B[k]), C[k])
    return r


def from_the_end(v: Any) -> Any:
    r = np.zeros(N)
    for k in range(M):
        flow(v, r, A[k] - N, B[k], C[k])
    return r


def of_other_types(v: Any) -> Any:
    r = np.zeros(N)
    for k in range(M):
        flow(v, r, NARROW[0][k], NARROW[1][k], C[k])
    return r


def of_slices(v: Any) -> Any:
    r = np.zeros(N)
    for k in range(M):
        flow(v, r, STRIDED[0][k], STRIDED[1][k], C[k])
    return r


LOOPS = [by_number, by_lists, by_pairs, by_rows, by_unpacked_rows, zipped, by_int, from_the_end,
         of_other_types, of_slices]  # fmt: skip


def assert_same(found: Any, wanted: Any) -> None:
    """Compare sparse matrices: which entries they have, and their values."""
    found, wanted = found.tocsr(), wanted.tocsr()
    np.testing.assert_array_equal(found.indptr, wanted.indptr)
    np.testing.assert_array_equal(found.indices, wanted.indices)
    np.testing.assert_allclose(found.data, wanted.data, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("loop", LOOPS)
def test_sparse_jacobians_are_those_of_the_array_form(loop: Any) -> None:
    v = RNG.normal(size=N)
    jacobian = sg.jacobian(loop, sparse=True)
    assert_same(jacobian(v), sg.jacobian(of_arrays, sparse=True)(v))
    assert_same(jacobian(v + 1), sg.jacobian(of_arrays, sparse=True)(v + 1))
    assert jacobian.traces == 1
    np.testing.assert_allclose(sg.compile(loop)(v), loop(v), rtol=0, atol=1e-12)


@pytest.mark.parametrize("loop", [by_number, by_pairs])
def test_the_program_does_not_grow_with_the_list(loop: Any) -> None:
    v = np.linspace(0, 1, N)
    assert len(sg.compile(loop).program(v).steps) < 12


def energy(x: Any) -> Any:
    s = 0.0
    for k in range(M):
        s += C[k] * x[A[k]] * x[B[k]] * np.sin(x[A[k]])
    return s


def test_sparse_hessians_are_those_of_the_array_form() -> None:
    x = RNG.normal(size=N)
    of_array = sg.hessian(lambda x: np.sum(C * x[A] * x[B] * np.sin(x[A])), sparse=True)
    hessian = sg.hessian(energy, sparse=True)
    assert_same(hessian(x), of_array(x))
    np.testing.assert_allclose(sg.grad(energy)(x), sg.grad(lambda x: energy(x))(x), rtol=1e-13)
    assert len(sg.compile(energy).program(x).steps) < 10


def bars(x: Any) -> Any:
    """Return the forces of bars at their ends, vectors of the plane."""
    p = x.reshape(N, 2)
    forces = np.zeros((N, 2))
    for k in range(M):
        d = p[A[k]] - p[B[k]]
        length = np.sqrt(d @ d + 0.1)
        f = (length - C[k]) / length * d
        forces[A[k]] += f
        forces[B[k]] -= f
    return forces.ravel()


def bars_of_arrays(x: Any) -> Any:
    p = x.reshape(N, 2)
    d = p[A] - p[B]
    length = np.sqrt(np.sum(d * d, axis=1) + 0.1)
    f, forces = ((length - C) / length)[:, None] * d, np.zeros((N, 2))
    np.add.at(forces, A, f)
    np.subtract.at(forces, B, f)
    return forces.ravel()


def test_rows_are_terms_as_numbers_are() -> None:
    x = RNG.normal(size=2 * N)
    np.testing.assert_allclose(sg.compile(bars)(x), bars(x), rtol=0, atol=1e-11)
    assert len(sg.compile(bars).program(x).steps) < 40
    found = sg.jacobian(bars, sparse=True)(x)
    assert_same(found, sg.jacobian(bars_of_arrays, sparse=True)(x))


def coordinates(x: Any) -> Any:
    """Return a sum over slices of a flat array, which begin where a list says."""
    s = 0.0
    for a, b in PAIRS:
        d = x[2 * a : 2 * a + 2] - x[2 * b : 2 * b + 2]
        s += np.sqrt(np.sum(d * d) + 1.0)
    return s


def test_slices_begin_where_lists_say() -> None:
    x = RNG.normal(size=2 * N)
    np.testing.assert_allclose(sg.compile(coordinates)(x), coordinates(x), rtol=1e-13)
    assert len(sg.compile(coordinates).program(x).steps) < 20


def over(v: Any) -> Any:
    """Subtract from what is there, and write some places over."""
    r = v.copy()
    for k in range(M):
        r[A[k]] -= C[k] * v[B[k]] ** 2
    r[3] = v[0] * v[1]
    return r


def last(v: Any) -> Any:
    """Write one place several times: the last one stays."""
    r = np.zeros(N)
    for k in range(M):
        r[A[k]] = np.cos(v[B[k]]) * C[k]
    return r


@pytest.mark.parametrize("f", [over, last])
def test_values_are_pythons(f: Callable[[Any], Any]) -> None:
    v = RNG.normal(size=N)
    np.testing.assert_allclose(sg.compile(f)(v), f(v), rtol=0, atol=1e-12)
    step = 1e-7
    jacobian = sg.jacobian(f, sparse=True)(v).toarray()
    for k in range(0, N, 7):
        e = np.zeros(N)
        e[k] = step
        np.testing.assert_allclose(jacobian[:, k], (f(v + e) - f(v - e)) / (2 * step), atol=1e-6)


def test_what_is_changed_in_place_is_seen() -> None:
    a, b = A.copy(), B.copy()
    view = a[10:20]

    def f(v: Any) -> Any:
        r = np.zeros(N)
        for k in range(M):
            r[a[k]] += v[b[k]] ** 2
        return r

    v, g, jacobian = RNG.normal(size=N), sg.compile(f), sg.jacobian(f, sparse=True)
    for change in (
        lambda: None,
        lambda: a.__setitem__(3, 17),
        lambda: view.fill(5),
        lambda: b.sort(),
    ):
        change()
        for _ in range(3):  # from the third call on words of memory are watched
            np.testing.assert_allclose(g(v), f(v), rtol=1e-12)
        dense = np.zeros((N, N))
        np.add.at(dense, (a, b), 2 * v[b])
        np.testing.assert_allclose(jacobian(v).toarray(), dense, rtol=1e-12)


def test_index_data_that_keep_changing_are_data_again() -> None:
    a = A.copy()

    def f(v: Any) -> Any:
        s = 0.0
        for k in range(M):
            s += v[a[k]] ** 2 * C[k]
        return s

    v, g = RNG.normal(size=N), sg.compile(f)
    for _ in range(12):
        a[:] = RNG.integers(0, N, M)
        np.testing.assert_allclose(g(v), f(v), rtol=1e-12)
    assert g.traces < 8


def test_a_few_elements_of_index_data_stay_data() -> None:
    a = A.copy()

    def f(v: Any) -> Any:
        return v[a[0]] * v[a[1]] + v[a[2]]

    v, g = RNG.normal(size=N), sg.compile(f)
    for _ in range(4):
        a[:] = RNG.integers(0, N, M)
        np.testing.assert_allclose(g(v), f(v), rtol=1e-12)
    assert g.traces == 1


def test_code_that_catches_all_errors_sees_none() -> None:
    def f(v: Any) -> Any:
        r = np.zeros(N)
        for k in range(M):
            try:
                r[A[k]] += v[B[k]]
            except Exception:  # noqa: BLE001  # as some code does
                return r
        return r

    v = RNG.normal(size=N)
    np.testing.assert_allclose(sg.compile(f)(v), f(v), rtol=0, atol=1e-12)


@pytest.mark.parametrize("m", [0, 1, 2])
def test_lists_without_terms_and_with_few(m: int) -> None:
    a, b = A[:m], B[:m]

    def f(v: Any) -> Any:
        r = np.zeros(N)
        for i, j in zip(a, b, strict=True):
            r[i] += v[j] ** 2
        return r + 0.0 * v

    v = RNG.normal(size=N)
    np.testing.assert_allclose(sg.compile(f)(v), f(v), rtol=1e-13)


def test_where_rounding_is_promised_terms_are_added_in_order() -> None:
    v = RNG.normal(size=N)
    np.testing.assert_array_equal(sg.compile(energy, rounding="numpy")(v), energy(v))
