"""``scipy.fft``, for functions that symgrad traces: Fourier, cosine and sine transforms.

Transforms of traced values are those of ``numpy.fft``; ``workers``, ``plan`` and
``overwrite_x`` change nothing. What is not listed here is SciPy's own.

Examples
--------
>>> import numpy as np
>>> import symgrad as sg
>>> from symgrad.scipy.fft import dct
>>> sg.jacobian(lambda x: dct(x, norm="ortho"))(np.ones(2)).round(4)
array([[ 0.7071,  0.7071],
       [ 0.7071, -0.7071]])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft

from .. import numpy as traced_numpy
from .._trace._namespace import offering
from ..errors import ArgumentError
from ._fates import reasons
from ._replacing import Function, floats, replaces

__all__ = [
    "dct",
    "dctn",
    "dst",
    "dstn",
    "fft",
    "fft2",
    "fftn",
    "fftshift",
    "hfft",
    "idct",
    "idctn",
    "idst",
    "idstn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftn",
]

#: The type that inverts a type of cosine and sine transforms, and the norm that inverts a norm.
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
_OTHER_NORM = {"backward": "forward", "ortho": "ortho", "forward": "backward"}

# ---------------------------------------------------------------- Fourier transforms


def _as_numpys(name: str) -> Function:
    """Return NumPy's transform with SciPy's other options."""
    original = getattr(np.fft, name)

    def transform(
        x: Any, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: bool = False,
        workers: Any = None, *, plan: Any = None,
    ) -> Any:  # fmt: skip
        return original(x, n, axis, norm)

    def several(
        x: Any, s: Any = None, axes: Any = (-2, -1) if name[-1] == "2" else None,
        norm: Any = None, overwrite_x: bool = False, workers: Any = None, *, plan: Any = None,
    ) -> Any:  # fmt: skip
        return original(x, s, axes, norm)

    made = several if name[-1] in "2n" else transform
    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"Same as ``scipy.fft.{name}``, by ``numpy.fft.{name}``."
    return replaces(getattr(scipy.fft, name))(made)


fft, ifft, rfft, irfft, hfft, ihfft = map(
    _as_numpys, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
)
fft2, ifft2, rfft2, irfft2 = map(_as_numpys, ("fft2", "ifft2", "rfft2", "irfft2"))
fftn, ifftn, rfftn, irfftn = map(_as_numpys, ("fftn", "ifftn", "rfftn", "irfftn"))
fftshift, ifftshift = traced_numpy.fft.fftshift, traced_numpy.fft.ifftshift

# ---------------------------------------------------------------- cosine and sine transforms


def _turned(angle: Any) -> Any:
    return np.cos(angle) - 1j * np.sin(angle)


def _cosines(x: Any, kind: int) -> Any:
    """Return the transform of rows as SciPy defines it for ``norm="backward"``.

    By Fourier transforms of twice the length: Makhoul, A fast cosine transform in one and two
    dimensions (1980).
    """
    n = x.shape[-1]
    if kind == 1:
        if n < 2:
            raise ValueError("DCT-I is not defined for size < 2")
        return np.real(np.fft.rfft(np.concatenate([x, x[..., -2:0:-1]], axis=-1)))
    steps = traced_numpy.arange(n) * (np.pi / (2 * n))
    if kind == 2:
        turned = np.fft.fft(np.concatenate([x, x[..., ::-1]], axis=-1))[..., :n]
        return np.real(_turned(steps) * turned)
    turned = np.fft.fft(2 * x * _turned(steps), 2 * n)[..., :n]
    if kind == 3:
        return np.real(turned) - x[..., :1]
    return np.real(_turned(steps + np.pi / (4 * n)) * turned)


def _sines(x: Any, kind: int) -> Any:
    """Return the sine transform of rows by the cosine transform of the same type."""
    n = x.shape[-1]
    if kind == 1:
        room = np.zeros_like(x[..., :1])
        odd = np.concatenate([room, x, room, -x[..., ::-1]], axis=-1)
        return -np.imag(np.fft.rfft(odd)[..., 1 : n + 1])
    signs = 1 - 2 * (traced_numpy.arange(n) % 2)
    if kind == 2:
        return _cosines(signs * x, kind)[..., ::-1]
    return signs * _cosines(x[..., ::-1], kind)


def _scaled(
    x: Any, kind: int, axis: int, norm: Any, orthogonal: Any, rows: Function, sine: bool
) -> Any:
    """Transform along an axis, with a norm."""
    norm = "backward" if norm is None else norm
    if norm not in _OTHER_NORM:
        raise ArgumentError(f"norm is 'backward', 'ortho' or 'forward', not {norm!r}")
    orthogonal = norm == "ortho" if orthogonal is None else orthogonal
    x = np.moveaxis(x, axis, -1)
    n = x.shape[-1]
    # The elements that orthogonal matrices have scaled by sqrt(2), before or afterwards.
    ends = {1: (0, -1) if not sine else (), 2: (-1 if sine else 0,), 3: (-1 if sine else 0,), 4: ()}
    root = np.ones_like(traced_numpy.arange(n), dtype=x.dtype)
    for place in ends[kind] if orthogonal else ():
        root = root + (np.sqrt(2.0) - 1) * (traced_numpy.arange(n) == (place % n))
    y = rows(x * root if kind in (1, 3) else x, kind)
    y = y / root if kind in (1, 2) else y
    length = 2 * (n + (0 if kind != 1 else 1 if sine else -1))
    if norm != "backward":
        y = y / (length if norm == "forward" else np.sqrt(length))
    return np.moveaxis(y.astype(x.dtype), -1, axis)


def _sized(x: Any, n: Any, axis: int) -> Any:
    """Cut an axis to ``n`` elements, or fill it up with zeros."""
    if n is None:
        return x
    rows = np.moveaxis(x, axis, -1)[..., :n]
    missing = n - int(rows.shape[-1])
    return np.moveaxis(np.pad(rows, (*((0, 0),) * (rows.ndim - 1), (0, missing))), -1, axis)


def _transform(rows: Function, inverse: bool, sine: bool) -> Callable[..., Any]:
    def along(x: Any, kind: int, n: Any, axis: int, norm: Any, orthogonal: Any) -> Any:
        if kind not in _INVERSE:
            raise ValueError(f"the types of cosine and sine transforms are 1 to 4, not {kind!r}")
        x = _sized(floats(x), n, axis)
        if x.dtype.kind == "c":
            real, imaginary = (
                along(part, kind, None, axis, norm, orthogonal) for part in (x.real, x.imag)
            )
            return real + 1j * imaginary
        if inverse:
            kind, norm = _INVERSE[kind], _OTHER_NORM.get(norm or "backward", norm)
        return _scaled(x, kind, axis, norm, orthogonal, rows, sine)

    return along


def _pair(name: str, rows: Function, inverse: bool) -> tuple[Function, Function]:
    """Return a transform along an axis, and the one along several."""
    along = _transform(rows, inverse, name.endswith("st"))

    def one(
        x: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None,
        overwrite_x: bool = False, workers: Any = None, orthogonalize: Any = None,
    ) -> Any:  # fmt: skip
        return along(x, type, n, axis, norm, orthogonalize)

    def several(
        x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None,
        overwrite_x: bool = False, workers: Any = None, *, orthogonalize: Any = None,
    ) -> Any:  # fmt: skip
        x = floats(x)
        if axes is None:
            axes = range(x.ndim) if s is None else range(-len(np.atleast_1d(s)), 0)
        axes = tuple(np.atleast_1d(axes).tolist()) if not isinstance(axes, range) else tuple(axes)
        sizes = (None,) * len(axes) if s is None else tuple(np.atleast_1d(s).tolist())
        for axis, size in zip(axes, sizes, strict=True):
            x = along(x, type, size, axis, norm, orthogonalize)
        return x

    made = []
    for function, full in ((one, name), (several, f"{name}n")):
        function.__name__ = function.__qualname__ = full
        function.__doc__ = f"Same as ``scipy.fft.{full}``, by Fourier transforms."
        made.append(replaces(getattr(scipy.fft, full))(function))
    return made[0], made[1]


dct, dctn = _pair("dct", _cosines, False)
idct, idctn = _pair("idct", _cosines, True)
dst, dstn = _pair("dst", _sines, False)
idst, idstn = _pair("idst", _sines, True)

__getattr__, __dir__ = offering(scipy.fft, globals(), reasons("fft"))
