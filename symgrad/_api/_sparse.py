"""Sparse Jacobians and Hessians: values by a compiled program, patterns found once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._compile import Call, Function, P, Specialization
from .._forks import undisturbed
from .._graph import Literal, Node, warn_user
from .._lanes import Block, Found, blocks_of, examples_of, flat, selected, structure_of
from .._op import PROJECTIONS, Words
from .._runtime import MISS
from .._shapes import as_size, dim_product, guard, hint, recording
from .._state import PLAIN, now
from .._trace import Traced, as_node, collect, flatten, require_traced
from ..errors import ArgumentError, SparsityWarning
from ._bodies import Opened, enumerated, widths_of
from ._colours import Behind, Compressed
from ._pattern import Pattern
from ._plan import Entries, Layout, Plan
from ._spy import spy
from ._vmap import vmap_body
from ._wrt import Keys, positions_of

FORMATS = ("csr", "csc", "coo")


class SparseFunction(Function[P, Any]):
    """A sparse Jacobian or Hessian with its compiled forms; call it like the function itself.

    Made by :func:`symgrad.jacobian` and :func:`symgrad.hessian` with ``sparse=True``. The rows of
    a matrix are the elements of the result in C order, its columns those of the argument. Where
    result or arguments are nested, there is a matrix for each pair of them, nested as the dense
    derivatives are.

    The pattern is found when the sizes, or the index arrays on which it depends, are new; the
    values are one compiled program for all of them.
    """

    def __init__(self, *args: Any, form: str, **options: Any) -> None:
        if form not in FORMATS:
            raise ArgumentError(f"format is one of {', '.join(FORMATS)}, not {form!r}")
        self._form = form
        self._last: Plan | None = None
        #: The compiled function of the last call, what it takes behind the arguments, the plan.
        self._quick: tuple[Callable[..., Any], tuple[Any, ...], Plan] | None = None
        super().__init__(*args, **options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the matrices, as sparse arrays of SciPy's."""
        plan, result = self._evaluated(args, kwargs)
        if plan.alone:
            return plan.matrix(0, result)
        return plan.unflatten([plan.matrix(k, x) for k, x in enumerate(_each(result))])

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
        return result if plan.alone else plan.unflatten(_each(result))

    def joined(self, *args: Any) -> Any:
        """Return the data of all matrices in one array, those of a result behind each other."""
        return np.concatenate([np.zeros(0), *_each(self._evaluated(args, {})[1])])

    def pattern(self, *args: Any, **kwargs: Any) -> Any:
        """Return the matrices with True for each of their entries; nothing is compiled for it."""
        found, given = self._found(self._call(args, kwargs))
        plan = self._last = self._plan(found, found.values(given.leaves))
        return plan.unflatten([p.matrix(np.ones(p.nnz, np.bool_)) for p in plan.patterns])

    def lasting(self, *args: Any) -> Pattern | None:
        """Return the pattern of the one matrix, None if it depends on numbers among the arguments.

        The pattern is the same object as long as sizes and index arrays are.
        """
        found, given = self._found(self._call(args, {}))
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
        found, given = self._found(self._call(args, kwargs))
        plan = self._last = self._plan(found, found.values(given.leaves))
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
        inner = self._body

        def body(*args: Any, _top: bool = False, **kwargs: Any) -> Any:
            batches: list[Any] = []
            values, layout = vmap_body(inner, in_axes, 0, batches)(*args, **kwargs)
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
        values = found.values(self._call(args, kwargs).leaves)
        placed, further = self._plan(found, values).placed(found)
        kernel = placed.kernel(into=False)
        with undisturbed():  # imports numba
            from numba import njit  # noqa: PLC0415

        return njit(lambda *args: kernel(*(args + further)))

    def kernel_into(self, *_: Any, **__: Any) -> Any:
        """Refuse: write ``out[:] = kernel(x)``."""
        raise ArgumentError("sparse derivatives have no kernel_into: use .kernel, or .values(out=)")

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        args, kwargs = self._prepared(args, kwargs)
        raw, tree = flatten((args, kwargs))
        if any(hasattr(type(leaf), "__symgrad_bind__") for leaf in raw):
            raise ArgumentError(
                "a sparse derivative is a matrix of SciPy's, which neither traced functions nor "
                "tensors have: write sg.jacobian(f) or sg.hessian(f), without sparse=True, there"
            )
        return self._given(raw, tree, args, kwargs)

    def _evaluated(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any = None
    ) -> tuple[Plan, Any]:
        """Return the plan of a call, and the data of its matrices: one array, or a tuple."""
        quick = self._quick
        if quick is not None and not kwargs and now() is PLAIN:
            function, further, plan = quick
            if out is None:
                result = function(*args, *further)
            elif plan.alone:
                result = function(*args, *further, MISS, out)
            else:
                result = function(*args, *further, MISS, *flatten(out)[0])
            if result is not MISS:
                return plan, result
        name = self._backend_now()
        call = self._call(args, kwargs)
        for fixed in (False, True):  # for sizes that leave 64 bits, a trace of their own
            found, given = self._found(call, fixed=fixed)
            plan = self._last = self._plan(found, found.values(given.leaves))
            targets = None if out is None else plan.targets(out)
            placed, further = plan.placed(found)
            result = placed.result([*given.leaves, *further], targets, name)
            if result is not MISS:
                break
        else:
            raise placed.shortage([*given.leaves, *further])
        self._quick = None
        if name == "llvm" and now() is PLAIN and found.direct and not kwargs:
            caller = given.reading.caller(placed.caller, len(args))
            self._quick = caller, further, plan
        return plan, result

    def _plan(self, found: Specialization, values: Sequence[Any]) -> Plan:
        return found.static(Layout).plan(found.graph, values, self._form)

    def _recall(self, *_: Any) -> None:
        """Find no kernel by the function alone: it would not say where the values go."""


