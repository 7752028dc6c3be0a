"""Sparse derivatives where lanes end: places through loops, values in compressed passes."""

import warnings

import numba
import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import OutOfMemoryError, SparsityWarning
from symgrad.scipy.optimize import newton

ENDS = "ignore::symgrad.errors.SparsityWarning"


def stencil(k, u):
    inner = u[1:-1] + 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2]) - 0.01 * u[1:-1] ** 3
    return np.concatenate([u[:1], inner, u[-1:]])


def evolved(u):
    return sg.fori_loop(0, 3, stencil, u)


def solved(u):
    a = u[:, None, None] * np.ones((2, 2)) + np.array([[3.0, 1.0], [0.5, 4.0]])
    b = np.stack([u, np.sin(u)], 1)
    return np.linalg.solve(a, b[..., None])[..., 0] * np.linalg.det(a)[:, None]


def two(u):
    return sg.fori_loop(0, 3, lambda k, s: (s[1] * s[1], np.roll(s[0], 1) * u), (u, np.cos(u)))


def counted(u):
    def body(k, v):
        out = v * 1.0
        out[k + 1] = v[k] * v[k + 1]
        return out

    return sg.fori_loop(0, u.size - 1, body, u)


def nested(u):
    return sg.fori_loop(
        0, 2, lambda k, v: sg.fori_loop(0, 2, lambda j, w: w * w[j + k], v) + stencil(k, v), u
    )


LOOPS = {
    "stencil": evolved,
    "solved": solved,
    "two carried": lambda u: two(u)[0],
    "by the counter": counted,
    "nested": nested,
    "running": lambda u: sg.scan(lambda c, x: (0.5 * c + x * x, c * x), 0.3, u)[1],
    "back": lambda u: sg.scan(lambda c, x: (0.5 * c * x, c + x), 0.3, u, reverse=True)[1],
    "rows": lambda u: sg.scan(lambda c, x: (c * x, x[::-1] * x), u, np.outer(A, u))[1][1:],
    "around": lambda u: 2.0 * evolved(u * u)[::-1][:3],
    "kept": lambda u: sg.checkpoint(lambda v: v * np.roll(v, 1))(u),
    "either": lambda u: sg.cond(u[0] > 0.0, np.sin, lambda v: v * v, u),
    "no step": lambda u: sg.fori_loop(0, 0, stencil, u),
    "beside": lambda u: evolved(u) * u[::-1] + np.cumsum(u),
    "arrow": lambda u: np.concatenate([[np.sum(u * u)], evolved(u)[1:] * u[0], u[1:] * u[:-1]]),
    "twice": lambda u: evolved(np.sin(evolved(u))) + evolved(u * u)[::-1] * u[0],
}
A = np.arange(1.0, 4.0)


def compare(function, dense, *args):
    """Compare a sparse derivative with the dense one, and its places with it."""
    found, wanted = function(*args), np.asarray(dense(*args))
    wanted = wanted.reshape(found.shape)
    np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-11, atol=1e-13)
    assert not np.any((wanted != 0) & ~function.pattern(*args).toarray())
    return found.nnz - np.count_nonzero(wanted)


@pytest.fixture(autouse=True)
def by_numpy(request):
    with sg.backend("llvm" if request.function is test_compiled else "numpy"):
        yield


@pytest.mark.filterwarnings(ENDS)
@pytest.mark.parametrize("name", LOOPS)
def test_a_jacobian_has_the_values_and_the_places_of_the_dense_one(name):
    f = LOOPS[name]
    function, dense = sg.jacobian(f, sparse=True), sg.jacobian(f)
    for n in (7, 5):
        more = compare(function, dense, np.linspace(0.4, 1.1, n))
        assert more == 0 or name == "either"


@pytest.mark.filterwarnings(ENDS)
@pytest.mark.parametrize("name", ["stencil", "two carried", "by the counter", "running", "arrow"])
def test_a_hessian_has_the_values_and_the_places_of_the_dense_one(name):
    f = lambda u: np.sum(LOOPS[name](u) ** 2)  # noqa: E731
    x = np.linspace(0.4, 1.1, 7)
    compare(sg.hessian(f, sparse=True), sg.hessian(f), x)
    lower = sg.hessian(f, sparse=True, triangle="lower")
    np.testing.assert_allclose(lower(x).toarray(), np.tril(sg.hessian(f)(x)), rtol=1e-11)


