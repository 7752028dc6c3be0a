"""Arrays that the blocks of rewritten control flow assign to.

A block is traced on stand-ins for the variables around it. An array that it assigns to
(``a[i] = x``, ``a += x``, or in a function that it hands the array to) is one that others may
know too: the caller, for whom it is a result, or another name. So what was written to the
stand-in goes back into the array itself, once the loop or branch is made.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from .._trace import Complex, Traced, reads_of
from .._trace._arrays import COMPARED, REFLECTED
from ..errors import TraceError
from ._control import cond


class _Unset:
    """The value of a variable that has none."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TraceError(
            "a variable is used that has no value on all ways through `if` and loops on traced "
            "values: give it one before"
        )

    def __copy__(self) -> _Unset:
        return self

    def __repr__(self) -> str:
        return "a variable without a value"

    __array_ufunc__ = __array_function__ = __array__ = _refuse
    __setitem__ = __delitem__ = __contains__ = __float__ = __int__ = __index__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by Python and its tools, not by the function
            raise AttributeError(name)
        self._refuse()

    __getitem__ = __call__ = __iter__ = __bool__ = __neg__ = __abs__ = _refuse


for _name in (*REFLECTED, *COMPARED):
    for _form in (_name, f"r{_name}"):
        setattr(_Unset, f"__{_form}__", _Unset._refuse)
UNSET = _Unset()


def arrays_of(value: Any) -> list[Traced]:
    """Return the traced arrays, which can be assigned to, of a value: two if it is complex."""
    if isinstance(value, Complex) and (value.ndim or value.boxed):
        return [value.real, value.imag]
    return [value] if isinstance(value, Traced) and (value.ndim or value.boxed) else []


#: What else may be changed on one side of a branch, and is not to be on the other.
COPIED = (Traced, Complex, np.ndarray, list, dict, set)


class Sides:
    """The two sides of a branch on the same variables.

    Parameters
    ----------
    values:
        What the variables are before the branch.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values
        self.done: list[list[Traced]] = []

    def carried_out(self, test: Any, yes: Callable[..., Any], no: Callable[..., Any]) -> Any:
        """Return what the side that is taken gives, as :func:`cond` does."""
        roots = {id(x.root): x.root for v in self.values for x in arrays_of(v)}

        def side(run: Callable[..., Any]) -> Callable[[], Any]:
            def carried_out() -> Any:
                # Copies: an assignment to elements on one side is not one on the other. Names
                # and views of one array are so on each side, too.
                twins = {key: copy.copy(root) for key, root in roots.items()}
                copies = {id(v): _copied(v, twins) for v in self.values}
                found = run(*(copies[id(v)] for v in self.values))
                self.done.append(list(twins.values()))
                return found, tuple(twins.values())

            carried_out.__name__ = "this side of `if`"
            return carried_out

        found, contents = cond(test, side(yes), side(no))
        for k, (root, content) in enumerate(zip(roots.values(), contents, strict=True)):
            if any(twins[k].overwritten for twins in self.done):
                root[...] = content
        return found


def _copied(value: Any, twins: Mapping[int, Traced]) -> Any:
    """Return a value as it is among copies of the arrays that it is or sees."""
    parts = [x.seen_from(twins[id(x.root)]) for x in arrays_of(value)]
    if not parts:
        return copy.copy(value) if isinstance(value, COPIED) else value
    return Complex(*parts) if len(parts) == 2 else parts[0]


class Carried:
    """The variables that a loop carries: those that have a value before it.

    Parameters
    ----------
    state:
        All variables of the loop's block, by name.
    lent:
        Those that it only hands to functions: of these, arrays are carried.
    """

    def __init__(self, state: Mapping[str, Any], lent: Collection[str]) -> None:
        self.state = state
        self.start = {
            n: v for n, v in state.items() if v is not UNSET and (n not in lent or arrays_of(v))
        }
        self.through = {n: v for n, v in state.items() if n in lent and n not in self.start}
        arrays = [v for v in self.start.values() if arrays_of(v)]
        if len(set(map(id, arrays))) < len(arrays):
            raise TraceError(
                f"two of the variables {', '.join(self.start)} are one array, and a step of the "
                "loop assigns to it or to one of them: use one name, or x.copy()"
            )
        self.written: set[str] = set()
        self.filled: set[str] = set()  # lists and dictionaries that are the same one after a step

    def arrays(self) -> list[Traced]:
        """Return the arrays that the loop carries, as they are before it."""
        return [x for v in self.start.values() for x in arrays_of(v)]

    def full(self, carry: Mapping[str, Any]) -> list[Any]:
        """Return a value for each variable."""
        return [carry.get(n, self.through.get(n, UNSET)) for n in self.state]

    def step(self, body: Callable[..., Any], carry: Mapping[str, Any]) -> dict[str, Any]:
        """Run the body; variables of its own stay in it."""
        passed = dict(zip(self.state, self.full(carry), strict=True))
        with reads_of(self.arrays()) as seen:
            found = dict(zip(self.state, body(*passed.values()), strict=True))
        for name in self.start:
            if arrays_of(passed[name]) and passed[name].overwritten:
                if found[name] is not passed[name]:
                    raise TraceError(
                        f"a step of the loop assigns to elements of {name!r}, and gives the "
                        "name another array too: whether others see what is written would "
                        "differ between the steps. Give the copy another name"
                    )
                self.written.add(name)
            if isinstance(passed[name], (list, dict)) and found[name] is passed[name]:
                self.filled.add(name)
        self.check_names(seen)
        return {n: found[n] for n in self.start}

    def holds(self, test: Callable[..., Any], carry: Mapping[str, Any]) -> Any:
        """Return whether the loop goes on."""
        with reads_of(self.arrays()) as seen:
            found = test(*self.full(carry))
        self.check_names(seen)
        return found

    def check_names(self, seen: Mapping[int, Any]) -> None:
        """Raise if a step reads what it assigns to by a name that does not follow the steps."""
        for name in self.written:
            roots = {id(x.root) for x in arrays_of(self.start[name])}
            where = next((seen[r] for r in roots if seen[r] is not None), None)
            others = [n for n, v in self.start.items()
                      if n != name and any(id(x.root) in roots for x in arrays_of(v))]  # fmt: skip
            if where is not None or others:
                view = f"another name of the array, or a view taken before the loop ({where})"
                other = f"{others[0]!r}, which shares its memory" if others else view
                raise TraceError(
                    f"a step of the loop assigns to elements of {name!r}, and uses {other}: from "
                    f"step to step that is not followed. Write instead: {name!r} and its "
                    "indices throughout the loop, or .copy() of what is to stay as it was"
                )

    def after(self, found: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the variables' values after the loop."""
        for name in self.written:
            if arrays_of(self.state[name]):
                self.state[name][...] = found[name]
        for name in self.filled:  # others may know it
            after = found[name]
            self.state[name].clear()
            (self.state[name].update if isinstance(after, dict) else self.state[name].extend)(after)
        own = {n: self.state[n] for n in self.filled}
        own |= {n: self.state[n] for n in self.written if arrays_of(self.state[n])}
        return tuple({**found, **self.through, **own}.get(n, UNSET) for n in self.state)
