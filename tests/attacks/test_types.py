"""Two operands of any element types: arrays, scalars and numbers of Python's, beside NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg

WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
TYPES = ("bool", *WHOLE, "float32", "float64", "complex64", "complex128")
#: Python's numbers, as arguments and in the code.
NUMBERS = (0, 1, 3, -1, -7, 255, -129, 2**31, 0.0, 0.5, -1.5, 2.0, True, False, 1j, 2 + 1j)


def written(write: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the function that writes its second operand into a copy of its first."""

    def f(a: Any, b: Any) -> Any:
        a = np.array(a)
        write(a, b)
        return a

    return f


def assigned(index: Any) -> Callable[[Any, Any], None]:
    return lambda a, b: operator.setitem(a, index, b)


#: What writes numbers into arrays of another type.
WRITES: list[Callable[..., Any]] = [
    written(assigned(Ellipsis)), written(lambda a, b: a.fill(b)), written(np.copyto),
    written(lambda a, b: operator.setitem(a, Ellipsis, [b] * a.size if np.ndim(b) == 0 else b)),
    written(lambda a, b: np.put(a, [0], b)), written(lambda a, b: np.place(a, a == a, b)),
    written(lambda a, b: np.put(a, [0], [b] if np.ndim(b) == 0 else b)),
    written(lambda a, b: operator.setitem(a, a > 0, b) if np.ndim(b) == 0 else None),
    lambda a, b: np.full_like(a, b), lambda a, b: np.append(a, b), lambda a, b: np.where(a, a, b),
    lambda a, b: np.full(3, b, np.asarray(a).dtype) if np.ndim(b) == 0 else a,
    lambda a, b: np.array([b, 1], np.asarray(a).dtype) if np.ndim(b) == 0 else a,
    lambda a, b: np.asarray(b).astype(np.asarray(a).dtype),
    lambda a, b: np.insert(a, 0, b), lambda a, b: np.pad(np.ravel(a), 1, constant_values=b),
]  # fmt: skip

TWO: list[Callable[..., Any]] = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.lt, operator.ge, operator.eq, operator.and_, operator.or_, operator.xor,
    operator.lshift, operator.rshift, divmod, np.fmod, np.maximum, np.fmin, np.not_equal, np.less,
    np.greater_equal, np.logical_xor, np.hypot, np.arctan2, np.copysign, np.logaddexp, np.gcd,
    np.lcm, np.dot, np.outer, np.isin, lambda a, b: np.searchsorted(np.sort(np.ravel(a)), b),
    lambda a, b: np.clip(a, b, 7),
    lambda a, b: np.concatenate([np.atleast_1d(a), np.atleast_1d(b)]),
    lambda a, b: np.stack(np.broadcast_arrays(a, b)),
    # NumPy goes round as often as it takes, so not with the largest.
    lambda a, b: np.take(np.arange(30.0), np.asarray(a, int) % 100 if isinstance(a, int)
                         else a % 100, mode="wrap") + b,
    *WRITES,
]  # fmt: skip
ONE: list[Callable[..., Any]] = [
    np.negative, np.positive, np.absolute, np.sign, np.sqrt, np.square, np.exp, np.floor, np.trunc,
    np.isnan, np.signbit, np.logical_not, np.invert, np.conj, np.real, np.imag, np.sum, np.prod,
    np.mean, np.std, np.max, np.argmin, np.cumsum, np.sort, np.any, np.median, np.diff, np.ptp,
    np.round, np.modf, np.count_nonzero, np.nansum, np.bitwise_count, np.deg2rad, np.trapezoid,
]  # fmt: skip
#: By design: docs/conventions.md, and what needs numbers of another kind.
REFUSED = (
    TypeError, ValueError, OverflowError, ZeroDivisionError, IndexError, AttributeError,
    np.exceptions.ComplexWarning,
)  # fmt: skip


def array(rng: np.random.Generator, size: int) -> Any:
    kind = str(rng.choice(TYPES))
    if kind in WHOLE:
        info = np.iinfo(kind)
        ends = [0, 1, 2, 3, 5, 7, 100, int(info.max), int(info.max) - 1, int(info.min)]
        ends += [-1, -2, -3, -7] if info.min else []
        return np.array([ends[int(k)] for k in rng.integers(0, len(ends), size)], kind)
    values = rng.choice([0.0, 0.5, -1.5, 2.0, -3.0, 7.25, 1e5, -1e-3], size)
    return (values + 1j * rng.choice([0.0, 0.5], size) if kind[0] == "c" else values).astype(kind)


def operand(rng: np.random.Generator, size: int) -> Any:
    choice = rng.random()
    if choice < 0.7:
        return array(rng, size)
    if choice < 0.8:
        return array(rng, 1)[0] if choice < 0.75 else array(rng, 1).reshape(())
    return NUMBERS[int(rng.integers(len(NUMBERS)))]


def undefined(a: Any, b: Any) -> bool:
    """Tell whether floats become whole numbers that do not hold them, which C leaves open."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind not in "iu" or b.dtype.kind not in "fc":
        return False
    info = np.iinfo(a.dtype)
    return not bool(np.all((b.real > float(info.min) - 1) & (b.real < float(info.max))))


def compare(found: Any, want: Any, case: Any) -> None:
    found, want = np.asarray(found), np.asarray(want)
    assert found.shape == want.shape
    if want.dtype == np.float16:  # of bytes and truth values
        assert found.dtype.kind == "f"
        case.tally("float16 in NumPy")
        return
    assert found.dtype == want.dtype, (found, want)
    if want.dtype.kind in "biu":
        assert np.array_equal(found, want), (found, want)
        return
    sure = np.isfinite(want)
    scale = 500 * np.finfo(want.dtype).eps
    size = scale * float(np.max(np.abs(want[sure]), initial=1.0))
    assert np.allclose(found[sure], want[sure], rtol=scale, atol=size), (found, want)


@pytest.mark.attack(quick=30, whole=3000, judge="NumPy, element types included")
def test_types(attack: Any) -> None:
    """Functions of one and two operands, and writes: element types, what does not fit, scalars."""
    for case in attack:
        rng = case.rng
        with case, np.errstate(all="ignore"):
            two, size = rng.random() < 0.75, int(rng.choice([1, 3, 4, 9]))
            functions = TWO if two else ONE
            f = functions[int(rng.integers(len(functions)))]
            args = [operand(rng, size) for _ in range(1 + two)]
            if not any(isinstance(x, np.ndarray) and x.ndim for x in args):
                args[0] = array(rng, size)
            if f in WRITES and undefined(*args):
                case.tally("undefined")
                continue
            inside = {
                k: x for k, x in enumerate(args)
                if not isinstance(x, np.ndarray) and rng.random() < 0.5
            }  # fmt: skip
            outside = [k for k in range(len(args)) if k not in inside]

            def function(*given: Any, f: Any = f, inside: Any = inside, at: Any = outside) -> Any:
                known = {**inside, **dict(zip(at, given, strict=True))}
                return f(*[known[k] for k in sorted(known)])

            given = [args[k] for k in outside]
            try:
                want = f(*args)
            except REFUSED as error:
                want = error
            try:
                found = sg.compile(function)(*given)
            except REFUSED:
                case.tally("refused by NumPy" if isinstance(want, Exception) else "refused")
                continue
            assert not isinstance(want, OverflowError), (found, want)
            if isinstance(want, Exception):
                case.tally("refused by NumPy alone")
                continue
            pairs = zip(found, want, strict=True) if type(want) is tuple else ((found, want),)
            for a, b in pairs:
                compare(a, b, case)