@pytest.mark.filterwarnings(ENDS)
@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("name", ["solved", "running", "kept"])
def test_few_unknowns(name, n):
    f = LOOPS[name]
    compare(sg.jacobian(f, sparse=True), sg.jacobian(f), np.linspace(0.5, 1.0, n))


def test_it_says_which_line_and_what_it_costs():
    function = sg.jacobian(evolved, sparse=True)
    said = r"evolved: .*test_sparse_colours.py:\d+\]; values take 7 compressed forward passes for"
    with pytest.warns(SparsityWarning, match=said) as told:
        found = function(np.linspace(0.0, 1.0, 100))
    assert found.nnz < 7 * 100
    assert len(told) == 1
    function(np.linspace(1.0, 2.0, 50))  # says it once: warnings are errors here


def test_reverse_passes_where_they_are_fewer():
    def few(u):
        return evolved(u)[::10] * 2.0

    function = sg.jacobian(few, sparse=True)
    with pytest.warns(SparsityWarning, match="1 compressed reverse pass for"):
        compare(function, sg.jacobian(few), np.linspace(0.1, 1.0, 40))


def test_lanes_lead_past_a_loop():
    """A dense row and a dense column take no colours where they do not go through the loop."""
    function = sg.jacobian(LOOPS["arrow"], sparse=True)
    with pytest.warns(SparsityWarning, match="7 compressed forward passes for 394 entries"):
        compare(function, sg.jacobian(LOOPS["arrow"]), np.linspace(0.4, 1.1, 59))


@pytest.mark.parametrize(
    "f",
    [
        lambda u: sg.cond(u[0] > 0.6, lambda v: v * np.roll(v, 1), np.sin, u),
        lambda u: sg.switch((9.0 * u[-1]).astype(int), [np.cos, np.flip, lambda v: 2.0 * v], u),
        lambda u: np.diff(sg.checkpoint(lambda v: v * np.roll(v, 1))(u)),
        lambda u: newton(lambda x, a: x * x - a, np.ones_like(u), args=(u * np.roll(u, 1),)),
    ],
    ids=["either", "one of three", "kept", "root"],
)
def test_lanes_lead_through_branches_and_roots(f):
    function, hessian = sg.jacobian(f, sparse=True), sg.hessian(lambda u: np.sum(f(u)), sparse=True)
    for first in (0.5, 0.7):
        for n in (7, 2, 1):
            x = np.linspace(first, 0.9, n)
            compare(function, sg.jacobian(f), x)
            compare(hessian, sg.hessian(lambda u: np.sum(f(u))), x)
    assert function.pattern(np.ones(50)).nnz <= 3 * 50


def test_a_branch_that_may_not_be_run_unless_it_is_chosen():
    """A case reads places that there are only where it is chosen."""

    def f(u, k):
        return sg.cond(np.sum(k) < 4, lambda v: v * np.sum(v[k]), lambda v: v * v, u)

    function, x = sg.jacobian(f, sparse=True), np.linspace(0.5, 1.0, 4)
    with pytest.warns(SparsityWarning, match="a result of a loop or a branch"):
        compare(function, sg.jacobian(f), x, np.array([0, 2]))
    compare(function, sg.jacobian(f), x, np.array([0, 9]))


def test_a_condition_that_decides_how_many_steps_there_are():
    def settled(u):
        body = lambda s: (s[0] + 1, s[1] * np.roll(s[1], 2))  # noqa: E731
        return sg.while_loop(lambda s: s[0] < 2, body, (0, u))[1]

    function = sg.jacobian(settled, sparse=True)
    with pytest.warns(SparsityWarning, match="3 compressed forward passes"):
        compare(function, sg.jacobian(settled), np.linspace(0.5, 1.0, 6))
    assert function.nnz == 18  # any number of steps reaches every other element
    with pytest.raises(OutOfMemoryError, match=r"all elements depend on all.*test_sparse_colours"):
        function(np.ones(1 << 18))


