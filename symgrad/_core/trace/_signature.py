"""What a trace depends on: the kinds of the arguments, not their values.

Two calls with equal signatures share one trace: equal nesting, element types, ranks, and
the same pattern of sizes (which are 0 or 1, and which are equal to each other).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ...errors import ArgumentError, DTypeError, SymgradError
from ..base.class_modules import module_of
from ..base.signals import foreseen
from ..base.sizes import MOST_BYTES, Dim, Dimension, Size
from ..base.state import now
from ..graph import Input, SizeOf, more_than_numbers
from ..graph._types import check_dtype
from ._clocks import Reading
from ._complex import Complex
from ._draws import GENERATORS
from ._generators import in_trace
from ._labels import is_table
from ._records import Column
from ._traced import Traced
from ._tree import Tree, flatten, is_number_list

#: Axes of up to this many elements are short, the last axis of an array up to the second
#: number: kernels are made for their sizes and unroll them.
SHORT_AXIS, SHORT_LAST_AXIS = 8, 16

#: NumPy's own descriptor of each element type; of two C types of equal size, the usual one.
_NATIVE = {c: np.dtype(np.dtype(c).name) for c in "?bBhHiIlLqQfdFD"}

_DIM_NAMES = ("n", "m", "p", "q", "r", "s", "t", "u", "v", "w")


def as_leaf(value: Any, what: str) -> Any:
    """Return an argument leaf as the kernels take it: a contiguous native array or scalar.

    Arrays that a kernel can read as they are pass through; the caller's arrays are never
    written to. Numbers and other hashable values pass through too.
    """
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "USVMm":
            raise DTypeError(
                f"{what} has element type {value.dtype}, which a function reads, and does not "
                "compute with. Write instead: functools.partial(f, data=data) or a closure for "
                "arrays of text, times and records; the numbers in them are arguments"
            )
        if value.dtype.char not in _NATIVE:
            check_dtype(value.dtype, what)
        flags, native = value.flags, _NATIVE[value.dtype.char]
        if (
            type(value) is np.ndarray
            and value.dtype is native
            and flags.c_contiguous
            and flags.aligned
        ):
            return value
        _require_numbers(value, what)
        # Kernels have one compiled form, for C-contiguous arrays.
        return np.array(value, dtype=native, order="C", subok=False)
    if is_number_list(value):
        try:
            return as_leaf(np.array(value), what)
        except ValueError as error:
            raise ArgumentError(
                f"{what} is a ragged nested list, whose parts have different lengths. Write "
                "instead: a tuple of arrays, or an array of rows that are filled up"
            ) from error
    if isinstance(value, np.generic):
        return as_leaf(np.asarray(value), what)
    if is_table(value):  # whose columns the function reads, as those of a captured one
        return value
    if type(value) is Column:
        return value.array
    if hasattr(value, "__array__") and not isinstance(value, (Traced, type)):
        _require_numbers(value, what)
        return as_leaf(_foreign_array(value, what, np.asarray), what)
    if hasattr(value, "__dlpack__") and not isinstance(value, type):
        return as_leaf(_foreign_array(value, what, np.from_dlpack), what)
    return value.leaf() if isinstance(value, Reading) else value


def as_leaves(
    raw: Sequence[Any], function: Callable[..., Any], args: Sequence[Any], kwargs: Any
) -> list[Any]:
    """Return the leaves of a call of ``function`` as the kernels take them."""
    wrong = False
    try:
        return [as_leaf(leaf, "") for leaf in raw]
    except SymgradError:
        wrong = True
    paths = argument_paths(function, args, kwargs) if wrong else ()
    return [as_leaf(leaf, f"argument {path}") for leaf, path in zip(raw, paths, strict=True)]


#: The functions that other libraries' differentiation takes, by the packages of their arrays.
_BRIDGES = {"torch": "sg.to_torch(f)", "jax": "sg.to_jax(f)", "jaxlib": "sg.to_jax(f)"}


def _foreign_array(
    value: Any, what: str, read: Callable[[Any], np.ndarray[Any, Any]]
) -> np.ndarray[Any, Any]:
    """Return another library's array as one of NumPy's; memory on the CPU is not copied."""
    try:
        return read(value)
    except SymgradError:  # a reading of a clock says what is wrong with it
        raise
    except foreseen(TypeError, ValueError, RuntimeError, BufferError) as error:
        kind = type(value)
        home = module_of(kind).partition(".")[0]
        bridge = _BRIDGES.get(home)
        instead = "" if bridge is None else f"{bridge}, which {home} differentiates and calls; or "
        raise ArgumentError(
            f"{what} is a {home}.{kind.__name__}, which gives no numbers on the CPU: "
            f"{str(error).partition(chr(10))[0]:.200} Write instead: {instead}its numbers as a "
            "NumPy array"
        ) from error


def _require_numbers(value: Any, what: str) -> None:
    why = more_than_numbers(value)
    if why is not None:
        raise ArgumentError(f"{what}: {why}")


class LeafKind(NamedTuple):
    """The kind of one argument leaf.

    ``kind`` is "array" (with dtype and size pattern; ``value`` is ``int`` or ``bool`` for one of
    Python's that is data, ``list`` for a list of numbers, ``tuple`` for a column of records,
    whose length is a number), "float" (a Python float), "complex"
    (a Python complex), "int" (a Python integer, a size), "generator" (of random numbers, of the
    class ``value``, which is drawn from before the program runs), or "static" (baked in by value).
    Complex arrays and numbers enter a program as real arrays with a last axis of two.
    """

    kind: str
    dtype: str = ""
    sizes: tuple[int, ...] = ()
    value: Any = None

    @property
    def is_value(self) -> bool:
        """Whether the leaf is an input of the program, and not baked in."""
        return self.kind in ("array", "float", "complex") or (
            self.kind == "int" and self.value is None
        )

    @property
    def is_taken(self) -> bool:
        """Whether a call passes the leaf along: an input, or what inputs are drawn from."""
        return self.is_value or self.kind == "generator"

    @property
    def baked_in(self) -> Any:
        """What a leaf that is no input is."""
        return self.value[1] if self.kind == "static" else self.value

    @property
    def is_complex(self) -> bool:
        """Whether the leaf is one or many complex numbers."""
        return self.kind == "complex" or self.dtype in ("F", "D")


class Signature(NamedTuple):
    """The kinds of a call's arguments; hashable.

    ``state`` tells apart what the function reads besides its arguments.
    """

    tree: Tree
    leaves: tuple[LeafKind, ...]
    dynamic: bool = True
    state: int = 0

    @property
    def generators(self) -> list[int]:
        """Which leaves are generators of random numbers."""
        return [k for k, leaf in enumerate(self.leaves) if leaf.kind == "generator"]


def signature_of(
    leaves: Sequence[Any],
    tree: Tree,
    dynamic: bool,
    short: bool = False,
    watched: Sequence[Any] = (),
    paths: Callable[[], Sequence[str]] | None = None,
    listed: Container[int] = (),
    recorded: Container[int] = (),
) -> tuple[Signature, list[int]]:
    """Return the signature of flat arguments and the example's symbolic sizes.

    With ``dynamic`` sizes from 2 on are symbols; with ``short``, those of short axes are
    numbers even so (:func:`short_sizes`). ``watched`` are objects whose content is compared
    otherwise. ``paths`` gives how errors call the leaves, ``listed`` which of them are lists of
    numbers, ``recorded`` which are columns of records.
    """
    classes: dict[int, int] = {}
    fixed = short_sizes(leaves) if short else ()
    kinds = []

    def pattern_of(size: int) -> int:
        if size < 2:
            return size
        return -size if size in fixed else 2 + classes.setdefault(size, len(classes))

    for k, leaf in enumerate(leaves):
        if isinstance(leaf, np.ndarray):
            sizes = leaf.shape
            if k in recorded:
                kinds.append(LeafKind("array", leaf.dtype.char, (-sizes[0],), tuple))
                continue
            if dynamic and sizes:
                sizes = tuple(map(pattern_of, sizes))
            kinds.append(LeafKind("array", leaf.dtype.char, sizes, list if k in listed else None))
        elif type(leaf) is float:
            kinds.append(LeafKind("float"))
        elif type(leaf) is complex:
            kinds.append(LeafKind("complex"))
        elif type(leaf) in GENERATORS:
            kinds.append(LeafKind("generator", value=type(leaf)))
        elif type(leaf) is int and leaf.bit_length() < 64:
            # A sum of a few sizes has no overflow; larger numbers are Python's own.
            symbolic = dynamic and 1 < leaf < MOST_BYTES
            pattern = 2 + classes.setdefault(leaf, len(classes)) if symbolic else -1
            value = None if pattern > 0 else leaf
            kinds.append(LeafKind("int", sizes=(pattern,), value=value))
        else:
            key = _hashable(leaf, watched)
            if key is None:
                _refuse_kind(leaf, "an argument" if paths is None else f"argument {paths()[k]}")
            kinds.append(LeafKind("static", value=key))
    return Signature(tree, tuple(kinds), dynamic), list(classes)


def short_sizes(leaves: Iterable[Any]) -> set[int]:
    """Return the sizes that kernels are specialized for: those of short axes of matrices.

    Code for the three coordinates of points needs no loop over them. Of an array with several
    axes the sizes up to 8 count, and up to 16 on the last axis.
    """
    found: set[int] = set()
    for leaf in leaves:
        if isinstance(leaf, np.ndarray) and leaf.ndim > 1:
            found.update(d for d in leaf.shape if d <= SHORT_AXIS)
            found.update(d for d in leaf.shape[-1:] if d <= SHORT_LAST_AXIS)
    return found


class _Itself(tuple[Any, ...]):
    """An object that cannot be hashed, as a key: the object itself, whatever it is equal to."""

    __slots__ = ()

    def __hash__(self) -> int:
        return id(self[1])

    def __eq__(self, other: object) -> bool:
        return type(other) is _Itself and self[1] is other[1]


def _hashable(leaf: Any, watched: Sequence[Any]) -> Any:
    # The type tells True from 1 and np.float64(1) from 1.0.
    key = type(leaf), leaf
    try:
        hash(leaf)
    except (TypeError, ValueError):  # ValueError: a memoryview of what can change
        if any(leaf is x for x in watched) or is_table(leaf):
            return _Itself(key)
        return None
    return key


def _refuse_kind(leaf: Any, what: str) -> NoReturn:
    listed = (
        "arguments are arrays, numbers, nested tuples, lists, dicts and dataclasses of them, "
        "objects of your own classes, and hashable values, which are baked in"
    )
    why = f"{leaf!r:.60}" if isinstance(leaf, (set, bytearray)) else listed
    raise ArgumentError(f"cannot take {what} of type {type(leaf).__name__}: {why}")


def make_inputs(
    signature: Signature, sizes: Sequence[int], names: Sequence[str]
) -> tuple[list[Any], list[Input]]:
    """Return the values to call the traced function with, and the inputs among them."""
    taken = now().sizes.union(names)
    free = (n for k in range(10**6) for n in (f"{s}{k or ''}" for s in _DIM_NAMES))
    dims = [Dim(next(n for n in free if n not in taken), size) for size in sizes]

    def dim(pattern: int) -> Dimension:
        return dims[pattern - 2] if signature.dynamic and pattern >= 2 else abs(pattern)

    values: list[Any] = []
    inputs: list[Input] = []
    lists = now().lists
    for number, (leaf, name) in enumerate(zip(signature.leaves, names, strict=True)):
        if leaf.is_complex:
            half = np.float32 if leaf.dtype == "F" else np.float64
            node = Input(name, (*map(dim, leaf.sizes), 2), half)
            inputs.append(node)
            values.append(Complex.unpack(Traced(node), complex if leaf.kind == "complex" else None))
        elif leaf.kind == "array":
            node = Input(name, tuple(map(dim, leaf.sizes)), np.dtype(leaf.dtype))
            inputs.append(node)
            if lists is not None and leaf.value is tuple:
                lists.columns = True
            elif lists is not None and leaf.sizes:
                lists.add(node, leaf.value is list)
            values.append(Traced(node, None if leaf.value in (list, tuple) else leaf.value))
        elif leaf.kind == "float":
            node = Input(name, (), np.float64)
            inputs.append(node)
            values.append(Traced(node, weak=float))
        elif leaf.kind == "int":
            size = leaf.value if leaf.value is not None else Size(dims[leaf.sizes[0] - 2])
            # The size itself is an input, so that a kernel can read it.
            if isinstance(size, Size):
                inputs.append(Input(name, (), np.int64, dim=size.expr))
            values.append(size)
        elif leaf.kind == "generator":
            values.append(in_trace(leaf.value, number))
        else:
            values.append(leaf.value[1])
    return values, inputs


def _positional(function: Callable[..., Any]) -> tuple[list[str], str]:
    """Return the names of positional parameters, and of the one that takes the rest, or ""."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except foreseen(TypeError, ValueError):
        parameters = []
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return plain, next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), "")


