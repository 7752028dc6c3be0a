"""Records of routines of linear algebra: kernels, batches, rules."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core import pipeline as _pipeline
from symgrad._core.op import ArrayOp, Op, Products, registry
from symgrad._core.ops.banded import band_factors, complex_band_factors
from symgrad._core.ops.callback import token_of
from symgrad._core.ops.complex_factorizations import as_complex, as_pairs, complex_lu_factors
from symgrad._core.ops.linear import lu_factors
from tests.shared import definite, well

rng = np.random.default_rng(21)
r = rng.standard_normal


def pair(a: Any) -> tuple[Any, Any]:
    return a, lu_factors(a)


def c(*shape: int) -> Any:
    """A complex array, as pairs of reals."""
    return r((*shape, 2))


def hermitian(n: int, *lead: int) -> Any:
    """A Hermitian positive definite matrix, as pairs of reals."""
    x = as_complex(c(*lead, n, n))
    return as_pairs(x @ np.swapaxes(x, -1, -2).conj() + np.diag(np.arange(1.0, n + 1)))


def turning(n: int) -> Any:
    """A real matrix with complex eigenvalues and, for odd n, a real one."""
    ones = np.full(n - 1, 3.0)
    return np.diag(ones, 1) - np.diag(ones, -1) + np.diag(np.arange(n)) + 0.3 * r((n, n))


def band(n: int, lower: int, upper: int, *lead: int) -> Any:
    """A banded matrix by columns, with numbers where it has no elements, too."""
    a = r((*lead, n, lower + upper + 1))
    a[..., upper] += 4.0
    return a


def complex_band(n: int, lower: int, upper: int) -> Any:
    return np.stack([band(n, lower, upper), band(n, lower, upper)], axis=-1)


def pseudo_inverse(a: Any) -> Any:
    return as_pairs(np.linalg.pinv(as_complex(a)))


# ---------------------------------------------------------------- the ops

#: Operands and parameters of every routine; operands that only carry known values are marked.
CASES: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "LU": [((well(3, 3),), {}), ((well(2, 4, 4),), {})],
    "Solve": [((*pair(well(3, 3)), r((2, 3))), {"trans": t}) for t in (False, True)]
    + [((*pair(well(2, 3, 3)), r((2, 1, 3))), {"trans": False})],
    "BandLU": [((band(4, 1, 2),), {"lower": 1, "upper": 2}),
               ((band(3, 2, 0, 2),), {"lower": 2, "upper": 0})],
    "BandSolve": [
        ((a, band_factors(a, lower, upper), r((*lead, 2, n))),
         {"lower": lower, "upper": upper, "trans": trans})
        for n, lower, upper, lead in ((4, 1, 2, ()), (2, 2, 1, ()), (3, 0, 1, (2,)))
        for a in [band(n, lower, upper, *lead)] for trans in (False, True)
    ],
    "ComplexBandLU": [((complex_band(4, 1, 2),), {"lower": 1, "upper": 2})],
    "ComplexBandSolve": [
        ((a, complex_band_factors(a, 1, 2), c(2, 4)), {"lower": 1, "upper": 2, "trans": trans})
        for a in [complex_band(4, 1, 2)] for trans in (False, True)
    ],
    "SolveTriangular": [
        ((well(3, 3), r((2, 3))), {"lower": lower, "trans": trans, "unit": unit})
        for lower, trans, unit in itertools.product([False, True], repeat=3)
    ],
    "Det": [(pair(well(3, 3)), {}), (pair(r((2, 2, 2))), {})],
    "Cofactors": [(pair(well(3, 3)), {}), (pair(r((2, 2, 2))), {})],
    "CofactorChange": [((*pair(well(3, 3)), r((3, 3))), {}),
                       ((*pair(r((2, 2, 2))), r((2, 2, 2))), {})],
    "LogAbsDet": [(pair(well(3, 3)), {}), (pair(r((2, 2, 2))), {})],
    "SignDet": [(pair(r((3, 3))), {}), (pair(r((4, 2, 2))), {})],
    "Cholesky": [((definite(3),), {}), ((definite(2, 2),), {})],
    "QR": [((r((3, 3)),), {}), ((r((2, 4, 2)),), {})],
    "OrthogonalComplement": [((r((4, 2)),), {}), ((r((2, 3, 2)),), {})],
    "Eigh": [((definite(3),), {}), ((definite(2, 2),), {})],
    "SVD": [((r((3, 3)),), {"wide": False, "full": False}),
            ((r((4, 2)),), {"wide": False, "full": False}),
            ((r((2, 2, 3)),), {"wide": True, "full": False}),
            ((r((2, 4, 3)),), {"wide": False, "full": True}),
            ((r((2, 3)),), {"wide": True, "full": True})],
    "PseudoInverse": [
        ((a, np.linalg.pinv(a)), {}) for a in (r((4, 2)), r((2, 3)), r((2, 3, 2)))
    ],
    "ComplexLU": [((r((3, 3, 2)),), {}), ((r((2, 4, 4, 2)),), {})],
    "ComplexSolve": [
        ((a, complex_lu_factors(a), c(*lead, 2, 3)), {"trans": trans})
        for trans in (False, True)
        for a, lead in ((c(3, 3), ()), (c(2, 3, 3), (2,)))
    ],
    "ComplexLogDet": [((a, complex_lu_factors(a)), {}) for a in (r((3, 3, 2)), r((2, 2, 2, 2)))],
    "ComplexSolveTriangular": [
        ((as_pairs(well(3, 3) + 1j * r((3, 3))), c(2, 3)),
         {"lower": lower, "trans": trans, "unit": unit})
        for lower, trans, unit in itertools.product([False, True], repeat=3)
    ],
    "ComplexCholesky": [((hermitian(3),), {}), ((hermitian(2, 2),), {})],
    "ComplexQR": [((c(3, 3),), {}), ((c(2, 4, 2),), {})],
    "ComplexOrthogonalComplement": [((c(4, 2),), {}), ((c(2, 3, 2),), {})],
    "ComplexEigh": [((hermitian(3),), {}), ((hermitian(2, 2),), {})],
    "ComplexSVD": [((c(3, 3),), {"wide": False, "full": False}),
                   ((c(4, 2),), {"wide": False, "full": False}),
                   ((c(2, 2, 3),), {"wide": True, "full": False}),
                   ((c(2, 4, 3),), {"wide": False, "full": True})],
    "ComplexPseudoInverse": [((a, pseudo_inverse(a)), {}) for a in (c(4, 2), c(2, 3, 2))],
    "Eig": [((turning(4),), {}), ((np.stack([turning(3), turning(3)]),), {})],
    "ComplexEig": [((c(3, 3),), {}), ((c(2, 2, 2),), {})],
    "Fourier": [((r((2, 5, columns, 2)),), {"inverse": inverse, "norm": norm})
                for inverse in (False, True) for norm in ("backward", "ortho")
                for columns in (1, 3, 18)],
    "RealFourier": [((r((2, n)),), {"norm": norm}) for n, norm in ((4, "forward"), (5, "ortho"))],
    "RealSignal": [((r((2, 3, 2)),), {"n": n, "norm": "backward"}) for n in (4, 5)],
    "Argsort": [((r(7),), {}), ((r((2, 5)),), {}),
                ((np.array([2.0, np.nan, -np.inf, 2.0, np.nan, 0.0, -0.0]),), {}),
                ((rng.integers(0, 5, 40),), {}), ((rng.integers(0, 9, 12).astype("u1"),), {})],
    "Callback": [((np.arange(3.0), np.ones((3, 3))), {
        "token": token_of(np.dot), "shape": (3,), "dtype": "float64", "ranks": (1, 2, 1),
    })],
}  # fmt: skip
CASES |= {
    f"{name}ByFactors": [(operands[1:], params) for operands, params in CASES[name]]
    for name in ("Solve", "ComplexSolve", "BandSolve", "ComplexBandSolve")
}
ROUTINES = {name: op for name, op in registry.ops.items() if op.kind == "routine"}
PAIRS = [
    pytest.param(ROUTINES[name], *case, id=f"{name}-{k}")
    for name, cases in CASES.items()
    for k, case in enumerate(cases)
]
EACH = pytest.mark.parametrize(("op", "operands", "params"), PAIRS)
#: Operands that carry what was computed of another, and pass no derivative on.
KNOWN = {
    "BandSolve": (1,),
    "ComplexBandSolve": (1,),
    "Solve": (1,),
    "Det": (1,),
    "LogAbsDet": (1,),
    "Cofactors": (1,),
    "CofactorChange": (1,),
    "ComplexLogDet": (1,),
    "ComplexSolve": (1,),
    "PseudoInverse": (1,),
    "ComplexPseudoInverse": (1,),
}
SYMMETRIC, HERMITIAN = ("Cholesky", "Eigh"), ("ComplexCholesky", "ComplexEigh")
#: Ops with vectors whose angles in the complex plane are left to LAPACK.
TURNING = ("ComplexEigh", "ComplexSVD")
#: Ops whose derivative is for the user to give.
OPAQUE = ("Callback",)


def test_every_routine_has_a_case() -> None:
    assert set(CASES) == set(ROUTINES)


def remade(op: Op, operands: Any, params: Any) -> Any:
    """Carry out an op with what it is given of its first operand computed anew."""
    a, *rest = operands
    if op.name in ("Solve", "Det", "LogAbsDet", "Cofactors", "CofactorChange"):
        rest[0] = lu_factors(a)
    if op.name in ("ComplexLogDet", "ComplexSolve"):
        rest[0] = complex_lu_factors(a)
    if op.name == "BandSolve":
        rest[0] = band_factors(a, params["lower"], params["upper"])
    if op.name == "ComplexBandSolve":
        rest[0] = complex_band_factors(a, params["lower"], params["upper"])
    if op.name == "PseudoInverse":
        rest[0] = np.linalg.pinv(a)
    if op.name == "ComplexPseudoInverse":
        rest[0] = pseudo_inverse(a)
    return op(a, *rest, **params)


@EACH
def test_kernel_equals_numpy(op: Op, operands: Any, params: Any) -> None:
    compiled = sg.compile(lambda *xs: op(*xs, **params))
    for single in (False, True):
        given = [np.asarray(x, "f4") if single and x.dtype == np.float64 else x for x in operands]
        want = op(*given, **params)
        got = compiled(*given)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=2e-3 if single else 1e-11, atol=1e-3 * single)


@EACH
@pytest.mark.quick
def test_batched_routine_is_the_routine_on_each(op: Op, operands: Any, params: Any) -> None:
    for flags in itertools.product([False, True], repeat=len(operands)):
        if not any(flags):
            continue
        stacked = [
            np.stack([x, x[..., ::-1, :] if x.ndim > 1 and x.shape[-2] > 5 else x]) if f else x
            for x, f in zip(operands, flags, strict=True)
        ]
        want = np.stack([
            op(*(x[k] if f else x for x, f in zip(stacked, flags, strict=True)), **params)
            for k in range(2)
        ])  # fmt: skip
        assert isinstance(op, ArrayOp)
        np.testing.assert_allclose(op.batch(2, flags, *stacked, **params), want, rtol=1e-12)


@pytest.mark.parametrize(
    ("op", "operands", "params"),
    [p for p in PAIRS if isinstance(p.values[0].rule, Products) and p.values[0].name not in OPAQUE],
)
@pytest.mark.quick
def test_rules_agree_with_differences(op: Op, operands: Any, params: Any) -> None:
    """vjp and jvp are adjoint, and both are the derivative."""
    known = KNOWN.get(op.name, ())
    tangents = tuple(None if k in known else r(x.shape) for k, x in enumerate(operands))
    if op.name in SYMMETRIC:
        tangents = tuple(0.5 * (t + np.swapaxes(t, -1, -2)) for t in tangents)
    if op.name in HERMITIAN:
        z = as_complex(tangents[0])
        tangents = (as_pairs(z + np.swapaxes(z, -1, -2).conj()),)
    y = op(*operands, **params)
    ct = r(np.shape(y))
    back = op.products.vjp(ct, y, *operands, **params)
    forward = op.products.jvp(tangents, y, *operands, **params)
    if op.name == "Cholesky":
        ct = np.tril(ct)
    pulled = sum(np.sum(b * t) for b, t in zip(back, tangents, strict=True) if t is not None)
    assert np.sum(ct * forward) == pytest.approx(pulled, rel=1e-9, abs=1e-12)
    h = 1e-6
    ahead, behind = (
        remade(op, [x if t is None else x + s * t for x, t in zip(operands, tangents, strict=True)],
               params)
        for s in (h, -h)
    )  # fmt: skip
    if op.name in TURNING:
        z = as_complex(y)
        forward = np.real(np.conj(z) * as_complex(forward)) / np.abs(z)
        ahead, behind = np.abs(as_complex(ahead)), np.abs(as_complex(behind))
    np.testing.assert_allclose(forward, (ahead - behind) / (2 * h), rtol=1e-5, atol=2e-7)


def solutions(op: Any, factors: Any, **params: Any) -> Any:
    """Return how systems with one right-hand side and with some are solved."""

    def solve(a: Any, rows: Any) -> Any:
        known = factors(a, **{k: v for k, v in params.items() if k != "trans"})
        return op(a, known, rows, **params)

    alone = sg.compile(lambda a, b: solve(a, b[np.newaxis])[0])
    several = sg.compile(solve)
    return lambda a, rows: (several(a, rows), np.stack([alone(a, b) for b in rows]))


def normal(generator: Any, shape: Any, dtype: Any) -> Any:
    """Random numbers, real or complex."""
    x = generator.normal(size=(2, *shape))
    return (x[0] + 1j * x[1] if np.dtype(dtype).kind == "c" else x[0]).astype(dtype)


TYPES = [np.float64, np.float32, np.complex128, np.complex64]
CLOSE = {x: {"rtol": 1e-8, "atol": 1e-8} for x in TYPES[::2]}
CLOSE |= {x: {"rtol": 0.02, "atol": 0.02} for x in TYPES[1::2]}


@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.quick(3)
def test_short_columns_are_eliminated_with_pivots(dtype: Any, trans: bool, some: Any) -> None:
    """Own code up to forty rows, LAPACK's beyond; of one size, and of any."""
    rng = np.random.default_rng(8)
    found = solutions(registry.ops["Solve"], registry.ops["LU"], trans=trans)
    factorise = sg.compile(registry.ops["LU"])
    close = CLOSE[dtype]
    for n in some((0, 1, 2, 7, 8, 9, 16, 23, 39, 40, 41, 50), 2):
        a = normal(rng, (n, n), dtype)
        a[np.arange(n), np.arange(n)] = 0.0  # no way without pivots
        a += np.roll(3 * n**0.5 * np.eye(n, dtype=dtype), 1, axis=1)
        np.testing.assert_allclose(factorise(a), lu_factors(a), **close)
        rows = normal(rng, (3, n), dtype)
        exact = np.linalg.solve((a.T if trans else a).astype(np.result_type(a, 1.0)), rows.T).T
        for x in found(a, rows):
            assert x.dtype == dtype
            np.testing.assert_allclose(x, exact, **close)


