"""Random numbers that a function draws, as inputs of its program.

A draw depends on nothing that a program computes: its parameters and its size are known before.
So a trace notes the draws in their order, with an input in the place of each. A call makes them,
from the same generators, and gives them to the program. A trace itself draws from copies.
"""

from __future__ import annotations

import contextlib
import copy
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import UnsupportedError
from ..base.sizes import Dimension, Shape, Size, evaluate_dim, hint
from ..base.state import now
from ..graph import Input, Where, user_line
from ._traced import Traced

#: Generators of random numbers.
GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)

#: The generators that everyone shares, by the modules that draw from them.
SHARED: dict[str, Any] = {
    "np.random": np.random.rand.__self__,
    "random": random.random.__self__,  # type: ignore[attr-defined]
}

#: Why a program alone cannot draw.
WITHOUT_PYTHON = (
    "the function draws random numbers in each call, for which a program without Python (a "
    "kernel, a formula, C, the pattern of a sparse derivative) has no generator. Write instead: "
    "draw them outside and pass them as an argument"
)

#: The element types that a program takes.
_NUMBERS = "fdbBhHiIlLqQ?"


def state_of(generator: Any) -> Any:
    """Return the state of a generator."""
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    return generator.getstate()


def put_back(generator: Any, state: Any) -> None:
    """Set a generator to a state that it has had."""
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    else:
        generator.setstate(state)


class Draw(NamedTuple):
    """One call of a generator's method.

    Attributes
    ----------
    source:
        The number of the generator.
    method, args, named:
        The call; a size among the arguments is a number in each call.
    size:
        The argument ``size``, if it is given.
    where:
        The line of the call.
    makes:
        The input that stands for the numbers; None if the call draws none (``seed``).
    scalar:
        ``int`` or ``float`` where NumPy returns a number of Python's.
    arrays:
        Whether the generator draws arrays, which Python's does not.
    """

    source: int
    method: str
    args: tuple[Any, ...]
    named: Mapping[str, Any]
    size: Shape | None
    where: Where | None
    makes: Input | None = None
    scalar: type | None = None
    arrays: bool = True

    def drawn(self, generator: Any, number: Number) -> Any:
        """Return the numbers; ``number`` says what a size is in this call."""
        args = [number(x.expr) if isinstance(x, Size) else x for x in self.args]
        named = {k: number(x.expr) if isinstance(x, Size) else x for k, x in self.named.items()}
        if self.size is not None:
            named["size"] = tuple(d if isinstance(d, int) else number(d) for d in self.size)
        return getattr(generator, self.method)(*args, **named)


class Repeated(NamedTuple):
    """Draws that are made for each step of a loop, or for each member of a batch in turn."""

    times: Dimension
    steps: list[Any]


#: A Draw or a Repeated.
Step = Any


#: Says what a size is in a call.
Number = Callable[[Any], int]

#: Makes draws, by the generators, and appends their numbers to a list.
Make = Callable[[Sequence[Any], Number, list[Any]], None]


def carry_out(makes: Sequence[Make], generators: Sequence[Any], number: Number) -> list[Any]:
    """Return the numbers of all draws, in the order of the inputs that stand for them."""
    found: list[Any] = []
    for make in makes:
        make(generators, number, found)
    return found


def planned(steps: Sequence[Step]) -> list[Make]:
    """Return what makes draws: equal ones that follow each other at once, where that is the same.

    A loop that Python has written out draws its numbers one by one.
    """
    makes, k = list[Make](), 0
    while k < len(steps):
        step, count = steps[k], 1
        if type(step) is Repeated:
            makes.append(_repeats(step))
        else:
            if _fills_in_a_row(step):
                same = (step.source, step.method, step.args, step.named, step.size)
                while k + count < len(steps) and steps[k + count][:5] == same:
                    count += 1
            makes.append(_draws(step, count))
        k += count
    return makes


def _draws(step: Draw, count: int) -> Make:
    """Return what makes a draw so many times."""
    node, source, method = step.makes, step.source, step.method
    if count > 1:
        step = step._replace(size=(count, *(step.size or ())))
    args, named = step.args, dict(step.named)
    if step.size is not None:
        named["size"] = step.size
    fixed = not any(isinstance(x, Size) for x in (*args, *named.values())) and all(
        isinstance(d, int) for d in step.size or ()
    )

    def make(generators: Sequence[Any], number: Number, found: list[Any]) -> None:
        generator = generators[source]
        if fixed:
            value = getattr(generator, method)(*args, **named)
        else:
            value = step.drawn(generator, number)
        if count > 1:
            found += list(value)
        elif node is not None:
            found.append(as_drawn(value, node))

    return make