def argument_name(function: Callable[..., Any], key: int | str) -> str:
    """Return how an error calls an argument: ``x``, ``more[0]``, or its position."""
    if isinstance(key, str):
        return key
    plain, rest = _positional(function)
    if 0 <= key < len(plain):
        return plain[key]
    return f"{rest}[{key - len(plain)}]" if rest and key >= 0 else str(key)


def argument_paths(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Any,
    lists: bool = False,
    records: bool = False,
) -> list[str]:
    """Return how an error calls each leaf of ``(args, kwargs)``: ``params['w'][0]``."""
    keys = [*range(len(args)), *kwargs]
    return [
        path
        for key, value in zip(keys, (*args, *kwargs.values()), strict=True)
        for path in flatten(value, lists, records)[1].paths(argument_name(function, key))
    ]


def argument_names(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Any,
    lists: bool = False,
    records: bool = False,
) -> list[str]:
    """Return an identifier for each leaf of ``(args, kwargs)``, by :func:`flatten`."""
    plain, rest = _positional(function)
    rest = rest or "x"
    single = len(args) == 1 and not plain
    names: list[str] = []
    for k, arg in enumerate(args):
        name = plain[k] if k < len(plain) else rest if single else f"{rest}{k - len(plain)}"
        names += flatten(arg, lists, records)[1].names(name)
    for key, arg in kwargs.items():
        names += flatten(arg, lists, records)[1].names(key)
    unique: dict[str, int] = {}
    for k, name in enumerate(names):
        count = unique.setdefault(name, 0)
        unique[name] += 1
        if count:
            names[k] = f"{name}_{count}"
    return names


__all__ = [
    "SHORT_LAST_AXIS", "DTypeError", "LeafKind", "Signature", "SizeOf", "argument_name",
    "argument_names", "argument_paths", "as_leaf", "as_leaves", "make_inputs",
    "signature_of",
]  # fmt: skip