@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.quick(3)
def test_narrow_bands_are_eliminated_with_pivots(dtype: Any, trans: bool, some: Any) -> None:
    """Own code for few diagonals, LAPACK's for more; what lies outside is not read."""
    rng = np.random.default_rng(9)
    close = CLOSE[dtype]
    bands = [(0, 0), (0, 3), (1, 1), (2, 0), (2, 2), (1, 5), (4, 3), (5, 5)]
    for lower, upper in some(bands, 3):
        params = {"lower": lower, "upper": upper}
        ops = registry.ops["BandSolve"], registry.ops["BandLU"]
        found = solutions(*ops, **params, trans=trans)
        for n in (0, 1, 2, 3, 5, 11, 30):
            columns = np.full((n, lower + upper + 1), np.nan, dtype)
            matrix = np.zeros((n, n), np.result_type(dtype, 1.0))
            for j, i in itertools.product(range(n), repeat=2):
                if -upper <= i - j <= lower:
                    far = 4.0 if i - j == min(lower, n - 1 - j) else 0.2  # the pivots
                    matrix[i, j] = far + normal(rng, (), dtype) / 3
                    columns[j, upper + i - j] = matrix[i, j]
            if n and np.linalg.cond(matrix) > 100:
                continue
            rows = normal(rng, (3, n), dtype)
            exact = np.linalg.solve(matrix.T if trans else matrix, rows.T).T
            for x in found(columns, rows):
                assert x.dtype == dtype
                np.testing.assert_allclose(x, exact, **close)