def _each(result: Any) -> Sequence[Any]:
    return result if isinstance(result, tuple) else (result,)


# ---------------------------------------------------------------- bodies


def sparse_body(
    function: Callable[..., Any], argnums: Keys, lower: bool = False
) -> Callable[..., Any]:
    """Return the blocks of the Jacobian of ``function`` as a function on traced values.

    It gives the values of each block, and the :class:`Layout` of all.
    """
    numbers, single = positions_of(argnums)

    def body(*args: Any, _top: bool = False, **kwargs: Any) -> Any:
        opened = Opened(function, args, kwargs, numbers, _top)
        nodes, tree, leaves = collect(opened.result)
        if not nodes and tree.kind == "leaf":
            require_traced(opened.result, "the function's result")
        heights = widths_of(tree, leaves)
        if 2 in (*opened.widths, *heights):
            raise ArgumentError(
                "sparse derivatives are of real functions of real arguments: differentiate the "
                "real and the imaginary part one by one"
            )
        for y in nodes:
            if y.dtype.kind != "f":
                raise ArgumentError(f"the Jacobian of a result of type {y.dtype} is not defined")
        found, behind, compressed = _followed(function, nodes, opened.inputs)
        targets, sources = [*nodes, *found.cuts], [*opened.inputs, *found.cuts]
        parts = [
            _entries([b for b in blocks if b.source is x], (k, y), (j, x))
            for k, (y, blocks) in enumerate(
                zip(targets, [*found.outputs, *found.cuts.values()], strict=True)
            )
            for j, x in enumerate(sources)
            if not (lower and k < j < len(opened.inputs))  # above the diagonal
        ]
        parts = [part for part in parts if part[1].places]
        values = [x for part in parts for x in part[0]]
        entries = [e for _, e in parts]
        places = [x for e in entries for x in e.nodes]
        nodes_of_all = behind.closed([*values, *places, *found.bounds.values()])
        if compressed is not None:
            nodes_of_all += [*compressed.structure.nodes, *compressed.blocks]
        closed = [t.node for t in opened.close(nodes_of_all)]
        rest = iter(closed[len(values) :])
        entries = [e.replaced(rest) for e in entries]
        bounds = [(next(rest), x.where) for x in found.bounds]
        if compressed is not None:
            compressed.structure = compressed.structure.replaced(rest)
            compressed.blocks = [*rest]
        shapes = [dim_product(x.shape) for x in targets], [dim_product(x.shape) for x in sources]

        def unflatten(matrices: Sequence[Any]) -> Any:
            width = len(opened.inputs)
            rows = iter(
                opened.arranged(matrices[k * width : (k + 1) * width], single)
                for k in range(len(nodes))
            )
            return tree.outline.unflatten(
                None if isinstance(leaves[k], tuple) else next(rows) for k, _ in enumerated(tree)
            )

        dtypes = [y.dtype for y in targets]
        counts = len(nodes), len(opened.inputs)
        alone = single and tree.kind == "leaf" and opened.trees[0][0].kind == "leaf"
        nested = None if alone else unflatten
        layout = Layout(entries, bounds, shapes, dtypes, counts, lower, nested, compressed)
        return tuple(map(Traced, closed[: len(values)])), layout

    return body


