"""Nested arguments to a program's inputs, its outputs to a nested result: code for one structure.

A call flattens its arguments, which takes as long as a few operations of NumPy for each container.
Code that is written for one structure only looks whether it is this one, and takes it apart::

    def call(*args):
        if len(args) != 2: return MISS
        a0, a1 = args
        if type(a0) is not dict or (*a0,) != ("w", "b"): return MISS
        a0_0, a0_1 = a0.values()
        return function(a0_0, a0_1, a1)
"""

from __future__ import annotations

import itertools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from keyword import iskeyword
from typing import Any

import numpy as np

from .._capture._user_code import is_read
from .._core.runtime import MISS
from .._core.trace import LeafKind, Tree, as_input, columns_like
from ._layout import can_ask

#: Given the function of a program's inputs, that of a call's arguments.
Unpack = Callable[[Callable[..., Any]], Callable[..., Any]]


class _OtherError(Exception):
    """There is a container that only :func:`flatten` knows how to take apart."""


def make_unpack(tree: Tree, leaves: Sequence[LeafKind]) -> Unpack | None:
    """Return what makes a function of arguments of one function of the values among their leaves.

    The function returns MISS for arguments of another structure, or with other constants. None
    where there are arguments that are no plain containers of values and constants.

    Parameters
    ----------
    tree:
        The structure of a call's ``(args, kwargs)``.
    leaves:
        What is known of each leaf.
    """
    args, kwargs = tree.children
    lines: list[str] = []
    scope: dict[str, Any] = {"MISS": MISS}
    kinds = iter(leaves)
    try:
        values = [*_opened(args, "args", lines, kinds, scope)]
        if kwargs.children:
            values += _opened(kwargs, "kwargs", lines, kinds, scope)
    except _OtherError:
        return None
    head = "*args, **kwargs" if kwargs.children else "*args"
    body = "".join(f"        {line}\n" for line in lines)
    text = (
        f"def make(function):\n    def call({head}):\n{body}"
        f"        return function({', '.join(values)})\n    return call\n"
    )
    exec(text, scope)  # noqa: S102  of names made here
    make: Unpack = scope["make"]
    return make


def _opened(
    tree: Tree, name: str, lines: list[str], kinds: Iterator[LeafKind], scope: dict[str, Any]
) -> list[str]:
    """Write what takes a container apart; return the names of the values in it."""
    if tree.kind == "leaf":
        kind = next(kinds)
        if kind.is_taken:
            return [name]
        if is_read(kind.baked_in):  # what it has is looked at with all else that is read
            lines.append(f"if {name} is not {_bound(kind.baked_in, scope)}: return MISS")
            return []
        if not can_ask(kind.baked_in):
            raise _OtherError
        given = repr(kind.baked_in)
        known = f"type({name}) is not {type(kind.baked_in).__name__} or {name} != {given}"
        lines.append(f"if {f'{name} is not None' if given == 'None' else known}: return MISS")
        return []
    names = [f"{name}_{k}" if name != "args" else f"a{k}" for k in range(len(tree.children))]
    if tree.kind == "records":
        read, form = _bound(columns_like, scope), _bound(tree.meta, scope)
        lines.append(f"{name} = {read}({name}, {form})")
        lines.append(f"if {name} is None: return MISS")
        lines.append(f"{', '.join(names)}, = {name}")
        for _ in names:
            next(kinds)
        return names
    test, parts = _taken_apart(tree, name, scope)
    lines.append(f"if {test}: return MISS")
    if names:
        lines.append(f"{', '.join(names)}, = {parts}")
    return [
        value
        for child, inner in zip(tree.children, names, strict=True)
        for value in _opened(child, inner, lines, kinds, scope)
    ]


def _taken_apart(tree: Tree, name: str, scope: dict[str, Any]) -> tuple[str, str]:
    """Return the test whether a container is another one, and the expression of its parts."""
    if name == "args":
        return f"len(args) != {len(tree.children)}", name
    if tree.kind in ("tuple", "list"):
        return f"type({name}) is not {tree.kind} or len({name}) != {len(tree.children)}", name
    if tree.kind not in ("dict", "namedtuple", "dataclass"):
        raise _OtherError
    kind, *first, keys = tree.meta
    test = f"type({name}) is not {_bound(kind, scope)}"
    if tree.kind == "dataclass" and not all(k.isidentifier() and not iskeyword(k) for k in keys):
        raise _OtherError
    if tree.kind == "namedtuple":
        return test, name
    if tree.kind == "dataclass":
        return test, f"{', '.join(f'{name}.{key}' for key in keys)},"
    if kind not in (dict, OrderedDict, defaultdict):
        raise _OtherError
    if first:
        test += f" or {name}.default_factory is not {_bound(first[0], scope)}"
    return f"{test} or (*{name},) != {_bound(keys, scope)}", f"{name}.values()"


