"""Sparse Jacobians and Hessians: values by a compiled program, patterns found once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._compile import Function
from .._compile._call import Call
from .._graph import Node
from .._lanes import Block, blocks_of, flat
from .._op import Words
from .._shapes import as_size, dim_product, hint
from .._trace import Traced, as_node, collect, flatten
from ..errors import ArgumentError, SparsityWarning
from ._bodies import Opened, enumerated, positions_of, widths_of
from ._pattern import Entries, Layout, Pattern

FORMATS = ("csr", "csc", "coo")


class SparseFunction(Function):
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
        self._last: list[Pattern] | None = None
        super().__init__(*args, **options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the matrices, as sparse arrays of SciPy's."""
        layout, patterns, raw = self._evaluated(args, kwargs)
        return layout.unflatten([p.matrix(p.values(x)) for p, x in zip(patterns, raw, strict=True)])

    def values(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Return the data of the matrices alone, in the order of :meth:`pattern`.

        Parameters
        ----------
        *args, **kwargs:
            The arguments of the function.
        out:
            Arrays to write them to, nested as the matrices are.
        """
        layout, patterns, raw = self._evaluated(args, kwargs)
        if out is None:
            return layout.unflatten([p.values(x) for p, x in zip(patterns, raw, strict=True)])
        targets = flatten(out)[0]
        if len(targets) != len(patterns):
            raise ArgumentError(f"out has {len(targets)} arrays for {len(patterns)} matrices")
        for pattern, x, target in zip(patterns, raw, targets, strict=True):
            _check_target(target, pattern, x.dtype)
        for pattern, x, target in zip(patterns, raw, targets, strict=True):
            pattern.values(x, target)
        return out

    def pattern(self, *args: Any, **kwargs: Any) -> Any:
        """Return the matrices with True for each of their entries; nothing is compiled for it."""
        found, given = self._found(self._call(args, kwargs))
        layout, patterns = self._patterns(found, given)
        return layout.unflatten([p.matrix(np.ones(p.nnz, np.bool_)) for p in patterns])

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
        return sum(p.nnz for p in self._last)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        raw, tree = flatten((args, kwargs))
        if any(hasattr(type(leaf), "__symgrad_bind__") for leaf in raw):
            raise ArgumentError(
                "a sparse derivative is a matrix of SciPy's, which neither traced functions nor "
                "tensors have: write sg.jacobian(f) or sg.hessian(f), without sparse=True, there"
            )
        return Call(self._leaves(raw), tree, args, kwargs)

    def _evaluated(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Layout, list[Pattern], Sequence[Any]]:
        result, found, given = self._computed(self._call(args, kwargs), None, self._backend_now())
        layout, patterns = self._patterns(found, given)
        return layout, patterns, result[0]

    def _patterns(self, found: Any, given: Any) -> tuple[Layout, list[Pattern]]:
        layout = found.static(Layout)
        self._last = layout.patterns(found.graph, found.values(given.leaves), self._form)
        return layout, self._last

    def _recall(self, *_: Any) -> None:
        """Find no kernel by the function alone: it would not say where the values go."""


def _check_target(target: Any, pattern: Pattern, dtype: Any) -> None:
    if not (isinstance(target, np.ndarray) and target.shape == (pattern.nnz,)):
        raise ArgumentError(f"out is to be an array of {pattern.nnz} numbers for the matrix")
    if target.dtype != dtype or not target.flags.c_contiguous or not target.flags.writeable:
        raise ArgumentError(f"out is to be a contiguous array of {dtype} that can be written to")


# ---------------------------------------------------------------- bodies


def sparse_body(
    function: Callable[..., Any], argnums: int | Sequence[int], lower: bool = False
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
        found = [blocks_of(nodes, x, note) for x in opened.inputs]
        parts = [
            _entries(found[j][k], y, x, lower)
            for k, y in enumerate(nodes)
            for j, x in enumerate(opened.inputs)
        ]
        note.tell(function)
        values = [part[0] for part in parts]
        flat_nodes = [*values, *(x for _, entries in parts for x in entries.nodes)]
        closed = [t.node for t in opened.close(flat_nodes)]
        rest = iter(closed[len(values) :])
        entries = [e.replaced(rest) for _, e in parts]

        def unflatten(matrices: Sequence[Any]) -> Any:
            width = len(opened.inputs)
            rows = iter(
                opened.arranged(matrices[k * width : (k + 1) * width], single)
                for k in range(len(nodes))
            )
            return tree.outline.unflatten(
                None if isinstance(leaves[k], tuple) else next(rows) for k, _ in enumerated(tree)
            )

        return tuple(map(Traced, closed[: len(values)])), Layout(entries, unflatten)

    return body


def _entries(blocks: Sequence[Block], y: Node, x: Node, lower: bool) -> tuple[Node, Entries]:
    """Return the values of the blocks in one array, and where they go."""
    height, width = dim_product(y.shape), dim_product(x.shape)
    parts: list[Any] = []
    places = []
    for block in blocks:
        lanes = block.lanes
        rows, cols = flat(block.rows, y.shape), flat(block.cols, x.shape)
        row, col, mask = rows.node(lanes), cols.node(lanes), block.mask
        if lower:
            under: Any = Traced(row) >= Traced(col)  # type: ignore[operator]
            mask = as_node(under if mask is None else under & Traced(mask))
        places.append((lanes, row, col, mask))
        value = Traced(block.value)
        whole = np.broadcast_to(value, tuple(map(as_size, lanes)))
        parts.append(np.reshape(whole, (as_size(dim_product(lanes)),)))
    if not parts:
        values = as_node(np.zeros(0, y.dtype))
    else:
        values = as_node(parts[0] if len(parts) == 1 else np.concatenate(parts))
    return values, Entries((height, width), places)


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
            f"{getattr(function, '__name__', 'the function')} has steps whose Jacobian is taken to "
            f"be dense: {'; '.join(dict.fromkeys(lines))}. What lies before them costs so much",
            SparsityWarning,
            stacklevel=2,
        )
