"""Dispatch: a traced function that is compiled for each kind of arguments it meets."""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import CodeType
from typing import Any, Generic, overload
from weakref import WeakSet

import numpy as np

from .._capture._assignments import Assignments
from .._capture._call import Call, Given, without_lists
from .._capture._captures import Captures
from .._capture._nondeterminism import (
    DrawnError,
    generators_among,
    no_draws,
    told_of_advances,
)
from .._core.base.argument_checks import as_flag
from .._core.base.collector import collecting_seldom
from .._core.base.fork_safety import free_in_children
from .._core.base.pickling import Travels
from .._core.base.signals import delivering, foreseen
from .._core.base.sizes import Size
from .._core.base.state import PLAIN, now, within
from .._core.base.switches import is_on
from .._core.graph import Node, apart, warn_user
from .._core.program import Program, concrete
from .._core.runtime import MISS, structures
from .._core.trace import (
    SHARED,
    WITHOUT_PYTHON,
    Column,
    Draws,
    EnclosedError,
    Examples,
    Graph,
    Lists,
    ListsError,
    PlacesError,
    RecordsError,
    Signature,
    Traced,
    Tree,
    as_input,
    as_leaves,
    carried_out,
    flatten,
    flatten_call,
    matches_sequences,
    trace,
)
from ..errors import (
    ArgumentError,
    CaptureWarning,
    OutsideError,
    SlowWarning,
    SymgradError,
    UnsupportedError,
)
from ._foreign import Foreign
from ._kinds import (
    MANY,
    Kinds,
    Recalled,
    Straight,
    say_one_by_one,
    say_rounding_decides,
    straight_to,
)
from ._layout import layout_of, named_trees
from ._long_loops import Limit, LongTraceError, Unsaid, check_ended
from ._options import P, R, check_backend, check_parallel, check_rounding, parameters_of
from ._progress import told_if_slow
from ._recall import Recall, RecalledError, words_of
from ._specialization import Specialization, listed, say_unwritten
from ._tracebacks import SHORTENED, refused_in_c

_MEETING = free_in_children(threading.RLock())

#: How many numbers in lists are taken apart: each is an argument of the machine code.
MOST_APART = 256

#: Errors of what arrays, or NumPy's numbers in them, cannot do, and lists may.
_FOR_ARRAYS = (SymgradError, TypeError, AttributeError)

#: How often a trace is begun again because another thread has changed what it reads.
RACES = 16


def _is_function(value: Any) -> bool:
    return callable(value)


def _is_recipe(recipe: Any) -> bool:
    """Tell whether something says how a function is made: by what, of what, with which options."""
    return (
        isinstance(recipe, tuple) and len(recipe) == 3 and callable(recipe[0])
        and isinstance(recipe[1], tuple) and bool(recipe[1]) and isinstance(recipe[2], dict)
    )  # fmt: skip


