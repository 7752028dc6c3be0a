"""Sparse Jacobians and Hessians: values by a compiled program, patterns found once.

Inside of a trace patterns are numbers, and the data steps of it: what a trace makes of a matrix's
data needs to know their places. A factorisation is called with them, a product sums by them. So
the pattern is found while tracing, from sizes, which are then fixed by guards as by ``int(n)``,
and from index arrays that are numbers there.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.base.argument_checks import as_word
from .._core.base.fork_safety import late_module, undisturbed
from .._core.base.sizes import Size, as_size
from .._core.base.state import PLAIN, now
from .._core.graph import Node
from .._core.runtime import MISS
from .._core.trace import (
    WITHOUT_PYTHON,
    EnclosedError,
    RecordsError,
    Traced,
    as_node,
    carried_out,
    flatten,
)
from .._dispatch import Call, Function, Given, P, Specialization
from .._sparse._pattern import Pattern
from .._sparse._placement import Part, data_of, of_each
from .._sparse._plan import SMALL, Layout, Plan
from ..errors import ArgumentError, MissingExtraError, OutsideError
from ._vmap import vmap_body

FORMATS = ("csr", "csc", "coo")


class SparseFunction(Function[P, Any]):
    """A sparse Jacobian or Hessian with its compiled forms; call it like the function itself.

    Made by :func:`symgrad.jacobian` and :func:`symgrad.hessian` with ``sparse=True``. The rows of
    a matrix are the elements of the result in C order, its columns those of the argument. Where
    result or arguments are nested, there is a matrix for each pair of them, nested as the dense
    derivatives are.

    The pattern is found when the sizes, or the index arrays on which it depends, are new; the
    values are one compiled program for all of them. In a function that is traced the matrices are
    sparse arrays of the trace, whose places are found while tracing.
    """

    def __init__(self, *args: Any, form: str, **options: Any) -> None:
        as_word(form, tuple(FORMATS), "format")
        self._form = form
        self._last: Plan | None = None
        #: The compiled function of the last call, what it takes behind the arguments, the plan.
        self._quick: tuple[Callable[..., Any], tuple[Any, ...], Plan] | None = None
        super().__init__(*args, **options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the matrices, as sparse arrays of SciPy's; in a trace, of symgrad's."""
        plan, result = self._evaluated(args, kwargs)
        if plan.alone:
            return plan.matrix(0, result)
        return plan.unflatten([plan.matrix(k, x) for k, x in enumerate(plan.split(result))])

    def values(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Return the data of the matrices alone, in the order of :meth:`pattern`.

        Parameters
        ----------
        *args, **kwargs:
            The arguments of the function.
        out:
            Arrays to write them to, nested as the matrices are.
        """
        plan, result = self._evaluated(args, kwargs, out)
        if out is not None:
            return out
        return result if plan.alone else plan.unflatten(plan.split(result))

    def joined(self, *args: Any) -> Any:
        """Return the data of all matrices in one array, those of a result behind each other."""
        plan, result = self._evaluated(args, {})
        if isinstance(result, np.ndarray):
            return result.astype(float, copy=False)
        return np.concatenate([np.zeros(0), *plan.split(result)])

    def pattern(self, *args: Any, **kwargs: Any) -> Any:
        """Return the matrices with True for each of their entries; nothing is compiled for it."""
        plan = self._planned(args, kwargs)
        return plan.unflatten([p.matrix(np.ones(p.nnz, np.bool_)) for p in plan.patterns])

    def lasting(self, *args: Any) -> Pattern | None:
        """Return the pattern of the one matrix, None if it depends on numbers among the arguments.

        The pattern is the same object as long as sizes and index arrays are.
        """
        _, found, given = self._found_at(args, {})
        plan = self._last = self._plan(found, found.values(given.leaves))
        return plan.patterns[0] if found.static(Layout).lasts(found.graph) else None

    def spy(self, *args: Any, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the pattern of the matrix by matplotlib, a colour for each of the user's lines.

        Parameters
        ----------
        *args, **kwargs:
            The arguments of the function.
        ax:
            Matplotlib's axes to draw into; by default those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; ``.figure.savefig(file)`` writes the picture.

        Raises
        ------
        ArgumentError
            If there are several matrices.
        MissingExtraError
            If matplotlib is not installed.
        """
        plan = self._planned(args, kwargs)
        if not plan.alone:
            raise ArgumentError("there are several matrices: draw those of one result and argument")
        return spy(plan.lines(), plan.patterns[0].shape, ax)

    @property
    def nnz(self) -> int:
        """How many entries the matrices of the last call have together.

        Raises
        ------
        ArgumentError
            If there was none: it depends on the arguments.
        """
        if self._last is None:
            raise ArgumentError(
                "how many entries there are depends on the arguments: call it, or .pattern(*args)"
            )
        return sum(p.nnz for p in self._last.patterns)

    def batched(self, maker: Callable[..., Any], in_axes: Any, out_axes: Any) -> SparseFunction:
        """Return it for a batch: :func:`symgrad.vmap` of it, which is ``maker``."""
        if out_axes != 0:
            raise ArgumentError("the values of a batch of matrices have it as their first axis")
        if self._recipe[0] is maker:
            raise ArgumentError(
                "a batch of batches of sparse derivatives has no matrices: write "
                "sg.vmap(sg.vmap(J.values)), their values"
            )
        inner = self._body

        def body(*args: Any, _top: bool = False, _fixed: bool = False, **kwargs: Any) -> Any:
            batches: list[Any] = []
            batched = vmap_body(inner, in_axes, 0, batches)
            values, layout = batched(*args, _fixed=_fixed, **kwargs)
            [(layout.batch_size, examples)] = batches
            if layout.compressed is not None:
                layout.compressed.batch(layout.batch_size, examples)
            return values, layout

        recipe = (maker, (self,), {"in_axes": in_axes, "out_axes": out_axes})
        return SparseFunction(body, self, recipe, form=self._form)

    def kernel(self, *args: Any, **kwargs: Any) -> Any:
        """Return a Numba function of the arguments that gives the data of the matrix.

        They are in the order of :meth:`pattern`; several matrices have a tuple. It is for
        arguments of these sizes with these index arrays alone (else it raises ValueError), with
        what the function closes over as it is now.
        """
        found = self._specialization(args, kwargs, short=True)
        values = found.values(self._call(args, kwargs, records=False).leaves)
        placed, further = self._plan(found, values).placed(found)
        kernel = placed.kernel(into=False)
        with undisturbed():  # imports numba
            from numba import njit  # noqa: PLC0415

        return njit(lambda *args: kernel(*(args + further)))

    def kernel_into(self, *_: Any, **__: Any) -> Any:
        """Refuse: write ``out[:] = kernel(x)``."""
        raise ArgumentError("sparse derivatives have no kernel_into: use .kernel, or .values(out=)")

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any], records: bool = True) -> Call:
        """Return a call with numbers; with traced values it is an :class:`EnclosedError`.

        ``records``: long lists of records are columns.
        """
        args, kwargs = self._prepared(args, kwargs)
        raw, tree = self._flat(args, kwargs) if records else flatten((args, kwargs))
        if any(isinstance(leaf, (Traced, Size)) for leaf in raw):
            raise EnclosedError
        if any(hasattr(type(leaf), "__symgrad_step__") for leaf in raw):
            raise ArgumentError(
                "a sparse derivative is a matrix of SciPy's, which tensors do not have: write "
                "sg.jacobian(f) or sg.hessian(f), without sparse=True, there"
            )
        return self._given(raw, tree, args, kwargs)

    def _found_at(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], fixed: bool = False
    ) -> tuple[Call, Specialization, Given]:
        """Return a call, what is known of such calls, and what this one gives it."""
        call = self._call(args, kwargs)
        try:
            return call, *self._found(call, fixed=fixed)
        except RecordsError:
            apart = self._call(args, kwargs)
        with self._kinds.with_records_apart(call.tree):
            return apart, *self._found(apart, fixed=fixed)

    def _planned(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan:
        """Return the plan of a call, whose values are not computed."""
        with contextlib.suppress(EnclosedError):
            _, found, given = self._found_at(args, kwargs)
            plan = self._last = self._plan(found, found.values(given.leaves))
            return plan
        return self._traced(args, kwargs)[0]

    def _traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Plan, Any]:
        """Return the plan of a call within a trace, and the traced data of its matrices.

        The call has values of the trace, or the function closes over such.
        """
        args, kwargs = self._prepared(args, kwargs)
        values, layout = carried_out(functools.partial(self._body, _fixed=True), args, kwargs)
        plan = self._last = layout.fixed(self._form)
        data = _known_data(plan.parts, values, plan.lead)
        results = tuple(data[k] for k in plan.final)
        return plan, results[0] if len(results) == 1 else results

    def _evaluated(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any = None
    ) -> tuple[Plan, Any]:
        """Return the plan of a call, and the data of its matrices: one array, or a tuple."""
        quick = self._quick
        if quick is not None and not kwargs and now() is PLAIN:
            function, further, plan = quick
            if out is None or plan.joins:
                result = function(*args, *further)
            elif plan.alone:
                result = function(*args, *further, MISS, out)
            else:
                result = function(*args, *further, MISS, *flatten(out)[0])
            if result is not MISS:
                return plan, result if out is None else plan.written(result, out)
        with contextlib.suppress(EnclosedError):
            return self._computed_at(args, kwargs, out)
        if out is not None:
            raise ArgumentError(
                "in a traced function there are no arrays to write to: leave out= away"
            )
        return self._traced(args, kwargs)

    def _computed_at(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> tuple[Plan, Any]:
        """Return the plan of a call with numbers, and the data of its matrices."""
        name = self._backend_now()
        for fixed in (False, True):  # for sizes that leave 64 bits, a trace of their own
            call, found, given = self._found_at(args, kwargs, fixed)
            plan = self._last = self._plan(found, found.values(given.leaves))
            targets = None if out is None else plan.targets(out)
            placed, further = plan.placed(found, plan.joins)
            into = None if plan.joins else targets
            result = placed.result([*given.leaves, *further], into, name)
            if result is not MISS:
                break
        else:
            raise placed.shortage([*given.leaves, *further])
        self._quick = None
        if name == "llvm" and now() is PLAIN and not kwargs:
            caller = _opening(call, found, given, placed)
            self._quick = None if caller is None else (caller, further, plan)
        return plan, result if out is None else plan.written(result, out)

    def _plan(self, found: Specialization, values: Sequence[Any]) -> Plan:
        if found.first_draw is not None:
            raise OutsideError(f"{WITHOUT_PYTHON} [{found.first_draw}]")
        return found.static(Layout).plan(found.graph, values, self._form)

    def _recall(self, *_: Any) -> None:
        """Find no kernel by the function alone: it would not say where the values go."""


def _opening(
    call: Call, found: Specialization, given: Given, placed: Specialization
) -> Callable[..., Any] | None:
    """Return the compiled function of arguments and of what follows them; None if it is slow."""
    count = len(call.args)
    if found.direct:
        return given.reading.caller(placed.caller, count)
    unpack = found.unpacking(call.tree, given.data)
    if unpack is None:
        return None
    opened = unpack(lambda *values: values)
    caller = given.reading.caller(placed.caller, len(found.takes) - len(given.data))

    def opening(*everything: Any) -> Any:
        values = opened(*everything[:count])
        return MISS if values is MISS else caller(*values, *everything[count:])

    return opening


def spy(blocks: Sequence[tuple[str, Any, Any]], shape: tuple[int, int], ax: Any) -> Any:
    """Draw entries, given with the line that they are from, into axes of matplotlib's."""
    try:
        plots = late_module("matplotlib.pyplot")
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "a picture of a pattern") from None
    if ax is None:
        ax = plots.figure(layout="constrained").add_subplot()
    size = max(1.0, min(8.0, 300.0 / max(shape)))
    lines: dict[str, list[tuple[Any, Any]]] = {}
    for line, rows, cols in blocks:
        lines.setdefault(line, []).append((rows, cols))
    for line, parts in lines.items():
        rows, cols = map(np.concatenate, zip(*parts, strict=True))
        ax.plot(cols, rows, linestyle="", marker="s", markersize=size, label=line)
    ax.set(xlim=(-0.5, shape[1] - 0.5), ylim=(shape[0] - 0.5, -0.5), aspect="equal")
    ax.set(xlabel="argument", ylabel="result")
    if lines:
        ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _known_data(parts: Sequence[Part], values: Sequence[Any], lead: tuple[int, ...]) -> list[Any]:
    """Return the data of derivatives whose places are known, of the traced values of all blocks.

    ``lead``: the length of the leading axis that all values have under vmap, if any.
    """
    pairs = [
        (p, q) for part in parts for p, q in zip(part.pairs[::2], part.pairs[1::2], strict=True)
    ]

    def data(blocks: Sequence[Node]) -> list[Node]:
        places = (_at_values(part, k, blocks) for part in parts for k in part.recipe.order)
        counts = (part.nnz for part in parts if part.places)
        return data_of(
            [part.recipe for part in parts], blocks, [part.pattern.dtype for part in parts],
            places, iter(pairs), lambda *_: next(counts),
        )  # fmt: skip

    return [Traced(x) for x in of_each(data, [x.node for x in values], *lead or (None,))]


def _at_values(part: Part, k: int, blocks: Sequence[Node]) -> Any:
    """Return the places of a block or a product in the shape of its values."""
    places = part.places[k].astype(np.int32 if part.nnz <= SMALL else np.int64)
    own = part.recipe.blocks
    shape = blocks[own[k]].shape if k < len(own) else places.shape
    return np.reshape(Traced(as_node(places)), tuple(map(as_size, shape)))