@pytest.mark.parametrize("dtype", TYPES[::2])
def test_solutions_of_huge_and_tiny_systems_are_the_same_but_for_their_power_of_two(
    dtype: Any,
) -> None:
    """Not so by squares of absolute values, which are infinite or zero then."""
    rng = np.random.default_rng(10)
    ops = registry.ops["BandSolve"], registry.ops["BandLU"]
    banded = solutions(*ops, lower=1, upper=2, trans=False)
    full = solutions(registry.ops["Solve"], registry.ops["LU"], trans=True)
    n = 12
    rows = normal(rng, (2, n), dtype)
    for found, shape in ((banded, (n, 4)), (full, (n, n))):
        a = normal(rng, shape, dtype)
        for power in (-600, 600):
            for x, scaled in zip(found(a, rows), found(a * 2.0**power, rows), strict=True):
                assert np.isfinite(x).all()
                np.testing.assert_array_equal(scaled * 2.0**power, x)


def test_singular_matrices_give_no_numbers() -> None:
    solve = sg.compile(np.linalg.solve)
    for n in (3, 12, 50):
        for a in (np.zeros((n, n)), np.ones((n, n)), np.full((n, n), np.nan)):
            assert not np.isfinite(solve(a, np.ones(n))).all()


def test_small_systems_are_straight_code_in_batches() -> None:
    """A call costs ten times the arithmetic, and none of it is a vector of examples."""
    p = np.random.default_rng(11).normal(size=(40, 2))

    def solved(p: Any) -> Any:
        u, v = p
        return np.linalg.solve(np.array([[4 + u, v], [v, 5.0]]), np.array([v, 1.0]))

    f = sg.vmap(solved)
    np.testing.assert_allclose(f(p), [solved(row) for row in p], rtol=1e-13)
    lowered = _pipeline.lower(f.program(p))
    assert "lapack" not in lowered.text
    assert "turn.head" not in lowered.text  # nor own code, column by column
