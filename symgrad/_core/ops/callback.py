"""Calls of Python functions that are not traced: their code stays a black box.

A program holds a function's *token*; the functions themselves stand in a table of the process.
Kernels call them through C, as LAPACK's routines are called, once for each of a batch.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import re
import secrets
import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NoReturn

import numpy as np

from ...errors import ArgumentError, ShapeError, UnsupportedError
from ..base.broadcast import show
from ..base.fork_safety import free_in_children
from ..base.size_text import spell
from ..base.sizes import agree
from ..op import (
    COUNT,
    DTYPE,
    SHAPE,
    TOKEN,
    ArrayOp,
    Call,
    Code,
    Products,
    Routine,
    Words,
    Written,
    define,
    several,
)
from .linear import batched_alike, no_formula

#: The functions by token, for ever: a program that calls one may turn up again.
_functions: dict[str, Callable[..., Any]] = {}
_tokens: dict[int, str] = {}
#: Tells the tokens of this process from those that another one saved.
_PROCESS = secrets.token_hex(4)
_lock = free_in_children(threading.Lock())

#: What this thread's callbacks have raised inside of machine code, where somebody asks for it.
_kept = threading.local()

#: What the names begin with under which machine code calls Python functions.
CALLBACKS = "symgrad.user.callback."

#: What a kernel calls: ``(pointers to operands and result, their sizes)``.
SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


def token_of(function: Callable[..., Any]) -> str:
    """Return the token under which programs of this process call ``function``."""
    with _lock:
        found = _tokens.get(id(function))
        if found is None:
            name = getattr(function, "__name__", type(function).__name__)
            # Part of a symbol in machine code.
            plain = re.sub(r"[^0-9A-Za-z_]", "", name)
            found = _tokens[id(function)] = f"{plain}.{_PROCESS}.{len(_tokens)}"
            _functions[found] = function
        return found


def name_of(token: str) -> str:
    """Return the name of a token's function."""
    return token.partition(".")[0]


def call_back(
    token: str, shape: Any, dtype: str, ranks: tuple[int, ...], *operands: Any
) -> np.ndarray[Any, Any]:
    """Call the function of ``token``, once for each of the batch that operands share."""
    if token not in _functions:
        raise ArgumentError(
            f"the program calls the Python function {name_of(token)}, which belongs to the "
            "process that made it: trace the function that calls it again"
        )
    function, arrays = _functions[token], [np.asarray(x) for x in operands]
    lead = arrays[0].shape[: arrays[0].ndim - ranks[0]] if arrays else ()
    out = np.empty((*lead, *shape), dtype)
    for k in np.ndindex(*lead):
        # Copies, since the memory of an operand is used again.
        found = np.asarray(function(*(np.array(x[k])[()] for x in arrays)))
        if found.shape != tuple(shape):
            raise ShapeError(
                f"{name_of(token)}, called by pure_callback, returned shape {found.shape}, "
                f"where its result is said to be like an array of shape {tuple(shape)}"
            )
        if not np.can_cast(found.dtype, out.dtype, "same_kind"):
            raise ArgumentError(
                f"{name_of(token)}, called by pure_callback, returned {found.dtype}, where "
                f"its result is said to be {out.dtype}"
            )
        out[k] = found
    return out


@cache
def entry_of(token: str, ranks: tuple[int, ...], kinds: tuple[str, ...]) -> Any:
    """Return what kernels call: a C function that reads and writes their memory.

    An exception cannot pass through machine code: it waits for :func:`raising_after`, or, in
    code of numba's, goes where Python reports those that nobody can catch.
    """

    def enter(pointers: int, sizes: int) -> None:
        lengths = iter((ctypes.c_int64 * max(1, sum(ranks))).from_address(sizes))
        places = (ctypes.c_void_p * len(kinds)).from_address(pointers)
        *operands, out = (
            _memory(place, np.dtype(kind), tuple(itertools.islice(lengths, rank)))
            for place, kind, rank in zip(places, kinds, ranks, strict=True)
        )
        try:
            out[...] = call_back(token, out.shape, kinds[-1], ranks, *operands)
        except BaseException as error:
            out[...] = np.nan if out.dtype.kind == "f" else 0
            errors = getattr(_kept, "errors", None)
            if errors is None:
                raise
            errors.append(error)

    return SIGNATURE(enter)


