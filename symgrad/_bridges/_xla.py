"""The way from XLA to a NumPy function: a handler of its foreign function interface.

The structures are those of ``xla/ffi/api/c_api.h``, which jaxlib ships: a C interface, to whose
structures a new minor version only adds members at the end. The handler is Python's, reached by
ctypes: it reads where the arrays lie and runs the compiled function on them, which so sees the
present values of what it captures, and may trace and compile; a handler in machine code could not.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import re
import traceback
import weakref
from collections.abc import Callable, Sequence
from ctypes import POINTER, c_char, c_char_p, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

from ._flat import Kind

#: The name by which XLA finds the handler, and the attribute that says which function is meant.
TARGET, NUMBER = "symgrad", "number"
_STAGE_EXECUTE, _EXTENSION_METADATA, _ERROR_INTERNAL = 3, 1, 13  # the header's enumerations


def _structure(*members: tuple[str, Any], headed: bool = True) -> Any:
    """Return a structure of C; most begin with their size and a chain of extensions."""
    head = [("struct_size", c_size_t), ("extension", c_void_p)] if headed else []
    return type("Structure", (ctypes.Structure,), {"_fields_": [*head, *members]})


# Members that nothing here reads are left out at the end, where they change no other's place.
_BUFFER = _structure(("dtype", c_int), ("data", c_void_p))
_SCALAR = _structure(("dtype", c_int), ("value", POINTER(c_int64)), headed=False)
_ARRAYS = _structure(
    ("size", c_int64), ("types", c_void_p), ("items", POINTER(POINTER(_BUFFER)))
)  # fmt: skip
_ATTRIBUTES = _structure(
    ("size", c_int64), ("types", c_void_p), ("names", c_void_p),
    ("items", POINTER(POINTER(_SCALAR))),
)  # fmt: skip
_VERSION = _structure(("major", c_int), ("minor", c_int))
_METADATA = _structure(("struct_size", c_size_t), ("version", _VERSION), headed=False)
_EXTENSION = _structure(
    ("struct_size", c_size_t), ("type", c_int), ("next", c_void_p),
    ("metadata", POINTER(_METADATA)), headed=False,
)  # fmt: skip
_MESSAGE = _structure(("text", c_char_p), ("code", c_int))
_API = _structure(
    ("version", _VERSION), ("internal", c_void_p),
    ("error", ctypes.CFUNCTYPE(c_void_p, POINTER(_MESSAGE))),
)  # fmt: skip
_FRAME = _structure(
    ("api", POINTER(_API)), ("context", c_void_p), ("stage", c_int),
    ("arguments", _ARRAYS), ("results", _ARRAYS), ("attributes", _ATTRIBUTES),
)  # fmt: skip


class Entry:
    """A function that XLA may call, for as long as this object lives.

    Parameters
    ----------
    function:
        Takes arrays and returns arrays.
    arguments, results:
        Their kinds.
    """

    def __init__(
        self, function: Callable[..., Sequence[Any]], arguments: Sequence[Kind],
        results: Sequence[Kind],
    ) -> None:  # fmt: skip
        self.function = function
        self.arguments, self.results = list(map(_view, arguments)), list(map(_view, results))
        self.number = next(_NUMBERS)
        _ENTRIES[self.number] = self

    def __call__(self, frame: Any) -> None:
        """Compute the results into XLA's memory."""
        given = [
            view(buffer[0].data)
            for view, buffer in zip(self.arguments, _items(frame.arguments), strict=True)
        ]
        for array in given:
            array.flags.writeable = False  # it is XLA's
        found = self.function(*given)
        targets = zip(self.results, _items(frame.results), found, strict=True)
        for view, buffer, array in targets:
            np.copyto(view(buffer[0].data), array, casting="no")


def _items(arrays: Any) -> Any:
    return arrays.items[: arrays.size] if arrays.size else []


def _view(kind: Kind) -> Callable[[int], np.ndarray[Any, Any]]:
    """Return what makes an array of this kind at an address."""
    memory = c_char * (kind.dtype.itemsize * int(np.prod(kind.shape, dtype=int)))

    def view(address: int) -> np.ndarray[Any, Any]:
        if not ctypes.sizeof(memory):  # XLA has no address for it
            return np.empty(kind.shape, kind.dtype)
        return np.ndarray(kind.shape, kind.dtype, memory.from_address(address))

    return view


#: By numbers that another process, which loads a program of this one, does not have.
_ENTRIES: weakref.WeakValueDictionary[int, Entry] = weakref.WeakValueDictionary()
_NUMBERS = itertools.count(int.from_bytes(os.urandom(7), "little"))


def _handled(pointer: Any) -> int | None:
    """Answer a call of XLA's: None for good, or the address of an error."""
    frame = pointer[0]
    try:
        if frame.extension:
            extension = _EXTENSION.from_address(frame.extension)
            if extension.type == _EXTENSION_METADATA:
                version = extension.metadata[0].version
                version.major, version.minor = version_of_header() or (0, 0)
            return None
        if frame.stage == _STAGE_EXECUTE:
            entry = _ENTRIES.get(frame.attributes.items[0][0].value[0])
            if entry is None:
                raise RuntimeError("the program is of another process, or its function is gone")
            entry(frame)
    except BaseException:  # noqa: BLE001 - nothing above could catch it
        text = f"symgrad: {traceback.format_exc()}".encode()
        size = _MESSAGE.code.offset + ctypes.sizeof(c_int)
        error: int | None = frame.api[0].error(_MESSAGE(size, None, text, _ERROR_INTERNAL))
        return error
    return None


_HANDLER = ctypes.CFUNCTYPE(c_void_p, POINTER(_FRAME))(_handled)


@functools.cache
def version_of_header() -> tuple[int, int] | None:
    """Return the version of the interface that jaxlib's header has; None if it is not known."""
    import jax.ffi  # noqa: PLC0415 - an optional extra

    try:
        path = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h")
        text = path.read_text(encoding="utf-8")
    except (AttributeError, OSError, RuntimeError):
        return None
    found = dict(re.findall(r"#define XLA_FFI_API_(MAJOR|MINOR) (\d+)", text))
    return (int(found["MAJOR"]), int(found["MINOR"])) if len(found) == 2 else None


@functools.cache
def registered() -> bool:
    """Tell XLA of the handler, and tell whether it could be done.

    An interface of another major version has other structures; without a header it is not known
    which one it is, and a handler of the wrong version would keep JAX from starting.
    """
    version = version_of_header()
    if version is None or version[0] != 0:
        return False
    import jax.ffi  # noqa: PLC0415 - an optional extra

    address = ctypes.cast(_HANDLER, c_void_p)
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(address), platform="cpu")
    return True
