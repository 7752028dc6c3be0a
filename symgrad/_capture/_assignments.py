"""What a function assigns outside of it, as results of its program that are written back.

In plain Python a call may leave something behind: a running mean in an attribute, an entry of a
dictionary, one more item of a list, other numbers in an array. A trace is undone in the user's
objects, and what it has changed there is kept as *assignments*: for each changed part of an object
the expression of the object, and how its new value is made of the program's outputs. They are made
after each call.

Objects are found again by the expressions by which they were read, since another one may be there
by then. All that is needed is computed before the first of them is changed.
"""

from __future__ import annotations

import dis
import functools
import operator
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from .._core.base.sizes import Size
from .._core.graph import Input, Where, topological
from .._core.op import Op
from .._core.trace import Reading, Traced, Tree, as_node, flatten_traced, substitute
from ..errors import TraceError
from ._comparison import evaluator
from ._effects import DEPTH, Again, Effects, Holder, Parts, own_attributes, values_of_trace
from ._locations import Walk
from ._stand_ins import StandIn, log_of
from ._user_code import attributes, copied_simply, set_attributes, set_memory

#: How deep a value that is written back may be nested.
DEEPEST = 16

#: What is the same object in each call.
_CONSTANT = (
    bool, int, float, complex, str, bytes, type(None), type(Ellipsis), slice, range, type,
    ModuleType, BuiltinFunctionType, np.generic, np.dtype, np.ufunc, Op,
)  # fmt: skip

#: In the place of the old value of a part that was not there.
_ABSENT = object()


class SharedError(TraceError):
    """An array that is written to shares memory with another; no other way of tracing helps."""


class NotWrittenError(Exception):
    """What cannot be written back, and why."""


class Made(NamedTuple):
    """What values are made of: a call's outputs, and what is at places before it is written to."""

    outputs: Sequence[Any]
    here: Sequence[Any]
    known: dict[int, Any]


#: Makes a value.
Make = Callable[[Made], Any]


class Assignment(NamedTuple):
    """How parts of one object change.

    Attributes
    ----------
    owner:
        Which of the places holds it.
    sort:
        Of its parts, as in Holder; "array" for the numbers of an array.
    put:
        Keys with what makes the new values.
    gone:
        Keys that are there no more.
    added:
        New items at the end, or elements of a set.
    whole:
        Instead: all items, each an index of an old one or what makes it.
    """

    owner: int
    sort: str
    put: tuple[tuple[Any, Make], ...] = ()
    gone: tuple[Any, ...] = ()
    added: tuple[Make, ...] = ()
    whole: tuple[Any, ...] | None = None


