"""Sparse Jacobians and Hessians: values by a compiled program, patterns found once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._compile import Call, Function, Given, P, Specialization
from .._forks import undisturbed
from .._graph import Node
from .._lanes import Block, blocks_of, flat
from .._op import Words
from .._runtime import MISS
from .._shapes import as_size, dim_product, hint
from .._state import PLAIN, now
from .._trace import Traced, as_node, collect, flatten
from ..errors import ArgumentError, SparsityWarning
from ._bodies import Opened, enumerated, widths_of
from ._pattern import Entries, Layout, Pattern, Plan
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
        self._quick: _Quick | None = None
        super().__init__(*args, **options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the matrices, as sparse arrays of SciPy's."""
        plan, raw = self._evaluated(args, kwargs)
        return plan.unflatten([p.matrix(x) for p, x in zip(plan.patterns, plan(raw), strict=True)])

    def values(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Return the data of the matrices alone, in the order of :meth:`pattern`.

        Parameters
        ----------
        *args, **kwargs:
            The arguments of the function.
        out:
            Arrays to write them to, nested as the matrices are.
        """
        plan, raw = self._evaluated(args, kwargs)
        if out is None:
            return plan.unflatten(plan(raw))
        targets = [out] if plan.alone else flatten(out)[0]
        if len(targets) != len(plan.patterns):
            raise ArgumentError(f"out has {len(targets)} arrays for {len(plan.patterns)} matrices")
        for pattern, target in zip(plan.patterns, targets, strict=True):
            _check_target(target, pattern)
        plan(raw, targets)
        return out

    def pattern(self, *args: Any, **kwargs: Any) -> Any:
        """Return the matrices with True for each of their entries; nothing is compiled for it."""
        found, given = self._found(self._call(args, kwargs))
        plan = self._planned(found, given)
        return plan.unflatten([p.matrix(np.ones(p.nnz, np.bool_)) for p in plan.patterns])

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

    def kernel(self, *args: Any, **kwargs: Any) -> Any:
        """Return a Numba function of the arguments that gives the data of the matrix.

        They are in the order of :meth:`pattern`. It is for arguments of these sizes alone (else
        it raises ValueError), with what the function closes over as it is now.

        Raises
        ------
        ArgumentError
            If there are several matrices, or the pattern depends on elements of the arguments,
            which the kernel would not look at.
        """
        held: list[Layout] = []
        make, (f,), options = self._recipe
        function = _values_alone(f, make, options, held)
        given = self._call(args, kwargs)
        found = function._specialization(args, kwargs, short=True)
        plan = held[-1].plan(found.graph, found.values(given.leaves), self._form)
        if not plan.alone or plan.products or not held[-1].entries:
            raise ArgumentError(
                "a kernel gives the values of one matrix: use .values, or differentiate by one "
                "array a function that gives one, and does not gather from sums at computed places"
            )
        if held[-1].data(0) is None:
            raise ArgumentError(
                "the pattern depends on the elements of an argument, which a kernel would not "
                "look at: close over the index array instead of passing it"
            )
        return _writing(found.kernel(into=False), plan.patterns[0].write.places, plan.patterns[0])

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
        return Call(self._leaves(raw), tree, args, kwargs)

    def _evaluated(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Plan, Sequence[Any]]:
        """Return the values of the blocks, and how they become those of the matrices."""
        quick = self._quick
        if quick is not None and not kwargs and now() is PLAIN and quick.admits(args):
            result = quick.function(*args)
            if result is not MISS:
                return quick.plan, quick.pack(result)[0]
        name = self._backend_now()
        result, found, given = self._computed(self._call(args, kwargs), None, name)
        plan = self._planned(found, given)
        self._quick = None
        pack = found.pack
        if pack and name == "llvm" and now() is PLAIN and found.direct and not kwargs:
            data = found.static(Layout).data(len(args))
            if data is not None:
                function = given.reading.caller(found.caller, len(args))
                kept = [(k, np.array(args[k])) for k in data]
                shapes = [getattr(x, "shape", None) for x in args]
                self._quick = _Quick(function, pack, plan, shapes, kept)
        return plan, result[0]

    def _planned(self, found: Specialization, given: Given) -> Plan:
        layout = found.static(Layout)
        self._last = layout.plan(found.graph, found.values(given.leaves), self._form)
        return self._last

    def _recall(self, *_: Any) -> None:
        """Find no kernel by the function alone: it would not say where the values go."""


def _values_alone(
    f: Callable[..., Any], make: Callable[..., Any], options: dict[str, Any], held: list[Layout]
) -> Function:
    """Return the values of the blocks as a function for fixed sizes; ``held`` gets the layouts."""
    sparse = make(f, **options)

    def body(*args: Any, _top: bool = False, **kwargs: Any) -> Any:
        values, layout = sparse._body(*args, _top=_top, **kwargs)
        held.append(layout)
        return values[0] if len(values) == 1 else values

    recipe = (_values_alone, (f,), {"make": make, "options": options, "held": held})
    return Function(body, f, recipe, dynamic=False)


def _writing(kernel: Any, places: Any, pattern: Pattern) -> Any:
    """Return a Numba function that writes the values of a kernel to their places."""
    with undisturbed():  # imports numba
        from numba import njit  # noqa: PLC0415

    count, dtype = pattern.nnz, pattern.dtype

    @njit  # type: ignore[untyped-decorator]
    def values(*args: Any) -> Any:
        raw = kernel(*args)
        out = np.zeros(count, dtype)
        for k in range(raw.size):
            if places[k] >= 0:
                out[places[k]] += raw[k]
        return out

    return values


class _Quick(NamedTuple):
    """A call like the last: of arrays of the same shapes, with the same index data."""

    function: Callable[..., Any]
    pack: Callable[[Any], Any]
    plan: Plan
    shapes: list[Any]
    data: list[tuple[int, Any]]

    def admits(self, args: Sequence[Any]) -> bool:
        """Tell whether the patterns are those of a call with these arguments."""
        if len(args) != len(self.shapes):
            return False
        for x, shape in zip(args, self.shapes, strict=True):
            if shape is None:
                if type(x) is not float:
                    return False
            elif getattr(x, "shape", None) != shape:
                return False
        return all(np.array_equal(args[k], known) for k, known in self.data)


def _check_target(target: Any, pattern: Pattern) -> None:
    if not (isinstance(target, np.ndarray) and target.shape == (pattern.nnz,)):
        raise ArgumentError(f"out is to be an array of {pattern.nnz} numbers for the matrix")
    if target.dtype != pattern.dtype or not target.flags.c_contiguous or not target.flags.writeable:
        raise ArgumentError(
            f"out is to be a contiguous array of {pattern.dtype} that can be written to"
        )


# ---------------------------------------------------------------- bodies


def sparse_body(
    function: Callable[..., Any], argnums: Keys, lower: bool = False
) -> Callable[..., Any]:
    """Return the blocks of the Jacobian of ``function`` as a function on traced values.

    It gives the values of each matrix as one array, and the :class:`Layout` of all.
    """
    numbers, single = positions_of(argnums)

    def body(*args: Any, _top: bool = False, **kwargs: Any) -> Any:
        opened = Opened(function, args, kwargs, numbers, _top)
        nodes, tree, leaves = collect(opened.result)
        heights = widths_of(tree, leaves)
        if 2 in (*opened.widths, *heights):
            raise ArgumentError(
                "sparse derivatives are of real functions of real arguments: differentiate the "
                "real and the imaginary part one by one"
            )
        for y in nodes:
            if y.dtype.kind != "f":
                raise ArgumentError(f"the Jacobian of a result of type {y.dtype} is not defined")
        note = _Note()
        found = blocks_of(nodes, opened.inputs, note)
        note.tell(function)
        targets = [*zip(nodes, found.outputs, strict=True), *found.cuts.items()]
        sources = [*opened.inputs, *found.cuts]
        parts = [
            _entries([b for b in blocks if b.source is x], (k, y), (j, x))
            for k, (y, blocks) in enumerate(targets)
            for j, x in enumerate(sources)
            if not (lower and k < j < len(opened.inputs))  # above the diagonal
        ]
        parts = [part for part in parts if part[1].places]
        values = [part[0] for part in parts]
        flat_nodes = [*values, *(x for _, entries in parts for x in entries.nodes)]
        closed = [t.node for t in opened.close(flat_nodes)]
        rest = iter(closed[len(values) :])
        entries = [e.replaced(rest) for _, e in parts]
        shapes = [dim_product(x.shape) for x, _ in targets], [dim_product(x.shape) for x in sources]

        def unflatten(matrices: Sequence[Any]) -> Any:
            width = len(opened.inputs)
            rows = iter(
                opened.arranged(matrices[k * width : (k + 1) * width], single)
                for k in range(len(nodes))
            )
            return tree.outline.unflatten(
                None if isinstance(leaves[k], tuple) else next(rows) for k, _ in enumerated(tree)
            )

        dtypes = [y.dtype for y, _ in targets]
        counts = len(nodes), len(opened.inputs)
        alone = single and tree.kind == "leaf" and opened.trees[0][0].kind == "leaf"
        nested = None if alone else unflatten
        layout = Layout(entries, shapes, dtypes, counts, lower, nested)
        return tuple(map(Traced, closed[: len(values)])), layout

    return body


def _entries(
    blocks: Sequence[Block], target: tuple[int, Node], source: tuple[int, Node]
) -> tuple[Node, Entries]:
    """Return the values of the blocks in one array, and where they go."""
    (k, y), (j, x) = target, source
    parts: list[Any] = []
    places = []
    for block in blocks:
        lanes = block.lanes
        rows, cols = flat(block.rows, y.shape), flat(block.cols, x.shape)
        places.append((lanes, rows.node(lanes), cols.node(lanes), block.mask))
        full = np.broadcast_to(Traced(block.value), tuple(map(as_size, lanes)))
        parts.append(np.reshape(full, (as_size(dim_product(lanes)),)))
    values = np.concatenate(parts) if parts else np.zeros(0, y.dtype)
    return as_node(values), Entries(k, j, places)


class _Note:
    """Collects the steps behind which lanes do not lead on, and says so in one warning."""

    def __init__(self) -> None:
        self.found: dict[Node, Node] = {}

    def __call__(self, node: Node, operand: Node) -> None:
        self.found[node] = operand

    def tell(self, function: Callable[..., Any]) -> None:
        """Warn of the steps that there were."""
        if not self.found:
            return
        lines = []
        for node, operand in self.found.items():
            count = hint(dim_product(node.shape)) * hint(dim_product(operand.shape))
            place = "" if node.where is None else f" [{node.where}]"
            lines.append(f"{Words.of(node.op).doc or node.op.name}: {count:,} entries{place}")
        warnings.warn(
            f"{getattr(function, '__name__', 'the function')} has steps through which no pattern "
            f"can be followed; their Jacobians count as dense: {'; '.join(dict.fromkeys(lines))}",
            SparsityWarning,
            stacklevel=2,
        )
