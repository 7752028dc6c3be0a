"""Arrays that the blocks of rewritten control flow assign to.

A block is traced on stand-ins for the variables around it. An array that it assigns to
(``a[i] = x``, ``a += x``, or in a function that it hands the array to) is one that others may
know too: the caller, for whom it is a result, or another name. So what was written to the
stand-in goes back into the array itself, once the loop or branch is made.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from .._core.base.state import now
from .._core.control import by_elements
from .._core.trace import COMPARED, REFLECTED, Complex, Traced, flatten, reads_of
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

_PLAIN = (
    "`if` or a loop on traced values assigns to a plain array, which may have other names. Write "
    "instead: make it with symgrad.numpy (sg.adapt(f) does), or assign to a copy"
)


def _alike(value: Any) -> list[Traced]:
    """Return the arrays that a value is, or sees, on some way."""
    return [y for x in arrays_of(value) for y in x.alike()]


def _is_plain(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0


def _same(a: Any, b: Any) -> bool:
    """Tell whether two plain arrays hold the same bytes, or objects."""
    return bool(a.tobytes() == b.tobytes())


class Shared:
    """What arrays that leave blocks share memory with, on the ways through these.

    ``w = y`` on one side of a branch makes ``w`` the array ``y`` on this way alone. What comes of
    the two sides is an array of its own; so once one of the two is assigned to, the other can no
    longer be used.
    """

    def __init__(self) -> None:
        self.found: list[tuple[list[list[Traced]], object]] = []
        self.plain: list[tuple[int, Any]] = []

    def note(self, values: Any, standing: Mapping[int, Any]) -> None:
        """Note what values of a block are; ``standing`` has what its variables stand for."""
        leaves = flatten(values)[0]
        for k, leaf in enumerate(leaves):
            plain = [leaf] * _is_plain(leaf) + [p for y in _alike(leaf) for p in y.plain]
            self.plain += [(k, standing.get(id(p), p)) for p in plain]
        noted = [[standing.get(id(y), y) for y in _alike(leaf)] for leaf in leaves]
        self.found.append((noted, now().scope))

    def bind(self, values: Any) -> None:
        """Bind what comes of the blocks to what it may be."""
        after = [arrays_of(leaf) for leaf in flatten(values)[0]]
        for k, plain in self.plain:
            for x in after[k]:
                x.watch(plain)
        for noted, scope in self.found:
            members: dict[int, list[Traced]] = {}
            for arrays, others in zip(after, noted, strict=True):
                for y in others:
                    # An array of the block's own has no other name than what comes of it.
                    first = [] if y.scope is scope else [y]
                    members.setdefault(id(y), first).extend(arrays)
            for alike in members.values():
                for one, other in itertools.combinations(alike, 2):
                    one.bind(other)


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
        self.shared = Shared()

    def carried_out(self, test: Any, yes: Callable[..., Any], no: Callable[..., Any]) -> Any:
        """Return what the side that is taken gives, as :func:`cond` does."""
        roots = {id(y): y for v in self.values for y in _alike(v) if y.lost is None}

        def side(run: Callable[..., Any]) -> Callable[[], Any]:
            def carried_out() -> Any:
                # Copies: an assignment to elements on one side is not one on the other. Names
                # and views of one array are so on each side, too.
                twins = {key: copy.copy(root) for key, root in roots.items()}
                for key, root in roots.items():
                    twins[key].bind_as(root, twins)
                copies = {id(v): _copied(v, twins) for v in self.values}
                found = by_elements(run(*(copies[id(v)] for v in self.values)))
                for v in self.values:
                    if isinstance(v, np.ndarray) and not _same(v, copies[id(v)]):
                        raise TraceError(_PLAIN)
                self.done.append(list(twins.values()))
                standing: dict[int, Any] = {id(twins[key]): x for key, x in roots.items()}
                standing |= {id(copies[id(v)]): v for v in self.values}
                self.shared.note(found, standing)
                return found, tuple(
                    root if twin.lost else twin
                    for root, twin in zip(roots.values(), twins.values(), strict=True)
                )

            carried_out.__name__ = "this side of `if`"
            return carried_out

        found, contents = cond(test, side(yes), side(no))
        for k, (root, content) in enumerate(zip(roots.values(), contents, strict=True)):
            lost = next((twins[k].lost for twins in self.done if twins[k].lost), None)
            if lost is not None:
                root.give_up(lost)
            elif any(twins[k].overwritten for twins in self.done):
                root[...] = content
        self.shared.bind(found)
        return found


def _copied(value: Any, twins: Mapping[int, Traced]) -> Any:
    """Return a value as it is among copies of the arrays that it is or sees."""
    arrays = arrays_of(value)
    if any(id(x.root) not in twins for x in arrays):
        return value  # it is lost, of which who reads it will hear
    parts = [x.seen_from(twins[id(x.root)]) for x in arrays]
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
        # Of the last step that was traced, by the variables that are arrays:
        self.own: dict[str, list[Traced]] = {}  # what it was given
        self.kept: set[str] = set()  # those that are the same array after it
        self.comes_of: dict[str, list[str]] = {}  # whose array each may be after it
        self.around: dict[str, list[Traced]] = {}  # which arrays from around the loop
        self.pairs: set[tuple[str, str]] = set()  # those that may be one array after some steps
        self.lost: dict[str, str] = {}  # what it may have written to by another name, and why
        self.may_stop = True  # before the first step
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
        self.own = {n: arrays_of(passed[n]) for n in self.start if arrays_of(passed[n])}
        with reads_of([*self.arrays(), *itertools.chain(*self.own.values())]) as seen:
            found = dict(zip(self.state, body(*passed.values()), strict=True))
        self.kept = {n for n in self.own if found[n] is passed[n]}
        self.around = {
            n: [y for y in _alike(found[n]) if y.scope is not now().scope] for n in self.own
        }
        for name in self.start:
            lost = next((x.lost for x in self.own.get(name, ()) if x.lost), None)
            if lost is not None:
                self.lost[name] = lost
            if name in self.own and passed[name].overwritten:
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
        self.check_steps(found, seen)
        return {n: found[n] for n in self.start}

    def holds(self, test: Callable[..., Any], carry: Mapping[str, Any]) -> Any:
        """Return whether the loop goes on."""
        with reads_of(self.arrays()) as seen:
            found = test(*self.full(carry))
        self.check_names(seen)
        return found

    def check_steps(self, found: Mapping[str, Any], seen: Mapping[int, Any]) -> None:
        """Raise if the next step would write into an array that another of its names is, too."""
        alike = {n: {id(y) for y in _alike(found[n])} for n in self.own}
        self.comes_of = {
            n: [p for p, xs in self.own.items() if any(id(x) in alike[n] for x in xs)]
            for n in self.own
        }
        before = {n: {id(y) for y in _alike(v)} for n, v in self.start.items()}
        self.pairs = {(n, m) for n, m in itertools.permutations(self.own, 2)
                      if alike[n] & alike[m] or before[n] & before[m]}  # fmt: skip
        more = self.pairs
        while more:  # names that have been given what two of one array were
            more = {(n, m) for n, m in itertools.permutations(self.own, 2) if any(
                    (p, q) in self.pairs for p in self.comes_of[n] for q in self.comes_of[m]
                    )} - self.pairs  # fmt: skip
            self.pairs |= more
        for name, other in self.pairs:
            written = any(x.overwritten or x.lost for x in self.own[name])
            if written and any(seen[id(x)] is not None or x.overwritten for x in self.own[other]):
                raise TraceError(
                    f"after a step of the loop {name!r} and {other!r} share memory, and the next "
                    f"one assigns to elements of {name!r}: from step to step that is not followed. "
                    "Write instead: .copy() of what is to stay as it was"
                )

    def bind(self, found: Mapping[str, Any]) -> None:
        """Bind what comes of the loop to what it may be."""
        made = {n: arrays_of(found[n]) for n in self.own if n not in self.kept | self.written}
        outside = {n: _alike(v) for n, v in self.start.items()}  # before any of it is bound
        for name, arrays in made.items():
            before = [name] * self.may_stop
            before += self.comes_of[name]
            for p in before:
                before += [q for q in self.comes_of[p] if q not in before]
            for x in arrays:
                for y in (*(y for p in before for y in outside[p]), *self.around[name]):
                    x.bind(y)
                for plain in (self.start[p] for p in before if _is_plain(self.start[p])):
                    x.watch(plain)
        for name, other in self.pairs:
            for x, y in itertools.product(made.get(name, ()), made.get(other, ())):
                x.bind(y)

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
        for name, complaint in self.lost.items():
            for x in arrays_of(self.state[name]):
                x.lose(complaint)
        for name in self.written:
            if isinstance(self.state[name], np.ndarray):
                raise TraceError(_PLAIN)
            if arrays_of(self.state[name]):
                self.state[name][...] = found[name]
        self.bind(found)
        for name in self.filled:  # others may know it
            after = found[name]
            self.state[name].clear()
            (self.state[name].update if isinstance(after, dict) else self.state[name].extend)(after)
        own = {n: self.state[n] for n in self.filled}
        own |= {n: self.state[n] for n in self.written | self.kept if arrays_of(self.state[n])}
        return tuple({**found, **self.through, **own}.get(n, UNSET) for n in self.state)