def _repeats(step: Repeated) -> Make:
    """Return what makes the draws of the steps of a loop."""
    inputs = [*inputs_of(step.steps)]
    whole = _as_one(step)

    def make(generators: Sequence[Any], number: Number, found: list[Any]) -> None:
        if whole is not None:
            value = whole.drawn(generators[whole.source], number)
            found.append(as_drawn(value, inputs[0]))
            return
        made = {
            x: np.empty(tuple(d if isinstance(d, int) else number(d) for d in x.shape), x.dtype)
            for x in inputs
        }
        _repeat(step, generators, number, made, ())
        found += made.values()

    return make


def _repeat(
    step: Repeated, generators: Sequence[Any], number: Number, made: Mapping[Input, Any],
    at: tuple[int, ...],
) -> None:  # fmt: skip
    for k in range(step.times if isinstance(step.times, int) else number(step.times)):
        for inner in step.steps:
            if type(inner) is Repeated:
                _repeat(inner, generators, number, made, (*at, k))
                continue
            value = inner.drawn(generators[inner.source], number)
            if inner.makes is not None:
                made[inner.makes][(*at, k)] = value


#: Methods that fill an array with one number after another, as so many calls would draw them.
_IN_A_ROW = frozenset((
    "standard_normal", "random", "random_sample", "standard_exponential", "standard_cauchy",
    "normal", "uniform", "exponential", "lognormal", "laplace", "logistic", "gumbel", "rayleigh",
    "weibull",
))  # fmt: skip


def _fills_in_a_row(draw: Draw) -> bool:
    """Tell whether an array of draws has the numbers that so many draws have."""
    plain = all(isinstance(x, (int, float, type)) for x in (*draw.args, *draw.named.values()))
    return draw.method in _IN_A_ROW and plain and draw.arrays and draw.makes is not None


def _as_one(step: Repeated) -> Draw | None:
    """Return the draw that makes repeated draws as one; None where there is none."""
    counts: list[Dimension] = []
    inner: Step = step
    while type(inner) is Repeated:
        if len(inner.steps) != 1:
            return None
        counts.append(inner.times)
        inner = inner.steps[0]
    if not _fills_in_a_row(inner):
        return None
    whole: Draw = inner._replace(size=(*counts, *(inner.size or ())))
    return whole


def as_drawn(value: Any, node: Input) -> Any:
    """Return drawn numbers as a program takes them."""
    if not node.shape:
        return node.dtype.type(value)
    if type(value) is np.ndarray and value.dtype == node.dtype and value.flags.c_contiguous:
        return value
    return np.ascontiguousarray(value, node.dtype)


def inputs_of(steps: Sequence[Step]) -> Iterator[Input]:
    """Yield the inputs that stand for draws."""
    for step in steps:
        if type(step) is Repeated:
            yield from inputs_of(step.steps)
        elif step.makes is not None:
            yield step.makes


class Drawn(NamedTuple):
    """The draws of a traced function.

    Attributes
    ----------
    steps:
        The draws in order.
    sources:
        Their generators: the number of an argument's leaf, or an object that is always the same.
    inputs:
        The inputs that stand for the numbers.
    """

    steps: tuple[Step, ...]
    sources: tuple[Any, ...]
    inputs: tuple[Input, ...]


