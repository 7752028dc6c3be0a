"""NumPy's polynomials by coefficients, covariances, and Vandermonde matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError
from ..base.sizes import Size, require_length, under
from ..op import composite, refuse
from .np_common import (
    as_array,
    as_float,
    conjugated,
    iota,
    is_traced,
    join_parts,
    lift,
    spread,
)

# ---------------------------------------------------------------- polynomials


def _coefficients(p: Any) -> Any:
    """Return coefficients as a vector, highest power first."""
    c = np.atleast_1d(as_array(p))
    if c.ndim != 1:
        raise ShapeError(f"polynomials are vectors of coefficients, not arrays of {c.ndim} axes")
    return c


@composite(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """Value of a polynomial, by Horner's rule."""
    p, x = _coefficients(p), as_array(x)
    y = np.zeros_like(x)
    for k in range(int(p.shape[0])):
        y = y * x + p[k]
    return y


def _aligned(a1: Any, a2: Any) -> tuple[Any, Any]:
    """Return the coefficients of two polynomials, of one degree."""
    a, b = _coefficients(a1), _coefficients(a2)
    missing = int(a.shape[0]) - int(b.shape[0])
    return np.pad(a, (max(-missing, 0), 0)), np.pad(b, (max(missing, 0), 0))


@composite(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    """Sum of two polynomials."""
    a, b = _aligned(a1, a2)
    return a + b


@composite(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    """Difference of two polynomials."""
    a, b = _aligned(a1, a2)
    return a - b


@composite(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """Product of two polynomials."""
    factors = [_coefficients(a) for a in (a1, a2)]
    # A polynomial without coefficients is 0.
    first, second = (np.zeros_like(c, shape=(1,)) if under(c.shape[0], 1) else c for c in factors)
    return np.convolve(first, second)


@composite(np.polyder)
def polyder(p: Any, m: int = 1) -> Any:
    """Derivative of a polynomial."""
    c = _coefficients(p)
    for _ in range(m):
        n = c.shape[0]
        c = c[:-1] * (n - 1 - iota(n - 1, c)) if n > 1 else c[:0]
    return c


@composite(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """Integral of a polynomial, with given constants."""
    c, m = _coefficients(p), int(m)
    if m == 0:
        return as_array(p)
    constants = np.zeros(m) if k is None else as_float(np.atleast_1d(as_array(k)))
    for j in range(m):
        n = c.shape[0]
        grown = c * (1.0 / (n - iota(n, c)))
        constant = constants[min(j, int(constants.shape[0]) - 1)]
        c = np.concatenate([grown, np.reshape(lift(constant, c), (1,))])
    return c


@composite(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """Polynomial with given zeros."""
    zeros = _coefficients(seq_of_zeros)
    one = np.ones_like(as_float(zeros)[:1])
    c = one
    for k in range(int(zeros.shape[0])):
        c = np.concatenate([c, 0 * one]) - zeros[k] * np.concatenate([0 * one, c])
    return c


@composite(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """Matrix of the powers of a vector."""
    v = as_array(x)
    if v.ndim != 1:
        raise ShapeError(f"vander takes a vector, not an array of {v.ndim} axes")
    v = v.astype(np.promote_types(v.dtype, np.int64))
    n = v.shape[0]
    count = n if N is None else int(N)
    powers = np.ones_like(v)[:, None]
    require_length(count)
    if bool(count > 1):
        rest = np.cumprod(spread(v[:, None], (n, count - 1)), axis=1)
        powers = np.concatenate([powers, rest], axis=1)
    if bool(count == 0):
        powers = powers[:, :0]
    return powers if increasing else powers[:, ::-1]


@composite(np.polyfit)
def polyfit(x: Any, y: Any, deg: int, rcond: Any = None, full: Any = False, w: Any = None,
            cov: Any = False) -> Any:  # fmt: skip
    """Polynomial that fits values best, by least squares."""
    if full or cov:
        refuse(np.polyfit, "full= and cov= are not traced")
    x, y = as_float(as_array(x)), as_float(as_array(y))
    if under(x.shape[0], 1):
        raise ArgumentError("polyfit: expected non-empty vector for x")
    matrix = vander(x, deg + 1)
    if w is not None:
        weight = as_array(w)
        matrix = matrix * weight[:, None]
        y = y * (weight if y.ndim == 1 else weight[:, None])
    scale = np.sqrt(np.sum(matrix * matrix, axis=0))
    n = x.shape[0]
    cut = n * float(np.finfo(np.float64).eps) if rcond is None else rcond
    found = np.linalg.lstsq(matrix / scale, y, cut)[0]
    return found / (scale if y.ndim == 1 else scale[:, None])


# ---------------------------------------------------------------- covariances


def _observations(m: Any, y: Any, rowvar: bool) -> Any:
    x = np.atleast_2d(as_float(as_array(m)))
    x = x.T if not rowvar and x.shape[0] != 1 else x
    if y is not None:
        other = np.atleast_2d(as_float(as_array(y)))
        x = np.concatenate([x, other.T if not rowvar and other.shape[0] != 1 else other])
    return x


@composite(np.cov)
def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None,
        fweights: Any = None, aweights: Any = None, *, dtype: Any = None) -> Any:  # fmt: skip
    """Covariances of variables that are rows."""
    if fweights is not None or aweights is not None:
        refuse(np.cov, "weights are not traced: weight the observations first")
    if under(_observations(m, None, rowvar).shape[0], 1):
        return np.zeros((0, 0))
    x = _observations(m, y, rowvar)
    # NumPy's are float64 at least.
    x = x.astype(np.result_type(x.dtype, np.float64) if dtype is None else dtype)
    less = ddof if ddof is not None else 0 if bias else 1
    centred = x - np.mean(x, axis=1, keepdims=True)
    free = x.shape[1] - less
    return np.squeeze(centred @ conjugated(centred.T) / (free if free > 0 else 0.0))


@composite(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """Correlations of variables that are rows."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    spread = np.sqrt(np.diagonal(c).real)
    y = c / spread[:, None] / spread[None, :]
    if y.dtype.kind == "c":
        return join_parts(np.clip(y.real, -1.0, 1.0), np.clip(y.imag, -1.0, 1.0))
    return np.clip(y, -1.0, 1.0)


def is_whole(value: Any) -> bool:
    """Tell whether a number is known and whole."""
    return isinstance(value, (int, np.integer, Size)) and not is_traced(value)


@composite(np.geomspace)
def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None,
              axis: int = 0) -> Any:  # fmt: skip
    """Numbers that are evenly spaced on a logarithmic scale, between two numbers of one sign."""
    if not is_whole(num):
        raise ArgumentError("geomspace: the number of elements cannot be traced")
    first, last = as_float(as_array(start)), as_float(as_array(stop))
    ratio = np.log(last / first)
    parts = num - 1 if endpoint else num
    ends = [first * np.exp(ratio * (k / parts if parts else 0.0)) for k in range(num)]
    if num:
        ends[0] = first + 0.0 * last
    if endpoint and num > 1:
        ends[-1] = last + 0.0 * first
    y = np.stack(ends, axis=axis) if ends else np.zeros(0)
    return y if dtype is None else y.astype(dtype)