def _followed(
    function: Callable[..., Any], nodes: Sequence[Node], inputs: Sequence[Node]
) -> tuple[Found, Behind, Compressed | None]:
    """Return the blocks of nodes; where lanes end, how the rest is computed by colours.

    The blocks are then those of the outputs by what is before and beside the steps where lanes
    end, which have stand-ins.
    """
    note = _Note()
    nodes = selected(nodes, inputs)
    behind, compressed = Behind(nodes, ()), None
    with recording() as guards:
        found = blocks_of(nodes, inputs, note, places=True)
        structure = structure_of(found, nodes, inputs) if note.is_sparse else None
    if structure is not None or not note.found:
        for relation, truth in guards.items():
            guard(relation, value_is=truth)
    if note.found:
        beside = _Note()
        if structure is not None:
            behind = Behind(nodes, found.barriers)
        found = blocks_of(behind.outputs, inputs, beside)
        if structure is not None and structure.leads_on:
            said = note.said(function, beside)
            compressed = Compressed(structure, behind, inputs, said)
        beside.tell(function)
    return found, behind, compressed


def _entries(
    blocks: Sequence[Block], target: tuple[int, Node], source: tuple[int, Node]
) -> tuple[list[Node], Entries]:
    """Return the values of the blocks over their lanes, and where they go."""
    (k, y), (j, x) = target, source
    values, places, where = [], [], []
    for block in blocks:
        lanes = block.lanes or (1,)
        rows, cols = flat(block.rows, y.shape), flat(block.cols, x.shape)
        places.append((lanes, rows.node(lanes), cols.node(lanes), block.mask))
        where.append(str(_line(block.value) or y.where or x.where or ""))
        values.append(as_node(np.broadcast_to(Traced(block.value), tuple(map(as_size, lanes)))))
    return values, Entries(k, j, places, where)


def _line(value: Node) -> Any:
    """Return the user's line that a value is from; None of a constant, which lines may share."""
    base = value
    while base.op.kind in ("view", "gather"):
        base = base.operands[0]
    return None if isinstance(base, Literal) else value.where


class _Note:
    """Collects the steps behind which lanes do not lead on, and says so in one warning."""

    def __init__(self) -> None:
        self.found: dict[Node, Node] = {}

    def __call__(self, node: Node, operand: Node) -> None:
        self.found[node] = operand

    @property
    def is_sparse(self) -> bool:
        """Whether one of the steps has a structure."""
        return any(
            "rule" not in node.operands[0].params
            if node.op.kind in PROJECTIONS
            else any(examples_of(node, k) for k in range(len(node.operands)))
            for node in self.found
        )

    def lines(self) -> dict[str, int]:
        """Return what the steps are, and how many entries of dense Jacobians they have."""
        lines = {}
        for node, operand in self.found.items():
            count = hint(dim_product(node.shape)) * hint(dim_product(operand.shape))
            place = "" if node.where is None else f" [{node.where}]"
            lines[f"{Words.of(node.op).doc or node.op.name}{place}"] = count
        return lines

    def said(self, function: Callable[..., Any], beside: _Note) -> str:
        """Return which steps there were that others have not met."""
        name = getattr(function, "__name__", "the function")
        lines = [line for line in self.lines() if line not in beside.lines()]
        return f"no lanes lead through steps of {name}: {'; '.join(lines)}"

    def tell(self, function: Callable[..., Any]) -> None:
        """Warn of the steps that there were."""
        if not self.found:
            return
        lines = [f"{line}, {count:,} entries" for line, count in self.lines().items()]
        warn_user(
            f"{getattr(function, '__name__', 'the function')} has steps through which no pattern "
            f"can be followed; their Jacobians count as dense: {'; '.join(lines)}",
            SparsityWarning,
        )
