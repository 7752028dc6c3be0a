"""Compiled functions as C functions of this process: for what calls through a pointer."""

from __future__ import annotations

import ctypes
from typing import Any, NoReturn

from .._core.base.fork_safety import cached_property
from .._core.codegen.cache import cached_object
from .._core.codegen.code import Code, bind_all, load_object
from .._core.codegen.llvm import full_object
from .._core.runtime.interface import memory_type
from .._export import Signature, callback_type, entry_text
from ..errors import UnsupportedError
from ._specialization import Specialization

_TYPES = {
    "double": ctypes.c_double, "float": ctypes.c_float, "bool": ctypes.c_bool,
    "void *": ctypes.c_void_p, "void": None, "int": ctypes.c_int, "size_t": ctypes.c_size_t,
    "ptrdiff_t": ctypes.c_ssize_t, "intptr_t": ctypes.c_ssize_t,
    **{f"{u}int{8 * n}_t": getattr(ctypes, f"c_{u}int{8 * n}") for u in ("", "u")
       for n in (1, 2, 4, 8)},
}  # fmt: skip


class CFunction:
    """A compiled function that C calls by its address, made by :meth:`Function.cfunc`.

    Nothing of Python runs in it, it may be called by any thread, and takes one itself. What the
    function read besides its arguments has the values that it had when this was made. The code
    lives as long as this object, :attr:`ctypes` or :attr:`low_level_callable`.

    Attributes
    ----------
    address:
        The address of the function.
    signature:
        Its type, such as ``int (ptrdiff_t, const double *, double *)``.
    declaration:
        How C declares it, with the names of its parameters, below a comment on them.
    ctypes:
        The function for :mod:`ctypes`, which Python can call.
    """

    def __init__(self, own: Signature, kind: str | None, text: str, keep: list[Any]) -> None:
        self.signature = kind or own.types
        self.declaration = (
            f"{own.comment()}\n{own.prototype('')};" if kind is None
            else f"{kind.replace(' (', f' {own.name}(', 1)};"
        )  # fmt: skip
        engine = load_object(cached_object(text, full_object))
        self.address: int = engine.get_function_address(own.name)
        result, _, rest = self.signature.removesuffix(")").partition(" (")
        types = [] if rest == "void" else rest.split(", ")
        made: Any = ctypes.CFUNCTYPE(_TYPES[result], *map(_ctypes, types))(self.address)
        made.keeps = [engine, *keep]
        self.ctypes = made

    @cached_property
    def low_level_callable(self) -> Any:
        """The function for SciPy: a :class:`scipy.LowLevelCallable`."""
        from scipy import LowLevelCallable  # noqa: PLC0415 - a tenth of a second

        return LowLevelCallable(self.ctypes)

    def __repr__(self) -> str:
        return f"<symgrad C function {self.signature}, of what it read when it was made>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a C function is an address in its process: send the compiled function, and ask it "
            "for its cfunc there"
        )


def _ctypes(kind: str) -> Any:
    name = kind.removeprefix("const ")
    if name.endswith(" *") and name not in _TYPES:
        return ctypes.POINTER(_TYPES[name.removesuffix(" *")])
    return _TYPES[name]


def make_c_function(found: Specialization, name: str, title: str, kind: str | None) -> CFunction:
    """Return a specialisation as a C function of its own type, or of a callback's."""
    if found.calls_back:
        raise UnsupportedError(f"{title} calls a Python function, which a C function cannot")
    signature = Signature(found.program, name, title, compiled=True)
    function = found.function  # loads what the code calls
    assert found.entry is not None
    code = found.entry.code
    text = "\n".join([inside(code), entry_text(signature, code, kind)])
    return CFunction(signature, kind, text, [function, *bind_all(code)])


def inside(code: Code) -> str:
    """Return a program's functions for the module that calls them: as text where that is short."""
    if code.assembly is None:
        values = ["ptr" if x.ndim else memory_type(x.dtype) for x in code.inputs]
        results = ["ptr" for x in code.outputs if x.ndim]
        run = [*values, *["i64"] * code.sizes, *results, "ptr", "i64"]
        return (
            f"declare i32 @{code.name}.sizes(...)\ndeclare i32 @{code.name}.run({', '.join(run)})"
        )
    text = code.assembly()
    for part in ("sizes", "run"):
        own = f"i32 @{code.name}.{part}("
        text = text.replace(f"define {own}", f"define internal {own}")
    return text


__all__ = ["CFunction", "callback_type", "make_c_function"]
