"""Writing values to places: two small functions of machine code."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np

from ._cache import loaded

_TYPES = {"d": "double", "f": "float"}

#: So many values are written in one turn of a loop.
TURN = 4

#: ``runs`` are (from, to, step, count): ``data[to + k*step] += raw[from + k]`` for k < count.
_RUNS = """
define void @symgrad.place.runs(ptr noalias %raw, ptr noalias %data, ptr noalias %runs, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %run, label %exit
run:
  %r = phi i64 [ 0, %entry ], [ %r.next, %run.end ]
  %at = getelementptr [4 x i64], ptr %runs, i64 %r
  %from = load i64, ptr %at
  %at.to = getelementptr i64, ptr %at, i64 1
  %to = load i64, ptr %at.to
  %at.step = getelementptr i64, ptr %at, i64 2
  %step = load i64, ptr %at.step
  %at.count = getelementptr i64, ptr %at, i64 3
  %count = load i64, ptr %at.count
  %source = getelementptr TYPE, ptr %raw, i64 %from
  %target = getelementptr TYPE, ptr %data, i64 %to
  %turns = and i64 %count, -TURN
  %some = icmp sgt i64 %turns, 0
  br i1 %some, label %turn, label %left
turn:
  %k = phi i64 [ 0, %run ], [ %k.next, %turn ]
  %t = phi ptr [ %target, %run ], [ %t.next, %turn ]
  WRITES
  %k.next = add nuw nsw i64 %k, TURN
  %again = icmp slt i64 %k.next, %turns
  br i1 %again, label %turn, label %left
left:
  %l.first = phi i64 [ 0, %run ], [ %turns, %turn ]
  %t.first = phi ptr [ %target, %run ], [ %t.next, %turn ]
  %rest = icmp slt i64 %l.first, %count
  br i1 %rest, label %one, label %run.end
one:
  %l = phi i64 [ %l.first, %left ], [ %l.next, %one ]
  %u = phi ptr [ %t.first, %left ], [ %u.next, %one ]
  %v = getelementptr inbounds TYPE, ptr %source, i64 %l
  %new = load TYPE, ptr %v
  WRITE(%u)
  %u.next = getelementptr TYPE, ptr %u, i64 %step
  %l.next = add nuw nsw i64 %l, 1
  %more = icmp slt i64 %l.next, %count
  br i1 %more, label %one, label %run.end
run.end:
  %r.next = add nuw nsw i64 %r, 1
  %next = icmp slt i64 %r.next, %n
  br i1 %next, label %run, label %exit
exit:
  ret void
}
"""

#: ``data[places[k]] += raw[k]`` for k < n.
_EACH = """
define void @symgrad.place.each(ptr noalias %raw, ptr noalias %data, ptr noalias %places, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %body, label %exit
body:
  %k = phi i64 [ 0, %entry ], [ %k.next, %body ]
  %at = getelementptr inbounds i64, ptr %places, i64 %k
  %place = load i64, ptr %at
  %x = getelementptr inbounds TYPE, ptr %raw, i64 %k
  %new = load TYPE, ptr %x
  %y = getelementptr inbounds TYPE, ptr %data, i64 %place
  WRITE(%y)
  %k.next = add nuw nsw i64 %k, 1
  %more = icmp slt i64 %k.next, %n
  br i1 %more, label %body, label %exit
exit:
  ret void
}
"""


def _write(place: str, number: str, add: bool) -> list[str]:
    """Return the lines that write ``%new`` and a number."""
    if not add:
        return [f"store TYPE %new{number}, ptr {place}"]
    return [
        f"%old{number} = load TYPE, ptr {place}",
        f"%sum{number} = fadd TYPE %old{number}, %new{number}",
        f"store TYPE %sum{number}, ptr {place}",
    ]


def _text(char: str, add: bool) -> str:
    """Return both functions for an element type."""
    lines = []
    for j in range(TURN):
        here, there = "%t" if j == 0 else f"%t{j}", "%t.next" if j == TURN - 1 else f"%t{j + 1}"
        lines += [
            f"%k{j} = add nuw nsw i64 %k, {j}",
            f"%x{j} = getelementptr inbounds TYPE, ptr %source, i64 %k{j}",
            f"%new{j} = load TYPE, ptr %x{j}",
            *_write(here, str(j), add),
            f"{there} = getelementptr TYPE, ptr {here}, i64 %step",
        ]
    text = (_RUNS + _EACH).replace("WRITES", "\n  ".join(lines)).replace("TURN", str(TURN))
    for place in ("%u", "%y"):
        text = text.replace(f"WRITE({place})", "\n  ".join(_write(place, "", add)))
    return text.replace("TYPE", _TYPES[char])


@lru_cache(maxsize=8)
def _functions(char: str, add: bool) -> tuple[Any, ...]:
    engine = loaded(_text(char, add))
    kind = ctypes.CFUNCTYPE(None, *(ctypes.c_void_p,) * 3, ctypes.c_int64)
    found = tuple(
        kind(engine.get_function_address(f"symgrad.place.{name}")) for name in ("runs", "each")
    )
    return (engine, *found)  # the engine holds the code


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


class Placing:
    """Where each of some values is to be written, or added.

    Parameters
    ----------
    places:
        For each value its place, -1 for none.
    count:
        The number of places. Each has a value, some more than one.
    """

    #: Values in a run, on average, from which on runs are the shorter way to say where they go.
    RUN = 4
    #: Values that are written before those of other runs with places among theirs: the memory
    #: between is at hand.
    NEAR = 256

    def __init__(self, places: Any, count: int) -> None:
        source = np.flatnonzero(places >= 0)
        target = places[source]
        self.places, self.count = places, count
        self._add = len(target) > count
        self._same = not self._add and np.array_equal(target, np.arange(len(places)))
        runs = _runs(source, target, len(source) // self.RUN)
        if runs is None and len(source) < len(places):
            ones = np.ones_like(source)
            runs = np.stack([source, target, ones, ones], 1)
        self._by_runs = runs is not None
        table = target if runs is None else _interleaved(runs, self.NEAR)
        self._table = np.ascontiguousarray(table, np.int64)
        self._at = _address(self._table)

    def __call__(self, raw: Any, out: Any = None) -> Any:
        """Return the values at their places; in ``out``, if that is given."""
        if self._same and out is None:
            return raw
        if out is None:
            out = np.empty(self.count, raw.dtype)
        if self._add:
            out[...] = 0.0
        function = _functions(raw.dtype.char, self._add)[1 if self._by_runs else 2]
        function(_address(raw), _address(out), self._at, len(self._table))
        return out


def _interleaved(runs: Any, most: int) -> Any:
    """Return runs in pieces of at most ``most`` values, in order of their places."""
    start, place, step, count = runs.T
    pieces = -(-count // most)
    which = np.repeat(np.arange(len(runs)), pieces)
    before = most * (np.arange(len(which)) - np.repeat(np.cumsum(pieces) - pieces, pieces))
    place = place[which] + before * step[which]
    length = np.minimum(count[which] - before, most)
    found = np.stack([start[which] + before, place, step[which], length], 1)
    return found[np.argsort(place, kind="stable")]


def _runs(source: Any, target: Any, most: int) -> Any:
    """Return (from, to, step, count) of runs of values whose places have equal distances.

    None if there are more than ``most``.
    """
    size = len(source)
    gaps = np.where(np.diff(source) == 1, np.diff(target), np.iinfo(np.int64).max)
    ends = np.append(np.flatnonzero(gaps[1:] != gaps[:-1]) + 1, size - 1)
    if size == 0 or len(ends) > 2 * most + 2:
        return None
    found: list[tuple[int, int, int, int]] = []
    first = 0
    for end in ends.tolist():  # gaps from first to end are equal, but for one that a run has ended
        step = int(gaps[first]) if first < end else 0
        if first < end and step != np.iinfo(np.int64).max:
            found.append((int(source[first]), int(target[first]), step, end - first + 1))
            first = end + 1
        elif first < end:  # values with others left out between them
            found += [(int(source[k]), int(target[k]), 1, 1) for k in range(first, end)]
            first = end
    if first < size:
        found += [(int(source[k]), int(target[k]), 1, 1) for k in range(first, size)]
    return None if len(found) > most else np.array(found, np.int64)
