"""Writing values to places: two small functions of machine code."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np

from ._cache import loaded

_TYPES = {"d": "double", "f": "float"}

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
  br label %body
body:
  %k = phi i64 [ 0, %run ], [ %k.next, %body ]
  %offset = phi i64 [ 0, %run ], [ %offset.next, %body ]
  %x = getelementptr inbounds TYPE, ptr %source, i64 %k
  %new = load TYPE, ptr %x
  %y = getelementptr inbounds TYPE, ptr %target, i64 %offset
  WRITE
  %k.next = add nuw nsw i64 %k, 1
  %offset.next = add nsw i64 %offset, %step
  %more = icmp slt i64 %k.next, %count
  br i1 %more, label %body, label %run.end
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
  WRITE
  %k.next = add nuw nsw i64 %k, 1
  %more = icmp slt i64 %k.next, %n
  br i1 %more, label %body, label %exit
exit:
  ret void
}
"""

_ADD = "%old = load TYPE, ptr %y\n  %sum = fadd TYPE %old, %new\n  store TYPE %sum, ptr %y"
_SET = "store TYPE %new, ptr %y"


@lru_cache(maxsize=8)
def _functions(char: str, add: bool) -> tuple[Any, ...]:
    text = (_RUNS + _EACH).replace("WRITE", _ADD if add else _SET).replace("TYPE", _TYPES[char])
    engine = loaded(text)
    kind = ctypes.CFUNCTYPE(None, *(ctypes.c_void_p,) * 3, ctypes.c_int64)
    found = tuple(
        kind(engine.get_function_address(f"symgrad.place.{name}")) for name in ("runs", "each")
    )
    return (engine, *found)  # the engine holds the code


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

    def __init__(self, places: Any, count: int) -> None:
        source = np.flatnonzero(places >= 0)
        target = places[source]
        self.count = count
        self._add = len(target) > count
        self._same = not self._add and np.array_equal(target, np.arange(len(places)))
        runs = _runs(source, target, len(source) // self.RUN)
        if runs is None and len(source) < len(places):
            ones = np.ones_like(source)
            runs = np.stack([source, target, ones, ones], 1)
        self._by_runs = runs is not None
        self._table = np.ascontiguousarray(target if runs is None else runs, np.int64)

    def __call__(self, raw: Any, out: Any = None) -> Any:
        """Return the values at their places; in ``out``, if that is given."""
        if self._same and out is None:
            return raw
        if out is None:
            out = np.empty(self.count, raw.dtype)
        if self._add:
            out[...] = 0.0
        _, runs, each = _functions(raw.dtype.char, self._add)
        write = runs if self._by_runs else each
        write(raw.ctypes.data, out.ctypes.data, self._table.ctypes.data, len(self._table))
        return out


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