@pytest.mark.filterwarnings(ENDS)
def test_index_data_and_captures_that_change():
    scale = {"by": 2.0}

    def hopped(u, to):
        return sg.fori_loop(0, 2, lambda k, v: v * v[to] * scale["by"], u)

    function, x = sg.jacobian(hopped, sparse=True), np.linspace(0.5, 1.0, 5)
    to = np.array([1, 2, 3, 4, 0])
    places = set()
    for change in range(4):
        if change == 1:
            to[:] = [4, 4, 4, 4, 4]
        if change == 2:
            scale["by"] = 3.0
        if change == 3:
            x, to = np.linspace(0.5, 1.0, 4), np.array([2, 0, 1, 3])
        compare(function, sg.jacobian(hopped), x, to)
        places.add(function.nnz)
    assert len(places) == 3


@pytest.mark.filterwarnings(ENDS)
def test_structures_formats_and_batches():
    def f(p, w):
        out = sg.fori_loop(0, 2, lambda k, v: v * np.roll(v, 1) * w, p["u"])
        return {"a": out, "b": p["v"] * out[:2]}

    p = {"u": np.linspace(0.5, 1.0, 4), "v": np.array([1.0, 2.0])}
    found = sg.jacobian(f, sparse=True, format="csc")(p, 1.5)
    wanted = sg.jacobian(f)(p, 1.5)
    for row in "ab":
        for col in "uv":
            assert found[row][col].format == "csc"
            np.testing.assert_allclose(found[row][col].toarray(), wanted[row][col], rtol=1e-12)
    assert found["a"]["v"].nnz == 0
    x = np.linspace(0.1, 1.0, 18).reshape(3, 6)
    one, many = sg.jacobian(evolved, sparse=True), sg.vmap(sg.jacobian(evolved, sparse=True))
    np.testing.assert_allclose(many.values(x), [one.values(row) for row in x], rtol=1e-12)


@pytest.mark.filterwarnings(ENDS)
def test_compiled():
    function, x = sg.jacobian(evolved, sparse=True), np.linspace(0.1, 1.0, 9)
    with sg.backend("numpy"):
        wanted = sg.jacobian(evolved)(x)
    out = np.empty(function(x).nnz)
    for _ in range(2):
        np.testing.assert_allclose(function(x).toarray(), wanted, rtol=1e-12, atol=1e-15)
        function.values(x, out=out)
        np.testing.assert_array_equal(out, function.values(x))
    kernel = function.kernel(x)
    np.testing.assert_allclose(numba.njit(lambda x: kernel(x))(x), out, rtol=1e-12)


def test_what_is_dense_stays_dense_in_passes_of_one_step():
    """A routine on one matrix has no structure: its own Jacobian, not passes over all."""
    f = lambda x: np.linalg.solve(np.eye(4) + np.diag(x), x)  # noqa: E731
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        sg.jacobian(f, sparse=True)(np.ones(4))
    assert "count as dense" in str(told[0].message)


@sg.custom_jvp
def root(x):
    return np.sqrt(x)


root.defjvp(lambda x, t: (np.sqrt(x[0]), 7.0 * t[0] * x[0]))


@sg.custom_vjp
def joined(x, y):
    return np.concatenate([x[1:] * y[:-1], y])


def back(given, ct):
    x, y = given
    n = x.shape[0]
    return np.concatenate([np.zeros(1), ct[: n - 1]]) * y, ct[n - 1 :] * 2.0


joined.defvjp(lambda x, y: (np.concatenate([x[1:] * y[:-1], y]), (x, y)), back)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: root(np.roll(x, 1) * x),
        lambda x: np.roll(joined(x * x, np.roll(x, 1) * x), 1),
    ],
)
def test_lanes_lead_through_rules_of_the_users(f):
    for n in (6, 3, 1):
        assert compare(sg.jacobian(f, sparse=True), sg.jacobian(f), np.linspace(0.5, 1.7, n)) == 0
    g = lambda x: np.sum(f(x) ** 2)  # noqa: E731
    assert compare(sg.hessian(g, sparse=True), sg.hessian(g), np.linspace(0.5, 1.7, 6)) == 0
