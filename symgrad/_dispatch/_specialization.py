"""One trace of a function, scheduled, and compiled once it is called."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import sympy as sp

from .._capture._assignments import Assignments
from .._capture._draws import Drawing
from .._core.base.collector import collecting_seldom
from .._core.base.fork_safety import cached_property, free_in_children, undisturbed
from .._core.base.sizes import WideError, evaluate_dim
from .._core.base.state import within
from .._core.codegen.cache import Entry, cached_code
from .._core.codegen.loading import code_again, loaded_code
from .._core.graph import Node, warn_user
from .._core.ops.callback import CALLBACK, raising_after
from .._core.pipeline import by_arrays, program_of
from .._core.program import Program
from .._core.runtime import MISS
from .._core.trace import Drawn, Graph, Signature, Tree, as_input, flatten
from ..errors import (
    ArgumentError,
    BranchError,
    CaptureWarning,
    DTypeError,
    OutOfMemoryError,
)
from ._layout import Layout, can_ask
from ._packing import (
    Unpack,
    _may_overlap,
    _native,
    _pairing,
    _pairs,
    _parts,
    _typed,
    make_pack,
    make_unpack,
)
from ._progress import told_if_slow
from ._recall import Recall

T = TypeVar("T")


def say_unwritten(names: Sequence[str], why: str) -> None:
    """Warn that what a function assigns outside of it is not."""
    warn_user(
        f"{listed(names)} is assigned by the function, outside of it, which is undone: {why}. "
        "Write instead: pass it as an argument, and return it",
        CaptureWarning,
    )


def listed(names: Sequence[str]) -> str:
    """Return names of places in words."""
    first = list(dict.fromkeys(filter(None, names)))
    more = f" and {len(first) - 4} more" if len(first) > 4 else ""
    return " and ".join(first[:4]) + more or "something"


class Specialization:
    """A function for arguments of one kind: graph, program, kernel.

    ``recall`` notes the kernel for later processes.
    """

    def __init__(
        self,
        graph: Graph,
        layout: Layout,
        signature: Signature,
        cache: bool,
        threads: int,
        promised: bool = False,
        recall: Recall | None = None,
        assignments: Assignments | None = None,
    ) -> None:
        self.graph, self.recall, self.assignments = graph, recall, assignments
        self._prepare(layout, signature, cache, threads, promised)
        self._result(graph.tree, graph.leaves, [x.ndim for x in graph.outputs])
        self.program: Program = self._programmed(graph)
        self.conditions: Sequence[Node] = graph.conditions
        self.calls_back = any(n.op is CALLBACK for n in self.program.nested_steps())
        self.drawing: Drawing | None = None
        if graph.drawn is not None or signature.generators:
            self.drawing = self._drawing(graph.drawn or Drawn((), (), ()))

    def _drawing(self, drawn: Drawn) -> Drawing:
        """Return what makes the draws of each call."""
        kinds = {k: self.signature.leaves[k].value for k in self.signature.generators}
        self.kinds += ["array"] * len(drawn.inputs)
        return Drawing(drawn, self.takes, kinds, self.program, bool(self.conditions))

    def _prepare(
        self, layout: Layout, signature: Signature, cache: bool, threads: int, promised: bool
    ) -> None:
        self.layout, self.signature, self.cache = layout, signature, cache
        self.threads, self.promised = threads, promised
        self.takes = [k for k, leaf in enumerate(signature.leaves) if leaf.is_taken]
        taken = [leaf for leaf in signature.leaves if leaf.is_value]
        #: Draws the random numbers of each call; None where it has no generator.
        self.drawing = None
        self.kinds = ["array" if leaf.is_complex else leaf.kind for leaf in taken]
        self._complex = any(leaf.is_complex for leaf in taken)
        self._lock = free_in_children(threading.RLock())
        self.entry: Entry | None = None
        self._function: Callable[..., Any] | None = None
        self._kernels: dict[tuple[bool, bool], Any] = {}
        self._by_arrays: Program | None = None
        self._unpack: tuple[Unpack | None] | None = None
        #: When it was looked for last, for dropping what is not.
        self.used = 0
        #: Whether it has computed the result of a call.
        self.called = False
        #: Whether its arithmetic with sizes has numbers of more than 64 bits, for any sizes.
        self.too_wide = False
        #: Whether its trace has told lists of the call from arrays, as which they are taken.
        self.tells_lists = False
        #: The warnings of its trace.
        self.said: list[tuple[str, type[Warning]]] = []
        #: Of one without what the function assigns: the names of that.
        self.unwritten: Sequence[str] = ()
        #: Makes it of the graph without what the function assigns.
        self.made_alone: Callable[[Graph], Specialization] | None = None
        self._alone: Specialization | None = None

    def _result(self, tree: Tree, leaves: Sequence[Any], ranks: Sequence[int]) -> None:
        self._ranks, self._all = ranks, (tree, leaves)
        if self.assignments is None:
            self._tree, self._leaves = tree, leaves
            self._left: Sequence[Any] = ()
            self.pack = make_pack(tree, leaves, len(ranks))
            return
        self._tree = tree.children[0]
        count = self._tree.leaves
        self._leaves, self._left = leaves[:count], leaves[count:]
        pack = make_pack(self._tree, self._leaves, len(ranks))

        def pack_and_write(found: Any) -> Any:
            self._write_back([found] if len(ranks) == 1 else found)
            return found if pack is None else pack(found)

        self.pack = pack_and_write

    def _write_back(self, outputs: Sequence[Any]) -> None:
        """Make in the user's objects what the function assigns to them."""
        if self.assignments is not None:
            self.assignments.write([outputs[k] for k in self._left])

    def without_assignments(self, warn: bool) -> Specialization:
        """Return it without what the function assigns outside of it.

        ``warn``: say so.
        """
        if self.assignments is None or self.made_alone is None:
            return self
        found = self._alone = self._alone or self.made_alone(self.result_alone)
        found.unwritten = self.assignments.names
        if warn:
            say_unwritten(found.unwritten, "results of this kind leave nothing behind")
        return found

    @property
    def result_alone(self) -> Graph:
        """The graph without what the function assigns outside of it."""
        kept: list[int] = [x for x in self._leaves if not isinstance(x, tuple)]
        places = {k: n for n, k in enumerate(kept)}
        leaves = tuple(x if isinstance(x, tuple) else places[x] for x in self._leaves)
        outputs = tuple(self.graph.outputs[k] for k in places)
        return replace(self.graph, outputs=outputs, tree=self._tree, leaves=leaves)

    def _programmed(self, graph: Graph) -> Program:
        """Return the graph as it is compiled."""
        with within(promised=self.promised):
            return program_of(graph)

    @property
    def first_draw(self) -> Any:
        """The first line that draws random numbers; None if none does."""
        return None if self.drawing is None else self.drawing.where

    @property
    def admission(self) -> Program:
        """A program with the guards and conditions."""
        return self.program

    @cached_property
    def numbered(self) -> bool:
        """Whether the function has asked for a size as a number."""
        return any(
            truth and isinstance(relation, sp.Eq) and any(x.is_Integer for x in relation.args)
            for relation, truth in self.admission.guards.items()
        )

    def admits(self, leaves: Sequence[Any]) -> bool:
        """Tell whether the trace holds for these arguments."""
        program = self.admission
        if not (program.guards or program.conditions):
            return True
        values = self.values(leaves)
        if self.drawing is not None:
            return self.drawing.looked_at(values, lambda given: program.holds(*given))
        return program.admits(values) and program.holds(*values)

    def admits_sizes(self, leaves: Sequence[Any]) -> bool:
        """Tell whether the trace holds for the sizes of these arguments."""
        program = self.admission
        if self.drawing is not None:
            return self.drawing.sizes(self.values(leaves)) is not None
        return not program.guards or program.admits(self.values(leaves))

    def values(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the program's inputs among the leaves of a call, and generators."""
        return [as_input(leaves[k]) for k in self.takes]

    def inputs(self, leaves: Sequence[Any]) -> list[Any]:
        """Return all inputs of the program; random numbers are drawn for it."""
        values = self.values(leaves)
        return values if self.drawing is None else self.drawing.inputs(values)

    @property
    def function(self) -> Callable[..., Any]:
        """The compiled Python function of the inputs: the output, or a tuple of outputs."""
        if self._function is None:
            with self._lock:
                if self._function is None:
                    self.entry, self._function = self._compiled()
        return self._function

    @cached_property
    def called_with(self) -> Callable[..., Any]:
        """The compiled function of what a call passes along: of generators where it draws."""
        return self.function if self.drawing is None else self.drawing.before(self.function)

    def _compiled(self) -> tuple[Entry, Callable[..., Any]]:
        cache = self.cache and not self.calls_back
        slow = told_if_slow("compiling", self.program.nested_steps)
        with within(promised=self.promised, walked=[]), slow, collecting_seldom():
            entry = cached_code(self.program, self.kinds, cache)
        function = loaded_code(entry.code, self.threads)
        if self.recall is not None:
            self.recall.keep(self.graph, self.layout, entry)
        return entry, function

    def kernel(self, into: bool, called: bool = False) -> Any:
        """Return the numba dispatcher; made when first asked for.

        One that calls go through (``called``) has None for objects among the results.
        """
        kind = into, called and self.layout.has_objects
        if kind not in self._kernels:
            with self._lock:
                if kind not in self._kernels:
                    with undisturbed():  # imports numba, for longer than most functions compile
                        from ._kernel import make_kernel  # noqa: PLC0415

                    function = self.function  # loads the code that the kernel calls
                    assert self.entry is not None
                    sizes = tuple(n.dim is not None for n in self.admission.inputs)
                    code = replace(self.entry.code, origin=self._origin)
                    arrays = sum(leaf.ndim > 0 for leaf in code.outputs)
                    layout = self.layout.with_none() if called else self.layout
                    layout = layout.into(arrays) if into else layout
                    self._kernels[kind] = make_kernel(code, layout, sizes, function, self.kinds)
        return self._kernels[kind]

    def _origin(self) -> tuple[Any, ...]:
        made_of = self.program, self.kinds, self.cache, self.promised
        return code_again, made_of

    def run_numpy(self, leaves: Sequence[Any]) -> Any:
        """Compute the result step by step under NumPy."""
        with within(promised=self.promised):
            if self._by_arrays is None:
                self._by_arrays = by_arrays(self.program)
            return self._packed(self._by_arrays.run(*self.inputs(leaves)))

    def run_numba(self, leaves: Sequence[Any]) -> Any:
        """Compute the result through the dispatcher of :meth:`kernel`."""
        return self._packed(self._dispatched(leaves))

    def _dispatched(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the outputs that the dispatcher of :meth:`kernel` computes."""
        kernel = self.kernel(into=False, called=True)
        # Of what is baked in, only what can be asked is read.
        given: list[Any] = [leaf if can_ask(leaf) else None for leaf in leaves]
        for k in self.takes:
            given[k] = _native(leaves[k])
        if self.layout.flat:
            given = [given[k] for k in self.takes]
        else:
            args, kwargs = self.signature.tree.children
            rest = iter(given)
            given = [tree.unflatten(rest) for tree in (*args.children, *kwargs.children)]
        from ._kernel import BRANCH, MISFIT  # noqa: PLC0415

        try:
            with raising_after():
                result = kernel(*given)
        except ValueError as error:
            if str(error) == BRANCH:
                raise BranchError(BRANCH) from None
            if str(error) == MISFIT:  # the sizes are this trace's: a number made of them is wide
                raise WideError(MISFIT) from None
            raise
        assert self.entry is not None
        outputs: list[Any] = [None] * len(self._ranks)
        tree, leaves = self._all
        for part, kind, k in zip(_parts(tree, result), tree.leaf_kinds, leaves, strict=True):
            if not isinstance(k, tuple):
                outputs[k] = _typed(part, kind, np.dtype(self.entry.code.outputs[k].dtype))
        return outputs

    def _packed(self, values: Sequence[Any]) -> Any:
        """Return the nested result from the values of the outputs, and write back the others."""
        self._write_back(values)
        return self._tree.unflatten(
            leaf[0] if isinstance(leaf, tuple) else values[leaf] for leaf in self._leaves
        )

    def result(self, leaves: Sequence[Any], out: Any, backend: str) -> Any:
        """Compute the result, into ``out`` unless that is None, or return MISS."""
        if self.too_wide:
            return MISS
        drawing = self.drawing if self.conditions else None
        before = None if drawing is None else drawing.states(self.values(leaves))
        try:
            if self.drawing is not None and backend == "numba":
                backend = "numpy"  # whose kernels take arrays and numbers
            if out is not None:
                return self.run_into(leaves, out, backend)
            if backend == "numpy":
                return self.run_numpy(leaves)
            return self.run_numba(leaves) if backend == "numba" else self.run(leaves)
        except OutOfMemoryError:
            raise
        except WideError:
            if not self.program.sizes:
                raise
            self.too_wide = True
            return MISS
        except BranchError:
            if not self.conditions:
                raise  # of a function that it calls back
            if before is not None:  # another trace draws for this call
                before.put_back()
            return MISS
        except MemoryError as error:
            raise self.shortage(leaves) from error

    def result_as_decided(self, leaves: Sequence[Any], out: Any) -> Any:
        """Compute the result under NumPy, on the way that Python took.

        Its conditions are not looked at: where rounding decides, they may come to something else
        in machine code, or in a program whose steps have been rewritten.
        """
        with within(promised=self.promised):
            program = by_arrays(replace(self.program, conditions=()))
            values = program.run(*self.inputs(leaves))
        return self._packed(values) if out is None else self._copied(values, self._targets(out))

    def equals(self, other: Specialization) -> bool:
        """Tell whether another trace for arguments of this kind is this one."""
        if self.assignments is not None or other.assignments is not None:
            return False
        same = self.program.fingerprint == other.program.fingerprint
        return same and repr(self._leaves) == repr(other._leaves)

    def shortage(self, leaves: Sequence[Any]) -> OutOfMemoryError:
        """Return the error of a call that there is not enough memory for."""
        values = self.values(leaves)
        if self.drawing is None:
            sizes = self.program.bind_sizes(values)
        else:
            sizes = self.drawing.sizes(values) or {}
        counts = {
            node: math.prod(evaluate_dim(d, sizes) for d in node.shape) * node.dtype.itemsize
            for node in self.program.nested_steps()
            if node.shape
        }
        text = "there is not enough memory for this call"
        if not counts:
            return OutOfMemoryError(text)
        node = max(counts, key=counts.__getitem__)
        shape = tuple(evaluate_dim(d, sizes) for d in node.shape)
        error = OutOfMemoryError(
            f"{text}: the largest of its arrays, {node.dtype} of shape {shape}, has "
            f"{counts[node]:.3g} bytes" + (f" [{node.where}]" if node.where else "")
        )
        error.where = None if node.where is None else str(node.where)
        return error

    def run(self, leaves: Sequence[Any]) -> Any:
        """Compute the result with the compiled function, or return MISS."""
        result = self.called_with(*map(_native, self.values(leaves)))
        return result if result is MISS or self.pack is None else self.pack(result)

    def run_into(self, leaves: Sequence[Any], out: Any, backend: str) -> Any:
        """Compute the result into ``out``: the result's structure, with None where to make."""
        values = list(map(_native, self.values(leaves)))
        compiled = backend == "llvm"
        result = self.write(self.called_with, values, out) if compiled else MISS
        if result is not MISS:
            return result
        given = self._targets(out)  # not to be written to directly: compute, copy, convert
        if backend == "numba":
            found: Any = self._dispatched(leaves)
        else:
            found = (
                self.called_with(*values) if compiled else self.program.run(*self.inputs(leaves))
            )
            if found is MISS:
                return MISS
            found = [found] if compiled and len(given) == 1 else list(found)
        return self._copied(found, given)

    def _copied(self, values: Sequence[Any], given: Sequence[Any]) -> Any:
        """Return the result, of which what has a place is copied there."""
        found = list(values)
        for k, target in enumerate(given):
            if target is not None:
                if not np.can_cast(found[k].dtype, target.dtype, "same_kind"):
                    raise DTypeError(
                        f"out= has element type {target.dtype}, and the result {found[k].dtype}"
                    )
                np.copyto(target, found[k])
                found[k] = target
        return self._packed(found)

    def write(self, function: Callable[..., Any], values: Sequence[Any], out: Any) -> Any:
        """Run a function of the inputs with results in ``out``, or return MISS."""
        given = self._targets(out)
        arrays = [x for x, rank in zip(given, self._ranks, strict=True) if rank]
        if _may_overlap(arrays) or any(
            x is not None and not rank for x, rank in zip(given, self._ranks, strict=True)
        ):
            return MISS
        result = function(*values, MISS, *arrays) if arrays else function(*values)
        return result if result is MISS or self.pack is None else self.pack(result)

    def _targets(self, out: Any) -> list[Any]:
        """Return what to write each output to, from the nested ``out``."""
        given: list[Any] = [None] * len(self._ranks)
        parts, tree = flatten(out)
        if tree != self._tree.outline:
            raise ArgumentError(
                "out has another structure than the result: give an array, or None, for each "
                "array of the result, nested as the result is"
            )
        for part, leaf, kind in zip(parts, self._leaves, self._tree.leaf_kinds, strict=True):
            if part is None or isinstance(leaf, tuple):
                continue
            if not isinstance(part, np.ndarray):
                raise ArgumentError(f"out has a {type(part).__name__}: it takes arrays and None")
            if kind == "packed" and part.dtype.char not in "FD":
                raise ArgumentError(f"out has type {part.dtype}: the result is complex")
            given[leaf] = as_input(part) if kind == "packed" else part
        if _may_overlap(given) and any(itertools.starmap(np.shares_memory, _pairs(given))):
            raise ArgumentError(
                "arrays of out= overlap: give each array of the result memory of its own"
            )
        return given

    def static(self, kind: type[T]) -> T:
        """Return the leaf of the result that is of a kind of objects which are no values."""
        return next(x[0] for x in self._leaves if isinstance(x, tuple) and isinstance(x[0], kind))

    @property
    def caller(self) -> Callable[..., Any]:
        """The function of a call's values."""
        if not self._complex:
            return self.called_with
        return _pairing(self.called_with, [self.signature.leaves[k] for k in self.takes])

    def unpacking(self, tree: Tree, data: range) -> Unpack | None:
        """Return what opens the arguments of calls with this structure; None if that is slow.

        ``data``: which leaves are what the function reads besides.
        """
        if self._unpack is None:
            leaves = self.signature.leaves
            kinds = [leaf for k, leaf in enumerate(leaves) if k not in data]
            self._unpack = (make_unpack(tree, kinds),)
        return self._unpack[0]

    def behind(self, data: range) -> Callable[..., Any]:
        """Return the function of a call's values and then of what the function reads besides."""
        first, last = (sum(k < end for k in self.takes) for end in (data.start, data.stop))
        rest = len(self.takes) - last
        caller = self.caller
        if not rest or first == last:
            return caller

        def call(*values: Any) -> Any:  # what is read lies before what is passed by name
            many = first + rest
            return caller(*values[:first], *values[many:], *values[first:many])

        return call

    @property
    def direct(self) -> bool:
        """Whether a call's arguments are the program's inputs, one by one."""
        args, kwargs = self.signature.tree.children
        return (
            not kwargs.children
            and all(t.kind == "leaf" for t in args.children)
            and len(self.takes) == len(self.signature.leaves)
        )
