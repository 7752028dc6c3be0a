"""Which elements depend on which, once sizes and index data are known.

A matrix of truth values is carried from the inputs to the outputs, through a loop step by step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._core.base.fork_safety import late_module
from .._core.base.sizes import evaluate_dim
from ..errors import OutOfMemoryError
from ._dense import memory
from ._structure import End, Places, Rolled, Structure

#: So many entries a row, or all of a small matrix, are followed through a loop; more are all.
WIDE = 256

#: Through so many steps a loop is followed whose steps have places of their own.
STEPS = 4096


def dependence(structure: Structure, arrays: Sequence[Any], sizes: Mapping[Any, int]) -> Any:
    """Return which elements of the outputs depend on which of the inputs, as a sparse array.

    It is what depends on it through one of the barriers, where lanes end. ``arrays`` are the
    values of the structure's nodes. All outputs, and all inputs, lie one after another.
    """
    return _Found(structure.replaced(iter(arrays)), sizes).matrix((), beyond=True)


class _Found:
    """A structure with arrays in the place of its nodes."""

    def __init__(self, structure: Structure, sizes: Mapping[Any, int]) -> None:
        self.structure, self.sizes = structure, sizes
        self.heights, self.widths = (
            [evaluate_dim(n, sizes) for n in part] for part in (structure.heights, structure.widths)
        )
        self.outputs, self.inputs = structure.counts
        self.starts = np.cumsum([0, *self.widths[: self.inputs]])
        self.rows = np.cumsum([0, *self.heights[: self.outputs]])
        self.ends = {end.target: end for end in structure.ends}
        self.places: defaultdict[int, list[Places]] = defaultdict(list)
        for p in structure.places:
            self.places[p.target].append(p)
        self.bodies = [[_Found(body, sizes) for body in few] for few in structure.bodies]
        self._last: tuple[tuple[int, ...], Any] | None = None

    def is_fixed(self, depth: int) -> bool:
        """Tell whether the entries are those of every step of a loop."""
        return not any(p.stepped[depth : depth + 1] == (True,) for p in self.structure.every())

    def every_entry(self, at: tuple[int, ...]) -> Any:
        """Return :meth:`matrix`, once for all results of a loop, which ask one after another."""
        if self._last is None or self._last[0] != at:
            self._last = at, self.matrix(at)
        return self._last[1]

    def matrix(self, at: tuple[int, ...], beyond: bool = False) -> Any:
        """Return the outputs by the inputs, at these steps of the loops around.

        ``beyond``: only what goes through a barrier.
        """
        totals: dict[tuple[int, bool], Any] = {}

        def source(j: int | None, width: int, beyond: bool = False) -> Any:
            if j is None or (beyond and j < self.inputs):
                return self._entries(width, (), ())
            if j < self.inputs:
                place = np.arange(width)
                return self._entries(width, place, self.starts[j] + place)
            return totals[self._key(self.outputs + j - self.inputs, beyond)]

        def total(k: int, beyond: bool) -> Any:
            end = self.ends.get(k)
            found = self._entries(self.heights[k], (), ())
            if end is not None:
                found = self._behind(end, at, source)
            for p in self.places[k]:
                found = found + self._placed(p, at) @ source(
                    p.source, self.widths[p.source], beyond
                )
            return found

        keys = [self._key(k, beyond) for k in range(self.outputs)]
        waiting = keys[::-1]
        while waiting:
            key = waiting[-1]
            missing = [x for x in self._before(*key) if x not in totals]
            if key not in totals and missing:
                waiting += missing
                continue
            waiting.pop()
            if key not in totals:
                totals[key] = total(*key)
        return stacked([self._entries(0, (), ()), *(totals[key] for key in keys)])

    def _key(self, target: int, beyond: bool) -> tuple[int, bool]:
        """Return which entries of a target are asked for: what a barrier has is all behind one."""
        return target, beyond and target not in self.structure.barriers

    def _before(self, target: int, beyond: bool) -> list[tuple[int, bool]]:
        """Return which entries those of a target are made of."""
        end = self.ends.get(target)
        read = [(p.source, beyond) for p in self.places[target]]
        read += [(j, False) for j in (() if end is None else end.sources) if j is not None]
        first = self.outputs - self.inputs
        return [self._key(first + j, behind) for j, behind in read if j >= self.inputs]

    def _entries(self, height: int, rows: Any, cols: Any) -> Any:
        return entries(rows, cols, (height, int(self.starts[-1])))

    def _placed(self, p: Places, at: tuple[int, ...]) -> Any:
        shape = self.heights[p.target], self.widths[p.source]
        if not p.nodes:
            return full(np.arange(shape[1]), shape, "")
        lanes = tuple(evaluate_dim(n, self.sizes) for n in p.lanes)
        columns = []
        for x in p.nodes:
            for step, moves in zip(at, p.stepped, strict=True):
                x = x[step] if moves and x is not None else x
            columns.append(np.ravel(np.broadcast_to(True if x is None else x, lanes)))
        row, col, there = columns
        # A case that is not chosen may read places that there are not.
        there = there & (row >= 0) & (row < shape[0]) & (col >= 0) & (col < shape[1])
        return entries(row[there], col[there], shape)

    def _behind(self, end: End, at: tuple[int, ...], source: Any) -> Any:
        """Return the entries of a result by the inputs."""
        height = self.heights[end.target]
        if end.within is None:
            known = [j for j in end.sources if j is not None]
            return everything(height, [source(j, self.widths[j]) for j in known], end.where)
        bodies = self.bodies[end.within]
        widths = list(bodies[0].widths[: bodies[0].inputs])
        if end.loop is not None:
            return _Run(end, end.loop, bodies[0], at, height, widths, source).found()
        given = [source(j, n) for j, n in zip(end.sources, widths, strict=True)]
        found = [body.every_entry(at)[body.rows[end.result] :][:height] for body in bodies]
        return sum(found[1:], found[0]) @ stacked(given)


class _Run:
    """The structure of a loop, step by step."""

    def __init__(
        self, end: End, loop: Rolled, body: _Found, at: tuple[int, ...], height: int,
        widths: list[int], source: Any,
    ) -> None:  # fmt: skip
        self.end, self.loop, self.body, self.at, self.height = end, loop, body, at, height
        length, first = loop.length, loop.carries
        self.steps = None if length is None else evaluate_dim(length, body.sizes)
        self.widths = widths[first : first + len(loop.elements)]
        for k, tape in enumerate(loop.elements):
            if not tape:
                widths[first + k] *= self.steps or 0
        self.given = [source(j, n) for j, n in zip(end.sources, widths, strict=True)]
        self.carried = int(body.rows[first])
        self.state = stacked([body_rows(self.given), *self.given[:first]])
        self.fixed = body.is_fixed(len(at))

    def found(self) -> Any:
        """Return the entries of the result."""
        if self.steps is None:
            return self._closed()
        if self.steps > STEPS and not self.fixed:
            return self._everything()
        body = self.body.every_entry((*self.at, 0)) if self.fixed and self.steps else None
        same = self.fixed and all(self.loop.elements) and not self.end.stacked
        results = [self._own(None)] * (self.steps if self.end.stacked else 1)
        order = range(self.steps)
        for k in reversed(order) if self.loop.reverse else order:
            step = self.body.every_entry((*self.at, k)) if body is None else body
            made = step @ self._inputs(k)
            before, self.state = self.state, made[: self.carried]
            place = k if self.end.stacked else 0
            results[place] = results[place] + self._own(made)
            if is_wide(made.nnz, made.shape[0]):
                return self._everything()
            if same and is_same(before, self.state):
                break
        if self.end.result < self.loop.carries:
            return self._own(self.state)
        return stacked([body_rows(self.given), *results])

    def _own(self, made: Any) -> Any:
        """Return the rows of the result of one step."""
        start, stop = self.body.rows[self.end.result : self.end.result + 2]
        if made is None:
            return entries((), (), (int(stop - start), self.state.shape[1]))
        return made[start:stop]

    def _inputs(self, k: int) -> Any:
        """Return what goes into a step."""
        first = self.loop.carries
        parts = [self.state]
        rest = self.given[first:]
        for x, tape, n in zip(rest, self.loop.elements, self.widths, strict=False):
            parts.append(x if tape else x[k * n : (k + 1) * n])
        return stacked([*parts, *rest[len(self.widths) :]])

    def _closed(self) -> Any:
        """Return what any number of steps has, each of which has the same entries."""
        step = self.body.every_entry((*self.at, 0))
        n = self.carried
        place = np.arange(n)
        far = entries(place, place, (n, n)) + step[:n, :n]
        _, parts = late_module("scipy.sparse.csgraph").connected_components(far)
        if is_wide(int(np.sum(np.bincount(parts) ** 2)), n):  # what lies in one part may meet
            return self._everything()
        while not is_same(far, wider := far @ far):
            far = wider
        self.state = far @ (self.state + (step @ self._inputs(0))[:n])
        if self.end.result < self.loop.carries:
            return self._own(self.state)
        return self._own(step @ self._inputs(0))

    def _everything(self) -> Any:
        return everything(self.height, self.given, self.end.where)


def entries(rows: Any, cols: Any, shape: tuple[int, int]) -> Any:
    """Return a sparse array that is True at these places."""
    sparse = late_module("scipy.sparse")
    there = np.ones(len(rows), np.bool_)
    places = np.asarray(rows, np.int64), np.asarray(cols, np.int64)
    found = sparse.coo_array((there, places), shape=shape).tocsr()
    found.sum_duplicates()
    return found


def stacked(parts: Sequence[Any]) -> Any:
    return late_module("scipy.sparse").vstack(parts, format="csr", dtype=np.bool_)


def body_rows(parts: Sequence[Any]) -> Any:
    """Return no rows, of the width of others."""
    return entries((), (), (0, parts[0].shape[1]))


def is_wide(count: int, height: int) -> bool:
    """Tell whether entries are more than are followed, or than the machine can hold."""
    return count > min(WIDE * max(WIDE, height), memory() / 256)


def is_same(a: Any, b: Any) -> bool:
    """Tell whether two matrices have the same entries, one of which has all of the other's."""
    return bool(a.nnz == b.nnz) and (a != b).nnz == 0


def everything(height: int, parts: Sequence[Any], where: str) -> Any:
    """Return rows that depend on all on which any of the parts does."""
    cols = np.unique(np.concatenate([x.indices for x in parts]))
    return full(cols, (height, parts[0].shape[1]), where)


def full(cols: Any, shape: tuple[int, int], where: str) -> Any:
    """Return a matrix with all entries of some columns, if the machine can hold it."""
    size = shape[0] * len(cols) * 64
    if size > memory():
        raise OutOfMemoryError(
            f"all elements depend on all here, {shape[0]:,} on {len(cols):,}, which takes "
            f"{size / 1e9:,.0f} GB, more than this machine has: use sg.jvp and sg.vjp for products "
            f"with the derivative [{where}]"
        )
    rows = np.repeat(np.arange(shape[0]), len(cols))
    return entries(rows, np.tile(cols, shape[0]), shape)
