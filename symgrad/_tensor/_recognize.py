"""Recognizing a backward pass whose structure has a kernel, in a microsecond or two.

What :func:`symgrad._tensor._compiled.describe` makes a key of is written out as code that
compares it, node by node, and takes the arrays. What it does not recognize is looked at the
general way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._kernel import written_out
from ._node import AccumulateGrad, Backward, Node

#: ``recognize(order, gradient)``: the arrays that the rules read, or None; raises if one of them
#: was overwritten.
Recognize = Callable[[Sequence[Node], Any], list[Any] | None]


def recognizer(order: Sequence[Node], gradient: Any) -> Recognize:
    """Return what recognizes passes of the structure of a given one, of the same ops.

    Parameters
    ----------
    order, gradient:
        The nodes of a pass, and the gradient of its root.
    """
    return _Code(order).function(gradient)


class _Code:
    def __init__(self, order: Sequence[Node]) -> None:
        self.order = order
        self.place = {node: k for k, node in enumerate(order)}
        self.scope: dict[str, Any] = {"ndarray": np.ndarray}
        self.arrays: list[str] = []
        self.taken: set[int] = set()
        self.lines: list[str] = []

    def function(self, gradient: Any) -> Recognize:
        self._unless(self._is("gradient", gradient))
        for k, node in enumerate(self.order):
            if isinstance(node, Backward):
                self._op(k, node)
            else:
                assert isinstance(node, AccumulateGrad)
                self.lines.append(f"x = n{k}.variable._data")
                self._unless(f"n{k}.extra is None", self._is("x", node.variable._data))
        source = "\n    ".join([
            "def recognize(order, gradient):",
            f"{', '.join(f'n{k}' for k in range(len(self.order)))}, = order",
            *self.lines,
            f"return [{', '.join(self.arrays)}]",
        ])  # fmt: skip
        exec(compile(source, "<recognize>", "exec"), self.scope)  # noqa: S102 - names alone
        made: Recognize = self.scope["recognize"]
        return made

    # ---------------------------------------------------------------- pieces of code

    def _named(self, value: Any) -> str:
        name = f"c{len(self.scope)}"
        self.scope[name] = value
        return name

    def _unless(self, *conditions: str) -> None:
        self.lines.append(f"if not ({' and '.join(conditions)}): return None")

    def _is(self, x: str, array: Any) -> str:
        """Say that an array has the shape and type of a given one."""
        shape, dtype = self._named(array.shape), self._named(array.dtype)
        return f"{x}.shape == {shape} and {x}.dtype is {dtype}"

    def _read(self, array: str, ndim: int) -> None:
        self.arrays.append(array if ndim else f"{array}[()]")

    def _unwritten(self, cell: str, k: int) -> None:
        self.lines += [
            f"cell = {cell}",
            f"if cell is not None and cell.written > n{k}.seq: n{k}.check()",
        ]

    # ---------------------------------------------------------------- an op

    def _op(self, k: int, node: Backward) -> None:
        assert node.saved is not None
        rule, params = self._named(node.rule), self._named(node.params)
        self.lines.append(f"saved, behind, params = n{k}.saved, n{k}.behind, n{k}.params")
        self._unless(
            f"n{k}.rule is {rule}", f"n{k}.extra is None", "saved is not None",
            f"(params is {params} or params == {params})",
        )  # fmt: skip
        for slot, edge in enumerate(node.behind):
            x = node.saved[slot]
            if edge is None:
                self._unless(f"behind[{slot}] is None")
                self._constant(k, slot, x, node.rule.needs[slot])
                continue
            source = self.place[edge]
            self._unless(f"behind[{slot}] is n{source}")
            if node.rule.needs[slot]:
                self.lines.append(f"x{k}_{slot} = saved[{slot}]")
                self._unwritten(f"x{k}_{slot}._cell", k)
                if source not in self.taken:
                    self.taken.add(source)
                    self._read(f"x{k}_{slot}._data", x._data.ndim)
        if node.rule.reads_result:
            self._unwritten(f"n{k}.cell", k)
            if k not in self.taken:
                self.taken.add(k)
                self._read(f"n{k}.result", node.result.ndim)

    def _constant(self, k: int, slot: int, x: Any, needed: bool) -> None:
        array = getattr(x, "_data", x)
        self.lines.append(f"x = saved[{slot}]")
        name = f"x{k}_{slot}"
        self.lines.append(f"{name} = getattr(x, '_data', x)")
        if written_out(array):
            kind, data = self._named(type(array)), self._named(array.tobytes())
            self._unless(
                f"type({name}) is {kind}", self._is(name, array), f"{name}.tobytes() == {data}"
            )  # fmt: skip
            return
        self._unless(f"type({name}) is ndarray", self._is(name, array))
        if needed:
            self._unwritten("getattr(x, '_cell', None)", k)
            self._read(name, array.ndim)


__all__ = ["Recognize", "recognizer"]
