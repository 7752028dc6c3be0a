"""``scipy.spatial.distance``, for functions that symgrad traces.

Examples
--------
>>> import numpy as np
>>> import symgrad as sg
>>> from symgrad.scipy.spatial.distance import cdist
>>> points = np.array([[0.0, 0.0], [3.0, 4.0]])
>>> sg.grad(lambda x: np.sum(cdist(x[None], points)))(np.array([0.0, 4.0]))
array([-1.,  1.])
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial.distance
from scipy.special import rel_entr

from ... import numpy as traced_numpy
from ..._core.ops.np_common import is_traced
from ..._core.trace.namespace import offering
from ...errors import ShapeError
from .._coverage import reasons
from .._versions import doubles, floats, given_to, refuse_option, replaces, require_lengths

__all__ = [
    "braycurtis",
    "canberra",
    "cdist",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "euclidean",
    "jensenshannon",
    "mahalanobis",
    "minkowski",
    "pdist",
    "seuclidean",
    "sqeuclidean",
    "squareform",
]


def _angle(u: Any, v: Any) -> Any:
    """Return one less the cosine of the angle between vectors."""
    require_lengths("cosine", "vectors", u.shape[-1], v.shape[-1])
    lengths = np.linalg.norm(u, axis=-1) * np.linalg.norm(v, axis=-1)
    return 1.0 - np.sum(u * v, axis=-1) / lengths


def _centred(u: Any) -> Any:
    return u - np.mean(u, axis=-1, keepdims=True)


def _canberra(u: Any, v: Any) -> Any:
    """Return the distance of Canberra, in which 0/0 is 0."""
    total = np.abs(u) + np.abs(v)
    none = total == 0
    return np.sum(np.where(none, 0.0, np.abs(u - v) / np.where(none, 1.0, total)), axis=-1)


def _is_infinite(p: Any) -> bool:
    return not is_traced(p) and bool(np.isinf(p))


def _minkowski(u: Any, v: Any, p: Any = 2) -> Any:
    if _is_infinite(p):
        return np.max(np.abs(u - v), axis=-1)
    return _root(np.sum(np.abs(u - v) ** p, axis=-1), p)


def _root(total: Any, p: Any) -> Any:
    """Return a root whose derivative at 0 is taken for 0, as that of a norm is."""
    none = total == 0
    return np.where(none, 0.0, np.where(none, 1.0, total) ** (1.0 / p))


def _seuclidean(u: Any, v: Any, V: Any) -> Any:
    require_lengths("seuclidean", "vectors and V", np.shape(V)[-1], u.shape[-1])
    return np.sqrt(np.sum(((u - v) / np.sqrt(V)) ** 2, axis=-1))


_METRICS: dict[str, Callable[..., Any]] = {
    "euclidean": lambda u, v: np.linalg.norm(u - v, axis=-1),
    "sqeuclidean": lambda u, v: np.sum((u - v) ** 2, axis=-1),
    "cityblock": lambda u, v: np.sum(np.abs(u - v), axis=-1),
    "chebyshev": lambda u, v: np.max(np.abs(u - v), axis=-1),
    "cosine": _angle,
    "correlation": lambda u, v: _angle(_centred(u), _centred(v)),
    "canberra": _canberra,
    "braycurtis": lambda u, v: (
        np.sum(np.abs(u - v), axis=-1) / np.sum(np.abs(u + v), axis=-1)
    ),
    "minkowski": _minkowski,
    "seuclidean": _seuclidean,
    "mahalanobis": lambda u, v, VI: _root(np.sum((u - v) @ VI * (u - v), axis=-1), 2),
}  # fmt: skip
#: What points are multiplied with, by the weights of their coordinates.
_SCALES: dict[str, Callable[..., Any]] = {
    "euclidean": np.sqrt, "sqeuclidean": np.sqrt, "cosine": np.sqrt,
    "cityblock": lambda w: w, "braycurtis": lambda w: w,
    "minkowski": lambda w, p=2: w != 0 if _is_infinite(p) else w ** (1.0 / p),
}  # fmt: skip


def _weighted(name: str, u: Any, v: Any, w: Any, options: dict[str, Any]) -> Any:
    """Return distances, with a weight for each coordinate unless ``w`` is None."""
    if w is None:
        return _METRICS[name](u, v, **options)
    w = floats(w)
    if name == "correlation":
        u, v = (x - np.sum(w * x, axis=-1, keepdims=True) / np.sum(w) for x in (u, v))
        name = "cosine"
    elif name not in _SCALES:
        refuse_option(name, "w", w, f"w=None, or one of {', '.join(_SCALES)}")
    scale = _SCALES[name](w, **options)
    return _METRICS[name](scale * u, scale * v, **options)


_SHORT = {"euclid": "euclidean", "l2": "euclidean", "sqe": "sqeuclidean", "l1": "cityblock",
          "manhattan": "cityblock", "cheby": "chebyshev", "linf": "chebyshev"}  # fmt: skip
_NEEDED = {"seuclidean": "V", "mahalanobis": "VI"}


def _metric(metric: Any, options: dict[str, Any]) -> Callable[[Any, Any], Any]:
    if callable(metric):
        refuse_option("cdist", "metric", metric, "the name of a metric, or loops over points")
    name = _SHORT.get(metric, metric)
    if name not in _METRICS:
        refuse_option("cdist", "metric", metric, f"one of {', '.join(_METRICS)}")
    needed = _NEEDED.get(name)
    if needed is not None and needed not in options:
        refuse_option("cdist", needed, None, f"{needed}=..., computed outside")
    w = options.get("w")
    options = {k: v for k, v in options.items() if k != "w"}
    return lambda u, v: _weighted(name, u, v, w, options)


@replaces(scipy.spatial.distance.cdist)
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """Distances of points, shapes ``(m, d)`` and ``(n, d)``, to each other: ``(m, n)``."""
    a, b = floats(XA).astype(np.float64), floats(XB).astype(np.float64)
    if a.ndim != 2 or b.ndim != 2:
        raise ShapeError(f"cdist takes matrices, not shapes {a.shape} and {b.shape}")
    require_lengths("cdist", "columns", b.shape[1], a.shape[1])
    return _put(_metric(metric, kwargs)(a[:, None, :], b[None, :, :]), out)


@replaces(scipy.spatial.distance.pdist)
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """Distances of points, shape ``(m, d)``, among each other: ``m*(m - 1)/2``, row by row."""
    x = floats(X).astype(np.float64)
    if x.ndim != 2:
        raise ShapeError(f"pdist takes a matrix, not shape {x.shape}")
    i, j = traced_numpy.triu_indices(x.shape[0], 1)
    return _put(_metric(metric, kwargs)(x[i], x[j]), out)


def _put(found: Any, out: Any) -> Any:
    """Return what was found, in the array that is given for it, if any."""
    if out is None:
        return found
    out[...] = found
    return out


@replaces(scipy.spatial.distance.squareform)
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """Distances in a row as a symmetric matrix, or the other way."""
    x = floats(X)
    if x.ndim == 2:
        return x[traced_numpy.triu_indices(x.shape[0], 1)]
    count = int(x.shape[0])
    if not count:  # of one point
        return np.zeros((1, 1), x.dtype)
    n = int(np.ceil(np.sqrt(2 * count)))
    if n * (n - 1) != 2 * count:
        raise ValueError("incompatible vector size: it must be a binomial coefficient n choose 2")
    place = np.full((n, n), count)
    i, j = np.triu_indices(n, 1)
    place[i, j] = place[j, i] = np.arange(count)
    return np.append(x, np.zeros(1, x.dtype))[place]


def _of_two(name: str) -> Callable[..., Any]:
    """Return the distance of two vectors, by a metric with options."""
    takes = inspect.signature(getattr(scipy.spatial.distance, name))

    @replaces(getattr(scipy.spatial.distance, name))
    def distance(*args: Any, **kwargs: Any) -> Any:
        options = given_to(takes, args, kwargs)
        given = doubles if name in ("braycurtis", "canberra") else floats
        u, v, w = given(options.pop("u")), given(options.pop("v")), options.pop("w", None)
        if not options.pop("centered", True):
            refuse_option(name, "centered", False, "cosine")
        return _weighted(name, u, v, w, {k: floats(x) for k, x in options.items()})

    distance.__name__ = distance.__qualname__ = name
    distance.__doc__ = f"Distance of two vectors, as ``scipy.spatial.distance.{name}``."
    return distance


euclidean, sqeuclidean, cosine, cityblock, chebyshev, canberra, braycurtis, correlation = map(
    _of_two,
    ("euclidean", "sqeuclidean", "cosine", "cityblock", "chebyshev", "canberra", "braycurtis",
     "correlation"),
)  # fmt: skip
minkowski, seuclidean, mahalanobis = map(_of_two, ("minkowski", "seuclidean", "mahalanobis"))


@replaces(scipy.spatial.distance.jensenshannon)
def jensenshannon(
    p: Any, q: Any, base: Any = None, *, axis: int = 0, keepdims: bool = False
) -> Any:
    """Distance of Jensen and Shannon between frequencies, as of ``scipy.spatial.distance``."""
    p, q = (x / np.sum(x, axis=axis, keepdims=True) for x in (floats(p), floats(q)))
    middle = 0.5 * (p + q)
    parts = rel_entr(p, middle) + rel_entr(q, middle)
    found = 0.5 * np.sum(parts, axis=axis, keepdims=keepdims)
    return np.sqrt(found if base is None else found / np.log(base))


__getattr__, __dir__ = offering(scipy.spatial.distance, globals(), reasons("spatial.distance"))
