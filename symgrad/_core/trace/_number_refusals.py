"""What a traced value refuses: to be a number, which it does not have."""

from __future__ import annotations

import dis
import sys
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from ...errors import TraceError
from ..base.broadcast import show
from ..base.providers import provided
from ..base.state import now
from ..graph import Input, called_by, own_rules, scipy_call
from ..op import needed, registry
from ._compiled_calls import compiled_caller, instead_of_compiled
from ._constants import known_number, known_value
from ._decisions import decided, decided_mask, undecided, unknown
from ._lists import ask
from ._text import example, shown_by_percent


def replaced(function: str | None) -> bool:
    """Tell whether symgrad has a function in place of one of SciPy's, by its full name.

    What SciPy's own code decides at one point (``if lmb == 0``) is no formula for derivatives.
    """
    if function is None:
        return False
    _, module, name, *_ = function.split(".")
    return bool(provided("replaced_in_scipy", module, name))


def _instead_of(function: str) -> str:
    """Return what to write for a function of SciPy's."""
    _, module, name, *_ = function.split(".")
    if module == "optimize":  # symgrad.scipy.optimize takes functions, not traced values
        return "sg.implicit_root or sg.implicit_minimum, which differentiate what a solver finds"
    found = getattr(sys.modules.get(f"scipy.{module}"), name, None)
    if replaced(function) or (found is not None and registry.find(found) is not None):
        return f"symgrad.{function}"
    why = provided("refused_in_scipy", module, name)
    if " traced" in why:
        return f"another one ({why}), or sg.pure_callback around it, which has no derivative"
    return "sg.pure_callback around it, which has no derivative, or its formula in NumPy"


_FLOAT = (
    "a Python float (`float(x)`, `math.sin(x)`)",
    "x itself, which is a number already; np.sin(x), np.exp(x), ... for functions of math",
)

#: What NumPy asks for, also where a traced array is assigned to a part of an array of numbers.
NUMBERS = "an array of numbers"

_FOR_INDEX = "symgrad.numpy.take(array, x) for array[x]"
_FOR_MASK = "np.where(mask, array, 0.0); how many elements array[mask] has depends on values"
_FOR_WRITE = (
    "for array[:] = x an array that is made within the function (symgrad.numpy.zeros_like(array)); "
    "for a field of a structured array an array for each field"
)


def _subscript(frame: FrameType) -> str:
    """Return how the code that runs in a frame takes ("LOAD") or writes elements; else nothing."""
    name = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    if name.startswith("STORE_"):
        return "STORE"
    return "LOAD" if name.startswith("BINARY_") and name != "BINARY_OP" else ""


def _instead_of_numbers(doing: str, dtype: np.dtype[Any]) -> str:
    """Return what to write where NumPy wants numbers."""
    if doing == "LOAD":
        return _FOR_MASK if dtype.kind == "b" else _FOR_INDEX
    if doing == "STORE":
        return _FOR_WRITE
    return (
        "x.astype(np.float64) for np.float64(x), np.stack([x, y]) for np.array([x, y]), "
        f"{_FOR_INDEX}, and {_FOR_WRITE}"
    )


SPARSE = "scipy.sparse._"  # how the names of its modules begin


