"""Traced complex values: pairs of traced real ones.

Complex numbers exist while tracing only. Every operation on them is carried out in real
operations on the two parts, so the graph, its derivatives, its symbolic form and the machine
code are real. How an op acts on pairs follows from its record: a linear one acts on each part,
a contraction is linear in each of its two operands, and others say it in ``parts``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ...errors import DTypeError, TraceError
from ..base.stand_in_types import StandIn, asks_for, class_of, show_as, stands_for
from ..graph import Node
from ..graph._types import promote
from ..op import Op, registry
from ..ops import CAST
from ._arrays import ArrayMethods, InMemory, add_operators, declines
from ._assignment import is_traced_mask
from ._attributes import attribute_of
from ._bind import as_node, cast, kind_of
from ._mask_selection import Masked
from ._number_refusals import SPARSE, whole
from ._operators import add_augmented, matmul_in_place
from ._traced import Traced, as_traced, known_index
from ._tree import Pair, flatten
from ._views import Layout

_OPS = registry.ops


def is_complex(value: Any) -> bool:
    """Tell whether ``value`` is a complex number or array, traced or not."""
    if isinstance(value, (Traced, float, int)):
        return False
    if isinstance(value, (Pair, complex)):
        return True
    if isinstance(value, (list, tuple)):
        return any(map(is_complex, value))
    dtype = getattr(value, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind == "c"


def _kind(value: Complex) -> Any:
    """Return the class of what a traced complex value stands for."""
    real = value._real
    if real.weak is not None:
        return complex
    node = real._node
    if node.shape or real.boxed:
        return np.ndarray
    return np.complex64 if node.dtype == np.float32 else np.complex128


class Complex(InMemory, ArrayMethods, Pair, metaclass=StandIn):
    """A complex value of the function being traced; see :class:`Traced`.

    Attributes
    ----------
    real, imag:
        The traced parts, of one shape and one type. As with NumPy's, assigning to their
        elements assigns to the value's.
    """

    __slots__ = ("_imag", "_real")
    __class__ = stands_for(_kind)

    def __init__(self, real: Traced, imag: Traced) -> None:
        self._real, self._imag = real, imag
        for part in (real, imag):
            if part.layout is Layout.RUN:
                part.layout = Layout.PARTS

    @classmethod
    def of(cls, real: Any, imag: Any) -> Any:
        """Put parts together, whatever they are: traced values, arrays, None for both."""
        if real is None:
            return None
        if not (isinstance(real, Traced) or isinstance(imag, Traced)):
            return real + 1j * imag
        real, imag = as_traced(real), as_traced(imag)
        weak = float if real.weak is not None and imag.weak is not None else None
        dtype = np.dtype(np.float64) if weak else promote(kind_of(real), kind_of(imag))
        if dtype.kind != "f":
            dtype = np.dtype(np.float64)
        real, imag = (_fit(x, dtype, weak) for x in (real, imag))
        if real.node.shape != imag.node.shape:  # the sum of both is an array of its own
            real, imag = (part.copy() for part in np.broadcast_arrays(real, imag))
        return cls(real, imag)

    @classmethod
    def unpack(cls, pairs: Traced, weak: type | None = None) -> Complex:
        """Return the complex values of a real array with a last axis of two."""
        node = pairs.node
        region = tuple((0, 1, n) for n in node.shape[:-1])
        parts = (_OPS["Slice"](pairs, region=(*region, (k, 1, None))).node for k in (0, 1))
        return cls(*(Traced(part, float if weak else None) for part in parts))

    @property
    def packed(self) -> Traced:
        """The value as a real array with a last axis of two."""
        pairs = _taken_from(self._real.node, self._imag.node)
        if pairs is not None:
            return Traced(pairs)
        packed: Traced = np.stack([self._real, self._imag], axis=-1)
        return packed

    @staticmethod
    def __symgrad_bind__(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return Traced.with_complex(op, operands, params)

    # ---------------------------------------------------------------- what it is

    @property
    def real(self) -> Traced:
        """The real part."""
        return self._real

    @real.setter
    def real(self, value: Any) -> None:
        self._real[...] = value

    @property
    def imag(self) -> Traced:
        """The imaginary part."""
        return self._imag

    @imag.setter
    def imag(self, value: Any) -> None:
        self._imag[...] = value

    @property
    def shape(self) -> Any:
        """The shape; symbolic sizes compute like integers."""
        return self._real.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._real.ndim

    @property
    def size(self) -> Any:
        """The number of elements."""
        return self._real.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return np.dtype(f"c{2 * self._real.dtype.itemsize}")

    @property
    def weak(self) -> type | None:
        """``complex`` for a Python complex: it does not widen complex64."""
        return complex if self._real.weak is not None else None

    def __repr__(self) -> str:
        return f"Complex({self._real!r}, {self._imag!r})"

    def __getattr__(self, name: str) -> Any:
        asked = asks_for(name, sys._getframe(1))
        if asked:
            return attribute_of(self, _kind(self), name, asked)
        raise AttributeError(f"a traced complex value has no attribute {name!r}")

    # ---------------------------------------------------------------- assignment and views

    @property
    def is_view(self) -> bool:
        """Whether it may share memory with another array."""
        return self._real.is_view

    @property
    def overwritten(self) -> bool:
        """Whether the array has been assigned to."""
        return self._real.overwritten or self._imag.overwritten

    @property
    def layout(self) -> Layout:
        """What is sure about where the elements lie."""
        return min(self._real.layout, self._imag.layout)

    def _see(self, source: Any, wanted: Layout | None = None, diagonals: bool = False) -> Complex:
        """Return this value as a view of ``source``, if NumPy would share its memory."""
        if not isinstance(source, Complex):
            return self
        wanted = Layout.PARTS if wanted is Layout.RUN else wanted
        real = self._real._see(source.real, wanted, diagonals)
        imag = self._imag._see(source.imag, wanted, diagonals)
        return self if real is self._real and imag is self._imag else Complex(real, imag)

    def own(self, layout: Layout) -> Complex:
        """Return the value as an array of its own, which lies so."""
        return Complex(self._real.own(layout), self._imag.own(layout))

    @property
    def boxed(self) -> bool:
        """Whether it is an array though it has no axes."""
        return self._real.boxed

    def in_box(self) -> Complex:
        """Return what ``np.asarray`` makes of it: of a number an array without axes."""
        if self.ndim or self.boxed:
            return self
        return Complex(self._real.in_box(), self._imag.in_box())

    def sharing(self, source: Any) -> Complex:
        """Return the value as a view of ``source`` that is not followed where one is written."""
        return Complex(*(getattr(self, k).sharing(getattr(source, k)) for k in ("real", "imag")))

    def unsure(self, layout: Layout) -> Complex:
        """Return what is a copy that lies so, or this very array if it does."""
        layout = Layout.PARTS if layout is Layout.RUN else layout
        return Complex(self._real.unsure(layout), self._imag.unsure(layout))

    def __getitem__(self, index: Any) -> Any:
        index = known_index(index)
        if is_traced_mask(index):
            return Masked.read(self, index)
        return Complex(self._real[index], self._imag[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        value = value if isinstance(value, Masked) else lifted(value)
        self._real[index] = value.real
        self._imag[index] = value.imag if value.dtype.kind == "c" else 0.0

    def _in_place(self, name: str, _: str, other: Any) -> Any:
        if not self.ndim and not self.boxed:
            return NotImplemented
        self[...] = Traced.with_complex(_OPS[name], (self, other), {})
        return self

    __imatmul__ = matmul_in_place

    # ---------------------------------------------------------------- what it refuses

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if str(sys._getframe(1).f_globals.get("__name__")).startswith(SPARSE):
            return whole(self)
        self._leaked("an array of numbers", "np.stack([z, w]) for np.array([z, w])")

    def _leaked(self, wanted: str, instead: str) -> NoReturn:
        made = self._real.node.where
        raise TraceError(
            f"{wanted} was asked of a traced complex value{f', made at {made}' if made else ''}, "
            f"which has no numbers yet. Write instead: {instead}"
        )

    def __bool__(self) -> bool:
        return bool(Traced.with_complex(_OPS["NotEqual"], (self, 0), {}))

    def __complex__(self) -> complex:
        self._leaked("a Python complex (`complex(z)`, `cmath.sin(z)`)", "np.sin(z), np.exp(z), ...")

    def __float__(self) -> float:
        raise self._not_real("float")

    def __int__(self) -> int:
        raise self._not_real("int")

    def _not_real(self, kind: str) -> TypeError:
        """Return an error, which Python's complex numbers raise, too, and NumPy's do not."""
        text = f"a complex value is no {kind}: take z.real or np.abs(z)"
        return TypeError(text) if self.weak else TraceError(text)

    def item(self) -> NoReturn:
        """Refuse: a traced value has no number."""
        self._leaked("a number (`z.item()`)", "the value itself")

    def tolist(self) -> NoReturn:
        """Refuse: a traced value has no numbers."""
        self._leaked("a list of numbers (`z.tolist()`)", "the value itself, or list(z)")

    def __hash__(self) -> int:  # noqa: PLE0309
        if _kind(self) is np.ndarray:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        self._leaked("a hash (a key of a dictionary, an element of a set)", "another key")

    def __reduce__(self) -> Any:
        self._leaked("pickling", "pickle the compiled function instead")

    # ---------------------------------------------------------------- copies and conversion

    def __pos__(self) -> Complex:
        return self.copy("K")

    def copy(self, order: str = "C") -> Complex:
        """Return a copy, which assignments to this array do not change."""
        return Complex(self._real.copy(order), self._imag.copy(order))

    def astype(self, dtype: Any, order: str = "K", *, copy: bool = True, **_: Any) -> Any:
        """Return the value converted to another complex type, or to whether it is not 0."""
        if np.dtype(dtype) == self.dtype and not copy:
            return self
        return Traced.with_complex(CAST, (self,), {"dtype": np.dtype(dtype)})

    # ---------------------------------------------------------------- unary operators

    def __neg__(self) -> Any:
        return Traced.with_complex(_OPS["Negative"], (self,), {})

    def __abs__(self) -> Any:
        found = Traced.with_complex(_OPS["Absolute"], (self,), {})
        return found if self.weak is None else Traced(found.node, float)


def _operator(name: str, swap: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Complex, other: Any) -> Any:
        if isinstance(other, (str, bytes, type(None))) or declines(other):
            return NotImplemented
        found = Traced.with_complex(_OPS[name], (other, self) if swap else (self, other), {})
        if self.weak is None or type(found) is not Complex or found.weak is not None:
            return found
        # Python's complex takes all numbers of Python's, and on its left NumPy's float64 as one.
        kind = class_of(other)
        python = kind in (int, float, complex, bool) or (issubclass(kind, float) and not swap)
        parts = (found.real, found.imag)
        return Complex(*(Traced(x.node, float) for x in parts)) if python else found

    return method


add_operators(Complex, _operator)
add_augmented(Complex)
show_as(Complex, _kind)


# ---------------------------------------------------------------- making them


def _taken_from(real: Node, imag: Node) -> Node | None:
    """Return the array of pairs of which two nodes are all first and all second elements."""
    if not (real.op is imag.op is _OPS["Slice"] and real.operands == imag.operands):
        return None
    source = real.operands[0]
    whole = tuple((0, 1, n) for n in source.shape[:-1])
    for k, part in enumerate((real, imag)):
        if source.shape[-1] != 2 or part.params["region"] != (*whole, (k, 1, None)):
            return None
    return source


def _half(dtype: Any) -> np.dtype[Any]:
    """Return the type of the parts of a complex type; longer ones are refused."""
    dtype = np.dtype(dtype)
    if dtype.itemsize > 16:
        raise DTypeError(f"symgrad cannot trace {dtype}: convert with .astype(np.complex128)")
    return np.dtype(f"f{dtype.itemsize // 2}")


def _fit(x: Traced, dtype: np.dtype[Any], weak: type | None) -> Traced:
    if x.dtype == dtype and x.weak is weak:
        return x
    return Traced(cast(x.node, dtype), weak)


def complex_of(value: Any) -> Complex:
    """Return a complex or real value as a traced complex one."""
    if isinstance(value, Complex):
        return value
    if isinstance(value, complex) and not isinstance(value, np.generic):
        return Complex(*(Traced(as_node(float(x)), float) for x in (value.real, value.imag)))
    if is_complex(value):
        array = np.asarray(value)
        half = _half(array.dtype)
        return Complex(*(as_traced(part.astype(half)) for part in (array.real, array.imag)))
    real = value if isinstance(value, Traced) else Traced(as_node(value), _weak(value))
    zero = np.zeros((), np.float64 if real.weak else np.result_type(real.dtype, np.float32))
    made: Complex = Complex.of(real, Traced(as_node(zero), float if real.weak else None))
    return made


def _weak(value: Any) -> type | None:
    kind = kind_of(value)
    return kind if isinstance(kind, type) else None


def lifted(value: Any) -> Any:
    """Return a value as a traced one, complex if it is complex."""
    if isinstance(value, Traced):
        return value
    if is_complex(value):
        return complex_of(value)
    return Traced(as_node(value), _weak(value))


def to_complex(value: Traced, dtype: Any) -> Complex:
    """Return a real traced value converted to a complex type."""
    return complex_of(value.astype(_half(dtype)))


def flatten_traced(value: Any) -> tuple[list[Any], Any]:
    """Return leaves and structure of a nested value, with complex numbers as pairs too."""
    leaves, tree = flatten(value)
    if not any(is_complex(leaf) for leaf in leaves):
        return leaves, tree
    return flatten(tree.unflatten([complex_of(x) if is_complex(x) else x for x in leaves]))
