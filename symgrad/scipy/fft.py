"""``scipy.fft``, for functions that symgrad traces.

Fourier transforms are those of ``numpy.fft``, which keep single precision as SciPy's do. Cosine
and sine transforms are made of them, in as many steps (J. Makhoul, *A fast cosine transform in
one and two dimensions*, IEEE Trans. ASSP 28, 1980), and so are their derivatives. ``workers``,
``overwrite_x`` and the like change no number, and are not looked at.

Examples
--------
>>> import numpy as np
>>> import symgrad as sg
>>> from symgrad.scipy.fft import dct
>>> sg.jacobian(dct)(np.ones(2)).round(6) + 0.0
array([[ 2.      ,  2.      ],
       [ 1.414214, -1.414214]])
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from .. import numpy as traced_numpy
from .._core.op import refuse
from .._core.ops.fourier import OTHER_WAY
from .._core.ops.np_common import iota, is_traced, join_parts
from .._core.ops.np_fft import chosen, sized
from .._core.trace.namespace import offering
from ..errors import ArgumentError, ShapeError
from ..numpy.fft import fftfreq, rfftfreq
from ._coverage import reasons
from ._versions import Function, floats, replaces

__all__ = [
    "dct",
    "dctn",
    "dst",
    "dstn",
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "fht",
    "hfft",
    "hfft2",
    "hfftn",
    "idct",
    "idctn",
    "idst",
    "idstn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ifht",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "next_fast_len",
    "prev_fast_len",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

#: An example for the docstring of each function that is made here, with what it prints.
_EXAMPLES = {
    "fft": (
        "sg.grad(lambda x: np.abs(fft(x)[1]) ** 2)(np.array([1.0, 0.0, 0.0]))",
        "array([ 2., -1., -1.])",
    ),
    "ifft": ("sg.grad(lambda x: ifft(x)[0].real)(np.ones(4))", "array([0.25, 0.25, 0.25, 0.25])"),
    "rfft": (
        "sg.jacobian(lambda x: rfft(x).real)(np.ones(2))",
        "array([[ 1.,  1.],\n       [ 1., -1.]])",
    ),
    "irfft": ("sg.jacobian(irfft)(np.ones(2))", "array([[ 0.5,  0.5],\n       [ 0.5, -0.5]])"),
    "hfft": ("sg.jacobian(hfft)(np.ones(2))", "array([[ 1.,  1.],\n       [ 1., -1.]])"),
    "ihfft": ("sg.grad(lambda x: ihfft(x)[0].real)(np.ones(4))", "array([0.25, 0.25, 0.25, 0.25])"),
    "fft2": (
        "sg.grad(lambda x: fft2(x)[1, 0].real)(np.ones((2, 2)))",
        "array([[ 1.,  1.],\n       [-1., -1.]])",
    ),
    "ifft2": (
        "sg.grad(lambda x: ifft2(x)[0, 1].real)(np.ones((2, 2)))",
        "array([[ 0.25, -0.25],\n       [ 0.25, -0.25]])",
    ),
    "rfft2": (
        "sg.grad(lambda x: rfft2(x)[1, 1].real)(np.ones((2, 2)))",
        "array([[ 1., -1.],\n       [-1.,  1.]])",
    ),
    "irfft2": (
        "sg.grad(lambda x: irfft2(x)[0, 1])(np.ones((2, 2)))",
        "array([[ 0.25, -0.25],\n       [ 0.25, -0.25]])",
    ),
    "hfft2": (
        "sg.grad(lambda x: hfft2(x)[0, 1])(np.ones((2, 2)))",
        "array([[ 1., -1.],\n       [ 1., -1.]])",
    ),
    "ihfft2": (
        "sg.grad(lambda x: ihfft2(x)[0, 1].real)(np.ones((2, 2)))",
        "array([[ 0.25, -0.25],\n       [ 0.25, -0.25]])",
    ),
    "fftn": (
        "sg.grad(lambda x: fftn(x, axes=0)[1, 0].real)(np.ones((2, 2)))",
        "array([[ 1.,  0.],\n       [-1.,  0.]])",
    ),
    "ifftn": (
        "sg.grad(lambda x: ifftn(x, axes=0)[0, 0].real)(np.ones((2, 2)))",
        "array([[0.5, 0. ],\n       [0.5, 0. ]])",
    ),
    "rfftn": (
        "sg.grad(lambda x: np.abs(rfftn(x)[0, 0]))(np.ones((2, 2)))",
        "array([[1., 1.],\n       [1., 1.]])",
    ),
    "irfftn": (
        "sg.grad(lambda x: irfftn(x, (2, 2))[0, 0])(np.ones((2, 2)))",
        "array([[0.25, 0.25],\n       [0.25, 0.25]])",
    ),
    "hfftn": (
        "sg.grad(lambda x: hfftn(x, axes=1)[0, 1])(np.ones((2, 2)))",
        "array([[ 1., -1.],\n       [ 0.,  0.]])",
    ),
    "ihfftn": (
        "sg.grad(lambda x: ihfftn(x, axes=1)[0, 0].real)(np.ones((2, 2)))",
        "array([[0.5, 0.5],\n       [0. , 0. ]])",
    ),
    "dct": ("sg.grad(lambda x: dct(x)[1] ** 2)(np.array([1.0, 0.0]))", "array([ 4., -4.])"),
    "idct": (
        "sg.jacobian(idct)(np.ones(2)).round(4)",
        "array([[ 0.25  ,  0.3536],\n       [ 0.25  , -0.3536]])",
    ),
    "dst": (
        "sg.jacobian(lambda x: dst(x, type=1))(np.ones(2)).round(4)",
        "array([[ 1.7321,  1.7321],\n       [ 1.7321, -1.7321]])",
    ),
    "idst": (
        "sg.jacobian(lambda x: idst(x, type=1))(np.ones(2)).round(4)",
        "array([[ 0.2887,  0.2887],\n       [ 0.2887, -0.2887]])",
    ),
    "dctn": (
        "sg.grad(lambda x: dctn(x)[0, 1])(np.ones((2, 2))).round(4)",
        "array([[ 2.8284, -2.8284],\n       [ 2.8284, -2.8284]])",
    ),
    "idctn": (
        "sg.grad(lambda x: idctn(x)[0, 1])(np.ones((2, 2))).round(4)",
        "array([[ 0.0625, -0.0884],\n       [ 0.0884, -0.125 ]])",
    ),
    "dstn": (
        "sg.grad(lambda x: dstn(x, type=1)[0, 1])(np.ones((2, 2)))",
        "array([[ 3., -3.],\n       [ 3., -3.]])",
    ),
    "idstn": (
        "sg.grad(lambda x: idstn(x, type=1)[0, 1])(np.ones((2, 2))).round(4)",
        "array([[ 0.0833, -0.0833],\n       [ 0.0833, -0.0833]])",
    ),
}


def _documented(function: Function, name: str, summary: str) -> Function:
    """Give a function its name, and a docstring with its example."""
    call, result = _EXAMPLES[name]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{summary}, as ``scipy.fft.{name}``.\n\nExamples\n--------\n>>> {call}\n{result}\n"
    )
    return replaces(getattr(scipy.fft, name))(function)


# ---------------------------------------------------------------- Fourier transforms


def _along_one(name: str) -> Function:
    """Return a transform along one axis: NumPy's, with SciPy's arguments."""
    transform = getattr(np.fft, name)

    def along(
        x: Any, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False,
        workers: Any = None, *, plan: Any = None,
    ) -> Any:  # fmt: skip
        return transform(floats(x), n, axis, norm)

    return _documented(along, name, "Fourier transform along an axis")


def _along_several(name: str, transform: Function, axes: Any = None) -> Function:
    standard = axes

    def along(
        x: Any, s: Any = None, axes: Any = standard, norm: Any = None, overwrite_x: bool = False,
        workers: Any = None, *, plan: Any = None,
    ) -> Any:  # fmt: skip
        x = floats(x)
        s, axes = _several(name, x, s, axes)
        return transform(x, s, axes, norm)

    where = "along several axes" if standard is None else "of two axes"
    return _documented(along, name, f"Fourier transform {where}")


def _several(name: str, x: Any, s: Any, axes: Any) -> tuple[Any, Any]:
    """Return sizes and axes as sequences; refuse an axis that is named twice, as SciPy does."""
    s, axes = ((v,) if np.ndim(v) == 0 and v is not None else v for v in (s, axes))
    if axes is not None and len({axis % max(x.ndim, 1) for axis in axes}) < len(axes):
        raise ArgumentError(f"{name}: all axes must be unique, not {axes!r}")
    return s, axes


def _swapped(norm: Any) -> Any:
    return OTHER_WAY.get("backward" if norm is None else norm, norm)


def _hermitian(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    return np.fft.irfftn(np.conj(x), s, axes, _swapped(norm))


def _inverse_hermitian(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    return np.conj(np.fft.rfftn(x, s, axes, _swapped(norm)))


fft, ifft, rfft, irfft, hfft, ihfft = map(
    _along_one, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
)
fftn, ifftn, rfftn, irfftn = (
    _along_several(f.__name__, f) for f in (np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn)
)
hfftn, ihfftn = _along_several("hfftn", _hermitian), _along_several("ihfftn", _inverse_hermitian)
fft2, ifft2, rfft2, irfft2, hfft2, ihfft2 = (
    _along_several(f"{name}2", transform, (-2, -1))
    for name, transform in (
        ("fft", np.fft.fftn), ("ifft", np.fft.ifftn), ("rfft", np.fft.rfftn),
        ("irfft", np.fft.irfftn), ("hfft", _hermitian), ("ihfft", _inverse_hermitian),
    )
)  # fmt: skip

# ---------------------------------------------------------------- cosines and sines of rows


def _turns(k: Any, n: Any, like: Any) -> tuple[Any, Any]:
    """Return cos and sin of ``pi k / (2 n)``, in the type of ``like``."""
    angle = k * (np.pi / (2 * n))
    return np.cos(angle).astype(like.dtype), np.sin(angle).astype(like.dtype)


def _signs(x: Any) -> Any:
    return (1 - 2 * (iota(x.shape[-1], x) % 2)).astype(x.dtype)


def _cosines_1(x: Any) -> Any:
    n = x.shape[-1]
    if n < 2:
        raise ArgumentError("DCT-I is not defined for size < 2")
    return np.fft.irfft(x, 2 * n - 2, norm="forward")[..., :n]


def _cosines_2(x: Any) -> Any:
    # Makhoul: with v the elements of even number, and then those of odd number backward,
    # y[k] = 2 Re u[k] and y[n-k] = -2 Im u[k], where u[k] = exp(-i pi k / 2n) V[k].
    n = x.shape[-1]
    m, j = n // 2 + 1, iota(n, x)
    found = np.fft.rfft(x[..., np.where(2 * j < n, 2 * j, 2 * n - 1 - 2 * j)])
    cos, sin = _turns(iota(m, x), n, x)
    a, b = found.real, found.imag
    both = traced_numpy.concatenate([cos * a + sin * b, sin * a - cos * b], axis=-1)
    return 2 * both[..., np.where(j < m, j, m + n - j)]


def _cosines_3(x: Any) -> Any:
    # The steps of _cosines_2 backward.
    n = x.shape[-1]
    m, j = n // 2 + 1, iota(n, x)
    k = iota(m, x)
    cos, sin = _turns(k, n, x)
    p, q = x[..., :m], x[..., np.where(k > 0, n - k, 0)] * (k > 0).astype(x.dtype)
    pairs = join_parts(cos * p + sin * q, sin * p - cos * q)
    v = np.fft.irfft(pairs, n, norm="forward")
    return v[..., np.where(j % 2 == 0, j // 2, n - 1 - j // 2)]


def _cosines_4(x: Any) -> Any:
    # Every other element of the transform of type 2 of as many zeros more.
    n = x.shape[-1]
    twice = _cosines_2(sized(x, 2 * n, "dct"))
    return twice.reshape((*x.shape[:-1], n, 2))[..., 1]


def _sines_1(x: Any) -> Any:
    n = x.shape[-1]
    edge = np.zeros_like(x[..., :1])
    x = traced_numpy.concatenate([edge, x, edge], axis=-1)
    return np.fft.irfft(join_parts(np.zeros_like(x), -x), 2 * n + 2, norm="forward")[..., 1 : n + 1]


def _sines_2(x: Any) -> Any:
    return np.flip(_cosines_2(x * _signs(x)), -1)


def _sines_3(x: Any) -> Any:
    return _cosines_3(np.flip(x, -1)) * _signs(x)


def _sines_4(x: Any) -> Any:
    return _cosines_4(np.flip(x, -1)) * _signs(x)


_ROWS: dict[str, tuple[Function, ...]] = {
    "cosines": (_cosines_1, _cosines_2, _cosines_3, _cosines_4),
    "sines": (_sines_1, _sines_2, _sines_3, _sines_4),
}
#: Which type is the inverse of each, and how many points more than elements has its period.
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
_MORE = {"cosines": -1, "sines": 1}


def _orthogonal(x: Any, places: tuple[int, ...], factor: float) -> Any:
    """Multiply the elements at some places."""
    n = x.shape[-1]
    for place in places:
        x = x * np.where(iota(n, x) == place % n, factor, 1.0).astype(x.dtype)
    return x


def _rows(
    kind: str, x: Any, type_: int, n: Any, axis: int, norm: Any, orthogonalize: Any, inverse: bool
) -> Any:
    """Transform along an axis: the definitions are those of SciPy's dct and dst."""
    if type_ not in _INVERSE:
        raise ArgumentError("the type of a cosine or sine transform is 1, 2, 3 or 4")
    norm = "backward" if norm is None else norm
    if norm not in OTHER_WAY:
        raise ArgumentError(f"norm is 'backward', 'ortho' or 'forward', not {norm!r}")
    if x.dtype.kind == "c":
        return join_parts(*(
            _rows(kind, part, type_, n, axis, norm, orthogonalize, inverse)
            for part in (x.real, x.imag)
        ))  # fmt: skip
    if not -x.ndim <= axis < x.ndim:
        raise ArgumentError(f"there is no axis {axis} of an array with {x.ndim} axes")
    name = {"cosines": "dct", "sines": "dst"}[kind]
    x = sized(np.moveaxis(x, axis, -1), n, name)
    if x.shape[-1] < 1:
        raise ShapeError(f"{name}: invalid number of data points (0)")
    type_ = _INVERSE[type_] if inverse else type_
    period = 2 * (x.shape[-1] + (_MORE[kind] if type_ == 1 else 0))
    orthogonal = norm == "ortho" if orthogonalize is None else orthogonalize
    if orthogonal and type_ in (1, 3) and (kind, type_) != ("sines", 1):
        x = _orthogonal(x, (0, -1) if type_ == 1 else _EDGE[kind], np.sqrt(2.0))
    y = _ROWS[kind][type_ - 1](x)
    if orthogonal and type_ in (1, 2) and (kind, type_) != ("sines", 1):
        y = _orthogonal(y, (0, -1) if type_ == 1 else _EDGE[kind], np.sqrt(0.5))
    if norm == "ortho":
        y = y * (1.0 / np.sqrt(period))
    elif norm == ("backward" if inverse else "forward"):
        y = y * (1.0 / period)
    return np.moveaxis(y.astype(x.dtype), -1, axis)