class Draws:
    """What a function draws in the trace that runs.

    Parameters
    ----------
    generators:
        Those among the leaves of the call, by their numbers.
    taken:
        Names of other inputs.
    """

    def __init__(self, generators: Mapping[int, Any], taken: Iterable[str]) -> None:
        self._leaves, self._taken = dict(generators), set(taken)
        self._scope = now().scope
        #: The batches and loops around: how many members or steps, and what stands for the numbers
        #: of one of them.
        self._levels: list[tuple[Dimension, Callable[[Input], Input]]] = []
        self._sources: list[Any] = []
        self._numbers: dict[Any, int] = {}
        self._first: list[Any] = []
        self._copies: list[Any] = []
        self._steps: list[Step] = []
        self._at = self._steps
        self._replayed: Iterator[Step] | None = None

    @property
    def result(self) -> Drawn | None:
        """The draws so far; None if there are none."""
        if not self._steps:
            return None
        return Drawn(tuple(self._steps), tuple(self._sources), tuple(inputs_of(self._steps)))

    def source(self, leaf: int | None, generator: Any) -> int:
        """Return the number of a generator: a leaf's, or an object that is always the same."""
        key = (leaf, 0 if leaf is not None else id(generator))
        if key not in self._numbers:
            real = generator if leaf is None else self._leaves[leaf]
            self._numbers[key] = len(self._sources)
            self._sources.append(generator if leaf is None else leaf)
            self._first.append(copy.deepcopy(real))
            self._copies.append(copy.deepcopy(real))
        return self._numbers[key]

    def draw(
        self, name: str, source: int, method: str, args: Sequence[Any], named: Mapping[str, Any],
        size: Shape | None,
    ) -> Traced | None:  # fmt: skip
        """Note a draw, and return what stands for its numbers; ``name`` is for errors."""
        if now().scope is not self._scope:
            raise UnsupportedError(
                f"{name} draws random numbers in a branch, or in a loop of which it is not known "
                "how often it runs, so that nobody knows how many numbers to draw before. Write "
                "instead: draw before it what any of its sides needs; or a loop with a number of "
                "steps, sg.fori_loop or sg.scan"
            )
        given = [copy.copy(x) if isinstance(x, np.ndarray) else x for x in args]
        arrays = not isinstance(self._first[source], random.Random)
        step = Draw(source, method, tuple(given), dict(named), size, user_line(), arrays=arrays)
        if self._replayed is not None:
            step = self._next(name, step)
        else:
            step = self._noted(name, step)
        if step.makes is None:
            return None
        node = step.makes
        for _, stand_in in self._levels:
            node = stand_in(node)
        return Traced(node, weak=step.scalar)

    def _next(self, name: str, step: Draw) -> Draw:
        assert self._replayed is not None
        found = next(self._replayed, None)
        if type(found) is not Draw or (found.source, found.method) != (step.source, step.method):
            raise UnsupportedError(f"{name} draws other random numbers than before")
        return found

    def _noted(self, name: str, step: Draw) -> Draw:
        generator = self._copies[step.source]
        if self._levels:  # whose draws are made when its first member has been traced
            generator = copy.deepcopy(generator)
        value = step.drawn(generator, hint)
        if value is None:
            self._at.append(step)
            return step
        array = np.asarray(value)
        if isinstance(value, (str, list)) or array.dtype.char not in _NUMBERS:
            raise UnsupportedError(
                f"{name} draws {type(value).__name__} objects, which are no numbers. Write "
                "instead: draw their index, rng.integers(len(values))"
            )
        own = () if step.size is None else step.size
        shape = (*(count for count, _ in self._levels), *own, *array.shape[len(own) :])
        node = Input(self._name(), shape, array.dtype)
        scalar = type(value) if type(value) in (int, float) else None
        step = step._replace(makes=node, scalar=scalar)
        self._at.append(step)
        if not self._levels:
            _give(node, array)
        return step

    def _name(self) -> str:
        k = 1 + sum(1 for _ in inputs_of(self._steps))
        while (name := f"draw{k}") in self._taken:
            k += 1
        self._taken.add(name)
        return name

    @contextlib.contextmanager
    def repeated(self, count: Dimension, stand_in: Callable[[Input], Input]) -> Iterator[None]:
        """Note the draws in the block as those of each member of a batch, or step of a loop.

        ``stand_in`` returns what stands for the numbers of one of them, given those of all.
        """
        outer, replayed, scope = self._at, self._replayed, self._scope
        step = Repeated(count, [])
        if replayed is not None:
            found = next(replayed, None)
            step = found if type(found) is Repeated else step
            self._replayed = iter(step.steps)
        self._at, self._scope = step.steps, now().scope
        self._levels.append((count, stand_in))
        done = False
        try:
            yield
            done = True
        finally:
            self._at, self._replayed, self._scope = outer, replayed, scope
            self._levels.pop()
        if done and step.steps and replayed is None:
            outer.append(step)
            if outer is self._steps:
                self._catch_up([step])

    def once(self) -> Callable[[], contextlib.AbstractContextManager[None]]:
        """Return what makes a context for a body that is executed once where this is called."""
        here = now().scope is self._scope

        @contextlib.contextmanager
        def body() -> Iterator[None]:
            outer = self._scope
            if here:
                self._scope = now().scope
            try:
                yield
            finally:
                self._scope = outer

        return body

    def _catch_up(self, steps: Sequence[Step]) -> None:
        """Make draws from the copies."""
        values = carry_out(planned(steps), self._copies, hint)
        for node, value in zip(inputs_of(steps), values, strict=True):
            _give(node, value)

    def mark(self) -> tuple[list[Step], int]:
        """Return a place among the draws: the present one."""
        return self._at, len(self._at)

    def rollback(self, mark: tuple[list[Step], int]) -> None:
        """Forget the draws after a place, of a trace that has failed."""
        at, count = mark
        if self._replayed is not None or (at is self._at and len(at) == count):
            return
        self._at = at
        del at[count:]
        self._copies = [copy.deepcopy(x) for x in self._first]
        carry_out(planned(self._steps), self._copies, hint)

    def drawing_again(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """Return a call that is traced from here, as it is when it is traced once more.

        It then draws the same numbers.
        """
        at, count = self.mark()

        def again() -> Any:
            outer, self._replayed = self._replayed, iter(at[count:])
            try:
                return call()
            finally:
                self._replayed = outer

        return again


def _give(node: Input, value: Any) -> None:
    examples = now().examples
    if examples is not None:
        examples.values[node] = np.asarray(value, node.dtype)[()]


def sizes_by(sizes: Mapping[Any, int]) -> Number:
    """Return what says which number a size is."""
    return lambda d: sizes[d] if d in sizes else evaluate_dim(d, sizes)