class Numberless:
    """What of a traced value needs a number: refused, with what to write instead.

    Where the number is known whatever the arguments, or may be decided on, it is given.
    """

    __slots__ = ()
    node: Any
    dtype: Any

    def _leaked(
        self, wanted: str, instead: str, *, of_one: bool = False, decides: bool = False
    ) -> NoReturn:
        """Refuse; ``of_one``: what NumPy refuses, too, of an array that has not one element."""
        made = f", made at {self.node.where}" if self.node.where else ""
        name = "a traced value"
        if isinstance(self.node, Input):
            name = f"the traced argument {self.node.name}"
        function = scipy_call()
        if function is not None:
            wanted = f"{function}: {wanted}"
            instead = _instead_of(function)
        elif (title := compiled_caller()) is not None:
            wanted = f"{title}, which is compiled: {wanted}"
            instead = instead_of_compiled(title)
        elif called_by("statistics"):
            instead = "np.mean, np.median, np.std or np.var of an array"
        if now().guards is None:
            instead = "return what is wanted of it"
        error = TraceError(
            f"{wanted} was asked of {name} (shape {show(self.node.shape)}{made}), "
            f"{unknown(self.node)}. Write instead: {instead}"
        )
        single = all(d == 1 for d in self.node.shape)
        if single or not of_one:
            needed(self.node)
        else:  # NumPy raises, too
            error.refuses = False
        error.undecided = decides and single and undecided(self.node)
        raise error

    def __bool__(self) -> bool:
        known = known_number(self.node)
        if self.node.shape:
            ask(self.node)
        if known is None and sys._getframe(1).f_code.co_name == "f_raise":
            # SciPy asks whether it is nan, and hands it to C code that goes on past an exception.
            self._leaked(*_FLOAT, of_one=True)
        if known is None and not replaced(scipy_call()):
            known = decided(one_of(self).node, bool)
        if known is not None:
            return bool(known)
        self._leaked(
            "a truth value (`if`, `while`, `and`, `or`, `not`, `in`)",
            "np.where(condition, a, b), sg.cond(condition, f, g), or let compile(f, "
            "control_flow=True) rewrite the function; np.logical_and(a, b) or `&` for `and`",
            of_one=True,
            decides=True,
        )

    def __float__(self) -> float:
        known = known_number(self.node)
        if known is not None:
            return float(known)
        if self.dtype.kind != "f":  # no derivative is lost
            decision = decided(self.node, int)
            if decision is not None:
                return float(decision)
        if shown_by_percent():
            shown = example(self.node)
            return np.nan if shown is None else float(shown)
        self._leaked(*_FLOAT, of_one=True)

    def __int__(self) -> int:
        known = known_number(self.node)
        if known is None:
            known = decided(self.node, int)
        if known is not None:
            return int(known)
        instead = "np.floor(x), np.rint(x), or x.astype(int)"
        if self.dtype.kind in "iu":
            instead = "x itself, which is whole already, also as an index of an array"
        self._leaked("a Python int (`int(x)`)", instead, of_one=True)

    __trunc__ = __int__

    def __round__(self, ndigits: int | None = None) -> Any:
        known = known_number(self.node) if ndigits is None else None
        # Of sizes it is an index, perhaps.
        return super().__round__(ndigits) if known is None else round(float(known))  # type: ignore[misc]

    def __index__(self) -> int:
        whole = self.dtype.kind in "iu" or getattr(self, "weak", None) is bool
        known = known_number(self.node) if whole else None
        if known is None and whole:
            known = decided(self.node, int)
        if known is not None:
            return int(known)
        self._leaked(
            "an index (`range(x)`, `list[x]`)",
            "np.take(array, x) with symgrad.numpy as np, or pass an int",
            of_one=True,
            decides=True,
        )

    def __complex__(self) -> complex:
        self._leaked("a Python complex", "real arithmetic", of_one=True)

    def __hash__(self) -> int:
        if self.node.shape:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        if (known := known_value(self.node)) is not None:
            return hash(np.asarray(known).item())
        if getattr(self, "weak", None) is bool:
            return hash(bool(self))
        if self.dtype.kind in "iu" and (number := decided(self.node, int)) is not None:
            return hash(number)
        self._leaked(
            "a hash (a key of a dictionary, an element of a set)",
            "int(x) where it is whole, another key, or np.select for a choice by the value",
        )

    def item(self, *place: Any) -> Any:
        """Return the number, if it is known; else the one element as a number of the trace.

        A whole number and a truth value are those of the example, as by ``int`` and ``bool``.
        ``place`` is that of one element, as for NumPy's method.
        """
        if place and self.node.shape:
            one: Any = self
            place = place[0] if isinstance(place[0], tuple) else place
            flat = len(place) == 1 and len(self.node.shape) > 1
            return (one.reshape(-1)[place] if flat else one[place]).item()
        if (known := known_value(self.node)) is not None:
            return np.asarray(known).item()
        if all(d == 1 for d in self.node.shape):
            x: Any = self
            number = x.reshape(())
            if self.dtype.kind == "f":
                return type(x)(number.astype(np.float64).node, float)
            kind = bool if self.dtype.kind == "b" else int
            if (found := decided(number.node, kind)) is not None:
                return kind(found)
        self._leaked("a number (`x.item()`)", "the value itself")

    def tolist(self) -> Any:
        """Return the numbers, if they are known; else nested lists of numbers of the trace."""
        if (known := known_value(self.node)) is not None:
            return np.asarray(known).tolist()
        if not self.node.shape:
            return self.item()
        array: Any = self
        return [part.tolist() for part in array]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if (known := known_value(self.node)) is not None:
            if not copy and np.ndim(known):
                self.root.shown = True  # type: ignore[attr-defined]
            numbers = np.array(known, dtype)
            if not copy:
                numbers.flags.writeable = False  # what is written to them would be lost
            return numbers
        asks = str(sys._getframe(1).f_globals.get("__name__"))
        if asks.startswith(SPARSE):
            return whole(self)
        if asks.startswith("numpy.ma."):
            raise TraceError(own_rules(np.ma.MaskedArray))
        if called_by("pandas"):
            self._leaked(
                "numbers for a column of a table",
                "x beside the table, and NumPy's functions of x and table['name'].to_numpy(); "
                "sums by groups are np.bincount(groups, weights=x)",
            )
        doing = _subscript(sys._getframe(1))
        if doing and self.dtype.kind == "b" and scipy_call() is None:
            mask = decided_mask(self)  # which elements of a plain array are meant
            if mask is not None:
                return mask
        self._leaked(NUMBERS, _instead_of_numbers(doing, self.dtype))

    def __reduce__(self) -> Any:
        if sys._getframe(1).f_globals.get("__name__") == "copy":
            return "itself"  # any text: a number of Python's is its own copy
        self._leaked("pickling", "pickle the compiled function instead")


def one_of(value: Any) -> Any:
    """Return the element of a traced array that has one, which is its truth value; else the value.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.jacobian(lambda x: x**2 if x > 1 else x)(np.array([3.0]))
    array([[6.]])
    """
    shape = value.node.shape
    return value[(0,) * len(shape)] if shape and all(n == 1 for n in shape) else value


def whole(value: Any) -> Any:
    """Return an array of one object: a sparse matrix leaves the product to what becomes one."""
    found = np.empty((), object)
    found[()] = value
    return found