class Assignments:
    """What a call of a program writes back.

    Attributes
    ----------
    values:
        The traced values, which are to be outputs.
    names:
        What is changed, as a user would call it.
    dropped:
        What cannot be written back: its name, the line, why not.
    """

    def __init__(
        self, walk: Walk, effects: Effects, data: Mapping[str, Any],
        stand_ins: Mapping[str, StandIn], inputs: Sequence[Any],
        opened: Sequence[Mapping[Any, Any]], back: Callable[[Any], Any],
    ) -> None:  # fmt: skip
        self._walk, self._effects, self._back = walk, effects, back
        self._opened = opened
        self._inputs = {x for x in topological(list(inputs)) if isinstance(x, Input)}
        self.values: list[Any] = []
        self.names: list[str] = []
        self.dropped: list[tuple[str, Where | None, str]] = []
        #: Places that were changed, as expressions, with what was there.
        self.changed: dict[str, Any] = {}
        #: Attributes that were not there: the object's place, and the name.
        self.made: set[tuple[str, str]] = set()
        #: What keeps, of this trace, the time that a clock has said, and the places of that.
        self.timed: list[Callable[[], None]] = []
        self.of_clocks: set[str] = set()
        self._places: dict[str, int] = {}
        self._outputs: dict[int, int] = {}
        self._makers: dict[int, Make] = {}
        self._steps: list[Assignment] = []
        # Objects by which a value is found again: what is read, and what stands for it.
        reads = walk.reads.values()
        self._here = {id(x): text for text, x in (*walk.set_aside.items(), *stand_ins.items())}
        self._here |= {id(r.value): r.text for r in reads if isinstance(r.value, np.ndarray)}
        self._here |= {id(x): text for text, x in data.items()}
        written = {text: x for text, x in data.items() if getattr(x, "overwritten", False)}
        self._by_array = {id(r.value): r for r in reads}
        #: Written arrays, and others that are read, which are not to lie in the same memory: a
        #: trace has a value of its own for each.
        self._apart: list[tuple[int, int]] = []
        self._names_apart: dict[int, str] = {}
        others = [r for r in reads if isinstance(r.value, np.ndarray)] if written else []
        for text in written:
            for other in others:
                if other.text != text:
                    pair = self._place(text), self._place(other.text)
                    self._apart.append(pair)
                    names = walk.reads[text].name, other.name
                    self._names_apart.update(zip(pair, names, strict=True))
        self._check_apart({self._place(r.text): r.value for r in others})
        for text, x in written.items():
            self.changed[text] = walk.reads[text].value
            self._array(text, x)
        for array in effects.written():
            read = self._by_array[id(array)]
            self.changed[read.text] = array
            if effects.is_inside(array, None):
                self._drop(read.name, read.name.rpartition(".")[2], array, _OFTEN)
            else:
                self._array(read.text, array.copy())
        for holder, before, after in effects.changes():
            self._holder(holder, before, after)
        for text, x in stand_ins.items():
            self._additions(text, x)
        self._look = evaluator(walk, list(self._places))
        # It lives as long as the program, and the objects of this call are not to.
        del self._walk, self._effects, self._back, self._makers, self._here, self._by_array
        del self._opened, self._inputs, self._outputs, self._places

    def __bool__(self) -> bool:
        return bool(self._steps)

    def write(self, outputs: Sequence[Any]) -> None:
        """Write back what a call has computed: ``outputs`` are the values, in order."""
        made = Made(outputs, self._look(), {})
        self._check_apart(made.here)
        ready = [_prepared(step, made) for step in self._steps]
        for action in ready:
            action()

    def _check_apart(self, arrays: Any) -> None:
        """Refuse arrays that share memory with one that is written to."""
        for k, j in self._apart:
            one, other = arrays[k], arrays[j]
            if np.may_share_memory(one, other) and np.shares_memory(one, other):
                name, again = self._names_apart[k], self._names_apart[j]
                raise SharedError(
                    f"the function writes to {name}, which shares memory with {again}, and reads "
                    "both: a program has each by itself. Write instead: use one of the two names "
                    "in the function, or make one of them a copy"
                )

    # ---------------------------------------------------------------- what has changed

    def _array(self, text: str, numbers: Any) -> None:
        """Enter the numbers that an array holds now."""
        name, count = self._walk.reads[text].name, len(self.values)
        name = f"self{name}" if name.startswith(".") else name
        try:
            if isinstance(numbers, Traced):
                make = self._output(numbers)
            elif isinstance(numbers, np.ndarray):
                make = self._constant(numbers)
            else:
                make = self._nested(numbers, 0)
            self._steps.append(Assignment(self._place(text), "array", put=((None, make),)))
            self.names.append(name)
        except NotWrittenError as error:
            del self.values[count:]
            self._drop(name, name.rpartition(".")[2], numbers, str(error))

    def _holder(self, holder: Holder, before: Parts, after: Parts) -> None:
        """Enter the parts of an object that are others now."""
        owner, sort = holder.owner, holder.sort
        text, name = self._walk.texts.get(id(owner), ("", ""))
        if text and (name.startswith(".") or (not name and sort == "attributes")):
            name = f"self{name}"
        if not text or isinstance(owner, type):  # one place, whatever the class is reached by
            text = self._walk.constant(owner)
            name = getattr(owner, "__name__", "") if sort != "entries" else ""
        if sort == "items":
            olds, items = ([x for _, x in parts] for parts in (before, after))
            step = (self._elements if isinstance(owner, set) else self._items)(
                owner, text, name, olds, items
            )
        else:
            step = self._keyed(holder, text, name, dict(before), dict(after))
        if step.put or step.gone or step.added or step.whole is not None:
            self._steps.append(step._replace(owner=self._place(text)))

    def _elements(
        self, owner: Any, text: str, name: str, olds: Sequence[Any], items: Sequence[Any]
    ) -> Assignment:
        """Return how a set changes."""
        before, after = set(map(id, olds)), set(map(id, items))
        added = self._all(name, [x for x in items if id(x) not in before], text, owner)
        gone = tuple(x for x in olds if id(x) not in after)
        return Assignment(0, "items", gone=gone, added=added or ())

    def _items(
        self, owner: Any, text: str, name: str, olds: Sequence[Any], items: Sequence[Any]
    ) -> Assignment:
        """Return how a list or a queue changes: some items, more of them, or all."""
        if len(items) == len(olds) and not isinstance(owner, deque):
            put: list[tuple[Any, Make]] = []
            for k, (old, x) in enumerate(zip(olds, items, strict=True)):
                if old is not x:
                    self._part(put, name, owner, text, "items", k, x, old)
            return Assignment(0, "items", put=tuple(put))
        grown = len(items) >= len(olds) and all(map(operator.is_, olds, items))
        if grown and getattr(owner, "maxlen", None) is None:
            return Assignment(
                0, "items", added=self._all(name, items[len(olds) :], text, owner) or ()
            )
        self.changed[text] = owner
        where = {id(x): k for k, x in enumerate(olds)}
        found = self._all(name, [x for x in items if id(x) not in where], text, owner)
        if found is None:
            return Assignment(0, "items")
        rest = iter(found)
        whole = tuple(where[id(x)] if id(x) in where else next(rest) for x in items)
        return Assignment(0, "items", whole=whole)

    def _keyed(
        self, holder: Holder, text: str, name: str, old: dict[Any, Any], new: dict[Any, Any]
    ) -> Assignment:
        """Return how attributes, entries, names or a cell change."""
        owner, sort = holder.owner, holder.sort
        put: list[tuple[Any, Make]] = []
        gone = [k for k in old if k not in new]
        kept = [k for k in old if k in new]
        for k in gone:
            inner = text if sort == "entries" else self._text(text, owner, sort, k)
            self.changed[inner] = owner
        moved = sort == "entries" and holder.grows and [*new][: len(kept)] != kept
        for k, x in new.items():
            if k not in old or not _is_same(old[k], x):
                self._part(put, name, owner, text, sort, k, x, old.get(k, _ABSENT))
            elif moved:
                put.append((k, self._make_here(self._text(text, owner, sort, k))))
        return Assignment(0, sort, put=tuple(put), gone=tuple(old if moved else gone))

    def _part(
        self, put: list[tuple[Any, Make]], name: str, owner: Any, text: str, sort: str, key: Any,
        value: Any, old: Any,
    ) -> None:  # fmt: skip
        """Enter a part of an object that is another one now."""
        value = value.value if type(value) is Again else value
        inner = self._text(text, owner, sort, key)
        called = _called(name, sort, key)
        if isinstance(value, Reading):
            step = Assignment(0, sort, put=((key, lambda _: value.number()),))
            self._keep_time(inner, owner, step)
            return
        if old is _ABSENT and sort in ("attributes", "names"):
            self.made.add((text, key))
        if old is _ABSENT and sort == "entries" and id(owner) in self._walk.texts:
            self.changed[text] = owner
        self.changed[inner] = None if old is _ABSENT else old
        if self._effects.is_inside(owner, key if sort != "items" else None):
            self._drop(called, key, value, _OFTEN)
            return
        count = len(self.values)
        try:
            if any(True for _ in values_of_trace([key], DEPTH)):
                raise NotWrittenError("its key is a value of the trace")
            put.append((key, self._make(value, 0)))
            self.names.append(called)
        except NotWrittenError as error:
            del self.values[count:]
            self._drop(called, key, value, str(error))

    def _all(
        self, name: str, items: Sequence[Any], text: str, owner: Any
    ) -> tuple[Make, ...] | None:
        """Return what makes items; None if they cannot be."""
        count = len(self.values)
        if items and all(isinstance(x, Reading) for x in items):
            numbers = tuple(functools.partial(lambda x, _: x, x.number()) for x in items)
            self._keep_time(text, owner, Assignment(0, "items", added=numbers))
            return None
        self.changed.setdefault(text, owner)
        try:
            if self._effects.is_inside(owner, None):
                raise NotWrittenError(_OFTEN)
            found = tuple(self._make(x, 0) for x in items)
            self.names.append(name)
        except NotWrittenError as error:
            del self.values[count:]
            self._drop(name, name.rpartition(".")[2], items, str(error))
            return None
        return found

    def _keep_time(self, text: str, owner: Any, step: Assignment) -> None:
        """Have the time of this trace assigned, once its effects are undone."""
        self.of_clocks.add(text)
        self.timed.append(_prepared(step, Made((), (owner,), {})))

    def _additions(self, text: str, stand_in: StandIn) -> None:
        """Enter what was added to what a stand-in stands for."""
        log = log_of(stand_in)
        if not log.added:
            return
        name = self._walk.texts.get(id(self._walk.set_aside[text]), ("", text))[1]
        name = f"self{name}" if name.startswith(".") else name
        self.changed[text] = self._walk.set_aside[text]
        container = self._walk.set_aside[text]
        count = len(self.values)
        try:
            if log.inside:
                raise NotWrittenError(_OFTEN)
            if isinstance(container, dict):
                if any(True for k, _ in log.added for _ in values_of_trace([k], DEPTH)):
                    raise NotWrittenError("its key is a value of the trace")
                put = tuple((k, self._make(x, 0)) for k, x in log.added)
                step = Assignment(self._place(text), "entries", put=put)
            else:
                added = tuple(self._make(x, 0) for x in log.added)
                step = Assignment(self._place(text), "items", added=added)
            self._steps.append(step)
            self.names.append(name)
        except NotWrittenError as error:
            del self.values[count:]
            self._drop(name, name.rpartition(".")[2], log.added, str(error))

    def _drop(self, name: str, key: Any, value: Any, why: str) -> None:
        line = _line(self._walk.codes.values(), key)
        if line is None:
            for x in values_of_trace([value], DEPTH):
                line = x.node.where
                break
        self.dropped.append((name, line, why))

    def _place(self, text: str) -> int:
        return self._places.setdefault(text, len(self._places))

    def _text(self, text: str, owner: Any, sort: str, key: Any) -> str:
        """Return the expression of a part."""
        walk = self._walk
        if sort == "cell":
            name = next((n for n, cell in walk.cells.items() if cell is owner), None)
            return name or f"{text}.cell_contents"
        if sort == "memory":
            return text
        if sort == "context":
            return f"{text}.get(None)"
        if sort == "items":
            return f"{text}[{key}]"
        if sort == "entries":
            if owner is walk.main:
                return str(key)
            known = type(key) in (str, int, bool)
            return f"{text}[{key!r}]" if known else f"{text}[{walk.constant(key)}]"
        return f"{text}.{key}"

    # ---------------------------------------------------------------- values

    def _output(self, value: Any) -> Make:
        """Return what makes a number or an array of an output."""
        node = self._closed(as_node(value))
        k = self._outputs.get(id(value))
        if k is None or self.values[k] is not value:
            k = self._outputs[id(value)] = len(self.values)
            self.values.append(value if node is value.node else Traced(node, value.weak))
        weak, boxed = value.weak, getattr(value, "boxed", False)
        if weak is not None:
            return lambda made: weak(made.outputs[k])
        if boxed and not value.ndim:
            return lambda made: np.asarray(made.outputs[k])
        return lambda made: made.outputs[k]

    def _closed(self, node: Any) -> Any:
        """Return a value in terms of the trace's inputs."""
        for swap in reversed(self._opened):
            used = {k: x for k, x in swap.items() if k is not x}
            if used:
                (node,) = substitute([node], used)
        for x in topological([node]):
            if isinstance(x, Input) and x not in self._inputs:
                raise NotWrittenError(
                    "it is computed in a part of the program that has no one value for it (a "
                    "loop, a branch, an example of a batch, a function with a rule of its own)"
                )
        return node

    def _constant(self, array: np.ndarray[Any, Any]) -> Make:
        """Return what makes an array of the same numbers in each call."""
        fixed = array.copy()
        return lambda made: fixed.copy()

    def _make_here(self, text: str) -> Make:
        k = self._place(text)
        return lambda made: made.here[k]

    def _make(self, value: Any, depth: int) -> Make:
        """Return what makes a value."""
        if type(value) is Again:
            value = value.value
        if isinstance(value, StandIn) or type(value) in (Traced, np.ndarray) or depth == 0:
            text = self._here.get(id(value))
            if text is not None and not isinstance(value, _CONSTANT):
                return self._make_here(text)
        if isinstance(value, StandIn):
            raise NotWrittenError("it is unread")
        if isinstance(value, Traced):
            return self._output(value)
        if isinstance(value, Reading):
            value = value.number()
        if type(value) is Size:
            return self._output(Size.lift(value))
        value = self._back(value)
        if isinstance(value, _CONSTANT):
            return lambda made: value
        walk = self._walk
        if id(value) in walk.met and id(value) in walk.texts:
            return self._make_here(walk.texts[id(value)][0])
        if isinstance(value, np.ndarray):
            if value.dtype == object:
                raise NotWrittenError("it is an array of objects")
            return self._constant(value)
        if depth > DEEPEST:
            raise NotWrittenError("it is nested too deep")
        if id(value) in self._makers:
            return self._makers[id(value)]
        return self._nested(value, depth)

    def _nested(self, value: Any, depth: int) -> Make:
        """Return what makes a container or an object of its parts, once a call."""
        kind = type(value)

        def once(make: Make) -> Make:
            number = id(value)

            def made_once(made: Made) -> Any:
                if number not in made.known:
                    made.known[number] = make(made)
                return made.known[number]

            self._makers[number] = made_once
            return made_once

        if isinstance(value, dict):
            if any(True for _ in values_of_trace(list(value), DEPTH)):
                raise NotWrittenError("its keys are values of the trace")
            pairs = [(k, self._make(x, depth + 1)) for k, x in value.items()]
            first: tuple[Any, ...] = ()
            if isinstance(value, defaultdict):
                first = (value.default_factory,)
            if kind in (dict, OrderedDict, defaultdict):
                build: Any = kind
                return once(lambda made: build(*first, [(k, make(made)) for k, make in pairs]))
        elif kind in (list, deque) or isinstance(value, tuple):
            parts = [self._make(x, depth + 1) for x in value]
            if kind is deque:
                size = value.maxlen
                return once(lambda made: deque([make(made) for make in parts], size))
            if hasattr(kind, "_make"):
                return once(lambda made: kind._make([make(made) for make in parts]))
            if kind in (list, tuple):
                return once(lambda made: kind([make(made) for make in parts]))
        flat, tree = flatten_traced(value)
        if tree.kind in ("complex", "labelled"):
            leaves = [self._make(x, depth + 1) for x in flat]
            return once(lambda made: _whole(tree, [make(made) for make in leaves]))
        holds = any(True for _ in values_of_trace([value], DEPTH))
        if kind in (set, frozenset):
            if holds:
                raise NotWrittenError("it is a set of values of the trace")
            return lambda made: kind(value)
        if isinstance(value, (FunctionType, MethodType, functools.partial)) or callable(value):
            if holds:
                raise NotWrittenError("it is a function that holds values of the trace")
            return lambda made: value
        if copied_simply(kind, self._walk.packages):
            own = [(k, self._make(x, depth + 1)) for k, x in attributes(value)]

            def new_object(made: Made) -> Any:
                found = object.__new__(kind)
                set_attributes(found, {}, {k: make(made) for k, make in own})
                return found

            return once(new_object)
        if holds:
            raise NotWrittenError(f"it is a {kind.__name__} that holds values of the trace")
        return lambda made: value


