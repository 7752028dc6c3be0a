"""Memory for temporaries: one allocation, reused once the last reader has run.

What is small and of fixed size lies on the stack, where LLVM can turn it into registers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from ..base.sizes import Dimension, as_expr
from ..base.switches import is_on
from ..runtime import GIVE, TAKE
from ._emitter import LINE, Emitter
from ._llvm_module import Module

#: Up to this many scalar slots live on the stack, more in the arena.
STACK_SLOTS = 1024

#: A buffer of up to this many bytes lives on the stack, and so many bytes in all.
STACK_BUFFER, STACK_BYTES = 512, 16384


def assign(
    buffers: Mapping[str, Dimension], uses: Mapping[str, Sequence[int]]
) -> tuple[list[Dimension], dict[str, int]]:
    """Give each buffer a block of memory; buffers of equal size share one in turn.

    Parameters
    ----------
    buffers:
        The pointer of each buffer, with its size in bytes.
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
    used = [pointer for pointer in buffers if uses.get(pointer)]
    for pointer in sorted(used, key=lambda p: uses[p][0]):
        size = buffers[pointer]
        first, last = uses[pointer][0], uses[pointer][-1]
        pool = free.setdefault(size, [])
        reusable = next((entry for entry in pool if entry[1] < first and is_on("reuse")), None)
        if reusable is not None:
            pool.remove(reusable)
            block = reusable[0]
        else:
            block = len(blocks)
            blocks.append(size)
        pool.append((block, last))
        chosen[pointer] = block
    return blocks, chosen


class Arena:
    """The temporaries of a function.

    Parameters
    ----------
    buffers:
        The pointer of each buffer, with its size in bytes.
    uses:
        For each pointer the tasks that use it, in order.
    slots:
        Number of scalars.
    """

    def __init__(
        self, buffers: Mapping[str, Dimension], uses: Mapping[str, Sequence[int]], slots: int
    ) -> None:
        self.stack: dict[str, int] = {}
        total = 0
        for pointer, size in buffers.items():
            small = as_expr(size).is_Integer and int(size) <= STACK_BUFFER
            if small and total + int(size) <= STACK_BYTES and uses.get(pointer):
                self.stack[pointer] = int(size)
                total += int(size)
        rest = {p: size for p, size in buffers.items() if p not in self.stack}
        self.blocks, self.chosen = assign(rest, uses)
        self.slots = slots
        if slots > STACK_SLOTS:
            self.chosen["%slots"] = len(self.blocks)
            self.blocks.append(8 * slots)

    @property
    def bytes(self) -> Dimension:
        """Bytes that the arena needs at most, alignment included; 0 if there is none."""
        if not self.blocks:
            return 0
        return sp.Add(*self.blocks) + 2 * LINE * len(self.blocks) + LINE

    def write(self, e: Emitter, given: bool) -> str:
        """Emit the places of all temporaries; return the bytes to give back, "" if none.

        With ``given`` the arena's memory is the caller's, at ``%arena``.
        """
        if 0 < self.slots <= STACK_SLOTS:
            e.alloca(f"[{self.slots} x i64]", ", align 16", name="%slots")
        for pointer, size in self.stack.items():
            e.on_stack(size, name=pointer)
        if not self.blocks:
            return ""
        offsets, total = ["0"], ""
        for size in self.blocks:
            # A multiple of 64 and 64 more: every block starts a cache line of its own.
            padded = e.op("add", "i64", e.index(as_expr(size)), 2 * LINE - 1)
            rounded = e.op("and", "i64", padded, f"-{LINE}")
            offsets.append(e.op("add", "i64", offsets[-1], rounded))
        if not given:
            total = e.op("add", "i64", offsets[-1], LINE)
            e.call("noalias ptr", f"@{taken(e.module)}", [f"i64 {total}"], name="%arena")
            e.op("icmp eq", "ptr", "%arena", "null", name="%absent")
            e.branch("%absent", "failed", "begin")
            e.begin("begin")
        address = e.cast("ptrtoint", "ptr", "%arena", "i64")
        shifted = e.op("add", "i64", address, LINE - 1)
        base = e.op("and", "i64", shifted, f"-{LINE}")
        for pointer, block in self.chosen.items():
            position = e.op("add", "i64", base, offsets[block])
            e.cast("inttoptr", "i64", position, "ptr", name=pointer)
        return "" if given else total


def taken(module: Module) -> str:
    """Return the name of the function that takes memory, declared in a module."""
    module.declare(TAKE, "noalias ptr", ["i64"])
    return TAKE


def given(module: Module) -> str:
    """Return the name of the function that gives memory back, declared in a module."""
    module.declare(GIVE, "void", ["ptr", "i64"])
    return GIVE
