"""Nests that do nothing but copy arrays as they lie in memory: one call in the place of a loop.

A branch that hands an array on, a carry's first value, an argument of which an element is
written over are such nests. A loop would be vectorised, and cut for threads where its length is
open: five functions to compile, for what the C library's is as fast in.
"""

from __future__ import annotations

from .._graph import Node
from .._op import Placing
from .._shapes import as_expr, dim_product
from ._emitter import Emitter
from ._llvm_module import Module
from ._loops import Frame, function_text
from ._plan import Nest, Store


def write_copies(module: Module, name: str, nest: Nest, frame: Frame) -> bool:
    """Write the function of a nest if all that it does is to copy whole arrays; tell whether."""
    sources = [_source(store, nest, frame) for store in nest.stores]
    if not sources or None in sources or nest.nodes or nest.reductions:
        return False
    e = Emitter(module)
    e.bind_sizes(frame.sizes)
    for store, source in zip(nest.stores, sources, strict=True):
        assert source is not None
        target, given = frame.using_output(store), frame.using(source)
        assert given is not None
        size = as_expr(dim_product(source.shape)) * source.dtype.itemsize
        e.copy(target.pointer, given.pointer, e.index(size))
    lines = ["entry:", *e.lines[0], "  ret void"]
    module.functions.append(function_text(name, frame, lines))
    return True


def _source(store: Store, nest: Nest, frame: Frame) -> Node | None:
    """Return the array of which a store writes all, as it lies in memory, if there is one."""
    source, target = store.node, store.target
    if store.part is not None:
        assert isinstance(target.op, Placing)
        if not target.op.begins(store.part, target.params):
            return None
    elif store.output is None:  # a view, of which this makes an array
        [source] = source.operands if source.op.alias else [source]
        if source is target:
            return None
    while source.op.alias:
        [source] = source.operands
    if not source.shape or source.op.kind == "view" or nest.unwritten(source):
        return None
    place = frame.place(source)
    return source if place is not None and place.slot is None else None