_OFTEN = "a loop, a branch or a batch changes it, any number of times or never"


def _whole(tree: Tree, parts: Sequence[Any]) -> Any:
    """Return a complex value, or one with labels, of its parts."""
    if tree.kind != "complex":
        return tree.unflatten(parts)
    real, imag = parts
    if isinstance(real, np.ndarray):
        found = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
        found.real, found.imag = real, imag
        return found
    return complex(real, imag) if type(real) is float else np.result_type(
        real.dtype, np.complex64
    ).type(complex(real, imag))  # fmt: skip


def _is_same(old: Any, new: Any) -> bool:
    """Tell whether two values are one; members of objects in C are numbers made at each look."""
    return old is new or (type(old) is type(new) in (int, str, bool, bytes) and old == new)


def _called(name: str, sort: str, key: Any) -> str:
    """Return what a user would call a part of an object."""
    if sort in ("cell", "memory", "context"):
        return name
    if sort in ("attributes", "names"):
        return f"{name}.{key}" if name else str(key)
    return f"{name}[{key!r}]" if name else str(key)


def _line(codes: Iterable[CodeType], key: Any) -> Where | None:
    """Return the line that assigns to a name, or reads it last."""
    found = None
    for code in codes:
        for step in dis.get_instructions(code):
            if step.argval != key or step.positions is None or not step.positions.lineno:
                continue
            here = Where(code.co_filename, step.positions.lineno, code.co_name)
            if step.opname.startswith("STORE_"):
                return here
            found = here
    return found