#: Levels of a result that are written as Python, whose parser takes 200 brackets around another,
#: two for each level; what is nested deeper is put together by a function.
MOST_WRITTEN = 50


def make_pack(tree: Tree, leaves: Sequence[Any], count: int) -> Callable[[Any], Any] | None:
    """Return ``pack(r)`` for the output ``r``, or tuple of outputs; None if ``r`` is the result.

    ``tree`` and ``leaves`` are the structure of the result, as in Graph, of ``count`` outputs.
    """
    scope: dict[str, Any] = {}
    names = ["r"] if count == 1 else [f"r[{k}]" for k in range(count)]
    text = _packed(tree, iter(leaves), names, scope)
    if text == (names[0] if count == 1 else f"({', '.join(names)})"):
        return None
    exec(f"def pack(r):\n    return {text}\n", scope)  # noqa: S102  of names made here
    pack: Callable[[Any], Any] = scope["pack"]
    return pack


def _packed(
    tree: Tree, leaves: Iterator[Any], names: list[str], scope: dict[str, Any], depth: int = 0
) -> str:
    if tree.kind == "leaf":
        leaf = next(leaves)
        return _bound(leaf[0], scope) if isinstance(leaf, tuple) else names[leaf]
    if depth == MOST_WRITTEN:
        flat = [_packed(Tree("leaf"), leaves, names, scope) for _ in range(tree.leaves)]
        return f"{_bound(tree.unflatten, scope)}(({''.join(f'{x}, ' for x in flat)}))"
    parts = [_packed(child, leaves, names, scope, depth + 1) for child in tree.children]
    inner = ", ".join(parts)
    if tree.kind == "tuple":
        return f"({inner}{',' if len(parts) == 1 else ''})"
    if tree.kind == "list":
        return f"[{inner}]"
    if tree.kind == "dict" and tree.meta[0] is dict:
        pairs = zip(tree.meta[-1], parts, strict=True)
        return f"{{{', '.join(f'{_bound(key, scope)}: {part}' for key, part in pairs)}}}"
    if tree.kind == "namedtuple" and hasattr(tree.meta[0], "_make"):
        return f"{_bound(tree.meta[0], scope)}({inner})"
    rebuild = Tree(tree.kind, tree.meta, tuple(Tree("leaf") for _ in parts)).unflatten
    return f"{_bound(rebuild, scope)}(({inner}{',' if len(parts) == 1 else ''}))"


def _bound(value: Any, scope: dict[str, Any]) -> str:
    name = f"b{len(scope)}"
    scope[name] = value
    return name


def _pairing(function: Callable[..., Any], leaves: Sequence[LeafKind]) -> Callable[..., Any]:
    """Return ``function`` of complex numbers and arrays, which it takes as pairs of reals."""
    chars = [leaf.kind if leaf.kind == "complex" else leaf.dtype for leaf in leaves]

    def call(*values: Any) -> Any:
        given = list(values)
        if len(given) < len(chars):
            return MISS
        for k, char in enumerate(chars):
            value = given[k]
            if char == "complex":
                if type(value) is not complex:
                    return MISS
            elif char not in ("F", "D"):
                continue
            elif type(value) is not np.ndarray or value.dtype.char != char:
                return MISS
            given[k] = as_input(value)
        return function(*given)

    return call


def _pairs(arrays: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return itertools.combinations([a for a in arrays if a is not None], 2)


def _may_overlap(arrays: Sequence[Any]) -> bool:
    return any(itertools.starmap(np.may_share_memory, _pairs(arrays)))


def _parts(tree: Tree, result: Any) -> Iterator[Any]:
    """Yield the leaves of what a dispatcher returns for a result of this structure: tuples."""
    if tree.kind in ("leaf", "packed"):
        yield result
        return
    for child, part in zip(tree.children, result, strict=True):
        yield from _parts(child, part)


def _typed(part: Any, kind: str, dtype: np.dtype[Any]) -> Any:
    """Return a dispatcher's result as the program's output: Numba's numbers are Python's."""
    if kind == "packed":
        return as_input(np.asarray(part, dtype.char.upper()))
    return part if isinstance(part, np.ndarray) else dtype.type(part)


def _native(leaf: Any) -> Any:
    """Return an argument as the compiled function takes it.

    A 0-d array is a number. An array that was pickled has an element type of its own, equal to
    NumPy's but not the same object, by which types are recognised.
    """
    if not isinstance(leaf, np.ndarray):
        return leaf
    if not leaf.ndim:
        return leaf[()]
    plain = np.dtype(leaf.dtype.char)
    return leaf if leaf.dtype is plain else leaf.view(plain)