class Function(Foreign, Travels, Generic[P, R]):
    """A NumPy function with its compiled forms; call it like the function itself.

    Made by :func:`symgrad.compile`, :func:`symgrad.grad` and the other transformations.
    The first call with arguments of a new kind (types, ranks, nesting) traces and compiles;
    later calls, with arrays of any lengths, run the compiled kernel. The 256 kinds that were
    called last are kept. With ``out=`` arrays of the result are written to given memory:
    ``value_and_grad(f)(x, out=(None, gradient))`` returns the value and ``gradient``.

    Attributes
    ----------
    traces:
        The number of kinds of calls that have been traced so far. Results of the same
        transformation of the same function share their traces.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> gradient = sg.grad(lambda x: np.sum(x**2))
    >>> gradient(np.array([1.0, 2.0])), gradient(np.ones(3)), gradient.traces
    (array([2., 4.]), array([2., 2., 2.]), 1)
    """

    def __init__(
        self,
        body: Callable[..., Any],
        wraps: Callable[..., Any],
        recipe: tuple[Any, ...],
        *,
        backend: str = "llvm",
        dynamic: bool = True,
        cache: bool = True,
        parallel: bool | None = None,
        rounding: str | None = None,
        prepared: Callable[..., Any] | None = None,
        otherwise: Callable[[SymgradError], Callable[..., Any]] | None = None,
        loops: bool = False,
    ) -> None:
        if not (_is_function(body) and _is_function(wraps) and _is_recipe(recipe)):
            raise ArgumentError(
                "a Function is made by a transformation, such as sg.compile(f) and sg.grad(f), "
                "not by its class"
            )
        self._body = body
        #: Whether Python's loops and branches may be the program's, where loops are long or
        #: values decide in many ways.
        self._loops = loops and rounding is None
        #: Of an error of tracing a batch: what computes its examples one by one, or raises it.
        self._otherwise = otherwise
        self._one_by_one: Callable[..., Any] | None = None
        #: Changes the arguments of a call, ``(args, kwargs)``, before they are looked at.
        self._prepared = prepared or (lambda args, kwargs: (args, kwargs))
        self._recipe = recipe
        self._backend = check_backend(backend)
        self._dynamic, self._cache = as_flag(dynamic, "dynamic"), as_flag(cache, "cache")
        self._parallel = check_parallel(parallel)
        self.rounding = check_rounding(rounding)
        #: What it reads besides its arguments.
        self._captures = Captures(recipe)
        self._kinds = Kinds()
        self._lock = free_in_children(threading.RLock())
        #: The code of the last call, and of other kinds of calls before it, the latest first.
        self._fast: Straight | None = None
        self._others: tuple[Straight, ...] = ()
        #: What is known of calls with eager tensors, each of which is one step of theirs.
        self.steps: dict[Any, Any] = {}
        self.traces = 0
        #: The specialisations that it has met, by tracing or from another that shares them.
        self._met: WeakSet[Specialization] = WeakSet()
        functools.update_wrapper(self, wraps, updated=())
        self._writes_out = "out" not in parameters_of(wraps)

    def __repr__(self) -> str:
        return f"<symgrad {self._recipe[0].__name__} of {getattr(self, '__name__', '?')}>"

    def _made_by(self) -> tuple[Any, ...]:
        return self._recipe

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(self, *args: Any, out: Any, **kwargs: Any) -> R: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fast = self._fast
        if fast is not None and now() is PLAIN:
            try:  # each name more, and each pair of stars, is a tenth of a small call
                if not kwargs:
                    result = fast.function(*args)
                    if result is not MISS:
                        return result if fast.pack is None else fast.pack(result)
                elif fast.named:
                    result = fast.function(*args, **kwargs)
                    if result is not MISS:
                        return result if fast.pack is None else fast.pack(result)
                elif fast.named is None and self._writes_out and len(kwargs) == 1:
                    out = kwargs.get("out")
                    result = MISS if out is None else fast.found.write(fast.function, args, out)
                    if result is not MISS:
                        return result
                if self._others and not (self._writes_out and "out" in kwargs):
                    result = self._by_another(args, kwargs)
                    if result is not MISS:
                        return result
            except MemoryError:  # said below, of which arrays
                pass
        __tracebackhide__ = True
        with SHORTENED:
            return self._called(args, kwargs)

    @property
    def straight(self) -> Callable[..., Any] | None:
        """The machine code of the last call, if there is any, which takes arguments as they come.

        It returns ``MISS`` for those that it is not made for, and is for the plain state alone.
        """
        fast = self._fast
        return None if fast is None or fast.pack is not None else fast.function

    @property
    def assigns(self) -> bool:
        """Whether a call may leave something behind, as far as it was traced."""
        return self.traces == 0 or self._kinds.assign

    def state(self, *args: Any) -> Any:
        """Return the state of now of what a call of these arguments may change."""
        raw, tree = flatten((args, {}))
        captures = self._captures.given(self._given(raw, tree, args, {}).objects)
        return captures.state([*SHARED.values(), *generators_among(raw)])

    def share(self, other: Function[P, R]) -> None:
        """Have what another knows, which the same transformation has made of the same function."""
        self._captures, self._kinds, self._lock = other._captures, other._kinds, other._lock

    def forgetful(self) -> Function[P, R]:
        """Return the same function, of which nothing is known, nor kept on disk."""
        return Function(
            self._body, self._body_function, self._recipe, backend=self._backend,
            dynamic=self._dynamic, cache=False, parallel=self._parallel, rounding=self.rounding,
            prepared=self._prepared, otherwise=self._otherwise,
        )  # fmt: skip

    def traced_outputs(self) -> list[Node]:
        """Return the results of all its traces."""
        return [x for found in self._met for x in found.graph.outputs]

    def laid_aside(self) -> Any:
        """Return what is held of what the function reads now, and hold it no more.

        Compiled code is kept, and found again by what is read then.
        """
        state = self._fast, self._others, self._captures.laid_aside()
        self._fast, self._others = None, ()
        return state

    def taken_up(self, state: Any) -> None:
        """Hold again what was laid aside."""
        self._fast, self._others, readings = state
        for reading, held in readings:
            reading.taken_up(held)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function as it may have to be compiled for."""
        out = kwargs.pop("out", None) if self._writes_out else None
        passed = args
        args, kwargs = self._prepared(args, kwargs)
        fast = self._fast
        if fast is not None and out is None and not kwargs and now() is PLAIN:
            # Lists of numbers and Python's integers, as what the last call was compiled for.
            asks = any(x.reading.question is not None for x in (fast, *self._others))
            plain = args if self._kinds.tells_lists or asks else without_lists(args)
            if not all(map(operator.is_, plain, passed)):
                result = fast.function(*plain)
                if result is not MISS:
                    return result if fast.pack is None else fast.pack(result)
                result = self._by_another(plain, {})
                if result is not MISS:
                    return result
        raw, tree = self._flat(args, kwargs)
        if any(isinstance(leaf, (Traced, Size)) for leaf in raw):
            return carried_out(self._body, args, kwargs)
        for leaf in raw:
            if hasattr(type(leaf), "__symgrad_step__"):  # an eager tensor
                return type(leaf).__symgrad_step__(self, args, kwargs, out)
        if self._one_by_one is not None and out is None:
            return self._one_by_one(*args, **kwargs)
        call = self._given(raw, tree, args, kwargs)
        with delivering():
            try:
                return self._of_lists(call, out) if call.listed else self._run(call, out)
            except RecordsError:
                apart = self._given(*self._flat(args, kwargs), args, kwargs)
            with self._kinds.with_records_apart(call.tree):
                return self._of_lists(apart, out) if apart.listed else self._run(apart, out)

    def _flat(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Tree]:
        """Return the leaves and the structure of arguments, long lists of records as columns."""
        raw, tree = flatten_call(args, kwargs)
        if tree in self._kinds.records_apart:
            raw, tree = flatten((args, kwargs))
        return raw, tree

    def _of_lists(self, call: Call, out: Any) -> Any:
        """Return the result of a call with lists of numbers.

        They are arrays, as for NumPy, unless the function tells them from arrays. Then they are
        lists, if it takes lists: ``x[1:] - x[:-1]`` of one is an error in plain Python.
        """
        key = call.lists
        apart = self._kinds.apart.get(key)
        if apart is None:
            try:
                return self._run(replace(call, settled=False), out)
            except ListsError:
                pass
        count = sum(np.size(call.leaves[k]) for k in call.listed)
        if apart is None and count > MOST_APART:
            name = getattr(self, "__name__", "the function")
            warn_user(
                f"{name} tells lists of numbers from arrays. A list of {count:,} numbers, which "
                f"are more than {MOST_APART}, is an array here. Write instead: np.array(x), or a "
                "tuple",
                CaptureWarning,
            )
            self._kinds.apart[key] = apart = False
        if apart is not False:
            raw, tree = flatten((call.args, call.kwargs), lists=True)
            given = self._given(raw, tree, call.args, call.kwargs)
            try:
                result = self._run(replace(given, apart=True), out)
            except foreseen(Exception) as error:
                if apart:
                    raise
                refused = error
            else:
                self._kinds.apart[key] = True
                return result
            self._kinds.apart[key] = False
            result = self._run(call, out)
            if isinstance(refused, SymgradError):
                name = getattr(self, "__name__", "the function")
                warn_user(
                    f"{name} tells lists of numbers from arrays, and cannot be traced with lists: "
                    f"{refused}. The lists of this call are arrays here. Write instead: "
                    "np.array(x), or a tuple",
                    CaptureWarning,
                )
            return result
        return self._run(call, out)

    def _run(self, call: Call, out: Any) -> Any:
        """Return the result of a call that may have to be traced and compiled for."""
        name = self._backend_now()
        draws = now().draws
        mark = None if draws is None else draws.mark()
        try:
            result, found, given = self._computed(call, out, name)
        except EnclosedError:  # called with numbers, it closes over values being traced
            if draws is not None:
                draws.rollback(mark)
            return self._body(*call.args, **call.kwargs)
        except SymgradError as error:
            if self._otherwise is None or not error.of_batch or out is not None:
                raise
            one_by_one = self._otherwise(error)
            result = one_by_one(*call.args, **call.kwargs)
            say_one_by_one(error)
            self._one_by_one = one_by_one
            return result
        # What looks at what the function reads is made, as machine code, for calls that come again.
        reading = given.reading
        if name == "llvm" and now().backend is None and (found.called or reading.nothing):
            straight = straight_to(found, call, given)
            if straight is not None and reading.may_alias(call):
                straight = replace(straight, function=reading.checking_aliases(straight.function))
            if straight is not None:
                last, self._fast = self._fast, straight
                self._others = straight.beside(() if last is None else (last, *self._others))
        found.called = True
        return result

    def _by_another(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of the code of earlier calls, which then is the latest, or MISS."""
        others = self._others
        for k, other in enumerate(others):
            if kwargs and not other.named:
                continue
            result = other.function(*args, **kwargs)
            if result is not MISS:
                if self._fast is not None:
                    self._others = self._fast, *others[:k], *others[k + 1 :]
                self._fast = other
                return result if other.pack is None else other.pack(result)
        return MISS

    def _backend_now(self) -> str:
        """Return on what a call runs just now."""
        environment = os.environ.get("SYMGRAD_BACKEND")
        name = now().backend or check_backend(environment or self._backend)
        return "numba" if name == "llvm" and structures.FAULT is not None else name

    def _computed(self, call: Call, out: Any, name: str) -> tuple[Any, Specialization, Given]:
        """Return the result of a call, and what it was computed with."""
        found, given = self._found(call, kernel=name != "numpy", likely=True, writes=True)
        result = found.result(given.leaves, out, name)
        if result is MISS and found.conditions:
            found, given = self._found(call, kernel=name != "numpy", writes=True)
            result = found.result(given.leaves, out, name)
        if result is MISS and found.program.sizes:
            # For these sizes its arithmetic would leave 64 bits: a trace of their own has numbers
            # for them, which do not.
            found, given = self._found(call, fixed=True, writes=True)
            result = found.result(given.leaves, out, name)
        for _ in range(RACES):  # other threads draw in between, from the same generators
            if result is not MISS or found.first_draw is None or not found.conditions:
                break
            found, given = self._found(call, kernel=name != "numpy", writes=True)
            result = found.result(given.leaves, out, name)
        if result is MISS and not found.conditions:
            raise found.shortage(given.leaves)
        if result is MISS:
            say_rounding_decides(found, getattr(self, "__name__", "the function"))
            result = found.result_as_decided(given.leaves, out)
        return result, found, given

    def outermost(self, *args: Any, **kwargs: Any) -> Any:
        """Carry the function out on the inputs of the outermost trace, which nothing encloses."""
        if not any(isinstance(leaf, Traced) for leaf in flatten((args, kwargs))[0]):
            return self(*args, **kwargs)
        return carried_out(functools.partial(self._body, _top=True), args, kwargs)

    def _given(
        self, raw: Sequence[Any], tree: Tree, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Call:
        function = self._body_function
        listed = frozenset(k for k, leaf in enumerate(raw) if type(leaf) is list)
        recorded = frozenset(k for k, leaf in enumerate(raw) if type(leaf) is Column)
        leaves = as_leaves(raw, function, args, kwargs)
        return Call(leaves, tree, args, kwargs, function, listed, recorded=recorded)

    def _found(
        self, call: Call, *, frozen: bool = False, short: bool = True, kernel: bool = False,
        fixed: bool = False, likely: bool = False, writes: bool = False,
    ) -> tuple[Specialization, Given]:  # fmt: skip
        """Return what is known of calls with such arguments, and what this call gives it.

        ``writes``: its caller writes back what the function assigns. For options see below.
        """
        found, given = self._traced_or_known(call, frozen, short, kernel, fixed, likely)
        if found.first_draw is not None and now().guards is not None:
            raise EnclosedError  # the numbers are drawn in each call of the function around it
        return (found if writes else found.without_assignments(warn=not frozen)), given

    def _traced_or_known(
        self, call: Call, frozen: bool, short: bool, kernel: bool, fixed: bool, likely: bool
    ) -> tuple[Specialization, Given]:
        """Return what is known of calls with such arguments, or trace the function.

        ``frozen``: what the function reads besides its arguments is a constant. ``short``: short
        axes have sizes of their own. ``kernel``: nothing but the kernel is asked for. ``fixed``:
        just for these sizes. ``likely``: what may be known of them, as its code will tell.
        """
        captures = self._captures.given(call.objects)
        way = captures.way
        for attempt in itertools.count():
            reading, values = captures.now(frozen)
            reading.refuse_aliases(call, values)
            given = call.with_data(reading, values, self._dynamic and not fixed, short)
            known = self._kinds.find(given.signature, given.leaves, likely)
            if known is not None:
                if known.tells_lists and not call.settled:
                    raise ListsError
                self._meet(known)
                return known, given
            if not fixed and self._kinds.numbered(given.signature) and captures.by_sizes():
                continue
            if len(self._kinds.paths(given.signature)) >= MANY - 1:
                if captures.by_values(reading):
                    continue
                if self._loops and is_on("long loops") and captures.can_roll():  # one for all
                    captures.roll()
                    continue
            try:
                said: list[tuple[str, type[Warning]]] = Unsaid() if captures.way.rolled else []
                doing = f"tracing {getattr(self, '__name__', 'a function')}"
                rolls = self._loops and is_on("long loops") and captures.can_roll()
                limit = Limit() if rolls else None
                around = within(said=said, limit=limit, walked=[])
                with around, told_if_slow(doing), collecting_seldom():
                    found = self._specialize(call, given, captures, kernel, frozen)
                found.said += [x for x in said if x[1] is not SlowWarning]
            except (EnclosedError, ListsError):
                raise
            except RecordsError:
                self._kinds.records_apart.add(call.tree)
                raise
            except LongTraceError:
                captures.roll()
                continue
            except foreseen(Exception) as error:
                if captures.unroll():
                    continue
                doubted = isinstance(error, DrawnError) and attempt < error.doubt
                if doubted and not captures.is_told_by_copy(error):
                    continue
                # It may have to be adapted, or need numbers. If not, the error is the user's.
                if captures.fallback(reading, error) or doubted:
                    continue
                captures.take(way)
                if call.recorded:
                    self._kinds.records_apart.add(call.tree)
                    raise RecordsError from error
                if call.listed and not call.settled and isinstance(error, _FOR_ARRAYS):
                    raise ListsError from error
                refusal = refused_in_c(error)
                if refusal is not None:
                    raise refusal from error
                raise
            if captures.way.sized and found.numbered:
                captures.without_sizes()
            given = replace(given, reading=captures.assigned(reading))
            if captures.settle(given.reading, frozen) or attempt > RACES:
                return found, given
        raise AssertionError

    def _specialize(
        self, call: Call, given: Given, captures: Captures, kernel: bool, frozen: bool
    ) -> Specialization:
        """Return what is known of calls with such arguments, or trace the function."""
        signature, leaves, reading = given.signature, given.leaves, given.reading
        with self._lock:
            known = self._kinds.find(signature, leaves)
            if known is not None:
                return known
            names = call.names(reading)
            body = functools.partial(captures.substituted(self._body, reading), _top=True)
            functools.update_wrapper(body, self._body_function, updated=())
            traced = [leaf.is_value for leaf in signature.leaves]
            inputs = [as_input(x) for x, flag in zip(leaves, traced, strict=True) if flag]
            self._kinds.check_paths(signature, getattr(self, "__name__", "the function"))
            promised = self.rounding is not None
            threads = 1 if self._parallel is False else 0
            recall = self._recall(signature, names, captures.way.sized is True) if kernel else None
            generators = {k: leaves[k] for k in signature.generators}
            draws = None if frozen else Draws(generators, names)
            lists = Lists()
            around = within(
                promised=promised, callback=captures.called_later, draws=draws, lists=lists
            )
            try:
                with around, apart(promised), self._telling(lists, call, reading.codes):
                    examples = Examples(inputs, concrete, given.read, captures.indices(reading))
                    captures.needed, captures.places = examples.needed, examples.places
                    watch = None if recall is None else captures.unless_assigning(recall.watch)
                    drawn = [*reading.generators, *generators_among(leaves)]
                    advances = told_of_advances(reading.iterators, reading.codes)
                    with no_draws(drawn, reading.codes), advances:
                        graph = trace(body, signature, given.sizes, names, examples, watch)
                        check_ended()
                    if examples.places:  # the traced code has caught the error
                        raise PlacesError
            except RecalledError as found:
                again = functools.partial(trace, body, signature, given.sizes, names)
                made: Specialization = Recalled(found.known, again, signature, threads)
                made.tells_lists = lists.asked
                self._keep(signature, made)
                return made

            def specialized(
                graph: Graph, recall: Recall | None, assignments: Assignments | None
            ) -> Specialization:
                layout = layout_of(named_trees(names, signature.tree), signature.leaves, graph)
                layout = replace(layout, threads=0 if self._parallel else 1)
                return Specialization(
                    graph, layout, signature, self._cache, threads, promised, recall, assignments
                )

            made = specialized(graph, recall if graph.drawn is None else None, captures.assignments)
            made.tells_lists = lists.asked
            if made.assignments is not None:
                made.made_alone = functools.partial(specialized, recall=None, assignments=None)
            forgotten = captures.forgotten()
            if forgotten:
                fast = self._fast
                self._kinds.forget(forgotten, None if fast is None else fast.found)
            known = self._kinds.like(signature, made)
            if known is not None:
                known.tells_lists |= made.tells_lists
                return known
            self._keep(signature, made)
            return made

    @contextlib.contextmanager
    def _telling(self, lists: Lists, call: Call, codes: Sequence[CodeType]) -> Iterator[None]:
        """Have a trace end with a :class:`ListsError` that tells lists of its call from arrays."""
        if any(map(matches_sequences, codes)):
            lists.asked, lists.asks = bool(call.listed), True
        try:
            if lists.asked and not call.settled:
                raise ListsError
            yield
        except foreseen(Exception, LongTraceError) as error:
            if lists.asked and not call.settled:
                raise ListsError from error
            raise
        finally:
            if lists.asks or lists.asked:
                self._kinds.tells_lists = True
        if lists.asked and not call.settled:
            raise ListsError

    def _meet(self, found: Specialization) -> None:
        """Count a specialisation that it has not met before, and warn as its trace has."""
        with _MEETING:  # threads may meet it at once
            new = found not in self._met
            if new:
                self._met.add(found)
                self.traces += 1
        if new:
            for text, category in found.said:
                warn_user(text, category)

    def _keep(self, signature: Signature, made: Specialization) -> None:
        self._meet(made)
        fast = self._fast
        self._kinds.keep(signature, made, None if fast is None else fast.found)

    def _recall(self, signature: Signature, names: Sequence[str], sized: bool) -> Recall | None:
        """Return what looks for the kernel on the disk by the function alone, if that may be."""
        if signature.generators:  # whose numbers are no arguments of the user's function
            return None
        words = words_of(self, signature, names) if self._cache and self.rounding is None else None
        if words is None or not is_on("recall"):
            return None
        return Recall([*words, str(self._parallel), str(sized)])

    @property
    def _body_function(self) -> Callable[..., Any]:
        return getattr(self, "__wrapped__", self._body)

    def _specialization(
        self, args: Sequence[Any], kwargs: Any, short: bool = False, kernel: bool = False,
        fixed: bool = False, alone: str = "",
    ) -> Specialization:  # fmt: skip
        """Return what is known of calls with such arguments.

        ``alone``: why nothing that the function assigns could be written back, which is refused.
        """
        with SHORTENED:
            new, kwargs = self._prepared(tuple(args), kwargs)
            raw, tree = flatten((new, kwargs))
            call = self._given(raw, tree, new, kwargs)
            options = {"short": short, "kernel": kernel, "fixed": fixed}
            with delivering():
                found, given = self._found(call, frozen=True, **options)
        if found.first_draw is not None:
            raise OutsideError(f"{WITHOUT_PYTHON} [{found.first_draw}]")
        if found.unwritten and alone:
            raise UnsupportedError(
                f"{listed(found.unwritten)} is assigned by the function, outside of it, and "
                f"{alone}. Write instead: pass it as an argument and return it, or call the "
                "function itself"
            )
        if alone and given.reading.may_alias(call):
            raise UnsupportedError(
                "the function asks whether two values are one object, which machine code does not "
                "see of its arguments. Write instead: pass the answer, f(x, a, b, same=a is b) "
                f"[{given.reading.question}]"
            )
        if found.unwritten:
            say_unwritten(found.unwritten, "a program without Python leaves nothing behind")
        return found

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """Return the :class:`Program` for arguments of these kinds, with all sizes symbolic."""
        return self._specialization(args, kwargs).program