#: The element that types 2 and 3 scale to be orthogonal.
_EDGE = {"cosines": (0,), "sines": (-1,)}


def _wave(name: str, kind: str, inverse: bool) -> Function:
    def transform(
        x: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None,
        overwrite_x: bool = False, workers: Any = None, orthogonalize: Any = None,
    ) -> Any:  # fmt: skip
        return _rows(kind, floats(x), type, n, axis, norm, orthogonalize, inverse)

    return _named_wave(transform, name, kind, inverse)


def _waves(name: str, kind: str, inverse: bool) -> Function:
    def transform(
        x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None,
        overwrite_x: bool = False, workers: Any = None, orthogonalize: Any = None,
    ) -> Any:  # fmt: skip
        x = floats(x)
        s, axes = _several(name, x, s, axes)
        for n, axis in chosen(x, s, axes, name):
            x = _rows(kind, x, type, n, axis, norm, orthogonalize, inverse)
        return x

    return _named_wave(transform, name, kind, inverse)


def _named_wave(transform: Function, name: str, kind: str, inverse: bool) -> Function:
    which = f"{'Inverse transform' if inverse else 'Transform'} by {kind}"
    return _documented(transform, name, f"{which}, of types 1 to 4")


dct, idct = _wave("dct", "cosines", False), _wave("idct", "cosines", True)
dst, idst = _wave("dst", "sines", False), _wave("idst", "sines", True)
dctn, idctn = _waves("dctn", "cosines", False), _waves("idctn", "cosines", True)
dstn, idstn = _waves("dstn", "sines", False), _waves("idstn", "sines", True)

