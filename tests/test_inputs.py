"""Arguments and results of every kind that NumPy users have."""

from __future__ import annotations

import collections
import dataclasses
import decimal
import enum
import itertools
import operator
import pickle
from collections.abc import Callable, Iterator
from fractions import Fraction
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.special as sc

import symgrad as sg
from symgrad._core.trace import flatten
from symgrad.errors import ArgumentError, DTypeError, ShapeError, TraceError

BACKENDS = ["numpy", "llvm"]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    with sg.backend(request.param):
        yield request.param


def arrays(value: Any) -> list[np.ndarray[Any, Any]]:
    return [leaf for leaf in flatten(value)[0] if isinstance(leaf, np.ndarray)]


def same(got: Any, want: Any, rtol: float = 1e-13) -> None:
    """Compare nested values: structure, types, shapes, numbers."""
    left, right = flatten(got), flatten(want)
    assert left[1] == right[1]
    for a, b in zip(left[0], right[0], strict=True):
        if isinstance(b, (np.ndarray, np.generic, float)):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            assert np.shape(a) == np.shape(b)
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-15)
        else:
            assert a == b


# ---------------------------------------------------------------- memory


class Sub(np.ndarray):
    pass


def f(x: Any) -> Any:
    return np.sum(np.sin(x) ** 2 * x)


def slope(x: Any) -> Any:
    return np.sin(x) ** 2 + 2 * x * np.sin(x) * np.cos(x)


