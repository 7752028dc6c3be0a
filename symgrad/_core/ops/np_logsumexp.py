"""The log-sum-exp family, safe from overflow and exact to all orders of derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.broadcast import normalize_axes
from ..base.scipy_names import special
from ..op import Code, Composed, Evidence, Map, Op, Partials, Real, Words, composite, define
from .logic import STOP_GRADIENT
from .np_common import as_array, as_float, join_parts


def _below(x: Any, top: Any) -> Any:
    with np.errstate(invalid="ignore"):  # inf - inf, which is not taken
        return np.where(x == top, 0.0, x - top).astype(np.result_type(x, top))


BELOW: Op = define(
    Map("Below", evaluate=_below, domain=(Real, Real), sympy=lambda x, top: x - top,
        rule=Partials(lambda y, x, top: (1, -1))),
    Code(Composed(_below), source=lambda x, top: f"np.where({x} == {top}, 0.0, {x} - {top})"),
    Evidence(samples=(-3, 3), ulp=0.5, exact_form=False),
    Words("x less a maximum, which may be infinite.", convention="inf - inf is 0"),
)  # fmt: skip


def _shifted(x: Any, axis: Any, endless: bool = False) -> tuple[Any, Any, Any]:
    """Return the maximum, ``x`` less the maximum, and what was taken off.

    No result depends on the shift, so it is a constant for differentiation; it is 0 where the
    maximum is not finite, since inf - inf is nan, or, for ``endless`` terms, where it is -inf.
    """
    top = np.max(x, axis=axis, keepdims=True)
    shift = STOP_GRADIENT(np.where(top > -np.inf if endless else np.isfinite(top), top, 0))
    return top, BELOW(x, shift) if endless else x - shift, shift


def _log_sum(x: Any, axis: Any, endless: bool = False) -> tuple[Any, Any, Any]:
    """Return the logarithm of ``sum(exp(x - shift))``, then ``x - shift`` and the shift.

    The k maxima contribute k, kept apart, and exp(0) - 1, which is 0 with the derivative of
    exp. So log1p keeps what the others add, however small, and all derivatives are right.
    Of ``endless`` terms, inf, the result is their number's logarithm, and the shift inf.
    """
    if x.dtype.kind == "c":
        return _complex_log_sum(x, axis)
    top, away, shift = _shifted(x, axis, endless)
    hit = (x == top).astype(x.dtype)
    k = np.sum(hit, axis=axis, keepdims=True)
    rest = np.sum(np.exp(away) - hit, axis=axis, keepdims=True) / k
    none = top == -np.inf  # the sum of nothing: -inf, with derivative 0 instead of nan
    rest = np.where(none, 0, rest)
    return np.where(none, -np.inf, np.log1p(rest) + np.log(k)), away, shift


def _complex_log_sum(x: Any, axis: Any) -> tuple[Any, Any, Any]:
    """Return what ``_log_sum`` does of complex numbers; the largest real part is taken off."""
    top, _, shift = _shifted(x.real, axis)
    away = x - shift
    total = np.sum(np.exp(away), axis=axis, keepdims=True)
    none = top == -np.inf
    return np.where(none, -np.inf, np.log(np.where(none, 1.0, total))), away, shift


def _settled(y: Any, axis: Any, keepdims: bool) -> Any:
    return y if keepdims else np.squeeze(y, normalize_axes(axis, y.ndim))


def _log_sum_exp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    total = np.sum(np.exp(a) if b is None else b * np.exp(a), axis=axis, keepdims=keepdims)
    y = np.log(np.abs(total) if return_sign else total)
    return (y, np.sign(total)) if return_sign else y


def _softmax(x: Any, axis: Any = None) -> Any:
    return np.exp(x) / np.sum(np.exp(x), axis=axis, keepdims=axis is not None)


def _log_softmax(x: Any, axis: Any = None) -> Any:
    return x - np.log(np.sum(np.exp(x), axis=axis, keepdims=axis is not None))


@composite(
    special.logsumexp, textbook=_log_sum_exp, convention="derivative 0 where all terms are -inf"
)
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """Logarithm of the sum of exponentials, with weights ``b``, without overflow."""
    x = as_float(as_array(a))
    if x.ndim == 0:
        x = np.reshape(x, (1,))
        axis, keepdims = None, False
    if 0 in x.shape:
        x = x if b is None else np.broadcast_arrays(x, as_array(b))[0]
        y = np.sum(x, axis=axis, keepdims=keepdims) - np.inf
        return (y, -np.ones_like(y)) if return_sign else y  # the sign that SciPy gives
    if b is None:
        log, _, shift = _log_sum(x, axis, endless=True)
        y, sign = log + shift, None
        if return_sign and x.dtype.kind == "c":
            y, sign = y.real, np.exp(join_parts(np.zeros_like(y.imag), y.imag))
    else:
        total, shift = _weighted_sum(x, as_array(b), axis)
        sign = np.sign(total)
        y = np.log(np.abs(total) if return_sign else total) + shift
    y = _settled(y, axis, keepdims)
    if not return_sign:
        return y
    return y, np.ones_like(y) if sign is None else _settled(sign, axis, keepdims)


def _weighted_sum(x: Any, b: Any, axis: Any) -> tuple[Any, Any]:
    """Return ``sum(b*exp(x - shift))`` and the shift, the largest x with a weight."""
    x, b = np.broadcast_arrays(x, b.astype(x.dtype))
    _, _, shift = _shifted(np.where(b == 0, -np.inf, x.real), axis)
    away = x - shift
    # An element without weight may be far above the shift: 0*exp(...) must not be 0*inf.
    bound = 0.5 * float(np.log(np.finfo(x.dtype).max))
    away = np.where(np.logical_and(b == 0, away.real > bound), bound, away)
    return np.sum(b * np.exp(away), axis=axis, keepdims=True), shift


@composite(special.softmax, textbook=_softmax)
def softmax(x: Any, axis: Any = None) -> Any:
    """Exponentials divided by their sum, without overflow."""
    x = as_float(as_array(x))
    top = STOP_GRADIENT(np.max(x, axis=axis, keepdims=True))
    e = np.exp(x - top)
    return e / np.sum(e, axis=axis, keepdims=True)


@composite(special.log_softmax, textbook=_log_softmax)
def log_softmax(x: Any, axis: Any = None) -> Any:
    """Logarithm of the softmax, exact also where it underflows."""
    x = as_float(as_array(x))
    if x.dtype.kind == "c":  # the angle is that of what is left beside the largest
        x = x - STOP_GRADIENT(np.max(x, axis=axis, keepdims=True))
    log, away, _ = _log_sum(x, axis)
    return away - log
