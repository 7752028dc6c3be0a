"""Memory for temporaries: one allocation, reused once the last reader has run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from .._graph import Node
from .._shapes import Dimension, dim_product
from ._emitter import Emitter

#: Up to this many scalar slots live on the stack, more in the arena.
STACK_SLOTS = 1024


def assign(
    buffers: Mapping[Node, str], uses: Mapping[str, Sequence[int]]
) -> tuple[list[Dimension], dict[str, int]]:
    """Give each buffer a block of memory; buffers of equal size share one in turn.

    Parameters
    ----------
    buffers:
        The pointer of each node that needs memory.
    uses:
        For each pointer the tasks that use it, in order.

    Returns
    -------
    (blocks, chosen)
        The blocks' sizes in bytes, and the block of each pointer.
    """
    blocks: list[Dimension] = []
    chosen: dict[str, int] = {}
    free: dict[Any, list[tuple[int, int]]] = {}
    used = [(node, pointer) for node, pointer in buffers.items() if uses.get(pointer)]
    for node, pointer in sorted(used, key=lambda pair: uses[pair[1]][0]):
        size = sp.sympify(dim_product(node.shape)) * node.dtype.itemsize
        first, last = uses[pointer][0], uses[pointer][-1]
        pool = free.setdefault(size, [])
        reusable = next((entry for entry in pool if entry[1] < first), None)
        if reusable is not None:
            pool.remove(reusable)
            block = reusable[0]
        else:
            block = len(blocks)
            blocks.append(size)
        pool.append((block, last))
        chosen[pointer] = block
    return blocks, chosen


def write_arena(
    e: Emitter, buffers: Mapping[Node, str], uses: Mapping[str, Sequence[int]], slots: int
) -> bool:
    """Emit the allocation of all temporaries; return whether there is one to free."""
    if 0 < slots <= STACK_SLOTS:
        e.line(f"%slots = alloca [{slots} x i64], align 16")
    blocks, chosen = assign(buffers, uses)
    if slots > STACK_SLOTS:
        chosen["%slots"] = len(blocks)
        blocks.append(8 * slots)
    if not blocks:
        return False
    offsets = ["0"]
    for size in blocks:
        # A multiple of 64 and 64 more, so that every block starts a cache line of its own.
        padded = e.op(f"add i64 {e.index(sp.sympify(size))}, 127")
        rounded = e.op(f"and i64 {padded}, -64")
        offsets.append(e.op(f"add i64 {offsets[-1]}, {rounded}"))
    e.module.declare("malloc", "noalias ptr", ["i64"])
    e.module.declare("free", "void", ["ptr"])
    total = e.op(f"add i64 {offsets[-1]}, 64")
    e.line(f"%arena = call noalias ptr @malloc(i64 {total})")
    e.line("%absent = icmp eq ptr %arena, null")
    e.line("br i1 %absent, label %failed, label %begin")
    e.lines[0].append("begin:")
    address = e.op("ptrtoint ptr %arena to i64")
    shifted = e.op(f"add i64 {address}, 63")
    base = e.op(f"and i64 {shifted}, -64")
    for pointer, block in chosen.items():
        position = e.op(f"add i64 {base}, {offsets[block]}")
        e.line(f"{pointer} = inttoptr i64 {position} to ptr")
    return True