def _prepared(step: Assignment, made: Made) -> Callable[[], None]:
    """Return what makes an assignment, with all values computed."""
    owner, sort = made.here[step.owner], step.sort
    put = [(key, make(made)) for key, make in step.put]
    added = [make(made) for make in step.added]
    if sort == "array":
        ((_, new),) = put
        if not owner.flags.writeable:
            raise ValueError("assignment destination is read-only")
        return lambda: np.copyto(owner, new)
    if sort == "attributes":
        there = dict(own_attributes(owner, {*(k for k, _ in put), *step.gone}).parts())
        keep = {k: x for k, x in there.items() if k not in step.gone}
        return lambda: set_attributes(owner, there, keep | dict(put))
    if sort == "items":
        return _items(step, owner, put, added, made)
    if sort == "cell":
        return lambda: setattr(owner, "cell_contents", put[0][1]) if put else delattr(
            owner, "cell_contents"
        )  # fmt: skip
    if sort == "memory":
        return lambda: set_memory(owner, put[0][1])
    if sort == "context":
        return lambda: owner.set(put[0][1])
    if sort == "names":

        def set_names() -> None:
            for key in step.gone:
                delattr(owner, key)
            for key, x in put:
                setattr(owner, key, x)

        return set_names
    base: Any = OrderedDict if isinstance(owner, OrderedDict) else dict

    def set_entries() -> None:
        for key in step.gone:
            base.pop(owner, key, None)
        for key, x in put:
            base.__setitem__(owner, key, x)

    return set_entries


def _items(
    step: Assignment, owner: Any, put: list[tuple[Any, Any]], added: list[Any], made: Made
) -> Callable[[], None]:
    """Return what changes a list, a set or a queue."""
    if step.whole is not None:
        olds = list(owner)
        news = [olds[x] if isinstance(x, int) else x(made) for x in step.whole]

        def replace() -> None:
            owner.clear()
            owner.extend(news)

        return replace

    def change() -> None:
        if isinstance(owner, set):
            owner.difference_update(step.gone)
            owner.update(added)
            return
        for key, x in put:
            owner[key] = x
        owner.extend(added)

    return change
