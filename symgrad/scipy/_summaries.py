"""``scipy.stats``' means, moments and entropies of data, which are smooth functions of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats

from . import special
from ._replacing import floats, refuse_option, replaces


def _along(name: str, a: Any, axis: int | None, nan_policy: str) -> tuple[Any, int]:
    """Return data and the axis to summarise them along, which is all of them for None."""
    if nan_policy != "propagate":
        refuse_option(f"scipy.stats.{name}", "nan_policy", nan_policy, "np.nanmean and its kin")
    x = floats(a)
    return (x.reshape(-1), 0) if axis is None else (x, axis)


def _central(x: Any, axis: int, keepdims: bool, *orders: int) -> list[Any]:
    """Return central moments."""
    from_mean = x - np.mean(x, axis=axis, keepdims=True)
    return [np.mean(from_mean**order, axis=axis, keepdims=keepdims) for order in orders]


@replaces(scipy.stats.moment)
def moment(
    a: Any, order: int = 1, axis: int | None = 0, nan_policy: str = "propagate", *,
    center: Any = None, keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return a moment about the mean, or about a center."""
    if not isinstance(order, int):
        refuse_option("scipy.stats.moment", "order", order, "a call for each order, a number")
    x, along = _along("moment", a, axis, nan_policy)
    if center is None:
        return _central(x, along, keepdims, order)[0]
    return np.mean((x - center) ** order, axis=along, keepdims=keepdims)


@replaces(scipy.stats.skew)
def skew(
    a: Any, axis: int | None = 0, bias: bool = True, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the skewness."""
    x, along = _along("skew", a, axis, nan_policy)
    n = x.shape[along]
    second, third = _central(x, along, keepdims, 2, 3)
    return third / second**1.5 * (1.0 if bias else ((n - 1.0) * n) ** 0.5 / (n - 2.0))


@replaces(scipy.stats.kurtosis)
def kurtosis(
    a: Any, axis: int | None = 0, fisher: bool = True, bias: bool = True,
    nan_policy: str = "propagate", *, keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the kurtosis, by Fisher's definition 0 of a normal distribution."""
    x, along = _along("kurtosis", a, axis, nan_policy)
    n = x.shape[along]
    second, fourth = _central(x, along, keepdims, 2, 4)
    found = fourth / second**2
    if not bias:
        found = ((n**2 - 1.0) * found - 3.0 * (n - 1.0) ** 2) / ((n - 2.0) * (n - 3.0)) + 3.0
    return found - 3.0 if fisher else found


@replaces(scipy.stats.zscore)
def zscore(a: Any, axis: int | None = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """Return data less their mean, in units of their standard deviation."""
    x, along = _along("zscore", a, axis, nan_policy)
    spread = np.std(x, axis=along, ddof=ddof, keepdims=True)
    return np.reshape((x - np.mean(x, axis=along, keepdims=True)) / spread, np.shape(a))


@replaces(scipy.stats.sem)
def sem(
    a: Any, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the standard error of the mean."""
    x, along = _along("sem", a, axis, nan_policy)
    return np.std(x, axis=along, ddof=ddof, keepdims=keepdims) / (1.0 * x.shape[along]) ** 0.5


@replaces(scipy.stats.variation)
def variation(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", ddof: int = 0, *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the standard deviation over the mean."""
    x, along = _along("variation", a, axis, nan_policy)
    spread = np.std(x, axis=along, ddof=ddof, keepdims=keepdims)
    return spread / np.mean(x, axis=along, keepdims=keepdims)


@replaces(scipy.stats.gmean)
def gmean(
    a: Any, axis: int | None = 0, dtype: Any = None, weights: Any = None, *,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the geometric mean, weighted or not."""
    if dtype is not None:
        refuse_option("scipy.stats.gmean", "dtype", dtype, "x.astype(dtype)")
    x, along = _along("gmean", a, axis, nan_policy)
    return np.exp(np.average(np.log(x), axis=along, weights=weights, keepdims=keepdims))


@replaces(scipy.stats.hmean)
def hmean(
    a: Any, axis: int | None = 0, dtype: Any = None, *, weights: Any = None,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the harmonic mean, weighted or not."""
    if dtype is not None:
        refuse_option("scipy.stats.hmean", "dtype", dtype, "x.astype(dtype)")
    x, along = _along("hmean", a, axis, nan_policy)
    return 1.0 / np.average(1.0 / x, axis=along, weights=weights, keepdims=keepdims)


@replaces(scipy.stats.entropy)
def entropy(
    pk: Any, qk: Any = None, base: float | None = None, axis: int | None = 0, *,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the entropy of a distribution by its shares, or relative to that of ``qk``."""
    p, along = _along("entropy", pk, axis, nan_policy)
    p = p / np.sum(p, axis=along, keepdims=True)
    if qk is None:
        terms = special.entr(p)
    else:
        q = floats(qk) if axis is not None else floats(qk).reshape(-1)
        p, q = np.broadcast_arrays(p, q)
        terms = special.rel_entr(p, q / np.sum(q, axis=along, keepdims=True))
    found = np.sum(terms, axis=along, keepdims=keepdims)
    return found if base is None else found / np.log(base)
