"""Discrete Fourier transforms along an axis: NumPy's pocketfft, called from kernels.

Complex numbers are pairs of reals here, along a last axis of two; what lies before and behind
the axis of their transforms is one axis each. Real numbers are transformed in rows.

The transforms are linear, and the transpose of each is a transform the other way with the same
factor; those of real rows keep half of the result, so inner elements count twice one way and half
the other way.

``norm`` is NumPy's: a factor ``1/n`` ("forward": on the way there, "backward": on the way back)
or ``1/sqrt(n)`` on both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from ..base.sizes import as_dim, as_size
from ..op import FLAG, SIZE, ArrayOp, Call, Code, Linear, Routine, Words, Written, define, one_of
from .movement import RESHAPE
from .np_common import iota
from .operands import Cores

#: The norm that has the same factor in a transform the other way.
OTHER_WAY = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
NORM = one_of(*OTHER_WAY)
LIBRARY = "numpy.fft._pocketfft_umath"

#: So many columns of a matrix become rows to be transformed: they share the cache lines.
SIDE_BY_SIDE = 16


def _has_factor(inverse: bool, norm: str) -> bool:
    return norm == ("backward" if inverse else "forward")


def _scaled(form: Any, n: Any, inverse: bool, norm: str) -> Any:
    if norm == "ortho":
        return form / sp.sqrt(n)
    return form / n if _has_factor(inverse, norm) else form


def _row(size: Any) -> tuple[Any, Any]:
    k = sp.Dummy("k", integer=True, nonnegative=True)
    return k, (k, 0, size - 1)


def _factor(r: Call, n: Any, inverse: bool, norm: str) -> str:
    """Return a pointer to the factor for ``n`` points."""
    e, kind = r.e, r.kind
    if norm != "ortho" and not _has_factor(inverse, norm):
        return r.number(1.0)
    with r.outside():
        number = e.cast("uitofp", "i64", r.size(n), kind)
        if norm == "ortho":
            name = f"llvm.sqrt.f{8 * r.dtype.itemsize}"
            e.module.declare(name, kind, [kind])
            number = e.call(kind, f"@{name}", [f"{kind} {number}"])
        return r.cell(kind, e.op("fdiv", kind, r.constant(1.0), number))


def _batched(op: Any, x: Any, result: Any, **params: Any) -> Any:
    """Transform the rows of a batch as more rows."""
    size, rows = x.shape[:2]
    y = op(RESHAPE(x, shape=(size * rows, *x.shape[2:])), **params)
    return RESHAPE(y, shape=(size, rows, *result(y)))


# ---------------------------------------------------------------- complex numbers


def fourier(x: Any, inverse: bool, norm: str) -> Any:
    """Transform complex numbers, which are pairs of reals, along the second axis of three."""
    z = np.ascontiguousarray(x).view(np.result_type(x, 1j))[..., 0]
    y = (np.fft.ifft if inverse else np.fft.fft)(z, axis=1, norm=norm)
    return np.stack((y.real, y.imag), axis=-1)


def _fourier_element(index: Any, x: Any, inverse: bool, norm: str) -> Any:
    row, k, column, part = index
    n = x.shape[1]
    j, limits = _row(n)
    angle = 2 * sp.pi * j * k / n
    turned = (2 * part - 1) * (1 if inverse else -1) * sp.sin(angle)
    term = x[row, j, column, part] * sp.cos(angle) + turned * x[row, j, column, 1 - part]
    return _scaled(sp.Sum(term, limits), n, inverse, norm)


def _write_fourier(r: Call, inverse: bool, norm: str) -> None:
    x, out = r.pointers
    rows, n, columns, _ = r.shapes[0]
    width = 2 * r.dtype.itemsize
    factor = _factor(r, n, inverse, norm)

    def transform(x: str, out: str, count: Any) -> None:
        r.loop_of(LIBRARY, ("ifft" if inverse else "fft",), (x, factor, out), (count, n, n),
                  (n * width, 0, n * width, width, width), data=True)  # fmt: skip

    if columns == 1:
        transform(x, out, rows)
        return
    pair, aligned = f"<2 x {r.kind}>", f", align {r.dtype.itemsize}"
    few = r.work(2 * SIDE_BY_SIDE * n)
    e, points, width_of_row = r.e, r.size(n), r.size(columns)

    def move(source: str, target: str, at: str, count: str, back: bool) -> None:
        """Copy ``count`` columns of a matrix from element ``at`` on to rows, or back."""

        def column(j: str) -> None:
            row = e.op("add", "i64", at, e.op("mul", "i64", j, width_of_row))

            def number(t: str) -> None:
                places = [e.op("add", "i64", row, t),
                          e.op("add", "i64", e.op("mul", "i64", t, points), j)]  # fmt: skip
                taken, put = reversed(places) if back else places
                value = e.load(pair, r.at(source, taken, pair), aligned)
                e.store(pair, value, r.at(target, put, pair), aligned)

            r.loop(count, number)

        r.loop(points, column)

    def some(k: str, block: str) -> None:
        """Transform some columns of matrix ``k``."""
        first = e.op("mul", "i64", block, SIDE_BY_SIDE)
        count = e.least(e.op("sub", "i64", width_of_row, first), SIDE_BY_SIDE)
        at = e.op("add", "i64", e.op("mul", "i64", k, r.size(n * columns)), first)
        move(x, few, at, count, False)
        transform(few, few, count)
        move(few, out, at, count, True)

    blocks = r.size((columns + SIDE_BY_SIDE - 1) // SIDE_BY_SIDE)
    r.loop(r.size(rows), lambda k: r.loop(blocks, lambda block: some(k, block)))


FOURIER: ArrayOp = define(
    Routine("Fourier", evaluate=fourier, params={"inverse": FLAG, "norm": NORM},
        shape=lambda x, inverse, norm: x, element=_fourier_element,
        rule=Linear(lambda ct, x, inverse, norm: (
            FOURIER(ct, inverse=not inverse, norm=OTHER_WAY[norm]),
        )),
        batch=lambda size, _, x, **params: _batched(FOURIER, x, lambda y: y.shape[1:], **params),
        fits=Cores("r n c 2", batched=False)),
    Code(Written(_write_fourier, (4, 4), raises=True),
        source=lambda x, inverse, norm: f"fourier({x}, {inverse}, {norm!r})", helpers=(fourier,)),
    Words("discrete Fourier transforms of complex numbers, along the second axis of three"),
)  # fmt: skip

# ---------------------------------------------------------------- real rows


def half(size: Any) -> Any:
    """Return how many elements the transform of ``size`` real numbers has."""
    return size // 2 + 1


def _inner(like: Any, n: Any, m: Any, count: float) -> Any:
    """Return ``count`` for elements that stand for two, 1 for the first and the middle one."""
    k = iota(m, like)
    weight = np.where((k == 0) | (2 * k == as_size(as_dim(n))), 1.0, count).astype(like.dtype)
    return weight[:, None]


def real_fourier(x: Any, norm: str) -> Any:
    """Transform rows of real numbers; the first half, as pairs of reals."""
    y = np.fft.rfft(x, norm=norm)
    return np.stack((y.real, y.imag), axis=-1)


def _real_element(index: Any, x: Any, norm: str) -> Any:
    row, k, part = index
    n = x.shape[1]
    j, limits = _row(n)
    term = x[row, j] * sp.cos(2 * sp.pi * j * k / n + part * sp.pi / 2)
    return _scaled(sp.Sum(term, limits), n, False, norm)


def _write_real(r: Call, norm: str) -> None:
    x, out = r.pointers
    rows, n = r.shapes[0]
    m, width = r.shapes[1][1], r.dtype.itemsize
    r.loop_of(LIBRARY, ("rfft_n_even", "rfft_n_odd"), (x, _factor(r, n, False, norm), out),
              (rows, n, m), (n * width, 0, 2 * m * width, width, 2 * width), n)  # fmt: skip


def real_signal(y: Any, n: int, norm: str) -> Any:
    """Transform back to rows of ``n`` real numbers."""
    return np.fft.irfft(y[..., 0] + 1j * y[..., 1], n, norm=norm).astype(y.dtype)


def _signal_element(index: Any, y: Any, n: Any, norm: str) -> Any:
    row, j = index
    k, limits = _row(y.shape[1])
    angle = 2 * sp.pi * j * k / n
    term = y[row, k, 0] * sp.cos(angle) - y[row, k, 1] * sp.sin(angle)
    single = sp.Or(sp.Eq(k, 0), sp.Eq(2 * k, n))
    return _scaled(sp.Sum(sp.Piecewise((term, single), (2 * term, True)), limits), n, True, norm)


def _write_signal(r: Call, n: Any, norm: str) -> None:
    y, out = r.pointers
    rows, m, _ = r.shapes[0]
    width = r.dtype.itemsize
    r.loop_of(LIBRARY, ("irfft",), (y, _factor(r, n, True, norm), out),
              (rows, m, n), (2 * m * width, 0, n * width, 2 * width, width))  # fmt: skip


def _signal_ordered(size: Any, n: Any, norm: str) -> bool:
    return bool(size["m"] == half(as_size(n)) and as_size(n) > 0)


REAL_FOURIER: ArrayOp = define(
    Routine("RealFourier", evaluate=real_fourier, params={"norm": NORM},
        shape=lambda x, norm: (x[0], as_dim(half(x[1])), 2), element=_real_element,
        rule=Linear(lambda ct, x, norm: (
            REAL_SIGNAL(ct * _inner(ct, x.shape[1], ct.shape[1], 0.5), n=x.shape[1],
                        norm=OTHER_WAY[norm]),
        )),
        batch=lambda size, _, x, norm: _batched(REAL_FOURIER, x, lambda y: y.shape[1:], norm=norm),
        fits=Cores("r n", batched=False, ordered=lambda size, norm: size["n"] > 0)),
    Code(Written(_write_real, (2, 3), raises=True),
        source=lambda x, norm: f"real_fourier({x}, {norm!r})", helpers=(real_fourier,)),
    Words("discrete Fourier transforms of rows of real numbers, the first half"),
)  # fmt: skip
REAL_SIGNAL: ArrayOp = define(
    Routine("RealSignal", evaluate=real_signal, params={"n": SIZE, "norm": NORM},
        shape=lambda y, n, norm: (y[0], n), element=_signal_element,
        rule=Linear(lambda ct, y, n, norm: (
            REAL_FOURIER(ct, norm=OTHER_WAY[norm]) * _inner(ct, n, y.shape[1], 2.0),
        )),
        batch=lambda size, _, y, n, norm: _batched(
            REAL_SIGNAL, y, lambda x: x.shape[1:], n=n, norm=norm
        ),
        fits=Cores("r m 2", batched=False, ordered=_signal_ordered)),
    Code(Written(_write_signal, (3, 2), raises=True),
        source=lambda y, n, norm: f"real_signal({y}, {n}, {norm!r})", helpers=(real_signal,)),
    Words("rows of n real numbers from the first half of their discrete Fourier transforms"),
)  # fmt: skip
