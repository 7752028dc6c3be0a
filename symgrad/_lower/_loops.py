"""Loops as text: a function's frame, and the nest of loops over a domain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from .._graph import Node
from .._shapes import Shape
from ._emitter import Emitter, size_parameters
from ._plan import Store
from ._values import Place

#: Length of the blocks that sums along the innermost loop are cut into.
BLOCK = 256


@dataclass
class Frame:
    """The parameters of a function under construction: buffers, slots and sizes it uses."""

    place: Callable[[Node], Place | None]
    result: Callable[[int], Place]
    sizes: tuple[sp.Symbol, ...]
    pointers: dict[str, None] = field(default_factory=dict)

    def using(self, node: Node) -> Place | None:
        """Return where ``node`` is stored, noting the pointer as a parameter."""
        place = self.place(node)
        if place is not None:
            self.pointers[place.pointer] = None
        return place

    def status(self) -> str:
        """Return the pointer to the kernel's status, noting it as a parameter."""
        self.pointers["%status"] = None
        return "%status"

    def using_output(self, store: Store) -> Place:
        """Return where ``store`` writes: an output, or its target's place."""
        if store.output is None:
            place = self.using(store.target)
            assert place is not None
            return place
        place = self.result(store.output)
        self.pointers[place.pointer] = None
        return place


def loop_symbol(depth: int) -> sp.Symbol:
    """Return the SymPy symbol of the loop at ``depth``."""
    return sp.Symbol(f"%i{depth}", integer=True, nonnegative=True)


class Loops:
    """The loops over a domain; loops of length one are not made."""

    def __init__(self, emitter: Emitter, domain: Shape) -> None:
        self.emitter, self.domain = emitter, domain
        self.index: list[Any] = []
        for depth, extent in enumerate(domain):
            if isinstance(extent, int) and extent == 1:
                self.index.append(0)
            else:
                symbol = loop_symbol(depth)
                emitter.bind_index(symbol, f"%i{depth}", depth + 1)
                self.index.append(symbol)
        #: The depth of the innermost loop, -1 if there is none.
        self.innermost = max((k for k, i in enumerate(self.index) if i != 0), default=-1)

    def assemble(
        self,
        before: dict[int, list[str]],
        after: dict[int, list[str]],
        blocked: tuple[list[str], list[str]] | None,
    ) -> list[str]:
        """Return the function body: the emitter's lines wrapped in loops.

        ``before[d]`` and ``after[d]`` run before and after the loop at depth ``d``;
        ``blocked`` (start, end of a block) splits the innermost loop.
        """
        extents = [self.emitter.index(d) for d in self.domain]
        lines = ["entry:", *self.emitter.lines[0]]
        label = "entry"
        closing: list[list[str]] = []
        rank = len(self.domain)
        for depth in range(rank):
            lines += before.get(depth, [])
            if self.index[depth] == 0:
                lines += self.emitter.lines[depth + 1]
                closing.append(after.get(depth, []))
                continue
            split = blocked if depth == self.innermost else None
            opened, label, closed = self._loop(depth, label, extents[depth], split)
            lines += opened + self.emitter.lines[depth + 1]
            closing.append(closed + after.get(depth, []))
        for part in reversed(closing):
            lines += part
        return [*lines, "  ret void"]

    def _loop(
        self, depth: int, label: str, extent: str, blocked: tuple[list[str], list[str]] | None
    ) -> tuple[list[str], str, list[str]]:
        i, body, done = f"%i{depth}", f"body{depth}", f"done{depth}"
        if blocked is None:
            return (
                [
                    f"  %any{depth} = icmp sgt i64 {extent}, 0",
                    f"  br i1 %any{depth}, label %{body}, label %{done}",
                    f"{body}:",
                    f"  {i} = phi i64 [ 0, %{label} ], [ {i}.next, %latch{depth} ]",
                ],
                body,
                [
                    f"  br label %latch{depth}",
                    f"latch{depth}:",
                    f"  {i}.next = add nuw nsw i64 {i}, 1",
                    f"  {i}.more = icmp slt i64 {i}.next, {extent}",
                    f"  br i1 {i}.more, label %{body}, label %{done}",
                    f"{done}:",
                ],
            )
        start, end = blocked
        block = f"%block{depth}"
        return (
            [
                f"  %any{depth} = icmp sgt i64 {extent}, 0",
                f"  br i1 %any{depth}, label %open{depth}, label %{done}",
                f"open{depth}:",
                f"  {block} = phi i64 [ 0, %{label} ], [ {block}.next, %close{depth} ]",
                *start,
                f"  {block}.next = add nuw nsw i64 {block}, {BLOCK}",
                f"  {block}.end = call i64 @llvm.smin.i64(i64 {block}.next, i64 {extent})",
                f"  br label %{body}",
                f"{body}:",
                f"  {i} = phi i64 [ {block}, %open{depth} ], [ {i}.next, %{body}.latch ]",
            ],
            body,
            [
                f"  br label %{body}.latch",
                f"{body}.latch:",
                f"  {i}.next = add nuw nsw i64 {i}, 1",
                f"  {i}.more = icmp slt i64 {i}.next, {block}.end",
                f"  br i1 {i}.more, label %{body}, label %close{depth}",
                f"close{depth}:",
                *end,
                f"  {block}.more = icmp slt i64 {block}.next, {extent}",
                f"  br i1 {block}.more, label %open{depth}, label %{done}",
                f"{done}:",
            ],
        )


def function_text(name: str, frame: Frame, body: list[str], internal: bool = True) -> str:
    """Return a function of the frame's pointers and sizes as text."""
    parameters = [f"ptr noalias {p}" for p in frame.pointers]
    parameters += size_parameters(frame.sizes)
    linkage = "internal " if internal else ""
    head = f"define {linkage}void @{name}({', '.join(parameters)}) #0 {{"
    return "\n".join([head, *body, "}\n"])


def parameter_types(frame: Frame) -> list[str]:
    """Return the types of a task's parameters."""
    return ["ptr noalias"] * len(frame.pointers) + ["i64"] * len(frame.sizes)
