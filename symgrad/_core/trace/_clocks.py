"""What a function reads off a clock while it is traced: kept and printed, never computed with.

A trace's constants are the same in every call, and the time is not. So a clock gives *readings*
while a function is traced: numbers and dates like others, for arithmetic among themselves, text
and lists, that refuse to meet a traced value, to decide, and to be a result.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ...errors import OutsideError
from ..base.state import now
from ..graph import Where


class Reading:
    """What a clock says while a function is traced, and what is computed from that alone."""

    #: Where the clock was read.
    read_at: Where | None = None

    def leaf(self) -> Any:
        """Return it as an argument of a compiled function; refused in a trace."""
        return self.number() if now().guards is None else self._refuse()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        read = object.__getattribute__(self, "read_at")
        raise OutsideError(
            "the result depends on the time, which is read off a clock"
            f"{f' at {read}' if read else ''} while the function is traced, and would be the same "
            "in every call. Write instead: pass the time, or what is decided by it, as an "
            "argument; text of it, f'{t:.1f}', is not refused"
        )

    #: What tracing asks an operand for.
    node = weak = property(_refuse)
    __symgrad_bind__ = __array_ufunc__ = __array_function__ = _refuse

    def number(self) -> Any:
        """Return what it is outside of the trace: a number or a date."""
        make, given = self.__reduce_ex__(2)
        return make(*given)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return np.array(self.leaf(), *args, **kwargs)

    def __complex__(self) -> complex:
        return complex(self.leaf())

    def __reduce_ex__(self, protocol: Any) -> Any:
        kind: Any = type(self).__mro__[2]
        if issubclass(kind, (int, float)):
            return kind, (kind.__pos__(self),)
        return kind, kind.__reduce__(self)[1]

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name in ("node", "read_at", "number", "leaf") or name.startswith("_"):
            return found
        return reading(found, object.__getattribute__(self, "read_at"))


def reading(value: Any, where: Where | None) -> Any:
    """Return a value that a clock gave as a reading; text is what it is."""
    kind: Any = _KINDS.get(type(value))
    if kind is not None:
        exact = isinstance(value, (int, float))
        made = kind(value) if exact else kind(*value.__reduce__()[1])
        made.read_at = where
        return made
    if isinstance(value, bool):
        made = _KINDS[int](value)
        made.read_at = where
        made._refuse()
    if isinstance(value, tuple):  # time.struct_time
        return type(value)([reading(x, where) for x in value])
    if callable(value):
        return lambda *args, **kwargs: reading(value(*args, **kwargs), where)
    return value


_COMPUTING = ("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow")
_ARITHMETIC = [
    f"__{side}{name}__" for name in _COMPUTING for side in ("", "r")
] + ["__neg__", "__pos__", "__abs__", "__round__"]  # fmt: skip
_DECIDING = (
    "__bool__", "__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "__hash__", "__int__",
    "__index__", "__trunc__", "__floor__", "__ceil__", "__float__",
)  # fmt: skip


def _computing(original: Callable[..., Any]) -> Callable[..., Any]:
    def operate(self: Any, *others: Any) -> Any:
        return reading(original(self, *others), self.read_at)

    return operate


def _deciding(original: Callable[..., Any]) -> Callable[..., Any]:
    def decide(self: Any, *others: Any) -> Any:
        if now().guards is not None:
            self._refuse()
        return original(self, *others)

    return decide


def _kind(base: type) -> type:
    """Return the class of readings of a kind."""
    names = {k: _computing(getattr(base, k)) for k in _ARITHMETIC if hasattr(base, k)}
    names |= {k: _deciding(getattr(base, k)) for k in _DECIDING if hasattr(base, k)}
    return type(base.__name__, (Reading, base), {**names, "__module__": __name__})


_KINDS = {k: _kind(k) for k in (float, int, dt.datetime, dt.date, dt.time, dt.timedelta)}