def unaligned(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    buffer = np.zeros(x.nbytes + 1, np.uint8)
    view = buffer[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


def read_only(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    x = x.copy()
    x.flags.writeable = False
    return x


X = np.random.default_rng(0).normal(size=(6, 8))
MEMORY = {
    "contiguous": X,
    "fortran": np.asfortranarray(X),
    "transposed": X.T,
    "reversed": X[::-1],
    "both reversed": X[::-1, ::-1],
    "strided": X[:, ::2],
    "negative strided": X[::-2, 5:0:-2],
    "read-only": read_only(X),
    "byte-swapped": X.astype(X.dtype.newbyteorder()),
    "byte-swapped float32": X.astype(np.dtype(np.float32).newbyteorder()),
    "broadcast": np.broadcast_to(X[0], (6, 8)),
    "unaligned": unaligned(X),
    "subclass": X.view(Sub),
    "record field": np.rec.fromarrays([X, X], names="a,b")["b"],
    "memory order of axes": np.ones((2, 3, 4)).transpose(2, 0, 1),
    "empty": X[:0],
    "empty in the middle": np.ones((2, 0, 3)),
    "one element": X[:1, :1],
    "0-d": np.array(0.7),
    "0-d byte-swapped": np.array(0.7).astype(np.dtype(float).newbyteorder()),
    "numpy scalar": np.float64(0.7),
    "numpy float32": np.float32(0.7),
    "buffer": np.frombuffer(X.tobytes()).reshape(X.shape),
    "pickled": pickle.loads(pickle.dumps(X)),  # with an element type that is equal to NumPy's
}


@pytest.fixture(scope="module")
def function() -> sg.Function:
    return sg.value_and_grad(f)


@pytest.mark.parametrize("name", MEMORY)
def test_memory(name: str, function: sg.Function, backend: str) -> None:
    given = MEMORY[name]
    before = np.array(given)
    value, gradient = function(given)
    real = np.asarray(given).astype(np.asarray(given).dtype.newbyteorder("="))
    rtol = 1e-12 if real.dtype == np.float64 else 2e-6
    np.testing.assert_allclose(value, f(real), rtol=rtol)
    np.testing.assert_allclose(gradient, slope(real), rtol=rtol, atol=rtol)
    assert type(value) is real.dtype.type
    assert type(gradient) is (np.ndarray if real.ndim else real.dtype.type)
    assert gradient.dtype == real.dtype
    assert gradient.shape == real.shape
    np.testing.assert_array_equal(given, before)  # the caller's array is as it was
    for result in arrays(gradient):
        assert result.flags.writeable
        assert result.flags.c_contiguous
        assert not np.shares_memory(result, given)


LISTS: dict[str, Any] = {
    "list": [1.0, 2.0, 3.0],
    "nested list": [[1.0, 2.0], [3.0, 4.0]],
    "list of ints and floats": [1, 2.5],
    "list of numpy numbers": [np.float64(1.0), np.float64(2.0)],
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_numbers_is_an_array(name: str, function: sg.Function, backend: str) -> None:
    value, gradient = function(LISTS[name])
    want = np.array(LISTS[name])
    np.testing.assert_allclose(value, f(want), rtol=1e-13)
    np.testing.assert_allclose(gradient, slope(want), rtol=1e-13)


def test_python_float(function: sg.Function, backend: str) -> None:
    value, gradient = function(0.5)
    assert type(value) is type(gradient) is np.float64
    assert gradient == pytest.approx(slope(0.5), rel=1e-15)


def test_what_has_an_array_is_one(backend: str) -> None:
    class Column:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.array([1.0, 2.0])

    np.testing.assert_allclose(sg.grad(f)(Column()), slope(np.array([1.0, 2.0])))


# ---------------------------------------------------------------- what is no argument


RECORD = np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (np.array([1.0, None]), "element type object"),
        (np.array(["a", "b"]), "element type <U1"),
        (np.array([b"a"]), r"element type \|S1"),
        (np.ones(3, np.float16), r"float16.*astype\(np.float64\)"),
        (np.float16(1), r"float16.*astype\(np.float64\)"),
        (np.array(["2020-01-01"], "M8[D]"), "datetime64"),
        (np.array([1], "m8[s]"), "timedelta64"),
        (RECORD, "element type"),
        pytest.param(
            np.ones(3, np.longdouble),
            r"astype\(np.float64\)",
            marks=pytest.mark.skipif(np.longdouble().itemsize == 8, reason="it is a double"),
        ),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
@pytest.mark.parametrize("make", [sg.compile, sg.grad])
def test_element_types_that_are_refused(make: Any, bad: Any, says: str) -> None:
    with pytest.raises(DTypeError, match=rf"argument y has .*{says}"):
        make(lambda x, y: np.sum(x))(1.0, bad)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({1.0, 2.0}, "type set"),
        (bytearray(b"ab"), "type bytearray"),
        (np.ma.array([1.0, 2.0], mask=[False, True]), r"MaskedArray.*filled"),
        ([[1.0, 2.0], [3.0]], "ragged"),
    ],
    ids=["set", "bytearray", "masked", "ragged"],
)
def test_arguments_that_are_refused(bad: Any, says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        sg.compile(lambda x: np.sum(x))(bad)


@pytest.mark.parametrize(
    "bad", [np.arange(3), True, np.array([True]), np.int8(3)], ids=lambda x: str(type(x))
)
def test_only_reals_are_differentiated(bad: Any) -> None:
    with pytest.raises(ArgumentError, match=r"cannot differentiate .* argument x .*real numbers"):
        sg.grad(lambda x: np.sum(x * 1.0))(bad)


@pytest.mark.parametrize("bad", [object(), b"abc", Fraction(1, 2), range(3), len])
def test_what_has_no_numbers_is_not_differentiated(bad: Any) -> None:
    with pytest.raises(ArgumentError, match="argument x must be a number or an array"):
        sg.grad(lambda x: np.sum(x))(bad)


# ---------------------------------------------------------------- results


C = np.arange(3.0)
RESULTS: dict[str, Callable[[Any], Any]] = {
    "the argument": lambda x: x,
    "ravelled": lambda x: x.ravel(),
    "reversed": lambda x: x[::-1],
    "transposed": lambda x: x.T,
    "broadcast": lambda x: np.broadcast_to(x, (2, 3)),
    "the same twice": lambda x: (x, x),
    "equal results": lambda x: (x * 2, x * 2, (x * 2).reshape(-1)),
    "a constant": lambda x: C,
    "a constant twice": lambda x: [C, C],
    "a constant and a view": lambda x: {"a": C, "b": C[::-1]},
    "zeros": lambda x: np.zeros_like(x),
    "one element": lambda x: x[0],
    "one in a tuple": lambda x: (np.sum(x),),
    "a number": lambda x: 3.5,
    "booleans": lambda x: (x > 2, np.any(x > 2)),
    "integers": lambda x: (np.argmax(x), np.array([1, 2], np.int16)),
    "none and text": lambda x: (None, x, "text", ()),
    "nested": lambda x: {"a": [x, (x[0], None)], "b": (), "c": {}},
    "nothing": lambda x: None,
    "no values": lambda x: ("a", None, []),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results(name: str, backend: str) -> None:
    x = np.array([1.0, 2.0, 3.0])
    g = sg.compile(RESULTS[name])
    got = g(x)
    same(got, RESULTS[name](x))
    found = arrays(got)
    for k, a in enumerate(found):
        assert a.flags.writeable
        for other in (x, C, *found[:k]):
            assert not np.shares_memory(a, other)
    for a in found:  # what the caller does with a result stays without effect
        a[...] = -1
    same(x, np.array([1.0, 2.0, 3.0]))
    same(g(x), RESULTS[name](x))


def test_gradients_share_no_memory(backend: str) -> None:
    x, y = np.ones(3), np.ones(3)
    a, b = sg.grad(lambda x, y: np.sum(np.sin(x + y)), argnums=(0, 1))(x, y)
    a += 1
    np.testing.assert_allclose(b, np.cos(2.0))
    out, pullback = sg.vjp(lambda x: x, x)
    [g] = pullback(y)
    g[:] = out[:] = 7
    assert x.tolist() == y.tolist() == [1, 1, 1]


def test_python_numbers_come_back_as_numpy_numbers(backend: str) -> None:
    got = sg.compile(lambda x: (1, 2.5, x.shape[0], True))(np.ones(3))
    assert [type(v) for v in got] == [np.int64, np.float64, np.int64, bool]
    assert got == (1, 2.5, 3, True)


# ---------------------------------------------------------------- element types


VALUES: dict[str, Any] = {
    "float": 2.5,
    "int": 3,
    "bool": True,
    "np.float64": np.float64(2.5),
    "np.float32": np.float32(2.5),
    "np.int8": np.int8(3),
    "np.bool": np.bool_(True),
    "0-d": np.array(2.5, np.float32),
} | {
    name: np.array([3, 2, 1]).astype(name)
    for name in (
        "float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint8", "bool"
    )
}  # fmt: skip

BINARY: list[Callable[..., Any]] = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.lt, operator.eq, np.maximum, np.arctan2, np.hypot, np.copysign,
    np.logaddexp, operator.and_, operator.lshift, np.power, np.heaviside,
    lambda a, b: np.where(np.array([True, False, True]), a, b),
    lambda a, b: (a * 2.0) * b,
    lambda a, b: (2 * a) + b,
    lambda a, b: (1 - a) / (b + 1),
    lambda a, b: np.sum(a) * b,
    lambda a, b: np.prod(a) * np.max(b),
    lambda a, b: np.stack([np.ravel(a)[0], np.ravel(b)[0]]),
    lambda a, b: np.concatenate([np.ravel(a), np.ravel(b)]),
    lambda a, b: np.cumsum(a) + np.sum(b),
    lambda a, b: np.dot(a, b),
    lambda a, b: np.add(a, b, dtype=np.float32),
    lambda a, b: np.sum(a, dtype=np.float32) * b,
    lambda a, b: np.clip(b, 0, 1) + a,
]  # fmt: skip


def promotion(a: Any, b: Any, backend: str, functions: list[Any] = BINARY) -> int:
    """Compare types and numbers of all functions of a pair with NumPy's; count them."""
    wanted = []
    for function in functions:
        try:
            with np.errstate(all="ignore"):
                result = function(a, b)
        except (TypeError, OverflowError):
            continue
        if np.asarray(result).dtype != np.float16:
            wanted.append((function, result))

    def everything(a: Any, b: Any) -> Any:
        return tuple(function(a, b) for function, _ in wanted)

    got = sg.compile(everything, backend=backend, cache=False)(a, b)
    for (function, want), result in zip(wanted, got, strict=True):
        number = np.asarray(want)
        if isinstance(want, (float, int)) and not isinstance(want, bool):
            number = np.asarray(result).dtype.type(want)  # of Python numbers: int may be float
            assert number.dtype in (np.int64, np.float64)
        assert np.asarray(result).dtype == number.dtype, (BINARY.index(function), want, result)
        np.testing.assert_allclose(result, number, rtol=1e-6, atol=1e-30)
    return len(wanted)


@pytest.mark.parametrize("left", VALUES)
@pytest.mark.quick(1)
def test_promotion_is_numpys(left: str) -> None:
    # In one program all functions of a pair see the same example, so the sizes stay.
    counts = [promotion(VALUES[left], b, "numpy") for b in VALUES.values()]
    assert sum(counts) > 150


PAIRS = [("float32", "float"), ("float32", "int32"), ("uint8", "int"), ("int16", "float32")]


@pytest.mark.parametrize(("left", "right"), PAIRS)
@pytest.mark.quick(2)
def test_kernels_have_the_same_types(left: str, right: str) -> None:
    assert promotion(VALUES[left], VALUES[right], "llvm") > 10


@pytest.mark.slow
@pytest.mark.parametrize("left", VALUES)
def test_all_kernels_have_the_same_types(left: str) -> None:
    for b in VALUES.values():
        promotion(VALUES[left], b, "llvm")


def test_python_numbers_are_weak(backend: str) -> None:
    x = np.ones(3, np.float32)
    weak = sg.compile(lambda x, a, n: (x * a, x + n, x * (2 * a - 1), x * -a, x * (n / 2), x**n))
    assert {v.dtype for v in weak(x, 2.5, 3)} == {np.dtype(np.float32)}
    strong = sg.compile(lambda x, a: (x * a, x * np.sin(a), x + a * 2))
    assert {v.dtype for v in strong(x, np.float64(2.5))} == {np.dtype(np.float64)}
    assert sg.compile(lambda x, a: x * np.sin(a))(x, 2.5).dtype == np.float64


@pytest.mark.parametrize("x", [2.5, np.float32(2.5), np.ones(2, np.float32), np.ones(2)])
def test_derivatives_have_the_type_of_the_argument(x: Any, backend: str) -> None:
    wide = np.arange(2.0)
    gradient = sg.grad(lambda x: np.sum(x * wide * np.float64(2)))(x)
    assert gradient.dtype == np.asarray(x).dtype
    out, tangent = sg.jvp(lambda x: x * wide, (x,), (np.ones_like(x),))
    assert out.dtype == tangent.dtype == (wide * x).dtype


def test_integers_out_of_bounds(backend: str) -> None:
    x = np.array([1, 200], np.uint8)
    compare = sg.compile(lambda x: (x > -1, x == 300, x < 2**40))
    same(compare(x), (np.array([True] * 2), np.array([False] * 2), np.array([True] * 2)))
    with pytest.raises(OverflowError, match="-1 is out of bounds for uint8"):
        sg.compile(lambda x: x + -1)(x)


@pytest.mark.parametrize("n", [2**62, -(2**63), 2**63, 2**70, -(2**70)])
def test_python_integers_of_any_length(n: int, backend: str) -> None:
    g = sg.compile(lambda x, n: x * n)
    assert g(0.5, 3) == 1.5
    assert g(0.5, n) == 0.5 * n
    assert g(0.5, 4) == 2


# ---------------------------------------------------------------- containers


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Model:
    w: Any
    b: Any
    name: str = "model"


@dataclasses.dataclass(frozen=True)
class Frozen:
    w: Any
    b: Any = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.w, str):
            raise ValueError("no text")


w3 = np.array([1.0, 2.0, 3.0])
CONTAINERS: list[tuple[Any, Callable[[Any], Any], Any]] = [
    (Point(w3, 2.0), lambda p: np.sum(p.x**2) * p.y, Point(4 * w3, np.float64(14.0))),
    (Model(w3, 2.0), lambda p: np.sum(p.w**2) * p.b, Model(4 * w3, np.float64(14), None)),  # type: ignore[arg-type]
    (Frozen(w3), lambda p: np.sum(p.w**2) * p.b, Frozen(2 * w3, np.float64(14))),
    ({"w": w3, "b": 2.0}, lambda p: np.sum(p["w"] ** 2) * p["b"],
     {"w": 4 * w3, "b": np.float64(14)}),
    (collections.OrderedDict(b=2.0, a=w3), lambda p: np.sum(p["a"]) * p["b"],
     collections.OrderedDict(b=np.float64(6), a=np.full(3, 2.0))),
    (collections.defaultdict(list, a=w3), lambda p: np.sum(p["a"] ** 2),
     collections.defaultdict(list, a=2 * w3)),
    ([2.0, w3], lambda p: p[0] * p[1][0], [np.float64(1), np.array([2.0, 0, 0])]),
    ((2.0, (w3, [w3])), lambda p: p[0] * p[1][0] @ p[1][1][0],
     (np.float64(14), (2 * w3, [2 * w3]))),
    ([(w3, {"b": 1.0}), Point(2.0, ())], lambda p: np.sum(p[0][0]) * p[0][1]["b"] * p[1].x,
     [(np.full(3, 2.0), {"b": np.float64(12)}), Point(np.float64(6), ())]),
    ({"w": w3, "f": np.sin, "n": None, "s": "text", "flag": True},
     lambda p: np.sum(p["f"](p["w"])) if p["flag"] else 0.0,
     {"w": np.cos(w3), "f": None, "n": None, "s": None, "flag": None}),
    ({1: w3, (2, 3): 2.0}, lambda p: np.sum(p[1]) * p[2, 3],
     {1: np.full(3, 2.0), (2, 3): np.float64(6)}),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(CONTAINERS)))
def test_a_gradient_has_the_structure_of_its_argument(k: int, backend: str) -> None:
    given, function, want = CONTAINERS[k]
    got = sg.grad(function)(given)
    assert type(got) is type(want)
    if isinstance(want, collections.defaultdict):
        assert got.default_factory is list
    same(got, want)
    value, again = sg.value_and_grad(function)(given)
    np.testing.assert_allclose(value, function(given))
    same(again, want)


def test_all_transformations_take_containers(backend: str) -> None:
    p = Point(w3, 2.0)
    t = Point(np.ones(3), 0.0)

    def g(p: Point) -> Any:
        return {"out": p.x**2 * p.y}

    out, tangent = sg.jvp(g, (p,), (t,))
    same((out, tangent), ({"out": 2 * w3**2}, {"out": 4 * w3}))
    out, pullback = sg.vjp(g, p)
    same(pullback({"out": np.ones(3)}), (Point(4 * w3, np.float64(14)),))
    same(sg.jacobian(g)(p), {"out": Point(np.diag(4 * w3), w3**2)})
    same(sg.vmap(lambda p: p.x * p.y)(Point(w3, w3)), w3**2)
    same(sg.hvp(lambda p: np.sum(p.x**2) * p.y, (p,), (t,)),
         Point(np.full(3, 4.0), np.float64(12)))  # fmt: skip


def test_the_structure_is_part_of_the_kind_of_call() -> None:
    g = sg.compile(lambda p: p[0] if isinstance(p, tuple) else p, backend="numpy")
    assert g((1.0, 2.0)) == 1
    assert g(3.0) == 3
    assert g((4.0,)) == 4
    assert g.traces == 3
    assert g((5.0, 6.0)) == 5
    assert g.traces == 3


# ---------------------------------------------------------------- calling


def test_keyword_arguments(backend: str) -> None:
    def g(x: Any, *, a: Any, b: float = 2.0) -> Any:
        return np.sum(a * x**b)

    h = sg.value_and_grad(g)
    same(h(w3, a=3.0), (np.float64(42), 6 * w3))
    same(h(w3, b=3.0, a=w3), (np.sum(w3**4), 3 * w3**3))
    same(h(w3, a=w3, b=3.0), (np.sum(w3**4), 3 * w3**3))
    same(sg.compile(lambda x, y: x - y)(y=1.0, x=w3), w3 - 1)
    same(sg.grad(lambda x, **k: np.sum(k["p"]["q"] * x))(w3, p={"q": w3}), w3)


def test_defaults_and_rest_arguments(backend: str) -> None:
    same(sg.grad(lambda x, k=2.0: np.sum(x * k))(w3), np.full(3, 2.0))
    same(sg.grad(lambda *xs: np.sum(xs[0] * xs[1] ** 2), argnums=1)(w3, w3), 2 * w3**2)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def test_static_arguments(backend: str) -> None:
    seen: list[Any] = []

    def g(x: Any, how: Any) -> Any:
        seen.append(how)
        return np.sum(how(x)) if callable(how) else np.sum(x)

    h = sg.grad(g)
    values = ["a", None, Colour.RED, Colour.BLUE, np.sin, True, False, b"a", Fraction(1, 2),
              decimal.Decimal(1), frozenset({1}), range(3)]  # fmt: skip
    for value in values * 2:
        same(h(w3, value), np.cos(w3) if value is np.sin else np.ones(3), rtol=1e-6)
    assert list(map(repr, seen)) == list(map(repr, values * 2))
    # Each once, the second time it is known; the first again, since a list was assigned to.
    assert h.traces == len(values) + 1


def test_true_is_not_one(backend: str) -> None:
    g = sg.compile(lambda x, k: x + 1 if k is True else x + 2 * k)
    assert [g(0.0, k) for k in (True, 1, 1.0, False, 0)] == [1, 2, 2, 0, 0]


def test_integers_are_sizes(backend: str) -> None:
    power = sg.grad(lambda x, n: np.sum(x**n))
    for n in (2, 3, 4, 5, 10, -1, -2, 0, 1):
        want = n * w3 ** (n - 1.0) if n else np.zeros(3)
        np.testing.assert_allclose(power(w3, n), want, rtol=1e-14)
    # 0, 1, -1 and -2 by themselves, 3 as the length of x, the others together.
    assert power.traces == 6

    same(sg.grad(lambda x, n: sum(x**k for k in range(n)))(2.0, 4), np.float64(17))
    same(sg.grad(lambda x, n: np.sum(x) / n)(w3, 7), np.full(3, 1 / 7))
    same(sg.grad(lambda x: np.sum(x) / len(x))(w3), np.full(3, 1 / 3))
    same(sg.grad(lambda x: np.sum(x) / x.size)(w3), np.full(3, 1 / 3))
    same(sg.compile(lambda n: np.arange(n) * 1.0)(4), np.arange(4.0))
    same(sg.compile(lambda x, n: x[:n])(w3, 2), w3[:2])
    same(sg.compile(lambda x, n: np.zeros(n) + x)(2.0, 3), np.full(3, 2.0))


def test_argnums(backend: str) -> None:
    def g(a: Any, b: Any, c: Any) -> Any:
        return np.sum(a * b**2 * c)

    args = w3, w3 + 1, 3.0
    want = (3 * args[1] ** 2, 6 * w3 * args[1], np.sum(w3 * args[1] ** 2))
    several = [(0, 2), (), (2, 0), (1, 1), (0, 1, 2), (0,), (-1,), (-3, 2)]
    for numbers in several[: 2 if backend == "llvm" else None]:
        same(sg.grad(g, argnums=numbers)(*args), tuple(want[k] for k in numbers), rtol=1e-14)
    for number in (-2, 0, 1, 2, -1, np.int64(1))[: 1 if backend == "llvm" else None]:
        same(sg.grad(g, argnums=number)(*args), want[number], rtol=1e-14)
    same(sg.grad(g, argnums=[0, 1])(*args), want[:2], rtol=1e-14)
    jacobian = sg.jacobian(lambda a, b: a * b, argnums=(0, 1))(w3, 2.0)
    same(jacobian, (np.diag([2.0, 2.0, 2.0]), w3))


def test_aux(backend: str) -> None:
    def g(x: Any) -> Any:
        return np.sum(x**2), {"double": x * 2, "name": "n", "none": None, "count": len(x)}

    aux = {"double": 2 * w3, "name": "n", "none": None, "count": np.int64(3)}
    same(sg.grad(g, has_aux=True)(w3), (2 * w3, aux))
    same(sg.value_and_grad(g, has_aux=True)(w3), ((np.float64(14), aux), 2 * w3))
    aux_only = sg.grad(lambda x: (np.sum(x), x), has_aux=True)(w3)
    assert not np.shares_memory(aux_only[1], w3)


def test_unused_arguments_have_zero_gradients(backend: str) -> None:
    got = sg.grad(lambda a, b: np.sum(a), argnums=(0, 1))(w3, {"q": np.ones((2, 3)), "r": 2.0})
    same(got, (np.ones(3), {"q": np.zeros((2, 3)), "r": np.float64(0)}))
    same(sg.grad(lambda a: 1.0)(w3), np.zeros(3))
    same(sg.jacobian(lambda a, b: a, argnums=1)(w3, np.ones(2)), np.zeros((3, 2)))
    same(sg.jvp(lambda a, b: b * 2, (w3, 1.0), (w3, 0.0)), (np.float64(2), np.float64(0)))
    same(sg.hessian(lambda x: np.sum(x) * 2)(w3), np.zeros((3, 3)))
    same(sg.grad(lambda x: np.sum(np.floor(x)))(w3), np.zeros(3))


def test_empty_arrays_everywhere(backend: str) -> None:
    e = np.zeros(0)
    cases: list[tuple[Callable[[Any], Any], Any]] = [
        (np.sum, 0.0), (np.prod, 1.0), (lambda x: np.pad(x, 2), np.zeros(4)),
        (lambda x: np.concatenate([x, w3, x]), w3), (lambda x: np.tile(x, 3), e),
        (lambda x: np.roll(x, 2), e), (np.cumsum, e), (np.diff, e), (lambda x: x @ x, 0.0),
        (lambda x: np.outer(x, w3) @ w3, e), (lambda x: w3[:, None] * np.sum(x), np.zeros((3, 1))),
        (lambda x: np.any(x > 0), np.False_), (lambda x: np.all(x > 0), np.True_),
        (lambda x: np.stack([x, x]), np.zeros((2, 0))),
        (lambda x: x.reshape(0, 3), e.reshape(0, 3)),
        (lambda x: np.zeros((2, 0)) @ np.outer(x, w3), np.zeros((2, 3))), (lambda x: x[::-1], e),
        (lambda x: np.einsum("i,j->j", x, w3), np.zeros(3)), (sc.expit, e),
        (lambda x: np.max(np.outer(w3, x), axis=0), e), (lambda x: np.where(x > 0, x, 1.0), e),
    ]  # fmt: skip
    got = sg.compile(lambda x: tuple(function(x) for function, _ in cases))(e)
    same(got, tuple(np.float64(want) if isinstance(want, float) else want for _, want in cases))
    slopes = sg.compile(
        lambda x: [sg.grad(lambda x, f=f: np.sum(f(x)) * 1.0)(x) for f, _ in cases[:6]]
    )
    assert [g.shape for g in slopes(e)] == [(0,)] * 6
    with pytest.raises(ValueError, match=r"zero-size|empty"):
        sg.compile(np.max)(e)


def test_traced_values_do_not_outlive_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[Any] = []
    hidden: SimpleQueue[Any] = SimpleQueue()  # an object in C, whose items are not looked at

    def g(x: Any) -> Any:
        listed.append(x)
        hidden.put(x)
        return np.sum(x)

    assert sg.grad(g, 0)(w3).tolist() == [1, 1, 1]
    assert type(listed[0]) is np.ndarray
    assert listed[0].tolist() == w3.tolist()
    kept = hidden.get()
    with pytest.raises(TraceError, match="traced argument x"):
        bool(kept)
    monkeypatch.setenv("SYMGRAD_CHECK", "0")  # the checker has its own words
    with pytest.raises(TraceError, match=r"x of another call.*pass it as an argument"):
        sg.compile(lambda y: kept * y, backend="numpy")(2.0)


def test_functions_of_every_kind(backend: str) -> None:
    class Callable_:
        def __init__(self, k: float) -> None:
            self.k = k

        def __call__(self, x: Any) -> Any:
            return np.sum(self.k * x**2)

        def method(self, x: Any) -> Any:
            return np.sum(self.k * x**3)

        inside = sg.grad(lambda self, x: np.sum(self.k * x**2), argnums=1)

    from functools import partial

    thing = Callable_(3.0)
    same(sg.grad(thing)(w3), 6 * w3)
    same(sg.grad(thing.method)(w3), 9 * w3**2)
    same(thing.inside(w3), 6 * w3)
    same(sg.grad(partial(lambda a, x: np.sum(a * x), 2.0))(w3), np.full(3, 2.0))
    same(sg.grad(np.linalg.norm)(np.array([3.0, 4.0])), np.array([0.6, 0.8]))
    assert sg.grad(np.sin)(0.0) == 1


def test_combinations_of_memory_and_type(backend: str) -> None:
    g = sg.compile(lambda x, y: x * 2 + y)
    for (a, x), (b, y) in itertools.product(enumerate(MEMORY.values()), repeat=2):
        if abs(a - b) < 3 and np.shape(x) == np.shape(y) and (backend == "numpy" or a % 4 == 0):
            np.testing.assert_allclose(g(x, y), np.asarray(x) * 2 + np.asarray(y), rtol=1e-6)


# ---------------------------------------------------------------- operands of other classes


class Declining:
    """Leaves nothing to ufuncs: its own operators are to be tried."""

    __array_ufunc__ = None

    def __radd__(self, other: Any) -> Any:
        return other * 3.0

    def __rmatmul__(self, other: Any) -> Any:
        return other * 5.0

    def __gt__(self, other: Any) -> Any:
        return other * 7.0

    def __rdivmod__(self, other: Any) -> Any:
        return other * 9.0


class Ranked:
    """Declines by the older protocol."""

    __array_priority__ = 10.1

    def __radd__(self, other: Any) -> Any:
        return other * 4.0


@pytest.mark.parametrize(
    ("operate", "factor"),
    [
        (lambda x: x + Declining(), 3),
        (lambda x: x @ Declining(), 5),
        (lambda x: x < Declining(), 7),
        (lambda x: divmod(x, Declining()), 9),
        (lambda x: x + Ranked(), 4),
        (lambda x: np.real((x + 1j) + Declining()), 3),
        (lambda x: np.sum(x[x > 0] + Declining()), 9),
    ],
)
def test_operators_of_other_classes_are_tried(operate: Any, factor: int) -> None:
    x = np.ones(3)
    np.testing.assert_array_equal(sg.compile(operate)(x), factor * (x if factor != 9 else 1))
    assert isinstance(sg.tensor([1.0]) + Ranked(), sg.Tensor)


def test_a_scalar_type_called_on_a_traced_value_says_what_to_write() -> None:
    with pytest.raises(TraceError, match=r"x\.astype\(np\.float64\) for np\.float64\(x\)"):
        sg.compile(lambda x: np.float64(x) if x.dtype.type is np.float64 else x)(np.float64(2.5))


def test_a_ragged_list_is_named() -> None:
    g = sg.compile(lambda x, y: x + y[0][0])
    for _ in range(2):
        assert g(1.0, [[2.0, 3.0]]) == 3.0  # the second is checked by the first
        with pytest.raises(ArgumentError, match=r"^argument y is a ragged nested list"):
            g(1.0, [[0.0, 1.0], [2.0]])


# ---------------------------------------------------------------- whole numbers of all types


def assigned(x: Any, n: Any) -> Any:
    y = x.copy()
    y[slice(len(n)) if isinstance(n, list) else 0] = n
    return y


def put(x: Any, n: Any) -> Any:
    y = x.copy()
    np.put(y, [0], n)
    np.place(y, y > 0, [n])
    return y


SMALL, HUGE = np.array([100, 127, -5], np.int8), np.array([2**64 - 1, 2**63, 1], np.uint64)
WITH_NUMBERS: dict[str, Callable[..., Any]] = {
    "less": lambda x, n: x < n,
    "equal": lambda x, n: (x == n) | (n != x),
    "add": lambda x, n: x + n,
    "remainder": lambda x, n: x % n,
    "maximum": np.maximum,
    "assigned": assigned,
    "assigned in a list": lambda x, n: assigned(x, [n, 1, n]),
    "filled": np.full_like,
    "array": lambda x, n: np.array([n, 1, n], x.dtype) + x,
    "put": put,
}


@pytest.mark.parametrize("name", WITH_NUMBERS)
@pytest.mark.parametrize(
    "x", [SMALL, SMALL.astype(np.uint8), SMALL.astype(np.int32), HUGE], ids=str
)
@pytest.mark.quick(4)
def test_numbers_of_pythons_beside_small_types(name: str, x: Any) -> None:
    """As arguments and in the code; those that do not fit are errors, or compared."""
    f = WITH_NUMBERS[name]
    g = sg.compile(f)
    for n in (3, 300, -1, 2**40):
        for found in (g, sg.compile(lambda x, n=n: f(x, n))):
            args = (x, n) if found is g else (x,)
            try:
                want = f(x, n)
            except OverflowError:
                with pytest.raises(OverflowError, match=r"out of bounds for u?int"):
                    found(*args)
            else:
                result = found(*args)
                assert result.dtype == want.dtype
                np.testing.assert_array_equal(result, want)


def test_borders_of_pad_are_one_number_or_two_for_each_axis() -> None:
    """A longer array was cut to its first number without a word."""
    x = np.arange(6.0).reshape(2, 3)
    f = lambda x, c: np.pad(x, 1, constant_values=c)  # noqa: E731
    for c in (np.array([1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([7.0]), 5.0):
        np.testing.assert_array_equal(sg.compile(f)(x, c), f(x, c))
    for c in (np.ones(3), np.ones((3, 2))):
        with pytest.raises(ShapeError, match="pad"):
            sg.compile(f)(x, c)


@pytest.mark.parametrize("backend", ["llvm", "numba", "numpy"])
@pytest.mark.parametrize(
    "f",
    [np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.isin],
    ids=lambda f: f.__name__,
)
def test_comparisons_of_whole_numbers_with_and_without_a_sign(f: Any, backend: Any) -> None:
    unsigned = np.array([0, 1, 2**63, 2**64 - 1, 2**63 - 1], np.uint64)
    signed = np.array([-1, 0, 1, -(2**63), 2**63 - 1])
    for a, b in ((unsigned, signed), (signed, unsigned)):
        a, b = (a, b) if f is np.isin else (a[:, None], b)
        np.testing.assert_array_equal(sg.compile(f, backend=backend)(a, b), f(a, b))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: divmod(5, x),
        lambda x: divmod(True, x),
        lambda x: np.take(np.arange(300.0), x, mode="wrap"),
        lambda x: np.take(np.arange(300.0), x, mode="clip"),
        lambda x: np.clip(x, -300, 300),
        lambda x: np.clip(x, -300, 5),
        lambda x: np.searchsorted(np.array([1, 2**63, 2**64 - 2], np.uint64), x),
        lambda x: np.digitize(x, np.array([1, 2**62, 2**63], np.uint64)),
        lambda x: True / (x * 1j),
        lambda x: (x > 0) / (x * (1 + 1j)),
        lambda x: (x * np.complex64(1j)) ** np.float32(2.5),
        lambda x: np.float32(2.5) ** (x * np.complex64(1j)),
        lambda x: (x * np.complex64(1 + 1j)) ** (x * np.complex64(1j)),
        lambda x: (1 + 1j) ** (x * np.complex64(1j)),
        lambda x: (x * np.complex64(1 + 1j)) ** x.astype(float) * 1e-120,
        lambda x: (x * np.complex64(1 + 1j)) ** np.float64(0.3),
        lambda x: 2j / (x * np.complex64(1j)),
        lambda x: x * np.complex64(1j) / (1 + 1j),
        lambda x: (x * np.float32(0.5)) / (1 + 1j),
        lambda x: np.modf(x.astype(np.int32)),
        lambda x: np.modf(x.astype(np.int16)),
        lambda x: np.modf(x * np.float32(0.3)),
    ],
)
def test_whole_numbers_and_truth_values_where_types_meet(f: Any) -> None:
    x = np.array([3, -1, 100, 1], np.int8)
    want, found = f(x), sg.compile(f)(x)
    for a, b in zip(np.atleast_2d(found), np.atleast_2d(want), strict=True):
        assert a.dtype == b.dtype
        eps = np.finfo(a.dtype).eps if a.dtype.kind in "fc" else 0.0
        np.testing.assert_allclose(a, b, rtol=1000 * eps)