def _memory(place: int | None, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """Return the array of a shape that lies at an address."""
    count = int(np.prod(shape, dtype=int)) * dtype.itemsize
    if not place or not count:
        return np.empty(shape, dtype)
    return np.frombuffer((ctypes.c_char * count).from_address(place), dtype).reshape(shape)


@contextlib.contextmanager
def raising_after() -> Iterator[None]:
    """Raise at the end of the block what callbacks of its machine code have raised first."""
    outer, _kept.errors = getattr(_kept, "errors", None), []
    try:
        yield
    finally:
        errors, _kept.errors = _kept.errors, outer
    if errors:
        raise errors[0]


def symbol_of(token: str, ranks: tuple[int, ...], kinds: tuple[str, ...]) -> str:
    """Return the name under which machine code calls a callback for arrays of these kinds."""
    arrays = ".".join(f"{kind[1:]}r{rank}" for kind, rank in zip(kinds, ranks, strict=True))
    return f"{CALLBACKS}{token}.{arrays}"


def _unknown(token: str) -> NoReturn:
    raise UnsupportedError(
        f"the derivative of {name_of(token)}, called by pure_callback, is unknown: give it "
        "one with sg.custom_jvp or sg.custom_vjp, or, if it solves an equation, with "
        "sg.implicit_root"
    )


def _no_rule(*_: Any, token: str, **__: Any) -> NoReturn:
    _unknown(token)


def _write(call: Call, token: str, shape: Any, dtype: str, ranks: tuple[int, ...]) -> None:
    kinds = tuple(x.str for x in call.dtypes)
    call.call_user(symbol_of(token, ranks, kinds), entry_of(token, ranks, kinds))


def _shape(*shapes: Any, shape: Any, ranks: Any, **_: Any) -> Any:
    return (*shapes[0][: len(shapes[0]) - ranks[0]], *shape)


def _source(*xs: Any, token: str, shape: Any, dtype: str, ranks: Any) -> str:
    given = (repr(token), spell(shape), repr(dtype), repr(ranks), *map(str, xs))
    return f"symgrad._core.ops.callback.call_back({', '.join(given)})"


def _fits(node: Any) -> str | None:
    (*ranks, own), operands = node.params["ranks"] or (-1,), node.operands
    if own != len(node.params["shape"]) or len(ranks) != len(operands):
        return f"the ranks {node.params['ranks']} are not those of its operands and its result"
    leads = [x.shape[: max(0, x.ndim - r)] for x, r in zip(operands, ranks, strict=True)]
    for x, r, lead in zip(operands, ranks, leads, strict=True):
        if len(lead) + r != x.ndim or not agree(lead, leads[0]):
            return f"an operand of shape {show(x.shape)} has another batch"
    return None


CALLBACK: ArrayOp = define(
    Routine("Callback",
        evaluate=lambda *xs, token, shape, dtype, ranks: call_back(token, shape, dtype, ranks, *xs),
        params={"token": TOKEN, "shape": SHAPE, "dtype": DTYPE, "ranks": several(COUNT)},
        types=lambda *dtypes, dtype, **_: np.dtype(dtype), shape=_shape,
        element=no_formula("a Python function that is not traced"),
        rule=Products(_no_rule, _no_rule), batch=batched_alike(lambda: CALLBACK), fits=_fits),
    Code(Written(_write, lambda ranks, **_: ranks), source=_source),
    Words("a Python function that is not traced; its derivative is for the user to give"),
)  # fmt: skip