# ---------------------------------------------------------------- others


def _hankel(original: Function, a: Any, dln: Any, mu: Any, offset: Any, bias: Any) -> Any:
    if any(map(is_traced, (dln, mu, offset, bias))):
        refuse(original, "dln, mu, offset and bias must be numbers; only the array is traced")
    a = floats(a)
    n = a.shape[-1]
    steps = (np.arange(n) - (n - 1) / 2) * dln
    before, after = np.exp(-bias * steps), np.exp(-bias * (steps + offset))
    if original is scipy.fft.ifht:
        before, after = 1 / after, 1 / before
    # Between these factors it is a convolution around the ends, and turned round: what
    # SciPy makes of one sample tells with what.
    one = np.fft.rfft((original(np.eye(1, n)[0], dln, mu, offset, bias) / after)[::-1])
    found = np.fft.irfft(np.fft.rfft(a * before) * (one / before[0]), n)
    return (np.flip(found, -1) * after).astype(a.dtype)


@replaces(scipy.fft.fht)
def fht(a: Any, dln: float, mu: float, offset: float = 0.0, bias: float = 0.0) -> Any:
    """Hankel transform of an array, as ``scipy.fft.fht``.

    Examples
    --------
    >>> sg.grad(lambda a: fht(a, dln=0.5, mu=0.0)[0])(np.ones(3)).round(4)
    array([ 0.9805, -0.129 ,  0.1485])
    """
    return _hankel(scipy.fft.fht, a, dln, mu, offset, bias)


