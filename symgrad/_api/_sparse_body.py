"""The body of a sparse derivative: the blocks of a Jacobian, and where their values go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._core.base.sizes import as_size, dim_product, guard, hint, recording
from .._core.graph import Literal, Node, warn_user
from .._core.op import PROJECTIONS, Words
from .._core.trace import Traced, as_node, collect, require_traced
from .._sparse import (
    Block,
    Found,
    blocks_of,
    examples_of,
    flat,
    places_of_elements,
    selected,
    structure_of,
)
from .._sparse._colours import Behind, Compressed, known_entries
from .._sparse._plan import Entries, Layout
from ..errors import ArgumentError, SparsityWarning
from ._argnums import Keys, positions_of
from ._opening import Opened, enumerated, or_float_zero, widths_of


def sparse_body(
    function: Callable[..., Any], argnums: Keys, lower: bool = False, pattern: bool = False
) -> Callable[..., Any]:
    """Return the blocks of the Jacobian of ``function`` as a function on traced values.

    It gives the values of each block, and the :class:`Layout` of all. ``_fixed``: the places are
    known while tracing, and so are colours. With ``pattern`` the places alone are wanted.
    """
    numbers, single = positions_of(argnums)

    def body(*args: Any, _top: bool = False, _fixed: bool = False, **kwargs: Any) -> Any:
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
        nodes = [or_float_zero(y) for y in nodes]
        for y in nodes:
            if y.dtype.kind != "f":
                raise ArgumentError(f"the Jacobian of a result of type {y.dtype} is not defined")
        if pattern and (layout := _by_elements(nodes, opened.inputs)) is not None:
            opened.close(())
            return (), layout
        found, behind, compressed, known = _followed(function, nodes, opened.inputs, _fixed)
        targets, sources = [*nodes, *found.cuts], [*opened.inputs, *found.cuts]
        parts = [
            _entries([b for b in blocks if b.source is x], (k, y), (j, x))
            for k, (y, blocks) in enumerate(
                zip(targets, [*found.outputs, *found.cuts.values()], strict=True)
            )
            for j, x in enumerate(sources)
            if not (lower and k < j < len(opened.inputs))  # above the diagonal
        ]
        parts += [_known_entries(key, *entry) for key, entry in known.items()]
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
        return () if pattern else tuple(map(Traced, closed[: len(values)])), layout

    return body


def _by_elements(nodes: Sequence[Node], inputs: Sequence[Node]) -> Layout | None:
    """Return the places of one result's derivative by one argument; None if they are not found."""
    if (len(nodes), len(inputs)) != (1, 1):
        return None
    (y,), (x,) = nodes, inputs
    found = places_of_elements(y, x)
    if found is None:
        return None
    rows, columns = map(as_node, found)
    entries = Entries(0, 0, [(rows.shape, rows, columns, None)], ["its elements"])
    shapes = [dim_product(y.shape)], [dim_product(x.shape)]
    return Layout([entries], [], shapes, [y.dtype], (1, 1), False, None)


def _followed(
    function: Callable[..., Any], nodes: Sequence[Node], inputs: Sequence[Node], fixed: bool
) -> tuple[Found, Behind, Compressed | None, Mapping[tuple[int, int], tuple[Node, Any, Any]]]:
    """Return the blocks of nodes; where lanes end, how the rest is computed by colours.

    The blocks are then those of the outputs by what is before and beside the steps where lanes
    end, which have stand-ins. The last result are values, rows and columns of what is computed by
    colours that are known while tracing (``fixed``).
    """
    note = _Note()
    nodes = selected(nodes, inputs)
    behind, compressed, known = Behind(nodes, ()), None, {}
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
            if fixed:
                known = known_entries(structure, behind, inputs, said)
            else:
                compressed = Compressed(structure, behind, inputs, said)
        beside.tell(function)
    return found, behind, compressed, known


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


def _known_entries(
    key: tuple[int, int], value: Node, rows: Any, cols: Any
) -> tuple[list[Node], Entries]:
    """Return values at places that are numbers, and these, as :func:`_entries` does."""
    places = (value.shape, as_node(rows), as_node(cols), None)
    return [value], Entries(*key, [places], ["compressed passes"])


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