@replaces(scipy.fft.ifht)
def ifht(A: Any, dln: float, mu: float, offset: float = 0.0, bias: float = 0.0) -> Any:
    """Inverse Hankel transform of an array, as ``scipy.fft.ifht``.

    Examples
    --------
    >>> sg.grad(lambda A: ifht(A, dln=0.5, mu=0.0)[0])(np.ones(3)).round(4)
    array([ 0.9805, -0.129 ,  0.1485])
    """
    return _hankel(scipy.fft.ifht, A, dln, mu, offset, bias)


@replaces(scipy.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Any:
    """Move the frequency zero to the middle, as ``scipy.fft.fftshift``.

    Examples
    --------
    >>> sg.grad(lambda x: fftshift(x)[0] ** 2)(np.array([1.0, 2.0, 3.0]))
    array([0., 0., 6.])
    """
    return np.fft.fftshift(traced_numpy.asarray(x), axes)


@replaces(scipy.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Any:
    """Move the frequency zero to the beginning, as ``scipy.fft.ifftshift``.

    Examples
    --------
    >>> sg.grad(lambda x: ifftshift(x)[0] ** 2)(np.array([1.0, 2.0, 3.0]))
    array([0., 4., 0.])
    """
    return np.fft.ifftshift(traced_numpy.asarray(x), axes)


def next_fast_len(target: Any, real: bool = False) -> int:
    """Length of at least ``target`` that is transformed fast, as ``scipy.fft.next_fast_len``.

    Examples
    --------
    >>> next_fast_len(13)
    14
    """
    return int(scipy.fft.next_fast_len(int(target), real))


def prev_fast_len(target: Any, real: bool = False) -> int:
    """Length of at most ``target`` that is transformed fast, as ``scipy.fft.prev_fast_len``.

    Examples
    --------
    >>> prev_fast_len(13)
    12
    """
    return int(scipy.fft.prev_fast_len(int(target), real))


__getattr__, __dir__ = offering(scipy.fft, globals(), reasons("fft"))
